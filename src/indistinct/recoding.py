"""Recoding: an algorithm's answer, which group each tuple goes to, what labels it carries, and what is suppressed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.frequency import FrequencyList, Groups, IntArray, Node


@dataclass(frozen=True, slots=True)
class Recoding:
    """A full-domain recoding: every column climbs to one level, and some whole groups are suppressed."""

    frequencies: FrequencyList
    groups: Groups
    is_suppressed: NDArray[np.bool_]
    """One claim per group."""
    is_proven: bool = True
    """No other recoding that the algorithm considers is better; False when a time limit cut the search short."""

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
    def levels(self) -> dict[str, int]:
        """The level of each quasi column by its name."""
        return dict(zip(self.frequencies.columns, self.node, strict=True))
