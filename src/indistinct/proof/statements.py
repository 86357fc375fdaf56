"""Statements: what a manifest says, each checked against the table and the policy, or named as not checked.

A manifest is read by whoever gets the release, so it may say nothing that nobody looks at: what is not known here is
refused, also a remark that holds private cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import indistinct
from indistinct.policy import Policy
from indistinct.privacy import DifferentialPrivacy
from indistinct.proof.checks import Check, Recount
from indistinct.recoding.classes import LINK, TWO_TABLES, not_protected
from indistinct.released.manifest import LINKED_TABLES, policy_described, policy_digest
from indistinct.showing.words import counted

HEX = re.compile("[0-9a-f]+")
Shape = Callable[[Any], bool]


def _is_count(said: Any) -> bool:
    return type(said) is int and 0 <= said < 1 << 63


def _is_number(said: Any) -> bool:
    return type(said) in (int, float) and math.isfinite(said) and said >= 0


def _is_text(said: Any) -> bool:
    return isinstance(said, str)


def _is_digest(said: Any) -> bool:
    return isinstance(said, str) and len(said) == 64 and HEX.fullmatch(said) is not None


def _is_moment(said: Any) -> bool:
    try:
        return datetime.fromisoformat(said).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _by_name(of: Shape) -> Shape:
    """Tell whether something gives names such values."""
    return lambda said: isinstance(said, dict) and all(map(of, said.values()))


def _is_list_of_texts(said: Any) -> bool:
    return isinstance(said, list) and all(map(_is_text, said))


def _is_of_table(statement: tuple[str, Any]) -> bool:
    """Tell whether this may be said of one of several tables that belong together."""
    name, said = statement
    shapes: dict[str, Shape] = {"columns": _is_list_of_texts, "delimiter": _is_text, "sheet": _is_text}
    shapes |= dict.fromkeys(("eligible", "released", "suppressed"), _is_count)
    return name in shapes and shapes[name](said)


STATEMENTS: dict[str, Shape] = {
    "format": lambda said: type(said) is int,
    "made_by": lambda said: _is_text(said) and re.fullmatch(r"indistinct [0-9][0-9A-Za-z.+-]*", said) is not None,
    "made_at": _is_moment,
    **dict.fromkeys(("eligible", "released", "suppressed", "groups", "smallest_group"), _is_count),
    "people": _by_name(_is_count),
    "node": lambda said: said is None or _by_name(_is_count)(said),
    "mean_levels": _by_name(_is_number),
    "level_names": _by_name(_is_text),
    "heights": _by_name(_is_count),
    "bottom": _by_name(_is_count),
    "dates_moved": _by_name(_is_count),
    "unreadable": _by_name(_is_count),
    "is_proven": lambda said: said in (True, False),
    "gap": lambda said: said is None or (_is_number(said) and said <= 1),
    "is_cut_short": lambda said: said is True,
    "measures": _by_name(lambda said: said is None or _is_number(said)),
    "form": lambda said: said in (TWO_TABLES, LINKED_TABLES),
    "linked_tables": _by_name(lambda said: isinstance(said, dict) and all(map(_is_of_table, said.items()))),
    "link": lambda said: said == LINK,
    "not_protected": _is_text,
    "tables": _by_name(_is_list_of_texts),
    "pseudonym_salt": lambda said: _is_text(said) and HEX.fullmatch(said) is not None,
    "unsafe": lambda said: said is True,
    "ledger_head": _is_digest,
    "options": lambda said: isinstance(said, dict),
    "limits": lambda said: isinstance(said, dict),
    "about": _by_name(_is_text),
    "perturbations": _by_name(_by_name(lambda said: isinstance(said, dict))),
    "drawn": _by_name(_is_number),
    "delimiter": lambda said: _is_text(said) and len(said) == 1,
    "algorithm": _is_text,
    "policy": lambda said: isinstance(said, dict),
    "policy_sha256": _is_digest,
    "verdict": lambda said: isinstance(said, dict),
    "files": _by_name(_is_digest),
}
"""Everything that a manifest may say, and what it looks like."""

NOT_CHECKED = {
    "made_at": "when it was made",
    "made_by": "by which version",
    "about": "its purpose and who decided on it",
    "algorithm": "by which algorithm",
    "options": "with which options",
    "limits": "within which limits",
    "is_proven": "whether that proved it to be the best",
    "gap": "how far it can be from the best",
    "measures": "the measures of what it costs",
    "drawn": "how its rows were drawn, but for the numbers that follow from the policy",
    "mean_levels": "how far columns were generalized on average",
    "unreadable": "how many cells could not be read",
    "bottom": "at which levels it was counted",
    "ledger_head": "where its ledger ended before it",
    "is_cut_short": "whether a limit ended the search",
    "people": "how many people it is about",
    "tables": "which columns its tables have",
    "pseudonym_salt": "the salt of its pseudonyms",
}
"""Statements that follow from nothing at hand, in words."""


def manifest_check(manifest: Mapping[str, Any], policy: Policy, found: Recount, recount: list[Check]) -> Check:
    """Check what a manifest says against the table, the policy, and the recount of its cells."""
    wrong = statement_mistakes(manifest) or _level_mistakes(manifest, policy)
    if not wrong:
        is_removed = manifest.get("form") == TWO_TABLES or policy.suppressed_rows == "remove"
        is_of_policy = manifest.get("policy_sha256") == policy_digest(policy)  # if not, that is said already
        wrong = [
            *_count_mistakes(manifest, found, is_removed=is_removed),
            *_perturbation_mistakes(manifest, policy),
            *_shift_mistakes(manifest, policy),
            *(_policy_mistakes(manifest, policy) if is_of_policy else []),
            *_verdict_mistakes(manifest, found, recount if is_of_policy else []),
        ]
    return Check("manifest", not wrong, "; ".join(wrong) or "the table has the counts of the manifest")


def statement_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say what in a manifest no release of ours says, or not in this way; what stands there is not quoted."""
    unknown = sum(name not in STATEMENTS for name in manifest)
    wrong = [f"{counted(unknown, 'statement')} that no manifest makes"] if unknown else []
    shown = [(name, shape) for name, shape in STATEMENTS.items() if name in manifest]
    return wrong + [f"{name} is impossible" for name, shape in shown if not shape(manifest[name])]


def unchecked_statements(manifest: Mapping[str, Any], *, has_original: bool) -> tuple[str, ...]:
    """Give in words what a manifest states that was not checked."""
    words = [words for name, words in NOT_CHECKED.items() if name in manifest]
    if not has_original:
        words += ["how many rows were suppressed", "the level of each column"]
    return (f"what the manifest says of {', '.join(words)}",) if words else ()


def _count_mistakes(manifest: Mapping[str, Any], found: Recount, *, is_removed: bool) -> list[str]:
    """Compare the counts of a manifest with those of the table, and with each other."""
    claims = {
        "released": found.rows if is_removed else found.rows - manifest["suppressed"],
        "groups": len(found.sizes),
        "smallest_group": found.smallest,
    }
    if not is_removed and manifest["suppressed"]:  # the blank rows are a group that the manifest leaves out
        del claims["groups"], claims["smallest_group"]
    wrong = [f"{name} is {count}, not {manifest[name]}" for name, count in claims.items() if manifest[name] != count]
    if "eligible" in manifest and manifest["eligible"] != manifest["released"] + manifest["suppressed"]:
        wrong.append("eligible is not released and suppressed together")
    people = manifest.get("people", {})
    if people and people.get("released", 0) > min(manifest["released"], people.get("eligible", 0)):
        wrong.append("people: more are released than there are")
    return wrong


def _perturbation_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what a manifest says of perturbed numbers with what the policy declares."""
    is_same = manifest.get("perturbations", {}) == policy.describe_perturbations()
    return [] if is_same else ["perturbations are not those that the policy declares"]


def _shift_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare by how many days dates may have moved, as a manifest says, with what the policy declares."""
    days = {shift.days for shift in policy.shifted.values()}
    stated = manifest.get("dates_moved")
    is_same = stated is None or (set(stated) == {"days"} and stated["days"] in days)
    return [] if is_same else ["dates_moved is not what the policy declares"]


def _level_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare the levels of a manifest with the hierarchies of the policy."""
    heights = manifest.get("heights", {})
    wrong = []
    for what in ("heights", "node", "level_names", "mean_levels", "bottom"):
        said = manifest.get(what)
        if said is not None and set(said) != set(policy.quasi):
            wrong.append(f"{what} is not of the quasi columns")
    if (manifest["node"] is None) is not (manifest.get("level_names") is None) and "form" not in manifest:
        wrong.append("node and level_names do not go together")
    if wrong:
        return wrong
    for what in ("node", "mean_levels", "bottom"):
        said = manifest.get(what) or {}
        wrong += [f"{what} of {name!r} is beyond its height" for name, level in said.items() if level > heights[name]]
    return wrong


def _hierarchy_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare heights and names of levels with the hierarchies of the policy."""
    heights, names = manifest.get("heights", {}), manifest.get("level_names", {})
    wrong = []
    for name in policy.quasi:
        hierarchy = policy.columns[name].hierarchy
        if hierarchy.height is None:
            continue  # it follows from the values
        if heights and heights[name] != hierarchy.height:
            wrong.append(f"heights of {name!r} is not that of its hierarchy")
        elif names and names[name] != hierarchy.level_names[manifest["node"][name]]:
            wrong.append(f"level_names of {name!r} is not what its hierarchy calls the level")
    return wrong


def _policy_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what a manifest says of its policy with the policy; the algorithm may be another."""
    stated = manifest.get("policy")
    wrong = _hierarchy_mistakes(manifest, policy)
    if stated is not None and _without_algorithm(stated) != _without_algorithm(policy_described(policy)):
        wrong.append("policy is not the policy")
    if {**manifest.get("drawn", {}), "candidates": 0} != {"candidates": 0, **_drawn_by(policy)}:
        wrong.append("drawn is not what the policy asks for")
    if manifest.get("form") == TWO_TABLES and manifest.get("not_protected") != not_protected(policy):
        wrong.append("not_protected is not what two tables leave open")
    return wrong


def _drawn_by(policy: Policy) -> dict[str, Any]:
    """Give what a policy makes a manifest say of how rows were drawn, but for the number of candidates."""
    k = max(model.least_rows for model in policy.privacy)
    found = [model.expenses() for model in policy.privacy if isinstance(model, DifferentialPrivacy)]
    return {**found[0], "k": k} if found else {}


def _without_algorithm(described: Mapping[str, Any]) -> dict[str, Any]:
    """Give a described policy as JSON keeps it."""
    return {name: _as_json(said) for name, said in described.items() if name != "algorithm"}


def _as_json(said: Any) -> Any:
    if isinstance(said, Mapping):
        return {str(name): _as_json(value) for name, value in said.items()}
    return [_as_json(value) for value in said] if isinstance(said, list | tuple) else said


def _verdict_mistakes(manifest: Mapping[str, Any], found: Recount, recount: list[Check]) -> list[str]:
    """Compare the verdict that a manifest states with the recount."""
    stated = manifest.get("verdict")
    if stated is None:
        return []
    wrong = []
    counts = {"rows": found.rows, "groups": len(found.sizes), "smallest_group": found.smallest}
    checks = stated.get("checks")
    if set(stated) - {"passed", "checks", "known", *counts} or not isinstance(checks, list):
        return ["verdict says what no verdict says"]
    wrong += [
        f"verdict.{name} is {count}, as is counted, not what it says"
        for name, count in counts.items()
        if stated.get(name) != count
    ]
    if stated.get("known", []) != [one.to_dict() for one in found.known]:
        wrong.append("verdict.known is not what is counted")
    by_name = {check.name: check for check in recount}
    is_same_version = manifest.get("made_by") == f"indistinct {indistinct.__version__}"
    for said in checks:
        if not isinstance(said, dict) or set(said) != {"name", "passed", "detail"} or not _is_text(said["detail"]):
            return [*wrong, "verdict has a check that is none"]
        own = by_name.get(said["name"])
        if own is not None and (said["passed"] is not own.passed or (is_same_version and said["detail"] != own.detail)):
            wrong.append("verdict has a check that comes out otherwise")
            break
    has_passed = all(isinstance(said, dict) and said.get("passed") is True for said in checks)
    if stated.get("passed") is not has_passed or (manifest.get("unsafe") is True) is has_passed:
        wrong.append("verdict, its checks and unsafe do not say the same")
    return wrong
