"""Dual ascent groups to their points: duals of the exact partition, and what groups cost beyond what they are priced.

Points and label vectors are those of ``closed_groups``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.counting.kernels.ordering import order_of
from indistinct.kernel import kernel


@kernel
def insert(top: FloatArray, filled: int, room: int, value: float, times: int) -> int:
    """Insert a value so many times among the largest ones, in descending order; return how many there are then."""
    for _ in range(min(times, room)):
        if filled < room:
            place = filled
            filled += 1
        elif value > top[room - 1]:
            place = room - 1
        else:
            break
        while place > 0 and top[place - 1] < value:
            top[place] = top[place - 1]
            place -= 1
        top[place] = value
    return filled


@kernel
def reduced_costs(
    members: Any, starts: IntArray, group_costs: FloatArray, counts: IntArray, duals: FloatArray, k: int
) -> FloatArray:
    """Return for each label vector the least of what a group of k to 2k - 1 of its rows costs beyond the prices of its
    rows.

    IN   duals    (points,) float64
    OUT  reduced  (label vectors,) float64
    """
    reduced = np.empty(len(group_costs))
    room = 2 * k - 1
    top = np.empty(room)
    for label_vector in range(len(group_costs)):
        filled = 0
        cost = group_costs[label_vector]
        for place in range(starts[label_vector], starts[label_vector + 1]):
            point = members[place]
            price = duals[point]
            # beyond k rows only those count that are priced more than they cost
            if filled < k or price > cost or price > top[k - 1]:
                filled = insert(top, filled, room, price, counts[point])
        total = 0.0
        for place in range(filled):
            if place >= k and top[place] <= cost:
                break
            total += cost - top[place]
        reduced[label_vector] = total
    return reduced


@kernel
def feasible_duals(members: Any, starts: IntArray, reduced: FloatArray, duals: FloatArray, k: int) -> FloatArray:
    """Lower prices just so far that no group is priced more than it costs.

    Where a group of some label vector is priced too much, every point of the label vector gives up a k-th of the worst
    excess in it: a group has at least k rows.

    IN   reduced  (label vectors,) float64, from ``reduced_costs`` of these duals
    OUT  duals    (points,) float64
    """
    excess = np.zeros(len(duals))
    for label_vector in range(len(reduced)):
        if reduced[label_vector] < 0:
            for place in range(starts[label_vector], starts[label_vector + 1]):
                excess[members[place]] = max(excess[members[place]], -reduced[label_vector])
    return duals - excess / k


@kernel
def best_groups(
    label_vectors: IntArray,
    members: Any,
    starts: IntArray,
    group_costs: FloatArray,
    counts: IntArray,
    duals: FloatArray,
    k: int,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the groups of least reduced cost in some label vectors, leaving out those whose points all have one
    already.

    IN   label_vectors   int64, best first OUT  chosen  the label vectors that were taken; group_starts (groups + 1,);
    group_points and group_rows, one entry a point
    """
    room = 2 * k - 1
    is_served = np.zeros(len(duals), np.bool_)
    chosen = np.empty(len(label_vectors), np.int64)
    group_starts = np.zeros(len(label_vectors) + 1, np.int64)
    group_points = np.empty(len(label_vectors) * min(room, len(duals)), np.int64)
    group_rows = np.empty(len(group_points), np.int64)
    groups = 0
    for label_vector in label_vectors:
        group = members[starts[label_vector] : starts[label_vector + 1]]
        end = group_starts[groups]
        rows = 0
        is_needed = False
        falling = np.empty(len(group))
        for place in range(len(group)):
            falling[place] = -duals[group[place]]
        for place in order_of(falling):
            point = group[place]
            taken = min(counts[point], room - rows)
            if duals[point] <= group_costs[label_vector]:
                taken = min(taken, k - rows)
            if taken <= 0:
                break
            group_points[end] = point
            group_rows[end] = taken
            end += 1
            rows += taken
            is_needed |= not is_served[point]
        if is_needed:
            for place in range(group_starts[groups], end):
                is_served[group_points[place]] = True
            chosen[groups] = label_vector
            groups += 1
            group_starts[groups] = end
    end = group_starts[groups]
    return chosen[:groups].copy(), group_starts[: groups + 1].copy(), group_points[:end].copy(), group_rows[:end].copy()


@kernel
def member_costs(
    members: Any, starts: IntArray, group_costs: FloatArray, counts: IntArray, duals: FloatArray, k: int
) -> FloatArray:
    """Return for each member of each label vector the least reduced cost of a group there that has a row of it.

    IN   duals  (points,) float64, feasible
    OUT  least  (members,) float64
    """
    least = np.empty(len(members))
    top = np.empty(k)
    for label_vector in range(len(group_costs)):
        filled = 0
        for place in range(starts[label_vector], starts[label_vector + 1]):
            filled = insert(top, filled, k, duals[members[place]], counts[members[place]])
        reduced = k * group_costs[label_vector] - top[:k].sum()
        for place in range(starts[label_vector], starts[label_vector + 1]):
            least[place] = reduced + max(0.0, top[k - 1] - duals[members[place]])
    return least
