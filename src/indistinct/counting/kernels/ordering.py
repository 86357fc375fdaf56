"""Order, sum and extremes of arrays: parts of kernels, which compile in a tenth of the time that numba's own take."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.kernel import kernel


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
