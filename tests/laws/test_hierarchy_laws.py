"""Laws that every compiled hierarchy obeys, whatever its kind and its values."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indistinct.hierarchy import (
    CompiledHierarchy,
    Hierarchy,
    dates,
    from_spec,
    intervals,
    keep,
    levels,
    prefix,
    rounding,
    suppress,
    top_bottom,
    tree,
)

Case = tuple[Hierarchy, list[str | None]]

LETTERS = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=1, max_size=6)
WHOLE = st.integers(-300, 300).map(str)
ANY_NUMBER = st.one_of(WHOLE, st.decimals(-300, 300, places=3).map(str), st.floats(-1e6, 1e6).map(str))
DATES = st.dates(date(1900, 1, 1), date(2100, 1, 1)).map(str)


@st.composite
def computed(draw: st.DrawFn) -> Case:
    hierarchies: list[tuple[Hierarchy, st.SearchStrategy[str]]] = [
        (intervals(5, 10, [-50, 0, 50]), WHOLE),
        (intervals(3, 12, origin=1, low=-7, high=100), WHOLE),
        (intervals(0.1, 0.3, 3, origin=0.05, low=-3.33), ANY_NUMBER),
        (intervals([-10, 0, 10.5], [0], high=20), ANY_NUMBER),
        (rounding(0.3, 7, 100), ANY_NUMBER),
        (top_bottom((-100, 100), (-50, 99.5)), ANY_NUMBER),
        (prefix(), LETTERS),
        (prefix(6, keep=[4, 1, 0]), LETTERS),
        (dates("month", "quarter", "year", "5 years", "decade"), DATES),
        (suppress(), LETTERS),
        (keep(), LETTERS),
    ]
    hierarchy, values = draw(st.sampled_from(hierarchies))
    texts = sorted(draw(st.sets(values, max_size=30)))
    return hierarchy, [*texts, *[None] * draw(st.integers(0, 1))]


@st.composite
def listed(draw: st.DrawFn) -> Case:
    texts = sorted(draw(st.sets(LETTERS, min_size=1, max_size=20)))
    parents = draw(st.lists(st.integers(0, 4), min_size=len(texts), max_size=len(texts)))
    rows = [[text, f"group {parent}", f"half {parent % 2}", "all"] for text, parent in zip(texts, parents, strict=True)]
    if draw(st.booleans()):
        rows.append(["", "none", "none", "all"])
    hierarchy = levels(rows, top=draw(st.sampled_from([None, "*"])))
    return hierarchy, [*texts, None]


CASES = st.one_of(computed(), listed())


def same(first: CompiledHierarchy, second: CompiledHierarchy) -> bool:
    arrays = zip((*first.maps, *first.leaves), (*second.maps, *second.leaves), strict=True)
    return (
        first.labels == second.labels
        and all(np.array_equal(one, other) for one, other in arrays)
        and first.domain_size == second.domain_size
        and first.has_suppressed_top == second.has_suppressed_top
        and first.level_names == second.level_names
    )


def names(compiled: CompiledHierarchy, level: int) -> Sequence[str | None]:
    return [compiled.labels[level][code] for code in compiled.maps[level]]


@given(CASES)
def test_maps_follow_the_steps(case: Case) -> None:
    compiled = case[0].compile(case[1])
    assert compiled.maps[0].tolist() == list(range(len(case[1])))
    for level in range(compiled.height):
        assert np.array_equal(compiled.step(level)[compiled.maps[level]], compiled.maps[level + 1])
    assert len(compiled.level_names) == len(compiled.labels) == len(compiled.maps) == len(compiled.leaves)


@given(CASES)
def test_everything_meets_at_one_top(case: Case) -> None:
    hierarchy, values = case
    if hierarchy.kind != "keep":
        assert len(hierarchy.compile(values).labels[-1]) == min(1, len(values))


@given(CASES)
def test_leaves_add_up_to_the_domain(case: Case) -> None:
    compiled = case[0].compile(case[1])
    assert all(leaves.sum() == compiled.domain_size for leaves in compiled.leaves)


@given(listed(), st.data())
def test_fewer_values_at_hand_leave_the_domain_alone(case: Case, data: st.DataObject) -> None:
    hierarchy, values = case
    some = sorted(data.draw(st.sets(st.sampled_from(values[:-1]), min_size=1)))  # type: ignore[type-var]
    compiled = hierarchy.compile(some)
    assert compiled.leaves[-1].tolist() == [compiled.domain_size]
    assert all(leaves.sum() <= compiled.domain_size for leaves in compiled.leaves)
    assert compiled.domain_size == len(hierarchy.table())


@given(CASES)
def test_labels_stand_in_order_of_appearance(case: Case) -> None:
    compiled = case[0].compile(case[1])
    for level, labels in enumerate(compiled.labels):
        assert labels == tuple(dict.fromkeys(names(compiled, level)))


@given(CASES)
def test_a_table_says_what_is_compiled(case: Case) -> None:
    hierarchy, values = case
    compiled = hierarchy.compile(values)
    expected = list(zip(*(names(compiled, level) for level in range(compiled.height + 1)), strict=True))
    assert list(map(tuple, hierarchy.table(values))) == expected


@given(CASES)
def test_a_specification_compiles_to_the_same(case: Case) -> None:
    hierarchy, values = case
    again = from_spec(hierarchy.spec(), Path())
    assert again == hierarchy
    assert same(again.compile(values), hierarchy.compile(values))


@given(CASES, st.sampled_from(";,\t"))
def test_a_written_file_compiles_to_the_same_labels(case: Case, delimiter: str) -> None:
    hierarchy, values = case
    if not values or hierarchy.kind == "keep":
        return
    compiled = hierarchy.compile(values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.csv"
        hierarchy.write_csv(path, values, delimiter)
        again = levels(path, delimiter=delimiter if delimiter == "\t" else None).compile(values)
    assert again.labels == compiled.labels
    assert all(np.array_equal(one, other) for one, other in zip(again.maps, compiled.maps, strict=True))


@given(listed())
def test_a_tree_says_the_same_as_its_rows(case: Case) -> None:
    hierarchy, values = case
    nodes: dict[str, dict[str, dict[str, list[str]]]] = {"all": {}}
    for value, group, half, *_ in hierarchy.table():
        nodes["all"].setdefault(half or "", {}).setdefault(group or "", []).append(value or "")
    assert same(tree(nodes, top=hierarchy.top).compile(values), hierarchy.compile(values))


@given(st.lists(ANY_NUMBER, min_size=1, unique=True))
def test_intervals_hold_their_values(values: list[str]) -> None:
    for value, label, *_ in intervals(0.7).table(values):
        start, end = (label or "").strip("[)").split(", ")
        assert float(start) - 1e-9 <= float(value or "nan") <= float(end) + 1e-9


@given(CASES)
def test_drawings_name_every_label(case: Case) -> None:
    hierarchy, values = case
    drawing = hierarchy.draw(values, most=1000)
    for labels in hierarchy.compile(values).labels:
        assert all("(missing)" in drawing if label is None else label in drawing for label in labels)
