"""Samarati's k-minimal generalization with suppression: binary search on the heights of the lattice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from indistinct.counting import Node
from indistinct.errors import InterruptedSearchError
from indistinct.policy.algorithms import SamaratiOptions
from indistinct.progress import Watch
from indistinct.recoding import FullDomainRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.distance_matrix import DistanceMatrix
from indistinct.search.full_domain.lattice import Search, check_some_node_passes
from indistinct.search.full_domain.solutions import minimal_solutions, preferred_solution
from indistinct.search.task import Task, height

TIME_IS_UP = "the time limit passed before the lowest height was known"


class Samarati(SamaratiOptions, Algorithm):
    """Finds a generalization of least height that satisfies the policy within the suppression limit.

    Vectors of one height are tried in order of their relative distance, so that of several lowest solutions the
    one with fewest relative steps is found. With a ``preference`` (section 6: a name of ``PREFERENCES`` or a function
    of a Solution) all k-minimal generalizations are computed, by ``Search.minimal`` and not by the search that section
    6 sketches, and the preferred one is taken.

    ``satisfies`` says how vectors are tested: ``"roll-up"`` counts groups, ``"matrix"`` reads the distance-vector
    matrix of section 5 and uses its bounds; both give the same answers, the matrix only for small tables.

    Source: Samarati 2001, Figure 10.
    """

    __slots__ = ()

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Return the recoding to a k-minimal generalization."""
        if self.preference is not None:
            solutions = minimal_solutions(task, watch)
            if not solutions:
                raise task.infeasible(task.budget)
            found: Node | None = preferred_solution(solutions, self.preference).vector
        elif self.satisfies == "matrix":
            found = find_vector_by_matrix(task, watch)
        else:
            search = Search(task, watch)
            if not search.is_monotone:  # then no height divides what fails from what passes
                found = _lowest(search, task)
            elif not search.passes(search.heights):
                raise task.infeasible(task.budget)
            else:
                found = find_vector(search.heights, search.heights, search.passes, watch)
        if found is None:
            raise task.infeasible(task.budget)
        groups, _ = task.frequencies.roll_up(found)
        is_proven = not task.frequencies.is_start_raised  # a lower one may lie below the start node
        return replace(task.recoding(groups), is_proven=is_proven, gap=0.0 if is_proven else None)


def _lowest(search: Search, task: Task) -> Node:
    """Return a passing vector of least height where models are not monotone, by trying every one."""
    found = search.minimal()
    if not found:
        raise task.infeasible(task.budget)
    return min(found, key=lambda node: (height(node), node))


def find_vector(top: Node, heights: Node, satisfies: Callable[[Node], bool], watch: Watch, low: int = 0) -> Node:
    """Find_vector as in Figure 10: the first vector that passes at the lowest height where any does.

    ``low``, ``high`` and ``solution`` are set by step 1. ``middle`` is *try* of step 2.1, the inner loop is steps 2.2
    to 2.4 and what follows it 2.5.

    Above a vector that passes all pass, so there is one height from which on some vector passes. ``top``, which must
    pass, and ``low`` narrow the search when bounds are known; ``heights`` are those of the hierarchies.
    """
    high = height(top)
    solution = top
    while low < high:
        middle = (low + high) // 2
        watch.report("height", middle, height(heights))
        for vector in vectors_of_height(middle, top, heights, watch):
            if watch.time_is_up():
                raise InterruptedSearchError(TIME_IS_UP)
            if satisfies(vector):
                solution, high = vector, middle
                break
        else:
            low = middle + 1
    return solution


def vectors_of_height(wanted: int, top: Node, heights: Node, watch: Watch) -> list[Node]:
    """Return all vectors of a height up to ``top``, fewest relative steps first, then in lexicographic order.

    >>> vectors_of_height(1, (1, 2), (1, 2), Watch())
    [(0, 1), (1, 0)]
    """

    def split(remaining: int, column: int) -> Iterator[Node]:
        if column == len(top):
            if remaining == 0:
                yield ()
            return
        for level in range(min(top[column], remaining) + 1):
            if remaining - level <= sum(top[column + 1 :]):
                for rest in split(remaining - level, column + 1):
                    yield (level, *rest)

    def relative(vector: Node) -> float:
        return sum(level / max(1, most) for level, most in zip(vector, heights, strict=True))

    found: list[Node] = []
    for vector in split(wanted, 0):  # of many columns there are more than anybody can list
        if len(found) % 1024 == 0 and watch.time_is_up():
            raise InterruptedSearchError(TIME_IS_UP)
        found.append(vector)
    return sorted(found, key=lambda vector: (round(relative(vector), 12), vector))


def find_vector_by_matrix(task: Task, watch: Watch) -> Node | None:
    """Find_vector on the distance-vector matrix, with all the bounds of section 5. None if nothing passes."""
    matrix = DistanceMatrix.of(task)
    budget = min(task.budget, task.frequencies.rows - 1)  # a release of nothing is none
    top = matrix.upper_bound()
    if matrix.required_suppression(top) > budget:
        return None
    below = matrix.lower_bounds(budget)
    low = max((min(height(vector) for vector in vectors) for vectors in below), default=0)
    levels = matrix.occurring_levels()
    known: dict[Node, bool] = {}

    def satisfies(vector: Node) -> bool:
        # a level that occurs in no distance vector merges nothing that the next lower one does not
        lowered = tuple(
            int(occurring[np.searchsorted(occurring, level, side="right") - 1]) if len(occurring) else 0
            for level, occurring in zip(vector, levels, strict=True)
        )
        if lowered not in known:
            known[lowered] = all(
                any(all(a <= b for a, b in zip(minimal, lowered, strict=True)) for minimal in minimals)
                for minimals in below
            ) and (matrix.required_suppression(lowered) <= budget)
        return known[lowered]

    return find_vector(top, task.frequencies.heights, satisfies, watch, low)


def strategies(top: Node) -> list[list[Node]]:
    """Return every generalization strategy: every path from the bottom of the lattice to its top.

    There are (h1 + … + hn)! / (h1! … hn!) of them. Source: Samarati 2001, Figure 5 and section 5.

    >>> strategies((1, 1))
    [[(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]]
    """

    def climb(node: Node) -> Iterator[list[Node]]:
        if node == top:
            yield [node]
        for column, level in enumerate(node):
            if level < top[column]:
                for rest in climb((*node[:column], level + 1, *node[column + 1 :])):
                    yield [node, *rest]

    return list(climb((0,) * len(top)))
