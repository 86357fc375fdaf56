"""Recoding: an algorithm's answer, which group each tuple goes to, what labels it carries, and what is suppressed.

A full-domain recoding takes every column to one level. A local recoding groups rows, and each group carries labels of
its own: from the hierarchies, or ranges and sets of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.frequency import FrequencyList, Groups, IntArray, Node
from indistinct.hierarchy import CompiledHierarchy
from indistinct.labels import range_label, set_label

LabelKind = Literal["hierarchy", "ranges"]
"""What the cells of a group carry: the lowest label of the hierarchy, or ranges of numbers and dates, and sets."""

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
class Labels:
    """Labels of one column: their text, where they lie, and how much they cover."""

    texts: tuple[str | None, ...]
    levels: IntArray
    """The level of each; for a range or a set the lowest level that has one label for all its values."""
    leaves: IntArray
    """The ground values of the domain under each."""
    rows: IntArray
    """The rows of the table under each."""

    @classmethod
    def at_level(cls, frequencies: FrequencyList, column: int, level: int) -> Labels:
        """Give all labels of one level of a column's hierarchy."""
        hierarchy = frequencies.hierarchies[column]
        texts = hierarchy.labels[level]
        rows = np.bincount(hierarchy.maps[level], frequencies.value_counts(column), len(texts)).astype(np.int64)
        return cls(texts, np.full(len(texts), level), hierarchy.leaves[level], rows)


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
            _lowest_labels(frequencies, column, tuples, group_of, len(numbers), kind)
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
            codes, merged = np.unique(codes, axis=1, return_inverse=True)
            groups = np.where(
                pieces.groups == SUPPRESSED, SUPPRESSED, merged.ravel()[np.maximum(pieces.groups, 0)]
            ).astype(np.int64)
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


def _lowest_labels(
    frequencies: FrequencyList, column: int, tuples: IntArray, group_of: IntArray, groups: int, kind: LabelKind
) -> tuple[Labels, IntArray]:
    """Give the labels of one column that cover each group, and which one each group carries."""
    hierarchy = frequencies.hierarchies[column]
    values = frequencies.entry_codes(column)[tuples]
    members = np.unique(group_of * len(hierarchy.values) + values)
    group_of, values = np.divmod(members, len(hierarchy.values))
    starts = np.searchsorted(group_of, np.arange(groups))
    levels, codes = _common_labels(hierarchy, values, starts)
    if kind == "ranges" and hierarchy.height:
        return _covers(frequencies, column, values, np.append(starts, len(values)), levels, codes)
    most = max(map(len, hierarchy.labels))
    pairs, places = np.unique(levels * most + codes, return_inverse=True)
    found = [divmod(int(pair), most) for pair in pairs]
    per_level = {level: Labels.at_level(frequencies, column, level) for level, _ in found}
    labels = Labels(
        tuple(hierarchy.labels[level][code] for level, code in found),
        np.array([level for level, _ in found], np.int64),
        np.array([per_level[level].leaves[code] for level, code in found], np.int64),
        np.array([per_level[level].rows[code] for level, code in found], np.int64),
    )
    return _each_once(labels, places.ravel())


def _common_labels(hierarchy: CompiledHierarchy, values: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Give the lowest level at which the values from each start on share a label, and that label's code."""
    levels, found = np.full(len(starts), -1), np.zeros(len(starts), np.int64)
    if not len(starts):
        return levels, found
    for level, codes_of in enumerate(hierarchy.maps):
        codes = codes_of[values]
        lowest = np.minimum.reduceat(codes, starts)
        is_new = (lowest == np.maximum.reduceat(codes, starts)) & (levels < 0)
        levels[is_new], found[is_new] = level, lowest[is_new]
    if (levels < 0).any():
        raise ValueError("a group has values of a column that is never generalized and so has no label for them")
    return levels, found


def _covers(
    frequencies: FrequencyList, column: int, values: IntArray, starts: IntArray, levels: IntArray, codes: IntArray
) -> tuple[Labels, IntArray]:
    """Give each group the range or set of its values, or a hierarchy's label where that covers no more."""
    hierarchy = frequencies.hierarchies[column]
    counts = frequencies.value_counts(column)
    positions = hierarchy.find_positions()
    by_position = np.argsort(positions) if positions is not None else np.zeros(0, np.int64)
    rows_before = np.append(0, np.cumsum(counts[by_position]))
    sorted_positions = positions[by_position] if positions is not None else by_position
    known: dict[tuple[int, ...], int] = {}
    texts: list[str | None] = []
    numbers: list[tuple[int, int, int]] = []
    places = np.empty(len(levels), np.int64)
    for group, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        members = values[start:end]
        has_missing = hierarchy.values[members[-1]] is None  # a missing value has the last code
        present = members[:-1] if has_missing else members
        key: tuple[int, ...]
        if len(members) == 1:
            key = (int(members[0]),)
        elif positions is not None and len(present):
            ends = positions[present]
            key = (int(present[ends.argmin()]), int(present[ends.argmax()]), -2 if has_missing else -1)
        else:
            key = tuple(members.tolist())
        if key not in known:
            level, code = int(levels[group]), int(codes[group])
            if len(key) == 1:
                text, leaves, rows = hierarchy.values[key[0]], 1, int(counts[key[0]])
            elif key[-1] < 0 and positions is not None:
                low, high = int(positions[key[0]]), int(positions[key[1]])
                inside = slice(*np.searchsorted(sorted_positions, [low, high + 1]).tolist())
                text = range_label(hierarchy.values[key[0]], hierarchy.values[key[1]], has_missing)
                leaves = high - low + 1 + has_missing
                rows = int(rows_before[inside.stop] - rows_before[inside.start])
                rows += int(counts[members[-1]]) * has_missing
            else:
                text = set_label([hierarchy.values[value] for value in key])
                leaves, rows = len(key), int(counts[members].sum())
            if len(key) > 1 and leaves >= hierarchy.leaves[level][code]:
                text, leaves = hierarchy.labels[level][code], int(hierarchy.leaves[level][code])
                rows = int(counts[hierarchy.maps[level] == code].sum())
            known[key] = len(texts)
            texts.append(text)
            numbers.append((level, leaves, rows))
        places[group] = known[key]
    table = np.array(numbers, np.int64).reshape(-1, 3)
    return _each_once(Labels(tuple(texts), table[:, 0], table[:, 1], table[:, 2]), places)


def _each_once(labels: Labels, places: IntArray) -> tuple[Labels, IntArray]:
    """Give labels without repeated texts, and where each place went.

    A label that reads the same on two levels says no more than on the higher one, since nobody can tell which is meant.
    """
    last = {text: position for position, text in enumerate(labels.texts)}
    if len(last) == len(labels.texts):
        return labels, places
    number = {text: position for position, text in enumerate(last)}
    moved = np.array([number[text] for text in labels.texts], np.int64)
    chosen = np.fromiter(last.values(), np.int64, len(last))
    kept = Labels(tuple(last), labels.levels[chosen], labels.leaves[chosen], labels.rows[chosen])
    return kept, moved[places]


def _over_suppressed(frequencies: FrequencyList, pieces: Pieces, values: LabelValues) -> float:
    is_suppressed = pieces.groups == SUPPRESSED
    tuples, rows = pieces.tuples[is_suppressed], pieces.rows[is_suppressed]
    return sum(
        float(rows @ values[column][0][frequencies.entry_codes(column)[tuples]])
        for column in range(len(frequencies.columns))
    )


def _sum_of_squares(sizes: IntArray) -> float:
    return float(np.square(sizes, dtype=np.float64).sum())
