"""Reader: what the labels of a released column mean, by its hierarchy and by the way local recodings write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

from indistinct.attacks.labels.label_tree import LabelTree, interval_edges
from indistinct.attacks.labels.meanings import (
    EVERYTHING,
    MISSING,
    WHOLE,
    Beginning,
    Branch,
    Label,
    Meaning,
    Span,
    Texts,
    holds,
)
from indistinct.errors import HierarchyError
from indistinct.hierarchy import EXACT, Dates, Hierarchy, Intervals, Listed, Prefix, Rounding, TopBottom, read_number
from indistinct.hierarchy.catalogue import Catalogued
from indistinct.policy import Column
from indistinct.recoding.label_texts import Cover, read_label

DATE = re.compile(r"(\d{4})(?:-(\d{4})|-Q([1-4])|-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


class Reader:
    """Reads the labels of one column of one release."""

    def __init__(self, column: Column, is_blank_everything: bool, level: int | None = None, longest: int = 0) -> None:
        self._hierarchy: Hierarchy = column.hierarchy
        self._tree = LabelTree(column)
        self._missing_codes = column.missing_codes
        self._is_blank_everything = is_blank_everything
        self._level = level
        self._length = getattr(self._hierarchy, "length", None) or longest

    def read(self, label: Label) -> Meaning | None:
        """Return what a released cell stands for; None if it is no label of the hierarchy."""
        if label is None or label in self._missing_codes:
            return EVERYTHING if self._is_blank_everything else MISSING
        hierarchy = self._hierarchy
        if label == self._top():
            return EVERYTHING
        if isinstance(hierarchy, Listed):
            return self._read_listed(label)
        if isinstance(hierarchy, Intervals | Rounding | TopBottom):
            return self._number(label)
        if isinstance(hierarchy, Dates):
            return self._date(label)
        if isinstance(hierarchy, Catalogued):
            return self._code(hierarchy, label)
        cover = read_label(label)
        if cover is not None and not (isinstance(hierarchy, Prefix) and label.endswith(hierarchy.mask)):
            return self._cover(cover)
        if isinstance(hierarchy, Prefix):
            head = label.rstrip(hierarchy.mask)
            masks = len(label) - len(head)
            return Meaning(Beginning(head, self._length - masks if masks else WHOLE))
        return Meaning(Texts(frozenset([label])))

    def _code(self, hierarchy: Catalogued, label: str) -> Meaning | None:
        """Return what a known code, or a label above codes, stands for; on several levels it is that of most codes."""
        places = hierarchy.standing(label)
        if self._level is not None:
            asked = [hierarchy.all_levels.index(name) for name in hierarchy.levels[: self._level][-1:]]
            places = {place: places[place] for place in asked if place in places}
        if places:
            place = max(places)
            return Meaning(Branch(hierarchy.kind, place, label, places[place], hierarchy))
        if self._level == 0 or hierarchy.path(label) is not None:
            return Meaning(Texts(frozenset([label])))
        cover = read_label(label)
        return None if cover is None else self._cover(cover)

    def number_of(self, text: str) -> Any:
        """Read a text as the spans of this column count it: a number, or the number of a day; None if it is none."""
        try:
            keys = self._hierarchy.sort_keys([text])
        except HierarchyError:
            return None
        if not keys or keys[0] is None:
            return None
        return keys[0].toordinal() if isinstance(keys[0], date) else keys[0]

    def _top(self) -> str | None:
        """Return the label that covers everything, if there is one."""
        hierarchy = self._hierarchy
        if isinstance(hierarchy, Listed) and hierarchy.top is None and len(hierarchy.rows[0]) > 1:
            last = {row[-1] for row in hierarchy.rows}
            return last.pop() if len(last) == 1 else None
        return hierarchy.top

    def _read_listed(self, label: str) -> Meaning | None:
        values = self._tree.values_under(label)
        if values:
            present = frozenset(value for value in values if value is not None)
            return Meaning(Texts(present) if present else None, None in values)
        cover = read_label(label)
        if cover is None or not cover.is_range:
            return None if cover is None else self._cover(cover)
        span = self._cover(cover)
        assert isinstance(self._hierarchy, Listed)
        listed = [row[0] for row in self._hierarchy.rows if row[0] is not None]
        inside = frozenset(value for value in listed if span is not None and _holds_text(span, value, self.number_of))
        return Meaning(Texts(inside), cover.or_missing) if inside else None

    def _cover(self, cover: Cover) -> Meaning | None:
        """Return what a range or a set stands for; None if the ends of a range have no order."""
        if not cover.is_range:
            if isinstance(self._hierarchy, Intervals | Rounding | TopBottom | Dates):
                return self._cover_of_numbers(cover)
            return Meaning(Texts(frozenset(cover.values)), cover.or_missing)
        ends = [self.number_of(value) for value in cover.values]
        if any(end is None for end in ends):
            return None
        return Meaning(Span((min(ends), 0), (max(ends), 1)), cover.or_missing)

    def _cover_of_numbers(self, cover: Cover) -> Meaning | None:
        """Return a set of numbers as the span around them, which may be wider than the set."""
        return self._cover(Cover(cover.values, is_range=True, or_missing=cover.or_missing))

    def _number(self, label: str) -> Meaning | None:
        start, end = interval_edges(label)
        if start is not None or end is not None:
            return Meaning(Span(None if start is None else (start, 0), None if end is None else (end, 0)))
        if label[:1] == ">" and (beyond := read_number(label[1:])) is not None:
            return Meaning(Span((beyond, 1), None))
        number = read_number(label)
        if number is not None:
            if isinstance(self._hierarchy, Rounding):
                return Meaning(self._read_rounded(self._hierarchy, Decimal(number)))
            return Meaning(Span((number, 0), (number, 1)))
        cover = read_label(label)
        return None if cover is None else self._cover(cover)

    def _read_rounded(self, hierarchy: Rounding, number: Decimal) -> Span:
        """Return the numbers that are rounded to a number, on the highest level on which it can stand."""
        with localcontext(EXACT):
            possible = [level for level, unit in enumerate(hierarchy.units, 1) if number % unit == 0]
            level = max(possible, default=0) if self._level is None else self._level
            if level == 0:
                return Span((number, 0), (number, 1))
            units = hierarchy.units[:level]
            low = high = number
            for below, unit in reversed(list(pairwise(units))):
                low = _next_multiple(low - unit / 2, below)
                high = _next_multiple(high + unit / 2, below) - below
            return Span((low - units[0] / 2, 0), (high + units[0] / 2, 0))

    def _date(self, label: str) -> Meaning | None:
        found = DATE.fullmatch(label)
        days = None if found is None else _days(*(None if part is None else int(part) for part in found.groups()))
        if days is not None:
            return Meaning(Span((days[0], 0), (days[1], 1)))
        number = self.number_of(label)
        if number is not None:
            return Meaning(Span((number, 0), (number, 1)))
        cover = read_label(label)
        return None if cover is None else self._cover(cover)


def _holds_text(meaning: Meaning, text: str, number_of: Callable[[str], Any]) -> bool:
    return meaning.body is not None and holds(meaning.body, text, number_of)


def _next_multiple(number: Decimal, unit: Decimal) -> Decimal:
    """Return the lowest multiple of a unit that is not below a number."""
    rest = number % unit  # it has the sign of the number
    return number - rest + (unit if rest > 0 else 0)


def _days(
    year: int | None, last_year: int | None, quarter: int | None, month: int | None, day: int | None
) -> tuple[int, int] | None:
    """Return the first and the last day that a label of dates names.

    >>> _days(1964, None, None, 2, None) == (date(1964, 2, 1).toordinal(), date(1964, 2, 29).toordinal())
    True
    """
    assert year is not None
    try:
        if last_year is not None:
            return date(year, 1, 1).toordinal(), date(last_year, 12, 31).toordinal()
        if day is not None:
            only = date(year, month or 1, day).toordinal()
            return only, only
        first = month or (3 * quarter - 2 if quarter else 1)
        last = month or (3 * quarter if quarter else 12)
        end = date(year + last // 12, last % 12 + 1, 1) - timedelta(1) if (year, last) != (9999, 12) else date.max
        return date(year, first, 1).toordinal(), end.toordinal()
    except ValueError:
        return None
