"""refusal(): why the algorithm that a policy names finds no release, told without making one where that is possible."""

from __future__ import annotations

from indistinct.algorithms import algorithm_of
from indistinct.algorithms.algorithm import Task
from indistinct.algorithms.lossy_join import LossyJoin
from indistinct.algorithms.partition import blocks_of
from indistinct.algorithms.search import Search
from indistinct.errors import InfeasibleError
from indistinct.quality import Completeness
from indistinct.watch import Watch

LOCAL = ("mingen-cell", "regroup", "mondrian", "k-similar", "top-down")
"""They find a release if and only if each block that no label joins is safe as one group, or may be suppressed."""
WALKING = ("datafly", "anatomy", "m-invariance", "chosen")
"""Only the walk itself tells where it ends; it is quick."""


def refusal(task: Task, watch: Watch) -> InfeasibleError | None:
    """Give what the policy's algorithm would say instead of making a release; None if it makes one.

    µ-Argus, whose releases may fail the recount, is judged like the lattice.
    """
    if task.frequencies.rows < max(1, task.largest_k()):
        return task.infeasible(task.budget)
    algorithm = algorithm_of(task.policy)
    try:
        if isinstance(algorithm, LossyJoin):
            algorithm, task = algorithm.grouping_of(task)
        if algorithm.name in LOCAL:
            blocks_of(task)
        elif algorithm.name in WALKING:
            algorithm.run(task, watch)
        else:
            _search(task, watch, budget=0 if algorithm.name == "mingen" else task.budget)
    except InfeasibleError as error:
        return error
    return None


def _search(task: Task, watch: Watch, budget: int) -> None:
    """Raise if no node passes: where models are monotone the top would, else every node is tried."""
    search = Search(task, watch, budget)
    if not (search.passes(search.heights) or (not search.is_monotone and search.optimum(Completeness()) is not None)):
        raise task.infeasible(search.budget)
