"""Which combinations of a few columns' labels fewer than k rows have at a node, and which cells are blanked for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations as choose
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Groups, IntArray, Node
from indistinct.errors import InterruptedSearchError
from indistinct.progress import Watch


@dataclass(frozen=True, slots=True)
class TestedCombinations:
    """The groups at a node, and what testing combinations found in them."""

    groups: Groups
    group_of: IntArray
    """The group of each tuple of the frequency list."""
    combinations: tuple[Combination, ...]
    values: tuple[int, ...]
    """How many values of each combination are unsafe."""
    rows: tuple[int, ...]
    bits: NDArray[np.uint8]
    """(groups, combinations / 8): a bit for each combination that is unsafe in a group, packed."""
    per_label: tuple[IntArray, ...]
    """For each column (labels, columns): unsafe values with a label by the number of their columns."""

    @classmethod
    def at(
        cls, frequencies: FrequencyList, node: Node, combinations: Sequence[Combination], k: int, watch: Watch
    ) -> TestedCombinations:
        """Count the values of each combination; one that has a blank cell is not unsafe."""
        groups, group_of = frequencies.roll_up(node)
        texts = [hierarchy.labels[level] for hierarchy, level in zip(frequencies.hierarchies, node, strict=True)]
        blanks = [labels.index(None) if None in labels else -1 for labels in texts]
        per_label = tuple(np.zeros((len(labels), len(node) + 1), np.int64) for labels in texts)
        bits = np.zeros((len(groups), (len(combinations) + 7) // 8), np.uint8)
        values, rows = [], []
        for number, columns in enumerate(combinations):
            watch.report("combinations", number, len(combinations))
            stop_if_late(watch)
            merged, merged_of = groups.only(columns)
            codes = {column: merged.label_codes(column) for column in columns}
            is_unsafe = merged.sizes < k
            for column in columns:
                is_unsafe &= codes[column] != blanks[column]
            for column in columns:
                counted = np.bincount(codes[column][is_unsafe], minlength=len(texts[column]))
                per_label[column][:, len(columns)] += counted
            bits[:, number // 8] |= is_unsafe[merged_of].astype(np.uint8) << np.uint8(7 - number % 8)
            values.append(int(is_unsafe.sum()))
            rows.append(int(merged.sizes[is_unsafe].sum()))
        return cls(groups, group_of, tuple(combinations), tuple(values), tuple(rows), bits, per_label)

    def unsafe_combinations(self, groups: IntArray) -> BoolArray:
        """Return which combinations are unsafe in some groups: (groups, combinations)."""
        return np.unpackbits(self.bits[groups], axis=1, count=len(self.combinations)).astype(np.bool_)


def stop_if_late(watch: Watch) -> None:
    """Raise if the time is up: half of µ-Argus is no answer."""
    if watch.time_is_up():
        raise InterruptedSearchError("the time limit passed before µ-Argus was done")


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
