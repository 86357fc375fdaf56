"""PrivacyModel: what every privacy model must say about groups."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.frequency import Groups

BoolArray = NDArray[np.bool_]


class PrivacyModel(Protocol):
    """A requirement on every group of a release, on one quasi-identifier or on all of them."""

    name: ClassVar[str]
    """The model's name in policy files, reports and verdicts."""
    is_monotone: ClassVar[bool]
    """A satisfied group stays satisfied whatever it is merged with, so on the way up no more rows are suppressed."""

    @property
    def on(self) -> str | None:
        """The quasi-identifier that the model protects; None for all."""

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell which groups satisfy the model."""

    def describe(self) -> dict[str, Any]:
        """Give the model as it stands in a policy file and a manifest."""
