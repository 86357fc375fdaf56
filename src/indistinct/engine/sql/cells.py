"""Cell: the cells of one column as SQL, and the texts that a number may have.

A cell is compared by its key, a text that two cells share only if they are the same. Missing is the empty text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from typing import ClassVar

import numpy as np

from indistinct.engine.sql.dialect import Dialect

MOST_DIGITS = 38
"""The most digits of a decimal, before and after the point."""


@dataclass(frozen=True, slots=True)
class Cell(ABC):
    """The cells of one column: ``name`` is the column as SQL, ``kind`` its type as the engine writes it."""

    dialect: ClassVar[Dialect]

    name: str
    kind: str

    @property
    @abstractmethod
    def is_number(self) -> bool:
        """Return whether the cells are numbers."""

    @property
    @abstractmethod
    def has_forms_of_missing(self) -> bool:
        """Return whether cells can be missing in another form than null: as empty text, or as no number."""

    @property
    @abstractmethod
    def own(self) -> str:
        """The SQL of a cell in its own type, where missing is null."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The SQL of the text by which cells are compared, where missing is empty."""

    @property
    @abstractmethod
    def number(self) -> str:
        """The SQL of a cell as a floating number, null if it is none."""

    @property
    @abstractmethod
    def moment(self) -> str:
        """The SQL of a cell as a moment without time zone, null if it is none."""

    @property
    def has_common_keys(self) -> bool:
        """Return whether keys are the texts that every engine gives, and so stand in the order of these."""
        return True

    def text(self, key: str) -> str | None:
        """Return the text that every engine gives for the cells with this key, None for missing."""
        return key or None

    def key_of(self, text: str) -> str:
        """Return the SQL of the key of the cells that have a text, which is SQL, too."""
        return text

    def key_of_value(self, text: str) -> str:
        """Return the SQL of the key of the cells that have exactly this text; empty where no cell can have it."""
        return self.dialect.text(text)

    @abstractmethod
    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        """Return the type in which labels stand in place of the cells; None for text."""


def cell_texts(texts: Iterable[str], *, are_numbers: bool) -> tuple[str, ...]:
    """Return all texts that cells equal to one of these may have; in a column of numbers they are compared as numbers.

    A float writes 999 as 999.0, and a decimal with two places as 999.00. In a column of texts, 999 and 999.0 differ.

    >>> cell_texts(["999", "?"], are_numbers=False)
    ('999', '?')
    >>> cell_texts(["999"], are_numbers=True)[:3]
    ('999', '999.0', '999.00')
    """
    if not are_numbers:
        return tuple(dict.fromkeys(texts))
    return tuple(dict.fromkeys(form for text in texts for form in (text, *_forms(text))))


def are_whole(texts: Iterable[str | None]) -> bool | None:
    """Return whether texts that are plain numbers are all whole ones; None if some are no plain numbers.

    >>> are_whole(["1200", None]), are_whole(["12.5", "-3"]), are_whole([">=90"]), are_whole([None])
    (True, False, None, None)
    """
    present = [text for text in texts if text is not None]
    if not present or not all(re.fullmatch(r"-?[0-9]{1,15}([.][0-9]{1,15})?", text) for text in present):
        return None
    return not any("." in text for text in present)


def _forms(text: str) -> Iterable[str]:
    """Return the texts that columns of numbers write for a number; none if it is no number."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return
    if not number.is_finite():
        return
    with np.errstate(over="ignore"):  # too large for a column of such numbers: infinite, and equal to nothing
        floats = [repr(float(number)), repr(float(str(np.float32(float(number)))))]
    yield from (form for form in floats if Decimal(form) == number)
    if not number:
        yield "-0.0"
    with localcontext(prec=3 * MOST_DIGITS):
        for places in range(MOST_DIGITS + 1 if abs(number) < Decimal(10) ** MOST_DIGITS else 0):
            written = number.quantize(Decimal(1).scaleb(-places))
            if written == number:
                yield format(written if number else abs(written), "f")
