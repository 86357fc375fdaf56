"""Finer labels: the events of one label get lower ones, person by person, where every set stays shared by k people.

A date or a number may have a range: that of all events with a label is cut in the middle instead of a lower level.
All events of a label in a group of people are looked at together. Whoever has a set that would become rare keeps the
label, with all who share that set, unless these are enough. Nobody loses an event.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray, UIntArray
from indistinct.progress import Watch
from indistinct.search.histories.events import Events, Items, dense, number_jointly
from indistinct.search.histories.kernels import label_sets
from indistinct.search.histories.ranges import EventRanges, RangedColumn

MOST_ROUNDS = 30
MOST_SETS_OF_LABEL = 6_000_000
"""A label whose events make more sets is left as it is: 400 MB."""


@dataclass(slots=True, eq=False)
class LabelRefiner:
    """Events with the level of each in each column, which it lowers."""

    events: Events
    groups: IntArray
    levels: IntArray
    """(columns, events): changed in place."""
    is_left: BoolArray
    k: int
    watch: Watch
    is_cut_short: bool = False
    is_done: BoolArray = field(init=False)
    """(columns, events): those that kept a label when it was looked at, which they must all the more once others are
    finer."""
    parts: IntArray = field(init=False)
    """(columns, events): the part of a range that each event is in, among those of the same level's label."""

    def __post_init__(self) -> None:
        self.is_done = np.zeros(self.levels.shape, np.bool_)
        self.parts = np.zeros(self.levels.shape, np.int64)

    def _codes(self) -> IntArray:
        """Return a number of the label of each event in each column."""
        found = self.events.codes_of(self.levels)
        for place, column in enumerate(self.events.columns):
            found[place] += len(column.labels.texts) * self.parts[place]
        return found

    def ranges(self) -> dict[int, EventRanges]:
        """Return the labels of the columns that may have ranges: the narrowest for what shares all other labels."""
        places = {place: column.ranged for place, column in enumerate(self.events.columns) if column.ranged}
        if not places:
            return {}
        numbers = self.events.numbers(self._codes()[:, self.is_left], self.groups, self.is_left)[0]
        found = {}
        for place, ranged in places.items():
            has = self._has_column(place)
            found[place] = ranged.labels(self.events.values[place], numbers[has[self.is_left]], has & self.is_left)
        return found

    def run(self, *, has_ranges: bool = True) -> None:
        """Lower labels column by column until nothing changes, those first where most is gained.

        Without ``has_ranges`` all columns have the levels of their hierarchy.
        """
        if has_ranges:
            self.is_done[[place for place, column in enumerate(self.events.columns) if column.ranged]] = False
        places = np.flatnonzero(self.is_left)
        if not len(places) or not self.events.columns:
            return
        for _ in range(MOST_ROUNDS):
            if not sum([self._lower_column(place, has_ranges) for place in range(len(self.events.columns))]):
                return
            if self.is_cut_short:
                return

    def _lower_column(self, column: int, has_ranges: bool) -> int:
        """Lower the labels of a column by a level, or cut its ranges; return how many events got a finer label."""
        numbers = np.full((len(self.events.kinds), len(self.events)), -1)
        codes = self._codes()
        numbers[:, self.is_left] = self.events.numbers(codes[:, self.is_left], self.groups, self.is_left)
        changed = numbers if column in self.events.timeless else numbers[:1]  # the sorts of labels that change
        by_label = np.argsort(changed[-1], kind="stable")
        starts = np.searchsorted(changed[-1][by_label], np.arange(int(changed[-1].max(initial=-1)) + 2))
        by_person = np.searchsorted(self.events.persons, np.arange(int(self.events.persons.max()) + 2))
        ranged = self.events.columns[column].ranged if has_ranges else None
        finer_of = self.events.codes_of(np.maximum(self.levels - 1, 0))[column]
        if ranged is None:
            gains = self._gains(column, changed[-1], codes)
        else:
            gains, finer_of = self._cuts(column, ranged, changed[-1])
        lowered = 0
        for label in np.argsort(-gains, kind="stable").tolist():
            if gains[label] < 0 or self.watch.time_is_up():
                self.is_cut_short = self.is_cut_short or gains[label] >= 0
                break
            mine = by_label[starts[label] : starts[label + 1]]
            chosen = self._lower(finer_of, mine, numbers, len(changed), by_person)
            if len(chosen) < len(mine):
                self.is_done[column, np.setdiff1d(mine, chosen, assume_unique=True)] = True
            if len(chosen):
                lowered += len(chosen)
                finer = dense(finer_of[chosen])
                if ranged is None:
                    self.levels[column, chosen] -= 1
                else:
                    self.parts[column, chosen] = int(self.parts[column].max()) + 1 + finer
                for own in changed:
                    own[chosen] = int(own.max()) + 1 + dense(own[chosen] * (int(finer.max()) + 1) + finer)
            self.watch.report("search")
        return lowered

    def _cuts(self, column: int, ranged: RangedColumn, numbers: IntArray) -> tuple[FloatArray, IntArray]:
        """Return what all events of each label would keep more if its range were cut in the middle, and their half.

        In the middle are as many events on either side; -1 if there is no more than one value.
        """
        can = np.flatnonzero(self.is_left & self._has_column(column) & ~self.is_done[column])
        ranks = ranged.ranks[self.events.values[column]]
        order = can[np.lexsort((ranks[can], numbers[can]))]
        number = int(numbers.max(initial=-1)) + 1
        starts = np.searchsorted(numbers[order], np.arange(number + 1))
        gains, half = np.full(number, -1.0), np.zeros(len(ranks), np.int64)
        used = np.flatnonzero(np.diff(starts))
        first, last = starts[used], starts[used + 1] - 1
        own = ranks[order]
        middle = own[(first + last) // 2]
        middle -= middle == own[last]  # both halves have a value
        is_upper = own > np.repeat(middle, last - first + 1)
        half[order] = is_upper
        cut = last + 1 - np.add.reduceat(is_upper.astype(np.int64), first) if len(used) else first
        is_cut = own[first] < own[last]
        cut = np.where(is_cut, cut, last)
        below, above = np.maximum(cut - 1, first), np.minimum(cut, last)
        whole = ranged.share_kept(own[first], own[last])
        more = (cut - first) * (ranged.share_kept(own[first], own[below]) - whole)
        more += (last + 1 - cut) * (ranged.share_kept(own[above], own[last]) - whole)
        gains[used] = np.where(is_cut, more, -1.0)
        return gains, half

    def _gains(self, column: int, numbers: IntArray, codes: IntArray) -> FloatArray:
        """Return what all events of each label would keep more if the column had the next lower level; -1 if none."""
        own = self.events.columns[column]
        number = int(numbers.max(initial=-1)) + 1
        can = self.is_left & (self.levels[column] > own.lowest) & self._has_column(column) & ~self.is_done[column]
        level = np.maximum(self.levels[column] - 1, 0)
        lower = own.places[level, self.events.values[column]]
        more = own.kept[lower] - own.kept[codes[column]]
        gains = np.bincount(numbers[can], more[can], number)
        possible = np.bincount(numbers[can], minlength=number) == np.bincount(numbers[self.is_left], minlength=number)
        return np.where(possible, np.maximum(gains, 0.0), -1.0)

    def _has_column(self, column: int) -> BoolArray:
        has = np.array([column in own for own in self.events.columns_of], np.bool_)
        found: BoolArray = has[self.events.tables]
        return found

    def _lower(
        self, finer_of: IntArray, mine: IntArray, numbers: IntArray, changed: int, by_person: IntArray
    ) -> IntArray:
        """Return those of the events of one label whose column can have the finer one.

        ``numbers`` has the labels of all events, of which the first ``changed`` sorts have the column.
        """
        mine = np.sort(mine)
        finer = dense(finer_of[mine])
        if not finer.any():  # one lower label covers all of them
            return mine
        people = np.unique(self.events.persons[mine])
        if (
            len(people) < 2 * self.k
            and self.events.limits[self.events.kinds[:changed, self.events.tables[mine[0]]]].any()
        ):
            return mine[:0]  # k people have a finer label, and k keep this one or have another
        lengths = by_person[people + 1] - by_person[people]
        offsets = np.repeat(by_person[people] - np.append(0, np.cumsum(lengths))[:-1], lengths)
        rows = np.arange(int(lengths.sum())) + offsets
        rows = rows[self.is_left[rows]]
        is_mine = np.zeros((len(numbers), len(rows)), np.bool_)
        is_mine[:changed, np.searchsorted(rows, mine)] = True
        parts = np.zeros(is_mine.shape, np.int64)
        parts[:changed, np.searchsorted(rows, mine)] = finer
        coarse = number_jointly(numbers[:, rows], is_mine)
        fine, labels = np.unique(coarse * (int(finer.max()) + 1) + parts, return_inverse=True)
        coarser = dense(fine // (int(finer.max()) + 1))
        stays = self._stays(rows, labels.reshape(is_mine.shape), coarser, is_mine, people)
        if stays is None:
            return mine[:0]
        return mine[~stays[np.searchsorted(people, self.events.persons[mine])]]

    def _stays(
        self, rows: IntArray, labels: IntArray, coarser: IntArray, is_mine: BoolArray, people: IntArray
    ) -> BoolArray | None:
        """Return which people keep the label; None if there are too many sets.

        ``coarser`` has the number of each label as it was; of two labels the higher one had none that was lower.
        """
        events = self.events
        items, _, _ = Items.of(events, rows, labels, is_mine)
        finer: list[IntArray] = []
        above: list[IntArray] = []
        owners, first = [], 0
        for size in range(1, events.together + 1):
            if items.base**size >= 1 << 64 or items.most_sets(size) > MOST_SETS_OF_LABEL:
                return None
            keys, whose = items.sets(size, events.limits, has_owners=True)
            if not len(keys):
                continue
            finer.append(first + label_sets.number_keys(keys))
            above.append(first + label_sets.number_keys(_coarser_keys(keys, items.base, coarser, size)))
            owners.append(whose)
            first += len(keys)
        if not finer:
            return np.zeros(len(people), np.bool_)
        stays = np.zeros(len(people), np.bool_)
        sets = (np.concatenate(finer), np.concatenate(above), np.concatenate(owners))
        label_sets.who_stays(*sets, stays, self.k)
        while events.private is not None and self._tells_too_much(*sets, stays, people):
            label_sets.who_stays(*sets, stays, self.k)
        return stays

    def _tells_too_much(
        self, finer: IntArray, above: IntArray, owners: IntArray, stays: BoolArray, people: IntArray
    ) -> bool:
        """Return whether a set would tell too much of somebody; then who has it keeps the label, too."""
        assert self.events.private is not None
        keeps = stays[owners]
        sets, whose = np.unique(np.stack([np.where(keeps, above + len(finer), finer), people[owners]]), axis=1)
        used, sets = np.unique(sets, return_inverse=True)
        is_wrong = np.zeros(2 * len(finer), np.bool_)
        is_wrong[used] = self.events.private.too_sure(sets.ravel(), whose)
        is_torn = np.zeros(len(finer), np.bool_)
        is_torn[above[np.where(keeps, is_wrong[above + len(finer)], is_wrong[finer])]] = True
        more = owners[is_torn[above] & ~keeps]
        stays[more] = True
        return len(more) > 0


def _coarser_keys(keys: UIntArray, base: int, coarser: IntArray, size: int) -> UIntArray:
    """Return the keys of the same sets with the labels as they were."""
    left, found, weight = keys.copy(), np.zeros_like(keys), 1
    for _ in range(size):
        digit = coarser[(left % np.uint64(base)).astype(np.int64)].astype(np.uint64)
        left //= np.uint64(base)
        found += digit * np.uint64(weight)
        weight = weight * base % (1 << 64)
    return found
