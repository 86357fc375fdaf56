"""k-Similar: groups of k to 2k - 1 similar rows, of least distortion where that can be found."""

from __future__ import annotations

from indistinct.policy.algorithms import KSimilarOptions
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import LocalRecoding
from indistinct.search.local.groups.partition import Partition, WithinBlocks, partition_tuples
from indistinct.search.local.groups.random_raise import with_random_raise
from indistinct.search.local.groups.space import Space
from indistinct.search.local.regroup import Regroup
from indistinct.search.task import Task


class KSimilar(KSimilarOptions, WithinBlocks):
    """Groups rows by how little their cells must be generalized to be alike; each cell gets the lowest common label.

    Equal rows are taken together. k of them or more may stay as they are, or lend those above k to others. Two rows are
    as far apart as the cells of both must climb, by ``measure``: any measure that adds up over cells. Where the rows
    can be grouped at provably least cost in seconds, that is the answer. Otherwise it is the best grouping of a local
    search, or that of ``Regroup`` if it loses less, and its gap says by how much its loss exceeds what no grouping
    gets below. ``program_size`` limits the integer program that is tried, in rows that may go to some rank range of
    labels; ``MinGenCell`` has the same aim and tries harder. With ``random_raise`` chance raises some labels, so that
    none can be sharpened; nothing is proven.

    Every model is demanded of each group: those that fail one other than k-anonymity are merged. Rows are suppressed
    only where a column is never generalized and too few share their value.

    Source: named in Sweeney, k-anonymity: a model for protecting privacy, 2002, section 3. Her thesis of 2001 says that
    its results are optimal: minimally distorted and adequately protected. This is a reconstruction from that claim.
    """

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the best local recoding found, and how far from the optimum it can be."""
        measure = self.measure
        assert isinstance(measure, CellMeasure)  # checked when made

        def group() -> LocalRecoding:
            found = partition_tuples(task, watch, measure, "hierarchy", self._group)
            if found.is_proven:
                return found
            other = Regroup(measure=measure).group(task, watch)
            saved = measure.loss(found) - measure.loss(other)
            if saved <= 0.0:
                return found
            return other if found.gap is None else other.with_gap(max(0.0, found.gap - saved))

        return with_random_raise(task, self.random_raise, group)

    def _group(self, space: Space, k: int, watch: Watch) -> Partition:
        from indistinct.search.bounds.column_generation import Effort
        from indistinct.search.bounds.exact_partition import least_cost_partition

        effort = Effort(members=self.program_size, linear_rows=1_500, vector_members=8_000_000)
        return least_cost_partition(space, k, watch, effort)
