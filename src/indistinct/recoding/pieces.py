"""Pieces: which rows go to which group, tuple by tuple."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, IntArray

SUPPRESSED = -1
"""The group of rows that are not released."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Which rows go where: so many rows of a tuple to a group. A tuple's rows may go to several groups.

    Where models ask about sensitive values, the rows of a tuple are told apart by them: "tuple" then means an entry of
    the frequency list.
    """

    tuples: IntArray
    """The position of the tuple among the frequency list's entries."""
    rows: IntArray
    groups: IntArray
    """The number of the group, or SUPPRESSED."""

    @classmethod
    def whole(cls, frequencies: FrequencyList, groups: IntArray) -> Pieces:
        """Send every tuple with all its rows to one group."""
        entries = frequencies.entries
        return cls(np.arange(len(entries)), entries.counts, np.asarray(groups, np.int64)[entries.tuples])

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """One claim per piece."""
        is_released: NDArray[np.bool_] = self.groups != SUPPRESSED
        return is_released

    def number_groups(self) -> tuple[Pieces, IntArray]:
        """Number the groups through from 0; also give the earlier number of each."""
        groups = np.full(len(self.groups), SUPPRESSED)
        earlier, groups[self.is_released] = np.unique(self.groups[self.is_released], return_inverse=True)
        return Pieces(self.tuples, self.rows, groups), earlier

    def sizes(self, groups: int) -> IntArray:
        """Give the rows of each group, of which there are so many."""
        released = self.is_released
        return np.bincount(self.groups[released], self.rows[released], groups).astype(np.int64)

    def without_groups(self, is_left_out: NDArray[np.bool_]) -> Pieces:
        """Give the same pieces with some more groups suppressed."""
        is_gone = self.is_released & is_left_out[np.maximum(self.groups, 0)]
        return Pieces(self.tuples, self.rows, np.where(is_gone, SUPPRESSED, self.groups))

    def in_entries(self, entry_of: IntArray) -> Pieces:
        """Give the pieces in the entries of another list, those of one entry in one group together."""
        most = int(self.groups.max(initial=-1)) + 2
        keys, which = np.unique(entry_of[self.tuples] * most + self.groups + 1, return_inverse=True)
        rows = np.bincount(which.ravel(), self.rows, len(keys)).astype(np.int64)
        tuples, groups = np.divmod(keys, most)
        return Pieces(tuples, rows, groups - 1)
