"""Tables of sensitive values: the rows of each group, and how often it has each value, one cell each.

Where values are few, groups are merged and judged in such tables much quicker than entry by entry. Rules are rows of
(kind, number, second, begin, end): what ``rule_kinds`` lists, and the cells of the values that a rule asks about. One
table has the values of all sensitive columns beside each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.array_types import UIntArray
from indistinct.kernel import kernel
from indistinct.privacy.kernels.rule_kinds import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    FIRST_OF_TABLE,
    LIKE,
    NEAR,
    RECURSIVE,
    SHARES,
    TOLERANCE,
)
from indistinct.privacy.kernels.value_counts import find_limits, is_diverse


@kernel
def _keeps(rule: Any, cells: Any, group: int, whole: Any, low: Any, high: Any) -> bool:
    """Return whether a group keeps a rule, where each value of the table that is left has such a share.

    IN   low, high  (cells,): the shares between which a rule on single values keeps them
    """
    kind, begin, end = rule[0], int(rule[3]), int(rule[4])
    rows = cells[group, 0]
    if kind in (SHARES, NEAR, LIKE):
        fails = False
        for value in range(begin, end):
            count = cells[group, value]
            fails |= (count > rows * high[value]) | (count < rows * low[value])
        return not fails
    if kind == DISTINCT:
        found = 0
        for value in range(begin, end):
            found += cells[group, value] > 0
        return bool(found >= rule[1])
    if kind in (ENTROPY, RECURSIVE):
        return bool(is_diverse(rule, cells[group], (begin, end), rows, 0.0))
    distance, above, ranks = 0.0, 0.0, 0
    for value in range(begin, end):
        if kind == CLOSE:
            distance += max(cells[group, value] - rows * whole[value], 0.0)
            continue
        above += cells[group, value] / rows - whole[value]
        if whole[value] > 0:
            ranks += 1
            distance += abs(above)
    distance /= rows * rule[2] if kind == CLOSE else max(1, ranks - 1)
    return bool(distance <= rule[1] + TOLERANCE)


@kernel
def _limit_shares(rule: Any, limits: Any, whole: Any, low: Any, high: Any) -> None:
    """Write the shares between which a rule on single values keeps those that it asks about.

    IN   limits, whole  (cells,): the largest share of each, for SHARES, and its share in the table
    OUT  low, high      (cells,)
    """
    begin, end = int(rule[3]), int(rule[4])
    find_limits(rule, limits[begin:end], whole[begin:end], low[begin:end], high[begin:end])


@kernel
def _find_unsafe(cells: Any, number: int, least: int, most: int, judging: Any, is_gone: Any) -> int:
    """Return which groups must be suppressed, and give their rows; once these are more than ``most``, only so much.

    First go those with too few rows, then those that fail by themselves, then those that are too unlike the table.
    """
    rules, limits = judging
    gone, asks_table = 0, False
    for group in range(number):
        is_gone[group] = cells[group, 0] < least
        if is_gone[group]:
            gone += cells[group, 0]
    whole, lows, highs = np.zeros(cells.shape[1]), np.zeros(limits.shape), np.zeros(limits.shape)
    for place in range(rules.shape[0]):
        if rules[place, 0] >= FIRST_OF_TABLE:
            asks_table = True
            continue
        if rules[place, 0] == SHARES:
            _limit_shares(rules[place], limits[place], whole, lows[place], highs[place])
        for group in range(number):
            if gone > most:
                return gone
            if not is_gone[group] and not _keeps(rules[place], cells, group, whole, lows[place], highs[place]):
                is_gone[group] = True
                gone += cells[group, 0]
    if gone > most or not asks_table:
        return gone
    return gone + _find_unlike(cells, number, most - gone, judging, is_gone)


@kernel
def _find_unlike(cells: Any, number: int, most: int, judging: Any, is_gone: Any) -> int:
    """Return which of the groups that are left are too unlike the table, and give their rows, as ``_find_unsafe`` does.

    All are compared with the same table, that of the groups that are left; then the failing ones are taken out, until
    none fails.
    """
    rules, limits = judging
    gone, totals = 0, np.zeros(cells.shape[1], np.int64)
    for group in range(number):
        if not is_gone[group]:
            for cell in range(cells.shape[1]):
                totals[cell] += cells[group, cell]
    whole, lows, highs = np.zeros(cells.shape[1]), np.zeros(limits.shape), np.zeros(limits.shape)
    is_changed = True
    while is_changed and gone <= most:
        is_changed = False
        for cell in range(cells.shape[1]):
            whole[cell] = totals[cell] / max(1, totals[0])
        for place in range(rules.shape[0]):
            if rules[place, 0] == LIKE or rules[place, 0] == NEAR:
                _limit_shares(rules[place], limits[place], whole, lows[place], highs[place])
        for group in range(number):
            if is_gone[group]:
                continue
            for place in range(rules.shape[0]):
                if rules[place, 0] >= FIRST_OF_TABLE and not _keeps(
                    rules[place], cells, group, whole, lows[place], highs[place]
                ):
                    is_gone[group] = is_changed = True
                    gone += cells[group, 0]
                    for cell in range(cells.shape[1]):
                        totals[cell] -= cells[group, cell]
                    break
            if gone > most:
                break
    return gone


@kernel(rows="cells")
def unsafe_rows(cells: Any, least: int, most: int, judging: Any) -> int:
    """Return the rows of the groups that must be suppressed; once these are more than ``most``, only so much.

    IN   cells    (groups, 1 + values): the rows of each group, and of each of its values
    IN   least    a group of fewer rows is suppressed
    IN   judging  rules (rules, 5), limits (rules, 1 + values) float64: the largest share of each, for SHARES
    """
    number = cells.shape[0]
    return _find_unsafe(cells, number, least, most, judging, np.empty(number, np.bool_))


class CellScratch(NamedTuple):
    """Room for the values of groups.

    ``group_at``  (places,) int32: the group of each place, -1 where it has too few rows or none
    ``cells``     (groups, 1 + values): the rows of each group, and of each of its values
    ``is_gone``   (groups,) bool: whether a group must be suppressed
    ``number``    (1,) int64: how many groups there are
    """

    group_at: Any
    cells: Any
    is_gone: Any
    number: Any


@kernel(rows="place_of")
def judge_values(
    entries: Any, place_of: Any, sizes: Any, limits: Any, judging: Any, span: Any, work: CellScratch
) -> Any:
    """Return which groups at a node must be suppressed, and give their rows, after ``locate``.

    Sensitive columns are given one after the other; groups are judged with the last. Once the rows are more than may
    be suppressed only so much is right.

    IN   entries   starts (tuples + 1,), values, counts (entries,): those of each tuple of a source
    IN   place_of  (tuples,), sizes (places,): the place of each tuple, and the rows at each place
    IN   limits    places, all rows, the rows that a group must have, and the most that may be suppressed
    IN   judging   as ``unsafe_rows`` takes it
    IN   span      where the column's cells begin, and whether it is the last one
    OUT  work
    """
    places, all_rows, least, most = limits
    starts, values, counts = entries
    begin, is_last = span
    group_at, cells, is_gone, number = work
    if begin == 1:  # the first column
        group_at[:places] = -1
        found, rows = 0, 0
        for row in range(place_of.shape[0]):
            place = place_of[row]
            if group_at[place] < 0 and sizes[place] >= least:
                group_at[place] = found
                cells[found] = 0
                cells[found, 0] = sizes[place]
                rows += sizes[place]
                found += 1
        number[0] = found
        if all_rows - rows > most:
            number[0] = -1
            return all_rows - rows
    if number[0] < 0:
        return most + 1
    for row in range(place_of.shape[0]):
        group = group_at[place_of[row]]
        if group >= 0:
            for entry in range(starts[row], starts[row + 1]):
                cells[group, begin + values[entry]] += counts[entry]
    if not is_last:
        return 0
    small = all_rows
    for group in range(number[0]):
        small -= cells[group, 0]
    return small + _find_unsafe(cells, number[0], least, most - small, judging, is_gone)


@kernel(rows="keys")
def climb(keys: UIntArray, cells: Any, field: Any, parents: UIntArray, slots: Any, limits: Any, judging: Any) -> Any:
    """Merge the groups that coincide when one column climbs one level, and judge them.

    IN   keys     (groups, words) uint64: label codes, one bit field per column
    IN   cells    (groups, 1 + values): the rows of each group and of each of its values
    IN   field    word, shift, mask: where the column's code lies
    IN   parents  (labels,) uint64: label at this level -> label one level up
    IN   limits   the rows that a group must have, and the most that may be suppressed
    IN   judging  as ``unsafe_rows`` takes it
    OUT  slots    int32, a power of two and at least twice the groups: scratch
    OUT  keys and cells of the merged groups, in order of first appearance, and what ``unsafe_rows`` says of them
    """
    word, shift, mask = field[0], np.uint64(field[1]), np.uint64(field[2])
    words, width = keys.shape[1], cells.shape[1]
    merged_keys, merged = np.empty_like(keys), np.empty_like(cells)
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
            for cell in range(width):
                merged[groups, cell] = cells[row, cell]
            groups += 1
        else:
            for cell in range(width):
                merged[group, cell] += cells[row, cell]
    found = merged[:groups]
    is_gone = np.empty(groups, np.bool_)
    return merged_keys[:groups], found, _find_unsafe(found, groups, limits[0], limits[1], judging, is_gone)
