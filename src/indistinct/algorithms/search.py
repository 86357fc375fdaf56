"""Search: branch and bound over boxes of the generalization lattice, shared by all exact algorithms.

A box is all nodes between a lower and an upper one. Going up, the rows to suppress never increase (Samarati 2001,
Theorem 5.2), what generalization costs never falls, and what suppression adds never rises. So the upper node's count
tells whether any node of the box can pass, and the two together bound the loss of all its nodes. The box of least bound
is split in two until none is left that could hold a better node. The least bound also says at any time how far the best
node found can still be from the optimum.
"""

from __future__ import annotations

import heapq
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from indistinct.algorithms.counters import GroupCounter, Source, Stairs, counter_for, possible_groups
from indistinct.algorithms.task import Task, with_level
from indistinct.counting import Node
from indistinct.errors import InterruptedSearchError
from indistinct.quality import NonUniformEntropy, QualityMeasure
from indistinct.recoding import FullDomainRecoding, Outcome
from indistinct.watch import Watch

CACHED_TUPLES = 16_000_000
SHORT_LIST = 256
"""Sources this short are not worth reducing."""
LONG_LIST = 100_000
"""From so many tuples on nodes are counted in several threads; below, threads cost more than they save."""
MOST_THREADS = 4
DIGITS = 12
"""Losses that agree to so many digits are equal: they differ by rounding only."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best recoding that a search found, its loss, and a loss that no other recoding can be below."""

    recoding: FullDomainRecoding
    loss: float
    bound: float

    def proven_or_not(self) -> FullDomainRecoding:
        """Give the recoding with the word whether it is the optimum, and if not, how far it can be from it."""
        gap = round(self.loss - self.bound, DIGITS)
        return replace(self.recoding, is_proven=gap <= 0, gap=max(0.0, gap))


@dataclass(frozen=True, slots=True)
class Box:
    """All nodes from ``low`` to ``high``, which passes; and where shorter sources for its nodes may be found."""

    low: Node
    high: Node
    suppression_loss: float
    suppressed_rows: int
    trail: Any
    """The nodes below at which sources were made, as nested pairs, nearest first."""


class Search:
    """The nodes of one task's lattice: which pass within a budget of suppressed rows, and the best of them."""

    def __init__(self, task: Task, watch: Watch, budget: int | None = None) -> None:
        self.task = task
        self.watch = watch
        # a release of nothing is none
        self.budget = min(task.budget if budget is None else budget, task.frequencies.rows - 1)
        self.frequencies = task.frequencies
        self.heights = task.frequencies.heights
        self.bottom: Node = task.frequencies.start
        self.checks = 0
        self._passed: dict[Node, bool] = {}

    @property
    def is_monotone(self) -> bool:
        """A node above one that passes passes, with no more rows suppressed."""
        return self.task.is_monotone or (self.budget == 0 and self.task.is_monotone_unsuppressed)

    def nodes(self) -> Iterator[Node]:
        """Every node of the lattice, in lexicographic order."""
        return product(*(range(low, high + 1) for low, high in zip(self.bottom, self.heights, strict=True)))

    def recoding(self, node: Node) -> FullDomainRecoding:
        """Give the recoding to a node, with the least suppression that satisfies the policy."""
        groups, _ = self.frequencies.roll_up(node)
        return self.task.recoding(groups)

    def passes(self, node: Node) -> bool:
        """Tell whether a node satisfies the policy within the budget: Samarati's ``satisfies``.

        Below the bottom none does: the table was not counted there, or the policy demands a higher level.
        """
        if any(level < low for level, low in zip(node, self.bottom, strict=True)):
            return False
        if node not in self._passed:
            self.checks += 1
            self._passed[node] = self._outcome(node).suppressed_rows <= self.budget
        return self._passed[node]

    @cached_property
    def _outcome(self) -> Callable[[Node], Outcome]:
        """What counts a node."""
        counter = counter_for(self.task, at_most=self.budget)
        if isinstance(counter, GroupCounter):
            return Stairs(counter, CACHED_TUPLES).outcome
        return lambda node: counter.outcome(node, counter.base)

    def minimal(self) -> list[Node]:
        """Every node that passes while no node below it does: the k-minimal generalizations, lowest first.

        Source: Samarati 2001, Definition 4.3 (with the strict order that Definition 3.3 means).
        """
        if self.is_monotone:
            found = self._lowest_passing() if self.passes(self.heights) else []
        else:
            found = [node for node in self.nodes() if self.passes(node)]
        return sorted(_without_dominated(found), key=lambda node: (sum(node), node))

    def _lowest_passing(self) -> list[Node]:
        """Give passing nodes, all minimal ones among them, by halving boxes whose upper node passes."""
        found, failed = _Nodes(len(self.heights)), _Nodes(len(self.heights))
        boxes = [(self.bottom, self.heights)]
        while boxes:
            low, high = boxes.pop()
            if self.watch.time_is_up():
                raise InterruptedSearchError("the time limit passed before all minimal generalizations were known")
            self.watch.report("search", self.checks, None)
            if found.has_below(low):
                continue  # everything in the box lies above a node that passes
            if low == high or (not failed.has_above(low) and self.passes(low)):
                found.add(low)
                continue
            column = max(range(len(low)), key=lambda column: high[column] - low[column])
            middle = (low[column] + high[column]) // 2
            boxes.append((with_level(low, column, middle + 1), high))
            lower = with_level(high, column, middle)
            if failed.has_above(lower):
                continue
            if self.passes(lower):
                boxes.append((low, lower))
            else:
                failed.add(lower)
        return list(found)

    def optimum(
        self, measure: QualityMeasure, rank: Callable[[FullDomainRecoding], Any] | None = None
    ) -> Optimum | None:
        """Give the passing node of least loss. None if no node passes.

        Of equal ones it is the one that ``rank`` puts first; without a rank the one with fewest suppressed rows, then
        fewest steps, then the first in lexicographic order. The answer is exact for any measure: one that bounds
        nothing has all its passing nodes scored.
        """
        nodes, loss, bound = _Best(self, measure, keeps_ties=rank is not None).run()
        if not nodes:
            return None
        recodings = [self.recoding(node) for node in nodes]
        best = recodings[0] if rank is None else min(recodings, key=rank)
        return Optimum(best, loss, bound)


@dataclass(frozen=True, slots=True)
class _Half:
    """A box that was split: the bottom of its upper half, the counted top of its lower half, and the source used."""

    box: Box
    upper_bottom: Node
    above: float
    lower_top: Outcome
    judged: Outcome
    """The same node counted for the policy itself, where that is not monotone."""
    source: Source
    trail: Any


class _Best:
    """One run of branch and bound for one measure."""

    def __init__(self, search: Search, measure: QualityMeasure, keeps_ties: bool, threads: int | None = None) -> None:
        self.search = search
        self.measure = measure
        self.keeps_ties = keeps_ties
        self.frequencies = search.frequencies
        if threads is None:
            threads = min(os.cpu_count() or 1, MOST_THREADS) if len(self.frequencies.base) >= LONG_LIST else 1
        # each thread has a counter, since counters work in place
        task = search.task if search.is_monotone else search.task.floor
        self.counters = [counter_for(task, measure, search.budget) for _ in range(threads)]
        self.counter = self.counters[0]
        # where models are not monotone, nodes are ruled out by what they imply, and judged by a counter of their own
        self.judges: list[Stairs] | None = None
        if not search.is_monotone:
            room = CACHED_TUPLES // threads
            self.judges = [Stairs(GroupCounter(search.task, search.budget), room) for _ in range(threads)]
        parts = measure.level_losses(self.frequencies)
        self.level_losses = [[0.0] * (height + 1) for height in search.heights] if parts is None else _lists(parts)
        # a measure without parts is split by those of entropy, which tell best how columns merge groups
        self.split_by = (
            _lists(NonUniformEntropy().level_losses(self.frequencies)) if parts is None else self.level_losses
        )
        self.bounds_above = type(measure).bound_above is not QualityMeasure.bound_above
        self.best: tuple[float, int, int, Node] | None = None
        self.ties: list[Node] = []
        self.sources: OrderedDict[Node, Source] = OrderedDict()
        self.cached_tuples = 0

    def run(self) -> tuple[list[Node], float, float]:
        """Give the best nodes, their loss, and the bound that is left when the time is up or the search is over."""
        search = self.search
        heap: list[tuple[tuple[float, int, int, Node], Box]] = []
        top = self.counter.outcome(search.heights, self.counter.base)
        self._consider(top if self.judges is None else self._count_for_policy(0, top.node))
        if top.suppressed_rows > search.budget:
            return [], 1.0, 1.0
        self._push(heap, self._box(search.bottom, top, None), 0.0)
        with ThreadPoolExecutor(len(self.counters)) as pool:
            while boxes := self._take(heap):
                search.watch.report("search", search.checks, None)
                if search.watch.time_is_up():
                    if self.best is None:
                        raise InterruptedSearchError("the time limit passed before any solution was found")
                    return [self.best[3]], self.best[0], min(self._key(boxes[0], 0.0)[0], self.best[0])
                works = [(thread, box, *self._nearest(box)) for thread, box in enumerate(boxes)]
                # a single box is not worth a thread
                halves = list(pool.map(self._lower_half, works)) if len(works) > 1 else [self._lower_half(works[0])]
                for half in halves:
                    if half is not None:
                        self._put_back(heap, half)
        if self.best is None:
            return [], 1.0, 1.0
        return self.ties if self.keeps_ties else [self.best[3]], self.best[0], self.best[0]

    def _count_for_policy(self, thread: int, node: Node) -> Outcome:
        """Count a node for the policy itself."""
        assert self.judges is not None  # asked only then
        return self.judges[thread].outcome(node)

    def _take(self, heap: list[tuple[tuple[float, int, int, Node], Box]]) -> list[Box]:
        """Take the boxes of least bound, one for each counter; none if nothing better can be left."""
        boxes: list[Box] = []
        while heap and len(boxes) < len(self.counters) and not self._is_worse(heap[0][0]):
            box = heapq.heappop(heap)[1]
            if box.low != box.high:
                boxes.append(box)
        return boxes

    def _lower_half(self, work: tuple[int, Box, Source, Any]) -> _Half | None:
        """Count the upper node of a box's lower half; None if the box's lower node rules it out.

        Threads run this: it changes nothing but the counter's own memory.
        """
        thread, box, source, trail = work
        counter = self.counters[thread]
        if self._pays_to_reduce(source, box.low):
            source, trail = counter.reduce_source(box.low, source), (box.low, trail)
        above = self.measure.bound_above(source, self.frequencies) if self.bounds_above else 0.0
        if self._is_worse(self._key(box, above)):
            return None
        column, level = self._split(box)
        outcome = counter.outcome(with_level(box.high, column, level), source)
        is_possible = outcome.suppressed_rows <= self.search.budget
        judged = self._count_for_policy(thread, outcome.node) if self.judges is not None and is_possible else outcome
        return _Half(box, with_level(box.low, column, level + 1), above, outcome, judged, source, trail)

    def _put_back(self, heap: list[tuple[tuple[float, int, int, Node], Box]], half: _Half) -> None:
        """Queue both halves of a box, and keep the source that was made for it."""
        box = half.box
        if half.source.node == box.low and box.low not in self.sources and half.source is not self.counter.base:
            self._keep(half.source)
        self._consider(half.judged)
        upper = Box(half.upper_bottom, box.high, box.suppression_loss, box.suppressed_rows, half.trail)
        self._push(heap, upper, half.above)
        if half.lower_top.suppressed_rows <= self.search.budget:
            self._push(heap, self._box(box.low, half.lower_top, half.trail), half.above)

    def _consider(self, outcome: Outcome) -> None:
        """Remember a counted node if it is the best so far."""
        search = self.search
        search.checks += 1
        if outcome.suppressed_rows <= search.budget:
            loss = round(self.measure.loss(outcome), DIGITS)
            if self.best is None or loss < self.best[0]:
                self.ties = []
            if self.keeps_ties and (self.best is None or loss <= self.best[0]):
                self.ties.append(outcome.node)
            key = (loss, outcome.suppressed_rows, sum(outcome.node), outcome.node)
            if self.best is None or key < self.best:
                self.best = key

    def _box(self, low: Node, high: Outcome, trail: Any) -> Box:
        return Box(low, high.node, self.measure.suppression_loss(high), high.suppressed_rows, trail)

    def _key(self, box: Box, above: float) -> tuple[float, int, int, Node]:
        """Give what no node of a box can be better than: loss, suppressed rows, steps, place in the order."""
        bound = self._cost(box.low) + above + box.suppression_loss
        return round(bound, DIGITS), box.suppressed_rows, sum(box.low), box.low

    def _push(self, heap: list[tuple[tuple[float, int, int, Node], Box]], box: Box, above: float) -> None:
        key = self._key(box, above)
        if not self._is_worse(key):
            heapq.heappush(heap, (key, box))

    def _is_worse(self, key: tuple[float, int, int, Node]) -> bool:
        """Tell whether a box of this key holds nothing that could still be chosen."""
        if self.best is None:
            return False
        return key[0] > self.best[0] if self.keeps_ties else key > self.best

    def _cost(self, node: Node) -> float:
        """What the levels of a node cost by themselves."""
        return sum([losses[level] for losses, level in zip(self.level_losses, node, strict=True)])

    def _split(self, box: Box) -> tuple[int, int]:
        """Give the column whose levels cost most between the box's ends, and the level that halves that best."""
        spans = [
            (losses[high] - losses[low], high - low)
            for losses, low, high in zip(self.split_by, box.low, box.high, strict=True)
        ]
        column = max((column for column in range(len(spans)) if spans[column][1]), key=lambda column: spans[column])
        losses, low, high = self.split_by[column], box.low[column], box.high[column]
        middle = (losses[low] + losses[high]) / 2
        return column, min(range(low, high), key=lambda level: abs((losses[level] + losses[level + 1]) / 2 - middle))

    def _nearest(self, box: Box) -> tuple[Source, Any]:
        """Give the shortest source at hand for the nodes of a box, and the trail that leads to it."""
        trail = box.trail
        while trail is not None and trail[0] not in self.sources:
            trail = trail[1]
        return (self.counter.base if trail is None else self.sources[trail[0]]), trail

    def _keep(self, source: Source) -> None:
        """Keep a source for the boxes above it; the oldest go first."""
        self.sources[source.node] = source
        self.cached_tuples += len(source.sizes)
        while self.cached_tuples > CACHED_TUPLES and len(self.sources) > 1:
            self.cached_tuples -= len(self.sources.popitem(last=False)[1].sizes)

    def _pays_to_reduce(self, source: Source, node: Node) -> bool:
        """Guess whether a shorter source would save more than it costs: if far fewer label combinations are left.

        A measure that bounds by the groups at the lower node always wants them.
        """
        if source.node == node or len(source.sizes) <= SHORT_LIST:
            return False
        possible = possible_groups(self.frequencies, node)
        return (
            self.bounds_above
            or possible <= len(source.sizes)
            or 8 * possible <= possible_groups(self.frequencies, source.node)
        )


def _lists(parts: Sequence[Any]) -> list[list[float]]:
    """Plain lists: single numbers are read from them quicker than from arrays."""
    return [part.tolist() for part in parts]


class _Nodes:
    """A growing set of nodes that is asked what lies below or above a node; a node lies below itself."""

    def __init__(self, columns: int) -> None:
        self._stacked = np.empty((64, columns), np.int16)
        self._count = 0

    def add(self, node: Node) -> None:
        if self._count == len(self._stacked):
            self._stacked = np.concatenate([self._stacked, np.empty_like(self._stacked)])
        self._stacked[self._count] = node
        self._count += 1

    def has_below(self, node: Node) -> bool:
        return bool((self._stacked[: self._count] <= np.array(node, np.int16)).all(axis=1).any())

    def has_above(self, node: Node) -> bool:
        return bool((self._stacked[: self._count] >= np.array(node, np.int16)).all(axis=1).any())

    def __iter__(self) -> Iterator[Node]:
        return (tuple(node) for node in self._stacked[: self._count].tolist())


def _without_dominated(nodes: Sequence[Node]) -> list[Node]:
    """Keep the nodes that lie above no other one."""
    kept = _Nodes(len(nodes[0]) if nodes else 0)
    for node in sorted(nodes, key=sum):
        if not kept.has_below(node):
            kept.add(node)
    return list(kept)
