"""Incumbent: the best node that a search has found so far, and what it remembers of the nodes that were counted.

Several threads may look for better nodes at once and tell each other here. ``Descents`` are the threads that do so
beside the search; most searches end before they begin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from indistinct.counting import Node
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure
from indistinct.recoding import Outcome

if TYPE_CHECKING:
    from indistinct.search.full_domain.best_node.descent import Descent

DIGITS = 12
"""Losses that agree to so many digits are equal: they differ by rounding only."""
MOMENT = 0.002
"""Seconds between two looks at a descent."""
REMEMBERED = 100_000
"""Nodes that are remembered at once."""
FAILED = float("inf")
"""The loss of a node that suppresses too many rows."""
PATIENCE = 1000, 100
"""The kicks in vain after which the first and the second descent, by other chance, leave the search alone."""
LEAD_SECONDS, LEAD_SHARE, LEAD_KICKS = 0.5, 0.5, 20
"""How long descents may run alone: until these seconds or this part of the time limit have passed, or one had so
many kicks. By then a good node is known, and what is cut off by it need not be looked at."""

Key = tuple[float, int, int, Node]
"""What puts nodes in order: loss, suppressed rows, steps, place in the order of all nodes."""


class Seen(NamedTuple):
    """What a search knows of a node that was counted."""

    node: Node
    loss: float
    """FAILED if more rows are suppressed than may be."""
    suppression_loss: float
    """What suppression adds to the loss; FAILED as well then."""
    suppressed_rows: int


class Incumbent:
    """The best of the nodes that were counted for one measure."""

    def __init__(self, measure: QualityMeasure, budget: int, keeps_ties: bool) -> None:
        self.measure = measure
        self.budget = budget
        self.keeps_ties = keeps_ties
        self.best: Key | None = None
        self.found_at = time.monotonic()
        """When the best node was found."""
        self.ties: list[Node] = []
        self.checks = 0
        self._known: dict[Node, Seen] | None = None
        self._lock = Lock()

    def start_to_remember(self) -> None:
        """Remember nodes from now on: several look for them, and none need be counted twice."""
        self._known = {}

    def recall(self, node: Node) -> Seen | None:
        """Return what is known of a node, if it was counted before."""
        return None if self._known is None else self._known.get(node)

    def see(self, outcome: Outcome) -> Seen:
        """Return what a search needs to know of a counted node."""
        if outcome.suppressed_rows > self.budget:
            return Seen(outcome.node, FAILED, FAILED, outcome.suppressed_rows)
        loss = round(self.measure.loss(outcome), DIGITS)
        return Seen(outcome.node, loss, self.measure.suppression_loss(outcome), outcome.suppressed_rows)

    def consider(self, seen: Seen) -> None:
        """Remember a counted node, and that it is the best so far if it is."""
        with self._lock:
            if self._known is not None:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[seen.node] = seen
            self._compare(seen)

    def _compare(self, seen: Seen) -> None:
        self.checks += 1
        best = self.best
        if seen.loss == FAILED or (best is not None and seen.loss > best[0]):
            return
        if best is None or seen.loss < best[0]:
            self.ties = []
        if self.keeps_ties and seen.node not in self.ties:
            self.ties.append(seen.node)
        key = (seen.loss, seen.suppressed_rows, sum(seen.node), seen.node)
        if best is None or key < best:
            self.best, self.found_at = key, time.monotonic()

    def is_worse(self, key: Key) -> bool:
        """Return whether nodes that are no better than this key cannot be chosen any more."""
        best = self.best
        if best is None:
            return False
        return key[0] > best[0] if self.keeps_ties else key > best


class Descents:
    """Descents in threads of their own: they begin when a search has taken some time, and end with it."""

    def __init__(self, make: Callable[[int], Descent], incumbent: Incumbent, wait: float, number: int) -> None:
        self._make = make
        self._incumbent = incumbent
        self._due = time.monotonic() + wait
        self._running: list[Descent] = []
        self._is_over = False
        self._ends: list[Future[None]] = []
        self._patience = PATIENCE[:number]
        self._pool = ThreadPoolExecutor(number)

    def start_if_due(self) -> None:
        """Start them once if it is time."""
        if time.monotonic() < self._due:
            return
        self._due = math.inf
        self._incumbent.start_to_remember()
        self._ends = [self._pool.submit(self._run, seed) for seed in range(len(self._patience))]

    def lead(self, watch: Watch) -> None:
        """Start them, and wait until the first has found a good node: until then nothing else need be done."""
        self._due = -math.inf
        self.start_if_due()
        until = min(LEAD_SHARE, LEAD_SECONDS / watch.time_limit) if watch.time_limit else LEAD_SHARE
        while not (self._ends[0].done() or watch.time_is_up() or watch.share_of_time() >= until):
            if self._running and self._running[0].kicks >= LEAD_KICKS:
                break
            time.sleep(MOMENT)

    def _run(self, seed: int) -> None:
        """Make a descent and run it; to make its counter takes a while, and the search goes on meanwhile."""
        descent = self._make(seed)
        self._running.append(descent)
        if self._is_over:
            descent.is_stopped = True
        descent.run(self._patience[seed])

    def stop(self) -> None:
        """Have them end, and wait for that."""
        self._is_over = True
        for descent in self._running:
            descent.is_stopped = True
        self._pool.shutdown()
        for end in self._ends:
            end.result()  # a mistake in a thread is one of the search

    def __enter__(self) -> Descents:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
