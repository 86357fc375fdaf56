"""suggested_policy(): the policy that a profile suggests, with its models and its algorithm, and why."""

from __future__ import annotations

import math

from indistinct.policy import Column, Policy, quasi
from indistinct.privacy import KAnonymity, LDiversity, PrivacyModel
from indistinct.study.column_roles import ColumnProfile
from indistinct.study.profiling import Profile

MOST_MODELS = 3
MOST_DIVERSE = 3
"""Groups are asked for at most so many sensitive values: more costs much and protects little more."""
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
    """Give distinct l-diversity for sensitive columns of a known topic, with an l that groups of k can have.

    If a share p of the rows has the most frequent value, groups of k rows have k (1 - p) others on average: l is one
    more than that, at most three and at most the number of values. Where that is less than two, groups would have to be
    much larger than k, and no model is added.
    """
    found: list[PrivacyModel] = []
    for column in sorted(profile.with_role("sensitive"), key=_urgency):
        if column.topic is None or len(found) == MOST_MODELS:
            continue
        most = min(MOST_DIVERSE, column.distinct, k, math.floor(1 + k * (1 - column.largest_share) + 1e-9))
        if most >= 2:
            found.append(LDiversity(most, column=column.name))
    return found


def reasons(profile: Profile, policy: Policy) -> list[str]:
    """Say in sentences why a suggested policy has its algorithm and its models, and which columns tell others."""
    many = len(profile.with_role("quasi"))
    why = {
        "regroup": f"{many} quasi columns: recoded cell by cell they lose far less than by one level for each column",
        "lattice": f"{many} quasi columns: the best level for each of them is found",
    }
    found = [f"{policy.algorithm}, because of {why[policy.algorithm]}"]
    shares = {column.name: column for column in profile.columns}
    for model in policy.privacy:
        if isinstance(model, LDiversity) and model.column is not None:
            share = shares[model.column].largest_share
            found.append(
                f"l-diversity of {model.column}, because else all of a group may have one value; {model.l} values are "
                f"what groups of k can have where {100 * share:.0f} % of all rows have one"
            )
    return found + [f"{one.sentence}: whoever reads one learns the other" for one in profile.dependencies]


def _urgency(column: ColumnProfile) -> int:
    order = ["health", "offences", "beliefs", "money", "scores"]
    return order.index(column.topic) if column.topic in order else len(order)
