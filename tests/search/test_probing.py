"""Probing intervals: no bound is above the best node of its interval, and the search gives what looking at every node
gives."""

from __future__ import annotations

import math
import random
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.lattices import LOST, made_case, truth
from helpers.profiles import examples, scaled
from indistinct.counting import FrequencyList
from indistinct.registry import MEASURES
from indistinct.search import Task
from indistinct.search.full_domain.best_node import branch_and_bound, probing
from indistinct.search.full_domain.best_node.branch_and_bound import BranchAndBound
from indistinct.search.full_domain.best_node.incumbent import Incumbent
from indistinct.search.full_domain.best_node.kernels import interval_probes

CELL_MEASURES = ("precision", "loss", "ncp", "entropy")


def search_of(task, name, threads=1):
    """Return a search that has no node yet."""
    budget = min(task.budget, task.frequencies.rows - 1)
    measure = MEASURES[name]()
    return probing.Probing(task, measure, Incumbent(measure, budget, keeps_ties=False), threads)


def probed(search, low, high, known=None, gone=0):
    """Probe an interval as if nothing were of too little use; give the least loss, the rows of all its nodes, and
    picks."""
    known = probing._nothing_suppressed(search.labels, search.frequencies) if known is None else known
    ends = np.array([low, high], np.int64)
    with np.errstate(over="ignore"):  # hashing wraps around
        state, kept, _, rows = interval_probes.probe(
            search.base.coded, search.labels, ends, search.k, search.budget, gone, -1.0, known, search.works[0]
        )
    least = math.inf if state == interval_probes.WORSE else 1.0 - kept / search.whole
    return least, rows, search.works[0].picks.copy(), known


def two_columns():
    """Four rows, k = 2, all may go: by a alone the last row goes, by b alone none."""
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "ab")
    return bf.Case(columns, (("x", "x"), ("x", "y"), ("x", "x"), ("y", "y")), 2, 1.0)


def test_two_columns_by_hand():
    """With a at level 0 one row of four goes, with both of its cells: a quarter of all. Nothing else is lost by a.

    b loses nothing at level 0 by itself. So a node with both at level 0 loses a quarter at least (it loses half), one
    with b alone at level 0 a half, the top everything.
    """
    search = search_of(bf.task_of(two_columns()), "precision")
    least, rows, picks, known = probed(search, (0, 0), (1, 1))
    assert least == pytest.approx(1 / 4)
    assert (rows, picks.tolist()) == (0, [0, 0])
    assert known.kept.tolist() == [[3, 0], [4, 0]]
    assert known.gone.tolist() == [[1, 0], [0, 0]]
    assert probed(search, (1, 0), (1, 1))[0] == pytest.approx(1 / 2)
    assert probed(search, (0, 0), (0, 0))[:2] == (pytest.approx(1 / 2), 2)
    search.budget = 1
    assert probed(search, (0, 0), (0, 0))[0] == math.inf, "two rows go, and one may"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("precision", 1), ("loss", 2)])
def test_no_bound_is_above_the_best_node_of_its_box_on_thousands_of_lattices(name, seed):
    """Intervals in intervals, as a search probes them: what is known of the outer one is told of the inner one."""
    chance = random.Random(seed)
    tight = 0
    for _ in range(scaled(3200)):
        case = made_case(chance)
        nodes, search = truth(case, LOST[name]), search_of(bf.task_of(case), name)
        low, high, known, gone = (0,) * len(case.heights), case.heights, None, 0
        for _ in range(4):
            inside = [
                loss
                for node, (loss, rows) in nodes.items()
                if rows <= search.budget and all(a <= b <= c for a, b, c in zip(low, node, high, strict=True))
            ]
            least, gone, _, known = probed(search, low, high, known, gone)
            assert least <= min(inside, default=math.inf) + 1e-9, (case, low, high)
            assert gone <= nodes[high][1], "no more rows are known to go than go at the upper node"
            if low == high and inside:
                assert least == pytest.approx(inside[0], abs=1e-9), "one node is known exactly"
                tight += 1
            if least == math.inf:
                break
            ends = [sorted((chance.randint(a, b), chance.randint(a, b))) for a, b in zip(low, high, strict=True)]
            if tuple(end[1] for end in ends) != high:
                known.is_probed[:] = False
            low, high = (tuple(end) for end in zip(*ends, strict=True))
    assert tight > 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("precision", 3), ("loss", 4)])
def test_the_search_finds_the_best_of_all_nodes_on_thousands_of_lattices(name, seed):
    """Of equal ones that which suppresses fewest rows, then takes fewest steps, then is the first in order."""
    chance = random.Random(seed)
    for _ in range(scaled(2400)):
        case = made_case(chance)
        nodes, search = truth(case, LOST[name]), search_of(bf.task_of(case), name)
        passing = [
            (round(loss, 9), rows, sum(node), node) for node, (loss, rows) in nodes.items() if rows <= search.budget
        ]
        assert search.run(lambda: True) == math.inf
        best = search.incumbent.best
        assert (best is None) == (not passing), case
        if best is not None:
            assert (round(best[0], 9), *best[1:]) == min(passing), case


@pytest.mark.slow
@pytest.mark.parametrize("name", ["precision", "loss"])
def test_a_search_that_is_stopped_never_states_a_bound_above_the_optimum(name):
    chance = random.Random(5)
    stated = 0
    for _ in range(scaled(480)):
        case = made_case(chance)
        nodes, search = truth(case, LOST[name]), search_of(bf.task_of(case), name)
        left = iter(range(chance.randint(0, 6)))
        bound = search.run(lambda left=left: next(left, None) is not None)
        least = min((loss for loss, rows in nodes.values() if rows <= search.budget), default=math.inf)
        if bound < math.inf:
            assert bound <= least + 1e-9, case
            stated += bound > 0
    assert stated > 0


# Kernels, by plain counting.


def wide_task(rows, values, k, limit, seed=0):
    """A table of so many rows and columns with so many values each, halved at each level."""
    rng = np.random.default_rng(seed)
    columns = {}
    for number, own in enumerate(values):
        listed = [(*(str(value // 2**level) for level in range(3)), "*") for value in range(own)]
        columns[f"c{number}"] = bf.Column(f"c{number}", tuple(listed))
    cells = [(rng.integers(0, own, rows) * rng.random(rows)).astype(int) for own in values]
    return bf.Case(tuple(columns.values()), tuple(zip(*(own.astype(str) for own in cells), strict=True)), k, limit)


@pytest.mark.parametrize("values", [(3, 4, 2), (900, 700, 3)], ids=["places addressed", "places hashed"])
def test_a_probe_counts_what_a_dictionary_counts(values):
    case = wide_task(3000, values, 3, 1.0)
    search = search_of(bf.task_of(case), "precision")
    high = (1, 1, 1)
    *_, known = probed(search, (0, 0, 0), high)
    assert known.is_probed[:, 0].all(), "the lowest levels keep most"

    def groups(node):
        return Counter(
            tuple(str(int(cell) // 2**level) for cell, level in zip(row, node, strict=True)) for row in case.rows
        )

    for column in range(3):
        lowered = groups([0 if other == column else 1 for other in range(3)])
        gone = sum(rows for rows in lowered.values() if rows < case.k)
        assert known.gone[column, 0] == gone
        assert known.kept[column, 0] == pytest.approx(len(case.rows) - gone)


def test_few_rows_keep_what_the_cheapest_labels_keep():
    """Three rows under a label that keeps a half, five under one that keeps all."""
    labels = interval_probes.LevelLabels(
        maps=np.zeros(2, np.int32),
        map_at=np.zeros((1, 1), np.int64),
        numbers=np.full((1, 1), 2),
        kept=np.array([1.0, 0.5]),
        label_at=np.zeros((1, 1), np.int64),
        least_kept=np.array([0.5, 1.0]),
        least_rows=np.array([3, 8]),
        least_sums=np.array([1.5, 6.5]),
    )
    found = [interval_probes._kept_by_few(labels, 0, 0, rows) for rows in range(9)]
    assert found == [0, 0.5, 1, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


# The search of the package.


def answer(task, name, *, is_probed, keeps_ties=False, threads=1):
    budget = min(task.budget, task.frequencies.rows - 1)
    large = mock.patch.object(branch_and_bound, "MANY_NODES", 0 if is_probed else 10**18)
    with large, mock.patch.object(branch_and_bound, "MOST_THREADS", threads):
        run = BranchAndBound(task, ix.Watch(), budget, MEASURES[name](), keeps_ties)
        nodes, loss, bound = run.run()
    return sorted(nodes), loss, bound


@pytest.mark.slow
@given(bf.cases(fewest_columns=1, people=None), st.sampled_from(CELL_MEASURES), st.booleans())
@examples(90)
def test_probing_changes_no_answer(case, name, keeps_ties):
    task = bf.task_of(case)
    found = answer(task, name, is_probed=True, keeps_ties=keeps_ties)
    assert found == answer(task, name, is_probed=False, keeps_ties=keeps_ties)


@pytest.mark.parametrize("limit", [0.05, 1.0])
def test_threads_that_probe_find_the_same(limit):
    task = bf.task_of(wide_task(400, (9, 5, 12, 3, 7), 3, limit))
    expected = answer(task, "loss", is_probed=False)
    for threads in (1, 2, 3):
        assert answer(task, "loss", is_probed=True, threads=threads) == expected


def test_tuples_that_were_counted_at_a_higher_node_are_probed_from_there():
    case = wide_task(300, (9, 5, 12), 3, 0.1)
    plain = bf.task_of(case).frequencies
    codes = [plain.tuple_codes(column) for column in range(3)]
    node = (1, 0, 1)
    higher = FrequencyList.of_codes(plain.columns, plain.hierarchies, codes, plain.base.sizes, node=node)
    task = Task.of(higher, bf.policy_of_case(case))
    assert task.frequencies.start == node
    assert answer(task, "loss", is_probed=True) == answer(task, "loss", is_probed=False)


def test_only_rows_of_one_quasi_identifier_are_probed_by_a_measure_of_cells():
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "ab")
    case = bf.Case(columns, (("x", "x"), ("x", "y")), 1, 0)
    task = bf.task_of(case)
    assert probing.serves(task, ix.Precision())
    assert not probing.serves(task, ix.Discernibility())
    assert not probing.serves(bf.task_of(bf.Case(columns, case.rows, 1, 0, ((0,), (0, 1)))), ix.Precision())
    assert not probing.serves(bf.task_of(bf.Case(columns, case.rows, 1, 0, None, ("p", "p"))), ix.Precision())
    with mock.patch.object(probing, "MOST_CELLS", 3):
        assert not probing.serves(task, ix.Precision())


@pytest.mark.parametrize("limit", [0.05, 1.0])
def test_what_is_known_of_boxes_is_found_out_anew_where_very_many_are_queued(limit):
    task = bf.task_of(wide_task(400, (9, 5, 12, 3, 7), 3, limit))
    with mock.patch.object(probing, "MOST_KNOWN", 0):
        found = answer(task, "loss", is_probed=True)
    assert found == answer(task, "loss", is_probed=False)


def test_lists_are_forgotten_when_there_are_too_many():
    task = bf.task_of(wide_task(900, (90, 50, 12, 30), 3, 0.1))
    with mock.patch.multiple(probing, CACHED_CELLS=2000, SHORT_LIST=8):
        search = search_of(task, "precision")
        assert search.run(lambda: True) == math.inf
    assert search.lists
    assert search.cached_cells <= 2000 or len(search.lists) == 1
    expected = answer(task, "precision", is_probed=False)
    assert ([search.incumbent.best[3]], search.incumbent.best[0]) == expected[:2]
