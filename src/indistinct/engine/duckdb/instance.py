"""Instance: a DuckDB in memory with its threads and its memory, which all sessions with the same limits share."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import duckdb

from indistinct.engine.rows import usable_threads

SETTINGS = (
    "enable_progress_bar = false",
    "python_enable_replacements = false",
    "TimeZone = 'UTC'",
    # Joins stay as written, rows first, dictionary second: DuckDB takes a CSV file of any size for some 40 rows
    # and would build its hash tables from the rows.
    "disabled_optimizers = 'join_order,build_side_probe_side'",
)
Limits = tuple[int, str | None, int | None]
"""Of which process, how much memory, and how many threads: a fork has none of its parent's threads."""


class Instance:
    """A DuckDB in memory. Threads and memory are its own, tables those of the sessions that it connects.

    What does not fit into its memory goes to a folder that only this user can read.
    """

    def __init__(self, memory_limit: str | None, threads: int | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="indistinct-"))
        config: dict[str, Any] = {
            "temp_directory": str(self._folder / "spill"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        if threads is not None:
            config["threads"] = str(threads)
        try:
            self._root = duckdb.connect(":memory:", config=config)
        except duckdb.Error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, close, self._root, self._folder)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own to this DuckDB; raise a duckdb.Error if it is broken."""
        with self._lock:  # a connection serves one thread at a time, also when it makes others
            connection = self._root.cursor()
        for setting in SETTINGS:
            connection.execute(f"SET {setting}")
        return connection


_shared: weakref.WeakValueDictionary[Limits, Instance] = weakref.WeakValueDictionary()
_sharing = threading.Lock()


def instance_for(memory_limit: str | None, threads: int | None) -> Instance:
    """Return the DuckDB for these limits; it lives as long as somebody holds it.

    So any number of tables and releases that are kept together have the threads of one, and the memory limit is that
    of all of them.
    """
    limits = (os.getpid(), memory_limit, usable_threads(threads))
    with _sharing:
        found = _shared.get(limits)
        if found is None:
            found = _shared[limits] = Instance(memory_limit, limits[2])
        return found


def forget(instance: Instance) -> None:
    """Let nobody else share an instance: a fatal error ends DuckDB for all that use it."""
    with _sharing:
        for limits in [limits for limits, shared in _shared.items() if shared is instance]:
            del _shared[limits]


def close(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Close a connection, and remove the folder of what used it."""
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
