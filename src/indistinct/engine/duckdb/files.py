"""Tables in files: delimited text, Parquet, Arrow and DuckDB databases, opened without copying where possible."""

from __future__ import annotations

import glob
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from indistinct.engine.duckdb.delimited import escape_pattern, read_layout
from indistinct.engine.duckdb.frames import restore_arrow
from indistinct.engine.duckdb.rows import DuckRows, Format
from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.rows import check_names
from indistinct.errors import TableError

PARQUET = (".parquet", ".pq")
DATABASE = (".duckdb", ".db", ".ddb")
IPC = (".arrow", ".feather", ".ipc")


def open_path(text: str, session: Session, delimiter: str | None, encoding: str | None) -> DuckRows:
    """Return the rows of a file, of a folder or pattern of Parquet files, or of a table as ``file.duckdb::table``."""
    path = Path(text)
    if not path.exists():
        file, separator, table = text.rpartition("::")
        if separator and Path(file).is_file():
            return _open_database(Path(file), table, session)
        matches = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
        if not matches:
            raise TableError(f"{text}: no such file")
        return _open_parquet(text, Path(matches[0]), True, session)
    if path.is_dir():
        first = next(path.rglob("*.parquet"), None)
        if first is None:
            raise TableError(f"{path.name}: is a folder without Parquet files; give a file, or a folder of *.parquet")
        return _open_parquet(f"{escape_pattern(path)}/**/*.parquet", first, True, session)
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return _open_parquet(escape_pattern(path), path, False, session)
    if suffix in DATABASE:
        return _open_database(path, None, session)
    if suffix in IPC:
        return _open_ipc(path, session)
    return _open_text(path, session, delimiter, encoding)


def _open_text(path: Path, session: Session, delimiter: str | None, encoding: str | None) -> DuckRows:
    layout = read_layout(path, session.folder, delimiter, encoding)
    check_names(session.name, layout.names)
    relation = _view(session, layout.scan())
    return DuckRows(session, relation, Format("csv", restore_arrow(None), layout.delimiter))


def _open_parquet(pattern: str, first: Path, is_partitioned: bool, session: Session) -> DuckRows:
    """Scan Parquet where it lies; names of partition folders are columns of text, so that 01234 stays 01234."""
    try:
        check_names(session.name, pyarrow.parquet.read_schema(first).names)
    except (OSError, pa.ArrowException):
        raise TableError(f"{first.name}: is not a Parquet file") from None
    partitions = "hive_types_autocast = false" if is_partitioned else "hive_partitioning = false"
    relation = _view(session, f"SELECT * FROM read_parquet({literal(pattern)}, {partitions})")
    return DuckRows(session, relation, Format("parquet", restore_arrow(None)))


def _open_ipc(path: Path, session: Session) -> DuckRows:
    try:
        with pa.memory_map(str(path)) as file:
            try:
                table = pa.ipc.open_file(file).read_all()
            except pa.ArrowInvalid:
                file.seek(0)
                table = pa.ipc.open_stream(file).read_all()
    except (OSError, pa.ArrowException):
        raise TableError(f"{path.name}: is not an Arrow IPC file") from None
    check_names(session.name, table.column_names)
    return DuckRows(session, session.register(table), Format("ipc", restore_arrow(table.schema)))


def _open_database(path: Path, table: str | None, session: Session) -> DuckRows:
    session.execute(f"ATTACH {literal(str(path))} AS original (READ_ONLY)")
    tables = session.fetch(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'original' ORDER BY ALL"
    )
    found = [pair for pair in tables if table in (None, pair[1], f"{pair[0]}.{pair[1]}")]
    if len(found) != 1:
        names = ", ".join(name for _, name in tables) or "none"
        raise TableError(f"{path.name}: say which table as {path.name}::table; it has {names}")
    schema, name = found[0]
    relation = f"original.{quote(schema)}.{quote(name)}"
    return DuckRows(session, relation, Format("database", restore_arrow(None), table=name))


def _view(session: Session, query: str) -> str:
    view = session.fresh("source")
    session.execute(f"CREATE VIEW {view} AS {query}")
    return view
