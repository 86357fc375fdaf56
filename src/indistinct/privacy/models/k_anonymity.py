"""k-anonymity: every released tuple, or every combination of a few of its columns, is shared by at least k rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

from indistinct.array_types import BoolArray
from indistinct.counting import Groups
from indistinct.errors import PolicyError
from indistinct.privacy.model import PrivacyModel, check_whole


@dataclass(frozen=True, slots=True)
class KAnonymity(PrivacyModel):
    """Each person is hidden among at least ``k`` rows of the release.

    With ``known`` this holds against whoever knows at most so many of the quasi columns of a person: each combination
    of labels in any so many columns, or fewer, is shared by ``k`` rows. Whoever knows more may find her alone. It is
    enough to count the sets of exactly so many columns: a group by some of the columns of a set is made of whole
    groups by that set, so it has no fewer rows, or people. A missing cell is a label like any other.

    Source: Samarati 2001, Definition 2.2; Sweeney 2002, Definition 3; Terrovitis, Mamoulis and Kalnis 2008,
    "Privacy-preserving anonymization of set-valued data", Definition 1 (of items that an adversary knows).
    """

    name: ClassVar[str] = "k-anonymity"
    title: ClassVar[str] = "Each person hides in a group of at least k"
    sentence: ClassVar[str] = "Each person is hidden among at least {k} {rows} that look alike."
    usual: ClassVar[Mapping[str, float]] = {"k": 5}
    optional: ClassVar[Mapping[str, str]] = {"known": "columns that others know, at most"}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True

    k: int
    on: str | None = None
    known: int | None = None

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if self.known is not None:
            check_whole("known", self.known)

    def __repr__(self) -> str:
        known = "" if self.known is None else f", known={self.known!r}"
        return f"KAnonymity(k={self.k!r}, on={self.on!r}{known})"

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
        """Return which groups hide each person among at least ``k`` rows.

        Merging groups only enlarges them, so a satisfied group stays satisfied:
        the search may skip everything above a node that passes.

        >>> KAnonymity(2).satisfied(Groups.of_sizes([1, 2, 3]))
        array([False,  True,  True])
        """
        verdict: BoolArray = (groups.sizes >= self.k) | (groups.sizes == 0)
        return verdict

    def column_sets(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the sets of columns whose groups the model judges: all that an adversary may know, as many as he can.

        >>> KAnonymity(5, known=2).column_sets(["age", "sex", "zip"])
        [('age', 'sex'), ('age', 'zip'), ('sex', 'zip')]
        >>> KAnonymity(5, known=4).column_sets(["age", "sex", "zip"])
        [('age', 'sex', 'zip')]
        """
        most = len(columns) if self.known is None else min(self.known, len(columns))
        return list(combinations(columns, most))

    def in_words(self, counted: Literal["rows", "people"] = "rows") -> str:
        """Say what the model asks for.

        >>> KAnonymity(5, known=3).in_words()
        'Whoever knows at most 3 quasi columns of a person finds at least 5 rows that look alike in these.'
        """
        if self.known is None:
            return PrivacyModel.in_words(self, counted)
        columns = "1 quasi column" if self.known == 1 else f"{self.known} quasi columns"
        place = "it" if self.known == 1 else "these"
        where = "" if self.on is None else f" (on the quasi-identifier {self.on})"
        return (
            f"Whoever knows at most {columns} of a person finds at least {self.k} {counted} that look alike in "
            f"{place}{where}."
        )
