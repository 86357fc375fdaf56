"""Charges of rows: what every m-invariant release of one table loses at the least, and boxes chosen by them."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from helpers.uncompiled import run_uncompiled
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance import balanced_charges, guided_boxes
from indistinct.search.m_invariance.guided_boxes import Guide, balanced_bound
from indistinct.search.m_invariance.kernels import balanced_boxes
from indistinct.search.m_invariance.kernels.balanced_boxes import Bench, Charged, Listed
from indistinct.search.m_invariance.label_vectors import fill_boxes
from indistinct.search.m_invariance.value_buckets import People, Pools
from indistinct.search.m_invariance.value_sets import Names
from indistinct.search.task import Task
from search.test_label_vectors import Row, drawn, least_loss, policy, table
from search.test_mingen_cell import task_for


@given(
    st.randoms(use_true_random=False),
    st.integers(2, 3),
    st.sampled_from([1, 7, 40]),
    st.sampled_from([1, 10**6]),
    st.sampled_from([0.01, 0.4, 1.0]),
)
@examples(120)
def test_no_bound_exceeds_the_least_loss_of_all_balanced_releases(
    dice: random.Random, m: int, steps: int, members: int, known: float
) -> None:
    rows = drawn(dice, dice.randint(2, 6))
    task, least = task_for(table(rows), policy(m)), least_loss(rows, m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guided_boxes, "ALL_STEPS", steps)
        patch.setattr(balanced_charges, "MOST_MEMBERS", members)  # boxes that are not listed cost something, too
        patch.setattr(balanced_charges, "AT_ONCE", 1)
        found = balanced_bound(task.frequencies, NCP(), "ill", m, known, Watch())
    assert 0.0 <= found <= least + 1e-9


def test_the_bound_heeds_that_labels_are_for_one_group_alone() -> None:
    """Twice x and y, and z: two groups of two, one of which has labels that cost something, or one of four rows."""
    rows: list[Row] = [("a", "m", "x"), ("a", "m", "y"), ("a", "m", "y"), ("a", "m", "z")]
    least = least_loss(rows, 2)
    assert least == pytest.approx(2 * (2 / 6) / 2 / 4)  # x with y, and y with z under the next label
    task = task_for(table(rows), policy(2))
    assert balanced_bound(task.frequencies, NCP(), "ill", 2, 0.2, Watch()) == pytest.approx(least, rel=0.05)


def test_the_bound_heeds_that_few_rows_are_company_for_many() -> None:
    rows: list[Row] = [("a", "m", "x")] * 3 + [("b", "m", "y"), ("e", "w", "y"), ("e", "w", "y")]
    task, least = task_for(table(rows), policy(2)), least_loss(rows, 2)
    found = balanced_bound(task.frequencies, NCP(), "ill", 2, least, Watch())
    assert 0.9 * least <= found <= least + 1e-9


def test_nothing_is_said_where_a_text_stands_for_other_values_at_another_level() -> None:
    levels = ix.levels([["a", "u", "u"], ["b", "v", "u"]])
    asked = ix.Policy({"q": ix.quasi(levels), "ill": ix.sensitive()}, [ix.MInvariance(2)], max_suppression=1.0)
    data = pa.table({"q": list("aabb"), "ill": list("xyxy")})
    assert balanced_bound(task_for(data, asked).frequencies, NCP(), "ill", 2, 0.5, Watch()) == 0.0


def best_by_hand(values: list[int], left: list[int], beyond: list[float], m: int) -> float:
    """Try every frequency and every choice of values."""
    gained: dict[int, list[float]] = defaultdict(list)
    for value, rows, each in zip(values, left, beyond, strict=True):
        gained[value] += [each] * rows
    best = 0.0
    for often in range(1, 1 + max(map(len, gained.values()), default=0)):
        own = [sum(sorted(rows)[-often:]) for rows in gained.values() if len(rows) >= often]
        for number in range(m, len(own) + 1):
            best = max(best, *(sum(some) for some in combinations(own, number)))
    return best


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-9, 9)), min_size=1, max_size=12),
    st.integers(2, 3),
    st.integers(0, 5),
)
@examples(200)
def test_the_best_group_of_a_box_is_the_best_of_all(rows: list[tuple[int, int, int]], m: int, cost: int) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    values, left, charges = (np.array(part) for part in zip(*rows, strict=True))
    listed = Listed.room(1, len(rows))
    listed.members[:], listed.starts[1], listed.costs[0] = np.arange(len(rows)), len(rows), cost
    charged = Charged(values, left, charges.astype(np.float64), np.zeros(len(rows), np.int64))
    gains = np.zeros(1)
    total = balanced_boxes.weigh(np.zeros(1, np.int64), listed, charged, m, Bench.of(5), gains)
    assert (
        total == gains[0] == pytest.approx(best_by_hand(values.tolist(), left.tolist(), (charges - cost).tolist(), m))
    )
    assert (charged.wanted <= left).all()
    assert (charges - cost) @ charged.wanted == pytest.approx(total)
    wanted = Counter[int]()
    for value, number in zip(values.tolist(), charged.wanted.tolist(), strict=True):
        wanted[value] += number
    assert len({number for number in wanted.values() if number}) <= 1


def chosen_groups(task: Task, m: int) -> tuple[Any, Any, Any]:
    frequencies = task.frequencies
    space = Space.of(frequencies, NCP())
    names, people = Names(frequencies, space), People.of(task, space, "ill")
    pools = [Pools.of(people, 0, m, Counter())]
    guide = Guide.of(frequencies, NCP(), "ill", m, 0.3, Watch())
    if guide is None:
        return people, None, None
    guide.raise_charges(20, Watch())
    chosen = guide.choose_boxes(pools, Watch())
    return people, chosen, fill_boxes(task, NCP(), names, pools, m, Watch(), chosen)


@given(st.randoms(use_true_random=False), st.integers(2, 3))
@examples(40)
def test_chosen_groups_are_balanced_and_have_labels_of_their_own(dice: random.Random, m: int) -> None:
    rows: list[Row] = [(*row[:2], dice.choice("uvwxyz")) for row in drawn(dice, dice.randint(m, 60))]
    people, chosen, boxed = chosen_groups(task_for(table(rows), policy(m)), m)
    if chosen is None:
        return
    assert len(set(chosen.keys.tolist())) == len(chosen.keys)
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for group, value in zip(boxed.group_of.tolist(), people.values.tolist(), strict=True):
        if group >= 0:
            groups[group][value] += 1
    assert len(groups) == len(boxed.labels) >= len(chosen.keys)
    assert len({tuple(labels) for labels in boxed.labels.tolist()}) == len(boxed.labels)
    for values in groups.values():
        assert len(values) >= m
        assert len(set(values.values())) == 1
    assert all(groups[group].total() >= often * m for group, often in enumerate(chosen.often.tolist()))


def test_a_release_that_is_bettered_states_the_bound_of_balanced_groups() -> None:
    dice = random.Random(5)
    rows: list[Row] = [(*row[:2], dice.choice("uvvwwwx")) for row in drawn(dice, 80)]
    with ix.anonymize(table(rows), policy(2), algorithm=ix.MInvariant(effort=6)) as release:
        bound, loss = release.facts["bound"]["ncp"], release.measures["ncp"]
        assert 0 < bound <= loss
        assert release.facts["gap"] == pytest.approx(loss - bound)
        assert release.verify(table(rows)).passed
    with ix.anonymize(table(rows), policy(2), algorithm=ix.MInvariant()) as plain:
        assert plain.facts["bound"]["ncp"] < bound
        assert loss <= plain.measures["ncp"]


FIND_GROUPS = """
import random
from search.test_balanced_charges import chosen_groups
from search.test_label_vectors import drawn, policy, table
from search.test_mingen_cell import task_for
dice = random.Random(2)
rows = [(*row[:2], dice.choice("uvwxyz")) for row in drawn(dice, 50)]
_, chosen, boxed = chosen_groups(task_for(table(rows), policy(2)), 2)
found = [part.tolist() for part in (chosen.keys, chosen.often, chosen.entries, chosen.rows, boxed.group_of)]
"""


def test_compiled_and_interpreted_kernels_choose_the_same_groups() -> None:
    here: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("list_boxes", "weigh", "settle"):
            patch.setattr(getattr(balanced_boxes, name), "_few", -1)  # compiled, however few rows there are
        exec(FIND_GROUPS, here)
    assert json.loads(run_uncompiled(FIND_GROUPS + "import json; print(json.dumps(found))")) == here["found"]
