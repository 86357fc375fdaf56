"""Branch and bound over intervals of the generalization lattice: the best node for a measure, and how good it can be.

An interval is all nodes between a lower and an upper one. Going up, the rows to suppress never increase (Samarati 2001,
Theorem 5.2), the cost of generalization never falls, and the cost of suppression never rises. So if the upper node
fails, all nodes of the interval fail. The lower node's generalization and the upper node's suppression bound the loss
of all its nodes. The interval of least bound is split in two until none is left that could hold a better node. The
least bound also says at any time how far the best node found can be from the optimum.

Where that takes long, descents look for good nodes in other threads. From 10 million nodes on, intervals get better
bounds by probing, where only k-anonymity is asked for.
"""

from __future__ import annotations

import heapq
import math
import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.counting import Node
from indistinct.errors import InterruptedSearchError
from indistinct.progress import Watch
from indistinct.quality import NonUniformEntropy, QualityMeasure
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import Outcome
from indistinct.search.full_domain.best_node.counters import (
    Counter,
    GroupCounter,
    SetCounter,
    Source,
    Stairs,
    TupleCounter,
    possible_groups,
)
from indistinct.search.full_domain.best_node.descent import Descent, Slope
from indistinct.search.full_domain.best_node.incumbent import DIGITS, FAILED, Descents, Incumbent, Key, Seen
from indistinct.search.full_domain.best_node.sweeping import Sweep, pays
from indistinct.search.full_domain.best_node.value_counter import ValueCounter
from indistinct.search.task import Task, with_level


@dataclass(frozen=True, slots=True)
class Interval:
    """All nodes from ``low`` to ``high``, which passes; and where shorter sources for its nodes may be found."""

    low: Node
    high: Node
    suppression_loss: float
    suppressed_rows: int
    trail: Any
    """The nodes below at which sources were made, as nested pairs, nearest first."""


@dataclass(frozen=True, slots=True)
class Half:
    """An interval that was split: the bottom of its upper half, the counted top of its lower half, and the source
    used."""

    interval: Interval
    upper_bottom: Node
    above: float
    lower_top: Seen
    judged: Seen
    """The same node counted for the policy itself, where that is not monotone."""
    source: Source
    trail: Any


@dataclass(frozen=True, slots=True)
class SweepRest:
    """An interval all of whose nodes were judged that could be better, unless the time was up: then it is what is
    left."""

    left: Interval | None


Heap = list[tuple[Key, Interval]]


CACHED_TUPLES = 16_000_000
SHORT_LIST = 256
"""Sources this short are not worth reducing."""
LONG_LIST = 100_000
"""From so many tuples on nodes are counted in several threads; below, threads cost more than they save."""
MOST_THREADS = 4
EARLY_SECONDS, LATE_SECONDS = 0.05, 2.0
MANY_NODES = 10_000_000
"""From so many nodes on intervals are probed, and descents help without a time limit."""
NEGLIGIBLE = 1e-9
"""What rounding adds to a loss at most."""


class BranchAndBound:
    """One search for the best node by one measure."""

    def __init__(
        self,
        task: Task,
        watch: Watch,
        budget: int,
        measure: QualityMeasure,
        keeps_ties: bool,
        threads: int | None = None,
    ) -> None:
        self.task = task
        self.watch = watch
        self.budget = budget
        self.measure = measure
        self.frequencies = task.frequencies
        self.incumbent = Incumbent(measure, budget, keeps_ties)
        if threads is None:
            threads = min(os.cpu_count() or 1, MOST_THREADS) if len(self.frequencies.base) >= LONG_LIST else 1
        self.is_monotone = task.is_monotone_within(budget)
        self.ruling_out = task if self.is_monotone else task.floor
        self.counters: list[Counter]
        self.judges: list[Stairs | ValueCounter] | None = None
        self.sweeps: list[Sweep] = []
        self.halves = self.ruled_out_halves = 0
        self._make_counters(threads)
        self.counter = self.counters[0]
        parts = measure.level_losses(self.frequencies)
        heights = self.frequencies.heights
        self.level_losses = [[0.0] * (height + 1) for height in heights] if parts is None else _lists(parts)
        # a measure without parts is split by those of entropy, which tell best how columns merge groups
        self.split_by = (
            _lists(NonUniformEntropy().level_losses(self.frequencies)) if parts is None else self.level_losses
        )
        self.bounds_above = type(measure).bound_above is not QualityMeasure.bound_above
        self.least_kept = measure.least_kept(self.frequencies) if isinstance(measure, CellMeasure) else None
        self.sources: OrderedDict[Node, Source] = OrderedDict()
        self.cached_tuples = 0

    def _make_counters(self, threads: int) -> None:
        """Make the counters of each thread, since counters work in place."""
        task, measure, budget = self.task, self.measure, self.budget
        if self.is_monotone:
            self.counters = [counter_for(task, measure, budget) for _ in range(threads)]
        elif ValueCounter.serves(task) and measure.asks_counts_only:
            # one counter says what a node must lose at the least, which rules out those below, and what it loses
            by_values = [ValueCounter(task, measure, budget) for _ in range(threads)]
            self.counters, self.judges = [*by_values], [*by_values]
            self.sweeps = [Sweep(counter) for counter in by_values]
        else:
            # nodes are ruled out by what models imply, and judged by a counter of their own
            self.counters = [counter_for(self.ruling_out, measure, budget) for _ in range(threads)]
            self.judges = [
                Stairs(GroupCounter(task, budget), task.frequencies.heights, CACHED_TUPLES // threads)
                for _ in range(threads)
            ]

    def run(self) -> tuple[list[Node], float, float]:
        """Return the best nodes, their loss, and the bound that is left when the time is up or the search is over."""
        incumbent = self.incumbent
        heap: Heap = []
        top = self._see_least(0, self.frequencies.heights, self.counter.base, self.budget)
        incumbent.consider(top if self.judges is None else self._judge(0, top.node, self.counter.base))
        if top.suppressed_rows > self.budget:
            return [], 1.0, 1.0
        number = 2 if len(self.counters) == 1 else 1  # long lists take room, and threads of their own
        with (
            ThreadPoolExecutor(len(self.counters)) as pool,
            Descents(self.descent, self.incumbent, self._wait_for_descents(), number) as descents,
        ):
            if self.watch.time_limit is not None and self._is_large():
                descents.lead(self.watch)
            if self.is_monotone and self._is_large():
                from indistinct.search.full_domain.best_node import probing

                if probing.serves(self.task, self.measure):
                    return self._probe(probing.Probing, descents)
            self._push(heap, self._interval(self.frequencies.start, top, None), 0.0)
            while intervals := self._take(heap):
                self.watch.report("search", incumbent.checks, None)
                if self.watch.time_is_up():
                    if incumbent.best is None:
                        raise InterruptedSearchError("the time limit passed before any solution was found")
                    return self._answer(self._key(intervals[0], 0.0)[0], descents)
                descents.start_if_due()
                works = [(thread, interval, *self._nearest(interval)) for thread, interval in enumerate(intervals)]
                # a single interval is not worth a thread
                halves = list(pool.map(self._lower_half, works)) if len(works) > 1 else [self._lower_half(works[0])]
                for half in halves:
                    if half is not None:
                        self._put_back(heap, half)
        return self._answer(math.inf, descents)

    def _answer(self, bound: float, descents: Descents) -> tuple[list[Node], float, float]:
        """Return the best nodes, their loss, and the bound; an infinite one says that nothing is left to look at."""
        descents.stop()
        best = self.incumbent.best
        if best is None:
            return [], 1.0, 1.0
        is_over = bound == math.inf
        nodes = self.incumbent.ties if is_over and self.incumbent.keeps_ties else [best[3]]
        return nodes, best[0], min(bound, best[0])

    def _probe(self, make: Any, descents: Descents) -> tuple[list[Node], float, float]:
        """Search by probing intervals, which bounds them better where there are very many nodes."""
        assert isinstance(self.measure, CellMeasure)  # no others are served
        search = make(self.task, self.measure, self.incumbent, min(os.cpu_count() or 1, MOST_THREADS))

        def may_go_on() -> bool:
            self.watch.report("search", self.incumbent.checks, None)
            descents.start_if_due()
            return not self.watch.time_is_up()

        return self._answer(search.run(may_go_on), descents)

    def _wait_for_descents(self) -> float:
        """Return the seconds after which descents begin: most searches end sooner, and do not pay for them.

        Without a time limit a proven answer comes in any case; a good node then only keeps the queue short.
        """
        if self.watch.time_limit is not None:
            return EARLY_SECONDS
        return LATE_SECONDS if self._is_large() else math.inf

    def _is_large(self) -> bool:
        ends = zip(self.frequencies.start, self.frequencies.heights, strict=True)
        return math.prod(high - low + 1 for low, high in ends) >= MANY_NODES

    def descent(self, seed: int) -> Descent:
        """Return a descent over the same nodes, with a counter of its own."""
        task, ends = self.task, (self.frequencies.start, self.frequencies.heights)
        is_served = self.is_monotone or isinstance(self.counter, ValueCounter)
        counter = counter_for(task, self.measure, self.budget) if is_served else GroupCounter(task, self.budget)
        return Descent(counter, self.incumbent, Slope(*ends, self.level_losses, self.is_monotone), seed)

    def _see_least(self, thread: int, node: Node, source: Source, most: int) -> Seen:
        """Count what a node, and whatever lies below it, loses at the least; FAILED if all suppress too many rows.

        Nodes that suppress more than ``most`` rows are of no use.
        """
        counter = self.counters[thread]
        if not isinstance(counter, ValueCounter):
            return self.incumbent.see(counter.outcome(node, source))
        count = counter.outcome_within if self.is_monotone else counter.least_outcome
        return self._see_within(count(node, source, most), most)

    def _see_within(self, outcome: Outcome, most: int) -> Seen:
        if outcome.suppressed_rows > most:
            return Seen(outcome.node, FAILED, FAILED, self.budget + 1)
        return self.incumbent.see(outcome)

    def _judge(self, thread: int, node: Node, source: Source) -> Seen:
        """Count a node for the policy itself, where that is not monotone; FAILED if it cannot be the best."""
        assert self.judges is not None  # asked only then
        known, judge = self.incumbent.recall(node), self.judges[thread]
        if known is not None:
            return known
        if not isinstance(judge, ValueCounter):
            return self.incumbent.see(judge.outcome(node))
        most = self._useful_rows(node)
        return self._see_within(judge.outcome_within(node, source, most), most)

    def _useful_rows(self, node: Node) -> int:
        """Return the rows that a node, or any above it, may suppress and still be no worse than the best one found.

        What is suppressed would have kept at least so much a row here, and released rows keep no more above than here.
        """
        best = self.incumbent.best
        if best is None or self.least_kept is None:
            return self.budget
        kept = sum([numbers[level] for numbers, level in zip(self.least_kept, node, strict=True)])
        room = best[0] - self._cost(node) + NEGLIGIBLE
        return self.budget if kept * self.budget <= room else max(-1, math.floor(room / kept))

    def _take(self, heap: Heap) -> list[Interval]:
        """Take the intervals of least bound, one for each counter; none if nothing better can be left."""
        intervals: list[Interval] = []
        while heap and len(intervals) < len(self.counters) and not self.incumbent.is_worse(heap[0][0]):
            interval = heapq.heappop(heap)[1]
            if interval.low != interval.high:
                intervals.append(interval)
        return intervals

    def _lower_half(self, work: tuple[int, Interval, Source, Any]) -> Half | SweepRest | None:
        """Count the upper node of an interval's lower half, or sweep the interval; None if its lower node rules it out.

        Threads run this: it changes nothing but the counter's own memory, and what is known of the best node.
        """
        thread, interval, source, trail = work
        counter = self.counters[thread]
        if self._pays_to_reduce(source, interval.low):
            source, trail = counter.reduce_source(interval.low, source), (interval.low, trail)
        above = self.measure.bound_above(source, self.frequencies) if self.bounds_above else 0.0
        if self.incumbent.is_worse(self._key(interval, above)):
            return None
        if self.sweeps and self.sweeps[thread].fits(len(source.sizes)) and self._pays_to_sweep(interval):
            return self._sweep(thread, interval, source, above)
        column, level = self._split(interval)
        node = with_level(interval.high, column, level)
        # what descents have counted is known of the policy itself
        seen = self.incumbent.recall(node) if self.judges is None else None
        if seen is None:
            seen = self._see_least(thread, node, source, self._useful_rows(interval.low))
        is_possible = seen.suppressed_rows <= self.budget
        judged = self._judge(thread, node, source) if self.judges is not None and is_possible else seen
        return Half(interval, with_level(interval.low, column, level + 1), above, seen, judged, source, trail)

    def _pays_to_sweep(self, interval: Interval) -> bool:
        nodes = math.prod([high - low + 1 for low, high in zip(interval.low, interval.high, strict=True)])
        return pays(nodes, self.halves, self.ruled_out_halves, self.sweeps[0].gain)

    def _sweep(self, thread: int, interval: Interval, source: Source, above: float) -> SweepRest:
        """Judge all nodes of an interval that can be better than the best one found, until the time is up."""
        sweep, incumbent = self.sweeps[thread], self.incumbent

        def useful_rows(node: Node) -> int:
            rest = Interval(node, interval.high, interval.suppression_loss, interval.suppressed_rows, None)
            return -1 if incumbent.is_worse(self._key(rest, above)) else self._useful_rows(node)

        with np.errstate(over="ignore"):  # hashing wraps around
            for groups, most in sweep.walk(interval.low, interval.high, source, useful_rows):
                if self.watch.time_is_up():
                    return SweepRest(interval)
                if groups.unsafe_rows > most:
                    incumbent.consider(Seen(groups.node, FAILED, FAILED, self.budget + 1))
                else:
                    incumbent.consider(self._judge(thread, groups.node, source))
        return SweepRest(None)

    def _put_back(self, heap: Heap, half: Half | SweepRest) -> None:
        """Queue both halves of an interval, and keep the source that was made for it."""
        if isinstance(half, SweepRest):
            if half.left is not None:
                self._push(heap, half.left, 0.0)
            return
        self.halves += 1
        self.ruled_out_halves += half.lower_top.suppressed_rows > self.budget
        interval = half.interval
        if (
            half.source.node == interval.low
            and interval.low not in self.sources
            and half.source is not self.counter.base
        ):
            self._keep(half.source)
        self.incumbent.consider(half.judged)
        upper = Interval(
            half.upper_bottom, interval.high, interval.suppression_loss, interval.suppressed_rows, half.trail
        )
        self._push(heap, upper, half.above)
        if half.lower_top.suppressed_rows <= self.budget:
            self._push(heap, self._interval(interval.low, half.lower_top, half.trail), half.above)

    def _interval(self, low: Node, high: Seen, trail: Any) -> Interval:
        return Interval(low, high.node, high.suppression_loss, high.suppressed_rows, trail)

    def _key(self, interval: Interval, above: float) -> Key:
        """Return what no node of an interval can be better than: loss, suppressed rows, steps, place in the order."""
        by_rows = 0.0
        if self.least_kept is not None:
            kept = sum([numbers[level] for numbers, level in zip(self.least_kept, interval.low, strict=True)])
            by_rows = kept * interval.suppressed_rows  # what is suppressed below would have kept more than at the top
        bound = round(self._cost(interval.low) + above + max(interval.suppression_loss, by_rows), DIGITS)
        return bound, interval.suppressed_rows, sum(interval.low), interval.low

    def _push(self, heap: Heap, interval: Interval, above: float) -> None:
        key = self._key(interval, above)
        if not self.incumbent.is_worse(key):
            heapq.heappush(heap, (key, interval))

    def _cost(self, node: Node) -> float:
        """What the levels of a node cost by themselves."""
        return sum([losses[level] for losses, level in zip(self.level_losses, node, strict=True)])

    def _split(self, interval: Interval) -> tuple[int, int]:
        """Return the column whose levels cost most between the interval's ends, and the level that halves that best."""
        spans = [
            (losses[high] - losses[low], high - low)
            for losses, low, high in zip(self.split_by, interval.low, interval.high, strict=True)
        ]
        column = max((column for column in range(len(spans)) if spans[column][1]), key=lambda column: spans[column])
        losses, low, high = self.split_by[column], interval.low[column], interval.high[column]
        middle = (losses[low] + losses[high]) / 2
        return column, min(range(low, high), key=lambda level: abs((losses[level] + losses[level + 1]) / 2 - middle))

    def _nearest(self, interval: Interval) -> tuple[Source, Any]:
        """Return the shortest source at hand for the nodes of an interval, and the trail that leads to it."""
        trail = interval.trail
        while trail is not None and trail[0] not in self.sources:
            trail = trail[1]
        return (self.counter.base if trail is None else self.sources[trail[0]]), trail

    def _keep(self, source: Source) -> None:
        """Keep a source for the intervals above it; the oldest go first."""
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


def counter_for(task: Task, measure: QualityMeasure | None = None, at_most: int | None = None) -> Counter:
    """Return the quickest counter for a task and a measure; more than ``at_most`` suppressed rows are too many."""
    asks_counts = measure is None or measure.asks_counts_only
    if TupleCounter.serves(task) and asks_counts:
        return TupleCounter(task, measure)
    if SetCounter.serves(task, measure):
        return SetCounter(task, measure, at_most)
    if ValueCounter.serves(task) and asks_counts:
        return ValueCounter(task, measure, at_most)
    return GroupCounter(task, at_most)


def _lists(parts: Sequence[Any]) -> list[list[float]]:
    """Plain lists: single numbers are read from them quicker than from arrays."""
    return [part.tolist() for part in parts]
