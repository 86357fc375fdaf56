"""sharpen_labels(): a local recoding whose labels are lowered as long as every few columns are shared by k rows.

Local algorithms make groups of k rows by all columns. Where nobody knows more than a few columns that is more than is
asked for: within a group a column may tell its rows apart, if each combination of few columns is still shared by k rows
of the whole release. Whole columns, then columns of groups, then those of single tuples, first the ones whose labels
cost most, take the lowest level at which that holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indistinct.counting import FrequencyList, IntArray
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.recoding.group_labels import labels_at, labels_of_all_levels
from indistinct.recoding.recoding import Labels
from indistinct.search.local.groups.kernels import lowering
from indistinct.search.task import Task

MOST_COMBINATIONS = 16_000_000
"""Sets of columns times rows of the list: of more, labels stay as they are."""
MOST_PASSES = 4
"""What is lowered makes room for others, but soon for few."""


def lower_labels(task: Task, recoding: LocalRecoding) -> LocalRecoding:
    """Return the recoding with lower labels, where a task asks for k rows by every few columns and nothing else."""
    ks = task.ks_by_columns()
    frequencies, pieces = recoding.frequencies, recoding.pieces
    everything = len(frequencies.columns)
    if not task.asks_rows_only or any(len(columns) == everything for columns in ks):
        return recoding
    released = np.flatnonzero(pieces.is_released)
    released = released[np.argsort(pieces.groups[released], kind="stable")]
    found = [labels_of_all_levels(frequencies, column) for column in range(everything)]
    width = 1 + max(len(labels.texts) for labels, _ in found)
    keys = (len(ks) + 1) * width ** max(map(len, ks))
    if len(released) * len(ks) > MOST_COMBINATIONS or keys >= 1 << 63:
        return recoding
    values = np.stack([frequencies.entry_codes(column)[pieces.tuples[released]] for column in range(everything)])
    groups, rows = pieces.groups[released], pieces.rows[released]
    ids = np.stack(
        [
            _places_by_text(own.texts, labels.texts)[codes[groups]]
            for own, codes, (labels, _) in zip(recoding.labels, recoding.codes, found, strict=True)
        ]
    )
    sets = lowering.ColumnSets(_pad_sets(list(ks)), width, np.array(list(ks.values()), np.int64))
    labelled = lowering.LabelledPieces(ids, rows)
    room = 1 << max(10, math.ceil(math.log2(1.5 * len(released) * len(ks) + 1)))
    table = lowering.RowCounts(np.zeros(room, np.uint64), np.zeros(room, np.int64))
    levels = np.stack([own.levels[codes[groups]] for own, codes in zip(recoding.labels, recoding.codes, strict=True)])
    offered = _offers(frequencies, [places for _, places in found], values, levels, list(ks))
    together = np.flatnonzero(np.diff(groups, prepend=-1))
    with np.errstate(over="ignore"):  # hashing wraps around
        used = lowering.fill(sets, table, labelled)
        for starts in (together[:1], together, np.arange(len(groups))):  # whole columns, groups, single tuples
            candidates = _candidates(frequencies, [labels for labels, _ in found], labelled, levels, starts)
            for _ in range(MOST_PASSES):
                if not lowering.lower(sets, table, labelled, candidates, offered, used):
                    break
                used = int((table.keys != 0).sum())
    apart = np.full(len(pieces.tuples), SUPPRESSED)
    apart[released] = np.arange(len(released))
    lowered = [labels_at(frequencies, column, levels[column], values[column]) for column in range(everything)]
    made = LocalRecoding.of_labels(
        frequencies,
        Pieces(pieces.tuples, pieces.rows, apart),
        tuple(labels for labels, _ in lowered),
        np.stack([codes for _, codes in lowered]),
    )
    return replace(made, is_cut_short=recoding.is_cut_short)


def _candidates(
    frequencies: FrequencyList,
    labels: Sequence[Labels],
    pieces: lowering.LabelledPieces,
    at: IntArray,
    starts: IntArray,
) -> IntArray:
    """Return the pieces, from each start on, and the columns that could be lower, those first whose cells cost most."""
    ids, rows = pieces
    ends = np.append(starts[1:], len(rows))
    sizes = np.add.reduceat(rows, starts) if len(starts) else rows
    found = []
    for column, own in enumerate(labels):
        hierarchy = frequencies.hierarchies[column]
        levels = np.maximum.reduceat(at[column], starts) if len(starts) else starts
        high = np.flatnonzero(levels > hierarchy.lowest)
        weight = frequencies.weights[column] / max(1, hierarchy.domain_size)
        cost = (own.leaves[ids[column, starts[high]]] - 1) * sizes[high] * weight
        place = np.full(len(high), column)
        found.append(np.stack([starts[high], ends[high], place, levels[high], -np.rint(cost * 1e6)]))
    every = np.concatenate(found, axis=1)
    order = np.lexsort((every[0], every[2], every[4]))
    return np.ascontiguousarray(every[:4, order].T.astype(np.int64))


def _places_by_text(texts: Sequence[str | None], among: Sequence[str | None]) -> IntArray:
    places = {text: place for place, text in enumerate(among)}
    return np.array([places[text] for text in texts], np.int64)


def _pad_sets(sets: list[tuple[int, ...]]) -> IntArray:
    columns = np.full((len(sets), max(map(len, sets))), -1, np.int64)
    for number, own in enumerate(sets):
        columns[number, : len(own)] = own
    return columns


def _offers(
    frequencies: FrequencyList, places: list[IntArray], values: IntArray, at: IntArray, sets: list[tuple[int, ...]]
) -> lowering.LowerLabels:
    """Return the label of each value at each level, and the sets that have each column, as the kernel takes them."""
    owners = [[number for number, columns in enumerate(sets) if column in columns] for column in range(len(places))]
    lengths = [own.size for own in places]
    return lowering.LowerLabels(
        offers=np.concatenate([own.ravel() for own in places]),
        starts=(np.cumsum(lengths) - lengths).astype(np.int64),
        numbers=np.array([own.shape[1] for own in places], np.int64),
        lowest=np.array([hierarchy.lowest for hierarchy in frequencies.hierarchies], np.int64),
        values=values,
        at=at,
        owners=np.array([number for own in owners for number in own], np.int64),
        first=np.cumsum([0, *map(len, owners)]).astype(np.int64),
    )
