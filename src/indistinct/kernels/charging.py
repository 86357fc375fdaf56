"""Charging rows for what their groups cost at the least: charges rise together, and groups of k rows stop them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernels.kernel import kernel

RISING, STOPPED, VISITS = range(3)
"""Counters: points that still rise, points that have stopped, and points that were looked at."""

NOWHERE = -1
"""The group of a point that is in none."""

NO_CELL = -(1 << 58)
"""What a point that takes no part at a node adds to the number of its cell, which is then negative."""

INSERTED = 4
"""A point that still rises takes about so many times as long as one that has stopped."""


class Cells(NamedTuple):
    """The cell of each point at each node, as a sum over a few parts of its columns.

    ``codes``   (parts, points) int32: the place of a point in the tables of each part
    ``keys``    int64, one table after the other: what each place adds to the number of the cell, or NO_CELL
    ``costs``   float64, likewise: what it adds to what a row of the cell costs
    ``counts``  (points,) int64: rows
    """

    codes: Any
    keys: Any
    costs: Any
    counts: Any


class Rising(NamedTuple):
    """The charges of all points while they rise.

    ``duals``    (points,) float64: the charge of a row of each point, infinite while it rises
    ``limits``   (points,) float64: how far it may rise, as far as is known
    ``rising``   (points,) int64: the points that rise
    ``stopped``  (points,) int64: the others, in ascending order of their charges
    ``counters`` (3,) int64: RISING, STOPPED, VISITS
    """

    duals: Any
    limits: Any
    rising: Any
    stopped: Any
    counters: Any


@kernel
def rise(tables: Any, least: Any, cells: Cells, state: Rising, k: int, most: int) -> int:
    """Let charges rise past some nodes, cheapest first, until so many points were looked at; give the nodes passed.

    A cell with k rows or more is looked at when charges have risen to what it costs at the least. Its k rows that are
    charged most may be charged k times its cost: rising rows share equally what the stopped ones leave of it.

    IN      tables  (nodes, parts) int64: where the table of each part starts, for each node
    IN      least   (nodes,) float64: what cells that first appear at the node cost at the least, ascending
    IN OUT  state
    """
    codes, keys, costs, counts = cells
    duals, limits, rising, stopped, counters = state
    parts, points = codes.shape
    room = 2
    while room < 4 * counters[RISING]:
        room *= 2
    slots, taken = np.full(room, NOWHERE), np.empty(points, np.int64)
    cell_keys, cell_costs = np.empty(points, np.int64), np.empty(points)
    rows, payers, paid = np.empty(points, np.int64), np.empty(points, np.int64), np.empty(points)
    group_of = np.empty(points, np.int64)
    node = 0
    while node < len(least) and counters[RISING] > 0 and counters[VISITS] <= most:
        stop(least[node], duals, limits, rising, stopped, counters)
        groups = 0
        for place in range(counters[RISING]):
            point = rising[place]
            key = np.int64(0)
            for part in range(parts):
                key += keys[tables[node, part] + codes[part, point]]
            group_of[place] = NOWHERE
            if key >= 0:
                slot = find(key, slots, cell_keys)
                if slots[slot] == NOWHERE:
                    slots[slot], taken[groups] = groups, slot
                    cell_keys[groups], cell_costs[groups] = key, 0.0
                    for part in range(parts):
                        cell_costs[groups] += costs[tables[node, part] + codes[part, point]]
                    rows[groups], paid[groups] = 0, 0.0
                    groups += 1
                group_of[place] = slots[slot]
                rows[slots[slot]] += counts[point]
        for group in range(groups):
            payers[group] = min(k, rows[group])
        if groups > 0:
            for place in range(counters[STOPPED] - 1, -1, -1):
                point = stopped[place]
                key = np.int64(0)
                for part in range(parts):
                    key += keys[tables[node, part] + codes[part, point]]
                if key >= 0:
                    group = slots[find(key, slots, cell_keys)]
                    if group != NOWHERE and rows[group] < k:
                        paying = min(k - rows[group], counts[point])
                        rows[group] += paying
                        paid[group] += paying * duals[point]
        for place in range(counters[RISING]):
            group = group_of[place]
            if group != NOWHERE and rows[group] >= k:
                limit = (k * cell_costs[group] - paid[group]) / payers[group]
                limits[rising[place]] = min(limits[rising[place]], limit)
        for group in range(groups):
            slots[taken[group]] = NOWHERE
        counters[VISITS] += INSERTED * counters[RISING] + counters[STOPPED]
        node += 1
    return node


@kernel
def find(key: Any, slots: Any, cell_keys: Any) -> int:
    """Give the slot of a cell, or the free one where it would stand."""
    mask = len(slots) - 1
    slot = ((key * np.int64(-7046029254386353131)) >> np.int64(32)) & mask
    while slots[slot] != NOWHERE and cell_keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def stop(level: float, duals: Any, limits: Any, rising: Any, stopped: Any, counters: Any) -> None:
    """Stop the points whose limits charges have reached."""
    start, kept = counters[STOPPED], 0
    for place in range(counters[RISING]):
        point = rising[place]
        if limits[point] <= level:
            duals[point] = limits[point]
            stopped[counters[STOPPED]] = point
            counters[STOPPED] += 1
        else:
            rising[kept] = point
            kept += 1
    counters[RISING] = kept
    if counters[STOPPED] - start > 1:
        newly = stopped[start : counters[STOPPED]].copy()
        order = np.argsort(duals[newly], kind="mergesort")
        for place in range(len(newly)):
            stopped[start + place] = newly[order[place]]
