"""Sensitive values of groups at a node: merged on the way up, and judged.

Groups come with their values as entries: those of group g stand from ``starts[g]`` to ``starts[g + 1]``, each value of
a group once, in any order. Rules are rows of (kind, number, second), as ``rule_kinds`` lists them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.kernel import kernel
from indistinct.privacy.kernels.rule_kinds import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    FIRST_OF_TABLE,
    LIKE,
    NEAR,
    ORDERED,
    RECURSIVE,
    SHARES,
    TOLERANCE,
)

ALONE, ONCE, UNTIL_NONE = range(3)
"""Which rules are asked, and how often."""


@kernel(rows="place_of")
def merge_values(entries: Any, place_of: Any, sizes: Any, places: int, least: int, work: Any) -> Any:
    """Return the entries of the groups at a node that have at least so many rows, after ``locate``.

    IN   entries   starts (tuples + 1,), values, counts (entries,) int32 or int64: those of each tuple of a source
    IN   place_of  (tuples,), sizes (places,): the place of each tuple, and the rows at each place
    OUT  work      group_at (places,), first, following (tuples,), where (values,) int32: scratch; ``group_at`` becomes
                   the group of each place, -1 where there is none
    OUT  rows and places (groups,) of the groups, in order of first appearance, and their starts, values and counts
    """
    starts, values, counts = entries
    group_at, first, following, where = work
    group_at[:places] = -1
    number, most = 0, 0
    for row in range(starts.shape[0] - 1):
        place = place_of[row]
        if sizes[place] >= least:
            group = group_at[place]
            if group < 0:
                group = number
                group_at[place] = group
                first[group] = -1
                number += 1
            following[row] = first[group]
            first[group] = row
            most += starts[row + 1] - starts[row]
    rows, at = np.empty(number, np.int64), np.empty(number, np.int64)
    merged_starts = np.empty(number + 1, np.int64)
    merged_values, merged_counts = np.empty(most, values.dtype), np.empty(most, counts.dtype)
    where[:] = -1
    end = 0
    for group in range(number):
        begin = end
        merged_starts[group] = begin
        row = first[group]
        rows[group] = sizes[place_of[row]]
        at[group] = place_of[row]
        while row >= 0:
            for entry in range(starts[row], starts[row + 1]):
                value = values[entry]
                if where[value] >= begin:
                    merged_counts[where[value]] += counts[entry]
                else:
                    where[value] = end
                    merged_values[end] = value
                    merged_counts[end] = counts[entry]
                    end += 1
            row = following[row]
    merged_starts[number] = end
    return rows, at, merged_starts, merged_values[:end], merged_counts[:end]


@kernel
def _most_and_rest(counts: Any, begin: int, end: int, place: int, cap: int) -> tuple[int, int]:
    """Return the most frequent value's count and the sum from this place on, most frequent first, none above
    ``cap``.
    """
    # values before that place are taken in falling order of their counts; as many as a rule names, so there are few
    total, top = 0, 0
    for entry in range(begin, end):
        total += min(counts[entry], cap)
        top = max(top, min(counts[entry], cap))
    before, taken = 1 << 62, 0
    while taken < place - 1:
        largest, equal = 0, 0
        for entry in range(begin, end):
            count = min(counts[entry], cap)
            if count < before and count > largest:
                largest, equal = count, 1
            elif count == largest:
                equal += 1
        if largest == 0:
            return top, 0
        equal = min(equal, place - 1 - taken)
        total -= largest * equal
        taken += equal
        before = largest
    return top, total


@kernel
def is_diverse(rule: Any, counts: Any, span: Any, cap: int, slack: float) -> Any:
    """Return whether a group's counts, none above ``cap``, are diverse by a rule, but for so much of rounding.

    IN   span  where the group's entries begin and end
    """
    begin, end = span
    if rule[0] == RECURSIVE:
        top, rest = _most_and_rest(counts, begin, end, int(rule[2]), cap)
        return top < rule[1] * rest - TOLERANCE + slack
    size, sum_of_logs = 0, 0.0
    for entry in range(begin, end):
        count = min(counts[entry], cap)
        if count > 0:
            size += count
            sum_of_logs += count * np.log(count)
    return np.log(size) - sum_of_logs / size >= rule[1] - TOLERANCE - slack


@kernel
def find_limits(rule: Any, limits: Any, whole: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """Write the shares between which a rule on single values keeps them, and give how many must be there.

    IN   limits  (values,): the largest share of each, for SHARES
    IN   whole   (values,): the share of each in the table
    """
    present = 0
    for value in range(whole.shape[0]):
        low[value], share = 0.0, whole[value]
        if rule[0] == SHARES:
            high[value] = limits[value] * (1 + TOLERANCE)
        elif rule[0] == LIKE:
            limit = rule[1]
            if rule[2] > 0 and share > 0:
                limit = min(limit, -np.log(share))
            high[value] = share * (1 + limit + TOLERANCE)
        else:
            low[value] = share * np.exp(TOLERANCE - rule[1])
            high[value] = share * np.exp(rule[1] - TOLERANCE)
            present += share > 0
    return present


@kernel
def _distance(rule: Any, groups: Any, group: int, whole: FloatArray, dense: FloatArray) -> Any:
    """Return the earth mover's distance of a group's values from the table's.

    It is the sum, over all subtrees of the tree that says how far values are apart, of what their shares differ by.
    Where codes are labels of so many levels, these are the subtrees, and a level's differences add up to twice what
    its labels have too much. Where codes are ranks, subtrees are all that is up to a rank that the table has.
    """
    rows, _, starts, values, counts = groups
    total = 0.0
    if rule[0] == CLOSE:
        for entry in range(starts[group], starts[group + 1]):
            total += max(counts[entry] - rows[group] * whole[values[entry]], 0.0)
        return total / (rows[group] * rule[2])
    for entry in range(starts[group], starts[group + 1]):
        dense[values[entry]] = counts[entry] / rows[group]
    above, ranks = 0.0, 0
    for rank in range(whole.shape[0]):
        above += dense[rank] - whole[rank]
        dense[rank] = 0.0
        if whole[rank] > 0:
            ranks += 1
            total += abs(above)
    return total / max(1, ranks - 1)


@kernel
def holds(rule: Any, groups: Any, group: int, whole: FloatArray, scratch: Any, present: int) -> Any:
    """Return whether a group keeps a rule; ``scratch`` has the rule's low and high shares, and room for each value."""
    rows, _, starts, values, counts = groups
    begin, end = starts[group], starts[group + 1]
    low, high, dense = scratch
    kind = rule[0]
    if kind == DISTINCT:
        return end - begin >= rule[1]
    if kind in (ENTROPY, RECURSIVE):
        return is_diverse(rule, counts, (begin, end), rows[group], 0.0)
    if kind in (CLOSE, ORDERED):
        return _distance(rule, groups, group, whole, dense) <= rule[1] + TOLERANCE
    if end - begin < present:
        return False
    for entry in range(begin, end):
        value = values[entry]
        if counts[entry] > rows[group] * high[value] or counts[entry] < rows[group] * low[value]:
            return False
    return True


@kernel(rows="is_gone")
def find_unsafe(groups: Any, rules: FloatArray, limits: FloatArray, most: int, is_gone: Any, asked: int) -> int:
    """Return which groups must be suppressed, and give their rows; once these are more than ``most``, only so much.

    Rules that judge groups alone come first. The others compare groups with the table that is left, all with the same
    one; then the failing ones are taken out, and the rest is compared with what is left, until none fails.

    IN   groups   what ``merge_values`` gives
    IN   rules    (rules, 3), limits (rules, values) float64
    IN   asked    ALONE: judge by the first rules only; ONCE: by the others, once; else until none fails
    OUT  is_gone  (groups,) bool: added to, what is gone already counts as such
    """
    rows, _, starts, values, counts = groups
    number, codes = rows.shape[0], limits.shape[1]
    totals, all_rows, gone_rows = np.zeros(codes, np.int64), 0, 0
    for group in range(number):
        if is_gone[group]:
            gone_rows += rows[group]
        else:
            all_rows += rows[group]
            for entry in range(starts[group], starts[group + 1]):
                totals[values[entry]] += counts[entry]
    whole = np.zeros(codes)
    dense = np.zeros(codes)
    lows, highs = np.zeros((rules.shape[0], codes)), np.zeros((rules.shape[0], codes))
    present = np.zeros(rules.shape[0], np.int64)
    is_changed = True
    while is_changed and gone_rows <= most:
        is_changed = False
        for value in range(codes):
            whole[value] = totals[value] / max(1, all_rows)
        for place in range(rules.shape[0]):
            if rules[place, 0] == SHARES or rules[place, 0] == LIKE or rules[place, 0] == NEAR:
                present[place] = find_limits(rules[place], limits[place], whole, lows[place], highs[place])
        for group in range(number):
            if is_gone[group]:
                continue
            for place in range(rules.shape[0]):
                if (rules[place, 0] < FIRST_OF_TABLE) == (asked == ALONE) and not holds(
                    rules[place], groups, group, whole, (lows[place], highs[place], dense), present[place]
                ):
                    is_gone[group] = True
                    break
            if is_gone[group]:
                is_changed = asked == UNTIL_NONE
                gone_rows += rows[group]
                all_rows -= rows[group]
                for entry in range(starts[group], starts[group + 1]):
                    totals[values[entry]] -= counts[entry]
                if gone_rows > most:
                    break
    return gone_rows


@kernel(rows="keys")
def sum_over_lost(keys: Any, counts: Any, chunks: IntArray, values: Any, place_of: Any, lost: Any) -> float:
    """Sum a number per chunk value over the rows that are lost, after ``locate``.

    IN   values  float64, in the places of ``tables``
    IN   lost    (places,) float64: the share of the rows at each place that is lost
    """
    total = 0.0
    for row in range(keys.shape[0]):
        share = lost[place_of[row]]
        if share > 0:
            number = 0.0
            for chunk in range(chunks.shape[0]):
                word, shift = chunks[chunk, 0], np.uint64(chunks[chunk, 1])
                mask, offset = np.uint64(chunks[chunk, 2]), chunks[chunk, 3]
                number += values[offset + np.int64((keys[row, word] >> shift) & mask)]
            total += number * counts[row] * share
    return total
