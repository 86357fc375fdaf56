"""TargetLoss: what a node of the lattice loses of a target, with the bound that keeps the search exact."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList, Groups
from indistinct.errors import InfeasibleError
from indistinct.policy.algorithms import PredictionTarget
from indistinct.quality import QualityMeasure
from indistinct.recoding import FullDomainRecoding
from indistinct.search.kernels.target_spread import total_spread
from indistinct.search.target_of_rows import TargetOfRows
from indistinct.search.task import Task

TOO_MANY_ALIKE = 2.0
"""The loss of a node where more rows stand among their like than may be: any other node is better."""


class TargetLoss(QualityMeasure):
    """The share of a target's spread that is left within groups; all suppressed rows count as one group.

    The spread of classes is rows times entropy, so the loss is the conditional entropy of the target given the labels,
    over its entropy. The spread of numbers is the sum of squares around the mean: the loss is 1 - R squared.

    Groups that are merged never spread less than they did apart. A suppressed group at a node is made of whole groups
    of each node below it. So the spread of all groups at a node bounds the loss of each node above it.
    """

    name: ClassVar[str] = "target"

    def __init__(self, task: Task, named: PredictionTarget) -> None:
        self._target = TargetOfRows.of(task, named)
        self._column = named.column
        groups = task.frequencies.base
        self._whole = self._spread(groups, np.zeros(len(groups), np.int64), 1)

    def loss(self, recoding: Any) -> float:
        """Return the loss of a recoding to a node."""
        assert isinstance(recoding, FullDomainRecoding)  # the measure asks more than counts, so it is given these
        groups, is_out = recoding.groups, recoding.is_suppressed
        if self._rows_alike(groups, is_out) > self._target.left:
            return TOO_MANY_ALIKE
        into = np.where(is_out, len(groups), np.arange(len(groups)))
        return self._spread(groups, into, len(groups) + 1) / self._whole if self._whole > 0 else 0.0

    def value(self, recoding: Any) -> float:
        """Return the loss."""
        return self.loss(recoding)

    def bound_above(self, groups: Any, frequencies: FrequencyList) -> float:
        """Return the loss where nothing is suppressed."""
        spread = self._spread(groups, np.arange(len(groups.sizes)), len(groups.sizes))
        return spread / self._whole if self._whole > 0 else 0.0

    def refuse(self, loss: float) -> None:
        """Raise if the best node that passes leaves too many rows among their like."""
        if loss >= TOO_MANY_ALIKE:
            raise InfeasibleError(
                "options.target: at every node that satisfies the policy more rows stand in groups of one value of the "
                "target than max_alike allows; raise it, or allow more suppression"
            )

    def _spread(self, groups: Groups, into: IntArray, number: int) -> float:
        """Return the spread of groups that are joined: ``into`` says which goes where."""
        tally = groups.tallies[self._column]
        per_row, at = self._target.per_row, into[tally.groups]
        sums: FloatArray = np.zeros((number, per_row.shape[1]))
        for place in range(per_row.shape[1]):
            sums[:, place] = np.bincount(at, tally.counts * per_row[tally.values, place], number)
        rows = np.bincount(at, tally.counts, number).astype(np.int64)
        return float(total_spread(rows, sums, self._target.is_number))

    def _rows_alike(self, groups: Groups, is_out: BoolArray) -> int:
        """Return the released rows in groups in which all have one value."""
        tally = groups.tallies[self._column]
        is_alike = (np.bincount(tally.groups, minlength=len(groups)) == 1) & ~is_out
        return int(groups.sizes[is_alike].sum())
