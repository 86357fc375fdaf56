"""Differential privacy with true rows: people are sampled, and groups that are too small for it are dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from indistinct.array_types import BoolArray
from indistinct.counting import Groups
from indistinct.errors import PolicyError
from indistinct.privacy.model import PrivacyModel, check_positive
from indistinct.privacy.models.k_anonymity import KAnonymity
from indistinct.privacy.models.sampled_groups import largest_share, least_k

MOST_EPSILON = 20.0
LEAST_DELTA, MOST_DELTA = 1e-30, 0.5
LEAST_SHARE = 0.001
DRAWN_BY = "safepub"
"""The algorithm that draws such releases."""


@dataclass(frozen=True, slots=True)
class DifferentialPrivacy(PrivacyModel):
    """Whatever is released would have been as likely, but for e^ε and δ, had any one person not been in the table.

    Rows stay true: people are sampled with probability ``sampled`` and groups below k are dropped; k follows from the
    rest. ``for_levels`` is the part of ``epsilon`` that is spent on the choice of the levels. The algorithm ``safepub``
    does all of this; that groups have k rows can be recounted from a release, how they were drawn cannot.

    Source: Li, Qardaji, Su 2012, Theorem 5; Bild, Kuhn, Prasser 2018; docs/differential-privacy.md.

    >>> DifferentialPrivacy(1.0, 1e-5, sampled=0.5).k
    39
    """

    name: ClassVar[str] = "differential-privacy"
    title: ClassVar[str] = "Nothing released depends much on any one person"
    sentence: ClassVar[str] = (
        "Rows are drawn at random, so that with any one person's row left out the same release would have been as "
        "likely, but for a factor e^{epsilon} and a probability of {delta}."
    )
    usual: ClassVar[Mapping[str, float]] = {"epsilon": 1.0, "delta": 1e-5}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True
    is_drawn: ClassVar[bool] = True

    epsilon: float
    delta: float
    sampled: float | None = None
    for_levels: float = 0.05

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            check_positive(name, getattr(self, name))
        if self.epsilon > MOST_EPSILON:
            raise PolicyError(f"epsilon must be at most {MOST_EPSILON:g}, got {self.epsilon!r}; 1 is usual")
        if not LEAST_DELTA <= self.delta <= MOST_DELTA:
            raise PolicyError(
                f"delta must lie between {LEAST_DELTA:g} and {MOST_DELTA:g}, got {self.delta!r}; it should be well "
                "below one part in the number of people, such as 1e-6"
            )
        if not isinstance(self.for_levels, int | float) or not 0 <= self.for_levels < 1:
            raise PolicyError(f"for_levels must be a share of epsilon from 0 to below 1, got {self.for_levels!r}")
        if self.sampled is not None:
            check_positive("sampled", self.sampled)
            most = largest_share(self.epsilon_of_rows)
            if not LEAST_SHARE <= self.sampled <= most:
                raise PolicyError(
                    f"sampled must lie between {LEAST_SHARE:g} and {most:g}, which is 1 - e^-epsilon without what goes "
                    f"to the levels, got {self.sampled!r}; leave it out for the largest"
                )
        elif largest_share(self.epsilon_of_rows) < LEAST_SHARE:
            raise PolicyError(f"epsilon is too small, got {self.epsilon!r}: fewer than one row in 1,000 could be drawn")

    @property
    def epsilon_of_levels(self) -> float:
        """What the choice of the levels may spend."""
        return self.epsilon * self.for_levels

    @property
    def epsilon_of_rows(self) -> float:
        """What sampling and dropping groups may spend; both parts together are no more than ε."""
        rest = float(self.epsilon - self.epsilon_of_levels)
        while Fraction(rest) + Fraction(self.epsilon_of_levels) > Fraction(self.epsilon):
            rest = math.nextafter(rest, 0)
        return rest

    @property
    def share(self) -> float:
        """The probability with which each person is drawn."""
        return largest_share(self.epsilon_of_rows) if self.sampled is None else self.sampled

    @property
    def k(self) -> int:
        """The rows that a group must have at least."""
        return least_k(self.epsilon_of_rows, self.delta, self.share)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups have the k rows that follow from ε and δ: what of the model a release can show.

        >>> DifferentialPrivacy(1.0, 1e-5, sampled=0.5).satisfied(Groups.of_sizes([38, 39]))
        array([False,  True])
        """
        verdict: BoolArray = (groups.sizes >= self.k) | (groups.sizes == 0)
        return verdict

    def expenses(self) -> dict[str, Any]:
        """Return what a manifest states: both parts of ε, δ, the probability of being drawn, and k."""
        return {
            "epsilon": float(self.epsilon),
            "epsilon_of_levels": self.epsilon_of_levels,
            "delta": float(self.delta),
            "sampled": self.share,
            "k": self.k,
        }

    def objections_to(self, policy: Any) -> list[str]:
        """Say what of a policy would make the promise untrue."""
        mistakes = []
        for name, column in policy.columns.items():
            place = f"columns.{name}: {self.name}"
            if column.role in ("sensitive", "other") or column.pseudonym:
                mistakes.append(
                    f"{place}: every released column must take part in the grouping; make it quasi, or drop it"
                )
            elif column.role == "quasi" and column.hierarchy.height is None:
                mistakes.append(
                    f"{place}: the number of its levels depends on the values at hand; use a hierarchy with fixed "
                    "levels, such as prefix with a length"
                )
        if policy.person is not None:
            mistakes.append(f"person: {self.name} draws people by their one row; make a table with one row each first")
        if policy.suppressed_rows != "remove":
            mistakes.append(f"suppressed_rows: {self.name}: how many rows are left out is a secret; use 'remove'")
        if policy.max_suppression is not None:
            mistakes.append(
                f"max_suppression: {self.name} leaves rows out by chance and keeps their number secret; leave it out"
            )
        if {frozenset(columns) for columns in policy.quasi_identifiers.values()} != {frozenset(policy.quasi)}:
            mistakes.append(f"quasi_identifiers: {self.name} groups by all quasi columns together; leave them out")
        others = [model for model in policy.privacy if model is not self]
        mistakes += [
            f"privacy: {other.name} beside {self.name}: only k-anonymity can stand there, for larger groups"
            for other in others
            if not isinstance(other, KAnonymity) or other.known is not None
        ]
        return mistakes
