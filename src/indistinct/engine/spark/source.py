"""SparkSource: a DataFrame of Spark whose columns need no quoting, and what goes between it and the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import numbers
from indistinct.engine.rows import check_names
from indistinct.engine.spark.cells import Cell
from indistinct.engine.spark.session import spark_errors
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from indistinct.engine.spark.encoding import Encoding

MOST_BROADCAST = 1_000_000
"""Tables of so many rows are sent to every executor; Spark decides how to join larger ones."""


class SparkSource:
    """A DataFrame, classic or Connect, with columns x0, x1, … so that no name needs quoting."""

    def __init__(self, frame: DataFrame, name: str) -> None:
        self.name = name
        self.given = frame
        self.names = tuple(frame.columns)
        check_names(name, self.names)
        with spark_errors(name):
            self.kinds = dict(frame.dtypes)
        self.frame = frame.toDF(*(f"x{position}" for position in range(len(self.names))))

    @property
    def session(self) -> SparkSession:
        """The session that the frame belongs to."""
        return self.given.sparkSession

    def cell(self, column: str) -> Cell:
        """Return the cells of a column, or raise if there is none or they cannot be compared as text."""
        if column not in self.kinds:
            raise TableError(f"{self.name}: no column {column!r}")
        return Cell.of(self.name, column, f"x{self.names.index(column)}", self.kinds[column])

    def keys(self, columns: Sequence[str], names: Sequence[str], where: str = "true") -> DataFrame:
        """Return the keys of some columns; without columns, rows of nothing."""
        cells = [f"{self.cell(column).key} AS {name}" for column, name in zip(columns, names, strict=True)]
        with spark_errors(self.name):
            return self.frame.where(where).selectExpr(*cells or ["1 AS nothing"])

    def keyed_rows(self, encoding: Encoding, own: Iterable[str]) -> DataFrame:
        """Return the eligible rows: k0, k1, … are keys of encoded columns, o0, o1, … cells in their own type."""
        keys = [f"{self.cell(column).key} AS k{position}" for position, column in enumerate(encoding.columns)]
        cells = [f"{self.cell(column).own} AS o{position}" for position, column in enumerate(own)]
        with spark_errors(self.name):
            return self.frame.where(encoding.where).selectExpr(*[*keys, *cells] or ["1 AS n"])

    def send(self, table: pa.Table) -> DataFrame:
        """Return a table of the driver as a frame, sent to every executor unless it is large."""
        with spark_errors(self.name):
            frame = self.session.createDataFrame(plain_strings(table))
            return frame.hint("broadcast") if len(table) <= MOST_BROADCAST else frame

    def collect(self, frame: DataFrame) -> pa.Table:
        """Return what a frame holds; it must not be as large as the rows."""
        with spark_errors(self.name):
            return frame.toArrow()

    def rows_of(self, frame: DataFrame) -> int:
        """Return how many rows a frame has."""
        with spark_errors(self.name):
            return int(frame.count())

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
