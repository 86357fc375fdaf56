"""Counting groups at a node straight from value codes: the kernels that an exact search spends its time in.

Neighbouring columns of a key form a chunk of at most a few thousand values, so a tuple's place at any node is a sum of
a few table look-ups, one per chunk. Lists hold the key of one tuple for each group, never label codes, so one table
per chunk and levels serves every list. Places are addressed directly where they are few, and hashed otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import IntArray, UIntArray
from indistinct.kernel import kernel

WORD, SHIFT, MASK, OFFSET, STRIDE, OUT_WORD = range(6)
"""The columns of ``chunks``: where a chunk lies in the key, where its table starts, and how its index enters."""
FEW_PLACES = 1 << 17
"""A place takes much less time than a tuple: so many are passed through without being compiled."""
FUSED_CHUNKS = 4
"""With so many chunks and one word a place is computed in one expression; a spare chunk has mask 0 and offset 0."""


@kernel
def _part(chunks: IntArray, chunk: int) -> tuple[Any, Any, int, Any]:
    """Return shift, mask, table offset and stride of a chunk in the types that the look-up needs."""
    return (
        np.uint64(chunks[chunk, SHIFT]),
        np.uint64(chunks[chunk, MASK]),
        chunks[chunk, OFFSET],
        np.uint64(chunks[chunk, STRIDE]),
    )


@kernel
def _indices(keys: UIntArray, chunks: IntArray, tables: Any, indices: UIntArray) -> None:
    """Write the group index of each tuple: the sum of its chunks' indices times their strides.

    IN   keys    (tuples, words) uint64: value codes, one bit field per column
    IN   tables  uint32: index of each value of a chunk within the chunk; tables[0] is 0
    OUT  indices (tuples, out words) uint64
    """
    tuples = keys.shape[0]
    if keys.shape[1] == 1 and indices.shape[1] == 1 and chunks.shape[0] == FUSED_CHUNKS:
        shift0, mask0, offset0, stride0 = _part(chunks, 0)
        shift1, mask1, offset1, stride1 = _part(chunks, 1)
        shift2, mask2, offset2, stride2 = _part(chunks, 2)
        shift3, mask3, offset3, stride3 = _part(chunks, 3)
        table0, table1, table2, table3 = tables[offset0:], tables[offset1:], tables[offset2:], tables[offset3:]
        for row in range(tuples):
            key = keys[row, 0]
            indices[row, 0] = (
                table0[(key >> shift0) & mask0] * stride0
                + table1[(key >> shift1) & mask1] * stride1
                + table2[(key >> shift2) & mask2] * stride2
                + table3[(key >> shift3) & mask3] * stride3
            )
        return
    indices[:tuples] = 0
    for chunk in range(chunks.shape[0]):
        shift, mask, offset, stride = _part(chunks, chunk)
        word, out_word = chunks[chunk, WORD], chunks[chunk, OUT_WORD]
        table = tables[offset:]
        for row in range(tuples):
            indices[row, out_word] += table[(keys[row, word] >> shift) & mask] * stride


@kernel(rows="keys")
def count_dense(keys: UIntArray, counts: Any, chunks: IntArray, tables: Any, dense: int, sizes: Any) -> None:
    """Return each place its rows: ``locate`` without the tuples' places, for one word and ``FUSED_CHUNKS`` chunks.

    OUT  sizes  (places,): the rows at each place
    """
    shift0, mask0, offset0, stride0 = _part(chunks, 0)
    shift1, mask1, offset1, stride1 = _part(chunks, 1)
    shift2, mask2, offset2, stride2 = _part(chunks, 2)
    shift3, mask3, offset3, stride3 = _part(chunks, 3)
    table0, table1, table2, table3 = tables[offset0:], tables[offset1:], tables[offset2:], tables[offset3:]
    sizes[:dense] = 0
    for row in range(keys.shape[0]):
        key = keys[row, 0]
        place = (
            table0[(key >> shift0) & mask0] * stride0
            + table1[(key >> shift1) & mask1] * stride1
            + table2[(key >> shift2) & mask2] * stride2
            + table3[(key >> shift3) & mask3] * stride3
        )
        sizes[place] += counts[row]


@kernel(rows="keys")
def locate(keys: UIntArray, counts: Any, chunks: IntArray, tables: Any, dense: int, work: Any) -> int:
    """Return each tuple the place of its group at a node, and each place its rows; return the number of places.

    IN   counts  (tuples,) rows of each tuple, none of them 0
    IN   chunks  (chunks, 6) int64, see above
    IN   dense   the number of indices if places are addressed by them, 0 if they are hashed
    OUT  work    indices (tuples, out words) uint64, place_of (tuples,) int32, sizes (places,), heads (places,) int32:
                 the place of each tuple, the rows at each place (0: unused), its first tuple (hashed places only)
    """
    indices, place_of, sizes, heads = work
    tuples, out_words = keys.shape[0], indices.shape[1]
    _indices(keys, chunks, tables, indices)
    if dense > 0:
        sizes[:dense] = 0
        for row in range(tuples):
            index = np.int64(indices[row, 0])
            place_of[row] = index
            sizes[index] += counts[row]
        return dense
    places = 16
    while 2 * places < 3 * tuples:
        places *= 2
    last = np.uint64(places - 1)
    sizes[:places] = 0
    for row in range(tuples):
        mixed = np.uint64(0)
        for word in range(out_words):
            mixed = (mixed ^ indices[row, word]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        place = mixed & last
        while sizes[place] != 0:
            is_same = True
            for word in range(out_words):
                if indices[heads[place], word] != indices[row, word]:
                    is_same = False
            if is_same:
                break
            place = (place + np.uint64(1)) & last
        if sizes[place] == 0:
            heads[place] = row
        sizes[place] += counts[row]
        place_of[row] = place
    return places


@kernel
def count_people(entries: Any, place_of: Any, places: int, people: Any, last: Any) -> None:
    """Return each place its different people, after ``locate``.

    IN   entries  singles (tuples,): the people who stand in this tuple alone; groups, persons (entries,) int32: the
                  tuples of all others, person by person
    OUT  people (places,), last (places,) int32: the people at each place, and the last of the others there
    """
    singles, groups, persons = entries
    people[:places] = 0
    last[:places] = -1
    for row in range(singles.shape[0]):
        people[place_of[row]] += singles[row]
    for entry in range(groups.shape[0]):
        place = place_of[groups[entry]]
        if last[place] != persons[entry]:
            last[place] = persons[entry]
            people[place] += 1


@kernel
def merge_people(entries: Any, place_of: Any, group_at: Any, number: int, enough: int, last: Any) -> Any:
    """Return the entries of a shorter list, after ``merge``: each person once for each group that is not full.

    IN   group_at  (places,) int32: the group of each place
    IN   number    of groups
    IN   enough    a group is full if so many stand in it alone; nobody else is told apart there or above
    OUT  last      (places,) int32: scratch
    OUT  singles (groups,), groups, persons (entries,) int32
    """
    singles, groups, persons = entries
    last[: group_at.shape[0]] = -1
    merged_singles = np.zeros(number, np.int32)
    for row in range(singles.shape[0]):
        merged_singles[group_at[place_of[row]]] += singles[row]
    merged_groups, merged_persons = np.empty_like(groups), np.empty_like(persons)
    kept, first, before = 0, 0, -1
    for entry in range(groups.shape[0]):
        person = persons[entry]
        if person != before:
            if kept == first + 1:  # the one before stands in one group alone now
                kept = first
                merged_singles[merged_groups[kept]] += 1
            first, before = kept, person
        place = place_of[groups[entry]]
        if last[place] != person:
            last[place] = person
            group = group_at[place]
            if merged_singles[group] < enough:
                merged_groups[kept] = group
                merged_persons[kept] = person
                kept += 1
    if kept == first + 1:
        kept = first
        merged_singles[merged_groups[kept]] += 1
    return merged_singles, merged_groups[:kept].copy(), merged_persons[:kept].copy()


@kernel(rows="places", few=FEW_PLACES)
def rows_in_small(sizes: Any, crowds: Any, places: int, k: int) -> int:
    """Return the rows of groups whose crowd is smaller than ``k``, after ``locate``.

    A group's crowd is its rows, or its people where those have several rows.
    """
    rows = 0
    for place in range(places):
        rows += sizes[place] if crowds[place] < k else 0
    return rows


@kernel(rows="places", few=FEW_PLACES)
def tally(sizes: Any, crowds: Any, places: int, k: int) -> tuple[int, int, float, float]:
    """Return the number of groups whose crowd is below ``k`` and of all others, and the sums of squared sizes of
    both.
    """
    small, large, small_squares, large_squares = 0, 0, 0.0, 0.0
    for place in range(places):
        size = float(sizes[place])
        if crowds[place] >= k:
            large += 1
            large_squares += size * size
        elif size > 0:
            small += 1
            small_squares += size * size
    return small, large, small_squares, large_squares


@kernel(rows="keys")
def sum_over_small(keys: UIntArray, counts: Any, chunks: IntArray, values: Any, k: int, at: Any) -> float:
    """Sum a number per chunk value over all rows in groups whose crowd is smaller than ``k``, after ``locate``.

    IN   values  float64, in the places of ``tables``
    IN   at      place_of and crowds
    """
    place_of, crowds = at
    total = 0.0
    for row in range(keys.shape[0]):
        if crowds[place_of[row]] < k:
            number = 0.0
            for chunk in range(chunks.shape[0]):
                shift, mask, offset, _ = _part(chunks, chunk)
                number += values[offset + np.int64((keys[row, chunks[chunk, WORD]] >> shift) & mask)]
            total += number * counts[row]
    return total


@kernel(rows="places", few=FEW_PLACES)
def tally_by_k(sizes: Any, crowds: Any, places: int, ks: IntArray, into: Any) -> tuple[int, float]:
    """Return, for each k, what the groups hold whose crowd is smaller than k, after ``locate``.

    IN   ks  (ks,) int64, rising
    OUT  into  rows, groups, squares, each (ks,): their rows, their number, the sum of their squared sizes
    OUT  the number of all groups and the sum of all squared sizes
    """
    rows, groups, squares = into
    largest = ks[-1]
    rows_of, groups_of, squares_of = np.zeros(largest, np.int64), np.zeros(largest, np.int64), np.zeros(largest)
    all_groups, all_squares = 0, 0.0
    for place in range(places):
        size = np.int64(sizes[place])
        if size > 0:
            square = float(size) * float(size)
            all_groups += 1
            all_squares += square
            crowd = crowds[place]
            if crowd < largest:
                rows_of[crowd] += size
                groups_of[crowd] += 1
                squares_of[crowd] += square
    next_size, some_rows, some_groups, some_squares = 1, 0, 0, 0.0
    for position in range(ks.shape[0]):
        while next_size < ks[position]:
            some_rows += rows_of[next_size]
            some_groups += groups_of[next_size]
            some_squares += squares_of[next_size]
            next_size += 1
        rows[position] = some_rows
        groups[position] = some_groups
        squares[position] = some_squares
    return all_groups, all_squares


@kernel(rows="keys")
def sum_by_k(keys: UIntArray, counts: Any, chunks: IntArray, values: Any, ks: IntArray, sums: Any, at: Any) -> None:
    """Sum, for each k, a number per chunk value over the rows in groups whose crowd is below k, after ``locate``.

    IN   values  float64, in the places of ``tables``
    IN   at      place_of and crowds
    OUT  sums    (ks,) float64
    """
    place_of, crowds = at
    of_size = np.zeros(ks[-1], np.float64)
    for row in range(keys.shape[0]):
        size = crowds[place_of[row]]
        if size < ks[-1]:
            number = 0.0
            for chunk in range(chunks.shape[0]):
                shift, mask, offset, _ = _part(chunks, chunk)
                number += values[offset + np.int64((keys[row, chunks[chunk, WORD]] >> shift) & mask)]
            of_size[size] += number * counts[row]
    size, total = 1, 0.0
    for position in range(ks.shape[0]):
        while size < ks[position]:
            total += of_size[size]
            size += 1
        sums[position] = total


def merge(keys: UIntArray, places: int, work: Any) -> tuple[UIntArray, Any]:
    """Return one tuple and the rows of each group, after ``locate``: a shorter list that stands for the node and above.

    OUT  keys (groups, words) uint64 and counts (groups,), in order of first appearance
    OUT  work  its heads become the group of each place
    """
    sizes = work[2]
    groups = int(np.count_nonzero(sizes[:places]))
    merged = np.empty((groups, keys.shape[1]), np.uint64), np.empty(groups, sizes.dtype)
    _merge_tuples(keys, work, *merged)
    return merged


@kernel(rows="keys")
def _merge_tuples(keys: UIntArray, work: Any, merged_keys: UIntArray, merged_counts: Any) -> None:
    """Write the first tuple and the rows of each group."""
    _, place_of, sizes, heads = work
    group = 0
    for row in range(keys.shape[0]):
        place = place_of[row]
        if sizes[place] != 0:
            merged_counts[group] = sizes[place]
            sizes[place] = 0  # its other tuples have nothing to add
            heads[place] = group
            for word in range(keys.shape[1]):
                merged_keys[group, word] = keys[row, word]
            group += 1
