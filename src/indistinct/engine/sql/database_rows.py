"""DatabaseRows: the engine's verbs on a table of a database, whose rows stay there; they are found by their keys."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.rows import Rows, check_names
from indistinct.engine.sql.dialect import Cell
from indistinct.engine.sql.keyed import KeyedRows, KeyedSource
from indistinct.engine.sql.rows import surplus
from indistinct.engine.sql.session import DatabaseSession
from indistinct.errors import OutputError, TableError

MOST_TUPLES = 5_000_000
"""So many tuples come to the driver if nothing else is said."""


class DatabaseSource(KeyedSource):
    """A relation with columns x0, x1, … so that no name needs quoting, or is cut off after 63 bytes."""

    def __init__(self, session: DatabaseSession, relation: str, names: Sequence[str]) -> None:
        self.session = session
        self.dialect = session.dialect
        self.name = session.name
        self.relation = relation
        self.names = tuple(names)
        check_names(self.name, self.names)
        self.sent: list[str] = []
        """Temporary tables that were made for this relation."""

    @functools.cached_property
    def types(self) -> Mapping[str, str]:  # type: ignore[override]
        """The kind of each column."""
        described = self.session.describe(self.relation)
        return {name: column.kind for name, column in zip(self.names, described, strict=True)}

    def cell(self, column: str) -> Cell:
        if column not in self.names:
            raise TableError(f"{self.name}: no column {column!r}")
        return self.session.cell(column, self.identifier(column), self.types[column])

    def identifier(self, column: str) -> str:
        return f"x{self.names.index(column)}"

    def arrow(self, sql: str) -> pa.Table:
        return self.session.arrow(sql)

    def relation_of(self, table: pa.Table) -> str:
        self.sent.append(self.session.send(table))
        return self.sent[-1]

    def store(self, query: str) -> str:
        relation, _ = self.session.store(query)
        self.sent.append(relation)
        return relation

    def forget(self, *relations: str) -> None:
        self.session.drop(*relations)
        self.sent = [table for table in self.sent if table not in relations]

    def value_lists(self, counted: str, groups: Sequence[str]) -> pa.Table:
        """Return the lists from rows that stand in the order of their groups: arrays would come as text."""
        number = f"dense_rank() OVER (ORDER BY {', '.join(groups)})" if groups else "1"
        found = self.arrow(f"SELECT {number} AS place, text, size FROM ({counted}) AS counted ORDER BY 1")
        places = numbers(found["place"])
        starts = np.flatnonzero(np.diff(places, prepend=0)) if len(places) else np.zeros(0, np.int64)
        ends = integers(np.append(starts, len(places)).astype(np.int32))
        lists = {
            name: pa.ListArray.from_arrays(ends, found[own].combine_chunks())
            for name, own in (("texts", "text"), ("sizes", "size"))
        }
        return pa.table(lists)


class DatabaseRows(KeyedRows):
    """A table of a database, or what was made of one: ``stored`` are temporary tables of its own."""

    source: DatabaseSource

    def __init__(
        self,
        session: DatabaseSession,
        relation: str,
        names: Sequence[str],
        stored: tuple[str, ...] = (),
        max_tuples: int | None = MOST_TUPLES,
    ) -> None:
        super().__init__(session.name, session.kind, max_tuples)
        self.source = DatabaseSource(session, relation, names)
        self.remark: str | None = None
        """What the database says of the table: of a release its manifest."""
        self._stored = stored
        self._closed = False
        session.retain()

    def columns(self) -> tuple[str, ...]:
        return self.source.names

    def with_max_tuples(self, max_tuples: int) -> DatabaseRows:
        return DatabaseRows(self.source.session, self.source.relation, self.columns(), max_tuples=max_tuples)

    def select(
        self, cells: Mapping[str, str], rows: str, typed: frozenset[str], *, is_stored: bool = False
    ) -> DatabaseRows:
        query = f"SELECT {', '.join(f'{sql} AS x{place}' for place, sql in enumerate(cells.values()))} FROM {rows}"
        session = self.source.session
        if not is_stored:
            return DatabaseRows(session, f"({query}) AS derived", tuple(cells), max_tuples=self.max_tuples)
        relation, _ = session.store(query)
        return DatabaseRows(session, relation, tuple(cells), (relation,), self.max_tuples)

    def close_but_for(self, derived: DatabaseRows) -> None:
        derived._stored += (*self._stored, *self.source.sent)
        self._stored, self.source.sent = (), []
        self.close()

    def release(self, query: str, columns: Sequence[str], rows: int) -> DatabaseRows:
        """Return released rows in an order that is drawn anew for each, from a source of secret numbers."""
        shown = ", ".join(f"r{number} AS x{number}" for number in range(len(columns)))
        session = self.source.session
        relation, found = session.store(
            f"SELECT {shown} FROM ({query}) AS recoded ORDER BY {session.dialect.random_key}"
        )
        released = DatabaseRows(session, relation, columns, (relation,))
        if found != rows:
            released.close()
            self.source.refuse_changed(True)
        return released

    def to_native(self) -> pa.Table:
        return self._own_cells().read_all()

    def write(self, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        path = Path(folder) / f"{name}.parquet"
        batches = self._own_cells()
        try:
            with pyarrow.parquet.ParquetWriter(path, batches.schema, compression="zstd", store_schema=False) as file:
                for batch in batches:
                    file.write_batch(batch)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
        return path

    def format(self) -> dict[str, str]:
        return {}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        mine = f"SELECT {', '.join(self.source.texts(columns, 'k'))} FROM {self.source.relation}"
        sent: list[str] = []
        if isinstance(other, DatabaseRows) and self._has_keys_of(other, columns):
            theirs = f"SELECT {', '.join(other.source.texts(columns, 'k'))} FROM {other.source.relation}"
        else:
            names = [f"k{place}" for place in range(len(columns))]
            sent = [
                self.source.relation_of(rows.texts(columns).read_all().rename_columns(names)) for rows in (self, other)
            ]
            cells = ", ".join(f"coalesce({name}, '') AS {name}" for name in names)
            mine, theirs = (f"SELECT {cells} FROM {relation}" for relation in sent)
        found = self.source.arrow(surplus(mine, theirs, len(columns)))
        self.source.forget(*sent)
        return int(found["n"][0].as_py())

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as they come; for tables that leave the server."""
        cells = [self.source.cell(column) for column in columns]
        listed = ", ".join(f"nullif({cell.key}, '') AS t{place}" for place, cell in enumerate(cells))
        schema = pa.schema([(column, pa.string()) for column in columns])
        names = pa.schema([(f"t{place}", pa.string()) for place in range(len(columns))])
        found = self.source.session.stream(f"SELECT {listed} FROM {self.source.relation}", names)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in found:
                texts = [
                    column
                    if cell.has_common_keys
                    else text_column([cell.text(key or "") for key in column.to_pylist()]).cast(pa.string())
                    for cell, column in zip(cells, batch.columns, strict=True)
                ]
                yield pa.record_batch(texts, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.encodings.close()
        self.source.session.drop(*self._stored, *self.source.sent)
        self.source.session.release()

    def _has_keys_of(self, other: DatabaseRows, columns: Sequence[str]) -> bool:
        """Return whether the rows of another table have the same keys, in this session, where cells are the same."""
        if other.source.session is not self.source.session:
            return False
        cells = [(self.source.cell(column), other.source.cell(column)) for column in columns]
        return all(own.kind == their.kind or (own.has_common_keys and their.has_common_keys) for own, their in cells)

    def _own_cells(self) -> pa.RecordBatchReader:
        """Return all rows in their order, in the types of the database where Arrow has them."""
        cells = ", ".join(f"{self.source.cell(column).own} AS x{place}" for place, column in enumerate(self.columns()))
        own_types = map(self.source.session.arrow_type, self.source.types.values())
        given = pa.schema([(f"x{place}", kind) for place, kind in enumerate(own_types)])
        found = self.source.session.stream(f"SELECT {cells} FROM {self.source.relation}", given)
        schema = pa.schema([(name, own.type) for name, own in zip(self.columns(), found.schema, strict=True)])
        renamed = (batch.rename_columns(schema.names) for batch in found)
        return pa.RecordBatchReader.from_batches(schema, renamed)
