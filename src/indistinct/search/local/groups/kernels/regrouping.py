"""Regrouping: groups of at least k rows, improved by taking a few of them apart and building them anew.

Shaw 1998 and Schrimpf et al. 2000 call it large neighbourhood search, ruin and recreate. What parcels, homes and rank
ranges are stands in ``parcel_groups``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.acceptance import PRIME, Pass, accepted_rise, draw
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices, clear, cost_with, cover
from indistinct.search.local.groups.kernels.parcel_groups import (
    FREE,
    GROUP,
    HEAD,
    LENDER,
    LOGGED,
    NEXT,
    OWNER,
    ROWS,
    SEEN,
    SIZE,
    THREAD,
    TUPLE,
    Loose,
    ParcelGroups,
    best_place,
    borrow,
    enter,
    join,
    start_with_home,
)

POOL, LOG, APART, TURN, FREE_BEFORE = range(5)
"""Counters of work: parcels in the pool, groups in the log, groups taken apart, the turn, the groups free before it."""

MOST_APART = 4
"""At most so many groups are taken apart together."""

TRIES, DEAR = 8, 0.5
"""The next group to take apart is the most promising of so many; what it costs counts so much."""

FEW_ROWS = 8
"""Up to this k a new group is tried before places in others: what it costs then rules out what is farther, if it is
known how far that is. Larger groups take longer to grow."""

LARGE = 4
"""Of a group of more than LARGE * k rows only a part, of 2 k rows or a little more, is taken."""

TOLERANCE = 1e-9
"""As good within this share is good enough: walking along a plateau leads out of dead ends."""


class RegroupScratch(NamedTuple):
    """What is needed to build a few groups anew, and to undo it.

    ``pool``      (most,) int64: parcels without a group
    ``taken``     (most,) int64: the same parcels in the order in which they were taken
    ``taken_to``  (MOST_APART, 2) int64: for each group taken apart, the end of its parcels in ``taken``, and the first
                  parcel that it kept
    ``logged``    (most,) int64: groups that changed; ``rank_ranges``, ``facts``, ``costs`` are what they were
    ``trial``     (most, 2) int64: what ``grow`` tries and what it takes; ``bounds`` (most,) float64
    ``counters``  (5,) int64: POOL, LOG, APART, TURN, FREE_BEFORE
    """

    pool: Any
    taken: Any
    taken_to: Any
    logged: Any
    rank_ranges: Any
    facts: Any
    costs: Any
    trial: Any
    bounds: Any
    counters: Any


@kernel
def regroup(visits: Pass, k: int, loose: Loose, groups: ParcelGroups, prices: Prices, work: RegroupScratch) -> float:
    """Take apart groups around some parcels and build them anew, keep what is accepted, and return what was gained."""
    facts, costs, parcels, counters = groups.facts, groups.costs, groups.parcels, groups.counters
    gained = 0.0
    for parcel in range(visits.first, visits.end, visits.step):
        group = parcels[parcel, GROUP]
        is_own = group != NOBODY and facts[group, OWNER] == counters[THREAD]
        if is_own and costs[group] * PRIME > visits.reach * draw(PRIME, counters):
            rise = accepted_rise(visits.heat, counters)
            before = take_some_apart(group, k, loose, groups, prices, work)
            most = before + TOLERANCE * (1.0 + before) + rise
            after = put_together(k, most, loose, groups, prices, work)
            if after <= most:
                gained += before - after
            else:
                undo(k, groups, work)
    return gained


@kernel
def take_some_apart(
    group: Any, k: int, loose: Loose, groups: ParcelGroups, prices: Prices, work: RegroupScratch
) -> float:
    """Take a group and some near it apart; return what they cost."""
    work.counters[POOL], work.counters[LOG], work.counters[APART] = 0, 0, 0
    work.counters[TURN] += 1
    work.counters[FREE_BEFORE] = groups.counters[FREE]
    before = take_apart(group, k, groups, work)
    for _ in range(draw(MOST_APART, groups.counters)):
        other = neighbour(loose, groups, prices, work)
        if other != NOBODY:
            before += take_apart(other, k, groups, work)
    return before


@kernel
def neighbour(loose: Loose, groups: ParcelGroups, prices: Prices, work: RegroupScratch) -> int:
    """Return the most promising of a few groups near the pool, or NOBODY: a dear one that fits the first taken apart.

    It fits if the tuple by which it was found widens the labels of the first group little.
    """
    ranks, parcel_at, near_at, near, _, _, _ = loose
    rank_ranges, facts, costs, parcels, _, _, counters = groups
    columns, numbers = prices
    found, most = NOBODY, -np.inf
    for _ in range(TRIES):
        tuple_ = parcels[work.pool[draw(work.counters[POOL], counters)], TUPLE]
        if near_at[tuple_] < near_at[tuple_ + 1]:
            other = np.int64(near[near_at[tuple_] + draw(near_at[tuple_ + 1] - near_at[tuple_], counters)])
            parcel = parcel_at[other] + draw(parcel_at[other + 1] - parcel_at[other], counters)
            group = parcels[parcel, GROUP]
            is_new = group != NOBODY and facts[group, LOGGED] != work.counters[TURN]
            if is_new and facts[group, OWNER] == counters[THREAD] and costs[group] > 0.0:
                promise = DEAR * costs[group] - cost_with(work.logged[0], other, ranks, rank_ranges, columns, numbers)
                if promise > most:
                    found, most = group, promise
    return found


@kernel
def remember(group: int, rank_ranges: Any, facts: Any, costs: Any, work: RegroupScratch) -> None:
    """Log what a group is before it changes for the first time in this turn; else the entry is written over later."""
    entry = work.counters[LOG]
    is_new = facts[group, LOGGED] != work.counters[TURN]
    facts[group, LOGGED] = work.counters[TURN]
    work.logged[entry], work.costs[entry] = group, costs[group]
    for fact in range(SEEN):
        work.facts[entry, fact] = facts[group, fact]
    for word in range(rank_ranges.shape[1]):
        work.rank_ranges[entry, word] = rank_ranges[group, word]
    work.counters[LOG] += is_new


@kernel
def take_apart(group: int, k: int, groups: ParcelGroups, work: RegroupScratch) -> float:
    """Bring the parcels of a group, or a part of a large one, into the pool, and return what they cost there."""
    rank_ranges, facts, costs, parcels, spare, free, free_counters = groups
    pool, taken, taken_to, _, _, _, _, _, _, counters = work
    remember(group, rank_ranges, facts, costs, work)
    all_rows, rows = facts[group, ROWS], 0
    most = all_rows if all_rows <= LARGE * k else 2 * k
    parcel, end = facts[group, HEAD], counters[POOL]
    while rows < most:
        pool[end] = taken[end] = parcel
        end += 1
        rows += parcels[parcel, SIZE]
        parcels[parcel, GROUP] = NOBODY
        parcel = parcels[parcel, NEXT]
    counters[POOL] = end
    taken_to[counters[APART], 0], taken_to[counters[APART], 1] = end, parcel
    counters[APART] += 1
    left = all_rows - rows
    cost = max(all_rows, k) * costs[group] - left * costs[group]
    borrow(group, k, -1, facts, spare)
    facts[group, HEAD], facts[group, ROWS], facts[group, LENDER] = parcel, left, NOBODY
    costs[group] = costs[group] if left > 0 else 0.0
    free[free_counters[FREE]] = group
    free_counters[FREE] += left == 0
    return float(cost)


@kernel
def put_together(
    k: int, most: float, loose: Loose, groups: ParcelGroups, prices: Prices, work: RegroupScratch
) -> float:
    """Return the parcels of the pool new groups, and return what they cost; stop when that is more than ``most``."""
    rank_ranges, facts, costs, parcels, spare, free, counters = groups
    pool, trial = work.pool, work.trial
    left, rows_left, spent = work.counters[POOL], 0, 0.0
    for place in range(left):
        rows_left += parcels[pool[place], SIZE]
    while left > 0 and spent <= most:
        place = draw(left, counters)
        parcel = pool[place]
        size, new = parcels[parcel, SIZE], free[counters[FREE] - 1]
        grows_first = k <= FEW_ROWS and len(loose.near_costs) > 0
        added, cost, group, home = most - spent, 0.0, NOBODY, NOBODY
        if not grows_first:
            added, cost, group, home = best_place(parcel, k, added, loose, groups, prices)
        members, rows, new_cost, lender = 0, 0, 0.0, NOBODY
        if rows_left >= k or loose.homes.shape[1] > 0:
            work.counters[POOL] = left
            limit = added / k if grows_first else added / size
            members, rows, new_cost = grow(place, limit, k, loose.ranks, groups, prices, work)
            if rows < k:
                new_cost, lender = lender_of(parcels[parcel, TUPLE], rows, k, added / size, loose, groups, prices)
        if grows_first:
            if rows >= k or lender != NOBODY:
                added = min(added, size * new_cost * max(rows, k) / rows)
            added, cost, group, home = best_place(parcel, k, added, loose, groups, prices)
            if group != NOBODY or home != NOBODY:
                rows, lender = 0, NOBODY
        if rows >= k or lender != NOBODY:
            remember(new, rank_ranges, facts, costs, work)
            counters[FREE] -= 1
            costs[new] = new_cost
            if lender != NOBODY:
                cover(new, lender, loose.ranks, rank_ranges, prices.columns)
                facts[new, LENDER] = lender
                spare[lender] -= k - rows
            for member in range(members):
                enter(pool[trial[member, 1]], new, parcels, facts)
            kept = 0
            for other in range(left):
                if parcels[pool[other], GROUP] == NOBODY:
                    pool[kept] = pool[other]
                    kept += 1
            left, rows_left, spent = kept, rows_left - rows, spent + max(rows, k) * new_cost
        elif group != NOBODY or home != NOBODY:
            if home != NOBODY:
                group = new
            remember(group, rank_ranges, facts, costs, work)
            if home != NOBODY:
                start_with_home(group, home, k, loose.ranks, groups, prices.columns)
            join(parcel, group, k, loose.ranks, groups, prices.columns)
            costs[group] = cost
            left, rows_left, spent = left - 1, rows_left - size, spent + added
            pool[place] = pool[left]
        else:
            spent = np.inf
    return spent


@kernel
def lender_of(
    tuple_: int, rows: int, k: int, most: float, loose: Loose, groups: ParcelGroups, prices: Prices
) -> tuple[float, int]:
    """Return the home from which the group that ``grow`` left short borrows best, and what a row then costs.

    The home is NOBODY if the group's own rows would cost ``most`` or more.
    """
    ranks, _, _, _, _, homes, _ = loose
    rank_ranges, _, _, _, spare, free, counters = groups
    columns, numbers = prices
    group = free[counters[FREE] - 1]
    least, found = most * rows / k, NOBODY
    for place in range(homes.shape[1]):
        home: Any = np.int64(homes[tuple_, place])
        if home != NOBODY and spare[home] >= k - rows:
            cost = cost_with(group, home, ranks, rank_ranges, columns, numbers)
            if cost < least:
                least, found = cost, home
    return least, found


@kernel
def grow(
    place: int, most: float, k: int, ranks: Any, groups: ParcelGroups, prices: Prices, work: RegroupScratch
) -> tuple[int, int, float]:
    """Let the next free group start at a parcel of the pool and take the cheapest others until it has k rows.

    OUT  how many parcels it takes (their places in the pool: ``trial[:, 1]``), their rows (fewer than k if it cannot
         go on for less than ``most`` a row), and what a row costs
    """
    rank_ranges, _, _, parcels, _, free, free_counters = groups
    columns, numbers = prices
    pool, _, _, _, _, _, _, trial, bounds, counters = work
    group = free[free_counters[FREE] - 1]
    clear(group, rank_ranges, columns)
    cover(group, parcels[pool[place], TUPLE], ranks, rank_ranges, columns)
    number, members, rows, cost = counters[POOL] - 1, 1, parcels[pool[place], SIZE], 0.0
    for candidate in range(number):
        trial[candidate, 0], bounds[candidate] = candidate, 0.0
    if place < number:
        trial[place, 0] = number
    trial[0, 1] = place
    chosen = place
    while rows < k and chosen != NOBODY:
        least, chosen = most, NOBODY
        candidate = 0
        while candidate < number:
            if bounds[candidate] < least:  # a candidate's cost only rises as the group grows
                tuple_ = parcels[pool[trial[candidate, 0]], TUPLE]
                bounds[candidate] = cost_with(group, tuple_, ranks, rank_ranges, columns, numbers)
                if bounds[candidate] < least:
                    least, chosen = bounds[candidate], candidate
            candidate = number if least <= cost else candidate + 1
        if chosen != NOBODY:
            parcel = pool[trial[chosen, 0]]
            cover(group, parcels[parcel, TUPLE], ranks, rank_ranges, columns)
            trial[members, 1] = trial[chosen, 0]
            members, rows, cost, number = members + 1, rows + parcels[parcel, SIZE], least, number - 1
            trial[chosen, 0], bounds[chosen] = trial[number, 0], bounds[number]
    return members, rows, cost


@kernel
def undo(k: int, groups: ParcelGroups, work: RegroupScratch) -> None:
    """Make all groups what they were before this turn."""
    rank_ranges, facts, costs, parcels, spare, _, free_counters = groups
    _, taken, taken_to, logged, old_ranges, old_facts, old_costs, _, _, counters = work
    for entry in range(counters[LOG]):
        group = logged[entry]
        borrow(group, k, -1, facts, spare)
        costs[group] = old_costs[entry]
        for fact in range(SEEN):
            facts[group, fact] = old_facts[entry, fact]
        for word in range(rank_ranges.shape[1]):
            rank_ranges[group, word] = old_ranges[entry, word]
        borrow(group, k, 1, facts, spare)
    place = 0
    for apart in range(counters[APART]):  # the groups that were taken apart are the first in the log
        while place < taken_to[apart, 0]:
            parcel = taken[place]
            place += 1
            is_last = place == taken_to[apart, 0]
            parcels[parcel, GROUP] = logged[apart]
            parcels[parcel, NEXT] = taken_to[apart, 1] if is_last else taken[place]
    free_counters[FREE] = counters[FREE_BEFORE]
