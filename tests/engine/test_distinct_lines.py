"""Rows that repeat are read, counted and written by their kinds; nobody can tell it from the release."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples, in_turn
from indistinct.engine import open_table
from indistinct.engine.duckdb import distinct_lines
from indistinct.engine.duckdb.distinct_lines import StoredRows
from indistinct.engine.duckdb.source import make_encoding, with_codes
from indistinct.errors import TableError

NAMES = ("n", "sex", "o,ther")
CELLS = st.sampled_from(["a", "b", "", ' "', "x,y", "é", "two\nlines", "'", "a\rb", ",", ";;", '","', '"'])
ROWS = st.lists(st.lists(st.tuples(CELLS, st.sampled_from(["f", "m"]), CELLS), min_size=2, max_size=4), max_size=3)


@pytest.fixture(autouse=True)
def repeat_in_small_tables(monkeypatch):
    monkeypatch.setattr(distinct_lines, "SAMPLED_ROWS", 8)


def text_of(rows, line_end="\n", delimiter=",", quoting: Any = csv.QUOTE_MINIMAL):
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows([NAMES, *rows])
    return written.getvalue()


def repeated(kinds, times=5):
    return [row for several in kinds for row in several for _ in range(times)]


def source_of(rows: Any) -> Any:
    """Return the SQL side of rows that DuckDB holds."""
    return rows.source


@pytest.mark.slow
@given(
    kinds=ROWS,
    line_end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@examples(40, opens_tables=True)
def test_a_file_whose_lines_repeat_is_counted_like_any_other(tmp_path_factory, kinds, line_end, delimiter, quoting):
    rows = repeated(kinds)
    path = tmp_path_factory.mktemp("repeated") / "table.csv"
    path.write_text(text_of(rows, line_end, delimiter, quoting), encoding="utf-8", newline="")
    try:
        table = open_table(path, delimiter=delimiter)
        count = table.count()
    except TableError:  # DuckDB reads no line breaks of several kinds in one file
        return
    with table, table.encode(NAMES) as encoded:
        assert encoded.rows == count == len(rows)
        found = encoded.count_by(NAMES)
        texts = [[encoded.values[name][code] for code in codes] for name, codes in zip(NAMES, found.codes, strict=True)]
        cells = Counter(tuple(cell or None for cell in row) for row in rows)
        assert dict(zip(zip(*texts, strict=True), found.counts.tolist(), strict=True)) == cells
        assert sorted(table.sizes_by(NAMES)) == sorted(cells.values())
        assert sorted(table.sizes_by(["sex"])) == sorted(Counter(row[1] for row in rows).values())
        values = table.values_by(["sex"], "n")
        assert values.counts.sum() == len(rows)


def test_lines_that_repeat_are_parsed_once(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text_of([*repeated([[("a", "f", "x,y"), ("b", "m", '"')]]), ("c", "f", "")]), encoding="utf-8")
    with open_table(path) as table:
        read, _ = make_encoding(source_of(table), ["sex"], [("n", "!=", "b")])
        made = with_codes(source_of(table), read)
        assert made.weight == "n_", "there is a column n"
        assert (made.rows, source_of(table).rows_of(made.coded)) == (6, 2)


@pytest.mark.parametrize(
    ("line", "cells", "is_divided"),
    [
        ("x,é", ["x", "é"], True),
        ('"x",""', ["x", None], True),
        ('",",";;"', [",", ";;"], True),
        ('x,"y,z"', ["x", "y,z"], False),
        ('"x",y', ["x", "y"], False),
        ('"x","say ""so"""', ["x", 'say "so"'], False),
        ('",",","', [",", ","], True),
        ("x,y,", ["x", "y"], False),
        ("x,y,z", None, False),
        ("x", None, False),
        ('"x"",""y"', None, False),
    ],
)
def test_lines_are_divided_at_delimiters_if_none_or_all_cells_are_quoted(tmp_path, line, cells, is_divided):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + 9 * f"{line}\n", encoding="utf-8")
    with open_table(path, delimiter=",") as table:
        distinct = source_of(table).distinct_rows()
        assert distinct.relation.startswith("cells") is is_divided
        if cells is None:
            with pytest.raises(TableError):
                table.encode(["a", "b"])
        else:
            encoded = table.encode(["a", "b"])
            assert encoded.rows == 9
            assert list(encoded.values.values()) == [(cell,) for cell in cells]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n" + 9 * 'x,"y\nz"\n', "a cell with a line break"),
        ("a\n" + 20 * "x\n", "a lone column, where an empty line may be a row"),
        ("a,b\n" + 9 * "x,\x01\n", "a cell with the mark"),
        ("a,b\n" + "".join(f"x,{n}\n" for n in range(20)), "all rows are different"),
        ("a,b\n" + 7 * "x,y\n", "too few rows"),
        ('"a\nb",c\n' + 9 * "x,y\n", "a name with a line break"),
    ],
)
def test_what_is_read_row_by_row(tmp_path, text, why):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with open_table(path) as table:
        assert source_of(table).distinct_rows() is None, why
        assert table.encode(table.columns()[:1]).rows == table.count()


def test_a_line_that_cannot_be_parsed_is_named_by_its_number(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + 20 * "x,y\n" + "x,y,z\n", encoding="utf-8")
    with open_table(path) as table, pytest.raises(TableError, match="line 22 has 3 cells"):
        table.encode(["a"])


POLICY = ix.Policy(
    {"n": ix.quasi(ix.suppress()), "sex": ix.quasi(ix.suppress()), "o,ther": ix.other()},
    [ix.KAnonymity(4)],
    max_suppression=0.5,
)


@pytest.mark.slow
@pytest.mark.parametrize(("other", "algorithm"), in_turn(["x,y", ' "', "two\nlines", "a\rb"], ["lattice", "regroup"]))
def test_a_release_whose_rows_repeat_is_written_line_by_line(tmp_path, algorithm, other):
    rows = [*repeated([[("a", "f", other), ("a", "m", "é"), ("b", "m", ""), ("b", "m", "'")]], 7), ("c", "f", "z")]
    path = tmp_path / "table.csv"
    path.write_text(text_of(rows), encoding="utf-8", newline="")
    if "\r" in other:  # a file with two kinds of line ends, which cannot be read
        path = tmp_path / "table.parquet"

        pq.write_table(pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))), path)
    with ix.anonymize(path, POLICY, algorithm=algorithm) as release:
        assert isinstance(source_of(release.parts["table"]).repeats, StoredRows)
        table = release.table.to_pylist()
        release.write(tmp_path / "release")
    if path.suffix == ".csv":
        cells = [[cell or "" for cell in row.values()] for row in table]
        with (tmp_path / "release" / "table.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == [list(NAMES), *cells], "the same rows in the same order"
        written = (tmp_path / "release" / "table.csv").read_bytes()
        assert len(written.splitlines()) == len(table) + 1 + 7 * ("\n" in other)
    assert Counter(row["o,ther"] for row in table) <= Counter(row[2] or None for row in rows)
    assert len(table) == len(rows) - release.suppressed
    assert ix.verify(tmp_path / "release", POLICY, original=path).passed


@pytest.mark.parametrize("name", ["folded", "n", "N", "line", "r0"])
def test_a_column_may_have_any_name_where_rows_repeat(tmp_path, name):
    path = tmp_path / "table.csv"
    path.write_text(f"age,{name}\n" + "20,3\n21,3\n" * 20, encoding="utf-8")
    policy = ix.Policy({"age": ix.quasi(ix.suppress()), name: ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    with ix.anonymize(path, policy) as release:
        assert isinstance(source_of(release.parts["table"]).repeats, StoredRows)
        assert release.parts["table"].sizes_by(["age", name]).tolist() == [20, 20]


@pytest.mark.slow
def test_the_order_of_repeated_rows_is_random_and_follows_from_a_seed(tmp_path):
    rows = repeated([[("a", "f", "1"), ("a", "f", "2")]], 40)
    path = tmp_path / "table.csv"
    path.write_text(text_of(rows), encoding="utf-8")

    def order(source, **more):
        with ix.anonymize(source, POLICY, **more) as release:
            return [row["o,ther"] for row in release.table.to_pylist()]

    first, second = order(path), order(path)
    assert first != second
    assert Counter(first) == Counter(second) == {"1": 40, "2": 40}
    assert order(path, seed=7) == order(path, seed=7) != order(path, seed=8)
    frame = pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))
    assert order(path, seed=7) == order(frame, seed=7), "law 5: whatever the kind of table"


def test_cells_that_only_compare_equal_are_not_taken_for_one():
    table = pa.table({"n": ["a"] * 20, "sex": ["f"] * 20, "o,ther": np.array([0.0, -0.0] * 10)})
    with ix.anonymize(table, POLICY) as release:
        assert Counter(str(cell) for cell in release.table["o,ther"].to_pylist()) == {"0.0": 10, "-0.0": 10}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "last", "blank"])
@pytest.mark.parametrize("start", ["", "\ufeff", "blank"])
def test_lines_are_the_whole_file_whatever_its_line_ends(tmp_path, line_end, end, start):
    before = line_end if start == "blank" else start
    after = {"": "", "last": line_end, "blank": line_end * 3}[end]
    text = before + "a,b" + line_end + line_end.join(["é,y"] * 5 + [""] + ["x,y"] * 5) + after
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with open_table(path) as table:
        distinct = source_of(table).distinct_rows()
        assert distinct is not None
        found = source_of(table).session.fetch(f"SELECT a, b, {distinct.weight} FROM {distinct.relation} ORDER BY a")
        assert found == [("x", "y", 5), ("é", "y", 5)]
        assert table.count() == 10
