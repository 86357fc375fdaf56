"""Person: the columns that say whose row it is, where a person may have several rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy.policy import Column


@dataclass(frozen=True, slots=True)
class Person:
    """Whose row it is: rows that agree in these columns are of one person.

    Every model then counts people. The columns are never released as they are.
    """

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        given: object = self.columns
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) and n for n in names):
            raise PolicyError(f"person: must name a column, or a list of columns, got {given!r}")
        if len(set(names)) < len(names):
            raise PolicyError("person: names a column twice")
        object.__setattr__(self, "columns", tuple(names))

    @classmethod
    def of(cls, given: Any) -> Person:
        """Take a column's name, a list of them, or what a policy file says in a table."""
        if isinstance(given, Person):
            return given
        if not isinstance(given, Mapping):
            return cls(given)
        unknown = [key for key in given if key not in ("column", "columns")]
        if unknown or len(given) != 1:
            raise PolicyError(f"person: takes column or columns, got {', '.join(map(str, given)) or 'nothing'}")
        return cls(next(iter(given.values())))

    def mistakes(self, columns: Mapping[str, Column]) -> list[str]:
        """List the columns that a policy would release though they say whose row it is."""
        return [
            f"person: {name!r} says whose row it is and is never released, so it cannot be {columns[name].role}; "
            "declare it with identifier(), or leave it out under columns"
            for name in self.columns
            if name in columns and columns[name].role != "identifier"
        ]

    def describe(self) -> Any:
        """Give it as a policy file and a manifest write it."""
        return self.columns[0] if len(self.columns) == 1 else list(self.columns)
