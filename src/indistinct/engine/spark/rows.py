"""SparkRows: the engine's verbs on a DataFrame of Spark.

Spark computes a frame anew wherever a machine, a task or a cached block is lost, and rows may then arrive in another
order. So nothing here depends on the order of rows, on ``rand()`` or on row numbers: what has to be random is drawn
once on the driver, and what is done to a row follows from that draw and from the cells of the row alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from indistinct.engine.arrays import numbers
from indistinct.engine.plans import Condition, FragmentPlan
from indistinct.engine.rows import Rows
from indistinct.engine.spark.dialect import SparkCell, text_of
from indistinct.engine.spark.failures import let_go, spark_errors, telling_errors
from indistinct.engine.spark.fragments import groups_of_pieces, pieces_of_fragments, rows_of_pieces
from indistinct.engine.spark.session import spark_path
from indistinct.engine.spark.source import SparkSource, plain_strings, strings
from indistinct.engine.sql.keyed import KeyedEncoded, KeyedRows
from indistinct.engine.sql.rows import surplus
from indistinct.errors import OutputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MOST_TUPLES = 20_000_000
"""So many tuples come to the driver if nothing else is said."""
ROWS_PER_BATCH = 10_000
ROWS_PER_PART = 250_000
"""Released rows stand in parts of about so many, each of which becomes a file."""


@telling_errors
class SparkRows(KeyedRows):
    """A DataFrame of Spark, classic or Connect. Its rows stay in Spark; dictionaries and counts come to the driver.

    Inside, columns are called x0, x1, … so that no name needs quoting.
    """

    source: SparkSource

    def __init__(
        self, frame: DataFrame, name: str, *, is_kept: bool = False, max_tuples: int | None = MOST_TUPLES
    ) -> None:
        """Take a frame; one that ``is_kept`` was computed and stored for this table and is let go with it."""
        super().__init__(name, "spark", max_tuples)
        self.source = SparkSource(frame, name)
        self._kept = frame if is_kept else None

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> SparkEncoded:
        self.encodings.free_forgotten()
        return SparkEncoded(self, columns, where)

    def with_max_tuples(self, max_tuples: int) -> SparkRows:
        return SparkRows(self.source.given, self.name, max_tuples=max_tuples)

    def select(
        self, cells: Mapping[str, str], rows: str, typed: frozenset[str], *, is_stored: bool = False
    ) -> SparkRows:
        shown = ", ".join(f"{sql} AS x{number}" for number, sql in enumerate(cells.values()))
        frame = self.source.select(f"SELECT {shown} FROM {rows}").toDF(*cells)
        return SparkRows(frame, self.name, max_tuples=self.max_tuples)

    def close_but_for(self, derived: SparkRows) -> None:
        derived._kept, self._kept = self._kept, None
        self.close()

    def release(self, query: str, columns: Sequence[str], rows: int) -> SparkRows:
        return self.release_frame(self.source.select(query), columns, rows)

    def release_frame(self, frame: DataFrame, columns: Sequence[str], rows: int) -> SparkRows:
        """Return released rows in random order, computed and kept; raise if they are not those that were counted.

        The order is that of a hash of the whole row under a secret, so it is random, but stays the same when Spark
        computes it again; and it says nothing of the order of the source, since it follows from what is released.
        """
        cells = list(frame.columns)
        secret = self.source.dialect.text(secrets.token_hex(32))
        hashed = frame.selectExpr("*", f"xxhash64({', '.join([secret, *cells])}) AS place")
        parts = -(-max(1, rows) // ROWS_PER_PART)
        ordered = hashed.repartition(parts, "place").sortWithinPartitions("place", *cells).drop("place")
        released = SparkRows(self.source.keep(ordered.toDF(*columns)), self.name, is_kept=True)
        if released.count() != rows:
            released.close()
            self.source.refuse_changed(True)
        return released

    def to_native(self) -> object:
        return self.source.given

    def write(self, folder: Path, name: str = "table", kind: str | None = None) -> Path:
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
        mine, theirs = self._comparable(other, columns)
        query = surplus("SELECT * FROM {mine}", "SELECT * FROM {theirs}", len(columns))
        return int(self.source.collect(self.source.select(query, mine=mine, theirs=theirs))["n"][0].as_py())

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


@telling_errors
class SparkEncoded(KeyedEncoded):
    """The distinct tuples of keys of a frame."""

    can_work_in_fragments = True
    _source: SparkSource
    _table: SparkRows

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        self.refuse_closed()
        pieces = self._source.keep(pieces_of_fragments(self._source, self._made, plan))
        groups = groups_of_pieces(self._source, pieces, plan)
        frame = rows_of_pieces(self._source, self._made, pieces, plan)
        released = self._table.release_frame(frame, plan.columns, int(numbers(groups["n"]).sum()))
        let_go(pieces)
        return released, groups


def _batch(rows: Sequence[Any], cells: Sequence[SparkCell], schema: pa.Schema) -> pa.RecordBatch:
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
