"""SparkRows: the engine's verbs on a DataFrame of Spark.

Spark computes a frame anew wherever a machine, a task or a cached block is lost, and rows may then arrive in another
order. So nothing here depends on the order of rows, on ``rand()`` or on row numbers: what has to be random is drawn
once on the driver, and what is done to a row follows from that draw and from the cells of the row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from indistinct.engine.arrays import numbers
from indistinct.engine.number_texts import are_whole
from indistinct.engine.plans import (
    Condition,
    ValueCounts,
)
from indistinct.engine.rows import Rows
from indistinct.engine.spark.cells import FLOATING, PLAIN, Cell, text_of
from indistinct.engine.spark.encoded import SparkEncoded
from indistinct.engine.spark.failures import let_go, spark_errors, telling_errors
from indistinct.engine.spark.session import spark_path
from indistinct.engine.spark.source import SparkSource, eligible, has_text, plain_strings, strings
from indistinct.errors import OutputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MOST_TUPLES = 20_000_000
"""So many tuples come to the driver if nothing else is said."""
ROWS_PER_BATCH = 10_000


@telling_errors
class SparkRows(Rows):
    """A DataFrame of Spark, classic or Connect. Its rows stay in Spark; dictionaries and counts come to the driver.

    Inside, columns are called x0, x1, … so that no name needs quoting.
    """

    def __init__(
        self, frame: DataFrame, name: str, *, is_kept: bool = False, max_tuples: int | None = MOST_TUPLES
    ) -> None:
        """Take a frame; one that ``is_kept`` was computed and stored for this table and is let go with it."""
        super().__init__(name, "spark", max_tuples)
        self.source = SparkSource(frame, name)
        self._kept = frame if is_kept else None
        self._count: int | None = None

    def columns(self) -> tuple[str, ...]:
        return self.source.names

    def count(self) -> int:
        if self._count is None:
            self._count = self.source.rows_of(self.source.frame)
        return self._count

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> SparkEncoded:
        self.encodings.free_forgotten()
        return SparkEncoded(self, columns, where)

    def with_max_tuples(self, max_tuples: int) -> SparkRows:
        return SparkRows(self.source.given, self.name, max_tuples=max_tuples)

    def with_names(self, names: Mapping[str, str]) -> SparkRows:
        frame = self.source.given.toDF(*(names.get(column, column) for column in self.columns()))
        return SparkRows(frame, self.name, max_tuples=self.max_tuples)

    def with_missing(self, texts: Mapping[str, Sequence[str]], left_out: Mapping[str, Sequence[str]]) -> SparkRows:
        source = self.source
        cells = [
            f"CASE WHEN {has_text(source.cell(column), texts[column])} THEN NULL ELSE x{number} END AS x{number}"
            if texts.get(column)
            else f"x{number}"
            for number, column in enumerate(self.columns())
        ]
        out = " OR ".join(has_text(source.cell(column), some) for column, some in left_out.items() if some)
        frame = source.frame.where(f"NOT ({out or 'false'})").selectExpr(*cells).toDF(*self.columns())
        return SparkRows(frame, self.name, max_tuples=self.max_tuples)

    def with_labels(self, labels: Mapping[str, Mapping[str | None, str | None]]) -> SparkRows:
        source, frame = self.source, self.source.frame
        cells = {number: f"x{number}" for number in range(len(self.columns()))}
        for place, (column, own) in enumerate(labels.items()):
            cell, number = source.cell(column), self.columns().index(column)
            listed = pa.table({"text": strings([text or "" for text in own]), f"l{place}": strings(list(own.values()))})
            key = f"CAST(try_cast(text AS {cell.kind}) AS STRING)" if not cell.has_common_keys else "text"
            known = source.send(listed).selectExpr(f"coalesce({key}, '') AS k{place}", f"l{place}")
            frame = frame.selectExpr("*", f"{cell.key} AS k{place}").join(known, f"k{place}", "left")
            whole = are_whole(own.values())
            is_own = whole is not None and (cell.kind in FLOATING or (whole and cell.kind in PLAIN and cell.is_number))
            cells[number] = f"CAST(l{place} AS {cell.kind})" if is_own else f"l{place}"
        told = frame.selectExpr(*(f"{cell} AS x{number}" for number, cell in cells.items())).toDF(*self.columns())
        rows = SparkRows(told, self.name, max_tuples=self.max_tuples)
        rows._kept, self._kept = self._kept, None
        self.close()
        return rows

    def derive(self, kept: DataFrame) -> SparkRows:
        """Return a frame that was computed and stored for it as rows."""
        return SparkRows(kept, self.name, is_kept=True)

    def to_native(self) -> object:
        return self.source.given

    def write(self, folder: Path, name: str = "table") -> Path:
        path = Path(folder) / f"{name}.parquet"
        _write_parquet(self.source.given, path, self.count())
        return path

    def format(self) -> dict[str, str]:
        return {}

    def reading(self) -> dict[str, Any]:
        return {"engine": self.source.session}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        names = [f"k{position}" for position in range(len(columns))]
        mine, theirs = self._comparable(other, columns)
        signed = mine.selectExpr("*", "1 AS sign").union(theirs.selectExpr("*", "-1 AS sign"))
        surplus = signed.groupBy(*names).agg({"sign": "sum"}).toDF(*names, "n").where("n > 0")
        return self.source.total(surplus)

    def sizes_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> NDArray[np.int64]:
        names = [f"k{position}" for position in range(len(columns))]
        counted = self._keys_apart(columns, names, person).groupBy(*names).count().where("count > 0")
        ordered = counted.orderBy(*names) if names and person else counted
        return numbers(self.source.collect(ordered.select("count"))["count"]).astype(np.int64)

    def repeats_of(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> tuple[int, int]:
        names = [f"k{position}" for position in range(len(columns))]
        keys = self.source.keys(columns, names, eligible(where, self.source.cell))
        present = keys.where(" AND ".join(f"{name} <> ''" for name in names))
        return self.source.rows_of(present), self.source.rows_of(present.distinct())

    def _keys_apart(self, columns: Sequence[str], names: Sequence[str], person: Sequence[str]) -> DataFrame:
        """Return the keys of some columns for each row, or once for each person."""
        if not person:
            return self.source.keys(columns, names)
        return self.source.keys([*columns, *person], [*names, *(f"p{n}" for n in range(len(person)))]).distinct()

    def values_by(self, columns: Sequence[str], column: str, person: Sequence[str] = ()) -> ValueCounts:
        names = [f"k{position}" for position in range(len(columns))]
        counted = self._keys_apart([*columns, column], [*names, "key"], person).groupBy(*names, "key").count()
        pairs = counted.selectExpr(*names, "struct(key, count) AS pair")
        grouped = pairs.groupBy(*names).agg({"pair": "collect_list"}).toDF(*names, "pairs")
        ordered = grouped.orderBy(*names) if names else grouped
        table = self.source.collect(ordered.selectExpr("pairs.key AS keys", "pairs.count AS sizes")).combine_chunks()
        nothing = np.zeros(0, np.int64)
        if not table.num_rows or not len(table["sizes"].combine_chunks().flatten()):
            return ValueCounts(nothing, nothing, nothing, ())
        keys, sizes = (table[name].combine_chunks() for name in ("keys", "sizes"))
        lengths = np.diff(np.from_dlpack(keys.offsets))
        coded = keys.flatten().dictionary_encode()
        texts = [self.source.cell(column).text(key) for key in coded.dictionary.to_pylist()]
        order = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
        number = np.empty(len(texts), np.int64)
        number[order] = np.arange(len(texts))
        return ValueCounts(
            np.repeat(np.arange(len(lengths)), lengths),
            number[np.from_dlpack(coded.indices)],
            np.from_dlpack(sizes.flatten()).astype(np.int64),
            tuple(texts[code] for code in order),
        )

    def mixed_missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        cells = {column: self.source.cell(column) for column in columns}
        asked = {column: cell for column, cell in cells.items() if cell.is_text or cell.kind in FLOATING}
        if not asked:
            return ()
        forms = [
            f"count(*) > count({cell.name}) AND count({cell.name}) > count({cell.own}) AS m{position}"
            for position, cell in enumerate(asked.values())
        ]
        found = self.source.collect(self.source.frame.selectExpr(*forms)).to_pylist()[0].values()
        return tuple(column for column, is_mixed in zip(asked, found, strict=True) if is_mixed)

    def head(self, rows: int) -> pa.Table:
        return self.source.collect(self.source.given.limit(int(rows)))

    def row_at(self, number: int) -> pa.Table:
        raise TableError(f"{self.name}: rows of Spark have no order; name a row of a file")

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream, one partition at a time; for tables that leave Spark."""
        cells = [self.source.cell(column) for column in columns]
        frame = self.source.keys(columns, [f"k{position}" for position in range(len(columns))])
        schema = pa.schema([(column, pa.string()) for column in columns])

        def batches() -> Iterator[pa.RecordBatch]:
            waiting: list[Any] = []
            with spark_errors(self.name):
                for row in frame.toLocalIterator():
                    waiting.append(row)
                    if len(waiting) == ROWS_PER_BATCH:
                        yield _batch(waiting, cells, schema)
                        waiting = []
            if waiting:
                yield _batch(waiting, cells, schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def with_profiles(self, columns: Sequence[str], person: Sequence[str], name: str) -> SparkRows:
        keys = [self.source.cell(column).key for column in columns]
        whose = [f"{self.source.cell(column).key} AS p{number}" for number, column in enumerate(person)]
        names = [f"p{number}" for number in range(len(person))]
        row = f"concat({_with_lengths(keys)})"
        rows = self.source.frame.selectExpr(*whose, f"{row} AS row").groupBy(*names)
        listed = rows.agg({"row": "collect_list"}).toDF(*names, "rows")
        ordered = "transform(array_sort(rows), one -> concat(length(one), ':', one))"
        digest = f"sha2(concat(size(rows), '|', array_join({ordered}, '')), 256) AS digest"
        profiles = listed.selectExpr(*names, digest)
        own = [f"x{number} AS x{number}" for number in range(len(self.columns()))]
        told = self.source.frame.selectExpr(*whose, *own).join(profiles, names)
        shown = [f"x{number}" for number in range(len(self.columns()))]
        return SparkRows(told.select(*shown, "digest").toDF(*self.columns(), name), self.name)

    def with_pseudonyms(self, person: Sequence[str], key: bytes, name: str) -> SparkRows:
        block = key.ljust(64, b"\0")
        inner, outer = (f"unhex('{bytes(byte ^ pad for byte in block).hex()}')" for pad in (0x36, 0x5C))
        texts = [self.source.cell(column).key for column in person]
        message = f"encode(concat({_with_lengths(texts)}), 'UTF-8')"
        hmac = f"sha2(concat({outer}, unhex(sha2(concat({inner}, {message}), 256))), 256)"
        left = [number for number, column in enumerate(self.columns()) if column not in person]
        told = self.source.frame.selectExpr(*(f"x{number}" for number in left), f"substr({hmac}, 1, 32) AS pseudonym")
        rows = SparkRows(told.toDF(*(self.columns()[number] for number in left), name), self.name)
        rows._kept, self._kept = self._kept, None
        self.close()
        return rows

    def without(self, columns: Sequence[str]) -> SparkRows:
        rows = SparkRows(self.source.given.drop(*columns), self.name)
        rows._kept, self._kept = self._kept, None
        self.close()
        return rows

    def close(self) -> None:
        self.encodings.close()
        if self._kept is not None:
            let_go(self._kept)
            self._kept = None

    def _comparable(self, other: Rows, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
        """Return the rows of two tables as texts k0, k1, … that are equal where cells are."""
        names = [f"k{position}" for position in range(len(columns))]
        if not isinstance(other, SparkRows):
            theirs = self.source.session.createDataFrame(plain_strings(other.texts(columns).read_all())).toDF(*names)
            return self._common_texts(columns, names), theirs.na.fill("")
        if all(self.source.cell(column).kind == other.source.cell(column).kind for column in columns):
            return self.source.keys(columns, names), other.source.keys(columns, names)
        return self._common_texts(columns, names), other._common_texts(columns, names)

    def _common_texts(self, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        """Return the texts of all rows as every engine gives them, missing as empty text."""
        cells = [self.source.cell(column) for column in columns]
        keys = self.source.keys(columns, names)
        if all(cell.has_common_keys for cell in cells):
            return keys
        return keys.mapInArrow(_to_common_texts([cell.kind for cell in cells]), ", ".join(f"{n} string" for n in names))


def _with_lengths(texts: Sequence[str]) -> str:
    """Return the SQL of several cells one after the other; their lengths keep them apart."""
    return ", ".join(f"length({text}), ':', {text}" for text in texts)


def _batch(rows: Sequence[Any], cells: Sequence[Cell], schema: pa.Schema) -> pa.RecordBatch:
    columns = [strings([cell.text(row[position]) for row in rows]) for position, cell in enumerate(cells)]
    return pa.record_batch(columns, schema=schema)


def _to_common_texts(kinds: Sequence[str]) -> Any:
    """Return what turns batches of keys into common texts on an executor, where indistinct must be installed."""

    def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                pa.array([text_of(kind, key) or "" for key in column.to_pylist()], pa.string())
                for kind, column in zip(kinds, batch.columns, strict=True)
            ]
            yield pa.record_batch(columns, batch.schema.names)

    return convert


def _write_parquet(frame: DataFrame, path: Path, rows: int) -> None:
    """Write all rows to a folder of Parquet files, and leave nothing else in it.

    Spark gives the folder its files only when all tasks have succeeded. If the executors have another disk than the
    driver, the folder is there, but the files are not: that is found out by counting.
    """
    try:
        with spark_errors(path.name):
            frame.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(path))
    except TableError as error:
        raise OutputError(f"{path.name}: cannot be written to {path.parent}: {error}") from None
    for place in (*path.glob(".*.crc"), *path.glob("_*")):
        place.unlink()
    try:
        written = sum(pyarrow.parquet.read_metadata(part).num_rows for part in path.glob("*.parquet"))
    except (OSError, pa.ArrowException):
        written = -1
    if written != rows:
        raise OutputError(
            f"{path.name}: the executors of Spark do not write where the driver reads; "
            "name a folder on storage that all machines share"
        )
