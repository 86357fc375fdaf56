"""The quality measures: what each says of a recoding, and the bounds that it gives a search.

Measures of cells add up over cells: each released cell retains some information, a suppressed one none. Precision,
loss, NCP and entropy differ in what a cell keeps under its label. Measures that only count ask for the levels that were
climbed (Samarati's distances and accuracy), or for released rows and the sizes of groups (discernibility and its like).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.errors import PolicyError
from indistinct.recoding import LabelValues, Outcome
from indistinct.recoding.recoding import GroupLabels, Labels
from indistinct.registry import MEASURES


def within_unit(loss: float) -> float:
    """Return a loss without the rounding that takes it out of [0, 1]; works on arrays of them too.

    >>> within_unit(1.0000000000000002)
    1.0
    """
    return np.clip(loss, 0.0, 1.0) if isinstance(loss, np.ndarray) else min(1.0, max(0.0, float(loss)))


class Sized(Protocol):
    """Groups of which the sizes are known."""

    @property
    def sizes(self) -> IntArray:
        """The rows of each group."""


class QualityMeasure(ABC):
    """A loss in [0, 1] for a recoding: 0 leaves the table as it is, 1 tells nothing.

    A measure may also split its loss into parts whose direction is known; they let an exact search skip what cannot
    beat the best recoding found. For any node between a lower and an upper one,

        loss(node) >= sum of level_losses(lower) + bound_above(lower) + suppression_loss(upper)

    The defaults, which promise nothing, always hold. A measure that asks counts only is also given arrays of outcomes,
    so it is written without branching on them.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """What the figure says, in one line for readers who do not know its name."""
    asks_counts_only: ClassVar[bool] = False
    """The measure asks nothing but what an Outcome has, so a search need not build recodings for it."""

    @abstractmethod
    def loss(self, recoding: Outcome) -> float:
        """Return the loss of a recoding, between 0 and 1."""

    @abstractmethod
    def value(self, recoding: Outcome) -> float:
        """Return the figure that people quote, in its own unit and direction."""

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray] | None:
        """Return for each column the part of the loss that each of its levels costs by itself; it never falls on the
        way up. None if the measure has no such parts.
        """
        return None

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Return the part of the loss that follows from the sizes of the groups; it never falls on the way up."""
        return 0.0

    def suppression_loss(self, recoding: Outcome) -> float:
        """Return the part of the loss that suppression adds; it never rises on the way up."""
        return 0.0


def measure_named(measure: QualityMeasure | str) -> QualityMeasure:
    """Return the measure of this name, or the measure itself."""
    if isinstance(measure, QualityMeasure):
        return measure
    if not isinstance(measure, str):
        raise PolicyError(f"measure: there is no {measure!r}; choose one of {', '.join(MEASURES)}")
    return MEASURES.make(measure)


def all_measures(recoding: Outcome) -> dict[str, float]:
    """Return the figure of every measure for a recoding, by the measure's name."""
    return {name: measure().value(recoding) for name, measure in MEASURES.items()}


# Measures of cells.


@dataclass(frozen=True, slots=True)
class Retained:
    """What cells retain in one frequency list: per column, level and label, and in a table left as it is."""

    per_label: LabelValues
    """per_label[column][level][label code], weighted."""
    level_losses: Sequence[FloatArray]
    """level_losses[column][level]: the share of the whole that the column loses at a level, nothing suppressed."""
    whole: float


class CellMeasure(QualityMeasure):
    """The share of information that the table's cells lose.

    ``kept`` says what a cell keeps under a label. Row counts of the labels are known before any search, so the
    loss of a node with nothing suppressed is a sum over its levels; suppression only adds what the suppressed
    groups would have kept.
    """

    asks_counts_only = True

    @abstractmethod
    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        """Return what a cell of a column keeps under each of these labels; under its own value it keeps all."""

    def prepare(self, frequencies: FrequencyList) -> Retained:
        """Tabulate what cells retain, once for each frequency list."""
        return frequencies.remember((type(self), self), lambda: self._tabulate(frequencies))

    def _tabulate(self, frequencies: FrequencyList) -> Retained:
        per_label, totals = [], []
        for column, weight in enumerate(frequencies.weights):
            labels = [
                weight * self.kept(frequencies, column, Labels.at_level(frequencies, column, level))
                for level in range(frequencies.heights[column] + 1)
            ]
            if frequencies.has_absent:
                for kept in labels:
                    kept[-1] = 0.0  # no cell is there
            counts = frequencies.value_counts(column)
            maps = frequencies.hierarchies[column].maps
            per_label.append(labels)
            totals.append(np.array([float(counts @ kept[codes]) for kept, codes in zip(labels, maps, strict=True)]))
        whole = sum(float(total[0]) for total in totals)
        level_losses = [(total[0] - total) / whole if whole > 0 else np.zeros(len(total)) for total in totals]
        return Retained(per_label, level_losses, whole)

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        return self.prepare(frequencies).level_losses

    def least_kept(self, frequencies: FrequencyList) -> list[list[float]] | None:
        """Return what a released cell of each column keeps at the least at each level, as a share of the whole
        table.
        """
        prepared = self.prepare(frequencies)
        if prepared.whole <= 0:
            return None
        return [[float(kept.min(initial=np.inf)) / prepared.whole for kept in levels] for levels in prepared.per_label]

    def suppression_loss(self, recoding: Outcome) -> float:
        """What the suppressed cells would have kept: coarser labels keep less, and fewer rows are suppressed."""
        prepared = self.prepare(recoding.frequencies)
        return recoding.over_suppressed(prepared.per_label) / prepared.whole if prepared.whole > 0 else 0.0

    def loss(self, recoding: Outcome) -> float:
        if recoding.local is not None:
            return self._local_loss(recoding.frequencies, recoding.local)
        parts = self.level_losses(recoding.frequencies)
        lost = sum([losses[level] for losses, level in zip(parts, recoding.node, strict=True)])
        return within_unit(lost + self.suppression_loss(recoding))

    def _local_loss(self, frequencies: FrequencyList, groups: GroupLabels) -> float:
        """Return the loss where each group carries labels of its own."""
        whole = self.prepare(frequencies).whole
        kept = [
            weight * self.kept(frequencies, column, labels)
            for column, (weight, labels) in enumerate(zip(frequencies.weights, groups.labels, strict=True))
        ]
        return within_unit(1.0 - groups.over_released(kept) / whole) if whole > 0 else 0.0


@dataclass(frozen=True)
class Precision(CellMeasure):
    """Sweeney's Prec: one minus the average of level / height over all cells; a suppressed row counts as 1 a cell.

    Sweeney's heights count a suppressed top, Samarati's do not. With ``count_suppressed_top=False`` a column whose
    hierarchy ends in a suppressed top is measured against the height below it; the top itself is then 1 as well.
    Columns count by their weights.

    Source: Sweeney 2002, Definition 5.
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "1 leaves every cell as it is (Sweeney)"

    count_suppressed_top: bool = True

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        hierarchy = frequencies.hierarchies[column]
        height = hierarchy.height
        if hierarchy.has_suppressed_top and not self.count_suppressed_top and height > 1:
            height -= 1
        return 1.0 - np.minimum(labels.levels / max(1, height), 1.0)

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)


@dataclass(frozen=True)
class Loss(CellMeasure):
    """Iyengar's loss: the average over cells of (leaves under the label - 1) / (leaves of the domain - 1).

    A suppressed cell counts as 1. The domain is what the hierarchy lists, or, for hierarchies that are
    functions (intervals, dates, prefix …), the values of the table.

    Source: Iyengar 2002.
    """

    name: ClassVar[str] = "loss"
    title: ClassVar[str] = "0 leaves every cell as it is (Iyengar)"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        others = frequencies.hierarchies[column].domain_size - 1
        return 1.0 - (labels.leaves - 1) / others if others > 0 else np.ones(len(labels.leaves))

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)


@dataclass(frozen=True)
class NCP(CellMeasure):
    """Normalized certainty penalty: the average over cells of the share of the domain's leaves under the label.

    A ground value counts as 0, a suppressed cell as 1. The average over the whole table is also called GCP.

    Source: Xu et al. 2006.
    """

    name: ClassVar[str] = "ncp"
    title: ClassVar[str] = "how wide labels are, 0 to 1 (Xu)"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        domain_size = frequencies.hierarchies[column].domain_size
        return np.where(labels.leaves > 1, 1.0 - labels.leaves / domain_size, 1.0)

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)


@dataclass(frozen=True)
class NonUniformEntropy(CellMeasure):
    """The share of bits lost: the sum over cells of -log2 P(value | label), over that sum with all suppressed.

    P is the value's share of the rows under the label in the original table. A cell keeps
    log2(rows / rows under its label) bits: under the top nothing, under its own value all.

    Source: Gionis and Tassa 2009.
    """

    name: ClassVar[str] = "entropy"
    title: ClassVar[str] = "what labels leave open, by how frequent values are, 0 to 1"

    def kept(self, frequencies: FrequencyList, column: int, labels: Labels) -> FloatArray:
        bits: FloatArray = np.log2(max(1, frequencies.rows_of(column)) / np.maximum(labels.rows, 1))
        return bits

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding)


# Measures that only count.


class _LevelMeasure(QualityMeasure):
    """A measure that depends on the node alone."""

    asks_counts_only = True

    def loss(self, recoding: Outcome) -> float:
        parts = self.level_losses(recoding.frequencies)
        assert parts is not None  # every measure of this kind has them
        if recoding.local is not None:  # each part rises evenly with the level, so averages will do
            return within_unit(
                sum([p[-1] * m / max(1, len(p) - 1) for p, m in zip(parts, recoding.local.mean_levels, strict=True)])
            )
        return within_unit(sum([losses[level] for losses, level in zip(parts, recoding.node, strict=True)]))


@dataclass(frozen=True)
class AbsoluteDistance(_LevelMeasure):
    """The number of generalization steps in all: the height of the node.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "absolute-distance"
    title: ClassVar[str] = "steps climbed in all hierarchies (Samarati)"

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        steps = max(1, sum(frequencies.heights))
        return [np.arange(height + 1) / steps for height in frequencies.heights]

    def value(self, recoding: Outcome) -> float:
        levels = recoding.node if recoding.local is None else recoding.local.mean_levels
        return sum(levels) * 1.0


@dataclass(frozen=True)
class RelativeDistance(_LevelMeasure):
    """The sum over columns of level / height, times the column's weight.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "relative-distance"
    title: ClassVar[str] = "the same, each over its height (Samarati)"

    def level_losses(self, frequencies: FrequencyList) -> Sequence[FloatArray]:
        whole = sum(frequencies.weights) or 1.0
        return [
            weight * np.arange(height + 1) / max(1, height) / whole
            for height, weight in zip(frequencies.heights, frequencies.weights, strict=True)
        ]

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding) * sum(recoding.frequencies.weights)


@dataclass(frozen=True)
class Accuracy(AbsoluteDistance):
    """One minus the height of the node over the height of the lattice.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "what generalization leaves (Samarati)"

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)


@dataclass(frozen=True)
class Completeness(QualityMeasure):
    """The share of eligible rows that are released.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "completeness"
    title: ClassVar[str] = "the share of rows released (Samarati)"
    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return 1.0 - self.loss(recoding)

    def loss(self, recoding: Outcome) -> float:
        return recoding.suppressed_rows / max(1, recoding.rows)

    def suppression_loss(self, recoding: Outcome) -> float:
        return self.loss(recoding)


@dataclass(frozen=True)
class Discernibility(QualityMeasure):
    """Each released row costs the size of its group, each suppressed row the size of the table.

    Source: Bayardo and Agrawal 2005.
    """

    name: ClassVar[str] = "discernibility"
    title: ClassVar[str] = "rows that each row cannot be told from, summed"

    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return recoding.released_squares + recoding.suppressed_rows * float(recoding.rows)

    def loss(self, recoding: Outcome) -> float:
        return self.value(recoding) / max(1.0, float(recoding.rows) ** 2)

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Merging groups only adds to the sum of squares, suppressed ones included."""
        squares = float(np.square(groups.sizes, dtype=np.float64).sum())
        return squares / max(1.0, float(frequencies.rows) ** 2)

    def suppression_loss(self, recoding: Outcome) -> float:
        """What suppressed rows cost beyond the squares of their groups."""
        beyond = recoding.suppressed_rows * float(recoding.rows) - recoding.suppressed_squares
        return beyond / max(1.0, float(recoding.rows) ** 2)


@dataclass(frozen=True)
class AverageGroupSize(QualityMeasure):
    """The released rows per released group, divided by ``k`` if one is given (LeFevre's C_avg).

    A release of nothing counts as one group of the whole table.

    Source: LeFevre et al. 2006.
    """

    name: ClassVar[str] = "average-group-size"
    title: ClassVar[str] = "rows of a group on average"
    asks_counts_only: ClassVar[bool] = True

    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise PolicyError(f"k must be at least 1, got {self.k}")

    def value(self, recoding: Outcome) -> float:
        return self.loss(recoding) * max(1, recoding.rows) / self.k

    def loss(self, recoding: Outcome) -> float:
        is_empty = recoding.released_groups == 0
        released = recoding.rows - recoding.suppressed_rows + is_empty * recoding.rows
        return released / (recoding.released_groups + is_empty) / max(1, recoding.rows)


@dataclass(frozen=True)
class DistinctTuples(QualityMeasure):
    """The number of distinct released tuples: what Samarati's maximum distribution prefers.

    Source: Samarati 2001, section 6.
    """

    name: ClassVar[str] = "distinct-tuples"
    title: ClassVar[str] = "the combinations of labels that are left"
    asks_counts_only: ClassVar[bool] = True

    def value(self, recoding: Outcome) -> float:
        return recoding.released_groups * 1.0

    def loss(self, recoding: Outcome) -> float:
        return 1.0 - recoding.released_groups / max(1, len(recoding.frequencies.base))

    def bound_above(self, groups: Sized, frequencies: FrequencyList) -> float:
        """Going up only merges groups."""
        return 1.0 - len(groups.sizes) / max(1, len(frequencies.base))

    def suppression_loss(self, recoding: Outcome) -> float:
        """A suppressed group is made of groups that were suppressed below, so going up there are no more of them."""
        return recoding.suppressed_groups / max(1, len(recoding.frequencies.base))
