"""SQLiteSession: one connection to a file, in one transaction that sees one state of it; and tables by their address.

Its temporary tables lie in a file of their own, which SQLite makes without a name, so nothing of it stays. No writer
changes what is read: with a write-ahead log there is a snapshot, and without one writers wait.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engine.address import Address, read_address
from indistinct.engine.sql.cursors import CursorSession
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.session import Place, ServerColumn, relation_of_columns
from indistinct.engine.sqlite.dialect import (
    BINARY,
    CUT_OFF,
    FLOATING,
    MIXED,
    SQLITE,
    TEXT,
    WHOLE,
    SQLiteCell,
    add_functions,
    text_of_float,
)
from indistinct.errors import TableError

OLDEST = (3, 39, 0)
PLACE = "main"
"""The schema of a file."""
ARROW = {WHOLE: pa.int64(), FLOATING: pa.float64()}
FIND = "SELECT name, type FROM main.sqlite_master WHERE type IN ('table', 'view') AND name = ?"
SAID = "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE"
SAYS = "of_release_"
"""How the trigger is called that holds what is said of a table: it never fires, and SQLite drops it with the table."""
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free space for the file and for SQLite's temporary tables (SQLITE_TMPDIR)",
    sqlite3.SQLITE_BUSY: "somebody else writes to the file, or wrote to it since it was opened; try again later",
    sqlite3.SQLITE_LOCKED: "rows of it still come; read them all first",
    sqlite3.SQLITE_READONLY: "the file may not be written to; a release there takes the right to",
    sqlite3.SQLITE_CANTOPEN: "there is no such file, or it may not be read; see the address",
    sqlite3.SQLITE_NOTADB: "the file is no database of SQLite, or it is encrypted",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; see PRAGMA integrity_check",
    sqlite3.SQLITE_IOERR: "the file cannot be read or written; see that it is still there, and its disk",
    sqlite3.SQLITE_SCHEMA: "the table changed while it was read; try again when nothing writes to it",
}
"""What went wrong, and what to do, by the primary code."""


class SQLiteSession(CursorSession):
    """A session of a file, through the standard library."""

    kind = "sqlite"
    dialect = SQLITE

    def __init__(self, address: Address, name: str) -> None:
        super().__init__(address, name)
        self._is_open = False
        if sqlite3.sqlite_version_info < OLDEST:
            raise TableError(f"{name}: this Python has SQLite {sqlite3.sqlite_version}; 3.39 or later is needed")
        with self.errors():
            place = f"{Path(address.connection).absolute().as_uri()}?mode=rw"
            self.connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self.connection.close)  # of tables that nobody closed
            add_functions(self.connection)
            self.connection.execute("BEGIN")
            self.connection.execute("SELECT count(*) FROM main.sqlite_master").fetchall()  # from here on one state
        self._is_open = True

    def describe(self, relation: str) -> tuple[ServerColumn, ...]:
        """Return the columns, by what they hold, not by what was declared; that takes a scan."""
        with self.errors():
            cursor = self.connection.execute(f"SELECT * FROM {relation} LIMIT 0")
        names = [name for name, *_ in cursor.description]
        asked = ", ".join(_kinds_sql(SQLITE.quote(name)) for name in names)
        (found,) = self.fetch(f"SELECT {asked} FROM {relation}")
        kinds = [_kind(*map(bool, found[5 * place : 5 * place + 5])) for place in range(len(names))]
        return tuple(map(ServerColumn, names, kinds))

    def cell(self, column: str, sql: str, kind: str) -> SQLiteCell:
        return SQLiteCell.of(self.name, column, sql, kind)

    def arrow_type(self, kind: str) -> pa.DataType:
        return ARROW.get(kind, pa.string())

    def text_of(self, cell: object) -> str | None:
        return text_of_float(cell, is_among_whole=1) if isinstance(cell, float) else super().text_of(cell)

    def fresh(self) -> str:
        return f"temp.{super().fresh()}"

    def insert(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        with self.errors():
            self.connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in rows[0])})", rows)

    @property
    def is_open(self) -> bool:
        return self._is_open and self.connection.in_transaction  # a full disk ends it, for one

    @property
    def is_lost(self) -> bool:
        return not self.is_open

    def commit(self) -> None:
        for (name,) in self.fetch("SELECT name FROM temp.sqlite_master WHERE type = 'table'"):
            self.execute(f"DROP TABLE temp.{name}")
        with self.errors():
            self.connection.execute("COMMIT")
            self.connection.execute("BEGIN")

    def place_of(self, table: str) -> Place | None:
        return Place(PLACE, table.removeprefix(f"{PLACE}."))

    def there(self, place: Place) -> tuple[bool, str | None] | None:
        for _, kind in self.fetch(f"{FIND} COLLATE NOCASE", place.table):
            return kind == "table", self.remark_of(place.table)
        return None

    def remark(self, stage: Place, said: str) -> None:
        quoted = SQLITE.quote(f"{SAYS}{stage.table}")
        self.execute(
            f"CREATE TRIGGER main.{quoted} BEFORE DELETE ON {SQLITE.quote(stage.table)} WHEN false "
            f"BEGIN SELECT {SQLITE.text(said)}; END"
        )

    def close(self) -> None:
        self._is_open = False
        self.connection.close()

    def find(self, table: str) -> str | None:
        """Return how a table or view is written; upper and lower case count where both are there."""
        name = table.removeprefix(f"{PLACE}.")
        for order in ("", " COLLATE NOCASE"):
            for found, _ in self.fetch(f"{FIND}{order}", name):
                return str(found)
        return None

    def remark_of(self, table: str) -> str | None:
        """Return what is said of a table."""
        for name, sql in self.fetch(SAID, table):
            if str(name).startswith(SAYS):
                said = str(sql).partition(" BEGIN SELECT '")[2].removesuffix("'; END")
                return said.replace("''", "'")
        return None

    def explain(self, error: Exception) -> str | None:
        if not isinstance(error, sqlite3.Error | OverflowError | UnicodeError):
            return None
        code = getattr(error, "sqlite_errorcode", None)
        if str(error).startswith("no such table"):
            return "no such table, or it was dropped meanwhile; see the address"
        unknown = f"SQLite cannot read or compute it (error {code or type(error).__name__})"
        return REASONS.get((code or 0) & 0xFF, unknown)

    @contextmanager
    def errors(self) -> Iterator[None]:
        if self._is_open and not self.connection.in_transaction:
            raise TableError(f"{self.name}: an error before ended its transaction; open the table again")
        with super().errors():
            yield


def open_in_sqlite(address: str) -> DatabaseRows:
    """Return the rows of a table or view of a file, which stay there."""
    found = read_address(address)
    session = SQLiteSession(found, found.table)
    try:
        table = session.find(found.table)
        if table is None:
            raise TableError(f"{found.table}: the file has no such table or view; see the address")
        relation = f"{PLACE}.{SQLITE.quote(table)}"
        columns = [name for name, *_ in session.connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]
        rows = DatabaseRows(session, relation_of_columns(SQLITE, relation, columns), columns)
        rows.remark = session.remark_of(table)
        return rows
    except BaseException:
        session.close()
        raise


def _kinds_sql(cell: str) -> str:
    """Return the SQL of whether some cell is of bytes, holds a NUL, is a text, a floating or a whole number."""
    is_text = f"typeof({cell}) = 'text'"
    kinds = ", ".join(f"max(typeof({cell}) = '{kind}')" for kind in ("text", "real", "integer"))
    return f"max(typeof({cell}) = 'blob'), max({is_text} AND instr(CAST({cell} AS BLOB), x'00')), {kinds}"


def _kind(is_binary: bool, is_cut: bool, has_text: bool, has_real: bool, has_whole: bool) -> str:
    """Return the kind of a column by what some cell of it is."""
    if is_binary or is_cut:
        return BINARY if is_binary else CUT_OFF
    if has_text or not (has_real or has_whole):
        return TEXT
    return MIXED if has_real and has_whole else FLOATING if has_real else WHOLE
