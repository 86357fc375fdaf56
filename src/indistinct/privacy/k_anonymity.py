"""k-anonymity: every released tuple is shared by at least k rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.counting import Groups
from indistinct.errors import PolicyError
from indistinct.privacy.model import BoolArray, PrivacyModel
from indistinct.privacy.parameters import check_whole


@dataclass(frozen=True, slots=True)
class KAnonymity(PrivacyModel):
    """Each person is hidden among at least ``k`` rows of the release.

    Source: Samarati 2001, Definition 2.2; Sweeney 2002, Definition 3.
    """

    name: ClassVar[str] = "k-anonymity"
    title: ClassVar[str] = "Each person hides in a group of at least k"
    sentence: ClassVar[str] = "Each person is hidden among at least {k} {rows} that look alike."
    usual: ClassVar[Mapping[str, float]] = {"k": 5}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True

    k: int
    on: str | None = None

    def __post_init__(self) -> None:
        check_whole("k", self.k)

    @classmethod
    def at_level(cls, level: float, population: int, on: str | None = None) -> KAnonymity:
        """The k that Datafly computes from an anonymity level between 0 and 1 and the size of the population.

        ``k = floor((level - 0.1) * population / 100)``, at least 1: a formula fitted to the nine pairs that are
        remembered of Datafly's table for a voter list of 54,805 people; the papers at hand say only that the level
        computes to k. Give k directly wherever you can.

        Source: Sweeney 2002, section 4.1 (4); docs/papers.md.

        >>> KAnonymity.at_level(1.0, 54_805).k, KAnonymity.at_level(0.2, 54_805).k, KAnonymity.at_level(0, 54_805).k
        (493, 54, 1)
        """
        if not 0 <= level <= 1:
            raise PolicyError(f"an anonymity level lies between 0 and 1, got {level!r}")
        return cls(max(1, math.floor((level * 1000 - 100) * population / 100_000 + 1e-9)), on)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell which groups hide each person among at least ``k`` rows.

        Merging groups only enlarges them, so a satisfied group stays satisfied:
        the search may skip everything above a node that passes.

        >>> KAnonymity(2).satisfied(Groups.of_sizes([1, 2, 3]))
        array([False,  True,  True])
        """
        verdict: BoolArray = (groups.sizes >= self.k) | (groups.sizes == 0)
        return verdict
