"""Lattice: the exact optimum of any measure within the suppression budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from indistinct.algorithms.algorithm import ClimbsLevels, LabelPromise
from indistinct.algorithms.feasibility import check_some_node_passes
from indistinct.algorithms.search import Search
from indistinct.algorithms.task import Task
from indistinct.quality import Precision, QualityMeasure, measure_named
from indistinct.recoding import FullDomainRecoding
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class Lattice(ClimbsLevels):
    """Searches all full-domain generalizations for the one of least loss.

    Among equal ones it takes the one with fewest suppressed rows, then fewest steps, then the first in the order of
    the policy's columns, so the answer depends on the table and the policy alone. With a time limit the best node
    found so far is given, and the release says that it is not proven.
    """

    name: ClassVar[str] = "lattice"
    counts_people: ClassVar[bool] = True
    links_rows: ClassVar[bool] = True
    title: ClassVar[str] = "the best levels by a measure, proven"
    is_exact: ClassVar[bool] = True

    measure: QualityMeasure | str = field(default_factory=Precision)

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", measure_named(self.measure))

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Where rows may be suppressed it may climb higher than it must, to suppress fewer."""
        return () if may_suppress else ("minimal",)

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Give the recoding of least loss that satisfies the policy."""
        assert not isinstance(self.measure, str)  # resolved when made
        found = Search(task, watch).optimum(self.measure)
        if found is None:
            raise task.infeasible(task.budget)
        return found.proven_or_not()
