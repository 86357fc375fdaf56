"""Instance: a DuckDB in memory with its threads and its memory, which all sessions with the same limits share."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Any

import duckdb

from indistinct.engine.rows import usable_threads
from indistinct.private_folders import make_private_folder, remove_private_folder

SETTINGS = (
    "python_enable_replacements = false",
    "TimeZone = 'UTC'",
    # Joins stay as written, rows first, dictionary second: DuckDB takes a CSV file of any size for some 40 rows
    # and would build its hash tables from the rows.
    "disabled_optimizers = 'join_order,build_side_probe_side'",
)
SPILL = "spill"
MOST_SERVED = 500
"""Sessions after which a DuckDB that waits for further ones is exchanged. It keeps half a kilobyte for each GROUP BY
and four for each join that it has run, until it is closed (measured with DuckDB 2.0.0): 26 kB for a small release."""
Limits = tuple[int, str | None, int | None]
"""Of which process, how much memory, and how many threads: a fork has none of its parent's threads."""


class Instance:
    """A DuckDB in memory. Threads and memory are its own, tables those of the sessions that it connects.

    What does not fit into its memory goes to a folder that only this user can read. The folder is there as long as
    there are sessions.
    """

    def __init__(self, memory_limit: str | None, threads: int | None) -> None:
        config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        if threads is not None:
            config["threads"] = str(threads)
        self._root = duckdb.connect(":memory:", config=config)
        self._root.execute("; ".join(f"SET GLOBAL {setting}" for setting in SETTINGS))  # for all that it connects
        self.memory_limit = _bytes_of(self._root.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
        """What DuckDB was allowed when it began, in bytes, to a tenth of the unit that it names."""
        self._lock = threading.RLock()  # a forgotten session may be collected, and leave, in the middle of connecting
        self._sessions = 0
        self.served = 0
        """Sessions that it has connected so far."""
        self._folder: list[Path] = []  # one at most
        self._finalizer = weakref.finalize(self, _end, self._root, self._folder)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own to this DuckDB; raise a duckdb.Error if it is broken."""
        with self._lock:  # a connection serves one thread at a time, also when it makes others
            self._sessions += 1
            self.served += 1
            try:
                if not self._folder:
                    self._folder.append(make_private_folder())
                    self._root.execute("SET temp_directory = ?", [str(self._folder[0] / SPILL)])
                connection = self._root.cursor()
                connection.execute("SET enable_progress_bar = false")  # each has its own
            except BaseException:
                self.leave()
                raise
        return connection

    def leave(self) -> None:
        """Count one connection less, which is closed; after the last one nothing of this is left on the disk."""
        with self._lock:
            self._sessions -= 1
            if self._sessions == 0 and self._folder:
                if (self._folder[0] / SPILL).exists():  # DuckDB keeps to the folder that it has used
                    forget(self)
                remove_private_folder(self._folder.pop())


_shared: weakref.WeakValueDictionary[Limits, Instance] = weakref.WeakValueDictionary()
_waiting: dict[Limits, Instance] = {}
"""Instances that outlive their sessions, because to start one takes longer than to release a small table."""
_sharing = threading.RLock()


def instance_for(memory_limit: str | None, threads: int | None) -> Instance:
    """Return the DuckDB for these limits; it lives as long as somebody holds it, and the one without limits longer.

    So any number of tables and releases that are kept together have the threads of one, and the memory limit is that
    of all of them. The one without limits is exchanged after many sessions; it ends with the last of those it has.
    """
    limits = (os.getpid(), memory_limit, usable_threads(threads))
    with _sharing:
        found = _shared.get(limits)
        if found is not None and found.served >= MOST_SERVED and limits[1:] == (None, None):
            forget(found)
            found = None
        if found is None:
            found = _shared[limits] = Instance(memory_limit, limits[2])
        if limits[1:] == (None, None):
            _waiting[limits] = found
        return found


def forget(instance: Instance) -> None:
    """Let nobody else share an instance, which ends with its last session: a fatal error ends it for all."""
    with _sharing:
        for instances in (_shared, _waiting):
            for limits in [limits for limits, shared in instances.items() if shared is instance]:
                del instances[limits]


def _bytes_of(text: str) -> int:
    """Give a size as DuckDB says it, in bytes.

    >>> _bytes_of("3.5 GiB")
    3758096384
    """
    number, unit = text.split()
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
    return int(float(number) * 1024 ** (units.index(unit) if unit in units else 0))


def _end(root: duckdb.DuckDBPyConnection, folder: list[Path]) -> None:
    root.close()
    for left in folder:
        remove_private_folder(left)
