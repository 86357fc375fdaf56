"""Spans of time in every kind of table: released, written, verified and given back as they came."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.engine.arrays import without_rests
from indistinct.engine.duckdb.table_files import with_durations

SPANS = [
    datetime.timedelta(seconds=90),
    None,
    datetime.timedelta(days=-3, microseconds=7),
    datetime.timedelta(days=400, hours=30),
    None,
    datetime.timedelta(0),
]
POLICY = ix.Policy(columns={"age": ix.quasi(ix.intervals(10)), "stay": ix.other()}, privacy=[ix.KAnonymity(2)])


def _arrow(unit: str = "us") -> pa.Table:
    stays = pa.array(SPANS, pa.duration("us")).cast(pa.duration(unit), safe=False)
    return pa.table({"age": ["20", "21", "22", "31", "32", "33"], "stay": stays})


def _relation(folder: Path) -> Any:
    arrow = _arrow()
    return duckdb.connect().from_arrow(arrow)


def _feather(folder: Path) -> Path:
    """Pandas marks missing spans by the least number that there is, which stays behind the missing cell."""
    _arrow().to_pandas().astype({"stay": "timedelta64[ns]"}).to_feather(folder / "t.feather")
    return folder / "t.feather"


def _database(folder: Path) -> Path:
    arrow = _arrow()  # noqa: F841 (DuckDB finds it by its name)
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT * FROM arrow")
    return folder / "t.duckdb"


KINDS: dict[str, Callable[[Path], Any]] = {
    "Arrow": lambda folder: _arrow(),
    "Arrow, seconds": lambda folder: _arrow("s"),
    "pandas": lambda folder: _arrow().to_pandas().astype({"stay": "timedelta64[ns]"}),
    "Polars": lambda folder: pl.DataFrame(_arrow()),
    "lazy Polars": lambda folder: pl.DataFrame(_arrow()).lazy(),
    "lazy Polars, milliseconds": lambda folder: pl.DataFrame(_arrow("ms")).lazy(),
    "a relation": _relation,
    "a feather file": _feather,
    "a database": _database,
}


def _spans(table: Any) -> list[Any]:
    """Return the spans of a released table, whatever library it is of."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, duckdb.DuckDBPyRelation):
        return [span for (span,) in table.project("stay").fetchall()]
    if isinstance(table, pd.DataFrame):
        return [None if pd.isna(span) else span.to_pytimedelta() for span in table["stay"]]
    if isinstance(table, pl.DataFrame):
        return table["stay"].to_list()
    return with_durations(table)["stay"].to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_with_spans_of_time_is_written_and_verifies(kind: str, tmp_path: Path) -> None:
    table = KINDS[kind](tmp_path)
    release = ix.anonymize(table, POLICY)
    unit = "s" if kind == "Arrow, seconds" else "ms" if "milliseconds" in kind else "us"
    assert sorted(_spans(release.table), key=str) == sorted(_arrow(unit)["stay"].to_pylist(), key=str)
    release.write(tmp_path / "out")
    verdict = ix.verify(tmp_path / "out", POLICY, original=table, canonical=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", KINDS)
def test_spans_of_time_are_the_same_cells_in_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    """Else a hierarchy that lists them would fit one kind and not the other."""
    with open_table(KINDS[kind](tmp_path)) as rows:
        texts = set(rows.encode(["stay"]).values["stay"])
    assert {"00:01:30", "9630:00:00", "00:00:00", None} <= texts


@pytest.mark.slow
def test_spans_of_days_and_months_keep_them(tmp_path: Path) -> None:
    spans = [(1, 2, 3_000), (0, 40, 0), None, (14, 0, -5_000)]
    table = pa.table({"age": ["20", "21", "22", "23"], "stay": pa.array(spans, pa.month_day_nano_interval())})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    for source in (table, tmp_path / "t.arrow"):
        release = ix.anonymize(source, POLICY)
        assert sorted(map(str, release.table["stay"].to_pylist())) == sorted(map(str, table["stay"].to_pylist()))  # type: ignore[index]
        release.write(tmp_path / "out", replace=True)
        verdict = ix.verify(tmp_path / "out", POLICY, original=source, canonical=True)
        assert verdict.passed, verdict


def test_parquet_files_have_spans_as_text_that_every_reader_takes(tmp_path: Path) -> None:
    """Parquet's own type counts whole milliseconds, none below zero, and most readers give it as bytes."""
    ix.anonymize(_arrow(), POLICY).write(tmp_path / "out")
    cells = pq.read_table(tmp_path / "out" / "table.parquet")["stay"].to_pylist()
    assert sorted(map(str, cells)) == sorted(["00:01:30", "None", "-71:59:59.999993", "9630:00:00", "None", "00:00:00"])


def test_an_arrow_file_has_durations_where_no_span_has_days_or_months(tmp_path: Path) -> None:
    ix.anonymize(_feather(tmp_path), POLICY).write(tmp_path / "out")
    assert pa.feather.read_table(tmp_path / "out" / "table.arrow").schema.field("stay").type == pa.duration("us")


def test_nothing_is_left_behind_missing_cells() -> None:
    """What stands there is left of other rows or of other memory; whoever gets the table gets it as well."""
    for kind in (pa.int16(), pa.float64(), pa.duration("us"), pa.date32(), pa.bool_(), pa.binary(3)):
        bits = pa.py_buffer(np.packbits([1, 0, 0, 1, 0, 1], bitorder="little"))
        holed = pa.Array.from_buffers(kind, 6, [bits, pa.py_buffer(bytes(range(1, 49)))])
        for part in (holed, holed.slice(1), holed.slice(2, 3)):
            cleared = without_rests(pa.table({"a": part}))["a"].chunk(0)
            assert cleared.equals(part)
            shown = pa.Array.from_buffers(kind, len(cleared), [None, cleared.buffers()[1]])
            nothing = pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(bytes(8))])
            assert shown.filter(cleared.is_null()).unique().equals(nothing)
