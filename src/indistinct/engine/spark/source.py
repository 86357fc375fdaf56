"""SparkSource: a DataFrame of Spark whose columns need no quoting, and what goes between it and the driver."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from indistinct.array_types import IntArray
from indistinct.engine.arrays import numbers, text_column
from indistinct.engine.rows import check_names
from indistinct.engine.spark.dialect import SPARK, SparkCell
from indistinct.engine.spark.failures import let_go
from indistinct.engine.sql.keyed import KeyedSource
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MOST_BROADCAST = 1_000_000
"""Tables of so many rows are sent to every executor; Spark decides how to join larger ones."""


class SparkSource(KeyedSource):
    """A DataFrame, classic or Connect, with columns x0, x1, … so that no name needs quoting.

    Statements call it ``{rows}``, which PySpark replaces by the frame; other frames have names of that form, too.
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
        self._frames: dict[str, DataFrame] = {}
        self._stored: set[str] = set()
        self._numbers = itertools.count()

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
        named: dict[str, Any] = {"rows": self.frame, **self._frames, **frames}
        return self.session.sql(sql, None, **named)

    def arrow(self, sql: str) -> pa.Table:
        return self.collect(self.select(sql))

    def relation_of(self, table: pa.Table) -> str:
        return self._add_frame(self.send(table))

    def store(self, query: str) -> str:
        relation = self._add_frame(self.keep(self.select(query)))
        self._stored.add(relation)
        return relation

    def forget(self, *relations: str) -> None:
        for relation in relations:
            frame = self._frames.pop(relation.strip("{}"), None)
            if frame is not None and relation in self._stored:
                self._stored.remove(relation)
                let_go(frame)

    def _add_frame(self, frame: DataFrame) -> str:
        name = f"frame{next(self._numbers)}"
        self._frames[name] = frame
        return f"{{{name}}}"

    def keys(self, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        """Return the keys of some columns."""
        return self.frame.selectExpr(*(f"{self.text(own)} AS {name}" for own, name in zip(columns, names, strict=True)))

    def send(self, table: pa.Table) -> DataFrame:
        """Return a table of the driver as a frame, sent to every executor unless it is large."""
        frame = self.session.createDataFrame(plain_strings(table))
        return frame.hint("broadcast") if len(table) <= MOST_BROADCAST else frame

    def collect(self, frame: DataFrame) -> pa.Table:
        """Return what a frame holds; it must not be as large as the rows."""
        return frame.toArrow()

    def keep(self, frame: DataFrame) -> DataFrame:
        """Return a frame that Spark stores once it is computed, where it can: serverless sessions store nothing."""
        from pyspark.errors import PySparkException

        with suppress(PySparkException):
            return frame.persist()
        return frame

    def row_numbers(self, ids: IntArray) -> IntArray:
        """Return the row numbers, from 1, of ids, which have the part in their upper bits."""
        if not len(ids):
            return ids.astype(np.int64)
        found = self.collect(self.frame.selectExpr("spark_partition_id() AS part").groupBy("part").count())
        parts, sizes = numbers(found["part"]), numbers(found["count"])
        size_of = np.zeros(int(parts.max()) + 2, np.int64)
        size_of[parts + 1] = sizes
        before: IntArray = np.cumsum(size_of)[ids >> 33]
        return before + (ids & ((1 << 33) - 1)) + 1


def plain_strings(table: pa.Table) -> pa.Table:
    """Return a table without large strings, which older servers do not take."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_large_string(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())
