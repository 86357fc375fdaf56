"""Knows: how many of a person's events others may know, where a policy has a table of people and tables of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from indistinct.errors import PolicyError
from indistinct.hierarchy import Dates

if TYPE_CHECKING:
    from indistinct.policy.linked_tables import Part

Number = int | Mapping[str, int]
OF_PEOPLE = ("l-diversity", "t-closeness")
"""Models that are asked of sensitive columns of the table of people alone."""
MOST_KNOWN = 4
"""So many events at most may be known together: sets of more cannot be counted for long histories."""


@dataclass(frozen=True, slots=True)
class EventKinds:
    """What sets of known events are made of: items of a kind, and the most of each kind.

    An item is an event in full, or an event without its columns of time.
    """

    in_full: tuple[int, ...]
    """The kind of each table's events in full."""
    without_time: tuple[int, ...]
    """The kind of each table's events without time; none where nobody knows events so."""
    limits: tuple[int, ...]
    """The most items of each kind that are known together."""


@dataclass(frozen=True, slots=True)
class Knows:
    """Others know a person's row and some of her rows in the other tables, of all of these or of each.

    That are any ``events`` in full; or any ``dated`` ones in full, and ``undated`` others without their columns of
    time. These are the ones that ``time`` names, such as ``visits.day``, or else those with a hierarchy of dates. k
    released people then have that row, and events that contain those which are known, as labels.
    """

    events: Number | None = None
    dated: Number = 0
    undated: Number = 0
    time: Sequence[str] = ()
    number: bool = False
    """Whether they know how many events she has in each table, too."""
    labels: Literal["ranges", "hierarchy"] = "ranges"
    """Whether dates and numbers of events may have ranges of what occurs, or labels of their hierarchy alone."""

    def __post_init__(self) -> None:
        if (self.events is None) == (self.dated == 0 and self.undated == 0):
            raise PolicyError("knows: say events, or dated and undated, such as { dated = 1, undated = 1 }")
        for name in ("events", "dated", "undated"):
            given = getattr(self, name)
            numbers = list(given.values()) if isinstance(given, Mapping) else [0 if given is None else given]
            if not all(type(number) is int and number >= 0 for number in numbers):
                raise PolicyError(
                    f"knows.{name}: must be a whole number, or one for each table of events, such as "
                    f"{{ visits = 2, drugs = 1 }}, got {given!r}"
                )
            if isinstance(given, Mapping):
                object.__setattr__(self, name, MappingProxyType(dict(given)))
        if not 1 <= self.together <= MOST_KNOWN:
            raise PolicyError(f"knows: from 1 to {MOST_KNOWN} events may be known together, got {self.together}")
        if isinstance(self.time, str) or not all(isinstance(name, str) for name in self.time):
            raise PolicyError(f'knows.time: must list columns, such as ["visits.day"], got {self.time!r}')
        if self.time and not self.has_undated:
            raise PolicyError(
                "knows.time: nobody knows events without time; say how many with undated, or leave it out"
            )
        if not isinstance(self.number, bool):
            raise PolicyError(f"knows.number: say true or false, got {self.number!r}")
        if self.labels not in ("ranges", "hierarchy"):
            raise PolicyError(f"knows.labels: say ranges or hierarchy, got {self.labels!r}")
        object.__setattr__(self, "time", tuple(self.time))

    @classmethod
    def of(cls, given: Any) -> Knows:
        """Take what a policy file says in a table.

        >>> Knows.of({"dated": 1, "undated": 1}).together
        2
        """
        if isinstance(given, Knows):
            return given
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or not set(given) <= set(known):
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) and given else repr(given)
            raise PolicyError(f"knows: takes {', '.join(known)}, such as {{ events = 2 }}; got {got}")
        return cls(**given)

    @property
    def together(self) -> int:
        """The most events of all tables that are known together."""
        return sum_of(self.events or 0) + sum_of(self.dated) + self.undated_together

    @property
    def undated_together(self) -> int:
        """The most of them that are known without their time."""
        return sum_of(self.undated)

    @property
    def has_undated(self) -> bool:
        """Whether some events may be known without their time."""
        return self.undated_together > 0

    def kinds(self, names: Sequence[str]) -> EventKinds:
        """Return the kinds of items of some tables.

        >>> Knows(dated=1, undated={"visits": 2}).kinds(["people", "visits"])
        EventKinds(in_full=(0, 0), without_time=(1, 2), limits=(1, 0, 2))
        """
        limits: list[int] = []
        found = []
        for given in (self.dated if self.events is None else self.events, *([self.undated] * self.has_undated)):
            first = len(limits)
            if isinstance(given, Mapping):
                limits += [given.get(name, 0) for name in names]
                found.append(tuple(range(first, len(limits))))
            else:
                limits.append(given)
                found.append((first,) * len(names))
        return EventKinds(found[0], found[1] if len(found) > 1 else (), tuple(limits))

    def with_time(self, parts: Mapping[str, Part]) -> Knows:
        """Return it with the columns of time named: quasi columns of events with dates, if nobody named others."""
        if self.time or not self.has_undated:
            return self
        found = [
            f"{name}.{column}"
            for name, part in parts.items()
            for column in part.policy.quasi
            if isinstance(part.policy.columns[column].hierarchy, Dates) and not lists_people(part)
        ]
        return replace(self, time=tuple(found))

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file writes it."""
        said = {
            name: dict(given) if isinstance(given, Mapping) else given
            for name in ("events", "dated", "undated")
            if (given := getattr(self, name))
        }
        said |= {"time": list(self.time)} if self.time else {}
        said |= {"number": True} if self.number else {}
        return said | ({"labels": self.labels} if self.labels != "ranges" else {})


def sum_of(given: Number) -> int:
    """Return how many events are known of all tables together."""
    return sum(given.values()) if isinstance(given, Mapping) else given


def lists_people(part: Part) -> bool:
    """Return whether a table has one row for each person; all others have events."""
    return part.unique is not None and part.person == (part.unique,)


def knows_mistakes(knows: Knows, parts: Mapping[str, Part]) -> list[str]:
    """List what cannot be said of tables of which others know some events."""
    people = [name for name, part in parts.items() if lists_people(part)]
    mistakes = []
    if not parts:
        mistakes.append("knows: one table has no events; describe a table of people and tables of events, under tables")
    for word in ("events", "dated", "undated"):
        given = getattr(knows, word)
        mistakes += [
            f"knows.{word}.{name}: there is no table of events {name!r}"
            for name in (given if isinstance(given, Mapping) else ())
            if name not in parts or name in people
        ]
    mistakes += _time_mistakes(knows, {name: part for name, part in parts.items() if name not in people})
    if len(people) > 1:
        mistakes.append(f"knows: {' and '.join(people)} both have a row for each person; join them to one table")
    if parts and len(people) == len(parts):
        mistakes.append("knows: no table has events, of which a person may have several")
    for name, part in parts.items():
        if part.parent is not None:
            mistakes.append(
                f"tables.{name}.references: with knows an event is one row; join the columns of {part.parent!r} that "
                "are needed to it, and leave the reference out"
            )
        mistakes += [
            f"tables.{name}.columns.{column}.shift: distances between dates stay true and are known with the events; "
            "with knows make it quasi with dates(), or drop it"
            for column in part.policy.shifted
        ]
    return mistakes


def _time_mistakes(knows: Knows, parts: Mapping[str, Part]) -> list[str]:
    """List what is wrong with the columns of time of tables of events."""
    own = [f"{name}.{column}" for name, part in parts.items() for column in part.policy.quasi]
    if parts and knows.has_undated and not knows.time:
        return ['knows.undated: no quasi column has dates(); name the columns of time, such as time = ["visits.day"]']
    return [f"knows.time: {name!r} is no quasi column of a table of events" for name in knows.time if name not in own]


def model_mistakes_of(knows: Knows, models: Mapping[Any, Sequence[str]], parts: Mapping[str, Part]) -> list[str]:
    """List the models that are not asked where some events are known; each has the columns that it asks about."""
    if knows.number and any(models.values()):
        return ["knows.number: events are dropped for equal numbers alone, not for private values; ask k-anonymity"]
    people = [name for name, part in parts.items() if lists_people(part)]
    mistakes = []
    for model, columns in models.items():
        if model.name in OF_PEOPLE and any(column.partition(".")[0] not in people for column in columns):
            mistakes.append(
                f"privacy: {model.name} is asked of the table of people, of which everybody has one row; of events say "
                "alpha-k, with alpha as 1 / l in place of l-diversity"
            )
        elif model.name not in ("k-anonymity", "alpha-k", *OF_PEOPLE):
            mistakes.append(
                f"privacy: {model.name} is not asked where others know some events; say k-anonymity, alpha-k, "
                "l-diversity or t-closeness"
            )
    return mistakes
