"""Dual ascent rows for what their groups cost at the least: prices rise together, and groups of k rows stop them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.counting.kernels.grouping import sort_points
from indistinct.kernel import kernel

RISING, STOPPED, VISITS = range(3)
"""Counters: points that still rise, points that have stopped, and points that were looked at."""

NOWHERE = -1
"""The group of a point that is in none."""

NO_CELL = -(1 << 58)
"""What a point that takes no part at a node adds to the number of its cell, which is then negative."""

INSERTED = 4
"""A point that still rises takes about so many times as long as one that has stopped."""


class GridCells(NamedTuple):
    """The cell of each point at each node, as a sum over a few parts of its columns.

    ``codes``   (parts, points) int32: the place of a point in the tables of each part
    ``keys``    int64, one table after the other: what each place adds to the number of the cell, or NO_CELL
    ``costs``   float64, likewise: what it adds to what a row of the cell costs
    ``counts``  (points,) int64: rows
    ``values``  (points,) int32: the sensitive value of a point
    ``most``    (values,) float64: so many of k rows may have a value; empty where that does not matter
    """

    codes: Any
    keys: Any
    costs: Any
    counts: Any
    values: Any
    most: Any


class Rising(NamedTuple):
    """The prices of all points while they rise.

    ``duals``    (points,) float64: the price of a row of each point, infinite while it rises
    ``limits``   (points,) float64: how far it may rise, as far as is known
    ``rising``   (points,) int64: the points that rise
    ``stopped``  (points,) int64: the others, in ascending order of their prices
    ``counters`` (3,) int64: RISING, STOPPED, VISITS
    """

    duals: Any
    limits: Any
    rising: Any
    stopped: Any
    counters: Any


class Spent(NamedTuple):
    """How many rows of each value pay in each cell.

    ``pairs``  int64, a power of two of them: cells with values by their hash, or NOWHERE
    ``rows``   float64, as many: the rows that pay
    ``taken``  (1 + points,) int64: how many pairs there are, and their slots
    """

    pairs: Any
    rows: Any
    taken: Any

    @classmethod
    def of(cls, points: int, values: int) -> Spent:
        """Return room for so many points; where no values are told apart there is nothing to note."""
        room = 1 << (2 * points).bit_length() if values else 1
        return cls(np.full(room, NOWHERE), np.empty(room), np.zeros(1 + points if values else 1, np.int64))


class AscentScratch(NamedTuple):
    """Arrays to work in.

    ``slots``  int64, a power of two of them: cells by their hash, or NOWHERE
    ``spent``  what values have paid
    and for each cell, or each place of a point:
    ``taken``, ``cell_keys``, ``group_of``, ``spare``  (points,) int64
    ``rows``, ``payers``, ``cell_costs``, ``paid``  (points,) float64
    """

    slots: Any
    spent: Spent
    taken: Any
    cell_keys: Any
    group_of: Any
    spare: Any
    rows: Any
    payers: Any
    cell_costs: Any
    paid: Any


def rise(tables: Any, least: Any, cells: GridCells, state: Rising, k: int, most: int) -> int:
    """Let prices rise past some nodes, cheapest first, until so many points were looked at; return the nodes passed.

    A cell with k rows or more is looked at when prices have risen to what it costs at the least. Its k rows that are
    priced most may be priced k times its cost: rising rows share equally what the stopped ones leave of it. Where
    only so many of k rows may have a value, those are meant that are priced most of all that may share a group.

    IN      tables  (nodes, parts) int64: where the table of each part starts, for each node
    IN      least   (nodes,) float64: what cells that first appear at the node cost at the least, ascending
    IN OUT  state
    """
    room = 2
    while room < 4 * state.counters[RISING]:
        room *= 2
    points = len(cells.counts)
    spent = Spent.of(points, len(cells.most))
    work = AscentScratch(np.full(room, NOWHERE), spent, *np.empty((4, points), np.int64), *np.empty((4, points)))
    return int(_rise(tables, least, cells, state, k, most, work))


@kernel
def _rise(tables: Any, least: Any, cells: GridCells, state: Rising, k: int, most: int, work: AscentScratch) -> int:
    """Do what ``rise`` says."""
    codes, keys, costs, counts, values, most_alike = cells
    duals, limits, rising, stopped, counters = state
    slots, spent, taken, cell_keys, group_of, spare, rows, payers, cell_costs, paid = work
    parts = len(codes)
    node = 0
    while node < len(least) and counters[RISING] > 0 and counters[VISITS] <= most:
        stop(least[node], state, spare)
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
                    rows[groups], paid[groups] = 0.0, 0.0
                    groups += 1
                group_of[place] = slots[slot]
                rows[slots[slot]] += spend(slots[slot], values[point], float(counts[point]), most_alike, spent)
        for group in range(groups):
            payers[group] = min(float(k), rows[group])
        if groups > 0:
            for place in range(counters[STOPPED] - 1, -1, -1):
                point = stopped[place]
                key = np.int64(0)
                for part in range(parts):
                    key += keys[tables[node, part] + codes[part, point]]
                if key >= 0:
                    group = slots[find(key, slots, cell_keys)]
                    if group != NOWHERE and rows[group] < k:
                        asked = min(k - rows[group], float(counts[point]))
                        paying = spend(group, values[point], asked, most_alike, spent)
                        rows[group] += paying
                        paid[group] += paying * duals[point]
        for place in range(counters[RISING]):
            group = group_of[place]
            if group != NOWHERE and rows[group] >= k:
                limit = (k * cell_costs[group] - paid[group]) / payers[group]
                limits[rising[place]] = min(limits[rising[place]], limit)
        for group in range(groups):
            slots[taken[group]] = NOWHERE
        forget(spent)
        counters[VISITS] += INSERTED * counters[RISING] + counters[STOPPED]
        node += 1
    return node


@kernel
def spend(cell: Any, value: Any, asked: float, most: Any, spent: Spent) -> float:
    """Return how many of so many rows of a value may pay in a cell besides those that do, and note it."""
    if len(most) == 0:
        return asked
    pairs, rows, taken = spent
    pair = np.int64(cell) * len(most) + value
    mask = len(pairs) - 1
    slot = ((pair * np.int64(-7046029254386353131)) >> np.int64(32)) & mask
    while pairs[slot] != NOWHERE and pairs[slot] != pair:
        slot = (slot + 1) & mask
    if pairs[slot] == NOWHERE:
        pairs[slot], rows[slot] = pair, 0.0
        taken[0] += 1
        taken[taken[0]] = slot
    paying = max(0.0, min(asked, most[value] - rows[slot]))
    rows[slot] += paying
    return float(paying)


@kernel
def forget(spent: Spent) -> None:
    """Forget what values have paid."""
    for place in range(1, 1 + spent.taken[0]):
        spent.pairs[spent.taken[place]] = NOWHERE
    spent.taken[0] = 0


@kernel
def find(key: Any, slots: Any, cell_keys: Any) -> int:
    """Return the slot of a cell, or the free one where it would stand."""
    mask = len(slots) - 1
    slot = ((key * np.int64(-7046029254386353131)) >> np.int64(32)) & mask
    while slots[slot] != NOWHERE and cell_keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def stop(level: float, state: Rising, spare: Any) -> None:
    """Stop the points whose limits prices have reached."""
    duals, limits, rising, stopped, counters = state
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
    sort_points(start, counters[STOPPED], stopped, duals, spare)
