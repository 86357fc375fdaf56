"""Hierarchies of dates and timestamps: day, month, quarter, year and ranges of years."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from itertools import pairwise
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import Computed, Texts, UnknownValues, checked_top, each_once, top_name, top_option
from indistinct.showing.words import counted

RANGE = re.compile(r"([1-9]\d*) years?", re.ASCII)
SAMPLES = (datetime(1987, 11, 23), datetime(2004, 5, 6))


def dates(
    *levels: str, format: str | Sequence[str] | None = None, latest: int | None = None, top: str | None = "*"
) -> Dates:
    """Return the hierarchy of ever coarser dates: "day", "month", "quarter", "year", "5 years", "decade".

    Ranges of years start at multiples of their length, counted from year 0, and each length is a multiple of the
    one before. Without ``format`` values are read as ISO dates and timestamps; ``format`` is a format of
    ``strptime``, or several that are tried in turn. A two-digit year (``%y``) is read as ``strptime`` does: 69 to 99
    as 1969 to 1999, and 00 to 68 as 2000 to 2068. With ``latest`` it is in the hundred years up to that one, so that
    nobody was born in the future.

    Source: Sweeney 2002, Figure 6.

    >>> birth = dates("month", "year", "5 years", "10 years")
    >>> [birth.label("1964-09-27", level) for level in range(6)]
    ['1964-09-27', '1964-09', '1964', '1960-1964', '1960-1969', '*']
    >>> dates("quarter", "year", format="%m/%d/%Y").label("9/27/1964", 1)
    '1964-Q3'
    >>> dates("year", format="%m/%d/%y", latest=2025).label("09/15/61", 1)
    '1961'
    """
    formats = (format,) if isinstance(format, str) else () if format is None else format
    if not isinstance(formats, (list, tuple)):
        raise HierarchyError(f"dates: format must be a format of strptime, or several, got {format!r}")
    if latest is not None and (type(latest) is not int or not 100 <= latest <= 9999):
        raise HierarchyError(f"dates: latest must be a year such as 2025, got {latest!r}")
    if latest is not None and not any("%y" in form for form in formats if isinstance(form, str)):
        raise HierarchyError("dates: latest is for two-digit years; give a format with %y as well")
    return Dates(tuple(map(_canonical, levels)), tuple(formats), latest, checked_top(top))


@dataclass(frozen=True, slots=True, repr=False)
class Dates(Computed):
    """Dates; see ``dates``."""

    kind = "dates"
    main_option = "levels"

    levels: tuple[str, ...]
    formats: tuple[str, ...]
    latest: int | None
    top: str | None

    def __post_init__(self) -> None:
        if not self.levels:
            raise HierarchyError('dates: give at least one level, such as "month" or "year"')
        for below, above in pairwise(self.levels):
            if not _nests(below, above):
                raise HierarchyError(
                    f"dates: {above!r} cannot follow {below!r}; levels rise from day over month, quarter and year to "
                    "ranges of years, each length a multiple of the one before"
                )
        for form in self.formats:
            self._check_format(form)

    def _check_format(self, form: str) -> None:
        name = _labeller(self.levels[0])
        try:
            read = read_back(form)
        except ValueError as error:
            raise HierarchyError(f"dates: {form!r} is not a format that strptime can read") from error
        if any(name(day) != name(found) for day, found in read.items()):
            raise HierarchyError(f"dates: the format {form!r} does not tell the {self.levels[0]} of a date")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels as they were given."""
        return ("value", *self.levels, *top_name(self.top))

    def options(self) -> dict[str, Any]:
        """Return the levels and every option that differs from its default."""
        given: dict[str, Any] = {"levels": list(self.levels)}
        if self.formats:
            given["format"] = self.formats[0] if len(self.formats) == 1 else list(self.formats)
        if self.latest is not None:
            given["latest"] = self.latest
        return given | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return the part of its date that each value keeps at each level."""
        days = self._days(values)
        return [each_once(_labeller(level), days) for level in self.levels]

    def sort_keys(self, values: Texts) -> list[Any] | None:
        """Return the days of the values."""
        return self._days(values)

    def _days(self, values: Texts) -> list[date | None]:
        days: list[date | None] = []
        unreadable = []
        for code, value in enumerate(values):
            day = None if value is None else self._read_day(value.strip())
            if day is None and value is not None:
                unreadable.append(code)
            days.append(day)
        if unreadable:
            expected = " or ".join(map(repr, self.formats)) or "an ISO date"
            raise UnknownValues(
                f"{counted(len(unreadable), 'value cannot', 'values cannot')} be read as {expected}; "
                "give dates() their format as well, or correct the table",
                unreadable,
            )
        return days

    def _read_day(self, text: str) -> date | None:
        if not self.formats:
            try:
                return datetime.fromisoformat(text).date()
            except ValueError:
                return None
        for form in self.formats:
            try:
                return self._in_its_century(datetime.strptime(text, form).date(), form)
            except ValueError:
                continue
        return None

    def _in_its_century(self, day: date, form: str) -> date:
        """Move a two-digit year into the hundred years up to the latest one."""
        if self.latest is None or "%y" not in form:
            return day
        return day.replace(year=self.latest - (self.latest - day.year) % 100)


def read_back(form: object) -> dict[datetime, datetime]:
    """Return what some days become when they are written and read in a format; ValueError if it is none of strptime.

    >>> read_back("%m/%Y")[datetime(1987, 11, 23)]
    datetime.datetime(1987, 11, 1, 0, 0)
    """
    if not isinstance(form, str):
        raise ValueError(f"a format is a text, got {form!r}")
    try:
        return {day: datetime.strptime(day.strftime(form), form) for day in SAMPLES}
    except re.error:  # strptime makes a pattern of it, in which no directive may stand twice
        raise ValueError(f"{form!r} says a directive twice") from None


def _canonical(level: object) -> str:
    """Return the name of a level as it is shown: "decade" is "10 years", "1 year" is "year"."""
    if level == "decade":
        return "10 years"
    if isinstance(level, str):
        if level in ("day", "month", "quarter", "year"):
            return level
        found = RANGE.fullmatch(level)
        if found:
            return "year" if found[1] == "1" else f"{found[1]} years"
    raise HierarchyError(
        f'dates: no level {level!r}; there are day, month, quarter, year, decade and such as "5 years"'
    )


def _years(level: str) -> int:
    """Return the length of a level in years, 0 if it is shorter."""
    found = RANGE.fullmatch(level)
    return int(found[1]) if found else int(level == "year")


def _nests(below: str, above: str) -> bool:
    if _years(below):
        return _years(above) > _years(below) and _years(above) % _years(below) == 0
    shorter = ("day", "month", "quarter")
    return _years(above) > 0 or shorter.index(above) > shorter.index(below)


def _labeller(level: str) -> Callable[[date], str]:
    if level == "day":
        return lambda day: f"{day.year:04}-{day.month:02}-{day.day:02}"
    if level == "month":
        return lambda day: f"{day.year:04}-{day.month:02}"
    if level == "quarter":
        return lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}"
    if level == "year":
        return lambda day: f"{day.year:04}"
    return partial(_range_of_years, _years(level))


def _range_of_years(length: int, day: date) -> str:
    start = day.year - day.year % length
    return f"{start:04}-{start + length - 1:04}"
