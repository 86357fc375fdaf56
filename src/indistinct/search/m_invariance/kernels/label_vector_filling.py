"""Label vector filling: balanced groups under the cheapest labels that have them, and no two groups under the same
labels.

A *label vector* is one label of each column. A group is balanced if each of its values has equally many rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.counting.kernels.grouping import highest_of, sort_points, total_of
from indistinct.kernel import kernel

NOBODY = -1
CARE = 0.5
"""How many rows of rare values are kept for later groups; with 0 a group takes all that its label vector has."""
MOST_TRIES = 32
"""Of a label vector with many values so many frequencies are tried."""


class RowsToPlace(NamedTuple):
    """The rows that are to be placed.

    ``codes``  (rows, columns) int32 value codes; ``values`` (rows,) int64 sensitive values, below ``len(used)``
    ``pools``  (rows,) int64: rows of one pool may share a group; those of pool 0 are in groups of any values
    ``asked``  (pools,) int64: the values of a group, exactly so many, in pool 0 at least so many
    ``least``  the fewest rows of a group; ``used`` (values,) int64 is room
    """

    codes: Any
    values: Any
    pools: Any
    asked: Any
    least: int
    used: Any


class LabelKeys(NamedTuple):
    """What each value is called at each level.

    ``keys``   (columns, levels, values) int64: those of a row's labels add up to the key of its label vector
    ``nodes``  (nodes, columns) int64 levels
    """

    keys: Any
    nodes: Any


class Filled(NamedTuple):
    """The groups: who is where, and which label vectors are taken.

    ``group_of``  (rows,) int64, NOBODY where there is none
    ``often``     (groups,) int64 rows of each value; ``pool``, ``node`` (groups,) int64
    ``has``       (groups, words) uint64: a bit for each value of the group
    ``slots``     (2, places) int64: keys of label vectors and the groups that own them, NOBODY where nobody does
    ``number``    (1,) int64 groups so far
    """

    group_of: Any
    often: Any
    pool: Any
    node: Any
    has: Any
    slots: Any
    number: Any


class Bench(NamedTuple):
    """What a label vector is looked at with.

    ``left``  rows by pool and value; ``keys`` of their label vectors, ``sequence`` of their places by label vector;
    ``is_taken``
    ``runs``  (3, values) int64: value, start and number of the rows of each value in the label vector
    """

    left: Any
    keys: Any
    sequence: Any
    is_taken: Any
    runs: Any


@kernel(rows="left")
def fill(left: Any, first: int, end: int, people: RowsToPlace, ladders: LabelKeys, filled: Filled) -> int:
    """Place rows label vector by label vector at some of the nodes; return how many are left, which then stand first.

    IN OUT  left  (rows,) int64, by pool and value
    """
    number = len(left)
    people.used[:] = 0
    for row in left:
        if people.pools[row] == 0:
            people.used[people.values[row]] += 1
    keys, is_taken = np.empty(number, np.int64), np.zeros(number, np.bool_)
    runs = np.empty((3, len(people.used)), np.int64)
    sequence, spare = np.empty(number, np.int64), np.empty(number, np.int64)
    for node in range(first, end):
        for place in range(number):
            keys[place] = key_of(left[place], node, people.codes, ladders.keys, ladders.nodes)
        for place in range(number):
            sequence[place] = place
        sort_points(0, number, sequence, keys, spare)
        bench = Bench(left, keys, sequence, is_taken, runs)
        start = 0
        while start < number:
            stop = start + 1
            while stop < number and keys[sequence[stop]] == keys[sequence[start]]:
                stop += 1
            visit_label_vector(start, stop, node, bench, people, filled)
            start = stop
        kept = 0
        for place in range(number):
            if not is_taken[place]:
                left[kept] = left[place]
                kept += 1
            is_taken[place] = False
        number = kept
    return number


@kernel
def key_of(row: int, node: int, codes: Any, keys: Any, nodes: Any) -> int:
    """Return the key of a row's label vector at a node."""
    key = 0
    for column in range(codes.shape[1]):
        key += keys[column, nodes[node, column], codes[row, column]]
    return key


@kernel
def visit_label_vector(start: int, end: int, node: int, bench: Bench, people: RowsToPlace, filled: Filled) -> None:
    """Let the largest balanced group of a label vector have it; if a group of pool 0 does, let that take further
    values."""
    key = bench.keys[bench.sequence[start]]
    owner = filled.slots[1, slot_of(key, filled.slots)]
    if owner != NOBODY:
        if filled.pool[owner] == 0:
            join(owner, start, end, bench, people, filled)
        return
    best, best_start, best_end = 0, start, start
    while start < end:
        pool = people.pools[bench.left[bench.sequence[start]]]
        stop = start
        while stop < end and people.pools[bench.left[bench.sequence[stop]]] == pool:
            stop += 1
        if stop - start >= max(people.asked[pool], best + 1):
            often, different = choose(pool, start, stop, bench, people)
            if often * different > best and often * different >= people.least:
                best, best_start, best_end = often * different, start, stop
        start = stop
    if best > 0:
        pool = people.pools[bench.left[bench.sequence[best_start]]]
        often, different = choose(pool, best_start, best_end, bench, people)
        group = filled.number[0]
        filled.number[0] += 1
        filled.pool[group], filled.often[group], filled.node[group] = pool, often, node
        slot = slot_of(key, filled.slots)
        filled.slots[0, slot], filled.slots[1, slot] = key, group
        for run in range(different):
            place_rows(group, run, often, bench, people, filled)


@kernel
def list_runs(start: int, end: int, bench: Bench, values: Any) -> int:
    """List where the rows of each value stand in a label vector; return how many values there are."""
    number = 0
    for place in range(start, end):
        value = values[bench.left[bench.sequence[place]]]
        if number == 0 or bench.runs[0, number - 1] != value:
            bench.runs[0, number], bench.runs[1, number], bench.runs[2, number] = value, place, 0
            number += 1
        bench.runs[2, number - 1] += 1
    return number


@kernel
def choose(pool: int, start: int, end: int, bench: Bench, people: RowsToPlace) -> tuple[int, int]:
    """Choose the values of a group; return how often each has a place, and how many they are: the first runs.

    Of pool 0, rows of values that many rows left have are worth more. Rare values are taken to make a group complete,
    and beyond that not where so many of the frequent ones would be left that they could not share groups.
    """
    number, asked = list_runs(start, end, bench, people.values), people.asked[pool]
    if number < asked or (pool > 0 and number != asked):
        return 0, 0
    runs, counts = bench.runs, people.used
    if pool > 0:
        fewest = runs[2, 0]
        for run in range(1, number):
            fewest = min(fewest, runs[2, run])
        return int(fewest), number
    for run in range(1, number):  # the most frequent value first
        place = run
        while place > 0 and counts[runs[0, place]] > counts[runs[0, place - 1]]:
            for part in range(3):
                runs[part, place], runs[part, place - 1] = runs[part, place - 1], runs[part, place]
            place -= 1
    most, total = highest_of(counts), total_of(counts)
    threshold = CARE * asked * most / total * most
    best, often, fewest = 0.0, 0, 0
    for tried in range(0, number, max(1, number // MOST_TRIES)):
        worth, different, each = 0.0, 0, runs[2, tried]
        for run in range(number):
            gain = counts[runs[0, run]] - threshold
            if runs[2, run] >= each and (gain > 0.0 or different < asked):
                worth += gain
                different += 1
        if different >= asked and each * worth > best:
            best, often, fewest = each * worth, each, different
    if often == 0:
        return 0, 0
    kept = 0
    for run in range(number):  # the chosen runs stand first
        if kept < fewest and runs[2, run] >= often:
            for part in range(3):
                runs[part, run], runs[part, kept] = runs[part, kept], runs[part, run]
            kept += 1
    if keeps_company(fewest, often, bench.runs, people):
        return often, fewest
    return (often, asked) if keeps_company(asked, often, bench.runs, people) else (0, 0)


@kernel
def keeps_company(different: int, often: int, runs: Any, people: RowsToPlace) -> bool:
    """Return whether the rows of pool 0 that the first runs leave can still share groups, or no worse than before."""
    counts, asked = people.used, people.asked[0]
    total = total_of(counts)
    slack = total - asked * highest_of(counts)
    for run in range(different):
        counts[runs[0, run]] -= often
    after = total - different * often - asked * highest_of(counts)
    for run in range(different):
        counts[runs[0, run]] += often
    return bool(after >= min(0, slack))


@kernel
def join(group: int, start: int, end: int, bench: Bench, people: RowsToPlace, filled: Filled) -> None:
    """Let a group of pool 0 take rows of values that it lacks, as often as it has others."""
    stop = start
    while stop < end and people.pools[bench.left[bench.sequence[stop]]] == 0:
        stop += 1
    number, often = list_runs(start, stop, bench, people.values), filled.often[group]
    for run in range(number):
        value = bench.runs[0, run]
        lacks = filled.has[group, value // 64] >> np.uint64(value % 64) & np.uint64(1) == np.uint64(0)
        if lacks and bench.runs[2, run] >= often:
            for part in range(3):
                bench.runs[part, 0], bench.runs[part, run] = bench.runs[part, run], bench.runs[part, 0]
            if keeps_company(1, often, bench.runs, people):
                place_rows(group, 0, often, bench, people, filled)
            for part in range(3):
                bench.runs[part, 0], bench.runs[part, run] = bench.runs[part, run], bench.runs[part, 0]


@kernel
def place_rows(group: int, run: int, often: int, bench: Bench, people: RowsToPlace, filled: Filled) -> None:
    """Let the first rows of a run come to a group."""
    value = bench.runs[0, run]
    filled.has[group, value // 64] |= np.uint64(1) << np.uint64(value % 64)
    for place in range(bench.runs[1, run], bench.runs[1, run] + often):
        placed = bench.sequence[place]
        bench.is_taken[placed] = True
        filled.group_of[bench.left[placed]] = group
        if people.pools[bench.left[placed]] == 0:
            people.used[value] -= 1


@kernel
def slot_of(key: int, slots: Any) -> int:
    """Return the slot of a key, or the empty one where it would stand; the number of slots is a power of two."""
    mask = slots.shape[1] - 1
    slot = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 2654435761 >> 15 & mask
    while slots[0, slot] != NOBODY and slots[0, slot] != key:
        slot = (slot + 1) & mask
    return int(slot)
