"""Groups: the equivalence classes at a node, with the sensitive values and the people that models ask about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from indistinct.array_types import BoolArray, IntArray, UIntArray, np
from indistinct.counting.membership import People
from indistinct.hierarchy import CompiledHierarchy

Node = tuple[int, ...]
"""One level per quasi-identifying column: Samarati's distance vector."""


WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each column's code lies in a key: a word, a shift and a mask."""

    words: IntArray
    shifts: IntArray
    masks: UIntArray
    number_of_words: int

    @classmethod
    def for_sizes(cls, sizes: Sequence[int]) -> Layout:
        """Lay out one field per column, as few words as a first fit gives, no field in two words.

        >>> Layout.for_sizes([2, 100, 2**40]).words.tolist()
        [0, 0, 0]
        >>> Layout.for_sizes([2**40, 2**40, 2**20]).words.tolist()
        [0, 1, 0]
        """
        used: list[int] = []
        words, shifts, masks = [], [], []
        for size in sizes:
            bits = max(1, (max(size, 1) - 1).bit_length())
            word = next((w for w, taken in enumerate(used) if taken + bits <= WORD_BITS), len(used))
            if word == len(used):
                used.append(0)
            words.append(word)
            shifts.append(used[word])
            masks.append((1 << bits) - 1)
            used[word] += bits
        return cls(np.array(words, np.int64), np.array(shifts, np.int64), np.array(masks, np.uint64), max(1, len(used)))


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each value of a sensitive column occurs in each group: sorted by group, each value of a group once."""

    groups: IntArray
    values: IntArray
    counts: IntArray
    totals: IntArray
    """The rows of each value in all groups that are released together."""
    texts: tuple[str | None, ...]
    """The values; a missing one is a value like any other."""
    hierarchy: CompiledHierarchy | None = None
    """The column's hierarchy for these values, if it has one."""
    whole: int = 0
    """The people of whom the totals are, where people are counted; 0 where the totals add up to all rows."""
    holders: IntArray | None = None
    """The people of each group who have a value at all; None where everybody has one.

    Not everybody has a row in each of several tables. Whether somebody has one is part of her profile, so in a group
    either all people have a value or none does.
    """

    @classmethod
    def of(
        cls,
        groups: IntArray,
        values: IntArray,
        counts: IntArray,
        texts: Sequence[str | None],
        hierarchy: CompiledHierarchy | None = None,
        totals: IntArray | None = None,
    ) -> Tally:
        """Add up counts of the same group and value; the totals are those of these groups unless others are given.

        >>> Tally.of(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([2, 3, 4]), ["flu", "HIV"]).counts
        array([6, 3])
        """
        number = max(1, len(texts))
        keys = groups * number + values
        most = int(keys.max(initial=-1)) + 1
        if most <= 4 * len(keys) + 1024:
            sums = np.bincount(keys, counts, most)
            found = np.flatnonzero(sums)
            added = sums[found].astype(np.int64)
        else:
            found, where = np.unique(keys, return_inverse=True)
            added = np.bincount(where, counts, len(found)).astype(np.int64)
            found, added = found[added > 0], added[added > 0]
        in_group, value = np.divmod(found, number)
        if totals is None:
            totals = np.bincount(value, added, len(texts)).astype(np.int64)
        return cls(in_group, value, added, totals, tuple(texts), hierarchy)

    def merge(self, group_of: IntArray) -> Tally:
        """The tally of groups that were merged, each into the group of this number."""
        return Tally.of(group_of[self.groups], self.values, self.counts, self.texts, self.hierarchy, self.totals)

    def only(self, is_kept: BoolArray) -> Tally:
        """The tally of what is left when some groups are taken out."""
        stays = is_kept[self.groups]
        return Tally.of(self.groups[stays], self.values[stays], self.counts[stays], self.texts, self.hierarchy)

    def dense(self, groups: int) -> IntArray:
        """Return the counts as a table, one row per group and one column per value."""
        table = np.zeros((groups, len(self.texts)), np.int64)
        table[self.groups, self.values] = self.counts
        return table


class PopulationCounts(Protocol):
    """How many people of a population fit groups: what models ask that count k there, and not in the release."""

    def of(self, groups: Groups) -> IntArray:
        """Return the people that fit each group."""

    def of_parts(self, base: Groups, tuples: IntArray, parts: IntArray, number: int) -> PopulationCounts:
        """Return at most the people that fit parts, each made of some tuples: those who have such a tuple
        themselves.
        """

    def only(self, columns: Sequence[int]) -> PopulationCounts:
        """The same people, of whom only these columns are known."""

    def everyone(self) -> PopulationCounts:
        """Return all people, for one group that everybody fits."""


@dataclass(frozen=True, slots=True)
class FixedPopulationCounts:
    """People that were counted for groups of which nothing else is known."""

    people: IntArray

    def of(self, groups: Groups) -> IntArray:
        """Return the people that were counted."""
        return self.people

    def of_parts(self, base: Groups, tuples: IntArray, parts: IntArray, number: int) -> PopulationCounts:
        """Nothing is known of single tuples."""
        raise LookupError("people were counted for groups, not for tuples")

    def only(self, columns: Sequence[int]) -> PopulationCounts:
        """Nothing is known of single columns."""
        raise LookupError("people were counted for all columns together")

    def everyone(self) -> PopulationCounts:
        """Nothing is known of others."""
        raise LookupError("only the people of some groups were counted")


@dataclass(frozen=True, slots=True)
class Groups:
    """The equivalence classes at a node: their keys of label codes and their sizes in rows.

    ``tallies`` has a tally for each sensitive column that models ask about, ``populations`` the people of each
    population that they ask about, ``people`` who stands in which group, where a person may have several rows.
    """

    sizes: IntArray
    keys: UIntArray
    node: Node
    layout: Layout
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    populations: Mapping[str, PopulationCounts] = field(default_factory=dict)
    people: People | None = None

    @classmethod
    def of_sizes(
        cls,
        sizes: Sequence[int] | IntArray,
        tallies: Mapping[str, Tally] | None = None,
        populations: Mapping[str, PopulationCounts] | None = None,
    ) -> Groups:
        """Groups of which only sizes and sensitive values are known, as a recount of released cells gives them.

        >>> len(Groups.of_sizes([1, 2, 3]))
        3
        """
        sizes = np.asarray(sizes, np.int64)
        keys = np.empty((len(sizes), 1), np.uint64)
        return cls(sizes, keys, (), Layout.for_sizes([]), tallies or {}, populations or {})

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """The number of rows in all groups."""
        return int(self.sizes.sum())

    def in_people(self, columns: Collection[str] | None = None) -> Groups:
        """Return the groups as models see them: sizes and sensitive values in people, where those have several rows.

        Values of some ``columns`` alone are counted, where these are given, since each takes a pass over all rows.
        """
        return self if self.people is None else self.people.weigh(self, columns)

    def sizes_in_people(self) -> IntArray:
        """Return the number of people in each group."""
        return self.sizes if self.people is None else self.people.sizes(len(self))

    def number_of_people(self, is_chosen: BoolArray) -> int:
        """Return the number of people in some groups together: one for each row, unless it is known whose they are."""
        if self.people is None:
            return int(self.sizes[is_chosen].sum())
        return int(np.count_nonzero(np.bincount(self.people.persons[is_chosen[self.people.groups]])))

    def label_codes(self, column: int) -> IntArray:
        """Return the label code of one column in each group."""
        from indistinct.counting.kernels import grouping

        layout = self.layout
        codes: IntArray = grouping.unpack(
            self.keys, int(layout.words[column]), int(layout.shifts[column]), int(layout.masks[column])
        )
        return codes

    def merge(self, maps: Mapping[int, UIntArray], node: Node) -> tuple[Groups, IntArray]:
        """Merge groups that coincide when some columns take coarser codes; also tell where each group went."""
        from indistinct.counting.kernels import grouping

        layout = self.layout
        columns = np.fromiter(maps, np.int64, len(maps))
        lengths = [len(codes) for codes in maps.values()]
        offsets = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
        flat = np.concatenate([*maps.values(), np.empty(0, np.uint64)])
        fields = layout.words[columns], layout.shifts[columns], layout.masks[columns]
        with np.errstate(over="ignore"):  # hashing wraps around, which NumPy remarks on when numba is switched off
            keys, sizes, group_of = grouping.roll_up(self.keys, self.sizes, *fields, offsets, flat)
        tallies = {column: tally.merge(group_of) for column, tally in self.tallies.items()}
        people = None if self.people is None else self.people.merge(group_of)
        return Groups(sizes, keys, node, layout, tallies, self.populations, people), group_of

    def only(self, columns: Sequence[int]) -> tuple[Groups, IntArray]:
        """Merge groups that coincide in these columns; also tell where each group went."""
        others = [column for column in range(len(self.layout.words)) if column not in set(columns)]
        zeros = {column: np.zeros(int(self.layout.masks[column]) + 1, np.uint64) for column in others}
        merged, group_of = self.merge(zeros, self.node)
        populations = {name: counts.only(columns) for name, counts in self.populations.items()}
        return replace(merged, populations=populations), group_of

    def without(self, is_suppressed: BoolArray) -> Groups:
        """The same groups, those that are suppressed without rows."""
        tallies = {column: tally.only(~is_suppressed) for column, tally in self.tallies.items()}
        people = None if self.people is None else self.people.without(is_suppressed)
        return replace(self, sizes=np.where(is_suppressed, 0, self.sizes), tallies=tallies, people=people)
