"""SetCounts: which tuples go at a node where k rows are asked for by each of many sets of columns.

What is counted by a set depends on the levels of its own columns alone, so it is counted once and serves every node
with these levels. A set with too many failing rows fails at every node below as well, whatever the other columns are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from indistinct.counting import FrequencyList, Groups, IntArray, Node
from indistinct.counting.kernels import grouping
from indistinct.search.full_domain.best_node.kernels import column_sets

UNKNOWN, TOO_MANY = -2, -1
"""What is known of a set at some levels: nothing yet, that it fails, or the number of its entry."""
MOST_CELLS = 20_000_000
"""Sets and levels together: of more nothing could be remembered."""
MOST_COUNTS = 16_000_000
"""Counts that are kept; when there are more, all are forgotten before the next node."""
FEWEST_PLACES = 1024
"""Label combinations are addressed directly up to so many, or to as many as there are tuples."""
MOST_KEYS = 1 << 62
FEWER = 4
"""A set is counted from a list of its own if that is so many times shorter."""


class SetCounts:
    """Tuples with their label codes by column and level, and the sets of columns that each have a k."""

    def __init__(
        self,
        codes: Any,
        first_rows: Sequence[int],
        labels: Sequence[Sequence[int]],
        sizes: Any,
        sets: dict[Any, int],
        index: tuple[Any, Any, Any] | None = None,
    ) -> None:
        """Take codes (rows, tuples), each column's first row, the labels at each of its levels, and k by set.

        The index of labels, if it was made before.
        """
        self._codes, self._sizes, self._labels = codes, sizes, labels
        self._first = np.array(first_rows, np.int64)
        self._index = _index_labels(codes, labels) if index is None else index
        self._sets = [np.array(columns, np.int64) for columns in sets]
        self._ks = np.array(list(sets.values()), np.int64)
        masks = [sum(1 << column for column in columns) for columns in sets]
        self._masks = np.array(masks, np.uint64 if len(labels) < 64 else object)
        heights = [len(own) for own in labels]
        widest = max(map(len, self._sets))
        self._columns = np.zeros((len(sets), widest), np.int64)
        self._steps = np.zeros((len(sets), widest), np.int64)
        offsets = []
        cells = 0
        for number, columns in enumerate(self._sets):
            shape = [heights[column] for column in columns]
            self._columns[number, : len(columns)] = columns
            self._steps[number, : len(columns)] = np.cumprod([1, *shape[::-1]])[-2::-1]
            offsets.append(cells)
            cells += math.prod(shape)
        self._offsets = np.array(offsets, np.int64)
        self._entry_at = np.full(cells, UNKNOWN, np.int64)
        self._shapes = [tuple(heights[column] for column in columns) for columns in self._sets]
        self._lists: dict[int, tuple[Any, Any]] = {}
        self._everything = np.arange(len(sizes), dtype=np.int32), sizes
        self._needed: dict[int, IntArray] = {}
        self._hits = np.zeros(len(sets), np.int64)
        self._gone = np.zeros(len(sizes), np.bool_), np.empty(len(sizes), np.int32)
        self._forget()

    @staticmethod
    def serves(sets: dict[Any, int], heights: Sequence[int]) -> bool:
        """Return whether so many sets and levels can be remembered."""
        cells = sum([math.prod(heights[column] + 1 for column in columns) for columns in sets])
        return bool(cells <= MOST_CELLS)

    @classmethod
    def of_list(cls, frequencies: FrequencyList, sets: dict[Any, int]) -> SetCounts:
        """Take the tuples of a frequency list, at every level from that at which they were counted."""
        lowest, heights = frequencies.lowest, frequencies.heights
        labels = [
            [len(hierarchy.labels[level]) for level in range(low, high + 1)]
            for hierarchy, low, high in zip(frequencies.hierarchies, lowest, heights, strict=True)
        ]
        first = np.cumsum([0, *map(len, labels)])[:-1].tolist()

        def code() -> Any:
            codes = np.empty((sum(map(len, labels)), len(frequencies.base)), np.int32)
            for column, low in enumerate(lowest):
                own = frequencies.base.label_codes(column)
                for step in range(len(labels[column])):
                    codes[first[column] + step] = frequencies.coarser(column, low, low + step)[own]
            return codes

        sizes = _short(frequencies.base.sizes)
        codes = frequencies.remember("codes by level", code)
        index = frequencies.remember("tuples by label", lambda: _index_labels(codes, labels))
        return cls(codes, first, labels, sizes, sets, index)

    @classmethod
    def of_groups(cls, groups: Groups, sets: dict[Any, int]) -> SetCounts:
        """Take groups at a node, with the labels that they have there and no other level."""
        columns = range(len(groups.layout.words))
        codes = np.stack([groups.label_codes(column).astype(np.int32) for column in columns])
        labels = [[int(own.max(initial=0)) + 1] for own in codes]
        return cls(codes, list(columns), labels, _short(groups.sizes), sets)

    def _forget(self) -> None:
        self._entry_at[self._entry_at >= 0] = UNKNOWN
        self._counts = np.zeros(1 << 16, self._sizes.dtype)
        self._places = np.zeros(1, np.int32)
        self._fails = np.zeros(1 << 12, np.int32)
        self._used = [0, 0, 0]
        self._entries = np.empty((64, 5), np.int64)
        self._strides = np.zeros((64, self._columns.shape[1]), np.int64)
        self._number = 0

    def taken_out(self, steps: Sequence[int], at_most: int) -> tuple[Any, int]:
        """Return the tuples that must go where columns are so many steps above their first level, and their rows.

        If that is more than ``at_most`` rows, they are only some of them. ``at_most`` must be the same each time.
        """
        if self._used[0] + self._used[1] > MOST_COUNTS:
            self._forget()
        needed = self._sets_needed(steps)
        levels = np.asarray(steps, np.int64)
        cells = self._offsets[needed] + (levels[self._columns[needed]] * self._steps[needed]).sum(axis=1)
        found = self._entry_at[cells]
        if (found == TOO_MANY).any():
            return self._everything[0], at_most + 1
        for at in np.flatnonzero(found == UNKNOWN)[np.argsort(-self._hits[needed[found == UNKNOWN]], kind="stable")]:
            number = int(needed[at])
            entry = self._count(number, levels[self._sets[number]], at_most)
            if entry == TOO_MANY:
                self._hits[number] += 1
                own = slice(int(self._offsets[number]), int(self._offsets[number]) + math.prod(self._shapes[number]))
                below = tuple(slice(0, int(level) + 1) for level in levels[self._sets[number]])
                self._entry_at[own].reshape(self._shapes[number])[below] = TOO_MANY
                return self._everything[0], at_most + 1
            self._entry_at[cells[at]] = found[at] = entry
        entries = self._entries[found]
        if not entries[:, column_sets.FAILING].any():
            return self._everything[0][:0], 0
        strides = self._strides[found]
        rows = self._first[self._columns[needed]] + levels[self._columns[needed]]
        number, lost = column_sets.take_out(
            self._codes,
            self._sizes,
            (rows, strides, entries),
            (self._counts, self._places, self._fails),
            self._gone,
            at_most,
            self._index,
        )
        return self._gone[1][:number].copy(), int(lost)

    def sum_over(self, tuples: Any, steps: Sequence[int], values: Any, node: Node) -> float:
        """Sum a number per label over all cells of some tuples' rows, where columns are so many steps up."""
        sizes = self._sizes[tuples].astype(np.float64)
        return sum(
            float(sizes @ values[column][level][self._codes[self._first[column] + step, tuples]])
            for column, (step, level) in enumerate(zip(steps, node, strict=True))
        )

    def _sets_needed(self, steps: Sequence[int]) -> IntArray:
        """Return the sets that say anything by themselves here.

        A column with one label tells nothing: a set with such columns is as good as without them, and follows from
        any set that has the others and asks for as many rows.
        """
        mask = sum(1 << column for column, step in enumerate(steps) if self._labels[column][step] > 1)
        if mask not in self._needed:
            left = self._masks & self._masks.dtype.type(mask)
            self._needed[mask] = _without_implied(left, left == self._masks, self._ks)
        return self._needed[mask]

    def _count(self, number: int, levels: IntArray, at_most: int) -> int:
        """Count a set at some levels of its columns, and return the number of its entry."""
        columns, k = self._sets[number], int(self._ks[number])
        rows = self._first[columns] + levels
        widths = [self._labels[column][level] for column, level in zip(columns, levels, strict=True)]
        strides = np.array([math.prod(widths[:place]) for place in range(len(widths))], object)
        space = math.prod(widths)
        numbered = space > max(FEWEST_PLACES, len(self._sizes))
        if numbered:
            strides = np.ones(len(widths), np.int64)  # places need none, but these are its columns
            places, counts = self._number_places(rows, widths)
        else:
            strides = strides.astype(np.int64)
            places, counts = np.empty(0, np.int32), np.zeros(space, self._sizes.dtype)
            column_sets.count_places(self._codes, rows, strides, *self._short_list(number), counts)
        failing = int(column_sets.failing_rows(counts, k))
        if failing > at_most:
            return TOO_MANY
        fails = places[:0]
        if failing:
            fails = column_sets.failing_tuples(self._codes, rows, strides, places, counts, k)
        self._counts, start = self._append(0, self._counts, counts)
        self._places, at = self._append(1, self._places, places)
        self._fails, first = self._append(2, self._fails, fails)
        if self._number == len(self._entries):
            self._entries = np.concatenate([self._entries, np.empty_like(self._entries)])
            self._strides = np.concatenate([self._strides, np.zeros_like(self._strides)])
        self._entries[self._number] = start, at if numbered else -1, first, len(fails), k
        self._strides[self._number, : len(strides)] = strides
        self._number += 1
        return self._number - 1

    def _append(self, pool: int, room: Any, values: Any) -> tuple[Any, int]:
        """Put values behind those of a pool, which grows; return the pool and where they start."""
        start = self._used[pool]
        end = start + len(values)
        if end > len(room):
            room = np.concatenate([room, np.zeros(max(end, 2 * len(room)) - len(room), room.dtype)])
        room[start:end] = values
        self._used[pool] = end
        return room, start

    def _number_places(self, rows: IntArray, widths: Sequence[int]) -> tuple[Any, Any]:
        """Number the combinations of labels that occur, and return each tuple's, and the rows of each."""
        none, no_codes = np.empty(0, np.int64), np.empty(0, np.uint64)
        keys, space = self._codes[rows[0]].astype(np.uint64), widths[0]
        sizes = self._sizes.astype(np.int64)

        def merge() -> tuple[Any, Any]:
            with np.errstate(over="ignore"):
                found = grouping.roll_up(keys.reshape(-1, 1), sizes, none, none, no_codes, none, no_codes)
            return found[1], found[2]

        for row, width in zip(rows[1:], widths[1:], strict=True):
            if space * width >= MOST_KEYS:
                keys = merge()[1].astype(np.uint64)
                space = len(self._sizes)
            keys = keys * np.uint64(width) + self._codes[row].astype(np.uint64)
            space *= width
        counts, places = merge()
        return places.astype(np.int32), counts.astype(self._sizes.dtype)

    def _short_list(self, number: int) -> tuple[Any, Any]:
        """Return one tuple for each combination that a set has at its first levels, with the rows of all of them."""
        if number not in self._lists:
            columns = self._sets[number]
            widths = [self._labels[column][0] for column in columns]
            self._lists[number] = self._everything
            if FEWER * math.prod(widths) <= len(self._sizes):
                strides = np.cumprod([1, *widths])[:-1].astype(np.int64)
                counts = np.zeros(math.prod(widths), self._sizes.dtype)
                firsts = np.zeros(len(counts), np.int32)
                column_sets.represent(self._codes, self._first[columns], strides, self._sizes, counts, firsts)
                used = np.flatnonzero(counts)
                self._lists[number] = firsts[used], counts[used]
        return self._lists[number]


def _index_labels(codes: Any, labels: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    """Return the tuples under each label, for each column and level: where they start, by row and label, and which."""
    first = np.cumsum([0, *(number + 1 for own in labels for number in own)])
    starts, members = np.zeros(int(first[-1]), np.int64), np.empty(codes.shape, np.int32)
    column_sets.index_labels(codes, first[:-1], starts, members)
    return starts, first[:-1], members


def _without_implied(left: Any, is_whole: Any, ks: IntArray) -> IntArray:
    """Return the numbers of the sets that no other implies; ``left`` has each as bits, those that are whole stay.

    A set follows from another one that has its columns and asks for as many rows.
    """
    whole = np.flatnonzero(is_whole)
    shortened = np.flatnonzero(~is_whole)
    shortened = shortened[np.argsort(-ks[shortened], kind="stable")]
    shortened = shortened[np.sort(np.unique(left[shortened], return_index=True)[1])]
    stay: list[int] = []
    for number in sorted(shortened.tolist(), key=lambda number: -int(left[number]).bit_count()):
        others = np.concatenate([whole, np.array(stay, np.int64)])
        implies = (left[others] & left[number] == left[number]) & (ks[others] >= ks[number])
        if not implies.any():
            stay.append(number)
    return np.sort(np.concatenate([whole, np.array(stay, np.int64)]))


def _short(sizes: IntArray) -> Any:
    """Return sizes as 32-bit numbers where all of them together fit."""
    return sizes.astype(np.int32) if int(sizes.sum()) < 2**31 else sizes


def steps_above(node: Node, lowest: Node) -> list[int]:
    """Return how many steps each column stands above the lowest node."""
    return [level - low for level, low in zip(node, lowest, strict=True)]
