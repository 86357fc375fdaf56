"""Parquet: a file, or a folder or pattern of them, scanned where they lie."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from indistinct.engine.duckdb.origin import Origin, spans_as_text
from indistinct.engine.duckdb.session import Session, escape_pattern, literal
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import FileFormat, Reading
from indistinct.engine.rows import check_names
from indistinct.errors import TableError


class Parquet(FileFormat):
    """Parquet, the only format of which many files may be one table."""

    kind = "parquet"
    name = "Parquet"
    suffixes = (".parquet", ".pq")
    is_canonical = True

    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        return self._scan(escape_pattern(path), path, session, "hive_partitioning = false")

    def open_folder(self, path: Path, session: Session) -> tuple[str, Origin]:
        """Return what ``open`` returns, of all files in a folder and below it."""
        first = next(path.rglob("*.parquet"), None)
        if first is None:
            raise TableError(
                f"{path.name or path}: is a folder without Parquet files; give a file, or a folder of *.parquet"
            )
        return self.open_pattern(f"{escape_pattern(path)}/**/*.parquet", first, session)

    def open_pattern(self, pattern: str, first: Path, session: Session) -> tuple[str, Origin]:
        """Return what ``open`` returns, of all files that match; ``first`` is one of them.

        Names of partition folders are columns of text, so that 01234 stays 01234.
        """
        return self._scan(pattern, first, session, "hive_types_autocast = false")

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        from indistinct.engine.formats.parquet_contents import hidden_in_parquet

        parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        return sorted({what for part in parts for what in hidden_in_parquet(part)})

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        """Write a file whose bytes follow from its rows alone.

        DuckDB declares that a column is never missing where it happens to know that: of rows in a file it does, of the
        same rows under an ENUM it does not. So rows are joined by none of a table of which it knows that cells may be
        missing. Spans of time are text: Parquet's own type counts whole milliseconds, none below zero, and most
        readers give it as bytes.
        """
        session, rows = source.session, spans_as_text(source.relation, source.types)
        none = session.fresh("none")
        try:
            session.execute(f"CREATE TABLE {none} AS SELECT * FROM ({rows}) LIMIT 0")
            session.execute(f"INSERT INTO {none} DEFAULT VALUES; DELETE FROM {none}")
            every = f"SELECT * FROM ({rows}) UNION ALL SELECT * FROM {none}"
            session.execute(f"COPY ({every}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
        finally:
            session.drop(none)

    def _scan(self, pattern: str, first: Path, session: Session, partitions: str) -> tuple[str, Origin]:
        import pyarrow.parquet

        try:
            check_names(session.name, pyarrow.parquet.read_schema(first).names)
        except (OSError, pa.ArrowException):
            raise TableError(f"{first.name}: is not a Parquet file") from None
        relation = session.create_view(f"SELECT * FROM read_parquet({literal(pattern)}, {partitions})")
        return relation, Origin(self.kind)
