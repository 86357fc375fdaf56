"""Fragments: a local algorithm on more tuples than one machine holds, each part of the table by itself.

Tuples are counted at a higher node and cut into fragments at quantiles of their values in the order of a hierarchy.
Every fragment is recoded where its rows are. What is released is recounted as a whole, like every release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, IntArray, Sensitive
from indistinct.counting.bottom import merged_codes
from indistinct.engine import FragmentPlan
from indistinct.errors import InfeasibleError
from indistinct.pipeline.refusals import refuse_unable
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.recoding.recoding import Labels
from indistinct.release import Release

if TYPE_CHECKING:
    from indistinct.pipeline.stages import Counted
    from indistinct.release.manifest import MadeWith
    from indistinct.search import Algorithm, Task

ROWS_PER_K = 100
"""Rows of the smallest fragment, as a multiple of the largest k: larger ones make cuts cost little."""


def recode_in_fragments(counted: Counted, algorithm: Algorithm, watch: Watch, made_with: MadeWith) -> Release:
    """Search and recode a table whose tuples were counted at a higher node, each fragment where its rows are."""
    encoded, task, frequencies = counted.only, counted.task, counted.task.frequencies
    refuse_unable(counted.policy, algorithm)
    assert encoded.max_tuples is not None  # else all tuples would have been counted
    watch.start()
    watch.report("release")
    hierarchies = dict(zip(frequencies.columns, frequencies.hierarchies, strict=True))
    plan = FragmentPlan(
        columns=counted.policy.with_role("quasi", "sensitive", "other"),
        labelled=frequencies.columns,
        merged=merged_codes(hierarchies, frequencies.lowest),
        tuples={name: frequencies.tuple_codes(column) for column, name in enumerate(frequencies.columns)},
        fragments=fragments_of(frequencies, encoded.max_tuples, ROWS_PER_K * task.largest_k()),
        work=_work(task, algorithm),
    )
    released, groups = encoded.recode_in_fragments(plan)
    recoding = _recoding(frequencies, groups)
    if counted.policy.max_suppression is not None and recoding.suppressed_rows > task.budget:
        released.close()
        raise InfeasibleError(
            f"{recoding.suppressed_rows} of {recoding.rows} rows must be suppressed, but the policy allows "
            f"{task.budget}; allow more suppression, or raise max_tuples, so that fewer cuts are made"
        )
    return Release({"table": released}, recoding, counted.policy, made_with)


def fragments_of(frequencies: FrequencyList, most: int, least: int) -> IntArray:
    """Return the number of the fragment of each tuple: of at most so many rows where cuts of at least so many allow it.

    A fragment is cut at the median of the column in which its values lie furthest apart, in the order of the column's
    hierarchy, so that neighbours stay together.
    """
    ranks = np.stack([_ranks(frequencies, column) for column in range(len(frequencies.columns))])
    sizes = frequencies.base.sizes
    fragments = np.zeros(len(sizes), np.int64)
    waiting, number = [np.arange(len(sizes))], 0
    while waiting:
        tuples = waiting.pop()
        halves = _halves(ranks[:, tuples], sizes[tuples], least) if sizes[tuples].sum() > most else None
        if halves is None:
            fragments[tuples] = number
            number += 1
        else:
            waiting += [tuples[halves], tuples[~halves]]
    return fragments


def _ranks(frequencies: FrequencyList, column: int) -> NDArray[np.float64]:
    """Return the place of each tuple's value, from 0 to 1, in an order in which every label covers neighbours."""
    order = np.lexsort(frequencies.hierarchies[column].maps)
    places = np.empty(len(order))
    places[order] = np.linspace(0, 1, len(order)) if len(order) > 1 else 0.0
    found: NDArray[np.float64] = places[frequencies.tuple_codes(column)]
    return found


def _halves(ranks: NDArray[np.float64], sizes: IntArray, least: int) -> NDArray[np.bool_] | None:
    """Return which tuples go to the lower half, or None if no column has a cut that leaves enough rows on both
    sides.
    """
    for column in np.argsort(-np.ptp(ranks, axis=1), kind="stable"):
        own = ranks[column]
        order = np.argsort(own, kind="stable")
        middle = own[order[np.searchsorted(np.cumsum(sizes[order]), sizes.sum() / 2)]]
        sides: tuple[NDArray[np.bool_], ...] = (own <= middle, own < middle)
        for is_lower in sides:
            if min(int(sizes[is_lower].sum()), int(sizes[~is_lower].sum())) >= max(1, least):
                return is_lower
    return None


def _work(task: Task, algorithm: Algorithm) -> Callable[[pa.Table], pa.Table]:
    """Return what recodes one fragment; a fragment for which there is no recoding is suppressed."""
    share = task.policy.max_suppression
    if isinstance(share, int):  # fragments share it by their rows
        share = share / max(1, task.frequencies.rows)
    whole = replace(task, policy=replace(task.policy, max_suppression=share), frequencies=_outline(task.frequencies))

    def work(fragment: pa.Table) -> pa.Table:
        own = _list_of(fragment, whole.frequencies)
        try:
            draws = whole.draws.part(f"fragment {own.digest()}")
            # without any limit: a fragment that Spark computes again must come out alike, however busy the executor is
            watch = Watch(ends_after=math.inf)
            recoding = algorithm.run(replace(whole, frequencies=own, draws=draws), watch)
        except InfeasibleError:
            nothing = Pieces.whole(own, np.full(len(own.base), SUPPRESSED))
            recoding = LocalRecoding.of_pieces(own, nothing)
        assert isinstance(recoding, LocalRecoding)  # only such algorithms work in fragments
        return _pieces_table(recoding)

    return work


def _outline(frequencies: FrequencyList) -> FrequencyList:
    """Return what all fragments share: hierarchies and how often each value occurs in the table, but no tuples."""
    sensitive = {
        name: (Sensitive(column.values, column.hierarchy), np.zeros(0, np.int64))
        for name, column in frequencies.sensitive.items()
    }
    nothing = [np.zeros(0, np.int64) for _ in frequencies.columns]
    made = FrequencyList.of_codes(
        frequencies.columns, frequencies.hierarchies, nothing, np.zeros(0, np.int64), frequencies.weights, sensitive
    )
    return replace(made, value_rows=frequencies.value_rows)


def _list_of(fragment: pa.Table, outline: FrequencyList) -> FrequencyList:
    """Return the frequency list of a fragment, in which codes are those of the whole table."""
    codes = [fragment[f"c{position}"].to_numpy() for position in range(fragment.num_columns - 1)]
    number = len(outline.columns)
    sensitive = dict(zip(outline.sensitive, zip(outline.sensitive.values(), codes[number:], strict=True), strict=True))
    counts = fragment["n"].to_numpy()
    own = FrequencyList.of_codes(
        outline.columns, outline.hierarchies, codes[:number], counts, outline.weights, sensitive
    )
    return replace(own, value_rows=outline.value_rows)


def _pieces_table(recoding: LocalRecoding) -> pa.Table:
    """Return the pieces of a recoding with their labels; those of suppressed rows are missing."""
    own, pieces = recoding.frequencies, recoding.pieces
    data = {
        f"c{column}": pa.array(own.entry_codes(column)[pieces.tuples].astype(np.int32))
        for column in range(len(own.columns))
    }
    for position, codes in enumerate(own.entries.codes.values(), len(own.columns)):
        data[f"c{position}"] = pa.array(codes[pieces.tuples].astype(np.int32))
    data |= {"n": pa.array(pieces.rows), "goal": pa.array(pieces.groups)}
    is_suppressed = pieces.groups == SUPPRESSED
    for column, labels in enumerate(recoding.labels):
        texts, levels = pa.array([*labels.texts, None], pa.string()), np.append(labels.levels, 0)
        leaves, under = np.append(labels.leaves, 0), np.append(labels.rows, 0)
        chosen = np.append(recoding.codes[column], len(labels.texts))[np.where(is_suppressed, -1, pieces.groups)]
        data[f"s{column}"] = texts.take(pa.array(chosen))
        data[f"v{column}"] = pa.array(levels[chosen].astype(np.int32))
        data[f"w{column}"] = pa.array(leaves[chosen].astype(np.int64))
        data[f"u{column}"] = pa.array(under[chosen].astype(np.int64))
    return pa.table(data)


def _recoding(frequencies: FrequencyList, groups: pa.Table) -> LocalRecoding:
    """Return the recoding of the whole table from the labels and sizes of its groups."""
    labels, codes = [], []
    for column in range(len(frequencies.columns)):
        texts = groups[f"s{column}"].to_pylist()
        first: dict[str | None, int] = {}
        for place, text in enumerate(texts):
            first.setdefault(text, place)
        numbers = {text: number for number, text in enumerate(first)}
        places = np.fromiter(first.values(), np.int64, len(first))
        levels, leaves, under = (
            np.asarray(groups[f"{name}{column}"].to_numpy(), np.int64)[places] for name in ("v", "w", "u")
        )
        labels.append(Labels(tuple(first), levels, leaves, under))
        codes.append(np.array([numbers[text] for text in texts], np.int64))
    sizes = np.asarray(groups["n"].to_numpy(), np.int64)
    suppressed = frequencies.rows - int(sizes.sum())
    lost = Pieces(np.zeros(1, np.int64), np.array([suppressed]), np.array([SUPPRESSED]))
    stacked = np.stack(codes) if codes else np.zeros((0, len(sizes)), np.int64)
    return LocalRecoding(frequencies, lost, sizes, tuple(labels), stacked)
