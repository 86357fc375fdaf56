"""Every kind of table goes in and comes out through the same tests: same cells, same codes, same release."""

from __future__ import annotations

import csv
import datetime
import gc
import math
import os
import stat
import subprocess
import sys
import tempfile
import weakref
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from helpers import postgres
from indistinct.engine import Plan, Rows, open_table
from indistinct.engine.duckdb import recoding, session
from indistinct.engine.duckdb.rows import DuckRows
from indistinct.errors import OutputError, TableError

NAMES = ("name", "age", 'the "best" zip', "select", "größe")
CELLS = [
    ("Ann", 39, "02138", "x;y", 1.5),
    ("Bob", 39, "02139", None, 2.0),
    ("Cay", 41, "02138", "it's", None),
    ("Dan", 41, "02141", "x;y", 1.5),
    ("Eve", None, "02141", "a\nb", 2.0),
    ("Fay", 39, "02138", "x;y", 1.5),
]
TEXTS = [tuple(None if cell is None else str(cell) for cell in row) for row in CELLS]
COLUMNS = {name: [row[position] for row in CELLS] for position, name in enumerate(NAMES)}


def arrow_table() -> pa.Table:
    types = [pa.string(), pa.int64(), pa.string(), pa.string(), pa.float64()]
    return pa.table([pa.array(COLUMNS[name], kind) for name, kind in zip(NAMES, types, strict=True)], list(NAMES))


def write_csv(path: Path, delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([NAMES, *TEXTS])
    return path


def write_database(path: Path) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.register("source", arrow_table())
        connection.execute("CREATE TABLE people AS SELECT * FROM source")
        connection.execute("CREATE TABLE other AS SELECT 1 AS a")
        connection.unregister("source")
    return f"{path}::people"


class Capsule:
    """An object that only speaks the Arrow stream protocol."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return arrow_table().__arrow_c_stream__(requested_schema)


def parquet_folder(path: Path) -> Path:
    path.mkdir()
    pyarrow.parquet.write_table(arrow_table().slice(0, 3), path / "part-0.parquet")
    pyarrow.parquet.write_table(arrow_table().slice(3), path / "part-1.parquet")
    return path


def saved(write: Any, path: Path) -> Path:
    write(arrow_table(), path)
    return path


def write_ipc_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as file:
        file.write_table(table)


def lone_database(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("source", arrow_table())
        connection.execute("CREATE TABLE people AS SELECT * FROM source")
        connection.unregister("source")
    return path


MAKERS = {
    "csv": ("csv", lambda folder: write_csv(folder / "t.csv")),
    "csv text path": ("csv", lambda folder: str(write_csv(folder / "odd[1]'name*.csv", ";"))),
    "tsv": ("csv", lambda folder: write_csv(folder / "t.tsv", "\t")),
    "parquet": ("parquet", lambda folder: saved(pyarrow.parquet.write_table, folder / "t.parquet")),
    "parquet folder": ("parquet", lambda folder: parquet_folder(folder / "parts")),
    "parquet pattern": ("parquet", lambda folder: f"{parquet_folder(folder / 'parts')}/*.parquet"),
    "ipc": ("ipc", lambda folder: saved(pyarrow.feather.write_feather, folder / "t.feather")),
    "ipc stream": ("ipc", lambda folder: saved(write_ipc_stream, folder / "t.arrow")),
    "database": ("database", lambda folder: write_database(folder / "t.duckdb")),
    "lone database": ("database", lambda folder: lone_database(folder / "t.duckdb")),
    "arrow": ("arrow", lambda folder: arrow_table()),
    "reader": ("arrow", lambda folder: arrow_table().to_reader(max_chunksize=2)),
    "dataset": ("arrow", lambda folder: pyarrow.dataset.dataset(arrow_table())),
    "capsule": ("arrow", lambda folder: Capsule()),
    "pandas": ("pandas", lambda folder: pd.DataFrame(COLUMNS)),
    "pandas arrow": ("pandas", lambda folder: arrow_table().to_pandas(types_mapper=pd.ArrowDtype)),
    "polars": ("polars", lambda folder: pl.DataFrame(COLUMNS)),
    "polars lazy": ("polars-lazy", lambda folder: pl.LazyFrame(COLUMNS)),
    "relation": ("duckdb", lambda folder: duckdb.from_arrow(arrow_table())),
}


AS_IF_LARGE = {"csv text path", "parquet pattern", "ipc stream", "lone database", "reader", "polars lazy"}
"""Released cells of these are stored as those of large tables are; each has another of its kind that is not here."""


@pytest.fixture
def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recoding, "FEW_ROWS", 0)


@pytest.fixture(params=[*MAKERS, "spark", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param in AS_IF_LARGE:
        request.getfixturevalue("as_if_large")
    if request.param == "spark":
        kind, make = "spark", lambda folder: request.getfixturevalue("spark").createDataFrame(arrow_table())
    elif request.param == "postgresql":
        server = request.getfixturevalue("postgres_server")
        kind, make = "postgres", lambda folder: postgres.save(server, arrow_table())
    else:
        kind, make = MAKERS[request.param]
    with open_table(make(tmp_path)) as rows:
        assert rows.kind == kind
        yield rows


def text(cell: object) -> str | None:
    """Return a cell as the engine reads it, whatever number type a frame made of it."""
    if cell is None or cell == "" or cell != cell:
        return None
    return str(int(cell)) if isinstance(cell, float) and cell > 30 else str(cell)


def cells(table: Any) -> list[tuple[str | None, ...]]:
    """Return any kind of table as tuples of text."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return [tuple(map(text, row)) for row in table.rows()]
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, duckdb.DuckDBPyRelation):
        table = table.to_arrow_table()
    if type(table).__module__.startswith("pyspark."):
        table = table.toArrow()
    return list(zip(*[[text(cell) for cell in column.to_pylist()] for column in table.columns], strict=True))


def normal(value: str | None) -> str | None:
    """Return whole numbers without the ``.0`` that frames give to integers with gaps."""
    return value[:-2] if value is not None and value.endswith(".0") and value != "2.0" else value


def plan_for(rows: Rows, values: dict[str, tuple[str | None, ...]], **changes: Any) -> Plan:
    """Keep ``age``, shorten the ZIP code to three digits, and copy the other columns but the name."""
    zips = values[NAMES[2]]
    settings: dict[str, Any] = {
        "columns": NAMES[1:],
        "maps": {"age": np.arange(len(values["age"])), NAMES[2]: np.zeros(len(zips), dtype=np.int64)},
        "labels": {"age": values["age"], NAMES[2]: ("021**",)},
        "kept": frozenset({"age"}),
    }
    return Plan(**(settings | changes))


def test_every_kind_has_the_same_columns_and_rows(opened: Rows) -> None:
    assert opened.columns() == NAMES
    assert opened.count() == 6
    assert opened.head(2).num_rows == 2
    assert open_table(opened) is opened


def test_every_kind_has_the_same_values(opened: Rows) -> None:
    encoded = opened.encode(NAMES)
    values = encoded.values
    assert values["name"] == ("Ann", "Bob", "Cay", "Dan", "Eve", "Fay")
    assert tuple(map(normal, values["age"])) == ("39", "41", None)
    assert values[NAMES[2]] == ("02138", "02139", "02141")
    assert values["select"] == ("a\nb", "it's", "x;y", None)
    assert values["größe"] == ("1.5", "2.0", None)


def test_every_kind_counts_tuples_like_a_counter(opened: Rows) -> None:
    encoded = opened.encode(["age", "select"])
    values = encoded.values
    counts = encoded.count_by(["select", "age"])
    found = {
        (values["select"][first], normal(values["age"][second])): count
        for first, second, count in zip(*counts.codes, counts.counts, strict=True)
    }
    assert found == Counter((row[3], row[1]) for row in TEXTS)
    assert counts.counts.dtype == np.int64
    assert all(codes.dtype.kind == "u" for codes in counts.codes)


def test_every_kind_gives_back_what_came_in(opened: Rows) -> None:
    assert Counter(tuple(map(normal, row)) for row in cells(opened.to_native())) == Counter(TEXTS)


def test_every_kind_is_recoded_alike(opened: Rows) -> None:
    encoded = opened.encode(["age", NAMES[2]])
    values = encoded.values
    with encoded.recode(plan_for(opened, values)) as released:
        assert released.kind == opened.kind
        assert released.columns() == NAMES[1:]
        expected = Counter((row[1], "021**", row[3], row[4]) for row in TEXTS)
        table = released.to_native()
        assert Counter(tuple(map(normal, row)) for row in cells(table)) == expected
    kinds = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "polars-lazy": pl.LazyFrame,
        "duckdb": duckdb.DuckDBPyRelation,
        "spark": type(opened.to_native()),
    }
    assert isinstance(table, kinds.get(opened.kind, pa.Table))


def test_every_kind_leaves_out_suppressed_groups(opened: Rows) -> None:
    encoded = opened.encode(["age", NAMES[2]])
    values = encoded.values
    suppressed = {"age": np.array([1, 1]), NAMES[2]: np.array([0, 0])}
    with encoded.recode(plan_for(opened, values, suppressed=suppressed)) as released:
        assert released.count() == 4
        assert sorted(released.sizes_by(["age"])) == [1, 3]


def test_every_kind_blanks_suppressed_groups(opened: Rows) -> None:
    encoded = opened.encode(["age", NAMES[2]])
    values = encoded.values
    with encoded.recode(plan_for(opened, values, suppressed={"age": np.array([1])}, blank=True)) as released:
        table = [tuple(map(normal, row)) for row in cells(released.to_native())]
    expected = Counter((row[1], "021**", *row[3:]) if row[1] != "41" else (None, None, *row[3:]) for row in TEXTS)
    assert Counter(table) == expected


@pytest.mark.slow
def test_every_kind_is_written_and_read_again(opened: Rows, tmp_path: Path) -> None:
    encoded = opened.encode(["age", NAMES[2]])
    values = encoded.values
    folder = tmp_path / "out"
    folder.mkdir()
    with encoded.recode(plan_for(opened, values)) as released:
        path = released.write(folder)
        assert path.name == {"csv": "table.csv", "database": "table.duckdb", "ipc": "table.arrow"}.get(
            opened.kind, "table.parquet"
        )
        with open_table(path, **released.format()) as again:
            assert again.columns() == released.columns()
            assert again.difference(released, released.columns()) == 0
            assert released.difference(again, released.columns()) == 0
            texts = [rows.texts(NAMES[1:]).read_all() for rows in (again, released)]
            assert texts[0] == texts[1]
        assert released.write(folder) == path  # a second time, over the first


def test_every_kind_finds_row_numbers(opened: Rows) -> None:
    encoded = opened.encode([NAMES[2], "age"])
    assert encoded.rows_with(NAMES[2], [0]) == [1, 3, 6]
    assert encoded.rows_with(NAMES[2], [0, 2], limit=2) == [1, 3]
    assert encoded.rows_with("age", [2]) == [5]
    encoded = opened.encode([NAMES[2]], [("age", "==", 39)])
    assert encoded.rows_with(NAMES[2], [0]) == [1, 6]


@pytest.mark.slow
def test_eligible_rows_alone_are_counted_and_released(opened: Rows) -> None:
    encoded = opened.encode(["age", NAMES[2]], [("age", "<", 40), ("select", "present", None)])
    values = encoded.values
    assert tuple(map(normal, values["age"])) == ("39",)
    assert encoded.count_by(["age"]).counts.tolist() == [2]
    assert opened.count() == 6
    with encoded.recode(plan_for(opened, values)) as released:
        assert released.count() == 2
    with encoded.recode(plan_for(opened, values, columns=("age", NAMES[2]))) as narrow:
        assert narrow.count() == 2


def test_sizes_and_differences_are_those_of_multisets(opened: Rows) -> None:
    assert sorted(opened.sizes_by(["age", NAMES[2]])) == [1, 1, 1, 1, 2]
    assert opened.sizes_by([]).tolist() == [6]
    other = pa.table({"name": ["Ann", "Ann", "Zoe"], "größe": [1.5, 1.5, None]})
    with open_table(other) as rows:
        assert opened.difference(rows, ["name", "größe"]) == 5
        assert rows.difference(opened, ["name", "größe"]) == 2
        assert rows.difference(opened, []) == 0
        assert opened.difference(rows, []) == 3


@pytest.mark.slow
def test_keys_wider_than_64_bits_are_counted() -> None:
    random = np.random.default_rng(1)
    columns = {f"c{position}": random.integers(0, 500, 3000).astype(str) for position in range(12)}
    table = {name: np.concatenate([column, column[:1000]]) for name, column in columns.items()}
    with open_table(pa.table(table)) as rows:
        encoded = rows.encode(list(table))
        values = encoded.values
        counts = encoded.count_by(list(table))
        decoded = [[values[name][code] for code in codes] for name, codes in zip(table, counts.codes, strict=True)]
        found = dict(zip(zip(*decoded, strict=True), counts.counts.tolist(), strict=True))
    assert found == Counter(zip(*table.values(), strict=True))


def test_a_table_without_rows_goes_through_every_verb(tmp_path: Path) -> None:
    with open_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})) as rows:
        encoded = rows.encode(["a"])
        assert encoded.values == {"a": ()}
        assert encoded.rows == 0
        assert encoded.count_by(["a"]).counts.tolist() == []
        assert encoded.count_by([]).counts.tolist() == []
        assert rows.sizes_by(["a"]).tolist() == []
        assert rows.sizes_by([]).tolist() == []
        plan = Plan(("a", "b"), {"a": np.array([], dtype=np.int64)}, {"a": ()}, frozenset({"a"}))
        with encoded.recode(plan) as released:
            assert released.count() == 0
            assert released.difference(rows, ["a", "b"]) == 0
            assert released.to_native().schema.field("a").type == pa.int64()  # type: ignore[attr-defined]
            released.write(tmp_path)


def test_no_columns_count_as_one_group() -> None:
    with open_table(arrow_table()) as rows:
        encoded = rows.encode([], [("age", "==", 39)])
        assert encoded.values == {}
        assert encoded.rows == 3
        assert encoded.count_by([]).counts.tolist() == [3]
        with encoded.recode(Plan(("name",), {}, {})) as released:
            assert sorted(released.to_native()["name"].to_pylist()) == ["Ann", "Bob", "Fay"]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["", "as_if_large"])
def test_kept_columns_of_pandas_keep_their_types(size: str, request: pytest.FixtureRequest) -> None:
    if size:
        request.getfixturevalue(size)
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["a", "b", "c"], categories=["c", "b", "a", "unused"], ordered=True),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "arrow": pd.array(["x", None, "z"], dtype=pd.ArrowDtype(pa.string())),
            "flag": [True, False, True],
            "moment": pd.to_datetime(["2020-01-01 10:00", "2021-02-03 04:05", None]),
            "zoned": pd.to_datetime(["2020-01-01", "2020-06-01", "2020-07-01"]).tz_localize("Europe/Berlin"),
            "number": [1, 2, 3],
            "small": np.array([1, 2, 3], dtype=np.int8),
            "text": ["p", "q", ""],
            "float": [0.1, np.nan, 1e300],
            "object": pd.Series(["u", None, "w"], dtype=object),
            "date": pd.Series([datetime.date(2020, 1, 2), None, datetime.date(1900, 1, 1)], dtype=object),
            "month": pd.period_range("2020-01", periods=3, freq="M"),
            7: ["seven", "eight", "nine"],
        },
        index=[10, 20, 30],
    )
    names = tuple(map(str, frame.columns))
    with open_table(frame) as rows:
        encoded = rows.encode(names)
        values = encoded.values
        identity = {name: np.arange(len(values[name])) for name in names}
        for plan in (Plan(names, identity, values, frozenset(names)), Plan(names, {}, {})):
            encoded = rows.encode(tuple(plan.maps))
            with encoded.recode(plan) as released:
                back: Any = released.to_native()
            expected = frame.assign(text=["p", "q", None]).astype({"text": "str"})
            expected["category"] = expected["category"].cat.remove_unused_categories()
            back = back.sort_values("number", ignore_index=True)
            pd.testing.assert_frame_equal(back, expected.reset_index(drop=True))


@pytest.mark.parametrize("size", ["", "as_if_large"])
def test_blanked_pandas_integers_become_nullable(size: str, request: pytest.FixtureRequest) -> None:
    if size:
        request.getfixturevalue(size)
    frame = pd.DataFrame({"number": [1, 2], "flag": [True, False]})
    with open_table(frame) as rows:
        encoded = rows.encode(["number", "flag"])
        values = encoded.values
        maps = {name: np.arange(2) for name in values}
        with encoded.recode(
            Plan(("number", "flag"), maps, values, frozenset(maps), {"number": np.array([0])}, True)
        ) as out:
            back: Any = out.to_native()
    assert back.dtypes.astype(str).tolist() == ["Int64", "boolean"]
    assert sorted(back["number"].dropna()) == [2]


@pytest.mark.parametrize("size", ["", "as_if_large"])
def test_kept_columns_of_polars_and_arrow_keep_their_types_without_unused_categories(
    size: str, request: pytest.FixtureRequest
) -> None:
    if size:
        request.getfixturevalue(size)
    frame = pl.DataFrame(
        {"enum": ["a", "b"], "category": ["x", "y"], "number": [1, 2], "day": [datetime.date(2020, 1, 1), None]},
        schema={"enum": pl.Enum(["secret", "b", "a"]), "category": pl.Categorical, "number": pl.Int16, "day": pl.Date},
    )
    table = pa.table({"d": pa.array(["u", "v"]).dictionary_encode(), "m": pa.array([Decimal("1.50"), None])})
    with open_table(frame) as rows:
        encoded = rows.encode([], [("number", "==", 1)])
        back: Any = encoded.recode(Plan(tuple(frame.columns), {}, {})).to_native()
        assert back.schema["enum"] == pl.Enum(["a"])
        assert back.schema["category"] == pl.Categorical
        assert back.schema["number"] == pl.Int16
        assert back.schema["day"] == pl.Date
    with open_table(table) as rows:
        encoded = rows.encode(["d", "m"])
        values = encoded.values
        assert values == {"d": ("u", "v"), "m": ("1.50", None)}
        plan = Plan(
            ("d", "m"), {name: np.arange(2) for name in values}, values, frozenset(values), {"d": np.array([1])}
        )
        back = encoded.recode(plan).to_native()
        assert back.schema.types == table.schema.types
        assert back["d"].combine_chunks().dictionary.to_pylist() == ["u"]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_no_number_in_a_parquet_file_is_missing(tmp_path: Path, kind: pa.DataType) -> None:
    """The statistics of a file leave out what is no number, and so does who answers from them."""
    cells = [1.5, float("nan"), 2.5, math.copysign(float("nan"), -1), None]
    pyarrow.parquet.write_table(pa.table({"a": pa.array(cells, kind), "b": list("uvwxy")}), tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as rows:
        encoded = rows.encode(["a"])
        assert encoded.values["a"] == ("1.5", "2.5", None)
        assert encoded.count_by(["a"]).counts.tolist() == [1, 1, 3]
        assert rows.sizes_by(["a"]).sum() == 5
        assert len(rows.sizes_by(["a"])) == 3
        with rows.encode([]).recode(Plan(("a", "b"), {}, {})) as released:
            back: Any = released.to_native()
    assert back["a"].null_count == 3


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_spans_of_time_come_back(unit: str) -> None:
    """DuckDB has no type for them but spans of months, days and seconds."""
    spans = pa.array([1, None, 86_400 * 3 * 1_000_000], pa.duration("us")).cast(pa.duration("ns"))
    table = pa.table({"a": spans.cast(pa.duration(unit), safe=False), "b": ["x", "y", "z"]})
    frames = (table, table.to_pandas(), pl.DataFrame(table), pl.DataFrame(table).lazy())
    for frame in frames:
        with open_table(frame) as rows, rows.encode([]).recode(Plan(("a", "b"), {}, {})) as released:
            back: Any = released.to_native()
        given, got = (one.collect() if isinstance(one, pl.LazyFrame) else one for one in (frame, back))
        if isinstance(given, pd.DataFrame):
            pd.testing.assert_frame_equal(got.sort_values("b", ignore_index=True), given)
        elif isinstance(given, pl.DataFrame):
            assert got.sort("b").equals(given)
        else:
            assert got.sort_by("b").equals(given)


def test_cells_become_plain_text() -> None:
    table = pa.table(
        {
            "flag": [True, False],
            "day": [datetime.date(2020, 1, 2), None],
            "moment": [datetime.datetime(2020, 1, 2, 3, 4), None],
            "float": [39.0, float("nan")],
            "none": pa.nulls(2),
            "large": pa.array(["a", ""], pa.large_string()),
        }
    )
    with open_table(table) as rows:
        assert rows.encode(table.column_names).values == {
            "flag": ("false", "true"),
            "day": ("2020-01-02", None),
            "moment": ("2020-01-02 03:04:00", None),
            "float": ("39.0", None),
            "none": (None,),
            "large": ("a", None),
        }


@pytest.mark.parametrize("cell", [[1], {"a": 1}, b"bytes"])
def test_nested_and_binary_cells_are_refused_by_column_name(cell: object) -> None:
    with open_table(pa.table({"ok": [1], "odd": [cell]})) as rows:
        assert rows.encode(["ok"]).values == {"ok": ("1",)}
        with pytest.raises(TableError, match="column 'odd' holds binary or nested cells"):
            rows.encode(["odd"])
        encoded = rows.encode([])
        with pytest.raises(TableError, match="column 'odd'"):
            encoded.recode(Plan(("odd",), {}, {}))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "a"], "'a' occurs twice"),
        (["Age", "age"], "'age' differs from 'Age' only in case"),
        (["a", ""], "column 2"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(names: list[str], message: str, tmp_path: Path) -> None:
    table = pa.table([pa.array(["1"]), pa.array(["2"])], names)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text(",".join(names) + "\n1,2\n")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    frame = pd.DataFrame([["1", "2"]], columns=names)
    for source in (table, frame, tmp_path / "t.parquet", tmp_path / "t.csv", tmp_path / "t.feather"):
        with pytest.raises(TableError, match=message):
            open_table(source)


@pytest.mark.slow
def test_what_is_no_table_is_refused_with_what_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot open int as a table; give a path to CSV"):
        open_table(7)
    with pytest.raises(TableError, match=r"nothing\.csv: no such file"):
        open_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="folder without Parquet files"):
        open_table(tmp_path)
    for name in ("t.parquet", "t.arrow", "t.duckdb"):
        (tmp_path / name).write_bytes(b"SECRET garbage" * 1000)
        with pytest.raises(TableError, match=name) as caught:
            open_table(tmp_path / name)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(TableError, match="column 'b' mixes types"):
        open_table(pd.DataFrame({"a": [1, 2], "b": pd.Series(["SECRET", 1], dtype=object)}))
    with pytest.raises(TableError, match="several levels"):
        open_table(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(TableError, match="memory limit 'plenty'"):
        open_table(arrow_table(), memory_limit="plenty")
    with pytest.raises(TableError, match="lazy frame cannot be computed"):
        open_table(pl.LazyFrame({"a": ["SECRET"]}).select(pl.col("a").cast(pl.Int64)))


@pytest.mark.slow
def test_a_database_with_several_tables_needs_a_name(tmp_path: Path) -> None:
    write_database(tmp_path / "t.duckdb")
    for name in ("", "::nothing"):
        with pytest.raises(TableError, match=r"say which table as t\.duckdb::table; it has other, people"):
            open_table(f"{tmp_path / 't.duckdb'}{name}")
    with open_table(f"{tmp_path / 't.duckdb'}::main.people") as rows:
        assert rows.count() == 6


def test_partition_folders_are_columns_of_text(tmp_path: Path) -> None:
    folder = tmp_path / "parts" / "zip=01234"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.table({"a": [1]}), folder / "x.parquet")
    with open_table(tmp_path / "parts") as rows:
        assert rows.encode(["a", "zip"]).values == {"a": ("1",), "zip": ("01234",)}
    with open_table(folder / "x.parquet") as rows:
        assert rows.columns() == ("a",)


def test_the_released_order_is_random_and_stays() -> None:
    numbers = np.arange(1000)
    with open_table(pa.table({"n": numbers, "group": numbers // 500})) as rows:
        encoded = rows.encode(["group"])
        values = encoded.values
        plan = Plan(("n", "group"), {"group": np.arange(2)}, values, frozenset({"group"}))
        first, second = (encoded.recode(plan) for _ in range(2))
        orders = [table.to_native()["n"].to_numpy() for table in (first, second)]
        assert first.to_native()["n"].to_numpy().tolist() == orders[0].tolist()
    assert orders[0].tolist() != orders[1].tolist()
    for order in orders:
        assert sorted(order) == numbers.tolist()
        # Seven standard deviations of the correlation of two independent orders of 1000 rows.
        assert abs(np.corrcoef(order, numbers)[0, 1]) < 7 / np.sqrt(1000)


def test_a_write_that_lacks_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n", "utf-8")
    with open_table(tmp_path / "t.csv") as rows:
        assert isinstance(rows, DuckRows)
        copied = {"execute.side_effect": duckdb.OutOfMemoryException("could not allocate block of size 1")}
        monkeypatch.setattr(rows.source.session, "_connection", Mock(**copied))
        with pytest.raises(OutputError, match="raise memory_limit") as raised:
            rows.write(tmp_path / "out")
        monkeypatch.undo()
    assert "free space" in str(raised.value)


@pytest.mark.slow
def test_rows_larger_than_the_memory_limit_are_released(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 1000 AS group, i % 77 AS other, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) AS first, "
            f"md5((i + 2)::VARCHAR) || md5((i + 3)::VARCHAR) AS second FROM range(500000) t(i)) TO '{path}'"
        )
    assert path.stat().st_size > 62_500_000
    with open_table(path, memory_limit="60MB", threads=2) as rows:
        encoded = rows.encode(["group", "other"])
        values = encoded.values
        counts = encoded.count_by(["group", "other"])
        assert counts.counts.sum() == 500_000
        maps = {"group": np.arange(1000) // 100, "other": np.arange(77)}
        labels = {"group": tuple(f"g{digit}" for digit in range(10)), "other": values["other"]}
        plan = Plan(("group", "other", "first", "second"), maps, labels, frozenset({"other"}))
        with encoded.recode(plan) as released:
            assert released.sizes_by(["group"]).tolist() == [50_000] * 10
            assert released.write(tmp_path).stat().st_size > 62_500_000


def test_closing_removes_the_private_folder_after_the_last_table() -> None:
    rows = open_table(arrow_table())
    folder = rows.source.session.folder  # type: ignore[attr-defined]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    encoded = rows.encode(["age"])
    released = encoded.recode(Plan(("name",), {"age": np.zeros(3, dtype=np.int64)}, {"age": ("*",)}))
    rows.close()
    rows.close()
    assert released.count() == 6
    released.close()
    assert not folder.exists()


@pytest.mark.slow
def test_forgetting_to_close_removes_the_private_folder_too() -> None:
    rows = open_table(arrow_table())
    folder = rows.source.session.folder  # type: ignore[attr-defined]
    del rows
    gc.collect()
    assert not folder.exists()


@pytest.mark.slow
def test_nothing_is_printed_when_a_program_forgets_to_close() -> None:
    program = (
        "import duckdb, numpy as np, pyarrow as pa\n"
        "from indistinct.engine import Plan, open_table\n"
        "rows = open_table(duckdb.from_arrow(pa.table({'a': ['x', 'y']})))\n"
        "encoded = rows.encode(['a'])\n"
        "released = encoded.recode(Plan(('a',), {'a': np.zeros(2, dtype=np.int64)}, {'a': ('*',)}))\n"
        "print(rows.source.session.folder, released.to_native().fetchall())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    folder, _, released = done.stdout.partition(" ")
    assert released.strip() == "[('*',), ('*',)]"
    assert not Path(folder).exists()


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted as Linux lists them")
def test_tables_that_are_kept_have_the_threads_of_one() -> None:
    before = threads_of_this_process()
    kept = [open_table(arrow_table(), threads=3)]
    with_one = threads_of_this_process()
    assert with_one > before
    kept += [open_table(arrow_table(), threads=3) for _ in range(20)]
    assert [rows.count() for rows in kept] == [6] * 21
    assert threads_of_this_process() == with_one
    for rows in kept:
        rows.close()
    assert threads_of_this_process() == before


def test_more_threads_than_the_machine_can_use_are_not_started() -> None:
    with open_table(arrow_table(), threads=100_000) as rows:
        started = rows.source.session.fetch("SELECT current_setting('threads')")[0][0]  # type: ignore[attr-defined]
    assert started <= 4 * (os.cpu_count() or 1)


def test_sessions_that_share_threads_see_nothing_of_each_other(tmp_path: Path) -> None:
    database = write_database(tmp_path / "t.duckdb")
    with open_table(database) as one, open_table(database) as other, open_table(arrow_table()) as third:
        plan = Plan(("name",), {"age": np.zeros(3, dtype=np.int64)}, {"age": ("*",)})
        released = [rows.encode(["age"]).recode(plan) for rows in (one, other, third)]
        released[0].close()
        one.close()
        assert [rows.count() for rows in released[1:]] == [6, 6]
        assert other.source.session.fetch("SHOW TABLES") != []  # type: ignore[attr-defined]
        own = other.source.session.fetch("SHOW TABLES")  # type: ignore[attr-defined]
        assert len(own) < len(other.source.session.fetch("SHOW ALL TABLES"))  # type: ignore[attr-defined]
        for rows in released[1:]:
            rows.close()


@pytest.mark.slow
def test_a_forked_process_opens_tables_of_its_own() -> None:
    program = (
        "import os, pyarrow as pa, warnings\n"
        "from indistinct.engine import open_table\n"
        "warnings.simplefilter('ignore')\n"
        "kept = open_table(pa.table({'a': ['x', 'y']}))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with open_table(pa.table({'a': ['x']})) as rows:\n"
        "        os._exit(10 + rows.encode(['a']).rows)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), kept.count())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["11", "2"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """No instance waits, and the limits of each that is started are listed here."""
    started: list[tuple[Any, ...]] = []

    class Listed(session.Instance):
        def __init__(self, *limits: Any) -> None:
            super().__init__(*limits)
            started.append(limits)

    monkeypatch.setattr(session, "Instance", Listed)
    monkeypatch.setattr(session, "_shared", weakref.WeakValueDictionary())
    monkeypatch.setattr(session, "_waiting", {})
    return started


def test_a_duckdb_that_has_served_many_sessions_is_exchanged(monkeypatch):
    """DuckDB keeps something of every query until it is closed; tables that are open stay in the old one."""
    monkeypatch.setattr(session, "_shared", weakref.WeakValueDictionary())
    monkeypatch.setattr(session, "_waiting", {})
    monkeypatch.setattr(session, "MOST_SERVED", 2)
    table = pa.table({"a": ["x", "y"]})
    first = weakref.ref(session.instance_for(None, None))
    with open_table(table) as kept:
        open_table(table).close()
        assert session.instance_for(None, None) is not first()
        assert first() is not None
        assert kept.count() == 2
    del kept
    gc.collect()
    assert first() is None
    limited = session.instance_for("1GB", 1)
    for _ in range(3):
        open_table(table, memory_limit="1GB", threads=1).close()
    assert session.instance_for("1GB", 1) is limited  # two of them would have twice the memory


def test_the_next_table_finds_an_instance_that_waits_and_nothing_in_it(
    started: list[tuple[Any, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(3):
        with open_table(arrow_table()) as rows, open_table(arrow_table()):
            plan = Plan(("name",), {"age": np.zeros(3, dtype=np.int64)}, {"age": ("*",)})
            with rows.encode(["age"]) as encoded, encoded.recode(plan):
                assert len(tables_of(rows)) == 3
        assert os.listdir(tmp_path) == []
    assert len(started) == 1
    waiting = session.instance_for(None, None)
    left = waiting.connect().execute(
        "SELECT table_name FROM information_schema.tables UNION ALL SELECT type_name FROM duckdb_types() WHERE "
        "NOT internal UNION ALL SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'session%'"
    )
    assert left.fetchall() == []
    waiting.leave()
    assert len(started) == 1


def test_an_instance_with_limits_or_that_has_spilled_waits_for_nobody(started: list[tuple[Any, ...]]) -> None:
    for _ in range(2):
        open_table(arrow_table(), threads=1).close()
    assert len(started) == 2
    with open_table(arrow_table()) as first, open_table(arrow_table()) as second:
        assert len(started) == 3
        for rows in (first, second):
            spilling = rows.source.session.fetch("SELECT current_setting('temp_directory')")[0][0]  # type: ignore[attr-defined]
        Path(spilling).mkdir()
    assert not Path(spilling).exists()
    for _ in range(2):
        open_table(arrow_table()).close()
    assert len(started) == 4


def test_a_failed_write_is_an_output_error(tmp_path: Path) -> None:
    for source in (arrow_table(), write_csv(tmp_path / "t.csv"), write_database(tmp_path / "t.duckdb")):
        with open_table(source) as rows, pytest.raises(OutputError, match="check the folder and the free space"):
            rows.write(tmp_path / "missing")


def test_what_was_not_encoded_is_not_counted_or_recoded() -> None:
    with open_table(arrow_table()) as rows:
        with pytest.raises(TableError, match="no column 'nothing'"):
            rows.encode(["nothing"])
        encoded = rows.encode(["age"])
        with pytest.raises(TableError, match="'name' was not encoded"):
            encoded.count_by(["name"])
        with pytest.raises(TableError, match="exactly the encoded columns"):
            encoded.recode(Plan(("name",), {}, {}))


@pytest.mark.parametrize("changed", ["a,b\nSECRET,1\n", "a,b\nx,1\nx,2\n", "a,b\n"])
def test_a_file_that_changed_since_it_was_counted_is_not_released(tmp_path: Path, changed: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\nx,1\n")
    with open_table(path) as rows:
        encoded = rows.encode(["a"])
        assert encoded.rows == 1
        path.write_text(changed)
        with pytest.raises(TableError, match="the table changed while it was read"):
            encoded.recode(Plan(("a", "b"), {"a": np.array([0])}, {"a": ("*",)}))
        with encoded.recode(Plan(("a",), {"a": np.array([0])}, {"a": ("*",)})) as released:
            assert released.count() == 1  # the counted rows: nothing is copied, so the file is not read again


def test_a_file_that_has_other_values_than_were_encoded_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\nx,1\n")
    with open_table(path) as rows, rows.encode(["a"]) as encoded:
        path.write_text("a,b\nSECRET,1\n")
        with pytest.raises(TableError, match="the table changed while it was read"):
            encoded.count_by(["a"])
        with pytest.raises(TableError, match="the table changed while it was read"):
            encoded.recode(Plan(("a",), {"a": np.array([0])}, {"a": ("*",)}))


@pytest.mark.slow
def test_what_is_encoded_in_between_changes_nothing(opened: Rows) -> None:
    """Codes and eligible rows belong to what was encoded, not to the table that was encoded last."""
    first = opened.encode(["age", NAMES[2]], [("age", "==", 39)])
    values = first.values
    second = opened.encode([NAMES[2]], [("age", "==", 41)])
    assert (first.rows, second.rows) == (3, 2)
    assert first.count_by(["age"]).counts.tolist() == [3]
    assert second.count_by([]).counts.tolist() == [2]
    assert first.rows_with(NAMES[2], [0]) == [1, 6]
    with first.recode(plan_for(opened, values)) as released:
        assert {normal(cell) for cell in released.texts(["age"]).read_all()["age"].to_pylist()} == {"39"}
        assert released.count() == 3
    second.close()
    assert first.count_by(["age"]).counts.tolist() == [3]


def test_what_was_encoded_does_not_change() -> None:
    with open_table(arrow_table()) as rows:
        encoded = rows.encode(["age"])
        with pytest.raises(TypeError):
            encoded.values["age"] = ()  # type: ignore[index]
        assert encoded.columns == ("age",)


def tables_of(rows: Any) -> set[str]:
    return {name for (name,) in rows.source.session.fetch("SELECT table_name FROM duckdb_tables()")}


@pytest.mark.slow
def test_codes_are_freed_when_they_are_closed_forgotten_or_their_table_is_closed() -> None:
    with open_table(arrow_table()) as rows:
        before = tables_of(rows)
        with rows.encode(["age"]) as closed:
            assert len(tables_of(rows) - before) == 1  # the values; codes are made when they are asked for
            assert closed.rows == closed.rows > 0
            assert len(tables_of(rows) - before) == 2
        assert tables_of(rows) == before
        closed.close()  # twice is harmless
        with pytest.raises(TableError, match="is closed; encode the table again"):
            closed.count_by(["age"])
        forgotten = rows.encode(["age"])
        assert forgotten.rows
        del forgotten
        gc.collect()
        kept = rows.encode(["name"])
        assert kept.rows
        assert len(tables_of(rows) - before) == 2
        released = kept.recode(Plan(("name",), {"name": np.arange(6)}, {"name": ("*",) * 6}))
        rows.close()
        with pytest.raises(TableError, match="is closed"):
            kept.count_by(["name"])
        assert len(tables_of(released)) == 1
        released.close()


def test_a_failed_encoding_leaves_no_table_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "x,1\n" * 100_000 + "y,2,3\n")
    with open_table(path) as rows:
        before = tables_of(rows)
        with pytest.raises(TableError, match="has 3 cells"):
            rows.encode(["a"])
        assert tables_of(rows) == before


@pytest.mark.slow
def test_what_is_encoded_keeps_its_table_alive() -> None:
    encoded = open_table(arrow_table()).encode(["age"])
    gc.collect()
    assert encoded.rows == 6


def test_a_limit_of_tuples_does_not_stick_to_the_callers_rows() -> None:
    with open_table(arrow_table()) as rows:
        with open_table(rows, max_tuples=5) as limited:
            assert limited.max_tuples == 5
            assert limited.encode(["age"]).max_tuples == 5
        assert rows.max_tuples is None
        assert rows.encode(["age"]).max_tuples is None
        assert rows.count() == 6  # closing the other let these rows be
    with open_table(arrow_table(), max_tuples=5) as fresh:
        assert fresh.max_tuples == 5
        folder = fresh.source.session.folder  # type: ignore[attr-defined]
        assert fresh.count() == 6
    assert not folder.exists()


OWN_WORDS = ("sign", "t0", "p0", "digest", "g0", "text", "size", "n", "y0", "k0", "cells", "label")
"""Names that statements give to cells of theirs; a column may have any of them."""


def test_columns_may_have_the_names_that_statements_use() -> None:
    table = pa.table({name: ["a", "b", "b"] for name in OWN_WORDS})
    with open_table(table) as rows, open_table(table.slice(0, 2)) as others:
        assert rows.difference(others, OWN_WORDS) == 1
        assert rows.repeats_of(OWN_WORDS, [("sign", "present", None)]) == (3, 2)
        assert sorted(rows.sizes_by(OWN_WORDS)) == [1, 2]
        assert rows.sizes_by(["g0", "text"], ["p0"]).tolist() == [1, 1]
        assert rows.values_by(["text", "g0"], "size").counts.tolist() == [1, 2]
        with rows.with_profiles(["text", "cells"], ["p0"], ".profile") as profiled:
            assert profiled.repeats_of([".profile"]) == (3, 2)
        with rows.with_names({}).with_labels({"label": {"a": "1", "b": "2"}, "digest": {"a": None, "b": "x"}}) as told:
            found: Any = told.to_native()
            assert sorted(found["label"].to_pylist()) == ["1", "2", "2"]
            assert sorted(found["sign"].to_pylist()) == ["a", "b", "b"]


@pytest.mark.parametrize("name", ["number", "Number", "id", "tuple", "k", "k0", "s0", "is_eligible", "text", "code"])
def test_rows_are_named_by_their_place_whatever_a_column_is_called(name):
    """A column called ``number`` was once taken for the number of the row, so that messages quoted its cells."""
    table = pa.table({name: ["77", "88", "99", "88"], "b": ["x", "y", "z", "y"]})
    with open_table(table) as rows, rows.encode([name, "b"], [("b", "!=", "x")]) as encoded:
        assert encoded.rows_with(name, [encoded.values[name].index("88")]) == [2, 4]
        assert encoded.rows_with("b", [encoded.values["b"].index("z")]) == [3]
        alike = encoded.rows_like({name: [encoded.values[name].index("88")]}, ["b"])
        assert alike.to_pydict() == {"tuple": [0, 0], "number": [2, 4], "s0": ["y", "y"]}
