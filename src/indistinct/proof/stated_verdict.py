"""The verdict that a manifest states, compared with the recount: its counts, and each check in its very words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.policy import Policy
from indistinct.proof.checks import CLASSES, Check, Recount, model_words, stated_words
from indistinct.proof.people_recount import NOT_COUNTED
from indistinct.recoding.classes import TWO_TABLES

IN_PEOPLE = "people: "
PEOPLE_DETAILS = re.compile(
    r"[\d,]+ (groups?|profiles?), the smallest of [\d,]+ (person|people)|the rows have the people of the manifest|"
    r"any (one|\d+) of \d+ quasi columns? (is|together are) shared by at least [\d,]+ (person|people); "
    r"\d+ sets? of columns counted"
)
"""What a check of people says that passed; the release does not tell whose its rows are, so only words are compared."""
MODEL_DETAILS = re.compile(
    r"[\d,]+ (groups?|class(es)?), the smallest of [\d,]+ rows?|"
    r"[\d,]+ of [\d,]+ (groups|classes) fail, [\d,]+ rows? in them"
)
CODE_DETAILS = re.compile(
    r"no cell shows a code that means missing|[\d,]+ cells? shows? a code that means missing, instead of none"
)


def verdict_mistakes(
    manifest: Mapping[str, Any],
    policy: Policy,
    found: Recount,
    recount: Sequence[Check] | None,
    *,
    described: Mapping[str, Any] | None = None,
) -> list[str]:
    """Compare the verdict that a manifest states with the recount; None if that was made under another policy.

    The words of checks are those of every version so far: else a manifest that names another one could say anything.
    ``described`` is the policy as the manifest states it, if there is no other: some of its checks cannot be made
    then.
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
    if len({said["name"] for said in checks}) < len(checks):
        return ["verdict has a check twice"]
    wrong = [
        f"verdict.{name} is {count}, as is counted, not what it says"
        for name, count in counts.items()
        if type(stated.get(name)) is not int or stated[name] != count
    ]
    if stated.get("known", []) != [one.to_dict() for one in found.known]:
        wrong.append("verdict.known is not what is counted")
    more = {} if described is None else _words_without_policy(described, is_apart=manifest.get("form") == TWO_TABLES)
    if recount is not None and _comes_out_otherwise(checks, policy, recount, more):
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
    checks: Sequence[Mapping[str, Any]],
    policy: Policy,
    recount: Sequence[Check],
    more: Mapping[str, re.Pattern[str]],
) -> bool:
    """Tell whether a stated check has another outcome here, or other words.

    ``more`` are checks that cannot be made here, and what they may say.
    """
    own = {check.name: check for check in recount}
    for said in checks:
        name = said["name"]
        if name in own:
            if said["passed"] is not own[name].passed or said["detail"] != own[name].detail:
                return True
        elif not (_is_of_people(said, policy) or (name in more and more[name].fullmatch(said["detail"]))):
            return True
    return False


def _words_without_policy(described: Mapping[str, Any], *, is_apart: bool = False) -> dict[str, re.Pattern[str]]:
    """Give the checks that only who has the policy can make, and what they may say.

    They ask for hierarchies, for codes that mean a missing cell, for a population or for limits of single values.
    """
    places = [CLASSES] if is_apart else described["quasi_identifiers"]
    models = {stated_words(terms, where): MODEL_DETAILS for terms in described["privacy"] for where in places}
    columns = described["columns"].items()
    levels = {name: said.get("min_level", said.get("recode", {}).get("level")) for name, said in columns}
    return (
        models
        | {f"level of {name}": _level_details(level) for name, level in levels.items() if level is not None}
        | {f"missing cells in {name}": CODE_DETAILS for name, said in columns if "missing_codes" in said}
    )


def _level_details(level: int | str) -> re.Pattern[str]:
    """Give what the check of a level that a policy demands may say."""
    return re.compile(
        rf"no value of the table is shown below level {re.escape(str(level))}|"
        rf"[\d,]+ labels? (is|are) finer than {re.escape(repr(level))}, which the policy demands"
    )


def _is_of_people(said: Mapping[str, Any], policy: Policy) -> bool:
    """Tell whether a check is one of those that are made while rows still say whose they are."""
    if not policy.person_columns:
        return False
    if said["name"] == NOT_COUNTED.name:
        return bool(said["detail"] == NOT_COUNTED.detail)
    asked = {model_words(model, name) for name, _, model in policy.requirements()} | {"manifest"}
    prefix, name = said["name"][: len(IN_PEOPLE)], said["name"][len(IN_PEOPLE) :]
    return prefix == IN_PEOPLE and name in asked and PEOPLE_DETAILS.fullmatch(said["detail"]) is not None
