"""Spelling: one way of writing a value, so that 9/15/61, 09/15/1961 and 1961-09-15 are the same day.

How a column is spelled follows from what is known of its values: its hierarchy, the values that it lists, or the
values that are released.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from typing import ClassVar

from indistinct.hierarchy import Dates, Hierarchy, Intervals, Listed, Prefix, Rounding, TopBottom, plain, read_number
from indistinct.hierarchy.catalogue import Catalogued

ISO = ""
"""Stands for ISO dates and timestamps among the formats of ``strptime``."""
FORMATS = (
    ISO,
    "%m/%d/%Y",
    "%m/%d/%y",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%d/%m/%y",
    "%d-%m-%Y",
    "%Y%m%d",
)
"""The formats in which dates are looked for, those of the release first."""
SAMPLE = 2_000
"""The values that decide in which order formats are tried."""
LATEST_OF_STRPTIME = 2068
"""The last year that ``strptime`` makes of two digits."""
DIGITS = {"%Y": r"\d{4}", "%y": r"\d\d"} | {f"%{part}": r"[ \d]{1,2}" for part in "dmHMS"}
"""What ``strptime`` reads as the parts of a day that are written in digits."""
LONG_POSTAL_CODE = re.compile(r"(\d{5})-\d{4}", re.ASCII)


class Spelling(ABC):
    """How a column writes its values: one way for each, and none for a text that is no value of it."""

    kind: ClassVar[str]

    @abstractmethod
    def of(self, text: str) -> str | None:
        """Write a value in the one way."""

    def learn(self, texts: Sequence[str]) -> Spelling:
        """The same spelling for another table's column, whose values may be written otherwise."""
        return self


class TextSpelling(Spelling):
    """Words: capitals, accents' encodings and spaces do not matter."""

    kind = "texts"

    def of(self, text: str) -> str:
        """Write a text in small letters with single spaces.

        >>> TextSpelling().of("  White  Collar ")
        'white collar'
        """
        return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


class NumberSpelling(Spelling):
    """Numbers: 07, 7 and 7.0 are the same."""

    kind = "numbers"

    def of(self, text: str) -> str | None:
        """Write a number without idle zeros.

        >>> [NumberSpelling().of(text) for text in ("07", "7.0", " 7", "seven")]
        ['7', '7', '7', None]
        """
        number = read_number(text)
        return None if number is None else plain(number)


@dataclass(frozen=True, slots=True)
class CodeSpelling(Spelling):
    """Codes whose characters all count, zeros in front too; ``length`` is that of every code, where it is known."""

    kind = "codes"

    length: int | None = None

    def of(self, text: str) -> str:
        """Write a code in small letters; a number that lost the zeros in front gets them back.

        >>> [CodeSpelling(5).of(text) for text in ("02138", "2138", "02138-4907", "SW1A")]
        ['02138', '02138', '02138', 'sw1a']
        >>> CodeSpelling().of("2138")
        '2138'
        """
        code = text.strip().casefold()
        if self.length == 5 and (found := LONG_POSTAL_CODE.fullmatch(code)):
            return found[1]
        if self.length is not None and len(code) < self.length and code.isascii() and code.isdecimal():
            return code.zfill(self.length)
        return code


@dataclass(frozen=True, slots=True)
class CatalogueSpelling(Spelling):
    """Codes of a classification: DE, DEU and Germany are the same, and so are E11.9 and E119."""

    kind = "codes"

    hierarchy: Catalogued

    def of(self, text: str) -> str | None:
        """Write a code as its classification does.

        >>> from indistinct.hierarchy.catalogue import countries
        >>> [CatalogueSpelling(countries()).of(text) for text in ("DE", "deu", "GERMANY", "Western Europe")]
        ['Germany', 'Germany', 'Germany', None]
        """
        return self.hierarchy.one_spelling(text)


@dataclass(frozen=True, slots=True)
class DaySpelling(Spelling):
    """Days, in any of some formats; a two-digit year lies in the hundred years up to ``latest``.

    Where the column itself has two-digit years only (``folds``), 1961 and 2061 are the same to it.
    """

    kind = "dates"

    formats: tuple[str, ...] = (ISO,)
    latest: int = 9999
    folds: bool = False

    def of(self, text: str) -> str | None:
        """Write a day in the ISO way.

        >>> days = DaySpelling(FORMATS, 2025)
        >>> {days.of(text) for text in ("9/15/61", "09/15/1961", "1961-09-15")}
        {'1961-09-15'}
        """
        text = text.strip()
        for form in self.formats:
            day = self._read_day(text, form)
            if day is not None:
                return day.isoformat()
        return None

    def learn(self, texts: Sequence[str]) -> DaySpelling:
        """Try the formats first that read most of the texts; of equals, those of the release come first."""
        known = tuple(dict.fromkeys([*self.formats, *FORMATS]))
        sample = texts[:: max(1, len(texts) // SAMPLE)]
        read = {form: sum(self._read_day(text.strip(), form) is not None for text in sample) for form in known}
        return replace(self, formats=tuple(sorted(known, key=lambda form: -read[form])))

    def _read_day(self, text: str, form: str) -> date | None:
        try:
            if form != ISO:
                if not _pattern(form).fullmatch(text):  # strptime takes thirty times as long to say so
                    return None
                day = datetime.strptime(text, form).date()
            elif "-" in text:  # eight digits are rather a number
                day = datetime.fromisoformat(text).date()
            else:
                return None
            has_century = "%y" not in form and not self.folds
            return day if has_century else day.replace(year=self.latest - (self.latest - day.year) % 100)
        except ValueError:
            return None


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return a pattern that every text fits that a format of ``strptime`` reads; others may fit it too.

    >>> [bool(_pattern("%d.%m.%Y").fullmatch(text)) for text in ("15.9.1961", "15.9.61", "53.21")]
    [True, False, False]
    """
    parts = re.findall(r"%.|\s+|.", form, re.DOTALL)
    if any(part[0] == "%" and part not in DIGITS for part in parts):
        return re.compile(".*", re.DOTALL)  # names of months and the like, as the system writes them
    return re.compile("".join(r"\s*" if part.isspace() else DIGITS.get(part, re.escape(part)) for part in parts), re.I)


def spelling_of(hierarchy: Hierarchy, released: Sequence[str]) -> Spelling:
    """Return the spelling of a column's values; ``released`` are its released labels."""
    if isinstance(hierarchy, Dates):
        return _days_of(hierarchy)
    if isinstance(hierarchy, Intervals | Rounding | TopBottom):
        return NumberSpelling()
    if isinstance(hierarchy, Catalogued):
        return CatalogueSpelling(hierarchy)
    if isinstance(hierarchy, Prefix):
        return CodeSpelling(code_length(hierarchy, released))
    listed = [row[0] for row in hierarchy.rows] if isinstance(hierarchy, Listed) else released
    return _recognize([value for value in listed if value is not None and value != hierarchy.top])


def _days_of(hierarchy: Dates) -> DaySpelling:
    """Return the spelling of the days that a hierarchy reads, with its own reading of two-digit years."""
    has_century = [form for form in hierarchy.formats if "%y" not in form]
    if hierarchy.formats and not has_century:
        return DaySpelling(hierarchy.formats, hierarchy.latest or LATEST_OF_STRPTIME, folds=True)
    return DaySpelling(hierarchy.formats or (ISO,), hierarchy.latest or _this_year())


def code_length(hierarchy: Prefix, released: Sequence[str]) -> int | None:
    """Return the length of every code of a column: what the hierarchy says, if no released code is shorter.

    >>> code_length(Prefix(None, None, "*", "*"), ["0213*", "021**", "*"])
    5
    """
    lengths = {len(label) for label in released if label != hierarchy.top}
    if hierarchy.length is not None:
        return hierarchy.length if lengths <= {hierarchy.length} else None
    return lengths.pop() if len(lengths) == 1 else None


def _recognize(values: Sequence[str]) -> Spelling:
    """Recognize days and numbers by values that are all such; numbers with zeros in front are codes."""
    if not values:
        return TextSpelling()
    if all(read_number(value) is not None for value in values):
        digits = [value.strip().lstrip("+-") for value in values]
        has_zeros = any(len(text) > 1 and text[0] == "0" and text.isdecimal() for text in digits)
        return CodeSpelling() if has_zeros else NumberSpelling()
    for form in FORMATS:
        days = DaySpelling((form,), _this_year(), folds="%y" in form)
        if all(days.of(value) is not None for value in values):
            return days
    return TextSpelling()


def _this_year() -> int:
    """Nobody was born in the future."""
    return date.today().year
