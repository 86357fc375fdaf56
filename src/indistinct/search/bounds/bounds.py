"""Bounds: a loss that no local recoding with groups of at least k rows gets below, for tables of any size.

It is the dual of a linear program. Each row gets a price such that the prices of no group of k rows exceed the group's
cost. Then no release costs less than all prices together. Where a sensitive value may make up only a share of a group,
fewer groups are possible, and prices rise further.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import FrequencyList
from indistinct.policy.algorithms import LabelKind
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure, within_unit
from indistinct.search.bounds.cost_grids import CostGrids, ValueShares
from indistinct.search.bounds.kernels import dual_ascent as dual_ascent
from indistinct.search.local.groups.space import Space

MOST_VISITS = 100_000_000
"""Points times nodes that are visited: a second."""

AT_ONCE = 64
"""Nodes that are visited between two looks at the clock."""

NEGLIGIBLE = 1e-3
"""The share of the bound that is not worth more visits."""


def cell_bound(
    frequencies: FrequencyList,
    measure: CellMeasure,
    k: int,
    watch: Watch,
    labels: LabelKind = "hierarchy",
    visits: int = MOST_VISITS,
    shares: ValueShares | None = None,
) -> float:
    """Return a loss that no local recoding by such labels with groups of at least k rows gets below.

    It holds however many rows are suppressed, since no row's price is above the loss of a suppressed row. About
    ``visits`` points are examined. With ``shares`` it holds for groups in which no sensitive value makes up more than
    its share.
    """
    whole = measure.prepare(frequencies).whole
    if whole <= 0:
        return 0.0
    space = Space.of(frequencies, measure, labels)
    lost = least_cost(space, k, watch, visits, shares)
    return within_unit(1.0 - (space.whole_row * frequencies.rows - lost) / whole)


def least_cost(
    space: Space, k: int, watch: Watch, visits: int = MOST_VISITS, shares: ValueShares | None = None
) -> float:
    """Return a cost that no grouping of a space's rows into groups of at least k gets below, after so many visits."""
    return total_price(space, duals_by_nodes(space, k, watch, visits, shares))


def total_price(space: Space, duals: FloatArray) -> float:
    """Sum the prices of all rows; none is priced more than a row that is lost."""
    return float(np.minimum(duals, space.whole_row) @ space.counts)


def duals_by_nodes(
    space: Space, k: int, watch: Watch, visits: int = MOST_VISITS, shares: ValueShares | None = None
) -> FloatArray:
    """Return the prices of dual ascent, which visits nodes in the order of their least cost.

    All prices rise together. A group of k rows or more is visited when prices reach its least cost. Its rising rows may
    then share what its stopped rows leave of that cost. When visits end, rows that still rise get the least cost of
    the next node: no group that was not visited costs less.
    """
    grids = CostGrids.of(space, shares)
    points = len(grids.counts)
    state = dual_ascent.Rising(
        duals=np.full(points, np.inf),
        limits=np.full(points, np.inf),
        rising=np.arange(points),
        stopped=np.zeros(points, np.int64),
        counters=np.array([points, 0, 0], np.int64),
    )
    nodes = grids.cheapest_first()
    level = 0.0
    while waiting := list(islice(nodes, AT_ONCE)):
        least, places = np.array([cost for cost, _ in waiting]), grids.tables_at([node for _, node in waiting])
        level = float(least[0])
        with np.errstate(over="ignore"):  # hashing wraps around
            passed = dual_ascent.rise(places, least, grids.cells(k), state, k, visits)
        if passed < len(waiting):
            level = float(least[passed])
            break
        rising = state.rising[: state.counters[dual_ascent.RISING]]
        left = float(grids.counts[rising] @ np.maximum(space.whole_row - np.minimum(state.limits[rising], level), 0))
        is_done = left <= NEGLIGIBLE * space.whole_row * float(grids.counts.sum())
        if is_done or watch.time_is_up():
            break
        watch.report("bound", int(state.counters[dual_ascent.VISITS]), visits)
    else:
        level = np.inf
    reached: FloatArray = np.where(np.isinf(state.duals), np.minimum(state.limits, level), state.duals)
    return reached
