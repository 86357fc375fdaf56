"""LinkedTable: one of several tables that belong together, such as patients and visits, and what ties it to others.

Each table is described as a policy of one table is. Its rows are somebody's by columns of their own, or by the row of
another table that they refer to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.policy.column import STABLE, Column, identifier
from indistinct.policy.condition import Condition
from indistinct.policy.person import PSEUDONYM, Person

if TYPE_CHECKING:
    from indistinct.policy.policy import Policy

PERSON = ".person"
"""The column that says whose row it is, where the rows of all tables are counted together."""
TABLE = "table"
"""What the table of a policy is called that describes one."""
TABLE_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
RESERVED = ("manifest", "report", TABLE, "quasi", "sensitive")
"""Names that mean something else in a release folder."""

MakePolicy = Callable[[Mapping[str, Column], Sequence[Condition], tuple[str, ...]], "Policy"]
"""Makes the policy of one of several tables from its columns, its filters and the columns that say whose row it is."""


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
class Part:
    """One table as everything else asks about it: a policy of its own, and how its rows are found to be somebody's."""

    policy: Policy
    person: tuple[str, ...]
    """The columns that say whose row it is; none if that is found through the row that it refers to."""
    reference: str | None = None
    """The column that holds the key of a row of the parent."""
    parent: str | None = None
    key: str | None = None
    """The column that rows of other tables refer to by its pseudonyms."""
    unique: str | None = None
    """The column that no two rows may have equal."""
    member_of: str | None = None
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


class JointColumns(Mapping[str, Column]):
    """The columns of all tables, each as ``table.column``: made from the tables, never given beside them."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Take the columns of each table."""
        self._columns = {
            f"{table}.{name}": column for table, part in parts.items() for name, column in part.policy.columns.items()
        }

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return "JointColumns(…)"


def linked_person(given: Any) -> Person:
    """Return whose rows they are: people of several tables are always released by pseudonyms, which join the tables."""
    if isinstance(given, Mapping):
        if given.get("release", PSEUDONYM) != PSEUDONYM:
            raise PolicyError("person.release: tables are joined by pseudonyms; say 'pseudonym', or leave it out")
        return Person.of({**given, "release": PSEUDONYM})
    return replace(Person.of(given), release="pseudonym")


def person_mistakes(person: Person) -> list[str]:
    """List what cannot be said of people whose rows stand in several tables."""
    mistakes = []
    if person.suppress != "people":
        mistakes.append("person.suppress: people are suppressed in all tables, or in none; single rows cannot be")
    if person.stable:
        mistakes.append("person.stable: only a ledger keeps stable pseudonyms, and it takes one table")
    return mistakes


def table_mistakes(tables: Mapping[str, LinkedTable]) -> list[str]:
    """List what is wrong with the names of tables and of what they refer to."""
    mistakes, seen = [], set()
    for name, table in tables.items():
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
            other = tables.get(goal)
            place = f"tables.{name}.references.{column}"
            if goal == name:
                mistakes.append(f"{place}: a table cannot refer to itself")
            elif not isinstance(other, LinkedTable):
                mistakes.append(f"{place}: there is no table {goal!r}; there are {', '.join(tables)}")
            elif other.key is None:
                mistakes.append(f"{place}: {goal!r} has no key; say which column it is with key = …")
    return mistakes


def model_mistakes(models: Sequence[Any]) -> list[str]:
    """List the models that say nothing of a person's rows in several tables."""
    mistakes = []
    for model in models:
        if getattr(model, "asks_population", False):
            mistakes.append(f"privacy: {model.name} counts people for one row each, not for several tables")
        elif getattr(model, "known", None) is not None:
            mistakes.append(
                f"privacy: {model.name} with known: rows of several tables belong together, and a few columns of "
                "them are many cells; drop known"
            )
        elif getattr(model, "on", None) is not None:
            mistakes.append(f"privacy: {model.name} with on: several tables have one quasi-identifier, all of it")
    return mistakes


def resolve_parts(
    tables: Mapping[str, LinkedTable], person: Person, make_policy: MakePolicy
) -> tuple[dict[str, Part], list[str]]:
    """Return each table with a policy of its own and what ties it to others, and everything that is wrong there."""
    parts: dict[str, Part] = {}
    mistakes: list[str] = []
    for name in tables:
        try:
            parts[name] = _part(name, tables, person, make_policy)
        except PolicyError as error:
            mistakes += [f"tables.{name}: {mistake}" for mistake in error.mistakes]
    if mistakes:
        return parts, mistakes
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
        f"tables.{name}.columns.{column}: microaggregate and noise are not supported for several tables; say recode, "
        "or drop the column"
        for name, part in parts.items()
        for column in part.policy.perturbed
    ]
    for name, part in parts.items():
        sets = [column for column, one in part.policy.columns.items() if one.set is not None]
        if len(sets) > 1 or (sets and part.unique is not None):
            mistakes.append(
                f"tables.{name}.columns.{sets[0]}.set: its rows become one for each member, so the table has no "
                "key and one set; make a table of its own for each set, of the same file"
            )
    if not any(part.policy.quasi for part in parts.values()):
        mistakes.append("tables: no quasi column in any; say which columns others could link by, with quasi(…)")
    return parts, mistakes


def _part(name: str, tables: Mapping[str, LinkedTable], person: Person, make_policy: MakePolicy) -> Part:
    """Return one table with a policy of its own."""
    table = tables[name]
    lists_people = {goal: _lists_people(tables[goal], person) for goal in (name, *table.references.values())}
    nested = {column: goal for column, goal in table.references.items() if not lists_people[goal]}
    members = {column: goal for column, goal in table.references.items() if lists_people[goal]}
    if len(nested) > 1 or len(members) > 1:
        raise PolicyError(
            "references: a row belongs to one row of one other table, and to one person; leave all others out"
        )
    reference, parent = next(iter(nested.items()), (None, None))
    whose = _whose_rows(table, person, reference, members)
    is_referred_to = any(name in other.references.values() for other in tables.values())
    key = table.key if is_referred_to and not lists_people[name] else None
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
    policy = make_policy(columns, table.eligible, whose)
    return Part(policy, whose, reference, parent, key, table.key, next(iter(members.values()), None))


def _whose_rows(
    table: LinkedTable, person: Person, reference: str | None, members: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the columns that say whose row it is; none if that is found through the row that it refers to."""
    if members:
        (column,) = members
        if table.person not in (None, (column,)):
            raise PolicyError(f"references.{column}: it says whose row it is, and person says otherwise; drop one")
        return (column,)
    if table.person is not None:
        return tuple(table.person)
    if reference is not None and not all(column in table.columns for column in person.columns):
        return ()
    return person.columns


def _lists_people(table: LinkedTable, person: Person) -> bool:
    """Return whether the key of a table is what says whose row it is: it has one row for each person."""
    return table.key is not None and (table.key,) == (table.person or person.columns)
