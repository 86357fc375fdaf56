"""PossibleCells: all values that the cells of a released column may have had, and which of them meet conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from indistinct.data_utility.decode import CoveredColumn, LabelCover
from indistinct.data_utility.sound_answers.bounds_query import CellCondition
from indistinct.errors import PolicyError

Between = tuple[float, float] | Sequence[str]
"""What is possible in a column at all: the least and the greatest number, or all its values."""
Edge = tuple[Any, int]
"""A number, and 0 for just before it or 1 for just after it."""


@dataclass(frozen=True, slots=True)
class PossibleValues:
    """All values that a cell may have: a span of numbers, some texts, or any text but some."""

    low: Edge | None = None
    high: Edge | None = None
    texts: frozenset[str] | None = None
    """None where it may be any text that the cover holds."""
    excluded: frozenset[str] = frozenset()
    is_number: bool = False
    is_whole: bool = False
    or_missing: bool = False
    """The cell may be missing as well."""
    is_empty: bool = False
    """It has no value: it is missing, or no value meets the conditions."""
    cover: LabelCover | None = None

    def only(self, condition: CellCondition, wanted: Any) -> PossibleValues:
        """Return those values that meet a condition; ``wanted`` is its value as the column reads it.

        A missing cell meets none.
        """
        found = self._only_numbers(condition, wanted) if self.is_number else self._only_texts(condition, wanted)
        return replace(found, or_missing=False)

    def _only_texts(self, condition: CellCondition, wanted: str) -> PossibleValues:
        if condition.operator == "=":
            return replace(self, texts=frozenset([wanted])) if self.may_be(wanted) else replace(self, is_empty=True)
        if not self.may_be(wanted):
            return self
        if self.texts is None:
            return replace(self, excluded=self.excluded | {wanted})
        left = self.texts - {wanted}
        return replace(self, texts=left, is_empty=self.is_empty or not left)

    def _only_numbers(self, condition: CellCondition, wanted: Any) -> PossibleValues:
        low, high = self.low, self.high
        if condition.operator in ("=", ">=", ">"):
            edge = (wanted, int(condition.operator == ">"))
            low = edge if low is None else max(low, edge)
        if condition.operator in ("=", "<=", "<"):
            edge = (wanted, int(condition.operator != "<"))
            high = edge if high is None else min(high, edge)
        if self.is_whole:
            low, high = _whole_edges(low, high)
        is_empty = self.is_empty or (low is not None and high is not None and low >= high)
        return replace(self, low=low, high=high, is_empty=is_empty)

    def may_be(self, text: str) -> bool:
        """Return whether the cell may be a text."""
        if self.is_empty or text in self.excluded:
            return False
        if self.texts is not None:
            return text in self.texts
        branch = None if self.cover is None else self.cover.branch
        return branch is None or branch.holds(text)

    @property
    def values(self) -> tuple[Any, ...]:
        """What tells these values from others; whether the cell may be missing aside."""
        return (self.low, self.high, self.texts, self.excluded, self.is_empty)


@dataclass(frozen=True, slots=True)
class PossibleCells:
    """The values that each label of a column may stand for."""

    name: str
    labels: tuple[PossibleValues, ...]
    is_number: bool
    column: CoveredColumn

    @property
    def has_gaps(self) -> bool:
        """Some label lists several numbers, which count as all numbers between them."""
        return self.is_number and any(len(one.texts or ()) > 1 for one in self.column.covers)

    @classmethod
    def of(
        cls, name: str, column: CoveredColumn, between: Between | None = None, *, is_whole: bool = False
    ) -> PossibleCells:
        """Return what each label may stand for.

        ``between`` is what the analyst knows to be possible; ``is_whole`` says that all numbers are whole.
        """
        holds_numbers = all(_holds_numbers(cover, column) for cover in column.covers)
        is_number = holds_numbers and any(not _says_nothing(cover) for cover in column.covers)
        if between is not None and all(isinstance(one, str) for one in between):
            if is_number or is_whole or any(cover.span is not None for cover in column.covers):
                raise PolicyError(f"between: {name!r} holds numbers; say the least and the greatest that are possible")
            values = frozenset(map(str, between))
            return cls(name, tuple(_possible_texts(cover, values) for cover in column.covers), False, column)
        is_number = is_number or between is not None or is_whole
        if is_number and not holds_numbers:
            raise PolicyError(f"column {name!r}: it holds no numbers, so none can be said to be possible")
        labels = tuple(_possible(cover, column, is_number, between, is_whole) for cover in column.covers)
        return cls(name, labels, is_number, column)

    def read(self, condition: CellCondition) -> Any:
        """Return the value of a condition as the cells of the column are read; raise if it cannot be compared."""
        if not self.is_number:
            if condition.operator not in ("=", "!="):
                raise PolicyError(f"query: {self.name!r} holds no numbers, so its cells are compared by = and != only")
            return condition.value
        number = self.column.reader.number_of(condition.value)
        if number is None or condition.operator == "!=":
            raise PolicyError(
                f"query: {self.name!r} holds numbers, so its cells are compared with one, by =, <, <=, > or >="
            )
        return number

    def only(self, conditions: Sequence[CellCondition]) -> tuple[PossibleValues, ...]:
        """Return for each label the values that meet all conditions on this column, and are not missing."""
        found = tuple(replace(one, or_missing=False) for one in self.labels)
        for condition in conditions:
            wanted = self.read(condition)
            found = tuple(one.only(condition, wanted) for one in found)
        return found

    def known_texts(self) -> list[str]:
        """Return all values that some label names."""
        named = {text for one in self.labels for text in one.texts or ()}
        return sorted(named)


def _says_nothing(cover: LabelCover) -> bool:
    return cover.is_missing or cover.is_anything


def _holds_numbers(cover: LabelCover, column: CoveredColumn) -> bool:
    if _says_nothing(cover) or (cover.span is not None and cover.texts is None):
        return True
    if cover.texts is None:
        return False
    return all(column.reader.number_of(text) is not None for text in cover.texts)


def _possible_texts(cover: LabelCover, values: frozenset[str]) -> PossibleValues:
    if cover.is_missing:
        return PossibleValues(or_missing=True, is_empty=True, cover=cover)
    texts = frozenset(filter(PossibleValues(texts=cover.texts, cover=cover).may_be, values))
    if not texts:
        raise PolicyError("between: some label covers none of the values that are said to be possible")
    return PossibleValues(texts=texts, or_missing=cover.or_missing, cover=cover)


def _possible(
    cover: LabelCover, column: CoveredColumn, is_number: bool, between: Between | None, is_whole: bool
) -> PossibleValues:
    if cover.is_missing:
        return PossibleValues(or_missing=True, is_empty=True, is_number=is_number, cover=cover)
    if not is_number:
        return PossibleValues(texts=cover.texts, or_missing=cover.or_missing, cover=cover)
    low = high = None
    if cover.texts is not None:
        numbers = [column.reader.number_of(text) for text in cover.texts]
        low, high = (min(numbers), 0), (max(numbers), 1)
    elif cover.span is not None:
        low, high = cover.span.low, cover.span.high
    if between is not None:
        least, most = (Decimal(repr(float(end))) for end in between)
        low = (least, 0) if low is None else max(low, (least, 0))
        high = (most, 1) if high is None else min(high, (most, 1))
    if is_whole:
        low, high = _whole_edges(low, high)
    if low is not None and high is not None and low >= high:
        raise PolicyError("between, whole: some label covers none of the numbers that are said to be possible")
    return PossibleValues(low, high, None, frozenset(), True, is_whole, cover.or_missing, cover=cover)


def _whole_edges(low: Edge | None, high: Edge | None) -> tuple[Edge | None, Edge | None]:
    """Return the edges around the whole numbers between two edges."""
    return (
        None if low is None else (math.floor(low[0]) + 1 if low[1] else math.ceil(low[0]), 0),
        None if high is None else (math.floor(high[0]) if high[1] else math.ceil(high[0]) - 1, 1),
    )
