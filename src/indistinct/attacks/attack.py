"""Attack: one thing that somebody could try on a release. An attack is one class, and one line of the registry.

The class says what it is called, what a finding means, what somebody must hold, and which forms of a release it takes;
its fields are its options. Commands, ``attack all``, reports, the studio and the docs are made from that.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from indistinct.attacks.attack_report import AttackReport
from indistinct.attacks.target import OnePolicy, Target
from indistinct.errors import PolicyError
from indistinct.release.forms import ONE_TABLE, Form

OPTION = "option"


class InapplicableError(PolicyError):
    """An attack has nothing to go by: it cannot be tried on this release with what was given."""


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A table that somebody holds beside the release."""

    place: str
    """The field of a target that has it."""
    metavar: str
    help: str
    missing: str
    """Why an attack that must have it is not run without."""
    is_several: bool = False
    is_named: bool = False
    """It may be one of each of linked tables, by name."""

    def is_given(self, target: Target) -> bool:
        """Return whether a target has such a table."""
        found = getattr(target, self.place)
        return found is not None and (self.place != "earlier" or bool(found))


EXTERNAL = OtherTable(
    "external", "EXTERNAL", "A table that names people, such as a voter list.", "no table that names people was given"
)
POPULATION = OtherTable(
    "external", "POPULATION", "A table of all people who could be meant.", "no table of a population was given"
)
ORIGINAL = OtherTable(
    "original",
    "ORIGINAL...",
    "The private table, which says who is right. Of linked tables each one, as NAME=TABLE.",
    "the original was not given, which says whether guesses are right",
    is_named=True,
)
CONTROL = OtherTable(
    "control", "TABLE", "People who are not in the release. Else the original is divided.", "no control was given"
)
EARLIER = OtherTable(
    "earlier",
    "EARLIER…",
    "The earlier releases of the same source, earliest first: folders or tables.",
    "no earlier release was given",
    is_several=True,
)


@dataclass(frozen=True, slots=True)
class Option:
    """How an option of an attack is given on the command line."""

    help: str
    of: type = str
    """What each value is."""
    metavar: str | None = None
    least: float | None = None
    largest: float | None = None
    is_several: bool = False
    """It may be given several times."""
    read: Callable[[Any], Any] | None = None
    """Makes the option of what was typed."""
    usual: Any = None
    """What the command takes if nothing is said; None for the default of the class."""


def option(default: Any, help: str, of: type = str, **settings: Any) -> Any:
    """Return a field of an attack that is an option of its command; ``settings`` are fields of ``Option``."""
    return dataclasses.field(default=default, metadata={OPTION: Option(help, of, **settings)})


def most_option(help: str = "How many findings to describe; all are counted.") -> Any:
    """Return the field that says how many findings are described: commands show ten."""
    return option(20, help, int, least=0, usual=10)


class Attack(ABC):
    """What somebody could try on a release. A subclass is a frozen dataclass whose fields are its options.

    Its docstring is the help of the command.
    """

    __slots__ = ()

    name: ClassVar[str]
    """What policies, documents and commands call it; a command has - in place of _."""
    title: ClassVar[str]
    meaning: ClassVar[str]
    """What it means if it finds something, to whoever meets it for the first time."""
    held: ClassVar[tuple[str, ...]] = ("the release",)
    """What somebody is assumed to hold."""
    asks: ClassVar[tuple[OtherTable, ...]] = ()
    """The tables without which it cannot be tried."""
    takes: ClassVar[tuple[OtherTable, ...]] = ()
    """The tables that it uses if they are there."""
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE,)
    """The forms of a release that it takes."""
    roles: ClassVar[tuple[Any, ...]] = ()
    """The policy must have a column of one of these roles, if there are any."""
    is_in_all: ClassVar[bool] = True
    """It is one of those that are run together."""

    @abstractmethod
    def attack(self, target: Target) -> AttackReport:
        """Try it, and return what was found."""

    @classmethod
    def why_not(cls, target: Target) -> str | None:
        """Say why it does not apply to a target; None if it does."""
        missing = next((table.missing for table in cls.asks if not table.is_given(target)), None)
        if target.form not in cls.forms:
            taken = " or ".join(form.title for form in cls.forms)
            return f"it takes a release of {taken}, and this one is of {target.form.title}"
        if cls.roles and not target.policy.with_role(*cls.roles):
            return f"the policy has no {' or '.join(cls.roles)} column"
        return missing

    @classmethod
    def target_of(cls, release: Any, policy: OnePolicy, **given: Any) -> Target:
        """Return a release with what is ``given`` beside it; refuse it if the attack does not apply to it."""
        target = Target.of(release, policy, **given)
        if why := cls.why_not(target):
            raise InapplicableError(f"{cls.name}: {why}")
        return target

    @classmethod
    def of_all(cls, most: int) -> Attack:
        """Return the attack as it is run with all others, each of which describes ``most`` findings."""
        return cls(**({"most": most} if any(name == "most" for name, _ in cls.options()) else {}))

    def targets(self, target: Target) -> Iterator[tuple[str | None, Target]]:
        """Return what is attacked, one by one, each with the name of the table that it is held against, if any."""
        yield None, target

    @classmethod
    def options(cls) -> Iterator[tuple[str, Option]]:
        """Return the options of its command by name."""
        return ((own.name, own.metadata[OPTION]) for own in _fields(cls) if OPTION in own.metadata)

    @classmethod
    def usual(cls, name: str) -> Any:
        """Return what the command takes for an option if nothing is said."""
        (own,) = (one for one in _fields(cls) if one.name == name)
        said = own.metadata[OPTION].usual
        return own.default if said is None else said


def _fields(kind: type[Attack]) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of an attack; none if its class is no dataclass."""
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
