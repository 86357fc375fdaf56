"""Grouping the rows of a small table at the least cost, by dynamic programming over every choice of its rows.

Points are the distinct tuples of a space, ``counts`` their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.kernel import kernel


@kernel
def least_costs(counts: IntArray, points: Any, run_costs: FloatArray, k: int) -> FloatArray:
    """Return the least cost of grouping every choice of rows, by dynamic programming.

    A choice is the number of rows left of each point, read as the digits of a mixed-radix number, the first point's
    digit the most significant.

    IN   counts     (points,) int64
    IN   points     (points, columns) int64: value of each point
    IN   run_costs  (columns, values, values) float64: the cost of the lowest label over two values
    OUT  least      (choices,) float64; infinite where the rows cannot be grouped
    """
    radix = place_values(counts)
    choices = radix[0] * (counts[0] + 1)
    least = np.full(choices, np.inf)
    least[0] = 0.0
    nowhere = np.empty(0, np.int64)
    for choice in range(1, choices):
        least[choice], _ = least_of(choice, radix, points, run_costs, least, k, -1.0, nowhere)
    return least


@kernel
def place_values(counts: IntArray) -> IntArray:
    """Return what one row of each point adds to the number of a choice.

    IN   counts  (points,) int64
    OUT  radix   (points,) int64
    """
    radix = np.ones(len(counts), np.int64)
    for point in range(len(counts) - 2, -1, -1):
        radix[point] = radix[point + 1] * (counts[point + 1] + 1)
    return radix


@kernel
def least_of(
    choice: int,
    radix: IntArray,
    points: Any,
    run_costs: FloatArray,
    least: FloatArray,
    k: int,
    within: float,
    found: IntArray,
) -> tuple[float, int]:
    """Return the least cost of grouping one choice of rows, from those of all smaller choices.

    The group of the first row left is tried in every way, with k to 2k - 1 rows: larger ones split at no cost.

    IN   points, run_costs  as ``least_costs`` takes them
    IN   within  groups that lead to at most this cost are listed
    OUT  found   int64: the choices that remain after them, as many as it has room for
    OUT  the least cost, and the number of groups to list
    """
    number, columns = points.shape
    left = np.empty(number, np.int64)
    rest, rows = choice, 0
    for point in range(number):
        left[point] = rest // radix[point]
        rest -= left[point] * radix[point]
        rows += left[point]
    best, listed = np.inf, 0
    if rows < k:
        return best, listed
    most = min(rows, 2 * k - 1)
    chosen = np.zeros(most, np.int64)  # the group's points, one entry a row, in ascending order
    rests = np.empty(most, np.int64)
    low = np.empty((most, columns), np.int64)
    high = np.empty((most, columns), np.int64)
    point = 0
    while left[point] == 0:
        point += 1
    depth = -1
    while True:
        if depth + 1 < most and point < number:  # one row more
            depth += 1
            left[point] -= 1
            chosen[depth] = point
            rests[depth] = (choice if depth == 0 else rests[depth - 1]) - radix[point]
            for column in range(columns):
                value = points[point, column]
                low[depth, column] = value if depth == 0 else min(low[depth - 1, column], value)
                high[depth, column] = value if depth == 0 else max(high[depth - 1, column], value)
            size = depth + 1
            if size >= k and (size == rows or rows - size >= k):
                cost = 0.0
                for column in range(columns):
                    cost += run_costs[column, low[depth, column], high[depth, column]]
                cost = size * cost + least[rests[depth]]
                best = min(best, cost)
                if cost <= within:
                    if listed < len(found):
                        found[listed] = rests[depth]
                    listed += 1
        elif depth > 0:  # the next point in place of the last row
            point = chosen[depth]
            left[point] += 1
            point += 1
            depth -= 1
        else:
            return best, listed
        while point < number and left[point] == 0:
            point += 1
