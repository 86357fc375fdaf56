"""Cutting groups of rows along one column: which cuts there are, what they are worth, and what parts they leave.

The groups lie one after the other in arrays of pieces, a piece being so many rows with the same values. In every column
the values have ranks, in an order in which each label of the hierarchy covers a run of neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indistinct.kernels.kernel import kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Array = NDArray[Any]

LABEL, RANGE, SET = 0, 1, 2
"""What the cells of a group carry in a column: its lowest common label, a range, or a set of values."""

APART, ALONE, HALVES, DIVIDED = 0, 1, 2, 3
"""Kinds of cuts: children of the label apart, one value alone, halves, halves that divide the rows of a value."""

KINDS = 4
NONE = -3.0
"""The score of a cut that there is not."""


# numba's cache names these two classes: if one were renamed, it could not read what an earlier version left there


class Axes(NamedTuple):
    """The columns, as arrays.

    ``kinds``    (columns,) LABEL, RANGE or SET
    ``sizes``    (columns,) the number of ranks
    ``offsets``  (columns,) where the column's part of ``labels`` and ``leaves`` starts
    ``labels``   LABEL: the code of a rank's label stands at offset + level * size + rank;
                 RANGE: the position of a rank in the domain stands at offset + rank
    ``leaves``   LABEL: at the same place, the values of the domain under that label
    ``slopes``   (columns,) what each value of the domain adds to the width of the label, range or set that covers it
    ``missing``  (columns,) RANGE: the rank of a missing value, which stands beside a range; -1 if there is none
    """

    kinds: IntArray
    sizes: IntArray
    offsets: IntArray
    labels: IntArray
    leaves: IntArray
    slopes: FloatArray
    missing: IntArray


class Rules(NamedTuple):
    """What cuts are listed and how they are scored."""

    least: int
    """The rows that each part must have."""
    by_loss: bool
    """Score a cut by the width that it takes from the cells of all columns, else by the width of its column."""
    may_divide: bool
    """Rows of equal value may be divided."""


COUNTS, VALUES, ROWS, CHILDREN, COLUMNS, SIZES, LOW, HIGH, MORE, SEEN, SEEN_TOO, TURN = range(12)
"""The rows of the room, a table to work in:

COUNTS    by rank or label, zero between uses
VALUES    the ranks that occur in a group, in order, and in ROWS how many rows have each
CHILDREN  the rows of each child of a group's label
COLUMNS   the columns in which a group has more than one value
SIZES     the rows of each part of a group; in one column LOW and HIGH are its lowest and highest rank, and MORE the
          values that it has more: a missing one beside a range, or all of a set
SEEN      by rank, the last turn in which it was seen in the first part, and SEEN_TOO in the second
TURN      at 0, the number of this turn
"""


@kernel
def find_cuts(ranks: Array, rows: IntArray, starts: IntArray, axes: Axes, rules: Rules) -> tuple[FloatArray, IntArray]:
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
    room = _make_room(axes)
    parts = np.empty(len(rows), np.int64)
    for group in range(groups):
        own, own_rows = ranks[:, starts[group] : starts[group + 1]], rows[starts[group] : starts[group + 1]]
        if own_rows.sum() < 2 * rules.least:
            continue
        varied, whole = 0, 0.0
        for column in range(columns):
            number = _tally(own[column], own_rows, room)
            if number > 1:
                places = slice(column * KINDS, (column + 1) * KINDS)
                whole += _list_in_column(number, axes, column, rules, room, scores[group, places], spans[group, places])
                room[COLUMNS, varied] = column
                varied += 1
        if rules.by_loss:
            for position in range(varied * KINDS):
                place = room[COLUMNS, position // KINDS] * KINDS + position % KINDS
                if scores[group, place] > NONE and place % KINDS != DIVIDED:
                    number = _assign(own, own_rows, axes, place, spans[group, place], room, parts)
                    width, bits = _mean_width(own, own_rows, axes, room[COLUMNS, :varied], room, parts, number)
                    scores[group, place] = _gain_for_a_bit(whole - width, bits, scores[group, place])
    return scores, spans


@kernel
def cut(
    ranks: Array, rows: IntArray, starts: IntArray, axes: Axes, chosen: IntArray, places: IntArray, spans: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Cut some of the groups, each by one cut.

    IN   ranks, rows, starts  as in ``find_cuts``
    IN   chosen  (cuts,) int64: the group that is cut
    IN   places  (cuts,) int64: column * KINDS + kind
    IN   spans   (cuts, 2) int64, as in ``find_cuts``
    OUT  source  (new pieces,) int64: the piece that each new one is, or is taken from
    OUT  taken   (new pieces,) int64: the rows of each
    OUT  parts   (new pieces,) int64: the part that each goes to; the parts of the first cut have the lowest numbers
    OUT  first   (cuts + 1,) int64: the first part of each cut
    """
    most = len(chosen)  # a cut divides at most one piece
    for group in chosen:
        most += starts[group + 1] - starts[group]
    source, taken, parts = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    first = np.zeros(len(chosen) + 1, np.int64)
    room = _make_room(axes)
    end = 0
    for position in range(len(chosen)):
        group, begin = chosen[position], end
        for piece in range(starts[group], starts[group + 1]):
            source[end], taken[end] = piece, rows[piece]
            end += 1
        own, place, number = ranks[:, starts[group] : starts[group + 1]], places[position], 2
        if place % KINDS == DIVIDED:
            end += _divide(own[place // KINDS], spans[position], source[begin:], taken[begin:], parts[begin:])
        else:
            number = _assign(own, taken[begin:end], axes, place, spans[position], room, parts[begin:end])
        parts[begin:end] += first[position]
        first[position + 1] = first[position] + number
    return source[:end], taken[:end], parts[:end], first


@kernel
def arrange(parts: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Give the order in which pieces lie part by part, and otherwise as before.

    IN   parts   (pieces,) int64, below ``number``
    OUT  order   (pieces,) int64
    OUT  starts  (parts + 1,) int64
    """
    starts = np.zeros(number + 1, np.int64)
    for part in parts:
        starts[part + 1] += 1
    starts = np.cumsum(starts)
    following = starts.copy()
    order = np.empty(len(parts), np.int64)
    for piece in range(len(parts)):
        order[following[parts[piece]]] = piece
        following[parts[piece]] += 1
    return order, starts


@kernel
def _make_room(axes: Axes) -> IntArray:
    return np.zeros((12, max(axes.sizes.max() + 1, len(axes.sizes))), np.int64)


@kernel
def _tally(ranks: Array, rows: IntArray, room: IntArray) -> int:
    """Put the ranks that occur, in order, and the rows of each into the room; give their number."""
    number = 0
    for piece in range(len(ranks)):
        rank = ranks[piece]
        if room[COUNTS, rank] == 0:
            room[VALUES, number] = rank
            number += 1
        room[COUNTS, rank] += rows[piece]
    if number > 1:
        room[VALUES, :number].sort()
    for place in range(number):
        room[ROWS, place] = room[COUNTS, room[VALUES, place]]
        room[COUNTS, room[VALUES, place]] = 0
    return number


@kernel
def _list_in_column(
    number: int, axes: Axes, column: int, rules: Rules, room: IntArray, scores: FloatArray, spans: IntArray
) -> float:
    """List the cuts of a group in one column, of which the room holds the values, by its width, and give that."""
    values, rows = room[VALUES, :number], room[ROWS, :number]
    total, is_label = rows.sum(), axes.kinds[column] == LABEL
    width = _width(values, axes, column)
    if is_label:
        level = _common_level(values[0], values[number - 1], axes, column) - 1
        child_rows = room[CHILDREN, : _find_children(number, axes, column, level, room)]
        needed = _needed(child_rows, rules.least)
        if child_rows.max() >= needed:
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
    """Give a score between -1 and 0, in the same order, to a cut that narrows no cell."""
    return score / (1.0 + score) - 1.0


@kernel
def _gain_for_a_bit(gain: float, bits: float, score: float) -> float:
    """Give the score of a cut by what it gains and the bits that tell its parts apart.

    Groups of k rows or more can be told apart by so many bits in all; this spends them where they gain most.
    """
    if gain > 1e-12:
        return gain / bits
    return _below_gains(score) if score > 0.0 else score


@kernel
def _common_level(low: int, high: int, axes: Axes, column: int) -> int:
    """Give the lowest level at which two ranks have the same label, which ranks of one group always do."""
    level, at = 0, axes.offsets[column]
    while axes.labels[at + low] != axes.labels[at + high]:
        level += 1
        at += axes.sizes[column]
    return level


@kernel
def _width(values: IntArray, axes: Axes, column: int) -> float:
    """Give the weighted share of the domain under what covers two or more values."""
    high, more = values[len(values) - 1], 0
    if axes.kinds[column] == SET:
        more = len(values)
    elif high == axes.missing[column]:
        high, more = values[len(values) - 2], 1
    return _width_between(values[0], high, more, axes, column)


@kernel
def _width_between(low: int, high: int, more: int, axes: Axes, column: int) -> float:
    """Give the width of what covers two ranks and those between them, and so many values more; of one value, 0."""
    if axes.kinds[column] == SET:
        return float(more * axes.slopes[column]) if more > 1 else 0.0
    if low == high and more == 0:
        return 0.0
    at = axes.offsets[column]
    if axes.kinds[column] == RANGE:
        return float((axes.labels[at + high] - axes.labels[at + low] + 1 + more) * axes.slopes[column])
    at += _common_level(low, high, axes, column) * axes.sizes[column]
    return float(axes.leaves[at + low] * axes.slopes[column])


@kernel
def _find_children(number: int, axes: Axes, column: int, level: int, room: IntArray) -> int:
    """Put the rows of each label of a level, of those in the group, into the room; give their number."""
    labels = axes.labels[axes.offsets[column] + level * axes.sizes[column] :]
    found, rows = 0, 0
    for place in range(number):
        rows += room[ROWS, place]
        if place + 1 == number or labels[room[VALUES, place]] != labels[room[VALUES, place + 1]]:
            room[CHILDREN, found] = rows
            found, rows = found + 1, 0
    return found


@kernel
def _needed(rows: IntArray, least: int) -> int:
    """Give the rows that a child needs to be apart, so that the others together have enough, or there are none."""
    needed = least
    while True:
        rest, next_needed = 0, rows.max() + 1
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
    """Give the value of most rows, the first of equal ones, of those that leave enough rows on both sides; or -1."""
    best = -1
    for value in range(len(rows)):
        if min(rows[value], total - rows[value]) >= least and (best < 0 or rows[value] > rows[best]):
            best = value
    return best


@kernel
def _nearest_half(rows: IntArray, total: int) -> tuple[int, int]:
    """Give the place after which about half of the rows have come, the first of two equally near, and these rows."""
    place, below = 0, rows[0]
    while place + 2 < len(rows) and abs(2 * (below + rows[place + 1]) - total) < abs(2 * below - total):
        place += 1
        below += rows[place]
    return place, below


@kernel
def _mean_width(
    ranks: Array, rows: IntArray, axes: Axes, columns: IntArray, room: IntArray, parts: IntArray, number: int
) -> tuple[float, float]:
    """Give the mean over rows of the width of their cells in some columns, and the bits that tell the parts apart."""
    room[SIZES, :number] = 0
    for piece in range(len(rows)):
        room[SIZES, parts[piece]] += rows[piece]
    total = rows.sum()
    mean = bits = 0.0
    for part in range(number):
        bits += _bits(room[SIZES, part] / total)
    for column in columns:
        _find_ends(ranks[column], axes, column, room, parts, number)
        for part in range(number):
            low, high, more = room[LOW, part], room[HIGH, part], room[MORE, part]
            if high >= 0 or more > 1:  # else there is one value, a missing one
                mean += room[SIZES, part] / total * _width_between(low, high, more, axes, column)
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
def _bits(share: float) -> float:
    return -share * np.log2(share) if share > 0.0 else 0.0


@kernel
def _assign(
    ranks: Array, rows: IntArray, axes: Axes, place: int, span: IntArray, room: IntArray, parts: IntArray
) -> int:
    """Give the part of each piece when its group is cut without dividing a value, and the number of parts."""
    column = place // KINDS
    if place % KINDS == APART:
        labels = axes.labels[axes.offsets[column] + span[0] * axes.sizes[column] :]
        return _assign_children(ranks[column], rows, labels, span[1], room, parts)
    for piece in range(len(rows)):
        parts[piece] = 0 if span[0] <= ranks[column, piece] <= span[1] else 1
    return 2


@kernel
def _assign_children(
    ranks: Array, rows: IntArray, labels: IntArray, needed: int, room: IntArray, parts: IntArray
) -> int:
    """Give every child of enough rows a part, in the order of their first pieces, and the others one; their number."""
    for piece in range(len(ranks)):
        room[COUNTS, labels[ranks[piece]]] += rows[piece]
    number, rest = 0, -1
    for piece in range(len(ranks)):
        label = labels[ranks[piece]]
        if room[COUNTS, label] >= 0:  # else it has its part, as -1 - part
            if room[COUNTS, label] < needed and rest >= 0:
                room[COUNTS, label] = -1 - rest
            else:
                if room[COUNTS, label] < needed:
                    rest = number
                room[COUNTS, label] = -1 - number
                number += 1
        parts[piece] = -1 - room[COUNTS, label]
    for piece in range(len(ranks)):
        room[COUNTS, labels[ranks[piece]]] = 0
    return number


@kernel
def _divide(ranks: Array, span: IntArray, source: IntArray, taken: IntArray, parts: IntArray) -> int:
    """Cut a group in two, the rows of one rank divided, and give the number of pieces that this adds: 0 or 1."""
    divided, wanted = span
    for piece in range(len(ranks)):
        parts[piece] = 0 if ranks[piece] < divided else 1
        if ranks[piece] < divided:
            wanted -= taken[piece]
    added = 0
    for piece in range(len(ranks)):
        if ranks[piece] == divided and wanted > 0:
            parts[piece] = 0
            if taken[piece] > wanted:
                new = len(ranks)
                source[new], taken[new], parts[new] = source[piece], taken[piece] - wanted, 1
                taken[piece] = wanted
                added = 1
            wanted -= taken[piece]
    return added
