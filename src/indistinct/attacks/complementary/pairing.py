"""Pairing rows of two tables one to one, and the pairs that belong to no such pairing of as many rows as possible."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indistinct.array_types import Array
from indistinct.counting.kernels.grouping import order_of
from indistinct.kernel import kernel

NOBODY = -1


class EntryPairs(NamedTuple):
    """The pairs of left and right entries, in the order of their left entries."""

    starts: Array
    """(lefts + 1,) int64: the pairs of each left entry"""
    owner: Array
    rights: Array
    """(pairs,) int64: the left and the right entry of each pair"""
    back_starts: Array
    """(rights + 1,) int64"""
    back: Array
    """(pairs,) int64: the pairs of each right entry"""


class PathSearch(NamedTuple):
    """What a search for a path from left rows to room on the right has seen, and by which pairs it came there."""

    seen_left: Array
    seen_right: Array
    came_by: Array
    """(rights,) int64: the pair by which a right entry was reached"""
    came_back: Array
    """(lefts,) int64: the pair that is given up where a left entry was reached"""
    queue: Array
    """(lefts,) int64: the left entries that were reached, in their order"""
    touched: Array
    """(rights,) int64: the right entries that were reached"""


def pair_off(pairs: EntryPairs, lefts: Array, room: Array) -> Array:
    """Return how many rows of each pair are paired off, so that as many as possible are in all.

    IN   pairs
    IN   lefts  (lefts,) int64: rows of each left entry; OUT those that are left over
    IN   room   (rights,) int64: rows of each right entry; OUT those that are left over
    OUT  (pairs,) int64

    A first fit serves left entries with few pairs first; then alternating paths mend what it spoiled.
    """
    number, others = len(lefts), len(room)
    search = PathSearch(
        np.zeros(number, np.bool_),
        np.zeros(others, np.bool_),
        np.full(others, NOBODY, np.int64),
        np.full(number, NOBODY, np.int64),
        np.empty(number, np.int64),
        np.empty(others, np.int64),
    )
    paired = np.zeros(len(pairs.rights), np.int64)
    _fit_first(pairs, lefts, room, paired)
    _mend(pairs, lefts, room, paired, search)
    return paired


@kernel
def _fit_first(pairs: EntryPairs, lefts: Array, room: Array, paired: Array) -> None:
    """Pair rows with the first room that there is, left entries with few pairs first; OUT lefts, room, paired."""
    for left in order_of(pairs.starts[1:] - pairs.starts[:-1]):
        for pair in range(pairs.starts[left], pairs.starts[left + 1]):
            share = min(lefts[left], room[pairs.rights[pair]])
            paired[pair] += share
            lefts[left] -= share
            room[pairs.rights[pair]] -= share


@kernel
def _mend(pairs: EntryPairs, lefts: Array, room: Array, paired: Array, search: PathSearch) -> None:
    """Pair rows that are left over along paths that shift others; OUT lefts, room, paired.

    Entries that a search in vain has seen can never help again, so each is seen in vain once.
    """
    for start in range(len(lefts)):
        while lefts[start] > 0 and not search.seen_left[start]:
            goal, reached, touched = _find_room(pairs, room, paired, search, start)
            if goal == NOBODY:
                break  # all that was seen stays seen
            share = _shift(pairs, paired, search, start, goal, min(lefts[start], room[goal]))
            room[goal] -= share
            lefts[start] -= share
            search.seen_left[search.queue[:reached]] = False
            search.seen_right[search.touched[:touched]] = False


@kernel
def _find_room(pairs: EntryPairs, room: Array, paired: Array, search: PathSearch, start: int) -> tuple[int, int, int]:
    """Return the nearest right entry with room, or NOBODY, and how many left and right entries were reached."""
    head, tail, touched = 0, 1, 0
    search.queue[0] = start
    search.seen_left[start] = True
    while head < tail:
        left = search.queue[head]
        head += 1
        for pair in range(pairs.starts[left], pairs.starts[left + 1]):
            right = pairs.rights[pair]
            if search.seen_right[right]:
                continue
            search.seen_right[right] = True
            search.touched[touched] = right
            touched += 1
            search.came_by[right] = pair
            if room[right] > 0:
                return right, tail, touched
            for place in range(pairs.back_starts[right], pairs.back_starts[right + 1]):
                back = pairs.back[place]
                other = pairs.owner[back]
                if paired[back] > 0 and not search.seen_left[other]:
                    search.seen_left[other] = True
                    search.came_back[other] = back
                    search.queue[tail] = other
                    tail += 1
    return NOBODY, tail, touched


@kernel
def _shift(pairs: EntryPairs, paired: Array, search: PathSearch, start: int, goal: int, most: int) -> int:
    """Pair off along the path from a left entry to its goal; return how many rows, no more than ``most``."""
    share, right = most, goal
    while pairs.owner[search.came_by[right]] != start:
        pair = search.came_back[pairs.owner[search.came_by[right]]]
        share = min(share, paired[pair])
        right = pairs.rights[pair]
    right = goal
    while True:
        paired[search.came_by[right]] += share
        left = pairs.owner[search.came_by[right]]
        if left == start:
            return share
        paired[search.came_back[left]] -= share
        right = pairs.rights[search.came_back[left]]


@kernel
def strong_components(starts: Array, targets: Array) -> Array:
    """Number nodes so that two have the same number if there are ways from each to the other.

    IN   starts   (nodes + 1,) int64: the arcs of each node
    IN   targets  (arcs,) int64
    OUT  (nodes,) int64

    Source: Tarjan 1972, without recursion.
    """
    nodes = len(starts) - 1
    component = np.full(nodes, NOBODY, np.int64)
    found, low = np.full(nodes, NOBODY, np.int64), np.zeros(nodes, np.int64)
    following = starts[:-1].copy()
    stack, way = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    on_stack = np.zeros(nodes, np.bool_)
    number, components, height = 0, 0, 0
    for root in range(nodes):
        if found[root] != NOBODY:
            continue
        depth = 0
        way[0] = root
        while depth >= 0:
            node = way[depth]
            if found[node] == NOBODY:
                found[node] = low[node] = number
                number += 1
                stack[height] = node
                height += 1
                on_stack[node] = True
            if following[node] < starts[node + 1]:
                target = targets[following[node]]
                following[node] += 1
                if found[target] == NOBODY:
                    depth += 1
                    way[depth] = target
                elif on_stack[target]:
                    low[node] = min(low[node], found[target])
                continue
            if low[node] == found[node]:
                while True:
                    height -= 1
                    member = stack[height]
                    on_stack[member] = False
                    component[member] = components
                    if member == node:
                        break
                components += 1
            depth -= 1
            if depth >= 0:
                low[way[depth]] = min(low[way[depth]], low[node])
    return component
