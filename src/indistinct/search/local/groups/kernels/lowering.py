"""Lowering labels of groups, cell by cell, as long as every set of columns stays shared by k rows.

The rows of each combination of labels, by each set of columns, stand in one hash table. A group's column is lowered
by moving its rows from their combinations to new ones: none of these may be left with some rows, but fewer than k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.array_types import IntArray
from indistinct.kernel import kernel

START, END, COLUMN, LEVEL = range(4)
"""The columns of ``candidates``: pieces beside each other, a column, and the highest level at which they have it."""
FULLEST = 0.8
"""A table that is fuller takes no more: lowering ends there."""


class ColumnSets(NamedTuple):
    """The sets of columns that k rows must share.

    ``columns``  (sets, most columns) int64, padded by -1
    ``width``    more labels than any column has
    ``ks``       (sets,) int64
    """

    columns: Any
    width: int
    ks: Any


class RowCounts(NamedTuple):
    """The rows of each combination of labels, by each set: a hash table whose slots are a power of two.

    ``keys``    (slots,) uint64, 0 where a slot is free
    ``counts``  (slots,) int64
    """

    keys: Any
    counts: Any


class LabelledPieces(NamedTuple):
    """What pieces carry.

    ``ids``   (columns, pieces) int64: the label of each piece
    ``rows``  (pieces,) int64
    """

    ids: Any
    rows: Any


class LowerLabels(NamedTuple):
    """The labels that pieces could carry.

    ``offers``  int64, flat: the label of each value at each level; those of a column begin at ``starts`` (columns,)
    ``numbers`` (columns,) int64: the values of a column; ``lowest`` (columns,) its lowest level
    ``values``  (columns, pieces) int64: value codes; ``at`` (columns, pieces) int64: the level of each label
    ``owners``  int64, flat: the sets that have a column, from ``first`` (columns + 1,) on
    """

    offers: Any
    starts: Any
    numbers: Any
    lowest: Any
    values: Any
    at: Any
    owners: Any
    first: Any


@kernel
def _slot(keys: Any, key: Any) -> int:
    """Return the place of a key in the table, or the free place where it would stand."""
    last = np.uint64(keys.shape[0] - 1)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    slot = mixed & last
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return int(slot)


@kernel
def _key(sets: ColumnSets, number: int, ids: Any, piece: int, column: int, instead: int) -> Any:
    """Return the key of a piece's labels by a set; ``column`` has another label. Keys begin at 1."""
    columns, width = sets.columns, np.uint64(sets.width)
    key = np.uint64(number + 1)
    for place in range(columns.shape[1]):
        own = columns[number, place]
        key *= width  # a place of its own for each column, so that keys of different sets differ
        if own >= 0:
            key += np.uint64(instead if own == column else ids[own, piece])
    return key


@kernel
def _move(
    sets: ColumnSets, table: RowCounts, number: int, pieces: LabelledPieces, start: int, column: int, offers: Any
) -> int:
    """Move the rows of a group's pieces to the combinations of other labels; return how many were new to the table.

    IN  start   the first piece of the group
    IN  offers  (pieces of the group,): the other label of each
    """
    ids, rows = pieces
    keys, counts = table
    used = 0
    for place in range(offers.shape[0]):
        piece = start + place
        old = _slot(keys, _key(sets, number, ids, piece, column, ids[column, piece]))
        counts[old] -= rows[piece]
        key = _key(sets, number, ids, piece, column, offers[place])
        new = _slot(keys, key)
        if keys[new] == 0:
            keys[new] = key
            used += 1
        counts[new] += rows[piece]
    return used


@kernel
def _move_back(
    sets: ColumnSets, table: RowCounts, number: int, pieces: LabelledPieces, start: int, column: int, offers: Any
) -> None:
    """Undo what was moved."""
    ids, rows = pieces
    keys, counts = table
    for place in range(offers.shape[0]):
        piece = start + place
        counts[_slot(keys, _key(sets, number, ids, piece, column, ids[column, piece]))] += rows[piece]
        counts[_slot(keys, _key(sets, number, ids, piece, column, offers[place]))] -= rows[piece]


@kernel
def _holds(
    sets: ColumnSets, table: RowCounts, number: int, pieces: LabelledPieces, start: int, column: int, offers: Any
) -> bool:
    """Return whether all combinations that were touched have k rows or none."""
    ids = pieces.ids
    keys, counts = table
    k = sets.ks[number]
    for place in range(offers.shape[0]):
        piece = start + place
        if 0 < counts[_slot(keys, _key(sets, number, ids, piece, column, ids[column, piece]))] < k:
            return False
        if 0 < counts[_slot(keys, _key(sets, number, ids, piece, column, offers[place]))] < k:
            return False
    return True


@kernel
def fill(sets: ColumnSets, table: RowCounts, pieces: LabelledPieces) -> int:
    """Count the rows of every combination of labels by every set; return how many combinations there are.

    OUT  table  all 0 before
    """
    ids, rows = pieces
    keys, counts = table
    used = 0
    for number in range(sets.columns.shape[0]):
        for piece in range(rows.shape[0]):
            key = _key(sets, number, ids, piece, -1, 0)
            slot = _slot(keys, key)
            if keys[slot] == 0:
                keys[slot] = key
                used += 1
            counts[slot] += rows[piece]
    return used


@kernel
def lower(
    sets: ColumnSets,
    table: RowCounts,
    pieces: LabelledPieces,
    candidates: IntArray,
    levels: LowerLabels,
    used: int,
) -> int:
    """Lower each candidate to the lowest level that holds; return how many were lowered.

    IN   used    the combinations in the table
    OUT  pieces, the table, and the levels of pieces and candidates
    """
    offers, starts, numbers, lowest, values, at, owners, first = levels
    keys, ids = table.keys, pieces.ids
    lowered = 0
    room = np.int64(FULLEST * keys.shape[0])
    for one in range(candidates.shape[0]):
        start, end, column = candidates[one, START], candidates[one, END], candidates[one, COLUMN]
        own = np.empty(end - start, np.int64)
        for level in range(lowest[column], candidates[one, LEVEL]):
            for piece in range(start, end):
                if at[column, piece] > level:
                    own[piece - start] = offers[starts[column] + level * numbers[column] + values[column, piece]]
                else:
                    own[piece - start] = ids[column, piece]  # lower already
            until = first[column + 1]
            is_held = True
            for place in range(first[column], first[column + 1]):
                if used + own.shape[0] > room:
                    is_held = False
                    until = place
                    break
                used += _move(sets, table, owners[place], pieces, start, column, own)
                if not _holds(sets, table, owners[place], pieces, start, column, own):
                    is_held = False
                    until = place + 1
                    break
            if is_held:
                for piece in range(start, end):
                    ids[column, piece] = own[piece - start]
                    at[column, piece] = min(at[column, piece], level)
                candidates[one, LEVEL] = level
                lowered += 1
                break
            for place in range(first[column], until):
                _move_back(sets, table, owners[place], pieces, start, column, own)
    return lowered
