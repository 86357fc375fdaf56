"""Context: how a release is shared, how likely an attempt on it is there, and which risk is accepted, by whom, until
when.

The risk of a release is R = R_data x R_context: the chance that an attempt finds somebody, by the released cells, times
the probability of an attempt. Source: ISO/IEC 27559:2022, 8.2; IHE De-Identification Handbook 2026, Process.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from indistinct.errors import PolicyError

Grade = Literal["low", "medium", "high"]
GRADES: tuple[Grade, ...] = ("low", "medium", "high")
CONTROLS: Mapping[tuple[str, str], float] = {
    ("high", "low"): 0.05,
    ("high", "medium"): 0.1,
    ("high", "high"): 0.2,
    ("medium", "low"): 0.2,
    ("medium", "medium"): 0.3,
    ("medium", "high"): 0.4,
    ("low", "low"): 0.4,
    ("low", "medium"): 0.5,
    ("low", "high"): 0.6,
}
"""The probability of a deliberate attempt, by the holder's privacy controls, and its motives and capacity."""
CONTROLS_SOURCE = "Information and Privacy Commissioner of Ontario, De-identification Guidelines 2016, step 5, attack 1"
KNOWN_SOURCE = "Information and Privacy Commissioner of Ontario, De-identification Guidelines 2016, step 5, attack 2"
ACQUAINTANCES = 150
"""How many people somebody knows: Dunbar's number, as the same guidelines take it."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The probability of an attempt, and why it is believed.

    Either ``value`` is given, or ``controls`` and ``motives``, or the ``prevalence`` of what the table is about among
    people, of whom somebody knows ``acquaintances``.

    >>> Likelihood(controls="high", motives="low", why="a university under contract").probability
    0.05
    >>> round(Likelihood(prevalence=0.001, why="a registry of 8,000 among 8 million").probability, 3)
    0.139
    """

    value: float | None = None
    controls: Grade | None = None
    motives: Grade | None = None
    prevalence: float | None = None
    acquaintances: int = ACQUAINTANCES
    why: str = ""

    def __post_init__(self) -> None:
        ways = (self.value is not None, self.controls is not None or self.motives is not None, self.has_prevalence)
        mistakes = [] if sum(ways) == 1 else ["give value, or controls and motives, or prevalence: one of the three"]
        mistakes += [
            f"{name}: must be a probability from 0 to 1, got {value!r}"
            for name, value in (("value", self.value), ("prevalence", self.prevalence))
            if value is not None and not _is_share(value)
        ]
        if ways[1] and (self.controls not in GRADES or self.motives not in GRADES):
            mistakes.append("controls, motives: give both, each low, medium or high")
        if type(self.acquaintances) is not int or self.acquaintances < 1:
            mistakes.append(f"acquaintances: must be a number of people, got {self.acquaintances!r}")
        if not isinstance(self.why, str) or not self.why.strip():
            mistakes.append("why: is required; say what the probability rests on")
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def has_prevalence(self) -> bool:
        """The probability follows from how many people have what the table is about."""
        return self.prevalence is not None

    @property
    def probability(self) -> float:
        """The probability itself."""
        if self.value is not None:
            return float(self.value)
        if self.prevalence is not None:
            return 1 - (1 - float(self.prevalence)) ** self.acquaintances
        return CONTROLS[str(self.controls), str(self.motives)]

    @property
    def source(self) -> str:
        """Where the number comes from, if it was not said."""
        return "" if self.value is not None else KNOWN_SOURCE if self.has_prevalence else CONTROLS_SOURCE

    def describe(self) -> dict[str, Any]:
        """Return the likelihood as a policy file says it."""
        said = {name: getattr(self, name) for name in ("value", "controls", "motives", "prevalence")}
        told: dict[str, Any] = {name: given for name, given in said.items() if given is not None}
        told |= {"acquaintances": self.acquaintances} if self.acquaintances != ACQUAINTANCES else {}
        return told | {"why": self.why}


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


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


@dataclass(frozen=True, slots=True)
class RecipientTerms:
    """What a policy says of one recipient, or of a class of them; what is not said is as for everybody else.

    ``k`` takes the place of every model's k, ``columns`` are all that is released to them, ``min_level`` the lowest
    level of some columns and ``profile`` how likely they link by each quasi column.

    Source: Samarati 2001, section 7, asks for recipients with their own requirements.
    """

    who: str = ""
    holds: str = ""
    """What they hold, or can lawfully get, that could be linked with the release."""
    means: str = ""
    """What an attempt would cost them, and what would help them."""
    contract: str = ""
    """The agreement that binds them."""
    context: Context | None = None
    k: int | None = None
    columns: Sequence[str] | None = None
    max_suppression: int | float | None = None
    min_level: Mapping[str, int | str] = field(default_factory=dict)
    profile: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        mistakes = []
        if self.k is not None and (type(self.k) is not int or self.k < 1):
            mistakes.append(f"k: must be a whole number of at least 1, got {self.k!r}")
        if self.columns is not None and (isinstance(self.columns, str) or not self.columns):
            mistakes.append("columns: must list the columns that are released to them")
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def has_own_release(self) -> bool:
        """They get a release that is made otherwise than for everybody else."""
        return any((self.k, self.columns, self.min_level)) or (self.max_suppression, self.profile) != (None, None)

    def describe(self) -> dict[str, Any]:
        """Return the terms as a policy file says them."""
        said = {name: getattr(self, name) for name in ("who", "holds", "means", "contract", "k", "max_suppression")}
        told: dict[str, Any] = {name: value for name, value in said.items() if value not in (None, "")}
        told |= {} if self.columns is None else {"columns": list(self.columns)}
        told |= {"min_level": dict(self.min_level)} if self.min_level else {}
        told |= {} if self.profile is None else {"profile": dict(self.profile)}
        return told | ({} if self.context is None else {"context": self.context.describe()})


def context_mistakes(context: object, recipients: object) -> list[str]:
    """List what is no context, and no terms of a recipient; what they say was looked at when they were made."""
    mistakes = []
    if not (context is None or isinstance(context, Context)):
        mistakes.append(f"context: must be a Context, got {type(context).__name__}")
    if not isinstance(recipients, Mapping):
        return [*mistakes, "recipients: must give each recipient a name and RecipientTerms(…)"]
    return mistakes + [
        f"recipients.{name}: must be RecipientTerms, got {type(terms).__name__}"
        for name, terms in recipients.items()
        if not isinstance(terms, RecipientTerms)
    ]
