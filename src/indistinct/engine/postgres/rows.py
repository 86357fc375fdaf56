"""PostgresRows: the engine's verbs on a table of a server, whose rows stay there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from indistinct.engine.arrays import text_column
from indistinct.engine.postgres.session import PostgresSession
from indistinct.engine.postgres.source import PostgresSource
from indistinct.engine.rows import Rows
from indistinct.engine.sql.keyed import KeyedRows
from indistinct.engine.sql.rows import surplus
from indistinct.errors import OutputError

MOST_TUPLES = 5_000_000
"""So many tuples come to the driver if nothing else is said."""


class PostgresRows(KeyedRows):
    """A table of a server, or what was made of one: ``stored`` are temporary tables of its own."""

    source: PostgresSource

    def __init__(
        self,
        session: PostgresSession,
        relation: str,
        names: Sequence[str],
        stored: tuple[str, ...] = (),
        max_tuples: int | None = MOST_TUPLES,
    ) -> None:
        super().__init__(session.name, "postgres", max_tuples)
        self.source = PostgresSource(session, relation, names)
        self.remark: str | None = None
        """What the server says of the table: of a release its manifest."""
        self._stored = stored
        self._closed = False
        session.retain()

    def with_max_tuples(self, max_tuples: int) -> PostgresRows:
        return PostgresRows(self.source.session, self.source.relation, self.columns(), max_tuples=max_tuples)

    def select(
        self, cells: Mapping[str, str], rows: str, typed: frozenset[str], *, is_stored: bool = False
    ) -> PostgresRows:
        query = f"SELECT {', '.join(f'{sql} AS x{place}' for place, sql in enumerate(cells.values()))} FROM {rows}"
        session = self.source.session
        if not is_stored:
            return PostgresRows(session, f"({query}) AS derived", tuple(cells), max_tuples=self.max_tuples)
        relation, _ = session.store(query)
        return PostgresRows(session, relation, tuple(cells), (relation,), self.max_tuples)

    def close_but_for(self, derived: PostgresRows) -> None:
        derived._stored += (*self._stored, *self.source.sent)
        self._stored, self.source.sent = (), []
        self.close()

    def release(self, query: str, columns: Sequence[str], rows: int) -> PostgresRows:
        """Return released rows in an order that the server draws anew for each, from its source of secret numbers."""
        shown = ", ".join(f"r{number} AS x{number}" for number in range(len(columns)))
        session = self.source.session
        relation, found = session.store(f"SELECT {shown} FROM ({query}) AS recoded ORDER BY gen_random_uuid()")
        released = PostgresRows(session, relation, columns, (relation,))
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
        if isinstance(other, PostgresRows) and self._has_keys_of(other, columns):
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
        found = self.source.session.stream(f"SELECT {listed} FROM {self.source.relation}")

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

    def _has_keys_of(self, other: PostgresRows, columns: Sequence[str]) -> bool:
        """Return whether the rows of another table have the same keys, in this session, where cells are the same."""
        if other.source.session is not self.source.session:
            return False
        cells = [(self.source.cell(column), other.source.cell(column)) for column in columns]
        return all(own.kind == their.kind or (own.has_common_keys and their.has_common_keys) for own, their in cells)

    def _own_cells(self) -> pa.RecordBatchReader:
        """Return all rows in their order, in the types of the server where Arrow has them."""
        cells = ", ".join(f"{self.source.cell(column).own} AS x{place}" for place, column in enumerate(self.columns()))
        found = self.source.session.stream(f"SELECT {cells} FROM {self.source.relation}")
        schema = pa.schema([(name, own.type) for name, own in zip(self.columns(), found.schema, strict=True)])
        renamed = (batch.rename_columns(schema.names) for batch in found)
        return pa.RecordBatchReader.from_batches(schema, renamed)
