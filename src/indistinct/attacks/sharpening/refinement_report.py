"""RefinementReport: which cells of a release all its groups together sharpen, in counts, labels and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from indistinct.attacks.sharpening.downcoding_report import DowncodingReport

SCOPE = (
    "This is what follows for certain from the released cells, the hierarchies and what is assumed of the groups, "
    "each and all together. Not shown is what is merely likely, and what follows from the rules by which an algorithm "
    "breaks ties: that nothing is found does not prove that nothing can be found."
)


@dataclass(frozen=True, slots=True)
class RefinementReport(DowncodingReport):
    """What follows from all groups of a release together."""

    name: ClassVar[str] = "refinement"
    scope: ClassVar[str] = SCOPE

    programs: int
    """The integer and linear programs that were solved; none where what is assumed speaks of each group only."""
    unsolved: int
    """Generalized labels of groups that were not looked at, since time was up."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        return DowncodingReport.to_dict(self) | {"programs": self.programs, "unsolved": self.unsolved}

    def __str__(self) -> str:
        return DowncodingReport.__str__(self)
