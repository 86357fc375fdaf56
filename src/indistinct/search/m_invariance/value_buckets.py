"""Buckets of people by the sensitive values that they share: the value sets of m-invariance, balanced and dealt."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.privacy.models.m_invariance import Signed
from indistinct.search.local.groups.partition import apart
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task
from indistinct.search.two_tables.anatomy import hands, largest_limit

ValueSet = tuple[int, ...]
"""The codes of the values that a group has, in ascending order."""


@dataclass(frozen=True, slots=True)
class PeopleByValue:
    """The rows of the table, one by one."""

    entries: IntArray
    values: IntArray
    """The code of each row's sensitive value."""
    told: IntArray
    """The place of each row's value set among ``value_sets``, -1 for new people."""
    value_sets: list[ValueSet | None]
    """None where a value set has a value that nobody has any more."""
    blocks: IntArray
    walk: IntArray
    """The place of each row in an order in which neighbours are mostly near."""
    codes: NDArray[np.int32]
    """(rows, columns) the values of quasi columns."""

    @classmethod
    def of(cls, task: Task, space: Space, column: str) -> PeopleByValue:
        frequencies = task.frequencies
        entries = np.repeat(np.arange(len(frequencies.entries)), frequencies.entries.counts)
        _, block_of = apart(frequencies)
        walk = np.empty(len(entries), np.int64)
        walk[np.lexsort(space.ranks[entries].T[::-1])] = np.arange(len(entries))
        told, value_sets = np.full(len(entries), -1), list[ValueSet | None]()
        signed = next((model.column for model in task.models if isinstance(model, Signed)), None)
        if signed is not None:
            code_of = {value or "": code for code, value in enumerate(frequencies.sensitive[column].values)}
            texts = frequencies.sensitive[signed].values
            value_sets = [None if text is None else _read_value_set(text, code_of) for text in texts]
            codes = frequencies.entries.codes[signed][entries]
            told = np.where(np.array([text is None for text in texts])[codes], -1, codes)
        values = frequencies.entries.codes[column][entries]
        codes = np.stack(
            [frequencies.entry_codes(column)[entries] for column in range(len(frequencies.columns))], axis=1
        )
        return cls(entries, values, told, value_sets, block_of[entries], walk, codes.astype(np.int32))


def _read_value_set(text: str, code_of: dict[str, int]) -> ValueSet | None:
    """Return the value set that the ledger wrote as a JSON list of values; None if one of them has no row."""
    values = json.loads(text)
    return tuple(sorted(code_of[value] for value in values)) if all(value in code_of for value in values) else None


@dataclass(frozen=True, slots=True)
class Pools:
    """The rows of one block that share groups: people who were released before by value set, and new people."""

    people: PeopleByValue
    block: int
    told: dict[ValueSet, IntArray]
    """The rows of each value set, a line for each value, all lines of the same length."""
    free: list[IntArray]
    """The new people of each value, in the order of the walk."""

    @classmethod
    def of(cls, people: PeopleByValue, block: int, m: int, lost: Counter[str]) -> Pools:
        """Balance the value sets of a block with new people; count those who are lost by the reason."""
        rows = np.flatnonzero(people.blocks == block)
        free = _Free.of(people, rows)
        by_value_set: dict[ValueSet, IntArray] = {}
        for number in np.unique(people.told[rows]).tolist():
            own = rows[people.told[rows] == number]
            value_set = people.value_sets[number] if number >= 0 else ()
            if value_set is None:
                lost["were released with values of which there are too few now"] += len(own)
            elif value_set:
                by_value_set[value_set] = own
        told: dict[ValueSet, IntArray] = {}
        for value_set, own in sorted(by_value_set.items(), key=lambda item: (-len(item[1]), item[0])):
            bucket, left_out = _balance_bucket(people, value_set, own, m, free)
            lost.update(left_out)
            if bucket.size:
                told[value_set] = bucket
        return cls(people, block, told, _up_to_the_limit(free.rows, m, lost))

    def without(self, is_placed: BoolArray, m: int, lost: Counter[str]) -> Pools:
        """Return what balanced groups have left of these rows; new people of a value too frequent are lost."""
        told = {
            value_set: np.stack([line[~is_placed[line]] for line in lines]) for value_set, lines in self.told.items()
        }
        free = [rows[~is_placed[rows]] for rows in self.free]
        return replace(self, told=told, free=_up_to_the_limit(free, m, lost))

    def buckets(self, m: int) -> dict[ValueSet, IntArray]:
        """Return the rows of each value set, a line for each value; new people get one."""
        found = {value_set: [lines] for value_set, lines in self.told.items() if lines.size}
        for value_set, bucket in _dealt(self.free, m):
            found.setdefault(value_set, []).append(bucket)
        return {value_set: np.concatenate(lines, axis=1) for value_set, lines in found.items()}


def _up_to_the_limit(rows: list[IntArray], m: int, lost: Counter[str]) -> list[IntArray]:
    """Return so many people of each value, evenly over the walk, as can share groups of ``m``."""
    counts = np.array([len(own) for own in rows], np.int64)
    limit = largest_limit(counts, m)
    lost[f"have values too frequent among new people for groups of {m}"] += int(np.maximum(counts - limit, 0).sum())
    return [own[_spread(len(own), min(limit, len(own)))] for own in rows]


@dataclass(slots=True)
class _Free:
    """The new people of each value, in the order of the walk."""

    people: PeopleByValue
    rows: list[IntArray] = field(default_factory=list)

    @classmethod
    def of(cls, people: PeopleByValue, rows: IntArray) -> _Free:
        new = rows[people.told[rows] < 0]
        new = new[np.lexsort((people.walk[new], people.values[new]))]
        number = int(people.values.max()) + 1
        ends = np.searchsorted(people.values[new], np.arange(number + 1))
        return cls(people, [new[ends[value] : ends[value + 1]] for value in range(number)])

    @property
    def counts(self) -> IntArray:
        return np.array([len(rows) for rows in self.rows], np.int64)

    def take_rows(self, value: int, number: int, near: IntArray) -> IntArray:
        """Take so many people of a value out, near these places of the walk."""
        rows = self.rows[value]
        chosen = _nearest(self.people.walk[rows], number, near)
        self.rows[value] = np.delete(rows, chosen)
        return rows[chosen]


def _balance_bucket(
    people: PeopleByValue, value_set: ValueSet, own: IntArray, m: int, free: _Free
) -> tuple[IntArray, dict[str, int]]:
    """Return as many rows of each value of a value set as can be, and count those that are left out by the reason."""
    is_apt = np.isin(people.values[own], value_set)
    reasons = {"have other values now than when they were released": int((~is_apt).sum())}
    own = own[is_apt]
    own = own[np.argsort(people.walk[own], kind="stable")]
    known = [own[people.values[own] == value] for value in value_set]
    counts = np.array([len(rows) for rows in known])
    each = int(min(counts.max(initial=0), (counts + free.counts[list(value_set)]).min()))
    if len(value_set) < m:
        return own[:0].reshape(0, 0), reasons | {f"were released in groups of fewer than {m} values": len(own)}
    lines = []
    for value, rows in zip(value_set, known, strict=True):
        if len(rows) < each:
            more = free.take_rows(value, each - len(rows), people.walk[own])
            lines.append(np.concatenate([rows, more]))
        else:
            scarce = known[int(np.argmin(counts))]
            lines.append(rows[_nearest(people.walk[rows], each, people.walk[scarce])])
    left_out = int(np.maximum(counts - each, 0).sum())
    return np.stack(lines), reasons | {"were released with values of which there are too few now": left_out}


def _nearest(places: IntArray, number: int, goals: IntArray) -> IntArray:
    """Choose so many of ascending places, each once, near some of the ascending goals, evenly over them."""
    if not len(goals):
        return _spread(len(places), number)
    steps = np.arange(number)
    chosen = np.searchsorted(places, goals[_spread(len(goals), number)])
    chosen = np.maximum.accumulate(chosen - steps) + steps
    nearest: IntArray = np.minimum(chosen, len(places) - number + steps)
    return nearest


def _spread(available: int, number: int) -> IntArray:
    """Choose so many of the available places evenly; each once, if there are enough."""
    chosen: IntArray = (2 * np.arange(number) + 1) * available // (2 * max(1, number))
    return chosen


def _dealt(rows: list[IntArray], m: int) -> list[tuple[ValueSet, IntArray]]:
    """Return buckets of new people, of which no value may have more than one in ``m``.

    The rows of a value go to its buckets in turn, so that each bucket has rows from everywhere.
    """
    numbers = _numbers(np.array([len(own) for own in rows], np.int64), m)
    lines: dict[ValueSet, list[IntArray]] = {value_set: [] for value_set in numbers}
    for value, own in enumerate(rows):
        holders = [value_set for value_set in numbers if value in value_set]
        if not holders:
            continue
        when = np.concatenate([(np.arange(numbers[holder]) + 0.5) / numbers[holder] for holder in holders])
        whose = np.repeat(np.arange(len(holders)), [numbers[holder] for holder in holders])
        turns = whose[np.argsort(when, kind="stable")]
        for number, holder in enumerate(holders):
            lines[holder].append(own[turns == number])
    return [(value_set, np.stack(own)) for value_set, own in lines.items()]


def _numbers(counts: IntArray, m: int) -> dict[ValueSet, int]:
    """Return how many rows of each of its values the buckets of new people get.

    The ``m`` most frequent values form a bucket, of so many rows each that no other value then has more than one in
    ``m`` of what is left. Few rows are left in the end; they are dealt one by one, as Anatomy does.
    """
    left = counts.copy()
    numbers: Counter[ValueSet] = Counter()
    while True:
        order = np.lexsort((np.arange(len(left)), -left))
        following = int(left[order[m]]) if len(order) > m else 0
        number = min(int(left[order[m - 1]]), int(left.sum()) // m - following) if len(order) >= m else 0
        if number < 1:
            break
        numbers[tuple(sorted(order[:m].tolist()))] += number
        left[order[:m]] -= number
    dealt = [set(hand) for hand in hands(left, m).tolist()]
    used = Counter(value for hand in dealt for value in hand)
    for value in np.flatnonzero(left).tolist():
        for _ in range(int(left[value]) - used[value]):
            min((hand for hand in dealt if value not in hand), key=len).add(value)
    numbers.update(tuple(sorted(hand)) for hand in dealt)
    return dict(numbers)
