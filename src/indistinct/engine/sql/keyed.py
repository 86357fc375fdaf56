"""KeyedEncoded: tuples of keys, counted where the rows are or on the driver, and rows that are recoded by their keys.

It is for engines that can store what a query gives, but whose rows stay as they are: nothing is written beside them but
labels. Dictionaries are on the driver: the keys of each column in the order of their codes, and tuples as codes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.array_types import Array, IntArray
from indistinct.engine.arrays import NOWHERE, integers, numbers, text_column
from indistinct.engine.plans import ClassPlan, Condition, Counts, LocalPlan, Plan, sum_by_tuple
from indistinct.engine.rows import Rows
from indistinct.engine.sql import recoding
from indistinct.engine.sql.dialect import Cell, eligible
from indistinct.engine.sql.rows import ColumnValues, SqlEncoded, SqlRows, SqlSource

FEW_TUPLES = 200_000
"""The most tuples that come to the driver as texts, which saves several queries; more of them come as codes."""


class KeyedSource(SqlSource):
    """A relation whose rows are recoded by the keys of their cells."""

    @abstractmethod
    def store(self, query: str) -> str:
        """Return a relation with the rows of a query, which are computed once."""

    def total(self, query: str) -> int:
        """Return the sum of the column n of a query."""
        return int(self.arrow(f"SELECT coalesce(sum(n), 0) AS n FROM ({query}) AS counted")["n"][0].as_py())


class KeyedRows(SqlRows):
    """A table whose rows are recoded by the keys of their cells."""

    source: KeyedSource

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> KeyedEncoded:
        self.encodings.free_forgotten()
        return KeyedEncoded(self, columns, where)

    @abstractmethod
    def release(self, query: str, columns: Sequence[str], rows: int) -> Self:
        """Return the cells r0, r1, … of a query as released rows in random order; raise if they are not so many."""


@dataclass(frozen=True, slots=True)
class KeyedTuples:
    """The distinct tuples of eligible rows: ``keys`` has those of each column in the order of their codes.

    ``relation`` has the distinct keys k0, k1, … with the number of rows n. ``counted`` are their codes and numbers of
    rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    relation: str
    where: str
    counted: Counts | None

    @property
    def names(self) -> list[str]:
        """What the keys of each column are called."""
        return [f"k{position}" for position in range(len(self.columns))]

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)

    def key_columns(self, codes: Sequence[Array]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            name: keys.take(integers(np.asarray(own, np.int64)))
            for name, keys, own in zip(self.names, self.keys, codes, strict=True)
        }


def make_tuples(
    source: KeyedSource, columns: Sequence[str], where: Sequence[Condition]
) -> tuple[KeyedTuples, ColumnValues]:
    """Count the tuples of keys of the eligible rows; return them, and the distinct values of each column."""
    columns, cells = tuple(columns), [source.cell(column) for column in columns]
    condition = eligible(where, source.cell)
    names = [f"k{position}" for position in range(len(cells))]
    keys = f"SELECT {', '.join(source.texts(columns, 'k')) or '1 AS nothing'} FROM {source.relation} WHERE {condition}"
    listed = "".join(f"{name}, " for name in names)
    grouping = f"GROUP BY {', '.join(names)}" if names else "HAVING count(*) > 0"
    tuples = f"SELECT {listed}count(*) AS n FROM ({keys}) AS keys_of {grouping}"
    few = source.arrow(f"{tuples} LIMIT {FEW_TUPLES + 1}")
    counted, relation = None, f"({tuples})"
    if len(few) <= FEW_TUPLES:
        found = [few[name] for name in names]
    else:
        relation = source.store(tuples)
        found = _distinct_keys(source, relation, names)
    dictionaries = [_sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
    if len(few) <= FEW_TUPLES:
        codes = tuple(_codes_of(own, keys) for own, keys in zip(found, dictionaries, strict=True))
        counted = Counts(codes, numbers(few["n"]).astype(np.int64))
    values = {
        column: tuple(cell.text(key) for key in own)
        for column, cell, own in zip(columns, cells, dictionaries, strict=True)
    }
    arrays = tuple(text_column(own).cast(pa.string()) for own in dictionaries)
    return KeyedTuples(columns, arrays, relation, condition, counted), values


def _distinct_keys(source: KeyedSource, relation: str, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return the distinct keys of each column of stored tuples, all in one query."""
    each = (f"SELECT DISTINCT {place} AS place, {name} AS k FROM {relation} AS t" for place, name in enumerate(names))
    table = source.arrow(" UNION ALL ".join(each))
    places = numbers(table["place"])
    return [table["k"].take(integers(np.flatnonzero(places == place))) for place in range(len(names))]


def _sorted_keys(cell: Cell, found: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys among those found, by the code points of their texts, missing last."""
    return sorted(found.unique().to_pylist(), key=lambda key: (key == "", cell.text(key) or ""))


def _codes_of(found: pa.ChunkedArray, keys: Sequence[str]) -> NDArray[np.uint32]:
    """Return the position of each text among the keys."""
    encoded = found.combine_chunks().dictionary_encode()
    code_of = {key: code for code, key in enumerate(keys)}
    own = np.array([code_of[key] for key in encoded.dictionary.to_pylist()], np.uint32)
    codes: NDArray[np.uint32] = own[np.from_dlpack(encoded.indices)]
    return codes


class KeyedEncoded(SqlEncoded):
    """The distinct tuples of keys of a table: on the driver if they are few, else stored where the rows are."""

    _source: KeyedSource

    def __init__(self, table: KeyedRows, columns: Sequence[str], where: Sequence[Condition]) -> None:
        self._table = table
        self._source = table.source
        self._made, values = make_tuples(self._source, columns, where)
        is_stored = self._made.counted is None
        self._where = self._made.where
        super().__init__(table, values, partial(self._source.forget, *([self._made.relation] if is_stored else [])))

    @property
    def rows(self) -> int:
        self.refuse_closed()
        counted = self._made.counted
        if counted is not None:
            return int(counted.counts.sum())
        return self._source.total(f"SELECT n FROM {self._made.relation} AS tuples")

    def count_by(self, columns: Sequence[str]) -> Counts:
        return self.count_merged(columns, {})

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, IntArray]) -> Counts:
        self.refuse_closed()
        counted = self._made.counted
        if counted is None:
            return self._count_stored(columns, merged)
        positions = [self.position(column) for column in columns]
        codes = [
            np.asarray(merged[column], np.uint32)[counted.codes[place]] if column in merged else counted.codes[place]
            for column, place in zip(columns, positions, strict=True)
        ]
        is_all = not merged and sorted(positions) == list(range(len(self.columns)))
        return Counts(tuple(codes), counted.counts) if is_all else sum_by_tuple(codes, counted.counts)

    def _count_stored(self, columns: Sequence[str], merged: Mapping[str, IntArray]) -> Counts:
        joined, (cells,), sent = self._merged_cells(columns, [merged])
        listed = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
        grouping = f"GROUP BY {', '.join(cells)}" if cells else "HAVING count(*) > 0"
        table = self._source.arrow(
            f"SELECT {listed}{', ' if cells else ''}CAST(sum(n) AS BIGINT) AS n FROM {joined} {grouping}"
        )
        self._source.forget(*sent)
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(array.astype(np.uint32) for array in arrays[:-1]), arrays[-1].astype(np.int64))

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, IntArray]]) -> list[int]:
        """Return the numbers from one pass over stored tuples, where the dialect can, as estimates."""
        self.refuse_closed()
        if self._made.counted is not None:
            return super().tuples_at(columns, ways)
        joined, cells, sent = self._merged_cells(columns, ways)
        counts = ", ".join(f"{self._source.dialect.distinct_estimate(own)} AS n{n}" for n, own in enumerate(cells))
        table = self._source.arrow(f"SELECT {counts} FROM {joined}")
        self._source.forget(*sent)
        return [int(column[0].as_py()) for column in table.columns]

    def _merged_cells(
        self, columns: Sequence[str], ways: Sequence[Mapping[str, IntArray]]
    ) -> tuple[str, list[list[str]], list[str]]:
        """Return stored tuples joined with codes, the SQL of the codes for each way of merging them, and the tables."""
        joined, sent = f"{self._made.relation} AS tuples", []
        cells: list[list[str]] = [[] for _ in ways]
        for column in columns:
            position = self.position(column)
            data = {f"k{position}": self._made.keys[position]}
            name_of: dict[bytes, str] = {}  # most ways leave most columns alike
            for number, way in enumerate(ways):
                codes = np.asarray(way.get(column, np.arange(len(self._made.keys[position]))), np.int32)
                name = name_of.setdefault(codes.tobytes(), f"m{position}_{number}")
                data.setdefault(name, integers(codes))
                cells[number].append(name)
            sent.append(self._source.relation_of(pa.table(data)))
            joined += f" JOIN {sent[-1]} AS d{position} USING (k{position})"
        return joined, cells, sent

    def recode(self, plan: Plan | LocalPlan) -> KeyedRows:
        self.refuse_closed()
        if isinstance(plan, LocalPlan):
            self.refuse_other_columns(plan.tuples, "place")
            made = recoding.recode_locally(self._source, self._made, plan)
        else:
            self.refuse_other_columns(plan.maps, "map")
            made = recoding.recode_by_column(self._source, self._made, plan)
        released = self._table.release(made.query, plan.columns, made.rows)
        self._source.forget(*made.sent)
        return released

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        self.refuse_closed()
        self.refuse_other_columns(plan.tuples, "place")
        placed = recoding.place_rows(self._source, self._made, plan, plan.copied)
        rows = self._source.store(f"SELECT * FROM ({placed.query}) AS placed WHERE goal <> {NOWHERE}")
        classes = int(np.max(plan.groups, initial=-1)) + 1
        names = {"goal": np.arange(classes), "class": np.argsort(plan.draws.part("classes").keys(classes)) + 1}
        given = self._source.relation_of(pa.table({name: integers(own) for name, own in names.items()}))
        divided: dict[str, Rows] = {}
        for name, columns in plan.tables.items():
            cells = "".join(f", o{plan.copied.index(column)} AS r{number}" for number, column in enumerate(columns, 1))
            query = f"SELECT class AS r0{cells} FROM {rows} AS placed JOIN {given} AS classes USING (goal)"
            divided[name] = self._table.release(query, (plan.link, *columns), placed.rows)
        self._source.forget(rows, given, *placed.sent)
        return divided

    def keys_of(self, column: str, codes: Sequence[int]) -> pa.Array:
        return self._made.keys[self.position(column)].take(integers(np.asarray(codes, np.int64)))
