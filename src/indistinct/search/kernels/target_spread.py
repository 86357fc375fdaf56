"""The loss of a target: how far the values of groups are from being one value each, and which saving tells something.

A target stands beside rows as sums: the rows of each class, or the sum of its numbers and of their squares.
"""

from __future__ import annotations

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.kernel import kernel

ROUNDING = 1e-9
"""A spread of less for a row is rounding."""


@kernel
def spread(rows: int, sums: FloatArray, is_number: bool) -> float:
    """Return how far the target of so many rows is from being one value: rows times entropy in bits, or the sum of
    squares around their mean.
    """
    found = 0.0
    if rows > 0 and is_number:
        found = sums[1] - sums[0] * sums[0] / rows
    elif rows > 0:
        found = rows * np.log2(float(rows))
        for number in sums:
            if number > 0.0:
                found -= number * np.log2(number)
    return max(0.0, float(found))


@kernel
def tells(before: float, after: float, rows: int, is_number: bool, least_bits: float) -> bool:
    """Return whether dividing rows makes their target likelier by more bits than are asked, at the most likely
    parameters.

    Of classes the bits are what the spread falls by; of normally distributed numbers half the rows times the logarithm
    of what it falls to.
    """
    saved = before - after
    if saved <= ROUNDING * rows:
        return False
    if is_number:
        saved = rows / 2 * np.log2(before / max(after, ROUNDING * before))
    return bool(saved > least_bits)


@kernel
def total_spread(rows: IntArray, sums: FloatArray, is_number: bool) -> float:
    """Return the spread of all groups.

    IN   rows  (groups,) int64
    IN   sums  (groups, classes) float64: the rows of each class; or (groups, 2): numbers and squares
    """
    total = 0.0
    for group in range(len(rows)):
        total += spread(rows[group], sums[group], is_number)
    return total
