"""What each cut of a group tells of a target: the entropy of its classes, or the squares of its numbers, that it saves.

A target stands beside each piece as sums: the rows of each class, or the sum of its numbers and of their squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array, FloatArray, IntArray
from indistinct.kernel import kernel
from indistinct.search.kernels.target_spread import ROUNDING, spread, tells
from indistinct.search.local.kernels.cut_scores import NONE, tally_values
from indistinct.search.local.kernels.cutting import (
    ALONE,
    APART,
    HALVES,
    KINDS,
    LABEL,
    ROWS,
    VALUES,
    Axes,
    assign,
    make_room,
)


class TargetSums(NamedTuple):
    """What the kernel knows of the target.

    ``sums``       (pieces, classes) float64: the rows of each class; or (pieces, 2): numbers and squares, summed
    ``is_number``  the second
    ``least_bits`` a cut that makes the target likelier by no more bits tells nothing
    """

    sums: FloatArray
    is_number: bool
    least_bits: float


class TargetRoom(NamedTuple):
    """A table to work in, the place of each rank in it, the target by place, the part of each piece, and three sums."""

    room: IntArray
    place_of: IntArray
    tallied: FloatArray
    parts: IntArray
    sums: FloatArray


class ListedCuts(NamedTuple):
    """Cuts as ``find_cuts`` lists them, which are scored anew: ``scores`` and ``spans``."""

    scores: FloatArray
    spans: IntArray


def score_for_target(
    ranks: Array, rows: IntArray, starts: IntArray, target: TargetSums, axes: Axes, least: int, listed: ListedCuts
) -> ListedCuts:
    """Return the cuts that tell something of the target: of each column the boundary that tells most, or its children.

    Ranges and sets are cut between any two neighbours that leave ``least`` rows on both sides. Ranks, rows and starts
    are those of ``find_cuts``.

    OUT  scores  (groups, columns * KINDS) float64: what is saved for a row, NONE where there is no such cut
    OUT  spans   (groups, columns * KINDS, 2) int64
    """
    found = ListedCuts(np.full_like(listed.scores, NONE), listed.spans.copy())
    longest, classes = int(axes.sizes.max(initial=1)) + 1, target.sums.shape[1]
    room = TargetRoom(
        room=make_room(axes),
        place_of=np.zeros(longest, np.int64),
        tallied=np.zeros((longest, classes)),
        parts=np.zeros(len(rows), np.int64),
        sums=np.zeros((3, classes)),
    )
    _score_groups(ranks, rows, starts, target, axes, least, listed, found, room)
    return found


@kernel
def _score_groups(
    ranks: Array,
    rows: IntArray,
    starts: IntArray,
    target: TargetSums,
    axes: Axes,
    least: int,
    listed: ListedCuts,
    found: ListedCuts,
    room: TargetRoom,
) -> None:
    """Write what ``score_for_target`` gives."""
    whole = room.sums[0]
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        own, own_rows, sums = ranks[:, begin:end], rows[begin:end], target.sums[begin:end]
        total = _add_pieces(own_rows, sums, room.parts, -1, whole)
        before = spread(total, whole, target.is_number)
        if total < 2 * least or before <= ROUNDING * total:
            continue
        for column in range(len(ranks)):
            if axes.kinds[column] == LABEL:
                for kind in (APART, ALONE):
                    place = column * KINDS + kind
                    if listed.scores[group, place] > NONE:
                        number = assign(own, own_rows, axes, place, listed.spans[group, place], room.room, room.parts)
                        after = _spread_of_parts(own_rows, sums, number, target.is_number, room)
                        if tells(before, after, total, target.is_number, target.least_bits):
                            found.scores[group, place] = (before - after) / total
            else:
                gain, last = _best_boundary(own[column], own_rows, sums, before, least, target.is_number, room)
                if last >= 0 and tells(before, before - gain, total, target.is_number, target.least_bits):
                    place = column * KINDS + HALVES
                    found.scores[group, place] = gain / total
                    found.spans[group, place, 0] = room.room[VALUES, 0]
                    found.spans[group, place, 1] = room.room[VALUES, last]


@kernel
def _add_pieces(rows: IntArray, sums: FloatArray, parts: IntArray, part: int, added: FloatArray) -> int:
    """Add up the target of the pieces of a part, or of all for part -1; return their rows."""
    total = 0
    for one in range(len(added)):
        added[one] = 0.0
    for piece in range(len(rows)):
        if part < 0 or parts[piece] == part:
            total += rows[piece]
            for one in range(len(added)):
                added[one] += sums[piece, one]
    return total


@kernel
def _spread_of_parts(rows: IntArray, sums: FloatArray, number: int, is_number: bool, room: TargetRoom) -> float:
    """Return the spread of the parts of a cut, added up."""
    after = 0.0
    for part in range(number):
        part_rows = _add_pieces(rows, sums, room.parts, part, room.sums[1])
        after += spread(part_rows, room.sums[1], is_number)
    return after


@kernel
def _best_boundary(
    ranks: Array, rows: IntArray, sums: FloatArray, before: float, least: int, is_number: bool, room: TargetRoom
) -> tuple[float, int]:
    """Return what the best boundary between two values of a column saves, and the place of the value below it, or -1.

    The values are in the room then.
    """
    table, place_of, tallied = room.room, room.place_of, room.tallied
    whole, left, right = room.sums[0], room.sums[1], room.sums[2]
    number, total = tally_values(ranks, rows, table), 0
    for place in range(number):
        place_of[table[VALUES, place]] = place
        total += table[ROWS, place]
        for one in range(len(whole)):
            tallied[place, one] = 0.0
    for piece in range(len(rows)):
        for one in range(len(whole)):
            tallied[place_of[ranks[piece]], one] += sums[piece, one]
    for one in range(len(whole)):
        left[one] = 0.0
    below, best, last = 0, 0.0, -1
    for place in range(number - 1):
        below += table[ROWS, place]
        for one in range(len(whole)):
            left[one] += tallied[place, one]
            right[one] = whole[one] - left[one]
        if below >= least and total - below >= least:
            after = spread(below, left, is_number) + spread(total - below, right, is_number)
            if before - after > best:
                best, last = before - after, place
    return best, last
