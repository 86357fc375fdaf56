"""Measures that add up over cells: each released cell retains some information, a suppressed one none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequency import FrequencyList
from indistinct.quality.base import FloatArray, QualityMeasure
from indistinct.recoding import Recoding


@dataclass(frozen=True, slots=True)
class Retained:
    """What cells retain in one frequency list: per column, level and label, and in a table left as it is."""

    per_label: Sequence[Sequence[FloatArray]]
    """per_label[column][level][label code], weighted."""
    level_losses: Sequence[FloatArray]
    """level_losses[column][level]: the share of the whole that the column loses at a level, nothing suppressed."""
    whole: float


class CellMeasure(QualityMeasure):
    """The share of information that the table's cells lose.

    ``retained`` says what a cell keeps under a label. Row counts of the labels are known before any search, so the
    loss of a node with nothing suppressed is a sum over its levels; suppression only adds what the suppressed
    groups would have kept.
    """

    @abstractmethod
    def retained(self, frequencies: FrequencyList, column: int) -> Sequence[FloatArray]:
        """Give for each level of a column what a cell keeps under each label; level 0 keeps all."""

    def prepared(self, frequencies: FrequencyList) -> Retained:
        """Tabulate what cells retain, once for each frequency list."""
        return frequencies.remember((type(self), self), lambda: self._tabulate(frequencies))

    def _tabulate(self, frequencies: FrequencyList) -> Retained:
        per_label, totals = [], []
        for column, weight in enumerate(frequencies.weights):
            labels = [weight * kept for kept in self.retained(frequencies, column)]
            counts = frequencies.value_counts(column)
            maps = frequencies.hierarchies[column].maps
            per_label.append(labels)
            totals.append(np.array([float(counts @ kept[codes]) for kept, codes in zip(labels, maps, strict=True)]))
        whole = sum(float(total[0]) for total in totals)
        level_losses = [(total[0] - total) / whole if whole > 0 else np.zeros(len(total)) for total in totals]
        return Retained(per_label, level_losses, whole)

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        return self.prepared(frequencies).level_losses

    def loss(self, recoding: Recoding) -> float:
        prepared = self.prepared(recoding.frequencies)
        if prepared.whole <= 0:  # nothing to lose: every column is constant
            return 0.0
        lost = sum(float(losses[level]) for losses, level in zip(prepared.level_losses, recoding.node, strict=True))
        suppressed = np.flatnonzero(recoding.is_suppressed)
        if len(suppressed):
            sizes = recoding.groups.sizes[suppressed]
            for column, level in enumerate(recoding.node):
                kept = prepared.per_label[column][level]
                lost += float(sizes @ kept[recoding.groups.label_codes(column)[suppressed]]) / prepared.whole
        return min(1.0, max(0.0, lost))
