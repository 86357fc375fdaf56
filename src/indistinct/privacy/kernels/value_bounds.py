"""How many rows of groups are lost at their node and at every node below, by rules on their sensitive values.

Groups and rules are those of ``value_counts``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.counting.kernels.grouping import total_of
from indistinct.kernel import kernel
from indistinct.privacy.kernels.rule_kinds import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    LIKE,
    NEAR,
    ORDERED,
    RECURSIVE,
    SHARES,
    TOLERANCE,
)
from indistinct.privacy.kernels.value_counts import find_limits, is_diverse


@kernel
def _kept_diverse(rule: Any, groups: Any, group: int) -> Any:
    """Return the most rows of a group that are diverse together.

    Of all ways to keep so many rows the most even one caps every count at one number, and the lower the cap, the more
    even is what it leaves.
    """
    rows, _, starts, _, counts = groups
    # what rounding forgives a large group must not be more than it forgives a small one, share by share
    span, slack = (starts[group], starts[group + 1]), TOLERANCE * (1 - 1 / rows[group])
    if is_diverse(rule, counts, span, rows[group], slack):
        return rows[group]
    fails, holds = 0, 0
    for entry in range(span[0], span[1]):
        fails = max(fails, counts[entry])
    while fails - holds > 1:
        cap = (fails + holds) // 2
        if is_diverse(rule, counts, span, cap, slack):
            holds = cap
        else:
            fails = cap
    if holds == 0:
        return 0
    kept = -1  # with so many it would fail
    for entry in range(span[0], span[1]):
        kept += min(counts[entry], fails)
    return kept


@kernel
def _kept_close(rule: Any, groups: Any, group: int, whole: FloatArray, slack: float) -> int:
    """Return at least the most rows of a group that are close together to a table within ``slack`` of this one.

    With s rows left, no value can have more than its count, so what the table has beyond that, over all values, is the
    least distance: sum of max(s * whole - count, 0) <= s * t. The left side less the right one is convex in s, and 0 at
    0; Newton's steps come down to the largest s where it is not above 0, and never pass it.
    """
    rows, _, starts, values, counts = groups
    most = (rule[1] + slack + TOLERANCE) * rule[2]
    left = float(rows[group])
    for _ in range(50):
        # what the group lacks altogether lies on the line from the start
        lacking, slope = 0.0, rule[2]
        for entry in range(starts[group], starts[group + 1]):
            share = whole[values[entry]]
            if left * share > counts[entry]:
                lacking -= counts[entry]
            else:
                slope -= share
        lacking += slope * left
        if lacking <= most * left + TOLERANCE or slope <= most:
            break
        left -= (lacking - most * left) / (slope - most)
        if left < 1:
            return 0
    return int(np.floor(left + TOLERANCE * rows[group]))


@kernel
def _kept_between(groups: Any, group: int, low: FloatArray, high: FloatArray, present: int) -> int:
    """Return at least the most rows of a group that keep each value's share between two limits together.

    If no more than s rows can be left, a value has no more than s times its highest share; their sum is the next s.
    """
    rows, _, starts, values, counts = groups
    left, found = float(rows[group]), 0
    for entry in range(starts[group], starts[group + 1]):
        share = low[values[entry]]
        found += share > 0
        if share * left > counts[entry]:
            left = counts[entry] / share
    if found < present:
        return 0
    left = np.floor(left * (1 + TOLERANCE))
    for _ in range(50):
        fit = 0.0
        for entry in range(starts[group], starts[group + 1]):
            fit += min(float(counts[entry]), np.floor(high[values[entry]] * left * (1 + TOLERANCE) + TOLERANCE))
        if fit >= left:
            break
        left = fit
    return int(left)


@kernel
def _most_kept(rule: Any, groups: Any, group: int, shares: Any) -> Any:
    """Return at least the most rows of a group that keep a rule together.

    IN   shares  those of the values in the table; between which the rule keeps each, and how many must be there; and
                 the share of the rows that the released table may lack
    """
    rows, _, starts, _, _ = groups
    whole, low, high, present, slack = shares
    if rule[0] == DISTINCT:
        return rows[group] if starts[group + 1] - starts[group] >= rule[1] else 0
    if rule[0] in (ENTROPY, RECURSIVE):
        return _kept_diverse(rule, groups, group)
    if rule[0] == CLOSE:
        return _kept_close(rule, groups, group, whole, slack)
    if rule[0] == ORDERED:
        return rows[group]
    return _kept_between(groups, group, low, high, present)


@kernel(rows="number")
def least_lost(
    groups: Any, number: int, rules: FloatArray, limits: FloatArray, totals: IntArray, most: int, least: int
) -> Any:
    """Return the rows that each group must lose at the least at its node and at every node below, and their sum.

    Satisfied groups stay satisfied when they are merged with each other. So what is released of a group, at a node or
    below it, is a part of its rows that satisfies every rule by itself, compared with the table that is released. That
    table lacks at most ``most`` rows, or the node is of no use: so a value's share in it is at most its rows here over
    what must be left, at least its rows less ``most`` over the same, and the distance of the two tables is at most the
    share of the rows that are missing.

    IN   number  of groups
    IN   totals  (values,): the rows of each value in the whole table, and at the end all rows
    IN   least   a group of fewer rows cannot be released
    OUT  lost    (groups,) int64, and their sum with the rows of groups that are not here; once that is more than
                 ``most``, only so much
    """
    rows = groups[0]
    codes = limits.shape[1]
    all_rows = totals[codes]
    left_rows = max(1, all_rows - most)
    whole, fewest, largest = np.empty(codes), np.empty(codes), np.empty(codes)
    for value in range(codes):
        whole[value] = totals[value] / all_rows
        fewest[value] = max(0, totals[value] - most) / left_rows
        largest[value] = min(1.0, totals[value] / left_rows)
    lows, highs = np.zeros((rules.shape[0], codes)), np.zeros((rules.shape[0], codes))
    present, unused = np.zeros(rules.shape[0], np.int64), np.zeros(codes)
    for place in range(rules.shape[0]):
        if rules[place, 0] == SHARES or rules[place, 0] == LIKE or rules[place, 0] == NEAR:
            find_limits(rules[place], limits[place], largest, unused, highs[place])
            present[place] = find_limits(rules[place], limits[place], fewest, lows[place], unused)
    lost, sum_of_lost = np.zeros(number, np.int64), all_rows - total_of(rows)
    for group in range(number):
        kept = rows[group]
        for place in range(rules.shape[0]):
            shares = whole, lows[place], highs[place], present[place], most / float(all_rows)
            kept = min(kept, _most_kept(rules[place], groups, group, shares))
            if kept < least:
                kept = 0
                break
        lost[group] = rows[group] - kept
        sum_of_lost += lost[group]
        if sum_of_lost > most:
            break
    return lost, sum_of_lost
