"""Dialect: how an SQL engine writes identifiers, values and digests.

Names and values reach SQL as this says and in no other way: identifiers are quoted, values are typed literals.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar


class Dialect(ABC):
    """What differs from engine to engine; what is not abstract here is standard SQL, or what most engines say."""

    text_type: ClassVar[str] = "VARCHAR"
    """The type of texts."""
    double: ClassVar[str] = "DOUBLE"
    """The type of floating numbers of 64 bits."""
    timestamp: ClassVar[str] = "TIMESTAMP"
    """The type of moments without a time zone."""

    def quote(self, identifier: str) -> str:
        """Return an identifier as SQL."""
        return '"' + identifier.replace('"', '""') + '"'

    @abstractmethod
    def text(self, value: str) -> str:
        """Return a text as SQL, whatever characters it holds."""

    def number(self, value: float) -> str:
        """Return a floating number as SQL."""
        return f"CAST({self.text(repr(value))} AS {self.double})"

    def day(self, value: datetime.date) -> str:
        """Return a date as SQL."""
        return f"DATE '{value.isoformat()}'"

    def moment(self, value: datetime.datetime) -> str:
        """Return a moment as SQL; one with a time zone is that of UTC."""
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return f"{self.timestamp} '{value.isoformat(sep=' ')}'"

    @abstractmethod
    def sha256(self, content: str) -> str:
        """Return the SQL of the SHA-256 of a text or of bytes, in hexadecimal digits."""

    @abstractmethod
    def utf8(self, text: str) -> str:
        """Return the SQL of the bytes of a text."""

    def unhex(self, digits: str) -> str:
        """Return the SQL of the bytes that hexadecimal digits stand for."""
        return f"unhex({digits})"

    def joined_in_order(self, text: str) -> str:
        """Return the SQL of all texts of a group one after the other, in their order."""
        return f"string_agg({text}, '' ORDER BY {text})"

    def distinct_estimate(self, cells: Sequence[str]) -> str:
        """Return the SQL of the number of different tuples of some cells; where it can be had sooner, an estimate."""
        return f"count(DISTINCT ({', '.join(cells)}))"
