"""Lowering labels of groups, cell by cell, as long as every set of columns stays shared by k rows.

The rows of each combination of labels, by each set of columns, stand in one hash table. A group's column is lowered
by moving its rows from their combinations to new ones: none of these may be left with some rows, but fewer than k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import IntArray
from indistinct.kernel import kernel

START, END, COLUMN, LEVEL = range(4)
"""The columns of ``candidates``: pieces beside each other, a column, and the highest level at which they have it."""
FULLEST = 0.8
"""A table that is fuller takes no more: lowering ends there."""


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
def _key(sets: Any, number: int, ids: Any, piece: int, column: int, instead: int) -> Any:
    """Return the key of a piece's labels by a set; ``column`` has another label. Keys begin at 1."""
    columns, width = sets[0], np.uint64(sets[1])
    key = np.uint64(number + 1)
    for place in range(columns.shape[1]):
        own = columns[number, place]
        key *= width  # a place of its own for each column, so that keys of different sets differ
        if own >= 0:
            key += np.uint64(instead if own == column else ids[own, piece])
    return key


@kernel
def _move(sets: Any, table: Any, number: int, pieces: Any, column: int, offers: Any) -> int:
    """Move the rows of a group's pieces to the combinations of other labels; return how many were new to the table.

    IN  offers  (pieces of the group,): the other label of each
    """
    ids, rows, start = pieces
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
def _move_back(sets: Any, table: Any, number: int, pieces: Any, column: int, offers: Any) -> None:
    """Undo what was moved."""
    ids, rows, start = pieces
    keys, counts = table
    for place in range(offers.shape[0]):
        piece = start + place
        counts[_slot(keys, _key(sets, number, ids, piece, column, ids[column, piece]))] += rows[piece]
        counts[_slot(keys, _key(sets, number, ids, piece, column, offers[place]))] -= rows[piece]


@kernel
def _holds(sets: Any, table: Any, number: int, pieces: Any, column: int, offers: Any) -> bool:
    """Return whether all combinations that were touched have k rows or none."""
    ids, _, start = pieces
    keys, counts = table
    k = sets[2][number]
    for place in range(offers.shape[0]):
        piece = start + place
        if 0 < counts[_slot(keys, _key(sets, number, ids, piece, column, ids[column, piece]))] < k:
            return False
        if 0 < counts[_slot(keys, _key(sets, number, ids, piece, column, offers[place]))] < k:
            return False
    return True


@kernel
def fill(sets: Any, table: Any, ids: Any, rows: IntArray) -> int:
    """Count the rows of every combination of labels by every set; return how many combinations there are.

    IN   sets   columns (sets, most columns) int64, padded by -1; width: more labels than any column has; ks (sets,)
    IN   ids    (columns, pieces) int64: the label of each piece
    OUT  table  keys (slots,) uint64 and counts (slots,) int64, all 0 before; slots are a power of two
    """
    keys, counts = table
    used = 0
    for number in range(sets[0].shape[0]):
        for piece in range(rows.shape[0]):
            key = _key(sets, number, ids, piece, -1, 0)
            slot = _slot(keys, key)
            if keys[slot] == 0:
                keys[slot] = key
                used += 1
            counts[slot] += rows[piece]
    return used


@kernel
def lower(sets: Any, table: Any, ids: Any, rows: IntArray, candidates: IntArray, levels: Any, used: int) -> int:
    """Lower each candidate to the lowest level that holds; return how many were lowered.

    IN   levels  offers (flat) int64: the label of each value at each level, starts (columns,): where a column's begin,
                 numbers (columns,): its values, lowest (columns,): its lowest level, values (columns, pieces): codes,
                 at (columns, pieces): the level of each label; owners (flat), first (columns + 1,): the sets that
                 have a column
    IN   used    the combinations in the table
    OUT  ids, the table, and the levels of pieces and candidates
    """
    offers, starts, numbers, lowest, values, at, owners, first = levels
    keys = table[0]
    lowered = 0
    room = np.int64(FULLEST * keys.shape[0])
    for one in range(candidates.shape[0]):
        start, end, column = candidates[one, START], candidates[one, END], candidates[one, COLUMN]
        pieces = (ids, rows, start)
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
                used += _move(sets, table, owners[place], pieces, column, own)
                if not _holds(sets, table, owners[place], pieces, column, own):
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
                _move_back(sets, table, owners[place], pieces, column, own)
    return lowered
