"""Bounds by blocks of columns: never above the optimum of an interval, whatever the table, and the same answer with
them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.lattices import LOST, made_case, truth
from helpers.profiles import examples, scaled
from indistinct.registry import MEASURES
from indistinct.search.full_domain.best_node import branch_and_bound, probing
from indistinct.search.full_domain.best_node.branch_and_bound import BranchAndBound
from indistinct.search.full_domain.best_node.column_blocks import (
    ColumnBlocks,
    block_of,
    divide,
    make_blocks,
    most_columns,
    only_columns,
    serves,
)
from indistinct.testing import tasks

CELL_MEASURES = ("precision", "loss", "ncp", "entropy")


def blocks_of(task, name, parts, budget=None, *, joins=False):
    measure = MEASURES[name]()
    budget = min(task.budget, task.frequencies.rows - 1) if budget is None else budget
    *_, made = make_blocks(task, measure, budget, parts) if joins else iter([[]])
    made = made or [list(block_of(task, measure, budget, part))[-1] for part in parts]
    return ColumnBlocks(made, [losses.tolist() for losses in measure.level_losses(task.frequencies)])


def test_two_columns_by_hand():
    """Four rows, k = 2, all may go. By a alone one row goes at level 0; by b alone none does.

    The block of a loses least at level 0: one of its four cells, an eighth of all. At the top it loses half of all.
    Together b tells two of the rows apart that a does not, which blocks of one column cannot know.
    """
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "ab")
    case = bf.Case(columns, (("x", "x"), ("x", "y"), ("x", "x"), ("y", "y")), 2, 1.0)
    blocks = blocks_of(bf.task_of(case), "precision", [[0], [1]])
    assert blocks.blocks[0].losses == pytest.approx([1 / 8, 1 / 2])
    assert blocks.blocks[1].losses == pytest.approx([0, 1 / 2])
    assert blocks.least_loss((0, 0), (1, 1), 0) == pytest.approx(1 / 8)
    assert blocks.least_loss((1, 0), (1, 1), 0) == pytest.approx(1 / 2)
    assert blocks.least_loss((0, 0), (0, 0), 2) == pytest.approx(1 / 2), "two rows of four go, in both columns"
    together = blocks_of(bf.task_of(case), "precision", [[0, 1]])
    assert together.blocks[0].losses == pytest.approx(np.array([[1 / 2, 5 / 8], [1 / 2, 1]]))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "known"), [("precision", None), ("loss", None), ("precision", 3), ("loss", 2)])
def test_no_bound_is_above_the_best_node_of_its_box_on_thousands_of_lattices(name, known):
    chance = random.Random(1)
    tight = joined = 0
    for _ in range(scaled(1600 if known is None else 640)):
        case = made_case(chance, known)
        task, nodes = bf.task_of(case), truth(case, LOST[name])
        most = min(case.allowed, len(case.rows) - 1)
        columns = list(range(len(case.columns)))
        chance.shuffle(columns)
        cuts = sorted(chance.sample(range(1, len(columns)), chance.randint(0, min(2, len(columns) - 1))))
        parts = [columns[a:b] for a, b in zip([0, *cuts], [*cuts, len(columns)], strict=True)]
        if known is not None:
            parts = [part[at : at + known] for part in parts for at in range(0, len(part), known)]
        left_out = chance.random() < 0.2 and len(parts) > 1
        blocks = blocks_of(task, name, parts[1:] if left_out else parts, joins=known is not None)
        joined += any(len(block.columns) > (known or len(columns)) for block in blocks.blocks)
        for _ in range(4):
            ends = [sorted((chance.randint(0, h), chance.randint(0, h))) for h in case.heights]
            low, high = (tuple(end) for end in zip(*ends, strict=True))
            inside = [
                loss
                for node, (loss, gone) in nodes.items()
                if gone <= most and all(a <= b <= c for a, b, c in zip(low, node, high, strict=True))
            ]
            bound = blocks.least_loss(low, high, nodes[high][1])
            assert bound <= min(inside, default=math.inf) + 1e-9, (case, parts, low, high)
            if len(parts) == 1 and inside and not left_out:
                assert bound == pytest.approx(min(inside), abs=1e-9), "one block of all columns knows everything"
                tight += 1
    assert tight > 0
    assert (joined > 0) is (known is not None), "blocks of known columns are joined"


# The search with blocks.


def answer(task, name, with_blocks, most_nodes=20_000):
    budget = min(task.budget, task.frequencies.rows - 1)
    large = mock.patch.object(branch_and_bound, "MANY_NODES", 0 if with_blocks else 10**18)
    few = mock.patch.object(branch_and_bound, "MOST_BLOCK_NODES", most_nodes)
    unprobed = mock.patch.object(probing, "MOST_CELLS", -1)
    with large, few, unprobed, mock.patch.object(branch_and_bound, "FEWEST_BLOCK_NODES", 1):
        run = BranchAndBound(task, ix.Watch(), budget, MEASURES[name](), False)
        return run.run(), run.blocks


@given(bf.cases(fewest_columns=1, people=None), st.sampled_from(CELL_MEASURES), st.sampled_from([1, 4, 9, 100]))
@examples(60)
def test_blocks_change_no_answer(case, name, most_nodes):
    task = bf.task_of(case)
    found, blocks = answer(task, name, True, most_nodes)
    assert found == answer(task, name, False)[0]
    assert (blocks is not None) == (case.persons is None and found[0] != [])


@given(tasks(models=[ix.TCloseness(0.4), ix.AlphaK(0.6, 2)]))
@examples(20)
def test_blocks_by_floors_change_no_answer_where_models_are_not_monotone(task):
    found, _ = answer(task, "loss", True, 4)
    assert found == answer(task, "loss", False)[0]


@given(bf.cases(fewest_columns=2, people=False), st.sampled_from(CELL_MEASURES), st.sampled_from([1, 2, 3]))
@examples(40)
def test_blocks_change_no_answer_where_few_columns_are_known(case, name, known):
    sets = tuple(combinations(range(len(case.columns)), min(known, len(case.columns))))
    task = bf.task_of(replace(case, quasi_identifiers=sets))
    found, blocks = answer(task, name, True)
    assert found == answer(task, name, False)[0]
    assert blocks is None or all(len(block.columns) <= 2 * known for block in blocks.blocks)


def test_blocks_have_no_more_columns_than_somebody_may_know():
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "abcd")
    case = bf.Case(columns, (("x", "x", "y", "y"), ("x", "y", "x", "y")), 2, 0)
    assert most_columns(bf.task_of(case)) == 4
    for known in (1, 2, 3):
        sets = tuple(combinations(range(4), known))
        assert most_columns(bf.task_of(replace(case, quasi_identifiers=sets))) == known
    assert most_columns(bf.task_of(replace(case, quasi_identifiers=((0, 1), (2, 3))))) == 0
    assert divide([3, 3, 3, 3], 1000, 3) == [[0, 2], [1, 3]]


def test_only_tasks_that_count_rows_of_one_quasi_identifier_have_blocks():
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "ab")
    case = bf.Case(columns, (("x", "x"), ("x", "y")), 1, 0)
    assert serves(bf.task_of(case))
    assert not serves(bf.task_of(bf.Case(columns, case.rows, 1, 0, ((0,), (0, 1)))))
    assert not serves(bf.task_of(bf.Case(columns, case.rows, 1, 0, None, ("p", "p"))))
    assert answer(bf.task_of(case), "discernibility", True)[1] is None


def test_some_columns_alone_keep_their_rows_and_labels():
    columns = tuple(
        bf.Column(name, (("x", "*"), ("y", "*")), weight=w) for name, w in zip("abc", (1, 2, 3), strict=True)
    )
    rows = (("x", "x", "y"), ("x", "y", "y"), ("y", "x", "y"), ("x", "y", "y"))
    part = only_columns(bf.task_of(bf.Case(columns, rows, 2, 0)), [2, 0]).frequencies
    assert (part.columns, part.weights, part.rows, len(part.base)) == (("c", "a"), (3.0, 1.0), 4, 2)
    assert sorted(part.base.sizes.tolist()) == [1, 3]


def test_columns_are_divided_into_few_blocks_of_like_sizes():
    assert divide([3, 3, 3, 3], 81) == [[0, 1, 2, 3]]
    assert divide([3, 3, 3, 3], 9) == [[0, 2], [1, 3]]
    assert divide([30, 2], 10) == [[0], [1]], "a block has one column at least"
    assert sorted(column for part in divide([5, 4, 3, 2, 2, 6], 40) for column in part) == [0, 1, 2, 3, 4, 5]


def test_without_time_for_all_blocks_the_rest_of_the_columns_count_by_their_levels():
    columns = tuple(bf.Column(name, (("x", "*"), ("y", "*"))) for name in "ab")
    task = bf.task_of(bf.Case(columns, (("x", "x"), ("y", "y"), ("x", "y")), 2, 1.0))
    blocks = blocks_of(task, "precision", [[0]])
    assert blocks.least_loss((0, 1), (1, 1), 0) == pytest.approx(1 / 6 + 1 / 2)
