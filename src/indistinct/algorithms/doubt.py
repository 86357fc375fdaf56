"""raise_labels(): a local recoding of which no label tells what lies below it, since any may be wider than it must be.

A group that carries the lowest labels says that its rows differ: had they not, its label would be lower. So some of
them share a lower label with fewer than k. Here chance raises a few labels more than they need. Then every label may
be one of those, and its group may be any k rows below it, even equal ones. The law, which docs/attacks.md proves:

    give each group of a release any tuple below its labels, and all its rows that tuple; then the same algorithm
    makes the same release from this table, with a chance above 0.

That needs labels that can be raised to any level, by chances that are above 0 in every table; and rows of one tuple
that chance can divide among several groups of k or more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from indistinct.algorithms.task import Task
from indistinct.counting import IntArray
from indistinct.draws import Draws
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.hierarchy.listed import Listed
from indistinct.policy import Column
from indistinct.privacy.model import BoolArray
from indistinct.quality.measure import FloatArray
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.recoding.group_labels import labels_of_all_levels, used_labels
from indistinct.recoding.raised import RaisedRecoding

SELDOM = 0.001
"""A level that fewer cells have is raised to as if so large a share had it: also what nobody needs may be there."""
MOST_DOUBT = 0.5
UNIT = 2.0**-53


def doubt_mistakes(doubt: object, labels: object = "hierarchy") -> list[str]:
    """Say what is wrong with a share of labels that chance is to raise."""
    if isinstance(doubt, bool) or not isinstance(doubt, int | float) or not 0 <= doubt <= MOST_DOUBT:
        return [f"doubt: must be a number from 0 to {MOST_DOUBT}, got {doubt!r}"]
    if doubt and labels != "hierarchy":
        return [
            "doubt: needs labels = 'hierarchy'; a range names its ends, and a set its members, because they occur, "
            "so both tell what is there"
        ]
    return []


def check_doubt(doubt: object, labels: object = "hierarchy") -> None:
    """Refuse what is no share of labels that chance can raise."""
    if mistakes := doubt_mistakes(doubt, labels):
        raise PolicyError(mistakes)


def refuse_doubt(task: Task) -> None:
    """Raise if raising labels could spoil what a task asks for."""
    if task.counts_people and not task.is_monotone:
        raise PolicyError(
            "doubt: groups that come to carry the same labels become one, and a person with several rows who is in "
            "both could spoil a model that is not k-anonymity; leave doubt out"
        )
    if any(len(columns) < len(task.frequencies.columns) for columns in task.ks_by_columns()):
        raise PolicyError(
            "doubt: where few columns are known, or there are several quasi-identifiers, labels promise nothing of "
            "the rows of their own group; leave doubt out"
        )


def raise_labels(task: Task, recoding: LocalRecoding, doubt: float) -> LocalRecoding:
    """Give the recoding with some labels raised: in each column about ``doubt`` times as many as it generalized.

    A cell is raised to a level with ``doubt`` times the share of the cells that have this level, so that labels of
    every level are doubted alike, and the cells that are raised lose about ``doubt`` times what the others do. No
    group is smaller than k: groups that come to carry the same labels become one, and single tuples with 2k rows or
    more are divided into parts of k or more, each with chances of its own.
    """
    if not doubt:
        return recoding
    pieces, groups = recoding.pieces, np.arange(recoding.number_of_groups)
    if task.asks_rows_only:
        pieces, groups = _divide(pieces, recoding.sizes, task.largest_k(), task.draws.part("divided tuples"))
    frequencies = recoding.frequencies
    examples = _examples(pieces, len(groups))
    chances = task.draws.part("raised labels").keys(len(frequencies.columns) * len(groups))
    fate = (chances >> np.uint64(11)).astype(np.float64).reshape(len(frequencies.columns), -1) * UNIT
    labels, codes = [], np.zeros(fate.shape, np.int64)
    for column, name in enumerate(frequencies.columns):
        every, places = labels_of_all_levels(frequencies, column)
        own = recoding.labels[column]
        shares = np.bincount(own.levels[recoding.codes[column]], recoding.sizes, len(places))
        levels = own.levels[recoding.codes[column]][groups]
        values = frequencies.entry_codes(column)[examples]
        goes_to = _drawn_level(fate[column], doubt * np.maximum(shares / max(1, recoding.released_rows), SELDOM))
        says_more = _says_more(task.policy.columns[name], frequencies.hierarchies[column])
        is_raised = (goes_to > levels) & says_more[goes_to, values]
        found, codes[column] = used_labels(every, places[np.where(is_raised, goes_to, levels), values])
        labels.append(found)
    made = RaisedRecoding.of_labels(frequencies, pieces, tuple(labels), codes)
    few = _join_pieces(made.pieces, len(frequencies.entries))
    return replace(made, pieces=few, is_cut_short=recoding.is_cut_short)


def _divide(pieces: Pieces, sizes: IntArray, k: int, draws: Draws) -> tuple[Pieces, IntArray]:
    """Divide single tuples of 2k rows or more into parts of k or more; also give the earlier group of each part.

    Every way to divide them into k to 2k - 1 rows each may come up; the last part may have up to 3k - 2.
    """
    number = np.bincount(pieces.groups[pieces.is_released], minlength=len(sizes))
    is_whole = pieces.is_released & (pieces.rows >= 2 * k)
    is_whole[is_whole] = number[pieces.groups[is_whole]] == 1
    whole, rest = np.flatnonzero(is_whole), np.flatnonzero(~is_whole)
    if not len(whole):
        return pieces, np.arange(len(sizes))
    rows = pieces.rows[whole]
    most = rows // k
    firsts = np.cumsum(most) - most
    piece_of = np.repeat(np.arange(len(whole)), most)
    parts = k + (draws.keys(int(most.sum())) % np.uint64(k)).astype(np.int64)
    before = np.cumsum(parts) - parts
    before -= before[firsts][piece_of]  # the rows of the piece that earlier parts have
    is_kept = before + parts <= rows[piece_of] - k
    is_last = np.append(True, is_kept[:-1]) & ~is_kept
    is_last |= ~is_kept & (np.arange(len(parts)) == firsts[piece_of])
    parts = np.where(is_last, rows[piece_of] - before, parts)
    stays = is_kept | is_last
    piece_of, parts = piece_of[stays], parts[stays]
    groups = np.concatenate([np.arange(len(sizes)), pieces.groups[whole][piece_of]])
    divided = Pieces(
        np.concatenate([pieces.tuples[rest], pieces.tuples[whole][piece_of]]),
        np.concatenate([pieces.rows[rest], parts]),
        np.concatenate([pieces.groups[rest], len(sizes) + np.arange(len(parts))]),
    ).number_groups()
    return divided[0], groups[divided[1]]


def _examples(pieces: Pieces, groups: int) -> IntArray:
    """Give one entry of each group."""
    found = np.zeros(groups, np.int64)
    found[pieces.groups[pieces.is_released]] = pieces.tuples[pieces.is_released]
    return found


def _drawn_level(fate: FloatArray, chances: FloatArray) -> IntArray:
    """Give the level that each cell is raised to by a number from 0 to 1, where levels have these chances; else 0.

    >>> _drawn_level(np.array([0.005, 0.015, 0.5]), np.array([0.9, 0.01, 0.02]))
    array([1, 2, 0])
    """
    ends = np.cumsum(chances[1:])
    level: IntArray = np.searchsorted(ends, fate, side="right") + 1
    return np.where(level < len(chances), level, 0)


def _says_more(column: Column, hierarchy: CompiledHierarchy) -> BoolArray:
    """Tell which labels, by level and value, cover more than the one below by what the policy lists.

    Whoever has the policy reads a label with one label below it as that one, so it would hide nothing. What the table
    holds does not matter: from that somebody could conclude what it holds.
    """
    says_more = np.ones((hierarchy.height + 1, len(hierarchy.values)), np.bool_)
    says_more[0] = False
    if not isinstance(column.hierarchy, Listed):
        return says_more
    rows = [*column.hierarchy.table(), *(column.hierarchy.table([None]) if column.missing == "value" else ())]
    below = np.ones(len(hierarchy.values), np.int64)
    for level in range(1, hierarchy.height + 1):
        listed = Counter(label for _, label in {(row[0], row[level]) for row in rows})
        covered = np.array([listed[label] for label in hierarchy.labels[level]], np.int64)[hierarchy.maps[level]]
        says_more[level] = covered > below
        below = covered
    return says_more


def _join_pieces(pieces: Pieces, entries: int) -> Pieces:
    """Put the rows of an entry that go to one group together."""
    keys, number = np.unique((pieces.groups + 1) * entries + pieces.tuples, return_inverse=True)
    groups, tuples = np.divmod(keys, entries)
    return Pieces(tuples, np.bincount(number, pieces.rows).astype(np.int64), groups - 1)
