"""FrequencyList: the waist of the hourglass, where every algorithm works.

A frequency list holds each distinct quasi-identifier tuple of a table once, with the number of its rows. Rolled up to
a node (one level per column), tuples merge into groups: the equivalence classes of the generalized table.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from indistinct.array_types import Array, BoolArray, IntArray, UIntArray
from indistinct.counting.bottom import lowest_bottom, merged_codes
from indistinct.counting.declared_cells import mistakes_with_rows, rows_without
from indistinct.counting.groups import Groups, Layout, Node, PopulationCounts, Tally
from indistinct.counting.kernels import grouping
from indistinct.counting.membership import People
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy

if TYPE_CHECKING:
    from indistinct.engine import Encoded
    from indistinct.policy import Policy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sensitive:
    """A sensitive column that models ask about: its values, and its hierarchy for them if it has one."""

    values: tuple[str | None, ...]
    hierarchy: CompiledHierarchy | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """Each tuple with each combination of sensitive values and person that it occurs with: the finest parts of a table.

    Where no model asks about sensitive values, and each person has one row, an entry is a tuple.
    """

    tuples: IntArray
    """The position of each entry's tuple in the list."""
    counts: IntArray
    """The rows of each entry."""
    codes: Mapping[str, IntArray] = field(default_factory=dict)
    """The value code of each entry in each sensitive column, and in each column that says whose row it is."""
    persons: IntArray | None = None
    """The number of each entry's person, where people may have several rows."""

    def __len__(self) -> int:
        return len(self.tuples)


SEARCHING_THREADS = 4
"""So many threads search at most, each with a place of its own for every tuple."""
BYTES_OF_TUPLE = 24 + 28 * min(os.cpu_count() or 1, SEARCHING_THREADS)
"""What a distinct tuple takes while it is listed and searched: 83 bytes were measured with two threads."""


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyList:
    """Each distinct quasi-identifier tuple with the number of its rows, and the hierarchies compiled for its values.

    ``base`` has the tuples, at the node at which they were counted: where they were too many, it lies above the lowest
    (see bottom.py). ``entries`` are the tuples divided by their sensitive values and people; ``sensitive`` describes
    the columns of those.
    """

    columns: tuple[str, ...]
    hierarchies: tuple[CompiledHierarchy, ...]
    weights: tuple[float, ...]
    base: Groups
    entries: Entries
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    value_rows: tuple[IntArray, ...] = ()
    """The rows of each value of each column, where the tuples do not tell."""
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """The rows by column whose cell the policy's hierarchy cannot read, as it was dealt with before counting."""
    has_absent: bool = False
    """The last value of each column, which keeps a label of its own, is that of rows that have no such column."""
    _memory: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def count(cls, encoded: Encoded, policy: Policy, *, may_merge: bool = False) -> FrequencyList:
        """Count rows that were encoded for a policy by their quasi-identifier; see ``encode_eligible``.

        If it ``may_merge``, tables with more tuples than ``encoded.max_tuples`` are counted at a higher node.
        """
        columns, asked, person = tuple(policy.quasi), policy.asked_sensitive, policy.person_columns
        values = encoded.values
        refuse_nobodies(encoded, person)
        compiled = compile_columns(encoded, policy, (*columns, *asked))
        quasi = {column: compiled[column] for column in columns}
        apart = (*asked, *person)
        bottom = lowest_bottom(encoded, quasi, apart) if may_merge and encoded.max_tuples is not None else ()
        merged = merged_codes(quasi, bottom) if any(bottom) else {}
        encoded.make_room((*columns, *apart), merged, BYTES_OF_TUPLE)
        counted = encoded.count_merged((*columns, *apart), merged) if merged else encoded.count_by((*columns, *apart))
        weights = tuple(policy.columns[column].weight for column in columns)
        described = {
            column: Sensitive(values[column], compiled[column] if compiled[column].height else None) for column in asked
        }
        sensitive = {
            column: (described.get(column), codes)
            for column, codes in zip(apart, counted.codes[len(columns) :], strict=True)
        }
        hierarchies = [compiled[column] for column in columns]
        of_tuples = counted.codes[: len(columns)]
        found = cls.of_codes(columns, hierarchies, of_tuples, counted.counts, weights, sensitive, bottom or None)
        if encoded.unreadable:
            found = replace(found, unreadable=encoded.unreadable)
        if not any(bottom):
            return found
        return replace(found, value_rows=tuple(_value_rows(encoded, name, quasi[name]) for name in columns))

    @classmethod
    def of_codes(
        cls,
        columns: Sequence[str],
        hierarchies: Sequence[CompiledHierarchy],
        codes: Sequence[Array],
        counts: IntArray,
        weights: Sequence[float] | None = None,
        sensitive: Mapping[str, tuple[Sensitive | None, Array]] | None = None,
        node: Node | None = None,
    ) -> FrequencyList:
        """Build the list from one array of value codes per column, in an order that depends on the tuples alone.

        Sensitive columns come with their codes; the same tuple then occurs once with each combination of their values.
        A code below 0 is that of a row which has no such column.
        So do columns that say whose row it is, of which nothing else is known.
        Where tuples were counted at a higher ``node``, each comes with any value under its labels.
        """
        sensitive = sensitive or {}
        node = (0,) * len(columns) if node is None else node
        codes = [
            hierarchy.maps[level][code] if level else code
            for hierarchy, code, level in zip(hierarchies, codes, node, strict=True)
        ]
        layout = Layout.for_sizes([len(hierarchy.values) for hierarchy in hierarchies])
        keys = grouping.pack([*map(np.asarray, codes)], layout.words, layout.shifts, layout.number_of_words)
        del codes  # a list may fill the memory, and they are in the keys
        extra = [np.asarray(codes).astype(np.int64) for _, codes in sensitive.values()]
        order = _order_of(keys, extra)
        keys, counts = keys[order], np.asarray(counts, np.int64)[order]
        is_new = np.ones(len(keys), np.bool_)
        is_new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        tuples = np.cumsum(is_new) - 1
        value_codes = {name: codes[order] for name, codes in zip(sensitive, extra, strict=True)}
        described = {name: column for name, (column, _) in sensitive.items() if column is not None}
        persons = number_persons([codes for name, codes in value_codes.items() if name not in described])
        tallies = {}
        for name, column in described.items():
            has = slice(None) if (value_codes[name] >= 0).all() else value_codes[name] >= 0
            tallies[name] = Tally.of(tuples[has], value_codes[name][has], counts[has], column.values, column.hierarchy)
        sizes = np.bincount(tuples, counts, int(is_new.sum())).astype(np.int64) if sensitive else counts
        values = {name: value_codes[name] for name in described}
        people = None if persons is None else People(persons, tuples, values, rows=counts)
        base = Groups(sizes, keys[is_new] if sensitive else keys, node, layout, tallies, people=people)
        weights = (1.0,) * len(columns) if weights is None else tuple(float(weight) for weight in weights)
        entries = Entries(tuples, counts, value_codes, persons)
        return cls(tuple(columns), tuple(hierarchies), weights, base, entries, described)

    @property
    def rows(self) -> int:
        """The number of rows counted."""
        return self.base.rows

    @property
    def lowest(self) -> Node:
        """The bottom of the lattice: all columns as they are, unless tuples were counted at a higher node."""
        return self.base.node

    @property
    def start(self) -> Node:
        """The lowest node of a release: at least where tuples were counted, and at the levels that are demanded."""
        levels = zip(self.base.node, (hierarchy.lowest for hierarchy in self.hierarchies), strict=True)
        return tuple(max(counted, demanded) for counted, demanded in levels)

    @property
    def is_start_raised(self) -> bool:
        """Tuples were counted above the lowest node that the policy allows: nothing is known of nodes below."""
        levels = zip(self.base.node, (hierarchy.lowest for hierarchy in self.hierarchies), strict=True)
        return any(counted > demanded for counted, demanded in levels)

    @property
    def heights(self) -> Node:
        """The height of each column's hierarchy: the top node of the lattice."""
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    def entry_codes(self, column: int) -> IntArray:
        """Return the value code of a quasi column in each entry: that of its tuple."""
        codes = self.tuple_codes(column)
        return codes[self.entries.tuples] if self.entries.codes else codes

    def tuple_codes(self, column: int) -> IntArray:
        """Return the value code of a column in each tuple; the first value under its label, if it was counted
        higher.
        """
        codes, level = self.base.label_codes(column), self.base.node[column]
        if not level:
            return codes
        labels_of_values = self.hierarchies[column].maps[level]
        first = np.zeros(len(self.hierarchies[column].labels[level]), np.int64)
        first[labels_of_values[::-1]] = np.arange(len(labels_of_values))[::-1]
        return first[codes]

    def tallies_of(
        self, entries: IntArray, rows: IntArray, parts: IntArray, totals: Mapping[str, IntArray] | None = None
    ) -> dict[str, Tally]:
        """Tally the sensitive values of parts, each made of so many rows of some entries.

        The totals are those of the whole list, unless others are given.
        """
        tallies = {}
        for name, column in self.sensitive.items():
            values = self.entries.codes[name][entries]
            has = values >= 0 if self.has_absent else slice(None)
            tallies[name] = Tally.of(
                parts[has],
                values[has],
                rows[has],
                column.values,
                column.hierarchy,
                self.base.tallies[name].totals if totals is None else totals[name],
            )
        return tallies

    def populations_of(self, entries: IntArray, parts: IntArray, number: int) -> dict[str, PopulationCounts]:
        """Return the people of each population that surely fit parts, each made of some entries."""
        tuples = self.entries.tuples[entries]
        return {
            name: counts.of_parts(self.base, tuples, parts, number) for name, counts in self.base.populations.items()
        }

    def people_of(
        self, entries: IntArray, parts: IntArray, totals: Mapping[str, tuple[IntArray, int]] | None = None
    ) -> People | None:
        """Return who stands in parts, each made of some entries; None where each person has one row.

        The totals are those of the whole list, unless others are given.
        """
        if self.base.people is None:
            return None
        values = {name: self.entries.codes[name][entries] for name in self.sensitive}
        persons = self.base.people.persons[entries]
        return People(persons, parts, values, self.people_totals() if totals is None else totals)

    def people_totals(self, is_left: BoolArray | None = None) -> dict[str, tuple[IntArray, int]]:
        """Return the people of each value of each sensitive column, and of all, among the entries that are left."""
        people = self.base.people
        if people is None or not self.sensitive:
            return {}

        def count() -> dict[str, tuple[IntArray, int]]:
            left = people if is_left is None else replace(people, groups=np.where(is_left, people.groups, -1))
            return {name: left.totals_of(name, len(column.values)) for name, column in self.sensitive.items()}

        return self.remember("people", count) if is_left is None else count()

    def rows_of(self, column: int) -> int:
        """Return the number of rows that have a column at all."""
        return self.rows - int(self.value_counts(column)[-1]) if self.has_absent else self.rows

    def value_counts(self, column: int) -> IntArray:
        """Return the number of rows that carry each value of a column."""
        if self.value_rows:
            return self.value_rows[column]

        def count() -> IntArray:
            codes = self.tuple_codes(column)
            return np.bincount(codes, self.base.sizes, len(self.hierarchies[column].values)).astype(np.int64)

        return self.remember(("value counts", column), count)

    def roll_up(self, node: Node, start: Groups | None = None) -> tuple[Groups, IntArray]:
        """Return the groups at a node and the group of each tuple of ``start``, any groups at a node below."""
        start = self.base if start is None else start
        maps = {}
        for column, (level, goal) in enumerate(zip(start.node, node, strict=True)):
            if goal > level:
                maps[column] = self.coarser(column, level, goal)
        return start.merge(maps, node)

    def coarser(self, column: int, level: int, goal: int) -> UIntArray:
        """Return the map of a column's label codes at one level to those at a higher one."""

        def compose() -> UIntArray:
            hierarchy = self.hierarchies[column]
            codes = np.arange(len(hierarchy.labels[level]))
            for step in range(level, goal):
                codes = hierarchy.step(step)[codes]
            return codes.astype(np.uint64)

        return self.remember(("coarser", column, level, goal), compose)

    def digest(self) -> str:
        """Return a digest of all that was counted, the same for the same rows in any order."""
        found = hashlib.sha256(repr((self.columns, self.base.node)).encode())
        for hierarchy in self.hierarchies:
            found.update(repr(hierarchy.values).encode())
        for array in (self.base.keys, self.entries.tuples, self.entries.counts, *self.entries.codes.values()):
            found.update(np.ascontiguousarray(array).astype("<u8").tobytes())
        for column in self.sensitive.values():
            found.update(repr(column.values).encode())
        return found.hexdigest()

    def without_column(self, name: str) -> tuple[FrequencyList, IntArray]:
        """Return the list without a quasi or sensitive column, and the entry there of each entry here."""
        others = [position for position, own in enumerate(self.columns) if own != name]
        apart = {own: codes for own, codes in self.entries.codes.items() if own != name}
        codes = np.stack([*(self.entry_codes(other) for other in others), *apart.values()])
        distinct, entry_of = np.unique(codes, axis=1, return_inverse=True)
        counts = np.bincount(entry_of.ravel(), self.entries.counts, distinct.shape[1]).astype(np.int64)
        plain = FrequencyList.of_codes(
            [self.columns[other] for other in others],
            [self.hierarchies[other] for other in others],
            list(distinct[: len(others)]),
            counts,
            [self.weights[other] for other in others],
            {own: (self.sensitive.get(own), distinct[len(others) + place]) for place, own in enumerate(apart)},
            tuple(self.base.node[other] for other in others),
        )
        if self.value_rows:
            plain = replace(plain, value_rows=tuple(self.value_rows[other] for other in others))
        there = np.stack([*map(plain.entry_codes, range(len(others))), *plain.entries.codes.values()])
        place_of = np.empty(len(counts), np.int64)
        place_of[np.lexsort(distinct)] = np.lexsort(there)  # both hold the same entries, each in its own order
        return plain, place_of[entry_of.ravel()]

    def afresh(self) -> FrequencyList:
        """The same list with nothing remembered, so that the time to work it out can be measured."""
        return replace(self, _memory={})

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``compute`` gave the first time it was asked for under this key."""
        if key not in self._memory:
            self._memory[key] = compute()
        value: T = self._memory[key]
        return value


def _order_of(keys: UIntArray, extra: Sequence[IntArray]) -> IntArray:
    """Return the order of tuples by their keys and then by what tells them apart, which no two of them share."""
    if not len(keys):
        return np.empty(0, np.int64)
    if extra or keys.shape[1] > 1:
        return np.lexsort((*extra[::-1], *keys.T))
    return np.argsort(keys[:, 0])


def compile_columns(encoded: Encoded, policy: Policy, columns: Sequence[str]) -> dict[str, CompiledHierarchy]:
    """Return the hierarchies of some columns for the values at hand, or raise one error with all that do not fit."""
    compiled, mistakes = {}, []
    for column in columns:
        try:
            compiled[column] = policy.columns[column].compile(encoded.values[column])
        except PolicyError as error:
            mistakes += mistakes_with_rows(encoded, column, error)
    if mistakes:
        raise PolicyError(mistakes)
    return compiled


def refuse_nobodies(encoded: Encoded, person: Sequence[str]) -> None:
    """Raise if eligible rows have nothing in a column that says whose row it is."""
    mistakes = [
        f"person: {rows} in {column!r}, which says whose row it is; fill it in, or leave such rows out with a filter "
        "(op = 'present')"
        for column, rows in rows_without(encoded, person).items()
    ]
    if mistakes:
        raise PolicyError(mistakes)


def number_persons(columns: Sequence[IntArray]) -> IntArray | None:
    """Number the people whom some columns of codes tell apart; None if there is no such column."""
    if not columns:
        return None
    persons = np.zeros(len(columns[0]), np.int64)
    for codes in columns:  # numbered anew each time, so that no product grows too large
        persons = np.unique(persons * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].ravel()
    return persons.astype(np.int64)


def _value_rows(encoded: Encoded, column: str, hierarchy: CompiledHierarchy) -> IntArray:
    counted = encoded.count_by([column])
    found = np.zeros(len(hierarchy.values), np.int64)
    found[counted.codes[0]] = counted.counts
    return found
