"""Non-uniform entropy: the bits that a recipient lacks to restore each cell."""

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
class NonUniformEntropy(CellMeasure):
    """The share of bits lost: the sum over cells of -log2 P(value | label), over that sum with all suppressed.

    P is the value's share of the rows under the label in the original table. A cell keeps
    log2(rows / rows under its label) bits: under the top nothing, under its own value all.

    Source: Gionis and Tassa 2009.
    """

    name: ClassVar[str] = "entropy"
    title: ClassVar[str] = "what labels leave open, by how frequent values are, 0 to 1"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        bits: FloatArray = np.log2(max(1, frequencies.rows_of(column)) / np.maximum(labels.rows, 1))
        return bits

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)
