"""Settings: what the steward has decided about a table, as the form of a policy."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import indistinct as ix
from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy
from indistinct.policy import Column, Person, Role
from indistinct.policy.files.policy_file import load_policy, policy_of
from indistinct.policy.released_names import KEPT
from indistinct.registry import ALGORITHMS, DEFAULT_ALGORITHM
from indistinct.report import LabelCounts

if TYPE_CHECKING:
    from indistinct.policy import Policy

Spec = Mapping[str, Any]
"""A hierarchy as a policy file writes it."""
ASKED = frozenset(
    ("version", "columns", "privacy", "max_suppression", "algorithm", "options", "person", "one_row_per_person")
)
"""What pages ask of a policy; whatever else a policy file says is kept as it is."""
ASKED_OF_ALL = frozenset(("role", "rename"))
ASKED_OF_QUASI = ASKED_OF_ALL | {"hierarchy", "weight"}
"""What pages ask of a quasi column; of others they ask the role and the name in the release."""


@dataclass(slots=True)
class Choice:
    """What was decided about a column, and what its profile suggested."""

    name: str
    role: Role
    hierarchy: Spec | None
    weight: float
    reason: str
    distinct: int
    missing: int
    said: dict[str, Any] = field(default_factory=dict)
    """What a policy file said of the column in this role that the pages do not ask for."""
    rename: str = ""
    """What it is called in the release, if not as in the table."""

    def entry(self) -> dict[str, Any]:
        """Return the column as a policy file says it."""
        kept = (
            {key: value for key, value in self.said.items() if key != "role"}
            if self.said.get("role") == self.role
            else {}
        )
        if self.is_released and self.rename:
            kept["rename"] = self.rename
        if self.role != "quasi":
            return {"role": self.role, **kept}
        return {"role": "quasi", "hierarchy": dict(self.hierarchy or {"keep": True}), "weight": self.weight, **kept}

    @property
    def is_released(self) -> bool:
        """The column leaves the house, as it is or generalized."""
        return self.role in KEPT

    def read(self, hierarchy: Hierarchy, values: LabelCounts) -> LabelCounts:
        """Return the rows of each value where codes, and what the hierarchy cannot read, are what was declared of them.

        >>> from indistinct.hierarchy import keep
        >>> age = Choice("age", "quasi", None, 1.0, "", 2, 0, {"role": "quasi", "missing": ["999"]})
        >>> age.read(keep(), {"31": 4, "999": 2, None: 1})
        {'31': 4, None: 3}
        """
        entry = self.entry()
        said = {key: entry[key] for key in ("missing", "unreadable") if key in entry}
        column = Column("quasi", hierarchy, **said)
        left = column.read(list(values))
        found = {value: values[value] for value in left if value is not None}
        missing = values.get(None, 0) + sum(values.get(code, 0) for code in column.missing_codes)
        if column.unreadable == "missing":
            missing = sum(values.values()) - sum(found.values())
        return found | ({None: missing} if None in left else {})


@dataclass(slots=True, kw_only=True)
class Settings:
    """The columns, the models, what may be given up, and the algorithm; they may be wrong, and say so."""

    columns: dict[str, Choice] = field(default_factory=dict)
    models: list[dict[str, Any]] = field(default_factory=lambda: [{"model": "k-anonymity", "k": 5}])
    max_suppression: int | float | None = 0.02
    algorithm: str = DEFAULT_ALGORITHM
    options: dict[str, Any] = field(default_factory=dict)
    person: list[str] = field(default_factory=list)
    """The columns that say whose row it is; none if every row is of somebody else."""
    one_row_per_person: bool = False
    """Every row is of somebody else, also where identifiers are equal."""
    links_rows: bool = False
    """Rows of a person are released under her pseudonym, so that they can be followed."""
    person_said: Any = None
    """What a policy file said of whose row it is, also what the pages do not ask for."""
    more: dict[str, Any] = field(default_factory=dict)
    """What else a policy file said: several quasi-identifiers, eligible rows, how suppressed rows are released."""

    def set_role(self, name: str, role: Role) -> None:
        """Decide what a column is; a quasi column without a hierarchy gets the one that only suppresses."""
        choice = self.columns[name]
        choice.role = role
        if role == "quasi" and choice.hierarchy is None:
            choice.hierarchy = {"suppress": True}
        if role != "identifier":
            self.set_person(name, False)

    def set_person(self, name: str, is_person: bool) -> None:
        """Decide whether a column says whose row it is; people are counted as soon as one does."""
        chosen = {*self.person, name} if is_person else {*self.person} - {name}
        self.person = [column for column in self.columns if column in chosen]
        if self.person:
            self.one_row_per_person = False

    def say_one_row_per_person(self, is_so: bool) -> None:
        """Decide that every row is of somebody else, also where identifiers are equal."""
        self.one_row_per_person = is_so
        if is_so:
            self.person = []

    @property
    def whose_rows(self) -> dict[str, Any]:
        """What was decided about whose row it is, as a policy file says it."""
        if not self.person:
            return {"one_row_per_person": True} if self.one_row_per_person else {}
        said = None if self.person_said is None else Person.of(self.person_said)
        if said is not None and set(said.columns) == set(self.person) and said.is_linked is self.links_rows:
            return {"person": self.person_said}
        return {"person": Person(tuple(self.person), "pseudonym" if self.links_rows else "nothing").describe()}

    @property
    def content(self) -> dict[str, Any]:
        """What was decided, as a policy file says it."""
        columns = {name: choice.entry() for name, choice in self.columns.items()}
        said = {"version": 1, "columns": columns, "privacy": self.models, "algorithm": self.algorithm}
        more = self.whose_rows | self.more
        return said | {"options": self.options, "max_suppression": self.max_suppression, **more}

    def policy(self) -> Policy:
        """Return the policy; raise one error with every mistake in it."""
        if not self.columns:
            raise PolicyError("open a table first")
        return policy_of(self.content)

    def mistakes(self) -> tuple[str, ...]:
        """Return everything that is wrong with the policy."""
        try:
            self.policy()
        except PolicyError as error:
            return tuple(mistake.removeprefix("policy: ") for mistake in error.mistakes)
        return ()

    def policy_text(self) -> str:
        """Return the policy as a policy file, with the reasons beside the columns."""
        return ix.policy_toml(self.policy(), {name: choice.reason for name, choice in self.columns.items()})

    def take_policy(self, text: str) -> None:
        """Take over a policy file that fits the open table, also what the pages do not ask for."""
        policy = load_policy(ix.parse_policy(text), to="studio")
        policy.check(list(self.columns))
        written = tomllib.loads(ix.policy_toml(policy))  # in full: profiles applied, every label of hierarchies in it
        for name, column in policy.columns.items():
            choice, entry = self.columns[name], written["columns"].get(name, {})  # person columns may go unnamed
            choice.role, choice.weight = column.role, column.weight
            choice.rename = column.rename or ""
            asked = ASKED_OF_QUASI if column.role == "quasi" else ASKED_OF_ALL
            choice.said = {"role": column.role} | {key: entry[key] for key in entry if key not in asked}
            if column.role == "quasi":
                choice.hierarchy = column.hierarchy.spec()
        self.more = {key: value for key, value in written.items() if key not in ASKED}
        self.person, self.person_said = list(policy.person_columns), written.get("person")
        self.one_row_per_person, self.links_rows = policy.one_row_per_person, policy.links_rows
        self.models = [model.describe() for model in policy.privacy]
        self.max_suppression = policy.max_suppression
        self.algorithm, self.options = policy.algorithm, dict(policy.options)

    def choose_algorithm(self, name: str) -> None:
        """Decide by which algorithm the release is searched."""
        if name not in ALGORITHMS:
            raise PolicyError(f"algorithm: there is no {name!r}")
        if name != self.algorithm:
            self.algorithm, self.options = name, {}
