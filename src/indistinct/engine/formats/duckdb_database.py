"""Databases of DuckDB: a table of one, in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from indistinct.engine.formats.file_format import Contents, FileFormat, FileReading
from indistinct.errors import TableError

_OWN = "NOT internal AND database_name = current_database()"
HIDDEN = {
    "further tables": f"SELECT count(*) > 1 FROM duckdb_tables() WHERE {_OWN}",
    "views": f"SELECT count(*) FROM duckdb_views() WHERE {_OWN}",
    "macros": f"SELECT count(*) FROM duckdb_functions() WHERE {_OWN}",
    "types": f"SELECT count(*) FROM duckdb_types() WHERE {_OWN}",
    "schemas": f"SELECT count(*) FROM duckdb_schemas() WHERE {_OWN} AND schema_name <> 'main'",
    "sequences": "SELECT count(*) FROM duckdb_sequences() WHERE database_name = current_database()",
    "indexes": "SELECT count(*) FROM duckdb_indexes() WHERE database_name = current_database()",
    "constraints": "SELECT count(*) FROM duckdb_constraints() WHERE database_name = current_database()",
    "a comment on the table": f"SELECT count(*) FROM duckdb_tables() WHERE {_OWN} AND comment IS NOT NULL",
    "comments on columns, or default values": f"SELECT count(*) FROM duckdb_columns() WHERE {_OWN} "
    "AND (comment IS NOT NULL OR column_default IS NOT NULL)",
    "columns that list their values": f"SELECT count(*) FROM duckdb_columns() WHERE {_OWN} AND data_type LIKE 'ENUM%'",
}
"""What a database of one released table never has, each with the query that counts it."""
HEADERS = 3 * 4096
"""Bytes before the first block of a database."""
BLOCKS = (
    "SELECT block_size, total_blocks, free_blocks FROM pragma_database_size() WHERE database_name = current_database()"
)


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database, where it lies; without a name its only one."""

    path: Path
    name: str | None


class DuckDBDatabase(FileFormat):
    """A database of DuckDB; where it has several tables, the caller says which."""

    kind = "database"
    name = "DuckDB (file.duckdb::table)"
    suffixes = (".duckdb", ".db", ".ddb")

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        return Contents(DatabaseTable(path, reading.table), table=reading.table or "release")

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        try:
            with duckdb.connect(str(path), read_only=True) as database:
                counted = {words: database.execute(query).fetchone() for words, query in HIDDEN.items()}
                size, total, free = database.execute(BLOCKS).fetchall()[0]
        except duckdb.Error:
            raise TableError(f"{path.name}: is not a DuckDB database, or another program uses it") from None
        found = [words for words, number in counted.items() if number is not None and number[0]]
        is_written_once = free == 0 and path.stat().st_size == HEADERS + total * size
        return found if is_written_once else [*found, "room that no row uses, in which removed rows can lie"]
