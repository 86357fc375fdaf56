"""Packing of codes into keys, and roll-up: what every search stands on.

A key holds one bit field per column, in one or more 64-bit words; a field never straddles two words.
Each kernel has its obvious ten-line version in the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import IntArray, UIntArray
from indistinct.kernel import kernel


def pack(codes: Any, words: IntArray, shifts: IntArray, number_of_words: int) -> UIntArray:
    """Pack one code per column into the key of each tuple.

    IN   codes   (columns, tuples) unsigned integers, also as one array for each column
    IN   words   (columns,) int64: the word that holds the column's field
    IN   shifts  (columns,) int64: where the field starts in its word
    OUT  keys    (tuples, words) uint64
    """
    keys = np.zeros((len(codes[0]) if len(codes) else 0, number_of_words), np.uint64)
    for column, word in enumerate(words):
        keys[:, word] |= codes[column].astype(np.uint64) << np.uint64(shifts[column])
    return keys


def unpack(keys: UIntArray, word: int, shift: int, mask: int) -> IntArray:
    """Return the code of one column in each key.

    IN   keys   (tuples, words) uint64
    OUT  codes  (tuples,) int64
    """
    codes = keys[:, word] >> np.uint64(shift)
    codes &= np.uint64(mask)
    return codes.view(np.int64)


def roll_up(
    keys: UIntArray,
    counts: IntArray,
    words: IntArray,
    shifts: IntArray,
    masks: UIntArray,
    offsets: IntArray,
    maps: UIntArray,
) -> tuple[UIntArray, IntArray, IntArray]:
    """Merge tuples that coincide when some columns are mapped to coarser codes.

    IN   keys     (tuples, words) uint64, one bit field per column
    IN   counts   (tuples,) int64
    IN   words, shifts, masks  (mapped columns,): where each mapped column's field lies
    IN   offsets  (mapped columns,) int64: where the column's map starts in ``maps``
    IN   maps     uint64: code -> coarser code, one map after the other
    OUT  keys (groups, words), counts (groups,) in order of first appearance,
         and group_of (tuples,) int64: the group that each tuple went to
    """
    tuples = keys.shape[0]
    capacity = 16
    while capacity < 2 * tuples:
        capacity *= 2
    group_keys, group_counts = np.empty_like(keys, order="C"), np.zeros(tuples, np.int64)
    group_of = np.empty(tuples, np.int64)
    into = np.full(capacity, -1, np.int64), group_keys, group_counts, group_of
    groups = merge_mapped(keys, counts, (words, shifts, masks, offsets), maps, into)
    return group_keys[:groups].copy(), group_counts[:groups].copy(), group_of


@kernel(rows="keys")
def merge_mapped(keys: UIntArray, counts: IntArray, fields: Any, maps: UIntArray, into: Any) -> int:
    """Write the groups of ``roll_up``, and return their number.

    IN   fields  words, shifts, masks, offsets
    OUT  into    slots int64, all -1, a power of two and at least twice the tuples; keys, counts, group_of (tuples,)
    """
    words, shifts, masks, offsets = fields
    slots, group_keys, group_counts, group_of = into
    tuples, number_of_words = keys.shape
    slot_mask = np.uint64(slots.shape[0] - 1)
    groups = 0
    for row in range(tuples):
        key = group_keys[groups]  # of the next group, if this row begins one
        for word in range(number_of_words):
            key[word] = keys[row, word]
        for column in range(words.shape[0]):
            word = words[column]
            shift = np.uint64(shifts[column])
            code = (key[word] >> shift) & masks[column]
            coarser = maps[offsets[column] + np.int64(code)]
            key[word] = (key[word] & ~(masks[column] << shift)) | (coarser << shift)
        mixed = np.uint64(0)
        for word in range(number_of_words):
            # the finalizer of splitmix64: neighbouring keys land in distant slots
            mixed = (mixed ^ key[word]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(31)
        slot = mixed & slot_mask
        while True:
            group = slots[slot]
            if group < 0:
                slots[slot] = group = groups
                groups += 1
                break
            same = True
            for word in range(number_of_words):
                if group_keys[group, word] != key[word]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & slot_mask
        group_counts[group] += counts[row]
        group_of[row] = group
    return groups


@kernel
def order_of(keys: Any) -> Any:
    """Return the places of keys in ascending order, equal ones as they are."""
    order, spare = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    for place in range(len(keys)):
        order[place] = place
    sort_points(0, len(keys), order, keys, spare)
    return order


@kernel
def sort_points(start: int, end: int, points: Any, keys: Any, spare: Any) -> None:
    """Put the points at start..end - 1 in the order of their keys, equal ones as they are: runs are merged.

    ``spare`` has room for all of them.
    """
    length = 1
    while length < end - start:
        for first in range(start, end, 2 * length):
            middle, last = min(first + length, end), min(first + 2 * length, end)
            left, right = first, middle
            for place in range(first, last):
                if left < middle and (right >= last or keys[points[left]] <= keys[points[right]]):
                    spare[place] = points[left]
                    left += 1
                else:
                    spare[place] = points[right]
                    right += 1
        for place in range(start, end):
            points[place] = spare[place]
        length *= 2


@kernel
def total_of(numbers: Any) -> int:
    """Return the sum of some integers."""
    total = 0
    for number in numbers:
        total += number
    return total


@kernel
def highest_of(numbers: Any) -> int:
    """Return the highest of some integers, at least 0."""
    highest = 0
    for number in numbers:
        highest = max(highest, number)
    return highest
