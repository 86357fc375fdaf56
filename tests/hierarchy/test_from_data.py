"""Hierarchies made of the data: nested, as deep as asked, and the same as a plain count would give."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles

hierarchies = ix.hierarchies

COUNTS = st.dictionaries(st.text("abc01", min_size=1, max_size=4), st.integers(1, 50), min_size=2, max_size=15)


def groups_at(hierarchy: ix.Hierarchy, level: int) -> list[set[str]]:
    found: dict[str, set[str]] = {}
    for row in hierarchy.table():
        found.setdefault(row[level], set()).add(row[0])
    return list(found.values())


# By frequency.


def test_the_rarest_values_are_merged_first() -> None:
    jobs = ["clerk"] * 60 + ["welder"] * 30 + ["pilot"] * 5 + ["judge"] * 3 + ["monk"] * 2 + [None, ""]
    made = hierarchies.by_frequency(jobs, shares=(0.05, 0.2))
    assert {row[0]: row[1:] for row in made.table()} == {
        "clerk": ["clerk", "clerk", "*"],
        "welder": ["welder", "welder", "*"],
        "pilot": ["pilot", "3 other values", "*"],
        "judge": ["2 other values", "3 other values", "*"],
        "monk": ["2 other values", "3 other values", "*"],
    }


@given(COUNTS, st.sampled_from([(0.05, 0.2, 0.5), (0.3,), (0.1, 0.9)]))
@profiles.examples(60)
def test_what_is_merged_is_rarer_than_what_is_not_and_holds_no_more_than_its_share(counts, shares) -> None:
    made = hierarchies.by_frequency(counts, shares=shares)
    rows = sum(counts.values())
    for level in range(1, made.height):
        merged = [group for group in groups_at(made, level) if len(group) > 1]
        assert len(merged) == 1
        held = sum(counts[value] for value in merged[0])
        assert held <= shares[-1] * rows + 1e-6
        assert max(counts[value] for value in merged[0]) <= min(counts[value] for value in set(counts) - merged[0])


# By likeness of a target.


def information(groups: list[set[str]], joint: Counter) -> float:
    """The mutual information of groups and target, as its definition says it."""
    rows = sum(joint.values())
    targets = Counter()
    for (_, target), number in joint.items():
        targets[target] += number
    found = 0.0
    for group in groups:
        held = sum(number for (value, _), number in joint.items() if value in group)
        for target, whole in targets.items():
            both = sum(joint[value, target] for value in group)
            if both:
                found += both / rows * math.log(both * rows / (held * whole))
    return found


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 2)), min_size=2, max_size=60))
@profiles.examples(50)
def test_each_merging_loses_least_of_what_values_tell_about_the_target(pairs) -> None:
    joint = Counter(pairs)
    values = {value for value, _ in pairs}
    if len(values) < 3:
        return
    parts = list(range(len(values) - 1, 1, -1))
    made = hierarchies.by_target(pairs, parts=parts)
    stages = [[{value} for value in values], *(groups_at(made, level) for level in range(1, made.height))]
    assert [len(stage) for stage in stages] == [len(values), *parts]
    for finer, coarser in pairwise(stages):
        best = max(
            information([*(group for group in finer if group not in pair), pair[0] | pair[1]], joint)
            for pair in combinations(finer, 2)
        )
        assert information(coarser, joint) == pytest.approx(best, abs=1e-9)


def test_labels_of_a_target_name_the_most_frequent_values() -> None:
    rows = [(name, "yes") for name in "aaabbcde"] + [(name, "no") for name in "xxy"]
    made = hierarchies.by_target(rows, parts=[2])
    assert {row[1] for row in made.table()} == {"a, b and 3 more", "x, y"}
    assert hierarchies.by_target(Counter(rows), parts=[2]).table() == made.table()


# Equal depth.


def test_intervals_of_equal_depth_hold_as_many_rows_each() -> None:
    salaries = [str(1000 + 7 * place) for place in range(160)]
    made = hierarchies.equal_depth(salaries)
    assert made.height == 5
    for level, part in enumerate((16, 8, 4, 2), start=1):
        held = Counter(made.label(salary, level) for salary in salaries)
        assert set(held.values()) == {160 // part}


@given(st.lists(st.integers(0, 40), min_size=2, max_size=120), st.sampled_from([(4, 2), (16, 8, 4, 2), (3,)]))
@profiles.examples(60)
def test_no_interval_of_equal_depth_holds_more_than_its_part_and_one_value(numbers, parts) -> None:
    cells = [str(number) for number in numbers]
    if len(set(cells)) < 2:
        return
    try:
        made = hierarchies.equal_depth(cells, parts=parts)
    except ix.HierarchyError:  # one value in nearly all rows
        assert max(Counter(cells).values()) * parts[0] >= len(cells)
        return
    made.compile(sorted(set(cells)))  # labels nest
    held = Counter(made.label(cell, 1) for cell in cells)
    most = max(Counter(cells).values())
    assert max(held.values()) <= len(cells) / parts[0] + most


def test_decimals_are_cut_exactly() -> None:
    made = hierarchies.equal_depth(["0.1", "0.2", "0.3", "0.4"], parts=[2])
    assert [made.label(text, 1) for text in ("0.2", "0.3", "0.25")] == ["<0.3", ">=0.3", "<0.3"]


# Prefixes that balance.


@given(COUNTS, st.sampled_from([(4, 2), (8, 4), (3,)]))
@profiles.examples(80)
def test_labels_are_prefixes_of_their_values_and_enough_of_them(counts, parts) -> None:
    made = hierarchies.balanced_prefixes(counts, parts=parts)
    for row in made.table():
        for label in row[1:-1]:
            assert label == row[0] or (label.endswith("*") and row[0].startswith(label[:-1]))
    if made.height > 1:
        wanted = min(parts[0], len(counts))
        assert len(groups_at(made, 1)) >= min(wanted, parts[-1])


def test_the_prefix_of_most_rows_is_divided_first() -> None:
    made = hierarchies.balanced_prefixes({"0211": 9, "0212": 9, "1000": 1, "1999": 1, "1998": 1}, parts=(3, 2))
    assert [row[1] for row in made.table()] == ["0211", "0212", "1*", "1*", "1*"]
    assert [row[2] for row in made.table()] == ["021*", "021*", "1*", "1*", "1*"]


# What is refused.


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: hierarchies.by_frequency([None, ""]), "every cell is missing"),
        (lambda: hierarchies.by_frequency("abc"), "not a str"),
        (lambda: hierarchies.by_frequency(["a", "b"], shares=(0.5, 0.1)), "coarser than the one before"),
        (lambda: hierarchies.by_frequency(["a", "b"], shares=(2,)), "between 0 and 1"),
        (lambda: hierarchies.equal_depth(["1", "1"]), "nothing to cut"),
        (lambda: hierarchies.equal_depth(["1", "2"], parts=(5, 2)), "divides the one before"),
        (lambda: hierarchies.equal_depth(["1", "secret"]), "1 value"),
        (lambda: hierarchies.balanced_prefixes(["a"], parts=()), "a number for each level"),
        (lambda: hierarchies.by_target([(str(n), n) for n in range(2001)]), "2001 values are too many"),
    ],
)
def test_what_makes_no_hierarchy_is_refused(make, told) -> None:
    with pytest.raises(ix.HierarchyError, match=told) as refusal:
        make()
    assert "secret" not in str(refusal.value)


def test_cells_of_frames_are_taken_as_tables_show_them() -> None:
    pandas = pytest.importorskip("pandas")
    made = hierarchies.by_frequency(pandas.Series([1, 1, 1, 2, 3, None]).astype("Int64"), shares=(0.5,))
    assert sorted(row[0] for row in made.table()) == ["1", "2", "3"]
    pyarrow = pytest.importorskip("pyarrow")
    assert hierarchies.by_frequency(pyarrow.chunked_array([[1, 1, 1, 2], [3, None]]), shares=(0.5,)) == made
