"""Boxes: the label vectors that groups of a space can carry, and proven prices for the rows in them.

A group's cells carry the lowest labels over its rows, and those labels span a label vector of points. So every
partition of a space is an assignment of its rows to label vectors with at least k rows in each label vector that is
used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray
from indistinct.recoding import Pieces
from indistinct.search.bounds.kernels.group_prices import closed_groups
from indistinct.search.local.groups.space import RUN, Space

USUAL_K = 10
"""Limits are meant for groups of about this size."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelLevels:
    """The distinct points of a space, and above each value the labels that can be the lowest over several values.

    A level here is the height of a label in the tree of such labels. Labels that cover the same values at hand, or
    cost the same as one below, are left out, so there are at most as many levels as in the hierarchies.
    """

    points: NDArray[np.int32]
    """(points, columns): the position of the value among those at hand."""
    counts: IntArray
    """(points,): rows."""
    labels: NDArray[np.int32]
    """(columns, levels, values): the first value under the label of a value."""
    costs: FloatArray
    """(columns, levels, values): what that label costs a row."""
    space: Space
    """The space of the points; what they stand for may be divided further, by sensitive values."""
    point_of: IntArray
    """The point of each tuple of the space that was laid out."""
    rows: IntArray
    """The rows of each of those tuples."""

    @classmethod
    def of(cls, space: Space) -> LabelLevels:
        """Lay out the labels of a space whose columns all carry labels of hierarchies."""
        assert (space.kinds == RUN).all()  # ranges and sets span label vectors without number
        ranks, point_of = np.unique(space.ranks, axis=0, return_inverse=True)
        point_of = point_of.ravel()
        counts = np.bincount(point_of, space.counts, len(ranks)).astype(np.int64)
        distinct = replace(space, ranks=ranks, counts=counts)
        columns = [ColumnLabels.of(distinct, column) for column in range(ranks.shape[1])]
        levels = max((len(column.labels) for column in columns), default=1)
        values = max((column.labels.shape[1] for column in columns), default=1)
        labels = np.zeros((len(columns), levels, values), np.int32)
        costs = np.full(labels.shape, np.inf)
        for position, column in enumerate(columns):
            number = column.labels.shape[1]
            for level in range(levels):
                labels[position, level, :number] = column.labels[min(level, len(column.labels) - 1)]
                costs[position, level, :number] = column.costs[min(level, len(column.costs) - 1)]
        points = np.stack([column.values for column in columns], axis=1).astype(np.int32)
        return cls(points, counts, labels, costs, distinct, point_of, space.counts)

    @property
    def number_of_rows(self) -> int:
        """The rows of all points."""
        return int(self.counts.sum())

    def run_costs(self) -> FloatArray:
        """Return the cost of the lowest label over each two values, by column."""
        columns, levels, values = self.labels.shape
        table = np.full((columns, values, values), np.inf)
        for column in range(columns):
            for level in range(levels - 1, -1, -1):
                labels, costs = self.labels[column, level], self.costs[column, level]
                table[column] = np.where(labels[:, None] == labels[None, :], costs[:, None], table[column])
        return table

    def to_tuples(self, pieces: Pieces) -> Pieces:
        """Turn rows of points in groups into rows of the tuples laid out: those that are alike fill up in order."""
        by_point = np.argsort(self.point_of, kind="stable")
        ends = np.cumsum(self.rows[by_point])  # the rows of all points one after the other
        order = np.lexsort((pieces.groups, pieces.tuples))
        group_ends = np.cumsum(pieces.rows[order])
        cuts = np.unique(np.concatenate([ends, group_ends]))
        starts = np.concatenate([[0], cuts[:-1]]).astype(np.int64)
        return Pieces(
            by_point[np.searchsorted(ends, starts, side="right")],
            cuts - starts,
            pieces.groups[order][np.searchsorted(group_ends, starts, side="right")],
        )

    def group_costs(self, pieces: Pieces) -> FloatArray:
        """Return what each group of points costs a row."""
        groups = int(pieces.groups.max(initial=-1)) + 1
        ranks = self.space.ranks[pieces.tuples].astype(np.int64)
        low = np.full((groups, ranks.shape[1]), np.iinfo(np.int64).max)
        high = np.full((groups, ranks.shape[1]), -1)
        np.minimum.at(low, pieces.groups, ranks)
        np.maximum.at(high, pieces.groups, ranks)
        return self.space.run_costs(low, high)

    def cost(self, pieces: Pieces) -> float:
        """Return what all groups of points cost together."""
        return float(self.group_costs(pieces)[pieces.groups] @ pieces.rows)


def values_at_hand(space: Space, column: int) -> tuple[IntArray, IntArray]:
    """Return the ranks that points of a space have in a column, and the place of each point's rank among them."""
    is_there = np.bincount(space.ranks[:, column], minlength=1) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[space.ranks[:, column]]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnLabels:
    """The labels of a column, level by level: by value, the first value under its label and what that costs a row."""

    values: IntArray
    """The position of each point's value."""
    labels: IntArray
    costs: FloatArray

    @classmethod
    def of(cls, space: Space, column: int) -> ColumnLabels:
        """Return the labels of a column that carries labels of its hierarchy.

        Values stand in an order in which every label covers a run of them, so what separates two neighbours, the cost
        of their lowest common label, says everything. Labels one level up form where neighbours are separated least.
        """
        found, values = values_at_hand(space, column)
        own = space._label_costs(column, found, found)
        between = space._label_costs(column, found[:-1], found[1:])
        label, cost = np.arange(len(found)), own
        labels, costs = [label], [cost]
        while label[-1] > 0:
            starts = np.flatnonzero(np.diff(label, prepend=-1))  # where each label starts; all but 0 have a gap before
            joins = _least_gaps(between[starts[1:] - 1])
            is_start = np.ones(len(starts), np.bool_)
            is_start[1:] = ~joins
            run_of = np.cumsum(is_start) - 1
            joined_cost = np.full(int(run_of[-1]) + 1, -1.0)
            joined_cost[run_of[1:][joins]] = between[starts[1:] - 1][joins]
            place = np.searchsorted(starts, label)
            new_cost = joined_cost[run_of[place]]
            label, cost = starts[is_start][run_of[place]], np.where(new_cost < 0, cost, new_cost)
            labels.append(label)
            costs.append(cost)
        return cls(values, np.stack(labels), np.stack(costs))

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Return which labels, by level and value, cover more values than the one below."""
        covered = np.stack([np.bincount(level)[level] for level in self.labels])
        return np.diff(covered, axis=0, prepend=0) > 0


def _least_gaps(gaps: FloatArray) -> NDArray[np.bool_]:
    """Return which gaps are smaller than the nearest different ones on both sides.

    >>> _least_gaps(np.array([1.0, 1.0, 2.0, 1.0, 3.0, 2.0]))
    array([ True,  True, False,  True, False,  True])
    """
    is_first = np.concatenate([[True], gaps[1:] != gaps[:-1]])
    plateau = np.cumsum(is_first) - 1
    height = np.concatenate([[np.inf], gaps[is_first], [np.inf]])
    is_least = (height[1:-1] < height[:-2]) & (height[1:-1] < height[2:])
    chosen: NDArray[np.bool_] = is_least[plateau]
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class LabelVectors:
    """Every label vector that a group can span, each once: its points and its cost per row."""

    members: NDArray[Any]
    """The points of one label vector after the other."""
    starts: IntArray
    """(label vectors + 1,): where each label vector's members start."""
    costs: FloatArray
    """(label vectors,): what the label vector's labels cost a row."""
    counts: IntArray
    """(points,): rows."""

    @classmethod
    def of(cls, ladders: LabelLevels, k: int, most: int) -> LabelVectors | None:
        """List the label vectors of at least k rows; None if they have about so many members or more.

        The limit is lower for a large k, because to look through a label vector then takes longer.
        """
        most = most * USUAL_K // max(USUAL_K, k)
        members, starts, costs, is_complete = closed_groups(
            ladders.points, ladders.counts, ladders.labels, ladders.costs, k, most
        )
        return cls(members, starts, costs, ladders.counts) if is_complete else None

    def __len__(self) -> int:
        return len(self.costs)
