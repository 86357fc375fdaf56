"""The first groups of loose tuples: grown around seeds or given, until every parcel has its place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices, clear, cost_with, cover
from indistinct.search.local.groups.kernels.parcel_groups import (
    FREE,
    GROUP,
    ROWS,
    SIZE,
    TUPLE,
    Loose,
    ParcelGroups,
    best_place,
    enter,
    join,
    join_all,
    start_with_home,
)


class GrowthScratch(NamedTuple):
    """What groups are grown with.

    ``left``  (tuples,) int64: the parcels that have no group yet, which are a tuple's first ones
    ``met``   (tuples,) int64: the last seed that met each tuple
    and of the group that grows ``candidates``, ``taken`` (tuples,) int64 and ``bounds`` (tuples,) float64
    """

    left: Any
    met: Any
    candidates: Any
    taken: Any
    bounds: Any


def gather(k: int, seeds: Any, loose: Loose, groups: ParcelGroups, prices: Prices) -> None:
    """Start groups at tuples, one after the other, and let each take the cheapest tuple near it until it has k rows.

    IN      seeds   (seeds,) int64: loose tuples
    IN OUT  groups  all free at first
    """
    left = np.diff(loose.parcel_at)
    met, candidates, taken = np.full(len(left), NOBODY, np.int64), np.empty_like(left), np.empty_like(left)
    scratch = GrowthScratch(left, met, candidates, taken, np.empty(len(left)))
    _gather(k, seeds, loose, groups, prices, scratch)


@kernel
def _gather(k: int, seeds: Any, loose: Loose, groups: ParcelGroups, prices: Prices, scratch: GrowthScratch) -> None:
    """Do what ``gather`` says."""
    ranks, parcel_at, near_at, near, _, _, _ = loose
    rank_ranges, facts, costs, parcels, _, free, counters = groups
    columns, numbers = prices
    left, met, candidates, taken, bounds = scratch
    for seed in seeds:
        if left[seed] == 0:
            continue
        group = free[counters[FREE] - 1]
        clear(group, rank_ranges, columns)
        met[seed] = seed
        new, cost, rows, number, members = seed, 0.0, 0, 0, 0
        while new != NOBODY:
            cover(group, new, ranks, rank_ranges, columns)
            taken[members] = new
            members += 1
            parcel = parcel_at[new] + left[new]
            while rows < k and parcel > parcel_at[new]:
                parcel -= 1
                rows += parcels[parcel, SIZE]
            for place in range(near_at[new], near_at[new + 1]):
                other = near[place]
                if left[other] > 0 and met[other] != seed:
                    met[other] = seed
                    candidates[number], bounds[number] = other, 0.0
                    number += 1
            new, least, chosen = NOBODY, np.inf, NOBODY
            place = 0
            while rows < k and place < number:
                if bounds[place] < least:  # a candidate's cost only rises as the group grows
                    bounds[place] = cost_with(group, candidates[place], ranks, rank_ranges, columns, numbers)
                    if bounds[place] < least:
                        least, chosen = bounds[place], place
                place = number if least <= cost else place + 1
            if chosen != NOBODY:
                new, cost = candidates[chosen], least
                number -= 1
                candidates[chosen], bounds[chosen] = candidates[number], bounds[number]
        if rows < k:
            continue
        counters[FREE] -= 1
        costs[group] = cost
        for member in range(members):
            tuple_ = taken[member]
            while left[tuple_] > 0 and facts[group, ROWS] < k:
                left[tuple_] -= 1
                enter(parcel_at[tuple_] + left[tuple_], group, parcels, facts)


def take_over(k: int, group_of: Any, loose: Loose, groups: ParcelGroups, prices: Prices) -> None:
    """Start with groups that another search made, as far as they have k rows of loose tuples.

    IN      group_of  (loose,) int64: the group of each loose tuple
    IN OUT  groups    all free at first
    """
    rows = np.zeros(len(loose.parcel_at) - 1, np.int64)
    np.add.at(rows, groups.parcels[:, TUPLE], groups.parcels[:, SIZE])
    _, numbers = np.unique(group_of, return_inverse=True)
    sizes = np.bincount(numbers.ravel(), rows).astype(np.int64)
    _take_over(k, numbers.ravel().astype(np.int64), np.where(sizes >= k, NOBODY, 0), loose, groups, prices)


@kernel
def _take_over(k: int, numbers: Any, made: Any, loose: Loose, groups: ParcelGroups, prices: Prices) -> None:
    """Do what ``take_over`` says; ``made`` is NOBODY for those that have k rows."""
    rank_ranges, _, costs, parcels, _, free, counters = groups
    is_taken = made == NOBODY
    for tuple_ in range(len(numbers)):
        number = numbers[tuple_]
        if is_taken[number]:
            if made[number] == NOBODY:
                counters[FREE] -= 1
                made[number] = free[counters[FREE]]
                clear(made[number], rank_ranges, prices.columns)
            group = made[number]
            cover(group, tuple_, loose.ranks, rank_ranges, prices.columns)
            costs[group] = cost_with(group, tuple_, loose.ranks, rank_ranges, prices.columns, prices.numbers)
            for parcel in range(loose.parcel_at[tuple_], loose.parcel_at[tuple_ + 1]):
                enter(parcel, group, parcels, groups.facts)


@kernel
def settle(k: int, loose: Loose, groups: ParcelGroups, prices: Prices) -> None:
    """Return every parcel a group: the best near it, or else one with parcels that follow each other.

    IN OUT  groups  those that exist have k rows; all parcels together have at least k; ``refresh`` gives the costs
    """
    rank_ranges, _, costs, parcels, _, free, counters = groups
    for parcel in range(len(parcels)):
        if parcels[parcel, GROUP] == NOBODY:
            _, cost, group, home = best_place(parcel, k, np.inf, loose, groups, prices)
            if home != NOBODY:
                group = free[counters[FREE] - 1]
                start_with_home(group, home, k, loose.ranks, groups, prices.columns)
            if group != NOBODY:
                join(parcel, group, k, loose.ranks, groups, prices.columns)
                costs[group] = cost
    start, rows, last = 0, 0, NOBODY
    for parcel in range(len(parcels)):
        if parcels[parcel, GROUP] != NOBODY:
            last = parcels[parcel, GROUP]
        else:
            rows += parcels[parcel, SIZE]
        if rows >= k:
            counters[FREE] -= 1
            last = free[counters[FREE]]
            clear(last, rank_ranges, prices.columns)
            join_all(start, parcel + 1, last, k, loose.ranks, groups, prices.columns)
            start, rows = parcel + 1, 0
    join_all(start, len(parcels), last, k, loose.ranks, groups, prices.columns)
