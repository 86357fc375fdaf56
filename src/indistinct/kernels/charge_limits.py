"""How far charges of rows may be raised or must be lowered, and which rows the tightest cells weigh on.

Points, cells and tables are those of ``charging``. A cell of k rows or more may charge the k of them that are charged
most, together, k times what a row of it costs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernels.charging import NOWHERE, Cells, find
from indistinct.kernels.group_charges import insert
from indistinct.kernels.kernel import kernel

CELLS, VISITS = range(2)
"""Counters of tight cells: how many there are, and the points that were looked at to find them."""


class Charges(NamedTuple):
    """What each point is charged.

    ``values``   (points,) float64: the charge of a row
    ``order``    (points,) int64: the points, those that are charged most first
    ``factors``  (points,) float64: by what the charge may be multiplied, as far as is known
    ``growth``   (1,) float64: by what no charge is multiplied more
    """

    values: Any
    order: Any
    factors: Any
    growth: Any


class Tight(NamedTuple):
    """Cells that are charged nearly what they cost, or more.

    ``costs``     (most,) float64: what a row of each cell costs
    ``starts``    (most + 1,) int64: where its points start among ``members``, int32
    ``counters``  (2,) int64: CELLS, VISITS
    """

    costs: Any
    starts: Any
    members: Any
    counters: Any


class Work(NamedTuple):
    """Room for the cells of a node, as many as there are points, all int64 but where it is said.

    ``slots``  a power of two of them: cells by their hash, or NOWHERE
    ``taken``, ``cell_keys``, ``rows``, ``listed``: the slot, the key, the rows that pay, and the members of a cell
    ``cell_costs``, ``paid``, ``ends``  float64: its cost, what is paid, and the charge at which it is done with
    ``members``  (points, 3 k) int32
    """

    slots: Any
    taken: Any
    cell_keys: Any
    rows: Any
    listed: Any
    cell_costs: Any
    paid: Any
    ends: Any
    members: Any

    @classmethod
    def of(cls, points: int, k: int) -> Work:
        """Give room for so many points."""
        slots = np.full(1 << max(1, (4 * points - 1).bit_length()), NOWHERE)
        members = np.empty((points, 3 * k), np.int32)
        return cls._make([slots, *np.empty((4, points), np.int64), *np.empty((3, points)), members])


@kernel
def limit(tables: Any, least: Any, cells: Cells, charges: Charges, tight: Tight, k: int, work: Work) -> None:
    """Lower the factors of points so far that no cell of some nodes is charged more than it costs.

    Whatever charges become, if none rises by more than its factor, nor by more than the growth, no cell of these nodes
    is charged too much. Points come to their cells from the highest charge down. A cell is done with as soon as the
    points to come, even at the growth times their charges, cannot bring it to what it costs; or, once it has k rows,
    cannot outweigh those at their own factor.

    IN      tables   (nodes, parts) int64, least (nodes,) float64: as in ``charging.rise``
    IN OUT  charges  the factors; IN OUT  tight, as far as it has room
    """
    codes, keys, costs, counts = cells
    values, order, factors, _ = charges
    slots, taken, cell_keys, rows, listed, cell_costs, paid, ends, members = work
    growth, parts, points = charges.growth[0], len(codes), len(counts)
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
                        rows[group], paid[group], listed[group], ends[group] = 0, 0.0, 0, -1.0
                        groups += 1
                if group != NOWHERE and value > ends[group]:
                    if listed[group] < 3 * k:
                        members[group, listed[group]] = point
                        listed[group] += 1
                    whole = k * cell_costs[group]
                    if rows[group] >= k:
                        factors[point] = min(factors[point], whole / paid[group])
                    else:
                        paying = min(k - rows[group], counts[point])
                        rows[group] += paying
                        paid[group] += paying * value
                        if rows[group] < k:
                            ends[group] = (whole / growth - paid[group]) / (k - rows[group])
                        elif paid[group] * growth <= whole:
                            ends[group] = np.inf
                        else:
                            ends[group] = whole / paid[group] * value / growth
                            for member in range(listed[group]):
                                one = members[group, member]
                                factors[one] = min(factors[one], whole / paid[group])
                    stop = min(stop, ends[group])
            place += 1
            if place == look:  # cells may have ended that kept it going
                look, stop = 2 * look, np.inf
                for group in range(groups):
                    stop = min(stop, ends[group])
        tight.counters[VISITS] += place
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
    ``weights``   (points,) float64: what the others would gain for each part of a point's charge that it gives up
    ``limiting``  (points,) int64: the cell that limits a point most, or NOWHERE
    ``sums``, ``last``, ``borne``  (cells,) float64: what k rows are charged, the last of them, and the weight of a cell
    ``top``       (k,) float64
    """

    factors: Any
    weights: Any
    limiting: Any
    sums: Any
    last: Any
    borne: Any
    top: Any

    @classmethod
    def of(cls, points: int, cells: int, k: int) -> Weights:
        """Give room for so many points and cells, before anything is weighed."""
        found = np.full(points, np.inf), np.zeros(points), np.full(points, NOWHERE)
        return cls._make([*found, *np.zeros((3, cells)), np.empty(k)])


@kernel
def weigh(tight: Tight, counts: Any, values: Any, k: int, found: Weights) -> None:
    """Find the factors that tight cells allow, and how much their points would gain if one were charged less.

    Each point puts the weight of its charge on the cell that limits it most. A cell passes that on to the k rows that
    are charged most in it, whose charges limit it.

    IN OUT  found  as ``Weights.of`` gives it
    """
    costs, starts, members, counters = tight
    factors, weights, limiting, sums, last, borne, top = found
    number = counters[CELLS]
    for cell in range(number):
        filled = 0
        for place in range(starts[cell], starts[cell + 1]):
            filled = insert(top, filled, k, values[members[place]], counts[members[place]])
        for place in range(filled):
            sums[cell] += top[place]
        last[cell] = top[filled - 1]
        for place in range(starts[cell], starts[cell + 1]):
            point = members[place]
            if k * costs[cell] < factors[point] * sums[cell]:
                factors[point], limiting[point] = k * costs[cell] / sums[cell], cell
    for point in range(len(counts)):
        if limiting[point] != NOWHERE:
            borne[limiting[point]] += counts[point] * values[point] * factors[point]
    for cell in range(number):
        if borne[cell] > 0.0:
            left = k
            for is_last in range(2):  # those that are charged as the last of the k share what is left of the rows
                for place in range(starts[cell], starts[cell + 1]):
                    point = members[place]
                    if values[point] >= last[cell] and (values[point] == last[cell]) == (is_last == 1):
                        paying = min(left, counts[point])
                        weights[point] += paying * borne[cell] / sums[cell]
                        left -= paying
