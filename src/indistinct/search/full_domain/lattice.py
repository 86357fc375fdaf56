"""The lattice of all nodes: which of them pass, the best of them, and Lattice, the algorithm that gives it.

All exact full-domain algorithms ask the same Search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from indistinct.counting import Node
from indistinct.errors import InterruptedSearchError
from indistinct.policy.algorithms import LatticeOptions, PredictionTarget
from indistinct.progress import Watch
from indistinct.quality import Completeness, QualityMeasure
from indistinct.recoding import FullDomainRecoding, Outcome
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.best_node.branch_and_bound import CACHED_TUPLES, BranchAndBound, counter_for
from indistinct.search.full_domain.best_node.counters import GroupCounter, Stairs
from indistinct.search.full_domain.best_node.incumbent import DIGITS
from indistinct.search.full_domain.best_node.value_counter import ValueCounter
from indistinct.search.full_domain.target_loss import TargetLoss
from indistinct.search.task import Task, with_level


class Lattice(LatticeOptions, Algorithm):
    """Searches all full-domain generalizations for the one of least loss.

    Among equal ones it takes the one with fewest suppressed rows, then fewest steps, then the first in the order of
    the policy's columns, so the answer depends on the table and the policy alone. With a time limit the best node
    found so far is given, and the release says that it is not proven. Nor is it where the table was counted above its
    lowest node, because it has too many tuples: the answer is then the best above that start node only.

    With a ``target`` it is the node that leaves the least spread of that column within groups, see ``TargetLoss``,
    exactly, in place of a measure. The search is not blind: it looks at that column.
    """

    __slots__ = ()

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Return the recoding of least loss that satisfies the policy."""
        assert not isinstance(self.measure, str)  # resolved when made
        named = PredictionTarget.of(self.target)
        of_target = None if named is None else TargetLoss(task, named)
        found = Search(task, watch).optimum(of_target or self.measure)
        if found is None:
            raise task.infeasible(task.budget)
        if of_target is not None:
            of_target.refuse(found.loss)
        return found.proven_or_not()

    @property
    def optimizes(self) -> QualityMeasure | None:
        """The measure, or none beside a target."""
        assert not isinstance(self.measure, str)  # resolved when made
        return None if self.target is not None else self.measure


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best recoding that a search found, its loss, and a loss that no other recoding can be below."""

    recoding: FullDomainRecoding
    loss: float
    bound: float

    def proven_or_not(self) -> FullDomainRecoding:
        """Return the recoding with the word whether it is the optimum, and if not, how far it can be from it.

        Below a raised start node no node was counted, so nothing but 0 bounds what those lose.
        """
        bound = 0.0 if self.recoding.frequencies.is_start_raised else self.bound
        gap = round(self.loss - bound, DIGITS)
        return replace(self.recoding, is_proven=gap <= 0, gap=max(0.0, gap))


class Search:
    """The nodes of one task's lattice: which pass within a budget of suppressed rows, and the best of them."""

    def __init__(self, task: Task, watch: Watch, budget: int | None = None) -> None:
        self.task = task
        self.watch = watch
        # a release of nothing is none
        self.budget = min(task.budget if budget is None else budget, task.frequencies.rows - 1)
        self.frequencies = task.frequencies
        self.heights = task.frequencies.heights
        self.start_node: Node = task.frequencies.start
        self.checks = 0
        self.found_at: float | None = None
        """When the optimum was found, as time.monotonic() tells it."""
        self._passed: dict[Node, bool] = {}

    @property
    def is_monotone(self) -> bool:
        """A node above one that passes passes, with no more rows suppressed."""
        return self.task.is_monotone_within(self.budget)

    def nodes(self) -> Iterator[Node]:
        """Every node of the lattice, in lexicographic order."""
        return product(*(range(low, high + 1) for low, high in zip(self.start_node, self.heights, strict=True)))

    def recoding(self, node: Node) -> FullDomainRecoding:
        """Return the recoding to a node, with the least suppression that satisfies the policy."""
        groups, _ = self.frequencies.roll_up(node)
        return self.task.recoding(groups)

    def passes(self, node: Node) -> bool:
        """Return whether a node satisfies the policy within the budget: Samarati's ``satisfies``.

        Below the start node none does: the table was not counted there, or the policy demands a higher level.
        """
        if any(level < low for level, low in zip(node, self.start_node, strict=True)):
            return False
        if node not in self._passed:
            self.checks += 1
            self._passed[node] = self._outcome(node).suppressed_rows <= self.budget
        return self._passed[node]

    @cached_property
    def _outcome(self) -> Callable[[Node], Outcome]:
        """What counts a node."""
        counter = counter_for(self.task, at_most=self.budget)
        if isinstance(counter, GroupCounter | ValueCounter):
            return Stairs(counter, self.heights, CACHED_TUPLES).outcome
        return lambda node: counter.outcome(node, counter.base)

    def minimal(self) -> list[Node]:
        """Every node that passes while no node below it does: the k-minimal generalizations, lowest first.

        Section 6 lists them by Find_vector on vectors in place of heights; here intervals are halved.

        Source: Samarati 2001, Definition 4.3 (with the strict order that Definition 3.3 means).
        """
        if self.is_monotone:
            found = self._lowest_passing() if self.passes(self.heights) else []
        else:
            found = [node for node in self.nodes() if self.passes(node)]
        return sorted(_without_dominated(found), key=lambda node: (sum(node), node))

    def _lowest_passing(self) -> list[Node]:
        """Return passing nodes, all minimal ones among them, by halving intervals whose upper node passes."""
        found, failed = _NodeSet(len(self.heights)), _NodeSet(len(self.heights))
        intervals = [(self.start_node, self.heights)]
        while intervals:
            low, high = intervals.pop()
            if self.watch.time_is_up():
                raise InterruptedSearchError(
                    "the time limit passed before all minimal generalizations were known, and some would mislead; "
                    "give more time or none, fewer quasi columns or levels, or make one release with anonymize"
                )
            self.watch.report("search", self.checks, None)
            if found.has_below(low):
                continue  # everything in the interval lies above a node that passes
            if low == high or (not failed.has_above(low) and self.passes(low)):
                found.add(low)
                continue
            column = max(range(len(low)), key=lambda column: high[column] - low[column])
            middle = (low[column] + high[column]) // 2
            intervals.append((with_level(low, column, middle + 1), high))
            lower = with_level(high, column, middle)
            if failed.has_above(lower):
                continue
            if self.passes(lower):
                intervals.append((low, lower))
            else:
                failed.add(lower)
        return list(found)

    def optimum(
        self, measure: QualityMeasure, rank: Callable[[FullDomainRecoding], Any] | None = None
    ) -> Optimum | None:
        """Return the passing node of least loss. None if no node passes.

        Of equal ones it is the one that ``rank`` puts first; without a rank the one with fewest suppressed rows, then
        fewest steps, then the first in lexicographic order. The answer is exact for any measure: one that bounds
        nothing has all its passing nodes scored.
        """
        run = BranchAndBound(self.task, self.watch, self.budget, measure, keeps_ties=rank is not None)
        nodes, loss, bound = run.run()
        self.checks += run.incumbent.checks
        self.found_at = run.incumbent.found_at
        if not nodes:
            return None
        recodings = [self.recoding(node) for node in nodes]
        best = recodings[0] if rank is None else min(recodings, key=rank)
        return Optimum(best, loss, bound)


def check_some_node_passes(task: Task, watch: Watch, budget: int) -> None:
    """Raise if no node passes: where models are monotone the top would, else every node is tried."""
    search = Search(task, watch, budget)
    if not (search.passes(search.heights) or (not search.is_monotone and search.optimum(Completeness()) is not None)):
        raise task.infeasible(search.budget)


class _NodeSet:
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
    kept = _NodeSet(len(nodes[0]) if nodes else 0)
    for node in sorted(nodes, key=sum):
        if not kept.has_below(node):
            kept.add(node)
    return list(kept)
