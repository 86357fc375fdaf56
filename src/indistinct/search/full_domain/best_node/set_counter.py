"""SetCounter: counts nodes where k-anonymity is asked for by several sets of columns, listed or those of ``known``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from indistinct.counting import IntArray, Node
from indistinct.quality import QualityMeasure
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import LabelValues, Outcome
from indistinct.search.full_domain.best_node.counters import NodeCounts, Source
from indistinct.search.set_counts import SetCounts, steps_above
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class Base:
    """The tuples of the list, from which every node is counted."""

    node: Node
    sizes: IntArray


class SetCounter:
    """Counts nodes for k-anonymity by several sets of columns; what is counted by a set serves all nodes above.

    Only what the measure asks is computed: the sums over labels of a cell measure.
    """

    def __init__(self, task: Task, measure: QualityMeasure | None, at_most: int | None = None) -> None:
        self.frequencies = task.frequencies
        self.base: Source = Base(task.frequencies.base.node, task.frequencies.base.sizes)
        self._at_most = task.frequencies.rows if at_most is None else at_most
        self._sets = SetCounts.of_list(task.frequencies, task.ks_by_columns())
        self._values: LabelValues | None = None
        if isinstance(measure, CellMeasure):
            self._values = measure.prepare(task.frequencies).per_label

    @staticmethod
    def serves(task: Task, measure: QualityMeasure | None) -> bool:
        """Return whether a task asks for k-anonymity in rows and nothing else, and a measure for sums over labels."""
        asks_sums = measure is None or (
            measure.asks_counts_only
            and (isinstance(measure, CellMeasure) or measure.level_losses(task.frequencies) is not None)
        )
        return (
            asks_sums
            and task.asks_rows_only
            and not task.policy.links_rows
            and SetCounts.serves(task.ks_by_columns(), task.frequencies.heights)
        )

    def outcome(self, node: Node, source: Any) -> Outcome:
        """Return the numbers of a node."""
        gone, lost = self._sets.taken_out(steps_above(node, self.frequencies.lowest), self._at_most)
        kept = 0.0
        if lost and lost <= self._at_most and self._values is not None:
            kept = self._sets.sum_over(gone, steps_above(node, self.frequencies.lowest), self._values, node)
        return NodeCounts(self.frequencies, node, self.frequencies.rows, min(lost, self.frequencies.rows), kept)

    def reduce_source(self, node: Node, source: Any) -> Source:
        """Every node is counted from the list: what is known of single sets is worth more than a shorter list."""
        return self.base
