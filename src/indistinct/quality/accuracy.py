"""Samarati's accuracy and completeness: what generalization and what suppression cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indistinct.quality.distance import AbsoluteDistance
from indistinct.quality.measure import QualityMeasure
from indistinct.recoding import Outcome


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
