"""Task: which groups must be suppressed, and no more than that."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.search import Task


def task_of(rows: list[tuple[str, str]]) -> Task:
    """Two quasi-identifiers of one column each, both 2-anonymous."""
    policy = ix.Policy(
        columns={"a": ix.quasi(), "b": ix.quasi()},
        quasi_identifiers={"first": ["a"], "second": ["b"]},
        privacy=[ix.KAnonymity(2)],
    )
    table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    with open_table(table) as opened:
        return Task.of(FrequencyList.count(encode_eligible(opened, policy), policy), policy)


def suppressed(rows: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the tuples that a task says must be suppressed."""
    task = task_of(rows)
    frequencies = task.frequencies
    cells = [
        [str(hierarchy.values[code]) for code in frequencies.tuple_codes(column).tolist()]
        for column, hierarchy in enumerate(frequencies.hierarchies)
    ]
    is_unsafe = task.unsafe(frequencies.base).tolist()
    return {pair for pair, unsafe in zip(zip(*cells, strict=True), is_unsafe, strict=True) if unsafe}


def one_by_one(rows: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Take one row after the other out that stands alone in some column, until none does."""
    left = list(rows)
    while alone := [
        row for row in left if any(sum(other[column] == row[column] for other in left) < 2 for column in (0, 1))
    ]:
        left.remove(alone[0])
    return set(rows) - set(left)


@pytest.mark.parametrize("links", [1, 2, 3, 4, 5, 8, 11, 60])
def test_a_chain_of_rows_falls_to_its_end(links: int) -> None:
    """Each row is held by its neighbours only, so at each end one falls for each quasi-identifier and round."""
    chain = [(f"a{(n + 1) // 2}", f"b{n // 2}") for n in range(links)]
    stays = [("x", "y"), ("x", "y")]
    assert suppressed([*chain, *stays]) == set(chain)


@pytest.mark.slow
@examples(60)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("stuvwxyz")), min_size=1, max_size=24))
def test_what_is_suppressed_is_what_falls_one_by_one(rows: list[tuple[str, str]]) -> None:
    assert suppressed(rows) == one_by_one(rows)
