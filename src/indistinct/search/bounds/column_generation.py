"""Column generation: the least-cost assignment of rows to label vectors, as a linear and then as an integer program.

The linear program over all groups of k to 2k - 1 rows is solved with few of them at hand; under its duals the best
missing group of a label vector consists of the rows that are priced most, so it is found exactly. The duals bound the
cost of every partition. With them, most rows can be proven not to lie in most label vectors of a better partition, and
the integer program is solved with what is left: which label vectors are used, and which rows go there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.recoding import Pieces
from indistinct.search.bounds.candidate_groups import LabelLevels, LabelVectors
from indistinct.search.bounds.kernels import group_prices as group_prices

if TYPE_CHECKING:
    import highspy

TOLERANCE = 1e-7
"""A difference of costs, relative to the whole, that is rounding."""

ROUNDING = 1e-9
"""A reduced cost that is none."""

TAIL = 1e-5
"""The linear program is solved when its bound is as close as this, relative to its value."""

MOST_CANDIDATES = 20_000
"""Boxes that may give a column in one round, the best ones."""

FEWEST_A_POINT = 4
"""An integer program with fewer members for each point finds nothing new."""


def linear_duals(label_vectors: LabelVectors, start: FloatArray, k: int, watch: Watch) -> FloatArray:
    """Return prices for the points that no group exceeds and that add up to nearly the linear program's value.

    ``start`` are feasible prices, such as those of the dual ascent.
    Each round prices half-way between the master's duals, which jump about, and the best feasible ones so far; what
    is feasible near there is a bound. When the watch says stop, the best so far is valid too.
    """
    best = start
    bound = float(best @ label_vectors.counts)
    master = _Master(label_vectors)
    value, duals = master.value_of_singles, best
    is_stuck = False
    while value - bound > TAIL * value and not watch.time_is_up():
        between = duals if is_stuck else (best + duals) / 2
        reduced = group_prices.reduced_costs(
            label_vectors.members, label_vectors.starts, label_vectors.costs, label_vectors.counts, between, k
        )
        feasible = group_prices.feasible_duals(label_vectors.members, label_vectors.starts, reduced, between, k)
        if float(feasible @ label_vectors.counts) > bound:
            best, bound = feasible, float(feasible @ label_vectors.counts)
        added = master.add_groups(reduced, between, k)
        if is_stuck and not added:
            break
        before = value
        value, duals = master.solve()
        is_stuck = value >= before - TOLERANCE * before
        watch.report("linear program", None, None)
    return best


class _Master:
    """The linear program over the groups that were added: every row lies in one group."""

    def __init__(self, label_vectors: LabelVectors) -> None:
        self.label_vectors = label_vectors
        self.solver = _solver()
        counts = label_vectors.counts.astype(np.float64)
        number, none = len(counts), np.zeros(0, np.int32)
        self.solver.addRows(number, counts, counts, 0, np.zeros(number, np.int32), none, np.zeros(0))
        # a row may stay alone, at a cost that no group has
        single = 2 * float(label_vectors.costs.max()) + 1
        self._add(np.full(number, single), np.arange(number + 1), np.arange(number), np.ones(number))
        self.value_of_singles = single * float(counts.sum())

    def add_groups(self, reduced: FloatArray, duals: FloatArray, k: int) -> int:
        """Add the best groups under some duals, at most about one per point; return how many they are."""
        label_vectors = self.label_vectors
        promising = np.flatnonzero(reduced < (ROUNDING if self.solver.getNumCol() == len(duals) else -ROUNDING))
        order = promising[np.argsort(reduced[promising], kind="stable")][:MOST_CANDIDATES]
        chosen, starts, points, rows = group_prices.best_groups(
            order, label_vectors.members, label_vectors.starts, label_vectors.costs, label_vectors.counts, duals, k
        )
        sizes = np.add.reduceat(rows, starts[:-1]) if len(chosen) else rows
        self._add(label_vectors.costs[chosen] * sizes, starts, points, rows)
        return len(chosen)

    def _add(self, costs: FloatArray, starts: IntArray, points: IntArray, rows: NDArray[np.generic]) -> None:
        number = len(costs)
        self.solver.addCols(
            number,
            costs,
            np.zeros(number),
            np.full(number, np.inf),
            len(points),
            starts[:-1].astype(np.int32),
            points.astype(np.int32),
            rows.astype(np.float64),
        )

    def solve(self) -> tuple[float, FloatArray]:
        """Solve the program; return its value and the duals of the points."""
        self.solver.run()
        duals = np.array(self.solver.getSolution().row_dual)
        return float(self.solver.getInfo().objective_function_value), duals


@dataclass(frozen=True, slots=True)
class Found:
    """A grouping of points, and what is proven about its cost."""

    pieces: Pieces
    cost: float
    bound: float


@dataclass(frozen=True, slots=True)
class Effort:
    """How far an exact search goes before it gives its best answer; limits of size, so that answers repeat."""

    vector_members: int = 30_000_000
    """Members of all label vectors at which no label vectors are listed."""
    linear_rows: int = 5_000
    """Points times k above which the linear program is left alone."""
    members: int = 6_000
    """Members of label vectors in an integer program, each a point that may go to a label vector."""
    nodes: int = 2_000
    """Nodes of its search tree."""


def best_assignment(
    ladders: LabelLevels,
    label_vectors: LabelVectors,
    duals: FloatArray,
    start: Pieces,
    k: int,
    effort: Effort,
    watch: Watch,
) -> Found:
    """Return the best grouping of points that integer programs find, never worse than the start, and a bound.

    A partition with a row in a label vector costs at least the bound and what the best group with that row there costs
    beyond its prices. So the program may leave out every row and label vector for which that exceeds the best known
    cost. First it leaves out more, to find good partitions quickly; that they are the best is proven if the bound and
    what was left out allow no better one.
    """
    bound = float(duals @ label_vectors.counts)
    best = Found(start, ladders.cost(start), bound)
    beyond = group_prices.member_costs(
        label_vectors.members, label_vectors.starts, label_vectors.costs, label_vectors.counts, duals, k
    )
    ranked = np.sort(beyond)
    for most in (effort.members // 16, effort.members // 4, effort.members):
        if most < FEWEST_A_POINT * len(label_vectors.counts):
            continue
        if best.cost - best.bound <= TOLERANCE * max(1.0, best.cost) or watch.time_is_up():
            break
        reach = min(best.cost - bound, float(ranked[most]) if most < len(ranked) else np.inf)
        watch.report("integer program", None, None)
        program = _AssignmentProgram(ladders, label_vectors, beyond < reach, best.pieces, k)
        pieces, proven = program.best_grouping(effort.nodes, watch)
        cost = ladders.cost(pieces)
        if cost < best.cost - TOLERANCE:
            best = Found(pieces, cost, best.bound)
        # a partition that the program does not cover costs at least what was left out
        best = Found(best.pieces, best.cost, min(best.cost, max(best.bound, min(proven, bound + reach))))
    return best


class _AssignmentProgram:
    """The integer program: which label vectors are used, by at least k rows each, and which rows go to which of them.

    ``places`` are the members that it may use, each a row or more of a point in a label vector. The groups of a known
    grouping join the label vectors, so that there is always an answer.
    """

    def __init__(
        self, ladders: LabelLevels, label_vectors: LabelVectors, is_kept: NDArray[np.bool_], start: Pieces, k: int
    ) -> None:
        self.k, self.counts, self.start = k, label_vectors.counts, start
        vector_of = np.repeat(np.arange(len(label_vectors)), np.diff(label_vectors.starts))
        rows = np.bincount(vector_of, label_vectors.counts[label_vectors.members] * is_kept, len(label_vectors))
        is_kept &= (rows >= k)[vector_of]
        used, kept_vector = np.unique(vector_of[is_kept], return_inverse=True)
        self.points = np.concatenate([label_vectors.members[is_kept], start.tuples])
        self.label_vectors = np.concatenate([kept_vector, len(used) + start.groups])
        self.costs = np.concatenate([label_vectors.costs[used], ladders.group_costs(start)])

    def best_grouping(self, nodes: int, watch: Watch) -> tuple[Pieces, float]:
        """Return the best grouping found, and a bound on the cost of every grouping that the program covers."""
        solver = _solver()
        self._pass_to(solver)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", TOLERANCE / 10)
        solver.setOptionValue("mip_feasibility_tolerance", ROUNDING)
        solver.setOptionValue("mip_max_nodes", nodes)
        if watch.time_limit is not None:
            solver.setOptionValue("time_limit", watch.time_limit)
        with _Interruption(solver, watch):
            solver.run()
        bound = float(solver.getInfo().mip_dual_bound)
        values = np.array(solver.getSolution().col_value)
        if len(values) == 0:
            return self.start, bound
        is_open = values[len(self.points) :] > 0.5
        return self._to_open_vectors(is_open), bound

    def _pass_to(self, solver: highspy.Highs) -> None:
        """Pass the program to a solver: variables are the rows at each place, then the use of each label vector."""
        import highspy

        places, label_vectors, points = len(self.points), len(self.costs), len(self.counts)
        place = np.arange(places)
        most = self.counts[self.points].astype(np.float64)
        ones = np.ones(places)
        entries = [
            (self.points, place, ones),  # each row has its place
            (points + self.label_vectors, place, ones),  # a label vector in use has k rows
            (
                points + np.arange(label_vectors),
                places + np.arange(label_vectors),
                np.full(label_vectors, -float(self.k)),
            ),
            (points + label_vectors + place, place, ones),  # only a label vector in use has rows
            (points + label_vectors + place, places + self.label_vectors, -most),
        ]
        counts = self.counts.astype(np.float64)
        program = _program(entries, places + label_vectors, points + label_vectors + places)
        program.col_cost_ = np.concatenate([self.costs[self.label_vectors], np.zeros(label_vectors)])
        program.col_lower_ = np.zeros(places + label_vectors)
        program.col_upper_ = np.concatenate([most, np.ones(label_vectors)])
        program.row_lower_ = np.concatenate([counts, np.zeros(label_vectors), np.full(places, -np.inf)])
        program.row_upper_ = np.concatenate([counts, np.full(label_vectors, np.inf), np.zeros(places)])
        kinds = highspy.HighsVarType
        program.integrality_ = [kinds.kContinuous] * places + [kinds.kInteger] * label_vectors
        solver.passModel(program)
        known = highspy.HighsSolution()
        known.col_value = self._start_values().tolist()
        solver.setSolution(known)

    def _start_values(self) -> FloatArray:
        """Return the values of all variables in the known grouping, whose places and label vectors are the last
        ones."""
        values = np.zeros(len(self.points) + len(self.costs))
        values[len(self.points) - len(self.start.rows) : len(self.points)] = self.start.rows
        values[len(values) - int(self.start.groups.max()) - 1 :] = 1.0
        return values

    def _to_open_vectors(self, is_open: NDArray[np.bool_]) -> Pieces:
        """Assign all rows to the label vectors that are used, at least k to each, at the least cost.

        This is a transport problem: its linear program has whole numbers for an answer.
        """
        is_usable = is_open[self.label_vectors]
        points, label_vectors = self.points[is_usable], (np.cumsum(is_open) - 1)[self.label_vectors[is_usable]]
        places, number = np.arange(len(points)), int(is_open.sum())
        counts = self.counts.astype(np.float64)
        ones = np.ones(len(points))
        program = _program(
            [(points, places, ones), (len(counts) + label_vectors, places, ones)], len(points), len(counts) + number
        )
        program.col_cost_ = self.costs[is_open][label_vectors]
        program.col_lower_ = np.zeros(len(points))
        program.col_upper_ = counts[points]
        program.row_lower_ = np.concatenate([counts, np.full(number, float(self.k))])
        program.row_upper_ = np.concatenate([counts, np.full(number, np.inf)])
        solver = _solver()
        solver.passModel(program)
        solver.run()
        rows = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
        taken = rows > 0
        return Pieces(points[taken].astype(np.int64), rows[taken], label_vectors[taken])


class _Interruption:
    """Stops a solver when the watch says so, and raises once it has stopped if the work was cancelled."""

    def __init__(self, solver: highspy.Highs, watch: Watch) -> None:
        self.solver, self.watch = solver, watch
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        self.solver.cbMipInterrupt.subscribe(self._ask)

    def _ask(self, event: highspy.HighsCallbackEvent) -> None:
        try:
            if self.watch.time_is_up():
                event.interrupt()
        except BaseException as error:  # it must not pass through the solver
            self.error = error
            event.interrupt()

    def __exit__(self, *_: object) -> None:
        self.solver.cbMipInterrupt.unsubscribe(self._ask)
        if self.error is not None:
            raise self.error


def _solver() -> highspy.Highs:
    """Return a silent solver that works the same way every time."""
    import highspy

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.setOptionValue("parallel", "off")
    return solver


def _program(entries: list[tuple[IntArray, IntArray, FloatArray]], columns: int, rows: int) -> highspy.HighsLp:
    """Return a program with this matrix: entries are rows, columns and values."""
    import highspy

    row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    order = np.lexsort((row, column))
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns, rows
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.searchsorted(column[order], np.arange(columns + 1)).astype(np.int32)
    program.a_matrix_.index_ = row[order].astype(np.int32)
    program.a_matrix_.value_ = value[order]
    return program
