"""SparkRows: the engine's verbs on a DataFrame of Spark.

Spark computes a frame anew wherever a machine, a task or a cached block is lost, and rows may then arrive in another
order. So nothing here depends on the order of rows, on ``rand()`` or on row numbers: what has to be random is drawn
once on the driver, and what is done to a row follows from that draw and from the cells of the row alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.base import ClassPlan, Condition, Counts, LocalPlan, Plan, Rows, ValueCounts, added_up
from indistinct.engine.pieces import NOWHERE, pieces
from indistinct.engine.session import check_names
from indistinct.engine.spark.cells import Cell, literal, text_of
from indistinct.engine.spark.conditions import eligible
from indistinct.engine.spark.session import spark_errors
from indistinct.engine.spark.writing import write_parquet
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_BROADCAST = 1_000_000
"""Tables of so many rows are sent to every executor; Spark decides how to join larger ones."""
FEW_TUPLES = 200_000
"""So many tuples come to the driver as texts, which saves Spark several jobs; more of them come as codes."""
MOST_TUPLES = 20_000_000
"""So many tuples come to the driver if nothing else is said."""
ESTIMATE = 0.02
"""The relative error of estimated numbers of tuples."""
ROWS_PER_BATCH = 10_000
ROWS_PER_PART = 250_000
"""Released rows stand in parts of about so many, each of which becomes a file."""
MARKER, ROW = 0, 1


@dataclass(frozen=True, slots=True)
class Encoding:
    """The latest dictionaries: ``keys`` has those of each column in the order of their codes.

    ``tuples`` is a frame of the distinct keys k0, k1, … of the eligible rows with the number of rows n. ``counted`` are
    their codes and numbers of rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    tuples: DataFrame
    where: str
    counted: Counts | None

    def position(self, column: str) -> int:
        """Return where a column stands among the encoded ones."""
        if column not in self.columns:
            raise TableError(f"column {column!r} was not encoded")
        return self.columns.index(column)

    def key_columns(self, codes: Sequence[NDArray[Any]]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            f"k{position}": keys.take(integers(np.asarray(own, np.int64)))
            for position, (keys, own) in enumerate(zip(self.keys, codes, strict=True))
        }


class SparkRows(Rows):
    """A DataFrame of Spark, classic or Connect. Its rows stay in Spark; dictionaries and counts come to the driver.

    Inside, columns are called x0, x1, … so that no name needs quoting.
    """

    kind = "spark"

    def __init__(self, frame: DataFrame, name: str, *, is_kept: bool = False) -> None:
        """Take a frame; one that ``is_kept`` was computed and stored for this table and is let go with it."""
        self.name = name
        self._names = tuple(frame.columns)
        check_names(name, self._names)
        with spark_errors(name):
            self._kinds = dict(frame.dtypes)
        self._frame = frame.toDF(*(f"x{position}" for position in range(len(self._names))))
        self._given = frame
        self._kept = frame if is_kept else None
        self.max_tuples = MOST_TUPLES
        self._encoding: Encoding | None = None
        self._count: int | None = None

    @property
    def session(self) -> SparkSession:
        """The session that the frame belongs to."""
        return self._given.sparkSession

    def columns(self) -> tuple[str, ...]:
        return self._names

    def count(self) -> int:
        if self._count is None:
            self._count = self._rows_of(self._frame)
        return self._count

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> dict[str, tuple[str | None, ...]]:
        self._forget()
        columns = tuple(columns)
        cells = [self._cell(column) for column in columns]
        condition = eligible(where, self._cell)
        names = [f"k{position}" for position in range(len(cells))]
        with spark_errors(self.name):
            keys = self._keys(columns, names, condition)
            tuples = keys.groupBy(*names).count().where("count > 0").toDF(*names, "n")
        few = self._collect(tuples.limit(FEW_TUPLES + 1))
        is_few = len(few) <= FEW_TUPLES
        if not is_few:
            tuples = self._keep(tuples)
        found = [few[name] for name in names] if is_few else self._distinct_keys(tuples, names)
        dictionaries = [_sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
        counted = None
        if is_few:
            codes = tuple(_codes(own, keys) for own, keys in zip(found, dictionaries, strict=True))
            counted = Counts(codes, numbers(few["n"]).astype(np.int64))
        self._encoding = Encoding(columns, tuple(map(_strings, dictionaries)), tuples, condition, counted)
        return {
            column: tuple(cell.text(key) for key in own)
            for column, cell, own in zip(columns, cells, dictionaries, strict=True)
        }

    def count_by(self, columns: Sequence[str]) -> Counts:
        encoding = self._encoded()
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
        table = self._collect(coded.select(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, NDArray[np.int64]]) -> Counts:
        encoding = self._encoded()
        if encoding.counted is not None:
            return super().count_merged(columns, merged)
        coded, names = encoding.tuples, []
        for column in columns:
            position = encoding.position(column)
            codes = merged.get(column, np.arange(len(encoding.keys[position])))
            data = {f"k{position}": encoding.keys[position], f"c{position}": integers(np.asarray(codes, np.int32))}
            coded = coded.join(self._sent(pa.table(data)), f"k{position}")
            names.append(f"c{position}")
        table = self._collect(coded.groupBy(*names).agg({"n": "sum"}).toDF(*names, "n"))
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, NDArray[np.int64]]]) -> list[int]:
        """Return estimates within some percent, all from one pass over the tuples."""
        encoding = self._encoded()
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
            coded = coded.join(self._sent(pa.table(data)), f"k{position}")
        counts = [
            f"approx_count_distinct(xxhash64({', '.join(own)}), {ESTIMATE}) AS n{n}" for n, own in enumerate(used)
        ]
        return [int(column[0].as_py()) for column in self._collect(coded.selectExpr(*counts)).columns]

    def recode(self, plan: Plan | LocalPlan) -> SparkRows:
        return self._recode_locally(plan) if isinstance(plan, LocalPlan) else self._recode_by_column(plan)

    def _recode_by_column(self, plan: Plan) -> SparkRows:
        encoding = self._encoded()
        if set(plan.maps) != set(encoding.columns):
            raise TableError(f"{self.name}: a plan must map exactly the encoded columns")
        own = [column for column in plan.columns if column not in plan.maps or column in plan.kept]
        rows = self._keyed_rows(own)
        labelled, expected = (
            self._labelled_by_column(rows, plan, encoding)
            if encoding.counted is None
            else self._labelled_by_tuple(rows, plan, encoding, encoding.counted)
        )
        shown = []
        for number, column in enumerate(plan.columns):
            cell = f"o{own.index(column)}" if column in own else f"s{encoding.position(column)}"
            if plan.blank and column in plan.maps and column not in plan.unblanked:
                cell = f"CASE WHEN is_suppressed IS NULL THEN {cell} END"
            shown.append(f"{cell} AS r{number}")
        return self._released(labelled.selectExpr(*shown), plan.columns, expected)

    def _labelled_by_tuple(
        self, rows: DataFrame, plan: Plan, encoding: Encoding, counted: Counts
    ) -> tuple[DataFrame, int]:
        """Join rows with the labels s0, s1, … of their tuples; also return how many rows there must be."""
        label_codes = [
            np.asarray(plan.maps[column], np.int64)[codes]
            for column, codes in zip(encoding.columns, counted.codes, strict=True)
        ]
        asked = [label_codes[encoding.position(column)] for column in plan.suppressed]
        is_suppressed = _are_among(asked, list(plan.suppressed.values()), len(counted.counts))
        is_joined = np.ones_like(is_suppressed) if plan.blank else ~is_suppressed
        data = encoding.key_columns(counted.codes) | {
            f"s{position}": text_column(plan.labels[column]).take(integers(label_codes[position]))
            for position, column in enumerate(encoding.columns)
            if column not in plan.kept
        }
        flags = np.where(is_suppressed, "yes", "")
        data["is_suppressed"] = text_column([flag or None for flag in flags.tolist()])
        table = pa.table(data).take(integers(np.flatnonzero(is_joined)))
        names = [f"k{position}" for position in range(len(encoding.columns))]
        return _joined(rows, self._sent(table), names), int(counted.counts[is_joined].sum())

    def _labelled_by_column(self, rows: DataFrame, plan: Plan, encoding: Encoding) -> tuple[DataFrame, int]:
        """Join rows with the labels s0, s1, … of their cells; also return how many rows there must be."""
        tuples = encoding.tuples
        for position, column in enumerate(encoding.columns):
            labels = self._labels(position, column, plan)
            rows = rows.join(labels, f"k{position}")
            tuples = tuples.join(labels, f"k{position}")
        expected = self._sum(encoding.tuples)
        suppressed = self._suppressed(plan, encoding)
        on = [name for name in suppressed.columns if name != "is_suppressed"]
        if plan.blank:
            return rows.join(suppressed, on, "left"), expected
        expected -= self._sum(tuples.join(suppressed, on, "left_semi"))
        return rows.join(suppressed, on, "left_anti"), expected

    def _recode_locally(self, plan: LocalPlan) -> SparkRows:
        own = [column for column in plan.columns if column not in plan.labels or column in plan.kept]
        placed = self._placed(plan, own)
        expected = int(np.sum(plan.rows))
        if not plan.blank:
            placed = placed.where(f"goal <> {NOWHERE}")
            expected -= int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) == NOWHERE]))
        carried = [column for column in plan.columns if column not in own]
        if carried:
            texts = {column: text_column(plan.labels[column]) for column in carried}
            codes = {column: integers(np.asarray(plan.codes[column], np.int64)) for column in carried}
            data = {f"s{n}": texts[column].take(codes[column]) for n, column in enumerate(carried)}
            goals = integers(np.arange(len(next(iter(codes.values())))))
            placed = placed.join(self._sent(pa.table({"goal": goals} | data)), "goal", "left")
        shown = []
        for number, column in enumerate(plan.columns):
            cell = f"o{own.index(column)}" if column in own else f"s{carried.index(column)}"
            if plan.blank and column in plan.labels:
                cell = f"CASE WHEN goal <> {NOWHERE} THEN {cell} END"
            shown.append(f"{cell} AS r{number}")
        return self._released(placed.selectExpr(*shown), plan.columns, expected)

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        placed = self._keep(self._placed(plan, plan.copied).where(f"goal <> {NOWHERE}"))
        expected = int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) != NOWHERE]))
        classes = int(np.max(plan.groups, initial=-1)) + 1
        random_numbers = np.argsort(np.frombuffer(os.urandom(8 * classes), np.uint64)) + 1
        names = self._sent(pa.table({"goal": integers(np.arange(classes)), "class": integers(random_numbers)}))
        divided: dict[str, Rows] = {}
        for name, columns in plan.tables.items():
            cells = [f"o{plan.copied.index(column)} AS r{number}" for number, column in enumerate(columns, 1)]
            table = placed.join(names, "goal").selectExpr("class AS r0", *cells)
            divided[name] = self._released(table, (plan.link, *columns), expected)
        placed.unpersist()
        return divided

    def give_back(self) -> object:
        return self._given

    def write(self, folder: Path, name: str = "table") -> Path:
        path = Path(folder) / f"{name}.parquet"
        write_parquet(self._given, path, self.count())
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
        return self._sum(surplus)

    def sizes_by(self, columns: Sequence[str]) -> NDArray[np.int64]:
        names = [f"k{position}" for position in range(len(columns))]
        keys = self._keys(columns, names)
        table = self._collect(keys.groupBy(*names).count().where("count > 0").select("count"))
        return numbers(table["count"]).astype(np.int64)

    def values_by(self, columns: Sequence[str], column: str) -> ValueCounts:
        names = [f"k{position}" for position in range(len(columns))]
        counted = self._keys([*columns, column], [*names, "key"]).groupBy(*names, "key").count()
        pairs = counted.selectExpr(*names, "struct(key, count) AS pair")
        grouped = pairs.groupBy(*names).agg({"pair": "collect_list"}).toDF(*names, "pairs")
        ordered = grouped.orderBy(*names) if names else grouped
        table = self._collect(ordered.selectExpr("pairs.key AS keys", "pairs.count AS sizes")).combine_chunks()
        nothing = np.zeros(0, np.int64)
        if not table.num_rows or not len(table["sizes"].combine_chunks().flatten()):
            return ValueCounts(nothing, nothing, nothing, ())
        keys, sizes = (table[name].combine_chunks() for name in ("keys", "sizes"))
        lengths = np.diff(np.from_dlpack(keys.offsets))
        coded = keys.flatten().dictionary_encode()
        texts = [self._cell(column).text(key) for key in coded.dictionary.to_pylist()]
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
        encoding = self._encoded()
        position = encoding.position(column)
        wanted = pa.table({f"k{position}": encoding.keys[position].take(integers(np.asarray(codes, np.int64)))})
        keyed = self._numbered(encoding.where).selectExpr("id", f"{self._cell(column).key} AS k{position}")
        found = keyed.join(self._sent(wanted), f"k{position}", "left_semi").orderBy("id").limit(int(limit))
        return list(map(int, self._row_numbers(numbers(self._collect(found.select("id"))["id"]))))

    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        """Return rows as DuckDB does, in the order in which Spark holds them just now."""
        encoding = self._encoded()
        names = [f"k{position}" for position in range(len(tuples))]
        wanted = {
            name: encoding.keys[encoding.position(column)].take(integers(np.asarray(codes, np.int64)))
            for name, (column, codes) in zip(names, tuples.items(), strict=True)
        }
        number = max((len(codes) for codes in tuples.values()), default=0)
        given = self._sent(pa.table({"tuple": integers(np.arange(number))} | wanted))
        keys = [f"{self._cell(column).key} AS {name}" for column, name in zip(tuples, names, strict=True)]
        cells = [f"{self._cell(column).key} AS s{position}" for position, column in enumerate(show)]
        keyed = _joined(self._numbered().selectExpr("id", *keys, *cells), given, names)
        shown = [f"s{position}" for position in range(len(show))]
        place = "row_number() OVER (PARTITION BY tuple ORDER BY id) AS place"
        first = keyed.selectExpr("tuple", "id", *shown, place).where(f"place <= {int(limit)}").orderBy("tuple", "id")
        found = self._collect(first.select("tuple", "id", *shown))
        texts = {
            name: _strings([self._cell(column).text(key) for key in found[name].to_pylist()])
            for name, column in zip(shown, show, strict=True)
        }
        return pa.table({"tuple": found["tuple"], "number": self._row_numbers(numbers(found["id"]))} | texts)

    def _numbered(self, where: str = "true") -> DataFrame:
        """Return rows with an id that rises in the order in which Spark holds them."""
        return self._frame.selectExpr("*", "monotonically_increasing_id() AS id").where(where)

    def _row_numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row numbers, from 1, of such ids, which have the part in their upper bits."""
        if not len(ids):
            return ids.astype(np.int64)
        found = self._collect(self._frame.selectExpr("spark_partition_id() AS part").groupBy("part").count())
        parts, sizes = numbers(found["part"]), numbers(found["count"])
        size_of = np.zeros(int(parts.max()) + 2, np.int64)
        size_of[parts + 1] = sizes
        before: NDArray[np.int64] = np.cumsum(size_of)[ids >> 33]
        return before + (ids & ((1 << 33) - 1)) + 1

    def head(self, rows: int) -> pa.Table:
        return self._collect(self._given.limit(int(rows)))

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream, one partition at a time; for tables that leave Spark."""
        cells = [self._cell(column) for column in columns]
        frame = self._keys(columns, [f"k{position}" for position in range(len(columns))])
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

    def _cell(self, column: str) -> Cell:
        if column not in self._kinds:
            raise TableError(f"{self.name}: no column {column!r}")
        return Cell.of(self.name, column, f"x{self._names.index(column)}", self._kinds[column])

    def _keys(self, columns: Sequence[str], names: Sequence[str], where: str = "true") -> DataFrame:
        """Return the keys of some columns; without columns, rows of nothing."""
        cells = [f"{self._cell(column).key} AS {name}" for column, name in zip(columns, names, strict=True)]
        with spark_errors(self.name):
            return self._frame.where(where).selectExpr(*cells or ["1 AS nothing"])

    def _distinct_keys(self, tuples: DataFrame, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the distinct keys of each column, all in one pass over the tuples."""
        pairs = ", ".join(f"{position}, {name}" for position, name in enumerate(names))
        stacked = tuples.selectExpr(f"stack({len(names)}, {pairs}) AS (position, key)").distinct()
        table = self._collect(stacked)
        positions = numbers(table["position"])
        return [table["key"].take(integers(np.flatnonzero(positions == place))) for place in range(len(names))]

    def _keyed_rows(self, own: Iterable[str]) -> DataFrame:
        """Return the eligible rows: k0, k1, … are keys of encoded columns, o0, o1, … cells in their own type."""
        encoding = self._encoded()
        keys = [f"{self._cell(column).key} AS k{position}" for position, column in enumerate(encoding.columns)]
        cells = [f"{self._cell(column).own} AS o{position}" for position, column in enumerate(own)]
        with spark_errors(self.name):
            return self._frame.where(encoding.where).selectExpr(*[*keys, *cells] or ["1 AS n"])

    def _dictionary(self, position: int) -> DataFrame:
        """Return the table from the keys of a column to their codes."""
        keys = self._encoded().keys[position]
        codes = integers(np.arange(len(keys), dtype=np.int32))
        return self._sent(pa.table({f"k{position}": keys, f"c{position}": codes}))

    def _labels(self, position: int, column: str, plan: Plan) -> DataFrame:
        """Return the table from the keys of a column to label codes and, unless it keeps its cells, to labels."""
        label_codes = integers(np.asarray(plan.maps[column], np.int64))
        data = {f"k{position}": self._encoded().keys[position], f"l{position}": label_codes}
        if column not in plan.kept:
            data[f"s{position}"] = text_column(plan.labels[column]).take(label_codes)
        return self._sent(pa.table(data))

    def _suppressed(self, plan: Plan, encoding: Encoding) -> DataFrame:
        """Return the table of suppressed tuples of label codes, each once."""
        codes = [np.asarray(codes, np.int64) for codes in plan.suppressed.values()]
        names = [f"l{encoding.position(column)}" for column in plan.suppressed]
        distinct = np.unique(np.stack(codes), axis=1) if codes else np.zeros((1, 0), np.int64)
        data = {name: integers(own) for name, own in zip(names or ["l0"], distinct, strict=True)}
        return self._sent(pa.table(data)).selectExpr("*", "'yes' AS is_suppressed")

    def _placed(self, plan: LocalPlan | ClassPlan, own: Sequence[str]) -> DataFrame:
        """Return the rows, their cells o0, o1, … and the number of the group that each goes to.

        Where the rows of a tuple go to several groups, they stand in the order of a hash of their cells under a secret
        that is drawn here: rows that have the same cells may change places, others cannot, however often Spark
        computes them.
        """
        encoding = self._encoded()
        if set(plan.tuples) != set(encoding.columns):
            raise TableError(f"{self.name}: a plan must place exactly the encoded columns")
        rows = self._keyed_rows(own)
        names = [f"k{position}" for position in range(len(encoding.columns))]
        cells = [f"o{position}" for position in range(len(own))]
        whole, shared = (_keyed(part, encoding) for part in pieces(plan, encoding.columns))
        placed = _joined(rows, self._sent(whole.select([*names, "goal"])), names).select("goal", *cells)
        if not len(shared):
            return placed
        first_pieces = shared.take(integers(np.flatnonzero(numbers(shared["first"]) == 0)))
        drawn = _joined(rows, self._sent(first_pieces.select([*names, "tuple"])), names).select("tuple", *cells)
        order = ", ".join([f"sha2(to_json(struct({', '.join([literal(_secret()), 'tuple', *cells])})), 256)", *cells])
        ranked = drawn.selectExpr(
            "*", f"row_number() OVER (PARTITION BY tuple ORDER BY {order}) - 1 AS place", f"{ROW} AS what"
        )
        # The pieces stand among the rows at their first places; each row goes where the last piece before it goes.
        starts = self._sent(shared.select(["tuple", "goal", "first"])).selectExpr(
            "tuple", "goal", "first AS place", f"{MARKER} AS what"
        )
        among = ranked.unionByName(starts, allowMissingColumns=True).selectExpr(
            "what",
            "last_value(goal) IGNORE NULLS OVER (PARTITION BY tuple ORDER BY place, what "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS goal",
            *cells,
        )
        return placed.union(among.where(f"what = {ROW}").select("goal", *cells))

    def _released(self, frame: DataFrame, columns: Sequence[str], expected: int) -> SparkRows:
        """Return released rows r0, r1, … in random order, computed and kept; raise if they are not those counted.

        The order is that of a hash of the whole row under a secret, so it is random, but stays the same when Spark
        computes it again; and it tells nothing of the order of the source, since it follows from what is released.
        """
        cells = list(frame.columns)
        with spark_errors(self.name):
            hashed = frame.selectExpr("*", f"xxhash64({', '.join([literal(_secret()), *cells])}) AS place")
            parts = -(-max(1, expected) // ROWS_PER_PART)
            shuffled = hashed.repartition(parts, "place").sortWithinPartitions("place", *cells).drop("place")
            kept = self._keep(shuffled.toDF(*columns))
        rows = SparkRows(kept, self.name, is_kept=True)
        if rows.count() != expected:
            rows.close()
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")
        return rows

    def _comparable(self, other: Rows, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
        """Return the rows of two tables as texts k0, k1, … that are equal where cells are."""
        names = [f"k{position}" for position in range(len(columns))]
        if not isinstance(other, SparkRows):
            theirs = self.session.createDataFrame(_plain_strings(other.texts(columns).read_all())).toDF(*names)
            return self._common_texts(columns, names), theirs.na.fill("")
        if all(self._cell(column).kind == other._cell(column).kind for column in columns):
            return self._keys(columns, names), other._keys(columns, names)
        return self._common_texts(columns, names), other._common_texts(columns, names)

    def _common_texts(self, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        """Return the texts of all rows as every engine gives them, missing as empty text."""
        cells = [self._cell(column) for column in columns]
        keys = self._keys(columns, names)
        if all(cell.has_common_keys for cell in cells):
            return keys
        return keys.mapInArrow(_to_common_texts([cell.kind for cell in cells]), ", ".join(f"{n} string" for n in names))

    def _sent(self, table: pa.Table) -> DataFrame:
        """Return a table of the driver as a frame, sent to every executor unless it is large."""
        with spark_errors(self.name):
            frame = self.session.createDataFrame(_plain_strings(table))
            return frame.hint("broadcast") if len(table) <= MOST_BROADCAST else frame

    def _collect(self, frame: DataFrame) -> pa.Table:
        with spark_errors(self.name):
            return frame.toArrow()

    def _rows_of(self, frame: DataFrame) -> int:
        with spark_errors(self.name):
            return int(frame.count())

    def _sum(self, frame: DataFrame) -> int:
        """Return the sum of the column n."""
        return int(self._collect(frame.selectExpr("coalesce(sum(n), 0) AS n"))["n"][0].as_py())

    def _keep(self, frame: DataFrame) -> DataFrame:
        """Return a frame that Spark stores once it is computed, where it can: serverless sessions store nothing."""
        from pyspark.errors import PySparkException

        try:
            return frame.persist()
        except PySparkException:
            return frame

    def _encoded(self) -> Encoding:
        if self._encoding is None:
            raise TableError(f"{self.name}: encode columns before counting or recoding them")
        return self._encoding

    def _forget(self) -> None:
        if self._encoding is not None:
            if self._encoding.counted is None:
                self._encoding.tuples.unpersist()
            self._encoding = None


def _sorted_keys(cell: Cell, found: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys among those found, by the code points of their texts, missing last."""
    return sorted(found.unique().to_pylist(), key=lambda key: (key == "", cell.text(key) or ""))


def _codes(found: pa.ChunkedArray, keys: Sequence[str]) -> NDArray[np.uint32]:
    """Return the position of each text among the keys."""
    encoded = found.combine_chunks().dictionary_encode()
    code_of = {key: code for code, key in enumerate(keys)}
    own = np.array([code_of[key] for key in encoded.dictionary.to_pylist()], np.uint32)
    codes: NDArray[np.uint32] = own[np.from_dlpack(encoded.indices)]
    return codes


def _are_among(
    tuples: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]], length: int
) -> NDArray[np.bool_]:
    """Tell which tuples of codes, one array per column, are among the wanted ones; without columns none is."""
    if not tuples or not len(wanted[0]):
        return np.zeros(length, np.bool_)
    both = np.stack([np.concatenate([own, np.asarray(other)]) for own, other in zip(tuples, wanted, strict=True)])
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    return np.isin(number[:length], number[length:])


def _keyed(part: pa.Table, encoding: Encoding) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(encoding.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(encoding.key_columns(codes) | others)


def _strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())


def _secret() -> str:
    return secrets.token_hex(32)


def _joined(rows: DataFrame, other: DataFrame, names: Sequence[str]) -> DataFrame:
    return rows.join(other, list(names)) if names else rows.crossJoin(other)


def _plain_strings(table: pa.Table) -> pa.Table:
    """Return a table without large strings, which older servers do not take."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_large_string(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _batch(rows: Sequence[Any], cells: Sequence[Cell], schema: pa.Schema) -> pa.RecordBatch:
    columns = [_strings([cell.text(row[position]) for row in rows]) for position, cell in enumerate(cells)]
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
