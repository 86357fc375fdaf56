"""Databases of DuckDB: a table of one, in place."""

from __future__ import annotations

from pathlib import Path

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.session import Session, quote
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import FileFormat, Reading
from indistinct.errors import TableError


class DuckDBDatabase(FileFormat):
    """A database of DuckDB; where it has several tables, the caller says which."""

    kind = "database"
    name = "DuckDB (file.duckdb::table)"
    suffixes = (".duckdb", ".db", ".ddb")

    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        database = session.attach(path, "(READ_ONLY)")
        tables = session.fetch(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY ALL",
            [database],
        )
        found = [pair for pair in tables if reading.table in (None, pair[1], f"{pair[0]}.{pair[1]}")]
        if len(found) != 1:
            names = ", ".join(name for _, name in tables) or "none"
            raise TableError(f"{path.name}: say which table as {path.name}::table; it has {names}")
        schema, name = found[0]
        return f"{database}.{quote(schema)}.{quote(name)}", Origin(self.kind, table=name)

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        session = source.session
        path.unlink(missing_ok=True)
        database = session.attach(path)
        try:
            session.execute(f"CREATE TABLE {database}.{quote(origin.table)} AS SELECT * FROM {source.relation}")
        finally:
            session.detach(database)
