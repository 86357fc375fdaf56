"""Truth of one table: each released row generalizes a row of the original, one to one.

Where each column has one level, the original is generalized anew to it and holds every released row, and no more rows
were suppressed than must be. Where cells were generalized one by one, rows are matched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FixedPopulationCounts, Groups, IntArray, Node, Tally, encode_eligible
from indistinct.engine import Encoded, Plan, Rows
from indistinct.hierarchy import CompiledHierarchy
from indistinct.linkage import people_that_fit
from indistinct.policy import Person, Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel, least_rows
from indistinct.proof.checks import Check, claim_checks, count_blank_rows, limit_checks
from indistinct.proof.people_recount import (
    CellTuples,
    groups_in_people,
    linked_rows_checks,
    people_checks,
    people_who_stay,
)
from indistinct.proof.perturbed_numbers import prove_perturbations
from indistinct.proof.truth.row_fits import people_behind_groups, rows_without_original

MOST_NODES_TRIED = 256
"""Nodes that are tried where labels occur on several levels, which leaves several nodes possible."""


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


def prove_cell_by_cell(released: Rows, source: Rows, policy: Policy, claimed: int | None) -> list[Check]:
    """Check truthfulness, one to one, of a table whose cells were generalized one by one."""
    policy.check(source.columns())
    with encode_eligible(source, policy, policy.quasi) as encoded:
        hierarchies = {name: policy.columns[name].compile(encoded.values[name]) for name in policy.quasi}
        eligible = encoded.rows
    rows = released.count()
    false_rows = rows_without_original(released, source, policy, hierarchies)
    if false_rows:
        return [Check("truth.rows", False, {"rows": false_rows})]
    suppressed = eligible - rows + count_blank_rows(released, policy)
    return [
        Check("truth.rows", True, {"rows": rows, "cell_by_cell": True, "perturbed": []}),
        *claim_checks(claimed, suppressed),
        *limit_checks(policy, suppressed, eligible),
        _suppression_bound(policy, suppressed, eligible),
        *(_people_checks(released, source, policy, hierarchies) if policy.person_columns else ()),
    ]


def _suppression_bound(policy: Policy, suppressed: int, eligible: int) -> Check:
    """Say what holds of the rows that are missing: as many as are counted, and no more than the policy allows.

    That fewer had to go is not proved: which groups there could have been is what the search decides, so a row more
    that was taken out, and stated, leaves a release that is as true as before.
    """
    allowed = None if policy.max_suppression is None else policy.allowed_suppression(eligible)
    numbers = {"how": "not proved", "suppressed": suppressed, "eligible": eligible, "allowed": allowed}
    return Check("suppression.least", True, numbers)


def _people_checks(
    released: Rows, source: Rows, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]
) -> list[Check]:
    """Check that enough people could be meant by every group: nothing tells which rows of the original it has."""
    least = max((least_rows(model) for model in policy.models_of_groups), default=1)
    people = people_behind_groups(released, source, policy, hierarchies)
    few = int((people < least).sum())
    numbers = {"failing": few, "least": least} if few else {"smallest": int(people.min())}
    checks = [Check("people.groups", few == 0, {"groups": len(people), **numbers})]
    if policy.links_rows:
        checks.append(Check("truth.linked_rows", True, {"why": "cell by cell"}))
    return checks


def least_suppression_check(general: Rows, policy: Policy, suppressed: int) -> Check:
    """Check that no more rows were suppressed than must be at this node, save Datafly's complementary group."""
    tuples = CellTuples.of(general, policy)
    if policy.suppresses_single_rows:
        unlinked = replace(policy, person=Person(policy.person_columns))
        fewest = int(tuples.counts[~greatest_safe_set(tuples, tuples.counts, unlinked)].sum())
        return _check(suppressed >= fewest, suppressed, fewest, "at least")
    is_kept = people_who_stay(tuples, policy) if policy.links_rows else greatest_safe_set(tuples, tuples.counts, policy)
    required = int(tuples.counts[~is_kept].sum())
    if suppressed == required:
        return _check(True, suppressed, required, "exact")
    if suppressed > required and any(model.asks_population for model in policy.privacy):
        # the search counts only people who surely fit, and so may suppress more
        return _check(True, suppressed, required, "at least")
    if not policy.links_rows and suppressed in _totals_with_complement(tuples, is_kept, policy):
        return _check(True, suppressed, required, "with the smallest group")
    return _check(False, suppressed, required, "exact")


def _check(passed: bool, suppressed: int, required: int, how: str) -> Check:
    return Check("suppression.least", passed, {"how": how, "suppressed": suppressed, "required": required})


def _totals_with_complement(tuples: CellTuples, is_kept: BoolArray, policy: Policy) -> set[int]:
    """Return the numbers of rows that Datafly's step 4 may suppress: the required ones and a smallest safe group."""
    counts = tuples.counts
    required = int(counts[~is_kept].sum())
    k = max((least_rows(model) for model in policy.privacy), default=1)
    crowd = len(np.unique(tuples.persons[~is_kept])) if policy.person_columns else required
    if not 0 < crowd < k or not is_kept.any():
        return set()
    _, group_of = np.unique(tuples.codes, axis=1, return_inverse=True)
    group_of = group_of.ravel()
    sizes = np.bincount(group_of, counts * is_kept).astype(np.int64)
    smallest = np.flatnonzero(sizes == sizes[sizes > 0].min())
    totals = set()
    for group in smallest:
        left = np.where(group_of == group, 0, counts)
        still_kept = greatest_safe_set(tuples, left, policy)
        totals.add(int(counts.sum() - left[still_kept].sum()))
    return totals


def greatest_safe_set(tuples: CellTuples, counts: IntArray, policy: Policy) -> BoolArray:
    """Return which tuples can stay, by taking failing ones out until none fails; models of the whole table come
    last.
    """
    by_columns: dict[tuple[int, ...], list[PrivacyModel]] = {}
    for columns, model in policy.judged_sets():
        positions = tuple(sorted(policy.quasi.index(column) for column in columns))
        by_columns.setdefault(positions, []).append(model)
    is_kept = counts > 0
    for alone in (True, False):
        before = -1
        while int((~is_kept).sum()) > before:
            before = int((~is_kept).sum())
            for positions, models in by_columns.items():
                _, group_of = np.unique(tuples.codes[list(positions)], axis=1, return_inverse=True)
                left = counts * is_kept
                for model in models:  # all of them judge the same rows: what one takes out changes what others see
                    if not (alone and model.asks_whole_table):
                        is_safe = _safe_groups(model, tuples, positions, group_of.ravel(), left, policy)
                        is_kept &= is_safe[group_of.ravel()]
    return is_kept


def _safe_groups(
    model: PrivacyModel,
    tuples: CellTuples,
    positions: Sequence[int],
    group_of: IntArray,
    left: IntArray,
    policy: Policy,
) -> BoolArray:
    """Return which groups, by the columns at some positions, satisfy a model with the rows that are left."""
    if model.asks_population:
        sizes = np.bincount(group_of, left).astype(np.int64)
        codes = np.zeros((len(positions), len(sizes)), np.int64)
        codes[:, group_of] = tuples.codes[list(positions)]
        names = [policy.quasi[position] for position in positions]
        people = people_that_fit(tuples.labels, names, codes, sizes, policy, model)
        return model.holds(Groups.of_sizes(sizes, populations={model.population_id: FixedPopulationCounts(people)}))
    if policy.person_columns:
        return model.holds(groups_in_people(tuples, group_of, left > 0, policy, model))
    tallies = {}
    for name in sensitive_columns(model, policy):
        compiled = policy.columns[name].compile(tuples.texts[name])
        hierarchy = compiled if compiled.height else None
        tallies[name] = Tally.of(group_of, tuples.values[name], left, tuples.texts[name], hierarchy)
    return model.holds(Groups.of_sizes(np.bincount(group_of, left).astype(np.int64), tallies))
