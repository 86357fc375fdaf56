"""Datafly: generalize the attribute with most distinct values until few rows stand out, then suppress those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import Groups
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import suppression_in_rows
from indistinct.policy.algorithms import DataflyOptions
from indistinct.progress import Watch
from indistinct.recoding import FullDomainRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.task import Task, with_level
from indistinct.showing.words import counted


@dataclass(frozen=True, slots=True)
class DataflyStep:
    """The frequency list at one step of Datafly's walk, *freq* of Figure 9; it is for the holder of the table alone."""

    node: Mapping[str, int]
    """The level of each column."""
    distinct: Mapping[str, int]
    """The distinct labels of each column: the one with most of them is generalized next."""
    tuples: tuple[tuple[tuple[str | None, ...], int], ...]
    """Every tuple of labels with its rows, sorted by its labels."""
    outliers: int
    """The rows that stand out: those that would be suppressed here, without the complement."""

    @classmethod
    def of(cls, task: Task, groups: Groups, outliers: FullDomainRecoding) -> Self:
        """Describe the groups at a node."""
        frequencies = task.frequencies
        labels = [
            [hierarchy.labels[level][code] for code in groups.label_codes(column).tolist()]
            for column, (hierarchy, level) in enumerate(zip(frequencies.hierarchies, groups.node, strict=True))
        ]
        return cls(
            dict(zip(frequencies.columns, groups.node, strict=True)),
            {name: len(set(own)) for name, own in zip(frequencies.columns, labels, strict=True)},
            tuple(
                sorted(
                    zip(zip(*labels, strict=True), groups.sizes.tolist(), strict=True),
                    key=lambda one: [(cell is None, cell or "") for cell in one[0]],
                )
            ),
            outliers.suppressed_rows,
        )


class Datafly(DataflyOptions, Algorithm):
    """The core Datafly algorithm: quick, always safe, not always minimal.

    The steps of Figure 8: tuples are counted (1); while too many rows stand out (2) the column with most distinct
    values is chosen (2.1) and generalized (2.2); what stands out is suppressed (3), and hidden among k (4); the release
    is made of what is left (5).

    ``suppression`` is the number (or share) of outlying rows at which generalization stops. By default it is what the
    policy allows, and k if the policy leaves it open, as in Figure 8. Then the outliers are suppressed, and if they
    are fewer than k the smallest remaining group goes with them (``complementary``, step 4), so that suppressed
    rows are hidden among k as well. A limit in the policy holds for both together.

    ``likelihood`` and ``preference`` weigh columns between 0 and 1: how likely a column is used for linking, and how
    far it may be distorted (0: leave it as it is). How they enter the choice is not in the papers; here a column's
    number of distinct values is multiplied by both. With equal weights that is the rule of Figure 8. Of equal columns
    the first in the policy is generalized.

    Source: Sweeney 2002, Figure 8 and section 4.1; Samarati 2001, section 7.
    """

    __slots__ = ()

    def allowed_suppression(self, task: Task) -> int:
        """Return the policy's limit, or k rows where it leaves that open."""
        return task.largest_k() if task.policy.max_suppression is None else task.budget

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Return the recoding at which Datafly's walk up the lattice ends."""
        *_, (_, _, recoding) = self._walk(task, watch)
        return recoding

    def steps(self, task: Task) -> list[DataflyStep]:
        """Return the frequency list as it is counted, and after each column that was generalized (Figure 9)."""
        return [DataflyStep.of(task, groups, outliers) for groups, outliers, _ in self._walk(task, Watch())]

    def _walk(self, task: Task, watch: Watch) -> Iterator[tuple[Groups, FullDomainRecoding, FullDomainRecoding]]:
        """Yield the groups of each step, with what is suppressed without and with the complement; the last is taken."""
        weights = self._weights(task)
        limit = task.frequencies.rows if task.policy.max_suppression is None else task.budget
        stop_at = min(limit, self._stop_at(task))
        frequencies = task.frequencies
        groups, _ = frequencies.roll_up(frequencies.start)
        while True:
            outliers = task.recoding(groups)
            recoding = outliers if task.policy.links_rows else self._with_complement(task, outliers)
            left, rows = outliers.suppressed_rows, recoding.suppressed_rows
            yield groups, outliers, recoding
            if left <= stop_at and rows <= limit and rows < groups.rows:
                return
            column = self._next_column(task, groups, weights)
            if column is None:
                raise self._infeasible(task, weights, left, rows, min(limit, stop_at))
            node = with_level(groups.node, column, groups.node[column] + 1)
            groups, _ = task.frequencies.roll_up(node, groups)
            watch.report("search", sum(node), sum(task.frequencies.heights))

    def _infeasible(self, task: Task, weights: list[float], outliers: int, rows: int, allowed: int) -> InfeasibleError:
        """Say why no column can be generalized further."""
        if outliers <= allowed and outliers < task.frequencies.rows:
            return InfeasibleError(
                f"{counted(outliers, 'row')} must be suppressed, fewer than k = {task.largest_k()}, and with the "
                f"smallest group to hide them among {rows} of {task.frequencies.rows}, but {allowed} may be; allow "
                "more suppression, or say complementary = false"
            )
        fixed = [name for name, weight in zip(task.frequencies.columns, weights, strict=True) if weight == 0]
        if not fixed:
            return task.infeasible(allowed)
        return InfeasibleError(
            f"with {', '.join(map(repr, fixed))} left as they are (weight 0) {outliers} rows must be suppressed, but "
            f"{allowed} may be; give them a weight above 0, or allow more suppression"
        )

    def _stop_at(self, task: Task) -> int:
        if self.suppression is not None:
            return suppression_in_rows(self.suppression, task.frequencies.rows)
        return task.largest_k() if task.policy.max_suppression is None else task.budget

    def _weights(self, task: Task) -> list[float]:
        columns = task.frequencies.columns
        unknown = [c for c in (*self.likelihood, *self.preference) if c not in columns]
        if unknown:
            raise PolicyError([f"datafly: {column!r} is not a quasi column" for column in unknown])
        return [float(self.likelihood.get(c, 1)) * float(self.preference.get(c, 1)) for c in columns]

    def _next_column(self, task: Task, groups: Groups, weights: list[float]) -> int | None:
        """Return the column with most distinct values, by weight, that can still be generalized (step 2.1)."""
        best, most = None, 0.0
        for column, weight in enumerate(weights):
            if groups.node[column] < task.frequencies.heights[column]:
                distinct = len(np.unique(groups.label_codes(column)))
                if distinct * weight > most:
                    best, most = column, distinct * weight
        return best

    def _with_complement(self, task: Task, recoding: FullDomainRecoding) -> FullDomainRecoding:
        """Add the smallest safe group to suppressed rows that are not nothing but of fewer than k people (step 4)."""
        groups, outliers = recoding.groups, recoding.is_suppressed
        if not self.complementary or not outliers.any() or outliers.all():
            return recoding
        if groups.number_of_people(outliers) >= task.largest_k():
            return recoding
        safe = np.flatnonzero(~outliers)
        smallest = safe[np.lexsort((*groups.keys[safe].T, groups.sizes[safe]))[0]]
        suppressed = outliers.copy()
        suppressed[smallest] = True
        # with several quasi-identifiers the rows that went may leave other groups short
        return FullDomainRecoding(task.frequencies, groups, suppressed | _unsafe_without(task, groups, suppressed))


def _unsafe_without(task: Task, groups: Groups, suppressed: BoolArray) -> BoolArray:
    """Return which groups are unsafe once some are suppressed."""
    return task.unsafe(groups.without(suppressed))
