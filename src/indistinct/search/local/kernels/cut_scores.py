"""The cuts that a group of rows has along its columns, and what each is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array, FloatArray, IntArray
from indistinct.kernel import kernel
from indistinct.search.local.kernels.cutting import (
    ALONE,
    APART,
    CHILDREN,
    COLUMNS,
    COUNTS,
    DIVIDED,
    HALVES,
    HIGH,
    KINDS,
    LABEL,
    LOW,
    MORE,
    ROWS,
    SEEN,
    SET,
    SIZES,
    TURN,
    VALUES,
    Axes,
    assign,
    common_level,
    make_room,
    width_between,
    width_of_values,
)

NONE = -3.0
"""The score of a cut that there is not."""


class CutRules(NamedTuple):
    """What cuts are listed and how they are scored."""

    least: int
    """The rows that each part must have."""
    by_loss: bool
    """Score a cut by the width that it takes from the cells of all columns, else by the width of its column."""
    may_divide: bool
    """Rows of equal value may be divided."""


def find_cuts(
    ranks: Array, rows: IntArray, starts: IntArray, axes: Axes, rules: CutRules
) -> tuple[FloatArray, IntArray]:
    """List the cuts of each group that leave every part enough rows, at most one of each kind in each column.

    Cuts that narrow cells score above 0; those that do not, between -1 and 0; those that divide the rows of a value,
    between -2 and -1.

    IN   ranks   (columns, pieces) int32
    IN   rows    (pieces,) int64
    IN   starts  (groups + 1,) int64: where each group's pieces start
    OUT  scores  (groups, columns * KINDS) float64, NONE where there is no such cut
    OUT  spans   (groups, columns * KINDS, 2) int64.
                 APART: the level of the children, and the rows that a child needs to be apart
                 ALONE, HALVES: the first and the last rank of one of the two parts
                 DIVIDED: the rank that is divided, and the rows that go to the first part
    """
    groups, columns = len(starts) - 1, len(ranks)
    scores = np.full((groups, columns * KINDS), NONE)
    spans = np.zeros((groups, columns * KINDS, 2), np.int64)
    parts = np.empty(len(rows), np.int64)
    _score_cuts(ranks, rows, starts, axes, rules, scores, spans, make_room(axes), parts)
    return scores, spans


@kernel
def _score_cuts(
    ranks: Array,
    rows: IntArray,
    starts: IntArray,
    axes: Axes,
    rules: CutRules,
    scores: FloatArray,
    spans: IntArray,
    room: IntArray,
    parts: IntArray,
) -> None:
    """Write what ``find_cuts`` gives; the work is done in a room, and a part for each piece."""
    columns = len(ranks)
    for group in range(len(starts) - 1):
        own, own_rows = ranks[:, starts[group] : starts[group + 1]], rows[starts[group] : starts[group + 1]]
        if _sum(own_rows) < 2 * rules.least:
            continue
        varied, whole = 0, 0.0
        for column in range(columns):
            number = tally_values(own[column], own_rows, room)
            if number > 1:
                places = slice(column * KINDS, (column + 1) * KINDS)
                whole += _list_in_column(number, axes, column, rules, room, scores[group, places], spans[group, places])
                room[COLUMNS, varied] = column
                varied += 1
        if rules.by_loss:
            for position in range(varied * KINDS):
                place = room[COLUMNS, position // KINDS] * KINDS + position % KINDS
                if scores[group, place] > NONE and place % KINDS != DIVIDED:
                    number = assign(own, own_rows, axes, place, spans[group, place], room, parts)
                    width, bits = _mean_width(own, own_rows, axes, room[COLUMNS, :varied], room, parts, number)
                    scores[group, place] = _gain_for_a_bit(whole - width, bits, scores[group, place])


@kernel
def tally_values(ranks: Array, rows: IntArray, room: IntArray) -> int:
    """Put the ranks that occur, in order, and the rows of each into the room; return their number."""
    number = 0
    for piece in range(len(ranks)):
        rank = ranks[piece]
        if room[COUNTS, rank] == 0:
            room[VALUES, number] = rank
            number += 1
        room[COUNTS, rank] += rows[piece]
    gap = number // 2
    while gap > 0:  # Shell's way of sorting
        for place in range(gap, number):
            rank = room[VALUES, place]
            while place >= gap and room[VALUES, place - gap] > rank:
                room[VALUES, place] = room[VALUES, place - gap]
                place -= gap
            room[VALUES, place] = rank
        gap //= 2
    for place in range(number):
        room[ROWS, place] = room[COUNTS, room[VALUES, place]]
        room[COUNTS, room[VALUES, place]] = 0
    return number


@kernel
def _list_in_column(
    number: int, axes: Axes, column: int, rules: CutRules, room: IntArray, scores: FloatArray, spans: IntArray
) -> float:
    """List the cuts of a group in one column, of which the room holds the values, by its width, and return that."""
    values, rows = room[VALUES, :number], room[ROWS, :number]
    total, is_label = _sum(rows), axes.kinds[column] == LABEL
    width = width_of_values(values, axes, column)
    if is_label:
        level = common_level(values[0], values[number - 1], axes, column) - 1
        child_rows = room[CHILDREN, : _find_children(number, axes, column, level, room)]
        needed = _rows_needed(child_rows, rules.least)
        if _most(child_rows) >= needed:
            scores[APART] = width
            spans[APART, 0], spans[APART, 1] = level, needed
    value = _most_frequent(rows, total, rules.least)
    if rules.by_loss and number > 2 and value >= 0:  # two values are halves
        scores[ALONE] = width
        spans[ALONE, 0], spans[ALONE, 1] = values[value], values[value]
    last, below = _nearest_half(rows, total)
    if min(below, total - below) >= rules.least:
        scores[HALVES] = _below_gains(width) if is_label else width
        spans[HALVES, 0], spans[HALVES, 1] = values[0], values[last]
    if rules.may_divide:
        scores[DIVIDED] = _below_gains(width) - 1.0
        middle = last if below >= total // 2 else last + 1
        spans[DIVIDED, 0], spans[DIVIDED, 1] = values[middle], total // 2
    return width


@kernel
def _below_gains(score: float) -> float:
    """Return a score between -1 and 0, in the same order, to a cut that narrows no cell."""
    return score / (1.0 + score) - 1.0


@kernel
def _gain_for_a_bit(gain: float, bits: float, score: float) -> float:
    """Return the score of a cut by what it gains and the bits that tell its parts apart.

    Groups of k rows or more can be told apart by so many bits in all; this spends them where they gain most.
    """
    if gain > 1e-12:
        return gain / bits
    return _below_gains(score) if score > 0.0 else score


@kernel
def _find_children(number: int, axes: Axes, column: int, level: int, room: IntArray) -> int:
    """Put the rows of each label of a level, of those in the group, into the room; return their number."""
    labels = axes.labels[axes.offsets[column] + level * axes.sizes[column] :]
    found, rows = 0, 0
    for place in range(number):
        rows += room[ROWS, place]
        if place + 1 == number or labels[room[VALUES, place]] != labels[room[VALUES, place + 1]]:
            room[CHILDREN, found] = rows
            found, rows = found + 1, 0
    return found


@kernel
def _rows_needed(rows: IntArray, least: int) -> int:
    """Return the rows that a child needs to be apart, so that the others together have enough, or there are none."""
    needed = least
    while True:
        rest, next_needed = 0, _most(rows) + 1
        for own in rows:
            if own < needed:
                rest += own
            else:
                next_needed = min(next_needed, own + 1)
        if rest == 0 or rest >= least:
            return needed
        needed = next_needed


@kernel
def _most_frequent(rows: IntArray, total: int, least: int) -> int:
    """Return the value of most rows, the first of equal ones, of those that leave enough rows on both sides; or -1."""
    best = -1
    for value in range(len(rows)):
        if min(rows[value], total - rows[value]) >= least and (best < 0 or rows[value] > rows[best]):
            best = value
    return best


@kernel
def _nearest_half(rows: IntArray, total: int) -> tuple[int, int]:
    """Return the place after which about half of the rows have come, the first of two equally near, and these rows."""
    place, below = 0, rows[0]
    while place + 2 < len(rows) and abs(2 * (below + rows[place + 1]) - total) < abs(2 * below - total):
        place += 1
        below += rows[place]
    return place, below


@kernel
def _mean_width(
    ranks: Array, rows: IntArray, axes: Axes, columns: IntArray, room: IntArray, parts: IntArray, number: int
) -> tuple[float, float]:
    """Return the mean over rows of the width of their cells in some columns, and the bits that tell the parts apart."""
    room[SIZES, :number] = 0
    for piece in range(len(rows)):
        room[SIZES, parts[piece]] += rows[piece]
    total = _sum(rows)
    mean = bits = 0.0
    for part in range(number):
        bits += _bits(room[SIZES, part] / total)
    for column in columns:
        _find_ends(ranks[column], axes, column, room, parts, number)
        for part in range(number):
            low, high, more = room[LOW, part], room[HIGH, part], room[MORE, part]
            if high >= 0 or more > 1:  # else there is one value, a missing one
                mean += room[SIZES, part] / total * width_between(low, high, more, axes, column)
    return mean, bits


@kernel
def _find_ends(ranks: Array, axes: Axes, column: int, room: IntArray, parts: IntArray, number: int) -> None:
    """Put the lowest and the highest rank of each part, and how many values it has more, into the room."""
    room[LOW, :number] = axes.sizes[column]
    room[HIGH, :number] = -1
    room[MORE, :number] = 0
    if axes.kinds[column] == SET:
        room[TURN, 0] += 1
        for piece in range(len(ranks)):
            part, rank = parts[piece], ranks[piece]  # sets are never cut into more than two parts
            if room[SEEN + part, rank] != room[TURN, 0]:
                room[SEEN + part, rank] = room[TURN, 0]
                room[MORE, part] += 1
        return
    missing = axes.missing[column]
    for piece in range(len(ranks)):
        part, rank = parts[piece], ranks[piece]
        if rank == missing:
            room[MORE, part] = 1
            continue
        if rank < room[LOW, part]:
            room[LOW, part] = rank
        if rank > room[HIGH, part]:
            room[HIGH, part] = rank


@kernel
def _sum(rows: IntArray) -> int:
    total = 0
    for number in rows:
        total += number
    return total


@kernel
def _most(rows: IntArray) -> int:
    most = rows[0]
    for number in rows:
        most = max(most, number)
    return int(most)


@kernel
def _bits(share: float) -> float:
    return -share * np.log2(share) if share > 0.0 else 0.0
