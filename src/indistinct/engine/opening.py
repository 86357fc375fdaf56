"""open_table(): the rows of a table of any kind, in the engine where they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, Unpack

from indistinct.engine.address import is_address, read_address
from indistinct.engine.duckdb.frames import frame_kind, open_frame
from indistinct.engine.duckdb.rows import DuckRows
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.table_files import open_contents
from indistinct.engine.formats import Contents, FileReading, format_of, name_formats
from indistinct.engine.formats.duckdb_database import DatabaseTable, DuckDBDatabase
from indistinct.engine.formats.parquet import Parquet
from indistinct.engine.rows import Rows
from indistinct.errors import TableError

FRAMES = "a pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation, or a DataFrame of Spark"


class ReadingOptions(TypedDict, total=False):
    """How a table is read: what every function takes, as ``reading``, that opens one."""

    memory_limit: str | None
    """What is held in memory at most, such as ``"4GB"``; the rest goes to a private folder that is removed on close."""
    threads: int | None
    """How many threads the engine may use; else one a core."""
    delimiter: str | None
    """Of delimited text: what separates cells; else it is found out."""
    encoding: str | None
    """Of delimited text: such as ``"latin-1"``; else it is found out."""
    sheet: str | None
    """Which sheet of an Excel workbook."""
    codes: bool
    """Leave the value labels of Stata, SPSS and SAS files unread."""
    engine: object
    """``"spark"``, or a session of Spark, for Parquet paths and tables that Spark shall read; else DuckDB does."""
    master: str | None
    """Where Spark runs, if a session must be made."""
    max_tuples: int | None
    """Where a table has more distinct quasi-identifiers, some are generalized before they are counted."""


def open_table(
    source: object,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    codes: bool = False,
    engine: object = None,
    master: str | None = None,
    max_tuples: int | None = None,
) -> Rows:
    """Return the rows of a table of any kind, without copying them where possible.

    ``ReadingOptions`` says what the options are. DataFrames of Spark stay there whatever ``engine`` says.

    >>> import pyarrow as pa
    >>> with open_table(pa.table({"zip": ["02138", "02139", None]})) as rows:
    ...     rows.encode(["zip"]).values["zip"]
    ('02138', '02139', None)
    """
    if isinstance(source, Rows):
        return source if max_tuples is None else source.with_max_tuples(max_tuples)
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    kind = frame_kind(source) if path is None else None
    if path is None and kind is None:
        raise TableError(f"cannot open {type(source).__name__} as a table; give a path to {name_formats()}, {FRAMES}")
    if path is not None and "://" in path and is_address(path):
        rows: Rows = _open_in_database(path, engine)
    elif kind == "spark" or (path is not None and engine not in (None, "duckdb")):
        rows = _open_in_spark(source, path, engine, master, memory_limit, threads)
    else:
        session = Session(f"the {kind} table" if path is None else Path(path).name, memory_limit, threads)
        try:
            if kind is not None:
                rows = open_frame(source, kind, session)
            else:
                rows = _open_path(str(path), session, FileReading(delimiter, encoding, sheet=sheet, codes=codes))
        except BaseException:
            session.close()
            raise
    if max_tuples is None:
        return rows
    with rows:
        return rows.with_max_tuples(max_tuples)


@contextmanager
def use_table(source: object, **reading: Unpack[ReadingOptions]) -> Iterator[Rows]:
    """Return the rows of a table of any kind for the time of the block; rows that were open before stay open.

    ``reading`` is that of ``open_table``.
    """
    rows = open_table(source, **reading)
    try:
        yield rows
    finally:
        if rows is not source:
            rows.close()


def _open_in_spark(
    source: object, path: str | None, engine: object, master: str | None, memory_limit: str | None, threads: int | None
) -> Rows:
    from indistinct.engine.spark import open_in_spark, open_spark_frame

    if path is None:
        return open_spark_frame(source)
    if isinstance(engine, str) and engine != "spark":
        raise TableError(f"no engine {engine!r}; choose from duckdb, spark")
    return open_in_spark(path, engine, master, memory_limit, threads)


def _open_in_database(address: str, engine: object) -> Rows:
    kind = read_address(address).kind
    if engine not in (None, kind):
        raise TableError("engine: the rows of an address stay in their database; leave the engine out")
    if kind == "sqlite":
        from indistinct.engine.sqlite import open_in_sqlite

        return open_in_sqlite(address)
    if kind != "postgres":
        from indistinct.engine.warehouse import open_in_warehouse

        return open_in_warehouse(address)
    from indistinct.engine.postgres import open_in_postgres

    return open_in_postgres(address)


def _open_path(text: str, session: Session, reading: FileReading) -> DuckRows:
    """Return the rows of a file, of a folder or pattern of Parquet files, or of a table as ``file.duckdb::table``."""
    path = Path(text)
    if "\0" in text or any(len(os.fsencode(part)) > 255 for part in path.parts):
        raise TableError("the path of the table is not one that a file can have")
    folder = Parquet().open_many(text) if path.is_dir() else None
    if folder is not None:
        kind, contents = Parquet.kind, folder
    elif path.is_dir():
        raise TableError(
            f"{path.name or path}: is a folder without Parquet files; give a file, or a folder of *.parquet"
        )
    elif path.exists():
        form = format_of(path)
        kind, contents = form.kind, form.open(path, reading, lambda: session.folder)
    else:
        kind, contents = _find_table(text)
    relation, origin = open_contents(session, kind, contents)
    return DuckRows(session, relation, origin)


def _find_table(text: str) -> tuple[str, Contents]:
    """Return the kind and the contents of a table of a database, or of files that match a pattern."""
    file, separator, table = text.rpartition("::")
    if separator and Path(file).is_file():
        return DuckDBDatabase.kind, Contents(DatabaseTable(Path(file), table))
    found = Parquet().open_many(text) if glob.has_magic(text) else None
    if found is None:
        raise TableError(f"{text}: no such file")
    return Parquet.kind, found
