"""The plainest local search there is, to compare with: steepest descent from the top, swaps, kicks, one thread."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from indistinct.counting import Node
from indistinct.quality import QualityMeasure
from indistinct.search import Task
from indistinct.search.full_domain.best_node.branch_and_bound import counter_for
from indistinct.search.task import with_level

KICKED = 3
"""Columns that a kick changes."""


@dataclass(frozen=True)
class Found:
    """The best node, its loss, and the CPU seconds until it was found."""

    node: Node
    loss: float
    seconds: float


def plain_search(task: Task, measure: QualityMeasure, seconds: float, seed: int = 0) -> Found:
    """Look for a node of small loss for so many CPU seconds."""
    started, chance = time.process_time(), random.Random(seed)
    low, high = task.frequencies.start, task.frequencies.heights
    budget = min(task.budget, task.frequencies.rows - 1)
    counter = counter_for(task, measure, budget)
    known: dict[Node, float] = {}

    def is_over() -> bool:
        return time.process_time() - started >= seconds

    def loss(node: Node) -> float:
        if node not in known and not is_over():
            outcome = counter.outcome(node, counter.base)
            known[node] = measure.loss(outcome) if outcome.suppressed_rows <= budget else float("inf")
        return known.get(node, float("inf"))

    def settled(node: Node) -> Node:
        """Go to the best neighbour while it is better: a column lower, or else a column lower and another higher."""
        while True:
            better = min(_lower(node, low), key=loss, default=node)
            if loss(better) >= loss(node):
                better = min(_swapped(node, low, high), key=loss, default=node)
            if loss(better) >= loss(node):
                return node
            node = better

    best = settled(high)
    found = Found(best, loss(best), time.process_time() - started)
    while not is_over():
        kicked = best
        for column in chance.sample(range(len(best)), min(KICKED, len(best))):
            kicked = with_level(kicked, column, chance.randint(kicked[column], high[column]))
        settled_kick = settled(kicked)
        if loss(settled_kick) <= loss(best):
            if loss(settled_kick) < loss(best):
                found = Found(settled_kick, loss(settled_kick), time.process_time() - started)
            best = settled_kick
    return found


def _lower(node: Node, low: Node) -> Iterator[Node]:
    for column, level in enumerate(node):
        if level > low[column]:
            yield with_level(node, column, level - 1)


def _swapped(node: Node, low: Node, high: Node) -> Iterator[Node]:
    for lower in _lower(node, low):
        for column, level in enumerate(node):
            if level < high[column] and lower[column] == level:
                yield with_level(lower, column, level + 1)
