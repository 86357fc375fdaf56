"""Groups that fail a model swap tuples: by hand, and laws on random tables."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.engine import use_table
from indistinct.pipeline.stages import count
from indistinct.search.local.groups import partition
from indistinct.search.local.groups.repair_by_swapping import swap_tuples
from indistinct.search.local.groups.space import Space
from indistinct.search.local.regroup import group_tuples


def policy_of(k: int) -> ix.Policy:
    columns = {"age": ix.quasi(ix.intervals(2, 4, 8)), "sex": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k), ix.LDiversity(2)])


@pytest.mark.slow
def test_failing_groups_look_at_all_others_however_many_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine of ten are well, so many groups of three fail. Paired off with what comes next they would lose more."""
    draw = random.Random(2)
    rows = [(draw.randint(20, 59), draw.choice("mf"), "well" if draw.random() < 0.9 else "ill") for _ in range(240)]
    table = pa.table({name: [str(row[at]) for row in rows] for at, name in enumerate(("age", "sex", "ill"))})

    def loss() -> float:
        with use_table(table) as opened, count({"table": opened}, policy_of(3), ix.Watch()) as counted:
            return ix.Loss().loss(
                partition.partition_tuples(counted.task, ix.Watch(), ix.Loss(), "hierarchy", group_tuples)
            )

    usual = loss()
    monkeypatch.setattr(partition, "MANY_FAILING", 0)
    assert loss() == usual
    monkeypatch.setattr(partition, "MOST_LOOKS", 0)
    assert loss() > 1.05 * usual


@pytest.mark.slow
def test_two_groups_with_one_illness_each_exchange_a_row_instead_of_becoming_one() -> None:
    """By hand: 20 and 21 have flu, 22 and 23 gout. Together they would span three years, after a swap two each."""
    policy = ix.Policy(
        columns={"age": ix.quasi(ix.intervals(10)), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2), ix.LDiversity(2)],
        algorithm="regroup",
        options={"labels": "ranges"},
    )
    table = pa.table({"age": ["20", "21", "22", "23"], "ill": ["flu", "flu", "gout", "gout"]})
    with ix.anonymize(table, policy) as release:
        found = Counter(release.table["age"].to_pylist())
    assert sorted(found.values()) == [2, 2]
    assert len(found) == 2
    assert release.facts.groups == 2


def test_a_group_that_has_a_row_to_spare_gives_it() -> None:
    """By hand: of three rows with two illnesses one may leave, so the two with flu take it and all are released."""
    table = pa.table({"age": ["20", "21", "24", "25", "26"], "ill": ["flu", "flu", "gout", "rash", "gout"]})
    policy = ix.Policy(
        columns={"age": ix.quasi(ix.intervals(10)), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2), ix.LDiversity(2)],
        algorithm="regroup",
        options={"labels": "ranges"},
    )
    with ix.anonymize(table, policy) as release:
        assert release.facts.groups == 2


ROWS = st.lists(st.tuples(st.integers(0, 15), st.sampled_from("fm"), st.sampled_from("abc")), min_size=8, max_size=40)


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(ROWS, st.integers(2, 4))
def test_trades_keep_rows_tuples_and_sizes_and_spoil_no_group(rows: list[tuple[int, str, str]], k: int) -> None:
    ages, sexes, ills = zip(*rows, strict=True)
    table = pa.table({"age": [str(age) for age in ages], "sex": list(sexes), "ill": list(ills)})
    with use_table(table) as opened, count({"table": opened}, policy_of(k), ix.Watch()) as counted:
        task = counted.task
        space = Space.of(task.frequencies, ix.NCP(), "hierarchy")
        pieces = group_tuples(space, k, ix.Watch())
        groups = int(pieces.groups.max()) + 1
        is_safe = task.safe_parts(pieces.tuples, pieces.rows, pieces.groups, groups)
        if is_safe.all():
            return
        found = swap_tuples(task, space, np.zeros(len(space.counts), np.int64), pieces, is_safe)
        after = task.safe_parts(found.tuples, found.rows, found.groups, groups)
        own = task.frequencies.entries.tuples
    assert (found.tuples == pieces.tuples).all()
    assert (found.rows == pieces.rows).all()
    assert (np.bincount(found.groups, found.rows, groups) >= k).all()
    assert after[is_safe].all()
    assert after.sum() >= is_safe.sum()

    def homes(part: np.ndarray) -> Counter[int]:
        return Counter(tuple_ for tuple_, _ in {*zip(own[pieces.tuples].tolist(), part.tolist(), strict=True)})

    assert homes(found.groups) == homes(pieces.groups)
