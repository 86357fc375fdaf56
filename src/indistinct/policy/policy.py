"""Policy: a frozen description of what a release must satisfy, and nothing about how it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from indistinct.errors import PolicyError
from indistinct.policy.about import about_mistakes
from indistinct.policy.cell_rules import DateShift, Perturbation
from indistinct.policy.column import STABLE, Column, Role, identifier
from indistinct.policy.condition import Condition
from indistinct.policy.context import Context, RecipientTerms, context_mistakes
from indistinct.policy.knows import Knows, knows_mistakes, model_mistakes_of
from indistinct.policy.linked_tables import (
    PERSON,
    TABLE,
    JointColumns,
    LinkedTable,
    Part,
    linked_person,
    model_mistakes,
    person_mistakes,
    resolve_parts,
    table_mistakes,
)
from indistinct.policy.person import PSEUDONYM, Person
from indistinct.policy.released_names import name_mistakes
from indistinct.registry import DEFAULT_ALGORITHM
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, Form

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

ALL_QUASI = "quasi-identifier"
"""The name of the quasi-identifier that is made of all quasi columns, when a policy names none."""
TARGETED = ("lattice", "regroup", "mondrian")
"""The algorithms that may have a target."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a release must satisfy: the role of each column, the privacy models, and the rows that may be suppressed.

    ``max_suppression`` is a share of the eligible rows if a float below 1, a number of rows if an int; None leaves it
    to the algorithm (Datafly suppresses about k rows, all others none). ``quasi_identifiers`` names several sets of
    quasi columns (patient and doctor, say) that are each protected; by default all quasi columns form one.
    ``person`` names the column, or the columns, that say whose row it is: models then count people instead of rows.
    ``one_row_per_person`` says that every row is of somebody else, also where the identifiers of rows are equal.
    ``about`` says for reports and manifests what the release is about; nothing of it is demanded of the release.
    ``max_unique`` is the share of rows, or of people, that may be unique by one column which leaves unprotected; an
    attack finds more. Nothing of it is demanded of the release either.
    ``tables`` describes several tables that belong together, each by its name, in place of ``columns``: k people then
    share all that the tables together tell of a person. A column is ``table.column`` there.
    ``context`` says in what surroundings the release is used and which risk is accepted; only where it is enforced is
    anything demanded. ``recipients`` are those who get releases on terms of their own, see ``for_recipient``.
    ``knows`` says how many of a person's events in them others know, beside her row; they need share no more.
    """

    is_whole: ClassVar[bool] = True
    """It stands for itself; that of one of several tables has no models of its own, and may have no quasi column."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    privacy: Sequence[PrivacyModel] = ()
    max_suppression: int | float | None = None
    quasi_identifiers: Mapping[str, Sequence[str]] | None = None
    eligible: Sequence[Condition] = ()
    suppressed_rows: Literal["remove", "blank"] = "remove"
    algorithm: str = DEFAULT_ALGORITHM
    options: Mapping[str, Any] = field(default_factory=dict)
    person: Person | str | Sequence[str] | None = None
    one_row_per_person: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
    max_unique: float = 0.05
    tables: Mapping[str, LinkedTable] = field(default_factory=dict)
    context: Context | None = None
    recipients: Mapping[str, RecipientTerms] = field(default_factory=dict)
    knows: Knows | None = None
    _parts: Mapping[str, Part] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.knows is not None:
            object.__setattr__(self, "knows", Knows.of(self.knows))
        if self.tables:
            self._take_tables()
        else:
            if self.person is not None:
                object.__setattr__(self, "person", Person.of(self.person))
            if mistakes := self._mistakes():
                raise PolicyError(mistakes)
            own = {name: identifier() for name in self.person_columns if name not in self.columns}
            object.__setattr__(self, "columns", MappingProxyType({**own, **self.columns}))
            object.__setattr__(self, "_parts", {})
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))
        object.__setattr__(self, "privacy", tuple(self.privacy))
        object.__setattr__(self, "eligible", tuple(self.eligible))
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "about", MappingProxyType(dict(self.about)))
        object.__setattr__(self, "recipients", MappingProxyType(dict(self.recipients)))
        named = self.quasi_identifiers or {ALL_QUASI: self.quasi}
        frozen = {name: tuple(columns) for name, columns in named.items()}
        object.__setattr__(self, "quasi_identifiers", MappingProxyType(frozen))

    def _take_tables(self) -> None:
        """Take the description of several tables, or raise one error with everything that is wrong with it."""
        mistakes = [
            f"{name}: is said of each table, under tables"
            for name, given in (("columns", self.columns), ("eligible", self.eligible))
            if given and not isinstance(given, JointColumns)
        ]
        if set(self.quasi_identifiers or ()) - {ALL_QUASI}:
            mistakes.append("quasi_identifiers: several tables have one, all their quasi columns; leave it out")
        if self.suppressed_rows != "remove":
            mistakes.append("suppressed_rows: people are suppressed with all their rows; say 'remove', or leave it out")
        if self.one_row_per_person:
            mistakes.append("one_row_per_person: people have rows in several tables; leave it out")
        if self.person is None:
            mistakes.append("person: is required; say which column says whose row it is in all tables")
        if not isinstance(self.tables, Mapping):
            mistakes.append("tables: must give each table a name and LinkedTable(…)")
        if self.person is not None:
            object.__setattr__(self, "person", linked_person(self.person))
            assert isinstance(self.person, Person)
            mistakes += person_mistakes(self.person)
        mistakes += [*self._privacy_mistakes(), *model_mistakes(self.privacy), *about_mistakes(self.about)]
        mistakes += unique_mistakes(self.max_unique)
        mistakes += context_mistakes(self.context, self.recipients)
        mistakes += suppression_mistakes(self.max_suppression)
        mistakes += table_mistakes(self.tables) if isinstance(self.tables, Mapping) else []
        if not mistakes:
            assert isinstance(self.person, Person)
            parts, mistakes = resolve_parts(self.tables, self.person, _PartPolicy.of)
            object.__setattr__(self, "_parts", MappingProxyType(parts))
            object.__setattr__(self, "columns", JointColumns(parts))
            object.__setattr__(self, "quasi_identifiers", None)
            if self.knows is not None:
                object.__setattr__(self, "knows", self.knows.with_time(parts))
            mistakes = mistakes or [*self._sensitive_mistakes(), *self._value_mistakes(), *self._knows_mistakes()]
        if mistakes:
            raise PolicyError(mistakes)

    def _privacy_mistakes(self) -> list[str]:
        """List what is no privacy model; there must be one."""
        if not self.privacy and self.is_whole:
            return ["privacy: no model; add for example KAnonymity(5)"]
        return [
            f"privacy: {model!r} is not a privacy model, such as KAnonymity(5)"
            for model in self.privacy
            if not hasattr(model, "satisfied")
        ]

    def _mistakes(self) -> list[str]:
        """List everything that is wrong with the policy of one table in itself."""
        mistakes = []
        for name, column in self.columns.items():
            if not isinstance(column, Column):
                mistakes.append(f"columns.{name}: use identifier(), quasi(), sensitive(), other() or drop()")
        quasi_columns = [n for n, c in self.columns.items() if isinstance(c, Column) and c.role == "quasi"]
        if not quasi_columns and self.is_whole:
            mistakes.append("columns: no quasi column; say which columns others could link by, with quasi(…)")
        mistakes += self._privacy_mistakes()
        mistakes += self._sensitive_mistakes()
        mistakes += suppression_mistakes(self.max_suppression)
        if self.suppressed_rows not in ("remove", "blank"):
            mistakes.append(f"suppressed_rows: must be 'remove' or 'blank', got {self.suppressed_rows!r}")
        for condition in self.eligible:
            if not isinstance(condition, Condition):
                mistakes.append(f"eligible: use where(column, op, value), not {type(condition).__name__}")
            elif condition.column not in (*self.columns, *self.person_columns):
                mistakes.append(f"eligible: column {condition.column!r} is not declared under columns")
            elif condition.op not in ("present", "missing") and getattr(
                self.columns.get(condition.column), "recode", None
            ):
                mistakes.append(
                    f"eligible: column {condition.column!r} is recoded, and conditions would compare with its labels; "
                    "only present and missing can be asked of it"
                )
        mistakes += self._quasi_identifier_mistakes(quasi_columns)
        if isinstance(self.person, Person) and not any("use identifier()" in mistake for mistake in mistakes):
            mistakes += self.person.mistakes(self.columns)
        if self.links_rows and any(getattr(model, "asks_population", False) for model in self.privacy):
            mistakes.append("person: k-map counts people for one row each, not for all of a pseudonym together")
        if self.links_rows and any(getattr(model, "known", None) is not None for model in self.privacy):
            mistakes.append(
                "person: with pseudonyms the rows of a person are followed, and a few columns of several rows are many "
                "cells; drop known, so that k people share all of hers, or release no pseudonym"
            )
        if self.links_rows and self.suppressed_rows == "blank":
            mistakes.append("suppressed_rows: 'blank' rows would still be linked by their pseudonyms; use 'remove'")
        if all(isinstance(column, Column) for column in self.columns.values()):  # else it is said already
            mistakes += [*self._set_mistakes(), *self._shift_mistakes(), *self._value_mistakes()]
        mistakes += self._knows_mistakes()
        mistakes += [*about_mistakes(self.about), *unique_mistakes(self.max_unique)]
        mistakes += context_mistakes(self.context, self.recipients)
        mistakes += name_mistakes(self.columns, self.person_columns)
        if self.person is not None and self.one_row_per_person:
            mistakes.append(
                "one_row_per_person: nobody has several rows, it says, and person says whose they are; drop one"
            )
        return mistakes

    def _knows_mistakes(self) -> list[str]:
        """List what cannot be said where others know some events."""
        if self.knows is None:
            return []
        parts = self._parts if self.tables else {}
        asked = {model: sensitive_columns(model, self) for model in self.privacy}
        return [*knows_mistakes(self.knows, parts), *model_mistakes_of(self.knows, asked, parts)]

    def _set_mistakes(self) -> list[str]:
        """List what is wrong with cells that hold sets."""
        sets = [name for name, column in self.columns.items() if column.set is not None]
        if not sets or not self.is_whole:
            return []
        return [
            f"columns.{sets[0]}.set: its members are events of a person, which stand in a table of their own; describe "
            "a table of people and one of events under tables, and give the same file for both"
        ]

    def _shift_mistakes(self) -> list[str]:
        """List what is wrong with dates that move."""
        moved = list(self.shifted)
        mistakes = []
        if moved and self.is_whole and not (self.links_rows and not self.suppresses_single_rows):
            mistakes.append(
                f"columns.{moved[0]}.shift: all dates of a person move together, so say whose rows they are: "
                "person = { column = …, release = 'pseudonym' }, which suppresses people and not single rows"
            )
        if len({shift.days for shift in self.shifted.values()}) > 1:
            mistakes.append("columns: all dates of a person move together, so shift has the same days everywhere")
        return mistakes

    def _value_mistakes(self) -> list[str]:
        """List the columns whose values a model asks about, though others are released: moved or perturbed ones."""
        asked = {name for model in self.privacy for name in sensitive_columns(model, self)}
        changed = {name: ["shift"] for name in self.shifted}
        changed |= {name: list(self.columns[name].describe_perturbation()) for name in self.perturbed}
        return [
            f"columns.{name}.{key}: a model asks about its values, which would be others; drop one of the two"
            for name, keys in changed.items()
            if name in asked
            for key in keys
        ]

    def _sensitive_mistakes(self) -> list[str]:
        """List the models that ask about sensitive columns which are not there."""
        declared = [n for n, c in self.columns.items() if isinstance(c, Column) and c.role == "sensitive"]
        mistakes = []
        for model in self.privacy:
            column = getattr(model, "column", None)
            if getattr(model, "asks_sensitive", False) and not declared:
                mistakes.append(f"privacy: {model.name} needs a sensitive column; declare one with sensitive()")
            elif column is not None and column not in declared:
                mistakes.append(f"privacy: {model.name} asks about {column!r}, which is not a sensitive column")
        if self.target_column is not None and self.target_column not in declared:
            mistakes.append(f"options.target: must be a sensitive column, got {self.target_column!r}")
        return mistakes

    def _quasi_identifier_mistakes(self, quasi_columns: list[str]) -> list[str]:
        """List what is wrong with the named quasi-identifiers and the models that refer to them."""
        if not quasi_columns:
            return []  # said already
        named = self.quasi_identifiers or {ALL_QUASI: quasi_columns}
        if not isinstance(named, Mapping):
            return ["quasi_identifiers: must give each name a list of quasi columns"]
        mistakes = [
            f"quasi_identifiers.{name}: must be a list of quasi columns"
            for name, columns in named.items()
            if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns
        ]
        if mistakes:
            return mistakes
        for name, columns in named.items():
            for column in columns:
                if column not in quasi_columns:
                    mistakes.append(f"quasi_identifiers.{name}: {column!r} is not a quasi column")
        covered = {column for columns in named.values() for column in columns if isinstance(column, str)}
        for column in quasi_columns:
            if column not in covered:
                mistakes.append(f"quasi_identifiers: quasi column {column!r} is in none of them")
        for model in self.privacy:
            on = getattr(model, "on", None)
            if on is not None and on not in named:
                mistakes.append(f"privacy: {model!r} refers to quasi-identifier {on!r}, which does not exist")
        return mistakes

    @property
    def form(self) -> Form:
        """Which tables it describes; an algorithm may make two of one table."""
        return LINKED_TABLES if self.tables else ONE_TABLE

    @property
    def parts(self) -> Mapping[str, Part]:
        """Each table with a policy of its own and what ties it to others; of one table it is this policy itself."""
        return self._parts or {TABLE: Part(self, self.person_columns)}

    def with_columns(self, columns: Mapping[str, Column]) -> Policy:
        """Return the same policy with other columns; those of several tables are named ``table.column``."""
        if not self.tables:
            return replace(self, columns=columns, quasi_identifiers=None)
        tables = {
            name: replace(table, columns={own: columns.get(f"{name}.{own}", was) for own, was in table.columns.items()})
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

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

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi columns, in the policy's order: the components of a node."""
        return self.with_role("quasi")

    @property
    def shifted(self) -> dict[str, DateShift]:
        """The columns whose dates move by a number of days for each person."""
        return {name: column.shift for name, column in self.columns.items() if column.shift is not None}

    @property
    def perturbed(self) -> dict[str, Perturbation]:
        """The columns whose numbers leave as means of clusters or with noise added."""
        found = {name: column.perturbation for name, column in self.columns.items()}
        return {name: how for name, how in found.items() if how is not None}

    @property
    def renamed(self) -> dict[str, str]:
        """The columns that have another name in the release, with that name."""
        return {name: column.rename for name, column in self.columns.items() if column.rename is not None}

    def renamed_in(self, table: str) -> Mapping[str, str]:
        """Return the new names of columns of one of the tables; both of two have those of the one that they were."""
        if not self.tables:
            return self.renamed
        return self.parts[table].policy.renamed if table in self.parts else {}

    def describe_perturbations(self) -> dict[str, Any]:
        """Return how numbers are perturbed, by column, as a manifest states it."""
        return {name: self.columns[name].describe_perturbation() for name in self.perturbed}

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The released columns whose cells are those of the original, or labels of them."""
        changed = {*self.shifted, *self.perturbed}
        return tuple(name for name in self.with_role("quasi", "sensitive", "other") if name not in changed)

    @property
    def is_drawn(self) -> bool:
        """A model promises how rows are drawn, so that some are left out that need not be."""
        return any(getattr(model, "is_drawn", False) for model in self.privacy)

    @property
    def person_columns(self) -> tuple[str, ...]:
        """The columns that say whose row it is; none where every row is of somebody else.

        Rows of several tables have one column for it where they are counted together, whatever their own are called.
        """
        if self.tables:
            return (PERSON,)
        return self.person.columns if isinstance(self.person, Person) else ()

    @property
    def links_rows(self) -> bool:
        """The rows of a person are released under her pseudonym."""
        return isinstance(self.person, Person) and self.person.is_linked

    @property
    def suppresses_single_rows(self) -> bool:
        """Rows are linked, and somebody whose profile too few share loses as many as it takes."""
        return isinstance(self.person, Person) and self.person.suppress == "rows"

    @property
    def released_columns(self) -> tuple[str, ...]:
        """What a release of one table has: the columns that are not identifiers, and the pseudonym of linked rows."""
        return (*self.with_role("quasi", "sensitive", "other"), *self.pseudonymous, *self._person_pseudonym)

    @property
    def pseudonymous(self) -> tuple[str, ...]:
        """The identifiers in whose place pseudonyms are released, but for those that say whose row it is."""
        return tuple(n for n, c in self.columns.items() if c.pseudonym and n not in self.person_columns)

    @property
    def pseudonym_columns(self) -> tuple[str, ...]:
        """The columns of a release that hold pseudonyms."""
        return (*self.pseudonymous, *self._person_pseudonym)

    @property
    def stable_pseudonyms(self) -> tuple[str, ...]:
        """The columns whose pseudonyms are the same in all of a source's releases that a ledger has."""
        own = self._person_pseudonym if isinstance(self.person, Person) and self.person.stable else ()
        return (*(name for name in self.pseudonymous if self.columns[name].pseudonym == STABLE), *own)

    @property
    def _person_pseudonym(self) -> tuple[str, ...]:
        return (PSEUDONYM,) if self.links_rows else ()

    def with_role(self, *roles: Role) -> tuple[str, ...]:
        """The columns that have one of these roles, in the policy's order."""
        return tuple(name for name, column in self.columns.items() if column.role in roles)

    @property
    def asked_sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that some model asks about, or that are the search's target, in the policy's order."""
        asked = {name for model in self.privacy for name in sensitive_columns(model, self)} | {self.target_column}
        return tuple(name for name in self.with_role("sensitive") if name in asked)

    @property
    def target_column(self) -> str | None:
        """The column that the algorithm's options name as what others will want to predict."""
        given = self.options.get("target") if self.algorithm in TARGETED else None
        found = given.get("column") if isinstance(given, Mapping) else given
        return found if isinstance(found, str) else None

    def counted_columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that are counted before a search.

        Those are the quasi columns, the sensitive ones that models ask about, and those that say whose row it is.
        """
        if not self.tables:
            return (*self.quasi, *self.asked_sensitive, *self.person_columns)
        part = self.parts[table]
        asked = [name for name in part.policy.with_role("sensitive") if f"{table}.{name}" in self.asked_sensitive]
        return (*part.policy.quasi, *asked, *part.identity)

    def requirements(self) -> list[tuple[str, tuple[str, ...], PrivacyModel]]:
        """Every (quasi-identifier, its columns, model) that a release must satisfy."""
        assert self.quasi_identifiers is not None  # set when the policy was made
        return [
            (name, tuple(columns), model)
            for name, columns in self.quasi_identifiers.items()
            for model in self.privacy
            if getattr(model, "on", None) in (None, name)
        ]

    def judged_sets(self) -> list[tuple[tuple[str, ...], PrivacyModel]]:
        """Every (set of columns, model) whose groups must satisfy the model.

        That is one set for each requirement, unless a model says how few columns an adversary knows.
        """
        return [(columns, model) for _, own, model in self.requirements() for columns in model.column_sets(own)]

    @property
    def models_of_groups(self) -> tuple[PrivacyModel, ...]:
        """The models that protect people of whom every column of a quasi-identifier is known."""
        return tuple(model for model in self.privacy if model.known is None or model.known >= len(self.quasi))

    def allowed_suppression(self, rows: int) -> int:
        """The number of rows that may be suppressed, if ``rows`` are eligible."""
        return suppression_in_rows(self.max_suppression, rows)

    def check(self, columns: Sequence[str]) -> None:
        """Raise one error with every way in which the policy does not fit a table of these columns."""
        made_of = {name: column.set.columns or () for name, column in self.columns.items() if column.set is not None}
        mistakes = [
            f"columns.{name}: the table has no such column{_closest(name, columns)}"
            for name in self.columns
            if name not in columns and not made_of.get(name)
        ]
        mistakes += [
            f"columns.{name}.set.columns: the table has no column {flag!r}{_closest(flag, columns)}"
            for name, flags in made_of.items()
            for flag in flags
            if name not in columns and flag not in columns
        ]
        mistakes += [
            f"column {name!r} of the table is not declared; give it a role "
            f"(identifier, quasi, sensitive, other or drop)"
            for name in columns
            if name not in self.columns
        ]
        if mistakes:
            raise PolicyError(mistakes)

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
                    mistakes += [self.form.place(name) + mistake for mistake in error.mistakes]
        if mistakes:
            raise PolicyError(mistakes)


@dataclass(frozen=True, slots=True)
class _PartPolicy(Policy):
    """The policy of one of several tables: its columns; models are asked of all tables together."""

    is_whole: ClassVar[bool] = False

    @classmethod
    def of(cls, columns: Mapping[str, Column], eligible: Sequence[Condition], person: tuple[str, ...]) -> Policy:
        """Describe a table by its columns, its filters and the columns that say whose row it is."""
        return cls(columns=columns, eligible=eligible, person=Person(person, "pseudonym") if person else None)


def sensitive_columns(model: PrivacyModel, policy: Policy) -> tuple[str, ...]:
    """Return the sensitive columns that a model asks about: the one it names, or all if it names none."""
    if not getattr(model, "asks_sensitive", False):
        return ()
    column = getattr(model, "column", None)
    return policy.with_role("sensitive") if column is None else (column,)


def _closest(name: str, columns: Sequence[str]) -> str:
    """Suggest the column that was probably meant."""
    import difflib

    close = difflib.get_close_matches(name, columns, 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def unique_mistakes(value: object) -> list[str]:
    """Return what is wrong with a share of rows that may be unique.

    >>> unique_mistakes(0.05), len(unique_mistakes(5))
    ([], 1)
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return []
    return [f"max_unique: must be a share from 0.0 to 1.0 (0.05 is 5 %), got {value!r}"]


def suppression_mistakes(value: object) -> list[str]:
    """Return what is wrong with a suppression limit."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return []
    if isinstance(value, float) and 0 <= value <= 1:
        return []
    return [
        f"max_suppression: must be a share of the rows from 0.0 to 1.0 (0.02 is 2 %) "
        f"or a whole number of rows, got {value!r}"
    ]


def suppression_in_rows(value: int | float | None, rows: int) -> int:
    """Turn a suppression limit into rows.

    >>> suppression_in_rows(0.02, 30_162), suppression_in_rows(3, 11), suppression_in_rows(None, 11)
    (603, 3, 0)
    """
    if value is None:
        return 0
    if isinstance(value, float):
        return int(value * rows + 1e-9)  # 0.29 * 100 is 28.999999999999996
    return min(value, rows)
