"""The ledger's database: a SQLite file, or a PostgreSQL database by its URL; its tables, and the lock of writers.

SQLite keeps its rollback journal instead of a write-ahead log: that needs no shared memory, so the file may lie on a
network drive that locks files properly, and nothing but the file has to be copied for a backup. ``synchronous = EXTRA``
makes a committed entry survive a loss of power.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool

from indistinct.atomic_files import drop_draft, flush, make_draft
from indistinct.errors import LedgerError, MissingExtraError
from indistinct.ledger.store.entry_files import PRIVATE_FILE, make_private_folder

PATIENCE = 60
"""Seconds that a writer waits for the others; a transaction takes milliseconds."""
GONE_AFTER = 60
"""Seconds after which PostgreSQL takes the lock from a writer that says nothing: its machine may be gone."""
SILENT = ("Connection refused", "closed the connection", "starting up", "shutting down", "in recovery mode")
"""What PostgreSQL's driver says of a server that does not run, or not yet."""
WRITERS_LOCK = int.from_bytes(b"indistin", "big")
"""The advisory lock that a writer holds in PostgreSQL; it needs no right but to insert."""

# of a signal that comes while it closes a connection, SQLAlchemy would print the traceback
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())

TABLES = MetaData()
META = Table("indistinct_meta", TABLES, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
ENTRIES = Table(
    "indistinct_entries",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("manifest", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("files", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("previous", Text, nullable=False, unique=True),  # two entries cannot follow the same one
    Column("hash", Text, nullable=False, unique=True),
)

# Against mistakes, not against whoever owns the database: the chain of hashes shows what those may have done.
SQLITE_GUARDS = [
    f"CREATE TRIGGER {table}_{action.lower()} BEFORE {action} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for table in (META.name, ENTRIES.name)
    for action in ("UPDATE", "DELETE")
] + [
    # INSERT OR REPLACE would remove an entry without asking the trigger above
    f"CREATE TRIGGER {ENTRIES.name}_insert BEFORE INSERT ON {ENTRIES.name} "
    f"WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM {ENTRIES.name}) "
    "BEGIN SELECT RAISE(ABORT, 'an entry follows the last one'); END"
]
POSTGRES_GUARDS = [
    "CREATE FUNCTION indistinct_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$"
] + [
    f"CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION indistinct_refuse()"
    for table in (META.name, ENTRIES.name)
]

SQLITE_PARTS = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1, 2"
POSTGRES_PARTS = """
SELECT relkind::text, relname::text, '' FROM pg_class
WHERE relname = ANY(:tables) AND pg_table_is_visible(oid)
UNION ALL SELECT 'trigger', tgname::text, tgenabled::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relname = ANY(:tables) AND pg_table_is_visible(pg_class.oid) AND NOT tgisinternal
UNION ALL SELECT 'rule', rulename::text, '' FROM pg_rules WHERE tablename = ANY(:tables)
ORDER BY 1, 2
"""
_KINDS = {"r": "table", "v": "view", "m": "view", "f": "foreign table", "p": "partitioned table"}

_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*://")


class BrokenOffError(LedgerError):
    """The server broke off the connection; what was committed just then may stand or not."""


class Database:
    """Where a ledger's tables are: connections for reading, and for writing one after another."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        where = _where(os.fspath(url))
        self.path = where if isinstance(where, Path) else None
        self.name = str(where) if isinstance(where, Path) else _without_password(where)
        self._engine = _sqlite(where) if isinstance(where, Path) else _postgresql(where)

    def meta(self) -> dict[str, str] | None:
        """Return what the ledger says of itself, or None if there is none."""
        with self.reading() as connection:
            if not inspect(connection).has_table(META.name):
                return None
            return {row.name: row.value for row in connection.execute(select(META))}

    def make_tables(self, connection: Connection) -> None:
        """Make the tables of a ledger, which refuse to have anything changed or removed."""
        TABLES.create_all(connection, checkfirst=False)
        for statement in SQLITE_GUARDS if self.path is not None else POSTGRES_GUARDS:
            connection.exec_driver_sql(statement)

    def strange_parts(self) -> list[str]:
        """Say what the database has that no ledger has, and what it lacks that keeps a ledger from being changed.

        In PostgreSQL other tables may stand beside those of a ledger; a file of SQLite is its own.
        """
        with self.reading() as connection:
            if self.path is None:
                rows = connection.execute(text(POSTGRES_PARTS), {"tables": [META.name, ENTRIES.name]})
                found = {(kind, name): enabled for kind, name, enabled in rows}
                expected: dict[tuple[str, str], str | None] = {("r", table.name): "" for table in (META, ENTRIES)}
                expected |= {("trigger", f"{table.name}_kept"): "O" for table in (META, ENTRIES)}
            else:
                rows = connection.exec_driver_sql(SQLITE_PARTS)
                found = {(kind, name): None if kind == "table" else sql for kind, name, sql in rows}
                expected = {("table", table.name): None for table in (META, ENTRIES)}
                expected |= {("trigger", sql.split()[2]): sql for sql in SQLITE_GUARDS}
        lacking = [part for part, sql in expected.items() if part not in found or found[part] != sql]
        return [f"the {_KINDS.get(kind, kind)} {name} is missing or another" for kind, name in lacking] + [
            f"a {_KINDS.get(kind, kind)} that no ledger has: {name!r}"
            for kind, name in found
            if (kind, name) not in expected
        ]

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection that sees one state of the ledger."""
        with self._explained_errors(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Return a connection that no other writer has at the same time; commit at the end, or nothing if it raises."""
        with (
            self._explained_errors(),
            self._engine.connect() as connection,
            connection.execution_options(begin="BEGIN IMMEDIATE").begin(),  # which SQLite alone looks at
        ):
            if self.path is None:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
                connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{GONE_AFTER}s'")
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITERS_LOCK})
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _explained_errors(self) -> Iterator[None]:
        """Turn errors of the database into errors that say what to do; those of constraints are for the caller."""
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            reason = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
            if error.connection_invalidated:
                raise BrokenOffError(
                    f"the server of the ledger {self.name} broke off the connection ({reason}); try again"
                ) from None
            raise LedgerError(_error_text(self.name, reason)) from None
        except UnicodeError:  # texts that are none, also in SQLite's own complaint about a damaged schema
            raise LedgerError(_error_text(self.name, "it is damaged; restore it from a copy")) from None


@contextlib.contextmanager
def new_sqlite(path: Path) -> Iterator[Database]:
    """Return a database that gets its name, beside nothing else, when the block ends; a file there is never
    replaced.
    """
    folder: Path | None = None
    try:
        make_private_folder(path.parent)
        folder = make_draft(path, is_folder=True)
        draft = folder / path.name
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        database = Database(draft)
        try:
            yield database
        finally:
            database.close()
        _give_name(draft, path)
    except FileExistsError:
        raise LedgerError(f"{path} is there already; name a new file for the ledger") from None
    except OSError as error:
        raise LedgerError(f"cannot make the ledger {path}: {error.strerror or error}") from None
    finally:
        if folder is not None:
            drop_draft(folder)


def _give_name(draft: Path, path: Path) -> None:
    """Name a file unless the name is taken, and bring the name to the disk."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError from None
        os.rename(draft, path)
    flush(path.parent)


def _where(url: str) -> Path | URL:
    """Return the path of a SQLite file or the URL of a PostgreSQL database."""
    if not url:
        raise LedgerError("name the ledger: the path of a file, or postgresql://user@host/database")
    if not _SCHEME.match(url):
        return Path(url).absolute()
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise LedgerError("the URL of the ledger cannot be read; say postgresql://user@host/database") from None
    kind = parsed.drivername.partition("+")[0]
    if kind == "sqlite" and parsed.database and parsed.database != ":memory:":
        return Path(parsed.database).absolute()
    if kind in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise LedgerError(f"a ledger is a file or a PostgreSQL database; {parsed.drivername}:// is neither")


def _without_password(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def _sqlite(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        # mode=rw: a file that is not there is not made; isolation_level=None: transactions begin where we say so
        address = f"{path.as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = EXTRA")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _postgresql(url: URL) -> Engine:
    if find_spec("psycopg") is None:
        raise MissingExtraError('a ledger in PostgreSQL needs psycopg: pip install "indistinct[postgres]"')
    return create_engine(
        url,
        poolclass=NullPool,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": 10, "application_name": "indistinct"},
    )


def _error_text(name: str, reason: str) -> str:
    """Say what is wrong with a database, and what to do."""
    if "not a database" in reason:
        return f"{name} is no ledger; make one with: indistinct ledger init"
    if "unable to open" in reason:
        return f"there is no ledger at {name}, or it may not be read; make one with: indistinct ledger init"
    if "locked" in reason or "lock timeout" in reason:
        return f"the ledger {name} was busy for {PATIENCE} seconds; try again"
    if "readonly" in reason:
        return f"the ledger {name} may be read here, but not be written"
    if any(sign in reason for sign in SILENT):
        return f"the server of the ledger {name} does not answer ({reason}); see that it runs, and try again"
    return f"the ledger {name}: {reason}"
