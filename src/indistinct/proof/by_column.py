"""Proof by column: the original, generalized anew to one level for each column, holds every released row."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product

import numpy as np

from indistinct.counting import Node, encode_eligible
from indistinct.engine import Encoded, Plan, Rows
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.proof.checks import Check, claim_checks, count_blank_rows, limit_checks
from indistinct.proof.least_suppression import least_suppression_check
from indistinct.proof.linked_rows import linked_rows_check
from indistinct.proof.people_recount import people_checks

MOST_NODES_TRIED = 256
"""Labels that occur on several levels leave several nodes possible; so many are tried."""


def prove_by_column(
    released: Rows, source: Rows, policy: Policy, hint: Mapping[str, int] | None, claimed: int | None
) -> list[Check]:
    """Check truthfulness, one to one, and least suppression of a table whose columns each have one level."""
    policy.check(source.columns())
    with encode_eligible(source, policy, policy.quasi) as encoded:
        return _prove_encoded(released, encoded, policy, hint, claimed)


def _prove_encoded(
    released: Rows, source: Encoded, policy: Policy, hint: Mapping[str, int] | None, claimed: int | None
) -> list[Check]:
    """Check the same of an original that was encoded."""
    hierarchies = {name: policy.columns[name].compile(source.values[name]) for name in policy.quasi}
    eligible = source.rows
    rows = released.count()
    blank = count_blank_rows(released, policy)
    possible, lost = _possible_nodes(released, policy, hierarchies, blank > 0, hint)
    if lost:
        wrong = "labels that no single level has, of those that may be released"
        return [Check("truthful", False, f"{', '.join(map(repr, lost))}: {wrong}")]
    fewest, general = rows, None
    for node in possible:
        candidate = source.recode(_generalization(node, policy, hierarchies))
        unmatched = released.difference(candidate, policy.with_role("quasi", "sensitive", "other"))
        if unmatched == 0:
            blank = 0  # rows are blank by nature, none was suppressed and left so
        false_rows = max(0, unmatched - blank)
        if general is None or false_rows < fewest:
            fewest, general = false_rows, candidate
        if false_rows == 0:
            break
    assert general is not None  # there is at least one possible node
    others = policy.with_role("sensitive", "other")
    if fewest == 0 and blank and others:
        fewest = released.difference(general, others)
    if blank and count_blank_rows(general, policy):
        detail = "rows whose quasi cells are all missing cannot be told from suppressed rows that were left blank"
        return [Check("truthful", False, detail)]
    if fewest:
        return [Check("truthful", False, f"{fewest} released rows generalize no row of the original, one to one")]
    suppressed = eligible - rows + blank
    detail = f"each of {rows} rows generalizes a row of its own of the original"
    return [
        Check("truthful", True, detail),
        *claim_checks(claimed, suppressed),
        *limit_checks(policy, suppressed, eligible),
        least_suppression_check(general, policy, suppressed),
        *_checks_of_people(released, general, policy),
    ]


def _checks_of_people(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check the people behind a release, or that its pseudonyms stand for them."""
    if policy.links_rows:
        return [linked_rows_check(released, general, policy)]
    return people_checks(released, general, policy) if policy.person_columns else []


def _possible_nodes(
    released: Rows,
    policy: Policy,
    hierarchies: Mapping[str, CompiledHierarchy],
    has_blank_rows: bool,
    hint: Mapping[str, int] | None,
) -> tuple[list[Node], list[str]]:
    """Give the nodes whose labels include all released ones, the hinted first, and the columns that fit no level."""
    with released.encode(policy.quasi) as encoded:
        found = encoded.values
    per_column: list[list[int]] = []
    lost = []
    for name in policy.quasi:
        labels = set(found[name])
        if has_blank_rows:
            labels.discard(None)
        known = hierarchies[name].labels
        levels = [level for level in range(hierarchies[name].lowest, len(known)) if labels <= set(known[level])]
        if not levels:
            lost.append(name)
        if hint is not None and hint.get(name) in levels:
            levels.sort(key=lambda level: level != hint[name])
        per_column.append(levels)
    return list(islice(product(*per_column), MOST_NODES_TRIED)), lost


def _generalization(node: Node, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]) -> Plan:
    """Give the plan that takes every eligible row to a node and suppresses none."""
    levels = dict(zip(policy.quasi, node, strict=True))
    return Plan(
        columns=(*policy.with_role("quasi", "sensitive", "other"), *policy.person_columns),
        maps={name: hierarchies[name].maps[level] for name, level in levels.items()},
        labels={name: hierarchies[name].labels[level] for name, level in levels.items()},
        kept=frozenset(name for name, level in levels.items() if level == 0),
        suppressed={name: np.zeros(0, np.int64) for name in levels},
        blank=False,
    )
