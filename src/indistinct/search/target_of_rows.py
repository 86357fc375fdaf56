"""The target of a search beside the entries of a frequency list: what groups lose of it, and what they give away."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import IntArray
from indistinct.errors import PolicyError
from indistinct.policy.algorithms import PredictionTarget
from indistinct.recoding import SUPPRESSED, Pieces
from indistinct.search.task import Task


@dataclass(slots=True)
class TargetOfRows:
    """The target of each entry, and the rows that may still come to groups in which all have one value."""

    codes: IntArray
    """The code of each entry's value."""
    per_row: FloatArray
    """(values, classes) what a row of each value adds to the sums of a group."""
    is_number: bool
    least_bits: float
    """What a cut must save to tell something: the bits that say at which row of the table it is made.

    Cuts that save less follow chance. Without this bound a release for small groups tells less of the target than one
    that heeds none (measured in benchmarks.md).
    """
    left: float
    """The rows that may still come to such groups."""
    order_by: FloatArray = field(repr=False)
    """(values,) what a column of sets is ordered by: the number, or whether it is the most frequent class."""
    blocks: int = 0
    """The blocks that cuts which tell something have made."""

    @classmethod
    def of(cls, task: Task, target: PredictionTarget) -> TargetOfRows:
        """Return the target of a task, or say why it has none."""
        frequencies = task.frequencies
        column = frequencies.sensitive.get(target.column)
        if column is None or task.policy.links_rows:
            raise PolicyError(
                f"target: {target.column!r} was not counted; it must be a sensitive column of the policy's own table, "
                f"named in the options of the policy that is given, with rows that no pseudonym links"
            )
        codes, counts = frequencies.entries.codes[target.column], frequencies.entries.counts
        most, least_bits = target.max_alike * frequencies.rows, log2(max(2, frequencies.rows))
        rows = np.bincount(codes, counts, len(column.values))
        if not target.is_regression(column.values):
            is_first = np.arange(len(column.values)) == rows.argmax()
            return cls(codes, np.eye(len(column.values)), False, least_bits, most, is_first.astype(np.float64))
        try:
            numbers = np.array([np.nan if text is None else float(text) for text in column.values])
        except ValueError:
            said = f"target: {target.column!r} has values that are no numbers; say task = 'classification'"
            raise PolicyError(said) from None
        known = np.isfinite(numbers)
        mean = float(numbers[known] @ rows[known]) / max(1.0, float(rows[known].sum()))
        numbers = np.where(known, numbers - mean, 0.0)
        numbers /= max(1e-300, float(np.abs(numbers).max(initial=0.0)))
        return cls(codes, np.stack([numbers, numbers**2], axis=1), True, least_bits, most, numbers)

    def sums(self, entries: IntArray, rows: IntArray) -> FloatArray:
        """Return the sums of pieces."""
        return self.per_row[self.codes[entries]] * rows[:, None]

    def mean_of_values(self, task: Task, column: int) -> FloatArray:
        """Return the mean of the target by value of a quasi column: neighbours in this order are alike."""
        frequencies = task.frequencies
        values, rows = frequencies.entry_codes(column), frequencies.entries.counts
        number = len(frequencies.hierarchies[column].values)
        total = np.bincount(values, rows, number)
        return np.bincount(values, rows * self.order_by[self.codes], number) / np.maximum(total, 1)

    def alike(self, entries: IntArray, rows: IntArray, part_of: IntArray, number: int) -> IntArray:
        """Return the rows of each part in which all rows have one value, and 0 for the others."""
        codes = self.codes[entries]
        low, high = np.full(number, len(self.per_row)), np.full(number, -1)
        np.minimum.at(low, part_of, codes)
        np.maximum.at(high, part_of, codes)
        return np.where(low == high, np.bincount(part_of, rows, number), 0).astype(np.int64)

    def affords(self, alike: IntArray, alike_before: IntArray, is_allowed: BoolArray) -> BoolArray:
        """Return which of the allowed cuts leave no more rows among their like than may be; these are then booked.

        ``alike``, ``alike_before``  (cuts,) such rows after each cut, and before it
        """
        added = np.where(is_allowed, alike - alike_before, 0)
        is_taken = is_allowed.copy()
        for cut in np.flatnonzero(added > 0).tolist():
            is_taken[cut] = added[cut] <= self.left
            self.left -= float(added[cut]) if is_taken[cut] else 0.0
        return is_taken

    def new_blocks(self, number: int) -> IntArray:
        """Return the numbers of so many blocks that there were not before."""
        self.blocks += number
        return np.arange(self.blocks - number, self.blocks)


def affordable_blocks(target: TargetOfRows, choices: tuple[Pieces, Pieces], block_of: IntArray) -> Pieces:
    """Return the first grouping in the blocks where no more rows than may be stand among their like, else the second.

    Both group the same rows of each block, and the second keeps to what may be. Blocks in which the first has no more
    such rows than the second come first, then those in which it has the fewest more.
    """
    number = int(block_of.max(initial=-1)) + 1
    first, second = (_alike_by_block(target, pieces, block_of, number) for pieces in choices)
    left = target.left - float(second.sum())
    takes_first = np.zeros(number, np.bool_)
    for block in np.argsort(first - second, kind="stable").tolist():
        takes_first[block] = first[block] - second[block] <= left
        left -= float(first[block] - second[block]) if takes_first[block] else 0.0
    takes_first = np.append(takes_first, True)  # the last is that of suppressed rows, which have none
    one, other = takes_first[block_of[choices[0].tuples]], ~takes_first[block_of[choices[1].tuples]]
    shift = int(choices[0].groups.max(initial=-1)) + 1
    return Pieces(
        np.append(choices[0].tuples[one], choices[1].tuples[other]),
        np.append(choices[0].rows[one], choices[1].rows[other]),
        np.append(choices[0].groups[one], choices[1].groups[other] + shift),
    )


def _alike_by_block(target: TargetOfRows, pieces: Pieces, block_of: IntArray, number: int) -> IntArray:
    """Return the rows of each block in groups in which all have one value."""
    stays = pieces.groups != SUPPRESSED
    tuples, groups = pieces.tuples[stays], pieces.groups[stays]
    groups_number = int(groups.max(initial=-1)) + 1
    block_of_group = np.zeros(groups_number, np.int64)
    block_of_group[groups] = block_of[tuples]
    alike = target.alike(tuples, pieces.rows[stays], groups, groups_number)
    return np.bincount(block_of_group, alike, number).astype(np.int64)
