"""Recodings by hand: which rows go where, what labels they carry, what is suppressed, on lists of a few rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import indistinct as ix
from indistinct.counting import FrequencyList
from indistinct.counting.frequency_list import Sensitive
from indistinct.counting.joined_tables import TableCount
from indistinct.counting.membership import RowTree
from indistinct.policy import Part, Person, Policy
from indistinct.randomness import Draws
from indistinct.recoding import SUPPRESSED, Classes, FullDomainRecoding, LocalRecoding, Pieces
from indistinct.recoding.classes import NOT_PROTECTED, check_link, not_protected
from indistinct.recoding.drawn import DrawnRecoding
from indistinct.recoding.group_labels import (
    labels_at,
    labels_of_all_levels,
    lack_labels,
    lowest_labels,
    used_labels,
)
from indistinct.recoding.label_texts import Cover, range_label, read_label, set_label
from indistinct.recoding.linked import LinkedRecoding
from indistinct.recoding.local import RaisedRecoding
from indistinct.recoding.recoding import Labels, PeopleFacts, distinct
from indistinct.recoding.table_plans import draw_days, people_gone, shifts_by, table_plans, with_shifts

Cell = str | None
AGES = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]])
HIERARCHIES = {"age": AGES, "sex": ix.suppress()}
COLUMNS = {"age": ix.quasi(AGES), "sex": ix.quasi(ix.suppress())}


LINKED = Person("id", release="pseudonym")


def policy_of(*models: ix.PrivacyModel, **more: Any) -> Policy:
    columns = more.pop("columns", COLUMNS | {"ill": ix.sensitive(), "note": ix.other()})
    return Policy(columns, models or (ix.KAnonymity(2),), **more)


def counted(
    rows: Sequence[tuple[Cell, ...]],
    hierarchies: Mapping[str, ix.Hierarchy] = HIERARCHIES,
    *,
    sensitive: Sequence[str] = (),
    person: str | None = None,
    node: tuple[int, ...] | None = None,
) -> FrequencyList:
    """Count rows of quasi cells, then of sensitive ones, then of whose they are."""
    names = [*hierarchies, *sensitive, *([person] if person else [])]
    found = Counter(rows)
    values = {}
    for place, name in enumerate(names):
        present = {row[place] for row in found}
        values[name] = tuple(sorted(cell for cell in present if cell is not None)) + (None,) * (None in present)
    codes = {
        name: np.array([values[name].index(row[place]) for row in found], np.int64) for place, name in enumerate(names)
    }
    apart = {
        name: (Sensitive(values[name]) if name in sensitive else None, codes[name])
        for name in names[len(hierarchies) :]
    }
    return FrequencyList.of_codes(
        list(hierarchies),
        [hierarchy.compile(values[name]) for name, hierarchy in hierarchies.items()],
        [codes[name] for name in hierarchies],
        np.array(list(found.values()), np.int64),
        None,
        apart,
        node,
    )


ROWS: list[tuple[Cell, ...]] = [("1", "f"), ("1", "f"), ("2", "f"), ("3", "m"), ("3", "m"), ("4", "f")]
"""In the order of the list: 1 f twice, 2 f, 4 f, 3 m twice."""


def tuples_of(frequencies: FrequencyList) -> list[tuple[Cell, ...]]:
    """Return the cells of each entry, in the list's own order."""
    columns = [
        [hierarchy.values[code] for code in frequencies.entry_codes(column)]
        for column, hierarchy in enumerate(frequencies.hierarchies)
    ]
    return list(zip(*columns, strict=True))


def at(frequencies: FrequencyList, node: tuple[int, ...], *suppressed: tuple[Cell, ...]) -> FullDomainRecoding:
    """Recode to a node, without the groups of some labels."""
    groups, _ = frequencies.roll_up(node)
    labels = [
        [hierarchy.labels[level][code] for code in groups.label_codes(column)]
        for column, (hierarchy, level) in enumerate(zip(frequencies.hierarchies, node, strict=True))
    ]
    is_out = np.array([one in suppressed for one in zip(*labels, strict=True)])
    assert is_out.sum() == len(suppressed)
    return FullDomainRecoding(frequencies, groups, is_out)


def where(recoding: Any) -> dict[tuple[Cell, ...], list[tuple[int, int]]]:
    """Return the group and the rows of each tuple's pieces."""
    pieces, found = recoding.as_pieces(), {}
    names = tuples_of(recoding.frequencies)
    for entry, rows, group in zip(pieces.tuples, pieces.rows, pieces.groups, strict=True):
        found.setdefault(names[entry], []).append((int(group), int(rows)))
    return found


# Pieces


def test_pieces_are_numbered_counted_and_left_out() -> None:
    pieces = Pieces(np.array([0, 1, 1, 2]), np.array([2, 1, 3, 4]), np.array([5, SUPPRESSED, 9, 5]))
    assert pieces.is_released.tolist() == [True, False, True, True]
    numbered, earlier = pieces.number_groups()
    assert numbered.groups.tolist() == [0, SUPPRESSED, 1, 0]
    assert earlier.tolist() == [5, 9]
    assert numbered.tuples.tolist() == [0, 1, 1, 2]
    assert numbered.rows.tolist() == [2, 1, 3, 4]
    assert numbered.sizes(3).tolist() == [6, 3, 0]
    fewer = numbered.without_groups(np.array([True, False]))
    assert fewer.groups.tolist() == [SUPPRESSED, SUPPRESSED, 1, SUPPRESSED]
    assert fewer.rows.tolist() == [2, 1, 3, 4]
    kept = numbered.without_groups(np.array([False, False]))
    assert kept.groups.tolist() == [0, SUPPRESSED, 1, 0]


def test_pieces_of_one_entry_in_one_group_become_one() -> None:
    pieces = Pieces(np.array([0, 1, 2, 2]), np.array([2, 1, 3, 4]), np.array([0, 0, SUPPRESSED, 1]))
    merged = pieces.in_entries(np.array([0, 0, 1]))
    assert merged.tuples.tolist() == [0, 1, 1]
    assert merged.groups.tolist() == [0, SUPPRESSED, 1]
    assert merged.rows.tolist() == [3, 3, 4]


def test_whole_tuples_go_to_groups_with_all_their_entries() -> None:
    frequencies = counted([("1", "f", "a"), ("1", "f", "b"), ("2", "f", "a")], sensitive=["ill"])
    whole = Pieces.whole(frequencies, np.array([4, SUPPRESSED]))
    assert whole.tuples.tolist() == [0, 1, 2]
    assert whole.groups.tolist() == [4, 4, SUPPRESSED]
    assert whole.rows.tolist() == [1, 1, 1]


# Every column at one level


def test_a_full_domain_recoding_by_hand() -> None:
    frequencies = counted(ROWS)
    recoding = at(frequencies, (1, 0), ("3-4", "f"))
    assert recoding.levels == {"age": 1, "sex": 0}
    assert recoding.node == (1, 0)
    assert sorted(recoding.released_sizes.tolist()) == [2, 3]
    assert recoding.suppressed_sizes.tolist() == [1]
    assert recoding.lost_rows.sum() == recoding.suppressed_rows == 1
    assert sorted(recoding.lost_rows.tolist()) == [0, 0, 1]
    assert (recoding.rows, recoding.released_rows, recoding.number_of_groups) == (6, 5, 3)
    assert (recoding.released_groups, recoding.suppressed_groups) == (2, 1)
    assert (recoding.released_squares, recoding.suppressed_squares) == (13.0, 1.0)
    assert recoding.local is None
    assert recoding.tells_measure("loss")
    found = where(recoding)
    assert found["4", "f"] == [(SUPPRESSED, 1)]
    assert found["1", "f"][0][0] == found["2", "f"][0][0] != found["3", "m"][0][0]
    assert [rows for pieces in found.values() for _, rows in pieces] == [2, 1, 1, 2]


def test_numbers_are_summed_over_suppressed_cells() -> None:
    frequencies = counted(ROWS)
    values = [[np.zeros(4), np.array([10.0, 20.0]), np.zeros(1)], [np.array([1.0, 3.0]), np.zeros(1)]]
    assert at(frequencies, (1, 0)).over_suppressed(values) == 0.0
    assert at(frequencies, (1, 0), ("3-4", "f")).over_suppressed(values) == 20.0 + 1.0
    assert at(frequencies, (1, 0), ("3-4", "m")).over_suppressed(values) == 2 * (20.0 + 3.0)
    both = at(frequencies, (1, 0), ("3-4", "m"), ("1-2", "f"))
    assert both.over_suppressed(values) == 2 * 23.0 + 3 * 11.0
    apart = LocalRecoding.of_pieces(frequencies, both.as_pieces())
    values = [[np.array([1.0, 2.0, 3.0, 4.0])], [np.array([10.0, 20.0])]]
    assert apart.over_suppressed(values) == 2 * 11.0 + 12.0 + 2 * 23.0


def test_blank_rows_beside_suppressed_ones_are_noticed() -> None:
    frequencies = counted([(None, None), ("1", "f"), ("1", "f"), (None, "f")])
    assert at(frequencies, (0, 0), ("1", "f")).looks_suppressed()
    assert at(counted([(None, None), ("1", "f")]), (0, 0), ("1", "f")).looks_suppressed()
    assert not at(frequencies, (0, 0)).looks_suppressed()
    assert lack_labels([("a", None)], [np.array([0, 1])]).tolist() == [False, True]
    some = counted([(None, "m"), ("1", "f"), ("1", None)])
    assert not at(some, (0, 0), ("1", "f")).looks_suppressed()
    pieces = Pieces.whole(frequencies, np.arange(3))
    assert LocalRecoding.of_pieces(frequencies, pieces).looks_suppressed()
    assert not LocalRecoding.of_pieces(some, Pieces.whole(some, np.arange(3))).looks_suppressed()
    assert not Classes.of_pieces(frequencies, pieces).looks_suppressed()
    assert lack_labels([("a", None), (None,)], [np.array([0, 1]), np.array([0, 0])]).tolist() == [False, True]


def test_more_groups_are_left_out_and_nothing_is_proven_of_it() -> None:
    frequencies = counted(ROWS)
    proven = replace(at(frequencies, (1, 0), ("3-4", "f")), is_proven=True, gap=0.0)
    is_out = np.array([size == 3 for size in proven.groups.sizes])
    fewer = proven.without_groups(is_out)
    assert fewer.released_sizes.tolist() == [2]
    assert (fewer.is_proven, fewer.gap) == (False, None)
    assert at(frequencies, (1, 0)).without_groups(is_out).is_proven is None
    local = LocalRecoding.of_pieces(frequencies, proven.as_pieces())
    fewer_of_local = replace(local, is_proven=True, gap=0.0, is_cut_short=True).without_groups(local.sizes == 3)
    assert fewer_of_local.sizes.tolist() == [2]
    assert (fewer_of_local.is_proven, fewer_of_local.gap, fewer_of_local.is_cut_short) == (False, None, True)
    assert local.without_groups(local.sizes == 3).is_proven is None
    assert fewer_of_local.labels[0].texts[fewer_of_local.codes[0, 0]] == "3"


def test_the_plan_of_a_full_domain_recoding() -> None:
    frequencies = counted([(*row, "flu" if row[1] == "f" else "HIV") for row in ROWS], sensitive=["ill"])
    recoding = at(frequencies, (1, 0), ("3-4", "f"))
    plan = recoding.plan(policy_of(), ("extra",))
    assert plan.columns == ("age", "sex", "ill", "note", "extra")
    assert plan.maps["age"].tolist() == [0, 0, 1, 1]
    assert plan.labels["age"] == ("1-2", "3-4")
    assert plan.labels["sex"] == ("f", "m")
    assert plan.maps["ill"].tolist() == [0, 1]
    assert plan.labels["ill"] == ("HIV", "flu")
    assert plan.kept == {"sex", "ill"}
    assert plan.unblanked == {"ill"}
    assert {name: codes.tolist() for name, codes in plan.suppressed.items()} == {"age": [1], "sex": [0]}
    assert not plan.blank
    assert at(frequencies, (0, 0)).plan(policy_of(suppressed_rows="blank")).blank
    names = [hierarchy.level_names for hierarchy in frequencies.hierarchies]
    assert recoding.levels == {"age": 1, "sex": 0}
    assert recoding.level_names == {"age": names[0][1], "sex": names[1][0]}


def test_whose_rows_they_are_goes_with_the_plan() -> None:
    frequencies = counted([(*row, str(place)) for place, row in enumerate(ROWS)], person="id")
    plan = at(frequencies, (0, 0)).plan(policy_of(person="id"))
    assert plan.maps["id"].tolist() == list(range(6))
    assert plan.labels["id"] == ()
    assert plan.kept == {"age", "sex", "id"}


def test_suppressed_rows_as_one_group() -> None:
    rows = [("1", "f", "flu"), ("1", "f", "HIV"), ("2", "f", "flu"), ("3", "m", "flu")]
    frequencies = counted(rows, sensitive=["ill"])
    full = at(frequencies, (0, 0), ("1", "f"), ("3", "m"))
    local = LocalRecoding.of_pieces(frequencies, full.as_pieces())
    for recoding in (full, local):
        one = recoding.suppressed_as_one()
        assert one.sizes.tolist() == [3]
        assert one.tallies["ill"].dense(1).tolist() == [[1, 2]]  # HIV, flu
        assert one.people is None
    people = counted([(*row[:2], name) for row, name in zip(rows, "abba", strict=True)], person="id")
    full = at(people, (0, 0), ("1", "f"), ("3", "m"))
    for one in (full.suppressed_as_one(), LocalRecoding.of_pieces(people, full.as_pieces()).suppressed_as_one()):
        assert one.sizes.tolist() == [3]
        assert one.in_people().sizes.tolist() == [2]


def test_a_recoding_without_a_column() -> None:
    frequencies = counted([("1", "f", "a"), ("2", "f", "a"), ("3", "m", "b"), ("4", "m", "b")], sensitive=["ill"])
    full = replace(at(frequencies, (1, 0)), is_proven=True, gap=0.0)
    assert full.without_column("unknown") is full
    without: Any = full.without_column("age")
    assert without.frequencies.columns == ("sex",)
    assert [labels.texts for labels in without.labels] == [("f", "m")]
    assert sorted(without.sizes.tolist()) == [2, 2]
    assert (without.is_proven, without.gap) == (True, 0.0)
    assert full.without_column("ill").frequencies.sensitive == {}
    assert full.without_column("ill").released_sizes.tolist() == [2, 2]
    merged: Any = at(counted(ROWS), (0, 1)).without_column("age")
    assert merged.sizes.tolist() == [6]
    local: Any = LocalRecoding.of_pieces(frequencies, full.as_pieces()).without_column("sex")
    assert [labels.texts for labels in local.labels] == [("1-2", "3-4")]
    assert sorted(local.sizes.tolist()) == [2, 2]
    bounded = replace(LocalRecoding.of_pieces(frequencies, full.as_pieces()), bound={"ncp": 0.5}, gap=0.25)
    assert [bounded.without_column(name).bound for name in ("ill", "sex")] == [{"ncp": 0.5}, None]
    assert bounded.without_column("ill").gap == 0.25
    some_out: Any = at(frequencies, (1, 0), ("1-2", "f")).without_column("sex")
    assert some_out.labels[0].texts[some_out.codes[0, 0]] == "3-4"
    assert some_out.suppressed_rows == 2
    classes: Any = Classes.of_pieces(frequencies, full.as_pieces()).without_column("age")
    assert (classes.frequencies.columns, classes.sizes.tolist()) == (("sex",), [2, 2])


# Groups with labels of their own


def test_groups_carry_the_lowest_labels_that_cover_them() -> None:
    frequencies = counted(ROWS)
    assert tuples_of(frequencies) == [("1", "f"), ("2", "f"), ("4", "f"), ("3", "m")]
    pieces = Pieces(np.array([0, 0, 1, 2, 3]), np.array([1, 1, 1, 1, 2]), np.array([0, 1, 1, 2, 2]))
    local = LocalRecoding.of_pieces(frequencies, pieces)
    assert local.local is local
    assert local.levels is None
    shown = [
        tuple(labels.texts[code] for labels, code in zip(local.labels, codes, strict=True)) for codes in local.codes.T
    ]
    assert dict(zip(shown, local.sizes.tolist(), strict=True)) == {("1", "f"): 1, ("1-2", "f"): 2, ("3-4", "*"): 3}
    assert local.node == (1, 1)
    assert local.mean_levels == (5 / 6, 3 / 6)
    assert local.over_released([np.ones(len(labels.texts)) for labels in local.labels]) == 12.0
    weights = [np.arange(len(labels.texts), dtype=float) for labels in local.labels]
    ages, sexes = local.labels
    assert local.over_released(weights) == ages.texts.index("1-2") * 2 + ages.texts.index(
        "3-4"
    ) * 3 + 3 * sexes.texts.index("*")
    assert (local.levels, local.level_names, local.average_levels) == (None, None, {"age": 5 / 6, "sex": 0.5})
    assert (local.number_of_groups, local.released_rows, local.suppressed_rows) == (3, 6, 0)
    assert local.suppressed_sizes.tolist() == []
    plan = local.plan(policy_of(suppressed_rows="blank"), ("extra",))
    assert plan.columns == ("age", "sex", "ill", "note", "extra")
    assert plan.tuples["age"].tolist() == [0, 0, 1, 3, 2]
    assert plan.tuples["sex"].tolist() == [0, 0, 0, 0, 1]
    assert plan.rows.tolist() == [1, 1, 1, 1, 2]
    assert plan.labels["age"] == ages.texts
    assert plan.codes["age"].tolist() == local.codes[0].tolist()
    assert plan.kept == frozenset()
    assert plan.blank


def test_groups_with_the_same_labels_become_one() -> None:
    frequencies = counted(ROWS)
    pieces = Pieces(np.array([0, 1, 0, 1, 3]), np.array([1, 1, 1, 0, 2]), np.array([0, 0, 1, 1, SUPPRESSED]))
    local = LocalRecoding.of_pieces(frequencies, pieces)
    assert local.sizes.tolist() == [3]
    assert local.pieces.groups.tolist() == [0, 0, 0, 0, SUPPRESSED]
    assert local.suppressed_sizes.tolist() == [3]
    assert local.plan(policy_of()).kept == {"sex"}
    assert not local.plan(policy_of()).blank
    nothing = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, np.full(4, SUPPRESSED)))
    assert nothing.sizes.tolist() == []
    assert (nothing.node, nothing.mean_levels) == ((0, 0), (0.0, 0.0))
    assert nothing.suppressed_rows == 6


def test_promises_of_local_recodings() -> None:
    frequencies = counted(ROWS)
    local = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, np.zeros(4, np.int64)))
    assert local.with_gap(0.0).is_proven
    assert local.with_gap(0.0).gap == 0.0
    assert not local.with_gap(0.1).is_proven
    other = replace(at(frequencies, (0, 0)), is_proven=False, gap=0.5, is_cut_short=True, is_safe=False)
    same = local.with_promise_of(other)
    assert (same.is_proven, same.gap, same.is_cut_short, same.is_safe) == (False, 0.5, True, False)


def test_labels_at_a_level_and_at_all_of_them() -> None:
    frequencies = counted(ROWS)
    labels = Labels.at_level(frequencies, 0, 1)
    assert labels.texts == ("1-2", "3-4")
    assert labels.levels.tolist() == [1, 1]
    assert labels.leaves.tolist() == [2, 2]
    assert labels.rows.tolist() == [3, 3]
    every, places = labels_of_all_levels(frequencies, 0)
    assert set(every.texts) == {"1", "2", "3", "4", "1-2", "3-4", "*"}
    assert [[every.texts[place] for place in own] for own in places.tolist()] == [
        ["1", "2", "3", "4"],
        ["1-2", "1-2", "3-4", "3-4"],
        ["*"] * 4,
    ]
    assert dict(zip(every.texts, every.rows.tolist(), strict=True))["3-4"] == 3
    same = ix.levels([["a", "a", "*"], ["b", "a", "*"]])
    twice, where_to = labels_of_all_levels(counted([("a",), ("b",)], {"x": same}), 0)
    assert set(twice.texts) == {"a", "b", "*"}
    assert twice.leaves[twice.texts.index("a")] == 2  # nobody can tell which of the two is meant
    assert [twice.texts[place] for place in where_to[0]] == ["a", "b"]


def lowest(cells: Sequence[Cell], groups: Sequence[int], hierarchy: ix.Hierarchy, kind: Any = "ranges") -> list[Any]:
    """Return the label of each group of a column with its level, values and rows; the cells are different ones."""
    frequencies = counted([(cell,) for cell in cells], {"x": hierarchy})
    order = [list(cells).index(row[0]) for row in tuples_of(frequencies)]
    group_of = np.array([groups[place] for place in order])
    labels, places = lowest_labels(
        frequencies, 0, np.arange(len(order)), group_of, max(groups) + 1 if groups else 0, kind
    )
    return [
        (labels.texts[place], int(labels.levels[place]), int(labels.leaves[place]), int(labels.rows[place]))
        for place in places
    ]


def test_ranges_and_sets_where_they_are_narrower() -> None:
    numbers = ix.levels([[str(n), "low" if n < 6 else "high", "*"] for n in range(1, 11)])
    cells = [str(n) for n in range(1, 11)]
    groups = [0, 0, 0, 1, 2, 3, 3, 3, 3, 3]
    assert lowest(cells, groups, numbers) == [("[1, 3]", 1, 3, 3), ("4", 0, 1, 1), ("5", 0, 1, 1), ("high", 1, 5, 5)]
    assert lowest(cells, groups, numbers, "hierarchy") == [
        ("low", 1, 5, 5),
        ("4", 0, 1, 1),
        ("5", 0, 1, 1),
        ("high", 1, 5, 5),
    ]
    wide = [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert lowest(cells, wide, numbers) == [("*", 2, 10, 10), ("[2, 9]", 2, 8, 8)]
    words = ix.levels([[word, "any"] for word in ("ant", "bee", "cow", "dog")])
    assert lowest(["ant", "bee", "cow", "dog"], [0, 1, 0, 1], words) == [
        ("{ant, cow}", 1, 2, 2),
        ("{bee, dog}", 1, 2, 2),
    ]
    assert lowest(["ant", "bee", "cow", "dog"], [0, 0, 0, 1], words) == [("{ant, bee, cow}", 1, 3, 3), ("dog", 0, 1, 1)]
    assert lowest(["ant", "bee"], [0, 0], words) == [("{ant, bee}", 1, 2, 2)]
    assert lowest(["ant", "bee", "cow", "dog"], [0, 0, 0, 0], words) == [("any", 1, 4, 4)]
    assert lowest([], [], words) == []


def test_rows_under_ranges_and_sets() -> None:
    """Of the numbers 1 to 4 there are 1, 2, 3 and 4 rows, some of each sex."""
    rows = [(number, sex) for number in "1234" for sex in ("f" * int(number))] + [("4", "m"), ("1", "m")]
    for hierarchy, expected in (
        (ix.intervals(100), [("[1, 2]", 4), ("[3, 4]", 8)]),
        (ix.levels([["1", "*"], ["2", "*"], ["3", "*"], ["4", "*"]]), [("[1, 2]", 4), ("[3, 4]", 8)]),
    ):
        frequencies = counted(rows, {"n": hierarchy, "sex": ix.suppress()})
        groups = np.array([0 if cell in ("1", "2") else 1 for cell, _ in tuples_of(frequencies)])
        ours = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, groups), "ranges").labels[0]
        assert list(zip(ours.texts, ours.rows.tolist(), strict=True)) == expected
    alone = np.array([int(cell) for cell, _ in tuples_of(frequencies)])
    one_by_one = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, alone), "ranges").labels[0]
    assert one_by_one.texts == ("1", "2", "3", "4")  # one value of two rows is no range


def test_missing_values_stand_beside_ranges_and_sets() -> None:
    numbers = ix.intervals(100)
    cells: list[Cell] = ["1", "2", "5", "9", None]
    assert lowest(cells, [0, 0, 1, 1, 0], numbers) == [("[1, 2] or missing", 2, 3, 3), ("[5, 9]", 1, 2, 2)]
    assert lowest(cells, [0, 0, 1, 1, 2], numbers)[2] == (None, 0, 1, 1)
    assert lowest(cells, [0, 1, 1, 1, 0], numbers) == [("[1] or missing", 2, 2, 2), ("[2, 9]", 1, 3, 3)]
    words = ix.levels([["ant", "any"], ["bee", "any"], ["cow", "any"]])
    assert lowest(["ant", "bee", "cow", None], [0, 1, 1, 0], words)[0][0] == "{ant} or missing"


def test_a_value_that_never_climbs_has_no_label_beside_others() -> None:
    with pytest.raises(ValueError, match="never generalized"):
        lowest(["1", "2"], [0, 0], ix.keep())
    assert [one[0] for one in lowest(["1", "2"], [0, 1], ix.keep())] == ["1", "2"]


def test_demanded_levels_are_the_lowest() -> None:
    frequencies = counted([("1", "f"), ("2", "f")], {"age": AGES, "sex": ix.suppress()})
    demanded = replace(
        frequencies, hierarchies=(COLUMNS["age"].hierarchy.compile(["1", "2"]), frequencies.hierarchies[1])
    )
    column = ix.quasi(AGES, min_level=1)
    demanded = replace(frequencies, hierarchies=(column.compile(("1", "2")), frequencies.hierarchies[1]))
    local = LocalRecoding.of_pieces(demanded, Pieces.whole(demanded, np.arange(2)))
    assert local.labels[0].texts == ("1-2",)
    one = counted([("1", "f")])
    one = replace(one, hierarchies=(column.compile(("1",)), one.hierarchies[1]))
    assert LocalRecoding.of_pieces(one, Pieces.whole(one, np.arange(1))).mean_levels == (1.0, 0.0)


def test_distinct_combinations_in_order() -> None:
    first, numbers = distinct(np.array([2, 1, 2, 1]), np.array([0, 5, 0, 4]))
    assert first.tolist() == [3, 1, 0]
    assert numbers.tolist() == [2, 1, 2, 0]


# Texts of labels


@pytest.mark.parametrize(
    ("text", "cover"),
    [
        ("[17, 25]", Cover(("17", "25"), True, False)),
        ("[17] or missing", Cover(("17",), True, True)),
        ('[""]', Cover(("",), True, False)),
        ("{a, b, c}", Cover(("a", "b", "c"), False, False)),
        ('{"a, b", "c""d"} or missing', Cover(("a, b", 'c"d'), False, True)),
        ("[1, 2, 3]", None),
        ("[]", None),
        ("{}", None),
        ("[", None),
        ("", None),
        (" or missing", None),
        ("[1, 2}", None),
        ("{1, 2]", None),
        ("(1, 2)", None),
        ('["1, 2]', None),
        ("[1\n2]", None),
    ],
)
def test_labels_are_read_as_they_were_written(text: str, cover: Cover | None) -> None:
    assert read_label(text) == cover


def test_labels_are_written_so_that_they_can_be_read() -> None:
    assert range_label("1", "1") == "[1]"
    assert range_label("1", "2", True) == "[1, 2] or missing"
    assert range_label(None, "2") == '["", 2]'
    assert range_label(None, None) == '[""]'
    assert range_label("1", None) == '[1, ""]'
    assert set_label(["a"]) == "{a}"
    for value in ("plain", "a,b", 'a"b', "[a", "a]", "{a", "a}", " a", "a ", ""):
        assert read_label(set_label([value, "x"])) == Cover((value, "x"), False, False)
        assert (f'"{value}"' in set_label([value])) is (value != "plain" and '"' not in value)
    assert set_label(['a"b']) == '{"a""b"}'


# Two tables


def test_classes_by_hand() -> None:
    rows = [("1", "f", "flu"), ("1", "f", "HIV"), ("2", "f", "flu"), ("3", "m", "HIV")]
    frequencies = counted(rows, sensitive=["ill"])
    classes = Classes.of_pieces(frequencies, Pieces.whole(frequencies, np.array([7, 7, SUPPRESSED])))
    assert classes.sizes.tolist() == [3]
    assert classes.levels == {"age": 0, "sex": 0}
    assert classes.node == (0, 0)
    assert classes.suppressed_rows == 1
    plan = classes.plan(policy_of(ix.LDiversity(2)), ("extra",))
    assert plan.tables == {"quasi": ("age", "sex", "note", "extra"), "sensitive": ("ill",)}
    assert plan.link == "class_id"
    assert plan.groups.tolist() == [0, 0, 0, SUPPRESSED]
    assert plan.rows.tolist() == [1, 1, 1, 1]
    assert plan.tuples["age"].tolist() == [0, 0, 1, 2]
    assert sorted(plan.tuples["ill"].tolist()) == [0, 0, 1, 1]
    assert classes.without_groups(np.array([True])).sizes.tolist() == []
    with pytest.raises(ix.PolicyError, match="no model asks about sensitive values"):
        classes.plan(policy_of())
    assert (classes.levels, classes.level_names) == ({"age": 0, "sex": 0}, None)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (policy_of(ix.LDiversity(2)), []),
        (policy_of(columns=COLUMNS), ["columns: a release of two tables needs a sensitive column"]),
        (policy_of(), ["privacy: no model asks about sensitive values"]),
        (
            policy_of(ix.LDiversity(2), columns=COLUMNS | {"ill": ix.sensitive(), "Class_ID": ix.other()}),
            ["columns.Class_ID: 'class_id' is the column that links"],
        ),
        (policy_of(ix.LDiversity(2), suppressed_rows="blank"), ["suppressed_rows: rows of a release of two tables"]),
        (policy_of(ix.LDiversity(2), ix.KMap(2, "people.csv")), ["privacy: k-map cannot be met"]),
        (policy_of(ix.LDiversity(2), ix.KAnonymity(2, known=1)), ["privacy: k-anonymity with known cannot be met"]),
    ],
)
def test_policies_that_allow_no_two_tables(policy: Policy, words: list[str]) -> None:
    mistakes: tuple[str, ...] = ()
    try:
        check_link(policy)
    except ix.PolicyError as error:
        mistakes = tuple(error.mistakes)
    assert len(mistakes) == len(words)
    for one, start in zip(mistakes, words, strict=True):
        assert one.startswith(start)


def test_what_two_tables_leave_open_names_columns_nobody_asks_about() -> None:
    columns = COLUMNS | {"ill": ix.sensitive(), "pay": ix.sensitive()}
    assert not_protected(policy_of(ix.LDiversity(2), columns=columns)) == NOT_PROTECTED
    said = not_protected(policy_of(ix.LDiversity(2, column="ill"), columns=columns))
    assert said.startswith(NOT_PROTECTED)
    assert "No model asks about 'pay':" in said


# Rows that were drawn


def test_a_drawn_recoding_by_hand() -> None:
    source = counted(ROWS)
    drawn = DrawnRecoding.of(source, np.array([1, 0, 1, 2]), (1, 0), {"k": 2})
    assert (drawn.rows, drawn.suppressed_rows) == (4, 0)
    assert sorted(drawn.released_sizes.tolist()) == [1, 1, 2]
    assert drawn.draws == {"k": 2}
    assert drawn.tells_measure("precision")
    assert not drawn.tells_measure("loss")
    plan = drawn.plan(policy_of(), ("extra",))
    assert plan.columns == ("age", "sex", "ill", "note", "extra")
    assert plan.tuples["age"].tolist() == [0, 3, 2, 0, 1]
    assert plan.tuples["sex"].tolist() == [0, 0, 1, 0, 0]
    assert plan.rows.tolist() == [1, 1, 2, 1, 1]
    assert plan.groups.tolist()[3:] == [SUPPRESSED, SUPPRESSED]
    shown = [plan.labels["age"][plan.codes["age"][group]] for group in plan.groups[:3]]
    assert shown == ["1-2", "3-4", "3-4"]
    assert not plan.kept  # all cells leave as text: the type of a column may tell of who was not drawn
    with pytest.raises(ix.PolicyError, match="cannot be fitted to earlier releases"):
        drawn.without_groups(np.array([True, False, False]))


# Rows that are linked


def linked(*gone: int) -> LinkedRecoding:
    """Visits of three people at the bottom; ``gone`` are entries, in the list's order."""
    rows = [("1", "f", "a"), ("1", "f", "a"), ("2", "f", "a"), ("1", "f", "b"), ("3", "m", "c"), ("3", "m", "b")]
    frequencies = counted(rows, person="id")
    groups, _ = frequencies.roll_up((0, 0))
    is_gone = np.zeros(len(frequencies.entries), np.bool_)
    is_gone[list(gone)] = True
    return LinkedRecoding.of(frequencies, groups, is_gone)


def test_a_linked_recoding_by_hand() -> None:
    """Entries: 1 f of a twice, 1 f of b, 2 f of a, 3 m of b, 3 m of c."""
    recoding = linked(1, 3)
    assert recoding.sizes.tolist() == [2, 1, 1]
    assert recoding.released_sizes.tolist() == [2, 1, 1]
    assert recoding.lost_rows.tolist() == [1, 0, 1]
    assert recoding.suppressed_sizes.tolist() == [1, 1]
    assert (recoding.suppressed_rows, recoding.released_rows) == (2, 4)
    pieces = recoding.as_pieces()
    assert pieces.groups.tolist() == [0, SUPPRESSED, 1, SUPPRESSED, 2]
    assert pieces.rows.tolist() == [2, 1, 1, 1, 1]
    values = [[np.array([1.0, 2.0, 3.0])], [np.array([10.0, 20.0])]]
    assert recoding.over_suppressed(values) == 11.0 + 23.0
    assert recoding.suppressed_as_one().sizes.tolist() == [2]
    assert recoding.suppressed_as_one().in_people().sizes.tolist() == [1]
    plan = recoding.plan(policy_of(person="id"), ())
    assert {name: codes.tolist() for name, codes in plan.suppressed.items()} == {
        "id": [1, 1],
        "age": [0, 2],
        "sex": [0, 1],
    }
    assert people_gone(recoding).tolist() == [False, True, False]
    everything = linked(0, 1, 2, 3, 4)
    assert everything.released_sizes.tolist() == []
    assert everything.is_suppressed.all()


def test_whoever_stands_in_a_group_that_goes_goes_with_all_rows() -> None:
    recoding = replace(linked(4), is_proven=True, gap=0.0)
    fewer = recoding.without_groups(np.array([False, True, False]))  # a has the one row there
    assert fewer.is_gone.tolist() == [True, False, True, False, True]
    assert (fewer.is_proven, fewer.gap) == (False, None)
    assert linked().without_groups(np.array([False, True, False])).is_proven is None
    assert linked(4).without_groups(np.zeros(3, np.bool_)).is_gone.tolist() == [False] * 4 + [True]


# People


def test_people_are_counted_once_each() -> None:
    frequencies = counted([("1", "f", "a"), ("2", "f", "a"), ("2", "f", "b"), ("3", "m", "c")], person="id")
    groups = np.array([0, 1, SUPPRESSED])
    facts = PeopleFacts.of(frequencies.entries, Pieces.whole(frequencies, groups), is_linked=True)
    assert facts == PeopleFacts(3, 2, 1, 1, smallest_group=1, smallest_profile=1)
    assert facts.to_dict()["smallest_profile"] == 1
    facts = PeopleFacts.of(frequencies.entries, Pieces.whole(frequencies, groups))
    assert facts is not None
    assert "smallest_profile" not in facts.to_dict()
    nobody = PeopleFacts.of(frequencies.entries, Pieces.whole(frequencies, np.full(3, SUPPRESSED)), is_linked=True)
    assert nobody == PeopleFacts(3, 0, 3, 3, smallest_group=3, smallest_profile=3)
    none_goes = replace(Pieces.whole(frequencies, groups), rows=np.array([0, 1, 1, 1]))
    facts = PeopleFacts.of(frequencies.entries, none_goes)
    assert facts == PeopleFacts(3, 2, 1, 1, smallest_group=2)


def test_profiles_of_rows_that_belong_to_each_other() -> None:
    """Two people with the same rows, of which those of one belong to each other."""
    frequencies = counted([("1", "f", "a"), ("2", "f", "a"), ("1", "f", "b"), ("2", "f", "b")], person="id")
    whole = Pieces.whole(frequencies, np.arange(2))
    flat = PeopleFacts.of(frequencies.entries, whole, is_linked=True)
    assert flat is not None
    assert flat.smallest_profile == 2
    rows, parents = np.array([0, 1, -1, -1]), np.array([-1, -1, 0, -1])
    tree = RowTree.of(rows, parents, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    tied = PeopleFacts.of(frequencies.entries, whole, is_linked=True, tree=tree)
    assert tied is not None
    assert (tied.smallest_profile, tied.smallest_group) == (1, 2)
    assert frequencies.base.people is not None
    with_tree = replace(frequencies.base, people=replace(frequencies.base.people, tree=tree))
    recoding = at(replace(frequencies, base=with_tree), (0, 0))
    assert recoding.people_facts(policy_of(person=LINKED)) == tied
    others = counted([("1", "f", "a"), ("2", "f", "a"), ("1", "f", "b"), ("3", "m", "b")], person="id")
    none = np.full(4, -1)
    flat_tree = RowTree.of(none, none, np.zeros(4, np.int64), np.zeros(4, np.int64))
    apart = PeopleFacts.of(others.entries, Pieces.whole(others, np.arange(3)), is_linked=True, tree=flat_tree)
    assert apart is not None
    assert apart.smallest_profile == 1
    pairs = counted([("1", "f", "a"), ("1", "f", "b"), ("2", "f", "c"), ("2", "f", "d")], person="id")
    two = PeopleFacts.of(pairs.entries, Pieces.whole(pairs, np.arange(2)), is_linked=True, tree=flat_tree)
    assert two == PeopleFacts(4, 4, 0, 0, smallest_group=2, smallest_profile=2)
    one = counted([("1", "f", "a")], person="id")
    assert PeopleFacts.of(one.entries, Pieces.whole(one, np.arange(1))) == PeopleFacts(1, 1, 0, 0, smallest_group=1)


# Several tables, and dates that move


def test_days_are_drawn_from_minus_most_to_most() -> None:
    days = draw_days(400, 2, Draws(b"seed"))
    assert Counter(days.tolist()).keys() == {-2, -1, 0, 1, 2}
    keys = Draws(b"seed").part("days").keys(400)
    assert days.tolist() == [int(key) % 5 - 2 for key in keys]


def test_each_person_has_her_days_once() -> None:
    shifts = shifts_by({"day": None}, {"id": np.array([2, 0, 2, 1])}, np.array([7, 5, 7, -3]))
    assert shifts.formats == {"day": None}
    assert shifts.codes["id"].tolist() == [0, 1, 2]
    assert shifts.days.tolist() == [5, -3, 7]


def test_dates_of_one_table_move_by_person() -> None:
    policy = policy_of(columns=COLUMNS | {"day": ix.other(shift=ix.DateShift(30, "%d.%m.%Y"))}, person=LINKED)
    frequencies = counted([("1", "f", "a"), ("1", "f", "a"), ("2", "f", "b")], person="id")
    plan = replace(at(frequencies, (0, 0)).plan(policy), draws=Draws(b"seed"))
    moved = with_shifts(plan, policy, frequencies.entries.codes, np.array([0, 1]))
    assert moved.shifts is not None
    assert moved.shifts.formats == {"day": "%d.%m.%Y"}
    assert moved.shifts.codes["id"].tolist() == [0, 1]
    assert moved.shifts.days.tolist() == draw_days(2, 30, Draws(b"seed")).tolist()
    assert moved.maps is plan.maps


def table_of(policy: Policy, cells: Mapping[str, Sequence[str]], persons: Sequence[int], **part: Any) -> TableCount:
    values = {name: tuple(sorted(set(own))) for name, own in cells.items()}
    codes = {name: np.array([values[name].index(cell) for cell in own]) for name, own in cells.items()}
    whole = {"person": (), "reference": None, "parent": None, "key": None, "unique": None, "member_of": None} | part
    hierarchies = {name: policy.columns[name].compile(values[name]) for name in policy.quasi}
    none = np.full(len(persons), -1)
    return TableCount(
        Part(policy, **whole), hierarchies, values, codes, np.ones(len(persons)), np.array(persons), none, none
    )


def test_the_plan_of_each_of_several_tables() -> None:
    day = {"day": ix.other(shift=ix.DateShift(9))}
    people = table_of(
        policy_of(columns={"age": COLUMNS["age"]}),
        {"age": ["1", "2"], "id": ["a", "b"]},
        [0, 1],
        person=("id",),
        unique="id",
    )
    visits = table_of(
        policy_of(columns={"sex": COLUMNS["sex"]} | day, person=LINKED),
        {"sex": ["f", "m", "f"], "of": ["b", "a", "b"]},
        [1, 0, 1],
        reference="of",
    )
    recoding = replace(linked(1, 3), frequencies=replace(linked().frequencies, columns=("people.age", "visits.sex")))
    joined = {"people": people, "visits": visits}
    plans = table_plans(joined, recoding, draws=Draws(b"seed"))
    assert plans["people"].columns == ("age", "id")
    assert plans["people"].labels == {"age": ("1", "2"), "id": ("a", "b")}
    assert plans["people"].maps["age"].tolist() == plans["people"].maps["id"].tolist() == [0, 1]
    assert plans["people"].kept == {"age", "id"}
    assert plans["people"].suppressed["id"].tolist() == [1]  # b is gone
    assert plans["people"].shifts is None
    assert plans["visits"].columns == ("sex", "day")
    assert plans["visits"].suppressed["of"].tolist() == [1, 1]
    assert plans["visits"].kept == {"sex", "of"}
    shifts = plans["visits"].shifts
    assert shifts is not None
    assert shifts.codes["of"].tolist() == [0, 1]
    assert shifts.days.tolist() == draw_days(3, 9, Draws(b"seed")).tolist()[:2]
    assert plans["people"].draws == Draws(b"seed").part("people")
    climbed = replace(recoding, groups=replace(recoding.groups, node=(1, 1)))
    higher = table_plans(joined, climbed, draws=Draws(b"seed"))
    assert higher["people"].labels["age"] == ("1-2",)
    assert higher["people"].kept == {"id"}
    without_days = replace(visits.part, policy=policy_of(columns={"sex": COLUMNS["sex"]}))
    plain = joined | {"visits": replace(visits, part=without_days)}
    assert table_plans(plain, recoding)["visits"].shifts is None


def test_a_raised_recoding_tells_what_its_cells_tell() -> None:
    frequencies = counted([("1", "m"), ("2", "m")])
    pieces = Pieces(np.array([0, 1]), np.array([1, 1]), np.array([0, 0]))
    plain = LocalRecoding.of_pieces(frequencies, pieces)
    raised = RaisedRecoding.of_labels(frequencies, plain.pieces, plain.labels, plain.codes)
    assert [raised.tells_measure(name) for name in ("precision", "ncp")] == [True, False]
    for made, is_told in ((plain, True), (raised, False)):
        assert replace(made, is_cut_short=True).states_cut_short is is_told
        assert not made.states_cut_short


def test_labels_of_values_that_stand_at_levels_of_their_own() -> None:
    frequencies = counted([("1", "m"), ("2", "m"), ("3", "f")])
    code = frequencies.hierarchies[0].values.index
    values = np.array([code("1"), code("2"), code("2"), code("3"), code("1")])
    labels, places = labels_at(frequencies, 0, np.array([1, 1, 0, 2, 2]), values)
    assert [labels.texts[place] for place in places.tolist()] == ["1-2", "1-2", "2", "*", "*"]
    assert len(labels.texts) == 3
    assert [int(labels.levels[place]) for place in places.tolist()] == [1, 1, 0, 2, 2]
    assert [int(labels.rows[place]) for place in places.tolist()] == [2, 2, 1, 3, 3]


def test_labels_that_nobody_carries_are_left_out() -> None:
    texts = ("a", "b", "c")
    labels, places = used_labels(
        Labels(texts, np.array([0, 1, 2]), np.array([1, 2, 4]), np.array([3, 5, 7])), np.array([2, 0, 2])
    )
    assert (labels.texts, places.tolist()) == (("a", "c"), [1, 0, 1])
    assert [part.tolist() for part in (labels.levels, labels.leaves, labels.rows)] == [[0, 2], [1, 4], [3, 7]]
