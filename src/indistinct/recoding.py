"""Recoding: an algorithm's answer, which group each tuple goes to, what labels it carries, and what is suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.frequency import FrequencyList, Groups, IntArray, Node

LabelValues = Sequence[Sequence[NDArray[np.float64]]]
"""A number for each column, level and label code."""


class Outcome(Protocol):
    """What a measure may ask of a recoding; a search can answer it without building one."""

    @property
    def frequencies(self) -> FrequencyList:
        """The list that was recoded."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """A full-domain recoding: every column climbs to one level, and some whole groups are suppressed."""

    frequencies: FrequencyList
    groups: Groups
    is_suppressed: NDArray[np.bool_]
    """One claim per group."""
    is_proven: bool = True
    """No other recoding that the algorithm considers is better; False when a time limit cut the search short."""
    gap: float = 0.0
    """How much lower the loss of the optimum can still be, if it is not proven."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""
        return self.groups.node

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""
        return self.frequencies.rows

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""
        return int(self.groups.sizes[self.is_suppressed].sum())

    @property
    def released_rows(self) -> int:
        """The rows that stay."""
        return self.rows - self.suppressed_rows

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the released groups."""
        return self.groups.sizes[~self.is_suppressed]

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""
        return int((~self.is_suppressed).sum())

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""
        return int(self.is_suppressed.sum())

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""
        return _sum_of_squares(self.released_sizes)

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""
        return _sum_of_squares(self.groups.sizes[self.is_suppressed])

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""
        suppressed = np.flatnonzero(self.is_suppressed)
        if not len(suppressed):
            return 0.0
        sizes = self.groups.sizes[suppressed]
        return sum(
            float(sizes @ values[column][level][self.groups.label_codes(column)[suppressed]])
            for column, level in enumerate(self.node)
        )

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi column by its name."""
        return dict(zip(self.frequencies.columns, self.node, strict=True))


def _sum_of_squares(sizes: IntArray) -> float:
    return float(np.square(sizes, dtype=np.float64).sum())
