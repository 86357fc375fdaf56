"""How far prices of rows may be raised or must be lowered, and which rows the tightest cells weigh on.

Points, cells and tables are those of ``dual_ascent``. A cell of k rows or more may price the k of them that are priced
most, together, k times what a row of it costs. Where only so many of k rows may have a value, it may price those that
are priced most of all that may share a group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.bounds.kernels.dual_ascent import NOWHERE, GridCells, Spent, find, forget, spend

CELLS, VISITS = range(2)
"""Counters of tight cells: how many there are, and the points that were looked at to find them."""


class DualPrices(NamedTuple):
    """What each point is priced.

    ``values``   (points,) float64: the price of a row
    ``order``    (points,) int64: the points, those that are priced most first
    ``factors``  (points,) float64: by what the price may be multiplied, as far as is known
    ``growth``   by what no price is multiplied more
    """

    values: Any
    order: Any
    factors: Any
    growth: float


class Tight(NamedTuple):
    """Cells that are priced nearly what they cost, or more.

    ``costs``     (most,) float64: what a row of each cell costs
    ``starts``    (most + 1,) int64: where its points start among ``members``, int32
    ``counters``  (2,) int64: CELLS, VISITS
    """

    costs: Any
    starts: Any
    members: Any
    counters: Any


class FeasibilityScratch(NamedTuple):
    """Room for the cells of a node, as many as there are points, all int64 but where it is said.

    ``slots``  a power of two of them: cells by their hash, or NOWHERE
    ``spent``  what values have paid
    ``taken``, ``cell_keys``, ``idle``: the slot and the key of a cell, and its members that do not pay
    ``last``, ``before``: the last point that came to a cell, and the one that came to the cell of a point before it
    ``rows``, ``cell_costs``, ``paid``, ``ends``  float64: the rows that pay, its cost, what is paid, and the price at
    which it is done with
    ``members``  (points, 3 k) int32, ``listed`` their number
    """

    slots: Any
    spent: Spent
    taken: Any
    cell_keys: Any
    idle: Any
    last: Any
    before: Any
    listed: Any
    rows: Any
    cell_costs: Any
    paid: Any
    ends: Any
    members: Any

    @classmethod
    def of(cls, points: int, k: int, values: int) -> FeasibilityScratch:
        """Return room for so many points, of so many values that are told apart."""
        slots = np.full(1 << max(1, (4 * points - 1).bit_length()), NOWHERE)
        members = np.empty((points, 3 * k), np.int32)
        numbers, sums = np.empty((6, points), np.int64), np.empty((4, points))
        return cls._make([slots, Spent.of(points, values), *numbers, *sums, members])


@kernel
def limit(
    tables: Any, least: Any, cells: GridCells, prices: DualPrices, tight: Tight, k: int, work: FeasibilityScratch
) -> None:
    """Lower the factors of points so far that no cell of some nodes is priced more than it costs.

    Whatever prices become, if none rises by more than its factor, nor by more than the growth, no cell of these nodes
    is priced too much. Points come to their cells from the highest price down. A cell is done with as soon as the
    points to come, even at the growth times their prices, cannot bring it to what it costs; or, once it has k rows,
    cannot outweigh those at their own factor.

    IN      tables   (nodes, parts) int64, least (nodes,) float64: as in ``dual_ascent.rise``
    IN OUT  prices  the factors; IN OUT  tight, as far as it has room
    """
    codes, keys, costs, counts, alike, most_alike = cells
    values, order, factors, _ = prices
    slots, spent, taken, cell_keys, idle, last, before, listed, rows, cell_costs, paid, ends, members = work
    growth, parts, points = prices.growth, len(codes), len(counts)
    for node in range(len(least)):
        groups, place, stop, look = 0, 0, np.inf, 64
        while place < points and (values[order[place]] * growth > least[node] or values[order[place]] > stop):
            point = order[place]
            value = values[point]
            key = np.int64(0)
            for part in range(parts):
                key += keys[tables[node, part] + codes[part, point]]
            if key >= 0:
                slot = find(key, slots, cell_keys)
                group = slots[slot]
                if group == NOWHERE and value * growth > least[node]:
                    cost = 0.0
                    for part in range(parts):
                        cost += costs[tables[node, part] + codes[part, point]]
                    if value * growth > cost:
                        group = groups
                        slots[slot], taken[group], cell_keys[group], cell_costs[group] = group, slot, key, cost
                        rows[group], paid[group], ends[group] = 0.0, 0.0, -1.0
                        listed[group], idle[group], last[group] = 0, 0, NOWHERE
                        groups += 1
                if group != NOWHERE and value > ends[group]:
                    whole, paying = k * cell_costs[group], 0.0
                    before[point], last[group] = last[group], point
                    if rows[group] < k:
                        asked = min(k - rows[group], float(counts[point]))
                        paying = spend(group, alike[point], asked, most_alike, spent)
                    if paying == 0.0:
                        idle[group] += 1
                    if listed[group] < members.shape[1] and (paying > 0.0 or idle[group] <= 2 * k):
                        members[group, listed[group]] = point
                        listed[group] += 1
                    if rows[group] >= k:
                        factors[point] = min(factors[point], whole / paid[group])
                    elif paying > 0.0:
                        rows[group] += paying
                        paid[group] += paying * value
                        if rows[group] < k:
                            ends[group] = (whole / growth - paid[group]) / (k - rows[group])
                        elif paid[group] * growth <= whole:
                            ends[group] = np.inf
                        else:
                            ends[group] = whole / paid[group] * value / growth
                            one = last[group]
                            while one != NOWHERE:
                                factors[one] = min(factors[one], whole / paid[group])
                                one = before[one]
                    stop = min(stop, ends[group])
            place += 1
            if place == look:  # cells may have ended that kept it going
                look, stop = 2 * look, np.inf
                for group in range(groups):
                    stop = min(stop, ends[group])
        tight.counters[VISITS] += place
        forget(spent)
        for group in range(groups):
            slots[taken[group]] = NOWHERE
            if rows[group] >= k and ends[group] != np.inf:
                keep(cell_costs[group], group, listed[group], members, tight)


@kernel
def keep(cost: float, group: int, number: int, points: Any, tight: Tight) -> None:
    """Add a cell with so many of its points to the tight ones, if there is room."""
    costs, starts, members, counters = tight
    cell = counters[CELLS]
    if cell < len(costs) and starts[cell] + number <= len(members):
        costs[cell] = cost
        for place in range(number):
            members[starts[cell] + place] = points[group, place]
        starts[cell + 1] = starts[cell] + number
        counters[CELLS] += 1


class Weights(NamedTuple):
    """What tight cells allow, and what they weigh on.

    ``factors``   (points,) float64, infinite where no cell limits a point
    ``weights``   (points,) float64: what the others would gain for each part of a point's price that it gives up
    ``limiting``  (points,) int64: the cell that limits a point most, or NOWHERE
    ``sums``, ``borne``  (cells,) float64: what k rows are priced, and the weight of a cell
    ``spent``     (values,) float64: the rows of each value that pay
    """

    factors: Any
    weights: Any
    limiting: Any
    sums: Any
    borne: Any
    spent: Any

    @classmethod
    def of(cls, points: int, cells: int, values: int) -> Weights:
        """Return room for so many points and cells, before anything is weighed."""
        found = np.full(points, np.inf), np.zeros(points), np.full(points, NOWHERE)
        return cls._make([*found, *np.zeros((2, cells)), np.zeros(values)])


@kernel
def weigh(tight: Tight, cells: GridCells, values: Any, k: int, found: Weights) -> None:
    """Find the factors that tight cells allow, and how much their points would gain if one were priced less.

    Each point puts the weight of its price on the cell that limits it most. A cell passes that on to the k rows that
    are priced most in it, whose prices limit it.

    IN OUT  tight  the points of each cell are put in the order of their prices
    IN OUT  found  as ``Weights.of`` gives it
    """
    costs, starts, members, counters = tight
    factors, limiting, sums, borne = found.factors, found.limiting, found.sums, found.borne
    number = counters[CELLS]
    for cell in range(number):
        start, end = starts[cell], starts[cell + 1]
        for place in range(start + 1, end):
            point, at = members[place], place
            while at > start and values[members[at - 1]] < values[point]:
                members[at] = members[at - 1]
                at -= 1
            members[at] = point
        sums[cell] = pass_on(cell, -1.0, tight, cells, values, k, found)
        for place in range(start, end):
            point = members[place]
            if k * costs[cell] < factors[point] * sums[cell]:
                factors[point], limiting[point] = k * costs[cell] / sums[cell], cell
    for point in range(len(cells.counts)):
        if limiting[point] != NOWHERE:
            borne[limiting[point]] += cells.counts[point] * values[point] * factors[point]
    for cell in range(number):
        if borne[cell] > 0.0:
            pass_on(cell, borne[cell] / sums[cell], tight, cells, values, k, found)


@kernel
def pass_on(cell: int, weight: float, tight: Tight, cells: GridCells, values: Any, k: int, found: Weights) -> float:
    """Return what k rows of a cell are priced that may share a group; with a weight, put it on each of them."""
    alike, most, spent = cells.values, cells.most, found.spent
    start, end = tight.starts[cell], tight.starts[cell + 1]
    left, priced = float(k), 0.0
    for place in range(start, end):
        point = tight.members[place]
        paying = min(left, float(cells.counts[point]))
        if len(most) > 0:
            paying = min(paying, most[alike[point]] - spent[alike[point]])
            spent[alike[point]] += paying
        left -= paying
        priced += paying * values[point]
        if weight >= 0.0:
            found.weights[point] += paying * weight
    if len(most) > 0:
        for place in range(start, end):
            spent[alike[tight.members[place]]] = 0.0
    return priced
