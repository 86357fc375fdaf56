"""DuckSource: a table, view or scan in a DuckDB session, and the SQL of its cells."""

from __future__ import annotations

from collections.abc import Sequence

from indistinct.engine.duckdb.session import Session, quote
from indistinct.errors import TableError


class DuckSource:
    """A relation of a session, its columns and their types."""

    def __init__(self, session: Session, relation: str) -> None:
        self.session = session
        self.relation = relation
        self.name = session.name
        self.types: dict[str, str] = {
            row[0]: row[1] for row in session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {relation})")
        }

    def text(self, column: str) -> str:
        """Return the SQL of a column's cells as text, where missing is empty text."""
        cell = self.own_cell(column)
        return f"coalesce({cell}{'' if self.types[column] == 'VARCHAR' else '::VARCHAR'}, '')"

    def own_cell(self, column: str) -> str:
        """Return the SQL of a column's cells in their own type, where missing is null.

        An ENUM becomes text: its type would tell the values of rows that were suppressed.
        """
        if column not in self.types:
            raise TableError(f"{self.name}: no column {column!r}")
        kind = self.types[column]
        if kind in ("BLOB", "VARIANT", "GEOMETRY") or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
            raise TableError(
                f"{self.name}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        name = quote(column)
        if kind in ("FLOAT", "DOUBLE"):
            return f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END"
        if kind == "VARCHAR" or kind.startswith("ENUM"):
            return f"nullif({name}::VARCHAR, '')"
        return f"{name}::VARCHAR" if kind == '"NULL"' else name

    def all_texts(self, columns: Sequence[str]) -> str:
        """Return the SQL of all rows as text cells, missing as null."""
        cells = ", ".join(f"nullif({self.text(column)}, '') AS {quote(column)}" for column in columns)
        return f"SELECT {cells} FROM {self.relation}"

    def rows_of(self, table: str) -> int:
        """Return how many rows a table of the session has."""
        return int(self.session.fetch(f"SELECT count(*) FROM {table}")[0][0])

    def refuse_changed(self, is_changed: bool) -> None:
        """Raise if the rows are no longer those that were counted."""
        if is_changed:
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")
