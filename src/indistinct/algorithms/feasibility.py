"""refusal(): why the algorithm that a policy names finds no release, told without making one where that is possible."""

from __future__ import annotations

from indistinct.algorithms.search import Search
from indistinct.algorithms.task import Task
from indistinct.errors import InfeasibleError
from indistinct.quality import Completeness
from indistinct.watch import Watch


def refusal(task: Task, watch: Watch) -> InfeasibleError | None:
    """Give what the policy's algorithm would say instead of making a release; None if it makes one.

    µ-Argus, whose releases may fail the recount, is judged like the lattice.
    """
    from indistinct.algorithms.algorithm import algorithm_of, declaration_of

    if task.number_of_people() < max(1, task.largest_k()):
        return task.infeasible(task.budget)
    try:
        declaration_of(algorithm_of(task.policy)).check_feasible(task, watch)
    except InfeasibleError as error:
        return error
    return None


def check_some_node_passes(task: Task, watch: Watch, budget: int) -> None:
    """Raise if no node passes: where models are monotone the top would, else every node is tried."""
    search = Search(task, watch, budget)
    if not (search.passes(search.heights) or (not search.is_monotone and search.optimum(Completeness()) is not None)):
        raise task.infeasible(search.budget)
