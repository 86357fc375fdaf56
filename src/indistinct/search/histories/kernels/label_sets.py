"""Sets of labels: those of each person by size, which of them too few people have, and what breaks them up.

The items of a person stand one after the other in the order of their labels; equal labels are copies. A set is a choice
of items in which each copy comes with those before it, so that every multiset of labels occurs once. An event in full
and the same event without its time are two items: a set that has the first needs one more event for the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import BoolArray, IntArray, UIntArray
from indistinct.kernel import kernel

MANY_ITEMS = 64
"""Of people with more items several are taken out at once."""


@kernel
def _is_asked(
    labels: IntArray,
    kinds: IntArray,
    covers: IntArray,
    rooms: IntArray,
    limits: IntArray,
    low: int,
    picks: IntArray,
    size: int,
) -> bool:
    """Return whether picked items are a set that may be known.

    Earlier copies are in it, of no kind are too many, and events that are known in full leave enough others for those
    that are known without time.
    """
    for place in range(size):
        item = picks[place]
        is_copy = item > low and labels[item] == labels[item - 1]
        if is_copy and (place == 0 or picks[place - 1] != item - 1):
            return False
    for place in range(size):
        limit = limits[kinds[picks[place]]]
        if limit < size:
            of_kind = 0
            for other in range(size):
                of_kind += kinds[picks[other]] == kinds[picks[place]]
            if of_kind > limit:
                return False
        in_full = 0
        for other in range(size):
            in_full += covers[picks[other]] == labels[picks[place]]
        if in_full > rooms[picks[place]]:
            return False
    return True


@kernel
def _first_picks(picks: IntArray, size: int, low: int, last: int) -> None:
    """Pick the first items of a person, and this one as the last."""
    for place in range(size - 1):
        picks[place] = low + place
    picks[size - 1] = last


@kernel
def _next_picks(picks: IntArray, size: int, last: int) -> bool:
    """Move to the next choice of items before the last one in lexicographic order; False if there is none."""
    place = size - 2
    while place >= 0 and picks[place] == last - size + 1 + place:
        place -= 1
    if place < 0:
        return False
    picks[place] += 1
    for later in range(place + 1, size - 1):
        picks[later] = picks[later - 1] + 1
    return True


@kernel
def count_sets(
    starts: IntArray,
    frees: IntArray,
    labels: IntArray,
    kinds: IntArray,
    covers: IntArray,
    rooms: IntArray,
    limits: IntArray,
    size: int,
    part: int,
    parts: int,
) -> int:
    """Return how many sets of a size all people have, whose first label is of this part and whose last item is free.

    IN   starts  (people + 1,) int64: where the items of each begin
    IN   frees   (people,) int64: where those begin that are free
    IN   labels  (items,) int64, ascending for each person
    IN   kinds   (items,) int64: the kind of each item
    IN   covers  (items,) int64: for an item in full the label of its event without time, else -1
    IN   rooms   (items,) int64: how many events with its label are left beside the copies up to this one
    IN   limits  (kinds,) int64: the most items of each kind in a set
    """
    picks = np.empty(size, np.int64)
    number = 0
    for person in range(len(starts) - 1):
        low, high = starts[person], starts[person + 1]
        for last in range(max(frees[person], low + size - 1), high):
            _first_picks(picks, size, low, last)
            while True:
                is_mine = labels[picks[0]] % parts == part
                if is_mine and _is_asked(labels, kinds, covers, rooms, limits, low, picks, size):
                    number += 1
                if not _next_picks(picks, size, last):
                    break
    return number


@kernel
def write_sets(
    starts: IntArray,
    frees: IntArray,
    labels: IntArray,
    kinds: IntArray,
    covers: IntArray,
    rooms: IntArray,
    limits: IntArray,
    base: int,
    part: int,
    parts: int,
    keys: UIntArray,
    owners: IntArray,
    size: int,
) -> int:
    """Write the key of each of these sets, in the order of people: its labels as digits of a number to this base.

    OUT  keys    (sets or more,) uint64
    OUT  owners  (sets or more,) int64: the person of each; or none, if nobody asks

    Return how many there are.
    """
    picks = np.empty(size, np.int64)
    number = 0
    for person in range(len(starts) - 1):
        low, high = starts[person], starts[person + 1]
        for last in range(max(frees[person], low + size - 1), high):
            _first_picks(picks, size, low, last)
            while True:
                is_mine = labels[picks[0]] % parts == part
                if is_mine and _is_asked(labels, kinds, covers, rooms, limits, low, picks, size):
                    key = np.uint64(0)
                    for place in range(size):
                        key = key * np.uint64(base) + np.uint64(labels[picks[place]])
                    keys[number] = key
                    if len(owners):
                        owners[number] = person
                    number += 1
                if not _next_picks(picks, size, last):
                    break
    return number


@kernel
def number_keys(keys: UIntArray) -> Any:
    """Number keys in the order in which they first occur.

    IN   keys     (sets,) uint64
    OUT  numbers  (sets,) int64
    """
    number = keys.shape[0]
    capacity = 16
    while capacity < 2 * number:
        capacity *= 2
    last = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, np.int64)
    numbers = np.empty(number, np.int64)
    different = 0
    for position in range(number):
        mixed = keys[position] * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
        slot = mixed & last
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = position
                numbers[position] = different
                different += 1
                break
            if keys[other] == keys[position]:
                numbers[position] = numbers[other]
                break
            slot = (slot + np.uint64(1)) & last
    return numbers


@kernel
def rare_keys(keys: UIntArray, least: int) -> Any:
    """Mark the keys that occur fewer than ``least`` times.

    IN   keys     (sets,) uint64
    OUT  is_rare  (sets,) bool
    """
    numbers = number_keys(keys)
    times = np.zeros(len(keys), np.int64)
    for number in numbers:
        times[number] += 1
    is_rare = np.empty(len(keys), np.bool_)
    for position in range(len(keys)):
        is_rare[position] = times[numbers[position]] < least
    return is_rare


@kernel
def break_sets(
    starts: IntArray,
    frees: IntArray,
    labels: IntArray,
    kinds: IntArray,
    covers: IntArray,
    rooms: IntArray,
    limits: IntArray,
    is_rare: BoolArray,
    holders: IntArray,
    is_left: BoolArray,
    part: int,
    parts: int,
    size: int,
) -> int:
    """Take free items out of every rare set of this part and size, as few as a greedy choice finds; return how many.

    Of a person's items the one goes first that is in most rare sets which are whole still; among equals the one whose
    label fewer people hold. With an item go the copies after it. Of more items than MANY_ITEMS all go at once that are
    in half as many.

    IN      is_rare  (sets,) bool, in the order of ``write_sets``
    IN      holders  (items,) int64: the people who hold the label of each
    IN, OUT is_left  (items,) bool
    """
    picks = np.empty(size, np.int64)
    most = 0
    for person in range(len(starts) - 1):
        most = max(most, starts[person + 1] - starts[person])
    scores = np.zeros(most, np.int64)
    first, gone = 0, 0
    for person in range(len(starts) - 1):
        low, high, free = starts[person], starts[person + 1], frees[person]
        while True:
            number, broken = first, 0
            scores[: high - low] = 0
            for last in range(max(free, low + size - 1), high):
                _first_picks(picks, size, low, last)
                while True:
                    is_mine = labels[picks[0]] % parts == part
                    if is_mine and _is_asked(labels, kinds, covers, rooms, limits, low, picks, size):
                        if is_rare[number]:
                            is_whole = True
                            for place in range(size):
                                is_whole = is_whole and is_left[picks[place]]
                            if is_whole:
                                broken += 1
                                for place in range(size):
                                    item = picks[place]
                                    is_last = place == size - 1 or labels[picks[place + 1]] != labels[item]
                                    if is_last and item >= free:
                                        scores[item - low] += 1
                        number += 1
                    if not _next_picks(picks, size, last):
                        break
            if not broken:
                first = number
                break
            best = free
            for item in range(free, high):
                mine, other = scores[item - low], scores[best - low]
                if mine > other or (mine == other and mine > 0 and holders[item] <= holders[best]):
                    best = item
            enough = scores[best - low] if high - low <= MANY_ITEMS else (scores[best - low] + 1) // 2
            for item in range(free, high):
                follows = item > free and labels[item] == labels[item - 1] and not is_left[item - 1]
                is_chosen = item == best or (high - low > MANY_ITEMS and scores[item - low] >= enough)
                if is_left[item] and (follows or is_chosen):
                    gone += 1
                    is_left[item] = False
    return gone


@kernel
def who_stays(finer: IntArray, coarser: IntArray, owners: IntArray, stays: BoolArray, k: int) -> None:
    """Mark more of the people who must keep a label that others exchange for finer ones, so that no set becomes rare.

    IN      finer    (sets,) int64: the number of each set with the finer labels, each once for each person
    IN      coarser  (sets,) int64: the number of the same set with the label as it was; k people or more have each
    IN      owners   (sets,) int64: the person of each set
    IN, OUT stays    (people,) bool

    Of a set with the label as it was, either everybody keeps it, or those who keep it and those who have each finer one
    are none or at least k. Whoever must keep it is taken out until that holds.
    """
    number = len(finer)
    changed = True
    while changed:
        changed = False
        times = np.zeros(number, np.int64)
        kept = np.zeros(number, np.int64)
        last = np.full(number, -1, np.int64)
        for position in range(number):
            if not stays[owners[position]]:
                times[finer[position]] += 1
            elif last[coarser[position]] != owners[position]:
                last[coarser[position]] = owners[position]
                kept[coarser[position]] += 1
        is_torn = np.zeros(number, np.bool_)
        for position in range(number):
            is_few = 0 < times[finer[position]] < k or 0 < kept[coarser[position]] < k
            is_torn[coarser[position]] = is_torn[coarser[position]] or is_few
        for position in range(number):
            if is_torn[coarser[position]] and not stays[owners[position]]:
                stays[owners[position]] = True
                changed = True
