"""What a policy declares of the cells of a column, beside a hierarchy: sets in them, dates that move, numbers that are
perturbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from math import floor, log10
from typing import Any, ClassVar, Literal, Self, get_args

from indistinct.errors import PolicyError
from indistinct.hierarchy import read_back

Kind = Literal["laplace", "normal", "uniform"]
KINDS = get_args(Kind)
SCALES = (1e-9, 1e12)
"""Noise of another scale cannot be added to numbers of 53 bits, or is a mistake."""
DIGITS = 3
"""Digits below that of the scale to which numbers with noise are rounded: the last bits could show the original."""
MOST_DAYS = 3650
"""A date may be moved by ten years at most, so that every year stays one of four digits."""


@dataclass(frozen=True, slots=True)
class CellRule:
    """What a policy file declares under its key: a table, or the one value that such a table needs."""

    key: ClassVar[str]

    @classmethod
    def of(cls, given: Any) -> Self:
        """Take it as it is, the one value that it needs, or what a policy file says in a table."""
        if isinstance(given, cls):
            return given
        names = [field.name for field in fields(cls)]
        needed = [field.name for field in fields(cls) if field.default is MISSING]
        said = given if isinstance(given, Mapping) or not needed else {needed[0]: given}
        if not isinstance(said, Mapping) or not set(needed) <= set(said) <= set(names):
            got = ", ".join(map(str, said)) or "nothing" if isinstance(said, Mapping) else repr(given)
            raise PolicyError(f"{cls.key}: takes {' and '.join(names)}; got {got}")
        return cls(**said)

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest write it."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class CellSet(CellRule):
    """A cell holds several values: texts with a separator between them, or a list, or a JSON array without one.

    With ``columns`` the set is made of the names of those columns that have 1 or true.

    >>> CellSet.of({"separator": ";"}).describe(), CellSet.of({}).describe()
    ({'separator': ';'}, {})
    """

    key: ClassVar[str] = "set"

    separator: str | None = None
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.columns is not None:
            names = [] if isinstance(self.columns, str) else list(self.columns)
            if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
                raise PolicyError(f'set.columns: must list columns, such as ["asthma", "gout"], got {self.columns!r}')
            if self.separator is not None:
                raise PolicyError("set.separator: the cells of columns are 0 or 1; leave it out")
            object.__setattr__(self, "columns", tuple(names))
        if self.separator is not None and not (isinstance(self.separator, str) and self.separator):
            raise PolicyError(f'set.separator: must be a text such as ";", got {self.separator!r}')


@dataclass(frozen=True, slots=True)
class DateShift(CellRule):
    """Each person's dates move by one number of days, drawn at random from ``-days`` to ``days`` for each release.

    What lies between two dates of a person stays as it is; which dates they were is not released. Cells are ISO dates
    or timestamps, or texts of a ``format`` of ``strptime``.

    >>> DateShift(365).describe()
    {'days': 365}
    """

    key: ClassVar[str] = "shift"

    days: int
    format: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.days, bool) or not isinstance(self.days, int) or not 1 <= self.days <= MOST_DAYS:
            raise PolicyError(f"shift.days: must be a number of days from 1 to {MOST_DAYS}, got {self.days!r}")
        if self.format is not None and not _tells_the_day(self.format):
            raise PolicyError(
                f"shift.format: {self.format!r} is no format of strptime that tells the day with a year of four digits"
            )


@dataclass(frozen=True, slots=True)
class Microaggregation(CellRule):
    """Each number leaves as the mean of a cluster of at least ``k`` numbers that lie next to each other (MDAV).

    >>> Microaggregation.of(5).describe()
    {'k': 5}
    """

    key: ClassVar[str] = "microaggregate"

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise PolicyError(f"microaggregate.k: must be a whole number of at least 2, got {self.k!r}")

    def in_words(self) -> str:
        """Say how cells are released."""
        return f"released as means of clusters of at least {self.k} rows (microaggregated)"


@dataclass(frozen=True, slots=True)
class Noise(CellRule):
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

    def in_words(self) -> str:
        """Say how cells are released."""
        return f"released with {self.kind} noise of scale {self.scale:g} added"


Perturbation = Microaggregation | Noise


def _tells_the_day(form: object) -> bool:
    """Return whether dates that are written in this format can be read again."""
    if not isinstance(form, str) or "%Y" not in form:
        return False
    try:
        return all(day == found for day, found in read_back(form).items())
    except ValueError:
        return False
