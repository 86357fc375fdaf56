"""Balanced groups: who is in which, what they cost, and which labels are taken.

A group has one row of each of its values. In one table groups are known by their labels, so groups that carry the same
ones have the same values: each of these then has equally many rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.group_costs import BOX, clear, cost_with, cover

NOBODY = -1
ANY, FIXED = -1, -2
"""What binds a group: nothing, or nobody may come or go; else the number of its signature."""
LEAST, MOST = range(2)
"""Limits: the fewest rows of a group, and the most rows of one that is looked at."""
NO_SIGN = -(1 << 62)
"""What no values have for a sign, as far as chance goes."""
FREE = 0
"""Counters: groups that are free, then what ``draw`` uses."""


class Rows(NamedTuple):
    """What is known of the rows, which stand by point.

    ``ranks``   (points, columns) int32; ``points``, ``values`` (rows,) int64
    ``told``    (rows,) int64: the signature that a row must keep, or ANY
    ``near``    (points, most) int32: near points, NOBODY where there is none
    ``row_at``  (points + 1,) int64: where the rows of each point start
    ``names``   (columns, levels, ranks) int32: the label of each rank at each level, the last level all alike
    """

    ranks: Any
    points: Any
    values: Any
    told: Any
    near: Any
    row_at: Any
    names: Any


class Groups(NamedTuple):
    """Who is where.

    ``group_of``  (rows,) int64, NOBODY where a row is in none; ``after`` (rows,) int64 the next row of its group
    ``head``, ``size``, ``binds``  (groups,) int64: the first row, the rows, and what binds it; free groups have no rows
    ``places``, ``signs``  (groups,) int64: the place of its labels among ``taken``, and a number for its values
    ``costs``     (groups,) float64: what a row costs
    ``has``       (groups, words) uint64: a bit for each value
    ``taken``     (2, a power of two) int64: so many groups have labels of this place, and what their values are
    ``free``      (groups,) int64: the groups that are free; ``counters`` (2,) int64: FREE, and what ``draw`` uses
    """

    group_of: Any
    after: Any
    head: Any
    size: Any
    binds: Any
    places: Any
    signs: Any
    costs: Any
    has: Any
    taken: Any
    free: Any
    counters: Any


class Trial(NamedTuple):
    """What a move is tried with.

    ``limits``  (2,) int64: LEAST, MOST; ``whole`` (1,) float64: what a row in no group costs
    ``boxes``   (2, words) int32; ``chosen``, ``homes`` (MOST,) int64
    ``columns``, ``numbers``: what labels cost, as in ``box_costs.Prices``
    """

    limits: Any
    whole: Any
    boxes: Any
    chosen: Any
    homes: Any
    columns: Any
    numbers: Any


@kernel
def is_open(group: int, groups: Groups, trial: Trial) -> bool:
    """Return whether rows of a group may move."""
    return bool(groups.binds[group] != FIXED and groups.size[group] <= trial.limits[MOST])


@kernel
def has_value(group: int, value: int, groups: Groups) -> bool:
    """Return whether a group has rows of a value."""
    return bool(groups.has[group, value // 64] >> np.uint64(value % 64) & np.uint64(1) != np.uint64(0))


@kernel
def mix(key: Any, label: int) -> Any:
    """Return the key of some labels and one more."""
    key = (key ^ np.int64(label)) * np.int64(-7046029254386353131)
    return key ^ ((key >> np.int64(29)) & np.int64(0x7FFFFFFFF))


@kernel
def sign_of(value: int) -> Any:
    """Return what a value adds to the sign of its group, or takes from it: both by exclusive or."""
    return mix(mix(np.int64(1), value), 1)


@kernel
def cost_of(group: int, without: int, guest: int, box: int, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Return what a row of a group costs if one has left and another has come, NOBODY for none; the box is filled."""
    clear(box, trial.boxes, trial.columns)
    row, last = groups.head[group], guest
    while row != NOBODY:
        if row != without:
            cover(box, rows.points[row], rows.ranks, trial.boxes, trial.columns)
            last = row
        row = groups.after[row]
    if guest != NOBODY:
        cover(box, rows.points[guest], rows.ranks, trial.boxes, trial.columns)
    return cost_with(box, rows.points[last], rows.ranks, trial.boxes, trial.columns, trial.numbers)


@kernel
def place_of(box: int, rows: Rows, groups: Groups, trial: Trial) -> int:
    """Return the place of the labels that cover a box."""
    key, columns, last = np.int64(0), trial.columns, rows.names.shape[1] - 1
    for column in range(columns.shape[0]):
        low, high = trial.boxes[box, columns[column, BOX]], trial.boxes[box, columns[column, BOX] + 1]
        level = 0
        while level < last and rows.names[column, level, low] != rows.names[column, level, high]:
            level += 1
        key = mix(key, rows.names[column, level, low])
    return int((key >> np.int64(20)) & np.int64(groups.taken.shape[1] - 1))


@kernel
def take_labels(labels: Any, groups: Groups) -> None:
    """Note which labels the groups have; groups whose labels have the place of others with other values are fixed.

    IN  labels  (groups, columns) int64, as ``names`` numbers them
    """
    taken, places, signs = groups.taken, groups.places, groups.signs
    for group in range(labels.shape[0]):
        key = np.int64(0)
        for column in range(labels.shape[1]):
            key = mix(key, labels[group, column])
        place = (key >> np.int64(20)) & np.int64(taken.shape[1] - 1)
        is_alone = taken[0, place] == 0 or taken[1, place] == signs[group]
        places[group] = place
        taken[0, place] += 1
        taken[1, place] = signs[group] if is_alone else NO_SIGN
    for group in range(labels.shape[0]):
        if taken[1, places[group]] != signs[group]:
            groups.binds[group] = FIXED


@kernel
def rename(group: int, place: int, sign: Any, other: int, other_place: int, other_sign: Any, groups: Groups) -> bool:
    """Return labels to one group or two, NOBODY for none, unless groups of other values have them; tell whether it did.

    Whatever was done can be undone, last things first.
    """
    give_up(group, groups)
    give_up(other, groups)
    if group == NOBODY or take(place, sign, groups):
        if other == NOBODY or take(other_place, other_sign, groups):
            if group != NOBODY:
                groups.places[group], groups.signs[group] = place, sign
            if other != NOBODY:
                groups.places[other], groups.signs[other] = other_place, other_sign
            return True
        if group != NOBODY:
            groups.taken[0, place] -= 1
    for one in (group, other):
        if one != NOBODY and groups.size[one] > 0:
            groups.taken[0, groups.places[one]] += 1
            groups.taken[1, groups.places[one]] = groups.signs[one]
    return False


@kernel
def give_up(group: int, groups: Groups) -> None:
    """Let a group have no labels, if it has any."""
    if group != NOBODY and groups.size[group] > 0:
        groups.taken[0, groups.places[group]] -= 1


@kernel
def take(place: int, sign: Any, groups: Groups) -> bool:
    """Let one more group of these values have labels, unless groups of other values have them; tell whether it may."""
    if groups.taken[0, place] > 0 and groups.taken[1, place] != sign:
        return False
    groups.taken[0, place] += 1
    groups.taken[1, place] = sign
    return True


@kernel
def leave(row: int, rows: Rows, groups: Groups) -> None:
    """Take a row out of its group, if it is in one."""
    group = groups.group_of[row]
    if group == NOBODY:
        return
    if groups.head[group] == row:
        groups.head[group] = groups.after[row]
    else:
        one = groups.head[group]
        while groups.after[one] != row:
            one = groups.after[one]
        groups.after[one] = groups.after[row]
    groups.size[group] -= 1
    groups.group_of[row] = NOBODY
    value = rows.values[row]
    groups.has[group, value // 64] ^= np.uint64(1) << np.uint64(value % 64)


@kernel
def enter(row: int, group: int, rows: Rows, groups: Groups) -> None:
    """Put a row into a group."""
    groups.after[row], groups.head[group] = groups.head[group], row
    groups.group_of[row] = group
    groups.size[group] += 1
    value = rows.values[row]
    groups.has[group, value // 64] |= np.uint64(1) << np.uint64(value % 64)


@kernel
def find_costs(rows: Rows, groups: Groups, trial: Trial) -> float:
    """Work out what each group costs; return what all rows cost together."""
    total = 0.0
    for group in range(len(groups.head)):
        if groups.size[group] > 0:
            groups.costs[group] = cost_of(group, NOBODY, NOBODY, 0, rows, groups, trial)
            total += groups.size[group] * groups.costs[group]
    for row in range(len(groups.group_of)):
        if groups.group_of[row] == NOBODY:
            total += trial.whole[0]
    return total


@kernel
def withdraw(row: int, rows: Rows, groups: Groups, trial: Trial) -> bool:
    """Take a row out of its group, which gets other labels, if it may have them; tell whether it may."""
    here = groups.group_of[row]
    cost = cost_of(here, row, NOBODY, 0, rows, groups, trial)
    sign = groups.signs[here] ^ sign_of(rows.values[row])
    if not rename(here, place_of(0, rows, groups, trial), sign, NOBODY, 0, sign, groups):
        return False
    leave(row, rows, groups)
    groups.costs[here] = cost
    return True


@kernel
def admit(row: int, there: int, rows: Rows, groups: Groups, trial: Trial) -> bool:
    """Put a row that is in no group into one, which gets other labels, if it may have them; tell whether it may."""
    cost = cost_of(there, NOBODY, row, 1, rows, groups, trial)
    sign = groups.signs[there] ^ sign_of(rows.values[row])
    if not rename(there, place_of(1, rows, groups, trial), sign, NOBODY, 0, sign, groups):
        return False
    enter(row, there, rows, groups)
    groups.costs[there] = cost
    return True
