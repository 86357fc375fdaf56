"""Measures of what is released, whatever its labels: how many rows, and in groups of which sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.errors import PolicyError
from indistinct.quality.measure import QualityMeasure, Sized
from indistinct.recoding import Outcome


@dataclass(frozen=True)
class Completeness(QualityMeasure):
    """The share of eligible rows that are released.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "completeness"
    title: ClassVar[str] = "the share of rows released (Samarati)"
    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)

    def loss(self, recoding: Outcome) -> float:
        return recoding.suppressed_rows / max(1, recoding.rows)

    def suppression_loss(self, recoding: Outcome) -> float:
        return self.loss(recoding)


@dataclass(frozen=True)
class Discernibility(QualityMeasure):
    """Each released row costs the size of its group, each suppressed row the size of the table.

    Source: Bayardo and Agrawal 2005.
    """

    name: ClassVar[str] = "discernibility"
    title: ClassVar[str] = "rows that each row cannot be told from, summed"

    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return recoding.released_squares + recoding.suppressed_rows * float(recoding.rows)

    def loss(self, recoding: Outcome) -> float:
        return self.value(recoding) / max(1.0, float(recoding.rows) ** 2)

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Merging groups only adds to the sum of squares, suppressed ones included."""
        squares = float(np.square(groups.sizes, dtype=np.float64).sum())
        return squares / max(1.0, float(frequencies.rows) ** 2)

    def suppression_loss(self, recoding: Outcome) -> float:
        """What suppressed rows cost beyond the squares of their groups."""
        beyond = recoding.suppressed_rows * float(recoding.rows) - recoding.suppressed_squares
        return beyond / max(1.0, float(recoding.rows) ** 2)


@dataclass(frozen=True)
class AverageGroupSize(QualityMeasure):
    """The released rows per released group, divided by ``k`` if one is given (LeFevre's C_avg).

    A release of nothing counts as one group of the whole table.

    Source: LeFevre et al. 2006.
    """

    name: ClassVar[str] = "average-group-size"
    title: ClassVar[str] = "rows of a group on average"
    asks_counts_only: ClassVar[bool] = True

    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise PolicyError(f"k must be at least 1, got {self.k}")

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding) * max(1, recoding.rows) / self.k

    def loss(self, recoding: Outcome) -> float:
        is_empty = recoding.released_groups == 0
        released = recoding.rows - recoding.suppressed_rows + is_empty * recoding.rows
        return released / (recoding.released_groups + is_empty) / recoding.rows


@dataclass(frozen=True)
class DistinctTuples(QualityMeasure):
    """The number of distinct released tuples: what Samarati's maximum distribution prefers.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "distinct-tuples"
    title: ClassVar[str] = "the combinations of labels that are left"
    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return recoding.released_groups * 1.0

    def loss(self, recoding: Outcome) -> float:
        return 1.0 - recoding.released_groups / max(1, len(recoding.frequencies.base))

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Going up only merges groups."""
        return 1.0 - len(groups.sizes) / max(1, len(frequencies.base))

    def suppression_loss(self, recoding: Outcome) -> float:
        """A suppressed group is made of groups that were suppressed below, so going up there are no more of them."""
        return recoding.suppressed_groups / max(1, len(recoding.frequencies.base))
