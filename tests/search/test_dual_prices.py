"""Prices of rows: no group of k rows is priced more than it costs."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.profiles import examples
from indistinct import testing
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.search.bounds.bounds import duals_by_nodes, least_cost
from indistinct.search.bounds.cost_grids import ValueShares
from indistinct.search.local.groups.space import Space
from search.test_stated_bound import least


def costs_by_hand(frequencies, space):
    """What a row costs in a group, by the cheapest level of each column at which all have one label."""
    kept = NCP().prepare(frequencies).per_label
    columns = []
    for column, hierarchy in enumerate(frequencies.hierarchies):
        whole = max(float(level.max()) for level in kept[column])
        codes = frequencies.entry_codes(column)
        levels = range(hierarchy.lowest, hierarchy.height + 1)
        columns.append([(hierarchy.maps[level][codes], whole - kept[column][level]) for level in levels])
    assert space.whole_row > 0

    @cache
    def cost(tuples):
        total = 0.0
        for levels in columns:
            fitting = [
                paid[labels[tuples[0]]] for labels, paid in levels if len({int(labels[one]) for one in tuples}) == 1
            ]
            if not fitting:
                return 1e9
            total += max(0.0, float(min(fitting)))
        return total

    return cost


@pytest.mark.slow
@given(testing.frequency_lists(most_tuples=7), st.integers(2, 3), st.sampled_from([0, 3, 9, 10_000]))
@examples(100)
def test_no_group_of_k_rows_is_charged_more_than_it_costs(frequencies, k, visits):
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    prices = np.minimum(duals_by_nodes(space, k, Watch(), visits), space.whole_row)
    rows = np.repeat(np.arange(len(space.counts)), space.counts)[:12].tolist()
    for group in combinations(rows, k):
        assert sum(prices[row] for row in group) <= k * cost(tuple(sorted(set(group)))) + 1e-9


@pytest.mark.slow
@given(
    testing.frequency_lists(most_tuples=7),
    st.integers(2, 3),
    st.sampled_from([0, 3, 9, 10_000]),
    st.lists(st.integers(0, 3), min_size=7, max_size=7),
)
@examples(100)
def test_no_m_rows_of_different_values_are_charged_more_than_they_cost(frequencies, m, visits, values):
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    shares = ValueShares(np.array(values[: len(space.counts)], np.int32), np.full(4, 1 / m))
    prices = np.minimum(duals_by_nodes(space, m, Watch(), visits, shares), space.whole_row)
    for group in combinations(range(len(space.counts)), m):
        if len({values[point] for point in group}) == m:
            assert sum(prices[point] for point in group) <= m * cost(group) + 1e-9


@pytest.mark.slow
@given(testing.frequency_lists(most_tuples=6), st.integers(2, 3))
@examples(100)
def test_what_all_rows_are_charged_is_never_above_the_least_cost_of_all_partitions(frequencies, k):
    assume(frequencies.rows <= 7)
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    rows = np.repeat(np.arange(len(space.counts)), space.counts).tolist()
    wanted = least(rows, k, lambda group: cost(tuple(sorted({rows[row] for row in group}))) / space.whole_row)
    assert least_cost(space, k, Watch()) <= wanted * space.whole_row + 1e-9
