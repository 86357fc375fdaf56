"""Least suppression: how many rows must go at a generalization, worked out anew with NumPy and without the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FixedPopulationCounts, Groups, IntArray, Tally
from indistinct.engine import Rows
from indistinct.linkage import people_that_fit
from indistinct.policy import Person, Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel, least_rows
from indistinct.proof.checks import Check
from indistinct.proof.people_recount import groups_in_people, people_who_stay
from indistinct.proof.truth.tuples import CellTuples


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
