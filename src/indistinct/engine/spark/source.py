"""SparkSource: a DataFrame of Spark whose columns need no quoting, and what goes between it and the driver.

Dictionaries are on the driver: the keys of each column in the order of their codes, and tuples as codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.plans import Condition, Counts
from indistinct.engine.rows import check_names
from indistinct.engine.spark.dialect import SPARK, SparkCell
from indistinct.engine.spark.failures import let_go
from indistinct.engine.sql.conditions import eligible
from indistinct.engine.sql.rows import SqlSource
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MOST_BROADCAST = 1_000_000
"""Tables of so many rows are sent to every executor; Spark decides how to join larger ones."""
FEW_TUPLES = 200_000
"""So many tuples come to the driver as texts, which saves Spark several jobs; more of them come as codes."""
Values = Mapping[str, tuple[str | None, ...]]
"""The distinct values of some columns."""


class SparkSource(SqlSource):
    """A DataFrame, classic or Connect, with columns x0, x1, … so that no name needs quoting.

    Statements call it ``{rows}``, which PySpark replaces by the frame, and tables of the driver ``{sent0}``, ….
    """

    dialect = SPARK
    relation = "{rows}"

    def __init__(self, frame: DataFrame, name: str) -> None:
        self.name = name
        self.given = frame
        self.names = tuple(frame.columns)
        check_names(name, self.names)
        self.types = dict(frame.dtypes)
        self.frame = frame.toDF(*(f"x{position}" for position in range(len(self.names))))
        self._sent: dict[str, DataFrame] = {}

    @property
    def session(self) -> SparkSession:
        """The session that the frame belongs to."""
        return self.given.sparkSession

    def cell(self, column: str) -> SparkCell:
        if column not in self.types:
            raise TableError(f"{self.name}: no column {column!r}")
        return SparkCell.of(self.name, column, self.identifier(column), self.types[column])

    def identifier(self, column: str) -> str:
        return f"x{self.names.index(column)}"

    def select(self, sql: str, **frames: DataFrame) -> DataFrame:
        """Return the frame of a query of these rows, and of other frames by the names that it has for them."""
        named: dict[str, Any] = {"rows": self.frame, **self._sent, **frames}
        return self.session.sql(sql, None, **named)

    def arrow(self, sql: str) -> pa.Table:
        return self.collect(self.select(sql))

    def relation_of(self, table: pa.Table) -> str:
        name = f"sent{len(self._sent)}"
        self._sent[name] = self.send(table)
        return f"{{{name}}}"

    def keys(self, columns: Sequence[str], names: Sequence[str], where: str = "true") -> DataFrame:
        """Return the keys of some columns; without columns, rows of nothing."""
        cells = [f"{self.cell(column).key} AS {name}" for column, name in zip(columns, names, strict=True)]
        return self.frame.where(where).selectExpr(*cells or ["1 AS nothing"])

    def keyed_rows(self, encoding: Encoding, own: Iterable[str]) -> DataFrame:
        """Return the eligible rows: k0, k1, … are keys of encoded columns, o0, o1, … cells in their own type."""
        keys = [f"{self.cell(column).key} AS k{position}" for position, column in enumerate(encoding.columns)]
        cells = [f"{self.cell(column).own} AS o{position}" for position, column in enumerate(own)]
        return self.frame.where(encoding.where).selectExpr(*[*keys, *cells] or ["1 AS n"])

    def send(self, table: pa.Table) -> DataFrame:
        """Return a table of the driver as a frame, sent to every executor unless it is large."""
        frame = self.session.createDataFrame(plain_strings(table))
        return frame.hint("broadcast") if len(table) <= MOST_BROADCAST else frame

    def collect(self, frame: DataFrame) -> pa.Table:
        """Return what a frame holds; it must not be as large as the rows."""
        return frame.toArrow()

    def total(self, frame: DataFrame) -> int:
        """Return the sum of the column n."""
        return int(self.collect(frame.selectExpr("coalesce(sum(n), 0) AS n"))["n"][0].as_py())

    def keep(self, frame: DataFrame) -> DataFrame:
        """Return a frame that Spark stores once it is computed, where it can: serverless sessions store nothing."""
        from pyspark.errors import PySparkException

        try:
            return frame.persist()
        except PySparkException:
            return frame

    def numbered_rows(self, where: str = "true") -> DataFrame:
        """Return rows with an id that rises in the order in which Spark holds them."""
        return self.frame.selectExpr("*", "monotonically_increasing_id() AS id").where(where)

    def row_numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row numbers, from 1, of such ids, which have the part in their upper bits."""
        if not len(ids):
            return ids.astype(np.int64)
        found = self.collect(self.frame.selectExpr("spark_partition_id() AS part").groupBy("part").count())
        parts, sizes = numbers(found["part"]), numbers(found["count"])
        size_of = np.zeros(int(parts.max()) + 2, np.int64)
        size_of[parts + 1] = sizes
        before: NDArray[np.int64] = np.cumsum(size_of)[ids >> 33]
        return before + (ids & ((1 << 33) - 1)) + 1


def join_rows(rows: DataFrame, other: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return rows joined with another frame by these columns; without columns each with each."""
    return rows.join(other, list(names)) if names else rows.crossJoin(other)


def plain_strings(table: pa.Table) -> pa.Table:
    """Return a table without large strings, which older servers do not take."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_large_string(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


@dataclass(frozen=True, slots=True)
class Encoding:
    """Dictionaries: ``keys`` has those of each column in the order of their codes.

    ``tuples`` is a frame of the distinct keys k0, k1, … of the eligible rows with the number of rows n. ``counted`` are
    their codes and numbers of rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    tuples: DataFrame
    where: str
    counted: Counts | None

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)

    def free(self) -> None:
        """Let go of tuples that Spark stores."""
        if self.counted is None:
            let_go(self.tuples)

    def key_columns(self, codes: Sequence[NDArray[Any]]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            f"k{position}": keys.take(integers(np.asarray(own, np.int64)))
            for position, (keys, own) in enumerate(zip(self.keys, codes, strict=True))
        }


def make_encoding(source: SparkSource, columns: Sequence[str], where: Sequence[Condition]) -> tuple[Encoding, Values]:
    """Count the tuples of keys of the eligible rows; return them, and the distinct values of each column."""
    columns = tuple(columns)
    cells = [source.cell(column) for column in columns]
    condition = eligible(where, source.cell)
    names = [f"k{position}" for position in range(len(cells))]
    keys = source.keys(columns, names, condition)
    tuples = keys.groupBy(*names).count().where("count > 0").toDF(*names, "n")
    few = source.collect(tuples.limit(FEW_TUPLES + 1))
    is_few = len(few) <= FEW_TUPLES
    if not is_few:
        tuples = source.keep(tuples)
    found = [few[name] for name in names] if is_few else _distinct_keys(source, tuples, names)
    dictionaries = [sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
    counted = None
    if is_few:
        codes = tuple(codes_of(own, keys) for own, keys in zip(found, dictionaries, strict=True))
        counted = Counts(codes, numbers(few["n"]).astype(np.int64))
    values = {
        column: tuple(cell.text(key) for key in own)
        for column, cell, own in zip(columns, cells, dictionaries, strict=True)
    }
    return Encoding(columns, tuple(map(strings, dictionaries)), tuples, condition, counted), values


def _distinct_keys(source: SparkSource, tuples: DataFrame, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return the distinct keys of each column, all in one pass over the tuples."""
    pairs = ", ".join(f"{position}, {name}" for position, name in enumerate(names))
    stacked = tuples.selectExpr(f"stack({len(names)}, {pairs}) AS (position, key)").distinct()
    table = source.collect(stacked)
    positions = numbers(table["position"])
    return [table["key"].take(integers(np.flatnonzero(positions == place))) for place in range(len(names))]


def sorted_keys(cell: SparkCell, found: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys among those found, by the code points of their texts, missing last."""
    return sorted(found.unique().to_pylist(), key=lambda key: (key == "", cell.text(key) or ""))


def codes_of(found: pa.ChunkedArray, keys: Sequence[str]) -> NDArray[np.uint32]:
    """Return the position of each text among the keys."""
    encoded = found.combine_chunks().dictionary_encode()
    code_of = {key: code for code, key in enumerate(keys)}
    own = np.array([code_of[key] for key in encoded.dictionary.to_pylist()], np.uint32)
    codes: NDArray[np.uint32] = own[np.from_dlpack(encoded.indices)]
    return codes


def are_among(
    tuples: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]], length: int
) -> NDArray[np.bool_]:
    """Return which tuples of codes, one array per column, are among the wanted ones; without columns none is."""
    if not tuples or not len(wanted[0]):
        return np.zeros(length, np.bool_)
    both = np.stack([np.concatenate([own, np.asarray(other)]) for own, other in zip(tuples, wanted, strict=True)])
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    return np.isin(number[:length], number[length:])


def keyed_pieces(part: pa.Table, encoding: Encoding) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(encoding.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(encoding.key_columns(codes) | others)


def strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())
