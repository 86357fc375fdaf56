"""Sweep: judges the nodes of an interval one after the other, each from the groups one step below it.

Models that are less than monotone rule few nodes out where many rows may be suppressed. Nearly all are judged then, and
to judge them in this order takes a fraction of the time: each is one column higher than one whose groups are at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.counting import IntArray, Node, UIntArray
from indistinct.counting.kernels import grouping
from indistinct.privacy.kernels import value_tables
from indistinct.search.full_domain.best_node.value_counter import ValueCounter
from indistinct.search.task import with_level

MOST_CELLS = 1 << 23
"""Cells of a table of groups and values up to which intervals are swept: 32 MB."""
FEWEST_HALVES = 32
"""Intervals are halved so many times before any is swept: by then a good node is known, and how many are ruled out."""
MOST_NODES = 1024
"""Nodes of an interval that is swept in one go: others are looked at first, which may hold better nodes."""
GAIN, GAIN_OF_TABLE = 1.5, 4.0
"""To halve an interval and count a node takes so many times as long as to judge a node on the way; the second where
groups are compared with the table, and counted anew as it loses rows."""


def pays(nodes: int, halves: int, ruled_out: int, gain: float) -> bool:
    """Return whether it is quicker to sweep an interval of so many nodes than to halve it.

    That depends on how many of the halves so far were ruled out.

    Where a share p of the lower halves is ruled out, about n to the power of log2(2 - p) of n nodes are counted.

    >>> pays(1000, 100, 5, 4.0), pays(1000, 100, 60, 4.0)
    (True, False)
    """
    share = (ruled_out + 1) / (halves + 2)
    return halves >= FEWEST_HALVES and nodes <= MOST_NODES and nodes ** (1 - math.log2(2 - share)) < gain


@dataclass(frozen=True, slots=True)
class ValuedGroups:
    """The groups at a node: their label codes, and how often each has each value."""

    node: Node
    keys: UIntArray
    cells: Any
    """(groups, 1 + codes): the rows of each group, then those of each code, one aspect after the other."""
    unsafe_rows: int
    """The rows that must be suppressed; if they are more than the node may suppress, only so much is right."""

    @property
    def sizes(self) -> IntArray:
        """The rows of each group."""
        sizes: IntArray = self.cells[:, 0]
        return sizes


class Sweep:
    """Walks up from the lowest node of an interval, for one counter of one task."""

    def __init__(self, counter: ValueCounter) -> None:
        self.counter = counter
        self._width = counter.judging[1].shape[1]
        self.gain = GAIN_OF_TABLE if any(aspect.asks_table for aspect in counter.aspects) else GAIN
        hierarchies = counter.frequencies.hierarchies
        # lists become short at once if the columns with most labels climb first
        self._order = sorted(range(len(hierarchies)), key=lambda column: -len(hierarchies[column].labels[0]))
        layout = counter.frequencies.base.layout
        places = zip(layout.words.tolist(), layout.shifts.tolist(), layout.masks.tolist(), strict=True)
        self._fields: list[tuple[int, int, int]] = list(places)
        self._parents: dict[tuple[int, int], UIntArray] = {}
        self._slots = np.empty(0, np.int32)

    def fits(self, groups: int) -> bool:
        """Return whether a table of so many groups is small enough."""
        return groups * int(self._width) <= MOST_CELLS

    def walk(
        self, low: Node, high: Node, source: Any, useful_rows: Callable[[Node], int]
    ) -> Iterator[tuple[ValuedGroups, int]]:
        """Return the groups at each node of an interval, once, and how many rows it may suppress to be of use.

        Where these are less than none, neither the node nor any above it is.
        """
        waiting: list[tuple[Any, Node, int]] = [(source, low, 0)]
        while waiting:
            below, node, place = waiting.pop()
            most = useful_rows(node)
            if most < 0:
                continue
            is_first = below is source
            groups = self._begin(node, source, most) if is_first else self._climb(below, node, place, most)
            yield groups, most
            for later in range(len(self._order) - 1, place - 1, -1):
                column = self._order[later]
                if node[column] < high[column]:
                    waiting.append((groups, with_level(node, column, node[column] + 1), later))

    def _climb(self, groups: ValuedGroups, node: Node, place: int, most: int) -> ValuedGroups:
        """Merge groups one step up, and judge them."""
        column = self._order[place]
        parents = self._parents.get((column, node[column]))
        if parents is None:
            parents = self.counter.frequencies.coarser(column, node[column] - 1, node[column])
            self._parents[column, node[column]] = parents
        size = 1 << max(4, (2 * len(groups.keys) - 1).bit_length())
        if size > len(self._slots):
            self._slots = np.empty(size, np.int32)
        limits, slots = (self.counter.k, most), self._slots[:size]
        climbed = value_tables.climb(
            groups.keys, groups.cells, self._fields[column], parents, slots, limits, self.counter.judging
        )
        return ValuedGroups(node, *climbed)

    def _begin(self, node: Node, source: Any, most: int) -> ValuedGroups:
        """Return the groups at the lowest node, and judge them."""
        source = self.counter.reduce_source(node, source)
        frequencies, layout = self.counter.frequencies, self.counter.frequencies.base.layout
        codes = []
        for column, (bottom, level) in enumerate(zip(frequencies.lowest, source.node, strict=True)):
            own = grouping.unpack(source.keys, *self._fields[column])
            codes.append(frequencies.coarser(column, bottom, level)[own])
        cells = np.zeros((len(source.sizes), self._width), source.sizes.dtype)
        cells[:, 0] = source.sizes
        for begin, (starts, values, counts) in zip(self.counter.begins, source.values, strict=True):
            cells[np.repeat(np.arange(len(cells)), np.diff(starts)), begin + values] = counts
        keys = grouping.pack(codes, layout.words, layout.shifts, layout.number_of_words)
        unsafe = value_tables.unsafe_rows(cells, self.counter.k, most, self.counter.judging)
        return ValuedGroups(node, keys, cells, int(unsafe))
