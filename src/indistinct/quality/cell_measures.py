"""Measures that add up over cells: each released cell retains some information, a suppressed one none.

Precision, loss, NCP and entropy differ in what a cell keeps under its label.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.quality.measure import FloatArray, QualityMeasure, within_unit
from indistinct.recoding import LabelValues, Outcome
from indistinct.recoding.recoding import GroupLabels, Labels


@dataclass(frozen=True, slots=True)
class Retained:
    """What cells retain in one frequency list: per column, level and label, and in a table left as it is."""

    per_label: LabelValues
    """per_label[column][level][label code], weighted."""
    level_losses: Sequence[FloatArray]
    """level_losses[column][level]: the share of the whole that the column loses at a level, nothing suppressed."""
    whole: float


class CellMeasure(QualityMeasure):
    """The share of information that the table's cells lose.

    ``kept`` says what a cell keeps under a label. Row counts of the labels are known before any search, so the
    loss of a node with nothing suppressed is a sum over its levels; suppression only adds what the suppressed
    groups would have kept.
    """

    asks_counts_only = True

    @abstractmethod
    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        """Return what a cell of a column keeps under each of these labels; under its own value it keeps all."""

    def prepare(self, frequencies: FrequencyList) -> Retained:
        """Tabulate what cells retain, once for each frequency list."""
        return frequencies.remember((type(self), self), lambda: self._tabulate(frequencies))

    def _tabulate(self, frequencies: FrequencyList) -> Retained:
        per_label, totals = [], []
        for column, weight in enumerate(frequencies.weights):
            labels = [
                weight * self.kept(frequencies, column, Labels.at_level(frequencies, column, level))
                for level in range(frequencies.heights[column] + 1)
            ]
            if frequencies.has_absent:
                for kept in labels:
                    kept[-1] = 0.0  # no cell is there
            counts = frequencies.value_counts(column)
            maps = frequencies.hierarchies[column].maps
            per_label.append(labels)
            totals.append(np.array([float(counts @ kept[codes]) for kept, codes in zip(labels, maps, strict=True)]))
        whole = sum(float(total[0]) for total in totals)
        level_losses = [(total[0] - total) / whole if whole > 0 else np.zeros(len(total)) for total in totals]
        return Retained(per_label, level_losses, whole)

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        return self.prepare(frequencies).level_losses

    def least_kept(self, frequencies: FrequencyList) -> list[list[float]] | None:
        """Return what a released cell of each column keeps at the least at each level, as a share of the whole
        table.
        """
        prepared = self.prepare(frequencies)
        if prepared.whole <= 0:
            return None
        return [[float(kept.min(initial=np.inf)) / prepared.whole for kept in levels] for levels in prepared.per_label]

    def suppression_loss(self, recoding: Outcome) -> float:
        """What the suppressed cells would have kept: coarser labels keep less, and fewer rows are suppressed."""
        prepared = self.prepare(recoding.frequencies)
        return recoding.over_suppressed(prepared.per_label) / prepared.whole if prepared.whole > 0 else 0.0

    def loss(self, recoding: Outcome) -> float:
        if recoding.local is not None:
            return self._local_loss(recoding.frequencies, recoding.local)
        parts = self.level_losses(recoding.frequencies)
        lost = sum([losses[level] for losses, level in zip(parts, recoding.node, strict=True)])
        return within_unit(lost + self.suppression_loss(recoding))

    def _local_loss(self, frequencies: FrequencyList, groups: GroupLabels) -> float:
        """Return the loss where each group carries labels of its own."""
        whole = self.prepare(frequencies).whole
        kept = [
            weight * self.kept(frequencies, column, labels)
            for column, (weight, labels) in enumerate(zip(frequencies.weights, groups.labels, strict=True))
        ]
        return within_unit(1.0 - groups.over_released(kept) / whole) if whole > 0 else 0.0


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
