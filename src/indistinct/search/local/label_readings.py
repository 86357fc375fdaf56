"""What labels that are given cover in a table at hand: the values, and how wide each label is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.array_types import Array, BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.errors import HierarchyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.recoding.label_texts import Cover, read_label
from indistinct.recoding.recoding import Labels


@dataclass(frozen=True, slots=True)
class LabelSpans:
    """Some labels of one column, and which values of the table each covers."""

    labels: Labels
    covers: BoolArray
    """(labels, values)"""

    @classmethod
    def of(cls, frequencies: FrequencyList, column: int, texts: Sequence[str | None]) -> LabelSpans:
        """Return what each label covers; one that covers no value of the table is as wide as the domain."""
        hierarchy, counts = frequencies.hierarchies[column], frequencies.value_counts(column)
        covers = np.zeros((len(texts), len(hierarchy.values)), np.bool_)
        levels, leaves = np.zeros((2, len(texts)), np.int64)
        reading = LabelReading(hierarchy)
        for number, text in enumerate(texts):
            covers[number] = reading.values_of(text)
            levels[number], leaves[number] = reading.level_and_width(text, covers[number])
        rows = covers @ counts
        return cls(Labels(tuple(texts), levels, leaves, rows.astype(np.int64)), covers)


class LabelReading:
    """Tells which values of a column a label covers."""

    def __init__(self, hierarchy: CompiledHierarchy) -> None:
        self.hierarchy = hierarchy
        self.codes = [{text: code for code, text in enumerate(names)} for names in hierarchy.labels]

    def levels_of(self, text: str | None) -> list[int]:
        """Return the levels that have a label, lowest first."""
        levels = range(self.hierarchy.lowest, self.hierarchy.height + 1)
        return [level for level in levels if text in self.codes[level]]

    def values_of(self, text: str | None) -> BoolArray:
        """Return which values a label covers: those under it at any level, or those of the range or set that it is."""
        found = np.zeros(len(self.hierarchy.values), np.bool_)
        levels = self.levels_of(text)
        for level in levels:
            found |= self.hierarchy.maps[level] == self.codes[level][text]
        if levels or text is None or self.hierarchy.lowest:
            return found
        cover = read_label(text)
        return found if cover is None else covered_values(self.hierarchy, cover)

    def level_and_width(self, text: str | None, covered: BoolArray) -> tuple[int, int]:
        """Return the level of a label that covers these values, and how many values of the domain it is wide.

        One that covers no value of the table is as wide as the domain.
        """
        hierarchy, at = self.hierarchy, self.levels_of(text)
        if at:  # a text that several levels have says no more than the widest
            return at[-1], int(hierarchy.leaves[at[-1]][self.codes[at[-1]][text]])
        if text is not None and (cover := read_label(text)) is not None and covered.any():
            return _common_level(hierarchy, covered), _width(hierarchy, cover, covered)
        return 0, hierarchy.domain_size


def covered_values(hierarchy: CompiledHierarchy, cover: Cover) -> BoolArray:
    """Return which values of a column a range or a set covers; a missing one has the last code."""
    values = hierarchy.values
    if cover.is_range:
        keys, ends = _keys(hierarchy, values), _keys(hierarchy, cover.values)
        if keys is None or ends is None or None in ends:
            return np.zeros(len(values), np.bool_)
        low, high = min(ends), max(ends)
        found = np.array([key is not None and low <= key <= high for key in keys])
    else:
        members = set(cover.values)
        found = np.array([value in members for value in values])
    if values and values[-1] is None:
        found[-1] = cover.or_missing
    return found


def _keys(hierarchy: CompiledHierarchy, values: Sequence[str | None]) -> list[Any] | None:
    try:
        return hierarchy.sort_keys(values)
    except HierarchyError:  # an end that is no date
        return None


def _common_level(hierarchy: CompiledHierarchy, covered: BoolArray) -> int:
    """Return the lowest level that has one label for all the values."""
    return next(
        (level for level, codes in enumerate(hierarchy.maps) if (codes[covered] == codes[covered][0]).all()),
        hierarchy.height,
    )


def _width(hierarchy: CompiledHierarchy, cover: Cover, covered: BoolArray) -> int:
    """Return how many values of the domain lie between the first and the last that is covered, or are in a set."""
    positions = hierarchy.find_positions() if cover.is_range else None
    if positions is None:
        return int(covered.sum())
    is_missing = np.array([value is None for value in hierarchy.values])
    present = positions[covered & ~is_missing]
    between = int(present.max() - present.min()) + 1 if len(present) else 0
    return between + int((covered & is_missing).any())


def share_of_domain(leaves: IntArray, domain_size: int) -> FloatArray:
    """Return what cells lose by NCP under labels so many values wide."""
    return np.where(leaves > 1, leaves / max(1, domain_size), 0.0)


MOST_TOLD = 1 << 26
"""Groups times values, or tuples times eight groups, that are looked at together."""


def narrowest(covers: Sequence[BoolArray], codes: IntArray, values: IntArray, is_open: BoolArray) -> IntArray:
    """Return the first open group that covers each tuple in every column, -1 where none does.

    ``covers[column]`` tells which values each label covers, ``codes`` (columns, groups) has the label of each group,
    and ``values`` (columns, tuples) those of the tuples. Groups stand in the order in which they are preferred.
    """
    found = np.full(values.shape[1], -1, np.int64)
    groups = np.flatnonzero(is_open)
    step = max(8, MOST_TOLD // max(cover.shape[1] for cover in covers))
    for start in range(0, len(groups), step):
        own = groups[start : start + step]
        bits = [np.packbits(cover[code[own]].T, axis=1) for cover, code in zip(covers, codes, strict=True)]
        left = np.flatnonzero(found < 0)
        width = max(1, MOST_TOLD // bits[0].shape[1])
        for first in range(0, len(left), width):
            tuples = left[first : first + width]
            place = _first_of_all(bits, values[:, tuples])
            found[tuples] = np.where(place >= 0, own[np.maximum(place, 0)], -1)
    return found


def _first_of_all(bits: Sequence[Array], values: IntArray) -> IntArray:
    """Return the place of the first bit that the values of each tuple have in common, -1 where there is none."""
    common = bits[0][values[0]]
    for own, codes in zip(bits[1:], values[1:], strict=True):
        common &= own[codes]
    byte = (common != 0).argmax(axis=1)
    first = common[np.arange(len(common)), byte]
    bit = 7 - np.floor(np.log2(np.maximum(first, 1))).astype(np.int64)
    return np.where(first > 0, byte * 8 + bit, -1)
