"""Matching released rows with rows of the original that they generalize, one to one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array
from indistinct.counting.kernels.grouping import highest_of, order_of
from indistinct.kernel import kernel

NOBODY = -1


class Originals(NamedTuple):
    """The tuples of the original, sorted by each column."""

    ranks: Array
    """(tuples, columns): the rank of each tuple's value"""
    offsets: Array
    """(columns,) int64: where each column's part of ``starts`` begins"""
    starts: Array
    """int64, per column and rank: where its tuples start in ``order[column]``"""
    order: Array
    """(columns, tuples) int64: the tuples by their rank in each column"""


class LabelCovers(NamedTuple):
    """What labels cover; those of all columns are numbered through."""

    low: Array
    high: Array
    """(labels,) int64: the first and last rank; a label that covers nothing has its low above its high"""
    bits_at: Array
    """(labels,) int64: where the bits of a label start in ``bits``; -1 if it covers all from low to high"""
    bits: Array
    """uint64: one bit a rank from low on, 64 a word"""


class Kept(NamedTuple):
    """The candidates of released tuples, as long as they are not too many; those of others are sought each time."""

    starts: Array
    """(released + 1,) int64: where those of each tuple begin; nothing is kept of one that begins where the next does"""
    rows: Array
    """int32: original tuples"""


@kernel
def _covers(label: int, rank: int, covers: LabelCovers) -> bool:
    """Return whether a label covers a value: by its run of ranks, and by its bits if it covers only some of the run."""
    low, high, bits_at, bits = covers
    if rank < low[label] or rank > high[label]:
        return False
    if bits_at[label] < 0:
        return True
    place = rank - low[label]
    word = bits[bits_at[label] + (place >> 6)]
    return bool((word >> np.uint64(place & 63)) & np.uint64(1))


@kernel
def _candidates(labels: Array, originals: Originals, covers: LabelCovers, found: Array) -> int:
    """Put the original tuples that one released tuple generalizes into ``found``, and give their number.

    The column in which its label covers fewest tuples is scanned, and the others are asked.
    """
    ranks, offsets, starts, order = originals
    low, high, _, _ = covers
    columns = len(labels)
    best, fewest = 0, np.int64(1) << np.int64(62)
    for column in range(columns):
        if high[labels[column]] < low[labels[column]]:
            return 0
        first = starts[offsets[column] + low[labels[column]]]
        last = starts[offsets[column] + high[labels[column]] + 1]
        if last - first < fewest:
            best, fewest = column, last - first
    number = 0
    start = starts[offsets[best] + low[labels[best]]]
    for place in range(start, start + fewest):
        original = order[best, place]
        fits = True
        for column in range(columns):
            if not _covers(labels[column], ranks[original, column], covers):
                fits = False
                break
        if fits:
            found[number] = original
            number += 1
    return number


@kernel
def people_that_fit(
    labels: Array, groups: Array, number: int, persons: Array, source: Originals, covers: LabelCovers
) -> Array:
    """Return the different people who have a row that some released tuple of a group generalizes.

    IN   labels   (released, columns) int64: the label of each released tuple, those of a group one after the other
    IN   groups   (released,) int64: the group of each
    IN   persons  (originals,) int64: the person of each original tuple
    OUT  people   (number,) int64
    """
    found = np.empty(len(persons), np.int64)
    last = np.full(highest_of(persons) + 1, NOBODY, np.int64)
    people = np.zeros(number, np.int64)
    for row in range(len(labels)):
        group = groups[row]
        for place in range(_candidates(labels[row], source, covers, found)):
            person = persons[found[place]]
            if last[person] != group:
                last[person] = group
                people[group] += 1
    return people


@kernel
def _candidates_again(row: int, labels: Array, source: Originals, covers: LabelCovers, kept: Kept, found: Array) -> int:
    """Put the candidates of a released tuple into ``found`` once more, and give their number; most were kept."""
    start, end = kept.starts[row], kept.starts[row + 1]
    if start == end:
        return _candidates(labels[row], source, covers, found)
    number = 0
    for place in range(start, end):
        found[number] = kept.rows[place]
        number += 1
    return number


@kernel
def _keep_candidates(
    labels: Array, source: Originals, covers: LabelCovers, most_kept: int, found: Array
) -> tuple[Array, Kept]:
    """Return how many candidates each released tuple has, and those of as many tuples as may be kept."""
    released = len(labels)
    choices = np.zeros(released, np.int64)
    kept_at = np.zeros(released + 1, np.int64)
    kept = np.empty(len(found), np.int32)
    for row in range(released):
        choices[row] = _candidates(labels[row], source, covers, found)
        kept_at[row + 1] = kept_at[row]
        needed = kept_at[row] + choices[row]
        if needed > len(kept) and needed <= most_kept:
            longer = np.empty(min(2 * needed, most_kept), np.int32)
            longer[: kept_at[row]] = kept[: kept_at[row]]
            kept = longer
        if needed <= len(kept):
            kept[kept_at[row] : needed] = found[: choices[row]]
            kept_at[row + 1] = needed
    return choices, Kept(kept_at, kept)


class Fit(NamedTuple):
    """Which row of the original each released row has; rows of the original are numbered through its tuples."""

    first_row: Array
    """(originals + 1,) int64: where the rows of each original tuple begin"""
    owner: Array
    """int64, per row of the original: the released tuple that has it, or NOBODY"""
    taken: Array
    """(originals,) int64: how many rows of each original tuple are taken, the first ones"""
    left: Array
    """(released,) int64: how many rows of each released tuple have none yet"""


@kernel
def _first_fit(
    labels: Array,
    wanted: Array,
    source: Originals,
    counts: Array,
    covers: LabelCovers,
    kept: Kept,
    order: Array,
    found: Array,
) -> Fit:
    """Give released tuples rows of the original in this order, each the first that are free."""
    originals = len(counts)
    first_row = np.zeros(originals + 1, np.int64)
    for original in range(originals):
        first_row[original + 1] = first_row[original] + counts[original]
    taken = np.zeros(originals, np.int64)
    owner = np.full(first_row[originals], NOBODY, np.int64)
    left = wanted.copy()
    for row in order:
        number = _candidates_again(row, labels, source, covers, kept, found)
        for place in range(number):
            if left[row] == 0:
                break
            original = found[place]
            share = min(left[row], counts[original] - taken[original])
            for unit in range(taken[original], taken[original] + share):
                owner[first_row[original] + unit] = row
            taken[original] += share
            left[row] -= share
    return Fit(first_row, owner, taken, left)


@kernel
def _exchange_along(fit: Fit, row: int, goal: int, came_from: Array, came_by: Array, original_of: Array) -> None:
    """Give the free row of an original tuple to whoever came there, and what each gives up to the one before it."""
    unit = fit.first_row[goal] + fit.taken[goal]
    fit.taken[goal] += 1
    while True:
        holder = came_from[original_of[unit]]
        fit.owner[unit] = holder
        if holder == row:
            break
        unit = came_by[holder]
    fit.left[row] -= 1


@kernel
def count_unmatched(
    labels: Array, wanted: Array, source: Originals, counts: Array, covers: LabelCovers, most_kept: int
) -> int:
    """Return how many released rows are left when as many as possible have a row of the original of their own.

    IN  labels  (released, columns) int64: the label of each released tuple
    IN  wanted  (released,) int64: the rows of each
    IN  counts  (originals,) int64: the rows of each original tuple
    IN  most_kept  candidates that are found once and kept; those beyond are sought whenever they are needed

    A first fit serves the released tuples with fewest candidates first; then alternating paths mend what it spoiled.
    Tuples that a search in vain has seen can never help again, so each is seen in vain once.
    """
    released, originals = len(labels), len(counts)
    found = np.empty(originals, np.int64)
    choices, kept = _keep_candidates(labels, source, covers, most_kept, found)
    fit = _first_fit(labels, wanted, source, counts, covers, kept, order_of(choices), found)
    seen_original = np.zeros(originals, np.bool_)
    seen_row = np.zeros(released, np.bool_)
    came_from = np.full(originals, NOBODY, np.int64)
    came_by = np.full(released, NOBODY, np.int64)
    queue = np.empty(released, np.int64)
    touched = np.empty(originals, np.int64)
    original_of = np.empty(len(fit.owner), np.int64)
    for original in range(originals):
        original_of[fit.first_row[original] : fit.first_row[original + 1]] = original
    without = 0
    for row in range(released):
        while fit.left[row] > 0 and not seen_row[row]:
            head, tail, number_touched, goal = 0, 1, 0, NOBODY
            queue[0] = row
            seen_row[row] = True
            came_by[row] = NOBODY
            while head < tail and goal == NOBODY:
                current = queue[head]
                head += 1
                number = _candidates_again(current, labels, source, covers, kept, found)
                for place in range(number):
                    original = found[place]
                    if seen_original[original]:
                        continue
                    seen_original[original] = True
                    touched[number_touched] = original
                    number_touched += 1
                    came_from[original] = current
                    if fit.taken[original] < counts[original]:
                        goal = original
                        break
                    for unit in range(fit.first_row[original], fit.first_row[original + 1]):
                        holder = fit.owner[unit]
                        if not seen_row[holder]:
                            seen_row[holder] = True
                            came_by[holder] = unit
                            queue[tail] = holder
                            tail += 1
            if goal == NOBODY:
                break  # all that was seen stays seen
            _exchange_along(fit, row, goal, came_from, came_by, original_of)
            for place in range(tail):
                seen_row[queue[place]] = False
            for place in range(number_touched):
                seen_original[touched[place]] = False
        without += fit.left[row]
    return without
