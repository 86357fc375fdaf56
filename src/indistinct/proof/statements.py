"""Statements: what a manifest says, each checked against the table and the policy, or named as not checked.

A manifest is read by whoever gets the release, so it may say nothing that nobody looks at: what is not known here is
refused, also a remark that holds private cells.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from indistinct.policy import Policy
from indistinct.policy.about import ABOUT
from indistinct.policy.stated_policy import is_plain
from indistinct.proof.checks import Check, Recount
from indistinct.proof.stated_measures import (
    OF_ALL_RELEASES,
    OF_ORIGINAL,
    SHARES,
    bound_mistakes,
    measures_from_statements,
    mistaken_measures,
    without_blank,
)
from indistinct.proof.stated_search import (
    NOT_SAID_IN_1,
    drawn_mistakes,
    form_mistakes,
    format_mistakes,
    is_search,
    option_mistakes,
    policy_mistakes,
    proof_mistakes,
)
from indistinct.proof.stated_tables import several_tables_mistakes
from indistinct.proof.stated_verdict import verdict_mistakes
from indistinct.recoding.classes import LINK, not_protected
from indistinct.release.forms import LINKED_TABLES, TWO_TABLES
from indistinct.release.manifest import policy_described, policy_digest
from indistinct.showing.words import counted

HEX = re.compile("[0-9a-f]+")
CHARACTERS = re.compile(r"[\d,]+ characters?|suppressed")
VERSION = re.compile(
    r"indistinct \d{1,4}(\.\d{1,4}){0,3}((a|b|rc)\d{1,3})?(\.(post|dev)\d{1,4}){0,2}(\+[a-z0-9.]{1,20})?"
)
PEOPLE = {"eligible", "released", "lost_rows", "lost_all_rows", "smallest_group", "smallest_profile"}
Shape = Callable[[Any], bool]


def _is_count(said: Any) -> bool:
    return type(said) is int and 0 <= said < 1 << 63


def _is_number(said: Any) -> bool:
    return type(said) in (int, float) and math.isfinite(said) and said >= 0


def _is_share(said: Any) -> bool:
    return _is_number(said) and bool(said <= 1)


def _is_text(said: Any) -> bool:
    return isinstance(said, str)


def _is_hex(digits: int) -> Shape:
    """Return whether something is so many digits, and no text that was put into digits."""
    return lambda said: isinstance(said, str) and len(said) == digits and HEX.fullmatch(said) is not None


def _are_options(said: Any) -> bool:
    """Return whether options have names of the kind that options have, and values that are no sentences."""
    return isinstance(said, dict) and all(map(is_plain, said)) and all(map(_is_option, said.values()))


def _is_option(said: Any) -> bool:
    if isinstance(said, dict | list):
        inside = [*said, *said.values()] if isinstance(said, dict) else said
        return all(isinstance(one, str) or _is_option(one) for one in inside)  # names of columns
    if isinstance(said, float):
        return math.isfinite(said)
    return said is None or isinstance(said, bool | int) or is_plain(said)


def _is_moment(said: Any) -> bool:
    try:
        moment = datetime.fromisoformat(said)
        return moment.utcoffset() == timedelta(0) and moment.isoformat(timespec="seconds") == said
    except (TypeError, ValueError):
        return False


def _by_name(of: Shape, names: Set[str] | None = None) -> Shape:
    """Return whether something gives names such values; only these names, if any are listed."""
    return lambda said: (
        isinstance(said, dict) and all(map(of, said.values())) and (names is None or names >= said.keys())
    )


def _is_figure(statement: tuple[str, Any]) -> bool:
    """Return whether this may be said by a measure."""
    name, said = statement
    return is_plain(name) and (name not in SHARES or _is_share(said))


def _is_list_of_texts(said: Any) -> bool:
    return isinstance(said, list) and all(map(_is_text, said))


def _is_of_table(statement: tuple[str, Any]) -> bool:
    """Return whether this may be said of one of several tables that belong together."""
    name, said = statement
    shapes: dict[str, Shape] = {"columns": _is_list_of_texts, "delimiter": _is_text, "sheet": _is_text}
    shapes |= dict.fromkeys(("eligible", "released", "suppressed"), _is_count)
    return name in shapes and shapes[name](said)


STATEMENTS: dict[str, Shape] = {
    "format": lambda said: type(said) is int,
    "made_by": lambda said: _is_text(said) and VERSION.fullmatch(said) is not None,
    "made_at": _is_moment,
    **dict.fromkeys(("eligible", "released", "suppressed", "groups", "smallest_group"), _is_count),
    "people": _by_name(_is_count, PEOPLE),
    "node": lambda said: said is None or _by_name(_is_count)(said),
    "mean_levels": _by_name(_is_number),
    "level_names": _by_name(_is_text),
    "heights": _by_name(_is_count),
    "bottom": _by_name(_is_count),
    "dates_moved": _by_name(_is_count),
    "unreadable": _by_name(_is_count),
    "is_proven": lambda said: type(said) is bool,
    "gap": lambda said: said is None or (_is_number(said) and said <= 1),
    "bound": lambda said: _by_name(_is_share)(said) and len(said) == 1 and all(map(is_plain, said)),
    "is_cut_short": lambda said: said is True,
    "measures": lambda said: _by_name(_is_number)(said) and all(map(_is_figure, said.items())),
    "form": lambda said: said in (TWO_TABLES.stated, LINKED_TABLES.stated),
    "linked_tables": _by_name(lambda said: isinstance(said, dict) and all(map(_is_of_table, said.items()))),
    "link": lambda said: said == LINK,
    "not_protected": _is_text,
    "tables": _by_name(_is_list_of_texts),
    "pseudonym_salt": _is_hex(32),
    "unsafe": lambda said: said is True,
    "ledger_head": _is_hex(64),
    "verifier": _is_hex(64),
    "options": _are_options,
    "limits": lambda said: _by_name(_is_number, {"max_tuples", "time_limit"})(said) and bool(said),
    "about": lambda said: _by_name(_is_text, ABOUT.keys())(said) and bool(said),
    "perturbations": _by_name(_by_name(lambda said: isinstance(said, dict))),
    "drawn": lambda said: _by_name(_is_number)(said) and all(map(is_plain, said)),
    "based": lambda said: said is True,
    "delimiter": lambda said: _is_text(said) and len(said) == 1,
    "algorithm": is_plain,
    "search": is_search,
    "policy": lambda said: isinstance(said, dict),
    "policy_sha256": _is_hex(64),
    "verdict": lambda said: isinstance(said, dict),
    "files": _by_name(_is_hex(64)),
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
    "bound": "what no release of its kind could lose less than, but that it does not lose less itself",
    "drawn": "how its rows were drawn, but for the numbers that follow from the policy",
    "mean_levels": "how far columns were generalized on average",
    "based": "its measures, which begin at the labels of the release that it is based on",
    "unreadable": "how many cells could not be read",
    "bottom": "at which levels it was counted",
    "ledger_head": "where its ledger ended before it",
    "is_cut_short": "whether a limit ended the search",
    "people": "how many people it is about",
    "pseudonym_salt": "the salt of its pseudonyms",
}
"""Statements that follow from nothing at hand, in words."""


def manifest_check(
    manifest: Mapping[str, Any], policy: Policy, found: Recount, recount: list[Check], *, is_stated: bool = False
) -> Check:
    """Check what a manifest says against the table, the policy, and the recount of its cells.

    ``is_stated`` says that the policy is no other than the one that the manifest states.
    """
    wrong = statement_mistakes(manifest) or format_mistakes(manifest, policy) or form_mistakes(manifest)
    wrong = wrong or _level_mistakes(manifest, policy)
    if not wrong:
        is_removed = manifest.get("form") == TWO_TABLES.stated or policy.suppressed_rows == "remove"
        described = manifest["policy"] if is_stated else None
        is_of_policy = manifest.get("policy_sha256") == policy_digest(policy)  # if not, that is said already
        wrong = [
            *_count_mistakes(manifest, found, is_removed=is_removed),
            *policy_mistakes(manifest, policy),
            *option_mistakes(manifest, policy),
            *bound_mistakes(manifest),
            *(_policy_mistakes(manifest, policy) if is_of_policy else []),
            *(_protection_mistakes(manifest, policy) if is_of_policy or is_stated else []),
            *(drawn_mistakes(manifest, policy) if is_of_policy or is_stated else []),
            *(_hierarchy_mistakes(manifest, _stated_hierarchies(manifest, policy)) if is_stated else []),
            *verdict_mistakes(
                manifest, policy, found, recount if is_of_policy or is_stated else None, described=described
            ),
        ]
        if not wrong and (is_of_policy or is_stated) and "measures" in manifest:
            told = measures_from_statements(manifest, policy, found.sizes)
            wrong = mistaken_measures(manifest["measures"], told)
    return Check("manifest", not wrong, "; ".join(wrong) or "the table has the counts of the manifest")


def statement_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say what in a manifest no release of ours says, or not in this way; what stands there is not quoted."""
    unknown = sum(name not in STATEMENTS for name in manifest)
    wrong = [f"{counted(unknown, 'statement')} that no manifest makes"] if unknown else []
    shown = [(name, shape) for name, shape in STATEMENTS.items() if name in manifest]
    return wrong + [f"{name} is impossible" for name, shape in shown if not shape(manifest[name])]


def unchecked_statements(
    manifest: Mapping[str, Any], *, has_original: bool, measured: Sequence[str]
) -> tuple[str, ...]:
    """Return in words what a manifest states that was not checked; ``measured`` are the measures that were."""
    checked = {"unreadable"} if has_original else set()
    checked |= {"mean_levels"} if set(OF_ORIGINAL) <= set(measured) else set()
    words = [words for name, words in NOT_CHECKED.items() if name in manifest and name not in checked]
    words += _unchecked_measures(manifest, measured)
    words += [NOT_SAID_IN_1] if manifest.get("format") == 1 else []
    if not has_original:
        words += ["how many rows were suppressed", "the level of each column"]
    return (f"what the manifest says of {', '.join(words)}",) if words else ()


def _unchecked_measures(manifest: Mapping[str, Any], measured: Sequence[str]) -> list[str]:
    """Name the measures that were not worked out anew; of other packages only how many they are."""
    stated = manifest.get("measures")
    names = [name for name in stated if name not in measured] if isinstance(stated, dict) else []
    ours = [name for name in names if name in (*OF_ALL_RELEASES, *OF_ORIGINAL)]
    others = len(names) - len(ours)
    return [f"the measures {', '.join([*ours, *([f'{others} of others'] if others else [])])}"] if names else []


def mistakes_of_tables(
    manifest: Mapping[str, Any], policy: Policy, found: Recount, recount: Sequence[Check]
) -> list[str]:
    """Say what is wrong in the manifest of several tables that belong together, but for the numbers of their rows."""
    wrong = statement_mistakes(manifest) or format_mistakes(manifest, policy) or form_mistakes(manifest)
    wrong = wrong or _level_mistakes(manifest, policy) or several_tables_mistakes(manifest, policy)
    if wrong:
        return wrong
    wrong = proof_mistakes(manifest) + option_mistakes(manifest, policy)
    is_of_policy = manifest.get("policy_sha256") == policy_digest(policy)
    if is_of_policy:
        wrong += _hierarchy_mistakes(manifest, _own_hierarchies(policy)) + _description_mistakes(manifest, policy)
    return wrong + verdict_mistakes(manifest, policy, found, recount if is_of_policy else None)


def _count_mistakes(manifest: Mapping[str, Any], found: Recount, *, is_removed: bool) -> list[str]:
    """Compare the counts of a manifest with those of the table, and with each other.

    Rows that were suppressed and left blank are a group that the manifest leaves out.
    """
    blank = 0 if is_removed else manifest["suppressed"]
    sizes = without_blank(found.sizes, blank)
    claims = {
        "released": found.rows - blank,
        "groups": len(sizes),
        "smallest_group": int(sizes.min(initial=found.rows)),
    }
    wrong = [f"{name} is {count}, not {manifest[name]}" for name, count in claims.items() if manifest[name] != count]
    if "eligible" in manifest and manifest["eligible"] != manifest["released"] + manifest["suppressed"]:
        wrong.append("eligible is not released and suppressed together")
    return wrong + proof_mistakes(manifest) + _people_mistakes(manifest)


def _people_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether numbers of people are impossible beside each other, and beside those of their rows."""
    people = manifest.get("people")
    if people is None:
        return []
    if PEOPLE - people.keys() - {"smallest_profile"}:
        return ["people: a number is missing"]
    if people["released"] > min(manifest["released"], people["eligible"]):
        return ["people: more are released than there are"]
    lost = people["eligible"] - people["released"]
    is_possible = (
        people["lost_all_rows"] == lost <= people["lost_rows"] <= min(people["eligible"], manifest["suppressed"])
        and 0 < people["smallest_group"] <= min(manifest["smallest_group"], people["released"])
        and 0 < people.get("smallest_profile", 1) <= people["released"]
    )
    return [] if is_possible else ["people: the numbers do not go together"]


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
    if (manifest["node"] is None) is not ("mean_levels" in manifest):
        wrong.append("node and mean_levels do not go together")
    if not heights and any(manifest.get(what) for what in ("node", "mean_levels", "bottom")):
        wrong.append("heights are not stated, beyond which no level may lie")
    if wrong:
        return wrong
    for what in ("node", "mean_levels", "bottom"):
        said = manifest.get(what) or {}
        wrong += [f"{what} of {name!r} is beyond its height" for name, level in said.items() if level > heights[name]]
    return wrong


def _hierarchy_mistakes(manifest: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Compare heights and names of levels with the hierarchies, as columns are described."""
    heights, names = manifest.get("heights", {}), manifest.get("level_names", {})
    wrong = []
    for name, column in columns.items():
        described = column["hierarchy"]
        if described["height"] is None:  # it follows from the values
            is_called = described["kind"] != "prefix" or name not in names or _is_prefix_called(manifest, name, column)
        elif heights and heights[name] != _highest_level(column):
            wrong.append(f"heights of {name!r} is not that of its hierarchy")
            continue
        else:
            is_called = not names or names[name] == described["levels"][manifest["node"][name]]
        if not is_called:
            wrong.append(f"level_names of {name!r} is not what its hierarchy calls the level")
    return wrong


def _is_prefix_called(manifest: Mapping[str, Any], name: str, column: Mapping[str, Any]) -> bool:
    """Return whether a level that keeps leading characters is called so; the longest value has one for each level."""
    called, level = manifest["level_names"][name], manifest["node"][name]
    if level == 0 or "max_level" in column:  # where levels end earlier, nothing tells how long the longest value is
        return bool(called == "value") if level == 0 else CHARACTERS.fullmatch(called) is not None
    left = manifest["heights"][name] - level
    possible = [counted(kept, "character") for kept in (left, left + 1) if kept]  # the last level may be no top
    return called in possible or (called == "suppressed" and not left)


def _highest_level(column: Mapping[str, Any]) -> Any:
    """Return the number of the level at which a column ends, as it is described."""
    names = column["hierarchy"]["levels"]
    highest = column.get("max_level", len(names) - 1)
    return names.index(highest) if highest in names else highest if highest in range(len(names)) else None


def _own_hierarchies(policy: Policy) -> dict[str, dict[str, Any]]:
    """Return the hierarchies of a policy, and the levels that it demands, as a manifest describes them."""
    columns = {name: policy.columns[name] for name in policy.quasi}
    return {name: {"hierarchy": one.hierarchy.describe(), **one.describe_levels()} for name, one in columns.items()}


def _stated_hierarchies(manifest: Mapping[str, Any], policy: Policy) -> dict[str, dict[str, Any]]:
    """Return the columns as the manifest itself describes them; the policy is the one that it states."""
    return {name: manifest["policy"]["columns"][name] for name in policy.quasi}


def _policy_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what a manifest says of its policy with the policy; the algorithm may be another."""
    return _hierarchy_mistakes(manifest, _own_hierarchies(policy)) + _description_mistakes(manifest, policy)


def _protection_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what two tables are said to leave open with what the models of the policy leave open."""
    is_same = manifest.get("form") != TWO_TABLES.stated or manifest.get("not_protected") == not_protected(policy)
    return [] if is_same else ["not_protected is not what two tables leave open"]


def _description_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare how a manifest describes its policy with the policy."""
    stated = manifest.get("policy")
    if stated is None:
        return []
    is_same = _without_algorithm(stated) == _without_algorithm(policy_described(policy))
    return [] if is_same and is_plain(stated.get("algorithm")) else ["policy is not the policy"]


def _without_algorithm(described: Mapping[str, Any]) -> str:
    """Return a described policy as one text, so that ``true`` is not taken for 1."""
    return json.dumps({name: said for name, said in described.items() if name != "algorithm"}, sort_keys=True)
