"""A policy in words: what is asked of a release, column by column and model by model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indistinct.policy import ALL_QUASI, Column, Policy
from indistinct.showing.words import counted

ROLES = {
    "identifier": "names people: never released",
    "quasi": "others may know it and link by it: made coarser",
    "sensitive": "nobody should learn it about a person: released as it is",
    "other": "neither identifies nor harms: released as it is",
    "drop": "not released, though it names nobody",
}
PUBLISHED = "others may know it and link by it: published as it is, apart from what is sensitive"
"""What a quasi column is to a release of two tables."""


def policy_in_words(policy: Policy, *, is_public: bool, generalizes: bool = True) -> dict[str, Any]:
    """Return what a policy asks for; a public edition names no value that a filter compares with.

    A release of two tables (which does not ``generalize``) has classes for groups, and changes no quasi cell.
    """
    requirements = [model.in_words("people" if policy.person_columns else "rows") for model in policy.privacy]
    if not generalizes:
        requirements = [
            said.replace("rows that look alike", "rows of a class").replace("group", "class") for said in requirements
        ]
    return {
        "requirements": requirements,
        "suppression": _suppression(policy),
        "person": list(dict.fromkeys(name for part in policy.parts.values() for name in part.person)),
        "known_events": 0 if policy.knows is None else policy.knows.together,
        "is_linked": policy.links_rows,
        "columns": [_column(name, column, generalizes) for name, column in policy.columns.items()],
        "eligible": [_condition(c.column, c.op, None if is_public else c.value) for c in policy.eligible],
        "quasi_identifiers": {}
        if ALL_QUASI in _quasi_identifiers(policy)
        else {n: list(c) for n, c in _quasi_identifiers(policy).items()},
    }


def hierarchy_in_words(levels: list[str], kind: str) -> str:
    """Name a hierarchy and its levels.

    >>> hierarchy_in_words(["value", "month", "year"], "dates")
    'dates: value → month → year'
    """
    return f"{kind}: {' → '.join(levels)}" if len(levels) > 1 else "never made coarser; rows can only be left out"


def _suppression(policy: Policy) -> str:
    limit = policy.max_suppression
    if limit is None:
        said = "How many rows may be left out is up to the algorithm."
    elif not limit:
        return "No row may be left out."
    elif isinstance(limit, float):
        said = f"At most {100 * limit:.6g} % of the rows may be left out."
    else:
        said = f"At most {counted(limit, 'row')} may be left out."
    return said + (" They stay with blank cells." if policy.suppressed_rows == "blank" else "")


def _column(name: str, column: Column, generalizes: bool) -> dict[str, Any]:
    described = {"name": name, "role": column.role, "means": ROLES[column.role]}
    if column.role == "quasi" and not generalizes:
        described["means"] = PUBLISHED
    elif column.role == "quasi":
        hierarchy = column.hierarchy.describe()
        described["hierarchy"] = hierarchy_in_words(hierarchy["levels"] or ["value", "…"], hierarchy["kind"])
        described["missing"] = "a value of its own" if column.missing == "value" else "refused"
        described["weight"] = f"{column.weight:g}"
    if column.recode is not None:
        described["means"] = described["means"].replace("released as it is", "released in a coarser form")
        recode = column.recode.describe()
        levels = hierarchy_in_words(recode["levels"] or ["value", "…"], recode["kind"])
        described["hierarchy"] = f"{levels}; recoded to level {column.recode_level}"
    if column.shift is not None:
        moved = f"released with its dates moved, all of a person by one number of days, {column.shift.days} at most"
        described["means"] = described["means"].replace("released as it is", moved)
    if column.perturbation is not None:
        described["means"] = described["means"].replace("released as it is", column.perturbation.in_words())
    if column.rename is not None:
        described["means"] += f"; called {column.rename} in the release"
    if column.missing_codes or column.unreadable != "refuse":
        described["declared"] = _cells_in_words(column)
    return described


def _cells_in_words(column: Column) -> str:
    """Say what is taken for a missing cell, and what becomes of cells that cannot be read."""
    said = []
    if column.missing_codes:
        said.append(f"{counted(len(column.missing_codes), 'code means', 'codes mean')} a missing cell")
    if column.unreadable != "refuse":
        what = "taken for missing" if column.unreadable == "missing" else "left out with their rows"
        said.append(f"cells that the hierarchy cannot read are {what}")
    return "; ".join(said)


def _condition(column: str, op: str, value: object) -> str:
    if op in ("present", "missing"):
        return f"{column} is {op}"
    shown = "…" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{column} {op} {shown}"


def _quasi_identifiers(policy: Policy) -> Mapping[str, Any]:
    assert policy.quasi_identifiers is not None  # set when the policy was made
    return policy.quasi_identifiers
