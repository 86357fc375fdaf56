"""Labels of events: one level a column, higher ones for what would be dropped, finer ones and ranges for the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.counting import Node
from indistinct.progress import Watch
from indistinct.search.histories.events import Events, without_rare_sets
from indistinct.search.histories.ranges import EventRanges
from indistinct.search.histories.refining import LabelRefiner

QUICK_PASSES = 2
"""So often rare sets are dropped where levels are only compared."""
MOST_NODES = 100
"""So many nodes at most are all compared."""
MOST_LAYERS = 40
"""So many higher levels are tried for events that would be dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledEvents:
    """The label of each event in each column, and which are released."""

    levels: IntArray
    """(columns, events)"""
    is_left: BoolArray
    kept: float
    """What the released cells keep."""
    is_cut_short: bool = False
    ranges: Mapping[int, EventRanges] = field(default_factory=dict)
    """The labels of columns that have ranges in place of levels."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelSearch:
    """Looks for the levels of events in given groups of people."""

    events: Events
    groups: IntArray
    """The group of each person, below 0 if she is suppressed."""
    k: int
    watch: Watch
    chosen: BoolArray | None = None
    """The events that are left where people keep equal numbers of them; all others stay."""

    @property
    def is_there(self) -> BoolArray:
        """Which events are of people who are released, and left to these."""
        found: BoolArray = self.groups[self.events.persons] >= 0
        return found if self.chosen is None else self.chosen

    @property
    def highest(self) -> Node:
        """The node of the coarsest labels."""
        return tuple(len(column.places) - 1 for column in self.events.columns)

    def at(self, node: Node, passes: int | None = None) -> LabelledEvents:
        """Return the events at a node, without those that must be dropped there."""
        events = self.events
        codes = events.codes_at(node)
        numbers = events.numbers(codes, self.groups)
        everything = np.ones(len(events), np.bool_)
        left = without_rare_sets(events, numbers, self.is_there, everything, self.k, passes=passes)
        levels = np.repeat(np.array(node, np.int64)[:, None], len(events), axis=1)
        return LabelledEvents(levels, left, float(events.sum_kept(codes)[left].sum()))

    def best(self, start: Node | None = None) -> tuple[LabelledEvents, Node]:
        """Return the events at the best node that a descent finds, and the node.

        From ``start``, or the top, the step goes to the neighbour that keeps most, one or two levels away in a column,
        until none keeps more.
        """
        seen: dict[Node, float] = {}
        node = self.highest if start is None else start
        is_cut = False

        def score(at: Node) -> float:
            if at not in seen:
                seen[at] = self.at(at, QUICK_PASSES).kept
                self.watch.report("search", len(seen), None)
            return seen[at]

        while not is_cut:
            better = node
            for other in self._neighbours(node):
                if self.watch.time_is_up():
                    is_cut = True
                    break
                if score(other) > score(better) + 1e-9:
                    better = other
            if better == node:
                break
            node = better
        found = self.at(node)
        return replace(found, is_cut_short=is_cut), node

    def best_of_all(self) -> tuple[LabelledEvents, Node]:
        """Return the events at the best of all nodes, and the node; where there are many, the best of a descent.

        The first passes keep at least what is left at the end, so a node that keeps less after these is not finished.
        """
        spans = [range(column.lowest, len(column.places)) for column in self.events.columns]
        if math.prod(map(len, spans)) > MOST_NODES or self.watch.time_is_up():
            return self.best()
        quick = {node: self.at(node, QUICK_PASSES).kept for node in product(*spans)}
        best, top = self.at(self.highest), self.highest
        for node in sorted(quick, key=quick.__getitem__, reverse=True):
            if quick[node] <= best.kept or self.watch.time_is_up():
                break
            found = self.at(node)
            if found.kept > best.kept:
                best, top = found, node
        return best, top

    def from_levels(self, found: LabelledEvents, node: Node, other: LabelledEvents) -> LabelledEvents:
        """Return the events of a node with higher and finer labels, or another answer if that keeps more."""
        fine = self.with_finer_labels(self.with_higher_labels(found, node))
        return max(other, fine, found, key=lambda one: one.kept)

    def finest(self, *, tries_levels: bool = True) -> LabelledEvents:
        """Return the events with the finest labels that are found from the highest ones.

        Columns that may have ranges are cut at once or, if that keeps more, begin with levels of their hierarchy.
        """
        highest = self.at(self.highest)
        found = self.with_finer_labels(highest)
        if not tries_levels or not found.ranges:
            return found
        return max(found, self.with_finer_labels(highest, levels_first=True), key=lambda one: one.kept)

    def _neighbours(self, node: Node) -> Iterator[Node]:
        for place, column in enumerate(self.events.columns):
            for step in (-1, -2, 1):
                level = node[place] + step
                if column.lowest <= level < len(column.places):
                    yield (*node[:place], level, *node[place + 1 :])

    def with_higher_labels(self, found: LabelledEvents, node: Node) -> LabelledEvents:
        """Return the events with those that were dropped at higher labels, where k people share their sets.

        Layer by layer, finer ones first, all that are left out get the labels of the layer and are dropped again where
        sets with them are rare. What was placed before stays: adding events never lowers a support.
        """
        events = self.events
        codes, left = events.codes_of(found.levels), found.is_left.copy()
        levels, is_cut = found.levels.copy(), found.is_cut_short
        for layer in self._layers(node):
            if self.watch.time_is_up():
                is_cut = True
                break
            free = self.is_there & ~left
            if not free.any():
                break
            higher = events.codes_at(layer)
            numbers = events.numbers(np.where(free, higher, codes), self.groups)
            numbers = numbers * 2 + free  # labels of this layer are told from those that stand there already
            left = without_rare_sets(events, numbers, self.is_there & (left | free), free, self.k)
            codes = np.where(free & left, higher, codes)
            levels = np.where(free & left, np.array(layer, np.int64)[:, None], levels)
            self.watch.report("search")
        left = self._without_sure_sets(codes, left)
        return LabelledEvents(levels, left, float(events.sum_kept(codes)[left].sum()), is_cut)

    def with_finer_labels(self, found: LabelledEvents, levels_first: bool = False) -> LabelledEvents:
        """Return the events with lower labels and ranges where every set stays shared by k people; none is dropped.

        With ``levels_first`` columns that may have ranges have the levels of their hierarchy before.
        """
        refiner = LabelRefiner(self.events, self.groups, found.levels.copy(), found.is_left, self.k, self.watch)
        if levels_first:
            refiner.run(has_ranges=False)
        refiner.run()
        ranges = refiner.ranges()
        codes = self.events.codes_of(refiner.levels)
        for place, own in ranges.items():
            codes[place] = own.codes
        left = self._without_sure_sets(codes, found.is_left)
        kept = self.events.sum_kept(codes, {place: own.kept for place, own in ranges.items()})
        is_cut = found.is_cut_short or refiner.is_cut_short
        return LabelledEvents(refiner.levels, left, float(kept[left].sum()), is_cut, ranges)

    def _without_sure_sets(self, codes: IntArray, left: BoolArray) -> BoolArray:
        """Return which events are left when none may tell too much.

        Labels that were counted apart may be equal: k people have such sets all the more, but their values may differ.
        """
        if self.events.private is None:
            return left
        numbers = self.events.numbers(codes, self.groups)
        return without_rare_sets(self.events, numbers, left, np.ones(len(left), np.bool_), self.k)

    def _layers(self, node: Node) -> list[Node]:
        """Return nodes above one, finer ones first: by what they keep of events on average."""
        spans = [range(level, len(column.places)) for level, column in zip(node, self.events.columns, strict=True)]
        size = int(np.prod([len(span) for span in spans])) if spans else 1
        if size > MOST_LAYERS:
            shown = [sorted({span[0], span[len(span) // 2], span[-1]}) for span in spans]
        else:
            shown = [list(span) for span in spans]
        nodes = list(product(*shown))[: 10 * MOST_LAYERS]
        worth = [float(self.events.sum_kept(self.events.codes_at(one)).sum()) for one in nodes]
        order = np.argsort(-np.array(worth), kind="stable")
        return [nodes[place] for place in order.tolist()][:MOST_LAYERS]
