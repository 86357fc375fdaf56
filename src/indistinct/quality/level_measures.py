"""Measures of the levels alone: how far a node is from the bottom (Samarati's distances) or from the top (accuracy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.quality.measure import FloatArray, QualityMeasure, within_unit
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
