"""A private DuckDB connection with its own schema and folder; it turns DuckDB's errors into ours, without cells.

Behind it is an Instance: a DuckDB in memory with its threads and its memory, which all sessions with the same limits
share.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from indistinct.atomic_files import make_private_folder, remove_private_folder
from indistinct.engine.duckdb.dialect import literal
from indistinct.engine.rows import usable_threads
from indistinct.errors import TableError

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
SessionLimits = tuple[int, str | None, int | None]
"""Of which process, how much memory, and how many threads: a fork has none of its parent's threads."""
SMALLEST_MEMORY = 1 << 28
"""The bytes that DuckDB is left at least."""


def escape_pattern(path: Path) -> str:
    """Return a path in which DuckDB finds no wildcards.

    >>> escape_pattern(Path("people[1].csv"))
    'people[[]1].csv'
    """
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


class Session:
    """One connection and a schema of its own, shared by a table and everything recoded from it.

    Threads and memory are those of an instance of DuckDB that other sessions with the same limits use as well; nothing
    of theirs is seen here. No extension is fetched over the network, nothing of the caller's variables is visible to
    SQL, and what is copied from files goes to a folder that only this user can read.
    """

    def __init__(self, name: str, memory_limit: str | None = None, threads: int | None = None) -> None:
        self.name = name
        try:
            if memory_limit is not None and memory_limit.strip().startswith("-"):  # DuckDB takes it for no limit
                raise duckdb.Error
            instance, self._connection = _connect(memory_limit, threads)
        except duckdb.Error:
            raise TableError(
                f"{name}: memory limit {memory_limit!r} or threads {threads!r} is not understood; "
                "say for example '4GB' and 8"
            ) from None
        self._folders: list[Path] = []  # one at most, made when something is copied
        self.memory_limit = None if memory_limit is None else instance.memory_limit
        """The bytes that were allowed; None if nothing was said."""
        self._schema = f"session_{next(_numbers)}"
        self._attached: list[str] = []
        self._names = itertools.count()
        self._users = 0
        # Runs when the last table is collected or at exit, so that the folder never outlives the process.
        self._finalizer = weakref.finalize(
            self, _close, self._connection, self._schema, self._attached, self._folders, instance
        )
        self.execute(f"CREATE SCHEMA {self._schema}; SET schema = {literal(self._schema)}")

    @property
    def folder(self) -> Path:
        """The private folder of this session, which goes with it."""
        if not self._folders:
            self._folders.append(make_private_folder())
        return self._folders[0]

    def retain(self) -> None:
        """Count one more table that uses this connection."""
        self._users += 1

    def release(self) -> None:
        """Count one table less; the last one closes the connection."""
        self._users -= 1
        if self._users == 0:
            self.close()

    @property
    def is_open(self) -> bool:
        """Return whether the connection still serves a table."""
        return bool(self._finalizer.alive)

    def close(self) -> None:
        """Close the connection and remove the private folder; doing so twice is harmless."""
        self._finalizer()

    def set_aside(self, number: int) -> None:
        """Leave ``number`` bytes of the allowed memory to others than DuckDB, as long as anybody shares the limit."""
        if self.memory_limit is not None:
            self.execute(f"SET memory_limit = '{max(self.memory_limit - number, SMALLEST_MEMORY)}B'")

    def fresh(self, purpose: str) -> str:
        """Return a name that nothing else in this connection has."""
        return f"{purpose}_{next(self._names)}"

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement that returns nothing."""
        with self._errors():
            self._connection.execute(sql, list(parameters))

    def store(self, table: str, query: str) -> int:
        """Create a table of what a query gives, and return how many rows that is."""
        return int(self.fetch(f"CREATE TABLE {table} AS {query}")[0][0])

    def attach(self, path: Path, options: str = "") -> str:
        """Make a database file visible for the life of the session, and return its name."""
        with self._errors():
            name = f"{self._schema}_{self.fresh('file')}"
            self._connection.execute(f"ATTACH {literal(str(path))} AS {name} {options}")
        self._attached.append(name)
        return name

    def detach(self, name: str) -> None:
        """Let go of a database file before the session ends."""
        self.execute(f"DETACH {name}")
        self._attached.remove(name)

    def create_view(self, query: str) -> str:
        """Make a query a view for the life of the connection, and return its name."""
        view = self.fresh("source")
        self.execute(f"CREATE VIEW {view} AS {query}")
        return view

    def drop(self, *tables: str) -> None:
        """Drop some tables, if the connection still is open."""
        if tables and self.is_open:
            self.execute("; ".join(f"DROP TABLE IF EXISTS {table}" for table in tables))

    def fetch(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query as Python tuples."""
        with self._errors():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def arrow(self, sql: str) -> pa.Table:
        """Return the rows of a query as an Arrow table."""
        with self._errors():
            return self._connection.sql(sql).to_arrow_table()

    def stream(self, sql: str, rows: int = 100_000) -> pa.RecordBatchReader:
        """Return the rows of a query as a stream of ``rows`` at a time, which never holds them all."""
        with self._errors():
            return self._connection.sql(sql).to_arrow_reader(rows)

    @contextmanager
    def registered_table(self, data: object) -> Iterator[str]:
        """Make Arrow data a table for the time of the block, and give its name."""
        name = self.register(data)
        try:
            yield name
        finally:
            with self._errors():
                self._connection.unregister(name)

    def register(self, data: object) -> str:
        """Make Arrow data a table for the life of the connection, and return its name."""
        name = self.fresh("registered")
        with self._errors():
            self._connection.register(name, data)
        return name

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, pa.ArrowException) as error:
            raise TableError(f"{self.name}: {explain(error)}") from None
        except RuntimeError as error:
            if "interrupted" in str(error).lower():  # DuckDB's way of passing on Ctrl-C
                raise KeyboardInterrupt from None
            raise


NO_MEMORY = "not enough memory or temporary disk space; raise memory_limit or free space for temporary files"


def explain(error: Exception) -> str:
    """Return what went wrong, where, and what to do, without the cells that DuckDB's own message quotes."""
    message = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line.group(1)} " if line else "a line "
    if ragged := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        expected, found = ragged.groups()
        return f"{where}has {found} cells, but the header has {expected}; mend the line, or say the delimiter"
    if "not utf-8" in message or "Invalid unicode" in message:
        return f"{where}is not UTF-8; say encoding='latin-1' or --encoding latin-1"
    if "unterminated quote" in message:
        if _ends_like_no_other(message):
            return f"{where}ends like no line before it; save the file with one kind of line end"
        return (
            f"{where}has a quotation mark that is not closed, or text after a closing one; double quotes inside cells"
        )
    if "Maximum line size" in message or "Parallel CSV Reader" in message:
        return f"{where}is longer than 8 MB; most likely a quotation mark before it is not closed"
    if "state machine" in message:
        return "line ends or quotation marks are not consistent; save the file with one kind of line end"
    if isinstance(error, duckdb.NotImplementedException):
        return "a column has a type that cannot be read; turn its cells into text or plain numbers"
    if isinstance(error, duckdb.OutOfMemoryException):
        return NO_MEMORY
    if "No space left" in message:
        return "the disk for temporary files is full"
    return f"cannot be read ({type(error).__name__}); check that the file is whole and not in use"


def _ends_like_no_other(message: str) -> bool:
    """Return whether the quoted cell that DuckDB refuses is followed by a line end, which it does not take for one."""
    quoted_line = r"Original Line: (.*)\nValue with unterminated quote.*?\n  delimiter = (.+?) \(Set"
    found = re.search(quoted_line, message, re.DOTALL)
    if found is None:
        return False
    line, delimiter = found.groups()
    after = (line[quoted.end() :][:1] for quoted in re.finditer(r'"[^"]*(?:""[^"]*)*"', line))
    return next((mark for mark in after if mark != delimiter), "") in ("\r", "\n")


_numbers = itertools.count()


def _connect(memory_limit: str | None, threads: int | None) -> tuple[Instance, duckdb.DuckDBPyConnection]:
    """Return an instance for these limits and a connection to it; one that an error ended is replaced."""
    instance = instance_for(memory_limit, threads)
    try:
        return instance, instance.connect()
    except duckdb.FatalException:
        forget(instance)
        instance = instance_for(memory_limit, threads)
        return instance, instance.connect()


def _close(
    connection: duckdb.DuckDBPyConnection, schema: str, attached: list[str], folders: list[Path], instance: Instance
) -> None:
    """Take away all that a session made, and let its instance go, which is held until now."""
    with suppress(duckdb.Error):  # of an instance that a fatal error ended nothing is left
        connection.execute(f"USE memory.{schema}; DROP SCHEMA {schema} CASCADE")
        for database in attached:
            connection.execute(f"DETACH {database}")
    connection.close()
    instance.leave()
    for folder in folders:
        remove_private_folder(folder)


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
        """Count one connection less, which was closed; with the last one goes what the instance has on the disk."""
        with self._lock:
            self._sessions -= 1
            if self._sessions == 0 and self._folder:
                if (self._folder[0] / SPILL).exists():  # DuckDB keeps to the folder that it has used
                    forget(self)
                remove_private_folder(self._folder.pop())


_shared: weakref.WeakValueDictionary[SessionLimits, Instance] = weakref.WeakValueDictionary()
_waiting: dict[SessionLimits, Instance] = {}
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
    """Return a size as DuckDB says it, in bytes.

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
