"""Intervals of the lattice: what a search has still to look at, and what became of an interval that it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from indistinct.counting import Node
from indistinct.search.full_domain.best_node.counters import Source
from indistinct.search.full_domain.best_node.incumbent import Key, Seen


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
