"""Cells of a Spark column as SQL: what tells them apart, and what is released.

A cell is compared by its key, a text that two cells share only if they are the same. For most types the key is the
text that DuckDB gives as well. Spark writes floating-point numbers and some decimals in Java's way; their keys become
the common text on the driver, where there is one of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from indistinct.errors import TableError

PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp_ntz", "void")
TEXT = ("string", "char", "varchar")
FLOATING = ("float", "double")


def literal(text: str) -> str:
    """Return text as SQL that needs no escaping, whatever the session's parser takes for an escape.

    >>> literal("it's")
    "CAST(X'69742773' AS STRING)"
    """
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


@dataclass(frozen=True, slots=True)
class Cell:
    """The cells of one column: ``name`` is what the frame calls it, ``kind`` its type as Spark writes it."""

    name: str
    kind: str

    @classmethod
    def of(cls, table: str, column: str, name: str, kind: str) -> Cell:
        """Return the cells of a column, or raise if they cannot be compared as text."""
        if kind not in PLAIN + FLOATING + ("timestamp",) and not kind.startswith((*TEXT, "decimal", "time(")):
            raise TableError(
                f"{table}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        return cls(name, kind)

    @property
    def is_text(self) -> bool:
        """Return whether the cells are text."""
        return self.kind.startswith(TEXT)

    @property
    def is_number(self) -> bool:
        """Return whether the cells are numbers."""
        return self.kind in ("tinyint", "smallint", "int", "bigint", *FLOATING) or self.kind.startswith("decimal")

    @property
    def own(self) -> str:
        """The SQL of a cell in its own type, where missing is null."""
        if self.kind in FLOATING:
            return f"CASE WHEN isnan({self.name}) THEN NULL ELSE {self.name} END"
        if self.is_text:
            # A collation may take different texts for equal.
            plain = self.name if self.kind == "string" else f"collate({self.name}, 'UTF8_BINARY')"
            return f"nullif({plain}, '')"
        return f"CAST({self.name} AS STRING)" if self.kind == "void" else self.name

    @property
    def key(self) -> str:
        """The SQL of the text by which cells are told apart, where missing is empty."""
        if self.is_text or self.kind == "void":
            return f"coalesce({self.own}, '')"
        if self.kind == "timestamp":  # an instant: its text must not depend on the session's time zone
            return f"coalesce(concat(CAST({self.moment} AS STRING), '+00'), '')"
        return f"coalesce(CAST({self.own} AS STRING), '')"

    @property
    def moment(self) -> str:
        """The SQL of a date or time as a timestamp without time zone, in UTC; null for cells of another type."""
        if self.kind == "timestamp":
            return f"timestampadd(MICROSECOND, unix_micros({self.name}), TIMESTAMP_NTZ '1970-01-01 00:00:00')"
        return f"CAST({self.name} AS TIMESTAMP_NTZ)" if self.kind in ("date", "timestamp_ntz") else "NULL"

    @property
    def has_common_keys(self) -> bool:
        """Return whether keys are the text that every engine gives."""
        return self.kind not in FLOATING and not self.kind.startswith("decimal")

    def text(self, key: str) -> str | None:
        """Return the text of the cells with this key, None for missing.

        >>> Cell("x0", "double").text("1.0E16"), Cell("x0", "float").text("1.00000003E16"), Cell("x0", "int").text("")
        ('1e+16', '1e+16', None)
        """
        return text_of(self.kind, key)


def text_of(kind: str, key: str) -> str | None:
    """Return the text that every engine gives for the cells of a type with this key, None for missing."""
    if key == "":
        return None
    if kind == "double":
        return repr(float(key))
    if kind == "float":  # the fewest digits that tell it from other floats, laid out as those of a double
        return repr(float(str(np.float32(key))))
    if kind.startswith("decimal") and "E" in key:
        return format(Decimal(key), "f")
    return key
