"""Settings: what the steward has decided about one table, or several that belong together, as the form of a policy."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import indistinct as ix
from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy
from indistinct.policy import Column, Person, Role
from indistinct.policy.files.policy_file import ONE_TABLE_ONLY, policy_of
from indistinct.policy.linked_tables import TABLE
from indistinct.policy.released_names import KEPT
from indistinct.registry import ALGORITHMS, DEFAULT_ALGORITHM
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, Form
from indistinct.report import LabelCounts

if TYPE_CHECKING:
    from indistinct.policy import Policy

Spec = Mapping[str, Any]
"""A hierarchy as a policy file writes it."""
ASKED = frozenset(
    (
        "version",
        "columns",
        "tables",
        "privacy",
        "max_suppression",
        "algorithm",
        "options",
        "person",
        "one_row_per_person",
    )
)
"""What pages ask of a policy; whatever else a policy file says is kept as it is."""
Said = dict[str, Any]
"""What was said beside columns, models and algorithm, as a policy file has it."""
Way = Literal["", "value", "controls", "prevalence"]
"""How the probability of an attempt is said; nothing if it is not."""
DOCUMENTED = ("about", "context", "recipients")
"""The parts of a policy that say in what surroundings a release is used; they change no cell of it."""
USUAL: Mapping[Way, Mapping[str, Any]] = {
    "": {},
    "value": {"value": ""},
    "controls": {"controls": "medium", "motives": "medium"},
    "prevalence": {"prevalence": ""},
}
ASKED_OF_ALL = frozenset(("role", "rename"))
ASKED_OF_QUASI = ASKED_OF_ALL | {"hierarchy", "weight"}
"""What pages ask of a quasi column; of others they ask the role and the name in the release."""


@dataclass(slots=True)
class Choice:
    """What was decided about a column, and what its profile suggested."""

    name: str
    """What the policy calls it: ``table.column`` if there are several tables."""
    role: Role
    hierarchy: Spec | None = None
    weight: float = 1.0
    reason: str = ""
    distinct: int = 0
    missing: int = 0
    table: str = TABLE
    own: str = ""
    """What it is called in its table."""
    is_tie: bool = False
    """It says whose row it is, or which row of another table it belongs to: it stays an identifier."""
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
        >>> age = Choice("age", "quasi", said={"role": "quasi", "missing": ["999"]})
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
    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What ties each of several tables to others, and its filters, as a policy file says it; nothing for one table."""
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
    reasons: tuple[str, ...] = ()
    """Why the policy that was suggested is so; nothing once a policy file was taken over."""
    more: dict[str, Any] = field(default_factory=dict)
    """What else a policy file said: several quasi-identifiers, eligible rows, how suppressed rows are released."""

    def set_role(self, name: str, role: Role) -> None:
        """Decide what a column is; a quasi column without a hierarchy gets the one that only suppresses."""
        choice = self.columns[name]
        if choice.is_tie:
            return
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
    def form(self) -> Form:
        """Which tables there are."""
        return LINKED_TABLES if self.links else ONE_TABLE

    def refusal(self, to: str) -> str:
        """Say why something takes one table only; nothing where it can be done."""
        return f"It takes one table, and these belong together: {ONE_TABLE_ONLY[to]}." if self.links else ""

    @property
    def whose_rows(self) -> dict[str, Any]:
        """What was decided about whose row it is, as a policy file says it."""
        if self.links:
            return {"person": self.person_said}
        if not self.person:
            return {"one_row_per_person": True} if self.one_row_per_person else {}
        said = None if self.person_said is None else Person.of(self.person_said)
        if said is not None and set(said.columns) == set(self.person) and said.is_linked is self.links_rows:
            return {"person": self.person_said}
        return {"person": Person(tuple(self.person), "pseudonym" if self.links_rows else "nothing").describe()}

    @property
    def content(self) -> dict[str, Any]:
        """What was decided, as a policy file says it."""
        columns: dict[str, dict[str, Any]] = {name: {} for name in self.links or (TABLE,)}
        for choice in self.columns.values():
            if choice.said or not choice.is_tie:
                columns[choice.table][choice.own] = choice.entry()
        tables = {name: {"columns": columns[name], **said} for name, said in self.links.items()}
        said = {"version": 1, **({"tables": tables} if tables else {"columns": columns[TABLE]})}
        said |= {"privacy": self.models, "algorithm": self.algorithm, **self.whose_rows, **self.more}
        return said | {"options": self.options, "max_suppression": self.max_suppression}

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
        """Return the policy as a policy file, with what was said of it above, and the reasons beside the columns."""
        reasons = {choice.own: choice.reason for choice in reversed(self.columns.values())}
        said = "".join(f"# {' '.join(reason.split())}\n" for reason in self.reasons)
        return said + ix.policy_toml(self.policy(), reasons)

    def take_policy(self, text: str) -> None:
        """Take over a policy file that fits the open tables, also what the pages do not ask for."""
        policy = ix.parse_policy(text)
        found: dict[str, list[str]] = {}
        for choice in self.columns.values():
            found.setdefault(choice.table, []).append(choice.own)
        policy.check_tables(found)
        written = tomllib.loads(ix.policy_toml(policy))  # in full: profiles applied, every label of hierarchies in it
        for choice in self.columns.values():
            column = policy.columns[choice.name]
            said = written["tables"][choice.table] if policy.tables else written
            entry = said["columns"].get(choice.own)  # person columns, keys and references may go unnamed
            choice.role, choice.weight, choice.rename = column.role, column.weight, column.rename or ""
            choice.is_tie = bool(policy.tables) and choice.own in policy.parts[choice.table].identity
            asked = ASKED_OF_QUASI if column.role == "quasi" else ASKED_OF_ALL
            kept = {key: value for key, value in (entry or {}).items() if key not in asked}
            choice.said = {} if entry is None and choice.is_tie else {"role": column.role} | kept
            if column.role == "quasi":
                choice.hierarchy = column.hierarchy.spec()
        self.links = {
            name: {key: value for key, value in said.items() if key != "columns"}
            for name, said in written.get("tables", {}).items()
        }
        self.more = {key: value for key, value in written.items() if key not in ASKED}
        self.reasons = ()
        self.person, self.person_said = [] if policy.tables else list(policy.person_columns), written.get("person")
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


def part(said: Said, *path: str) -> Said:
    """Return a part of what was said, by its keys; an empty one of what was not."""
    for name in path:
        found = said.get(name)
        said = found if isinstance(found, dict) else {}
    return said


def say(said: Said, path: tuple[str, ...], value: Any) -> None:
    """Say something at a place, or nothing if it is empty; parts in which nothing is left go as well.

    >>> said = {}
    >>> say(said, ("context", "sharing"), "agreement")
    >>> said
    {'context': {'sharing': 'agreement'}}
    >>> say(said, ("context", "sharing"), "")
    >>> said
    {}
    """
    first, *rest = path
    if not rest:
        if value in ("", None, {}):
            said.pop(first, None)
        else:
            said[first] = value
        return
    below = dict(part(said, first))
    say(below, tuple(rest), value)
    say(said, (first,), below)


def say_recipient(said: Said, name: str, terms: Mapping[str, Any] | None) -> None:
    """Say who gets the release, also if nothing is said of them; None takes them out."""
    recipients = {**part(said, "recipients")}
    recipients.pop(name, None)
    say(said, ("recipients",), recipients if terms is None else {**recipients, name: dict(terms)})


def way_of(threat: Mapping[str, Any]) -> Way:
    """Return how a probability was said.

    >>> way_of({"controls": "low", "motives": "low"}), way_of({"value": 0.1}), way_of({})
    ('controls', 'value', '')
    """
    ways: tuple[Way, ...] = ("value", "controls", "prevalence")
    return next((way for way in ways if way in threat), "")


def choose_way(said: Said, threat: str, way: Way) -> None:
    """Say a probability in another way; its reason stays."""
    before = part(said, "context", threat)
    why = {"why": before["why"]} if before.get("why") else {}
    say(said, ("context", threat), {**USUAL[way], **why} if way else {})


def choose_sharing(said: Said, sharing: str) -> None:
    """Say how the release is shared; of a public one an attempt is certain, so its likelihoods go."""
    say(said, ("context", "sharing"), sharing)
    for threat in ("deliberate", "inadvertent", "breach") if sharing == "public" else ():
        say(said, ("context", threat), None)
