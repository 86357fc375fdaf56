"""Downcoding: it concludes only what holds in every table that could be behind a release, and it finds what follows.

The oracle lists all those tables. It shares no code with the attack: a hierarchy is a dictionary from a value to its
labels, level by level, a row is a tuple of values, and what is assumed is tested by its definition.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement as multisets
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.brute_force import Case, cases, generalized, policy_of_case, table_of_case
from helpers.profiles import examples
from indistinct.attacks import DowncodingReport, downcoding
from indistinct.attacks.labels.label_tree import LabelTree
from indistinct.attacks.sharpening.deduction import limits
from indistinct.attacks.sharpening.downcoding import ASSUMPTIONS
from indistinct.attacks.sharpening.downcoding_report import KINDS, Bound, SharpenedGroup
from indistinct.examples import save_examples
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.search import Task
from indistinct.search.local.mondrian import Mondrian
from indistinct.search.local.top_down import TopDown

Value = str | None
Paths = dict[Value, tuple[Value, ...]]
Row = tuple[Value, ...]
World = tuple[tuple[Row, ...], ...]
"""The rows behind each group of a release."""

EVERYTHING = 10**6
MOST_WORLDS = 1_500

# No name stands on two levels, save that of a missing value.
HIERARCHIES: tuple[Paths, ...] = (
    {"a": ("a", "any"), "b": ("b", "any")},
    {"a": ("a", "any"), "b": ("b", "any"), "c": ("c", "any")},
    {"a": ("a", "any"), "b": ("b", "any"), None: (None, "any")},
    {"a": ("a", "ab", "any"), "b": ("b", "ab", "any"), "c": ("c", "only c", "any")},
    {"a": ("a", "ab", "any"), "b": ("b", "ab", "any"), "c": ("c", "cd", "any"), "d": ("d", "cd", "any")},
    {"a": ("a", "ab", "any"), "b": ("b", "ab", "any"), None: (None, None, "any")},
    {"a": ("a", "abc", "any"), "b": ("b", "abc", "any"), "c": ("c", "abc", "any"), "d": ("d", "only d", "any")},
)


@dataclass(frozen=True)
class Seen:
    """A release, as the oracle sees it: the labels of its groups, their sizes, and what everybody knows."""

    hierarchies: tuple[Paths, ...]
    k: int
    groups: tuple[Row, ...]
    sizes: tuple[int, ...]
    budget: int = 0
    suppressed: int = 0

    def policy(self) -> ix.Policy:
        columns = {}
        for number, paths in enumerate(self.hierarchies):
            rows = [path for value, path in paths.items() if value is not None]
            columns[f"c{number}"] = ix.quasi(ix.levels(rows), missing="value" if None in paths else "refuse")
        return ix.Policy(columns=columns, privacy=[ix.KAnonymity(self.k)], max_suppression=self.budget)

    def table(self) -> pa.Table:
        rows = [labels for labels, size in zip(self.groups, self.sizes, strict=True) for _ in range(size)]
        return pa.table(
            {f"c{c}": pa.array([row[c] for row in rows], pa.string()) for c in range(len(self.hierarchies))}
        )

    def attack(self, *assumed: str, recoding: Any) -> DowncodingReport:
        return downcoding(
            self.table(),
            self.policy(),
            assume=assumed,
            recoding=recoding,
            suppressed=self.suppressed,
            most=EVERYTHING,
        )

    def rows_behind(self, group: int) -> Iterator[tuple[Row, ...]]:
        """Return all rows that can be behind one group."""
        values = [
            [value for value, path in paths.items() if label in path]
            for label, paths in zip(self.groups[group], self.hierarchies, strict=True)
        ]
        return multisets(list(product(*values)), self.sizes[group])

    def worlds(self) -> list[World]:
        """Return all rows that can be behind the release; the example is left out if they are too many to try."""
        behind = [list(self.rows_behind(group)) for group in range(len(self.groups))]
        assume(prod(map(len, behind)) <= MOST_WORLDS)
        return list(product(*behind))

    def parts(self, group: int, rows: Sequence[Row], column: int) -> Counter[Value]:
        """Count the rows of a group by their labels one level below the one that the release gives them."""
        label, paths = self.groups[group][column], self.hierarchies[column]
        return Counter(paths[row[column]][paths[row[column]].index(label) - 1] for row in rows)

    def is_generalized(self, group: int, column: int) -> bool:
        return self.groups[group][column] not in self.hierarchies[column]

    def holds(self, finding: SharpenedGroup, world: World) -> bool:
        """Return whether a finding is true of the rows behind a release."""
        column = int(finding.column[1:])
        if finding.group is None:
            numbers = [
                number
                for group, rows in enumerate(world)
                if self.is_generalized(group, column)
                for number in self.parts(group, rows, column).values()
            ]
            return sum(number for number in numbers if number < self.k) >= finding.rows
        group = self.groups.index(tuple(finding.group.values()))
        rows, paths = world[group], self.hierarchies[column]
        counts = [sum(bound.label in paths[row[column]][:-1] for row in rows) for bound in finding.bounds]
        return (
            len(rows) == finding.rows
            and all(bound.least <= count <= bound.most for bound, count in zip(finding.bounds, counts, strict=True))
            and min(self.parts(group, rows, column).values()) <= finding.crowd
        )


def assert_sound(seen: Seen, report: DowncodingReport, possible: Sequence[World]) -> None:
    for finding in report.findings:
        for world in possible:
            assert seen.holds(finding, world), (finding, world)


def assert_complete(seen: Seen, report: DowncodingReport, possible: Sequence[World]) -> None:
    """Nothing more follows about the labels one level lower than what is reported."""
    known, crowds = 0, [seen.k]
    for column in range(len(seen.hierarchies)):
        for group in range(len(seen.groups)):
            if seen.is_generalized(group, column):
                parts = [seen.parts(group, world[group], column) for world in possible]
                labels = {label for part in parts for label in part}
                known += sum(min(part[label] for part in parts) for label in labels)
                crowds.append(max(min(part.values()) for part in parts))
    assert report.sharpened_cells == known
    assert min(report.smallest_crowd, seen.k) == min(crowds)


# full-domain releases


def at_node(row: Row, node: Sequence[int], hierarchies: Sequence[Paths]) -> Row:
    return tuple(paths[value][level] for value, level, paths in zip(row, node, hierarchies, strict=True))


def passes(rows: Sequence[Row], node: Sequence[int], seen: Seen) -> bool:
    """Return whether the rows can be released at a node: no more than the budget stand out, and not all."""
    sizes = Counter(at_node(row, node, seen.hierarchies) for row in rows)
    outliers = sum(size for size in sizes.values() if size < seen.k)
    return outliers <= seen.budget and outliers < len(rows)


def is_minimal_table(rows: Sequence[Row], node: Sequence[int], seen: Seen) -> bool:
    """Return whether no column could have been released one level lower."""
    below = [
        tuple(level - (place == column) for place, level in enumerate(node))
        for column in range(len(node))
        if node[column]
    ]
    return not any(passes(rows, lower, seen) for lower in below)


def suppressed_behind(seen: Seen, node: Sequence[int]) -> Iterator[tuple[Row, ...]]:
    """Return all rows that can have been suppressed at a node."""
    for rows in multisets(list(product(*seen.hierarchies)), seen.suppressed):
        sizes = Counter(at_node(row, node, seen.hierarchies) for row in rows)
        if all(labels not in seen.groups and size < seen.k for labels, size in sizes.items()):
            yield rows


@st.composite
def full_domain(draw: st.DrawFn, most_columns: int) -> tuple[Seen, tuple[int, ...]]:
    """Draw a table and release it at some k-minimal node."""
    hierarchies = tuple(draw(st.lists(st.sampled_from(HIERARCHIES), min_size=1, max_size=most_columns)))
    cells = [st.sampled_from(list(paths)) for paths in hierarchies]
    rows = draw(st.lists(st.tuples(*cells), min_size=2, max_size=7))
    start = Seen(hierarchies, draw(st.integers(2, 3)), (), (), draw(st.integers(0, 2)))
    nodes = list(product(*(range(len(paths["a"])) for paths in hierarchies)))
    minimal = [node for node in nodes if passes(rows, node, start) and is_minimal_table(rows, node, start)]
    assume(minimal)
    node = draw(st.sampled_from(minimal))
    sizes = Counter(at_node(row, node, hierarchies) for row in rows)
    kept = {labels: size for labels, size in sizes.items() if size >= start.k}
    suppressed = len(rows) - sum(kept.values())
    return replace(start, groups=tuple(kept), sizes=tuple(kept.values()), suppressed=suppressed), node


def possible_tables(seen: Seen, node: Sequence[int]) -> list[World]:
    left_out = list(suppressed_behind(seen, node))
    return [
        world
        for world in seen.worlds()
        if any(is_minimal_table([*sum(world, ()), *rows], node, seen) for rows in left_out)
    ]


@pytest.mark.slow
@given(full_domain(most_columns=2))
def test_what_follows_from_a_minimal_table_holds_in_every_table_behind_it(drawn: tuple[Seen, tuple[int, ...]]) -> None:
    seen, node = drawn
    report = seen.attack("minimal", recoding="full-domain")
    possible = possible_tables(seen, node)
    assert possible
    assert_sound(seen, report, possible)


@pytest.mark.slow
@given(full_domain(most_columns=1))
def test_nothing_more_follows_about_a_minimal_table_of_one_column(drawn: tuple[Seen, tuple[int, ...]]) -> None:
    seen, node = drawn
    assume(node[0] > 0)
    report = seen.attack("minimal", recoding="full-domain")
    assert_complete(seen, report, possible_tables(seen, node))


# local releases


def lowest_labels(rows: Sequence[Row], hierarchies: Sequence[Paths]) -> Row:
    """Return the lowest labels that cover some rows."""
    found = []
    for column, paths in enumerate(hierarchies):
        levels = zip(*(paths[row[column]] for row in rows), strict=True)
        found.append(next(labels[0] for labels in levels if len(set(labels)) == 1))
    return tuple(found)


def can_be_cut(rows: Sequence[Row], column: int, seen: Seen) -> list[list[Row]]:
    """Return the parts of a group one level lower, if it has several and each has k rows."""
    paths = seen.hierarchies[column]
    label = lowest_labels(rows, seen.hierarchies)[column]
    if label in paths:
        return []
    parts: dict[Value, list[Row]] = {}
    for row in rows:
        path = paths[row[column]]
        parts.setdefault(path[path.index(label) - 1], []).append(row)
    return list(parts.values()) if min(map(len, parts.values())) >= seen.k else []


@st.composite
def cut_groups(draw: st.DrawFn, most_columns: int) -> Seen:
    """Draw a table and cut it as long as that is possible."""
    hierarchies = tuple(draw(st.lists(st.sampled_from(HIERARCHIES), min_size=1, max_size=most_columns)))
    cells = [st.sampled_from(list(paths)) for paths in hierarchies]
    rows = draw(st.lists(st.tuples(*cells), min_size=3, max_size=7))
    start = Seen(hierarchies, draw(st.integers(2, 3)), (), ())
    groups: list[list[Row]] = [rows]
    done = []
    while groups:
        group = groups.pop()
        for column in draw(st.permutations(range(len(hierarchies)))):
            if parts := can_be_cut(group, column, start):
                groups += parts
                break
        else:
            done.append(group)
    labels = [lowest_labels(group, hierarchies) for group in done]
    assert len(set(labels)) == len(labels)
    return replace(start, groups=tuple(labels), sizes=tuple(map(len, done)))


def possible_groups(seen: Seen, *, is_minimal: bool) -> list[World]:
    """Return the rows that can be behind the groups; each group is tried by itself, so a world need not be real."""
    per_group: list[list[tuple[Row, ...]]] = []
    for group, labels in enumerate(seen.groups):
        per_group.append(
            [
                rows
                for rows in seen.rows_behind(group)
                if lowest_labels(rows, seen.hierarchies) == labels
                and not (is_minimal and any(can_be_cut(rows, column, seen) for column in range(len(labels))))
            ]
        )
    longest = max(map(len, per_group))
    return [tuple(rows[place % len(rows)] for rows in per_group) for place in range(longest)]


@pytest.mark.slow
@given(cut_groups(most_columns=2), st.booleans())
def test_what_follows_from_groups_is_what_all_rows_behind_them_have_in_common(seen: Seen, is_minimal: bool) -> None:
    report = seen.attack("minimal" if is_minimal else "lowest-labels", recoding="local")
    assert list(report.assumed) == ["lowest-labels", "minimal"][: 1 + is_minimal]
    possible = possible_groups(seen, is_minimal=is_minimal)
    assert_sound(seen, report, possible)
    assert_complete(seen, report, possible)


def lower_releases(rows: Sequence[Row], labels: Sequence[Row], seen: Seen) -> Iterator[list[Row]]:
    """Return every release of the rows in which none has a higher label, some have lower ones, and k share each."""
    kinds = Counter(zip(rows, labels, strict=True))
    choices = []
    for (row, own), number in kinds.items():
        paths = [paths[value] for paths, value in zip(seen.hierarchies, row, strict=True)]
        lower = product(*(path[: path.index(label) + 1] for path, label in zip(paths, own, strict=True)))
        choices.append(list(multisets(list(lower), number)))
    before = Counter(labels)
    for chosen in product(*choices):
        after = Counter(label for part in chosen for label in part)
        if after != before and min(after.values()) >= seen.k:
            yield [label for part in chosen for label in part]


@st.composite
def rowwise(draw: st.DrawFn) -> Seen:
    """Draw a table and lower the labels of its rows as long as that is possible."""
    number = draw(st.sampled_from([1, 1, 1, 2]))
    choice = HIERARCHIES if number == 1 else HIERARCHIES[:3]
    hierarchies = tuple(draw(st.lists(st.sampled_from(choice), min_size=number, max_size=number)))
    cells = [st.sampled_from(list(paths)) for paths in hierarchies]
    rows = sorted(draw(st.lists(st.tuples(*cells), min_size=2, max_size=7 if number == 1 else 5)), key=str)
    seen = Seen(hierarchies, draw(st.sampled_from([2, 2, 3])), (), ())
    assume(len(rows) >= seen.k)
    labels: list[Row] = [lowest_labels(rows, hierarchies)] * len(rows)
    random = Random(draw(st.integers(0, 99)))
    while lower := list(lower_releases(rows, labels, seen)):
        # rows of one kind stand together, so that the chosen labels are in the order of the kinds
        kinds = Counter(zip(rows, labels, strict=True))
        rows = [row for (row, _), size in kinds.items() for _ in range(size)]
        labels = random.choice(lower)
    sizes = Counter(labels)
    return replace(seen, groups=tuple(sizes), sizes=tuple(sizes.values()))


@pytest.mark.slow
@examples(40)
@given(rowwise())
def test_what_follows_from_minimal_rows_holds_in_every_table_behind_them(seen: Seen) -> None:
    report = seen.attack("minimal-rows", recoding="local")
    assert list(report.assumed) == list(ASSUMPTIONS)
    labels = [own for own, size in zip(seen.groups, seen.sizes, strict=True) for _ in range(size)]
    possible = [w for w in seen.worlds() if next(lower_releases(sum(w, ()), labels, seen), None) is None]
    assert possible
    assert_sound(seen, report, possible)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_limits_are_exact(k: int, parts: int) -> None:
    """Against all ways to divide rows among labels."""
    for rows in range(max(1, k), 10):
        ways = [way for way in product(range(rows + 1), repeat=parts) if sum(way) == rows]
        for splits, standing_out, all_small in product([False, True], range(rows + 2), [False, True]):
            possible = [
                way
                for way in ways
                if (not splits or max(way) < rows)
                and sum(part for part in way if part < k) >= standing_out
                and (not all_small or max(way) < k)
            ]
            found = limits(rows, parts, k, splits=splits, standing_out=standing_out, all_small=all_small)
            if not possible:
                assert found is None
                continue
            rarest = max(min(part for part in way if part) for way in possible)
            expected = (min(way[0] for way in possible), max(way[0] for way in possible), rarest)
            assert found == expected, (rows, splits, standing_out, all_small)


# what can be found is found


def policy(k: int = 3, missing: Any = "refuse", **hierarchies: ix.Hierarchy) -> ix.Policy:
    columns = {name: ix.quasi(hierarchy, missing=missing) for name, hierarchy in hierarchies.items()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)])


def only_finding(report: DowncodingReport) -> SharpenedGroup:
    (finding,) = report.findings
    return finding


JOBS = ix.tree({"*": ["clerk", "cook", "judge", "nurse"]})


def test_every_row_of_a_minimal_group_is_restored() -> None:
    """Cohen's minimality: with k = 2, had two of the four the same job, these two could have been released with it."""
    report = downcoding(pa.table({"job": ["*"] * 4}), policy(2, job=JOBS), assume=["minimal-rows"], recoding="local")
    finding = only_finding(report)
    assert finding.kind == "counted"
    assert finding.bounds == tuple(Bound(job, 1, 1) for job in ("clerk", "cook", "judge", "nurse"))
    assert (report.sharpened_cells, report.generalized_cells, report.smallest_crowd) == (4, 4, 1)
    assert finding.sentence == (
        "Of the 4 rows with job *: exactly 1 has job clerk, exactly 1 has job cook, exactly 1 has job judge and "
        "exactly 1 has job nurse, if no row could have been released with a lower label."
    )


def test_a_group_of_two_labels_that_was_not_cut_has_fewer_than_k_under_one() -> None:
    sex = ix.levels([["F", "*"], ["M", "*"]])
    report = downcoding(pa.table({"sex": ["*"] * 8}), policy(sex=sex), assume=["minimal"], recoding="local")
    finding = only_finding(report)
    assert finding.kind == "present"
    assert finding.bounds == (Bound("F", 1, 7), Bound("M", 1, 7))
    assert finding.crowd == report.smallest_crowd == 2
    assert "at most 2 share a lower label of sex that none of the others has" in finding.sentence
    assert "no column of a group could have been released one level lower" in finding.sentence


def test_rows_that_could_have_gone_to_a_lower_group_are_not_there() -> None:
    table = pa.table({"job": ["cook"] * 3 + ["*"] * 4})
    jobs = ix.tree({"*": ["clerk", "cook", "judge"]})
    found = only_finding(downcoding(table, policy(job=jobs), assume=["minimal-rows"]))
    assert found.bounds == (Bound("clerk", 1, 3), Bound("cook", 0, 0), Bound("judge", 1, 3))
    assert "none has job cook" in found.sentence
    weaker = only_finding(downcoding(table, policy(job=jobs), assume=["minimal"]))
    assert (weaker.kind, weaker.bounds) == ("crowd", ())


def test_what_is_left_below_a_label_is_named() -> None:
    """Both lower groups take a value away from below "care" and "office", so that one is left below each."""
    jobs = ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse", "medic"]}})
    table = pa.table({"job": ["clerk"] * 2 + ["nurse"] * 2 + ["*"] * 3})
    found = only_finding(downcoding(table, policy(2, job=jobs), assume=["minimal-rows"]))
    assert {bound.label: bound.least for bound in found.bounds} == {"judge": 1, "medic": 1}


def test_a_name_that_may_stand_for_more_or_less_excludes_nothing() -> None:
    """The group "a" may be of the value a alone; then rows with b can be among the others."""
    job = ix.levels([["a", "a", "*"], ["b", "a", "*"], ["c", "c", "*"], ["d", "d", "*"]])
    table = pa.table({"job": ["a"] * 3 + ["*"] * 4})
    assert only_finding(downcoding(table, policy(job=job), assume=["minimal-rows"])).bounds == ()


def test_the_one_group_that_can_have_kept_a_column_up_gives_itself_away() -> None:
    jobs = ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse"]}})
    table = pa.table({"job": ["office"] * 7 + ["care"] * 3})
    report = downcoding(table, policy(job=jobs), assume=["minimal"])
    kinds = {finding.kind: finding for finding in report.findings}
    assert kinds["present"].bounds == (Bound("clerk", 1, 6), Bound("judge", 1, 6))
    assert kinds["present"].crowd == 2
    assert kinds["certain"].bounds == (Bound("nurse", 3, 3),)
    assert "all have job nurse, since the hierarchy has nothing else below its label." in kinds["certain"].sentence


def test_suppressed_rows_leave_fewer_that_must_stand_out() -> None:
    """With a budget of 4 and 2 suppressed, at least 3 of the 9 would have stood out: both labels cannot have 3."""
    jobs = ix.levels([["clerk", "*"], ["cook", "*"]])
    of_four = replace(policy(4, job=jobs), max_suppression=4)
    table = pa.table({"job": ["*"] * 9})
    assert only_finding(downcoding(table, of_four, suppressed=2)).bounds == (Bound("clerk", 3, 6), Bound("cook", 3, 6))
    assert only_finding(downcoding(table, of_four, suppressed=4)).bounds == (Bound("clerk", 1, 8), Bound("cook", 1, 8))
    assert only_finding(downcoding(table, of_four)).bounds == (Bound("clerk", 1, 8), Bound("cook", 1, 8))
    report = downcoding(table, of_four, suppressed=5)
    assert not report.findings
    assert "more rows are suppressed than the policy allows" in report.notes[0]


def test_a_missing_cell_is_one_more_possibility_unless_the_policy_refuses_it() -> None:
    sex = ix.levels([["F", "*"], ["M", "*"]])
    table = pa.table({"sex": ["*"] * 3})
    refused = downcoding(table, policy(sex=sex), assume=["lowest-labels"], recoding="local")
    possible = downcoding(table, policy(sex=sex, missing="value"), assume=["lowest-labels"], recoding="local")
    assert refused.sharpened_cells == 2
    assert possible.sharpened_cells == 0
    assert only_finding(possible).crowd == 1


def test_ends_of_ranges_and_members_of_sets_occur() -> None:
    released = pa.table({"age": ["[17, 25]"] * 3 + ["20-29"] * 3, "city": ["{Bonn, Ulm} or missing"] * 3 + ["*"] * 3})
    report = downcoding(released, policy(age=ix.intervals(10), city=ix.suppress()), assume=["lowest-labels"])
    assert report.recoding == "local"
    by_cell = {(f.column, f.group and f.group[f.column]): f for f in report.findings}
    assert by_cell["city", "{Bonn, Ulm} or missing"].kind == "counted"
    assert by_cell["city", "{Bonn, Ulm} or missing"].bounds == tuple(Bound(v, 1, 1) for v in ("Bonn", "Ulm", None))
    assert "exactly 1 has city missing" in by_cell["city", "{Bonn, Ulm} or missing"].sentence
    assert by_cell["age", "[17, 25]"].bounds == (Bound("17", 1, 2), Bound("25", 1, 2))
    assert by_cell["age", "20-29"].kind == by_cell["city", "*"].kind == "crowd"
    assert not downcoding(released, policy(age=ix.intervals(10), city=ix.suppress()), assume=[]).findings


def test_where_labels_cannot_be_listed_crowds_follow_without_names() -> None:
    report = downcoding(
        pa.table({"zip": ["021**"] * 9}), policy(zip=ix.prefix(5)), assume=["minimal"], recoding="local"
    )
    assert only_finding(report).kind == "crowd"
    assert only_finding(report).crowd == 2
    assert report.sharpened_cells == 0
    assert report.notes == (
        "column 'zip': the policy does not list what lies below 1 released label, so no lower label is named there",
    )


def test_a_release_without_generalized_cells_gives_no_finding() -> None:
    for recoding in (None, "full-domain", "local"):
        report = downcoding(pa.table({"job": ["cook"] * 3 + ["clerk"] * 3}), policy(job=JOBS), recoding=recoding)
        assert (report.findings, report.generalized_cells, report.smallest_crowd) == ((), 0, 3)
        assert "nothing to sharpen" in str(report)


def test_an_empty_release_gives_no_finding() -> None:
    report = downcoding(pa.table({"job": pa.array([], pa.string())}), policy(job=JOBS))
    assert (report.findings, report.rows, report.smallest_crowd) == ((), 0, 0)


# what is assumed


def test_an_assumption_that_the_release_contradicts_is_dropped() -> None:
    """A label with one value below it is not the lowest, so that nothing can be said about the others either."""
    jobs = ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse"]}})
    table = pa.table({"job": ["care"] * 3 + ["office"] * 3})
    report = downcoding(table, policy(job=jobs), assume=list(ASSUMPTIONS), recoding="local")
    assert report.assumed == {}
    assert [note.partition(" that ")[2].partition(":")[0] for note in report.notes] == [*ASSUMPTIONS.values()][::-1]
    assert only_finding(report).kind == "certain"


def test_a_table_that_cannot_be_minimal_is_not_taken_as_minimal() -> None:
    jobs = ix.tree({"*": {"office": ["clerk"], "care": ["nurse"]}})
    report = downcoding(pa.table({"job": ["care"] * 3 + ["office"] * 3}), policy(job=jobs), assume=["minimal"])
    assert report.assumed == {}
    assert set(report.kinds) == {"certain"}


@pytest.mark.parametrize(
    "change",
    [
        {"quasi_identifiers": {"one": ["job"], "two": ["sex"]}},
        {"privacy": [ix.KAnonymity(3), ix.KAnonymity(9)]},
    ],
)
def test_minimality_is_not_used_where_it_need_not_be_about_k(change: dict[str, Any]) -> None:
    asked = replace(policy(job=JOBS, sex=ix.suppress()), **({"quasi_identifiers": None} | change))
    report = downcoding(pa.table({"job": ["*"] * 8, "sex": ["F"] * 8}), asked, assume=["minimal"])
    assert report.assumed == {}
    assert "minimality is not assumed" in report.notes[-1]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_examples(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "assumed"), [("samarati", ["minimal"]), ("mingen", ["minimal"]), ("datafly", []), ("lattice", [])]
)
def test_what_is_assumed_of_a_release_is_what_its_algorithm_promises(
    saved: Path, algorithm: str, assumed: list[str]
) -> None:
    """With a suppression limit of 1, as in this example, the best node by a measure need not be minimal."""
    asked = ix.read_policy(saved / "samarati.toml")
    with ix.anonymize(saved / "samarati.csv", asked, algorithm=algorithm) as release:
        assert list(downcoding(release, asked).assumed) == assumed
        assert list(downcoding(release, asked, assume=["minimal"]).assumed) == ["minimal"]
    without_limit = replace(asked, max_suppression=0)
    with ix.anonymize(saved / "samarati.csv", without_limit, algorithm="lattice") as release:
        assert list(downcoding(release, without_limit).assumed) == ["minimal"]


# releases that the package makes


@pytest.mark.slow
@examples(30, opens_tables=True)
@given(cases(most_rows=12, most_columns=3), st.sampled_from(["samarati", "lattice", "mingen", "datafly"]))
def test_what_follows_from_a_release_is_true_of_the_private_table(case: Case, algorithm: str) -> None:
    """Whatever the algorithm, with what it promises; labels may have one name on several levels here."""
    asked = policy_of_case(case)
    try:
        release = ix.anonymize(table_of_case(case), asked, algorithm=algorithm)
    except ix.InfeasibleError:
        return
    report = downcoding(release, asked, most=EVERYTHING)
    node = tuple(release.node.values())
    labels = generalized(case, node)
    names = list(release.node)
    for finding in report.findings:
        column = names.index(finding.column)
        if finding.group is None:
            lower = generalized(case, tuple(level - (place == column) for place, level in enumerate(node)))
            sizes = Counter(lower)
            released = Counter(labels)
            standing_out = sum(
                sizes[below] < case.k <= released[above] for below, above in zip(lower, labels, strict=True)
            )
            assert standing_out >= finding.rows
            continue
        own = [r for r, above in zip(case.rows, labels, strict=True) if above == tuple(finding.group.values())]
        assert len(own) == finding.rows
        paths = [case.columns[column].path(row[column]) for row in own]
        assert min(Counter(path[node[column] - 1] for path in paths).values()) <= finding.crowd
        for bound in finding.bounds:
            counts = [sum(path[level] == bound.label for path in paths) for level in range(node[column])]
            assert any(bound.least <= count <= bound.most for count in counts)
    release.close()


@dataclass(frozen=True)
class Anyhow:
    """Puts rows into groups of k and more, anyhow; each gets its lowest labels."""

    name: ClassVar[str] = "anyhow"
    labels: Any
    seed: int

    def run(self, task: Task, watch: ix.Watch) -> LocalRecoding:
        base = task.frequencies.base
        rows = [number for number, size in enumerate(base.sizes.tolist()) for _ in range(size)]
        Random(self.seed).shuffle(rows)
        most = max(1, len(rows) // task.largest_k())
        pieces = Counter((tuple_, place % most) for place, tuple_ in enumerate(rows))
        tuples, groups = np.array(list(pieces)).T
        found = Pieces(tuples, np.array(list(pieces.values())), groups)
        return LocalRecoding.of_pieces(task.frequencies, found, self.labels)


LOCAL = [
    (Anyhow("hierarchy", 1), ["lowest-labels"]),
    (Anyhow("ranges", 2), ["lowest-labels"]),
    (Mondrian(), ["lowest-labels", "minimal"]),
    (Mondrian(strict=False), ["lowest-labels", "minimal"]),
    (Mondrian(labels="ranges"), ["lowest-labels"]),
    (TopDown(), []),
    (TopDown(tighten=True), ["lowest-labels", "minimal"]),
    (ix.Regroup(), ["lowest-labels"]),
    (ix.Regroup(labels="ranges"), ["lowest-labels"]),
    (ix.KSimilar(), ["lowest-labels"]),
    (ix.MinGenCell(), ["lowest-labels", "minimal", "minimal-rows"]),
]


@pytest.mark.slow
@examples(40, opens_tables=True)
@given(cases(most_rows=12, most_columns=2), st.sampled_from(LOCAL))
def test_what_follows_from_a_local_release_is_true_of_the_private_table(
    case: Case, chosen: tuple[Any, list[str]]
) -> None:
    assume(all(column.listed for column in case.columns) and len(case.rows) >= case.k)
    algorithm, assumed = chosen
    asked = policy_of_case(case, columns={"number": ix.other()})
    table = table_of_case(case, number=range(len(case.rows)))
    release = ix.anonymize(table, asked, algorithm=algorithm)
    report = downcoding(release, asked, assume=assumed, most=EVERYTHING)
    assert report.recoding == "local"
    assert not report.generalized_cells or list(report.assumed) == assumed
    names = [column.name for column in case.columns]
    behind: dict[Row, list[Row]] = {}
    for row in release.table.to_pylist():
        behind.setdefault(tuple(row[name] for name in names), []).append(case.rows[row["number"]])
    for finding in report.findings:
        assert finding.group is not None
        column = names.index(finding.column)
        label = finding.group[finding.column]
        own = [row[column] for row in behind[tuple(finding.group.values())]]
        assert len(own) == finding.rows
        paths = [case.columns[column].path(value) for value in own]
        heights = range(len(paths[0]))
        is_cover = not any(path[level] == label for path in paths for level in heights)
        parts = (
            [own] if is_cover else [[p[level - 1] for p in paths] for level in heights[1:] if paths[0][level] == label]
        )
        assert any(min(Counter(part).values()) <= finding.crowd for part in parts)
        for bound in finding.bounds:
            counts = [sum(path[level] == bound.label for path in paths) for level in heights]
            assert any(bound.least <= count <= bound.most for count in counts)
    release.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "options", "assumed"),
    [
        (Mondrian(), {}, ["lowest-labels", "minimal"]),
        (Mondrian(labels="ranges"), {"labels": "ranges"}, ["lowest-labels"]),
        (TopDown(), {}, []),
        (TopDown(tighten=True), {"tighten": True}, ["lowest-labels", "minimal"]),
        (ix.Regroup(), {}, ["lowest-labels"]),
        (ix.KSimilar(), {}, ["lowest-labels"]),
        (ix.MinGenCell(), {}, ["lowest-labels", "minimal", "minimal-rows"]),
    ],
    ids=str,
)
def test_options_of_the_policy_say_what_a_local_release_promises(
    saved: Path, algorithm: Any, options: Any, assumed: list[str]
) -> None:
    asked = replace(ix.read_policy(saved / "hospital.toml"), algorithm=algorithm.name, options=options)
    with ix.anonymize(saved / "hospital.csv", asked, algorithm=algorithm) as release:
        report = downcoding(release, asked)
    assert (report.recoding, list(report.assumed)) == ("local", assumed)


def test_minimality_says_nothing_about_ranges_and_sets() -> None:
    table = pa.table({"job": ["{clerk, cook}"] * 8 + ["*"] * 8})
    report = downcoding(table, policy(job=JOBS), assume=["minimal"])
    assert list(report.assumed) == ["lowest-labels"]
    assert "ranges and sets are not cut along the hierarchies" in report.notes[-1]


@pytest.mark.slow
def test_every_kind_of_release_gives_the_same_report(saved: Path) -> None:
    asked = ix.read_policy(saved / "hospital.toml")
    release = ix.anonymize(saved / "hospital.csv", asked)
    folder = release.write(saved / "out")
    table = release.table
    expected = downcoding(release, asked)
    assert expected.generalized_cells == 36
    (file,) = (path for path in folder.iterdir() if path.suffix == ".csv")
    for same in (folder, str(folder), file, table, table.to_pandas(), pl.from_arrow(table)):
        assert downcoding(same, asked) == expected
    assert isinstance(table.to_pandas(), pd.DataFrame)


def test_blank_rows_are_suppressed_rows() -> None:
    jobs = ix.levels([["clerk", "*"], ["cook", "*"]])
    asked = replace(policy(2, job=jobs), max_suppression=4, suppressed_rows="blank")
    blank = downcoding(pa.table({"job": ["*"] * 9 + [None, None]}), asked)
    assert (blank.rows, blank.groups) == (9, 1)
    assert blank == downcoding(pa.table({"job": ["*"] * 9}), asked, suppressed=2)


@pytest.mark.slow
def test_a_release_of_another_policy_is_remarked_on(saved: Path) -> None:
    asked = ix.read_policy(saved / "hospital.toml")
    folder = ix.anonymize(saved / "hospital.csv", asked).write(saved / "out")
    other = replace(asked, max_suppression=5)
    assert any("made for another policy" in note for note in downcoding(folder, other).notes)
    assert not any("another policy" in note for note in downcoding(folder, asked).notes)


# mistakes


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"job": ["pilot", "*"]}, {}, "column 'job': 1 released label is not in its hierarchy"),
        ({"zip": ["1"]}, {}, "columns.job: the release has no such column"),
        ({"job": ["*", "cook"]}, {"recoding": "full-domain"}, "no level has all its released labels"),
        ({"job": ["*"]}, {"recoding": "global"}, "recoding: must be 'full-domain' or 'local'"),
        ({"job": ["*"]}, {"assume": ["best"]}, "assume: must be some of lowest-labels, minimal, minimal-rows"),
        ({"job": ["*"]}, {"assume": "minimal"}, "assume: must be some of"),
    ],
)
def test_mistakes_are_reported_without_quoting_a_cell(table: Any, options: Any, message: str) -> None:
    with pytest.raises(ix.PolicyError) as raised:
        downcoding(pa.table(table), policy(job=JOBS), **options)
    assert message in str(raised.value)
    assert "pilot" not in str(raised.value)


@pytest.mark.parametrize("manifest", ["{}", "[1]", "no", '{"files": {"a": "1", "b": "2"}}', '{"files": {"../a": "1"}}'])
def test_a_folder_that_holds_no_single_table_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest, "utf-8")
    with pytest.raises(ix.TableError, match=r"manifest|holds 2 tables"):
        downcoding(tmp_path, policy(job=JOBS))


# the report


def test_the_report_is_readable_and_all_in_json() -> None:
    table = pa.table({"job": ["*"] * 4 + ["cook"] * 2})
    report = downcoding(table, policy(2, job=JOBS), assume=["minimal"], most=1)
    text = str(report)
    for words in ("assumed: every group carries", "worst first:", "what to do:", "raise k", "does not prove"):
        assert words in text
    content = json.loads(json.dumps(report.to_dict()))
    assert content["sharpened_cells"] == report.sharpened_cells
    assert content["columns"][0]["generalized_cells"] == 4
    assert content["findings"][0]["sentence"] == report.findings[0].sentence
    assert list(content["kinds"]) == [kind for kind in KINDS if kind in content["kinds"]]


def test_findings_come_worst_first_and_no_more_than_asked_for() -> None:
    columns = {"job": JOBS, "sex": ix.levels([["F", "*"], ["M", "*"]]), "age": ix.intervals(2, 4)}
    table = pa.table(
        {
            "job": ["*"] * 3 + ["cook"] * 8,
            "sex": ["*"] * 7 + ["F"] * 4,
            "age": ["40-43"] * 3 + ["40-41"] * 4 + ["[40, 43]"] * 4,
        }
    )
    every = downcoding(table, policy(**columns), assume=["minimal"], most=EVERYTHING)
    order = [list(KINDS).index(finding.kind) for finding in every.findings]
    assert order == sorted(order)
    assert len(set(order)) > 2
    assert sum(every.kinds.values()) == len(every.findings)
    few = downcoding(table, policy(**columns), assume=["minimal"], most=2)
    assert few.findings == every.findings[:2]
    assert replace(few, findings=()) == replace(every, findings=())


@pytest.mark.slow
def test_the_attack_is_a_function_even_when_its_module_was_imported_first() -> None:
    program = (
        "import indistinct.attacks.sharpening.downcoding, indistinct.attacks.homogeneity\nimport indistinct.attacks\n"
        "assert callable(indistinct.attacks.downcoding) and callable(indistinct.attacks.homogeneity)"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)


@pytest.mark.slow
def test_a_large_local_release_takes_about_a_second() -> None:
    """30,000 rows in some 5,000 groups of nine columns, with lower groups beside many of them."""
    random = Random(1)
    tree = {"*": {f"m{i}": [f"v{i}.{j}" for j in range(5)] for i in range(5)}}
    labels = ["*", *tree["*"], *(value for values in tree["*"].values() for value in values)]
    groups = {tuple(random.choice(labels[:3] if c else labels) for c in range(9)) for _ in range(5_000)}
    rows = [group for group in sorted(groups) for _ in range(6)]
    table = pa.table({f"c{c}": [row[c] for row in rows] for c in range(9)})
    asked = policy(5, **{f"c{c}": ix.tree(tree) for c in range(9)})
    start = time.process_time()
    report = downcoding(table, asked, assume=["minimal-rows"], recoding="local")
    assert report.rows > 29_000
    assert time.process_time() - start < 5


# what lies below a label


def below_by_climbing(column: ix.Hierarchy, values: Sequence[Value]) -> dict[tuple[int, Value], set[Value]]:
    """Return the labels below each label by climbing from all values of a domain."""
    found: dict[tuple[int, Value], set[Value]] = {}
    for path in column.table(values):
        for level in range(1, len(path)):
            found.setdefault((level, path[level]), set()).add(path[level - 1])
    return found


NUMBERS = [str(number) for number in range(-40, 80)]
DAYS = [day.isoformat() for day in pd.date_range("1960-01-01", "1969-12-31").date]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hierarchy", "values", "fewest"),
    [
        (ix.intervals(5, 10, 20), NUMBERS, 30),
        (ix.intervals(5, 10, origin=-3, low=-13, high=37), NUMBERS, 15),
        (ix.intervals(4, 20, low=18, high=33), NUMBERS, 6),
        (ix.intervals([0, 18, 40, 65], [18, 65], [18]), NUMBERS, 8),
        (ix.intervals(5, [-20, 0, 40], low=-20, high=60), NUMBERS, 8),
        (ix.intervals(0.5, 2.5, 5.0), [f"{number / 2}" for number in range(-40, 40)], 20),
        (ix.dates("month", "year", "5 years", "10 years"), DAYS, 10),
        (ix.dates("day", "quarter", "year"), DAYS, 40),
        (ix.dates("quarter", "decade"), DAYS, 1),
        (ix.prefix(3), NUMBERS[-20:], 0),
        (ix.suppress(), NUMBERS, 0),
        (ix.rounding(10, 100), NUMBERS, 0),
        (ix.top_bottom((0, 50), (10, 40)), NUMBERS, 0),
        (ix.tree({"*": {"ab": ["a", "b"], "c": ["d"]}}), ["a", "b", "d"], 3),
    ],
    ids=str,
)
def test_what_is_listed_below_a_label_is_what_climbs_to_it(
    hierarchy: ix.Hierarchy, values: list[Value], fewest: int
) -> None:
    tree = LabelTree(ix.quasi(hierarchy, missing="refuse"))
    listed = 0
    for (level, label), expected in below_by_climbing(hierarchy, values).items():
        assert level in tree.levels_of(label) or tree.height > len(values)
        found = tree.below(level, label)
        if found is not None:
            listed += 1
            assert len(set(found)) == len(found)
            # an open interval or one at the edge reaches beyond the values that were tried
            assert set(found) >= expected
            beyond = [lower for lower in found if lower not in expected]
            assert not beyond or all(lower.lstrip("-").isdigit() for lower in map(str, beyond))
    assert listed >= fewest


@given(st.integers(-50, 50), st.sampled_from([(2, 4, 8), (3, 9), (5, 10, 20)]), st.integers(-5, 5))
def test_every_number_climbs_through_listed_labels(number: int, widths: tuple[int, ...], origin: int) -> None:
    hierarchy = ix.intervals(*widths, origin=origin)
    tree = LabelTree(ix.quasi(hierarchy))
    path = hierarchy.table([str(number)])[0]
    for level in range(1, len(widths) + 1):
        below = tree.below(level, path[level])
        assert below is not None
        assert path[level - 1] in below
        assert tree.levels_of(path[level]) == {level}
        ratio = widths[level - 1] // (widths[level - 2] if level > 1 else 1)
        assert len(below) == ratio


def test_a_text_that_is_no_label_stands_on_no_level() -> None:
    for hierarchy in (ix.intervals(5), ix.dates("year"), ix.top_bottom((0, 9)), ix.rounding(5), JOBS):
        assert LabelTree(ix.quasi(hierarchy)).levels_of("[17, 25]") == set()


def test_a_name_that_stands_for_different_values_on_two_levels_is_ambiguous() -> None:
    tree = LabelTree(ix.quasi(ix.levels([["a", "a", "*"], ["b", "a", "*"], ["c", "c", "*"]])))
    assert tree.is_ambiguous("a")
    assert not tree.is_ambiguous("c")
