"""Meanings: what the labels of a column stand for, so that the labels of two releases can be laid on top of each other.

A label stands for some texts, for all numbers or days between two edges, for all texts with one beginning, for all
codes of a branch of a classification, or for everything; and perhaps for a missing value. What two labels have in
common is again one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from indistinct.hierarchy import read_number
from indistinct.hierarchy.catalogue import Catalogued

Label = str | None
Edge = tuple[Any, int]
"""A number, and 0 for the place just before it, 1 for the place just after it."""

DISJOINT = -1
WHOLE = 1 << 30
"""Of a text that is not masked all characters are kept."""


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
        """Return whether a number lies between the edges."""
        return (self.low is None or self.low <= (number, 0)) and (self.high is None or (number, 1) <= self.high)


@dataclass(frozen=True, slots=True)
class Beginning:
    """All texts whose first ``kept`` characters are these; fewer characters are the whole text."""

    head: str
    kept: int

    def holds(self, text: str) -> bool:
        """Return whether a text begins so."""
        return text[: self.kept] == self.head


@dataclass(frozen=True, slots=True)
class Branch:
    """All codes of a classification that have one label on one of its levels; ``sample`` is one of them."""

    kind: str
    place: int
    label: str
    sample: str = field(compare=False)
    hierarchy: Catalogued = field(compare=False)

    def holds(self, text: str) -> bool:
        """Return whether a text is such a code."""
        return self.above(text, self.place) == self.label

    def above(self, text: str, place: int) -> str | None:
        """Return the label of a code on a level."""
        path = self.hierarchy.path(text)
        return None if path is None else path[place]


@dataclass(frozen=True, slots=True)
class Everything:
    """All values."""


Body = Texts | Span | Beginning | Branch | Everything


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a label stands for: some values, or none, and perhaps a missing one."""

    body: Body | None
    or_missing: bool = False


EVERYTHING = Meaning(Everything(), or_missing=True)
MISSING = Meaning(None, or_missing=True)


def common(one: Meaning, other: Meaning, number_of: Callable[[str], Any] = read_number) -> Meaning | None:
    """Return what two labels have in common, None if nothing; ``number_of`` reads a text as spans count it.

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
        values = frozenset(value for value in texts.values if holds(holder, value, number_of))
        return Texts(values) if values else None
    if isinstance(one, Beginning) and isinstance(other, Beginning):
        longer, shorter = (one, other) if one.kept >= other.kept else (other, one)
        return longer if longer.head[: shorter.kept] == shorter.head else None
    if isinstance(one, Span) and isinstance(other, Span):
        return _common_span(one, other)
    if isinstance(one, Branch) or isinstance(other, Branch):
        return _common_branch(one, other)
    span, beginning = (one, other) if isinstance(one, Span) else (other, one)
    assert isinstance(span, Span)
    assert isinstance(beginning, Beginning)
    if beginning.kept == WHOLE:
        return beginning if holds(span, beginning.head, number_of) else None
    return span  # numbers with one beginning may lie anywhere


def _common_branch(one: Body, other: Body) -> Body | None:
    """Return what a branch has in common with another, or with what cannot be compared with it: all of that."""
    if not (isinstance(one, Branch) and isinstance(other, Branch) and one.kind == other.kind):
        return other if isinstance(one, Branch) else one
    lower, upper = (one, other) if one.place <= other.place else (other, one)
    return lower if lower.above(lower.sample, upper.place) == upper.label else None


def holds(body: Body, text: str, number_of: Callable[[str], Any]) -> bool:
    if isinstance(body, Texts):
        return text in body.values
    if isinstance(body, Beginning | Branch):
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
