"""Risk thresholds: limits on the chance that somebody is re-identified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray, IntArray, np
from indistinct.counting import Groups
from indistinct.privacy.model import TOLERANCE, PrivacyModel, check_share
from indistinct.privacy.models.k_anonymity import KAnonymity


@dataclass(frozen=True, slots=True)
class ProsecutorRisk(PrivacyModel):
    """Nobody who is known to be in the release is found with a chance above ``at_most``: 1 over the group's size.

    Source: El Emam and Dankar 2008.
    """

    name: ClassVar[str] = "prosecutor-risk"
    title: ClassVar[str] = "Nobody's risk is above a limit"
    sentence: ClassVar[str] = "Nobody who is known to be in the release is found with a chance above {at_most}."
    usual: ClassVar[Mapping[str, float]] = {"at_most": 0.2}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True

    at_most: float
    on: str | None = None

    def __post_init__(self) -> None:
        check_share("at_most", self.at_most)

    @property
    def k(self) -> int:
        """The group size that keeps the risk."""
        return math.ceil(1 / self.at_most - TOLERANCE)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups are large enough."""
        return KAnonymity(self.k).satisfied(groups)


@dataclass(frozen=True, slots=True)
class AverageRisk(PrivacyModel):
    """On average over all released {rows} the chance to be found is at most ``at_most``: groups over rows.

    It judges the release as a whole. Where the average is too high, the smallest groups fail, size by size, until it
    holds for the others: suppressing them lowers it most. Algorithms that make groups one by one keep each group's own
    risk below the threshold, which is more than enough.

    Source: El Emam and Dankar 2008 (marketer risk where the release is the population).
    """

    name: ClassVar[str] = "average-risk"
    title: ClassVar[str] = "The average risk is below a limit"
    sentence: ClassVar[str] = "On average over all released {rows} the chance to be found is at most {at_most}."
    usual: ClassVar[Mapping[str, float]] = {"at_most": 0.1}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_whole_table: ClassVar[bool] = True

    at_most: float
    on: str | None = None

    def __post_init__(self) -> None:
        check_share("at_most", self.at_most)

    @property
    def alone(self) -> ProsecutorRisk:
        """No group above the threshold means no average above it."""
        return ProsecutorRisk(self.at_most, self.on)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups are large enough that together they keep the average."""
        sizes, numbers = np.unique(groups.sizes[groups.sizes > 0], return_counts=True)
        groups_from, rows_from = _from_each_on(numbers), _from_each_on(sizes * numbers)
        is_kept = groups_from <= self.at_most * (1 + TOLERANCE) * rows_from
        least = sizes[is_kept].min(initial=groups.rows + 1)
        verdict: BoolArray = (groups.sizes >= least) | (groups.sizes == 0)
        return verdict

    def objection(self, groups: Groups) -> str | None:
        return (
            f"rows: {groups.rows}; even as one group they have an average risk of {1 / max(1, groups.rows):.4g}, "
            f"above {self.at_most:g}; raise at_most, or release more rows together"
        )


def _from_each_on(numbers: IntArray) -> IntArray:
    """Return the sum of each number and all after it."""
    sums: IntArray = numbers[::-1].cumsum()[::-1]
    return sums
