"""Perturbations that a policy declares: numbers that leave as means of clusters, or with noise added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import floor, log10
from typing import Any, ClassVar, Literal, Self, get_args

from indistinct.errors import PolicyError

Kind = Literal["laplace", "normal", "uniform"]
KINDS = get_args(Kind)
SCALES = (1e-9, 1e12)
"""Noise of another scale cannot be added to numbers of 53 bits, or is a mistake."""
DIGITS = 3
"""Numbers with noise are rounded to so many digits below that of the scale: the last bits could tell the original."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a policy file declares under its key: one number, or a table with that number and more."""

    key: ClassVar[str]

    @classmethod
    def of(cls, given: Any) -> Self:
        """Take the number, or what a policy file says in a table."""
        if isinstance(given, cls):
            return given
        number, *more = (field.name for field in fields(cls))
        said: Mapping[str, Any] = given if isinstance(given, Mapping) else {number: given}
        if not {number} <= set(said) <= {number, *more}:
            names, got = " and ".join([number, *more]), ", ".join(map(str, said)) or "nothing"
            raise PolicyError(f"{cls.key}: takes {names}; got {got}")
        return cls(**said)


@dataclass(frozen=True, slots=True)
class Microaggregation(_Declared):
    """Each number leaves as the mean of a cluster of at least ``k`` numbers that lie next to each other (MDAV).

    >>> Microaggregation.of(5).describe()
    {'k': 5}
    """

    key: ClassVar[str] = "microaggregate"

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise PolicyError(f"microaggregate.k: must be a whole number of at least 2, got {self.k!r}")

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest write it."""
        return {"k": self.k}

    def in_words(self) -> str:
        """Say how cells are released."""
        return f"released as means of clusters of at least {self.k} rows (microaggregated)"


@dataclass(frozen=True, slots=True)
class Noise(_Declared):
    """Each number leaves with a random one added, drawn from the system's secure generator.

    ``scale`` is the mean of its size for Laplace noise, the standard deviation for normal noise, and the most that is
    added or taken away for uniform noise.

    >>> Noise(10.0).describe(), Noise(10.0).step
    ({'scale': 10.0, 'kind': 'laplace'}, 0.01)
    """

    key: ClassVar[str] = "noise"

    scale: float
    kind: Kind = "laplace"

    def __post_init__(self) -> None:
        is_number = isinstance(self.scale, int | float) and not isinstance(self.scale, bool)
        if not is_number or not SCALES[0] <= self.scale <= SCALES[1]:
            raise PolicyError(f"noise.scale: must be a number from {SCALES[0]:g} to {SCALES[1]:g}, got {self.scale!r}")
        if self.kind not in KINDS:
            raise PolicyError(f"noise.kind: must be {', '.join(map(repr, KINDS))}, got {self.kind!r}")
        object.__setattr__(self, "scale", float(self.scale))

    @property
    def decimals(self) -> int:
        """The decimal places to which numbers are rounded; below zero, they are rounded before the point."""
        return DIGITS - floor(log10(self.scale))

    @property
    def step(self) -> float:
        """The distance of numbers that may be released."""
        return float(10.0**-self.decimals)

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest write it."""
        return {"scale": self.scale, "kind": self.kind}

    def in_words(self) -> str:
        """Say how cells are released."""
        return f"released with {self.kind} noise of scale {self.scale:g} added"


Perturbation = Microaggregation | Noise
