"""TablesPolicy: what a release of several tables must satisfy that belong together, such as patients and their visits.

Each table is described as in a policy of one table. Its rows are somebody's by columns of their own, or by the row of
another table that they refer to. Everything else is said once for all tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from indistinct.errors import PolicyError
from indistinct.policy.column import STABLE, Column, identifier
from indistinct.policy.condition import Condition
from indistinct.policy.person import PSEUDONYM, Person
from indistinct.policy.policy import Policy, suppression_mistakes

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

PERSON = ".person"
"""The column that says whose row it is, where the rows of all tables are counted together."""
TABLE_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
RESERVED = ("manifest", "report", "table", "quasi", "sensitive")
"""Names that mean something else in a release folder."""


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """One of several tables: its columns, whose rows they are, and the row of another table that each belongs to.

    ``person`` names the columns that say whose row it is, if they are not those of the policy. ``key`` names a column
    that no two rows have equal. ``references`` says which column holds the key of which other table. Keys that others
    refer to, and references, are released as pseudonyms, so that a recipient can join the tables.
    """

    columns: Mapping[str, Column]
    person: str | Sequence[str] | None = None
    key: str | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    eligible: Sequence[Condition] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise PolicyError("columns: must give each column a role")
        if self.person is not None:
            object.__setattr__(self, "person", Person(self.person).columns)  # type: ignore[arg-type]
        if self.key is not None and not (isinstance(self.key, str) and self.key):
            raise PolicyError(f"key: must name one column, got {self.key!r}")
        is_named = isinstance(self.references, Mapping) and all(
            isinstance(name, str) and isinstance(table, str) for name, table in self.references.items()
        )
        if not is_named:
            raise PolicyError(
                'references: must give a column the table that it refers to, such as { visit = "visits" }'
            )
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        object.__setattr__(self, "references", MappingProxyType(dict(self.references)))
        object.__setattr__(self, "eligible", tuple(self.eligible))

    def describe(self) -> dict[str, Any]:
        """Return what ties the table to others, as a policy file writes it."""
        said: dict[str, Any] = {}
        if self.person is not None:
            said["person"] = self.person[0] if len(self.person) == 1 else list(self.person)
        if self.key is not None:
            said["key"] = self.key
        return said | ({"references": dict(self.references)} if self.references else {})


@dataclass(frozen=True, slots=True)
class PartPolicy(Policy):
    """The policy of one of several tables; not every one needs a quasi column."""

    needs_quasi: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Part:
    """One table as everything else asks about it: a policy of its own, and how its rows are found to be somebody's."""

    policy: Policy
    person: tuple[str, ...]
    """The columns that say whose row it is; none if that is found through the row that it refers to."""
    reference: str | None
    """The column that holds the key of a row of the parent."""
    parent: str | None
    key: str | None
    """The column that rows of other tables refer to by its pseudonyms."""
    unique: str | None
    """The column that no two rows may have equal."""
    member_of: str | None
    """The table that has a row for everybody who has a row here."""

    @property
    def comes_after(self) -> tuple[str, ...]:
        """The tables that its rows refer to."""
        return tuple(name for name in (self.parent, self.member_of) if name is not None)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that say whose row it is, which one, and to which other it belongs."""
        asked = (*self.person, self.unique, self.reference)
        return tuple(dict.fromkeys(column for column in asked if column is not None))


@dataclass(frozen=True, slots=True)
class TablesPolicy:
    """What a release of several tables must satisfy: k people share all that the tables together tell of a person.

    ``person`` names the columns that say whose row it is, and the key of pseudonyms if the holder keeps one; it holds
    for every table that does not say it itself or refer to a row of another one.
    """

    tables: Mapping[str, LinkedTable]
    privacy: Sequence[PrivacyModel]
    person: Person | str | Sequence[str]
    max_suppression: int | float | None = None
    algorithm: str = "lattice"
    options: Mapping[str, Any] = field(default_factory=dict)
    _parts: Mapping[str, Part] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        person = self.person_released(self.person)
        if person.suppress != "people":
            raise PolicyError("person.suppress: people are suppressed in all tables, or in none; single rows cannot be")
        object.__setattr__(self, "person", person)
        if person.stable:
            raise PolicyError("person.stable: only a ledger keeps stable pseudonyms, and it takes one table")
        mistakes = [*self._privacy_mistakes(), *suppression_mistakes(self.max_suppression), *self._name_mistakes()]
        parts: dict[str, Part] = {}
        if not mistakes:
            parts, mistakes = self._resolve()
        if not mistakes and not any(part.policy.quasi for part in parts.values()):
            mistakes.append("tables: no quasi column in any; say which columns others could link by, with quasi(…)")
        if mistakes:
            raise PolicyError(mistakes)
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))
        object.__setattr__(self, "privacy", tuple(self.privacy))
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "_parts", MappingProxyType(parts))

    @property
    def parts(self) -> Mapping[str, Part]:
        """Each table with a policy of its own and what ties it to others."""
        return self._parts

    @staticmethod
    def person_released(given: Any) -> Person:
        """Take what says whose rows they are: people are always released by pseudonyms, which join the tables."""
        if isinstance(given, Mapping):
            if given.get("release", PSEUDONYM) != PSEUDONYM:
                raise PolicyError("person.release: tables are joined by pseudonyms; say 'pseudonym', or leave it out")
            return Person.of({**given, "release": PSEUDONYM})
        return replace(Person.of(given), release="pseudonym")

    def __getattr__(self, name: str) -> Any:
        """Refuse to be taken for a policy of one table."""
        if not name.startswith("_") and hasattr(Policy, name):
            raise PolicyError(
                "the policy describes several tables that belong together: anonymize, check and verify take it, other "
                "functions take a policy of one table"
            )
        raise AttributeError(name)

    def _privacy_mistakes(self) -> list[str]:
        """List the models that say nothing of a person's rows in several tables."""
        if not self.privacy:
            return ["privacy: no model; add for example KAnonymity(5)"]
        mistakes = []
        for model in self.privacy:
            if not hasattr(model, "satisfied"):
                mistakes.append(f"privacy: {model!r} is not a privacy model, such as KAnonymity(5)")
            elif getattr(model, "asks_sensitive", False):
                mistakes.append(
                    f"privacy: {model.name} asks about sensitive values, which is not offered for several tables"
                )
            elif getattr(model, "asks_population", False):
                mistakes.append(f"privacy: {model.name} counts people for one row each, not for several tables")
            elif getattr(model, "known", None) is not None:
                mistakes.append(
                    f"privacy: {model.name} with known: rows of several tables belong together, and a few columns of "
                    "them are many cells; drop known"
                )
            elif getattr(model, "on", None) is not None:
                mistakes.append(f"privacy: {model.name} with on: several tables have one quasi-identifier, all of it")
        return mistakes

    def _name_mistakes(self) -> list[str]:
        """List what is wrong with the names of tables and of what they refer to."""
        if not isinstance(self.tables, Mapping) or not self.tables:
            return ["tables: must give each table a name and LinkedTable(…)"]
        mistakes, seen = [], set()
        for name, table in self.tables.items():
            if not isinstance(name, str) or not TABLE_NAME.fullmatch(name) or name.lower() in RESERVED:
                mistakes.append(
                    f"tables: {name!r} cannot name a file of the release; use letters, digits, - and _, and none of "
                    f"{', '.join(RESERVED)}"
                )
            elif name.lower() in seen:
                mistakes.append(f"tables: {name!r} differs from another name only in case")
            seen.add(str(name).lower())
            if not isinstance(table, LinkedTable):
                mistakes.append(f"tables.{name}: use LinkedTable(columns=…)")
                continue
            for column, goal in table.references.items():
                other = self.tables.get(goal)
                place = f"tables.{name}.references.{column}"
                if goal == name:
                    mistakes.append(f"{place}: a table cannot refer to itself")
                elif not isinstance(other, LinkedTable):
                    mistakes.append(f"{place}: there is no table {goal!r}; there are {', '.join(self.tables)}")
                elif other.key is None:
                    mistakes.append(f"{place}: {goal!r} has no key; say which column it is with key = …")
        return mistakes

    def _resolve(self) -> tuple[dict[str, Part], list[str]]:
        """Return each table with a policy of its own and what ties it to others, and everything that is wrong there."""
        parts: dict[str, Part] = {}
        mistakes: list[str] = []
        for name, table in self.tables.items():
            try:
                parts[name] = self._part(name, table)
            except PolicyError as error:
                mistakes += [f"tables.{name}: {mistake}" for mistake in error.mistakes]
        if not mistakes:
            for name in parts:
                behind = set(parts[name].comes_after)
                for _ in parts:
                    behind |= {goal for table in behind for goal in parts[table].comes_after}
                if name in behind:
                    mistakes.append(f"tables.{name}: its references lead round in a circle")
            widths = {len(part.person) for part in parts.values() if part.person}
            if len(widths) > 1:
                mistakes.append("tables: as many columns say whose row it is in every table that has any")
            days = {shift.days for part in parts.values() for shift in part.policy.shifted.values()}
            if len(days) > 1:
                mistakes.append("tables: all dates of a person move together, so shift has the same days everywhere")
            mistakes += [
                f"tables.{name}.columns.{column}: microaggregate and noise are not supported for several tables; say "
                "recode, or drop the column"
                for name, part in parts.items()
                for column in part.policy.perturbed
            ]
        return parts, mistakes

    def _part(self, name: str, table: LinkedTable) -> Part:
        """Return one table with a policy of its own."""
        nested = {column: goal for column, goal in table.references.items() if not self._is_list_of_people(goal)}
        members = {column: goal for column, goal in table.references.items() if self._is_list_of_people(goal)}
        if len(nested) > 1 or len(members) > 1:
            raise PolicyError(
                "references: a row belongs to one row of one other table, and to one person; leave all others out"
            )
        reference, parent = next(iter(nested.items()), (None, None))
        person = self._person_of(table, reference, members)
        is_referred_to = any(name in other.references.values() for other in self.tables.values())
        key = table.key if is_referred_to and not self._is_list_of_people(name) else None
        columns = dict(table.columns)
        for column in (key, reference):
            if column is not None:
                given = columns.get(column, identifier())
                if isinstance(given, Column) and given.role != "identifier":
                    raise PolicyError(
                        f"columns.{column}: tables are joined by its pseudonyms, so it cannot be {given.role}; declare "
                        "it with identifier(), or leave it out under columns"
                    )
                columns[column] = identifier(pseudonym=True)
        if table.key is not None:
            columns.setdefault(table.key, identifier())
        for column in table.references:
            columns.setdefault(column, identifier())
        if any(isinstance(column, Column) and column.pseudonym == STABLE for column in columns.values()):
            raise PolicyError("pseudonym: only a ledger keeps stable pseudonyms, and it takes one table")
        policy = PartPolicy(
            columns=columns,
            privacy=self.privacy,
            eligible=table.eligible,
            person=Person(person, "pseudonym") if person else None,
        )
        return Part(policy, person, reference, parent, key, table.key, next(iter(members.values()), None))

    def _person_of(self, table: LinkedTable, reference: str | None, members: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns that say whose row it is; none if that is found through the row that it refers to."""
        assert isinstance(self.person, Person)  # set when the policy was made
        if members:
            (column,) = members
            if table.person not in (None, (column,)):
                raise PolicyError(f"references.{column}: it says whose row it is, and person says otherwise; drop one")
            return (column,)
        if table.person is not None:
            return tuple(table.person)
        if reference is not None and not all(column in table.columns for column in self.person.columns):
            return ()
        return self.person.columns

    def _is_list_of_people(self, name: str) -> bool:
        """Return whether the key of a table is what says whose row it is: it has one row for each person."""
        table = self.tables[name]
        assert isinstance(self.person, Person)  # set when the policy was made
        return table.key is not None and (table.key,) == (table.person or self.person.columns)

    def joint(self) -> Policy:
        """Return the policy of all tables as one, for the search: a column of a table is ``table.column``."""
        columns = {
            f"{name}.{column}": replace(part.policy.columns[column], rename=None)
            for name, part in self.parts.items()
            for column in part.policy.quasi
        }
        return Policy(
            columns=columns,
            privacy=self.privacy,
            max_suppression=self.max_suppression,
            algorithm=self.algorithm,
            options=self.options,
            person=Person((PERSON,), "pseudonym"),
        )

    def allowed_suppression(self, rows: int) -> int:
        """The number of rows, out of so many eligible ones in all tables, that may be suppressed."""
        return self.joint().allowed_suppression(rows)

    @property
    def shifts_dates(self) -> bool:
        """Some table has dates that move by a number of days for each person."""
        return any(part.policy.shifted for part in self.parts.values())

    def in_order(self) -> tuple[str, ...]:
        """Return the names of the tables, each after those that its rows refer to."""
        found: list[str] = []
        while len(found) < len(self.parts):
            found += [
                name
                for name, part in self.parts.items()
                if name not in found and all(goal in found for goal in part.comes_after)
            ]
        return tuple(found)

    def check_tables(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Raise one error with every way in which the policy does not fit tables of these columns."""
        mistakes = [
            f"tables.{name}: this table was not given; give it as {name}=…"
            for name in self.parts
            if name not in columns
        ]
        mistakes += [
            f"table {name!r} is not in the policy, which describes {', '.join(self.parts)}"
            for name in columns
            if name not in self.parts
        ]
        for name, part in self.parts.items():
            if name in columns:
                try:
                    part.policy.check(columns[name])
                except PolicyError as error:
                    mistakes += [f"tables.{name}: {mistake}" for mistake in error.mistakes]
        if mistakes:
            raise PolicyError(mistakes)
