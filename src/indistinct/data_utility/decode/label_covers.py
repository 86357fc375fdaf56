"""What the labels of a released column cover: numbers between two ends, some texts, anything, or a missing cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.attacks.labels import EVERYTHING, WHOLE, Beginning, Branch, Reader, Span, Texts, interval_edges
from indistinct.hierarchy import (
    Dates,
    Hierarchy,
    Intervals,
    Suppress,
    dates,
    intervals,
    prefix,
    read_number,
    rounding,
    suppress,
)
from indistinct.hierarchy import top_bottom as hidden_extremes
from indistinct.policy import Column
from indistinct.policy.stated_policy import StatedHierarchy
from indistinct.recoding.label_texts import read_label

NEAREST = re.compile(r"nearest (\d+(?:\.\d+)?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class LabelCover:
    """What one label covers: a span of numbers, some texts, a branch of texts that nobody lists, or else anything."""

    span: Span | None = None
    """A text that may also be an interval has both."""
    texts: frozenset[str] | None = None
    branch: Beginning | Branch | None = None
    or_missing: bool = False
    """It may stand for a missing cell as well."""
    is_missing: bool = False
    """It stands for a missing cell and for nothing else."""
    is_set: bool = False
    """It is a set of texts, as local recodings write it."""
    names_its_values: bool = False
    """It is a range or a set, as local recodings write them: it names its ends, or its members."""

    @property
    def is_anything(self) -> bool:
        """It says nothing of the value."""
        return not self.is_missing and self.span is None and self.texts is None and self.branch is None


def column_of_statement(stated: StatedHierarchy | None, role: str) -> Column:
    """Return a column whose labels read as those of a hierarchy that a manifest states by its kind.

    Ranges, sets, intervals, dates, rounded numbers and masked beginnings say themselves what they cover. What a label
    of a listed hierarchy covers stands in the policy alone: without it such a label is a category of its own.
    """
    if role != "quasi":
        return Column("other")
    kind = "suppress" if stated is None else stated.kind
    hierarchy: Hierarchy = suppress()
    if kind == "intervals":
        hierarchy = intervals(1)
    elif kind == "dates":
        hierarchy = dates("day")
    elif kind == "top_bottom":
        hierarchy = hidden_extremes((0, 1))
    elif kind == "prefix":
        hierarchy = prefix()
    elif kind == "rounding" and stated is not None:
        units = [float(found[1]) for name in stated.levels if (found := NEAREST.fullmatch(name))]
        hierarchy = rounding(*units) if units else hierarchy
    return Column("quasi", hierarchy)


class CoverReader:
    """Reads what the labels of one column cover, as far as the policy or the manifest says it; never by the table."""

    def __init__(self, column: Column, *, is_blank_anything: bool, level: int | None, longest: int) -> None:
        self._is_quasi = column.role == "quasi"
        self.is_of_numbers = isinstance(column.hierarchy, Intervals) and self._is_quasi
        self.is_of_dates = isinstance(column.hierarchy, Dates) and self._is_quasi
        self._is_blank_anything = is_blank_anything and self._is_quasi
        self._may_name_intervals = isinstance(column.hierarchy, Suppress) and self._is_quasi
        # a hierarchy that a manifest states without its labels
        self._reader = Reader(column, self._is_blank_anything, level, longest)

    def number_of(self, text: str) -> Any:
        """Return a text as a number, or the number of its day; None if it is neither."""
        return self._reader.number_of(text) if self._is_quasi else read_number(text)

    def covers(self, labels: Sequence[str | None]) -> list[LabelCover]:
        """Return what each label covers."""
        return [self._cover(label) for label in labels]

    def _cover(self, label: str | None) -> LabelCover:
        if label is None:
            return LabelCover(or_missing=True, is_missing=not self._is_blank_anything)
        itself = LabelCover(texts=frozenset([label]))
        meaning = self._reader.read(label) if self._is_quasi else None
        if meaning is None:
            return itself
        if meaning == EVERYTHING:
            return LabelCover(or_missing=True)
        if meaning.body is None:
            return LabelCover(or_missing=True, is_missing=True)
        said = read_label(label)
        found = LabelCover(
            or_missing=meaning.or_missing,
            is_set=said is not None and not said.is_range,
            names_its_values=said is not None,
        )
        body = meaning.body
        if isinstance(body, Span):
            return replace(found, span=body)
        if isinstance(body, Texts):
            return replace(found, texts=body.values, span=self._interval(label))
        if isinstance(body, Beginning) and body.kept == WHOLE:
            return replace(found, texts=frozenset([body.head]))
        return replace(found, branch=body) if isinstance(body, Beginning | Branch) else found

    def _interval(self, label: str) -> Span | None:
        """Return the numbers of a label that is written as intervals are, where nothing else says what it covers."""
        start, end = interval_edges(label) if self._may_name_intervals else (None, None)
        if start is None and end is None:
            return None
        return Span(None if start is None else (start, 0), None if end is None else (end, 0))
