"""Second ways to the optimum: every node of the lattice, or every node that could be better, by other code."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.data import Counted
from indistinct.counting import Node
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure, measure_named
from indistinct.search import Task
from indistinct.search.full_domain.best_node.incumbent import DIGITS
from indistinct.search.full_domain.frontier import Frontier, sweep
from indistinct.search.full_domain.lattice import Optimum

EVERY_NODE = "every node counted"
EVERY_CHEAPER = "every cheaper node ruled out"
NOT_CHECKED = "not checked: no time left"
TOLERANCE = 10.0**-DIGITS


class WrongOptimumError(AssertionError):
    """A search's answer is not the optimum: no figure is worth anything."""


@dataclass(frozen=True)
class Exhaustive:
    """The whole lattice of a table, counted once for several ks and measures."""

    frontier: Frontier

    @classmethod
    def of(cls, counted: Counted, ks: Iterable[int], measures: Iterable[str]) -> Exhaustive:
        """Count every node."""
        return cls(sweep(counted.task(2, 0.0), Watch(), sorted(set(ks)), sorted(set(measures))))

    def check(self, found: Optimum, k: int, max_suppression: float, measure: str) -> str:
        """Raise if a search's answer is not the best of all nodes."""
        best = self.frontier.best(k, max_suppression, measure)
        node = None if best is None else tuple(best.node.values())
        if best is None or abs(best.loss - found.loss) > TOLERANCE or node != found.recoding.node:
            raise WrongOptimumError(
                f"{measure}, k = {k}: the search gave {found.recoding.node}, but {node} is the best"
            )
        return EVERY_NODE


def rule_out(task: Task, found: Optimum, measure_name: str, seconds: float) -> str:
    """Raise if a node is better than a search's answer, for a measure whose levels have a cost.

    Only nodes whose levels alone cost less can be better. The highest of them are counted by rolling groups up, which
    shares no kernel with the search; below a node that must suppress too many rows all others must as well
    (Samarati 2001, Theorem 5.2), and below one that passes its neighbours are counted, too.
    """
    measure = measure_named(measure_name)
    started = time.perf_counter()
    costs = _costs(task, measure)
    is_cheaper = costs < found.loss - TOLERANCE
    is_highest = is_cheaper.copy()
    for column in range(costs.ndim):
        above = np.roll(is_cheaper, -1, axis=column)
        above[(slice(None),) * column + (-1,)] = False
        is_highest &= ~above
    waiting = [tuple(int(level) for level in node) for node in np.argwhere(is_highest)]
    waiting.sort(reverse=True)
    seen = set(waiting)
    start: tuple[Node, object] | None = None
    while waiting:
        if time.perf_counter() - started > seconds:
            return NOT_CHECKED
        node = waiting.pop()
        # neighbours in the order share their first levels, so the groups at these are kept as the start of a roll-up
        low = (*node[: len(node) // 2], *[0] * (len(node) - len(node) // 2))
        if start is None or start[0] != low:
            start = low, task.frequencies.roll_up(low)[0]
        groups, _ = task.frequencies.roll_up(node, start[1])  # type: ignore[arg-type]
        recoding = task.recoding(groups)
        if recoding.suppressed_rows > task.budget:
            continue
        if measure.loss(recoding) < found.loss - TOLERANCE:
            raise WrongOptimumError(f"{measure_name}: {node} is better than {found.recoding.node}")
        for column, level in enumerate(node):
            below = (*node[:column], level - 1, *node[column + 1 :])
            if level and below not in seen:
                seen.add(below)
                waiting.append(below)
    return f"{EVERY_CHEAPER} ({int(is_cheaper.sum()):,} nodes by {len(seen):,} counts)"


def recount(counted: Counted, found: Optimum, k: int) -> None:
    """Raise if the answer's suppressed rows are not what NumPy counts from the rows themselves."""
    rows, keys = counted.rows, np.zeros(len(counted.rows), np.int64)
    from benchmarks.adult import hierarchy

    for like, codes, level in zip(rows.like, rows.codes, found.recoding.node, strict=True):
        labels = [row[level] for row in hierarchy(like)]
        place = {label: position for position, label in enumerate(dict.fromkeys(labels))}
        keys = keys * len(place) + np.array([place[label] for label in labels])[codes]
    _, sizes = np.unique(keys, return_counts=True)
    suppressed = int(sizes[sizes < k].sum())
    if suppressed != found.recoding.suppressed_rows:
        raise WrongOptimumError(f"{found.recoding.suppressed_rows} rows suppressed, but {suppressed} were counted")


def nodes(counted: Counted) -> int:
    """Return the number of nodes of a table's lattice."""
    return math.prod(height + 1 for height in counted.frequencies.heights)


def _costs(task: Task, measure: QualityMeasure) -> np.ndarray:
    """Return what the levels of every node cost by themselves, one axis per column."""
    parts = measure.level_losses(task.frequencies)
    assert parts is not None, "a measure whose levels cost something by themselves"
    costs = np.zeros((1,) * len(parts))
    for column, part in enumerate(parts):
        costs = costs + part.reshape([-1 if axis == column else 1 for axis in range(len(parts))])
    return costs
