"""Descent: finds good nodes from the first moment of a search on, and proves nothing.

It is a local search with random restarts. From the top it goes down, always to the best node one step below. Where no
step is better it lowers one column and raises others instead. Where that is no better either it raises a few columns at
random (a kick) and goes down again. It reports each counted node to the incumbent, which the search beside it shares.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop
from operator import le

from indistinct.counting import Node
from indistinct.search.full_domain.best_node.counters import Counter, Source
from indistinct.search.full_domain.best_node.incumbent import FAILED, Incumbent, Seen
from indistinct.search.task import with_level

MOST_KICKED = 5
"""Columns that a kick raises at random, at most."""
MOST_RAISED = 3
"""Columns that are raised for one that is lowered, at most."""
UNEVEN = 0.7
"""How much chance changes what a column is worth, so that descents differ."""
FROM_THE_BEST = 20
"""After so many kicks in vain the descent goes on from the best node."""


class StoppedError(Exception):
    """Whoever started a descent needs it no more."""


@dataclass(frozen=True, slots=True)
class Slope:
    """The nodes that a descent may visit, and what is known of them before any is counted."""

    low: Node
    high: Node
    level_losses: Sequence[Sequence[float]]
    """What each level of each column costs by itself."""
    is_monotone: bool
    """What fails at a node fails below it."""

    def cost(self, node: Node) -> float:
        """What the levels of a node cost by themselves."""
        return sum([losses[level] for losses, level in zip(self.level_losses, node, strict=True)])

    def steps_down(self, node: Node) -> list[tuple[int, Node]]:
        """Return each column that can be lower, and the node with it one level lower."""
        return [
            (column, with_level(node, column, level - 1))
            for column, level in enumerate(node)
            if level > self.low[column]
        ]

    def steps_up(self, node: Node) -> list[tuple[int, Node]]:
        """Return each column that can be higher, and the node with it one level higher."""
        return [
            (column, with_level(node, column, level + 1))
            for column, level in enumerate(node)
            if level < self.high[column]
        ]


class Descent:
    """Looks for nodes of small loss: one for each thread, since its counter works in place."""

    def __init__(self, counter: Counter, incumbent: Incumbent, slope: Slope, seed: int = 0) -> None:
        self.counter = counter
        self.incumbent = incumbent
        self.slope = slope
        self.is_stopped = False
        self.kicks = 0
        """How often it went down again."""
        self._is_first = seed == 0
        self._chance = random.Random(seed)  # nosec B311 # it orders a search, and hides nothing
        self._ground: Node = slope.high
        """The node from whose groups those above it are counted."""
        self._source: Source = counter.base

    def run(self, patience: int) -> None:
        """Look for better nodes until so many kicks in a row were in vain, or until it is stopped."""
        try:
            self._look_on(patience)
        except StoppedError:
            return

    def _look_on(self, patience: int) -> None:
        # all but the first begin by chance as well: nodes that it met tell nothing new
        best = at = self._settle(self._first(), [1.0] * len(self.slope.high) if self._is_first else self._worth())
        in_vain = 0
        while in_vain < patience:
            self._heed_stop()
            found = self._settle(self._kick(at), self._worth())
            self.kicks += 1
            in_vain += 1
            if found.loss < best.loss:
                best, in_vain = found, 0
            if found.loss <= at.loss:
                at = found
            elif in_vain % FROM_THE_BEST == 0:
                at = best

    def _worth(self) -> list[float]:
        """Say by chance what a gain of each column is worth."""
        return [self._chance.uniform(1 - UNEVEN, 1 + UNEVEN) for _ in self.slope.high]

    def _first(self) -> Seen:
        """Return a node that passes: the top; or any, where that fails because models are not monotone."""
        seen = self._see(self.slope.high)
        while seen.loss == FAILED:
            self._heed_stop()
            best = self.incumbent.best
            tried = tuple(map(self._chance.randint, self.slope.low, self.slope.high)) if best is None else best[3]
            seen = self._see(tried)
        return seen

    def _kick(self, at: Seen) -> Seen:
        """Raise some columns at random; where that fails the node stays."""
        self._ground = node = at.node
        can_rise = [column for column, level in enumerate(node) if level < self.slope.high[column]]
        number = min(len(can_rise), self._chance.randint(1, MOST_KICKED))
        for column in self._chance.sample(can_rise, number):
            node = with_level(node, column, self._chance.randint(node[column] + 1, self.slope.high[column]))
        seen = self._see(node)
        return at if seen.loss == FAILED else seen

    def _settle(self, at: Seen, worth: Sequence[float]) -> Seen:
        """Go to better nodes until none is near."""
        while True:
            at = self._go_down(at, worth)
            better = self._exchange(at)
            if better is None:
                return at
            at = better

    def _go_down(self, at: Seen, worth: Sequence[float]) -> Seen:
        """Lower the column that gains most, again and again; gains count by the worth of their column.

        What suppression costs only rises on the way down. So a step is not counted if it could not be the best even
        though it suppressed no more than was seen above it.
        """
        suppression = [0.0] * len(worth)
        is_closed = [False] * len(worth)
        while True:
            steps = []
            for column, node in self.slope.steps_down(at.node):
                least = self.slope.cost(node) + max(suppression[column], at.suppression_loss) - at.loss
                if least < 0 and not is_closed[column]:
                    steps.append((least * worth[column], column, node))
            heapify(steps)
            gain, best = 0.0, None
            while steps and steps[0][0] < gain:
                _, column, node = heappop(steps)
                seen = self._see(node)
                is_closed[column] = seen.loss == FAILED and self.slope.is_monotone
                suppression[column] = seen.suppression_loss
                if (seen.loss - at.loss) * worth[column] < gain:
                    gain, best = (seen.loss - at.loss) * worth[column], seen
            if best is None:
                return at
            at = best

    def _exchange(self, at: Seen) -> Seen | None:
        """Return a better node with one column lower and up to a few others higher; None if none is found.

        All such nodes lie above the one with the column lowered, so they are counted from its groups.
        """
        steps = [(self.slope.cost(node), column, node) for column, node in self.slope.steps_down(at.node)]
        for cost, lowered, node in sorted(steps):
            if cost >= at.loss:
                return None
            raised: Seen | None = self._see(node)
            self._ground = node
            for _ in range(MOST_RAISED):
                if raised is not None and raised.loss >= at.loss:
                    raised = self._raise_one(raised, lowered, at.loss)
            if raised is not None and raised.loss < at.loss:
                return raised
        return None

    def _raise_one(self, at: Seen, lowered: int, below: float) -> Seen | None:
        """Raise the column that brings the loss below this, or else saves most rows for what it costs.

        None if each costs too much, or saves none.
        """
        own_cost = self.slope.cost(at.node)
        found: Seen | None = None
        most = 0.0
        for column, node in self.slope.steps_up(at.node):
            cost = self.slope.cost(node)
            if column == lowered or cost >= below:
                continue
            seen = self._see(node)
            if seen.loss < below:
                return seen
            saved = at.suppressed_rows - seen.suppressed_rows
            if saved > most * (cost - own_cost):
                found, most = seen, saved / max(cost - own_cost, 1e-12)
        return found

    def _see(self, node: Node) -> Seen:
        """Count a node, unless somebody has, and tell the incumbent."""
        seen = self.incumbent.recall(node)
        if seen is None:
            self._heed_stop()
            seen = self.incumbent.see(self.counter.outcome(node, self._nearest(node)))
            self.incumbent.consider(seen)
        return seen

    def _nearest(self, node: Node) -> Source:
        """Return the groups at the ground for nodes above it, and for others all tuples."""
        if not all(map(le, self._ground, node)):
            return self.counter.base
        if self._source.node != self._ground:
            self._source = self.counter.reduce_source(self._ground, self.counter.base)
        return self._source

    def _heed_stop(self) -> None:
        if self.is_stopped:
            raise StoppedError
