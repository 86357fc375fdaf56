"""Intervals that are swept: every node is judged once, as the definitions say, and the search stays exact."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force
from helpers.profiles import examples
from helpers.uncompiled import run_uncompiled
from indistinct.privacy.kernels import value_tables
from indistinct.quality import measure_named
from indistinct.search.full_domain.best_node import sweeping
from indistinct.search.full_domain.best_node.value_counter import ValueCounter
from indistinct.search.full_domain.lattice import Search
from privacy import test_models
from search.test_value_counter import searches, task_of


def check_every_node(given: test_models.Task3, most: int) -> None:
    """Walk through the whole lattice and through the part above a node; compare with rows that are taken out."""
    task = task_of(given)
    counter = ValueCounter(task, ix.Precision())
    sweep, nodes = sweeping.Sweep(counter), list(given.case.nodes())
    for low in (nodes[0], nodes[len(nodes) // 2]):
        met = []
        with np.errstate(over="ignore"):
            for groups, useful in sweep.walk(low, nodes[-1], counter.base, lambda _: most):
                assert useful == most
                met.append(groups.node)
                expected = len(test_models.outcome(given, groups.node).suppressed)
                found = groups.unsafe_rows
                assert found == expected if expected <= most else found > most, groups.node
                assert sorted(groups.sizes.tolist()) == sorted(counter.reduce_source(groups.node, counter.base).sizes)
        above = [node for node in nodes if all(a >= b for a, b in zip(node, low, strict=True))]
        assert sorted(met) == above


@pytest.mark.slow
@given(searches(), st.integers(0, 16))
@examples(40)
def test_each_node_of_a_box_is_judged_once_as_the_definitions_say(given, most):
    check_every_node(given, most)


@given(searches(), st.integers(0, 3))
@examples(20)
def test_nothing_above_a_node_that_is_of_no_use_is_looked_at(given, level):
    task = task_of(given)
    counter = ValueCounter(task, ix.Precision())
    low, high = task.frequencies.start, task.frequencies.heights
    walk = sweeping.Sweep(counter).walk(low, high, counter.base, lambda node: 5 if sum(node) <= level else -1)
    with np.errstate(over="ignore"):
        met = [groups.node for groups, _ in walk]
    assert sorted(met) == [node for node in given.case.nodes() if sum(node) <= level]


@pytest.mark.slow
@given(searches(), st.sampled_from(["precision", "loss", "discernibility"]))
@examples(40)
def test_the_search_that_sweeps_finds_the_optimum(given, measure):
    figure, more_is_better = brute_force.MEASURES[measure]
    passing = test_models.passing(given)
    with patch.object(sweeping, "FEWEST_HALVES", 0), patch.multiple(sweeping, GAIN=1e9, GAIN_OF_TABLE=1e9):
        optimum = Search(task_of(given), ix.Watch()).optimum(measure_named(measure))
    if optimum is None:
        assert not passing
        return
    losses = {node: figure(one) * (-1 if more_is_better else 1) for node, one in passing.items()}
    best = [node for node, loss in losses.items() if loss <= min(losses.values()) + 1e-9]
    assert optimum.recoding.node == min(best, key=lambda node: (len(passing[node].suppressed), sum(node), node))
    assert optimum.bound == optimum.loss


class Patience(ix.Watch):
    """A watch whose time is up when it was asked so often."""

    left = 0

    def time_is_up(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.slow
@given(searches(), st.integers(1, 12))
@examples(40)
def test_what_a_sweep_leaves_when_the_time_is_up_is_not_ruled_out(given, times):
    passing = test_models.passing(given)
    watch = Patience()
    watch.left = times
    with patch.object(sweeping, "FEWEST_HALVES", 0), patch.multiple(sweeping, GAIN=1e9, GAIN_OF_TABLE=1e9):
        try:
            optimum = Search(task_of(given), watch).optimum(ix.Precision())
        except ix.IndistinctError:  # nothing was found before
            return
    if optimum is not None:
        figure, _ = brute_force.MEASURES["precision"]
        least = 1 - max(figure(one) for one in passing.values())
        assert optimum.bound <= least + 1e-9 <= optimum.loss + 2e-9


@pytest.mark.slow
@given(st.data())
@examples(60)
def test_groups_that_coincide_one_level_up_are_merged(data):
    labels, words = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 2))
    word, shift = data.draw(st.integers(0, words - 1)), data.draw(st.sampled_from([0, 7, 61]))
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    parents = data.draw(st.lists(st.integers(0, labels - 1), min_size=labels, max_size=labels))
    row = st.tuples(st.integers(0, labels - 1), st.integers(0, 2), st.lists(st.integers(0, 9), min_size=5, max_size=5))
    rows = data.draw(st.lists(row, max_size=12))
    keys = np.zeros((len(rows), words), np.uint64)
    for place, (label, other, _) in enumerate(rows):
        keys[place, (word + 1) % words] |= np.uint64(other << (4 if shift != 7 else 0))
        keys[place, word] |= np.uint64(label << shift)
    cells = np.array([cells for _, _, cells in rows], dtype).reshape(len(rows), 5)
    expected: dict[tuple[int, int], list[int]] = {}
    for label, other, own in rows:
        sums = expected.setdefault((parents[label], other), [0] * 5)
        for place, count in enumerate(own):
            sums[place] += count
    slots = np.empty(32, np.int32)
    with np.errstate(over="ignore"):
        field, climbs, nothing = (word, shift, 7), np.array(parents, np.uint64), np.ones((0, 5))
        merged, summed, small = value_tables.climb(keys, cells, field, climbs, slots, (5, 100), (nothing, nothing))
    assert summed.tolist() == list(expected.values())
    assert small == sum(own[0] for own in expected.values() if own[0] < 5)
    found = [
        (int(key[word] >> np.uint64(shift)) & 7, int(key[(word + 1) % words] >> np.uint64(4 if shift != 7 else 0)) & 3)
        for key in merged
    ]
    assert found == list(expected)


WITHOUT_JIT = """
from hypothesis import given, settings, strategies as st, HealthCheck
import search.test_sweeping as t

@settings(max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(t.searches(), st.integers(0, 16))
def check(given, most):
    t.check_every_node(given, most)

check()
print("the same without compilation")
"""


@pytest.mark.slow
def test_sweeps_do_the_same_without_compilation():
    assert "the same" in run_uncompiled(WITHOUT_JIT)
