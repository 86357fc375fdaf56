"""The target that Mondrian cuts for, beside the entries of a frequency list, and what its groups give away of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import IntArray
from indistinct.errors import PolicyError
from indistinct.policy.algorithms import PredictionTarget
from indistinct.search.task import Task


@dataclass(slots=True)
class TargetOfRows:
    """The target of each entry, and the rows that may still come to groups in which all have one value."""

    codes: IntArray
    """The code of each entry's value."""
    per_row: FloatArray
    """(values, classes) what a row of each value adds to the sums of a group."""
    is_number: bool
    left: float
    """The rows that may still come to such groups."""
    order_by: FloatArray = field(repr=False)
    """(values,) what a column of sets is ordered by: the number, or whether it is the most frequent class."""

    @classmethod
    def of(cls, task: Task, target: PredictionTarget) -> TargetOfRows:
        """Return the target of a task, or say why it has none."""
        frequencies = task.frequencies
        column = frequencies.sensitive.get(target.column)
        if column is None:
            raise PolicyError(
                f"target: {target.column!r} was not counted; it must be a sensitive column of the policy's own table, "
                f"named in the options of the policy that is given, with rows that no pseudonym links"
            )
        codes, counts = frequencies.entries.codes[target.column], frequencies.entries.counts
        most = target.max_alike * frequencies.rows
        rows = np.bincount(codes, counts, len(column.values))
        if not target.is_regression(column.values):
            is_first = np.arange(len(column.values)) == rows.argmax()
            return cls(codes, np.eye(len(column.values)), False, most, is_first.astype(np.float64))
        try:
            numbers = np.array([np.nan if text is None else float(text) for text in column.values])
        except ValueError:
            said = f"target: {target.column!r} has values that are no numbers; say task = 'classification'"
            raise PolicyError(said) from None
        known = np.isfinite(numbers)
        mean = float(numbers[known] @ rows[known]) / max(1.0, float(rows[known].sum()))
        numbers = np.where(known, numbers - mean, 0.0)
        numbers /= max(1e-300, float(np.abs(numbers).max(initial=0.0)))
        return cls(codes, np.stack([numbers, numbers**2], axis=1), True, most, numbers)

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
