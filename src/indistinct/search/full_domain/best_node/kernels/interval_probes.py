"""Probing an interval of nodes: what the cells of each column keep at most, by one column that goes down at a time.

Of an interval, all nodes between a lower and an upper one, those with a column at some level lie below the upper node
with this one column lowered. The rows that stand among too few there are suppressed at all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.array_types import IntArray
from indistinct.kernel import kernel

DENSE = 4
"""Places are addressed directly up to so many for each tuple, and a few thousand more."""
FEW_PLACES = 4096
FINE = 8
"""Small groups are dropped as soon as groups have fewer tuples than this on average."""
OPEN, WORSE = 0, 1
"""Whether a node of the interval may still keep enough."""


class TupleCodes(NamedTuple):
    """Tuples of a list.

    ``codes``   (columns, tuples) int32: the code of each cell
    ``counts``  (tuples,) int64: rows
    """

    codes: Any
    counts: Any


class LevelLabels(NamedTuple):
    """The labels of all columns and levels, one after the other, and what a cell keeps under them.

    ``maps``        int32: the label of each code
    ``map_at``      (columns, levels) int64: where the map of a level starts
    ``numbers``     (columns, levels) int64: how many labels a level has
    ``kept``        float64: what a cell keeps under each label
    ``label_at``    (columns, levels) int64: where the labels of a level start in this and the next three
    ``least_kept``  float64: the same within each level, rising
    ``least_rows``  int64: the rows under labels that keep so much or less, of the whole table
    ``least_sums``  float64: what these rows keep together
    """

    maps: Any
    map_at: Any
    numbers: Any
    kept: Any
    label_at: Any
    least_kept: Any
    least_rows: Any
    least_sums: Any


class LevelBounds(NamedTuple):
    """What is known of the nodes of an interval with a column at a level.

    ``kept``      (columns, levels) float64: what the cells of the column keep there at most
    ``gone``      (columns, levels) int64: the suppressed rows whose cells are not in that
    ``is_probed`` (columns, levels) bool: whether both are of the upper node with this one column lowered
    """

    kept: Any
    gone: Any
    is_probed: Any


class ProbeScratch(NamedTuple):
    """Scratch for so many tuples and places.

    ``groups``, ``active`` (tuples,) int32, ``counts`` (tuples,) int64; ``sizes``, ``keys`` (places,) int64,
    ``numbers`` (places,) int32; ``picks`` (columns,) int64: the levels at which columns keep most together
    """

    groups: Any
    active: Any
    counts: Any
    sizes: Any
    keys: Any
    numbers: Any
    picks: Any


@kernel
def _place_of(key: int, keys: Any, last: int) -> Any:
    """Return the place of a key among hashed ones: its own, or the free one that it may take."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    place = np.int64(mixed & np.uint64(last))
    while keys[place] != -1 and keys[place] != key:
        place = (place + 1) & last
    return place


@kernel
def _hashed_places(tuples: int) -> int:
    places = 16
    while places < 2 * tuples:
        places *= 2
    return places


@kernel
def _divide(codes: Any, labels: Any, number: int, tuples: int, groups: int, work: ProbeScratch) -> int:
    """Divide groups by the label of one column; return the number of groups then.

    IN   codes   (tuples,) int32; ``labels`` (codes,) int32; ``number`` of labels
    OUT  work    groups
    """
    divided = 0
    if groups * number <= DENSE * tuples + FEW_PLACES:
        work.numbers[: groups * number] = -1
        for row in range(tuples):
            key = work.groups[row] * np.int64(number) + labels[codes[work.active[row]]]
            if work.numbers[key] < 0:
                work.numbers[key] = divided
                divided += 1
            work.groups[row] = work.numbers[key]
        return divided
    places = _hashed_places(tuples)
    work.keys[:places] = -1
    for row in range(tuples):
        key = work.groups[row] * np.int64(number) + labels[codes[work.active[row]]]
        place = _place_of(key, work.keys, places - 1)
        if work.keys[place] == -1:
            work.keys[place] = key
            work.numbers[place] = divided
            divided += 1
        work.groups[row] = work.numbers[place]
    return divided


@kernel
def _drop_small(tuples: int, groups: int, k: int, work: ProbeScratch) -> tuple[int, int, int]:
    """Leave out the tuples of groups with fewer than k rows; return tuples, groups and the rows left out."""
    work.sizes[:groups] = 0
    for row in range(tuples):
        work.sizes[work.groups[row]] += work.counts[row]
    large, gone = 0, 0
    for group in range(groups):
        if work.sizes[group] >= k:
            work.numbers[group] = large
            large += 1
        else:
            work.numbers[group] = -1
            gone += work.sizes[group]
    left = 0
    for row in range(tuples):
        group = work.numbers[work.groups[row]]
        if group >= 0:
            work.groups[left] = group
            work.active[left] = work.active[row]
            work.counts[left] = work.counts[row]
            left += 1
    return left, large, gone


@kernel
def _group_at(
    node: IntArray, tuples: TupleCodes, labels: LevelLabels, k: int, work: ProbeScratch
) -> tuple[int, int, int]:
    """Group tuples at a node and leave small groups out; return tuples, groups and the rows left out."""
    number, groups, gone = tuples.counts.shape[0], 1, 0
    for row in range(number):
        work.groups[row] = 0
        work.active[row] = row
        work.counts[row] = tuples.counts[row]
    for column in range(node.shape[0]):
        level = node[column]
        if labels.numbers[column, level] > 1:
            own = labels.maps[labels.map_at[column, level] :]
            groups = _divide(tuples.codes[column], own, labels.numbers[column, level], number, groups, work)
            if FINE * groups > number:  # many are small already
                number, groups, small = _drop_small(number, groups, k, work)
                gone += small
    number, groups, small = _drop_small(number, groups, k, work)
    return number, groups, gone + small


@kernel
def _probe_level(
    codes: Any, labels: LevelLabels, column: int, level: int, tuples: int, groups: int, k: int, work: ProbeScratch
) -> tuple[int, float]:
    """Divide groups by the labels of a column at a level; return the rows in small ones, and what other cells keep."""
    number, own = labels.numbers[column, level], labels.maps[labels.map_at[column, level] :]
    kept = labels.kept[labels.label_at[column, level] :]
    sizes, small, total = work.sizes, 0, 0.0
    if groups * number <= DENSE * tuples + FEW_PLACES:
        sizes[: groups * number] = 0
        for row in range(tuples):
            sizes[work.groups[row] * np.int64(number) + own[codes[work.active[row]]]] += work.counts[row]
        place = 0
        for _ in range(groups):
            for label in range(number):
                rows = sizes[place]
                place += 1
                if rows >= k:
                    total += rows * kept[label]
                else:
                    small += rows
        return small, total
    places = _hashed_places(tuples)
    work.keys[:places] = -1
    sizes[:places] = 0
    for row in range(tuples):
        key = work.groups[row] * np.int64(number) + own[codes[work.active[row]]]
        place = _place_of(key, work.keys, places - 1)
        work.keys[place] = key
        sizes[place] += work.counts[row]
    for place in range(places):
        rows = sizes[place]
        if rows >= k:
            total += rows * kept[work.keys[place] % number]
        else:
            small += rows
    return small, total


@kernel
def _kept_by_few(labels: LevelLabels, column: int, level: int, rows: int) -> Any:
    """Return what so many rows keep in a column at a level at the least, whichever they are."""
    first, number = labels.label_at[column, level], labels.numbers[column, level]
    low, high = 0, number - 1
    while low < high:
        middle = (low + high) // 2
        if labels.least_rows[first + middle] >= rows:
            high = middle
        else:
            low = middle + 1
    before, sum_before = 0, 0.0
    if low > 0:
        before, sum_before = labels.least_rows[first + low - 1], labels.least_sums[first + low - 1]
    return sum_before + (rows - before) * labels.least_kept[first + low]


@kernel
def _most_in_column(
    labels: LevelLabels, column: int, ends: IntArray, known: LevelBounds, gone: int, rows: int
) -> tuple[float, int]:
    """Return what a column keeps at most, and its level, where so many rows are suppressed; -1 if no level allows
    it.
    """
    most, pick, least = -1.0, -1, gone
    for level in range(ends[1, column], ends[0, column] - 1, -1):
        least = max(least, known.gone[column, level])
        if least > rows:
            break
        kept, left_out = known.kept[column, level], known.gone[column, level]
        if rows > left_out:
            kept -= _kept_by_few(labels, column, level, rows - left_out)
        if kept > most:
            most, pick = kept, level
    return most, pick


@kernel
def most_kept(
    labels: LevelLabels, ends: IntArray, known: LevelBounds, gone: int, most_rows: int, picks: IntArray
) -> tuple[float, int]:
    """Return what all cells keep at most at any node of an interval, and how many rows are suppressed there at the
    least.

    A node suppresses no fewer rows than any of its columns has suppressed by itself. So for each number of rows that
    some column has suppressed, each column keeps what it keeps most at its levels that suppress no more.

    IN   ends       (2, columns) int64: the lower and the upper node
    IN   gone       rows that all nodes of the interval suppress; ``most_rows`` that may be suppressed
    OUT  picks      (columns,) int64: the levels at which that is reached
    """
    columns = ends.shape[1]
    best, best_rows, before = -1.0, gone, -1
    for other in range(columns):
        least = gone
        for level in range(ends[1, other], ends[0, other] - 1, -1):
            least = max(least, known.gone[other, level])
            if least > most_rows:
                break
            if least == before:
                continue
            before = least
            total = 0.0
            for column in range(columns):
                kept, _ = _most_in_column(labels, column, ends, known, gone, least)
                if kept < 0:
                    total = -1.0
                    break
                total += kept
            if total > best:
                best, best_rows = total, least
    for column in range(columns):
        _, picks[column] = _most_in_column(labels, column, ends, known, gone, best_rows)
    return best, best_rows


@kernel
def _are_probed(known: LevelBounds, picks: IntArray) -> bool:
    number = 0
    for column in range(picks.shape[0]):
        number += known.is_probed[column, picks[column]]
    return bool(number == picks.shape[0])


@kernel
def probe(
    tuples: TupleCodes,
    labels: LevelLabels,
    ends: IntArray,
    k: int,
    most_rows: int,
    gone: int,
    enough: float,
    known: LevelBounds,
    work: ProbeScratch,
) -> tuple[int, float, int, int]:
    """Lower one column at a time from the upper node of an interval, until it is known what its nodes keep at most.

    IN   most_rows  the most rows that may be suppressed
    IN   gone       those that all nodes of the interval are known to suppress
    IN   enough     what must be kept for a node to be of use
    OUT  known      what is found out; levels that suppress too many rows have more than may be
    OUT  work       picks: the levels at which columns keep most together
    OUT  OPEN or WORSE, what is kept at most, the rows suppressed where it is, and those that all nodes suppress
    """
    best, rows = most_kept(labels, ends, known, gone, most_rows, work.picks)
    if best < enough:
        return WORSE, best, rows, gone
    if _are_probed(known, work.picks):
        return OPEN, best, rows, gone
    number, groups, gone = _group_at(ends[1], tuples, labels, k, work)
    if gone > most_rows:
        return WORSE, -1.0, gone, gone
    while True:
        best, rows = most_kept(labels, ends, known, gone, most_rows, work.picks)
        if best < enough:
            return WORSE, best, rows, gone
        if _are_probed(known, work.picks):
            return OPEN, best, rows, gone
        for column in range(ends.shape[1]):
            level = work.picks[column]
            if not known.is_probed[column, level]:
                small, kept = _probe_level(tuples.codes[column], labels, column, level, number, groups, k, work)
                known.is_probed[column, level] = True
                known.kept[column, level] = kept
                known.gone[column, level] = gone + small
