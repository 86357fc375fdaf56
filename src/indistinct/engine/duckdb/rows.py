"""DuckRows and DuckEncoded: the engine's verbs on a table, view or scan in a DuckDB session, and on its codes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from indistinct.array_types import IntArray
from indistinct.engine.arrays import integers, numbers, text_column, without_rests
from indistinct.engine.duckdb import distinct_lines
from indistinct.engine.duckdb.changed_cells import (
    NumberChange,
    changed_numbers,
    flags_sql,
    moment_sql,
    number_sql,
    set_members_sql,
)
from indistinct.engine.duckdb.dialect import literal, quote
from indistinct.engine.duckdb.distinct_lines import StoredRows
from indistinct.engine.duckdb.histories import (
    members_sql,
    recognise_sql,
    refuse_unusable_keys,
)
from indistinct.engine.duckdb.recoding import LINE, Stored, divided_tables, recoded_by_column, recoded_locally
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.source import DuckSource, Encoding, code_type, make_encoding, with_codes
from indistinct.engine.duckdb.table_files import Origin, write_file
from indistinct.engine.plans import PARENT, PERSON, ROW, ClassPlan, Condition, Counts, LocalPlan, Plan, Recognition
from indistinct.engine.rows import Rows
from indistinct.engine.sql.dialect import Cell, eligible
from indistinct.engine.sql.rows import SqlEncoded, SqlRows, surplus
from indistinct.errors import TableError

MANY_ROWS = 1_000_000
"""Rows from which on distinct tuples are estimated, and merged before they leave DuckDB."""
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


MOST_STORED = 20_000_000
"""Cells: a larger table is read again by every question, since a copy would take a third of a gigabyte or more."""


class DuckRows(SqlRows):
    """A table, view or scan in a DuckDB session. ``views``, the last first, and the tables ``stored`` are its own."""

    source: DuckSource

    def __init__(
        self,
        session: Session,
        relation: str,
        origin: Origin,
        typed: frozenset[str] | None = None,
        stored: tuple[str, ...] = (),
        views: tuple[str, ...] = (),
        max_tuples: int | None = None,
    ) -> None:
        super().__init__(session.name, origin.kind, max_tuples)
        self.source = DuckSource(session, relation, origin.repeats)
        self._origin = origin
        self._typed = frozenset(self.source.types) if typed is None else typed
        self._stored = stored
        self._views = views
        self._closed = False
        self.notes = origin.notes
        session.retain()

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> DuckEncoded:
        self.encodings.free_forgotten()
        return DuckEncoded(self, columns, where)

    def with_max_tuples(self, max_tuples: int) -> DuckRows:
        session, relation = self.source.session, self.source.relation
        return DuckRows(session, relation, self._origin, self._typed, max_tuples=max_tuples)

    def as_stored(self) -> DuckRows:
        session, repeats = self.source.session, self.source.repeats
        is_at_hand = isinstance(repeats, StoredRows) or (repeats is not None and repeats.distinct_rows() is not None)
        if is_at_hand or self.count() * len(self.columns()) > MOST_STORED:
            rows = DuckRows(session, self.source.relation, self._origin, self._typed, max_tuples=self.max_tuples)
        else:
            cells = {column: quote(column) for column in self.columns()}
            rows = self.select(cells, self.source.relation, frozenset(cells), is_stored=True)
        rows._count, rows.unreadable = self._count, self.unreadable
        return rows

    def with_names(self, names: Mapping[str, str]) -> DuckRows:
        new = {column: names.get(column, column) for column in self.columns()}
        cells = {name: quote(column) for column, name in new.items()}
        rows = self.select(cells, self.source.relation, frozenset(), origin=self._origin.with_names(new))
        rows._typed = frozenset(new[column] for column in self._typed)
        return rows

    def with_members(self, column: str, separator: str | None, flags: Sequence[str] = ()) -> DuckRows:
        members = flags_sql(self.source, column, flags) if flags else set_members_sql(self.source, column, separator)
        cells = {name: quote(name) for name in self.columns()} | {column: f"unnest({members})"}
        return self.select(cells, self.source.relation, frozenset(self.columns()) - {column}, is_stored=True)

    def select(
        self,
        cells: Mapping[str, str],
        rows: str,
        typed: frozenset[str],
        *,
        is_stored: bool = False,
        origin: Origin | None = None,
    ) -> DuckRows:
        session = self.source.session
        query = f"SELECT {', '.join(f'{sql} AS {quote(column)}' for column, sql in cells.items())} FROM {rows}"
        name = session.fresh("source")
        session.execute(f"CREATE {'TABLE' if is_stored else 'VIEW'} {name} AS {query}")
        stored, views = ((name,), ()) if is_stored else ((), (name,))
        origin = origin or self._origin
        return DuckRows(session, name, origin, typed & self._typed, stored, views, self.max_tuples)

    def close_but_for(self, derived: DuckRows) -> None:
        if derived._views:
            derived._views += self._views
            derived._stored += (*self._stored, *self.source.sent)
            self._views, self._stored, self.source.sent = (), (), []
        self.close()

    def derive(self, cells: Sequence[str], stored: str, typed: frozenset[str]) -> DuckRows:
        """Return these cells of a stored table as rows of the same kind; they own the table."""
        view = self.source.session.create_view(f"SELECT {', '.join(cells)} FROM {stored}")
        return DuckRows(self.source.session, view, self._origin, typed & self._typed, (stored,), (view,))

    def derive_released(self, shown: Mapping[str, str], typed: frozenset[str], stored: Stored) -> DuckRows:
        """Return the cells r0, r1, … of stored rows, as they are shown, as rows of the same kind, which own them."""
        session = self.source.session
        view = session.fresh("source")
        repeats = StoredRows(view, session, stored.table, shown, LINE if stored.has_lines else None, stored.kinds)
        cells = ", ".join(f"{sql} AS {quote(column)}" for column, sql in shown.items())
        session.execute(f"CREATE VIEW {view} AS SELECT {cells} FROM {repeats.rows}")
        tables = (stored.table, *([] if stored.kinds is None else [stored.kinds]))
        return DuckRows(session, view, replace(self._origin, repeats=repeats), typed & self._typed, tables, (view,))

    def to_native(self) -> object:
        table = self.source.session.arrow(f"SELECT * FROM {self.source.relation}")
        return self._origin.to_native(without_rests(table), self._typed)

    def write(self, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        origin = self._origin if kind is None else replace(self._origin, kind=kind, table=name)
        return write_file(self.source, folder, name, origin)

    def format(self) -> dict[str, str]:
        return {} if self._origin.delimiter is None else {"delimiter": self._origin.delimiter}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        mine = f"SELECT {', '.join(self.source.texts(columns, 'k'))} FROM {self.source.relation}"
        if isinstance(other, DuckRows) and other.source.session is self.source.session:
            theirs = f"SELECT {', '.join(other.source.texts(columns, 'k'))} FROM {other.source.relation}"
            found = self.source.arrow(surplus(mine, theirs, len(columns)))
        else:
            with self.source.session.registered_table(other.texts(columns)) as given:
                cells = ", ".join(f"coalesce({quote(column)}, '')" for column in columns)
                found = self.source.arrow(surplus(mine, f"SELECT {cells} FROM {given}", len(columns)))
        return int(found["n"][0].as_py())

    def unreadable_dates(self, column: str, form: str | None, where: Sequence[Condition] = ()) -> int:
        cell = self.source.cell(column)
        return self._count_unreadable(cell, moment_sql(cell.kind, cell.own, form), where)

    def unreadable_numbers(self, column: str, where: Sequence[Condition] = ()) -> int:
        cell = self.source.cell(column)
        return self._count_unreadable(cell, number_sql(cell.key), where)

    def _count_unreadable(self, cell: Cell, read: str, where: Sequence[Condition]) -> int:
        """Return how many eligible rows hold something in a column that cannot be read."""
        condition = f"{eligible(where, self.source.cell)} AND {cell.key} <> '' AND {read} IS NULL"
        return self.source.rows_of(f"{self.source.relation} WHERE {condition}")

    def with_numbers(self, changes: Mapping[str, NumberChange]) -> DuckRows:
        stored, types = changed_numbers(self.source, changes)
        cells = [
            f"{f'n{list(changes).index(column)}::{types[column]}' if column in changes else f'o{place}'} "
            f"AS {quote(column)}"
            for place, column in enumerate(self.columns())
        ]
        rows = self.derive(cells, stored, self._typed - set(changes))
        self.close()
        return rows

    def mixed_missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        return () if self.kind == "csv" else super().mixed_missing(columns)  # text has one form

    def row_at(self, number: int) -> pa.Table:
        return self.source.session.arrow(f"SELECT * FROM {self.source.relation} LIMIT 1 OFFSET {int(number) - 1}")

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        return self.source.session.stream(self.source.all_texts(columns))

    def recognise(self, how: Recognition) -> DuckRows:
        session, told = self.source.session, self.source.session.fresh("recognised")
        texts = {column: self.source.text(column) for column in self.columns()}
        rows = f"(SELECT * FROM {self.source.relation} WHERE {eligible(how.where, self.source.cell)})"
        session.execute(f"CREATE TABLE {told} AS {recognise_sql(rows, texts, how)}")
        found = self.derive(["*"], told, self._typed - set(how.based))
        refuse_unusable_keys(session, told, how)
        return found

    def write_members(self, released: Rows, path: Path, group: Sequence[str], values: Sequence[str]) -> None:
        assert isinstance(released, DuckRows)
        labels = {column: released.source.text(column) for column in group}
        cells = {column: self.source.text(column) for column in values}
        whose = [column for column in (PERSON, ROW, PARENT) if column in self.columns()]
        query = members_sql(released.source.relation, self.source.relation, labels, cells, whose)
        self.source.session.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        session = self.source.session
        session.release()
        self.encodings.close()
        if session.is_open:
            for view in self._views:
                session.execute(f"DROP VIEW {view}")
            session.drop(*self._stored, *self.source.sent)
