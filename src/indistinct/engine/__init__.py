"""Rows live here, privacy does not: open a table of any kind and ask for dictionaries, counts and released rows."""

from __future__ import annotations

import os
from pathlib import Path

from indistinct.engine.base import (
    HISTORY,
    KEY,
    STATE,
    ClassPlan,
    Condition,
    Counts,
    LocalPlan,
    Plan,
    Recognition,
    Rows,
    ValueCounts,
)
from indistinct.engine.files import open_path
from indistinct.engine.frames import frame_kind, open_frame
from indistinct.engine.histories import ABSENT, Histories
from indistinct.engine.session import Session
from indistinct.errors import TableError

__all__ = [
    "ABSENT",
    "HISTORY",
    "KEY",
    "STATE",
    "ClassPlan",
    "Condition",
    "Counts",
    "Histories",
    "LocalPlan",
    "Plan",
    "Recognition",
    "Rows",
    "ValueCounts",
    "open_table",
]

ACCEPTED = (
    "a path to CSV, TSV, Parquet, Arrow or DuckDB (file.duckdb::table), a pandas or Polars frame, "
    "an Arrow table, reader or dataset, or a DuckDB relation"
)


def open_table(
    source: object,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Rows:
    """Return the rows of a table of any kind, without copying them where possible.

    ``memory_limit`` such as ``"4GB"`` bounds what is held in memory; the rest goes to a private
    folder that is removed on close. ``delimiter`` and ``encoding`` are for delimited text only,
    and are found out if they are not given.

    >>> import pyarrow as pa
    >>> with open_table(pa.table({"zip": ["02138", "02139", None]})) as rows:
    ...     rows.encode(["zip"])
    {'zip': ('02138', '02139', None)}
    """
    if isinstance(source, Rows):
        return source
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    kind = frame_kind(source) if path is None else None
    if path is None and kind is None:
        raise TableError(f"cannot open {type(source).__name__} as a table; give {ACCEPTED}")
    session = Session(f"the {kind} table" if path is None else Path(path).name, memory_limit, threads)
    try:
        if kind is not None:
            return open_frame(source, kind, session)
        return open_path(str(path), session, delimiter, encoding)
    except BaseException:
        session.close()
        raise
