"""Context: how a release is shared, how likely an attempt on it is there, and which risk is accepted, by whom, until
when.

The risk of a release is R = R_data x R_context: the chance that an attempt finds somebody, by the released cells, times
the probability of an attempt. Source: ISO/IEC 27559:2022, 8.2; IHE De-Identification Handbook 2026, Process.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from indistinct.errors import PolicyError
from indistinct.policy.context.likelihood import Likelihood

Sharing = Literal["public", "agreement", "controlled"]
SHARING: Mapping[str, str] = {
    "public": "everybody can get it",
    "agreement": "those who signed an agreement get it",
    "controlled": "it is used where its holder controls what happens and what leaves",
}
"""The ways in which a release is shared."""
Which = Literal["maximum", "average"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A risk that somebody has published as acceptable."""

    value: float
    source: str


_HANDBOOK = "IHE De-Identification Handbook 2026, after ISO/IEC 27559:2022; Ontario's guidelines 2016, step 3"
LIMITS: Mapping[str, Limit] = {
    "low-impact": Limit(0.1, f"{_HANDBOOK}: low invasion of privacy"),
    "medium-impact": Limit(0.075, f"{_HANDBOOK}: medium invasion of privacy"),
    "high-impact": Limit(0.05, f"{_HANDBOOK}: high invasion of privacy"),
    "ema-0070": Limit(0.09, "EMA Policy 0070, and Health Canada's public release of clinical information"),
}
"""Thresholds that may be named instead of a number."""
STRICT = 1 / 3
"""With the average nobody's own chance may be above this: groups of three, as Ontario's guidelines propose."""
THREATS = ("deliberate", "inadvertent", "breach")


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of a release, as far as they are known; what is not said is None, or empty.

    ``threshold`` is the largest R that is accepted: a number, or the name of a published one. ``measure`` says which
    chance R_data is: that of whoever is worst off, or that of a record on average. By default it is the maximum where
    the release is public, else the average; nobody's own chance may then be above ``highest``. With ``enforce`` a
    release above it is refused.
    """

    sharing: Sharing | None = None
    deliberate: Likelihood | None = None
    inadvertent: Likelihood | None = None
    breach: Likelihood | None = None
    threshold: float | str | None = None
    measure: Which | None = None
    highest: float | None = None
    why: str = ""
    decided_by: str = ""
    review_by: datetime.date | None = None
    enforce: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.review_by, str):
            object.__setattr__(self, "review_by", _day_of(self.review_by))
        if mistakes := self._mistakes():
            raise PolicyError(mistakes)

    def _mistakes(self) -> list[str]:
        mistakes = []
        if self.sharing is not None and self.sharing not in SHARING:
            mistakes.append(f"sharing: must be {', '.join(SHARING)}, got {self.sharing!r}")
        if self.measure not in (None, "maximum", "average"):
            mistakes.append(f"measure: must be maximum or average, got {self.measure!r}")
        if self.sharing == "public" and any(self.threats.values()):
            mistakes.append("sharing: of a public release an attempt is certain; leave deliberate and the others out")
        if isinstance(self.threshold, str) and self.threshold not in LIMITS:
            mistakes.append(f"threshold: must be a number, or {', '.join(LIMITS)}, got {self.threshold!r}")
        numbers = [("highest", self.highest)]
        numbers += [] if isinstance(self.threshold, str) else [("threshold", self.threshold)]
        mistakes += [
            f"{name}: must lie above 0 and be at most 1, got {value!r}"
            for name, value in numbers
            if value is not None and (isinstance(value, bool) or not 0 < value <= 1)
        ]
        if self.threshold is not None and not self.why.strip():
            mistakes.append("why: is required beside a threshold; say why this one")
        if self.enforce and self.threshold is None:
            mistakes.append("enforce: there is no threshold to enforce; give one")
        return mistakes

    @property
    def threats(self) -> dict[str, Likelihood | None]:
        """The three ways in which somebody may come to try, each with its likelihood if it was said."""
        return {name: getattr(self, name) for name in THREATS}

    @property
    def likelihood(self) -> float:
        """R_context: the greatest of the three likelihoods; 1 of a public release, and where one was not said.

        >>> few = Likelihood(0.05, why="agreed")
        >>> Context("agreement", few, few, Likelihood(0.2, why="of such places")).likelihood
        0.2
        >>> Context("agreement", few).likelihood
        1.0
        """
        known = [one.probability for one in self.threats.values() if one is not None]
        is_known = self.sharing in ("agreement", "controlled") and len(known) == len(THREATS)
        return max(known) if is_known else 1.0

    @property
    def which(self) -> Which:
        """Which chance of the released cells counts."""
        if self.measure is not None:
            return self.measure
        return "average" if self.sharing in ("agreement", "controlled") else "maximum"

    @property
    def limit(self) -> Limit | None:
        """The threshold with where it comes from; None if none was said."""
        if self.threshold is None:
            return None
        return LIMITS[self.threshold] if isinstance(self.threshold, str) else Limit(float(self.threshold), "")

    @property
    def cutoff(self) -> float | None:
        """The largest chance that anybody may have where the average counts; None where the maximum does."""
        if self.which == "maximum":
            return self.highest
        return STRICT if self.highest is None else self.highest

    @property
    def record_limit(self) -> float | None:
        """The chance of one record above which it counts as at risk: the threshold by the probability of an attempt."""
        if self.limit is None:
            return None
        return min(1.0, self.limit.value / self.likelihood) if self.likelihood else 1.0

    @property
    def is_enforced(self) -> bool:
        """A release above the threshold is refused."""
        return bool(self.enforce)

    def with_own(self, own: Context | None) -> Context:
        """Return the context with what a recipient's own says instead."""
        if own is None:
            return self
        said = {one.name: getattr(own, one.name) for one in fields(own) if getattr(own, one.name) not in (None, "")}
        nobody: dict[str, Any] = dict.fromkeys(THREATS) if own.sharing == "public" else {}
        return replace(self, **{**nobody, **said})

    def describe(self) -> dict[str, Any]:
        """Return the context as a policy file says it."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value.describe() if isinstance(value, Likelihood) else value
            for name, value in said.items()
            if value not in (None, "")
        }


def _day_of(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise PolicyError(f"review_by: must be a date such as 2027-05-30, got {text!r}") from None
