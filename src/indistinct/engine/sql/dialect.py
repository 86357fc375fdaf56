"""Dialect: how an SQL engine writes identifiers, values and digests; its cells by their types; and conditions on them.

Names and values reach SQL as this says and in no other way: identifiers are quoted, values are typed literals. A cell
is compared by its key, a text that two cells share only if they are the same. Missing is the empty text.
"""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from numbers import Real
from typing import ClassVar

import numpy as np

from indistinct.engine.plans import OPERATORS, Condition
from indistinct.errors import TableError

MOST_DIGITS = 38
"""The most digits of a decimal, before and after the point."""
BLANK = r"[ \t\n\v\f\r]*"
DIGITS = "[0-9]+(?:_[0-9]+)*"
NUMBER = rf"(?i)^{BLANK}[+-]?(?:{DIGITS}(?:[.](?:{DIGITS})?)?|[.]{DIGITS})(?:e[+-]?[0-9]{{1,3}})?{BLANK}$"
INFINITE = rf"(?i)^{BLANK}[+-]?inf(?:inity)?{BLANK}$"
DAY = rf"^{BLANK}([0-9]{{4,5}})([-/ ])(0?[1-9]|1[0-2])\2(0?[1-9]|[12][0-9]|3[01])"
ZONE = "(?:Z|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)"
TIME = rf"(?:[ T](?:[01]?[0-9]|2[0-3]):[0-5]?[0-9](?::[0-5]?[0-9](?:[.][0-9]+)?)?{ZONE}?)?"
"""Texts that are numbers, and moments: a DAY, its TIME and blanks; as patterns that databases and Python read alike."""


class Dialect(ABC):
    """What differs from engine to engine; what is not abstract here is standard SQL, or what most engines say."""

    text_type: ClassVar[str] = "VARCHAR"
    """The type of texts."""
    whole: ClassVar[str] = "BIGINT"
    """The type of whole numbers of 64 bits."""
    temporary: ClassVar[str] = "CREATE TEMPORARY TABLE {}"
    """How a temporary table is made that has a name."""
    double: ClassVar[str] = "DOUBLE"
    """The type of floating numbers of 64 bits."""
    timestamp: ClassVar[str] = "TIMESTAMP"
    """The type of moments without a time zone."""
    row_id: ClassVar[str] = "row_number() OVER ()"
    """The SQL of an id of each row, which rises in the order in which the engine holds the rows."""

    random_key: ClassVar[str]
    """The SQL of a key that is drawn for each row from a source of secret numbers, if the engine has one."""

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

    def day_of(self, moment: str) -> str:
        """Return the SQL of the day of a moment, which is SQL, too."""
        return f"CAST({moment} AS DATE)"

    @abstractmethod
    def sha256(self, content: str) -> str:
        """Return the SQL of the SHA-256 of a text or of bytes, in hexadecimal digits."""

    def sha256_of_bytes(self, content: str) -> str:
        """Return the SQL of the SHA-256 of bytes, in hexadecimal digits, where texts are not hashed in the same way."""
        return self.sha256(content)

    @abstractmethod
    def utf8(self, text: str) -> str:
        """Return the SQL of the bytes of a text."""

    def unhex(self, digits: str) -> str:
        """Return the SQL of the bytes that hexadecimal digits stand for."""
        return f"unhex({digits})"

    def concat(self, parts: Sequence[str]) -> str:
        """Return the SQL of some texts and numbers, none missing, one after the other."""
        return f"concat({', '.join(parts)})"

    def joined_bytes(self, first: str, second: str) -> str:
        """Return the SQL of some bytes and others behind them."""
        return f"{first} || {second}"

    def joined_in_order(self, text: str) -> str:
        """Return the SQL of all texts of a group one after the other, in their order."""
        return f"string_agg({text}, '' ORDER BY {text})"

    def distinct_estimate(self, cells: Sequence[str]) -> str:
        """Return the SQL of the number of different tuples of some cells; where it can be had sooner, an estimate."""
        return f"count(DISTINCT ({', '.join(cells)}))"


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


def eligible(where: Sequence[Condition], cell: Callable[[str], Cell]) -> str:
    """Return SQL that is true for the rows for which all conditions hold; ``cell`` gives the cells of a column.

    Numbers compare as numbers, dates as dates, text as text. A missing cell is neither equal nor unequal to anything,
    and neither in a list nor outside it.
    """
    return " AND ".join(f"({_condition(*condition, cell(condition[0]))})" for condition in where) or "true"


def has_text(cell: Cell, texts: Sequence[str]) -> str:
    """Return SQL that is true for the cells that have one of some texts; numbers compare as numbers."""
    keys = [cell.key_of_value(text) for text in cell_texts(texts, are_numbers=cell.is_number) if text]
    nothing = cell.dialect.text("")
    listed = ", ".join(key for key in keys if key != nothing)
    return f"coalesce({cell.key} IN ({listed or 'NULL'}), false)"


def _condition(column: str, operator: str, value: object, cell: Cell) -> str:
    if operator not in OPERATORS:
        raise TableError(f"column {column!r}: no operator {operator!r}; choose from {', '.join(OPERATORS)}")
    if operator in ("present", "missing"):
        return f"{cell.key} {'<>' if operator == 'present' else '='} ''"
    if operator in ("in", "not in"):
        return _membership(column, operator, value, cell)
    mine, theirs = _operands(column, value, cell, is_order=operator not in ("==", "!="))
    return f"{mine} {'=' if operator == '==' else operator} {theirs}"


def _membership(column: str, operator: str, value: object, cell: Cell) -> str:
    """Return the SQL that compares a cell with each member of a list, in the way of the member's type."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TableError(f"column {column!r}: {operator!r} needs a list of values")
    members: dict[str, list[str]] = {}
    for member in value:
        mine, theirs = _operands(column, member, cell, is_order=False)
        members.setdefault(mine, []).append(theirs)
    if not members:
        return "false" if operator == "in" else f"{cell.key} <> ''"
    sql_operator, junction = ("IN", " OR ") if operator == "in" else ("NOT IN", " AND ")
    return junction.join(f"{mine} {sql_operator} ({', '.join(theirs)})" for mine, theirs in members.items())


def _operands(column: str, value: object, cell: Cell, *, is_order: bool) -> tuple[str, str]:
    """Return the cell as SQL in the type of ``value``, null where it has none, and the value as SQL."""
    if isinstance(value, bool | str):
        if is_order and not cell.has_common_keys:
            raise TableError(f"column {column!r} holds numbers; compare it with a number instead of text")
        text = value if isinstance(value, str) else str(value).lower()
        return f"nullif({cell.key}, '')", cell.key_of_value(text)
    if isinstance(value, Real | Decimal):
        return cell.number, cell.dialect.number(float(value))
    if isinstance(value, datetime.datetime):
        return cell.moment, cell.dialect.moment(value)
    if isinstance(value, datetime.date):
        return cell.dialect.day_of(cell.moment), cell.dialect.day(value)
    raise TableError(f"column {column!r}: cells compare with text, numbers and dates, not with {type(value).__name__}")
