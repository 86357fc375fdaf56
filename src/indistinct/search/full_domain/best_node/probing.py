"""Probing: branch and bound for lattices of very many nodes, with bounds from one column lowered at a time.

An interval is all nodes between a lower and an upper one. A node with a column at some level lies below the upper node
with that one column lowered. So it suppresses at least the rows that are suppressed there, and the cells of the column
keep no more than there; and it suppresses no fewer rows than any one of its columns does. Together this bounds what all
cells keep. The interval of least bound is split where columns keep most, until none is left that could hold a better
node.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.counting import FrequencyList, Node
from indistinct.counting.kernels import grouping
from indistinct.quality import NonUniformEntropy
from indistinct.quality.measures import CellMeasure, Retained
from indistinct.search.full_domain.best_node.counters import MergedTuples, TupleCounter, possible_groups
from indistinct.search.full_domain.best_node.incumbent import Incumbent, Key, Seen
from indistinct.search.full_domain.best_node.kernels import interval_probes as interval_probes
from indistinct.search.task import Task, with_level

ROUNDING = 1e-11
"""Losses that differ by less are equal: bounds add cells up in another order."""
CACHED_CELLS = 64_000_000
"""Cells of shorter lists that are kept."""
MOST_CELLS = 200_000_000
"""A list with more is not probed: its codes lie beside it, four bytes a cell."""
SHORT_LIST, SPARSE = 256, 16
"""Lists this short are not worth shortening, nor are those with so many label combinations for each tuple."""
MOST_KNOWN = 8_000_000
"""Columns times levels of all queued intervals whose bounds are kept: 17 bytes each."""
SLIGHT = 1e-3
"""The least loss that a split counts, so that intervals without loss are split too."""


def serves(task: Task, measure: object) -> bool:
    """Return whether intervals can be probed: k-anonymity of rows on one quasi-identifier, by a measure of cells."""
    frequencies = task.frequencies
    return (
        isinstance(measure, CellMeasure)
        and TupleCounter.serves(task)
        and frequencies.base.people is None
        and measure.prepare(frequencies).whole > 0
        and len(frequencies.base) * len(frequencies.columns) <= MOST_CELLS
    )


@dataclass(frozen=True, slots=True, eq=False)
class ProbedInterval:
    """All nodes from ``low`` to ``high``, and what is known of them by column and level."""

    low: Node
    high: Node
    gone: int
    """Rows that all its nodes suppress."""
    known: Any
    """A ``interval_probes.LevelBounds``; None if it must be found anew, because very many intervals are queued."""
    trail: Any
    """The nodes below at which shorter lists were made, as nested pairs, nearest first."""
    picks: Node | None = None
    """The levels at which columns keep most together, once it was probed."""
    is_high_seen: bool = False
    """Whether the incumbent was told of its upper node, if that is of use."""


@dataclass(frozen=True, slots=True, eq=False)
class ShorterList:
    """One tuple for each group at a node, as counters and as probes take them."""

    tuples: MergedTuples
    coded: interval_probes.TupleCodes


@dataclass(frozen=True, slots=True, eq=False)
class Probed:
    """An interval that was probed, what its nodes lose at the least, the list used, and its upper node if it was
    counted."""

    interval: ProbedInterval
    bound: float
    source: ShorterList
    seen: Seen | None


class Probing:
    """One search for the best node by probing intervals; it tells the incumbent what it finds."""

    def __init__(self, task: Task, measure: CellMeasure, incumbent: Incumbent, threads: int) -> None:
        self.frequencies = task.frequencies
        self.incumbent = incumbent
        self.budget = incumbent.budget
        self.k = task.largest_k()
        retained = measure.prepare(self.frequencies)
        self.whole = retained.whole
        self.labels = labels_of(self.frequencies, retained)
        parts = NonUniformEntropy().level_losses(self.frequencies)
        self.told = [(own[-1] - own).tolist() for own in parts]  # how much labels tell, by column and level
        self.counters = [TupleCounter(task, measure) for _ in range(threads)]
        base: Any = self.counters[0].base
        self.base = ShorterList(base, self._codes_of(base))
        self.works = [_work(len(base.sizes), len(self.frequencies.columns)) for _ in range(threads)]
        self.lists: OrderedDict[Node, ShorterList] = OrderedDict()
        self.cached_cells = 0
        self.heap: list[tuple[Key, int, ProbedInterval]] = []
        self.pushed = 0
        self._taken: list[float] = []
        """The bounds of the intervals that were taken last."""

    def run(self, may_go_on: Callable[[], bool]) -> float:
        """Probe intervals until the best node is known, or while this may go on; return the bound that is left."""
        known = _nothing_suppressed(self.labels, self.frequencies)
        self._push(ProbedInterval(self.frequencies.start, self.frequencies.heights, 0, known, None), 0.0)
        with ThreadPoolExecutor(len(self.works)) as pool:
            while intervals := self._take():
                if not may_go_on():
                    return max(0.0, self._bound_left() - ROUNDING)
                works = [(thread, interval, *self._nearest(interval)) for thread, interval in enumerate(intervals)]
                probed = list(pool.map(self._probe, works)) if len(works) > 1 else [self._probe(works[0])]
                for one in probed:
                    if one is not None:
                        self._put_back(one)
        return math.inf

    def _take(self) -> list[ProbedInterval]:
        """Take the intervals of least bound, one for each thread; none if nothing better can be left."""
        intervals: list[ProbedInterval] = []
        self._taken = []
        while self.heap and len(intervals) < len(self.works):
            key, _, interval = heapq.heappop(self.heap)
            if not self.incumbent.is_worse(self._key(interval, key[0])):  # the best node may be another one by now
                intervals.append(interval)
                self._taken.append(key[0])
        return intervals

    def _bound_left(self) -> float:
        """Return the least bound of the intervals that were just taken and those that are queued."""
        queued = [self.heap[0][0][0]] if self.heap else []
        return min(self._taken + queued)

    def _probe(self, work: tuple[int, ProbedInterval, ShorterList, Any]) -> Probed | None:
        """Find out what the nodes of an interval keep at most; None if that is too little.

        Threads run this: it changes nothing but the arrays of the thread and the interval.
        """
        thread, interval, source, trail = work
        scratch = self.works[thread]
        if interval.known is None:
            interval = replace(interval, known=_nothing_suppressed(self.labels, self.frequencies))
        if interval.picks is None and self._pays_to_shorten(source, interval.low):
            shorter: Any = self.counters[thread].reduce_source(interval.low, source.tuples)
            source, trail = ShorterList(shorter, self._codes_of(shorter)), (interval.low, trail)
        ends = np.array([interval.low, interval.high], np.int64)
        with np.errstate(over="ignore"):  # hashing wraps around
            state, kept, _, gone = interval_probes.probe(
                source.coded,
                self.labels,
                ends,
                self.k,
                self.budget,
                interval.gone,
                self._enough(),
                interval.known,
                scratch,
            )
        if state == interval_probes.WORSE:
            return None
        picks, seen = tuple(scratch.picks.tolist()), None
        low = self._passing_low(interval)
        probed = ProbedInterval(low, interval.high, int(gone), interval.known, trail, picks, True)
        if not interval.is_high_seen and self._may_be_best(interval) and self.incumbent.recall(interval.high) is None:
            seen = self.incumbent.see(self.counters[thread].outcome(interval.high, source.tuples))
        return Probed(probed, 1.0 - kept / self.whole, source, seen)

    def _put_back(self, probed: Probed) -> None:
        """Split an interval and queue both halves, or queue it as it is if others are more promising now."""
        interval, bound = probed.interval, probed.bound
        if interval.trail is not None and probed.source.tuples.node == interval.trail[0]:
            self._keep(probed.source)
        if probed.seen is not None:
            self.incumbent.consider(probed.seen)
        key = self._key(interval, bound)
        if self.incumbent.is_worse(key) or interval.low == interval.high:
            return
        if self.heap and key > self.heap[0][0]:
            heapq.heappush(self.heap, (key, self._number(), interval))
            return
        column, level = self._split(interval)
        is_probed = interval.known.is_probed
        still = np.zeros_like(is_probed)
        still[column] = is_probed[column]  # these nodes stay the same
        below = interval_probes.LevelBounds(interval.known.kept.copy(), interval.known.gone.copy(), still)
        self._push(
            ProbedInterval(
                interval.low, with_level(interval.high, column, level), interval.gone, below, interval.trail
            ),
            bound,
        )
        low = with_level(interval.low, column, level + 1)
        self._push(
            ProbedInterval(low, interval.high, interval.gone, interval.known, interval.trail, is_high_seen=True), bound
        )

    def _push(self, interval: ProbedInterval, bound: float) -> None:
        """Queue an interval that may hold a better node."""
        ends = np.array([interval.low, interval.high], np.int64)
        picks = np.empty(len(interval.low), np.int64)
        kept, _ = interval_probes.most_kept(self.labels, ends, interval.known, interval.gone, self.budget, picks)
        if kept < 0:
            return
        key = self._key(interval, max(bound, 1.0 - kept / self.whole))
        if not self.incumbent.is_worse(key):
            is_full = len(self.heap) * interval.known.kept.size > MOST_KNOWN
            queued = replace(interval, known=None) if is_full else interval
            heapq.heappush(self.heap, (key, self._number(), queued))

    def _number(self) -> int:
        """Return each interval a number, so that intervals of the same key are never compared."""
        self.pushed += 1
        return self.pushed

    def _key(self, interval: ProbedInterval, bound: float) -> Key:
        """Return what no node of an interval can be better than; what differs from the best loss by rounding is equal
        to it.
        """
        best = self.incumbent.best
        if best is not None and abs(bound - best[0]) <= ROUNDING:
            bound = best[0]
        return bound, interval.gone, sum(interval.low), interval.low

    def _enough(self) -> float:
        """Return what a node must keep to be of use."""
        best = self.incumbent.best
        return -1.0 if best is None else (1.0 - best[0] - ROUNDING) * self.whole

    def _may_be_best(self, interval: ProbedInterval) -> bool:
        """Return whether the upper node of an interval may be the best one."""
        kept = sum(float(own[level]) for own, level in zip(interval.known.kept, interval.high, strict=True))
        return kept >= self._enough()

    def _passing_low(self, interval: ProbedInterval) -> Node:
        """Return the lowest levels that no probe has ruled out."""
        low = list(interval.low)
        for column, gone in enumerate(interval.known.gone):
            for level in range(interval.high[column], interval.low[column] - 1, -1):
                if gone[level] > self.budget:
                    low[column] = level + 1
                    break
        return tuple(low)

    def _split(self, interval: ProbedInterval) -> tuple[int, int]:
        """Return the column and level at which both halves of an interval lose most.

        The upper half loses what the column keeps more at its pick than above the level. What the lower half loses is
        not known before it is probed, but the more the column's labels tell there, the more groups become small.
        """
        assert interval.picks is not None  # it was probed
        best = -1.0, 0, 0
        for column, (low, pick, high) in enumerate(zip(interval.low, interval.picks, interval.high, strict=True)):
            kept, told = interval.known.kept[column].tolist(), self.told[column]
            for level in range(min(pick, max(low, high - 1)), high):
                lost = max(kept[pick] - kept[level + 1], SLIGHT * self.whole)
                best = max(best, (lost * (told[level] - told[high] + SLIGHT), column, level))
        return best[1], best[2]

    def _nearest(self, interval: ProbedInterval) -> tuple[ShorterList, Any]:
        """Return the shortest list at hand for the nodes of an interval, and the trail that leads to it."""
        trail = interval.trail
        while trail is not None and trail[0] not in self.lists:
            trail = trail[1]
        return (self.base if trail is None else self.lists[trail[0]]), trail

    def _keep(self, source: ShorterList) -> None:
        """Keep a list for the intervals above it; the oldest go first."""
        if source.tuples.node in self.lists:
            return
        self.lists[source.tuples.node] = source
        self.cached_cells += source.coded.codes.size
        while self.cached_cells > CACHED_CELLS and len(self.lists) > 1:
            self.cached_cells -= self.lists.popitem(last=False)[1].coded.codes.size

    def _pays_to_shorten(self, source: ShorterList, node: Node) -> bool:
        """Guess whether a shorter list would save more than it costs: if few label combinations are left."""
        number = len(source.tuples.sizes)
        if source.tuples.node == node or number <= SHORT_LIST:
            return False
        possible = possible_groups(self.frequencies, node)
        shrinks = 8 * possible <= possible_groups(self.frequencies, source.tuples.node)
        return 2 * possible <= number or (shrinks and possible <= SPARSE * number)

    def _codes_of(self, tuples: MergedTuples) -> interval_probes.TupleCodes:
        """Return the codes of tuples column by column."""
        layout = self.frequencies.base.layout
        codes = np.empty((len(self.frequencies.columns), len(tuples.sizes)), np.int32)
        for column, own in enumerate(codes):
            place = layout.words[column], layout.shifts[column], layout.masks[column]
            own[:] = grouping.unpack(tuples.keys, *(int(number) for number in place))
        return interval_probes.TupleCodes(codes, tuples.sizes.astype(np.int64))


def labels_of(frequencies: FrequencyList, retained: Retained) -> interval_probes.LevelLabels:
    """Lay out the labels of a list from the level up at which it was counted, and what cells keep under them."""
    shape = len(frequencies.columns), max(frequencies.heights, default=0) + 1
    map_at, label_at, numbers = (np.zeros(shape, np.int64) for _ in range(3))
    maps: list[Any] = []
    kept: list[Any] = []
    least_kept: list[Any] = []
    least_rows: list[Any] = []
    least_sums: list[Any] = []
    maps_used = labels_used = 0
    for column, lowest in enumerate(frequencies.lowest):
        codes = frequencies.base.label_codes(column)
        for level in range(lowest, frequencies.heights[column] + 1):
            own, values = frequencies.coarser(column, lowest, level), retained.per_label[column][level]
            rows = np.bincount(own[codes], frequencies.base.sizes, len(values)).astype(np.int64)
            order = np.argsort(values, kind="stable")
            map_at[column, level], label_at[column, level] = maps_used, labels_used
            numbers[column, level] = len(values)
            maps_used, labels_used = maps_used + len(own), labels_used + len(values)
            maps.append(own.astype(np.int32))
            kept.append(values)
            least_kept.append(values[order])
            least_rows.append(np.cumsum(rows[order]))
            least_sums.append(np.cumsum(rows[order] * values[order]))
    flat = [np.concatenate(part) for part in (maps, kept, least_kept, least_rows, least_sums)]
    return interval_probes.LevelLabels(flat[0], map_at, numbers, flat[1], label_at, *flat[2:])


def _nothing_suppressed(labels: interval_probes.LevelLabels, frequencies: FrequencyList) -> interval_probes.LevelBounds:
    """Return what columns keep at each level with nothing suppressed: no probe is needed for that."""
    kept = np.zeros(labels.numbers.shape)
    for column, (lowest, height) in enumerate(zip(frequencies.lowest, frequencies.heights, strict=True)):
        for level in range(lowest, height + 1):
            kept[column, level] = labels.least_sums[labels.label_at[column, level] + labels.numbers[column, level] - 1]
    return interval_probes.LevelBounds(kept, np.zeros(kept.shape, np.int64), np.zeros(kept.shape, np.bool_))


def _work(tuples: int, columns: int) -> interval_probes.ProbeScratch:
    places = max(2 * interval_probes.DENSE * tuples, 16) + interval_probes.FEW_PLACES
    return interval_probes.ProbeScratch(
        groups=np.empty(tuples, np.int32),
        active=np.empty(tuples, np.int32),
        counts=np.empty(tuples, np.int64),
        sizes=np.empty(places, np.int64),
        keys=np.empty(places, np.int64),
        numbers=np.empty(places, np.int32),
        picks=np.empty(columns, np.int64),
    )
