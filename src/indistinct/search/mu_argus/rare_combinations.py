"""Which combinations of a few columns' labels fewer than k rows have, at a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Groups, IntArray, Node
from indistinct.errors import InterruptedSearchError
from indistinct.progress import Watch
from indistinct.search.mu_argus.blanking import Combination


@dataclass(frozen=True, slots=True)
class TestedCombinations:
    """The groups at a node, and what testing combinations found in them."""

    groups: Groups
    group_of: IntArray
    """The group of each tuple of the frequency list."""
    combinations: tuple[Combination, ...]
    values: tuple[int, ...]
    """How many values of each combination are unsafe."""
    rows: tuple[int, ...]
    bits: NDArray[np.uint8]
    """(groups, combinations / 8): a bit for each combination that is unsafe in a group, packed."""
    per_label: tuple[IntArray, ...]
    """For each column (labels, columns): unsafe values with a label by the number of their columns."""

    @classmethod
    def at(
        cls, frequencies: FrequencyList, node: Node, combinations: Sequence[Combination], k: int, watch: Watch
    ) -> TestedCombinations:
        """Count the values of each combination; one that has a blank cell is not unsafe."""
        groups, group_of = frequencies.roll_up(node)
        texts = [hierarchy.labels[level] for hierarchy, level in zip(frequencies.hierarchies, node, strict=True)]
        blanks = [labels.index(None) if None in labels else -1 for labels in texts]
        per_label = tuple(np.zeros((len(labels), len(node) + 1), np.int64) for labels in texts)
        bits = np.zeros((len(groups), (len(combinations) + 7) // 8), np.uint8)
        values, rows = [], []
        for number, columns in enumerate(combinations):
            watch.report("combinations", number, len(combinations))
            stop_if_late(watch)
            merged, merged_of = groups.only(columns)
            codes = {column: merged.label_codes(column) for column in columns}
            is_unsafe = merged.sizes < k
            for column in columns:
                is_unsafe &= codes[column] != blanks[column]
            for column in columns:
                counted = np.bincount(codes[column][is_unsafe], minlength=len(texts[column]))
                per_label[column][:, len(columns)] += counted
            bits[:, number // 8] |= is_unsafe[merged_of].astype(np.uint8) << np.uint8(7 - number % 8)
            values.append(int(is_unsafe.sum()))
            rows.append(int(merged.sizes[is_unsafe].sum()))
        return cls(groups, group_of, tuple(combinations), tuple(values), tuple(rows), bits, per_label)

    def unsafe_combinations(self, groups: IntArray) -> BoolArray:
        """Return which combinations are unsafe in some groups: (groups, combinations)."""
        return np.unpackbits(self.bits[groups], axis=1, count=len(self.combinations)).astype(np.bool_)


def stop_if_late(watch: Watch) -> None:
    """Raise if the time is up: half of µ-Argus is no answer."""
    if watch.time_is_up():
        raise InterruptedSearchError("the time limit passed before µ-Argus was done")
