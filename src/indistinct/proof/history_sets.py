"""Sets of events, recounted: how many people share each set that may be known, from released labels alone.

Plain NumPy over people with equally many labels; nothing here shares code with the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray

AT_ONCE = 2_000_000
"""So many sets are written at a time."""
HELD_AT_ONCE = 12_000_000
"""So many sets are held while they are counted: 200 MB for each event in them."""
MOST_DIGITS = 1 << 62


TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PrivateColumn:
    """Who has which value of a sensitive column, each pair once in the order of people, and what is asked of it."""

    persons: IntArray
    values: IntArray
    most: FloatArray
    """The largest share of the people who share a set that each value may have."""
    fails: Callable[[IntArray, IntArray, IntArray, int], BoolArray]
    """Return which of so many sets models refuse, from sets and values, and how many people have both."""


@dataclass(frozen=True, slots=True)
class EventSetCounts:
    """How many sets there are, how many too few people share or tell too much, and how many share the rarest."""

    sets: int
    failing: int
    smallest: int
    sure: int = 0
    """The sets with a private value that too many of the people have who share the set."""

    def with_groups(self, sizes: IntArray, k: int) -> EventSetCounts:
        """Return the same with groups of people whose numbers of events are known, each as a set of none."""
        smallest = int(min(sizes.min(), self.smallest)) if self.sets else int(sizes.min())
        return EventSetCounts(self.sets + len(sizes), self.failing + int((sizes < k).sum()), smallest, self.sure)


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """What sets are chosen from: the labels of each person in order, each at most so often."""

    starts: IntArray
    people: IntArray
    """The person of each start but the last."""
    labels: IntArray
    kinds: IntArray
    without: IntArray
    """For a label in full the one of the same event without time, else -1."""
    later: IntArray
    """How many events of the person with this label come after this one."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedEvents:
    """Released events: whose each is, and the number of its label among people with equal rows, with its kind.

    Labels and kinds are (sorts, events): in full and, where events may be known so, without time.
    """

    persons: IntArray
    kinds: IntArray
    labels: IntArray

    private: Sequence[PrivateColumn] = ()

    def as_items(self, most: int) -> _Items:
        """Return what sets are chosen from; of each label at most as many events as a set has."""
        sorts = len(self.labels)
        span = int(self.labels.max(initial=0)) + 1
        own = self.labels + span * np.arange(sorts)[:, None]
        without = np.full(own.shape, -1)
        without[: sorts - 1] = own[-1]
        persons = np.tile(self.persons, sorts)
        order = np.lexsort((own.ravel(), persons))
        persons, labels = persons[order], own.ravel()[order]
        pair = persons * (span * sorts) + labels
        place = np.arange(len(pair))
        copy = place - np.searchsorted(pair, pair, "left")
        later = np.searchsorted(pair, pair, "right") - place - 1
        few = copy < most
        people = np.unique(persons)
        starts = np.searchsorted(persons[few], np.append(people, persons.max(initial=0) + 1))
        kinds = self.kinds.ravel()[order][few]
        return _Items(starts, people, labels[few], kinds, without.ravel()[order][few], later[few])


def count_sets(rows: ReleasedEvents, limits: IntArray, together: int, k: int) -> EventSetCounts:
    """Count the people who share each set of at most ``together`` events; ``limits`` has the most of each kind."""
    items = rows.as_items(together)
    base = int(items.labels.max(initial=0)) + 1
    sets, failing, smallest, sure = 0, 0, 0, 0
    for size in range(1, together + 1):
        lengths = np.diff(items.starts)
        number = sum(comb(length, size) * people for length, people in _times(lengths))
        parts = 1 + number // HELD_AT_ONCE
        for part in range(parts):
            found = []
            for chosen, owners in _sets(items, limits, size):
                is_mine = chosen[:, 0] % parts == part
                found.append((chosen[is_mine], owners[is_mine] if rows.private else owners[:0]))
            if not sum(len(chosen) for chosen, _ in found):
                continue
            keys = _keys_of(np.concatenate([chosen for chosen, _ in found]), base)
            shared = _times_of(keys)
            sets += len(shared)
            failing += int((shared < k).sum())
            least = int(shared.min())
            smallest = least if not smallest else min(smallest, least)
            if rows.private:
                sure += count_sure(np.concatenate([owners for _, owners in found]), keys, rows.private)
    return EventSetCounts(sets, failing, smallest, sure)


def count_sure(owners: IntArray, keys: IntArray, private: Sequence[PrivateColumn]) -> int:
    """Count the sets of which too many people have a private value; ``keys`` says which set each owner has."""
    different, own = np.unique(keys, return_inverse=True)
    order = np.argsort(owners, kind="stable")
    people = np.bincount(own.ravel(), minlength=len(different))
    wrong = np.zeros(len(different), np.bool_)
    for column in private:
        most = column.most
        low, high = (np.searchsorted(owners[order], column.persons, side) for side in ("left", "right"))
        times = high - low
        ranks = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        sets = own.ravel()[order[np.repeat(low, times) + ranks]]
        pairs, holders = np.unique(sets * len(most) + np.repeat(column.values, times), return_counts=True)
        of_set, value = pairs // len(most), pairs % len(most)
        wrong[of_set[holders > most[value] * people[of_set] * (1 + TOLERANCE)]] = True
        wrong |= column.fails(of_set, value, holders, len(different))
    return int(wrong.sum())


def _times(lengths: IntArray) -> list[tuple[int, int]]:
    found, times = np.unique(lengths, return_counts=True)
    return list(zip(found.tolist(), times.tolist(), strict=True))


def _keys_of(chosen: IntArray, base: int) -> IntArray:
    """Return a number for each row of labels, the same for the same labels."""
    keys = chosen[:, 0].astype(np.int64)
    most = base
    for place in range(1, chosen.shape[1]):
        if most * base >= MOST_DIGITS:
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            most = int(keys.max()) + 1
        keys = keys * base + chosen[:, place]
        most *= base
    return keys


def _times_of(keys: IntArray) -> IntArray:
    """Return how often each number occurs."""
    keys = np.sort(keys)
    firsts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    times: IntArray = np.diff(firsts, append=len(keys))
    return times


def _sets(items: _Items, limits: IntArray, size: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Return the sets of a size that people have, each once for each of them, as rows of labels, and whose each is."""
    lengths = np.diff(items.starts)
    for length, _ in _times(lengths):
        if length < size:
            continue
        firsts, owners = items.starts[:-1][lengths == length], items.people[lengths == length]
        for picks in _picks(length, size):
            at_once = max(1, AT_ONCE // len(picks))
            for begin in range(0, len(firsts), at_once):
                places = firsts[begin : begin + at_once, None, None] + picks[None]
                found = items.labels[places]
                before = items.labels[np.maximum(places - 1, 0)]
                is_copy = (picks[None] > 0) & (found == before)
                follows = np.zeros(picks.shape, np.bool_)
                follows[:, 1:] = picks[:, 1:] == picks[:, :-1] + 1
                is_asked = ~(is_copy & ~follows[None]).any(axis=2)
                own = items.kinds[places]
                for kind, limit in enumerate(limits.tolist()):
                    is_asked &= (own == kind).sum(axis=2) <= limit
                without = items.without[places]
                for place in range(size) if (items.without >= 0).any() else ():  # the others are in it in full
                    in_full = (without == found[:, :, place, None]).sum(axis=2)
                    is_asked &= in_full <= items.later[places[:, :, place]]
                yield found[is_asked], np.broadcast_to(owners[begin : begin + at_once, None], is_asked.shape)[is_asked]


def _picks(length: int, size: int) -> Iterator[IntArray]:
    """Return the choices of ``size`` places out of a number of them, some at a time."""
    everything = combinations(range(length), size)
    while some := list(islice(everything, AT_ONCE)):
        yield np.array(some, np.int64)
