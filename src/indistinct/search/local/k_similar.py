"""k-Similar: groups of k to 2k - 1 similar rows, of least distortion where that can be found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from indistinct.errors import PolicyError
from indistinct.progress import Watch
from indistinct.quality import Precision, QualityMeasure
from indistinct.quality.cell_measures import CellMeasure
from indistinct.recoding import LocalRecoding
from indistinct.search.algorithm import Kind, LabelPromise
from indistinct.search.local.groups.partition import Partition, WithinBlocks, partition_tuples
from indistinct.search.local.groups.random_raise import check_doubt, with_doubt
from indistinct.search.local.groups.space import Space
from indistinct.search.local.regroup import cell_measure
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class KSimilar(WithinBlocks):
    """Groups rows by how little their cells must be generalized to be alike; each cell gets the lowest common label.

    Equal rows are taken together. k of them or more may stay as they are, or lend those above k to others. Two rows
    are as far apart as the cells of both must climb, by ``measure``: any measure that adds up over cells. Where the
    rows can be grouped at provably least cost in seconds, that is the answer. Otherwise it is the best grouping of a
    local search, and its gap says by how much its loss exceeds what no grouping gets below. ``program_size`` limits
    the integer program that is tried, in rows that may go to some box of labels; ``MinGen(level="cell")`` has the same
    aim and tries harder. With ``doubt`` chance raises some labels, so that none can be sharpened; nothing is proven.

    Every model is demanded of each group: those that fail one other than k-anonymity are merged. Rows are suppressed
    only where a column is never generalized and too few share their value.

    Source: Sweeney 2001 says of it only that its results are optimal: minimally distorted and adequately protected.
    This is a reconstruction from that claim.
    """

    name: ClassVar[str] = "k-similar"
    counts_people: ClassVar[bool] = True
    works_in_fragments: ClassVar[bool] = True
    title: ClassVar[str] = "cell by cell, groups of similar rows"
    kind: ClassVar[Kind] = "local"

    measure: QualityMeasure | str = field(default_factory=Precision)
    program_size: int = 1_000
    doubt: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", cell_measure(self.measure))
        if isinstance(self.program_size, bool) or not isinstance(self.program_size, int) or self.program_size < 0:
            raise PolicyError(f"program_size: must be a whole number, 0 or more, got {self.program_size!r}")
        check_doubt(self.doubt)

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Groups are similar rows, and not always as small as they could be."""
        return () if self.doubt else ("lowest-labels",)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the best local recoding found, and how far from the optimum it can be."""
        measure = self.measure
        assert isinstance(measure, CellMeasure)  # checked when made
        return with_doubt(task, self.doubt, lambda: partition_tuples(task, watch, measure, "hierarchy", self._group))

    def _group(self, space: Space, k: int, watch: Watch) -> Partition:
        from indistinct.search.bounds.column_generation import Effort
        from indistinct.search.bounds.exact_partition import least_cost_partition

        effort = Effort(members=self.program_size, linear_rows=1_500, box_members=8_000_000)
        return least_cost_partition(space, k, watch, effort)
