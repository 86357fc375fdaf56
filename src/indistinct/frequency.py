"""FrequencyList and Groups: the waist of the hourglass, where every algorithm works.

A frequency list holds each distinct quasi-identifier tuple of a table once, with the number of its rows. Rolled up to
a node (one level per column), tuples merge into groups: the equivalence classes of the generalized table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.kernels import grouping

if TYPE_CHECKING:
    from indistinct.engine import Rows
    from indistinct.policy import Policy

Node = tuple[int, ...]
"""One level per quasi-identifying column: Samarati's distance vector."""

IntArray = NDArray[np.int64]
UIntArray = NDArray[np.uint64]
T = TypeVar("T")

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
class Groups:
    """The equivalence classes at a node: their keys of label codes and their sizes in rows."""

    sizes: IntArray
    keys: UIntArray
    node: Node
    layout: Layout

    @classmethod
    def of_sizes(cls, sizes: Sequence[int] | IntArray) -> Groups:
        """Groups of which only the sizes are known, as a recount of released cells gives them.

        >>> len(Groups.of_sizes([1, 2, 3]))
        3
        """
        sizes = np.asarray(sizes, np.int64)
        return cls(sizes, np.empty((len(sizes), 1), np.uint64), (), Layout.for_sizes([]))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """The number of rows in all groups."""
        return int(self.sizes.sum())

    def label_codes(self, column: int) -> IntArray:
        """Give the label code of one column in each group."""
        layout = self.layout
        codes: IntArray = grouping.unpack(
            self.keys, int(layout.words[column]), int(layout.shifts[column]), int(layout.masks[column])
        )
        return codes

    def merged(self, maps: Mapping[int, UIntArray], node: Node) -> tuple[Groups, IntArray]:
        """Merge groups that coincide when some columns take coarser codes; also tell where each group went."""
        layout = self.layout
        columns = np.fromiter(maps, np.int64, len(maps))
        lengths = [len(codes) for codes in maps.values()]
        offsets = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
        flat = np.concatenate([*maps.values(), np.empty(0, np.uint64)])
        fields = layout.words[columns], layout.shifts[columns], layout.masks[columns]
        with np.errstate(over="ignore"):  # hashing wraps around, which NumPy remarks on when numba is switched off
            keys, sizes, group_of = grouping.roll_up(self.keys, self.sizes, *fields, offsets, flat)
        return Groups(sizes, keys, node, layout), group_of

    def only(self, columns: Sequence[int]) -> tuple[Groups, IntArray]:
        """Merge groups that coincide in these columns; also tell where each group went."""
        others = [column for column in range(len(self.layout.words)) if column not in set(columns)]
        zeros = {column: np.zeros(int(self.layout.masks[column]) + 1, np.uint64) for column in others}
        return self.merged(zeros, self.node)

    def with_sizes(self, sizes: IntArray) -> Groups:
        """The same groups with other sizes: what is left of them when some rows are taken out."""
        return replace(self, sizes=sizes)


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyList:
    """Each distinct quasi-identifier tuple with the number of its rows, and the hierarchies compiled for its values."""

    columns: tuple[str, ...]
    hierarchies: tuple[CompiledHierarchy, ...]
    weights: tuple[float, ...]
    base: Groups
    _memory: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def count(cls, rows: Rows, policy: Policy) -> FrequencyList:
        """Count the eligible rows of a table by their quasi-identifier: the only full scan before the release."""
        columns = tuple(policy.quasi)
        values = rows.encode(columns, [condition.as_triple() for condition in policy.eligible])
        hierarchies, mistakes = [], []
        for column in columns:
            try:
                hierarchies.append(policy.columns[column].compile(values[column]))
            except PolicyError as error:
                codes: tuple[int, ...] = getattr(error, "codes", ())
                mistakes += [f"column {column!r}: {mistake}" for mistake in error.mistakes]
                if codes and (where := rows.rows_with(column, codes)):
                    mistakes[-1] += f" (data rows {', '.join(map(str, where))}{', …' if len(where) == 5 else ''})"
        if mistakes:
            raise PolicyError(mistakes)
        counted = rows.count_by(columns)
        weights = tuple(policy.columns[column].weight for column in columns)
        return cls.of_codes(columns, hierarchies, counted.codes, counted.counts, weights)

    @classmethod
    def of_codes(
        cls,
        columns: Sequence[str],
        hierarchies: Sequence[CompiledHierarchy],
        codes: Sequence[NDArray[Any]],
        counts: IntArray,
        weights: Sequence[float] | None = None,
    ) -> FrequencyList:
        """Build the list from one array of value codes per column, in an order that depends on the tuples alone."""
        layout = Layout.for_sizes([len(hierarchy.values) for hierarchy in hierarchies])
        stacked = np.stack([np.asarray(code).astype(np.uint64) for code in codes]) if codes else np.zeros((0, 0), "u8")
        keys = grouping.pack(stacked, layout.words, layout.shifts, layout.number_of_words)
        order = np.lexsort(keys.T) if len(keys) else np.empty(0, np.int64)
        node = (0,) * len(columns)
        base = Groups(np.asarray(counts, np.int64)[order], keys[order], node, layout)
        weights = (1.0,) * len(columns) if weights is None else tuple(float(weight) for weight in weights)
        return cls(tuple(columns), tuple(hierarchies), weights, base)

    @property
    def rows(self) -> int:
        """The number of rows counted."""
        return self.base.rows

    @property
    def heights(self) -> Node:
        """The height of each column's hierarchy: the top node of the lattice."""
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    def value_counts(self, column: int) -> IntArray:
        """Give the number of rows that carry each value of a column."""
        codes = self.base.label_codes(column)
        return np.bincount(codes, self.base.sizes, len(self.hierarchies[column].values)).astype(np.int64)

    def roll_up(self, node: Node, start: Groups | None = None) -> tuple[Groups, IntArray]:
        """Give the groups at a node and the group of each tuple of ``start``, any groups at a node below."""
        start = self.base if start is None else start
        maps = {}
        for column, (level, goal) in enumerate(zip(start.node, node, strict=True)):
            if goal > level:
                maps[column] = self.coarser(column, level, goal)
        return start.merged(maps, node)

    def coarser(self, column: int, level: int, goal: int) -> UIntArray:
        """Give the map of a column's label codes at one level to those at a higher one."""

        def compose() -> UIntArray:
            hierarchy = self.hierarchies[column]
            codes = hierarchy.step(level)
            for step in range(level + 1, goal):
                codes = hierarchy.step(step)[codes]
            return codes.astype(np.uint64)

        return self.remember(("coarser", column, level, goal), compose)

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Give what ``compute`` gave the first time it was asked for under this key."""
        if key not in self._memory:
            self._memory[key] = compute()
        value: T = self._memory[key]
        return value


def kernels_are_compiled() -> bool:
    """Tell whether an earlier run has left compiled kernels in numba's cache; True also where nothing is compiled."""
    file = getattr(getattr(grouping.roll_up, "_cache", None), "_cache_file", None)  # every run rolls up
    index = getattr(file, "_index_path", None)
    return index is None or Path(index).exists()
