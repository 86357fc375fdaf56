"""with_random_raise(): a local recoding of which no label tells what lies below it, since any may be wider than it must
be.

A group that carries the lowest labels says that its rows differ: had they not, its label would be lower. So some of
them share a lower label with fewer than k. Here chance raises a few labels more than they need. Then every label may
be one of those, and its group may be any rows below it, even equal ones. The law, which docs/attacks.md proves:

    give each group of a release any tuple below its labels, and all its rows that tuple, with the sensitive values and
    the people that they have; then the same algorithm makes the same release from this table, with a chance above 0.

That needs models that hold for groups put together of groups that satisfy them, so that the new table satisfies them as
it is, and is left so; labels that can be raised to any level, by chances that are above 0 in every table; and rows of
one tuple that chance can divide among any groups that satisfy the models, which ``dividing`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import IntArray
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Listed
from indistinct.policy import Column
from indistinct.randomness import Draws
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.recoding.group_labels import labels_of_all_levels, used_labels
from indistinct.recoding.local import RaisedRecoding
from indistinct.search.local.groups.partition import blocks_of
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


SELDOM = 0.001
"""A level that fewer cells have is raised to as if so large a share had it: also what nobody needs may be there."""
UNIT = 2.0**-53


def with_random_raise(task: Task, random_raise: float, make: Callable[[], LocalRecoding]) -> LocalRecoding:
    """Return what ``make`` makes, or the table as it is if it satisfies all models so, with some labels raised."""
    if not random_raise:
        return make()
    _refuse_random_raise(task)
    if task.policy.links_rows:
        return raise_labels(task, make(), random_raise)
    untouched = as_it_is(task)
    return raise_labels(task, make() if untouched is None else untouched, random_raise)


def _refuse_random_raise(task: Task) -> None:
    """Raise if raising labels could spoil what a task asks for."""
    if not task.is_monotone_unsuppressed:
        several = " where people have several rows" if task.counts_people else ""
        raise PolicyError(
            "random_raise: groups that come to carry the same labels become one, which could spoil a model that asks "
            "for more "
            f"than so many people or values{several}; leave random_raise out"
        )
    if any(len(columns) < len(task.frequencies.columns) for columns in task.ks_by_columns()):
        raise PolicyError(
            "random_raise: where few columns are known, or there are several quasi-identifiers, labels promise "
            "nothing of "
            "the rows of their own group; leave random_raise out"
        )


def as_it_is(task: Task) -> LocalRecoding | None:
    """Return the table with all labels as low as they may be, if every model holds for its groups; else None.

    Rows that no recoding can release are suppressed: those of ``blocks_of``.
    """
    frequencies, entries = task.frequencies, task.frequencies.entries
    is_lost = blocks_of(task)[0] == SUPPRESSED
    lowest, group_of = frequencies.roll_up(frequencies.start)
    groups, stays = group_of[entries.tuples], np.flatnonzero(~is_lost)
    is_safe = task.without(is_lost).safe_parts(stays, entries.counts[stays], groups[stays], len(lowest))
    if not is_safe[groups[stays]].all():
        return None
    pieces = Pieces(np.arange(len(entries)), entries.counts, np.where(is_lost, SUPPRESSED, groups))
    return LocalRecoding.of_pieces(frequencies, pieces)


def raise_labels(task: Task, recoding: LocalRecoding, random_raise: float) -> LocalRecoding:
    """Return the recoding with some labels raised: in each column about ``random_raise`` times as many as it
    generalized.

    A cell is raised to a level with ``random_raise`` times the share of the cells that have this level, so that labels
    of every level are raised alike, and the cells that are raised lose about ``random_raise`` times what the others do.
    Groups of equal rows are divided into parts, each with chances of its own. Every model stays satisfied: groups that
    come to carry the same labels become one, and models that could be spoilt by that are refused.
    """
    pieces, groups = recoding.pieces, np.arange(recoding.number_of_groups)
    if not task.policy.links_rows:
        pieces, groups = divide_tuples(task, recoding)
    frequencies = recoding.frequencies
    examples = example_entries(pieces, len(groups))
    chances = task.draws.part("raised labels").keys(len(frequencies.columns) * len(groups))
    fate = (chances >> np.uint64(11)).astype(np.float64).reshape(len(frequencies.columns), -1) * UNIT
    labels, codes = [], np.zeros(fate.shape, np.int64)
    for column, name in enumerate(frequencies.columns):
        every, places = labels_of_all_levels(frequencies, column)
        own = recoding.labels[column]
        shares = np.bincount(own.levels[recoding.codes[column]], recoding.sizes, len(places))
        levels = own.levels[recoding.codes[column]][groups]
        values = frequencies.entry_codes(column)[examples]
        goes_to = _drawn_level(fate[column], random_raise * np.maximum(shares / max(1, recoding.released_rows), SELDOM))
        says_more = _says_more(task.policy.columns[name], frequencies.hierarchies[column])
        is_raised = (goes_to > levels) & says_more[goes_to, values]
        found, codes[column] = used_labels(every, places[np.where(is_raised, goes_to, levels), values])
        labels.append(found)
    made = RaisedRecoding.of_labels(frequencies, pieces, tuple(labels), codes)
    few = _join_pieces(made.pieces, len(frequencies.entries))
    return replace(made, pieces=few, is_cut_short=recoding.is_cut_short)


def _drawn_level(fate: FloatArray, chances: FloatArray) -> IntArray:
    """Return the level that each cell is raised to by a number from 0 to 1, where levels have these chances; else 0.

    >>> _drawn_level(np.array([0.005, 0.015, 0.5]), np.array([0.9, 0.01, 0.02]))
    array([1, 2, 0])
    """
    ends = np.cumsum(chances[1:])
    level: IntArray = np.searchsorted(ends, fate, side="right") + 1
    return np.where(level < len(chances), level, 0)


def _says_more(column: Column, hierarchy: CompiledHierarchy) -> BoolArray:
    """Return which labels, by level and value, cover more than the one below by what the policy lists.

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
