"""DuckEncoded: narrow tables of codes in DuckDB, which are counted, recoded and shuffled."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indistinct.array_types import IntArray
from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.duckdb import distinct_lines
from indistinct.engine.duckdb.dialect import quote
from indistinct.engine.duckdb.recoding import divided_tables, recoded_by_column, recoded_locally
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.source import DuckSource, Encoding, code_type, make_encoding, with_codes
from indistinct.engine.plans import ClassPlan, Condition, Counts, LocalPlan, Plan
from indistinct.engine.sql.rows import SqlEncoded
from indistinct.errors import TableError

if TYPE_CHECKING:
    from indistinct.engine.duckdb.rows import DuckRows
    from indistinct.engine.rows import Rows


MANY_ROWS = 1_000_000
"""From so many rows on distinct tuples are estimated, and merged before they leave DuckDB."""
MIN_ROOM = 1 << 26
"""Tuples that take no more bytes are not thought of beforehand."""
PROCESS = 300_000_000
"""What Python and its libraries take, in bytes."""
MOST_OF_MEMORY = 2 / 3
"""The share of the allowed memory that distinct tuples may take; DuckDB works with what they leave."""
Merged = Mapping[str, IntArray]


class DuckEncoded(SqlEncoded):
    """A dictionary and a table of codes, both in the session of the table that was encoded."""

    _source: DuckSource

    def __init__(self, table: DuckRows, columns: Sequence[str], where: Sequence[Condition]) -> None:
        self._table = table
        self._source = table.source
        self._read, values = make_encoding(self._source, columns, where)
        self._where = self._read.where
        free = partial(_drop, weakref.ref(self._source.session), (self._read.dictionary, self._read.coded))
        super().__init__(table, values, free)

    @cached_property
    def _made(self) -> Encoding:
        """Where the codes are. They are made when they are first needed: whoever asks for values alone needs none."""
        return with_codes(self._source, self._read)

    @property
    def rows(self) -> int:
        self.refuse_closed()
        return self._made.rows

    def count_by(self, columns: Sequence[str]) -> Counts:
        self.refuse_closed()
        codes = [f"c{self.position(column)}" for column in columns]
        grouping = f"GROUP BY {', '.join(codes)}" if codes else "HAVING count(*) > 0"
        table = self._source.session.arrow(
            f"SELECT {', '.join([*codes, self._made.number_of_rows])} FROM {self._made.coded} {grouping}"
        )
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(arrays[:-1]), arrays[-1].astype(np.int64))

    def count_merged(self, columns: Sequence[str], merged: Merged) -> Counts:
        self.refuse_closed()
        if self._made.rows < MANY_ROWS:
            return super().count_merged(columns, merged)
        with self._merged_cells(columns, [merged]) as ((cells,), joined):
            table = self._source.session.arrow(
                f"SELECT {', '.join([*cells, self._made.number_of_rows])} FROM {joined} GROUP BY {', '.join(cells)}"
            )
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(arrays[:-1]), arrays[-1].astype(np.int64))

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Merged]) -> list[int]:
        """Return estimates within some percent where rows are many, all from one pass over their codes."""
        self.refuse_closed()
        if self._made.rows < MANY_ROWS:
            return super().tuples_at(columns, ways)
        with self._merged_cells(columns, ways) as (cells, joined):
            estimates = ", ".join(f"approx_count_distinct(hash({', '.join(own)}))" for own in cells)
            return [int(found) for found in self._source.session.fetch(f"SELECT {estimates} FROM {joined}")[0]]

    def make_room(self, columns: Sequence[str], merged: Merged, bytes_each: int) -> None:
        self.refuse_closed()
        allowed, rows = self._source.session.memory_limit, self._made.rows
        if allowed is None or not columns or rows * bytes_each <= MIN_ROOM:
            return
        tuples = min(rows, self.tuples_at(columns, [merged])[0])
        needed = tuples * bytes_each + PROCESS
        if needed > MOST_OF_MEMORY * allowed:
            raise TableError(
                f"{self.name}: has about {tuples:,} distinct tuples of quasi and sensitive values, which take "
                f"{_gigabytes(needed)} GB while they are searched; the memory limit of {_gigabytes(allowed)} GB leaves "
                f"too little beside that. Allow {_gigabytes(needed / MOST_OF_MEMORY)} GB (--memory), or say how many "
                "may be counted (--max-tuples): columns are then generalized before counting"
            )
        self._source.session.set_aside(needed)

    @contextmanager
    def _merged_cells(self, columns: Sequence[str], ways: Sequence[Merged]) -> Iterator[tuple[list[list[str]], str]]:
        """Return the SQL of the codes of some columns for each way of merging them, and what they are selected from."""
        cells: list[list[str]] = [[f"c{self.position(column)}" for column in columns] for _ in ways]
        joined = f"{self._made.coded} AS rows"
        with ExitStack() as stack:
            for place, column in enumerate(columns):
                position = self.position(column)
                size = self._made.sizes[position]
                data = {"code": integers(np.arange(size))}
                for number, way in enumerate(ways):
                    if column in way:
                        data[f"w{number}"] = integers(np.asarray(way[column], np.int64))
                        cells[number][place] = f"m{position}.w{number}"
                if len(data) > 1:
                    given = stack.enter_context(self._source.session.registered_table(pa.table(data)))
                    kind = code_type(size)
                    typed = ", ".join(f"{name}::{kind} AS {name}" for name in data)
                    joined += f" JOIN (SELECT {typed} FROM {given}) AS m{position} ON c{position} = m{position}.code"
            yield cells, joined

    def recode(self, plan: Plan | LocalPlan) -> DuckRows:
        self.refuse_closed()
        if isinstance(plan, LocalPlan):
            self.refuse_other_columns(plan.tuples, "place")
            stored = recoded_locally(self._source, self._made, plan)
        else:
            self.refuse_other_columns(plan.maps, "map")
            stored = recoded_by_column(self._source, self._made, plan)
        shown = {
            column: f"r{position}{'::VARCHAR' if column in stored.enums else ''}"
            for position, column in enumerate(plan.columns)
        }
        typed = plan.kept | frozenset(plan.copied)
        if self._made.rows < distinct_lines.SAMPLED_ROWS:
            cells = [f"{sql} AS {quote(column)}" for column, sql in shown.items()]
            return self._table.derive(cells, stored.table, typed)
        return self._table.derive_released(shown, typed, stored)

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        self.refuse_closed()
        self.refuse_other_columns(plan.tuples, "place")
        tables: dict[str, Rows] = {}
        for name, stored in divided_tables(self._source, self._made, plan).items():
            columns = plan.tables[name]
            cells = [f"r{n} AS {quote(column)}" for n, column in enumerate((plan.link, *columns))]
            tables[name] = self._table.derive(cells, stored, frozenset(columns))
        return tables

    def keys_of(self, column: str, codes: Sequence[int]) -> pa.Array:
        return text_column([self.values[column][code] or "" for code in codes])


def _gigabytes(number: float) -> str:
    return f"{math.ceil(number / 1e8) / 10:.1f}"


def _drop(session: weakref.ref[Session], tables: Sequence[str]) -> None:
    """Drop some tables, if their session still is open; what waits to be freed must not keep a connection alive."""
    kept = session()
    if kept is not None:
        kept.drop(*tables)
