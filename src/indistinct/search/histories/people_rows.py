"""People's rows: the table of people, recoded by any algorithm for one table, and who stands in which of its groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from indistinct.array_types import IntArray
from indistinct.counting import FrequencyList
from indistinct.counting.joined_tables import ABSENT
from indistinct.errors import InfeasibleError
from indistinct.policy import Policy, lists_people
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.recoding import Recoding
from indistinct.recoding.recoding import Labels
from indistinct.search.histories.private_values import PrivateValues
from indistinct.search.task import Task

NOBODY = -1


class RecodesTable(Protocol):
    """An algorithm for one table."""

    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return a recoding that satisfies the task's policy."""


@dataclass(frozen=True, slots=True, eq=False)
class PeopleRows:
    """The group of each person by her row in the table of people, and the labels of each group."""

    groups: IntArray
    """(people,): her group, or NOBODY if she is suppressed."""
    labels: dict[int, tuple[Labels, IntArray]]
    """Column of the list of all tables -> its labels, and the one that each group carries."""
    kept: float
    """What the cells of the released rows keep."""

    @property
    def sizes(self) -> IntArray:
        """The people of each group."""
        return np.bincount(self.groups[self.groups >= 0]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleTable:
    """The rows of the table of people, one for each."""

    frequencies: FrequencyList
    policy: Policy
    people: int
    persons: IntArray
    """The person of each row."""
    values: IntArray
    """(columns, rows): the value code of each."""
    positions: tuple[int, ...]
    """The columns in the list of all tables."""

    @classmethod
    def of(cls, task: Task, table_of_entry: IntArray) -> PeopleTable:
        """Take the table of a policy that lists people; there may be none."""
        frequencies, policy = task.frequencies, task.policy
        assert frequencies.entries.persons is not None
        names = list(policy.parts)
        listed = [number for number, name in enumerate(names) if lists_people(policy.parts[name])]
        chosen = np.flatnonzero(np.isin(table_of_entry, listed))
        own = [names[number] for number in listed]
        positions = tuple(p for p, name in enumerate(frequencies.columns) if name.partition(".")[0] in own)
        values = [frequencies.entry_codes(position)[chosen] for position in positions]
        people = int(frequencies.entries.persons.max(initial=-1)) + 1
        stacked = np.stack(values) if values else np.zeros((0, len(chosen)), np.int64)
        return cls(frequencies, policy, people, frequencies.entries.persons[chosen], stacked, positions)

    def recode(self, k: int, algorithm: RecodesTable, task: Task, watch: Watch) -> PeopleRows:
        """Return people in groups of at least k with equal rows, as an algorithm recodes their table."""
        groups = np.full(self.people, 0 if not len(self.persons) else NOBODY)
        labels: dict[int, tuple[Labels, IntArray]] = {}
        if self.positions and len(self.persons) >= k:
            groups[self.persons], labels = self._recode_rows(k, algorithm, task, watch)
        elif len(self.persons):
            groups[self.persons] = 0
        without = np.ones(self.people, np.bool_)
        without[self.persons] = False
        if len(self.persons) and without.sum() >= k:  # nobody knows more of them than that they have no row
            groups[without] = int(groups.max(initial=-1)) + 1
        sizes = np.bincount(groups[groups >= 0], minlength=int(groups.max(initial=-1)) + 1)
        groups = np.where((groups >= 0) & (sizes[groups] >= k), groups, NOBODY)
        groups = self._without_sure_groups(groups)
        return self._number_groups(groups, labels)

    def _without_sure_groups(self, groups: IntArray) -> IntArray:
        """Return the groups without those of which too many people have a private value."""
        private = PrivateValues.of(self.frequencies, self.policy)
        while private is not None and len(people := np.flatnonzero(groups >= 0)):
            is_wrong = private.among(groups >= 0).too_sure(groups[people], people)
            if is_wrong[groups[people]].all():
                raise InfeasibleError(
                    "privacy: in each group of people with equal rows a private value is had by more than alpha of "
                    "them, or l-diversity or t-closeness fails; ask for less, or name in alpha the values that are "
                    "private"
                )
            if not is_wrong.any():
                break
            groups = np.where((groups >= 0) & ~is_wrong[groups], groups, NOBODY)
        return groups

    def _number_groups(self, groups: IntArray, labels: dict[int, tuple[Labels, IntArray]]) -> PeopleRows:
        """Return the groups that are left, numbered through."""
        used = np.unique(groups[groups >= 0])
        moved = np.full(int(groups.max(initial=-1)) + 2, NOBODY)
        moved[used] = np.arange(len(used))
        found: dict[int, tuple[Labels, IntArray]] = {}
        kept = 0.0
        released = groups[self.persons] >= 0
        sizes = np.bincount(moved[groups[self.persons][released]], minlength=len(used))
        for position, (own, codes) in labels.items():
            absent = own.texts.index(ABSENT)
            own_codes = np.array([codes[g] if g < len(codes) else absent for g in used.tolist()], np.int64)
            found[position] = own, own_codes
            value = self.frequencies.weights[position] * NCP().kept(self.frequencies, position, own)
            kept += float((sizes * (own_codes != absent)) @ value[own_codes])
        return PeopleRows(moved[groups], found, kept)

    def _recode_rows(
        self, k: int, algorithm: RecodesTable, task: Task, watch: Watch
    ) -> tuple[IntArray, dict[int, tuple[Labels, IntArray]]]:
        """Return the group of each row, and the labels of groups."""
        names = [self.frequencies.columns[position] for position in self.positions]
        columns = {name: self.policy.columns[name] for name in names}
        hierarchies = [
            columns[name].compile(self.frequencies.hierarchies[position].values[:-1])
            for name, position in zip(names, self.positions, strict=True)
        ]
        share, rows = self.policy.max_suppression, len(self.persons)
        own = Policy(
            columns=columns,
            privacy=[KAnonymity(k)],
            max_suppression=1.0 if share is None else share if isinstance(share, float) else min(share, rows),
            one_row_per_person=True,
        )
        distinct, which = np.unique(self.values, axis=1, return_inverse=True)
        which = which.ravel()
        counts = np.bincount(which, minlength=distinct.shape[1]).astype(np.int64)
        weights = [self.frequencies.weights[p] for p in self.positions]
        counted = FrequencyList.of_codes(list(columns), hierarchies, list(distinct), counts, weights)
        if int(counts.sum()) < k:
            raise InfeasibleError(f"the table of people has fewer than k = {k} rows")
        recoding = algorithm.run(replace(Task.of(counted, own), draws=task.draws), watch)
        there = np.stack([counted.tuple_codes(c) for c in range(len(columns))])
        place_of = np.empty(distinct.shape[1], np.int64)
        place_of[np.lexsort(distinct)] = np.lexsort(there)
        groups = _place_rows(recoding, place_of[which], task)
        labels = {}
        for column, position in enumerate(self.positions):
            own_labels, codes = _labels_of(recoding, column)
            labels[position] = with_absent(own_labels), codes
        return groups, labels


def _place_rows(recoding: Recoding, tuple_of: IntArray, task: Task) -> IntArray:
    """Return the group of each row; which rows of a tuple go where is drawn."""
    pieces = recoding.as_pieces()
    by_tuple = np.argsort(pieces.tuples, kind="stable")
    goals = np.repeat(pieces.groups[by_tuple], pieces.rows[by_tuple])
    keys = task.draws.part("people").keys(len(tuple_of))
    rows = np.lexsort((keys, tuple_of))
    found = np.empty(len(tuple_of), np.int64)
    found[rows] = goals
    return found


def _labels_of(recoding: Recoding, column: int) -> tuple[Labels, IntArray]:
    """Return the labels of a column, and the one that each group carries."""
    local = recoding.local
    if local is not None:
        return local.labels[column], np.asarray(local.codes[column])  # type: ignore[attr-defined]
    level = recoding.node[column]
    groups, _ = recoding.frequencies.roll_up(recoding.node)
    return Labels.at_level(recoding.frequencies, column, level), groups.label_codes(column)


def with_absent(labels: Labels) -> Labels:
    """Return the labels with one more, of rows that have no such column."""
    return Labels(
        (*labels.texts, ABSENT), np.append(labels.levels, 0), np.append(labels.leaves, 1), np.append(labels.rows, 0)
    )
