"""Measures by name: the one that a policy or a command names, and the figures of all of them."""

from __future__ import annotations

from indistinct.errors import PolicyError
from indistinct.quality.measure import QualityMeasure
from indistinct.recoding import Outcome
from indistinct.registry import MEASURES


def measure_named(measure: QualityMeasure | str) -> QualityMeasure:
    """Give the measure of this name, or the measure itself."""
    if isinstance(measure, QualityMeasure):
        return measure
    if not isinstance(measure, str):
        raise PolicyError(f"measure: there is no {measure!r}; choose one of {', '.join(MEASURES)}")
    return MEASURES.make(measure)


def all_measures(recoding: Outcome) -> dict[str, float]:
    """Give the figure of every measure for a recoding, by the measure's name."""
    return {name: measure().value(recoding) for name, measure in MEASURES.items()}
