"""Knows: how many of a person's events others may know, where a policy has a table of people and tables of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy.linked_tables import Part

MOST_KNOWN = 4
"""So many events at most may be known together: sets of more cannot be counted for long histories."""


@dataclass(frozen=True, slots=True)
class Knows:
    """Others know a person's row and any ``events`` of her rows in the other tables, in all or of each table.

    k released people then have that row, and events that contain those which are known, as labels.
    """

    events: int | Mapping[str, int]

    def __post_init__(self) -> None:
        given = self.events
        numbers = list(given.values()) if isinstance(given, Mapping) else [given]
        is_whole = all(type(number) is int and number >= 0 for number in numbers)
        if not is_whole or not 1 <= sum(numbers) <= MOST_KNOWN:
            raise PolicyError(
                f"knows.events: must be a whole number from 1 to {MOST_KNOWN}, or one for each table of events that "
                f"together are no more, such as {{ visits = 2, drugs = 1 }}, got {given!r}"
            )
        if isinstance(given, Mapping):
            object.__setattr__(self, "events", MappingProxyType(dict(given)))

    @classmethod
    def of(cls, given: Any) -> Knows:
        """Take what a policy file says in a table.

        >>> Knows.of({"events": 2}).together
        2
        """
        if isinstance(given, Knows):
            return given
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or "events" not in given or not set(given) <= set(known):
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) and given else repr(given)
            raise PolicyError(f"knows: takes {' and '.join(known)}, such as {{ events = 2 }}; got {got}")
        return cls(**given)

    @property
    def together(self) -> int:
        """The most events of all tables that are known together."""
        return self.events if isinstance(self.events, int) else sum(self.events.values())

    def of_table(self, name: str) -> int:
        """Return how many events of a table are known at the most."""
        return self.events if isinstance(self.events, int) else self.events.get(name, 0)

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file writes it."""
        return {"events": self.events if isinstance(self.events, int) else dict(self.events)}


def lists_people(part: Part) -> bool:
    """Return whether a table has one row for each person; all others have events."""
    return part.unique is not None and part.person == (part.unique,)


def knows_mistakes(knows: Knows, parts: Mapping[str, Part]) -> list[str]:
    """List what cannot be said of tables of which others know some events."""
    people = [name for name, part in parts.items() if lists_people(part)]
    mistakes = []
    if not parts:
        mistakes.append("knows: one table has no events; describe a table of people and tables of events, under tables")
    if isinstance(knows.events, Mapping):
        mistakes += [
            f"knows.events.{name}: there is no table of events {name!r}"
            for name in knows.events
            if name not in parts or name in people
        ]
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


def model_mistakes_of(models: Any) -> list[str]:
    """List the models that are not asked where some events are known."""
    return [
        f"privacy: {model.name} is not asked where others know some events; say k-anonymity"
        for model in models
        if model.name != "k-anonymity"
    ]
