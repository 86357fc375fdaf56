"""Likelihood: how probable it is that somebody tries to find people in a release, and why that is believed.

The number is said, or follows from what is known of whoever holds the release: its controls and motives, or how many
people have what the table is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
