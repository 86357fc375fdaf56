"""Balanced moves: rows change groups so that labels become cheaper, and whoever carries the same labels is balanced.

Rows of one value change places. Where people may be in groups of any values, rows also change places with others, leave
or come; groups fall apart, join, are dissolved among others, and are gathered from rows that others can spare.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.group_costs import clear, cost_with, cover
from indistinct.search.local.groups.kernels.parcel_groups import PRIME, draw
from indistinct.search.m_invariance.kernels.balanced_groups import (
    ANY,
    FREE,
    LEAST,
    NOBODY,
    Groups,
    Rows,
    Trial,
    admit,
    cost_of,
    enter,
    give_up,
    has_value,
    is_open,
    leave,
    place_of,
    rename,
    sign_of,
    take,
    withdraw,
)

RARELY = 8
"""One visit in so many tries to divide or dissolve a group, or to gather one."""
LOOKS = 6
"""So many near rows are looked at for each row that needs a group, and for each that a group needs."""


@kernel
def move(visits: Any, pace: Any, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Try a move with each of some rows; return what all groups gain.

    What costs less is kept, what costs more by x with the chance exp(-x / heat). Rows that cost less than the reach are
    tried less often, as they cost less.

    IN      visits  (3,) int64: the first row, the end, and the step between those that are visited
    IN      pace    (2,) float64: the heat, and the reach
    IN OUT  groups
    """
    gained, counters, heat, reach = 0.0, groups.counters, pace[0], pace[1]
    for row in range(visits[0], visits[1], visits[2]):
        here = groups.group_of[row]
        is_open_here = here == NOBODY or is_open(here, groups, trial)
        least = reach * draw(PRIME, counters) / PRIME
        if not is_open_here or (here != NOBODY and groups.costs[here] <= least):
            continue
        most = 0.0
        if heat > 0.0:
            most = -heat * math.log((1 + draw(PRIME - 1, counters)) / PRIME)
        if here != NOBODY and groups.binds[here] == ANY and draw(RARELY, counters) == 0:
            if groups.size[here] >= 2 * trial.limits[LEAST]:
                gained += divide(row, most, rows, groups, trial)
            elif groups.size[here] > trial.limits[LEAST]:
                gained += gather(row, most, rows, groups, trial)
            else:
                gained += dissolve(here, most, rows, groups, trial)
            continue
        guest = near_row(row, rows, counters)
        if guest != NOBODY:
            there = groups.group_of[guest]
            if there != NOBODY and there != here and is_open(there, groups, trial):
                gained += meet(row, there, most, rows, groups, trial)
    return gained


@kernel
def near_row(row: int, rows: Rows, counters: Any) -> int:
    """Return a row of the same point or a near one, or NOBODY."""
    choice = draw(rows.near.shape[1] + 1, counters)
    friend = rows.points[row] if choice == rows.near.shape[1] else rows.near[rows.points[row], choice]
    if friend == NOBODY:
        return NOBODY
    return int(rows.row_at[friend] + draw(rows.row_at[friend + 1] - rows.row_at[friend], counters))


@kernel
def meet(row: int, there: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let a row try a group: in place of one of its value, as one more, in place of another, or with all its own."""
    here, value, counters = groups.group_of[row], rows.values[row], groups.counters
    first = draw(groups.size[there], counters)
    if has_value(there, value, groups):
        other = another(there, first, value, NOBODY, rows, groups)
        if other == NOBODY or rows.points[other] == rows.points[row]:
            return 0.0
        if rows.told[row] != ANY and groups.binds[there] != rows.told[row]:
            return 0.0
        if here != NOBODY and rows.told[other] != ANY and groups.binds[here] != rows.told[other]:
            return 0.0
        return exchange(row, other, most, rows, groups, trial)
    if groups.binds[there] != ANY or rows.told[row] != ANY or (here != NOBODY and groups.binds[here] != ANY):
        return 0.0
    if here == NOBODY or (groups.size[here] > trial.limits[LEAST] and draw(2, counters) == 0):
        return shift(row, there, most, rows, groups, trial)
    if draw(RARELY, counters) == 0:
        return join(here, there, most, rows, groups, trial)
    other = another(there, first, NOBODY, here, rows, groups)
    return 0.0 if other == NOBODY else exchange(row, other, most, rows, groups, trial)


@kernel
def another(group: int, first: int, value: int, lacking: int, rows: Rows, groups: Groups) -> int:
    """Return the row of a group that has a value, or from a place on one whose value another group lacks, or NOBODY."""
    row, place = groups.head[group], 0
    while row != NOBODY:
        if lacking == NOBODY and rows.values[row] == value:
            return int(row)
        if lacking != NOBODY and place >= first and not has_value(lacking, rows.values[row], groups):
            return int(row)
        row, place = groups.after[row], place + 1
    return NOBODY


@kernel
def exchange(row: int, other: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let two rows change places if that costs at most so much more; return what is gained."""
    here, there = groups.group_of[row], groups.group_of[other]
    size = groups.size[here] if here != NOBODY else 0
    before = groups.size[there] * groups.costs[there] + (size * groups.costs[here] if size > 0 else 0.0)
    cost_there = cost_of(there, other, row, 1, rows, groups, trial)
    after, cost_here, place = groups.size[there] * cost_there, 0.0, 0
    if after > before + most:
        return 0.0
    if size > 0:
        cost_here = cost_of(here, row, other, 0, rows, groups, trial)
        after += size * cost_here
        if after > before + most:
            return 0.0
        place = place_of(0, rows, groups, trial)
    change = sign_of(rows.values[row]) ^ sign_of(rows.values[other])
    sign, sign_there = groups.signs[here] ^ change, groups.signs[there] ^ change
    if not rename(here, place, sign, there, place_of(1, rows, groups, trial), sign_there, groups):
        return 0.0
    leave(row, rows, groups)
    leave(other, rows, groups)
    enter(row, there, rows, groups)
    groups.costs[there] = cost_there
    if size > 0:
        enter(other, here, rows, groups)
        groups.costs[here] = cost_here
    return float(before - after)


@kernel
def shift(row: int, there: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let a row leave its group, or come from none, for another one; return what is gained."""
    here = groups.group_of[row]
    size = groups.size[here] if here != NOBODY else 1
    before = groups.size[there] * groups.costs[there] + size * (
        groups.costs[here] if here != NOBODY else trial.whole[0]
    )
    cost_there = cost_of(there, NOBODY, row, 1, rows, groups, trial)
    after, cost_here, place = (groups.size[there] + 1) * cost_there, 0.0, 0
    if here != NOBODY:
        cost_here = cost_of(here, row, NOBODY, 0, rows, groups, trial)
        after += (size - 1) * cost_here
    if after > before + most:
        return 0.0
    if here != NOBODY:
        place = place_of(0, rows, groups, trial)
    change = sign_of(rows.values[row])
    sign, sign_there = groups.signs[here] ^ change, groups.signs[there] ^ change
    if not rename(here, place, sign, there, place_of(1, rows, groups, trial), sign_there, groups):
        return 0.0
    leave(row, rows, groups)
    enter(row, there, rows, groups)
    groups.costs[there] = cost_there
    if here != NOBODY:
        groups.costs[here] = cost_here
    return float(before - after)


@kernel
def join(here: int, there: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let all rows of a group come to another that has none of their values; return what is gained."""
    for word in range(groups.has.shape[1]):
        if groups.has[here, word] & groups.has[there, word] != np.uint64(0):
            return 0.0
    size = groups.size[here] + groups.size[there]
    before = groups.size[here] * groups.costs[here] + groups.size[there] * groups.costs[there]
    cost_of(there, NOBODY, NOBODY, 1, rows, groups, trial)
    row = groups.head[here]
    while row != NOBODY:
        cover(1, rows.points[row], rows.ranks, trial.boxes, trial.columns)
        row = groups.after[row]
    first = rows.points[groups.head[here]]
    cost = cost_with(1, first, rows.ranks, trial.boxes, trial.columns, trial.numbers)
    if size * cost > before + most:
        return 0.0
    give_up(here, groups)
    sign, place = groups.signs[here] ^ groups.signs[there], place_of(1, rows, groups, trial)
    if not rename(there, place, sign, NOBODY, 0, sign, groups):
        groups.taken[0, groups.places[here]] += 1
        groups.taken[1, groups.places[here]] = groups.signs[here]
        return 0.0
    while groups.head[here] != NOBODY:
        row = groups.head[here]
        leave(row, rows, groups)
        enter(row, there, rows, groups)
    groups.costs[there] = cost
    groups.free[groups.counters[FREE]] = here
    groups.counters[FREE] += 1
    return float(before - size * cost)


@kernel
def divide(row: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let a row and those nearest to it leave a group and form one of their own; return what is gained."""
    here, chosen, boxes = groups.group_of[row], trial.chosen, trial.boxes
    size, least = groups.size[here], trial.limits[LEAST]
    if groups.counters[FREE] == 0 or groups.binds[here] != ANY or size < 2 * least:
        return 0.0
    wanted = least + draw(size - 2 * least + 1, groups.counters)
    chosen[0] = row
    clear(1, boxes, trial.columns)
    cover(1, rows.points[row], rows.ranks, boxes, trial.columns)
    cost_there = 0.0
    for number in range(1, wanted):
        best, nearest = np.inf, NOBODY
        one = groups.head[here]
        while one != NOBODY:
            is_chosen = False
            for place in range(number):
                is_chosen = is_chosen or chosen[place] == one
            if not is_chosen:
                cost = cost_with(1, rows.points[one], rows.ranks, boxes, trial.columns, trial.numbers)
                if cost < best:
                    best, nearest = cost, one
            one = groups.after[one]
        chosen[number], cost_there = nearest, best
        cover(1, rows.points[nearest], rows.ranks, boxes, trial.columns)
    clear(0, boxes, trial.columns)
    one, last = groups.head[here], NOBODY
    while one != NOBODY:
        is_chosen = False
        for place in range(wanted):
            is_chosen = is_chosen or chosen[place] == one
        if not is_chosen:
            cover(0, rows.points[one], rows.ranks, boxes, trial.columns)
            last = one
        one = groups.after[one]
    cost_here = cost_with(0, rows.points[last], rows.ranks, boxes, trial.columns, trial.numbers)
    before, after = size * groups.costs[here], (size - wanted) * cost_here + wanted * cost_there
    if after > before + most:
        return 0.0
    there = groups.free[groups.counters[FREE] - 1]
    sign = np.int64(0)
    for number in range(wanted):
        sign ^= sign_of(rows.values[chosen[number]])
    place, place_there = place_of(0, rows, groups, trial), place_of(1, rows, groups, trial)
    if not rename(here, place, groups.signs[here] ^ sign, there, place_there, sign, groups):
        return 0.0
    groups.counters[FREE] -= 1
    groups.binds[there] = ANY
    for place in range(wanted):
        leave(chosen[place], rows, groups)
        enter(chosen[place], there, rows, groups)
    groups.costs[here], groups.costs[there] = cost_here, cost_there
    return float(before - after)


@kernel
def dissolve(here: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let all rows of a group come to near groups that lack their values, or none; return what is gained."""
    chosen, size, sign, place = trial.chosen, groups.size[here], groups.signs[here], groups.places[here]
    before, added, placed = size * groups.costs[here], 0.0, 0
    give_up(here, groups)
    for number in range(size):
        chosen[number] = groups.head[here]
        leave(chosen[number], rows, groups)
    while placed < size and added <= before + most:
        row, best, home = chosen[placed], np.inf, NOBODY
        for _ in range(LOOKS):
            guest = near_row(row, rows, groups.counters)
            there = groups.group_of[guest] if guest != NOBODY else NOBODY
            is_apt = there != NOBODY and groups.binds[there] == ANY and is_open(there, groups, trial)
            if is_apt and not has_value(there, rows.values[row], groups):
                cost = cost_of(there, NOBODY, row, 1, rows, groups, trial)
                more = (groups.size[there] + 1) * cost - groups.size[there] * groups.costs[there]
                if more < best:
                    best, home = more, there
        if home == NOBODY or not admit(row, home, rows, groups, trial):
            break
        added += best
        placed += 1
    if placed == size and added <= before + most:
        groups.free[groups.counters[FREE]] = here
        groups.counters[FREE] += 1
        groups.signs[here] = 0
        return float(before - added)
    for number in range(placed - 1, -1, -1):
        withdraw(chosen[number], rows, groups, trial)
    for number in range(size - 1, -1, -1):
        enter(chosen[number], here, rows, groups)
    take(place, sign, groups)
    return 0.0


@kernel
def gather(row: int, most: float, rows: Rows, groups: Groups, trial: Trial) -> float:
    """Let a row and near ones of other values, which their groups can spare, form a group; return what is gained."""
    chosen, boxes, least, number = trial.chosen, trial.boxes, trial.limits[LEAST], 0
    if groups.counters[FREE] == 0:
        return 0.0
    there = groups.free[groups.counters[FREE] - 1]
    before, after, cost = 0.0, 0.0, 0.0
    one = row
    while one != NOBODY:
        home = groups.group_of[one]
        was = groups.size[home] * groups.costs[home]
        if not withdraw(one, rows, groups, trial):
            break
        before, after = before + was, after + groups.size[home] * groups.costs[home]
        chosen[number], trial.homes[number] = one, home
        number += 1
        if number == least:
            break
        one, best = NOBODY, np.inf
        for _ in range(LOOKS):
            guest = near_row(row, rows, groups.counters)
            group = groups.group_of[guest] if guest != NOBODY else NOBODY
            if group != NOBODY and groups.binds[group] == ANY and is_open(group, groups, trial):
                is_apt = groups.size[group] > least
                for place in range(number):
                    is_apt = is_apt and rows.values[chosen[place]] != rows.values[guest]
                if is_apt:
                    clear(1, boxes, trial.columns)
                    for place in range(number):
                        cover(1, rows.points[chosen[place]], rows.ranks, boxes, trial.columns)
                    cost = cost_with(1, rows.points[guest], rows.ranks, boxes, trial.columns, trial.numbers)
                    if cost < best:
                        best, one = cost, guest
    if number == least:
        clear(1, boxes, trial.columns)
        sign = np.int64(0)
        for place in range(number):
            cover(1, rows.points[chosen[place]], rows.ranks, boxes, trial.columns)
            sign ^= sign_of(rows.values[chosen[place]])
        cost = cost_with(1, rows.points[row], rows.ranks, boxes, trial.columns, trial.numbers)
        after += number * cost
        if after <= before + most and rename(there, place_of(1, rows, groups, trial), sign, NOBODY, 0, sign, groups):
            groups.counters[FREE] -= 1
            groups.binds[there], groups.costs[there] = ANY, cost
            for place in range(number):
                enter(chosen[place], there, rows, groups)
            return float(before - after)
    for place in range(number - 1, -1, -1):
        admit(chosen[place], trial.homes[place], rows, groups, trial)
    return 0.0
