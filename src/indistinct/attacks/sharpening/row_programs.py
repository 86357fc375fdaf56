"""Row programs: the least and the most rows of a group under each lower label, by integer or linear programming.

The variables are how many rows of each tuple are behind each group. What the release and the assumptions say of them
is linear, but for minimality, which says that some lower label has few rows: there a switch for each label says which.
Small programs are solved in whole numbers. Of others the linear relaxation gives bounds that hold all the same.

Source: Chhillar et al., Exposing privacy risks in anonymizing clinical data, arXiv 2509.03350, for the idea.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from indistinct.attacks.labels import DisjointSets
from indistinct.attacks.sharpening.deduction import MINIMAL, Deduced
from indistinct.attacks.sharpening.downcoding_report import Bound
from indistinct.attacks.sharpening.possible_rows import PossibleRows
from indistinct.counting import IntArray

if TYPE_CHECKING:
    import highspy

MOST_INTEGERS = 400
"""A program with more variables is relaxed."""
TOLERANCE = 1e-6
MOST_TOGETHER = 4_000
"""The most numbers of rows in one program; what does not fit is left out, which is safe."""


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
        rows = _ProgramRows()
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

    def _add_parts(self, rows: _ProgramRows, first_switch: int) -> int:
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


class _ProgramRows:
    """The rows of a program as they are collected."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._places: list[IntArray] = []
        self._values: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def add(self, places: IntArray, lower: float, upper: float, last: float = 1.0) -> None:
        """Say between what the variables at these places add up; ``last`` is the factor of the last one."""
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


class Refiner:
    """Asks programs about the cells of a release."""

    def __init__(self, possible: PossibleRows, strength: int) -> None:
        self._possible, self._strength = possible, strength
        self._programs: dict[tuple[int, ...], RowProgram] = {}
        self._components = dict(_components(possible))
        cells = (cell for column in range(len(possible.known.splits)) for cell in possible.known.cells(column))
        self._cells = {(cell.column, cell.group): cell for cell in cells}

    @property
    def programs(self) -> int:
        """How many programs were solved."""
        return sum(program.solved for program in self._programs.values())

    def tells(self, number: int) -> bool:
        """Return whether what is known of tuples can say more of a box than what is known of its labels."""
        if self._is_small(number):
            return True
        possible, box = self._possible, self._possible.boxes[number]
        room = possible.room[number]
        forced = sum(possible.boxes[other].rows for other in possible.needed_by(number))
        for part_of in box.parts.values():
            inside = np.bincount(part_of, room)
            if (room.sum() - inside - forced < box.rows).any() or (inside <= forced).any():
                return True  # rows may have to lie under a label, or may find no room there
        return False

    def look(self, number: int, column: int) -> list[Deduced] | None:
        """Return what follows about one column of a box, if it is more than follows from its label alone."""
        known, box = self._possible.known, self._possible.boxes[number]
        cell = self._cells[column, box.group]
        alone = known.limits_of(cell, self._possible.strength)
        labels = cell.split.labels
        if alone is None or labels is None:
            return None
        bounds, is_better = [], False
        for part, label in enumerate(labels):
            least, most = self._program(number).bounds(number, column, part)
            least, most = max(least, alone.least), min(most, alone.most)
            is_better |= least > alone.least or most == 0 < alone.most
            if least:
                bounds.append(Bound(known.narrow(cell, label), least, most))
            elif not most:
                bounds.append(Bound(label, 0, 0))
        return list(known.conclude(cell, bounds, alone.crowd, self._strength)) if is_better else None

    def _is_small(self, number: int) -> bool:
        return self._size(self._components[number]) <= MOST_INTEGERS // 2

    def _size(self, numbers: Collection[int]) -> int:
        return sum(len(self._possible.boxes[number].tuples) for number in numbers)

    def _program(self, number: int) -> RowProgram:
        """Return the program of a box: of all that share tuples with it, or of those that need them most."""
        numbers = self._components[number] if self._is_small(number) else self._closest(number)
        if numbers not in self._programs:
            self._programs[numbers] = RowProgram(self._possible, numbers)
        return self._programs[numbers]

    def _closest(self, number: int) -> tuple[int, ...]:
        """Return a box and those that must put rows into it, and into those, as long as they fit into one program."""
        chosen, open_ones = [number], [number]
        while open_ones:
            for other in self._possible.needed_by(open_ones.pop(0)):
                if other not in chosen and self._size([*chosen, other]) <= MOST_TOGETHER:
                    chosen.append(other)
                    open_ones.append(other)
        return tuple(sorted(chosen))


def _components(possible: PossibleRows) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Return for each box all boxes that are linked with it by shared tuples, near or far."""
    joined = DisjointSets(len(possible.boxes))
    for members in possible.boxes_of.values():
        for other, _ in members[1:]:
            joined.join(other, members[0][0])
    together: dict[int, list[int]] = {}
    for number, own in enumerate(joined.numbers().tolist()):
        together.setdefault(own, []).append(number)
    for numbers in together.values():
        yield from ((number, tuple(numbers)) for number in numbers)
