"""Truth of a local recoding: each released row must generalize a row of its own of the original.

Nothing says which row became which, so the two tables are matched: a released row fits an original one if each of its
labels covers the value and all other cells are equal, and as many released rows as possible get one to themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray, UIntArray, encode_eligible
from indistinct.engine import Counts, Rows
from indistinct.errors import HierarchyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.linkage import number_tuples
from indistinct.policy import Policy
from indistinct.proof.truth import matching
from indistinct.recoding.label_texts import read_label

MOST_KEPT = 1 << 25
"""So many pairs of released and original tuples that fit are kept while rows are matched: 128 MB."""


@dataclass(frozen=True, slots=True)
class _MatchedColumn:
    """One column of both tables: ranks of original tuples, labels of released ones, and the ranks that labels cover."""

    ranks: IntArray
    labels: IntArray
    low: IntArray
    high: IntArray
    """(labels,): the first and the last rank under each label; the low one is above the high one if it has none."""
    scattered: Mapping[int, IntArray]
    """The ranks, ascending, under each label that covers only some of those between."""
    values: int

    @classmethod
    def of(cls, ranks: IntArray, labels: IntArray, covered: Sequence[IntArray], values: int) -> _MatchedColumn:
        """Take the ranks under each label, ascending."""
        low = np.array([own[0] if len(own) else 1 for own in covered], np.int64)
        high = np.array([own[-1] if len(own) else 0 for own in covered], np.int64)
        scattered = {label: own for label, own in enumerate(covered) if len(own) and own[-1] - own[0] + 1 > len(own)}
        return cls(ranks, labels, low, high, scattered, values)


def rows_without_original(
    released: Rows, source: Rows, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]
) -> int:
    """Return how many released rows generalize no row of the original that another does not need.

    ``hierarchies`` are compiled for the values of the eligible rows of the source.
    """
    columns, found, originals = _both_tables(released, source, policy, hierarchies)
    labels, laid_out, covers = _lay_out(columns)
    wanted, counts = np.asarray(found.counts, np.int64), np.asarray(originals.counts, np.int64)
    return matching.count_unmatched(labels, wanted, laid_out, counts, covers, MOST_KEPT)


def people_behind_groups(
    released: Rows, source: Rows, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]
) -> IntArray:
    """Return how many different people of the original have a row that a row of each released group could be."""
    columns, found, originals = _both_tables(released, source, policy, hierarchies, policy.person_columns)
    labels, laid_out, covers = _lay_out(columns)
    _, persons = np.unique(np.stack(originals.codes[len(columns) :]), axis=1, return_inverse=True)
    _, groups = np.unique(np.stack(found.codes[: len(policy.quasi)]), axis=1, return_inverse=True)
    order = np.argsort(groups.ravel(), kind="stable")
    number = int(groups.max(initial=-1)) + 1
    behind: IntArray = matching.people_that_fit(
        np.ascontiguousarray(labels[order]), groups.ravel()[order], number, persons.ravel(), laid_out, covers
    )
    return behind


def _both_tables(
    released: Rows,
    source: Rows,
    policy: Policy,
    hierarchies: Mapping[str, CompiledHierarchy],
    apart: Sequence[str] = (),
) -> tuple[list[_MatchedColumn], Counts, Counts]:
    """Return the columns of both tables, and their tuples; those of the original also by what tells its rows apart."""
    quasi, others = policy.quasi, policy.with_role("sensitive", "other")
    names = [*quasi, *others]
    with encode_eligible(source, policy, [*names, *apart]) as encoded:
        source_values, originals = encoded.values, encoded.count_by([*names, *apart])
    with released.encode(names) as encoded:
        released_values, found = encoded.values, encoded.count_by(names)
    columns = []
    for position, name in enumerate(quasi):
        hierarchy = hierarchies[name]
        order = _order(hierarchy)
        rank_of = np.argsort(order)
        covers = Covers(hierarchy)
        covered = [np.sort(rank_of[covers.of(label)]) for label in released_values[name]]
        ranks, labels = (np.asarray(one.codes[position], np.int64) for one in (originals, found))
        columns.append(_MatchedColumn.of(rank_of[ranks], labels, covered, len(order)))
    if others:
        coded = [(source_values[name], released_values[name]) for name in others]
        place = slice(len(quasi), len(names))
        columns.append(_exact_column(coded, originals.codes[place], found.codes[place]))
    return columns, found, originals


def _exact_column(
    values: Sequence[tuple[Sequence[str | None], Sequence[str | None]]],
    originals: Sequence[IntArray],
    found: Sequence[IntArray],
) -> _MatchedColumn:
    """Return all columns that are released as they are as one, each combination of their cells a value of it.

    ``values`` are those of the original and of the release, column by column. Together few rows are alike in them, so
    that the rows that a released one could be are found at once.
    """
    codes = []
    for (own, released), original, label in zip(values, originals, found, strict=True):
        code_of = {value: code for code, value in enumerate(own)}
        same = np.array([code_of.setdefault(value, len(code_of)) for value in released], np.int64)
        codes.append(np.concatenate([np.asarray(original, np.int64), same[np.asarray(label, np.int64)]]))
    numbers = number_tuples(codes, len(codes[0]))
    is_there = np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_)
    ranks, labels = np.split(numbers, [len(originals[0])])
    is_there[ranks] = True
    rank_of = np.cumsum(is_there) - 1
    return _MatchedColumn(
        rank_of[ranks], labels, np.where(is_there, rank_of, 1), np.where(is_there, rank_of, 0), {}, int(is_there.sum())
    )


def _order(hierarchy: CompiledHierarchy) -> IntArray:
    """Return the value codes in an order in which most labels cover a run of neighbours."""
    positions = hierarchy.find_positions()
    return np.lexsort(hierarchy.maps) if positions is None else np.argsort(positions, kind="stable")


class Covers:
    """Tells which values of a column its labels cover; what is worked out once is kept."""

    def __init__(self, hierarchy: CompiledHierarchy) -> None:
        self._hierarchy = hierarchy
        self._codes = [
            {name: code for code, name in enumerate(names) if name is not None} for names in hierarchy.labels
        ]
        self._keys: list[Any] | None = None

    def of(self, label: str | None) -> IntArray:
        """Return the codes of the values that a released label covers; a blank cell says nothing and covers all."""
        values = self._hierarchy.values
        if label is None:
            return np.arange(len(values))
        is_covered = np.zeros(len(values), np.bool_)
        for level in range(self._hierarchy.lowest, self._hierarchy.height + 1):
            codes, places = self._codes[level], self._hierarchy.maps[level]
            if label in codes:
                is_covered |= places == codes[label]
        cover = None if self._hierarchy.lowest else read_label(label)  # ranges and sets have no level
        if cover is None or is_covered.any():
            return np.flatnonzero(is_covered)
        if cover.is_range:
            is_covered = self._between(cover.values)
        else:
            is_covered = np.array([value in cover.values for value in values])
        if cover.or_missing and values[-1] is None:  # a missing value has the last code
            is_covered[-1] = True
        return np.flatnonzero(is_covered)

    def _between(self, ends: Sequence[str]) -> BoolArray:
        """Return which values lie between the ends of a range; none if they have no order."""
        try:
            if self._keys is None:
                self._keys = self._hierarchy.sort_keys(self._hierarchy.values) or []
            limits = self._hierarchy.sort_keys(ends)
        except HierarchyError:  # an end that is no date
            limits = None
        if not self._keys or limits is None:
            return np.zeros(len(self._hierarchy.values), np.bool_)
        low, high = min(limits), max(limits)
        return np.array([key is not None and low <= key <= high for key in self._keys])


def _lay_out(columns: Sequence[_MatchedColumn]) -> tuple[IntArray, matching.Originals, matching.LabelCovers]:
    """Lay the columns out as the kernels take them: released labels, original tuples, and what labels cover."""
    low, high, bits_at, bits = [], [], [], [np.zeros(0, np.uint64)]
    starts, orders, labels = [], [], []
    number_of_labels, number_of_bits = 0, 0
    for column in columns:
        own = np.full(len(column.low), -1, np.int64)
        for label, ranks in column.scattered.items():
            own[label] = number_of_bits
            bits.append(_bits(ranks))
            number_of_bits += len(bits[-1])
        low.append(column.low)
        high.append(column.high)
        bits_at.append(own)
        labels.append(column.labels + number_of_labels)
        number_of_labels += len(column.low)
        starts.append(np.append(0, np.cumsum(np.bincount(column.ranks, minlength=column.values))))
        orders.append(np.argsort(column.ranks, kind="stable"))
    offsets = np.append(0, np.cumsum([len(start) for start in starts]))[:-1]
    originals = matching.Originals(
        np.ascontiguousarray(np.stack([column.ranks for column in columns], axis=1)),
        offsets.astype(np.int64),
        np.concatenate(starts).astype(np.int64),
        np.stack(orders),
    )
    covers = matching.LabelCovers(
        np.concatenate(low), np.concatenate(high), np.concatenate(bits_at), np.concatenate(bits)
    )
    return np.ascontiguousarray(np.stack(labels, axis=1)), originals, covers


def _bits(ranks: IntArray) -> UIntArray:
    """Return the ranks as bits, counted from the first of them."""
    places = ranks - ranks[0]
    words = np.zeros(int(places[-1]) // 64 + 1, np.uint64)
    np.bitwise_or.at(words, places >> 6, np.uint64(1) << (places & 63).astype(np.uint64))
    return words
