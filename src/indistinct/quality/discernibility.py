"""Discernibility: how many rows each row cannot be told from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.frequency import FrequencyList, Groups
from indistinct.quality.base import QualityMeasure
from indistinct.recoding import Recoding


@dataclass(frozen=True)
class Discernibility(QualityMeasure):
    """Each released row costs the size of its group, each suppressed row the size of the table.

    Source: Bayardo and Agrawal 2005.
    """

    name: ClassVar[str] = "discernibility"

    def value(self, recoding: Recoding) -> float:
        sizes = recoding.released_sizes.astype(np.float64)
        return float(sizes @ sizes) + float(recoding.suppressed_rows) * recoding.rows

    def loss(self, recoding: Recoding) -> float:
        return self.value(recoding) / max(1.0, float(recoding.rows) ** 2)

    def bound_above(self, groups: Groups, frequencies: FrequencyList) -> float:
        """Merging groups and suppressing rows both only add to the sum of squares."""
        sizes = groups.sizes.astype(np.float64)
        return float(sizes @ sizes) / max(1.0, float(frequencies.rows) ** 2)
