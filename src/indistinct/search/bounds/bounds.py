"""Bounds: what every local recoding with groups of at least k rows loses at the least, for tables of any size.

A row's labels in a release are those of a node's group that holds at least k rows. Each row is priced so that no
such group of k rows is priced more than it costs; then no release costs less than what all rows are priced. Where
no sensitive value may make up more than a share of a group, fewer groups are made, and rows are priced more.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.policy.algorithms import LabelKind
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure, FloatArray, within_unit
from indistinct.search.bounds.candidate_groups import LabelVectors, Ladders
from indistinct.search.bounds.cost_grids import CostGrids, ValueShares
from indistinct.search.bounds.dual_prices import raise_prices
from indistinct.search.bounds.kernels import dual_ascent as dual_ascent
from indistinct.search.local.groups.space import RUN, Space

MOST_MEMBERS = 8_000_000
"""Members of label vectors up to which every label vector is looked at by itself."""

MOST_VISITS = 100_000_000
"""Points times nodes that are visited where label vectors are too many: a second."""

FEW_POINTS = 5_000
"""Points up to which label vectors are listed, if there are not too many of those."""

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
    visits: int | None = None,
    shares: ValueShares | None = None,
) -> float:
    """Return a loss that no local recoding by such labels with groups of at least k rows gets below.

    It may suppress as many rows as it likes: no row is priced more than a suppressed one loses. A row that no label
    joins to k - 1 others counts as lost. With ``visits`` it takes about as long as so many points are looked at, else
    as long as is worth it. With ``shares`` of the list's entries it tells of groups in which no value makes up more.
    """
    whole = measure.prepare(frequencies).whole
    if whole <= 0:
        return 0.0
    space = Space.of(frequencies, measure, labels)
    if visits is None:
        lost = least_cost(space, k, watch, shares)
    else:
        lost = least_cost_of_space(space, k, watch, visits, shares)
    return within_unit(1.0 - (space.whole_row * frequencies.rows - lost) / whole)


def least_cost(space: Space, k: int, watch: Watch, shares: ValueShares | None = None) -> float:
    """Return a cost that no grouping of a space's rows into groups of at least k gets below.

    It is raised as long as that gains more than a little, or until time is up.
    """
    label_vectors = None
    if shares is None and (space.kinds == RUN).all() and len(space.counts) <= FEW_POINTS:
        ladders = Ladders.of(space)
        space, label_vectors = ladders.space, LabelVectors.of(ladders, k, MOST_MEMBERS)
    duals = duals_by_nodes(space, k, watch, shares=shares) if label_vectors is None else label_vectors.rising_duals(k)
    return _total(space, raise_prices(CostGrids.of(space, shares), duals, k, space.whole_row, watch))


def least_cost_of_space(
    space: Space, k: int, watch: Watch, visits: int = MOST_VISITS, shares: ValueShares | None = None
) -> float:
    """Return such a cost that takes about so many visits, and is not raised afterwards."""
    return _total(space, duals_by_nodes(space, k, watch, visits, shares))


def _total(space: Space, duals: FloatArray) -> float:
    """Sum the prices of all rows; none is priced more than a row that is lost."""
    return float(np.minimum(duals, space.whole_row) @ space.counts)


def duals_by_nodes(
    space: Space, k: int, watch: Watch, visits: int = MOST_VISITS, shares: ValueShares | None = None
) -> FloatArray:
    """Price rows node by node, cheapest first.

    All prices rise together. A group of k rows or more, visited when they have risen to what it can cost at the
    least, lets its rising rows reach what its stopped rows leave of its cost, and no more. When visits end, those that
    still rise are priced what the next node costs at the least: no group that was not visited costs less.
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
