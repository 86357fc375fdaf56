"""Rebuilding: groups whose sensitive values must be rebuilt as rules ask, improved by building a few of them anew.

Rows of some near groups are pooled. New groups grow out of the pool, each time by the row that widens them least, or
the least of those whose value a group has too rarely, until the rules hold. What is left over joins where the rules go
on to hold. Nothing outside the pool changes, so what turns out dearer is only forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.privacy.kernels.rule_kinds import LIKE, NEAR, SHARES
from indistinct.privacy.kernels.value_counts import find_limits, holds
from indistinct.search.local.groups.kernels.acceptance import PRIME, Pass, accepted_rise, draw
from indistinct.search.local.groups.kernels.exchanging import RowsByKind
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices, clear, cost_with, cover
from indistinct.search.local.groups.kernels.parcel_groups import FREE, TICK

FEW_APART, MOST_APART = 4, 8
"""At most so many groups are taken apart together; the second where one fails."""
POOL, LOCAL, APART, K, ASKED, WORK = range(6)
"""Counters of a room: rows in the pool, groups in the room, groups taken apart, k, what is asked for first, and how
often a row and a group were weighed."""
CHEAPEST, RARE_LATER, RARE_FIRST = range(3)
"""What a group that grows asks for before it has k rows: rows that widen it least, or later or at once such of them
whose value it has too rarely."""
TOLERANCE = 1e-9
"""As good within this share is good enough."""


class GroupRules(NamedTuple):
    """What is asked of the values of a group. Values are counted in cells, those of a sensitive column side by side.

    ``codes``   (kinds, width) int64: the cells in which each kind of rows counts
    ``rules``   (rules, 3) float64: kind, number, second; ``spans`` (rules, 2) int64: the cells that each is about
    ``limits``  (rules, cells) float64: the largest share of each value, for SHARES
    ``whole``   (cells,) float64: the share of each in the table
    ``lows``, ``highs`` (rules, cells) float64, ``present`` (rules,) int64: room for what ``find_limits`` gives
    """

    codes: Any
    rules: Any
    spans: Any
    limits: Any
    whole: Any
    lows: Any
    highs: Any
    present: Any


class RowGroups(NamedTuple):
    """Rows in groups.

    ``head``      (groups,) int64: the first row of each group, NOBODY if it is free; ``follow`` (rows,): the next one
    ``group_of``  (rows,) int64
    ``sizes``     (groups,) int64, ``costs`` (groups,) float64: the rows of each group, and what one of them costs
    ``free``      (groups,) int64: a stack of free groups
    ``counters``  (3,) int64: how many are free, the state of the random numbers, the last mark
    ``marks``     (groups,) int64: when each was taken apart
    """

    head: Any
    follow: Any
    group_of: Any
    sizes: Any
    costs: Any
    free: Any
    counters: Any
    marks: Any


class Room(NamedTuple):
    """Where groups are taken apart and built anew.

    ``pool``     (most,) int64: rows, those without a group first; ``place`` (most,) int64: their groups in the room
    ``bounds``   (most,) float64: what a row of the group that grows costs at least with each row of the pool ``tally``
    (groups, cells) int64; ``sizes`` (groups,), ``costs`` (groups,) float64, ``rank_ranges`` (groups + 1, words)
    ``apart``    (MOST_APART, 4) int64: group, the row before those taken, the one after them, its group in the room
    ``values``, ``counts`` (cells,) int64: the values that a group has; ``span`` (2,), ``rows`` (1,) int64; ``dense``
    ``counters`` (6,) int64: POOL, LOCAL, APART, K, ASKED, WORK
    """

    pool: Any
    place: Any
    bounds: Any
    tally: Any
    sizes: Any
    costs: Any
    rank_ranges: Any
    apart: Any
    values: Any
    counts: Any
    span: Any
    rows: Any
    dense: Any
    counters: Any


@kernel
def rebuild_groups(
    visits: Pass, penalty: float, by_kind: RowsByKind, groups: RowGroups, prices: Prices, rules: GroupRules, room: Room
) -> float:
    """Take apart groups around some rows and build them anew, keep what is accepted, and return what was gained.

    IN      penalty  what a row of a group that fails the rules costs more, so that nearly anything is better
    IN OUT  groups
    """
    for number in range(rules.rules.shape[0]):
        rule, begin, end = rules.rules[number], rules.spans[number, 0], rules.spans[number, 1]
        if rule[0] == SHARES or rule[0] == LIKE or rule[0] == NEAR:
            whole, limits = rules.whole[begin:end], rules.limits[number, begin:end]
            low, high = rules.lows[number, begin:end], rules.highs[number, begin:end]
            rules.present[number] = find_limits(rule, limits, whole, low, high)
    gained, large = 0.0, room.pool.shape[0] // 4
    for row in range(visits.first, visits.end, visits.step):
        group = groups.group_of[row]
        weight = groups.costs[group] * min(1.0, large / groups.sizes[group])
        if weight * PRIME > visits.reach * draw(PRIME, groups.counters):
            gained += rebuild(group, visits.heat, penalty, by_kind, groups, prices, rules, room)
    return gained


@kernel
def rebuild(
    group: int,
    heat: float,
    penalty: float,
    by_kind: RowsByKind,
    groups: RowGroups,
    prices: Prices,
    rules: GroupRules,
    room: Room,
) -> float:
    """Take a group and some near it apart and build them anew; return what was gained, 0 if all stays as it was."""
    room.counters[POOL], room.counters[LOCAL], room.counters[APART] = 0, 0, 0
    groups.counters[TICK] += 1
    rise = accepted_rise(heat, groups.counters)
    others = FEW_APART if groups.costs[group] < penalty else MOST_APART
    before = take_apart(group, by_kind, groups, prices, rules, room)
    for _ in range(draw(others, groups.counters)):
        other = neighbour(by_kind, groups, room)
        if groups.marks[other] != groups.counters[TICK] and room.counters[POOL] * 2 <= room.pool.shape[0]:
            before += take_apart(other, by_kind, groups, prices, rules, room)
    for local in range(room.counters[LOCAL]):  # what stays of large groups
        if not is_safe_group(local, rules, room):
            before = -1.0
    gained = 0.0
    if before >= 0.0:
        most = before + TOLERANCE * (1.0 + before) + rise
        room.counters[ASKED] = draw(RARE_FIRST + 1, groups.counters)
        after = put_together(most, by_kind, groups, prices, rules, room)
        if after <= most:
            gained = before - after
            settle(groups, room)
    return gained


@kernel
def neighbour(by_kind: RowsByKind, groups: RowGroups, room: Room) -> int:
    """Return a group near the pool: one that has a row of a tuple there, or of one near it."""
    friend = by_kind.tuples[room.pool[draw(room.counters[POOL], groups.counters)]]
    place = draw(by_kind.near.shape[1] + 1, groups.counters)
    if place > 0 and by_kind.near[friend, place - 1] != NOBODY:
        friend = np.int64(by_kind.near[friend, place - 1])
    first = by_kind.row_at[friend]
    return int(groups.group_of[first + draw(by_kind.row_at[friend + 1] - first, groups.counters)])


@kernel
def take_apart(
    group: int, by_kind: RowsByKind, groups: RowGroups, prices: Prices, rules: GroupRules, room: Room
) -> float:
    """Bring the rows of a group, or some of a large one, into the pool; return what all of them cost."""
    counters = room.counters
    groups.marks[group] = groups.counters[TICK]
    size, most = groups.sizes[group], room.pool.shape[0] // 4
    skipped, taken = 0, size
    if size > most:
        taken = min(size, max(1, most // 2))
        skipped = draw(size - taken + 1, groups.counters)
    before, row = NOBODY, groups.head[group]
    for _ in range(skipped):
        before, row = row, groups.follow[row]
    for _ in range(taken):
        room.pool[counters[POOL]] = row
        counters[POOL] += 1
        row = groups.follow[row]
    entry = counters[APART]
    counters[APART] += 1
    room.apart[entry, 0], room.apart[entry, 1], room.apart[entry, 2] = group, before, row
    room.apart[entry, 3] = NOBODY
    if taken < size:
        local = open_group(prices, room)
        room.apart[entry, 3] = local
        other = groups.head[group]
        for _ in range(size - taken):
            if other == room.pool[counters[POOL] - taken]:
                other = row
            enter(other, local, by_kind, prices, rules, room)
            other = groups.follow[other]
        counters[WORK] += size
        first = by_kind.tuples[groups.head[group] if skipped > 0 else row]
        room.costs[local] = cost_with(local, first, by_kind.ranks, room.rank_ranges, prices.columns, prices.numbers)
    return float(size * groups.costs[group])


@kernel
def open_group(prices: Prices, room: Room) -> int:
    """Return the next group of the room, which has no row yet."""
    local = room.counters[LOCAL]
    room.counters[LOCAL] += 1
    clear(local, room.rank_ranges, prices.columns)
    room.sizes[local], room.costs[local] = 0, 0.0
    for cell in range(room.tally.shape[1]):
        room.tally[local, cell] = 0
    return int(local)


@kernel
def enter(row: int, local: int, by_kind: RowsByKind, prices: Prices, rules: GroupRules, room: Room) -> None:
    """Let a row join a group of the room."""
    cover(local, by_kind.tuples[row], by_kind.ranks, room.rank_ranges, prices.columns)
    room.sizes[local] += 1
    count(row, local, 1, by_kind, rules, room)


@kernel
def count(row: int, local: int, sign: int, by_kind: RowsByKind, rules: GroupRules, room: Room) -> None:
    """Count the values of a row in a group, or no longer."""
    for way in range(rules.codes.shape[1]):
        room.tally[local, rules.codes[by_kind.kinds[row], way]] += sign


@kernel
def is_safe_group(local: int, rules: GroupRules, room: Room) -> bool:
    """Return whether the values of a group of the room are as the rules ask."""
    is_so = room.sizes[local] >= room.counters[K]
    room.rows[0] = room.sizes[local]
    number = 0
    while is_so and number < rules.rules.shape[0]:
        begin, end = rules.spans[number, 0], rules.spans[number, 1]
        if number == 0 or begin != rules.spans[number - 1, 0]:
            there = 0
            for cell in range(begin, end):
                room.values[there], room.counts[there] = cell - begin, room.tally[local, cell]
                there += room.tally[local, cell] > 0  # one that is not there is written over
            room.span[0], room.span[1] = 0, there
        scratch = rules.lows[number, begin:end], rules.highs[number, begin:end], room.dense
        group = room.rows, room.rows, room.span, room.values, room.counts
        is_so = holds(rules.rules[number], group, 0, rules.whole[begin:end], scratch, rules.present[number])
        number += 1
    return bool(is_so)


@kernel
def is_rare(row: int, local: int, by_kind: RowsByKind, rules: GroupRules, room: Room) -> bool:
    """Return whether a group of the room has the values of a row more rarely than the table, and would after it
    came.
    """
    found = True
    for way in range(rules.codes.shape[1]):
        cell = rules.codes[by_kind.kinds[row], way]
        found = found and room.tally[local, cell] < rules.whole[cell] * (room.sizes[local] + 1)
    return found


@kernel
def put_together(
    most: float, by_kind: RowsByKind, groups: RowGroups, prices: Prices, rules: GroupRules, room: Room
) -> float:
    """Return the rows of the pool new groups, and return what all groups of the room cost; more than ``most`` if
    none.
    """
    spent, left = 0.0, room.counters[POOL]
    for local in range(room.counters[LOCAL]):
        spent += room.sizes[local] * room.costs[local]
    can_grow = True
    while left >= room.counters[K] and can_grow and spent <= most:
        first = draw(left, groups.counters)
        room.pool[left - 1], room.pool[first] = room.pool[first], room.pool[left - 1]
        taken = grow(left, (most - spent) / room.counters[K], by_kind, prices, rules, room)
        local = room.counters[LOCAL] - 1
        can_grow = is_safe_group(local, rules, room)
        if can_grow:
            for place in range(left - taken, left):
                room.place[place] = local
            left -= taken
            spent += room.sizes[local] * room.costs[local]
        else:
            room.counters[LOCAL] -= 1
    while left > 0 and spent <= most:
        left -= 1
        spent += join_cheapest(left, most - spent, by_kind, prices, rules, room)
    return spent


@kernel
def grow(left: int, most: float, by_kind: RowsByKind, prices: Prices, rules: GroupRules, room: Room) -> int:
    """Grow a new group from the last row of the pool until the rules hold; return how many rows it took.

    They come to stand at the end of the pool. It ends early if a row costs more than ``most``.
    """
    columns, numbers = prices
    local = open_group(prices, room)
    enter(room.pool[left - 1], local, by_kind, prices, rules, room)
    free, cost = left - 1, 0.0
    for place in range(free):
        room.bounds[place] = 0.0
    k, asked = room.counters[K], room.counters[ASKED]
    is_growing = not is_safe_group(local, rules, room)
    while is_growing:
        wants_rare = asked == RARE_FIRST or room.sizes[local] >= (k if asked == CHEAPEST else k // 2)
        room.counters[WORK] += free
        least, chosen, is_chosen_rare = most, NOBODY, False
        for place in range(free):
            row = room.pool[place]
            if room.bounds[place] < least or (wants_rare and not is_chosen_rare):
                rare = wants_rare and is_rare(row, local, by_kind, rules, room)
                if rare or not is_chosen_rare:
                    new = cost_with(local, by_kind.tuples[row], by_kind.ranks, room.rank_ranges, columns, numbers)
                    room.bounds[place] = new
                    if new < least or (rare and not is_chosen_rare and new < most):
                        least, chosen, is_chosen_rare = new, place, rare
        is_growing = chosen != NOBODY
        if is_growing:
            free -= 1
            row = room.pool[chosen]
            room.pool[chosen], room.bounds[chosen] = room.pool[free], room.bounds[free]
            room.pool[free] = row
            enter(row, local, by_kind, prices, rules, room)
            cost = least
            room.costs[local] = cost
            is_growing = not is_safe_group(local, rules, room)
    return int(left - free)


@kernel
def join_cheapest(place: int, most: float, by_kind: RowsByKind, prices: Prices, rules: GroupRules, room: Room) -> float:
    """Let a row of the pool join the group of the room where it adds least and the rules hold; return what it adds."""
    row, least, chosen = room.pool[place], most, NOBODY
    cost, tuple_ = 0.0, by_kind.tuples[row]
    for local in range(room.counters[LOCAL]):
        new = cost_with(local, tuple_, by_kind.ranks, room.rank_ranges, prices.columns, prices.numbers)
        added = (room.sizes[local] + 1) * new - room.sizes[local] * room.costs[local]
        if added <= least:
            room.sizes[local] += 1
            count(row, local, 1, by_kind, rules, room)
            if is_safe_group(local, rules, room):
                least, chosen, cost = added, local, new
            room.sizes[local] -= 1
            count(row, local, -1, by_kind, rules, room)
    if chosen == NOBODY:
        least = np.inf
    else:
        enter(row, chosen, by_kind, prices, rules, room)
        room.costs[chosen], room.place[place] = cost, chosen
    return least


@kernel
def settle(groups: RowGroups, room: Room) -> None:
    """Make the groups of the room those of their rows."""
    head, follow, _, sizes, costs, free, counters, _ = groups
    kept = 0
    for entry in range(room.counters[APART]):
        group, before, after, local = room.apart[entry]
        if local == NOBODY:
            head[group], sizes[group], costs[group] = NOBODY, 0, 0.0
            free[counters[FREE]] = group
            counters[FREE] += 1
        else:
            sizes[group], costs[group] = room.sizes[local], room.costs[local]
            room.sizes[local] = group  # from here on it says which
            kept += 1
            if before == NOBODY:
                head[group] = after
            else:
                follow[before] = after
    for local in range(kept, room.counters[LOCAL]):
        counters[FREE] -= 1
        group = free[counters[FREE]]
        sizes[group], costs[group] = room.sizes[local], room.costs[local]
        room.sizes[local] = group
    for place in range(room.counters[POOL]):
        row, group = room.pool[place], room.sizes[room.place[place]]
        groups.group_of[row] = group
        follow[row] = head[group]
        head[group] = row


@kernel
def all_costs(by_kind: RowsByKind, groups: RowGroups, prices: Prices, rank_ranges: Any) -> None:
    """Work out what a row of each group costs."""
    for group in range(len(groups.head)):
        row, tuple_ = groups.head[group], NOBODY
        clear(0, rank_ranges, prices.columns)
        while row != NOBODY:
            tuple_ = by_kind.tuples[row]
            cover(0, tuple_, by_kind.ranks, rank_ranges, prices.columns)
            row = groups.follow[row]
        if tuple_ != NOBODY:
            groups.costs[group] = cost_with(0, tuple_, by_kind.ranks, rank_ranges, prices.columns, prices.numbers)
