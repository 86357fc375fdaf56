"""Groups of parcels: putting a parcel into a group, borrowing from a home, and the best place of a parcel.

The rows of one tuple travel in *parcels*, so that a tuple can be split. A tuple with k rows or more is a *home*: a
group of its own that costs nothing; the rows it can spare may be lent to a group that is short. All others are *loose*.
A group's *rank range* says what its cells span in every column; from it follows what a row of the group costs.

Functions on the hot path have one exit and no ``continue``, and end no array's use within a condition: numba then
counts no references to their arrays, which would take a third of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices, clear, cost_with, cover

ROWS, HEAD, LENDER, SEEN, LOGGED, OWNER = range(6)
"""A group: the rows of its parcels, the last parcel that came, the home it borrows from, two marks, and its thread."""

TUPLE, SIZE, GROUP, NEXT = range(4)
"""A parcel: its tuple, its rows, its group, and the parcel that came to the group before it."""

FREE, _, TICK, THREAD = range(4)
"""Counters of groups: how many are free, the random numbers, the last mark, and whose groups these are."""


class Loose(NamedTuple):
    """The loose tuples, and what is near them.

    ``ranks``       (tuples, columns) int32: the loose tuples, then the homes that can lend
    ``parcel_at``   (loose + 1,) int64: where the parcels of each loose tuple start
    ``near_at``     (loose + 1,) int64, ``near`` int32: the loose tuples near each, its row of ``near``
    ``near_costs``  float32, as ``near``: what a row costs in a group of both, the least first; or empty, not known
    ``homes``       (loose, most) int32: the nearest homes that can lend, by their place in ``ranks``, or NOBODY
    ``home_costs``  (loose, most) float64: what a row costs in a group of the tuple and that home
    """

    ranks: Any
    parcel_at: Any
    near_at: Any
    near: Any
    near_costs: Any
    homes: Any
    home_costs: Any


class ParcelGroups(NamedTuple):
    """A state of the groups.

    ``rank_ranges``     (groups, words) int32: low and high per column; for a set the number of values, then their bits
    ``facts``     (groups, 6) int64: ROWS, HEAD, LENDER, SEEN, LOGGED, OWNER; a free group has no rows
    ``costs``     (groups,) float64: what a row of the group costs
    ``parcels``   (parcels, 4) int64: TUPLE, SIZE, GROUP, NEXT
    ``spare``     (tuples,) int64: the rows that a home can still lend
    ``free``      (groups,) int64: a stack of free groups
    ``counters``  (4,) int64: FREE, ``acceptance.RANDOM``, TICK, THREAD

    A group with fewer than k rows of its own borrows the rest from its lender, so it counts as k rows.

    Several threads may work on one state at once. Each has ``spare``, ``free`` and ``counters`` of its own, shares the
    other arrays, and heeds none but its own groups: what it reads of a parcel that another thread moves is a group of
    that thread, or NOBODY, and it leaves both alone.
    """

    rank_ranges: Any
    facts: Any
    costs: Any
    parcels: Any
    spare: Any
    free: Any
    counters: Any


@kernel
def enter(parcel: int, group: int, parcels: Any, facts: Any) -> None:
    """Put a parcel into a group whose rank range spans it."""
    facts[group, ROWS] += parcels[parcel, SIZE]
    parcels[parcel, GROUP], parcels[parcel, NEXT] = group, facts[group, HEAD]
    facts[group, HEAD] = parcel


@kernel
def borrow(group: int, k: int, sign: int, facts: Any, spare: Any) -> None:
    """Take from the lender of a group the rows that it is short of, or give them back."""
    lender, short = facts[group, LENDER], k - facts[group, ROWS]
    is_short = lender != NOBODY and short > 0
    spare[lender] -= sign * short if is_short else 0


@kernel
def join(parcel: int, group: int, k: int, ranks: Any, groups: ParcelGroups, columns: Any) -> None:
    """Put a parcel into a group; what the group borrows falls."""
    rank_ranges, facts, _, parcels, spare, _, _ = groups
    borrow(group, k, -1, facts, spare)
    cover(group, parcels[parcel, TUPLE], ranks, rank_ranges, columns)
    enter(parcel, group, parcels, facts)
    borrow(group, k, 1, facts, spare)


@kernel
def join_all(start: int, end: int, group: int, k: int, ranks: Any, groups: ParcelGroups, columns: Any) -> None:
    """Put all parcels in start..end - 1 that have no group into one."""
    for parcel in range(start, end):
        if groups.parcels[parcel, GROUP] == NOBODY:
            join(parcel, group, k, ranks, groups, columns)


@kernel
def start_with_home(group: int, home: int, k: int, ranks: Any, groups: ParcelGroups, columns: Any) -> None:
    """Make a free group one that borrows from a home."""
    rank_ranges, facts, _, _, spare, _, counters = groups
    counters[FREE] -= 1
    clear(group, rank_ranges, columns)
    cover(group, home, ranks, rank_ranges, columns)
    facts[group, LENDER] = home
    borrow(group, k, 1, facts, spare)


@kernel
def best_place(
    parcel: int, k: int, most: float, loose: Loose, groups: ParcelGroups, prices: Prices
) -> tuple[float, float, int, int]:
    """Return the cheapest way to put a parcel into a group near it, or into a new one with a home.

    OUT  what it adds to the cost of all groups (``most`` if every way adds as much), what a row of the group then
         costs, the group (NOBODY if it is a new one), and the home (NOBODY if none)
    """
    ranks, parcel_at, near_at, near, near_costs, homes, home_costs = loose
    rank_ranges, facts, costs, parcels, spare, _, counters = groups
    columns, numbers = prices
    tuple_, size = parcels[parcel, TUPLE], parcels[parcel, SIZE]
    least, cost, group, home = most, 0.0, NOBODY, NOBODY
    counters[TICK] += 1
    place, end = near_at[tuple_] - 1, near_at[tuple_ + 1]
    while place < end:
        other = tuple_ if place < near_at[tuple_] else np.int64(near[place])
        for friend in range(parcel_at[other], parcel_at[other + 1]):
            there = parcels[friend, GROUP]
            is_own = there != NOBODY and facts[there, OWNER] == counters[THREAD]
            if is_own and facts[there, SEEN] != counters[TICK]:
                facts[there, SEEN] = counters[TICK]
                before, rows = max(facts[there, ROWS], k) * costs[there], max(facts[there, ROWS] + size, k)
                if rows * costs[there] - before < least:  # a row never costs less in it than now
                    cost_there = cost_with(there, tuple_, ranks, rank_ranges, columns, numbers)
                    if rows * cost_there - before < least:
                        least, cost, group = rows * cost_there - before, cost_there, there
        place += 1
        if 0 < place < min(end, len(near_costs)) and size * near_costs[place] > least:
            place = end  # whoever is farther costs more, unless the group borrows
    for place in range(homes.shape[1]):
        lender: Any = np.int64(homes[tuple_, place])
        if lender != NOBODY and k * home_costs[tuple_, place] < least and spare[lender] >= k - size:
            least, cost, group, home = k * home_costs[tuple_, place], home_costs[tuple_, place], NOBODY, lender
    return least, cost, group, home


@kernel
def refresh(k: int, ranks: Any, groups: ParcelGroups, prices: Prices) -> float:
    """Return every group the smallest rank range and its cost, and return the cost of all groups.

    A group that lost parcels or no longer borrows may have a wider rank range than it needs.
    """
    rank_ranges, facts, costs, parcels, _, _, _ = groups
    columns, numbers = prices
    total = 0.0
    for group in range(len(facts)):
        parcel = facts[group, HEAD]
        if parcel != NOBODY:
            clear(group, rank_ranges, columns)
            if facts[group, ROWS] >= k:
                facts[group, LENDER] = NOBODY
            elif facts[group, LENDER] != NOBODY:
                cover(group, facts[group, LENDER], ranks, rank_ranges, columns)
            while parcel != NOBODY:
                cover(group, parcels[parcel, TUPLE], ranks, rank_ranges, columns)
                parcel = parcels[parcel, NEXT]
            costs[group] = cost_with(group, parcels[facts[group, HEAD], TUPLE], ranks, rank_ranges, columns, numbers)
            total += max(facts[group, ROWS], k) * costs[group]
    return total
