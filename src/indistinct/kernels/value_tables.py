"""Groups with their sensitive values as a table: a row for each group, with its rows and how often it has each value.

Where values are few a group's are merged in one go, which is quicker than entry by entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.kernels.array_types import UIntArray
from indistinct.kernels.kernel import kernel
from indistinct.kernels.rule_kinds import FIRST_OF_TABLE
from indistinct.kernels.value_counts import ALONE, UNTIL_NONE, find_unsafe


@kernel(rows="keys", allocates=True)
def climb(keys: UIntArray, lanes: UIntArray, field: Any, parents: UIntArray, slots: Any) -> Any:
    """Merge the groups that coincide when one column climbs one level.

    IN   keys     (groups, words) uint64: label codes, one bit field per column
    IN   lanes    (groups, lanes) uint64: the rows of each group and of each of its values, as they lie in memory; two
                  numbers of 32 bits are added at once, since no sum of them is too large for one
    IN   field    word, shift, mask: where the column's code lies
    IN   parents  (labels,) uint64: label at this level -> label one level up
    OUT  slots    int32, a power of two and at least twice the groups: scratch
    OUT  keys and lanes of the merged groups, in order of first appearance
    """
    word, shift, mask = field[0], np.uint64(field[1]), np.uint64(field[2])
    words, width = keys.shape[1], lanes.shape[1]
    merged_keys, merged_lanes = np.empty_like(keys), np.empty_like(lanes)
    slots[:] = -1
    last = np.uint64(slots.shape[0] - 1)
    groups = 0
    for row in range(keys.shape[0]):
        code = (keys[row, word] >> shift) & mask
        climbed = (keys[row, word] & ~(mask << shift)) | (parents[code] << shift)
        mixed = np.uint64(0)
        for other in range(words):
            mixed = (mixed ^ (climbed if other == word else keys[row, other])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        slot = mixed & last
        while True:
            group = slots[slot]
            if group < 0:
                break
            is_same = merged_keys[group, word] == climbed
            for other in range(words):
                if other != word and merged_keys[group, other] != keys[row, other]:
                    is_same = False
            if is_same:
                break
            slot = (slot + np.uint64(1)) & last
        if group < 0:
            slots[slot] = groups
            for other in range(words):
                merged_keys[groups, other] = keys[row, other]
            merged_keys[groups, word] = climbed
            for lane in range(width):
                merged_lanes[groups, lane] = lanes[row, lane]
            groups += 1
        else:
            for lane in range(width):
                merged_lanes[group, lane] += lanes[row, lane]
    return merged_keys[:groups], merged_lanes[:groups]


@kernel(rows="cells", allocates=True)
def entries_of(cells: Any, span: Any, least: int) -> Any:
    """Give some values of the groups that have at least so many rows, as ``merge_values`` does.

    IN   cells  (groups, 1 + values): the rows of each group, and of each of its values
    IN   span   where the cells of the values that are asked about begin and end
    OUT  the rows of all other groups; and rows, places, starts, values, counts
    """
    begin, end = span
    number, small = 0, 0
    for group in range(cells.shape[0]):
        if cells[group, 0] >= least:
            number += 1
        else:
            small += cells[group, 0]
    rows, at = np.empty(number, np.int64), np.empty(number, np.int64)
    starts = np.empty(number + 1, np.int64)
    values, counts = np.empty(number * (end - begin), np.int32), np.empty(number * (end - begin), cells.dtype)
    place, entry = 0, 0
    for group in range(cells.shape[0]):
        if cells[group, 0] >= least:
            rows[place] = cells[group, 0]
            at[place] = group
            starts[place] = entry
            place += 1
            for cell in range(begin, end):
                values[entry] = cell - begin
                counts[entry] = cells[group, cell]
                entry += cells[group, cell] > 0  # one that is not there is written over
    starts[number] = entry
    return small, (rows, at, starts, values[:entry], counts[:entry])


@kernel(rows="cells", allocates=True)
def unsafe_rows(cells: Any, span: Any, least: int, rules: Any, most: int) -> Any:
    """Give the rows of the groups that must be suppressed; once these are more than ``most``, only so much.

    IN   span, least  as ``entries_of`` takes them
    IN   rules        rules (rules, 3) and limits (rules, values), as ``find_unsafe`` takes them
    """
    small, groups = entries_of(cells, span, least)
    if small > most:
        return small
    is_gone, gone = np.zeros(groups[0].shape[0], np.bool_), 0
    asks_alone, asks_table = False, False
    for place in range(rules[0].shape[0]):
        asks_alone |= rules[0][place, 0] < FIRST_OF_TABLE
        asks_table |= rules[0][place, 0] >= FIRST_OF_TABLE
    if asks_alone:
        gone = find_unsafe(groups, rules[0], rules[1], most - small, is_gone, ALONE)
    if gone <= most - small and asks_table:
        gone = find_unsafe(groups, rules[0], rules[1], most - small, is_gone, UNTIL_NONE)
    return small + gone
