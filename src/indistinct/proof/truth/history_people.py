"""People of histories: each pseudonym stands for a person of its own, whose row and events its labels cover.

Nothing says whose a pseudonym is, so people are matched. A person can be meant if her row lies under the labels of the
pseudonym's, and each of its events can be given an event of hers that no other one needs. Events may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import IntArray
from indistinct.policy import Policy
from indistinct.proof.truth.person_trees import Held, Numbers, PersonTrees

NOBODY = -1
Key = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """One table: the labels of each released row, and under which labels each original row lies."""

    mine: Held
    theirs: Held
    quasi: tuple[str, ...]
    free: tuple[str, ...]
    """The other columns that are compared: they must be equal."""
    levels: Mapping[str, IntArray]
    """Column -> the level of each number of a text; -1 if it is no label."""
    labels: Mapping[str, IntArray]
    """Column -> (levels, numbers): the number of the label of each value at each level; -1 for what is no value."""

    @classmethod
    def of(cls, name: str, trees: tuple[PersonTrees, PersonTrees], policy: Policy, numbers: Numbers) -> _Table:
        """Take a table of the release and of the original."""
        mine, theirs = (one.tables[name] for one in trees)
        own = policy.parts[name].policy
        levels, labels = {}, {}
        for column in own.quasi:
            texts = numbers.texts_of(name, column)
            of_text = {text: number for number, text in enumerate(texts)}
            values = np.unique(theirs.cells[column])
            compiled = own.columns[column].compile([texts[value] for value in values.tolist()])
            found = np.full(len(texts), -1)
            table = np.full((compiled.height + 1, len(texts)), -1)
            for level in range(compiled.lowest, compiled.height + 1):
                codes = np.array([of_text.get(text, -2) for text in compiled.labels[level]], np.int64)
                table[level, values] = codes[compiled.maps[level]]
                found[codes[codes >= 0]] = level  # of equal texts the higher one covers more
            levels[column], labels[column] = found, table
        free = tuple(column for column in own.compared_columns if column not in own.quasi)
        return cls(mine, theirs, own.quasi, free, levels, labels)

    def by_levels(self) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Return released rows level by level: which, their keys, and the keys of all original rows there."""
        mine = [self.levels[column][self.mine.cells[column]] for column in self.quasi]
        stacked = np.stack(mine) if mine else np.zeros((1, len(self.mine.persons)), np.int64)
        distinct, which = np.unique(stacked, axis=1, return_inverse=True)
        for number, node in enumerate(distinct.T.tolist()):
            rows = np.flatnonzero(which.ravel() == number)
            if any(level < 0 for level in node) and self.quasi:
                yield rows, np.full(len(rows), -1), np.zeros(0, np.int64)
                continue
            ours = [self.mine.cells[column][rows] for column in (*self.quasi, *self.free)]
            others = [
                self.labels[column][level][self.theirs.cells[column]]
                for column, level in zip(self.quasi, node, strict=False)
            ]
            others += [self.theirs.cells[column] for column in self.free]
            if not ours:
                yield rows, np.zeros(len(rows), np.int64), np.zeros(len(self.theirs.persons), np.int64)
                continue
            both = np.concatenate([np.stack(ours), np.stack(others)], axis=1)
            numbered = np.unique(both, axis=1, return_inverse=True)[1].ravel()
            yield rows, numbered[: len(rows)], numbered[len(rows) :]


@dataclass(frozen=True, slots=True, eq=False)
class _PersonFits:
    """Which original rows each released row can stand for: those with the same key, of the same table and levels."""

    rows: list[list[int]]
    """Of each pseudonym: the keys of its rows."""
    holders: list[IntArray]
    """Key -> the people with an original row under it, each once."""
    events: list[dict[int, list[int]]]
    """Key -> person -> her original rows under it."""


def pseudonyms_without_person(mine: PersonTrees, theirs: PersonTrees, policy: Policy, numbers: Numbers) -> int:
    """Return how many pseudonyms are left when as many as possible have a person of their own."""
    fits = _fits(mine, theirs, policy, numbers)
    order = sorted(range(mine.number), key=lambda one: _fewest(fits, one, theirs.number))
    owner: dict[int, int] = {}
    return sum(not _place(one, fits, owner, theirs.number) for one in order)


def _fits(mine: PersonTrees, theirs: PersonTrees, policy: Policy, numbers: Numbers) -> _PersonFits:
    rows: list[list[int]] = [[] for _ in range(mine.number)]
    holders: list[IntArray] = []
    events: list[dict[int, list[int]]] = []
    first_row = 0
    for name in policy.parts:
        table = _Table.of(name, (mine, theirs), policy, numbers)
        persons = table.theirs.persons
        for own, keys, others in table.by_levels():
            used, at = np.unique(keys, return_inverse=True)
            order = np.argsort(others, kind="stable")
            begins = np.searchsorted(others[order], used, "left")
            ends = np.searchsorted(others[order], used, "right")
            start = len(holders)
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
                there = order[begin:end]
                by_person: dict[int, list[int]] = {}
                for row, person in zip(there.tolist(), persons[there].tolist(), strict=True):
                    by_person.setdefault(person, []).append(first_row + row)
                events.append(by_person)
                holders.append(np.unique(persons[there]))
            for row, key in zip(own.tolist(), at.ravel().tolist(), strict=True):
                rows[int(table.mine.persons[row])].append(start + key)
        first_row += len(persons)
    return _PersonFits(rows, holders, events)


def _fewest(fits: _PersonFits, one: int, people: int) -> int:
    """Return how many people a pseudonym can stand for at the most."""
    return min((len(fits.holders[key]) for key in fits.rows[one]), default=people)


def _candidates(fits: _PersonFits, one: int, people: int) -> Iterator[int]:
    """Return the people whom a pseudonym can stand for."""
    keys = fits.rows[one]
    narrow = min(keys, key=lambda key: len(fits.holders[key]), default=None)
    among: Sequence[int] = range(people) if narrow is None else fits.holders[narrow].tolist()
    for person in among:
        if _has_events(fits, keys, person):
            yield person


def _has_events(fits: _PersonFits, keys: Sequence[int], person: int) -> bool:
    """Return whether each of these rows can be given an original row of a person that no other one needs."""
    choices = []
    for key in keys:
        found = fits.events[key].get(person)
        if found is None:
            return False
        choices.append(found)
    choices.sort(key=len)
    owner: dict[int, int] = {}
    taken: dict[int, int] = {}
    return all(_give(place, choices, (owner, taken), set()) for place in range(len(choices)))


def _give(
    place: int, choices: Sequence[Sequence[int]], given: tuple[dict[int, int], dict[int, int]], seen: set[int]
) -> bool:
    """Give a released row one of its original rows, moving others if need be.

    ``given`` has the released row of each original one, and of each list of choices how many at its start are given:
    these stay so.
    """
    owner, taken = given
    mine = choices[place]
    for position in range(taken.get(id(mine), 0), len(mine)):
        if mine[position] not in owner:
            owner[mine[position]] = place
            taken[id(mine)] = position + 1
            return True
    taken[id(mine)] = len(mine)
    for row in mine:
        if row not in seen:
            seen.add(row)
            if _give(owner[row], choices, given, seen):
                owner[row] = place
                return True
    return False


def _place(one: int, fits: _PersonFits, owner: dict[int, int], people: int) -> bool:
    """Give a pseudonym a person of its own, along an alternating path; False if there is none."""
    came_from: dict[int, int] = {}
    queue = [one]
    for current in queue:
        for person in _candidates(fits, current, people):
            if person in came_from:
                continue
            came_from[person] = current
            if person not in owner:
                _exchange(one, person, came_from, owner)
                return True
            queue.append(owner[person])
    return False


def _exchange(one: int, person: int, came_from: Mapping[int, int], owner: dict[int, int]) -> None:
    """Give the free person to whoever came there, and what each gives up to the one before it."""
    held = {pseudonym: had for had, pseudonym in owner.items()}
    while True:
        pseudonym = came_from[person]
        owner[person] = pseudonym
        if pseudonym == one:
            return
        person = held[pseudonym]
