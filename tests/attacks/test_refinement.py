"""Refinement: it concludes what all tables behind a release have in common, groups together, and nothing else.

The oracle lists those tables, as that of downcoding does, and tests what is assumed of all groups by its definition.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import indistinct as ix
from attacks.test_downcoding import EVERYTHING, HIERARCHIES, Row, Seen, World, assert_sound, lowest_labels
from helpers.brute_force import Case, cases, policy_of_case, table_of_case
from helpers.profiles import examples
from indistinct.attacks import RefinementReport, refinement
from indistinct.examples import save_examples

COLUMNS = (HIERARCHIES[4:5], HIERARCHIES[6:7], HIERARCHIES[:1] * 2, HIERARCHIES[:2])


def attack(seen: Seen, *assumed: str, **more: Any) -> RefinementReport:
    return refinement(seen.table(), seen.policy(), assume=assumed, recoding="local", most=EVERYTHING, **more)


def release_groups(rows: Sequence[Sequence[Row]], seen: Seen) -> Seen:
    """Return each group its lowest labels; those with the same ones are one group."""
    sizes: Counter[Row] = Counter()
    for group in rows:
        sizes[lowest_labels(group, seen.hierarchies)] += len(group)
    return replace(seen, groups=tuple(sizes), sizes=tuple(sizes.values()))


@st.composite
def with_whole_tuples(draw: st.DrawFn) -> Seen:
    """Draw a table, release what k rows share as it is, and group the others anyhow."""
    hierarchies, k = draw(st.sampled_from(COLUMNS)), draw(st.integers(2, 4))
    tuples = list(product(*hierarchies))
    assume(len(tuples) * (k - 1) >= 2 * k)
    loose = draw(st.permutations(tuples * (k - 1)))[: draw(st.integers(2 * k, 3 * k))]
    loose = sorted(loose, key=str) if draw(st.booleans()) else loose
    whole = [[row] * k for row in tuples if row not in loose and draw(st.booleans())]
    cuts = range(0, len(loose) - k + 1, k)
    groups = [loose[cut : cut + k] if cut + 2 * k <= len(loose) else loose[cut:] for cut in cuts]
    return release_groups([*whole, *groups], Seen(hierarchies, k, (), ()))


def lowest_worlds(seen: Seen) -> list[World]:
    """Return all rows that can be behind the groups with their lowest labels."""
    behind = [
        [rows for rows in seen.rows_behind(group) if lowest_labels(rows, seen.hierarchies) == labels]
        for group, labels in enumerate(seen.groups)
    ]
    assume(prod(map(len, behind)) <= 2_000)
    return list(product(*behind))


def has_whole_tuples(seen: Seen, world: World) -> bool:
    """Return whether no tuple that is not released as it is has k rows; one group alone may be an exception."""
    generalized = [
        any(map(seen.is_generalized, [group] * len(row), range(len(row)))) for group, row in enumerate(seen.groups)
    ]
    counts = Counter(row for rows in world for row in rows)
    return sum(generalized) < 2 or all(number < seen.k or row in seen.groups for row, number in counts.items())


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(with_whole_tuples())
def test_it_finds_what_all_tables_with_whole_tuples_have_in_common(seen: Seen) -> None:
    report = attack(seen, "lowest-labels", "whole-tuples")
    assert list(report.assumed) == ["lowest-labels", "whole-tuples"]
    possible = [world for world in lowest_worlds(seen) if has_whole_tuples(seen, world)]
    assert_sound(seen, report, possible)
    known, absent = 0, set()
    for column, group in product(range(len(seen.hierarchies)), range(len(seen.groups))):
        if seen.is_generalized(group, column):
            parts = [seen.parts(group, world[group], column) for world in possible]
            labels = {seen_label for rows in seen.rows_behind(group) for seen_label in seen.parts(group, rows, column)}
            known += sum(min(part[label] for part in parts) for label in labels)
            absent |= {(group, column, label) for label in labels if not any(part[label] for part in parts)}
    assert report.sharpened_cells == known
    found = {
        (seen.groups.index(tuple(finding.group.values())), int(finding.column[1:]), bound.label)
        for finding in report.findings
        for bound in finding.bounds
        if finding.group is not None and not bound.most
    }
    assert found == absent


def node_by_node(rows: Sequence[Row], seen: Seen) -> Counter[Row]:
    """Return the groups of a local recoding that takes at each node all classes of k rows, lower nodes first."""
    heights = [len(next(iter(paths.values()))) for paths in seen.hierarchies]
    left, found = list(rows), Counter[Row]()
    for node in sorted(product(*map(range, heights)), key=lambda node: (sum(node), node)):
        labels = [tuple(p[v][at] for v, at, p in zip(row, node, seen.hierarchies, strict=True)) for row in left]
        counts = Counter(labels)
        found.update({label: number for label, number in counts.items() if number >= seen.k})
        left = [row for row, label in zip(left, labels, strict=True) if counts[label] < seen.k]
    return found


@st.composite
def made_node_by_node(draw: st.DrawFn) -> Seen:
    hierarchies = tuple(draw(st.lists(st.sampled_from(HIERARCHIES), min_size=1, max_size=2)))
    cells = [st.sampled_from(list(paths)) for paths in hierarchies]
    rows = draw(st.lists(st.tuples(*cells), min_size=5, max_size=8))
    start = Seen(hierarchies, draw(st.integers(2, 3)), (), ())
    sizes = node_by_node(rows, start)
    assume(sizes.total() == len(rows))
    return replace(start, groups=tuple(sizes), sizes=tuple(sizes.values()))


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(made_node_by_node())
def test_what_follows_from_groups_made_node_by_node_holds_in_every_table_behind_them(seen: Seen) -> None:
    report = attack(seen, "node-by-node")
    made = Counter(dict(zip(seen.groups, seen.sizes, strict=True)))
    possible = [world for world in seen.worlds() if node_by_node(sum(world, ()), seen) == made]
    assert possible
    assert "node-by-node" in report.assumed
    assert_sound(seen, report, possible)


JOBS = {"a": ("a", "ab", "any"), "b": ("b", "ab", "any"), "c": ("c", "cd", "any"), "d": ("d", "cd", "any")}


def test_groups_that_share_tuples_tell_of_each_other() -> None:
    """Of a and b there are fewer than 3 rows each, and the first group has 4: all of them, so the second has none."""
    report = attack(Seen((JOBS,), 3, (("ab",), ("any",)), (4, 3)), "whole-tuples")
    by_label = {finding.group["c0"]: finding for finding in report.findings if finding.group is not None}
    assert [tuple(bound) for bound in by_label["ab"].bounds] == [("a", 2, 2), ("b", 2, 2)]
    assert {tuple(bound) for bound in by_label["any"].bounds} == {("ab", 0, 0), ("cd", 3, 3)}
    assert (report.sharpened_cells, report.smallest_crowd, report.notes) == (7, 2, ())


def test_a_contradiction_is_said_and_nothing_is_concluded_from_it() -> None:
    report = attack(Seen((JOBS,), 3, (("ab",), ("cd",)), (5, 4)), "lowest-labels", "whole-tuples")
    assert list(report.assumed) == ["lowest-labels"]
    assert "contradict" in report.notes[-1]
    assert report.sharpened_cells == 4


LOCAL = (ix.Regroup(), ix.Mondrian(), ix.KSimilar(), ix.TopDown(), ix.MinGenCell())


@pytest.mark.slow
@examples(40, opens_tables=True)
@given(cases(most_rows=14, most_columns=2), st.sampled_from(LOCAL))
def test_what_follows_from_our_own_releases_is_true_of_the_private_table(case: Case, algorithm: Any) -> None:
    assume(all(column.listed for column in case.columns) and len(case.rows) >= case.k)
    asked = policy_of_case(case, columns={"number": ix.other()})
    table = table_of_case(case, number=range(len(case.rows)))
    names = [column.name for column in case.columns]
    with ix.anonymize(table, asked, algorithm=algorithm) as release:
        report = refinement(release, asked, most=EVERYTHING)
        rows = release.table.to_pylist()
    behind: dict[Row, list[Row]] = {}
    for row in rows:
        behind.setdefault(tuple(row[name] for name in names), []).append(case.rows[row["number"]])
    for finding in report.findings:
        assert finding.group is not None
        column = case.columns[names.index(finding.column)]
        own = [column.path(row[names.index(finding.column)]) for row in behind[tuple(finding.group.values())]]
        for bound in finding.bounds:
            counts = [sum(path[level] == bound.label for path in own) for level in range(column.height + 1)]
            assert any(bound.least <= count <= bound.most for count in counts), (finding, own)


@pytest.mark.slow
@examples(40)
@given(cases(most_rows=16, most_columns=3))
def test_regroup_keeps_whole_tuples_unless_all_it_generalizes_is_one_group(case: Case) -> None:
    from helpers.brute_force import task_of

    assume(len(case.rows) >= case.k and all(column.listed for column in case.columns))
    task = replace(task_of(case))
    pieces = ix.Regroup().run(task, ix.Watch()).pieces
    counts = task.frequencies.entries.counts
    tuples_of: defaultdict[int, set[int]] = defaultdict(set)
    for number, group in zip(pieces.tuples.tolist(), pieces.groups.tolist(), strict=True):
        tuples_of[group].add(number)
    mixed = [group for group, tuples in tuples_of.items() if len(tuples) > 1]
    alone = {next(iter(tuples)) for tuples in tuples_of.values() if len(tuples) == 1}
    assert len(mixed) <= 1 or all(number in alone for number, rows in enumerate(counts.tolist()) if rows >= case.k)


@pytest.mark.slow
def test_it_finds_nothing_where_nothing_is_promised(tmp_path: Path) -> None:
    save_examples(tmp_path)
    asked = ix.read_policy(tmp_path / "hospital.toml")
    with ix.anonymize(tmp_path / "hospital.csv", asked, algorithm=ix.TopDown()) as release:
        report = refinement(release, asked)
    assert (report.assumed, report.programs, report.smallest_crowd >= report.k) == ({}, 0, True)
    assert json.loads(json.dumps(report.to_dict()))["programs"] == 0


def test_a_time_limit_is_kept_and_said() -> None:
    groups = tuple((f"g{number}",) for number in range(30))
    paths = {f"{label}{leaf}": (f"{label}{leaf}", label, "any") for (label,) in groups for leaf in "xy"}
    report = attack(Seen((paths,), 5, groups, (6,) * 30), "lowest-labels", "whole-tuples", time_limit=1e-9)
    assert report.unsolved == 30
    assert "time was up before 30 generalized labels" in report.notes[-1]


def test_wrong_assumptions_are_refused() -> None:
    with pytest.raises(ix.PolicyError, match=r"assume: must be some of lowest-labels, .*, whole-tuples"):
        refinement(pa.table({"c0": ["a"]}), Seen((JOBS,), 3, (), ()).policy(), assume=["whole"])
