"""Counting groups by many sets of columns at once: what must go until every group by every set has k rows.

Tuples have a row of label codes for each column and level. A tuple's place by a set is a sum of its codes times
strides, or was numbered beforehand where label combinations are far more than tuples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.kernels.array_types import IntArray
from indistinct.kernels.kernel import kernel

COUNTS, PLACES, FAILS, FAILING, K = range(5)
"""The columns of ``entries``: where a set's counts, its tuples' places (-1: none) and its failing tuples start, how
many those are, and the k that is asked for."""


@kernel
def _place(codes: Any, rows: IntArray, strides: IntArray, one: int) -> int:
    """Give the place of a tuple by a set of columns: the sum of its codes times their strides."""
    place = 0
    for column in range(rows.shape[0]):
        place += np.int64(codes[rows[column], one]) * strides[column]
    return place


@kernel
def _place_by(codes: Any, rows: Any, strides: Any, number: int, one: int) -> int:
    """Give the place of a tuple by one of several sets."""
    place = 0
    for column in range(rows.shape[1]):
        place += np.int64(codes[rows[number, column], one]) * strides[number, column]
    return place


@kernel
def _subtract(codes: Any, sets: Any, pools: Any, number: int, taken: Any, sizes: Any) -> bool:
    """Take tuples out of the counts of a set; tell whether a place is left with too few rows."""
    rows, strides, entries = sets
    counts, places = pools[0], pools[1]
    start, at, k = entries[number, COUNTS], entries[number, PLACES], entries[number, K]
    is_short = False
    for position in range(taken.shape[0]):
        one = taken[position]
        place = start + (np.int64(places[at + one]) if at >= 0 else _place_by(codes, rows, strides, number, one))
        counts[place] -= sizes[one]
    for position in range(taken.shape[0]):
        one = taken[position]
        place = start + (np.int64(places[at + one]) if at >= 0 else _place_by(codes, rows, strides, number, one))
        if 0 < counts[place] < k:
            is_short = True
            break
    return is_short


@kernel
def _put_back(codes: Any, sets: Any, pools: Any, number: int, taken: Any, sizes: Any) -> None:
    """Add tuples to the counts of a set again."""
    rows, strides, entries = sets
    counts, places = pools[0], pools[1]
    start, at = entries[number, COUNTS], entries[number, PLACES]
    for position in range(taken.shape[0]):
        one = taken[position]
        place = start + (np.int64(places[at + one]) if at >= 0 else _place_by(codes, rows, strides, number, one))
        counts[place] += sizes[one]


@kernel
def _more_failing(codes: Any, sets: Any, pools: Any, number: int, is_gone: Any, taken: Any) -> int:
    """Write the tuples that are not gone and whose places by a set have too few rows; return how many they are."""
    rows, strides, entries = sets
    counts, places = pools[0], pools[1]
    start, at, k = entries[number, COUNTS], entries[number, PLACES], entries[number, K]
    found = 0
    for one in range(is_gone.shape[0]):
        place = start + (np.int64(places[at + one]) if at >= 0 else _place_by(codes, rows, strides, number, one))
        if 0 < counts[place] < k and not is_gone[one]:
            is_gone[one] = True
            taken[found] = one
            found += 1
    return found


@kernel
def count_places(codes: Any, rows: IntArray, strides: IntArray, chosen: Any, sizes: Any, counts: Any) -> None:
    """Add the rows of some tuples to the counts of their places.

    IN   codes   (rows of all columns and levels, tuples) int32
    IN   rows    (columns of the set,) int64: which row of ``codes`` each column has here
    IN   chosen  (entries,) int32: tuples; sizes (entries,): their rows
    OUT  counts  (places,)
    """
    for entry in range(chosen.shape[0]):
        counts[_place(codes, rows, strides, chosen[entry])] += sizes[entry]


@kernel
def represent(codes: Any, rows: IntArray, strides: IntArray, sizes: Any, counts: Any, firsts: Any) -> int:
    """Count tuples by a set of columns and remember one tuple of each place; return the number of places in use.

    OUT  counts  (places,) 0 before; firsts (places,) int32
    """
    used = 0
    for one in range(sizes.shape[0]):
        place = _place(codes, rows, strides, one)
        if counts[place] == 0:
            firsts[place] = one
            used += 1
        counts[place] += sizes[one]
    return used


@kernel
def failing_rows(counts: Any, k: int) -> int:
    """Give the rows at places that have fewer than k."""
    rows = 0
    for place in range(counts.shape[0]):
        if counts[place] < k:
            rows += int(counts[place])
    return rows


@kernel(allocates=True)
def failing_tuples(codes: Any, rows: IntArray, strides: IntArray, places: Any, counts: Any, k: int) -> Any:
    """Give the tuples whose places have fewer than k rows.

    IN   places  (tuples,) int32 if they were numbered beforehand, else empty
    OUT  (failing tuples,) int32
    """
    tuples = codes.shape[1]
    found = np.empty(tuples, np.int32)
    number = 0
    for one in range(tuples):
        place = np.int64(places[one]) if places.shape[0] > 0 else _place(codes, rows, strides, one)
        if 0 < counts[place] < k:
            found[number] = one
            number += 1
    return found[:number].copy()


@kernel(allocates=True)
def take_out(codes: Any, sizes: Any, sets: Any, pools: Any, gone: Any, at_most: int) -> tuple[int, int]:
    """Take failing tuples out until no set of columns has a group of fewer than k rows; stop beyond ``at_most`` rows.

    IN   sets   rows, strides (sets, columns) int64, padded by strides of 0; entries (sets, 5) int64, see above
    IN   pools  counts, places (int32) and failing tuples (int32) of all sets, one after the other; counts are changed
                on the way, and are the same again in the end
    OUT  gone   is_gone (tuples,) bool, all False before and after; taken (tuples,) int32: the tuples that go
    Return how many those are, and their rows.
    """
    entries, fails = sets[2], pools[2]
    is_gone, taken = gone
    number, lost = 0, 0
    for one in range(entries.shape[0]):
        start = entries[one, FAILS]
        for position in range(start, start + entries[one, FAILING]):
            failing = fails[position]
            if not is_gone[failing]:
                is_gone[failing] = True
                taken[number] = failing
                number += 1
                lost += int(sizes[failing])
        if lost > at_most:
            break
    done = np.zeros(entries.shape[0], np.int64)
    is_open = number > 0
    while is_open and lost <= at_most:
        is_open = False
        for one in range(entries.shape[0]):
            until = number
            is_short = _subtract(codes, sets, pools, one, taken[done[one] : until], sizes)
            done[one] = until
            if is_short:
                number += _more_failing(codes, sets, pools, one, is_gone, taken[until:])
                for position in range(until, number):
                    lost += int(sizes[taken[position]])
                is_open = True
            if lost > at_most:
                break
    for one in range(entries.shape[0]):
        _put_back(codes, sets, pools, one, taken[: done[one]], sizes)
    for position in range(number):
        is_gone[taken[position]] = False
    return number, lost
