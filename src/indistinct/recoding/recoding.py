"""Recoding: an algorithm's answer, which group each tuple goes to, what labels it carries, and what is suppressed.

There are three main kinds. ``FullDomainRecoding`` takes every column to one level. ``LocalRecoding`` groups rows, and
each group carries labels of its own: from the hierarchies, or ranges and sets of values. ``Classes`` groups rows for a
release of two tables, in which no cell is generalized. Whoever releases, proves or measures a recoding asks what stands
here and need not know which kind it is.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList, Groups, Node
from indistinct.counting.membership import NOWHERE, People, RowTree
from indistinct.engine.plans import ClassPlan, LocalPlan, Plan
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.recoding.saved import SavedRecoding
from indistinct.release.forms import ONE_TABLE, Form

if TYPE_CHECKING:
    from indistinct.counting.frequency_list import Entries


LabelValues = Sequence[Sequence[FloatArray]]
"""A number for each column, level and label code."""

SUPPRESSED = -1
"""The group of rows that are not released."""
TOLD = frozenset(["precision", "discernibility", "average-group-size", "distinct-tuples"])
"""Measures that follow from the released cells and the hierarchies."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Which rows go where: so many rows of a tuple to a group. A tuple's rows may go to several groups.

    Where models ask about sensitive values, the rows of a tuple are told apart by them: "tuple" then means an entry of
    the frequency list.
    """

    tuples: IntArray
    """The position of the tuple among the frequency list's entries."""
    rows: IntArray
    groups: IntArray
    """The number of the group, or SUPPRESSED."""

    @classmethod
    def whole(cls, frequencies: FrequencyList, groups: IntArray) -> Pieces:
        """Send every tuple with all its rows to one group."""
        entries = frequencies.entries
        return cls(np.arange(len(entries)), entries.counts, np.asarray(groups, np.int64)[entries.tuples])

    @property
    def is_released(self) -> BoolArray:
        """One claim per piece."""
        is_released: BoolArray = self.groups != SUPPRESSED
        return is_released

    def number_groups(self) -> tuple[Pieces, IntArray]:
        """Number the groups through from 0; also give the earlier number of each."""
        groups = np.full(len(self.groups), SUPPRESSED)
        earlier, groups[self.is_released] = np.unique(self.groups[self.is_released], return_inverse=True)
        return Pieces(self.tuples, self.rows, groups), earlier

    def sizes(self, groups: int) -> IntArray:
        """Return the rows of each group, of which there are so many."""
        released = self.is_released
        return np.bincount(self.groups[released], self.rows[released], groups).astype(np.int64)

    def without_groups(self, is_left_out: BoolArray) -> Pieces:
        """Return the same pieces with some more groups suppressed."""
        is_gone = self.is_released & is_left_out[np.maximum(self.groups, 0)]
        return Pieces(self.tuples, self.rows, np.where(is_gone, SUPPRESSED, self.groups))

    def in_entries(self, entry_of: IntArray) -> Pieces:
        """Return the pieces in the entries of another list, those of one entry in one group together."""
        most = int(self.groups.max(initial=-1)) + 2
        keys, which = np.unique(entry_of[self.tuples] * most + self.groups + 1, return_inverse=True)
        rows = np.bincount(which.ravel(), self.rows, len(keys)).astype(np.int64)
        tuples, groups = np.divmod(keys, most)
        return Pieces(tuples, rows, groups - 1)


def distinct(*keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each distinct combination of keys first stands, in ascending order, and its number at every place.

    >>> distinct(np.array([2, 1, 2]), np.array([0, 5, 0]))
    (array([1, 0]), array([1, 0, 1]))
    """
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return order[is_new], numbers


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one column: their text, where they lie, and how much they cover."""

    texts: tuple[str | None, ...]
    levels: IntArray
    """The level of each; for a range or a set the lowest level that has one label for all its values."""
    leaves: IntArray
    """The ground values of the domain under each."""
    rows: IntArray
    """The rows of the table under each."""

    @classmethod
    def at_level(cls, frequencies: FrequencyList, column: int, level: int) -> Labels:
        """Return all labels of one level of a column's hierarchy."""
        hierarchy = frequencies.hierarchies[column]
        texts = hierarchy.labels[level]
        rows = np.bincount(hierarchy.maps[level], frequencies.value_counts(column), len(texts)).astype(np.int64)
        return cls(texts, np.full(len(texts), level), hierarchy.leaves[level], rows)


class GroupLabels(Protocol):
    """Groups that carry labels of their own, as a measure asks about them."""

    @property
    def labels(self) -> tuple[Labels, ...]:
        """The labels of each column."""

    @property
    def mean_levels(self) -> tuple[float, ...]:
        """The average level of each column's released cells."""

    def over_released(self, values: Sequence[FloatArray]) -> float:
        """Sum a number per column and label over all released cells."""


class Outcome(Protocol):
    """What a measure may ask of a recoding; a search can answer it without building one."""

    @property
    def frequencies(self) -> FrequencyList:
        """The list that was recoded."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""

    @property
    def local(self) -> GroupLabels | None:
        """The groups, where each carries labels of its own; None where each column has one level."""

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Recoding(ABC):
    """Which group each row goes to, the labels it carries there, and what is suppressed."""

    form: ClassVar[Form] = ONE_TABLE
    """Which tables it makes of one."""
    takes_bound: ClassVar[bool] = False
    """Groups have labels of their own, and what every such recoding loses may be said of it."""

    frequencies: FrequencyList
    is_proven: bool | None = field(default=None, kw_only=True)
    """No other recoding that the algorithm considers is better; None where the algorithm promises no optimum."""
    gap: float | None = field(default=None, kw_only=True)
    """How much lower the loss of the optimum can be at most; None where nothing is known of that."""
    bound: Mapping[str, float] | None = field(default=None, kw_only=True)
    """By the name of a measure, the loss that no recoding of this kind gets below; None where nothing is known."""
    is_cut_short: bool = field(default=False, kw_only=True)
    """A time limit ended the algorithm before it was done."""
    is_safe: bool = field(default=True, kw_only=True)
    """The algorithm promises what the policy requires; µ-Argus does not."""

    @property
    @abstractmethod
    def node(self) -> Node:
        """The level of each quasi column; where cells climb one by one, the highest of each."""

    @property
    @abstractmethod
    def levels(self) -> dict[str, int] | None:
        """The level of each quasi column by its name; None where cells climb one by one."""

    @property
    @abstractmethod
    def released_sizes(self) -> IntArray:
        """The sizes of the released groups."""

    @property
    @abstractmethod
    def suppressed_sizes(self) -> IntArray:
        """The sizes of the suppressed groups; suppressed rows that are in no group count as one."""

    @property
    @abstractmethod
    def number_of_groups(self) -> int:
        """How many numbers of groups there are, those of suppressed groups included."""

    @abstractmethod
    def as_pieces(self) -> Pieces:
        """Return the recoding as so many rows of an entry to a group."""

    @abstractmethod
    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""

    @abstractmethod
    def looks_suppressed(self) -> bool:
        """Return whether released rows have no quasi cell at all and could not be told from suppressed, blank ones."""

    @abstractmethod
    def without_groups(self, is_left_out: BoolArray) -> Recoding:
        """Return the same recoding with some more groups suppressed, which is no longer proven to be the best."""

    def as_saved(self) -> SavedRecoding:
        """Return what the release shows of it, so that other rows of the same form can be recoded in the same way."""
        raise PolicyError("a recoding of several tables, of two or of rows that were drawn cannot be applied to others")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the release shows of it to a file of JSON, for ``apply`` and ``indistinct apply``."""
        self.as_saved().write(path)

    def _digests(self) -> dict[str, str]:
        """Return the digest of the hierarchy of each quasi column."""
        columns, hierarchies = self.frequencies.columns, self.frequencies.hierarchies
        return {name: hierarchy.digest() for name, hierarchy in zip(columns, hierarchies, strict=True)}

    @abstractmethod
    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> Plan | LocalPlan | ClassPlan:
        """Put the recoding in the engine's terms; ``extra`` columns are released as they are beside the quasi ones."""

    @abstractmethod
    def _seen_without(self, position: int | None, plain: FrequencyList, pieces: Pieces) -> Recoding:
        """Return the recoding as it looks without the quasi column at a position, on a list and pieces that lack it."""

    @property
    def local(self) -> GroupLabels | None:
        """The groups, where each carries labels of its own; None where each column has one level."""
        return None

    @property
    def stated_sizes(self) -> IntArray:
        """The sizes of the groups that a release states."""
        return self.released_sizes

    @property
    def level_names(self) -> dict[str, str] | None:
        """What the level of each column is called; None where columns have no level, or keep their cells."""
        return None

    @property
    def average_levels(self) -> dict[str, float] | None:
        """How far each column climbed on average, where cells climb one by one."""
        return None

    @property
    def states_cut_short(self) -> bool:
        """A time limit ended the algorithm, and a release may say so."""
        return self.is_cut_short

    @property
    def draws(self) -> Mapping[str, Any] | None:
        """What a manifest says of how rows were drawn; None where none were."""
        return None

    @property
    def known_events(self) -> Mapping[str, int] | None:
        """What a manifest says of events that others may know; None where a person has none."""
        return None

    def tells_measure(self, name: str) -> bool:
        """Return whether a release may state its figure by a measure; it may by all, where no chance was involved."""
        return True

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""
        return self.frequencies.rows

    @property
    def suppressed_rows(self) -> int:
        """The rows that are not released."""
        return self.rows - self.released_rows

    @property
    def released_rows(self) -> int:
        """The rows that stay."""
        return int(self.released_sizes.sum())

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""
        return len(self.released_sizes)

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""
        return len(self.suppressed_sizes)

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""
        return _sum_of_squares(self.released_sizes)

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""
        return _sum_of_squares(self.suppressed_sizes)

    def rows_by_table(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the eligible, released and suppressed rows of each of several tables; nothing where there is one."""
        return {}

    def people_facts(self, policy: Policy) -> PeopleFacts | None:
        """Say how many people are released and left out; None where each row is of somebody else."""
        people = self.frequencies.base.people
        if people is None:
            return None
        return PeopleFacts.of(self.frequencies.entries, self.as_pieces(), is_linked=policy.links_rows, tree=people.tree)

    def suppressed_as_one(self) -> Groups:
        """Return all suppressed rows as one group, with their sensitive values."""
        pieces = self.as_pieces()
        left = pieces.groups == SUPPRESSED
        tuples, rows = pieces.tuples[left], pieces.rows[left]
        tallies = self.frequencies.tallies_of(tuples, rows, np.zeros(len(tuples), np.int64))
        populations = {name: counts.everyone() for name, counts in self.frequencies.base.populations.items()}
        everyone = Groups.of_sizes([self.suppressed_rows], tallies, populations)
        return replace(everyone, people=self.frequencies.people_of(tuples, np.zeros(len(tuples), np.int64)))

    def without_column(self, name: str) -> Recoding:
        """Return the recoding as it looks to whoever does not know of one quasi or sensitive column."""
        if name not in (*self.frequencies.columns, *self.frequencies.sensitive):
            return self
        columns = self.frequencies.columns
        plain, entry_of = self.frequencies.without_column(name)
        position = columns.index(name) if name in columns else None
        return self._seen_without(position, plain, self.as_pieces().in_entries(entry_of))


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRecoding(Recoding):
    """A recoding that sends rows to groups piece by piece; what is suppressed is in none."""

    pieces: Pieces
    sizes: IntArray
    """The rows of each group."""

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the groups."""
        return self.sizes

    @property
    def suppressed_sizes(self) -> IntArray:
        """The suppressed rows count as one group."""
        return np.array([self.suppressed_rows] if self.suppressed_rows else [], np.int64)

    @property
    def number_of_groups(self) -> int:
        """How many groups there are; suppressed rows are in none."""
        return len(self.sizes)

    def as_pieces(self) -> Pieces:
        """Return so many rows of an entry to a group."""
        return self.pieces

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows, which have no label but their values."""
        left = ~self.pieces.is_released
        tuples, rows = self.pieces.tuples[left], self.pieces.rows[left]
        return sum(
            float(rows @ values[column][0][self.frequencies.entry_codes(column)[tuples]])
            for column in range(len(self.frequencies.columns))
        )


def _sum_of_squares(sizes: IntArray) -> float:
    return float(np.square(sizes, dtype=np.float64).sum())


@dataclass(frozen=True, slots=True)
class PeopleFacts:
    """How many people a release is about, and how many of them it leaves out, wholly or in part."""

    eligible: int
    released: int
    """People with at least one released row."""
    lost_rows: int
    """People with at least one suppressed row."""
    lost_all_rows: int
    """People of whom nothing is released; they are among those who lost rows."""
    smallest_group: int
    """The different people in the released group that has fewest."""
    smallest_profile: int | None = None
    """The fewest people who share a profile, where pseudonyms link the rows of a person."""

    @classmethod
    def of(
        cls, entries: Entries, pieces: Pieces, *, is_linked: bool = False, tree: RowTree | None = None
    ) -> PeopleFacts:
        """Count people by which rows of whom go where; the entries say whose they are."""
        assert entries.persons is not None  # nobody asks where each row is of somebody else
        eligible = int(entries.persons.max(initial=-1)) + 1
        goes = pieces.rows > 0
        persons = entries.persons[pieces.tuples]
        is_kept, is_lost = goes & pieces.is_released, goes & ~pieces.is_released
        groups, numbers = np.unique(pieces.groups[is_kept], return_inverse=True)
        people = People(persons[is_kept], numbers.ravel(), rows=pieces.rows[is_kept])
        sizes = people.sizes(len(groups))
        if tree is not None:  # entries are whole, and stand in their own order
            people = People(persons, np.where(is_kept, pieces.groups, NOWHERE), rows=pieces.rows, tree=tree)
        released = len(np.unique(persons[is_kept]))
        return cls(
            eligible=eligible,
            released=released,
            lost_rows=len(np.unique(persons[is_lost])),
            lost_all_rows=eligible - released,
            smallest_group=int(sizes.min(initial=eligible)),
            smallest_profile=_smallest_profile(people, eligible) if is_linked else None,
        )

    def to_dict(self) -> dict[str, int]:
        """Return the counts as a manifest says them."""
        return {name: number for name, number in asdict(self).items() if number is not None}


def _smallest_profile(people: People, eligible: int) -> int:
    """Return the fewest people who have as many rows in the same groups."""
    _, class_of = people.by_profile()
    return int(np.bincount(class_of[class_of >= 0]).min(initial=eligible))
