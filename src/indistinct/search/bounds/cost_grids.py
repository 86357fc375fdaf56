"""Covers: coarse cells that hold every group which labels of some cost can make, for bounds on what groups cost.

Each column has *covers*. A cover puts its values into cells and gives each cell a cost, such that whatever label a
group carries, the values under it lie in one cell of some cover that costs no more. Labels of a hierarchy are cells
themselves, level by level. A range lies in a cell of twice its width, if two grids are tried, the second shifted by
half a cell. Of a set is only known whether it has one value or several. A *node* takes one cover of each column.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray, Node
from indistinct.search.bounds.candidate_groups import ColumnLabels, values_at_hand
from indistinct.search.bounds.kernels.dual_ascent import NO_CELL, GridCells
from indistinct.search.local.groups.space import RANGE, RUN, Space
from indistinct.search.task import with_level

MOST_PLACES = 4_096
"""Columns are taken together as one part as long as they have no more combinations of values than this."""
MOST_KEYS = 1 << 57
"""Cells that keys can tell apart."""
NOWHERE = -1
ROUNDING = 1e-8
"""Limits are raised by this share, which is more than models take for rounding."""


@dataclass(frozen=True, slots=True)
class _ColumnGrids:
    """The covers of one column, cheapest first."""

    values: IntArray
    """(points,) the place of each point's value among those at hand."""
    cells: IntArray
    """(covers, values) a value of the same cell, NOWHERE for cells that a cheaper cover has as well."""
    costs: FloatArray
    """(covers, values) what the cell costs a row."""
    least: list[float]
    """What cells that no cheaper cover has cost at the least, for each cover."""

    @classmethod
    def of(cls, space: Space, column: int) -> _ColumnGrids:
        if space.kinds[column] == RUN:
            found = ColumnLabels.of(space, column)
            values, cells = found.values, np.where(found.is_new, found.labels, NOWHERE)
            costs = found.costs
        else:
            ranks, values = values_at_hand(space, column)
            several, each = (
                _of_ranges(space, column, ranks) if space.kinds[column] == RANGE else _of_sets(space, column)
            )
            cells = np.stack([np.arange(len(ranks)), *(_several(own[: len(ranks)]) for own in several)])
            costs = np.repeat(np.append(0.0, each)[:, None], len(ranks), axis=1)
        least = np.where(cells == NOWHERE, np.inf, costs).min(axis=1)
        order = np.argsort(least, kind="stable")
        order = order[np.isfinite(least[order])]
        return cls(values, cells[order], costs[order], least[order].tolist())


def _of_ranges(space: Space, column: int, ranks: IntArray) -> tuple[list[IntArray], list[float]]:
    """Return the cells of grids that hold ranges, by value, and what a range costs at the least that needs so wide
    ones.

    A range from a to b, at most w = 1, 2, 4 … apart, lies in a cell of width 2w of a grid that starts at 0 or at w.
    """
    positions = np.rint(space.table[space.table_at[column] + ranks]).astype(np.int64)
    positions -= positions[0]
    cells, costs, width = [], [], 1
    while len(ranks) > 1:
        fewest = 2 if width == 1 else width // 2 + 2  # values of the domain from a to b
        costs.append(float(space.starts[column] + space.slopes[column] * fewest))
        cells.append(positions // (2 * width))
        if positions[-1] < 2 * width:
            break
        costs.append(costs[-1])
        cells.append((positions + width) // (2 * width))
        width *= 2
    return cells, costs


def _of_sets(space: Space, column: int) -> tuple[list[IntArray], list[float]]:
    """Return one cell for all values, and what two of them cost."""
    cost = float(space.starts[column] + 2 * space.slopes[column])
    return [np.zeros(int(space.sizes[column]), np.int64)], [cost]


def _several(cells: IntArray) -> IntArray:
    """Name each cell by its first value; leave out those of a single value."""
    _, first, cell_of, number = np.unique(cells, return_index=True, return_inverse=True, return_counts=True)
    cell_of = cell_of.ravel()
    return np.where(number[cell_of] > 1, first[cell_of], NOWHERE)


@dataclass(frozen=True, slots=True)
class ValueShares:
    """How much of a group each sensitive value may make up at the most.

    A group in which no value makes up more prices its rows on average no more than any k of them that are priced most
    and in which none makes up more, shares of rows being allowed.
    """

    values: NDArray[np.int32]
    """(points,) the value of each point's rows."""
    limits: FloatArray
    """(values,) shares; empty where there are no limits."""

    @classmethod
    def without_limits(cls, points: int) -> ValueShares:
        """No value is limited."""
        return cls(np.zeros(points, np.int32), np.zeros(0))

    def most_of(self, k: int) -> FloatArray:
        """Return how many of k rows may have each value; rounding never makes it fewer."""
        return self.limits * k * (1.0 + ROUNDING)


@dataclass(slots=True)
class CostGrids:
    """The points of a space, and in which cells they lie at every node."""

    counts: IntArray
    """(points,) rows; points that are alike may stand apart."""
    columns: list[_ColumnGrids]
    shares: ValueShares
    parts: list[list[int]] = field(default_factory=list)
    """The columns that are taken together."""
    codes: list[IntArray] = field(default_factory=list)
    """For each part the place of each point in its tables."""
    _places: list[IntArray] = field(default_factory=list)
    """For each part the value of each column at each place."""
    _offsets: dict[tuple[int, Node], int] = field(default_factory=dict)
    _keys: list[IntArray] = field(default_factory=list)
    _costs: list[FloatArray] = field(default_factory=list)
    _length: int = 0

    @classmethod
    def of(cls, space: Space, shares: ValueShares | None = None) -> CostGrids:
        """Lay out the covers of a space of any kind of labels."""
        columns = [_ColumnGrids.of(space, column) for column in range(len(space.kinds))]
        made = cls(space.counts, columns, shares or ValueShares.without_limits(len(space.counts)))
        sizes = [column.cells.shape[1] for column in made.columns]
        for column in np.argsort(sizes, kind="stable").tolist():
            if made.parts and math.prod(sizes[one] for one in (*made.parts[-1], column)) <= MOST_PLACES:
                made.parts[-1].append(column)
            else:
                made.parts.append([column])
        for part in made.parts:
            grid = np.indices([sizes[column] for column in part]).reshape(len(part), -1)
            code = np.zeros(len(space.counts), np.int64)
            for column in part:
                code = code * sizes[column] + made.columns[column].values
            made.codes.append(code)
            made._places.append(grid)
        while math.prod(grid.shape[1] for grid in made._places) >= MOST_KEYS:
            made._join_parts()
        return made

    def _join_parts(self) -> None:
        """Make one part of the two with fewest places, of the combinations that there are."""
        first, second = sorted(range(len(self.parts)), key=lambda part: self._places[part].shape[1])[:2]
        width = self._places[second].shape[1]
        pairs, code = np.unique(self.codes[first] * width + self.codes[second], return_inverse=True)
        grid = np.concatenate([self._places[first][:, pairs // width], self._places[second][:, pairs % width]])
        part = self.parts[first] + self.parts[second]
        for gone in sorted((first, second), reverse=True):
            del self.parts[gone], self.codes[gone], self._places[gone]
        self.parts.append(part)
        self.codes.append(code.ravel())
        self._places.append(grid)

    def cheapest_first(self) -> Iterator[tuple[float, Node]]:
        """Return every node after all that cost less, with the least that its cells cost which no earlier node has."""
        least = [column.least for column in self.columns]
        waiting = [(sum(costs[0] for costs in least), (0,) * len(least), 0)]
        while waiting:
            cost, node, first = heapq.heappop(waiting)
            yield cost, node
            for column in range(first, len(node)):  # columns climb in ascending order, so each node has one way
                if node[column] + 1 < len(least[column]):
                    step = least[column][node[column] + 1] - least[column][node[column]]
                    heapq.heappush(waiting, (cost + step, with_level(node, column, node[column] + 1), column))

    def tables_at(self, nodes: list[Node]) -> IntArray:
        """Return where the tables of each part start, for each node; (nodes, parts)."""
        found = [[self._table(part, node) for part in range(len(self.parts))] for node in nodes]
        return np.array(found, np.int64).reshape(len(nodes), len(self.parts))

    def _table(self, part: int, node: Node) -> int:
        own = tuple(node[column] for column in self.parts[part])
        if (part, own) not in self._offsets:
            grid = self._places[part]
            keys, costs = np.zeros(grid.shape[1], np.int64), np.zeros(grid.shape[1])
            is_there = np.ones(grid.shape[1], np.bool_)
            for place, (column, cover) in enumerate(zip(self.parts[part], own, strict=True)):
                cells = self.columns[column].cells[cover][grid[place]]
                keys = keys * self.columns[column].cells.shape[1] + cells
                costs += self.columns[column].costs[cover][grid[place]]
                is_there &= cells != NOWHERE
            keys = self._small_keys(part, keys) * math.prod(other.shape[1] for other in self._places[:part])
            self._offsets[part, own] = self._length
            self._keys.append(np.where(is_there, keys, NO_CELL))
            self._costs.append(costs)
            self._length += len(keys)
        return self._offsets[part, own]

    def _small_keys(self, part: int, keys: IntArray) -> IntArray:
        """Return keys below the number of a part's places: as they are, unless only some combinations have a place."""
        whole = math.prod(self.columns[column].cells.shape[1] for column in self.parts[part])
        if self._places[part].shape[1] == whole:
            return keys
        return np.unique(keys, return_inverse=True)[1].ravel()

    def cells(self, k: int) -> GridCells:
        """Return the tables of all nodes that were asked for, as kernels take them, for groups of k rows."""
        self._keys, self._costs = [np.concatenate(self._keys)], [np.concatenate(self._costs)]
        codes = np.stack(self.codes).astype(np.int32)
        return GridCells(codes, self._keys[0], self._costs[0], self.counts, self.shares.values, self.shares.most_of(k))
