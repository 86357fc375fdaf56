"""Cutting groups of rows along one column, and the parts that this leaves.

The groups lie one after the other in arrays of pieces, a piece being so many rows with the same values. In every column
the values have ranks, in an order in which each label of the hierarchy covers a run of neighbours. Which cuts there are
stands in ``cut_scores``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array, FloatArray, IntArray
from indistinct.kernel import kernel

LABEL, RANGE, SET = 0, 1, 2
"""What the cells of a group carry in a column: its lowest common label, a range, or a set of values."""


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


@kernel
def common_level(low: int, high: int, axes: Axes, column: int) -> int:
    """Return the lowest level at which two ranks have the same label, which ranks of one group always do."""
    level, at = 0, axes.offsets[column]
    while axes.labels[at + low] != axes.labels[at + high]:
        level += 1
        at += axes.sizes[column]
    return level


@kernel
def width_of_values(values: IntArray, axes: Axes, column: int) -> float:
    """Return the weighted share of the domain under what covers two or more values."""
    high, more = values[len(values) - 1], 0
    if axes.kinds[column] == SET:
        more = len(values)
    elif high == axes.missing[column]:
        high, more = values[len(values) - 2], 1
    return width_between(values[0], high, more, axes, column)


@kernel
def width_between(low: int, high: int, more: int, axes: Axes, column: int) -> float:
    """Return the width of what covers two ranks and those between them, and so many values more; of one value, 0."""
    if axes.kinds[column] == SET:
        return float(more * axes.slopes[column]) if more > 1 else 0.0
    if low == high and more == 0:
        return 0.0
    at = axes.offsets[column]
    if axes.kinds[column] == RANGE:
        return float((axes.labels[at + high] - axes.labels[at + low] + 1 + more) * axes.slopes[column])
    at += common_level(low, high, axes, column) * axes.sizes[column]
    return float(axes.leaves[at + low] * axes.slopes[column])


APART, ALONE, HALVES, DIVIDED = 0, 1, 2, 3
"""Kinds of cuts: children of the label apart, one value alone, halves, halves that divide the rows of a value."""

KINDS = 4

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


class Cuts(NamedTuple):
    """The cuts to be made, one of each group that is cut.

    ``groups``  (cuts,) int64; ``places`` (cuts,) int64: column * KINDS + kind
    ``spans``   (cuts, 2) int64, as in ``find_cuts``
    """

    groups: IntArray
    places: IntArray
    spans: IntArray


class CutPieces(NamedTuple):
    """The pieces after cuts.

    ``source``  (pieces,) int64: the earlier piece that each is, or is taken from; ``rows`` (pieces,) int64
    ``parts``   (pieces,) int64: the part that each goes to; the parts of the first cut have the lowest numbers
    ``first``   (cuts + 1,) int64: the first part of each cut
    """

    source: IntArray
    rows: IntArray
    parts: IntArray
    first: IntArray


def cut(ranks: Array, rows: IntArray, starts: IntArray, axes: Axes, cuts: Cuts) -> CutPieces:
    """Cut some of the groups; ranks, rows and starts are those of ``find_cuts``."""
    chosen = cuts.groups
    most = len(chosen) + int((starts[chosen + 1] - starts[chosen]).sum())  # a cut divides at most one piece
    source, taken, parts = (np.empty(most, np.int64) for _ in range(3))
    made = CutPieces(source, taken, parts, np.zeros(len(chosen) + 1, np.int64))
    end = _cut_chosen(ranks, rows, starts, axes, cuts, made, make_room(axes))
    return CutPieces(source[:end], taken[:end], parts[:end], made.first)


@kernel
def _cut_chosen(
    ranks: Array, rows: IntArray, starts: IntArray, axes: Axes, cuts: Cuts, made: CutPieces, room: IntArray
) -> int:
    """Write what ``cut`` gives, and return the number of new pieces."""
    chosen, places, spans = cuts
    source, taken, parts, first = made
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
            number = assign(own, taken[begin:end], axes, place, spans[position], room, parts[begin:end])
        for piece in range(begin, end):  # slice by slice would take numba two seconds more to compile
            parts[piece] += first[position]
        first[position + 1] = first[position] + number
    return end


def arrange(parts: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the order in which pieces lie part by part, and otherwise as before.

    IN   parts   (pieces,) int64, below ``number``
    OUT  order   (pieces,) int64
    OUT  starts  (parts + 1,) int64
    """
    starts = np.append(0, np.cumsum(np.bincount(parts, minlength=number)))
    order = np.empty(len(parts), np.int64)
    _place_pieces(parts, starts.copy(), order)
    return order, starts


@kernel
def _place_pieces(parts: IntArray, following: IntArray, order: IntArray) -> None:
    """Write the order of pieces; ``following`` is where the next one of each part goes."""
    for piece in range(len(parts)):
        order[following[parts[piece]]] = piece
        following[parts[piece]] += 1


def make_room(axes: Axes) -> IntArray:
    """Return a table to work in."""
    return np.zeros((12, max(int(axes.sizes.max()) + 1, len(axes.sizes))), np.int64)


@kernel
def assign(
    ranks: Array, rows: IntArray, axes: Axes, place: int, span: IntArray, room: IntArray, parts: IntArray
) -> int:
    """Return the part of each piece when its group is cut without dividing a value, and the number of parts."""
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
    """Return every child of enough rows a part, in the order of their first pieces, and the others one; their
    number.
    """
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
    """Cut a group in two, the rows of one rank divided, and return the number of pieces that this adds: 0 or 1."""
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
