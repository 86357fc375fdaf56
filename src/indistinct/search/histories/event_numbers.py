"""Numbers of events: people are put together whose numbers are near, and each keeps as many events as the fewest have.

Others may know how many events a person has in each table. Then k people must share these numbers beside what else is
known, and no further event may be dropped, which would change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.search.histories.events import Events

NOBODY = -1
GROWTH = 8


@dataclass(frozen=True, slots=True, eq=False)
class EqualNumbers:
    """People in groups with equal numbers of events in each table, and the events that are left of each."""

    groups: IntArray
    is_left: BoolArray


def equal_numbers(events: Events, groups: IntArray, k: int) -> Iterator[EqualNumbers]:
    """Return groups of people with equal numbers of events, larger ones first: of all, …, 64k, 8k and k people.

    Within each given group runs of neighbouring numbers are joined so that fewest events are dropped, table by table.
    Of a person those events are dropped that have the rarest values.
    """
    order = _rarest_last(events)
    people = int(np.bincount(groups[groups >= 0]).max(initial=0))
    sizes = [k]
    while sizes[-1] * GROWTH < people:
        sizes.append(sizes[-1] * GROWTH)
    for size in reversed(sizes):
        own, is_left = groups.copy(), groups[events.persons] >= 0
        for table in np.unique(events.tables).tolist():
            mine = np.flatnonzero(is_left & (events.tables == table))
            numbers = np.bincount(events.persons[mine], minlength=len(groups))
            goals = _fewer_events(own, numbers, size)
            by_person = mine[np.lexsort((order[mine], events.persons[mine]))]
            persons = events.persons[by_person]
            place = np.arange(len(mine)) - np.searchsorted(persons, persons)
            is_left[by_person[place >= goals[persons]]] = False
            pairs = np.where(own >= 0, own * (int(numbers.max(initial=0)) + 1) + goals, NOBODY)
            own = np.where(own >= 0, np.unique(pairs, return_inverse=True)[1].ravel(), NOBODY)
        yield EqualNumbers(own, is_left)


def _rarest_last(events: Events) -> IntArray:
    """Return the place of each event when those come first whose values many events have."""
    often = np.zeros(len(events))
    for place, column in enumerate(events.columns):
        has = np.array([place in own for own in events.columns_of], np.bool_)[events.tables]
        values = events.values[place]
        often[has] += np.log(np.bincount(values[has], minlength=column.places.shape[1])[values[has]])
    found = np.empty(len(often), np.int64)
    found[np.argsort(-often, kind="stable")] = np.arange(len(often))
    return found


def _fewer_events(groups: IntArray, numbers: IntArray, size: int) -> IntArray:
    """Return how many events each person keeps, so that so many of her group or all of it keep as many as she."""
    goals = numbers.copy()
    order = np.lexsort((numbers, groups))
    order = order[groups[order] >= 0]
    starts = np.flatnonzero(np.diff(groups[order], prepend=NOBODY))
    for own in np.split(order, starts[1:]) if len(order) else ():
        values, times = np.unique(numbers[own], return_counts=True)
        goals[own] = np.repeat(_lowest_of_runs(values, times, size), times)
    return goals


def _lowest_of_runs(values: IntArray, times: IntArray, size: int) -> IntArray:
    """Return for each ascending value the lowest of its run, where runs have so many times and least lies above it.

    >>> _lowest_of_runs(np.array([0, 3, 4, 9]), np.array([2, 1, 1, 2]), 2)
    array([0, 3, 3, 9])
    """
    before, sums = np.append(0, np.cumsum(times)), np.append(0, np.cumsum(times * values))
    best = np.full(len(values) + 1, np.inf)
    best[0], first = 0.0, np.zeros(len(values) + 1, np.int64)
    for end in range(1, len(values) + 1):
        lost = best[:end] + sums[end] - sums[:end] - values[:end] * (before[end] - before[:end])
        lost[before[end] - before[:end] < size] = np.inf
        first[end] = int(np.argmin(lost))
        best[end] = lost[first[end]]
    if not np.isfinite(best[-1]):  # all together are fewer
        return np.full(len(values), values[0])
    found, end = np.empty_like(values), len(values)
    while end:
        found[first[end] : end] = values[first[end]]
        end = int(first[end])
    return found
