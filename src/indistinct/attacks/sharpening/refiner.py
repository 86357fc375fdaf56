"""Refiner: which programs to ask about which cells, and what their answers say."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from indistinct.attacks.sharpening.deduction import Deduced
from indistinct.attacks.sharpening.downcoding_report import Bound
from indistinct.attacks.sharpening.possible_rows import PossibleRows
from indistinct.attacks.sharpening.row_programs import MOST_INTEGERS, RowProgram

if TYPE_CHECKING:
    from indistinct.attacks.sharpening.downcoding import Looked

MOST_TOGETHER = 4_000
"""So many numbers of rows are asked for in one program at most; what does not fit is left out, which is safe."""


class Refiner:
    """Asks programs about the cells of a release."""

    def __init__(self, looked: Looked, possible: PossibleRows, strength: int) -> None:
        self._looked, self._possible, self._strength = looked, possible, strength
        self._programs: dict[tuple[int, ...], RowProgram] = {}
        self._components = dict(_components(possible))
        cells = (cell for column in range(len(looked.known.splits)) for cell in looked.known.cells(column))
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
        known, box = self._looked.known, self._possible.boxes[number]
        cell = self._cells[column, box.group]
        alone = known.limits_of(cell, self._looked.strength)
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
    lowest = list(range(len(possible.boxes)))

    def root(number: int) -> int:
        while lowest[number] != number:
            lowest[number] = lowest[lowest[number]]
            number = lowest[number]
        return number

    for members in possible.boxes_of.values():
        for other, _ in members[1:]:
            lowest[root(other)] = root(members[0][0])
    together: dict[int, list[int]] = {}
    for number in range(len(lowest)):
        together.setdefault(root(number), []).append(number)
    for numbers in together.values():
        yield from ((number, tuple(numbers)) for number in numbers)
