"""Counting points in boxes: how many people each group of labels covers, and how many rows cover each person.

Points stand in a k-d tree whose nodes know their bounds. A box that holds all of a node counts the node at once, so
that neither the pairs of boxes and points nor a join of them is ever made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array
from indistinct.counting.kernels.grouping import order_of
from indistinct.kernel import kernel

LEAF = 8
"""A node with no more points is not divided."""
DEEPEST = 128
"""Halving leaves no path longer than this, whatever the number of points."""
NOBODY = -1
OUTSIDE, ACROSS, INSIDE = 0, 1, 2


class PointTree(NamedTuple):
    """A k-d tree in the order in which its nodes are first visited: a node, its left part, its right part."""

    points: Array
    """(points, columns) int64, in the order of the tree"""
    weights: Array
    """(points,) int64"""
    starts: Array
    ends: Array
    """(nodes,) int64: the points of a node"""
    rights: Array
    """(nodes,) int64: the right part of a node, 0 for a leaf"""
    lows: Array
    highs: Array
    """(nodes, columns) int64: the bounds of a node's points"""
    sums: Array
    """(nodes,) int64: the weight of a node's points"""


class LabelRanks(NamedTuple):
    """What labels cover: a run of ranks, or some ranks of a run; the labels of all columns in one row."""

    offsets: Array
    """(columns,) int64: the place of a column's first label"""
    lows: Array
    highs: Array
    """(labels,) int64: the first and last rank; a label that covers nothing has its low above its high"""
    places: Array
    """(labels,) int64: where a label's counts begin in ``counts``; -1 if it covers all of its run"""
    counts: Array
    """int64: for a label that has gaps, how many covered ranks lie before each rank of its column"""


def build(points: Array, weights: Array) -> tuple[PointTree, Array]:
    """Build the tree of some points; also give the position of each of its points among those that came in.

    IN   points   (points, columns) int64, at least one point and one column
    IN   weights  (points,) int64
    """
    order = np.arange(len(points))
    most = max(1, 4 * len(points) // LEAF + 2)
    starts, ends, rights, sums = (np.zeros(most, np.int64) for _ in range(4))
    lows, highs = (np.zeros((most, points.shape[1]), np.int64) for _ in range(2))
    room = PointTree(points, weights, starts, ends, rights, lows, highs, sums)
    nodes = _divide(room, order)
    return PointTree(np.ascontiguousarray(points[order]), weights[order], *(array[:nodes] for array in room[2:])), order


@kernel
def _divide(tree: PointTree, order: Array) -> int:
    """Halve the points along their widest column, again and again; give the number of nodes.

    IN      tree   the points as they came in
    OUT     tree   what its nodes are, as many as there are
    IN OUT  order  (points,) int64: the points, in the end in the order of the tree
    """
    points, weights, starts, ends, rights, lows, highs, sums = tree
    columns = points.shape[1]
    waiting = np.zeros((DEEPEST, 3), np.int64)  # first point, end, and the node whose right part it is
    waiting[0, 1], waiting[0, 2] = len(points), NOBODY
    number, nodes = 1, 0
    while number:
        number -= 1
        start, end, parent = waiting[number, 0], waiting[number, 1], waiting[number, 2]
        node, nodes = nodes, nodes + 1
        if parent >= 0:
            rights[parent] = node
        starts[node], ends[node] = start, end
        widest, width = 0, np.int64(-1)
        for column in range(columns):
            low = high = points[order[start], column]
            for place in range(start + 1, end):
                rank = points[order[place], column]
                low, high = min(low, rank), max(high, rank)
            lows[node, column], highs[node, column] = low, high
            if high - low > width:
                widest, width = column, high - low
        total = np.int64(0)
        for place in range(start, end):
            total += weights[order[place]]
        sums[node] = total
        if end - start <= LEAF or width == 0:
            continue
        part = order[start:end].copy()
        ranks = np.empty(end - start, np.int64)
        for place in range(end - start):
            ranks[place] = points[part[place], widest]
        by_rank = order_of(ranks)
        for place in range(end - start):
            order[start + place] = part[by_rank[place]]
        middle = (start + end) // 2
        waiting[number, 0], waiting[number, 1], waiting[number, 2] = middle, end, node
        number += 1
        waiting[number, 0], waiting[number, 1], waiting[number, 2] = start, middle, NOBODY
        number += 1
    return nodes


@kernel
def _place(covers: LabelRanks, label: int, low: int, high: int) -> int:
    """Return whether a run of ranks lies inside or outside of what a label covers, or across its edge."""
    first, last = covers.lows[label], covers.highs[label]
    if high < first or low > last:
        return OUTSIDE
    at = covers.places[label]
    if at < 0:
        return INSIDE if first <= low and high <= last else ACROSS
    covered = covers.counts[at + high + 1] - covers.counts[at + low]
    if covered == 0:
        return OUTSIDE
    return INSIDE if covered == high - low + 1 else ACROSS


@kernel
def _place_node(tree: PointTree, covers: LabelRanks, labels: Array, node: int) -> int:
    """Return whether all points of a node lie inside or outside of a box."""
    answer = INSIDE
    for column in range(len(labels)):
        label = covers.offsets[column] + labels[column]
        found = _place(covers, label, tree.lows[node, column], tree.highs[node, column])
        if found == OUTSIDE:
            return OUTSIDE
        answer = min(answer, found)
    return answer


@kernel
def count(tree: PointTree, covers: LabelRanks, labels: Array, sizes: Array) -> tuple[Array, Array, Array]:
    """Count the points that each box covers, and the boxes, by their sizes, that cover each point.

    IN   labels  (boxes, columns) int64: the label of each column, counted from the column's first
    IN   sizes   (boxes,) int64
    OUT  (boxes,) int64: the weight of the points in each box
    OUT  (boxes,) int64: the place of one of them in the tree, -1 if there is none
    OUT  (points,) int64: the size of all boxes that cover each point
    """
    boxes, nodes = len(labels), len(tree.starts)
    weights, found = np.zeros(boxes, np.int64), np.full(boxes, NOBODY, np.int64)
    over_points, over_nodes = np.zeros(len(tree.points), np.int64), np.zeros(nodes, np.int64)
    waiting = np.zeros(DEEPEST, np.int64)
    for box in range(boxes):
        number = 1
        waiting[0] = 0
        while number:
            number -= 1
            node = waiting[number]
            where = _place_node(tree, covers, labels[box], node)
            if where == OUTSIDE:
                continue
            if where == INSIDE:
                weights[box] += tree.sums[node]
                found[box] = tree.starts[node]
                over_nodes[node] += sizes[box]
            elif tree.rights[node]:
                waiting[number], waiting[number + 1] = tree.rights[node], node + 1
                number += 2
            else:
                for point in range(tree.starts[node], tree.ends[node]):
                    if _holds(tree, covers, labels[box], point):
                        weights[box] += tree.weights[point]
                        found[box] = point
                        over_points[point] += sizes[box]
    for node in range(nodes):  # parents come before their parts
        if tree.rights[node]:
            over_nodes[node + 1] += over_nodes[node]
            over_nodes[tree.rights[node]] += over_nodes[node]
        else:
            for point in range(tree.starts[node], tree.ends[node]):
                over_points[point] += over_nodes[node]
    return weights, found, over_points


@kernel
def _holds(tree: PointTree, covers: LabelRanks, labels: Array, point: int) -> bool:
    """Return whether a point lies in a box."""
    for column in range(len(labels)):
        rank = tree.points[point, column]
        if _place(covers, covers.offsets[column] + labels[column], rank, rank) != INSIDE:
            return False
    return True
