"""SparkEncoded: tuples of keys in Spark, counted there or on the driver, and rows recoded by their keys."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import NOWHERE, integers, numbers
from indistinct.engine.plans import ClassPlan, Condition, Counts, FragmentPlan, LocalPlan, Plan, sum_by_tuple
from indistinct.engine.rows import Encoded
from indistinct.engine.spark.failures import let_go, telling_errors
from indistinct.engine.spark.fragments import groups_of_pieces, pieces_of_fragments, rows_of_pieces
from indistinct.engine.spark.recoding import placed_rows, recoded_by_column, recoded_locally, shuffled_rows
from indistinct.engine.spark.source import join_rows, make_encoding, strings
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from indistinct.engine.rows import Rows
    from indistinct.engine.spark.rows import SparkRows

ESTIMATE = 0.02
"""The relative error of estimated numbers of tuples."""


@telling_errors
class SparkEncoded(Encoded):
    """The distinct tuples of keys of a frame: on the driver if they are few, else stored in Spark."""

    can_work_in_fragments = True

    def __init__(self, table: SparkRows, columns: Sequence[str], where: Sequence[Condition]) -> None:
        self._table = table
        self._source = table.source
        self._made, values = make_encoding(self._source, columns, where)
        super().__init__(table, values, self._made.free)

    @property
    def rows(self) -> int:
        self.refuse_closed()
        counted = self._made.counted
        return self._source.total(self._made.tuples) if counted is None else int(counted.counts.sum())

    def count_by(self, columns: Sequence[str]) -> Counts:
        self.refuse_closed()
        encoding = self._made
        positions = [self.position(column) for column in columns]
        is_all = sorted(positions) == list(range(len(encoding.columns)))
        if encoding.counted is not None:
            codes = tuple(encoding.counted.codes[position] for position in positions)
            return Counts(codes, encoding.counted.counts) if is_all else sum_by_tuple(codes, encoding.counted.counts)
        coded = encoding.tuples
        for position in positions:
            coded = coded.join(self._dictionary(position), f"k{position}")
        names = [f"c{position}" for position in positions]
        if not is_all:
            coded = coded.groupBy(*names).agg({"n": "sum"}).toDF(*names, "n")
        table = self._source.collect(coded.select(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, NDArray[np.int64]]) -> Counts:
        self.refuse_closed()
        encoding = self._made
        if encoding.counted is not None:
            return super().count_merged(columns, merged)
        coded, names = encoding.tuples, []
        for column in columns:
            position = self.position(column)
            codes = merged.get(column, np.arange(len(encoding.keys[position])))
            data = {f"k{position}": encoding.keys[position], f"c{position}": integers(np.asarray(codes, np.int32))}
            coded = coded.join(self._source.send(pa.table(data)), f"k{position}")
            names.append(f"c{position}")
        table = self._source.collect(coded.groupBy(*names).agg({"n": "sum"}).toDF(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, NDArray[np.int64]]]) -> list[int]:
        """Return estimates within some percent, all from one pass over the tuples."""
        self.refuse_closed()
        encoding = self._made
        if encoding.counted is not None:
            return super().tuples_at(columns, ways)
        coded = encoding.tuples
        used: list[list[str]] = [[] for _ in ways]
        for column in columns:
            position = self.position(column)
            data = {f"k{position}": encoding.keys[position]}
            name_of: dict[bytes, str] = {}  # most ways leave most columns alike
            for number, way in enumerate(ways):
                codes = np.asarray(way.get(column, np.arange(len(encoding.keys[position]))), np.int32)
                name = name_of.setdefault(codes.tobytes(), f"m{position}_{number}")
                data.setdefault(name, integers(codes))
                used[number].append(name)
            coded = coded.join(self._source.send(pa.table(data)), f"k{position}")
        counts = [
            f"approx_count_distinct(xxhash64({', '.join(own)}), {ESTIMATE}) AS n{n}" for n, own in enumerate(used)
        ]
        return [int(column[0].as_py()) for column in self._source.collect(coded.selectExpr(*counts)).columns]

    def recode(self, plan: Plan | LocalPlan) -> SparkRows:
        self.refuse_closed()
        if isinstance(plan, LocalPlan):
            self.refuse_other_columns(plan.tuples, "place")
            frame, expected = recoded_locally(self._source, self._made, plan)
        else:
            self.refuse_other_columns(plan.maps, "map")
            frame, expected = recoded_by_column(self._source, self._made, plan)
        return self._release(frame, expected, plan.columns)

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        self.refuse_closed()
        pieces = self._source.keep(pieces_of_fragments(self._source, self._made, plan))
        groups = groups_of_pieces(self._source, pieces, plan)
        frame = rows_of_pieces(self._source, self._made, pieces, plan)
        released = self._release(frame, int(numbers(groups["n"]).sum()), plan.columns)
        let_go(pieces)
        return released, groups

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        self.refuse_closed()
        self.refuse_other_columns(plan.tuples, "place")
        rows = self._source.keep(placed_rows(self._source, self._made, plan, plan.copied).where(f"goal <> {NOWHERE}"))
        expected = int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) != NOWHERE]))
        classes = int(np.max(plan.groups, initial=-1)) + 1
        random_numbers = np.argsort(np.frombuffer(os.urandom(8 * classes), np.uint64)) + 1
        names = self._source.send(pa.table({"goal": integers(np.arange(classes)), "class": integers(random_numbers)}))
        divided: dict[str, Rows] = {}
        for name, columns in plan.tables.items():
            cells = [f"o{plan.copied.index(column)} AS r{number}" for number, column in enumerate(columns, 1)]
            table = rows.join(names, "goal").selectExpr("class AS r0", *cells)
            divided[name] = self._release(table, expected, (plan.link, *columns))
        let_go(rows)
        return divided

    def rows_with(self, column: str, codes: Sequence[int], limit: int = 5) -> list[int]:
        """Return row numbers in the order in which Spark holds the rows just now; they are a hint in a message."""
        self.refuse_closed()
        encoding = self._made
        position = self.position(column)
        wanted = pa.table({f"k{position}": encoding.keys[position].take(integers(np.asarray(codes, np.int64)))})
        key = f"{self._source.cell(column).key} AS k{position}"
        keyed = self._source.numbered_rows(encoding.where).selectExpr("id", key)
        found = keyed.join(self._source.send(wanted), f"k{position}", "left_semi").orderBy("id").limit(int(limit))
        return list(map(int, self._source.row_numbers(numbers(self._source.collect(found.select("id"))["id"]))))

    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        """Return rows as DuckDB does, in the order in which Spark holds them just now."""
        self.refuse_closed()
        encoding = self._made
        names = [f"k{position}" for position in range(len(tuples))]
        wanted = {
            name: encoding.keys[self.position(column)].take(integers(np.asarray(codes, np.int64)))
            for name, (column, codes) in zip(names, tuples.items(), strict=True)
        }
        number = max((len(codes) for codes in tuples.values()), default=0)
        given = self._source.send(pa.table({"tuple": integers(np.arange(number))} | wanted))
        keys = [f"{self._source.cell(column).key} AS {name}" for column, name in zip(tuples, names, strict=True)]
        cells = [f"{self._source.cell(column).key} AS s{position}" for position, column in enumerate(show)]
        keyed = join_rows(self._source.numbered_rows().selectExpr("id", *keys, *cells), given, names)
        shown = [f"s{position}" for position in range(len(show))]
        place = "row_number() OVER (PARTITION BY tuple ORDER BY id) AS place"
        first = keyed.selectExpr("tuple", "id", *shown, place).where(f"place <= {int(limit)}").orderBy("tuple", "id")
        found = self._source.collect(first.select("tuple", "id", *shown))
        texts = {
            name: strings([self._source.cell(column).text(key) for key in found[name].to_pylist()])
            for name, column in zip(shown, show, strict=True)
        }
        return pa.table({"tuple": found["tuple"], "number": self._source.row_numbers(numbers(found["id"]))} | texts)

    def _dictionary(self, position: int) -> DataFrame:
        """Return the table from the keys of a column to their codes."""
        keys = self._made.keys[position]
        codes = integers(np.arange(len(keys), dtype=np.int32))
        return self._source.send(pa.table({f"k{position}": keys, f"c{position}": codes}))

    def _release(self, frame: DataFrame, expected: int, columns: Sequence[str]) -> SparkRows:
        """Return released rows in random order, computed and kept; raise if they are not those that were counted."""
        kept = self._source.keep(shuffled_rows(frame, expected).toDF(*columns))
        rows = self._table.derive(kept)
        if rows.count() != expected:
            rows.close()
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")
        return rows
