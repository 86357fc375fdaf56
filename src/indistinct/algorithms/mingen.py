"""MinGen, Sweeney's preferred minimal generalization: the k-anonymous table of greatest precision."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from indistinct.algorithms.base import Task
from indistinct.algorithms.search import Search
from indistinct.algorithms.solutions import Preference, Solution, preference_named
from indistinct.errors import PolicyError
from indistinct.frequency import Node
from indistinct.quality import Precision
from indistinct.recoding import Recoding
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class MinGen:
    """Finds the generalization of greatest precision; ``preference`` settles ties and so leaves exactly one.

    At attribute level whole columns climb, and suppression means a column at its suppressed top: no row is left out,
    whatever the policy allows, so it can score below Datafly.

    Source: Sweeney 2002, Figure 5 and section 3.
    """

    name: ClassVar[str] = "mingen"

    level: Literal["attribute"] = "attribute"
    preference: str | Preference = "min-absolute"
    precision: Precision = field(default_factory=Precision)

    def __post_init__(self) -> None:
        if self.level != "attribute":
            raise PolicyError(f"level: must be 'attribute', got {self.level!r}")
        preference_named(self.preference)
        if not isinstance(self.precision, Precision):
            raise PolicyError(f"precision: must be a Precision(), got {self.precision!r}")

    def run(self, task: Task, watch: Watch) -> Recoding:
        """Give the recoding of greatest precision with no row suppressed."""
        prefer = preference_named(self.preference)
        found = Search(task, watch, budget=0).optimum(
            self.precision, lambda recoding: (prefer(Solution.of(recoding)), sum(recoding.node), recoding.node)
        )
        if found is None:
            raise task.infeasible(0)
        return found.proven_or_not()


def generalizations_by_attribute(heights: Node) -> int:
    """Give the number of generalizations that MinGen at attribute level considers: Sweeney's Equation 1.

    >>> generalizations_by_attribute((2, 3))
    12
    """
    return math.prod(height + 1 for height in heights)


def generalizations_by_cell(heights: Node, rows: int) -> int:
    """Give the number of generalizations that MinGen at cell level considers: Sweeney's Equation 2.

    >>> generalizations_by_cell((2, 3), 8)
    429981696
    """
    return math.prod((height + 1) ** rows for height in heights)
