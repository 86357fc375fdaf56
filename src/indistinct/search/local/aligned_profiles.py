"""Aligned profiles: linked rows of people who have as many are laid beside each other and generalized cell by cell.

Whoever shares a profile has as many rows. So people with equally many are grouped as if each were one long row, their
first rows beside each other, then their second ones, and each place of a group gets labels of its own. All people of a
group then have the same profile, whatever they had before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.counting import FrequencyList, IntArray
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import Policy
from indistinct.policy.algorithms import LabelKind
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.search.algorithm import Algorithm
from indistinct.search.local.groups.partition import blocks_of
from indistinct.search.local.groups.random_raise import with_random_raise
from indistinct.search.task import Task


class Aligning(Algorithm):
    """A local algorithm that groups rows, and where they are linked the people who have as many."""

    __slots__ = ()

    labels: LabelKind
    random_raise: float

    @property
    def label_kind(self) -> LabelKind:
        return self.labels

    @abstractmethod
    def group(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding to groups of rows."""

    def check_feasible(self, task: Task, watch: Watch) -> None:
        if task.policy.links_rows:
            self.run(task, watch)
        else:
            blocks_of(task)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding to groups of rows, or of people whose rows are linked, with some labels raised."""

        def make() -> LocalRecoding:
            if task.policy.links_rows:
                return align_profiles(task, watch, self.labels, self.group)
            return self.group(task, watch)

        return with_random_raise(task, self.random_raise, make)


GroupPeople = Callable[[Task, Watch], LocalRecoding]
"""Groups the people of one long row each."""


def align_profiles(task: Task, watch: Watch, labels: LabelKind, group: GroupPeople) -> LocalRecoding:
    """Group people with as many rows, row beside row, and give every place of a group its lowest labels.

    People with a number of rows that fewer than k have lose all of them; or, if single rows may go, as many as leave
    a number that k people have.
    """
    if any(model.asks_sensitive for model in task.models):
        raise PolicyError(
            "person: rows that pseudonyms link are aligned for k-anonymity only; for models that ask about sensitive "
            "values choose lattice, samarati, mingen or datafly"
        )
    rows = _Rows.of(task)
    lengths = _lengths_to_keep(rows, task)
    goes_to = np.full(len(rows.entries), SUPPRESSED)
    groups = 0
    for length in np.unique(lengths[lengths > 0]).tolist():
        members = np.flatnonzero(lengths == length)
        classes = _classes(task, watch, rows.laid_out(members, length), group)
        places = rows.first[members][:, None] + np.arange(length)
        is_grouped = classes != SUPPRESSED
        own = groups + classes[:, None] * length + np.arange(length)
        goes_to[places[is_grouped].ravel()] = own[is_grouped].ravel()
        groups += (int(classes.max(initial=-1)) + 1) * length
    pieces = _as_pieces(rows.entries, goes_to)
    recoding = LocalRecoding.of_pieces(task.frequencies, pieces, labels)
    if recoding.suppressed_rows > task.budget or not recoding.released_rows:
        raise InfeasibleError(
            f"{recoding.suppressed_rows} of {task.frequencies.rows} rows are of people whose number of rows too few "
            f"share, but the policy allows {task.budget} suppressed rows; allow more, or suppress single rows"
        )
    return recoding


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a frequency list one by one, person by person, those of a person in the order of their tuples."""

    entries: IntArray
    """The entry of each row."""
    first: IntArray
    """Where the rows of each person start."""
    number: IntArray
    """How many each person has."""
    codes: IntArray
    """(columns, rows) value codes."""

    @classmethod
    def of(cls, task: Task) -> _Rows:
        """Lay the rows of a list one after the other."""
        frequencies = task.frequencies
        entries, persons = frequencies.entries, frequencies.entries.persons
        assert persons is not None  # rows are linked
        order = np.lexsort((np.arange(len(entries)), persons))
        each = np.repeat(order, entries.counts[order])
        number = np.bincount(persons, entries.counts).astype(np.int64)
        codes = np.stack([frequencies.entry_codes(column)[each] for column in range(len(frequencies.columns))])
        return cls(each, np.cumsum(number) - number, number, codes)

    def laid_out(self, members: IntArray, length: int) -> IntArray:
        """Return the codes of the first so many rows of some people, row beside row: (columns times rows, people)."""
        places = self.first[members][:, None] + np.arange(length)
        return np.moveaxis(self.codes[:, places], 2, 1).reshape(-1, len(members))


def _lengths_to_keep(rows: _Rows, task: Task) -> IntArray:
    """Return how many rows each person keeps, 0 for none."""
    k, lengths = task.largest_k(), rows.number.copy()
    for length in range(int(lengths.max(initial=0)), 0, -1):  # those who lose a row join those with one fewer
        is_own = lengths == length
        if 0 < int(is_own.sum()) < k:
            lengths[is_own] = length - 1 if task.policy.suppresses_single_rows else 0
    return lengths


def _classes(task: Task, watch: Watch, codes: IntArray, group: GroupPeople) -> IntArray:
    """Return the class of each of some people, who are laid out as long rows; SUPPRESSED for who is in none."""
    frequencies = task.frequencies
    times = len(codes) // len(frequencies.columns)
    vectors, vector_of, people = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    names = [f"{name} {place}" for name in frequencies.columns for place in range(times)]
    hierarchies = [hierarchy for hierarchy in frequencies.hierarchies for _ in range(times)]
    weights = [weight for weight in frequencies.weights for _ in range(times)]
    listed = FrequencyList.of_codes(names, hierarchies, list(vectors), people, weights)
    columns = {f"{name} {place}": task.policy.columns[name] for name in frequencies.columns for place in range(times)}
    policy = Policy(columns=columns, privacy=[KAnonymity(task.largest_k())], max_suppression=1.0)
    try:
        pieces = group(Task.of(listed, policy), watch).pieces
    except InfeasibleError:
        return np.full(codes.shape[1], SUPPRESSED)
    there = np.stack([listed.tuple_codes(column) for column in range(len(names))])
    place_of = np.empty(len(people), np.int64)
    place_of[np.lexsort(vectors)] = np.lexsort(there)  # both hold the same vectors, each in its own order
    by_vector = np.argsort(place_of[vector_of.ravel()], kind="stable")
    by_piece = np.argsort(pieces.tuples, kind="stable")
    classes = np.empty(codes.shape[1], np.int64)
    classes[by_vector] = np.repeat(pieces.groups[by_piece], pieces.rows[by_piece])
    return classes


def _as_pieces(entries: IntArray, goes_to: IntArray) -> Pieces:
    """Put rows of one entry that go to one group together."""
    pairs, rows = np.unique(np.stack([entries, goes_to]), axis=1, return_counts=True)
    return Pieces(pairs[0], rows.astype(np.int64), pairs[1])
