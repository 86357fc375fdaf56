"""Counting, choosing and recoding rows agree with a few lines of plain Python on tables that hypothesis makes up."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.profiles import examples
from indistinct.engine import Plan, Rows, open_table
from indistinct.engine.plans import OPERATORS
from indistinct.errors import TableError

CELLS = st.sampled_from(["", "a", "b", "10", "9", "9.0", "-3", "2020-01-02", "1999-12-31", "Ünï", "nan"])
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=12)
NAMES = ("x", "y", "z")
OpenRows = Callable[[pa.Table], Rows]


def as_table(rows: list[tuple[str, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(NAMES)})


def number(cell: str) -> float | None:
    try:
        return float(cell) if cell != "nan" else None
    except ValueError:
        return None


def day(cell: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(cell)
    except ValueError:
        return None


def holds(cell: str, operator: str, value: Any) -> bool:
    """Return whether a condition holds: the obvious version."""
    if operator in ("present", "missing"):
        return (cell == "") == (operator == "missing")
    if cell == "":
        return False
    members = value if operator in ("in", "not in") else [value]
    kind = type(members[0]) if members else str
    mine: Any = number(cell) if kind in (int, float) else day(cell) if kind is datetime.date else cell
    if mine is None:
        return False
    compare = {
        "==": lambda: mine == value,
        "!=": lambda: mine != value,
        "<": lambda: mine < value,
        "<=": lambda: mine <= value,
        ">": lambda: mine > value,
        ">=": lambda: mine >= value,
        "in": lambda: mine in members,
        "not in": lambda: mine not in members,
    }
    return bool(compare[operator]())


VALUES = st.one_of(
    st.sampled_from(["a", "b", "10", "9", "Ünï", ""]),
    st.sampled_from([9, 10, -3, 9.5, 2**40]),
    st.sampled_from([datetime.date(2020, 1, 2), datetime.date(2000, 1, 1)]),
)


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(TABLES, st.sampled_from(OPERATORS), VALUES, st.integers(0, 3))
def test_conditions_hold_as_in_python(rows: list[tuple[str, ...]], operator: str, value: Any, repetitions: int) -> None:
    if operator in ("in", "not in"):
        value = [value] * repetitions
    with open_table(as_table(rows)) as table:
        encoded = table.encode(["y"], [("x", operator, value)])
        expected = [row for row in rows if holds(row[0], operator, value)]
        assert encoded.count_by([]).counts.sum() == len(expected)
        with encoded.recode(Plan(("z",), {"y": np.zeros(len(encoded.values["y"]), int)}, {"y": ("*",)})) as released:
            assert Counter(released.to_native()["z"].to_pylist()) == Counter(row[2] or None for row in expected)


TYPED = pa.table(
    {
        "n": [1, 20, None],
        "f": [1.5, float("nan"), 3.0],
        "d": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None],
        "t": [datetime.datetime(2020, 1, 1, 5), datetime.datetime(2021, 1, 1), None],
        "b": [True, False, None],
        "m": [Decimal("1.50"), Decimal("2.00"), None],
    }
)
TYPED_CONDITIONS: list[tuple[str, str, Any, list[int]]] = [
    ("n", ">", 3, [2]),
    ("n", "!=", 1, [2]),
    ("f", ">", 0, [1, 3]),
    ("f", "missing", None, [2]),
    ("f", "==", "1.5", [1]),
    ("f", "==", "1.50", []),
    ("f", "!=", "1.5", [3]),
    ("d", "<=", datetime.date(2020, 1, 1), [1]),
    ("d", "==", "2021-01-01", [2]),
    ("d", ">", 3, []),
    ("t", "==", datetime.date(2020, 1, 1), [1]),
    ("t", ">", datetime.datetime(2020, 1, 1, 4), [1, 2]),
    ("b", "==", True, [1]),
    ("b", ">", 0, []),
    ("m", "==", "1.50", [1]),
    ("m", "==", "1.5", []),
    ("m", "<", 1.6, [1]),
    ("n", "in", [1, 20], [1, 2]),
    ("n", "in", ["20", 1], [1, 2]),
    ("n", "not in", [], [1, 2]),
]


@pytest.mark.slow
def test_conditions_on_typed_columns() -> None:
    with open_table(TYPED) as rows:
        for column, operator, value, expected in TYPED_CONDITIONS:
            encoded = rows.encode(["n"], [(column, operator, value)])
            values = encoded.values["n"]
            assert encoded.rows_with("n", range(len(values))) == expected, (column, operator, value)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (("x", "~", 1), "no operator '~'"),
        (("x", "==", None), "not with NoneType"),
        (("x", "in", "ab"), "needs a list of values"),
        (("nothing", "==", 1), "no column 'nothing'"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(condition: Any, message: str) -> None:
    with open_table(as_table([("a", "b", "c")])) as rows, pytest.raises(TableError, match=message):
        rows.encode(["x"], [condition])


def test_values_and_names_cannot_smuggle_sql() -> None:
    name = 'x"; DROP TABLE people; --'
    with open_table(pa.table({name: ["'; DROP TABLE people; --", "b"]})) as rows:
        encoded = rows.encode([name], [(name, "==", "'; DROP TABLE people; --")])
        values = encoded.values
        assert values[name] == ("'; DROP TABLE people; --",)


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(TABLES, TABLES, st.lists(st.sampled_from(NAMES), unique=True))
def test_sizes_and_differences_agree_with_counters(
    mine: list[tuple[str, ...]], theirs: list[tuple[str, ...]], columns: list[str]
) -> None:
    check_sizes_and_differences(open_table, mine, theirs, columns)


def check_sizes_and_differences(
    open_rows: OpenRows, mine: list[tuple[str, ...]], theirs: list[tuple[str, ...]], columns: list[str]
) -> None:
    def multiset(rows: list[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
        return Counter(tuple(row[NAMES.index(name)] for name in columns) for row in rows)

    with open_rows(as_table(mine)) as first, open_rows(as_table(theirs)) as second:
        assert sorted(first.sizes_by(columns)) == sorted(multiset(mine).values())
        assert first.difference(second, columns) == (multiset(mine) - multiset(theirs)).total()
        assert first.difference(first, columns) == 0


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(TABLES, st.randoms(use_true_random=False), st.booleans())
def test_recoding_agrees_with_plain_python(rows: list[tuple[str, ...]], random: Any, blank: bool) -> None:
    check_recoding(open_table, rows, random, blank)


def check_recoding(open_rows: OpenRows, rows: list[tuple[str, ...]], random: Any, blank: bool) -> None:
    with open_rows(as_table(rows)) as table:
        encoded = table.encode(["x", "y"])
        values = encoded.values
        labels: dict[str, tuple[str | None, ...]] = {"x": ("low", "high", "low", None), "y": values["y"]}
        maps = {
            "x": np.array([random.randrange(4) for _ in values["x"]], dtype=np.int64),
            "y": np.arange(len(values["y"]), dtype=np.int64),
        }
        groups = [(random.randrange(4), random.randrange(5)) for _ in range(random.randrange(4))]
        suppressed = {name: np.array([group[place] for group in groups], int) for place, name in enumerate(("x", "y"))}
        plan = Plan(("z", "y", "x"), maps, labels, frozenset({"y"}), suppressed, blank)
        expected: Counter[tuple[str | None, ...]] = Counter()
        for x, y, z in rows:
            codes = (int(maps["x"][values["x"].index(x or None)]), values["y"].index(y or None))
            if codes not in groups:
                expected[z or None, y or None, labels["x"][codes[0]]] += 1
            elif blank:
                expected[z or None, None, None] += 1
        with encoded.recode(plan) as released:
            found = released.head(len(rows))
            assert Counter(zip(*(found[name].to_pylist() for name in ("z", "y", "x")), strict=True)) == expected
            assert released.count() == expected.total()
