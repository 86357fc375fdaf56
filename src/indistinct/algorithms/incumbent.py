"""Incumbent: the best node that a search has found so far, and what it remembers of the nodes that were counted.

Several threads may look for better nodes at once and tell each other here.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import NamedTuple

from indistinct.counting import Node
from indistinct.quality import QualityMeasure
from indistinct.recoding import Outcome

DIGITS = 12
"""Losses that agree to so many digits are equal: they differ by rounding only."""
REMEMBERED = 100_000
"""Nodes that are remembered at once."""
FAILED = float("inf")
"""The loss of a node that suppresses too many rows."""

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
        """Give what is known of a node, if it was counted before."""
        return None if self._known is None else self._known.get(node)

    def see(self, outcome: Outcome) -> Seen:
        """Give what a search needs to know of a counted node."""
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
        """Tell whether nodes that are no better than this key cannot be chosen any more."""
        best = self.best
        if best is None:
            return False
        return key[0] > best[0] if self.keeps_ties else key > best
