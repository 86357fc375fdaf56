"""Loss and NCP: how much of its column's domain a released label covers."""

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
class Loss(CellMeasure):
    """Iyengar's loss: the average over cells of (leaves under the label - 1) / (leaves of the domain - 1).

    A suppressed cell counts as 1. The domain is what the hierarchy lists, or, for hierarchies that are
    functions (intervals, dates, prefix …), the values of the table.

    Source: Iyengar 2002.
    """

    name: ClassVar[str] = "loss"
    title: ClassVar[str] = "0 leaves every cell as it is (Iyengar)"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        others = frequencies.hierarchies[column].domain_size - 1
        return 1.0 - (labels.leaves - 1) / others if others > 0 else np.ones(len(labels.leaves))

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)


@dataclass(frozen=True)
class NCP(CellMeasure):
    """Normalized certainty penalty: the average over cells of the share of the domain's leaves under the label.

    A ground value counts as 0, a suppressed cell as 1. The average over the whole table is also called GCP.

    Source: Xu et al. 2006.
    """

    name: ClassVar[str] = "ncp"
    title: ClassVar[str] = "how wide labels are, 0 to 1 (Xu)"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        domain_size = frequencies.hierarchies[column].domain_size
        return np.where(labels.leaves > 1, 1.0 - labels.leaves / domain_size, 1.0)

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)
