"""MinGen, Sweeney's preferred minimal generalization: the k-anonymous table of greatest precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, Literal

from indistinct.counting import Node
from indistinct.errors import PolicyError
from indistinct.progress import Watch
from indistinct.quality import Precision, QualityMeasure, all_measures
from indistinct.recoding import SUPPRESSED, LocalRecoding, Recoding
from indistinct.search.algorithm import ClimbsLevels, Kind, LabelPromise
from indistinct.search.full_domain.lattice import Search, check_some_node_passes
from indistinct.search.full_domain.solutions import Preference, Solution, preference_named
from indistinct.search.local.groups.partition import Partition, blocks_of, partition_tuples
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task

Level = Literal["attribute", "cell"]
"""Whether all cells of a column carry labels of one level, or each cell one of its own."""


@dataclass(frozen=True, slots=True)
class MinGen(ClimbsLevels):
    """Finds the generalization of greatest precision; ``preference`` settles ties and so leaves exactly one.

    At attribute level whole columns climb, and suppression means a column at its suppressed top: no row is left out,
    whatever the policy allows, so it can score below Datafly. ``MinGen(level="cell")`` is a ``MinGenCell``.

    Source: Sweeney 2002, Figure 5 and section 3.
    """

    name: ClassVar[str] = "mingen"
    counts_people: ClassVar[bool] = True
    links_rows: ClassVar[bool] = True
    title: ClassVar[str] = "the most precise levels (Sweeney 2002)"
    is_exact: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False

    level: Level = "attribute"
    preference: str | Preference = "min-absolute"
    precision: Precision = field(default_factory=Precision)

    def __new__(cls, level: Level = "attribute", *_: Any, **__: Any) -> MinGen:
        """Make the class that is meant: cells are another search, with options of its own."""
        return object.__new__(MinGenCell if cls is MinGen and level == "cell" else cls)

    def __post_init__(self) -> None:
        wanted = "cell" if isinstance(self, MinGenCell) else "attribute"
        if self.level != wanted:
            choices = "'cell'" if wanted == "cell" else "'attribute' or 'cell'"
            raise PolicyError(f"level: must be {choices}, got {self.level!r}")
        preference_named(self.preference)
        if not isinstance(self.precision, Precision):
            raise PolicyError(f"precision: must be a Precision(), got {self.precision!r}")

    @property
    def optimizes(self) -> QualityMeasure:
        return self.precision

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, 0)

    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return the recoding of greatest precision with no row suppressed."""
        prefer = preference_named(self.preference)
        found = Search(task, watch, budget=0).optimum(
            self.precision, lambda recoding: (prefer(Solution.of(recoding)), sum(recoding.node), recoding.node)
        )
        if found is None:
            raise task.infeasible(0)
        return found.proven_or_not()


@dataclass(frozen=True, slots=True)
class MinGenCell(MinGen):
    """MinGen at cell level: rows fall into groups of at least k, each with the lowest labels over its rows.

    Of all such tables the one of greatest precision is given. Small tables, some 15 to 20 rows, are solved by dynamic
    programming. There every table of greatest precision is known, and ``preference`` chooses: a table's node is the
    highest level of each column. Of equal ones the first is taken, when the labels of the first tuple, then of the
    second and so on are compared as text. Larger tables are solved as integer programs over boxes of labels, and the
    first optimum found is taken. ``program_size`` limits such a program, in rows that may go to some box: a larger one
    proves larger tables, and takes longer. Beyond it the best known table is given, with a bound: the recoding says
    that it is not proven, and its gap by how much its loss exceeds what no table gets below.

    Every model is demanded of each group. Groups that fail one other than k-anonymity are merged, which is no longer
    proven to be best. Rows are suppressed only where a column is never generalized and too few share their value.

    Source: Sweeney 2002, Figures 5 and 7. That a least-cost partition is meant, and how to find it, is our own.
    """

    name: ClassVar[str] = "mingen-cell"
    counts_people: ClassVar[bool] = True
    title: ClassVar[str] = "the most precise cells, tiny tables"
    kind: ClassVar[Kind] = "local"
    suppresses: ClassVar[bool] = True

    level: Level = "cell"
    program_size: int = 6_000

    def __post_init__(self) -> None:
        MinGen.__post_init__(self)
        if isinstance(self.program_size, bool) or not isinstance(self.program_size, int) or self.program_size < 0:
            raise PolicyError(f"program_size: must be a whole number, 0 or more, got {self.program_size!r}")

    @property
    def keeps_levels(self) -> bool:
        return False

    @property
    def heeds_bottom(self) -> bool:
        return False

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """No row could carry a lower label, or the table would be more precise."""
        return ("minimal-rows",)

    def check_feasible(self, task: Task, watch: Watch) -> None:
        blocks_of(task)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the local recoding of greatest precision."""
        equals = self._every_best(task, watch)
        if equals is not None:
            prefer = preference_named(self.preference)
            return min(equals, key=lambda recoding: (prefer(_as_solution(recoding)), _as_table(recoding)))
        return partition_tuples(task, watch, self.precision, "hierarchy", self._group)

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
            partition_tuples(task, watch, self.precision, "hierarchy", collect)
        except _TooMany:
            return None
        if math.prod(map(len, tables)) > MOST_TABLES:
            return None
        recodings = [self._of(task, watch, iter(chosen)) for chosen in product(*tables)]
        return recodings if all(recoding.is_proven for recoding in recodings) else None

    def _of(self, task: Task, watch: Watch, chosen: Iterator[Partition]) -> LocalRecoding:
        """Return the recoding of one grouping for each block."""
        return partition_tuples(task, watch, self.precision, "hierarchy", lambda *_: next(chosen))


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
