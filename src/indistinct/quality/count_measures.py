"""Measures that only count: the levels that were climbed, and the rows and groups that are left.

Samarati's distances and accuracy ask for the node alone, whatever is suppressed; discernibility and its like ask how
many rows are released, and in groups of which sizes, whatever their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.errors import PolicyError
from indistinct.quality.measure import FloatArray, QualityMeasure, Sized, within_unit
from indistinct.recoding import Outcome


class _LevelMeasure(QualityMeasure):
    """A measure that depends on the node alone."""

    asks_counts_only = True

    def loss(self, recoding: Outcome) -> float:
        parts = self.level_losses(recoding.frequencies)
        assert parts is not None  # every measure of this kind has them
        if recoding.local is not None:  # each part rises evenly with the level, so averages will do
            return within_unit(
                sum([p[-1] * m / max(1, len(p) - 1) for p, m in zip(parts, recoding.local.mean_levels, strict=True)])
            )
        return within_unit(sum([losses[level] for losses, level in zip(parts, recoding.node, strict=True)]))


@dataclass(frozen=True)
class AbsoluteDistance(_LevelMeasure):
    """The number of generalization steps in all: the height of the node.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "absolute-distance"
    title: ClassVar[str] = "steps climbed in all hierarchies (Samarati)"

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        steps = max(1, sum(frequencies.heights))
        return [np.arange(height + 1) / steps for height in frequencies.heights]

    def value(self, recoding: Outcome) -> float:
        levels = recoding.node if recoding.local is None else recoding.local.mean_levels
        return sum(levels) * 1.0


@dataclass(frozen=True)
class RelativeDistance(_LevelMeasure):
    """The sum over columns of level / height, times the column's weight.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "relative-distance"
    title: ClassVar[str] = "the same, each over its height (Samarati)"

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        whole = sum(frequencies.weights) or 1.0
        return [
            weight * np.arange(height + 1) / max(1, height) / whole
            for height, weight in zip(frequencies.heights, frequencies.weights, strict=True)
        ]

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding) * sum(recoding.frequencies.weights)


@dataclass(frozen=True)
class Accuracy(AbsoluteDistance):
    """One minus the height of the node over the height of the lattice.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "what generalization leaves (Samarati)"

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)


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
