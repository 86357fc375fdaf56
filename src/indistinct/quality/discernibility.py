"""Discernibility: how many rows each row cannot be told from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.quality.measure import QualityMeasure, Sized
from indistinct.recoding import Outcome


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
