"""Vocabulary: the labels of one column in several releases, with codes, and what any two of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
        elif kinds == {Branch}:
            branches = [(code, body) for code, body in enumerate(bodies) if isinstance(body, Branch)]
            highest = max(body.place for _, body in branches)
            under: dict[str | None, int] = {}
            for code, body in branches:
                joined.join(code, under.setdefault(body.above(body.sample, highest), code))
        else:
            joined.join_overlapping({code: body for code, body in enumerate(bodies) if isinstance(body, Span)})
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
