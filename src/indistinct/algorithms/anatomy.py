"""Anatomy: small groups of rows with l different sensitive values, released as two tables."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Task
from indistinct.algorithms.partition import made_safe, together
from indistinct.algorithms.space import Space
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.frequency import IntArray
from indistinct.privacy import AlphaK, LDiversity
from indistinct.privacy.checks import check_whole
from indistinct.quality import NCP
from indistinct.recoding import Classes, Pieces
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Groups rows so that each class has ``l`` rows or a few more, all with different sensitive values.

    As long as ``l`` values have rows left, a class takes one row at random of each of the ``l`` most frequent; the
    rows that are left over, fewer than ``l``, join classes that lack their value. Without ``l`` it is the largest that
    the policy's models ask for: the l of l-diversity, or 1 / alpha of (α,k)-anonymity. What other models demand beyond
    that is met by joining classes. Where a model has a k, classes that share a quasi-identifier become one.

    ``column`` is the sensitive column; it may be left out if the models ask about one only. ``seed`` decides which rows
    are drawn.

    Source: Xiao and Tao 2006.
    """

    name: ClassVar[str] = "anatomy"

    l: int | None = None  # noqa: E741  # the name that everyone knows
    column: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.l is not None:
            check_whole("l", self.l, least=2)
        check_whole("seed", self.seed, least=0)

    def run(self, task: Task, watch: Watch) -> Classes:
        """Give the classes, or raise InfeasibleError if one value is too frequent."""
        frequencies = task.frequencies
        column = self._column(task)
        number = self.l or _asked(task)
        values = frequencies.entries.codes[column]
        counts = np.bincount(values, frequencies.entries.counts, len(frequencies.sensitive[column].values))
        most, rows = int(counts.max(initial=0)), frequencies.rows
        if most * number > rows:
            raise InfeasibleError(
                f"one sensitive value makes up {most / max(1, rows):.0%} of the rows, but groups of {number} different "
                f"values allow at most {1 / number:.0%}; lower l, or leave rows of that value out"
            )
        units = np.repeat(np.arange(len(values)), frequencies.entries.counts)
        class_of = _buckets(values[units], number, len(counts), np.random.default_rng(self.seed))
        watch.report("search", 1, 1)
        pairs, sizes = np.unique(np.stack([units, class_of]), axis=1, return_counts=True)
        pieces = Pieces(pairs[0], sizes.astype(np.int64), pairs[1])
        blocks = np.zeros(len(values), np.int64)
        space = Space.of(frequencies, NCP())
        classes = int(class_of.max(initial=-1)) + 1
        if not task.safe_parts(np.arange(len(values)), frequencies.entries.counts, blocks, 1).all():
            raise task.infeasible(task.budget)
        safe = made_safe(task, space, blocks, pieces, classes)
        return Classes.of_pieces(frequencies, together(task, safe) if _asks_for_company(task) else safe)

    def _column(self, task: Task) -> str:
        asked = list(task.frequencies.sensitive)
        if self.column is not None:
            if self.column not in asked:
                raise PolicyError(f"column: no model asks about {self.column!r}; anatomy needs one, such as LDiversity")
            return self.column
        if len(asked) != 1:
            raise PolicyError(
                "column: anatomy groups by one sensitive column; add a model that asks about it, such as LDiversity"
                + (f", and say which of {', '.join(map(repr, asked))} it is" if asked else "")
            )
        return asked[0]


def _asks_for_company(task: Task) -> bool:
    """Tell whether somebody must be hidden among several people, not only among several values."""
    return any(getattr(model, "k", 1) > 1 for model in task.models)


def _asked(task: Task) -> int:
    """Give the largest number of different values that the models ask for."""
    numbers = [2]
    for model in task.models:
        if isinstance(model, LDiversity):
            numbers.append(model.l)
        elif isinstance(model, AlphaK) and isinstance(model.alpha, float | int):
            numbers.append(math.ceil(1 / model.alpha - 1e-9))
    return max(numbers)


def _buckets(values: IntArray, number: int, different: int, generator: np.random.Generator) -> IntArray:
    """Give the class of each row: one row of each of the most frequent values left, again and again."""
    order = generator.permutation(len(values))
    order = order[np.argsort(values[order], kind="stable")]  # by value, at random within
    ends = np.cumsum(np.bincount(values, minlength=different))
    left = np.diff(ends, prepend=0)
    heap = [(-int(rows), value) for value, rows in enumerate(left) if rows]
    heapq.heapify(heap)
    next_row = (ends - left).tolist()
    class_of = np.full(len(values), -1)
    members: list[set[int]] = []
    while len(heap) >= number:
        taken = [heapq.heappop(heap) for _ in range(number)]
        for rows, value in taken:
            class_of[order[next_row[value]]] = len(members)
            next_row[value] += 1
            if rows < -1:
                heapq.heappush(heap, (rows + 1, value))
        members.append({value for _, value in taken})
    for rows, value in sorted(heap):
        for _ in range(-rows):
            lacking = [number for number, inside in enumerate(members) if value not in inside]
            chosen = int(generator.choice(lacking))
            members[chosen].add(value)
            class_of[order[next_row[value]]] = chosen
            next_row[value] += 1
    return class_of
