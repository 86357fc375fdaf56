"""The verdict that a manifest states, compared with the recount: its counts, and each check in its very words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import indistinct
from indistinct.policy import Policy
from indistinct.proof.checks import Check, Recount, model_words
from indistinct.proof.people_recount import NOT_COUNTED

IN_PEOPLE = "people: "
PEOPLE_DETAILS = re.compile(
    r"[\d,]+ (groups?|profiles?), the smallest of [\d,]+ (person|people)|the rows have the people of the manifest|"
    r"any (one|\d+) of \d+ quasi columns? (is|together are) shared by at least [\d,]+ (person|people); "
    r"\d+ sets? of columns counted"
)
"""What a check of people says that passed; the release does not tell whose its rows are, so only words are compared."""


def is_of_this_version(manifest: Mapping[str, Any]) -> bool:
    """Tell whether this version wrote a manifest, so that its checks have the words of today."""
    return manifest.get("made_by") == f"indistinct {indistinct.__version__}"


def verdict_mistakes(
    manifest: Mapping[str, Any], policy: Policy, found: Recount, recount: Sequence[Check], *, is_of_policy: bool
) -> list[str]:
    """Compare the verdict that a manifest states with the recount.

    What another version called its checks is not known, and of a policy that is only stated some cannot be made.
    """
    stated = manifest.get("verdict")
    if stated is None:
        return []
    counts = {"rows": found.rows, "groups": len(found.sizes), "smallest_group": found.smallest}
    checks = stated.get("checks")
    if set(stated) - {"passed", "checks", "known", *counts} or not isinstance(checks, list):
        return ["verdict says what no verdict says"]
    if not all(_is_check(said) for said in checks):
        return ["verdict has a check that is none"]
    wrong = [
        f"verdict.{name} is {count}, as is counted, not what it says"
        for name, count in counts.items()
        if stated.get(name) != count
    ]
    if stated.get("known", []) != [one.to_dict() for one in found.known]:
        wrong.append("verdict.known is not what is counted")
    is_ours = is_of_policy and is_of_this_version(manifest)
    if _comes_out_otherwise(checks, policy, recount, is_ours=is_ours):
        wrong.append("verdict has a check that comes out otherwise")
    has_passed = all(said["passed"] for said in checks)
    if stated.get("passed") is not has_passed or (manifest.get("unsafe") is True) is has_passed:
        wrong.append("verdict, its checks and unsafe do not say the same")
    return wrong


def _is_check(said: Any) -> bool:
    if not isinstance(said, dict) or set(said) != {"name", "passed", "detail"}:
        return False
    return isinstance(said["name"], str) and isinstance(said["detail"], str) and type(said["passed"]) is bool


def _comes_out_otherwise(
    checks: Sequence[Mapping[str, Any]], policy: Policy, recount: Sequence[Check], *, is_ours: bool
) -> bool:
    """Tell whether a stated check has another outcome here; of one that this version wrote, also other words."""
    own = {check.name: check for check in recount}
    for said in checks:
        name = said["name"]
        if name in own:
            if said["passed"] is not own[name].passed or (is_ours and said["detail"] != own[name].detail):
                return True
        elif is_ours and not _is_of_people(said, policy):
            return True
    return False


def _is_of_people(said: Mapping[str, Any], policy: Policy) -> bool:
    """Tell whether a check is one of those that are made while rows still say whose they are."""
    if not policy.person_columns:
        return False
    if said["name"] == NOT_COUNTED.name:
        return bool(said["detail"] == NOT_COUNTED.detail)
    asked = {model_words(model, name) for name, _, model in policy.requirements()} | {"manifest"}
    prefix, name = said["name"][: len(IN_PEOPLE)], said["name"][len(IN_PEOPLE) :]
    return prefix == IN_PEOPLE and name in asked and PEOPLE_DETAILS.fullmatch(said["detail"]) is not None
