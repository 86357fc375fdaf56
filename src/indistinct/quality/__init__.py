"""Quality measures: one file per measure, each a loss between 0 and 1 and the figure that people quote."""

from __future__ import annotations

from collections.abc import Callable

from indistinct.errors import PolicyError
from indistinct.quality.accuracy import Accuracy, Completeness
from indistinct.quality.discernibility import Discernibility
from indistinct.quality.distance import AbsoluteDistance, RelativeDistance
from indistinct.quality.entropy import NonUniformEntropy
from indistinct.quality.group_size import AverageGroupSize, DistinctTuples
from indistinct.quality.loss import NCP, Loss
from indistinct.quality.measure import QualityMeasure
from indistinct.quality.precision import Precision
from indistinct.recoding import Outcome

MEASURES: dict[str, Callable[[], QualityMeasure]] = {
    "precision": Precision,
    "loss": Loss,
    "ncp": NCP,
    "entropy": NonUniformEntropy,
    "discernibility": Discernibility,
    "average-group-size": AverageGroupSize,
    "distinct-tuples": DistinctTuples,
    "accuracy": Accuracy,
    "completeness": Completeness,
    "absolute-distance": AbsoluteDistance,
    "relative-distance": RelativeDistance,
}
"""Every measure by its name in a policy file."""


def measure_named(measure: QualityMeasure | str) -> QualityMeasure:
    """Give the measure of this name, or the measure itself."""
    if isinstance(measure, QualityMeasure):
        return measure
    if not isinstance(measure, str) or measure not in MEASURES:
        raise PolicyError(f"measure: there is no {measure!r}; choose one of {', '.join(MEASURES)}")
    return MEASURES[measure]()


def measured(recoding: Outcome) -> dict[str, float]:
    """Give the figure of every measure for a recoding, by the measure's name."""
    return {name: measure().value(recoding) for name, measure in MEASURES.items()}


__all__ = [
    "MEASURES",
    "NCP",
    "AbsoluteDistance",
    "Accuracy",
    "AverageGroupSize",
    "Completeness",
    "Discernibility",
    "DistinctTuples",
    "Loss",
    "NonUniformEntropy",
    "Precision",
    "QualityMeasure",
    "RelativeDistance",
    "measure_named",
    "measured",
]
