"""CursorSession: a DatabaseSession over a connection of Python's DB-API, which gives and takes rows as tuples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from indistinct.engine.sql.session import DatabaseSession
from indistinct.errors import IndistinctError, TableError

BATCH = 50_000
"""So many rows come at once."""


class CursorSession(DatabaseSession):
    """A session whose ``connection`` has cursors."""

    connection: Any

    @abstractmethod
    def explain(self, error: Exception) -> str | None:
        """Return what went wrong and what to do, without a cell; None if the error is not of the database."""

    @abstractmethod
    def insert(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        """Put rows, of which there are some, in a temporary table."""

    def text_of(self, cell: object) -> str | None:
        """Return the text of a cell that is released as text."""
        return None if cell is None else str(cell)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of the database as a TableError that says what went wrong, without a cell."""
        try:
            yield
        except IndistinctError:
            raise
        except Exception as error:
            reason = self.explain(error)
            if reason is None:
                raise
            raise TableError(f"{self.name}: {reason}") from None

    def run(self, sql: str, *values: object) -> Any:
        """Return a cursor that has run a statement."""
        with self.errors():
            cursor = self.connection.cursor()
            cursor.execute(sql, *([values] if values else []))
            return cursor

    def execute(self, sql: str) -> int:
        return int(self.run(sql).rowcount or 0)

    def fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.errors():
            return list(map(tuple, self.run(sql, *values).fetchall()))

    def arrow(self, sql: str) -> pa.Table:
        """Return the rows of a query; all names are ours, and some databases write them in capitals."""
        with self.errors():
            cursor = self.run(sql)
            columns = list(zip(*cursor.fetchall(), strict=True))
        nothing = pa.chunked_array([], pa.null())
        names = [str(one[0]).lower() for one in cursor.description]
        return pa.table({name: columns[place] if columns else nothing for place, name in enumerate(names)})

    def stream(self, sql: str, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
        """Return the rows of a query as they come, in the types of the schema: cursors do not say Arrow's."""
        if schema is None:
            return self.arrow(sql).to_reader()
        return pa.RecordBatchReader.from_batches(schema, self._batches(sql, schema))

    def _batches(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self.errors():
            cursor = self.run(sql)
            while rows := cursor.fetchmany(BATCH):
                columns = [
                    list(map(self.text_of, column)) if pa.types.is_string(kind) else column
                    for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)
                ]
                arrays = [pa.array(own, kind) for own, kind in zip(columns, schema.types, strict=True)]
                yield pa.record_batch(arrays, schema=schema)

    def send(self, table: pa.Table) -> str:
        name = self.fresh()
        columns = ", ".join(
            f"{self.dialect.quote(field.name)} "
            f"{self.dialect.whole if pa.types.is_integer(field.type) else self.dialect.text_type}"
            for field in table.schema
        )
        self.execute(f"{self.dialect.temporary.format(name)} ({columns})")
        for batch in table.to_batches(BATCH):
            if rows := list(zip(*(column.to_pylist() for column in batch.columns), strict=True)):
                self.insert(name, rows)
        return name

    def store(self, query: str) -> tuple[str, int]:
        name = self.fresh()
        self.execute(f"{self.dialect.temporary.format(name)} AS {query}")
        return name, int(self.fetch(f"SELECT count(*) FROM {name}")[0][0])
