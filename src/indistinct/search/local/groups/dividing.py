"""divide_tuples(): groups of equal rows, divided by chance into parts that are groups of their own.

Every division of such a group into parts that satisfy all models may come up. That is half of the law of raised labels,
which docs/attacks.md proves: if the same tuple is raised in one group and not in another, its rows must have been
split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.randomness import Draws
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.search.task import Task

ONE_IN = np.uint64(4)
"""Of so many parts one is joined with the part before it, whatever the models say: also large ones may come up."""


def divide_tuples(task: Task, recoding: LocalRecoding) -> tuple[Pieces, IntArray]:
    """Divide groups of rows that are alike in all quasi columns; also give the earlier group of each part.

    The rows of a group stand in an order that chance gives. They are cut into parts of k to 2k - 1, of which some are
    joined again. A part that fails a model is joined with the next one, or the last with the one before it, until none
    fails: what satisfies all models as it was drawn stays so.
    """
    pieces, k, draws = recoding.pieces, task.largest_k(), task.draws.part("divided tuples")
    divided = np.flatnonzero(_are_alike(recoding) & (recoding.sizes >= 2 * k))
    if not len(divided):
        return pieces, np.arange(recoding.number_of_groups)
    is_divided = np.zeros(recoding.number_of_groups, np.bool_)
    is_divided[divided] = True
    is_own = pieces.is_released & is_divided[pieces.groups]
    parts, owners = _drawn_parts(recoding.sizes[divided], k, draws.part("sizes"))
    line = _Line.of(pieces, np.flatnonzero(is_own), parts, draws.part("order"))
    is_first = np.diff(owners, prepend=-1) > 0
    begins = is_first | (draws.part("joined").keys(len(parts)) % ONE_IN != 0)
    left = task.without(_suppressed_entries(recoding))
    while True:
        number = np.cumsum(begins) - 1
        is_safe = left.safe_parts(pieces.tuples[line.pieces], line.rows, number[line.parts], int(number[-1]) + 1)
        joined = _join_failing(begins, is_first, is_safe)
        if (joined == begins).all():
            break
        begins = joined
    made = Pieces(
        np.concatenate([pieces.tuples[~is_own], pieces.tuples[line.pieces]]),
        np.concatenate([pieces.rows[~is_own], line.rows]),
        np.concatenate([pieces.groups[~is_own], recoding.number_of_groups + number[line.parts]]),
    )
    numbered, earlier = made.number_groups()
    groups = np.concatenate([np.arange(recoding.number_of_groups), divided[owners[begins]]])
    return numbered, groups[earlier]


def example_entries(pieces: Pieces, groups: int) -> IntArray:
    """Return one entry of each group."""
    found = np.zeros(groups, np.int64)
    found[pieces.groups[pieces.is_released]] = pieces.tuples[pieces.is_released]
    return found


def _are_alike(recoding: LocalRecoding) -> BoolArray:
    """Return of which groups all rows have the same labels on the lowest levels that may be released."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    entries, groups = pieces.tuples[pieces.is_released], pieces.groups[pieces.is_released]
    examples = example_entries(pieces, recoding.number_of_groups)[groups]
    are_alike = np.ones(recoding.number_of_groups, np.bool_)
    for column, hierarchy in enumerate(frequencies.hierarchies):
        labels = hierarchy.maps[hierarchy.lowest][frequencies.entry_codes(column)]
        are_alike[groups[labels[entries] != labels[examples]]] = False
    return are_alike


def _suppressed_entries(recoding: LocalRecoding) -> BoolArray:
    """Return which entries are suppressed; they are so with all their rows."""
    is_suppressed = np.zeros(len(recoding.frequencies.entries), np.bool_)
    is_suppressed[recoding.pieces.tuples[~recoding.pieces.is_released]] = True
    return is_suppressed


def _drawn_parts(rows: IntArray, k: int, draws: Draws) -> tuple[IntArray, IntArray]:
    """Divide so many rows each into parts of k to 2k - 1, by lot; return their sizes, and what each is a part of.

    Every way to do so may come up; the last part may have up to 3k - 2.
    """
    most = rows // k
    firsts = np.cumsum(most) - most
    owners = np.repeat(np.arange(len(rows)), most)
    parts = k + (draws.keys(int(most.sum())) % np.uint64(k)).astype(np.int64)
    before = np.cumsum(parts) - parts
    before -= before[firsts][owners]  # the rows that earlier parts of the same have
    is_kept = before + parts <= rows[owners] - k
    is_last = np.append(True, is_kept[:-1]) & ~is_kept
    is_last |= ~is_kept & (np.arange(len(parts)) == firsts[owners])
    parts = np.where(is_last, rows[owners] - before, parts)
    return parts[is_kept | is_last], owners[is_kept | is_last]


@dataclass(frozen=True, slots=True)
class _Line:
    """Rows of pieces that stand in a line, group by group, cut where a part ends: so many rows of one piece each."""

    pieces: IntArray
    rows: IntArray
    parts: IntArray

    @classmethod
    def of(cls, pieces: Pieces, chosen: IntArray, parts: IntArray, draws: Draws) -> _Line:
        """Line some pieces up, and cut the line into parts of these sizes.

        Rows of one piece are the same, so those of a group that is one piece need no order.
        """
        groups, rows = pieces.groups[chosen], pieces.rows[chosen]
        is_alone = np.bincount(groups)[groups] == 1
        times = np.where(is_alone, 1, rows)
        each = np.repeat(np.arange(len(chosen)), times)
        each = each[np.lexsort((draws.keys(len(each)), groups[each]))]
        ends, cuts = np.cumsum(np.where(is_alone, rows, 1)[each]), np.cumsum(parts)
        places = np.union1d(ends, cuts)
        return cls(
            chosen[each[np.searchsorted(ends, places)]],
            np.diff(places, prepend=0),
            np.searchsorted(cuts, places),
        )


def _join_failing(begins: BoolArray, is_first: BoolArray, is_safe: BoolArray) -> BoolArray:
    """Join each part that fails with the next of its group, the last with the one before it; return where parts begin.

    >>> first = np.array([True, False, False, True])
    >>> _join_failing(np.ones(4, np.bool_), first, np.array([False, True, True, True]))
    array([ True, False,  True,  True])
    >>> _join_failing(np.ones(4, np.bool_), first, np.array([True, True, False, True]))
    array([ True,  True, False,  True])
    """
    starts = np.flatnonzero(begins)
    is_last = np.append(is_first[starts[1:]], True)
    goes = np.zeros(len(starts), np.bool_)
    goes[1:] = (~is_safe & ~is_last)[:-1]
    goes |= ~is_safe & is_last
    joined = begins.copy()
    joined[starts[goes]] = False
    return joined | is_first
