"""SQLite's dialect, the cells of its columns by what they hold, and the functions that SQLite lacks.

A column of SQLite may hold whole numbers, floating numbers and texts side by side, whatever was declared. Equal numbers
have one key, texts are compared by their bytes, whatever collation was declared, and 1 and the text '1' are the same.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import secrets
import sqlite3
from collections.abc import Iterable
from functools import cache

from indistinct.engine.sql.dialect import BLANK, DAY, INFINITE, NUMBER, TIME, Cell, Dialect, are_whole
from indistinct.errors import TableError

WHOLE, FLOATING, MIXED, TEXT, BINARY, CUT_OFF = "integer", "real", "numeric", "text", "binary", "cut off"
"""The kinds of columns: all whole numbers, all floating ones, both, some text, some bytes, some text with a NUL."""
CYCLE = 400
"""Years after which the calendar repeats itself."""


class SQLiteDialect(Dialect):
    """SQL of SQLite, on a connection that has the functions of this module."""

    text_type = "TEXT"
    temporary = "CREATE TABLE {}"  # named as one of temp
    random_key = "indistinct_random()"

    def text(self, value: str) -> str:
        """Return a text as SQL.

        >>> SQLiteDialect().text("it's")
        "'it''s'"
        """
        if "\0" in value:
            raise TableError("SQLite cuts texts off at the character NUL; take it out of the policy")
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        if value != value:
            return "NULL"
        return f"{'-' if value < 0 else ''}9e999" if value in (float("inf"), float("-inf")) else repr(value)

    def day(self, value: datetime.date) -> str:
        return f"'0{value.isoformat()}'"

    def moment(self, value: datetime.datetime) -> str:
        return self.text(sortable_text(value, 0))

    def day_of(self, moment: str) -> str:
        return f"substr({moment}, 1, 11)"

    def sha256(self, content: str) -> str:
        return f"indistinct_sha256({content})"

    def utf8(self, text: str) -> str:
        return f"indistinct_utf8({text})"

    def unhex(self, digits: str) -> str:
        return f"indistinct_unhex({digits})"

    def joined_bytes(self, first: str, second: str) -> str:
        return f"indistinct_bytes({first}, {second})"

    def joined_in_order(self, text: str) -> str:
        return f"indistinct_joined({text})"

    def distinct_estimate(self, cells: Iterable[str]) -> str:
        """Return the SQL of the number of different tuples of some whole numbers, each of which is a text."""
        together = " || ',' || ".join(cells)
        return f"count(DISTINCT {together or 1})"


SQLITE = SQLiteDialect()


class SQLiteCell(Cell):
    """The cells of a column, whose ``kind`` is what it holds."""

    dialect = SQLITE

    @classmethod
    def of(cls, table: str, column: str, name: str, kind: str) -> SQLiteCell:
        """Return the cells of a column, or raise if they cannot be compared as text."""
        if kind in (BINARY, CUT_OFF):
            what = "binary cells" if kind == BINARY else "texts with the character NUL, at which SQLite cuts them off"
            raise TableError(f"{table}: column {column!r} holds {what}; turn them into text, or leave it out")
        return cls(name, kind)

    @property
    def is_number(self) -> bool:
        return self.kind in (WHOLE, FLOATING, MIXED)

    @property
    def has_forms_of_missing(self) -> bool:
        return self.kind == TEXT

    @property
    def own(self) -> str:
        # a number beside texts becomes one: else 1 and '1' would be two values for whoever counts the release there
        return f"nullif({self.key}, '')" if self.kind == TEXT else self.name

    @property
    def key(self) -> str:
        text = f"CAST({self.name} AS TEXT)"
        if self.kind != WHOLE:  # what SQLite writes has 15 digits of a floating number
            short = f", {int(self.kind == MIXED)}"
            text = f"CASE typeof({self.name}) WHEN 'real' THEN indistinct_float({self.name}{short}) ELSE {text} END"
        return f"coalesce({text}, '') COLLATE BINARY"

    @property
    def number(self) -> str:
        return f"CAST({self.name} AS REAL)" if self.is_number else f"indistinct_number({self.name})"

    @property
    def moment(self) -> str:
        return f"indistinct_moment({self.name})" if self.kind == TEXT else "NULL"

    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        whole = are_whole(labels)
        if whole is None or not self.is_number:
            return None
        return ("INTEGER" if whole else None) if self.kind == WHOLE else "REAL" if self.kind == FLOATING else None


def add_functions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that the dialect uses."""
    for name, arity, function in (
        ("indistinct_float", 2, text_of_float),
        ("indistinct_number", 1, cache(number_of)),
        ("indistinct_moment", 1, cache(moment_of)),
        ("indistinct_sha256", 1, lambda content: hashlib.sha256(_bytes(content)).hexdigest()),
        ("indistinct_utf8", 1, _bytes),
        ("indistinct_bytes", 2, lambda first, second: first + second),
        ("indistinct_unhex", 1, bytes.fromhex),
        ("concat", -1, lambda *parts: "".join("" if part is None else str(part) for part in parts)),
    ):
        connection.create_function(name, arity, function, deterministic=True)
    connection.create_function("indistinct_random", 0, lambda: secrets.token_bytes(16))
    connection.create_aggregate("indistinct_joined", 1, _Joined)  # type: ignore[arg-type]


class _Joined:
    """All texts of a group one after the other, in their order."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def step(self, text: str) -> None:
        """Take one text."""
        self.texts.append(text)

    def finalize(self) -> str:
        """Return them together."""
        return "".join(sorted(self.texts))


def text_of_float(value: float, is_among_whole: int) -> str:
    """Return the text of a floating number, of a whole one as of a whole number where there are such.

    >>> text_of_float(1e15, 0), text_of_float(2.0, 1), text_of_float(1e22, 1), text_of_float(0.1, 1)
    ('1000000000000000.0', '2', '1e+22', '0.1')
    """
    return str(int(value)) if is_among_whole and value.is_integer() and abs(value) < 2**63 else repr(value)


def number_of(cell: object) -> float | None:
    """Return what a text, or a number among texts, is as a number; None if it is none.

    >>> number_of(" 1_000 "), number_of("-inf"), number_of("1d")
    (1000.0, -inf, None)
    """
    text = str(cell)
    if re.fullmatch(INFINITE, text) is not None:
        return float(text)
    if re.fullmatch(NUMBER, text) is None:
        return None
    found = float(text)
    return found if abs(found) <= 1e308 else None


def moment_of(cell: object) -> str | None:
    """Return what a text is as a moment of UTC, in a form that sorts; None if it is none.

    >>> moment_of("2020-1-2 03:04+01"), moment_of("2020-13-01"), moment_of(2020)
    ('02020-01-02 02:04:00.000000', None, None)
    """
    found = re.fullmatch(f"{DAY}({TIME}){BLANK}$", str(cell))
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[3]), int(found[4])
    cycles = max(0, (year - 9000) // CYCLE)
    clock = re.fullmatch("[ T]([0-9]+):([0-9]+)(?::([0-9]+)(?:[.]([0-9]+))?)?(Z|[+-].*)?", found[5])
    hour, minute, second, part = (
        ([int(one or 0) for one in clock.groups()[:3]] + [clock[4]]) if clock else (0, 0, 0, "")
    )
    try:
        read = datetime.datetime(year - cycles * CYCLE, month, day, hour, minute, second, int(f"{part or 0:0<6}"[:6]))
        return sortable_text(read - _offset(clock[5] if clock else None), cycles)
    except (ValueError, OverflowError):
        return None


def sortable_text(moment: datetime.datetime, cycles: int) -> str:
    """Return a moment in a form that sorts; one with a time zone is that of UTC."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return f"{moment.year + cycles * CYCLE:05}{moment.isoformat(' ', 'microseconds')[4:]}"


def _offset(zone: str | None) -> datetime.timedelta:
    """Return how far a zone is ahead of UTC."""
    if zone in (None, "Z"):
        return datetime.timedelta()
    digits = str(zone)[1:].replace(":", "")
    ahead = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return ahead if str(zone)[0] == "+" else -ahead


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(content)
