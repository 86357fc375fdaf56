"""What the values of a column look like: dates, codes or numbers, and the hierarchy that they climb."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Hierarchy, dates, intervals, prefix, suppress
from indistinct.hierarchy.exact_numbers import read_number
from indistinct.policy.column_names import is_one_of, words_of

POSTAL_WORDS = "zip zipcode postal postcode postleitzahl plz"

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
}
"""The formats of dates in the order in which they are tried, each with the twin that it may be mistaken for."""
DATE_LEVELS = ("month", "year", "5 years", "10 years")

MOST_DISTINCT = 200_000
"""Columns with more distinct values are judged by their name and their counts alone."""
MANY = 20
"""With fewer distinct values nothing is concluded from nearly all being different."""
INTERVALS_ACROSS = 20
SHORTEST_CODE, LONGEST_CODE, MOST_CODE_LEVELS = 3, 12, 8


def suggest_hierarchy(name: str, values: Sequence[str] | None) -> tuple[Hierarchy, str]:
    """Give a hierarchy that all values of a column climb, and their shape in words; None stands for too many."""
    if values is None:
        return suppress(), f"more than {MOST_DISTINCT:,} distinct values, too many to look at"
    found = _dates(values) or _codes(name, values) or _numbers(values)
    if found is not None:
        try:
            found[0].compile(values)
            return found
        except HierarchyError:
            pass  # a value that the shape does not cover: nothing but suppression is safe to suggest
    if len(values) <= MANY:
        return suppress(), f"{len(values)} categories"
    return suppress(), "texts without a common shape; to keep more of them list their labels with levels"


def _dates(values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize dates by the first format that reads every value."""
    for form, twin in DATE_FORMATS.items():
        days = _days(values, form)
        if days is None:
            continue
        latest = date.today().year if "%y" in form else None
        hierarchy = dates(*DATE_LEVELS) if form == ISO else dates(*DATE_LEVELS, format=form, latest=latest)
        if twin is not None and _days(values, twin) is not None:
            return hierarchy, f"dates; day and month cannot be told apart: if {form} is wrong, the format is {twin}"
        return hierarchy, "dates"
    return None


def _days(values: Sequence[str], form: str) -> list[date] | None:
    """Give the day of every value, or None if a value is not a date of this format."""
    if form == ISO and not all("-" in value for value in values):
        return None  # eight digits are rather a number than a date without separators
    try:
        if form == ISO:
            return [datetime.fromisoformat(value.strip()).date() for value in values]
        return [datetime.strptime(value.strip(), form).date() for value in values]
    except ValueError:
        return None


def _codes(name: str, values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize codes whose leading characters mean most: postal codes, and digits with leading zeros."""
    length = max(map(len, values))
    is_postal = any(is_one_of(word, POSTAL_WORDS) for word in words_of(name))
    is_digits = all(len(value) == length and value.isdecimal() for value in values)
    has_zeros = is_digits and any(value.startswith("0") for value in values)
    if not SHORTEST_CODE <= length <= LONGEST_CODE or not (is_postal or has_zeros):
        return None
    shape = f"codes of {length} digits" if is_digits else f"codes of up to {length} characters"
    if length <= MOST_CODE_LEVELS:
        return prefix(length), shape
    return prefix(length, keep=list(range(MOST_CODE_LEVELS - 1, 0, -1))), shape


def _numbers(values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize numbers, and size intervals by their range: about twenty narrow ones, then ever wider."""
    numbers = [Decimal(number) for number in map(read_number, values) if number is not None]
    if len(numbers) < max(3, len(values)):
        return None
    reach = max(numbers) - min(numbers)
    if reach == 0:
        return None
    is_whole = all(number == number.to_integral_value() for number in numbers)
    width = _nice(reach / INTERVALS_ACROSS)
    narrowest = max(2, int(width)) if is_whole else width
    widths = [narrowest * factor for factor in (1, 2, 4, 8) if factor == 1 or narrowest * factor < reach]
    return intervals(*widths), f"{'whole ' if is_whole else ''}numbers"


def _nice(number: Decimal) -> Decimal:
    """Give the smallest of 1, 2 and 5, times a power of ten, that is at least a number.

    >>> _nice(Decimal("3.65")), _nice(Decimal("0.013"))
    (Decimal('5'), Decimal('0.02'))
    """
    power = Decimal(1).scaleb(number.adjusted())
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number)
