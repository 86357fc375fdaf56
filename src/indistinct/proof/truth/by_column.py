"""Proof by column: the original, generalized anew to one level for each column, holds every released row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

import numpy as np

from indistinct.counting import Node, encode_eligible
from indistinct.engine import Encoded, Plan, Rows
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.proof.checks import Check, claim_checks, count_blank_rows, limit_checks
from indistinct.proof.people_recount import linked_rows_checks, people_checks
from indistinct.proof.perturbed_numbers import prove_perturbations
from indistinct.proof.truth.least_suppression import least_suppression_check

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
    eligible = source.rows
    rows = released.count()
    general, check, blank, node = _general_like(released, source, policy, hint, policy.person_columns)
    if general is None:
        return [check]
    suppressed = eligible - rows + blank
    return [
        check,
        *_level_checks(policy, hint, node),
        *claim_checks(claimed, suppressed),
        *limit_checks(policy, suppressed, eligible),
        *([] if policy.is_drawn else [least_suppression_check(general, policy, suppressed)]),
        *prove_perturbations(released, general, policy, _told_by(policy, blank)),
        *_checks_of_people(released, general, policy),
    ]


def _told_by(policy: Policy, blank: int) -> list[str]:
    """Return the columns in which a released row equals its original, generalized; blank rows have no quasi cell."""
    return [name for name in policy.compared_columns if not (blank and name in policy.quasi)]


def general_like(
    released: Rows, source: Encoded, policy: Policy, hint: Mapping[str, int] | None, extra: Sequence[str]
) -> tuple[Rows | None, list[Check]]:
    """Return the original at the levels of a release, if every released row generalizes a row of its own, and checks.

    ``extra`` columns are encoded and stay as they are. No row was left blank.
    """
    general, check, _, node = _general_like(released, source, policy, hint, extra)
    return general, [check, *([] if general is None else _level_checks(policy, hint, node))]


def _general_like(
    released: Rows, source: Encoded, policy: Policy, hint: Mapping[str, int] | None, extra: Sequence[str]
) -> tuple[Rows | None, Check, int, Node]:
    """Return the same, the number of rows that were suppressed and left blank, and the levels."""
    hierarchies = {name: policy.columns[name].compile(source.values[name]) for name in policy.quasi}
    rows = released.count()
    blank = count_blank_rows(released, policy)
    possible, lost = _possible_nodes(released, policy, hierarchies, blank > 0, hint)
    if lost:
        return None, Check("truth.rows", False, {"columns": lost}), blank, ()
    fewest, general, levels = rows, None, possible[0]
    for node in possible:
        candidate = source.recode(_generalization(node, policy, hierarchies, source, extra))
        unmatched = released.difference(candidate, policy.compared_columns)
        if unmatched == 0:
            blank = 0  # rows are blank by nature, none was suppressed and left so
        false_rows = max(0, unmatched - blank)
        if general is None or false_rows < fewest:
            fewest, general, levels = false_rows, candidate, node
        if false_rows == 0:
            break
    assert general is not None  # there is at least one possible node
    others = [name for name in policy.compared_columns if name not in policy.quasi]
    if fewest == 0 and blank and others:
        fewest = released.difference(general, others)
    if blank and count_blank_rows(general, policy):
        return None, Check("truth.rows", False, {"blank": blank}), blank, levels
    if fewest:
        return None, Check("truth.rows", False, {"rows": fewest}), blank, levels
    numbers = {"rows": rows, "cell_by_cell": False, "perturbed": list(policy.perturbed)}
    return general, Check("truth.rows", True, numbers), blank, levels


def as_they_are(source: Encoded, policy: Policy, extra: Sequence[str]) -> Rows:
    """Return the eligible rows of an original that was encoded, with nothing changed."""
    names = list(dict.fromkeys([*policy.quasi, *(name for name in extra if name in source.values)]))
    plan = Plan(
        columns=tuple(dict.fromkeys([*policy.with_role("quasi", "sensitive", "other"), *extra])),
        maps={name: np.arange(len(source.values[name])) for name in names},
        labels={name: source.values[name] for name in names},
        kept=frozenset(names),
    )
    return source.recode(plan)


def _checks_of_people(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check the people behind a release, or that its pseudonyms stand for them."""
    if policy.links_rows:
        return linked_rows_checks(released, general, policy)
    return people_checks(released, general, policy) if policy.person_columns else []


def _possible_nodes(
    released: Rows,
    policy: Policy,
    hierarchies: Mapping[str, CompiledHierarchy],
    has_blank_rows: bool,
    hint: Mapping[str, int] | None,
) -> tuple[list[Node], list[str]]:
    """Return the nodes whose labels include all released ones, the hinted first, and the columns that fit no level."""
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


def _level_checks(policy: Policy, hint: Mapping[str, int] | None, node: Node) -> list[Check]:
    """Check that the levels which a release states are true; shown only if they are not.

    Those that are stated are tried first, so other ones were found only where these are false.
    """
    if hint is None or all(hint.get(name) == level for name, level in zip(policy.quasi, node, strict=True)):
        return []
    return [Check("truth.levels", False)]


def _generalization(
    node: Node, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy], source: Encoded, extra: Sequence[str]
) -> Plan:
    """Return the plan that takes every eligible row to a node and suppresses none."""
    levels = dict(zip(policy.quasi, node, strict=True))
    apart = [name for name in extra if name in source.values]
    maps = {name: hierarchies[name].maps[level] for name, level in levels.items()}
    labels = {name: hierarchies[name].labels[level] for name, level in levels.items()}
    return Plan(
        columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
        maps=maps | {name: np.arange(len(source.values[name])) for name in apart},
        labels=labels | {name: source.values[name] for name in apart},
        kept=frozenset([*(name for name, level in levels.items() if level == 0), *apart]),
        suppressed={name: np.zeros(0, np.int64) for name in levels},
        blank=False,
    )
