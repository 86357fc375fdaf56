"""People of histories: each pseudonym stands for a person of its own, whose row and events its labels cover.

Nothing says whose a pseudonym is, so people are matched. A person can be meant if her row lies under the labels of the
pseudonym's, and each of its events can be given an event of hers that no other one needs. Events may be missing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import IntArray
from indistinct.policy import Policy
from indistinct.policy.column import Column
from indistinct.proof.truth.person_trees import Held, Numbers, PersonTrees
from indistinct.recoding.label_texts import read_label

NO_LABEL = -1
RANGE = -2
"""In place of the level of a label."""
Ranks = tuple[int, int, int]
"""The first and last rank that a range covers, and the one of a missing value; -1 if it does not cover that."""


@dataclass(frozen=True, slots=True, eq=False)
class _Meanings:
    """Under which labels of a quasi column each original value lies; both are numbers of their texts."""

    levels: IntArray
    """(texts,): the level of each label; RANGE or NO_LABEL where it has none."""
    labels: IntArray
    """(levels, texts): the label of each value at each level; -1 for what is no value."""
    ranks: IntArray
    """(texts,): where each value stands in the order of numbers or dates, a missing one last."""
    covered: Mapping[int, Ranks]
    """By the number of each range."""

    @classmethod
    def of(cls, values: IntArray, texts: Sequence[str | None], column: Column) -> _Meanings:
        """Take the values of the original, the texts of both tables, and the column of the policy."""
        own = [texts[value] for value in values.tolist()]
        compiled = column.compile(own)
        levels, ranks = np.full(len(texts), NO_LABEL), np.zeros(len(texts), np.int64)
        labels = np.full((compiled.height + 1, len(texts)), -1)
        of_text = {text: number for number, text in enumerate(texts)}
        for level in range(compiled.lowest, compiled.height + 1):
            codes = np.array([of_text.get(text, -2) for text in compiled.labels[level]], np.int64)
            labels[level, values] = codes[compiled.maps[level]]
            levels[codes[codes >= 0]] = level  # of equal texts the higher one covers more
        positions = None if compiled.lowest else compiled.find_positions()
        covered: dict[int, Ranks] = {}
        if positions is not None:
            ranks[values] = np.argsort(np.argsort(positions, kind="stable"), kind="stable")
            rank_of = dict(zip(own, ranks[values].tolist(), strict=True))
            for number in np.flatnonzero(levels == NO_LABEL).tolist():
                cover = read_label(texts[number] or "")
                ends = [] if cover is None or not cover.is_range else [rank_of.get(end, -1) for end in cover.values]
                if cover is not None and ends and min(ends) >= 0:  # ends of a range are values of the original
                    covered[number] = min(ends), max(ends), rank_of.get(None, -1) if cover.or_missing else -1
                    levels[number] = RANGE
        return cls(levels, labels, ranks, covered)


@dataclass(frozen=True, slots=True, eq=False)
class _OriginalRows:
    """Original rows of a table by what they are under the labels of a node, and by rank where these are ranges."""

    first: int
    """The number of the first row among those of all tables."""
    persons: IntArray
    people: int
    ranks: Sequence[IntArray]
    """The rank of each row in each column with ranges."""
    span: int
    """More than the ranks of the first of these columns."""
    by_rank: IntArray
    ranked: IntArray
    """The label and rank of the rows in this order, as one number."""
    by_person: IntArray
    owned: array[int]
    """The label, person and rank of the rows in this order, as one number."""

    @classmethod
    def of(cls, first: int, persons: IntArray, labels: IntArray, ranks: Sequence[IntArray]) -> _OriginalRows:
        """Take original rows: whose each is, and the number of its label in all columns without ranges."""
        rank = ranks[0] if ranks else np.zeros(len(persons), np.int64)
        span, people = int(rank.max(initial=0)) + 1, int(persons.max(initial=0)) + 1
        ranked, owned = labels * span + rank, (labels * people + persons) * span + rank
        by_rank, by_person = np.argsort(ranked, kind="stable"), np.argsort(owned, kind="stable")
        own = array("q", np.ascontiguousarray(owned[by_person], np.int64).tobytes())
        return cls(first, persons, people, ranks, span, by_rank, ranked[by_rank], by_person, own)


@dataclass(frozen=True, slots=True, eq=False)
class _Key:
    """What released rows with equal cells can stand for: original rows of a label and, in some columns, of a range."""

    rows: _OriginalRows
    label: int
    covered: Sequence[Ranks]
    """What is covered in each column with ranges."""

    def _spans(self) -> list[tuple[int, int]]:
        low, high, missing = self.covered[0] if self.covered else (0, 0, -1)
        return [(low, high), (missing, missing)] if missing > high else [(low, high)]

    def _within(self, rows: IntArray) -> IntArray:
        """Return those of some rows that lie under the ranges of further columns."""
        for ranks, (low, high, missing) in zip(self.rows.ranks[1:], self.covered[1:], strict=True):
            own = ranks[rows]
            rows = rows[((own >= low) & (own <= high)) | (own == missing)]
        return rows

    def count(self) -> int:
        """Return how many rows these are at the most."""
        ends = self.label * self.rows.span + np.array(self._spans())
        found = np.searchsorted(self.rows.ranked, ends[:, 1], "right") - np.searchsorted(self.rows.ranked, ends[:, 0])
        return int(found.sum())

    def people(self) -> IntArray:
        """Return the people who have such rows."""
        base = self.label * self.rows.span
        ends = [np.searchsorted(self.rows.ranked, [base + low, base + high + 1]) for low, high in self._spans()]
        rows = np.concatenate([self.rows.by_rank[begin:end] for begin, end in ends])
        return np.unique(self.rows.persons[self._within(rows)])

    def of_person(self, person: int) -> list[int]:
        """Return the rows of a person, numbered among those of all tables."""
        rows, found = self.rows, []
        base = (self.label * rows.people + person) * rows.span
        for low, high in self._spans() if person < rows.people else ():
            begin = bisect_left(rows.owned, base + low)
            end = bisect_right(rows.owned, base + high, begin)
            if begin < end:
                found += (self._within(rows.by_person[begin:end]) + rows.first).tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """One table: the labels of each released row, and under which labels each original row lies."""

    mine: Held
    theirs: Held
    quasi: tuple[str, ...]
    free: tuple[str, ...]
    """The other columns that are compared: they must be equal."""
    meanings: Mapping[str, _Meanings]

    @classmethod
    def of(cls, name: str, trees: tuple[PersonTrees, PersonTrees], policy: Policy, numbers: Numbers) -> _Table:
        """Take a table of the release and of the original."""
        mine, theirs = (one.tables[name] for one in trees)
        own = policy.parts[name].policy
        meanings = {
            column: _Meanings.of(np.unique(theirs.cells[column]), numbers.texts_of(name, column), own.columns[column])
            for column in own.quasi
        }
        free = tuple(column for column in own.compared_columns if column not in own.quasi)
        return cls(mine, theirs, own.quasi, free, meanings)

    def by_levels(self, first: int) -> Iterator[tuple[IntArray, list[_Key | None], IntArray]]:
        """Return released rows level by level: which, their different keys, None for nobody's, and which one each has.

        ``first`` is the number of the first original row among those of all tables.
        """
        mine = [self.meanings[column].levels[self.mine.cells[column]] for column in self.quasi]
        stacked = np.stack(mine) if mine else np.zeros((1, len(self.mine.persons)), np.int64)
        distinct, which = np.unique(stacked, axis=1, return_inverse=True)
        for number, node in enumerate(distinct.T.tolist()):
            rows = np.flatnonzero(which.ravel() == number)
            if NO_LABEL in node and self.quasi:
                yield rows, [None], np.zeros(len(rows), np.int64)
            else:
                yield rows, *self._keys(rows, dict(zip(self.quasi, node, strict=False)), first)

    def _keys(self, rows: IntArray, node: Mapping[str, int], first: int) -> tuple[list[_Key | None], IntArray]:
        """Return the different keys of released rows whose labels have these levels, and which one each has."""
        cells, others = self.mine.cells, self.theirs.cells
        ranged = [column for column in self.quasi if node[column] == RANGE]
        exact = [column for column in self.quasi if node[column] != RANGE]
        ours = [cells[column][rows] for column in (*exact, *self.free)]
        theirs = [self.meanings[column].labels[node[column]][others[column]] for column in exact]
        theirs += [others[column] for column in self.free]
        both = np.zeros(len(rows) + len(self.theirs.persons), np.int64)
        if ours:
            stacked = np.concatenate([np.stack(ours), np.stack(theirs)], axis=1)
            both = np.unique(stacked, axis=1, return_inverse=True)[1].ravel()
        ranks = [self.meanings[column].ranks[others[column]] for column in ranged]
        source = _OriginalRows.of(first, self.theirs.persons, both[len(rows) :], ranks)
        own = np.stack([both[: len(rows)], *(cells[column][rows] for column in ranged)])
        used, which = np.unique(own, axis=1, return_inverse=True)
        keys = [
            _Key(source, label, [self.meanings[c].covered[text] for c, text in zip(ranged, texts, strict=True)])
            for label, *texts in used.T.tolist()
        ]
        return list(keys), which.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class _PersonFits:
    """Which original rows each released row can stand for: those with the same key, of the same table and levels."""

    rows: list[list[int]]
    """Of each pseudonym: the keys of its rows."""
    keys: list[_Key | None]
    counts: list[int]
    """Of each key: how many rows it has at the most."""
    people: dict[int, list[int]]
    """Of some keys: who has such rows."""


def pseudonyms_without_person(mine: PersonTrees, theirs: PersonTrees, policy: Policy, numbers: Numbers) -> int:
    """Return how many pseudonyms are left when as many as possible have a person of their own."""
    fits = _fits(mine, theirs, policy, numbers)
    fewest = [min((fits.counts[key] for key in own), default=theirs.number) for own in fits.rows]
    order = sorted(range(mine.number), key=fewest.__getitem__)
    given: tuple[dict[int, int], dict[int, int]] = ({}, {})
    return sum(not _place(one, fits, given, theirs.number) for one in order)


def _fits(mine: PersonTrees, theirs: PersonTrees, policy: Policy, numbers: Numbers) -> _PersonFits:
    rows: list[list[int]] = [[] for _ in range(mine.number)]
    keys: list[_Key | None] = []
    first_row = 0
    for name in policy.parts:
        table = _Table.of(name, (mine, theirs), policy, numbers)
        for own, found, which in table.by_levels(first_row):
            for person, key in zip(table.mine.persons[own].tolist(), which.tolist(), strict=True):
                rows[person].append(len(keys) + key)
            keys += found
        first_row += len(table.theirs.persons)
    return _PersonFits(rows, keys, [0 if key is None else key.count() for key in keys], {})


def _candidates(fits: _PersonFits, one: int, people: int) -> Iterator[int]:
    """Return the people whom a pseudonym can stand for."""
    own = fits.rows[one]
    narrow = min(own, key=fits.counts.__getitem__, default=None)
    key = None if narrow is None else fits.keys[narrow]
    if narrow is not None and narrow not in fits.people:
        fits.people[narrow] = [] if key is None else key.people().tolist()
    for person in range(people) if narrow is None else fits.people[narrow]:
        if _has_events(fits, own, person):
            yield person


def _has_events(fits: _PersonFits, own: Sequence[int], person: int) -> bool:
    """Return whether each of these rows can be given an original row of a person that no other one needs."""
    found: dict[int, list[int]] = {}
    for number in own:
        if number not in found:
            key = fits.keys[number]
            found[number] = [] if key is None else key.of_person(person)
            if not found[number]:
                return False
    choices = sorted((found[number] for number in own), key=len)
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


def _place(one: int, fits: _PersonFits, given: tuple[dict[int, int], dict[int, int]], people: int) -> bool:
    """Give a pseudonym a person of its own, along an alternating path; False if there is none.

    ``given`` has the pseudonym of each person who is given, and the person of each pseudonym.
    """
    owner, _ = given
    came_from: dict[int, int] = {}
    queue = [one]
    for current in queue:
        for person in _candidates(fits, current, people):
            if person in came_from:
                continue
            came_from[person] = current
            if person not in owner:
                _exchange(person, came_from, given)
                return True
            queue.append(owner[person])
    return False


def _exchange(person: int, came_from: Mapping[int, int], given: tuple[dict[int, int], dict[int, int]]) -> None:
    """Give the free person to whoever came there, and what each gives up to the one before it."""
    owner, held = given
    while True:
        pseudonym = came_from[person]
        given_up = held.get(pseudonym)
        owner[person], held[pseudonym] = pseudonym, person
        if given_up is None:
            return
        person = given_up
