"""Dates among the values of a column, in whatever way they are written: days, months, quarters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

from indistinct.hierarchy import Hierarchy, dates, levels
from indistinct.profiling.column_statistics import ColumnStatistics

ISO = "ISO"
DATE_FORMATS = {
    ISO: None,
    "%Y/%m/%d": None,
    "%d.%m.%Y": None,
    "%m/%d/%Y": "%d/%m/%Y",
    "%d/%m/%Y": None,
    "%d-%m-%Y": "%m-%d-%Y",
    "%m-%d-%Y": None,
    "%d.%m.%y": None,
    "%m/%d/%y": "%d/%m/%y",
    "%d/%m/%y": None,
    "%Y/%m/%d %H:%M:%S": None,
    "%m/%d/%Y %H:%M": "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M": None,
    "%d.%m.%Y %H:%M": None,
    "%Y%m%d": None,
}
"""The formats of dates in the order in which they are tried, each with the twin that it may be mistaken for."""
WORDED_FORMATS = (
    "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d%b%Y", "%d-%b-%y",
)  # fmt: skip
"""Those in which the month is a word."""
MONTH_FORMATS = ("%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%Y-%b")
"""Months of a year, without a day."""
DATE_LEVELS = ("month", "year", "5 years", "10 years")
MONTH_LEVELS = ("quarter", "year", "5 years", "10 years")
LONG_SPANS = (20, 40)
FIRST_YEAR, LAST_YEAR = 1850, 2100
"""Numbers between these may be years, and eight digits dates."""
DATE_LIKE = re.compile(r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}\s*$)", re.ASCII)
MONTH_LIKE = re.compile(r"\s*(\d{4}[-/]\d{1,2}|\d{1,2}[-/]\d{4})\s*", re.ASCII)
MONTH = re.compile(r"(?<![a-z])(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?![a-z])", re.IGNORECASE)
QUARTER = re.compile(r"\s*(\d{4})[ -]?[Qq]([1-4])\s*|\s*[Qq]([1-4])[ /-]?(\d{4})\s*", re.ASCII)
FEWEST_QUARTERS, MOST_QUARTERS = 3, 400
TRIED = 200
"""Values of a column that are tried before all are."""
MOSTLY = 0.8
"""The share of the values tried that must be dates."""
MOST_UNREADABLE = 0.02
"""The share of cells that may be unreadable, and is then read as missing."""


def read_dates(cells: ColumnStatistics) -> tuple[Hierarchy, str] | None:
    """Recognize dates by the format that reads every value, or else most of them, if it leaves few cells."""
    tried = cells.meaningful[:: max(1, len(cells.meaningful) // TRIED)]
    formats = _formats_like(tried)
    if not formats:
        return None
    read = {form: _share_read(cells, form, tried) for form in formats}
    best = max(read, key=lambda form: read[form])
    if read[best] < 1 - MOST_UNREADABLE or (best in MONTH_FORMATS and _are_school_years(cells.meaningful)):
        return None
    latest = date.today().year if "%y" in best else None
    rising = _rising_levels(cells, best)
    hierarchy = dates(*rising) if best == ISO else dates(*rising, format=best, latest=latest)
    twin = DATE_FORMATS.get(best)
    if twin is not None and read[twin] == read[best]:
        return hierarchy, f"dates; day and month cannot be told apart: if {best} is wrong, the format is {twin}"
    return hierarchy, "months" if best in MONTH_FORMATS else "dates"


def look_like_dates(values: Sequence[str]) -> bool:
    """Return whether most values are dates of some form, each by itself."""
    tried = values[:: max(1, len(values) // TRIED)]
    forms = [form for form in (*DATE_FORMATS, *WORDED_FORMATS) if form != "%Y%m%d"]
    read = sum(any(_day(value, form) is not None for form in forms) for value in tried)
    return bool(tried) and read >= MOSTLY * len(tried)


def read_quarters(cells: ColumnStatistics) -> tuple[Hierarchy, str] | None:
    """Recognize quarters of years, such as 1980 Q3, if nearly all values are, and give their years above them."""
    years = {value: int(found[1] or found[4]) for value in cells.meaningful if (found := QUARTER.fullmatch(value))}
    if not FEWEST_QUARTERS <= len(years) <= MOST_QUARTERS or len(years) < MOSTLY * len(cells.meaningful):
        return None
    others = [value for value in cells.values or () if value not in years]
    rows = [[value, str(year), _span(year, 5), _span(year, 10), "*"] for value, year in years.items()]
    return levels(rows + [[*[value] * 4, "*"] for value in others]), "quarters of years"


def _span(year: int, length: int) -> str:
    """Return the years of one length among which a year is.

    >>> _span(1983, 5)
    '1980-1984'
    """
    start = year - year % length
    return f"{start}-{start + length - 1}"


def _formats_like(tried: Sequence[str]) -> tuple[str, ...]:
    """Return the formats that values look like at a glance; none if too few look like dates."""
    enough = MOSTLY * max(1, len(tried))
    if sum(bool(DATE_LIKE.match(value)) for value in tried) >= enough:
        return tuple(DATE_FORMATS)
    if sum(bool(MONTH_LIKE.fullmatch(value)) for value in tried) >= enough:
        return MONTH_FORMATS
    if sum(bool(MONTH.search(value)) and any(map(str.isdecimal, value)) for value in tried) >= enough:
        return (*WORDED_FORMATS, *MONTH_FORMATS)
    return ()


def _rising_levels(cells: ColumnStatistics, form: str) -> tuple[str, ...]:
    """Return the levels of dates: ranges of 20 and 40 years as well, where dates are further apart than that."""
    years = [day.year for value in cells.meaningful if (day := _day(value, form)) is not None]
    reach = max(years) - min(years)
    first = MONTH_LEVELS if form in MONTH_FORMATS else DATE_LEVELS
    return (*first, *(f"{span} years" for span in LONG_SPANS if span < reach))


def _share_read(cells: ColumnStatistics, form: str, tried: Sequence[str]) -> float:
    """Return the share of the cells that a format reads as dates; 0 if the values that are tried say that it is low."""
    values = cells.meaningful
    if sum(_day(value, form) is not None for value in tried) < MOSTLY * len(tried):
        return 0.0
    counts = dict(zip(cells.values or (), cells.counts.tolist() if cells.counts is not None else (), strict=True))
    read = sum(counts[value] for value in values if _day(value, form) is not None)
    return float(read / sum(counts[value] for value in values))


def _day(value: str, form: str) -> date | None:
    """Return the day that a format reads, or None if the value is no date of that format."""
    text = value.strip()
    if form == ISO and "-" not in text:
        return None  # eight digits are rather a number than a date without separators
    if form == "%Y%m%d" and not (len(text) == 8 and text.isdecimal() and FIRST_YEAR <= int(text[:4]) <= LAST_YEAR):
        return None
    try:
        day = (datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)).date()
    except ValueError:
        return None
    return day if form not in MONTH_FORMATS or FIRST_YEAR <= day.year <= LAST_YEAR else None


def _are_school_years(values: Sequence[str]) -> bool:
    """Return whether values join a year with the next one, as 2010-11 does."""
    pairs = [value.strip().split("-") for value in values if value.strip()[:4].isdecimal() and "-" in value]
    return len(pairs) == len(values) and all(two.isdecimal() and (int(one) + 1) % 100 == int(two) for one, two in pairs)
