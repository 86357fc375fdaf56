"""DateShift: dates that leave moved by a secret number of days, the same for all rows of a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from indistinct.errors import PolicyError
from indistinct.hierarchy import read_back

MOST_DAYS = 3650
"""A date may be moved by ten years at most, so that every year stays one of four digits."""


@dataclass(frozen=True, slots=True)
class DateShift:
    """Each person's dates move by one number of days, drawn at random from ``-days`` to ``days`` for each release.

    What lies between two dates of a person stays as it is; which dates they were is not told. Cells are ISO dates
    or timestamps, or texts of a ``format`` of ``strptime``.

    >>> DateShift(365).describe()
    {'days': 365}
    """

    days: int
    format: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.days, bool) or not isinstance(self.days, int) or not 1 <= self.days <= MOST_DAYS:
            raise PolicyError(f"shift.days: must be a number of days from 1 to {MOST_DAYS}, got {self.days!r}")
        if self.format is not None and not _tells_the_day(self.format):
            raise PolicyError(
                f"shift.format: {self.format!r} is no format of strptime that tells the day with a year of four digits"
            )

    @classmethod
    def of(cls, given: Any) -> DateShift:
        """Take a number of days, or what a policy file says in a table."""
        if isinstance(given, DateShift):
            return given
        if not isinstance(given, Mapping):
            return cls(given)
        unknown = [str(name) for name in given if name not in ("days", "format")]
        if unknown or "days" not in given:
            raise PolicyError(f"shift: takes days and format; got {', '.join(map(str, given)) or 'nothing'}")
        return cls(**given)

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest write it."""
        return {"days": self.days} | ({} if self.format is None else {"format": self.format})


def _tells_the_day(form: object) -> bool:
    """Return whether dates that are written in this format can be read again."""
    if not isinstance(form, str) or "%Y" not in form:
        return False
    try:
        return all(day == found for day, found in read_back(form).items())
    except ValueError:
        return False
