"""Person: the columns that say whose row it is, where a person may have several rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy.column import Column

PSEUDONYM = "pseudonym"
"""The column that a release has in place of those that say whose row it is, if its rows are linked."""


@dataclass(frozen=True, slots=True)
class Person:
    """Whose row it is: rows that agree in these columns are of one person.

    Every model then counts people. The columns are never released as they are. With ``release="pseudonym"`` a keyed
    pseudonym stands in their place, so that a recipient can follow a person; then what k people must share is the
    profile, all rows of a person together; ``suppress`` says what goes where too few share one, all rows of such people
    or single ones. ``key_file`` or ``key_env`` names where the holder keeps the key of the
    pseudonyms; without one they are made with a key that nobody keeps. Pseudonyms are new in each release; with
    ``stable`` they are the same in all releases of a ledger's source, and the ledger keeps the key.
    """

    columns: tuple[str, ...]
    release: Literal["nothing", "pseudonym"] = "nothing"
    suppress: Literal["people", "rows"] = "people"
    key_file: str | None = None
    key_env: str | None = None
    stable: bool = False

    def __post_init__(self) -> None:
        given: object = self.columns
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) and n for n in names):
            raise PolicyError(f"person: must name a column, or a list of columns, got {given!r}")
        if len(set(names)) < len(names):
            raise PolicyError("person: names a column twice")
        object.__setattr__(self, "columns", tuple(names))
        if self.release not in ("nothing", PSEUDONYM):
            raise PolicyError(f"person.release: must be 'nothing' or 'pseudonym', got {self.release!r}")
        if self.suppress not in ("people", "rows"):
            raise PolicyError(f"person.suppress: must be 'people' or 'rows', got {self.suppress!r}")
        if self.suppress == "rows" and self.release != PSEUDONYM:
            raise PolicyError("person.suppress: single rows are suppressed anyway, unless release = 'pseudonym'")
        keys = [key for key in (self.key_file, self.key_env) if key is not None]
        if keys and self.release != PSEUDONYM:
            raise PolicyError("person: a key is for pseudonyms; say release = 'pseudonym'")
        if len(keys) > 1:
            raise PolicyError("person: give key_file or key_env, not both")
        if not isinstance(self.stable, bool):
            raise PolicyError(f"person.stable: must be true or false, got {self.stable!r}")
        if self.stable and self.release != PSEUDONYM:
            raise PolicyError("person.stable: pseudonyms can be stable; say release = 'pseudonym'")
        if self.stable and keys:
            raise PolicyError("person.stable: the ledger keeps the key of stable pseudonyms; drop key_file and key_env")

    @classmethod
    def of(cls, given: Any) -> Person:
        """Take a column's name, a list of them, or what a policy file says in a table."""
        if isinstance(given, Person):
            return given
        if not isinstance(given, Mapping):
            return cls(given)
        said = dict(given)
        named = [said.pop(key) for key in ("column", "columns") if key in said]
        known = [field.name for field in fields(cls)]
        unknown = [str(key) for key in said if key not in known]
        if len(named) != 1 or unknown:
            got = ", ".join(map(str, given)) or "nothing"
            raise PolicyError(
                f"person: takes column or columns, and release, suppress, key_file, key_env or stable; got {got}"
            )
        return cls(named[0], **said)

    @property
    def is_linked(self) -> bool:
        """Rows of a person are released under her pseudonym."""
        return self.release == PSEUDONYM

    def relative_to(self, base: Path) -> Person:
        """The same with the key's path taken from the folder of the policy file."""
        return self if self.key_file is None else replace(self, key_file=str(base / self.key_file))

    def mistakes(self, columns: Mapping[str, Column]) -> list[str]:
        """List the columns that a policy would release though they say whose row it is."""
        found = [
            f"person: {name!r} says whose row it is and is never released, so it cannot be {columns[name].role}; "
            "declare it with identifier(), or leave it out under columns"
            for name in self.columns
            if name in columns and columns[name].role != "identifier"
        ]
        if self.is_linked and any(name.lower() == PSEUDONYM for name in columns):
            found.append(f"person: the release has a column {PSEUDONYM!r} of its own; give the table's another name")
        return found

    def describe(self) -> Any:
        """Return it as a policy file writes it."""
        columns = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        if not self.is_linked:
            return columns
        suppress = None if self.suppress == "people" else self.suppress
        said: dict[str, Any] = {"release": self.release, "suppress": suppress}
        said |= {"key_file": self.key_file, "key_env": self.key_env, "stable": self.stable or None}
        name = "column" if len(self.columns) == 1 else "columns"
        return {name: columns} | {key: value for key, value in said.items() if value is not None}

    def terms(self) -> Any:
        """Return it as a public manifest may state it: nothing of where the key is."""
        return replace(self, key_file=None, key_env=None).describe()
