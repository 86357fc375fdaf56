"""The least and the greatest that means, and differences of means, can be where cells are known by intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray

MOST_STEPS = 4_000_000
"""Rows in doubt times kinds of rows for which the exact difference of two groups is looked for."""


class RowKinds(NamedTuple):
    """Rows of some kinds, of which some are in a group for sure and others perhaps."""

    low: FloatArray
    """The least value of each kind, given that it is in the group."""
    high: FloatArray
    is_sure: BoolArray
    rows: IntArray


def greatest_mean(entries: RowKinds) -> float:
    """Return the greatest mean of any rows that the group may have; −∞ if it can have none.

    Each row counts with its greatest value. Of the rows in doubt those with the greatest values are taken, as long as
    they raise the mean: closed, and attained.

    >>> greatest_mean(RowKinds(np.zeros(2), np.array([1.0, 4.0]), np.array([True, False]), np.array([2, 1])))
    2.0
    """
    sure, doubtful = entries.is_sure, ~entries.is_sure
    if np.isposinf(entries.high).any():
        return float("inf")
    order = np.argsort(-entries.high[doubtful], kind="stable")
    values, rows = entries.high[doubtful][order], entries.rows[doubtful][order]
    sums = float(entries.high[sure] @ entries.rows[sure]) + np.append(0.0, np.cumsum(values * rows))
    counts = int(entries.rows[sure].sum()) + np.append(0, np.cumsum(rows))
    possible = counts > 0
    return float((sums[possible] / counts[possible]).max(initial=-np.inf))


def least_mean(entries: RowKinds) -> float:
    """Return the least mean of any rows that the group may have; ∞ if it can have none."""
    return -greatest_mean(RowKinds(-entries.high, -entries.low, entries.is_sure, entries.rows))


def greatest_difference(
    first: RowKinds, second: RowKinds, either: tuple[FloatArray, FloatArray, IntArray]
) -> float | None:
    """Return the greatest mean of one group less that of another; None where looking for it takes too long.

    All rows of both groups are sure, and each row of ``either`` is in one of them: it has the greatest value in the
    first, the least in the second, and a number of rows. For each number of rows in the first those are taken that
    give most there.
    """
    high, low, rows = either
    total = int(rows.sum())
    if total * len(rows) > MOST_STEPS:
        return None
    sums = (float(first.high @ first.rows), float(second.low @ second.rows))
    counts = (int(first.rows.sum()), int(second.rows.sum()))
    found = -np.inf
    for taken in range(total + 1):
        one, two = counts[0] + taken, counts[1] + total - taken
        if one and two:
            order = np.argsort(-(high / one + low / two), kind="stable")
            before = np.cumsum(rows[order]) - rows[order]
            mine = np.clip(taken - before, 0, rows[order])
            means = (sums[0] + high[order] @ mine) / one, (sums[1] + low[order] @ (rows[order] - mine)) / two
            found = max(found, float(means[0] - means[1]))
    return found
