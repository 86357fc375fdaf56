"""Average group size and the number of distinct released tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indistinct.errors import PolicyError
from indistinct.frequency import FrequencyList, Groups
from indistinct.quality.base import QualityMeasure
from indistinct.recoding import Recoding


@dataclass(frozen=True)
class AverageGroupSize(QualityMeasure):
    """The released rows per released group, divided by ``k`` if one is given (LeFevre's C_avg).

    A release of nothing counts as one group of the whole table.

    Source: LeFevre et al. 2006.
    """

    name: ClassVar[str] = "average-group-size"

    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise PolicyError(f"k must be at least 1, got {self.k}")

    def value(self, recoding: Recoding) -> float:
        return self.loss(recoding) * max(1, recoding.rows) / self.k

    def loss(self, recoding: Recoding) -> float:
        groups = len(recoding.released_sizes)
        return recoding.released_rows / groups / recoding.rows if groups else 1.0


@dataclass(frozen=True)
class DistinctTuples(QualityMeasure):
    """The number of distinct released tuples: what Samarati's maximum distribution prefers.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "distinct-tuples"

    def value(self, recoding: Recoding) -> float:
        return float(len(recoding.released_sizes))

    def loss(self, recoding: Recoding) -> float:
        return 1.0 - len(recoding.released_sizes) / max(1, len(recoding.frequencies.base))

    def bound_above(self, groups: Groups, frequencies: FrequencyList) -> float:
        """Going up only merges groups."""
        return 1.0 - len(groups) / max(1, len(frequencies.base))
