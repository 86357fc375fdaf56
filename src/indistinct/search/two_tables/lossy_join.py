"""Lossy join: two tables instead of one, quasi-identifiers as they are and sensitive values apart, linked by class."""

from __future__ import annotations

from dataclasses import replace

from indistinct.policy.algorithms import LossyJoinOptions
from indistinct.progress import Watch
from indistinct.recoding import Classes
from indistinct.recoding.classes import check_link
from indistinct.registry import ALGORITHMS
from indistinct.search.algorithm import Algorithm, as_algorithm
from indistinct.search.local.groups.partition import together
from indistinct.search.task import Requirement, Task


class LossyJoin(LossyJoinOptions, Algorithm):
    """Releases a table of quasi-identifiers and one of sensitive values, which only the class of a row links.

    The classes are the groups of any other algorithm (``grouping``, by name or as it is), top-down by default. Rows
    with the same quasi-identifier stay in one class: divided between two, they would link to the values of both, which
    fewer than k people may share. Groups that share a quasi-identifier therefore become one class. The paper leaves
    them apart, so it has more and smaller classes.

    Section 6 has four steps: ``run`` groups the rows (step 1). The class of each row is the paper's Temp table (step
    2). The table ``quasi`` is its NSS table (step 3), ``sensitive`` its SS table (step 4); both are made with the
    release.

    Every class satisfies every model, which is more than several quasi-identifiers ask for: a class shows all quasi
    columns at once.

    Source: Wong et al. 2007, sections 5 and 6; docs/papers.md on Theorem 1.
    """

    __slots__ = ()

    def grouping_of(self, task: Task) -> tuple[Algorithm, Task]:
        """Return the algorithm that makes the groups, and its task: every model on all columns."""
        check_link(task.policy)
        everything = tuple(range(len(task.frequencies.columns)))
        on_all_columns = replace(task, requirements=(Requirement(everything, task.models),))
        return ALGORITHMS.make(self.grouping) if isinstance(self.grouping, str) else self.grouping, on_all_columns

    def check_feasible(self, task: Task, watch: Watch) -> None:
        algorithm, on_all_columns = self.grouping_of(task)
        as_algorithm(algorithm).check_feasible(on_all_columns, watch)

    def run(self, task: Task, watch: Watch) -> Classes:
        """Return the classes, or raise InfeasibleError if the grouping finds none."""
        algorithm, on_all_columns = self.grouping_of(task)
        found = algorithm.run(on_all_columns, watch)
        return Classes.of_pieces(task.frequencies, together(task, found.as_pieces()))
