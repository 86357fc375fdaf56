"""Exact partition: the grouping of rows into groups of at least k that costs least.

Small tables are solved by dynamic programming over the rows that are left, larger ones by column generation over the
label vectors of labels. Beyond that the best heuristic grouping is given, with a proven bound.
"""

from __future__ import annotations

import math

import numpy as np

from indistinct.counting import IntArray
from indistinct.errors import InfeasibleError
from indistinct.progress import Watch
from indistinct.recoding import Pieces
from indistinct.search.bounds.bounds import duals_by_nodes, total_price
from indistinct.search.bounds.candidate_groups import LabelLevels, LabelVectors
from indistinct.search.bounds.column_generation import TOLERANCE, Effort, best_assignment, linear_duals
from indistinct.search.bounds.kernels import row_choices
from indistinct.search.local.groups.partition import Partition
from indistinct.search.local.groups.space import Space

MOST_STEPS = 20_000_000
"""Groups that dynamic programming tries in all."""

MOST_CHOICES = 1 << 20
"""Choices of rows that it tabulates."""

MOST_ROWS = 60
"""Rows above which it is not considered, however many are alike."""

MOST_TABLES = 1_000
"""Tables of least cost that are told apart."""

Table = frozenset[tuple[tuple[int, ...], int, int]]
"""A grouping as a table: so many rows (last) of a point under some labels (first)."""


def least_cost_partition(space: Space, k: int, watch: Watch, effort: Effort | None = None) -> Partition:
    """Return the partition of a space's rows into groups of at least k that costs least, or the best found and a bound.

    What is tried depends on the size of the table alone, so the answer repeats; only a time limit can cut it short.

    Source: Sweeney 2002, Figure 5, at the level of cells.
    """
    ladders = LabelLevels.of(space)
    if ladders.number_of_rows < k:
        raise InfeasibleError(
            f"{ladders.number_of_rows} rows cannot form a group of {k}; lower k, or release more rows"
        )
    if int(ladders.counts.min()) >= k:
        points = np.arange(len(ladders.counts))
        return _proven(ladders, Pieces(points, ladders.counts, points))
    if steps(ladders, k) <= MOST_STEPS:
        return by_choices(ladders, k)
    return by_label_vectors(ladders, k, watch, effort or Effort())


def least_cost_tables(space: Space, k: int) -> list[Partition] | None:
    """Return a grouping for every table of least cost, in a fixed order; None if the table is large or they are many.

    Groupings that give every tuple the same labels are one table. Where labels of different levels cost the same, only
    the lowest ones count.
    """
    if not k <= int(space.counts.sum()) <= MOST_ROWS:
        return None
    ladders = LabelLevels.of(space)
    if steps(ladders, k) > MOST_STEPS:
        return None
    dynamic = _Choices(ladders, k)
    tables = dynamic.tables(dynamic.all)
    return None if tables is None else [_proven(ladders, _pieces_of(table)) for table in sorted(map(sorted, tables))]


def steps(ladders: LabelLevels, k: int) -> float:
    """Return about how many groups dynamic programming would try; infinite if it would need too much memory."""
    rows = ladders.number_of_rows
    if rows > MOST_ROWS:
        return math.inf
    choices = math.prod(count + 1 for count in ladders.counts.tolist())
    if choices > MOST_CHOICES:
        return math.inf
    tried = sum(
        math.comb(rows, left) * sum(math.comb(left - 1, others) for others in range(k - 1, min(left, 2 * k - 1)))
        for left in range(k, rows + 1)
    )
    return float(tried * choices / 2.0**rows)


def by_choices(ladders: LabelLevels, k: int) -> Partition:
    """Return the least-cost partition of a small table; of several the one that dynamic programming meets first."""
    dynamic = _Choices(ladders, k)
    choice, groups = dynamic.all, []
    while choice:
        rest = dynamic.rests(choice)[0]
        groups.append(dynamic.between(choice, rest))
        choice = rest
    rows = np.stack(groups, axis=1)
    points, group_of = np.nonzero(rows)
    return _proven(ladders, Pieces(points, rows[points, group_of], group_of))


def by_label_vectors(ladders: LabelLevels, k: int, watch: Watch, effort: Effort) -> Partition:
    """Return the least-cost partition, or the best found, by column generation from a heuristic grouping."""
    from indistinct.search.local.regroup import group_tuples

    start = group_tuples(ladders.space, k, watch)
    duals = duals_by_nodes(ladders.space, k, watch)
    label_vectors = LabelVectors.of(ladders, k, effort.vector_members)
    if label_vectors is None:
        return _partition(ladders, start, total_price(ladders.space, duals))
    if len(ladders.counts) * k <= effort.linear_rows:
        duals = linear_duals(label_vectors, duals, k, watch)
    found = best_assignment(ladders, label_vectors, duals, start, k, effort, watch)
    return _partition(ladders, found.pieces, found.bound)


def _partition(ladders: LabelLevels, pieces: Pieces, bound: float) -> Partition:
    """Describe a grouping of points; a bound that rounding alone keeps below its cost proves it."""
    cost = ladders.cost(pieces)
    is_proven = cost - bound <= TOLERANCE * max(1.0, cost)
    return Partition(ladders.to_tuples(pieces), cost, cost if is_proven else bound, is_proven)


def _proven(ladders: LabelLevels, pieces: Pieces) -> Partition:
    return _partition(ladders, pieces, ladders.cost(pieces))


class _Choices:
    """Dynamic programming over choices of rows: the least cost of grouping what is left."""

    def __init__(self, ladders: LabelLevels, k: int) -> None:
        self.ladders, self.k = ladders, k
        self.points = ladders.points.astype(np.int64)
        self.run_costs = ladders.run_costs()
        self.radix = row_choices.place_values(ladders.counts)
        self.least = row_choices.least_costs(ladders.counts, self.points, self.run_costs, k)
        self.all = len(self.least) - 1
        self._tables: dict[int, set[Table] | None] = {0: {frozenset()}}

    def rests(self, choice: int) -> list[int]:
        """Return what can be left of a choice when one group of a least-cost grouping is taken away."""
        within = self.least[choice] + TOLERANCE * max(1.0, self.least[self.all])
        found = np.empty(16, np.int64)
        while True:
            _, number = row_choices.least_of(
                choice, self.radix, self.points, self.run_costs, self.least, self.k, within, found
            )
            if number <= len(found):
                return [int(rest) for rest in found[:number]]
            found = np.empty(number, np.int64)

    def between(self, choice: int, rest: int) -> IntArray:
        """Return the rows of each point in the group that leaves ``rest`` of ``choice``."""
        rows = np.empty(len(self.radix), np.int64)
        taken = choice - rest
        for point, place in enumerate(self.radix.tolist()):
            rows[point], taken = divmod(taken, place)
        return rows

    def tables(self, choice: int) -> set[Table] | None:
        """Return every least-cost table of a choice of rows; None if they are too many."""
        if choice not in self._tables:
            found: set[Table] = set()
            for rest in self.rests(choice):
                below = self.tables(rest)
                if below is None or len(found) + len(below) > MOST_TABLES:
                    self._tables[choice] = None
                    return None
                rows = self.between(choice, rest)
                found |= {_with_group(table, self._labels(rows), rows) for table in below}
            self._tables[choice] = found
        return self._tables[choice]

    def _labels(self, rows: IntArray) -> tuple[int, ...]:
        """Return the lowest labels over a group, each by its level and first value."""
        labels, points = self.ladders.labels, self.points[rows > 0]
        low, high = points.min(axis=0), points.max(axis=0)
        found: list[int] = []
        for column in range(len(labels)):
            level = int(np.argmax(labels[column, :, low[column]] == labels[column, :, high[column]]))
            found += [level, int(labels[column, level, low[column]])]
        return tuple(found)


def _with_group(table: Table, labels: tuple[int, ...], rows: IntArray) -> Table:
    """Return a table with one group more; groups that carry the same labels are one."""
    places = {(carried, point): number for carried, point, number in table}
    for point in np.flatnonzero(rows).tolist():
        places[labels, point] = places.get((labels, point), 0) + int(rows[point])
    return frozenset((carried, point, number) for (carried, point), number in places.items())


def _pieces_of(table: list[tuple[tuple[int, ...], int, int]]) -> Pieces:
    groups = {labels: group for group, labels in enumerate(dict.fromkeys(labels for labels, _, _ in table))}
    points, rows, group_of = zip(*((point, number, groups[labels]) for labels, point, number in table), strict=True)
    return Pieces(np.array(points, np.int64), np.array(rows, np.int64), np.array(group_of, np.int64))
