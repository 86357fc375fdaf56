"""Row programs: the least and the most rows of a group under each lower label, by integer or linear programming.

The variables are how many rows of each tuple are behind each group. What the release and the assumptions say of them
is linear, but for minimality, which says that some lower label has few rows: there a switch for each label says which.
Small programs are solved in whole numbers. Of others the linear relaxation gives bounds that hold all the same.

Source: Chhillar et al., Exposing privacy risks in anonymizing clinical data, arXiv 2509.03350, for the idea.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from indistinct.attacks.sharpening.deduction import MINIMAL
from indistinct.attacks.sharpening.possible_rows import PossibleRows
from indistinct.counting import IntArray

if TYPE_CHECKING:
    import highspy

MOST_INTEGERS = 400
"""A program with more variables is relaxed."""
TOLERANCE = 1e-6


class ImpossibleRows(Exception):
    """No rows can be behind some groups, so what was assumed of them is false."""


@dataclass
class RowProgram:
    """What is known of the rows behind some boxes, as a program that is asked for bounds one after the other."""

    possible: PossibleRows
    numbers: Sequence[int]
    solved: int = 0
    _first: dict[int, int] = field(default_factory=dict)
    _solver: highspy.Highs | None = None
    _variables: int = 0

    def __post_init__(self) -> None:
        import highspy

        boxes = self.possible.boxes
        rooms = [self.possible.room[number] for number in self.numbers]
        starts = np.cumsum([0, *map(len, rooms)])
        self._first = dict(zip(self.numbers, starts.tolist(), strict=False))
        rows = _Rows()
        for number in self.numbers:
            places = self._first[number] + np.arange(len(boxes[number].tuples))
            rows.add(places, boxes[number].rows, boxes[number].rows)
        for cap in self.possible.caps(self.numbers):
            rows.add(np.array([self._first[number] + position for number, position in cap.places]), 0, cap.most)
        switches = self._add_parts(rows, int(starts[-1]))
        self._variables = int(starts[-1]) + switches
        is_whole = self._variables <= MOST_INTEGERS
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("mip_rel_gap", 0.0)
        most = np.concatenate([*rooms, np.ones(switches)]).astype(np.float64)
        solver.addVars(self._variables, np.zeros(self._variables), most)
        rows.pass_to(solver)
        if is_whole:
            kinds = np.full(self._variables, highspy.HighsVarType.kInteger)
            solver.changeColsIntegrality(self._variables, np.arange(self._variables, dtype=np.int32), kinds)
        self._solver = solver
        self._is_whole = is_whole

    def _add_parts(self, rows: _Rows, first_switch: int) -> int:
        """Say how many rows can lie under the labels one level lower, and give the number of switches for that."""
        switches, k = 0, self.possible.known.k
        for number in self.numbers:
            box = self.possible.boxes[number]
            most = self.possible.most_in_part(box)
            for part_of in box.parts.values():
                chosen = []
                for part in range(int(part_of.max()) + 1):
                    places = self._first[number] + np.flatnonzero(part_of == part)
                    if most < box.rows:
                        rows.add(places, 0, most)
                    if self.possible.strength >= MINIMAL and len(places):  # if on, from 1 to k - 1 rows are here
                        switch = first_switch + switches
                        rows.add(np.append(places, switch), 0, np.inf, last=-1.0)
                        rows.add(np.append(places, switch), 0, box.rows, last=float(box.rows - k + 1))
                        chosen.append(switch)
                        switches += 1
                if chosen:
                    rows.add(np.array(chosen), 1, np.inf)
        return switches

    def bounds(self, number: int, column: int, part: int) -> tuple[int, int]:
        """Return the least and the most rows of a box under one of the labels below its label."""
        places = self._first[number] + np.flatnonzero(self.possible.boxes[number].parts[column] == part)
        least, most = self._best(places, 1.0), -self._best(places, -1.0)
        return math.ceil(least - TOLERANCE), math.floor(most + TOLERANCE)

    def _best(self, places: IntArray, cost: float) -> float:
        """Return the least cost of some places; a bound of it, if it was not found."""
        import highspy

        solver = self._solver
        assert solver is not None  # made with the program
        costs = np.zeros(self._variables)
        costs[places] = cost
        solver.changeColsCost(self._variables, np.arange(self._variables, dtype=np.int32), costs)
        solver.run()
        self.solved += 1
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise ImpossibleRows
        if status != highspy.HighsModelStatus.kOptimal:
            return -math.inf if cost < 0 else 0.0
        info = solver.getInfo()
        return float(info.mip_dual_bound if self._is_whole else info.objective_function_value)


class _Rows:
    """The rows of a program as they are collected."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._places: list[IntArray] = []
        self._values: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def add(self, places: IntArray, lower: float, upper: float, last: float = 1.0) -> None:
        """Say that the variables at these places add up to something in between; the last one counts so much."""
        values = np.ones(len(places))
        if len(values):
            values[-1] = last
        self._lower.append(float(lower))
        self._upper.append(float(upper))
        self._places.append(places.astype(np.int32))
        self._values.append(values)

    def pass_to(self, solver: highspy.Highs) -> None:
        """Add all rows to a solver."""
        lengths = [len(places) for places in self._places]
        starts = (np.cumsum(lengths) - lengths).astype(np.int32)
        solver.addRows(
            len(lengths),
            np.array(self._lower),
            np.array(self._upper),
            sum(lengths),
            starts,
            np.concatenate(self._places),
            np.concatenate(self._values),
        )
