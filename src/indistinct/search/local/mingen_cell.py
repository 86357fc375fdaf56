"""MinGen at cell level: groups of rows whose lowest labels are the most precise table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from indistinct.errors import PolicyError
from indistinct.policy.algorithms import MinGenCellOptions
from indistinct.progress import Watch
from indistinct.quality import Precision, QualityMeasure, all_measures
from indistinct.recoding import SUPPRESSED, LocalRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.solutions import Solution, preference_named
from indistinct.search.local.groups.partition import Partition, blocks_of, partition_tuples
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task


class MinGenCell(MinGenCellOptions, Algorithm):
    """MinGen at cell level: rows fall into groups of at least k, each with the lowest labels over its rows.

    Of all such tables the one of greatest precision is given. Small tables, some 15 to 20 rows, are solved by dynamic
    programming. There every table of greatest precision is known, and ``preference`` chooses: a table's node is the
    highest level of each column. Of equal ones the first is taken, when the labels of the first tuple, then of the
    second and so on are compared as text. Larger tables are solved as integer programs over rank ranges of labels, and
    the first optimum found is taken. ``program_size`` limits such a program, in rows that may go to some rank range: a
    larger one proves larger tables, and takes longer. Beyond it the best known table is given, with a bound: the
    recoding says that it is not proven, and its gap by how much its loss exceeds what no table gets below.

    Every model is demanded of each group. Groups that fail one other than k-anonymity are merged, which is no longer
    proven to be best. Rows are suppressed only where a column is never generalized and too few share their value.

    Source: Sweeney 2002, Figures 5 and 7. That a least-cost partition is meant, and how to find it, is our own.
    """

    __slots__ = ()

    @property
    def optimizes(self) -> QualityMeasure:
        return self._precision

    @property
    def _precision(self) -> Precision:
        assert isinstance(self.precision, Precision)  # checked when made
        return self.precision

    def check_feasible(self, task: Task, watch: Watch) -> None:
        blocks_of(task)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the local recoding of greatest precision."""
        equals = self._every_best(task, watch)
        if equals is not None:
            prefer = preference_named(self.preference)
            return min(equals, key=lambda recoding: (prefer(_as_solution(recoding)), _as_table(recoding)))
        return partition_tuples(task, watch, self._precision, "hierarchy", self._group)

    def all_minimal(self, task: Task, watch: Watch) -> list[LocalRecoding]:
        """Return every table of greatest precision, for tables of some 15 to 20 rows."""
        equals = self._every_best(task, watch)
        if equals is None:
            raise PolicyError(
                "every table of greatest precision can be listed for some 15 to 20 rows, at most 1,000 such tables, "
                "and k-anonymity alone; run() gives one of them"
            )
        return sorted(equals, key=_as_table)

    def _group(self, space: Space, k: int, watch: Watch) -> Partition:
        from indistinct.search.bounds.column_generation import Effort
        from indistinct.search.bounds.exact_partition import least_cost_partition

        return least_cost_partition(space, k, watch, Effort(members=self.program_size))

    def _every_best(self, task: Task, watch: Watch) -> list[LocalRecoding] | None:
        """Return all recodings of greatest precision; None where they are not all known."""
        from indistinct.search.bounds.exact_partition import MOST_TABLES, least_cost_tables

        tables: list[list[Partition]] = []

        def collect(space: Space, k: int, _: Watch) -> Partition:
            found = least_cost_tables(space, k)
            if found is None:
                raise _TooMany
            tables.append(found)
            return found[0]

        try:
            partition_tuples(task, watch, self._precision, "hierarchy", collect)
        except _TooMany:
            return None
        if math.prod(map(len, tables)) > MOST_TABLES:
            return None
        recodings = [self._of(task, watch, iter(chosen)) for chosen in product(*tables)]
        return recodings if all(recoding.is_proven for recoding in recodings) else None

    def _of(self, task: Task, watch: Watch, chosen: Iterator[Partition]) -> LocalRecoding:
        """Return the recoding of one grouping for each block."""
        return partition_tuples(task, watch, self._precision, "hierarchy", lambda *_: next(chosen))


class _TooMany(Exception):
    """Not every best table can be listed."""


def _as_solution(recoding: LocalRecoding) -> Solution:
    """Describe a local recoding as preferences see it: its node is the highest level of each column."""
    frequencies = recoding.frequencies
    return Solution(
        dict(zip(frequencies.columns, recoding.node, strict=True)),
        dict(zip(frequencies.columns, frequencies.heights, strict=True)),
        recoding.suppressed_rows,
        recoding.released_groups,
        all_measures(recoding),
    )


def _as_table(recoding: LocalRecoding) -> list[tuple[int, tuple[str, ...], int]]:
    """Return the labels and rows of each tuple's pieces, in an order that makes equal tables equal lists."""
    columns = list(zip(recoding.labels, recoding.codes.tolist(), strict=True))
    carried = [
        tuple(labels.texts[codes[group]] or "" for labels, codes in columns) for group in range(len(recoding.sizes))
    ]
    pieces = recoding.pieces
    return sorted(
        (entry, carried[group] if group != SUPPRESSED else (), rows)
        for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True)
    )
