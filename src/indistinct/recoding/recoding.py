"""Recoding: an algorithm's answer, which group each tuple goes to, what labels it carries, and what is suppressed.

A full-domain recoding takes every column to one level. A local recoding groups rows, and each group carries labels of
its own: from the hierarchies, or ranges and sets of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, Groups, IntArray, Node
from indistinct.recoding.group_labels import LabelKind, Labels, distinct, lowest_labels

SUPPRESSED = -1
"""The group of rows that are not released."""

LabelValues = Sequence[Sequence[NDArray[np.float64]]]
"""A number for each column, level and label code."""


class Outcome(Protocol):
    """What a measure may ask of a recoding; a search can answer it without building one."""

    @property
    def frequencies(self) -> FrequencyList:
        """The list that was recoded."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """A full-domain recoding: every column climbs to one level, and some whole groups are suppressed."""

    frequencies: FrequencyList
    groups: Groups
    is_suppressed: NDArray[np.bool_]
    """One claim per group."""
    is_proven: bool = True
    """No other recoding that the algorithm considers is better; False when a time limit cut the search short."""
    gap: float = 0.0
    """How much lower the loss of the optimum can still be, if it is not proven."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""
        return self.groups.node

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""
        return self.frequencies.rows

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""
        return int(self.groups.sizes[self.is_suppressed].sum())

    @property
    def released_rows(self) -> int:
        """The rows that stay."""
        return self.rows - self.suppressed_rows

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the released groups."""
        return self.groups.sizes[~self.is_suppressed]

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""
        return int((~self.is_suppressed).sum())

    @property
    def suppressed_groups(self) -> int:
        """The number of groups that are suppressed."""
        return int(self.is_suppressed.sum())

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""
        return _sum_of_squares(self.released_sizes)

    @property
    def suppressed_squares(self) -> float:
        """The sum of the squared sizes of the suppressed groups."""
        return _sum_of_squares(self.groups.sizes[self.is_suppressed])

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""
        suppressed = np.flatnonzero(self.is_suppressed)
        if not len(suppressed):
            return 0.0
        sizes = self.groups.sizes[suppressed]
        return sum(
            float(sizes @ values[column][level][self.groups.label_codes(column)[suppressed]])
            for column, level in enumerate(self.node)
        )

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi column by its name."""
        return dict(zip(self.frequencies.columns, self.node, strict=True))


@dataclass(frozen=True, slots=True)
class Pieces:
    """Which rows go where: so many rows of a tuple to a group. A tuple's rows may go to several groups.

    Where models ask about sensitive values, the rows of a tuple are told apart by them: "tuple" then means an entry of
    the frequency list.
    """

    tuples: IntArray
    """The position of the tuple among the frequency list's entries."""
    rows: IntArray
    groups: IntArray
    """The number of the group, or SUPPRESSED."""

    @classmethod
    def whole(cls, frequencies: FrequencyList, groups: IntArray) -> Pieces:
        """Send every tuple with all its rows to one group."""
        entries = frequencies.entries
        return cls(np.arange(len(entries)), entries.counts, np.asarray(groups, np.int64)[entries.tuples])


@dataclass(frozen=True, slots=True, eq=False)
class LocalRecoding:
    """A local recoding: rows go to groups, and each group has its own label in every column.

    ``codes[column, group]`` is the place of a group's label in ``labels[column]``. No two groups carry the same labels.
    """

    frequencies: FrequencyList
    pieces: Pieces
    labels: tuple[Labels, ...]
    codes: IntArray
    sizes: IntArray
    """The rows of each group."""
    is_proven: bool = True
    gap: float = 0.0
    is_safe: bool = True
    """The algorithm promises what the policy requires; µ-Argus does not."""

    @classmethod
    def of_pieces(
        cls,
        frequencies: FrequencyList,
        pieces: Pieces,
        kind: LabelKind = "hierarchy",
        *,
        is_proven: bool = True,
        gap: float = 0.0,
    ) -> LocalRecoding:
        """Give every group the lowest labels that cover its rows."""
        is_released = pieces.groups != SUPPRESSED
        numbers, group_of = np.unique(pieces.groups[is_released], return_inverse=True)
        tuples = pieces.tuples[is_released]
        found = [
            lowest_labels(frequencies, column, tuples, group_of, len(numbers), kind)
            for column in range(len(frequencies.columns))
        ]
        codes = np.stack([codes for _, codes in found]) if found else np.zeros((0, len(numbers)), np.int64)
        groups = np.full(len(pieces.groups), SUPPRESSED)
        groups[is_released] = group_of
        labels = tuple(labels for labels, _ in found)
        return cls.of_labels(
            frequencies, Pieces(pieces.tuples, pieces.rows, groups), labels, codes, is_proven=is_proven, gap=gap
        )

    @classmethod
    def of_labels(
        cls,
        frequencies: FrequencyList,
        pieces: Pieces,
        labels: tuple[Labels, ...],
        codes: IntArray,
        *,
        is_proven: bool = True,
        gap: float = 0.0,
        is_safe: bool = True,
    ) -> LocalRecoding:
        """Give every group the labels that are said for it; groups that carry the same ones become one."""
        if codes.shape[1]:
            chosen, merged = distinct(*codes)
            codes = codes[:, chosen]
            groups = np.where(pieces.groups == SUPPRESSED, SUPPRESSED, merged[np.maximum(pieces.groups, 0)])
            pieces = Pieces(pieces.tuples, pieces.rows, groups)
        is_released = pieces.groups != SUPPRESSED
        sizes = np.bincount(pieces.groups[is_released], pieces.rows[is_released], codes.shape[1]).astype(np.int64)
        return cls(frequencies, pieces, labels, codes, sizes, is_proven, gap, is_safe)

    def with_gap(self, gap: float) -> LocalRecoding:
        """The same recoding, of which only this much is known about the optimum."""
        return replace(self, is_proven=gap <= 0.0, gap=gap)

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""
        return self.frequencies.rows

    @property
    def suppressed_rows(self) -> int:
        """The rows that are not released."""
        return self.rows - self.released_rows

    @property
    def released_rows(self) -> int:
        """The rows that stay."""
        return int(self.sizes.sum())

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the released groups."""
        return self.sizes

    @property
    def released_groups(self) -> int:
        """The number of groups that stay."""
        return len(self.sizes)

    @property
    def suppressed_groups(self) -> int:
        """The suppressed rows count as one group."""
        return int(self.suppressed_rows > 0)

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the groups that stay."""
        return _sum_of_squares(self.sizes)

    @property
    def suppressed_squares(self) -> float:
        """The square of the number of suppressed rows."""
        return float(self.suppressed_rows) ** 2

    @property
    def levels(self) -> None:
        """A local recoding has no single level per column."""
        return None

    @property
    def node(self) -> Node:
        """The highest level of each column's released cells."""
        return tuple(
            int(labels.levels[np.unique(codes)].max(initial=0))
            for labels, codes in zip(self.labels, self.codes, strict=True)
        )

    @property
    def mean_levels(self) -> tuple[float, ...]:
        """The average level of each column's released cells."""
        rows = max(1, self.released_rows)
        return tuple(
            float(self.sizes @ labels.levels[codes]) / rows
            for labels, codes in zip(self.labels, self.codes, strict=True)
        )

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows, which have no label but their values."""
        return _over_suppressed(self.frequencies, self.pieces, values)

    def over_released(self, values: Sequence[NDArray[np.float64]]) -> float:
        """Sum a number per column and label over all released cells."""
        return sum(float(self.sizes @ value[codes]) for value, codes in zip(values, self.codes, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Rows in classes for a release of two tables: quasi cells as they are, sensitive ones apart, linked by class.

    No cell is generalized. What the release hides is which of a class's sensitive values belongs to whom.
    """

    frequencies: FrequencyList
    pieces: Pieces
    sizes: IntArray
    """The rows of each class."""
    is_proven: bool = True
    gap: float = 0.0
    is_safe: bool = True

    @classmethod
    def of_pieces(cls, frequencies: FrequencyList, pieces: Pieces) -> Classes:
        """Number the groups of the pieces through as classes."""
        is_released = pieces.groups != SUPPRESSED
        numbers, class_of = np.unique(pieces.groups[is_released], return_inverse=True)
        groups = np.full(len(pieces.groups), SUPPRESSED)
        groups[is_released] = class_of
        sizes = np.bincount(class_of, pieces.rows[is_released], len(numbers)).astype(np.int64)
        return cls(frequencies, Pieces(pieces.tuples, pieces.rows, groups), sizes)

    @property
    def rows(self) -> int:
        """The rows that were eligible for release."""
        return self.frequencies.rows

    @property
    def released_rows(self) -> int:
        """The rows that stay."""
        return int(self.sizes.sum())

    @property
    def suppressed_rows(self) -> int:
        """The rows that are not released."""
        return self.rows - self.released_rows

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the classes."""
        return self.sizes

    @property
    def released_groups(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    @property
    def suppressed_groups(self) -> int:
        """The suppressed rows count as one group."""
        return int(self.suppressed_rows > 0)

    @property
    def released_squares(self) -> float:
        """The sum of the squared sizes of the classes."""
        return _sum_of_squares(self.sizes)

    @property
    def suppressed_squares(self) -> float:
        """The square of the number of suppressed rows."""
        return float(self.suppressed_rows) ** 2

    @property
    def levels(self) -> dict[str, int]:
        """Every quasi column stays as it is."""
        return dict.fromkeys(self.frequencies.columns, 0)

    @property
    def node(self) -> Node:
        """The bottom of the lattice."""
        return (0,) * len(self.frequencies.columns)

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""
        return _over_suppressed(self.frequencies, self.pieces, values)


AnyRecoding = Recoding | LocalRecoding | Classes


def _over_suppressed(frequencies: FrequencyList, pieces: Pieces, values: LabelValues) -> float:
    is_suppressed = pieces.groups == SUPPRESSED
    tuples, rows = pieces.tuples[is_suppressed], pieces.rows[is_suppressed]
    return sum(
        float(rows @ values[column][0][frequencies.entry_codes(column)[tuples]])
        for column in range(len(frequencies.columns))
    )


def _sum_of_squares(sizes: IntArray) -> float:
    return float(np.square(sizes, dtype=np.float64).sum())
