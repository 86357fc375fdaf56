"""MinGen, Sweeney's preferred minimal generalization: the k-anonymous table of greatest precision."""

from __future__ import annotations

import math

from indistinct.counting import Node
from indistinct.policy.algorithms import MinGenOptions
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure
from indistinct.recoding import FullDomainRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.lattice import Search, check_some_node_passes
from indistinct.search.full_domain.solutions import Solution, preference_named
from indistinct.search.task import Task


class MinGen(MinGenOptions, Algorithm):
    """Finds the generalization of greatest precision; ``preference`` settles ties and so leaves exactly one.

    At attribute level whole columns climb, and suppression means a column at its suppressed top: no row is left out,
    whatever the policy allows, so it can score below Datafly. ``MinGenCell`` does the same cell by cell.

    Step 1 of Figure 5 (the table itself, if it is k-anonymous) is the lattice's lowest node. Of steps 2.1 to 2.3 (all
    generalizations, those that protect, those of greatest precision) the search returns the last without listing the
    first. Step 2.4, preferred(), is ``preference``.

    Source: Sweeney 2002, Figure 5 and section 3.4.
    """

    __slots__ = ()

    @property
    def optimizes(self) -> QualityMeasure:
        assert isinstance(self.precision, QualityMeasure)  # resolved when made
        return self.precision

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, 0)

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Return the recoding of greatest precision with no row suppressed."""
        prefer = preference_named(self.preference)
        found = Search(task, watch, budget=0).optimum(
            self.optimizes, lambda recoding: (prefer(Solution.of(recoding)), sum(recoding.node), recoding.node)
        )
        if found is None:
            raise task.infeasible(0)
        return found.proven_or_not()


def generalizations_by_attribute(heights: Node) -> int:
    """Return the number of generalizations that MinGen at attribute level considers: Sweeney's Equation 1.

    >>> generalizations_by_attribute((2, 3))
    12
    """
    return math.prod(height + 1 for height in heights)


def generalizations_by_cell(heights: Node, rows: int) -> int:
    """Return the number of generalizations that MinGen at cell level considers: Sweeney's Equation 2.

    >>> generalizations_by_cell((2, 3), 8)
    429981696
    """
    return math.prod((height + 1) ** rows for height in heights)
