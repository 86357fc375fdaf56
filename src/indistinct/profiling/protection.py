"""What leaves as it is: a column whose every value many people share; any other is recoded, generalized or dropped.

A guess may be wrong about what others know. So a value that fewer than k people have does not leave, whatever the
column is called: it would be a key to them. Numbers of a sensitive column become intervals, its codes their
beginnings or classes, its rare texts missing. A column that is neither sensitive nor known to others stays as it is
only if k people share each value of it, alone and together with each other such column; else it is quasi.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Hierarchy, intervals, levels, read_number
from indistinct.linkage import CodedColumn, Codes
from indistinct.policy import sensitive
from indistinct.profiling.column_roles import HALF, ColumnProfile
from indistinct.profiling.column_shapes import Shape, read_as_texts, shape_of
from indistinct.profiling.column_statistics import ColumnStatistics
from indistinct.showing.words import counted

Counts = NDArray[np.int64]

MOST_INTERVALS = 20
"""Intervals that a number is recoded to, each of about as many people."""
MOST_LISTED = 200
"""Of more texts that enough people share, a policy would have to list too many."""
DIGITS = 3
"""Significant digits of the bounds of intervals: bounds are no cells of the table."""
FEW_NUMBERS = 3
"""No more are codes: 1 for yes and 2 for no make no interval."""
SMALL = 10
"""Times k people, at least, of whom texts can be common; in a smaller table sensitive texts stay, and that is said."""
TOGETHER, MOST_SETS = 3, 400
"""So many columns that stay as they are do not tell fewer than k people apart together; sets that are looked at."""
FEWEST_LABELS = 2
"""A column that keeps fewer labels says nothing."""

MOST_MARKED = 100
"""Pairs of a code and a person are marked, which is quicker than to sort them, if they are so many for each row."""


def protect(
    columns: Sequence[ColumnProfile],
    coded: Mapping[str, CodedColumn],
    found: Mapping[str, ColumnStatistics],
    whose: Codes | None,
    k: int,
) -> tuple[list[ColumnProfile], dict[str, CodedColumn]]:
    """Return the columns so that no value leaves that fewer than k people have, and their codes as they then leave.

    ``whose`` says whose each row is, if people have several. Of a table that is too large to be read, columns are
    judged by how many rows have each value.
    """
    leaving = {
        one.name: LeavingColumn(one, found[one.name], coded.get(one.name), whose, k)
        for one in columns
        if one.role in ("sensitive", "other") and found[one.name].distinct + (found[one.name].missing > 0) > 1
    }
    chosen = {name: next(one.variants()) for name, one in leaving.items()}
    apart_together(leaving, chosen)
    recoded = {
        name: CodedColumn(one.labels[coded[name].codes], leaving[name].released_labels(one))
        for name, one in chosen.items()
        if one.profile.recode is not None and name in coded
    }
    judged = {name: one.profile for name, one in chosen.items()}
    judged |= {name: _as_released(judged[name], cells) for name, cells in recoded.items()}
    return [judged.get(one.name, one) for one in columns], dict(coded) | recoded


def _as_released(column: ColumnProfile, cells: CodedColumn) -> ColumnProfile:
    """Return a recoded column with its labels as its values, if most rows have one: groups may share that."""
    rows = np.bincount(cells.codes, minlength=len(cells.texts))
    order = [cells.texts[code] for code in np.argsort(-rows, kind="stable").tolist()]
    values = tuple(text for text in order if text is not None)
    share = float(rows.max(initial=0) / max(1, rows.sum()))
    return replace(column, largest_share=share, values=values if share > HALF else ())


@dataclass(frozen=True, slots=True)
class Variant:
    """A way in which a column may leave: the label of each of its values, as a code."""

    profile: ColumnProfile
    labels: Codes
    """The code of the label of each value of the column."""
    texts: tuple[str | None, ...]
    """The labels; where they are intervals of which only the number counts, their places."""


class LeavingColumn:
    """A column that would leave as it is, with the people behind each value."""

    def __init__(
        self,
        column: ColumnProfile,
        cells: ColumnStatistics,
        coded: CodedColumn | None,
        whose: Codes | None,
        k: int,
    ) -> None:
        self.column, self.cells, self.coded, self.whose, self.k = column, cells, coded, whose, k
        self.texts = coded.texts if coded is not None else (*(cells.values or ()), *([None] if cells.missing else []))

    def variants(self) -> Iterator[Variant]:
        """Return the ways in which the column may leave, the one that keeps most first; the last is always safe."""
        as_it_is = Variant(self.column, np.arange(len(self.texts), dtype=np.int32), self.texts)
        if self.is_common(as_it_is):
            yield as_it_is
        elif self.column.role == "sensitive" and not self.cells.numbers and self.is_small:
            why = "of so few people nearly every value is rare: drop it if others may know one"
            yield replace(as_it_is, profile=replace(self.column, reason=f"{self.column.reason}; {why}", is_unsure=True))
        is_measured = bool(self.cells.numbers) and not self.cells.has_few
        if self.column.role == "sensitive" or is_measured:
            yield from self._recodings()
        yield (
            self._as_quasi(f"fewer than {self.k} people share some values")
            if self.column.role == "other"
            else (self._as_dropped())
        )

    def is_common(self, made: Variant) -> bool:
        """Return whether at least k people have each label; a cell that is missing tells nobody apart."""
        people = self.people_of(made.labels)
        if people is None:
            return False
        is_value = np.array([text is not None for text in made.texts], np.bool_)
        return bool(is_value.any() and (people[is_value] >= self.k).all())

    def people_of(self, labels: Codes) -> Counts | None:
        """Return how many people have each label; None if that is not known."""
        if self.coded is not None and self.whose is not None:
            return people_of_each(labels[self.coded.codes], self.whose)
        if self.rows_of_each is None or self.whose is not None:
            return None
        return np.bincount(labels, self.rows_of_each).astype(np.int64)

    @property
    def rows(self) -> Codes:
        """The code of the value of each row; only asked of a column that was read."""
        assert self.coded is not None
        return self.coded.codes

    @property
    def is_small(self) -> bool:
        """The table is of too few people for texts to be common."""
        people = self.cells.rows if self.whose is None else int(self.whose.max(initial=-1)) + 1
        return people < SMALL * self.k

    @cached_property
    def rows_of_each(self) -> Counts | None:
        """How many rows have each value; None if they are too many to look at."""
        if self.coded is not None:
            return np.bincount(self.coded.codes, minlength=len(self.texts))
        if self.cells.counts is None:
            return None
        return np.append(self.cells.counts, [self.cells.missing] if self.cells.missing else []).astype(np.int64)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each value, NaN for missing ones and those that are none."""
        unread = {*self.cells.codes_for_missing, *self.cells.unreadable}
        found = (None if text is None or text in unread else read_number(text) for text in self.texts)
        return np.array([np.nan if number is None else float(number) for number in found])

    def released_labels(self, made: Variant) -> tuple[str | None, ...]:
        """Return the text of each label of a variant that is recoded."""
        recode = made.profile.recode
        assert recode is not None  # asked of recoded columns alone
        first = np.unique(made.labels, return_index=True)[1]
        some = [None if made.texts[code] is None else self.texts[place] for code, place in enumerate(first.tolist())]
        column = sensitive(recode=recode, recode_level=made.profile.recode_level)
        return tuple(column.recode_values(some))

    def _recodings(self) -> Iterator[Variant]:
        """Return the ways of recoding the column that leave no rare label."""
        for made in chain(self.in_intervals(), self._by_levels(), self._without_rare()):
            if len(made.texts) >= FEWEST_LABELS and self.is_common(made):
                yield made

    def _profile(self, recode: Hierarchy, level: int, words: str, *, is_partial: bool) -> ColumnProfile:
        """Return the column recoded; ``is_partial`` if what the hierarchy cannot read becomes missing."""
        return replace(
            self.column,
            recode=recode,
            recode_level=level,
            reason=f"{self.column.reason}; {words}, so that {self.k} people or more share each",
            missing_codes=self.cells.codes_for_missing,
            unreadable="missing" if is_partial else "refuse",
            is_unsure=True,
        )

    def in_intervals(self) -> Iterator[Variant]:
        """Return the numbers of the column in intervals of about as many rows each, ever fewer."""
        if len(self.cells.numbers) <= FEW_NUMBERS or self.rows_of_each is None:
            return
        parts = MOST_INTERVALS
        while parts >= FEWEST_LABELS:
            cuts = round_cuts(self.numbers, self.rows_of_each, parts, self.k, is_whole=self.cells.is_whole)
            if cuts:
                words = f"exact numbers are a key: in {counted(len(cuts) + 1, 'interval')}"
                made = self._profile(intervals(cuts), 1, words, is_partial=bool(self.cells.unreadable))
                places = np.searchsorted(np.array([float(cut) for cut in cuts]), self.numbers, side="right")
                places[np.isnan(self.numbers)] = len(cuts) + 1
                used, labels = np.unique(places, return_inverse=True)
                texts = tuple(None if place > len(cuts) else str(place) for place in used.tolist())
                yield Variant(made, labels.astype(np.int32), texts)
            parts = min(parts - max(1, parts // 4), len(cuts))

    def _by_levels(self) -> Iterator[Variant]:
        """Return the column at each level of the hierarchy that its values climb, the lowest first."""
        shape = shape_of(self.column.name, self.cells)
        if shape.kind in ("suppress", "keep", "intervals"):
            return
        for level in range(1, shape.hierarchy.height or 0):
            words = f"{shape.words}, at level {level}"
            made = self._profile(shape.hierarchy, level, words, is_partial=shape.unreadable == "missing")
            yield from self._with_labels(made)

    def _without_rare(self) -> Iterator[Variant]:
        """Return the column with its rare values missing."""
        people = self.people_of(np.arange(len(self.texts), dtype=np.int32))
        if people is None:
            return
        of = dict(zip(self.texts, people.tolist(), strict=True))
        missing = of.pop(None, 0)
        ranked = sorted(of, key=lambda value: (of[value], value or ""))
        rare = 0
        while rare < len(ranked) and (of[ranked[rare]] < self.k or (rare and missing < self.k)):
            missing += of[ranked[rare]]
            rare += 1
        kept = [value for value in ranked[rare:] if value is not None]
        if FEWEST_LABELS <= len(kept) <= MOST_LISTED:
            listed = levels([[value] for value in sorted(kept)], top="*")
            yield from self._with_labels(
                self._profile(listed, 0, f"{counted(rare, 'rare value')} left out", is_partial=True)
            )

    def _with_labels(self, made: ColumnProfile) -> Iterator[Variant]:
        """Return the column with the labels of its recoding; nothing if its hierarchy does not take some value."""
        assert made.recode is not None  # it was just recoded
        present = [text for text in self.texts if text is not None]
        try:
            unread = {*made.missing_codes, *made.recode.unreadable(present)}
            column = sensitive(recode=made.recode, recode_level=made.recode_level)
            labels = column.recode_values([None if text in unread else text for text in self.texts])
        except HierarchyError:
            return
        texts = tuple(dict.fromkeys(labels))
        places = {text: place for place, text in enumerate(texts)}
        yield Variant(made, np.array([places[label] for label in labels], np.int32), texts)

    def _as_quasi(self, why: str) -> Variant:
        """Return the column as a quasi one."""
        shape: Shape = shape_of(self.column.name, self.cells)
        made = self.column.as_quasi(shape, f"{self.column.reason}, but {why}, so it is quasi; {shape.words}")
        return Variant(replace(made, is_unsure=True), np.zeros(len(self.texts), np.int32), (None,))

    def _as_dropped(self) -> Variant:
        """Return the column as one that does not leave."""
        keeps = read_as_texts(self.cells) or "recode would keep some of it"
        why = f"dropped, since fewer than {self.k} people share most of its values; {keeps}"
        made = replace(self.column, role="drop", reason=f"{self.column.reason}; {why}", is_unsure=True)
        return Variant(made, np.zeros(len(self.texts), np.int32), (None,))


def people_of_each(codes: Codes, whose: Codes) -> Counts:
    """Return how many people have each code."""
    people, number = int(whose.max(initial=0)) + 1, int(codes.max(initial=0)) + 1
    pairs = codes.astype(np.int64) * people + whose
    if number > MOST_MARKED * max(1, len(codes)) // people:
        return np.bincount(np.unique(pairs) // people, minlength=number)
    is_met = np.zeros(number * people, np.bool_)
    is_met[pairs] = True
    people_of_code: Counts = is_met.reshape(number, people).sum(axis=1)
    return people_of_code


def round_cuts(
    numbers: NDArray[np.float64], rows: Counts, parts: int, least: int, *, is_whole: bool
) -> list[int | Decimal]:
    """Return bounds with few digits between intervals of about as many rows each, of ``least`` at least.

    A number of many rows has an interval by itself, and the others are divided among those that are left.

    >>> round_cuts(np.arange(1000.0, 2000.0), np.ones(1000, np.int64), 4, 5, is_whole=True)
    [1250, 1500, 1750]
    """
    present = np.flatnonzero(~np.isnan(numbers))
    order = present[np.argsort(numbers[present], kind="stable")]
    ordered, held = numbers[order].tolist(), np.cumsum(rows[order]).tolist()
    kept: list[Decimal] = []
    below, left, place = 0, parts, 0
    while left > 1 and place < len(ordered):
        place = max(place + 1, bisect_left(held, below + (held[-1] - below) / left) + 1)
        if place >= len(ordered):
            break
        cut = round_digits(ordered[place], ordered[-1] - ordered[0])
        under = bisect_left(ordered, float(cut))
        upto = held[under - 1] if under else 0
        if upto - below >= least and held[-1] - upto >= least:
            kept.append(cut)
            below, left = upto, left - 1
    return [int(cut) for cut in kept] if is_whole else list(kept)


def round_digits(number: float, reach: float) -> Decimal:
    """Return a number with few significant digits, beside the width of the range that it stands in.

    >>> round_digits(12345.0, 9000.0), round_digits(0.01234, 1.0)
    (Decimal('12340'), Decimal('0.01'))
    """
    exact, width = Decimal(repr(number)), Decimal(repr(reach))
    digits = min(width.adjusted() - DIGITS + 1, exact.adjusted()) if number else width.adjusted()
    unit = Decimal(1).scaleb(digits)
    near = (exact / unit).to_integral_value() * unit
    return near.quantize(Decimal(1)) if near == near.to_integral_value() else near.normalize()


def apart_together(leaving: Mapping[str, LeavingColumn], chosen: dict[str, Variant]) -> None:
    """Change how columns leave that are neither quasi nor sensitive until no three tell fewer than k people apart.

    Those of fewest values stay as they are first. Numbers get fewer intervals. What tells people apart even so becomes
    quasi.
    """
    others = [name for name, one in chosen.items() if one.profile.role == "other" and leaving[name].coded is not None]
    staying: list[str] = []
    for name in sorted(others, key=lambda name: (leaving[name].cells.distinct, name)):
        for variant in leaving[name].variants():
            stays = variant.profile.role == "other"
            if stays and _is_rare_together(leaving, {**chosen, name: variant}, name, staying):
                continue
            chosen[name] = variant
            staying += [name] if stays else []
            break


def _is_rare_together(
    leaving: Mapping[str, LeavingColumn], chosen: Mapping[str, Variant], name: str, staying: Sequence[str]
) -> bool:
    """Return whether fewer than k people share the labels of a column and of one or two others that stay."""
    sets = chain.from_iterable(combinations(staying, size) for size in range(1, TOGETHER))
    return any(_is_rare(leaving, chosen, (name, *others)) for others in islice(sets, MOST_SETS))


def _is_rare(leaving: Mapping[str, LeavingColumn], chosen: Mapping[str, Variant], names: Sequence[str]) -> bool:
    """Return whether fewer than k people share some combination of labels; a missing cell tells nobody apart."""
    column = leaving[names[0]]
    codes = np.zeros(len(column.rows), np.int64)
    is_value = np.ones(len(codes), np.bool_)
    for name in names:
        rows, texts = leaving[name].rows, chosen[name].texts
        labels = chosen[name].labels[rows]
        is_value &= np.array([text is not None for text in texts], np.bool_)[labels]
        codes = codes * len(texts) + labels
    if column.whose is None:
        people = np.unique(codes[is_value], return_counts=True)[1]
    else:
        together = np.unique(codes[is_value], return_inverse=True)[1].astype(np.int32)
        people = people_of_each(together, column.whose[is_value])
    return bool((people < column.k).any())
