"""QualityMeasure: what every measure must say about a recoding, and the bounds that let a search stop early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.frequency import FrequencyList, Groups
from indistinct.recoding import Recoding

FloatArray = NDArray[np.float64]


class QualityMeasure(ABC):
    """A loss in [0, 1] for a recoding: 0 leaves the table as it is, 1 tells nothing.

    A measure may also give lower bounds. They need not be tight, but they must hold: an exact search
    skips every node whose bound is above the best loss found.
    """

    name: ClassVar[str]

    @abstractmethod
    def loss(self, recoding: Recoding) -> float:
        """Give the loss of a recoding, between 0 and 1."""

    @abstractmethod
    def value(self, recoding: Recoding) -> float:
        """Give the figure that people quote, in its own unit and direction."""

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray] | None:
        """Give for each column the least loss that each level of it contributes; the loss of a node is at least
        the sum over its levels. None if the measure has no such parts.
        """
        return None

    def bound_above(self, groups: Groups, frequencies: FrequencyList) -> float:
        """Give a loss that no recoding at the groups' node or above it can beat."""
        return 0.0
