"""Search: the generalization lattice with what is known about its nodes, shared by all exact algorithms.

Three things keep it quick. Groups at a node are rolled up from the smallest list at hand below it. The number of rows
to suppress never rises on the way up (Samarati 2001, Theorem 5.2), so one failing node tells about all below it and
one passing node about all above. And a measure's bounds rule out nodes that cannot beat the best one found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from indistinct.algorithms.base import Task
from indistinct.errors import InterruptedSearchError, PolicyError
from indistinct.frequency import Groups, Node
from indistinct.quality import QualityMeasure
from indistinct.quality.base import FloatArray
from indistinct.recoding import Recoding
from indistinct.watch import Watch

LARGEST_LATTICE = 50_000_000
"""Nodes that an exact search keeps tags of: one byte each, plus a bound of eight."""
CACHED_LISTS = 512
CACHED_TUPLES = 16_000_000
TOLERANCE = 1e-12
"""Losses this close are equal: they differ by rounding only."""

UNKNOWN, PASSES, FAILS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best recoding that a search found, and whether no other can be better."""

    recoding: Recoding
    loss: float
    is_proven: bool


class Search:
    """Nodes of one task's lattice: their groups, whether they pass within a budget, and the best of them."""

    def __init__(self, task: Task, watch: Watch, budget: int | None = None) -> None:
        self.task = task
        self.watch = watch
        self.budget = task.budget if budget is None else budget
        self.frequencies = task.frequencies
        self.heights = task.frequencies.heights
        self.shape = tuple(height + 1 for height in self.heights)
        self.size = int(np.prod([float(extent) for extent in self.shape]))
        if self.size > LARGEST_LATTICE:
            raise PolicyError(
                f"the hierarchies span {self.size:,} combinations of levels, more than an exact search takes in "
                f"({LARGEST_LATTICE:,}); use fewer levels or columns, or algorithm = 'datafly'"
            )
        self.checks = 0
        self._tags = np.zeros(self.shape, np.int8)
        self._lists: list[Groups] = [task.frequencies.base]
        self._list_nodes = np.zeros((1, len(self.shape)), np.int64)
        self._list_sizes = np.array([len(task.frequencies.base)])

    def groups(self, node: Node) -> Groups:
        """Give the groups at a node, rolled up from the smallest list at hand at or below it."""
        below = np.flatnonzero((self._list_nodes <= np.array(node)).all(axis=1))
        start: Groups = self._lists[int(below[np.argmin(self._list_sizes[below])])]
        if start.node == node:
            return start
        groups, _ = self.frequencies.roll_up(node, start)
        self._keep(groups)
        return groups

    def _keep(self, groups: Groups) -> None:
        """Keep a list for later roll-ups; the oldest go first, the base list stays."""
        self._lists.append(groups)
        self._list_nodes = np.vstack([self._list_nodes, [groups.node]])
        self._list_sizes = np.append(self._list_sizes, len(groups))
        while len(self._lists) > CACHED_LISTS or (len(self._lists) > 2 and self._list_sizes[1:].sum() > CACHED_TUPLES):
            del self._lists[1]
            self._list_nodes = np.delete(self._list_nodes, 1, axis=0)
            self._list_sizes = np.delete(self._list_sizes, 1)

    def recoding(self, node: Node) -> Recoding:
        """Give the recoding to a node with the least suppression that satisfies the policy, and tag its neighbours."""
        self.checks += 1
        recoding = self.task.recoding(self.groups(node))
        rows = recoding.suppressed_rows
        self._tag(node, rows <= self.budget and rows < recoding.rows)  # a release of nothing is none
        return recoding

    def _tag(self, node: Node, passes: bool) -> None:
        """Note what a node's verdict says about it and, for monotone models, about the nodes above or below."""
        if not self.task.is_monotone:
            self._tags[node] = PASSES if passes else FAILS
        elif passes:
            self._tags[tuple(slice(level, None) for level in node)] = PASSES
        else:
            self._tags[tuple(slice(None, level + 1) for level in node)] = FAILS

    def passes(self, node: Node) -> bool:
        """Tell whether a node satisfies the policy within the budget: Samarati's ``satisfies``."""
        if self._tags[node] == UNKNOWN:
            self.recoding(node)
        return bool(self._tags[node] == PASSES)

    def nodes(self) -> Iterator[Node]:
        """Every node of the lattice, in lexicographic order."""
        return product(*(range(extent) for extent in self.shape))

    def minimal(self) -> list[Node]:
        """Every node that passes while no node below it does: the k-minimal generalizations.

        Source: Samarati 2001, Definition 4.3 (with the strict order that Definition 3.3 means).
        """
        by_height = sorted(self.nodes(), key=lambda node: (sum(node), node))
        for done, node in enumerate(by_height):
            if self._tags[node] == UNKNOWN:
                self._stop_if_time_is_up("not every minimal generalization was found in time")
                self._halve_path(node, sum, lambda _: None)
                self.watch.report("search", done, self.size)
        is_passing = self._tags == PASSES
        passes_below = np.zeros(self.shape, np.bool_)
        reached = is_passing
        for axis in range(len(self.shape)):
            reached = np.logical_or.accumulate(reached, axis=axis)
        for axis in range(len(self.shape)):
            lower = np.roll(reached, 1, axis=axis)
            lower[(slice(None),) * axis + (0,)] = False
            passes_below |= lower
        found = np.argwhere(is_passing & ~passes_below)
        return sorted((tuple(int(level) for level in node) for node in found), key=lambda node: (sum(node), node))

    def optimum(self, measure: QualityMeasure, rank: Callable[[Recoding], Any] | None = None) -> Optimum | None:
        """Give the passing node of least loss; among equal ones the first by ``rank``. None if no node passes.

        Nodes are visited in order of their bounds. A bound above the best loss ends the search: every node left is
        worse. The answer is exact for any measure, since a measure without bounds has all its passing nodes scored.
        """
        rank = rank or _plain_rank
        bounds = self._bounds(measure)
        is_ruled_out = np.zeros(self.shape, np.bool_)
        best: list[tuple[float, Recoding]] = []
        scored: set[Node] = set()

        def score(recoding: Recoding) -> None:
            scored.add(recoding.node)
            loss = measure.loss(recoding)
            if not best or loss < best[0][0] - TOLERANCE:
                best[:] = [(loss, recoding)]
            elif loss <= best[0][0] + TOLERANCE:
                best.append((loss, recoding))
            if best and measure.bound_above(recoding.groups, self.frequencies) > best[0][0] + TOLERANCE:
                is_ruled_out[tuple(slice(level, None) for level in recoding.node)] = True

        is_proven = True
        for done, flat in enumerate(np.argsort(bounds, axis=None, kind="stable")):
            node: Node = tuple(int(level) for level in np.unravel_index(flat, self.shape))
            if best and bounds[node] > best[0][0] + TOLERANCE:
                break
            if self._tags[node] == FAILS or is_ruled_out[node] or node in scored:
                continue
            if self.watch.time_is_up():
                is_proven = False
                break
            if self._tags[node] == UNKNOWN and self.task.is_monotone:
                self._halve_path(node, lambda candidate: float(bounds[candidate]), score)
            if node not in scored and self._tags[node] != FAILS:
                recoding = self.recoding(node)
                if self._tags[node] == PASSES:
                    score(recoding)
            self.watch.report("search", done, self.size)
        if not best:
            if not is_proven:
                raise InterruptedSearchError("the time limit passed before any node was found that passes")
            return None
        loss, recoding = min(best, key=lambda scored: rank(scored[1]))
        return Optimum(recoding, loss, is_proven)

    def _halve_path(self, node: Node, cost: Callable[[Node], float], found: Callable[[Recoding], None]) -> None:
        """Settle an unknown node by halving a path from it to the top: Flash's way of tagging most with few checks."""
        path = [node]
        while path[-1] != self.heights:
            path.append(min(self._above(path[-1]), key=lambda candidate: (cost(candidate), candidate)))
        if not self.task.is_monotone:
            path = path[:1]
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            tag = self._tags[path[middle]]
            if tag == UNKNOWN:
                recoding = self.recoding(path[middle])
                tag = self._tags[path[middle]]
                if tag == PASSES:
                    found(recoding)
            if tag == PASSES:
                high = middle - 1
            else:
                low = middle + 1

    def _above(self, node: Node) -> Iterator[Node]:
        """The nodes one step up."""
        for column, level in enumerate(node):
            if level < self.heights[column]:
                yield (*node[:column], level + 1, *node[column + 1 :])

    def _bounds(self, measure: QualityMeasure) -> FloatArray:
        """Give a lower bound of the loss at each node, as an array in the shape of the lattice."""
        bounds = np.zeros(self.shape)
        for column, losses in enumerate(measure.level_losses(self.frequencies) or ()):
            extents = [1] * len(self.shape)
            extents[column] = len(losses)
            bounds += losses.reshape(extents)
        return bounds

    def _stop_if_time_is_up(self, what: str) -> None:
        if self.watch.time_is_up():
            raise InterruptedSearchError(f"the time limit passed: {what}")


def _plain_rank(recoding: Recoding) -> tuple[int, int, Node]:
    """Prefer fewer suppressed rows, then fewer steps, then the first in lexicographic order."""
    return recoding.suppressed_rows, sum(recoding.node), recoding.node
