"""fill_boxes(): balanced groups under the cheapest labels that have them, one group for each combination of labels.

In one table a group is known by its labels. So for each combination, cheap ones first, rows are looked for under it
that are balanced: each of their values equally often. What a combination has too many of goes on to the next ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import FrequencyList, IntArray
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance.kernels import label_vector_filling as label_vector_filling
from indistinct.search.m_invariance.kernels.label_vector_filling import NOBODY, Filled, LabelKeys
from indistinct.search.m_invariance.value_buckets import PeopleByValue, Pools
from indistinct.search.m_invariance.value_sets import Names, span
from indistinct.search.task import Task

MOST_NODES = 10_000
"""Of a lattice with more nodes so many are drawn."""
MOST_VISITS = 40_000_000
"""It ends after so many looks at rows: some seconds."""
AT_ONCE = 64
"""Nodes between two looks at the clock."""
MOST_KEYS = 1 << 62
"""Combinations of labels that keys can tell apart; where there are more, nothing is filled."""
WORD = 64
SEED = 1


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Who found a place in a balanced group, and what the groups are called."""

    group_of: IntArray
    """(rows,) NOBODY where a row found none."""
    labels: IntArray
    """(groups, columns) the place of each label among the names."""

    @classmethod
    def nobody(cls, rows: int, columns: int) -> LabelledRows:
        """Nobody has a place."""
        return cls(np.full(rows, NOBODY), np.zeros((0, columns), np.int64))

    def only_safe(self, task: Task, entries: IntArray) -> LabelledRows:
        """Return the groups that satisfy every model; ``entries`` is that of each row."""
        is_placed = self.group_of != NOBODY
        if not len(self.labels):
            return self
        ones = np.ones(int(is_placed.sum()), np.int64)
        is_safe = task.safe_parts(entries[is_placed], ones, self.group_of[is_placed], len(self.labels))
        number = np.where(is_safe, np.cumsum(is_safe) - 1, NOBODY)
        return LabelledRows(np.where(is_placed, number[np.maximum(self.group_of, 0)], NOBODY), self.labels[is_safe])


def fill_label_vectors(
    task: Task, measure: CellMeasure, names: Names, pools: Sequence[Pools], m: int, watch: Watch
) -> LabelledRows:
    """Place the rows of pools in balanced groups; whoever finds no place is left to others.

    Rows of one value set share groups of just its values, new people groups of any ``m`` values or more. Of new people
    so many are left at any time that no value has more than one in ``m`` of them, so that they can share groups, too.
    """
    people, frequencies = pools[0].people, task.frequencies
    nothing = LabelledRows.nobody(len(people.entries), len(frequencies.columns))
    if math.prod(len(labels.texts) for labels, _ in names.columns) >= MOST_KEYS:
        return nothing
    left, rows = _rows_by_pool(people, pools, m, task.largest_k())
    ladders = _ladders(frequencies, measure, names)
    filled = _empty(len(people.entries), len(rows.used), max(1, len(left) // m))
    visits = 0
    for first in range(0, len(ladders.nodes), AT_ONCE):
        watch.report("search", len(people.entries) - len(left), len(people.entries))
        if not len(left) or visits > MOST_VISITS or watch.time_is_up():
            break
        end = min(first + AT_ONCE, len(ladders.nodes))
        visits += len(left) * (end - first)
        left = left[: label_vector_filling.fill(left, first, end, rows, ladders, filled)].copy()
    number = int(filled.number[0])
    if not number:
        return nothing
    is_placed = filled.group_of != NOBODY
    return LabelledRows(
        filled.group_of, _lowered_labels(names.space, names, people.entries, is_placed, filled, ladders.nodes)
    )


def _rows_by_pool(
    people: PeopleByValue, pools: Sequence[Pools], m: int, k: int
) -> tuple[IntArray, label_vector_filling.RowsToPlace]:
    """Return the rows by pool and value, in no order beyond that, and what is known of them."""
    lines = [lines for one in pools for lines in one.told.values()]
    pool_of = np.zeros(len(people.entries), np.int64)
    for number, own in enumerate(lines, 1):
        pool_of[own] = number
    rows = np.concatenate([*(own.ravel() for own in lines), *(own for one in pools for own in one.free)])
    rows = np.random.default_rng(SEED).permutation(np.sort(rows))
    left = rows[np.lexsort((people.values[rows], pool_of[rows]))]
    found = label_vector_filling.RowsToPlace(
        codes=people.codes,
        values=people.values.astype(np.int64),
        pools=pool_of,
        asked=np.array([m, *map(len, lines)], np.int64),
        least=k,
        used=np.zeros(int(people.values.max(initial=0)) + 1, np.int64),
    )
    return left, found


def _ladders(frequencies: FrequencyList, measure: CellMeasure, names: Names) -> LabelKeys:
    """Return keys of labels, and the nodes by what a row costs there on average."""
    hierarchies = frequencies.hierarchies
    levels = max(len(places) for _, places in names.columns)
    keys = np.zeros((len(hierarchies), levels, max(len(own.values) for own in hierarchies)), np.int64)
    radix, costs = 1, list[FloatArray]()
    kept = measure.prepare(frequencies).per_label
    for column, (labels, places) in enumerate(names.columns):
        keys[column, : len(places), : places.shape[1]] = places * radix
        radix *= len(labels.texts)
        counts = frequencies.value_counts(column)
        own = [level[codes] @ counts for level, codes in zip(kept[column], hierarchies[column].maps, strict=True)]
        costs.append(-np.array(own))
    nodes = _nodes([range(own.lowest, own.height + 1) for own in hierarchies])
    means = np.sum([own[nodes[:, column]] for column, own in enumerate(costs)], axis=0)
    return LabelKeys(keys, np.ascontiguousarray(nodes[np.argsort(means, kind="stable")]))


def _nodes(levels: Sequence[range]) -> IntArray:
    """Return all nodes of a lattice, or of a large one some, among them the top."""
    if math.prod(map(len, levels)) <= MOST_NODES:
        return np.array(list(product(*levels)), np.int64).reshape(-1, len(levels))
    dice = np.random.default_rng(SEED)
    drawn = [dice.integers(own.start, own.stop, MOST_NODES) for own in levels]
    nodes: IntArray = np.unique(
        np.stack([np.append(one, own.stop - 1) for one, own in zip(drawn, levels, strict=True)], axis=1), axis=0
    )
    return nodes


def _empty(rows: int, values: int, groups: int) -> Filled:
    """Return room for so many groups, and none yet."""
    slots = 1 << (4 * groups).bit_length()
    return Filled(
        group_of=np.full(rows, NOBODY),
        often=np.zeros(groups, np.int64),
        pool=np.zeros(groups, np.int64),
        node=np.zeros(groups, np.int64),
        has=np.zeros((groups, -(-values // WORD)), np.uint64),
        slots=np.full((2, slots), NOBODY),
        number=np.zeros(1, np.int64),
    )


def _lowered_labels(
    space: Space, names: Names, entries: IntArray, is_placed: BoolArray, filled: Filled, nodes: IntArray
) -> IntArray:
    """Return the labels of each group: the lowest over its rows, unless another group has them."""
    number, group_of = int(filled.number[0]), filled.group_of[is_placed]
    lowest = names.labels(*span(space, entries[is_placed], group_of, number))
    examples = np.zeros(number, np.int64)
    examples[group_of] = entries[is_placed]
    labels = names.at(nodes[filled.node[:number]], examples)
    taken = {row.tobytes() for row in labels}
    for group in np.flatnonzero((lowest != labels).any(axis=1)).tolist():
        if lowest[group].tobytes() not in taken:
            taken.remove(labels[group].tobytes())
            labels[group] = lowest[group]
            taken.add(labels[group].tobytes())
    return labels
