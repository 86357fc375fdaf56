"""Coverage: which values of another table's column the released labels of a column cover.

A label covers a value if it is the value or one of its generalizations by the policy's hierarchy, or a range or set
that holds it. A blank cell covers all, and a value that is missing in the other table fits every label, because
nobody knows it. A value that the hierarchy does not know fits only a label that covers everything.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from indistinct.counting import IntArray
from indistinct.hierarchy import Dates, Hierarchy, Listed, Prefix, UnknownValues, dates
from indistinct.hierarchy.catalogue import Catalogued
from indistinct.linkage.spelling import DaySpelling, Spelling, TextSpelling, code_length, spelling_of
from indistinct.recoding.label_texts import read_label

Ranks = range | IntArray
"""Some ranks, ascending: a run of neighbours, or any."""
UNKNOWN = -1
"""The rank of a missing value, which fits every label."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """How the values of another table's column were read."""

    kind: str
    """What they were taken for: texts, numbers, codes or dates."""
    values: int
    """Distinct values, a missing one apart."""
    respelled: int
    """Those that are written otherwise than the hierarchy or the release writes them."""
    fuzzy: Mapping[str, str]
    """Values that stand for a similar one, as far as that was allowed."""
    strangers: int
    """Values that are none of the column's: they fit only labels that cover everything."""
    has_missing: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """The ranks of another table's values, and the ranks that each released label covers.

    Values that no released label tells apart have the same rank.
    """

    ranks: IntArray
    """The rank of each value code; UNKNOWN for a missing value."""
    covered: tuple[Ranks, ...]
    """The ranks that each label code covers."""
    number: int
    """How many ranks there are."""
    spelled: Spelled

    def of_sets(self, sets: Sequence[Sequence[int]]) -> Coverage:
        """Return the coverage of sets of labels: what all labels of a set cover."""

        def both(one: Ranks, other: Ranks) -> Ranks:
            if isinstance(one, range) and isinstance(other, range):
                return range(max(one.start, other.start), min(one.stop, other.stop))
            return np.intersect1d(np.asarray(one, np.int64), np.asarray(other, np.int64))

        return replace(self, covered=tuple(reduce(both, (self.covered[label] for label in one)) for one in sets))

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        labels: Sequence[str | None],
        values: Sequence[str | None],
        similarity: float | None = None,
        *,
        missing_fits: bool = True,
    ) -> Coverage:
        """Work out what the released labels cover.

        With ``similarity``, from 0 to 1, a text that is none of the column's stands for the most similar one, if they
        are at least as similar as that. Unless ``missing_fits``, a missing value fits only what covers everything.

        >>> from indistinct.hierarchy import dates
        >>> birth = dates("month", "year", format="%m/%d/%Y")
        >>> found = Coverage.of(birth, ["1961", "9/15/1961", None], ["09/15/61", "1961-10-02", "1970-01-01"])
        >>> found.ranks.tolist(), [list(ranks) for ranks in found.covered]
        ([0, 1, 2], [[0, 1], [0], [0, 1, 2]])
        """
        reader = _ValueReader.of(hierarchy, [label for label in labels if label is not None])
        ground, spelled = reader.read(values, similarity)
        known = sorted({text for text in ground if text is not None})
        climbed = _Climbed.of(reader, known)
        covered = [climbed.under(label) for label in labels]
        stranger = len(climbed.order)
        raw = np.array(
            [
                UNKNOWN if value is None else climbed.rank_of.get(text, stranger) if text is not None else stranger
                for value, text in zip(values, ground, strict=True)
            ],
            np.int64,
        )
        strangers = int((raw == stranger).sum())
        if not missing_fits:
            raw[raw == UNKNOWN] = stranger
        told_apart = _told_apart(covered, stranger + 1)
        ranks = np.where(raw == UNKNOWN, UNKNOWN, told_apart[raw])
        return cls(
            ranks,
            tuple(_renumber(part, told_apart) for part in covered),
            int(told_apart[-1]) + 1,
            replace(spelled, strangers=strangers),
        )


def labels_among(hierarchy: Hierarchy, texts: Sequence[str], values: Sequence[str]) -> frozenset[str]:
    """Return those of some texts that are no values of a hierarchy but labels, of these values or of any.

    What values a label could have is read from its own numbers and dates.

    >>> from indistinct.hierarchy import dates, intervals
    >>> labels_among(intervals(5, 10, high=90), ["30-39", ">=90", "n/a"], ["34"]) == {"30-39", ">=90"}
    True
    >>> labels_among(dates("quarter", "year", format="%d.%m.%Y"), ["1961-Q3", "soon"], [])
    frozenset({'1961-Q3'})
    """
    if isinstance(hierarchy, Listed):
        labels = {label for row in hierarchy.rows for label in row}
        return frozenset(text for text in texts if text in labels or text == hierarchy.top)
    if isinstance(hierarchy, Catalogued):
        return frozenset(text for text in texts if hierarchy.standing(text) or text == hierarchy.top)
    ends = [end for text in texts if (cover := read_label(text)) is not None for end in cover.values]
    said = _days_in(texts) if isinstance(hierarchy, Dates) else _numbers_in(texts)
    covered = Coverage.of(hierarchy, texts, list(dict.fromkeys([*values, *ends, *said]))).covered
    return frozenset(text for text, ranks in zip(texts, covered, strict=True) if len(ranks))


def _numbers_in(texts: Iterable[str]) -> Iterable[str]:
    """Return the numbers that stand in some texts; a mark before one may be a sign, or part of a range."""
    return (number for text in texts for number in re.findall(r"(?=(-?[0-9]+(?:[.][0-9]+)?))", text))


def _days_in(texts: Iterable[str]) -> Iterable[str]:
    """Return a day of every month of the years that stand in some texts."""
    years = {year for text in texts for year in re.findall(r"[0-9]{4}", text)}
    return (f"{year}-{month:02}-01" for year in sorted(years) for month in range(1, 13))


def label_of_all(hierarchy: Hierarchy) -> str | None:
    """Return the label that covers every value, also one that the hierarchy does not know; None if there is none.

    >>> from indistinct.hierarchy import prefix, tree
    >>> label_of_all(tree({"person": ["black", "white"]})), label_of_all(prefix(5, keep=[3], top=None))
    ('person', None)
    """
    if isinstance(hierarchy, Listed) and hierarchy.top is None and len(hierarchy.rows[0]) > 1:
        return hierarchy.rows[0][-1]
    return hierarchy.top


def climbed_labels(
    hierarchy: Hierarchy, own: Sequence[str | None], values: Sequence[str | None]
) -> list[list[str | None] | None]:
    """Return the labels of another table's values at each level, as they are written for the column's ``own`` values.

    None for a value that is missing or that the hierarchy does not know. A value that the column has too is spelled
    as there.

    >>> from indistinct.hierarchy import dates
    >>> climbed_labels(dates("year", format="%m/%d/%y", latest=2025), ["09/15/61"], ["1961-09-15", "n/a"])
    [['09/15/61', '1961', '*'], None]
    """
    present = [value for value in own if value is not None]
    reader = _ValueReader.of(hierarchy, present)
    ground, _ = reader.read(values, None)
    rows = _Climbed.of(reader, sorted({text for text in ground if text is not None})).rows
    spelled: dict[str, str] = {}
    for value in present:
        for text in reader.spellings(value):
            spelled.setdefault(text, value)
    return [None if text is None or text not in rows else [spelled.get(text, text), *rows[text][1:]] for text in ground]


def _told_apart(covered: Iterable[Ranks], number: int) -> IntArray:
    """Number ranks anew, so that neighbours that the same labels cover become one."""
    is_new = np.zeros(number + 1, np.bool_)
    for ranks in covered:
        if len(ranks):
            is_new[ranks[0]] = is_new[ranks[-1] + 1] = True
        if not isinstance(ranks, range):
            gaps = np.flatnonzero(np.diff(ranks) > 1)
            is_new[ranks[gaps + 1]] = is_new[ranks[gaps] + 1] = True
    is_new[0] = False
    numbers: IntArray = np.cumsum(is_new[:number]).astype(np.int64)
    return numbers


def _renumber(ranks: Ranks, numbers: IntArray) -> Ranks:
    if not isinstance(ranks, range):
        return _as_run(np.unique(numbers[ranks]))
    return range(int(numbers[ranks[0]]), int(numbers[ranks[-1]]) + 1) if ranks else ranks


def _as_run(ranks: Sequence[int] | IntArray) -> Ranks:
    """Return ascending ranks as a run, if they are one."""
    if not len(ranks):
        return range(0)
    first, last = int(ranks[0]), int(ranks[-1])
    return range(first, last + 1) if last - first + 1 == len(ranks) else np.asarray(ranks, np.int64)


@dataclass(frozen=True, slots=True)
class _ValueReader:
    """Reads values and labels of a column in one spelling."""

    hierarchy: Hierarchy
    """It takes values in that spelling."""
    spelling: Spelling
    listed: Mapping[str, str] | None
    """The values that there are by their spelling, where the hierarchy lists them."""
    similar: tuple[str, ...]
    """The spellings that a text may be similar to."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, labels: Sequence[str]) -> _ValueReader:
        spelling = spelling_of(hierarchy, labels)
        listed: dict[str, str] | None = None
        if isinstance(hierarchy, Listed):
            listed = {}
            for value in (row[0] for row in hierarchy.rows):
                if value is not None:
                    listed.setdefault(spelling.of(value) or value, value)
        elif isinstance(hierarchy, Dates):
            hierarchy = dates(*hierarchy.levels, top=hierarchy.top)
        elif isinstance(hierarchy, Prefix):
            longest = max((len(label) for label in labels if label != hierarchy.top), default=0)
            length = hierarchy.length or code_length(hierarchy, labels) or longest or None
            hierarchy = replace(hierarchy, length=length, mask=hierarchy.mask.casefold())
        similar = listed if listed is not None else [text for text in map(spelling.of, labels) if text is not None]
        return cls(hierarchy, spelling, listed, tuple(similar) if isinstance(spelling, TextSpelling) else ())

    def read(self, values: Sequence[str | None], similarity: float | None) -> tuple[list[str | None], Spelled]:
        """Return each value as the hierarchy takes it, None where it is missing or none of the column's."""
        texts = [value for value in values if value is not None]
        spelling = self.spelling.learn(texts)
        known = set(self.similar)
        ground: list[str | None] = []
        fuzzy: dict[str, str] = {}
        for value in values:
            text = None if value is None else spelling.of(value)
            if text is not None and similarity is not None and known and text not in known:
                close = difflib.get_close_matches(text, self.similar, 1, similarity)
                if close and value is not None:
                    fuzzy[value] = text = close[0]
            ground.append(text if text is None or self.listed is None else self.listed.get(text))
        respelled = sum(
            value is not None and text is not None and value not in fuzzy and not self._writes(value, text)
            for value, text in zip(values, ground, strict=True)
        )
        said = Spelled(spelling.kind, len(texts), respelled, fuzzy, 0, len(texts) < len(values))
        return ground, said

    def _writes(self, value: str, text: str) -> bool:
        """Return whether the column's own values are written as a value is that reads as a text."""
        if isinstance(self.spelling, DaySpelling) and self.listed is None:
            return self.spelling.of(value) == text
        return value == text

    def spellings(self, label: str) -> Iterable[str]:
        """Return the ways in which a label may stand in the hierarchy: as it is, and as a value in the one spelling."""
        text = self.spelling.of(label)
        if text is not None and self.listed is not None:
            text = self.listed.get(text)
        return dict.fromkeys([label] if text is None else [label, text])


@dataclass(frozen=True, slots=True)
class _Climbed:
    """The known values in an order in which most labels cover neighbours, and the ranks under each label."""

    reader: _ValueReader
    rows: Mapping[str, Sequence[str | None]]
    """The labels of each value."""
    order: Sequence[str]
    rank_of: Mapping[str, int]
    under_label: Sequence[Mapping[str | None, list[int]]]
    """For each level the ranks under each label."""
    keys: list[Any] | None

    @classmethod
    def of(cls, reader: _ValueReader, values: list[str]) -> _Climbed:
        """Climb the values that the hierarchy takes; the others stay without a rank."""
        rows: list[list[str | None]] = []
        while values:
            try:
                rows = reader.hierarchy.table(values)
                break
            except UnknownValues as error:
                if not error.codes:
                    values = []
                strangers = set(error.codes)
                values = [value for code, value in enumerate(values) if code not in strangers]
        found = reader.hierarchy.sort_keys(values) if rows else None
        sort_by = found or [[label or "" for label in reversed(row)] for row in rows]
        by_key = sorted(range(len(values)), key=lambda code: (sort_by[code], values[code]))
        keys = None if found is None else [found[code] for code in by_key]
        under: list[dict[str | None, list[int]]] = [{} for _ in rows[0]] if rows else []
        for rank, code in enumerate(by_key):
            for level, label in enumerate(rows[code]):
                under[level].setdefault(label, []).append(rank)
        order = [values[code] for code in by_key]
        by_value = dict(zip(values, rows, strict=True)) if rows else {}
        return cls(reader, by_value, order, {value: rank for rank, value in enumerate(order)}, under, keys)

    def under(self, label: str | None) -> Ranks:
        """Return the ranks under a released label, that of strangers if it covers everything."""
        if label is None or label in self._tops():
            return range(len(self.order) + 1)
        found = [
            ranks
            for text in self.reader.spellings(label)
            for level in self.under_label
            if (ranks := level.get(text)) is not None
        ]
        if not found and (cover := read_label(label)) is not None:
            if cover.is_range:
                return self._between(cover.values)
            texts = {text for value in cover.values for text in self.reader.spellings(value)}
            found = [[self.rank_of[text]] for text in texts if text in self.rank_of]
        if len(found) == 1:
            return _as_run(found[0])
        return _as_run(sorted({rank for ranks in found for rank in ranks}))

    def _tops(self) -> tuple[str | None, ...]:
        top = label_of_all(self.reader.hierarchy)
        return () if top is None else (top,)

    def _between(self, ends: Sequence[str]) -> range:
        """Return the ranks between the ends of a range; none if the values have no order."""
        limits = [text for end in ends if (text := self.reader.spelling.of(end)) is not None]
        if self.keys is None or len(limits) < len(ends):
            return range(0)
        if self.reader.listed is not None:
            limits = [self.reader.listed.get(text, text) for text in limits]
        try:
            found = self.reader.hierarchy.sort_keys(limits)
        except UnknownValues:
            found = None
        if found is None:
            return range(0)
        return range(bisect_left(self.keys, min(found)), bisect_right(self.keys, max(found)))
