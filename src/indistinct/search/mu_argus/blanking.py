"""Which cells µ-Argus blanks: in each tuple, so many that none of its unsafe combinations is left whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations as choose
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray

Combination = tuple[int, ...]
"""The positions of the columns that are tested together, in the policy's order."""

TOLERANCE = 1e-9


class Rule(Protocol):
    """Chooses the cells to blank."""

    def blanks(self, unsafe: BoolArray) -> BoolArray:
        """Return which cells to blank, (tuples, columns), where (tuples, combinations) are unsafe."""


class Greedy:
    """Blanks in each tuple the cell that is in most unsafe combinations, until none is whole (step 6)."""

    def __init__(self, combinations: Sequence[Combination], columns: int) -> None:
        self._members = np.zeros((len(combinations), columns), np.int64)
        for number, chosen in enumerate(combinations):
            self._members[number, chosen] = 1

    def blanks(self, unsafe: BoolArray) -> BoolArray:
        is_blank = np.zeros((len(unsafe), self._members.shape[1]), np.bool_)
        is_whole = unsafe.copy()
        left = np.flatnonzero(is_whole.any(axis=1))
        while len(left):
            chosen = (is_whole[left].astype(np.int64) @ self._members).argmax(axis=1)  # of equal ones the first
            is_blank[left, chosen] = True
            is_whole[left] &= self._members.T[chosen] == 0
            left = left[is_whole[left].any(axis=1)]
        return is_blank


class LeastLoss:
    """Blanks in each tuple the cells of least loss that are in all its unsafe combinations."""

    def __init__(self, combinations: Sequence[Combination], losses: Sequence[float]) -> None:
        self._combinations = combinations
        self._losses = losses
        numbers = {columns: number for number, columns in enumerate(combinations)}
        self._inside = [
            [numbers[part] for size in range(1, len(columns)) for part in choose(columns, size) if part in numbers]
            for columns in combinations
        ]
        self._known: dict[bytes, Combination] = {}

    def blanks(self, unsafe: BoolArray) -> BoolArray:
        is_smallest = unsafe.copy()  # whoever hits a combination hits every larger one around it
        for number, inside in enumerate(self._inside):
            if inside:
                is_smallest[:, number] &= ~unsafe[:, inside].any(axis=1)
        patterns, pattern_of = np.unique(np.packbits(is_smallest, axis=1), axis=0, return_inverse=True)
        answers = np.zeros((len(patterns), len(self._losses)), np.bool_)
        for number, pattern in enumerate(patterns):
            answers[number, list(self._answer(pattern))] = True
        return answers[pattern_of.ravel()]

    def _answer(self, pattern: NDArray[np.uint8]) -> Combination:
        key = pattern.tobytes()
        if key not in self._known:
            numbers = np.flatnonzero(np.unpackbits(pattern, count=len(self._combinations))).tolist()
            self._known[key] = least_hitting_set([self._combinations[number] for number in numbers], self._losses)
        return self._known[key]


def least_hitting_set(sets: Sequence[Combination], losses: Sequence[float]) -> Combination:
    """Return the columns of least loss of which every set has one; of equal ones the fewest, then the first.

    Branch and bound: some column of a set that is not hit must be chosen, and sets without a common column each cost
    at least their cheapest one. Every loss must be above 0.

    >>> least_hitting_set([(1, 2, 3), (0, 1, 3)], [1, 1, 1, 0.5])
    (3,)
    """
    ordered = sorted({sum(1 << column for column in columns) for columns in sets}, key=lambda s: (s.bit_count(), s))
    columns_of = {mask: [c for c in range(mask.bit_length()) if mask >> c & 1] for mask in ordered}
    best: tuple[float, int, Combination] | None = None

    def least_loss(loss: float, left: Sequence[int], barred: int) -> float:
        used = 0
        for mask in left:
            if not mask & used:
                used |= mask
                loss += min((losses[c] for c in columns_of[mask] if not barred >> c & 1), default=math.inf)
        return loss

    def extend(chosen: Combination, left: Sequence[int], barred: int) -> None:
        nonlocal best
        loss = math.fsum(losses[column] for column in chosen)
        if best is not None and least_loss(loss, left, barred) > best[0] + TOLERANCE:
            return
        if not left:
            candidate = (round(loss, 9), len(chosen), tuple(sorted(chosen)))
            best = candidate if best is None else min(best, candidate)
            return
        for column in columns_of[left[0]]:
            if not barred >> column & 1:
                extend((*chosen, column), [mask for mask in left if not mask >> column & 1], barred)
                barred |= 1 << column  # what has it was looked at

    extend((), ordered, 0)
    assert best is not None  # all columns together hit every set
    return best[2]
