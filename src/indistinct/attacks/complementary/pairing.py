"""Pairing rows of two tables one to one, and the pairs that belong to no such pairing of as many rows as possible."""

from __future__ import annotations

import numpy as np

from indistinct.array_types import Array
from indistinct.counting.kernels.ordering import order_of
from indistinct.kernel import kernel

NOBODY = -1


@kernel
def pair_off(starts: Array, rights: Array, lefts: Array, back_starts: Array, back: Array, room: Array) -> Array:
    """Return how many rows of each pair are paired off, so that as many as possible are in all.

    IN   starts       (lefts + 1,) int64: the pairs of each left entry
    IN   rights       (pairs,) int64: the right entry of each pair, in the order of their left entries
    IN   lefts        (lefts,) int64: rows of each left entry; OUT those that are left over
    IN   back_starts  (rights + 1,) int64, back (pairs,) int64: the pairs of each right entry
    IN   room         (rights,) int64: rows of each right entry; OUT those that are left over
    OUT  (pairs,) int64

    A first fit serves left entries with few pairs first; then alternating paths mend what it spoiled. Entries that a
    search in vain has seen can never help again, so each is seen in vain once.
    """
    number, others = len(starts) - 1, len(back_starts) - 1
    paired = np.zeros(len(rights), np.int64)
    owner = np.empty(len(rights), np.int64)
    degrees = np.empty(number, np.int64)
    for left in range(number):
        degrees[left] = starts[left + 1] - starts[left]
        owner[starts[left] : starts[left + 1]] = left
    for left in order_of(degrees):
        for pair in range(starts[left], starts[left + 1]):
            share = min(lefts[left], room[rights[pair]])
            paired[pair] += share
            lefts[left] -= share
            room[rights[pair]] -= share
    seen_left, seen_right = np.zeros(number, np.bool_), np.zeros(others, np.bool_)
    came_by, came_back = np.full(others, NOBODY, np.int64), np.full(number, NOBODY, np.int64)
    queue, touched = np.empty(number, np.int64), np.empty(others, np.int64)
    for start in range(number):
        while lefts[start] > 0 and not seen_left[start]:
            head, tail, number_touched, goal = 0, 1, 0, NOBODY
            queue[0] = start
            seen_left[start] = True
            while head < tail and goal == NOBODY:
                left = queue[head]
                head += 1
                for pair in range(starts[left], starts[left + 1]):
                    right = rights[pair]
                    if seen_right[right]:
                        continue
                    seen_right[right] = True
                    touched[number_touched] = right
                    number_touched += 1
                    came_by[right] = pair
                    if room[right] > 0:
                        goal = right
                        break
                    for place in range(back_starts[right], back_starts[right + 1]):
                        other = owner[back[place]]
                        if paired[back[place]] > 0 and not seen_left[other]:
                            seen_left[other] = True
                            came_back[other] = back[place]
                            queue[tail] = other
                            tail += 1
            if goal == NOBODY:
                break  # all that was seen stays seen
            share = min(lefts[start], room[goal])
            right = goal
            while owner[came_by[right]] != start:
                pair = came_back[owner[came_by[right]]]
                share = min(share, paired[pair])
                right = rights[pair]
            room[goal] -= share
            lefts[start] -= share
            right = goal
            while True:
                paired[came_by[right]] += share
                left = owner[came_by[right]]
                if left == start:
                    break
                paired[came_back[left]] -= share
                right = rights[came_back[left]]
            for place in range(tail):
                seen_left[queue[place]] = False
            for place in range(number_touched):
                seen_right[touched[place]] = False
    return paired


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
