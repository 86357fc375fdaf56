"""Vocabulary: the labels of one column in several releases, with codes, and what any two of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.labels.meanings import (
    DISJOINT,
    Beginning,
    Branch,
    Edge,
    Everything,
    Meaning,
    Span,
    Texts,
    common,
)
from indistinct.hierarchy import plain
from indistinct.linkage import distinct_tuples
from indistinct.recoding.label_texts import OR_MISSING, range_label, set_label


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
        """Return the code of a meaning; labels that stand for the same have the same."""
        if meaning not in self._codes:
            self._codes[meaning] = len(self._meanings)
            self._meanings.append(meaning)
            self.names.append(name)
        return self._codes[meaning]

    def meet(self, one: int, other: int) -> int:
        """Return the code of what two labels have in common, DISJOINT if that is nothing."""
        if one == other:
            return one
        pair = (min(one, other), max(one, other))
        if pair not in self._met:
            found = common(self._meanings[pair[0]], self._meanings[pair[1]], self.number_of)
            self._met[pair] = DISJOINT if found is None else self.code(found, self._write_common(found))
        return self._met[pair]

    def meets(self, ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the code of what the labels of each pair have in common; each different pair is worked out once."""
        first, number = distinct_tuples([ours, theirs], len(ours))
        pairs = zip(ours[first].tolist(), theirs[first].tolist(), strict=True)
        return np.array([self.meet(one, other) for one, other in pairs], np.int64)[number]

    def components(self) -> NDArray[np.int64]:
        """Number the codes so that two that have something in common have the same number.

        The numbers are as many as that allows where labels are of one kind.
        """
        bodies = [meaning.body for meaning in self._meanings]
        kinds = {type(body) for body in bodies if body is not None}
        if len(kinds) > 1 or Everything in kinds:
            return np.zeros(len(bodies), np.int64)
        joined = DisjointSets(len(bodies))
        holders: dict[Any, int] = {}
        if kinds == {Span}:
            _join_overlapping(joined, {code: body for code, body in enumerate(bodies) if isinstance(body, Span)})
        shortest = min((body.kept for body in bodies if isinstance(body, Beginning)), default=0)
        highest = max((body.place for body in bodies if isinstance(body, Branch)), default=0)
        for code, meaning in enumerate(self._meanings):
            for shared in _what_others_share(meaning, shortest, highest):
                joined.join(code, holders.setdefault(shared, code))
        return joined.numbers()

    def _write_common(self, meaning: Meaning) -> str | None:
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
        if isinstance(body, Beginning | Branch):
            return (body.head if isinstance(body, Beginning) else body.label) + suffix
        if isinstance(body, Span):
            return (_written_days(body) if self.is_dated else _written_numbers(body)) + suffix
        return "*"


def _what_others_share(meaning: Meaning, shortest: int, highest: int) -> Iterator[Any]:
    """Return what every label has that has something in common with one; nothing for a span, None for missing.

    ``shortest`` is how much the shortest beginning keeps, and ``highest`` the level of the highest branch.
    """
    body = meaning.body
    if meaning.or_missing:
        yield None
    if isinstance(body, Texts):
        yield from body.values
    elif isinstance(body, Beginning):
        yield body.head[:shortest]
    elif isinstance(body, Branch):
        yield (body.above(body.sample, highest),)


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


class DisjointSets:
    """Numbers that are joined step by step."""

    def __init__(self, number: int) -> None:
        self._parents = list(range(number))

    def join(self, one: int, other: int) -> None:
        """Put the sets of two numbers together."""
        self._parents[self._root(one)] = self._root(other)

    def numbers(self) -> NDArray[np.int64]:
        """Return for each number the same one of its set."""
        return np.array([self._root(code) for code in range(len(self._parents))], np.int64)

    def _root(self, code: int) -> int:
        while self._parents[code] != code:
            self._parents[code] = self._parents[self._parents[code]]
            code = self._parents[code]
        return code


def _join_overlapping(joined: DisjointSets, spans: Mapping[int, Span]) -> None:
    """Join all spans that form a run without a gap."""
    opened = sorted(spans, key=lambda code: (spans[code].low is not None, spans[code].low or ()))
    previous: int | None = None
    end: Edge | None = None
    for code in opened:
        low, high = spans[code].low, spans[code].high
        if previous is not None and (end is None or low is None or low < end):
            joined.join(code, previous)
            end = None if end is None or high is None else max(end, high)
        else:
            end = high
        previous = code
