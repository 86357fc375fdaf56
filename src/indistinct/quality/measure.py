"""QualityMeasure: what every measure says about a recoding, and the bounds of a search; and measures by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, IntArray
from indistinct.errors import PolicyError
from indistinct.recoding import Outcome
from indistinct.registry import MEASURES

FloatArray = NDArray[np.float64]


def within_unit(loss: float) -> float:
    """Return a loss without the rounding that takes it out of [0, 1]; works on arrays of them too.

    >>> within_unit(1.0000000000000002)
    1.0
    """
    return np.clip(loss, 0.0, 1.0) if isinstance(loss, np.ndarray) else min(1.0, max(0.0, float(loss)))


class Sized(Protocol):
    """Groups of which the sizes are known."""

    @property
    def sizes(self) -> IntArray:
        """The rows of each group."""


class QualityMeasure(ABC):
    """A loss in [0, 1] for a recoding: 0 leaves the table as it is, 1 tells nothing.

    A measure may also split its loss into parts whose direction is known; they let an exact search skip what cannot
    beat the best recoding found. For any node between a lower and an upper one,

        loss(node) >= sum of level_losses(lower) + bound_above(lower) + suppression_loss(upper)

    The defaults, which promise nothing, always hold. A measure that asks counts only is also given arrays of outcomes,
    so it is written without branching on them.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """What the figure says, in one line for readers who do not know its name."""
    asks_counts_only: ClassVar[bool] = False
    """The measure asks nothing but what an Outcome has, so a search need not build recodings for it."""

    @abstractmethod
    def loss(self, recoding: Outcome) -> float:
        """Return the loss of a recoding, between 0 and 1."""

    @abstractmethod
    def value(self, recoding: Outcome) -> float:
        """Return the figure that people quote, in its own unit and direction."""

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray] | None:
        """Return for each column the part of the loss that each of its levels costs by itself; it never falls on the
        way up. None if the measure has no such parts.
        """
        return None

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Return the part of the loss that follows from the sizes of the groups; it never falls on the way up."""
        return 0.0

    def suppression_loss(self, recoding: Outcome) -> float:
        """Return the part of the loss that suppression adds; it never rises on the way up."""
        return 0.0


def measure_named(measure: QualityMeasure | str) -> QualityMeasure:
    """Return the measure of this name, or the measure itself."""
    if isinstance(measure, QualityMeasure):
        return measure
    if not isinstance(measure, str):
        raise PolicyError(f"measure: there is no {measure!r}; choose one of {', '.join(MEASURES)}")
    return MEASURES.make(measure)


def all_measures(recoding: Outcome) -> dict[str, float]:
    """Return the figure of every measure for a recoding, by the measure's name."""
    return {name: measure().value(recoding) for name, measure in MEASURES.items()}
