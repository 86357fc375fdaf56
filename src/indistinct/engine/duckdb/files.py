"""Tables in files: which format a path has, also a folder or pattern of files, or a table within a file."""

from __future__ import annotations

import glob
from pathlib import Path

from indistinct.engine.duckdb.rows import DuckRows
from indistinct.engine.duckdb.session import Session
from indistinct.engine.formats import Reading, format_of
from indistinct.engine.formats.duckdb_database import DuckDBDatabase
from indistinct.engine.formats.parquet import Parquet
from indistinct.errors import TableError


def open_path(text: str, session: Session, delimiter: str | None, encoding: str | None) -> DuckRows:
    """Return the rows of a file, of a folder or pattern of Parquet files, or of a table as ``file.duckdb::table``."""
    path = Path(text)
    if path.is_dir():
        relation, origin = Parquet().open_folder(path, session)
    elif path.exists():
        relation, origin = format_of(path).open(path, session, Reading(delimiter, encoding))
    else:
        file, separator, table = text.rpartition("::")
        if separator and Path(file).is_file():
            relation, origin = DuckDBDatabase().open(Path(file), session, Reading(table=table))
        else:
            matches = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
            if not matches:
                raise TableError(f"{text}: no such file")
            relation, origin = Parquet().open_pattern(text, Path(matches[0]), session)
    return DuckRows(session, relation, origin)
