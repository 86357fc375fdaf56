"""Counting groups by many sets of columns at once: what must go until every group by every set has k rows.

Tuples have a row of label codes for each column and level. A tuple's place by a set is a sum of its codes times
strides, or was numbered beforehand where label combinations are far more than tuples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import IntArray
from indistinct.kernel import kernel

COUNTS, PLACES, FAILS, FAILING, K = range(5)
"""The columns of ``entries``: where a set's counts, its tuples' places (-1: none) and its failing tuples start, how
many those are, and the k that is asked for."""


@kernel
def _place(codes: Any, rows: IntArray, strides: IntArray, one: int) -> int:
    """Return the place of a tuple by a set of columns: the sum of its codes times their strides."""
    place = 0
    for column in range(rows.shape[0]):
        place += np.int64(codes[rows[column], one]) * strides[column]
    return place


@kernel
def _place_by(codes: Any, rows: Any, strides: Any, number: int, one: int) -> int:
    """Return the place of a tuple by one of several sets."""
    place = 0
    for column in range(rows.shape[1]):
        place += np.int64(codes[rows[number, column], one]) * strides[number, column]
    return place


@kernel
def _place_taken(sets: Any, pools: Any, number: int, taken: Any, near: Any, position: int) -> int:
    """Return where one of several sets counts a tuple that was taken, by its codes that lie near each other."""
    strides, entries = sets[1], sets[2]
    codes, row_of = near
    start, at = entries[number, COUNTS], entries[number, PLACES]
    if at >= 0:
        return int(start + pools[1][at + taken[position]])
    place = start
    for column in range(strides.shape[1]):
        place += np.int64(codes[row_of[number, column], position]) * strides[number, column]
    return int(place)


@kernel
def _subtract(sets: Any, pools: Any, number: int, taken: Any, near: Any, span: Any, sizes: Any) -> bool:
    """Take tuples out of the counts of a set; return whether a place is left with too few rows."""
    counts, k = pools[0], sets[2][number, K]
    begin, end = span
    may_be_short = False
    for position in range(begin, end):
        place = _place_taken(sets, pools, number, taken, near, position)
        counts[place] -= sizes[taken[position]]
        may_be_short |= 0 < counts[place] < k  # or nothing will be left there
    if may_be_short:
        for position in range(begin, end):
            if 0 < counts[_place_taken(sets, pools, number, taken, near, position)] < k:
                return True
    return False


@kernel
def _gather(codes: Any, rows: IntArray, taken: Any, span: Any, near: Any) -> None:
    """Write the codes of some tuples that were taken, a row of each column, where they lie near each other."""
    for row in range(rows.shape[0]):
        for position in range(span[0], span[1]):
            near[row, position] = codes[rows[row], taken[position]]


@kernel
def _fewest(sets: Any, number: int, one: int, codes: Any, index: Any) -> tuple[int, int, int]:
    """Return the row of codes of a set by which fewest tuples are like this one, and where these stand in the index."""
    rows, strides = sets[0], sets[1]
    starts, first = index[0], index[1]
    best, begin, end = -1, 0, 0
    for column in range(rows.shape[1]):
        if strides[number, column] > 0:  # the set has so many columns
            row = rows[number, column]
            at = first[row] + codes[row, one]
            if best < 0 or starts[at + 1] - starts[at] < end - begin:
                best, begin, end = row, starts[at], starts[at + 1]
    return best, begin, end


@kernel
def _more_failing(codes: Any, sets: Any, pools: Any, number: int, is_gone: Any, taken: Any, at: Any) -> int:
    """Write the tuples that are not gone and share a place by a set with others that went, where too few rows are left.

    IN   at  begin, end: those that went last; and the index of labels
    """
    rows, strides, entries = sets
    counts, places = pools[0], pools[1]
    start, numbered, k = entries[number, COUNTS], entries[number, PLACES], entries[number, K]
    begin, end, index = at
    found = end
    for position in range(begin, end):
        one = taken[position]
        place = places[numbered + one] if numbered >= 0 else _place_by(codes, rows, strides, number, one)
        if not 0 < counts[start + place] < k:
            continue
        row, first, last = _fewest(sets, number, one, codes, index)
        for member in range(first, last):
            other = index[2][row, member]
            if is_gone[other]:
                continue
            there = places[numbered + other] if numbered >= 0 else _place_by(codes, rows, strides, number, other)
            if there == place:
                is_gone[other] = True
                taken[found] = other
                found += 1
    return int(found - end)


@kernel
def index_labels(codes: Any, first: IntArray, starts: Any, members: Any) -> None:
    """Sort tuples by their label, for each column and level.

    IN   codes    (rows of all columns and levels, tuples) int32
    IN   first    (rows,) int64: where the labels of each row start in ``starts``, which has one more place for each row
    OUT  starts   int64, 0 before: where the tuples of each label start among the members of its row
    OUT  members  (rows, tuples) int32: tuples, by label
    """
    for row in range(codes.shape[0]):
        own = starts[first[row] :]
        last = 0
        for one in range(codes.shape[1]):
            last = max(last, codes[row, one] + 1)
            own[codes[row, one] + 1] += 1
        for label in range(last):
            own[label + 1] += own[label]
        for one in range(codes.shape[1]):
            members[row, own[codes[row, one]]] = one
            own[codes[row, one]] += 1
        for label in range(last, 0, -1):
            own[label] = own[label - 1]
        own[0] = 0


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
    """Return the rows at places that have fewer than k."""
    rows = 0
    for place in range(counts.shape[0]):
        if counts[place] < k:
            rows += int(counts[place])
    return rows


@kernel
def failing_tuples(codes: Any, rows: IntArray, strides: IntArray, places: Any, counts: Any, k: int) -> Any:
    """Return the tuples whose places have fewer than k rows.

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


@kernel
def _rows_in_use(number: int, rows: Any) -> tuple[Any, Any]:
    """Return the different rows of codes that sets have, and the number of each set's among these."""
    number_of, used = np.full(number, -1, np.int64), np.empty(number, np.int64)
    found, row_of = 0, np.empty_like(rows)
    for one in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            row = rows[one, column]
            if number_of[row] < 0:
                number_of[row] = found
                used[found] = row
                found += 1
            row_of[one, column] = number_of[row]
    return used[:found], row_of


@kernel
def take_out(codes: Any, sizes: Any, sets: Any, pools: Any, gone: Any, at_most: int, index: Any) -> tuple[int, int]:
    """Take failing tuples out until no set of columns has a group of fewer than k rows; stop beyond ``at_most`` rows.

    IN   sets   rows, strides (sets, columns) int64, padded by strides of 0; entries (sets, 5) int64, see above
    IN   index  starts, first, members: what ``index_labels`` writes
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
    if lost <= at_most and number > 0:
        rows, row_of = _rows_in_use(codes.shape[0], sets[0])
        near = np.empty((rows.shape[0], min(at_most, taken.shape[0])), codes.dtype), row_of
        _gather(codes, rows, taken, (0, number), near[0])
        done = np.zeros(entries.shape[0], np.int64)
        is_open = True
        while is_open and lost <= at_most:
            is_open = False
            for one in range(entries.shape[0]):
                begin, until = done[one], number
                is_short = _subtract(sets, pools, one, taken, near, (begin, until), sizes)
                done[one] = until
                if is_short:
                    number += _more_failing(codes, sets, pools, one, is_gone, taken, (begin, until, index))
                    for position in range(until, number):
                        lost += int(sizes[taken[position]])
                    is_open = True
                if lost > at_most:
                    break
                _gather(codes, rows, taken, (until, number), near[0])
        for one in range(entries.shape[0]):
            for position in range(done[one]):
                pools[0][_place_taken(sets, pools, one, taken, near, position)] += sizes[taken[position]]
    for position in range(number):
        is_gone[taken[position]] = False
    return number, lost
