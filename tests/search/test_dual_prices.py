"""Raised prices: no group of k rows is priced more than it costs, whatever prices they were raised from."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct import testing
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.search.bounds import dual_prices
from indistinct.search.bounds.bounds import duals_by_nodes
from indistinct.search.bounds.cost_grids import CostGrids, ValueShares
from indistinct.search.bounds.dual_prices import raise_prices
from indistinct.search.local.groups.space import Space
from search.test_mingen_cell import task_for
from search.test_stated_bound import least


class Asked(Watch):
    """A watch whose time is up when it has been asked so often."""

    def __init__(self, times):
        super().__init__(0.0)
        self.times = times

    def time_is_up(self):
        self.times -= 1
        return self.times < 0


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
@given(
    testing.frequency_lists(most_tuples=7),
    st.integers(2, 3),
    st.sampled_from([0, 1, 2, 3, 5, 9, 50]),
    st.lists(st.floats(0, 4), min_size=7, max_size=7),
)
@examples(100)
def test_no_group_of_k_rows_is_charged_more_than_it_costs(frequencies, k, asked, wild):
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    # from prices that bind nobody, nearly all of them too high
    start = np.array(wild)[: len(space.counts)] * space.whole_row
    proven, _ = dual_prices._pass(dual_prices._NodeBatches(CostGrids.of(space)), start, k, Asked(asked))
    # from prices that are a bound already
    sound = duals_by_nodes(space, k, Watch())
    raised = raise_prices(CostGrids.of(space), sound, k, space.whole_row, Asked(asked))
    assert raised @ space.counts >= np.minimum(sound, space.whole_row) @ space.counts
    rows = np.repeat(np.arange(len(space.counts)), space.counts)[:12].tolist()
    for group in combinations(rows, k):
        most = k * cost(tuple(sorted(set(group))))
        assert sum(proven[row] for row in group) <= most + 1e-12
        assert sum(raised[row] for row in group) <= most + 1e-12


@pytest.mark.slow
@given(
    testing.frequency_lists(most_tuples=7),
    st.integers(2, 3),
    st.sampled_from([0, 1, 2, 5, 50]),
    st.lists(st.floats(0, 4), min_size=7, max_size=7),
    st.lists(st.integers(0, 3), min_size=7, max_size=7),
)
@examples(100)
def test_no_m_rows_of_different_values_are_charged_more_than_they_cost(frequencies, m, asked, wild, values):
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    shares = ValueShares(np.array(values[: len(space.counts)], np.int32), np.full(4, 1 / m))
    start = np.array(wild)[: len(space.counts)] * space.whole_row
    proven, _ = dual_prices._pass(dual_prices._NodeBatches(CostGrids.of(space, shares)), start, m, Asked(asked))
    sound = duals_by_nodes(space, m, Watch(), shares=shares)
    raised = raise_prices(CostGrids.of(space, shares), sound, m, space.whole_row, Asked(asked))
    assert raised @ space.counts >= np.minimum(sound, space.whole_row) @ space.counts
    for group in combinations(range(len(space.counts)), m):
        if len({values[point] for point in group}) == m:
            most = m * cost(group)
            assert sum(proven[point] for point in group) <= most + 1e-9
            assert sum(raised[point] for point in group) <= most + 1e-9


@pytest.mark.slow
@given(testing.frequency_lists(most_tuples=6), st.integers(2, 3), st.floats(0.2, 1.0), st.sampled_from([1, 2, 4, 99]))
@examples(100)
def test_what_all_rows_are_charged_is_never_above_the_least_cost_of_all_partitions(frequencies, k, share, asked):
    assume(frequencies.rows <= 7)
    space = Space.of(frequencies, NCP())
    assume(space.whole_row > 0)
    cost = costs_by_hand(frequencies, space)
    rows = np.repeat(np.arange(len(space.counts)), space.counts).tolist()
    wanted = least(rows, k, lambda group: cost(tuple(sorted({rows[row] for row in group}))) / space.whole_row)
    sound = np.minimum(duals_by_nodes(space, k, Watch()), space.whole_row)
    raised = raise_prices(CostGrids.of(space), sound * share, k, space.whole_row, Asked(asked))
    assert (sound * share) @ space.counts <= raised @ space.counts <= wanted * space.whole_row + 1e-9
    again = raise_prices(CostGrids.of(space), sound * share, k, space.whole_row, Watch())
    assert again @ space.counts >= 0.9 * (sound @ space.counts)  # what was given away comes back


def test_a_row_that_keeps_many_from_rising_gives_up_its_charge():
    """Three rows are each nearest to the first: prices that rise together stop at 1, but it need pay nothing."""
    names = {"x": "abcd", "y": "abcd", "z": "abcd"}
    rows = ["aaa", "baa", "aca", "aad"]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    columns = {name: ix.quasi(ix.levels([value, "*"] for value in values)) for name, values in names.items()}
    frequencies = task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])).frequencies
    space = Space.of(frequencies, NCP())
    together = duals_by_nodes(space, 2, Watch())
    raised = raise_prices(CostGrids.of(space), together, 2, space.whole_row, Watch())
    assert together.tolist() == pytest.approx([1, 1, 1, 1])
    assert raised @ space.counts == pytest.approx(
        6, rel=0.02
    )  # the first pays 0, the others 2 each: no two of them cost less than 4


def test_a_table_too_large_for_memory_keeps_its_charges(monkeypatch):
    monkeypatch.setattr(dual_prices, "LARGEST", 0)
    grids = CostGrids(np.array([1, 1]), [], ValueShares.without_limits(2))
    assert raise_prices(grids, np.array([0.5, 2.0]), 2, 1.0, Watch()).tolist() == [0.5, 1.0]
