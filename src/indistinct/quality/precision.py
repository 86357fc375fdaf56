"""Precision: how far, on average, cells stay from the top of their hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.quality.cell_losses import CellMeasure
from indistinct.quality.measure import FloatArray
from indistinct.recoding import Outcome
from indistinct.recoding.group_labels import Labels


@dataclass(frozen=True)
class Precision(CellMeasure):
    """Sweeney's Prec: one minus the average of level / height over all cells; a suppressed row counts as 1 a cell.

    Sweeney's heights count a suppressed top, Samarati's do not. With ``count_suppressed_top=False`` a column whose
    hierarchy ends in a suppressed top is measured against the height below it; the top itself is then 1 as well.
    Columns count by their weights.

    Source: Sweeney 2002, Definition 5.
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "1 leaves every cell as it is (Sweeney)"

    count_suppressed_top: bool = True

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        hierarchy = frequencies.hierarchies[column]
        height = hierarchy.height
        if hierarchy.has_suppressed_top and not self.count_suppressed_top and height > 1:
            height -= 1
        return 1.0 - np.minimum(labels.levels / max(1, height), 1.0)

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)
