"""LabelTree: what lies below the labels of a column, as far as its hierarchy says so without any table.

Listed hierarchies name every value; those of places, education and ages in the catalogue every label above the values.
Intervals and dates have finitely many labels below most labels; these are worked out from the label's text. What lies
below a masked prefix, another code of the catalogue, a rounded number or a suppressed top is not said by a policy, and
so is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal, localcontext
from functools import cached_property

from indistinct.errors import HierarchyError
from indistinct.hierarchy import (
    EXACT,
    Dates,
    Hierarchy,
    Intervals,
    Keep,
    Listed,
    Prefix,
    Suppress,
    TopBottom,
    dates,
    plain,
)
from indistinct.hierarchy.catalogue import Catalogued
from indistinct.policy import Column

Label = str | None
Labels = tuple[Label, ...]

MOST_LISTED = 2_000
"""A label with more labels below it is taken as one whose labels cannot be listed."""

UNKNOWN_HEIGHT = 99
"""Stands for the top of a hierarchy whose height depends on values that only the data holder knows."""

INTERVAL = re.compile(
    r"<(?P<end>-?[\d.]+)|>=(?P<start>-?[\d.]+)|\[(?P<from>-?[\d.]+), (?P<to>-?[\d.]+)\)"
    r"|(?P<first>\d+)-(?P<last>\d+)|(?P<minus>-\d+) to (?P<up>-?\d+)",
    re.ASCII,
)
YEARS = re.compile(r"(\d{4})(?:-(\d{4}))?(?!\d)", re.ASCII)


class LabelTree:
    """The labels of one column and what lies below each, as somebody knows them who has the policy but not the table.

    Levels are counted from 0, the values. A text that is a label is taken for one, though a table could hold the same
    text as a value, and whole numbers are taken to be written plainly.
    """

    def __init__(self, column: Column) -> None:
        self._hierarchy: Hierarchy = column.hierarchy
        self._may_be_missing = column.missing == "value"
        lowest = column.lowest_level
        self.lowest = UNKNOWN_HEIGHT if lowest is None else lowest
        """The lowest level that the policy lets a release show: what stands there was not raised for privacy."""
        self._levels: dict[Label, frozenset[int]] = {}
        self._below: dict[tuple[int, Label], Labels | None] = {}

    @property
    def height(self) -> int:
        """The level of the top."""
        height = self._hierarchy.height
        return UNKNOWN_HEIGHT if height is None else height

    @property
    def takes_any_text(self) -> bool:
        """Every text can be a value, so that a range or a set cannot be told from one."""
        return isinstance(self._hierarchy, Prefix | Suppress)

    def levels_of(self, label: Label) -> frozenset[int]:
        """Return the levels on which a text can stand; none if it is no label of the hierarchy."""
        if label not in self._levels:
            self._levels[label] = frozenset(self._find_levels(label))
        return self._levels[label]

    def lowest_level(self, label: Label) -> int:
        """Return the lowest level on which a text can stand; 0 if it may be a value."""
        return min(self.levels_of(label), default=0)

    def below(self, level: int, label: Label) -> Labels | None:
        """Return the labels one level below a label; None where they cannot be listed.

        >>> from indistinct.hierarchy import intervals
        >>> LabelTree(Column("quasi", intervals(5, 10))).below(2, "30-39")
        ('30-34', '35-39')
        """
        if (level, label) not in self._below:
            self._below[level, label] = self._find_below(level, label) if level else None
        return self._below[level, label]

    def is_ambiguous(self, label: Label) -> bool:
        """Return whether a text names different sets of values on different levels."""
        levels = self.levels_of(label)
        return len(levels) > 1 and len({self._values_under(level, label) for level in levels}) > 1

    def values_under(self, label: Label) -> frozenset[Label]:
        """Return the values under a label of a listed hierarchy, on whichever level it stands; none if it is no
        label.
        """
        return frozenset(value for level in self.levels_of(label) for value in self._values_under(level, label))

    def _find_levels(self, label: Label) -> Iterator[int]:
        hierarchy = self._hierarchy
        if isinstance(hierarchy, Listed):
            yield from (level for level, labels in enumerate(self._listed) if label in labels)
        elif label is None or isinstance(hierarchy, Keep):
            yield 0
        elif label == hierarchy.top:
            yield self.height
        elif isinstance(hierarchy, Suppress):
            yield 0
        elif isinstance(hierarchy, Prefix):
            yield from _levels_of_prefix(hierarchy, label)
        elif isinstance(hierarchy, Catalogued):
            yield from _levels_of_code(hierarchy, label)
        else:
            yield from self._computed_levels(label)

    def _computed_levels(self, label: str) -> Iterator[int]:
        """Return the levels of a label that is computed from numbers or dates."""
        hierarchy, highest = self._hierarchy, self.height - (self._hierarchy.top is not None)
        is_value = False
        with suppress(HierarchyError):
            hierarchy.climb([label])
            is_value = True
        if is_value:  # only an interval never reads as a value does
            yield from [0] if isinstance(hierarchy, Intervals) else range(highest + 1)
        elif isinstance(hierarchy, TopBottom):
            yield from range(1, highest + 1) if label[:1] in ("<", ">") else ()
        else:
            is_daily = isinstance(hierarchy, Dates) and "day" in hierarchy.levels
            inside = _days_within(label[:4], is_daily) if isinstance(hierarchy, Dates) else _number_inside(label)
            rows = self._climb(inside or [])
            yield from (level for level in range(1, highest + 1) if any(row[level] == label for row in rows))

    def _find_below(self, level: int, label: Label) -> Labels | None:
        hierarchy = self._hierarchy
        if isinstance(hierarchy, Listed):
            return tuple(self._listed[level].get(label, ())) or None
        if label is None:
            return (None,)
        is_top = label == hierarchy.top
        if isinstance(hierarchy, Catalogued) and hierarchy.is_closed and level > 1:
            codes = dict.fromkeys(row[level - 1] for row in hierarchy.table() if row[level] == label)
            return (*codes, *[None] * (is_top and self._may_be_missing)) or None
        if level == 1:
            return None if is_top or not isinstance(hierarchy, Intervals) else _whole_numbers(hierarchy, label)
        samples = self._samples(level, None if is_top else label)
        if samples is None:
            return None
        labels = dict.fromkeys(row[level - 1] for row in self._climb(samples) if row[level] == label)
        return (*labels, *[None] * (is_top and self._may_be_missing)) or None

    @cached_property
    def _listed(self) -> list[dict[Label, dict[Label, None]]]:
        """For each level of a listed hierarchy its labels, and the labels below each."""
        rows = self._hierarchy.table()
        if self._may_be_missing:
            with suppress(HierarchyError):  # without levels there is no label for a missing value that is not listed
                rows += self._hierarchy.table([None])
        levels: list[dict[Label, dict[Label, None]]] = [{} for _ in rows[0]]
        for row in rows:
            for level, label in enumerate(row):
                below = levels[level].setdefault(label, {})
                if level:
                    below[row[level - 1]] = None
        return levels

    def _values_under(self, level: int, label: Label) -> frozenset[Label]:
        """Return the values under a label; the text of a computed label says itself which they are."""
        labels = {label}
        if isinstance(self._hierarchy, Listed):
            for above in range(level, 0, -1):
                labels = {lower for upper in labels for lower in self._listed[above][upper]}
        return frozenset(labels)

    def _samples(self, level: int, label: Label) -> Sequence[str] | None:
        """Return a value of every label on the level below that lies under a label, None for the top.

        None if there is no end of them. Some may lie beside the label.
        """
        if isinstance(self._hierarchy, Intervals):
            start, end = (None, None) if label is None else interval_edges(label)
            return _numbers_within(self._hierarchy, level - 1, start, end)
        if isinstance(self._hierarchy, Dates) and label is not None:
            return _days_within(label, is_daily="day" in self._hierarchy.levels)
        return None

    def _climb(self, values: Sequence[str]) -> list[list[Label]]:
        """Return the labels of values that were made up here; dates are then written in the ISO way."""
        hierarchy = self._hierarchy
        if isinstance(hierarchy, Dates):
            hierarchy = dates(*hierarchy.levels, top=hierarchy.top)
        return hierarchy.table(values)


def _levels_of_prefix(hierarchy: Prefix, label: str) -> Iterator[int]:
    """Return the level of a masked text by the number of masks at its end."""
    masks = len(label) - len(label.rstrip(hierarchy.mask))
    if not masks:
        yield 0
    elif hierarchy.keep is None:
        yield masks
    elif hierarchy.length is not None:
        yield from (level for level, kept in enumerate(hierarchy.keep, 1) if kept == hierarchy.length - masks)
    else:
        yield from range(1, len(hierarchy.keep) + 1)


def _levels_of_code(hierarchy: Catalogued, label: str) -> Iterator[int]:
    """Return the levels of a known code, and of a label above codes."""
    if hierarchy.path(label) is not None:
        yield 0
    places = hierarchy.standing(label)
    yield from (level for level, name in enumerate(hierarchy.levels, 1) if hierarchy.all_levels.index(name) in places)


def interval_edges(label: str) -> tuple[Decimal | None, Decimal | None]:
    """Read an interval: its lowest number, and the number at which it ends; None for an open side.

    >>> interval_edges("20-24"), interval_edges(">=90"), interval_edges("-5 to 4")
    ((Decimal('20'), Decimal('25')), (Decimal('90'), None), (Decimal('-5'), Decimal('5')))
    """
    found = INTERVAL.fullmatch(label)
    read = {name: Decimal(text) for name, text in (found.groupdict() if found else {}).items() if text}
    start, end, last = (
        next((read[name] for name in names if name in read), None)
        for names in (("start", "from", "first", "minus"), ("end", "to"), ("last", "up"))
    )
    with localcontext(EXACT):
        return start, end if last is None else last + 1


def _number_inside(label: str) -> list[str]:
    """Return a number that lies in an interval; none if the text is no interval."""
    start, end = interval_edges(label)
    if start is None and end is not None:
        with localcontext(EXACT):
            start = end - 1
    return [] if start is None else [plain(start)]


def _whole_numbers(hierarchy: Intervals, label: str) -> Labels | None:
    """Return the values of an interval of whole numbers."""
    start, end = interval_edges(label)
    if not hierarchy.is_whole or start is None or end is None or end - start > MOST_LISTED:
        return None
    return tuple(str(number) for number in range(int(start), int(end)))


def _numbers_within(
    hierarchy: Intervals, level: int, start: Decimal | None, end: Decimal | None
) -> Sequence[str] | None:
    """Return a number from each interval of a level between two edges; None if they are too many."""
    widths = hierarchy.widths[level - 1]
    points = {bound for bound in (hierarchy.low, hierarchy.high) if bound is not None}
    with localcontext(EXACT):
        if isinstance(widths, tuple):
            points.update(widths)
        else:
            first = hierarchy.low if start is None else start
            last = hierarchy.high if end is None else end
            if first is None or last is None or (last - first) / widths > MOST_LISTED:
                return None
            points.update(_boundaries(first, last, widths, hierarchy.origin))
        points.add(min(points) - 1 if start is None else start)
        inside = (point for point in points if (start is None or point >= start) and (end is None or point < end))
        return [plain(point) for point in sorted(inside)]


def _boundaries(first: Decimal, last: Decimal, width: Decimal, origin: Decimal) -> Iterator[Decimal]:
    """Return a number, and from there on every boundary of intervals of one width before another number."""
    yield first
    boundary = first - (first - origin) % width
    while boundary < last:
        if boundary > first:
            yield boundary
        boundary += width


def _days_within(label: str, is_daily: bool) -> Sequence[str] | None:
    """Return the first day of each month, or every day, of the years that a label names; None if they are too many."""
    found = YEARS.match(label)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last <= 9998 or (last - first + 1) * (366 if is_daily else 12) > MOST_LISTED:
        return None
    if not is_daily:
        return [f"{year:04}-{month:02}-01" for year in range(first, last + 1) for month in range(1, 13)]
    start = date(first, 1, 1)
    return [(start + timedelta(day)).isoformat() for day in range((date(last + 1, 1, 1) - start).days)]
