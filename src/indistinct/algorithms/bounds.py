"""Bounds: what every local recoding with groups of at least k rows loses at the least, for tables of any size.

A row's labels in a release are those of a node's group that holds at least k rows. Each row is charged so that no
such group of k rows is charged more than it costs; then no release costs less than what all rows are charged.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from indistinct.algorithms.boxes import Boxes, Ladders
from indistinct.algorithms.space import Space
from indistinct.algorithms.task import with_level
from indistinct.counting import FrequencyList, Groups, IntArray, Layout, Node
from indistinct.kernels import group_charges, grouping
from indistinct.quality.cell_losses import CellMeasure
from indistinct.quality.measure import FloatArray, within_unit
from indistinct.watch import Watch

MOST_MEMBERS = 8_000_000
"""Members of boxes up to which every box is looked at by itself."""

MOST_VISITS = 40_000_000
"""Points times nodes that are visited where boxes are too many: seconds."""

NEGLIGIBLE = 1e-3
"""The share of the bound that is not worth more visits."""


def cell_bound(frequencies: FrequencyList, measure: CellMeasure, k: int, watch: Watch) -> float:
    """Give a loss that no local recoding by the hierarchies' labels with groups of at least k rows gets below.

    A row that no label joins to k - 1 others counts as lost.
    """
    whole = measure.prepare(frequencies).whole
    if whole <= 0:
        return 0.0
    space = Space.of(frequencies, measure)
    lost = least_cost(Ladders.of(space), k, watch)
    return within_unit(1.0 - (space.whole_row * frequencies.rows - lost) / whole)


def least_cost(ladders: Ladders, k: int, watch: Watch) -> float:
    """Give a cost that no grouping of a space's rows into groups of at least k gets below."""
    boxes = Boxes.of(ladders, k, MOST_MEMBERS)
    return charged_by_nodes(ladders, k, watch) if boxes is None else _total(ladders, boxes.rising_duals(k))


def charged_by_nodes(ladders: Ladders, k: int, watch: Watch) -> float:
    """Give such a cost for a table with too many boxes to list."""
    return _total(ladders, _duals_by_nodes(ladders, k, watch))


def _total(ladders: Ladders, duals: FloatArray) -> float:
    """Sum the charges of all rows; none is charged more than a row that is lost."""
    return float(np.minimum(duals, ladders.space.whole_row) @ ladders.counts)


def _duals_by_nodes(ladders: Ladders, k: int, watch: Watch) -> FloatArray:
    """Charge rows node by node, cheapest first.

    All charges rise together. A group of k rows or more, visited when they have risen to what it can cost at the
    least, lets its rising rows reach what its stopped rows leave of its cost, and no more. When visits end, those that
    still rise are charged what the next node costs at the least: no group that was not visited costs less.
    """
    counts = ladders.counts
    points = _as_groups(ladders)
    duals = np.full(len(counts), np.inf)
    limits = np.full(len(counts), np.inf)
    stopped = np.zeros(0, np.int64)
    total, rising, visits = 0.0, ladders.number_of_rows, 0
    for least, node in _cheapest_first(ladders):
        reached = np.flatnonzero(np.isinf(duals) & (limits <= least))
        if len(reached):
            reached = reached[np.argsort(limits[reached], kind="stable")]
            duals[reached] = limits[reached]
            stopped = np.concatenate([stopped, reached])
            total += float((duals[reached] * counts[reached]).sum())
            rising -= int(counts[reached].sum())
        is_done = rising * (ladders.space.whole_row - least) <= NEGLIGIBLE * total
        if is_done or visits > MOST_VISITS or watch.time_is_up():
            duals[np.isinf(duals)] = least
            return duals
        group_of, costs = _groups_at(ladders, points, node)
        group_charges.limit_charges(group_of, costs, counts, duals, stopped, limits, k)
        visits += len(counts)
        watch.report("bound", visits, MOST_VISITS)
    reached_all: FloatArray = np.minimum(duals, limits)
    return reached_all


def _as_groups(ladders: Ladders) -> Groups:
    """Give the points as groups of a node, so that they can be rolled up."""
    columns = ladders.points.shape[1]
    layout = Layout.for_sizes([ladders.labels.shape[2]] * columns)
    keys = grouping.pack(ladders.points.T.astype(np.uint64), layout.words, layout.shifts, layout.number_of_words)
    return Groups(ladders.counts, keys, (0,) * columns, layout)


def _groups_at(ladders: Ladders, points: Groups, node: Node) -> tuple[IntArray, FloatArray]:
    """Give the group of each point, and the cost of each group.

    Groups with a label of a level below belong to a node below: their points have group -1 here.
    """
    climbed = [(column, level) for column, level in enumerate(node) if level]
    maps = {column: ladders.labels[column, level].astype(np.uint64) for column, level in climbed}
    uneven = [(column, level) for column, level in climbed if not ladders.is_new[column, level].all()]
    if uneven:
        takes_part = np.ones(len(points), np.bool_)
        for column, level in uneven:
            takes_part &= ladders.is_new[column, level][ladders.points[:, column]]
        part = replace(points, sizes=points.sizes[takes_part], keys=points.keys[takes_part])
        groups, group_of_part = part.merge(maps, node)
        group_of = np.full(len(points), -1)
        group_of[takes_part] = group_of_part
    else:
        groups, group_of = points.merge(maps, node)
    costs = np.zeros(len(groups))
    for column, level in enumerate(node):
        costs += ladders.costs[column, level][groups.label_codes(column)]
    return group_of, costs


def _cheapest_first(ladders: Ladders) -> Iterator[tuple[float, Node]]:
    """Give every node after all that cost less than it, with the least that labels cost which first appear there."""
    heights = ladders.heights.tolist()
    least = [
        [float(ladders.costs[column, level][ladders.is_new[column, level]].min()) for level in range(height + 1)]
        for column, height in enumerate(heights)
    ]
    waiting = [(sum(costs[0] for costs in least), (0,) * len(heights), 0)]
    while waiting:
        cost, node, first = heapq.heappop(waiting)
        yield cost, node
        for column in range(first, len(node)):  # columns climb in ascending order, so each node has one way
            level = node[column]
            if level < heights[column]:
                step = least[column][level + 1] - least[column][level]
                heapq.heappush(waiting, (cost + step, with_level(node, column, level + 1), column))
