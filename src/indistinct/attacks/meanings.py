"""Meanings: what the labels of a column stand for, so that the labels of two releases can be laid on top of each other.

A label stands for some texts, for all numbers or days between two edges, for all texts with one beginning, or for
everything; and perhaps for a missing value. What two labels have in common is again one of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.label_tree import LabelTree, interval_edges
from indistinct.errors import HierarchyError
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.dates import Dates
from indistinct.hierarchy.exact_numbers import EXACT, plain, read_number
from indistinct.hierarchy.listed import Listed
from indistinct.hierarchy.number_labels import Intervals, Rounding, TopBottom
from indistinct.hierarchy.text_labels import Prefix
from indistinct.policy import Column
from indistinct.recoding.label_texts import OR_MISSING, Cover, range_label, read_label, set_label

Label = str | None
Edge = tuple[Any, int]
"""A number, and 0 for the place just before it, 1 for the place just after it."""

DISJOINT = -1
WHOLE = 1 << 30
"""Of a text that is not masked all characters are kept."""
DATE = re.compile(r"(\d{4})(?:-(\d{4})|-Q([1-4])|-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Texts:
    """Some texts."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers, or all days, between two edges; None for an open side."""

    low: Edge | None
    high: Edge | None

    def holds(self, number: Any) -> bool:
        """Tell whether a number lies between the edges."""
        return (self.low is None or self.low <= (number, 0)) and (self.high is None or (number, 1) <= self.high)


@dataclass(frozen=True, slots=True)
class Beginning:
    """All texts whose first ``kept`` characters are these; fewer characters are the whole text."""

    head: str
    kept: int

    def holds(self, text: str) -> bool:
        """Tell whether a text begins so."""
        return text[: self.kept] == self.head


@dataclass(frozen=True, slots=True)
class Everything:
    """All values."""


Body = Texts | Span | Beginning | Everything


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a label stands for: some values, or none, and perhaps a missing one."""

    body: Body | None
    or_missing: bool = False


EVERYTHING = Meaning(Everything(), or_missing=True)
MISSING = Meaning(None, or_missing=True)


def common(one: Meaning, other: Meaning, number_of: Callable[[str], Any] = read_number) -> Meaning | None:
    """Give what two labels have in common, None if nothing; ``number_of`` reads a text as spans count it.

    >>> common(Meaning(Texts(frozenset("ab"))), Meaning(Texts(frozenset("bc"))))
    Meaning(body=Texts(values=frozenset({'b'})), or_missing=False)
    >>> common(Meaning(Beginning("0213", 4)), Meaning(Beginning("021", 3))).body
    Beginning(head='0213', kept=4)
    """
    or_missing = one.or_missing and other.or_missing
    body = None if one.body is None or other.body is None else _common_body(one.body, other.body, number_of)
    return None if body is None and not or_missing else Meaning(body, or_missing)


def _common_body(one: Body, other: Body, number_of: Callable[[str], Any]) -> Body | None:
    if isinstance(one, Everything):
        return other
    if isinstance(other, Everything):
        return one
    if isinstance(one, Texts) or isinstance(other, Texts):
        texts, holder = (one, other) if isinstance(one, Texts) else (other, one)
        assert isinstance(texts, Texts)
        values = frozenset(value for value in texts.values if _holds(holder, value, number_of))
        return Texts(values) if values else None
    if isinstance(one, Beginning) and isinstance(other, Beginning):
        longer, shorter = (one, other) if one.kept >= other.kept else (other, one)
        return longer if longer.head[: shorter.kept] == shorter.head else None
    if isinstance(one, Span) and isinstance(other, Span):
        return _common_span(one, other)
    span, beginning = (one, other) if isinstance(one, Span) else (other, one)
    assert isinstance(span, Span)
    assert isinstance(beginning, Beginning)
    if beginning.kept == WHOLE:
        return beginning if _holds(span, beginning.head, number_of) else None
    return span  # numbers with one beginning may lie anywhere


def _holds(body: Body, text: str, number_of: Callable[[str], Any]) -> bool:
    if isinstance(body, Texts):
        return text in body.values
    if isinstance(body, Beginning):
        return body.holds(text)
    if isinstance(body, Span):
        number = number_of(text)
        return number is not None and body.holds(number)
    return True


def _common_span(one: Span, other: Span) -> Span | None:
    lows = [edge for edge in (one.low, other.low) if edge is not None]
    highs = [edge for edge in (one.high, other.high) if edge is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    return None if low is not None and high is not None and low >= high else Span(low, high)


class Reader:
    """Reads the labels of one column of one release."""

    def __init__(self, column: Column, is_blank_everything: bool, level: int | None = None, longest: int = 0) -> None:
        self._hierarchy: Hierarchy = column.hierarchy
        self._tree = LabelTree(column)
        self._is_blank_everything = is_blank_everything
        self._level = level
        self._length = getattr(self._hierarchy, "length", None) or longest

    def read(self, label: Label) -> Meaning | None:
        """Give what a released cell stands for; None if it is no label of the hierarchy."""
        if label is None:
            return EVERYTHING if self._is_blank_everything else MISSING
        hierarchy = self._hierarchy
        if label == self._top():
            return EVERYTHING
        if isinstance(hierarchy, Listed):
            return self._listed(label)
        if isinstance(hierarchy, Intervals | Rounding | TopBottom):
            return self._number(label)
        if isinstance(hierarchy, Dates):
            return self._date(label)
        cover = read_label(label)
        if cover is not None and not (isinstance(hierarchy, Prefix) and label.endswith(hierarchy.mask)):
            return self._cover(cover)
        if isinstance(hierarchy, Prefix):
            head = label.rstrip(hierarchy.mask)
            masks = len(label) - len(head)
            return Meaning(Beginning(head, self._length - masks if masks else WHOLE))
        return Meaning(Texts(frozenset([label])))

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
        """Give the label that covers everything, if there is one."""
        hierarchy = self._hierarchy
        if isinstance(hierarchy, Listed) and hierarchy.top is None and len(hierarchy.rows[0]) > 1:
            last = {row[-1] for row in hierarchy.rows}
            return last.pop() if len(last) == 1 else None
        return hierarchy.top

    def _listed(self, label: str) -> Meaning | None:
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
        """Give what a range or a set stands for; None if the ends of a range have no order."""
        if not cover.is_range:
            if isinstance(self._hierarchy, Intervals | Rounding | TopBottom | Dates):
                return self._cover_of_numbers(cover)
            return Meaning(Texts(frozenset(cover.values)), cover.or_missing)
        ends = [self.number_of(value) for value in cover.values]
        if any(end is None for end in ends):
            return None
        return Meaning(Span((min(ends), 0), (max(ends), 1)), cover.or_missing)

    def _cover_of_numbers(self, cover: Cover) -> Meaning | None:
        """Give a set of numbers as the span around them, which may be wider than the set."""
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
                return Meaning(self._rounded(self._hierarchy, Decimal(number)))
            return Meaning(Span((number, 0), (number, 1)))
        cover = read_label(label)
        return None if cover is None else self._cover(cover)

    def _rounded(self, hierarchy: Rounding, number: Decimal) -> Span:
        """Give the numbers that are rounded to a number, on the highest level on which it can stand."""
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
    return meaning.body is not None and _holds(meaning.body, text, number_of)


def _next_multiple(number: Decimal, unit: Decimal) -> Decimal:
    """Give the lowest multiple of a unit that is not below a number."""
    rest = number % unit  # it has the sign of the number
    return number - rest + (unit if rest > 0 else 0)


def _days(
    year: int | None, last_year: int | None, quarter: int | None, month: int | None, day: int | None
) -> tuple[int, int] | None:
    """Give the first and the last day that a label of dates names.

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


@dataclass(slots=True)
class Vocabulary:
    """The labels of one column in several releases and all that they have in common, each with a code."""

    number_of: Callable[[str], Any]
    is_dated: bool = False
    names: list[str | None] = field(default_factory=list)
    """How each code is written: as the first label with this meaning, or in the style of ranges and sets."""
    _meanings: list[Meaning] = field(default_factory=list)
    _codes: dict[Meaning, int] = field(default_factory=dict)
    _met: dict[tuple[int, int], int] = field(default_factory=dict)

    def code(self, meaning: Meaning, name: str | None) -> int:
        """Give the code of a meaning; labels that stand for the same have the same."""
        if meaning not in self._codes:
            self._codes[meaning] = len(self._meanings)
            self._meanings.append(meaning)
            self.names.append(name)
        return self._codes[meaning]

    def meet(self, one: int, other: int) -> int:
        """Give the code of what two labels have in common, DISJOINT if that is nothing."""
        if one == other:
            return one
        pair = (min(one, other), max(one, other))
        if pair not in self._met:
            found = common(self._meanings[pair[0]], self._meanings[pair[1]], self.number_of)
            self._met[pair] = DISJOINT if found is None else self.code(found, self._written(found))
        return self._met[pair]

    def components(self) -> NDArray[np.int64]:
        """Number the codes so that two that have something in common have the same number.

        The numbers are as many as that allows where labels are of one kind.
        """
        bodies = [meaning.body for meaning in self._meanings]
        kinds = {type(body) for body in bodies if body is not None}
        if len(kinds) > 1 or Everything in kinds:
            return np.zeros(len(bodies), np.int64)
        joined = _Joined(len(bodies))
        joined.join_all(code for code, meaning in enumerate(self._meanings) if meaning.or_missing)
        if kinds == {Texts}:
            holder: dict[str, int] = {}
            for code, body in enumerate(bodies):
                for value in body.values if isinstance(body, Texts) else ():
                    joined.join(code, holder.setdefault(value, code))
        elif kinds == {Beginning}:
            shortest = min(body.kept for body in bodies if isinstance(body, Beginning))
            first: dict[str, int] = {}
            for code, body in enumerate(bodies):
                if isinstance(body, Beginning):
                    joined.join(code, first.setdefault(body.head[:shortest], code))
        else:
            joined.join_overlapping({code: body for code, body in enumerate(bodies) if isinstance(body, Span)})
        return joined.numbers()

    def _written(self, meaning: Meaning) -> str | None:
        """Write what labels have in common where no label says it."""
        suffix = OR_MISSING if meaning.or_missing else ""
        body = meaning.body
        if body is None:
            return None
        if isinstance(body, Texts):
            return (
                next(iter(body.values))
                if len(body.values) == 1 and not suffix
                else set_label([*sorted(body.values), *[None] * bool(suffix)])
            )
        if isinstance(body, Beginning):
            return body.head + suffix
        if isinstance(body, Span):
            return (_written_days(body) if self.is_dated else _written_numbers(body)) + suffix
        return "*"


def _written_numbers(span: Span) -> str:
    """Write a span of numbers.

    >>> _written_numbers(Span((33, 0), (36, 0))), _written_numbers(Span((17, 0), (25, 1)))
    ('[33, 36)', '[17, 25]')
    """
    low, high = (None if edge is None else _text(edge[0]) for edge in (span.low, span.high))
    if span.low is None or span.high is None:
        if span.low is not None:
            return f"{'>' if span.low[1] else '>='}{low}"
        return f"{'<=' if span.high and span.high[1] else '<'}{high}"
    if low == high:
        return str(low)
    return f"{'(' if span.low[1] else '['}{low}, {high}{']' if span.high[1] else ')'}"


def _text(number: Any) -> str:
    return plain(Decimal(number))


def _written_days(span: Span) -> str:
    assert span.low is not None  # every label of dates but the top has two ends
    assert span.high is not None
    first, last = (date.fromordinal(edge[0]).isoformat() for edge in (span.low, span.high))
    return range_label(first, last)


class _Joined:
    """Numbers that are joined step by step."""

    def __init__(self, number: int) -> None:
        self._parents = list(range(number))

    def _root(self, code: int) -> int:
        while self._parents[code] != code:
            self._parents[code] = self._parents[self._parents[code]]
            code = self._parents[code]
        return code

    def join(self, one: int, other: int) -> None:
        self._parents[self._root(one)] = self._root(other)

    def join_all(self, codes: Iterable[int]) -> None:
        found: Sequence[int] = list(codes)
        for code in found[1:]:
            self.join(code, found[0])

    def join_overlapping(self, spans: Mapping[int, Span]) -> None:
        """Join all spans that form a run without a gap."""
        opened = sorted(spans, key=lambda code: (spans[code].low is not None, spans[code].low or ()))
        previous: int | None = None
        end: Edge | None = None
        for code in opened:
            low, high = spans[code].low, spans[code].high
            if previous is not None and (end is None or low is None or low < end):
                self.join(code, previous)
                end = None if end is None or high is None else max(end, high)
            else:
                end = high
            previous = code

    def numbers(self) -> NDArray[np.int64]:
        return np.array([self._root(code) for code in range(len(self._parents))], np.int64)
