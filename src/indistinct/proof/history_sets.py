"""Sets of events, recounted: how many people share each set that may be known, from released labels alone.

Plain NumPy over people with equally many labels; nothing here shares code with the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from indistinct.array_types import IntArray

AT_ONCE = 2_000_000
"""So many sets are written at a time."""
HELD_AT_ONCE = 12_000_000
"""So many sets are held while they are counted: 200 MB for each event in them."""
MOST_DIGITS = 1 << 62


@dataclass(frozen=True, slots=True)
class EventSetCounts:
    """How many sets there are, how many too few people share, and how many share the rarest."""

    sets: int
    failing: int
    smallest: int


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedEvents:
    """Released events: whose each is, of which table, and the number of its label among people with equal rows."""

    persons: IntArray
    tables: IntArray
    labels: IntArray

    def as_items(self, most: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return where the labels of each person begin, and labels and tables in order, each label at most so often."""
        order = np.lexsort((self.labels, self.persons))
        persons, labels, tables = self.persons[order], self.labels[order], self.tables[order]
        is_same = np.zeros(len(order), np.bool_)
        is_same[most:] = (persons[most:] == persons[:-most]) & (labels[most:] == labels[:-most])
        persons, labels, tables = persons[~is_same], labels[~is_same], tables[~is_same]
        starts = np.searchsorted(persons, np.append(np.unique(persons), persons.max(initial=0) + 1))
        return starts, labels, tables


def count_sets(rows: ReleasedEvents, limits: IntArray, together: int, k: int) -> EventSetCounts:
    """Count the people who share each set of at most so many events; ``limits`` has the most of each table."""
    starts, labels, tables = rows.as_items(together)
    base = int(labels.max(initial=0)) + 1
    sets, failing, smallest = 0, 0, 0
    for size in range(1, together + 1):
        lengths = np.diff(starts)
        number = sum(comb(length, size) * people for length, people in _times(lengths))
        parts = 1 + number // HELD_AT_ONCE
        for part in range(parts):
            found = [chosen[chosen[:, 0] % parts == part] for chosen in _sets(starts, labels, tables, limits, size)]
            if not found or not sum(map(len, found)):
                continue
            shared = _times_of(np.concatenate(found), base)
            sets += len(shared)
            failing += int((shared < k).sum())
            least = int(shared.min())
            smallest = least if not smallest else min(smallest, least)
    return EventSetCounts(sets, failing, smallest)


def _times(lengths: IntArray) -> list[tuple[int, int]]:
    found, times = np.unique(lengths, return_counts=True)
    return list(zip(found.tolist(), times.tolist(), strict=True))


def _times_of(chosen: IntArray, base: int) -> IntArray:
    """Return how often each row of labels occurs."""
    keys = chosen[:, 0].astype(np.int64)
    most = base
    for place in range(1, chosen.shape[1]):
        if most * base >= MOST_DIGITS:
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            most = int(keys.max()) + 1
        keys = keys * base + chosen[:, place]
        most *= base
    keys = np.sort(keys)
    firsts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    times: IntArray = np.diff(firsts, append=len(keys))
    return times


def _sets(starts: IntArray, labels: IntArray, tables: IntArray, limits: IntArray, size: int) -> Iterator[IntArray]:
    """Return the sets of a size that people have, each once for each of them, as rows of labels."""
    lengths = np.diff(starts)
    for length, _ in _times(lengths):
        if length < size:
            continue
        firsts = starts[:-1][lengths == length]
        for picks in _picks(length, size):
            at_once = max(1, AT_ONCE // len(picks))
            for begin in range(0, len(firsts), at_once):
                places = firsts[begin : begin + at_once, None, None] + picks[None]
                found = labels[places]
                before = labels[np.maximum(places - 1, 0)]
                is_copy = (picks[None] > 0) & (found == before)
                follows = np.zeros(picks.shape, np.bool_)
                follows[:, 1:] = picks[:, 1:] == picks[:, :-1] + 1
                is_asked = ~(is_copy & ~follows[None]).any(axis=2)
                own = tables[places]
                for table, limit in enumerate(limits.tolist()):
                    is_asked &= (own == table).sum(axis=2) <= limit
                yield found[is_asked]


def _picks(length: int, size: int) -> Iterator[IntArray]:
    """Return the choices of so many places out of a number of them, some at a time."""
    everything = combinations(range(length), size)
    while some := list(islice(everything, AT_ONCE)):
        yield np.array(some, np.int64)
