"""PostgreSQL's dialect, and the cells of its columns by their types.

Texts are compared by their bytes, whatever the collation of a column takes for equal, and blanks that only fill a
``char(n)`` up are none of its text. PostgreSQL writes floating numbers in a way of its own; their keys become the
common text on the driver, where there is one of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from indistinct.engine.sql.dialect import BLANK, DAY, INFINITE, NUMBER, TIME, Cell, Dialect, are_whole
from indistinct.errors import TableError

WHOLE = {"int2": 2**15, "int4": 2**31, "int8": 2**63}
"""The types of whole numbers, and the numbers below which they reach."""
FLOATING = ("float4", "float8")
MOMENTS = ("date", "timestamp", "timestamptz")
PLAIN = ("bool", *WHOLE, *MOMENTS, "time", "timetz", "interval", "uuid", "inet", "cidr", "macaddr", "macaddr8", "oid")
TEXT = "text"
"""The kind of all columns that hold text: of every type of text, and of enumerations."""
NUMERIC = "numeric"
LARGEST = "1e308"


class PostgresDialect(Dialect):
    """SQL of PostgreSQL, in a session whose strings have no escapes."""

    text_type = "text"
    double = "double precision"
    timestamp = "timestamp"
    random_key = "gen_random_uuid()"

    def text(self, value: str) -> str:
        """Return a text as SQL.

        >>> PostgresDialect().text("it's")
        "'it''s'"
        """
        if "\0" in value:
            raise TableError("PostgreSQL has no texts with the character NUL; take it out of the policy")
        return "'" + value.replace("'", "''") + "'"

    def sha256(self, content: str) -> str:
        return self.sha256_of_bytes(self.utf8(content))

    def sha256_of_bytes(self, content: str) -> str:
        return f"encode(sha256({content}), 'hex')"

    def utf8(self, text: str) -> str:
        return f"convert_to({text}, 'UTF8')"

    def unhex(self, digits: str) -> str:
        return f"decode({digits}, 'hex')"

    def joined_in_order(self, text: str) -> str:
        return f"string_agg({text}, '' ORDER BY {text} COLLATE \"C\")"


POSTGRES = PostgresDialect()


class PostgresCell(Cell):
    """The cells of a column: ``kind`` is the name of its type, of numbers with digits ``numeric(10,2)``."""

    dialect = POSTGRES

    @classmethod
    def of(cls, table: str, column: str, name: str, kind: str) -> PostgresCell:
        """Return the cells of a column, or raise if they cannot be compared as text."""
        if kind not in (*PLAIN, *FLOATING, TEXT) and not kind.startswith(NUMERIC):
            raise TableError(
                f"{table}: column {column!r} holds cells of the type {kind}, which have no text that is the same "
                "everywhere; turn them into text in a view, or leave it out"
            )
        return cls(name, kind)

    @property
    def is_numeric(self) -> bool:
        """Return whether the cells are decimals."""
        return self.kind.startswith(NUMERIC)

    @property
    def is_number(self) -> bool:
        return self.kind in WHOLE or self.kind in FLOATING or self.is_numeric

    @property
    def has_forms_of_missing(self) -> bool:
        return self.kind == TEXT or self.kind in FLOATING or self.is_numeric

    @property
    def own(self) -> str:
        if self.kind == TEXT:
            return f"nullif(CAST({self.name} AS text) COLLATE \"C\", '')"
        if self.kind == NUMERIC:  # each cell has a scale of its own: 1.0 and 1.00 are the same number
            return f"trim_scale(nullif({self.name}, 'NaN'))"
        return f"nullif({self.name}, 'NaN')" if self.is_number and self.kind not in WHOLE else self.name

    @property
    def key(self) -> str:
        own = self.name if self.kind == TEXT else self.own  # empty text is missing as it stands
        return f"coalesce(CAST({own} AS text) COLLATE \"C\", '')"

    @property
    def number(self) -> str:
        if self.kind in WHOLE or self.kind in FLOATING:
            return f"CAST({self.own} AS double precision)"
        if self.is_numeric:
            return _as_double(self.own)
        if self.kind != TEXT:
            return "CAST(NULL AS double precision)"
        plain = f"CASE WHEN {self._matches(NUMBER)} THEN CAST(replace({self._plain}, '_', '') AS numeric) END"
        infinite = f"CASE WHEN {self._matches(INFINITE)} THEN CAST({self._plain} AS double precision) END"
        return f"coalesce({_as_double(plain)}, {infinite})"

    @property
    def moment(self) -> str:
        if self.kind == "timestamptz":
            return f"({self.name} AT TIME ZONE 'UTC')"
        if self.kind != TEXT:
            return f"CAST({self.name if self.kind in MOMENTS else 'NULL'} AS timestamp)"
        parts = f"regexp_match({self._plain}, {POSTGRES.text(DAY)})"
        year, month, day = (f"CAST(({parts})[{number}] AS integer)" for number in (1, 3, 4))
        last = f"extract(day FROM make_date({year}, {month}, 1) + interval '1 month' - interval '1 day')"
        read = f"regexp_replace({self._plain}, {POSTGRES.text(DAY)}, '\\1-\\3-\\4')"
        moment = f"CAST({read} AS timestamptz) AT TIME ZONE 'UTC'"
        is_day = f"CASE WHEN {year} > 0 THEN {day} <= {last} END"
        matches = self._matches(f"{DAY}{TIME}{BLANK}$")
        return f"(CASE WHEN {matches} THEN CASE WHEN {is_day} THEN {moment} END END)"

    @property
    def has_common_keys(self) -> bool:
        return self.kind not in FLOATING

    def text(self, key: str) -> str | None:
        """Return the text of the cells with this key, None for missing.

        >>> PostgresCell("x0", "float8").text("1e+15"), PostgresCell("x0", "float4").text("0.1")
        ('1000000000000000.0', '0.1')
        """
        if key == "" or self.kind not in FLOATING:
            return key or None
        return repr(float(key if self.kind == "float8" else str(np.float32(key))))

    def key_of(self, text: str) -> str:
        if self.has_common_keys:
            return text
        of_text = PostgresCell(text, TEXT)
        number = of_text.number
        if self.kind == "float4":
            number = f"CASE WHEN abs({number}) BETWEEN 1e-37 AND 1e38 OR {number} = 0 THEN CAST({number} AS real) END"
        return f'CAST({number} AS text) COLLATE "C"'

    def key_of_value(self, text: str) -> str:
        if "\0" in text:
            return POSTGRES.text("")
        if self.has_common_keys:
            return POSTGRES.text(text)
        try:
            is_own = self.text(text) == text
        except ValueError:
            is_own = False
        return f"coalesce({self.key_of(POSTGRES.text(text))}, '')" if is_own else POSTGRES.text("")

    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        listed = list(labels)
        whole = are_whole(listed)
        if whole is None:
            return None
        if self.kind in FLOATING:
            return self.kind
        bound = WHOLE.get(self.kind, 0)
        return self.kind if whole and all(abs(Decimal(text)) < bound for text in listed if text is not None) else None

    @property
    def _plain(self) -> str:
        return f'(CAST({self.name} AS text) COLLATE "C")'

    def _matches(self, pattern: str) -> str:
        return f"{self._plain} ~ {POSTGRES.text(pattern)}"


def _as_double(number: str) -> str:
    """Return the SQL of a decimal as a floating number, null where it has none: a cast would fail there."""
    size = f"abs({number})"
    return (
        f"(CASE WHEN {size} BETWEEN 1e-300 AND {LARGEST} OR {number} = 0 THEN CAST({number} AS double precision) END)"
    )
