"""Writing rows to a file of the kind that came in, in the order in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.duckdb.source import DuckSource
from indistinct.errors import OutputError, TableError

SUFFIXES = {"csv": ".csv", "database": ".duckdb", "ipc": ".arrow"}


def file_path(folder: Path, name: str, kind: str) -> Path:
    """Give the path of a table in a folder: its name with the suffix of the kind, Parquet for frames."""
    return Path(folder) / f"{name}{SUFFIXES.get(kind, '.parquet')}"


def write_file(source: DuckSource, path: Path, kind: str, delimiter: str, table: str) -> None:
    """Write all rows to a file of this kind."""
    session, relation = source.session, source.relation
    try:
        if kind == "csv":
            _write_csv(session, relation, tuple(source.types), path, delimiter)
        elif kind == "database":
            _write_database(session, relation, path, table)
        elif kind == "ipc":
            _write_ipc(session, relation, path)
        else:
            _write_parquet(session, relation, path)
    except (OSError, TableError):
        raise OutputError(
            f"{path.name}: cannot be written to {path.parent}; check the folder and the free space"
        ) from None


def _write_csv(session: Session, relation: str, columns: Sequence[str], path: Path, delimiter: str) -> None:
    """Write delimited text; a lone column writes missing as ``""``, because readers skip empty lines."""
    cells = f"coalesce({quote(columns[0])}::VARCHAR, '')" if len(columns) == 1 else ""
    query = f"SELECT {cells} AS {quote(columns[0])} FROM {relation}" if cells else f"SELECT * FROM {relation}"
    session.execute(
        f"COPY ({query}) TO {literal(str(path))} "
        f"(FORMAT csv, HEADER true, DELIMITER {literal(delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR '')"
    )


def _write_parquet(session: Session, relation: str, path: Path) -> None:
    session.execute(f"COPY (SELECT * FROM {relation}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")


def _write_database(session: Session, relation: str, path: Path, table: str) -> None:
    database = session.fresh("output")
    path.unlink(missing_ok=True)
    session.execute(f"ATTACH {literal(str(path))} AS {database}")
    try:
        session.execute(f"CREATE TABLE {database}.{quote(table)} AS SELECT * FROM {relation}")
    finally:
        session.execute(f"DETACH {database}")


def _write_ipc(session: Session, relation: str, path: Path) -> None:
    with session.stream(f"SELECT * FROM {relation}") as batches, pa.ipc.new_file(str(path), batches.schema) as file:
        for batch in batches:
            file.write_batch(batch)
