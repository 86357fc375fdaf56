"""Space: the tuples of a frequency list as points, and what it costs to give several of them one label.

Local algorithms group rows; a group's cells all carry the lowest label that covers them. In every column the values
are put in an order in which each label covers a run of neighbours, so that the label of a group, and what it costs,
follow from the lowest and the highest rank in the group alone. Ranges of numbers and dates work the same way. Sets of
values have no such order; there the number of different values decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.counting import FrequencyList, IntArray
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy.algorithms import LabelKind
from indistinct.quality.measures import NCP, CellMeasure, Loss

RUN, RANGE, SET = 0, 1, 2
"""What decides the cost of a column's cells: the lowest label over a run of ranks, a range of ranks, or a set."""

LARGEST_TABLE = 600
"""A column of at most so many values has its costs tabulated for every pair of ranks."""

NEVER = 1e6
"""What it costs to give one label to values that no label covers."""


@dataclass(frozen=True, slots=True)
class Space:
    """Tuples as points; all arrays, so that kernels take it apart.

    ``ranks``       (tuples, columns) rank of each tuple's value in its column
    ``counts``      (tuples,) rows of each tuple
    ``kinds``       (columns,) RUN, RANGE or SET
    ``sizes``       (columns,) number of values; ranks are below it
    ``table_at``    (columns,) where the column's part of ``table`` starts, or -1
    ``table``       RUN: the cost of the run lo..hi stands at ``table_at + lo * size + hi``; where ``table_at`` is -1,
                    the lowest level at which both ends have the same label decides.
                    RANGE: ``table[table_at + rank]`` is the rank's position in the domain
    ``slopes``, ``starts``  (columns,) RANGE and SET: n > 1 values cost start + slope * n, one value nothing;
                    for a RANGE, n is the position of hi minus that of lo plus 1
    ``heights``     (columns,) levels above the values
    ``labels``      (columns, levels, values) label code of each rank, where ``table_at`` is -1
    ``label_costs`` (columns, levels, values) cost of each label code, where ``table_at`` is -1
    ``value_of``    for each column the value code of each rank
    ``whole_row``   what a row keeps at most, in the measure's units: its cost is what it keeps less
    ``first_groups``  (tuples,) the group in which a search may start with each tuple, or None

    Costs are per row, at least 0, and never fall when a run, range or set grows. Rows of tuples that differ in a
    column which is never generalized cost NEVER; ``blocks`` keeps them apart.
    """

    ranks: NDArray[np.int32]
    counts: IntArray
    kinds: IntArray
    sizes: IntArray
    table_at: IntArray
    table: FloatArray
    slopes: FloatArray
    starts: FloatArray
    heights: IntArray
    labels: NDArray[np.int32]
    label_costs: FloatArray
    value_of: tuple[IntArray, ...]
    whole_row: float
    first_groups: IntArray | None = None

    @classmethod
    def of(cls, frequencies: FrequencyList, measure: CellMeasure, kind: LabelKind = "hierarchy") -> Space:
        """Lay out the tuples of a frequency list, with the costs of a measure."""
        if kind == "ranges" and not isinstance(measure, NCP | Loss):
            raise PolicyError("measure: ranges and sets are measured by 'loss' or 'ncp'")
        columns = [_ColumnCosts.of(frequencies, measure, column, kind) for column in range(len(frequencies.columns))]
        lengths = [len(column.table) for column in columns]
        ends = np.cumsum(lengths)
        labels, label_costs = _to_climb(columns)
        ranks = [
            np.argsort(column.order).astype(np.int32)[frequencies.entry_codes(position)]
            for position, column in enumerate(columns)
        ]
        return cls(
            ranks=np.ascontiguousarray(np.stack(ranks, axis=1)),
            counts=frequencies.entries.counts,
            kinds=np.array([column.kind for column in columns], np.int64),
            sizes=np.array([len(column.order) for column in columns], np.int64),
            table_at=np.where(np.array(lengths) > 0, ends - lengths, -1).astype(np.int64),
            table=np.concatenate([column.table for column in columns]),
            slopes=np.array([column.slope for column in columns]),
            starts=np.array([column.start for column in columns]),
            heights=np.array(frequencies.heights, np.int64),
            labels=labels,
            label_costs=label_costs,
            value_of=tuple(column.order for column in columns),
            whole_row=sum(column.most for column in columns),
        )

    @property
    def prices(self) -> tuple[NDArray[Any], ...]:
        """What kernels need to price a group, in the order in which they take it."""
        return (
            self.kinds,
            self.sizes,
            self.table_at,
            self.table,
            self.slopes,
            self.starts,
            self.heights,
            self.labels,
            self.label_costs,
        )

    def only(self, tuples: IntArray) -> Space:
        """Return the space of some of the tuples."""
        first = None if self.first_groups is None else self.first_groups[tuples]
        ranks = np.ascontiguousarray(self.ranks[tuples])
        return replace(self, ranks=ranks, counts=self.counts[tuples], first_groups=first)

    def run_costs(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the cost per row of groups from their lowest and highest rank in each column; a set counts as a
        run.
        """
        total = np.zeros(len(low))
        for column, kind in enumerate(self.kinds.tolist()):
            ends = low[:, column], high[:, column]
            if kind == RUN:
                total += self._label_costs(column, *ends)
            else:
                first, last = (self.table[self.table_at[column] + end] if kind == RANGE else end for end in ends)
                number = last - first + 1
                total += np.where(ends[0] == ends[1], 0.0, self.starts[column] + self.slopes[column] * number)
        return total

    def _label_costs(self, column: int, low: IntArray, high: IntArray) -> FloatArray:
        if self.table_at[column] >= 0:
            tabulated: FloatArray = self.table[self.table_at[column] + low * self.sizes[column] + high]
            return tabulated
        costs = np.full(len(low), NEVER)
        for level in range(int(self.heights[column]), -1, -1):
            labels = self.labels[column, level]
            costs = np.where(labels[low] == labels[high], self.label_costs[column, level][labels[low]], costs)
        return costs


@dataclass(frozen=True, slots=True)
class _ColumnCosts:
    """One column of a space."""

    kind: int
    order: IntArray
    """The value code of each rank."""
    table: FloatArray
    slope: float
    start: float
    climbed: tuple[CompiledHierarchy, Sequence[FloatArray]] | None
    most: float
    """What a cell keeps at most."""

    @classmethod
    def of(cls, frequencies: FrequencyList, measure: CellMeasure, column: int, kind: LabelKind) -> _ColumnCosts:
        hierarchy = frequencies.hierarchies[column]
        if kind == "ranges" and hierarchy.height:
            return cls._of_values(hierarchy, measure, frequencies.weights[column])
        order = np.lexsort(hierarchy.maps).astype(np.int64)  # by the top level first, so that every label is a run
        kept = measure.prepare(frequencies).per_label[column]
        most = max(float(level.max()) for level in kept)
        costs = [np.maximum(most - level, 0.0) for level in kept]
        if len(order) <= LARGEST_TABLE:
            return cls(RUN, order, _run_costs(hierarchy, costs, order), 0.0, 0.0, None, most)
        return cls(RUN, order, np.zeros(0), 0.0, 0.0, (hierarchy, costs), most)

    @classmethod
    def _of_values(cls, hierarchy: CompiledHierarchy, measure: CellMeasure, weight: float) -> _ColumnCosts:
        """Lay out a column that is released as ranges or sets; Loss and NCP rise evenly with the values they cover."""
        domain = hierarchy.domain_size
        slope = weight / max(1, domain - 1) if isinstance(measure, Loss) else weight / domain
        start = -slope if isinstance(measure, Loss) else 0.0
        positions = hierarchy.find_positions()
        if positions is None:
            return cls(SET, np.lexsort(hierarchy.maps).astype(np.int64), np.zeros(0), slope, start, None, weight)
        order = np.argsort(positions, kind="stable").astype(np.int64)
        return cls(RANGE, order, positions[order].astype(np.float64), slope, start, None, weight)


def _run_costs(hierarchy: CompiledHierarchy, costs: Sequence[FloatArray], order: IntArray) -> FloatArray:
    """Return the cost of the lowest label over each pair of ranks."""
    table = np.full((len(order), len(order)), NEVER)
    for level in range(hierarchy.height, hierarchy.lowest - 1, -1):
        codes = hierarchy.maps[level][order]
        table = np.where(codes[:, None] == codes[None, :], costs[level][codes][:, None], table)
    return table.ravel()


def _to_climb(columns: Sequence[_ColumnCosts]) -> tuple[NDArray[np.int32], FloatArray]:
    """Return labels and their costs by column, level and rank for the columns that are too long for a table."""
    climbed = [(position, column) for position, column in enumerate(columns) if column.climbed is not None]
    levels = max((column.climbed[0].height + 1 for _, column in climbed if column.climbed), default=1)
    values = max((len(column.order) for _, column in climbed), default=1)
    labels = np.zeros((len(columns) if climbed else 1, levels, values), np.int32)
    label_costs = np.zeros(labels.shape)
    for position, column in climbed:
        assert column.climbed is not None  # it is one of those
        hierarchy, costs = column.climbed
        for level in range(hierarchy.height + 1):  # below the lowest that may be released there is no other label
            shown = max(level, hierarchy.lowest)
            labels[position, level, : len(column.order)] = hierarchy.maps[shown][column.order]
            label_costs[position, level, : len(costs[shown])] = costs[shown]
    return labels, label_costs
