"""SparkRows: the engine's verbs on a DataFrame of Spark.

Spark computes a frame anew wherever a machine, a task or a cached block is lost, and rows may then arrive in another
order. So nothing here depends on the order of rows, on ``rand()`` or on row numbers: what has to be random is drawn
once on the driver, and what is done to a row follows from that draw and from the cells of the row alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers
from indistinct.engine.base import (
    ClassPlan,
    Condition,
    Counts,
    FragmentPlan,
    LocalPlan,
    Plan,
    Rows,
    ValueCounts,
    added_up,
)
from indistinct.engine.pieces import NOWHERE
from indistinct.engine.spark.cells import Cell, text_of
from indistinct.engine.spark.conditions import eligible
from indistinct.engine.spark.encoding import Encoding, codes_of, sorted_keys, strings
from indistinct.engine.spark.fragments import groups_of_pieces, pieces_of_fragments, rows_of_pieces
from indistinct.engine.spark.frame import SparkFrame, joined, plain_strings
from indistinct.engine.spark.recoding import placed, recoded_by_column, recoded_locally, shuffled
from indistinct.engine.spark.session import spark_errors
from indistinct.engine.spark.writing import write_parquet
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_TUPLES = 200_000
"""So many tuples come to the driver as texts, which saves Spark several jobs; more of them come as codes."""
MOST_TUPLES = 20_000_000
"""So many tuples come to the driver if nothing else is said."""
ESTIMATE = 0.02
"""The relative error of estimated numbers of tuples."""
ROWS_PER_BATCH = 10_000


class SparkRows(SparkFrame, Rows):
    """A DataFrame of Spark, classic or Connect. Its rows stay in Spark; dictionaries and counts come to the driver.

    Inside, columns are called x0, x1, … so that no name needs quoting.
    """

    kind = "spark"
    can_work_in_fragments = True

    def __init__(self, frame: DataFrame, name: str, *, is_kept: bool = False) -> None:
        """Take a frame; one that ``is_kept`` was computed and stored for this table and is let go with it."""
        super().__init__(frame, name)
        self.max_tuples = MOST_TUPLES
        self._kept = frame if is_kept else None
        self._count: int | None = None

    def columns(self) -> tuple[str, ...]:
        return self.names

    def count(self) -> int:
        if self._count is None:
            self._count = self.rows_of(self.frame)
        return self._count

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> dict[str, tuple[str | None, ...]]:
        self._forget()
        columns = tuple(columns)
        cells = [self.cell(column) for column in columns]
        condition = eligible(where, self.cell)
        names = [f"k{position}" for position in range(len(cells))]
        with spark_errors(self.name):
            keys = self.keys(columns, names, condition)
            tuples = keys.groupBy(*names).count().where("count > 0").toDF(*names, "n")
        few = self.collect(tuples.limit(FEW_TUPLES + 1))
        is_few = len(few) <= FEW_TUPLES
        if not is_few:
            tuples = self.keep(tuples)
        found = [few[name] for name in names] if is_few else self._distinct_keys(tuples, names)
        dictionaries = [sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
        counted = None
        if is_few:
            codes = tuple(codes_of(own, keys) for own, keys in zip(found, dictionaries, strict=True))
            counted = Counts(codes, numbers(few["n"]).astype(np.int64))
        self.encoding = Encoding(columns, tuple(map(strings, dictionaries)), tuples, condition, counted)
        return {
            column: tuple(cell.text(key) for key in own)
            for column, cell, own in zip(columns, cells, dictionaries, strict=True)
        }

    def count_by(self, columns: Sequence[str]) -> Counts:
        encoding = self.encoded()
        positions = [encoding.position(column) for column in columns]
        is_all = sorted(positions) == list(range(len(encoding.columns)))
        if encoding.counted is not None:
            codes = tuple(encoding.counted.codes[position] for position in positions)
            return Counts(codes, encoding.counted.counts) if is_all else added_up(codes, encoding.counted.counts)
        coded = encoding.tuples
        for position in positions:
            coded = coded.join(self._dictionary(position), f"k{position}")
        names = [f"c{position}" for position in positions]
        if not is_all:
            coded = coded.groupBy(*names).agg({"n": "sum"}).toDF(*names, "n")
        table = self.collect(coded.select(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, NDArray[np.int64]]) -> Counts:
        encoding = self.encoded()
        if encoding.counted is not None:
            return super().count_merged(columns, merged)
        coded, names = encoding.tuples, []
        for column in columns:
            position = encoding.position(column)
            codes = merged.get(column, np.arange(len(encoding.keys[position])))
            data = {f"k{position}": encoding.keys[position], f"c{position}": integers(np.asarray(codes, np.int32))}
            coded = coded.join(self.send(pa.table(data)), f"k{position}")
            names.append(f"c{position}")
        table = self.collect(coded.groupBy(*names).agg({"n": "sum"}).toDF(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, NDArray[np.int64]]]) -> list[int]:
        """Return estimates within some percent, all from one pass over the tuples."""
        encoding = self.encoded()
        if encoding.counted is not None:
            return super().tuples_at(columns, ways)
        coded = encoding.tuples
        used: list[list[str]] = [[] for _ in ways]
        for column in columns:
            position = encoding.position(column)
            data = {f"k{position}": encoding.keys[position]}
            name_of: dict[bytes, str] = {}  # most ways leave most columns alike
            for number, way in enumerate(ways):
                codes = np.asarray(way.get(column, np.arange(len(encoding.keys[position]))), np.int32)
                name = name_of.setdefault(codes.tobytes(), f"m{position}_{number}")
                data.setdefault(name, integers(codes))
                used[number].append(name)
            coded = coded.join(self.send(pa.table(data)), f"k{position}")
        counts = [
            f"approx_count_distinct(xxhash64({', '.join(own)}), {ESTIMATE}) AS n{n}" for n, own in enumerate(used)
        ]
        return [int(column[0].as_py()) for column in self.collect(coded.selectExpr(*counts)).columns]

    def recode(self, plan: Plan | LocalPlan) -> SparkRows:
        recoded = recoded_locally(self, plan) if isinstance(plan, LocalPlan) else recoded_by_column(self, plan)
        return self._released(*recoded, plan.columns)

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        with spark_errors(self.name):
            pieces = self.keep(pieces_of_fragments(self, plan))
            groups = groups_of_pieces(self, pieces, plan)
            frame = rows_of_pieces(self, pieces, plan)
        released = self._released(frame, int(numbers(groups["n"]).sum()), plan.columns)
        pieces.unpersist()
        return released, groups

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        rows = self.keep(placed(self, plan, plan.copied).where(f"goal <> {NOWHERE}"))
        expected = int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) != NOWHERE]))
        classes = int(np.max(plan.groups, initial=-1)) + 1
        random_numbers = np.argsort(np.frombuffer(os.urandom(8 * classes), np.uint64)) + 1
        names = self.send(pa.table({"goal": integers(np.arange(classes)), "class": integers(random_numbers)}))
        divided: dict[str, Rows] = {}
        for name, columns in plan.tables.items():
            cells = [f"o{plan.copied.index(column)} AS r{number}" for number, column in enumerate(columns, 1)]
            table = rows.join(names, "goal").selectExpr("class AS r0", *cells)
            divided[name] = self._released(table, expected, (plan.link, *columns))
        rows.unpersist()
        return divided

    def give_back(self) -> object:
        return self.given

    def write(self, folder: Path, name: str = "table") -> Path:
        path = Path(folder) / f"{name}.parquet"
        write_parquet(self.given, path, self.count())
        return path

    def format(self) -> dict[str, str]:
        return {}

    def reading(self) -> dict[str, Any]:
        return {"engine": self.session}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        names = [f"k{position}" for position in range(len(columns))]
        with spark_errors(self.name):
            mine, theirs = self._comparable(other, columns)
            signed = mine.selectExpr("*", "1 AS sign").union(theirs.selectExpr("*", "-1 AS sign"))
            surplus = signed.groupBy(*names).agg({"sign": "sum"}).toDF(*names, "n").where("n > 0")
        return self.total(surplus)

    def sizes_by(self, columns: Sequence[str]) -> NDArray[np.int64]:
        names = [f"k{position}" for position in range(len(columns))]
        keys = self.keys(columns, names)
        table = self.collect(keys.groupBy(*names).count().where("count > 0").select("count"))
        return numbers(table["count"]).astype(np.int64)

    def values_by(self, columns: Sequence[str], column: str) -> ValueCounts:
        names = [f"k{position}" for position in range(len(columns))]
        counted = self.keys([*columns, column], [*names, "key"]).groupBy(*names, "key").count()
        pairs = counted.selectExpr(*names, "struct(key, count) AS pair")
        grouped = pairs.groupBy(*names).agg({"pair": "collect_list"}).toDF(*names, "pairs")
        ordered = grouped.orderBy(*names) if names else grouped
        table = self.collect(ordered.selectExpr("pairs.key AS keys", "pairs.count AS sizes")).combine_chunks()
        nothing = np.zeros(0, np.int64)
        if not table.num_rows or not len(table["sizes"].combine_chunks().flatten()):
            return ValueCounts(nothing, nothing, nothing, ())
        keys, sizes = (table[name].combine_chunks() for name in ("keys", "sizes"))
        lengths = np.diff(np.from_dlpack(keys.offsets))
        coded = keys.flatten().dictionary_encode()
        texts = [self.cell(column).text(key) for key in coded.dictionary.to_pylist()]
        order = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
        number = np.empty(len(texts), np.int64)
        number[order] = np.arange(len(texts))
        return ValueCounts(
            np.repeat(np.arange(len(lengths)), lengths),
            number[np.from_dlpack(coded.indices)],
            np.from_dlpack(sizes.flatten()).astype(np.int64),
            tuple(texts[code] for code in order),
        )

    def rows_with(self, column: str, codes: Sequence[int], limit: int = 5) -> list[int]:
        """Return row numbers in the order in which Spark holds the rows just now; they are a hint in a message."""
        encoding = self.encoded()
        position = encoding.position(column)
        wanted = pa.table({f"k{position}": encoding.keys[position].take(integers(np.asarray(codes, np.int64)))})
        keyed = self._numbered(encoding.where).selectExpr("id", f"{self.cell(column).key} AS k{position}")
        found = keyed.join(self.send(wanted), f"k{position}", "left_semi").orderBy("id").limit(int(limit))
        return list(map(int, self._row_numbers(numbers(self.collect(found.select("id"))["id"]))))

    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        """Return rows as DuckDB does, in the order in which Spark holds them just now."""
        encoding = self.encoded()
        names = [f"k{position}" for position in range(len(tuples))]
        wanted = {
            name: encoding.keys[encoding.position(column)].take(integers(np.asarray(codes, np.int64)))
            for name, (column, codes) in zip(names, tuples.items(), strict=True)
        }
        number = max((len(codes) for codes in tuples.values()), default=0)
        given = self.send(pa.table({"tuple": integers(np.arange(number))} | wanted))
        keys = [f"{self.cell(column).key} AS {name}" for column, name in zip(tuples, names, strict=True)]
        cells = [f"{self.cell(column).key} AS s{position}" for position, column in enumerate(show)]
        keyed = joined(self._numbered().selectExpr("id", *keys, *cells), given, names)
        shown = [f"s{position}" for position in range(len(show))]
        place = "row_number() OVER (PARTITION BY tuple ORDER BY id) AS place"
        first = keyed.selectExpr("tuple", "id", *shown, place).where(f"place <= {int(limit)}").orderBy("tuple", "id")
        found = self.collect(first.select("tuple", "id", *shown))
        texts = {
            name: strings([self.cell(column).text(key) for key in found[name].to_pylist()])
            for name, column in zip(shown, show, strict=True)
        }
        return pa.table({"tuple": found["tuple"], "number": self._row_numbers(numbers(found["id"]))} | texts)

    def _numbered(self, where: str = "true") -> DataFrame:
        """Return rows with an id that rises in the order in which Spark holds them."""
        return self.frame.selectExpr("*", "monotonically_increasing_id() AS id").where(where)

    def _row_numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row numbers, from 1, of such ids, which have the part in their upper bits."""
        if not len(ids):
            return ids.astype(np.int64)
        found = self.collect(self.frame.selectExpr("spark_partition_id() AS part").groupBy("part").count())
        parts, sizes = numbers(found["part"]), numbers(found["count"])
        size_of = np.zeros(int(parts.max()) + 2, np.int64)
        size_of[parts + 1] = sizes
        before: NDArray[np.int64] = np.cumsum(size_of)[ids >> 33]
        return before + (ids & ((1 << 33) - 1)) + 1

    def head(self, rows: int) -> pa.Table:
        return self.collect(self.given.limit(int(rows)))

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream, one partition at a time; for tables that leave Spark."""
        cells = [self.cell(column) for column in columns]
        frame = self.keys(columns, [f"k{position}" for position in range(len(columns))])
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
        self._forget()
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None

    def _distinct_keys(self, tuples: DataFrame, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the distinct keys of each column, all in one pass over the tuples."""
        pairs = ", ".join(f"{position}, {name}" for position, name in enumerate(names))
        stacked = tuples.selectExpr(f"stack({len(names)}, {pairs}) AS (position, key)").distinct()
        table = self.collect(stacked)
        positions = numbers(table["position"])
        return [table["key"].take(integers(np.flatnonzero(positions == place))) for place in range(len(names))]

    def _dictionary(self, position: int) -> DataFrame:
        """Return the table from the keys of a column to their codes."""
        keys = self.encoded().keys[position]
        codes = integers(np.arange(len(keys), dtype=np.int32))
        return self.send(pa.table({f"k{position}": keys, f"c{position}": codes}))

    def _released(self, frame: DataFrame, expected: int, columns: Sequence[str]) -> SparkRows:
        """Return released rows in random order, computed and kept; raise if they are not those that were counted."""
        with spark_errors(self.name):
            kept = self.keep(shuffled(frame, expected).toDF(*columns))
        rows = SparkRows(kept, self.name, is_kept=True)
        if rows.count() != expected:
            rows.close()
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")
        return rows

    def _comparable(self, other: Rows, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
        """Return the rows of two tables as texts k0, k1, … that are equal where cells are."""
        names = [f"k{position}" for position in range(len(columns))]
        if not isinstance(other, SparkRows):
            theirs = self.session.createDataFrame(plain_strings(other.texts(columns).read_all())).toDF(*names)
            return self._common_texts(columns, names), theirs.na.fill("")
        if all(self.cell(column).kind == other.cell(column).kind for column in columns):
            return self.keys(columns, names), other.keys(columns, names)
        return self._common_texts(columns, names), other._common_texts(columns, names)

    def _common_texts(self, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        """Return the texts of all rows as every engine gives them, missing as empty text."""
        cells = [self.cell(column) for column in columns]
        keys = self.keys(columns, names)
        if all(cell.has_common_keys for cell in cells):
            return keys
        return keys.mapInArrow(_to_common_texts([cell.kind for cell in cells]), ", ".join(f"{n} string" for n in names))

    def _forget(self) -> None:
        if self.encoding is not None:
            if self.encoding.counted is None:
                self.encoding.tuples.unpersist()
            self.encoding = None


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
