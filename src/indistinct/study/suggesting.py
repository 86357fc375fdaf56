"""suggested_policy(): the policy that a profile suggests, with its models and its algorithm, and why."""

from __future__ import annotations

from indistinct.policy import Column, Policy, quasi
from indistinct.privacy import KAnonymity, LDiversity, PrivacyModel
from indistinct.study.column_roles import ColumnProfile
from indistinct.study.profiling import Profile

DIVERSE = 2
"""So many sensitive values each group is asked for: more costs much and protects little more."""
MOST_ALIKE = 0.1
"""A model is suggested if groups of k rows, put together by chance, have one value no more often than this."""
MOST_NAMED = 8
"""Of more sensitive columns without a model the others are counted."""
FEW_QUASI = 4
"""A table with more quasi columns is recoded cell by cell: one level for whole columns would leave nothing of it."""
MOST_ROWS = 400_000
"""A larger table is left to the search for whole columns, which counts tuples and takes seconds."""


def suggested_policy(profile: Profile, k: int = 5, max_suppression: int | float | None = 0.02) -> Policy:
    """Give the policy that a profile suggests; it fits the table that was looked at."""
    columns = {
        column.name: quasi(column.hierarchy, missing=column.missing_codes, unreadable=column.unreadable)
        if column.role == "quasi"
        else Column(column.role)
        for column in profile.columns
    }
    algorithm = suggested_algorithm(profile)
    return Policy(
        columns=columns,
        privacy=[KAnonymity(k), *suggested_models(profile, k)],
        max_suppression=max_suppression,
        algorithm=algorithm,
        options={"measure": "loss"} if algorithm == "regroup" else {},
        person=profile.person or list(profile.names) or None,
    )


def suggested_algorithm(profile: Profile) -> str:
    """Give the lattice for few quasi columns, and Regroup for more, which loses far less of them."""
    many = len(profile.with_role("quasi")) > FEW_QUASI
    return "regroup" if many and profile.rows <= MOST_ROWS else "lattice"


def suggested_models(profile: Profile, k: int) -> list[PrivacyModel]:
    """Give distinct l-diversity, l = 2, for the most sensitive column of a known topic that groups of k can have it of.

    Each model costs much, and several cost far more than each, so there is one. A column gets none if a group of k rows
    too often has one value by chance, or if a quasi column tells it: groups would have to be far larger than k, or to
    lose that quasi column. ``reasons`` names the columns without a model.
    """
    for column in _candidates(profile):
        if not _hindrance(column, k):
            return [LDiversity(DIVERSE, column=column.name)]
    return []


def reasons(profile: Profile, policy: Policy) -> list[str]:
    """Say in sentences why a suggested policy has its algorithm and its models, and which columns tell others."""
    many = len(profile.with_role("quasi"))
    why = {
        "regroup": f"{many} quasi columns: recoded cell by cell they lose far less than by one level for each column",
        "lattice": f"{many} quasi columns: the best level for each of them is found",
    }
    found = [f"{policy.algorithm}, because of {why[policy.algorithm]}"]
    k = next(model.k for model in policy.privacy if isinstance(model, KAnonymity))
    columns = {column.name: column for column in profile.columns}
    with_model = [model.column for model in policy.privacy if isinstance(model, LDiversity) and model.column]
    for name in with_model:
        found.append(
            f"l-diversity of {name}, because else all of a group may have one value; {DIVERSE} values are "
            f"what groups of k can have where {100 * columns[name].largest_share:.0f} % of all rows have one"
        )
    found += _without_model([column for column in _candidates(profile) if column.name not in with_model], k)
    return found + [f"{one.sentence}: whoever reads one learns the other" for one in profile.dependencies]


def _candidates(profile: Profile) -> list[ColumnProfile]:
    """Give the sensitive columns of a known topic, the most sensitive first."""
    known = [column for column in profile.with_role("sensitive") if column.topic is not None and column.distinct > 1]
    return sorted(known, key=lambda column: column.urgency)


def _hindrance(column: ColumnProfile, k: int) -> str:
    """Say why groups of k rows can hardly have two values of a column; nothing if they can."""
    if column.told_by is not None:
        return f"{column.told_by}, which is quasi, mostly tells it: should that be sensitive too?"
    if k < DIVERSE or column.largest_share**k > MOST_ALIKE:
        return f"{100 * column.largest_share:.0f} % of all rows have one value: groups would have to be much larger"
    return ""


def _without_model(columns: list[ColumnProfile], k: int) -> list[str]:
    """Name the sensitive columns that have no model, and say why they have none."""
    said = [
        f"no model for {column.name}: {_hindrance(column, k) or 'one is suggested, since each costs much of the table'}"
        for column in columns[:MOST_NAMED]
    ]
    if len(columns) > MOST_NAMED:
        said.append(f"no model for {len(columns) - MOST_NAMED} more sensitive columns")
    if columns:
        said.append("without a model a group may have one sensitive value, which then is that of each of its people")
    return said
