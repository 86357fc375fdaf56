"""Label vectors that hold at least k rows and could not be narrower over their own points, and prices of their rows.

Points are the distinct tuples of a space, ``counts`` their rows. ``labels[column, level, value]`` is the label of a
value at a level (the first value that it covers), ``costs`` what it costs a row. A label vector is one label in every
column; ``members[starts[label_vector] : starts[label_vector + 1]]`` are the points in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.counting.kernels.grouping import order_of
from indistinct.kernel import kernel


@kernel
def closed_groups(
    points: Any, counts: IntArray, labels: Any, costs: FloatArray, k: int, most: int
) -> tuple[Any, IntArray, FloatArray, bool]:
    """List every label vector of at least k rows whose labels are the lowest over its own points, each once.

    From the label vector of all points one column at a time is narrowed to a label one step below; then all labels
    become the lowest over what is left. A label vector is kept only where that leaves the columns before the narrowed
    one as they were, and columns are narrowed in ascending order, so it is found in one way only.

    Source: the prefix-preserving closure extension of Uno, Kiyomi and Arimura 2004 (LCM).

    IN   points   (points, columns) int32 IN   labels   (columns, levels, values) int32; costs alike, float64 IN   most
    the number of members at which to give up OUT  members  (members,) int32, starts (label vectors + 1,) int64,
    box_costs (label vectors,) float64, and whether this is all
    """
    number, columns = points.shape
    members = np.empty(max(1024, 2 * number), np.int32)
    starts = np.zeros(1024, np.int64)
    levels = np.zeros((1024, columns), np.int8)
    narrowed = np.zeros(1024, np.int64)
    group_costs = np.zeros(1024)
    for member in range(number):
        members[member] = member
    starts[1] = number
    group_costs[0] = _lowest_labels(points, members[:number], labels, costs, levels[0])
    label_vectors, label_vector = 1, 0
    rows = np.zeros(labels.shape[2], np.int64)
    touched = np.empty(labels.shape[2], np.int64)
    while label_vector < label_vectors:
        for column in range(narrowed[label_vector], columns):
            if levels[label_vector, column] == 0:
                continue
            below = labels[column, levels[label_vector, column] - 1]
            seen = 0
            for place in range(starts[label_vector], starts[label_vector + 1]):
                label = below[points[members[place], column]]
                if rows[label] == 0:
                    touched[seen] = label
                    seen += 1
                rows[label] += counts[members[place]]
            for label in touched[:seen]:
                is_large = rows[label] >= k
                rows[label] = 0
                if not is_large:
                    continue
                end = starts[label_vectors]
                if end + starts[label_vector + 1] - starts[label_vector] > len(members):
                    if len(members) >= most:
                        return members, starts[: label_vectors + 1].copy(), group_costs[:label_vectors].copy(), False
                    members = double(members)
                if label_vectors + 2 > len(starts):
                    starts = double(starts)
                    levels = double_rows(levels)
                    narrowed = double(narrowed)
                    group_costs = double(group_costs)
                for place in range(starts[label_vector], starts[label_vector + 1]):
                    if below[points[members[place], column]] == label:
                        members[end] = members[place]
                        end += 1
                cost = _lowest_labels(
                    points, members[starts[label_vectors] : end], labels, costs, levels[label_vectors]
                )
                is_first = True
                for before in range(column):
                    is_first &= levels[label_vectors, before] == levels[label_vector, before]
                if is_first:
                    group_costs[label_vectors] = cost
                    narrowed[label_vectors] = column
                    label_vectors += 1
                    starts[label_vectors] = end
        label_vector += 1
    return (
        members[: starts[label_vectors]].copy(),
        starts[: label_vectors + 1].copy(),
        group_costs[:label_vectors].copy(),
        True,
    )


@kernel
def _lowest_labels(points: Any, group: Any, labels: Any, costs: FloatArray, levels: Any) -> float:
    """Return the cost of the lowest labels over a group of points; their levels go to ``levels``."""
    cost = 0.0
    for column in range(points.shape[1]):
        low = high = points[group[0], column]
        for place in range(1, len(group)):
            value = points[group[place], column]
            low = min(low, value)
            high = max(high, value)
        level = 0
        while labels[column, level, low] != labels[column, level, high]:
            level += 1
        levels[column] = level
        cost += costs[column, level, low]
    return cost


@kernel
def double(numbers: Any) -> Any:
    """Return an array with twice the room."""
    found = np.zeros(2 * len(numbers), numbers.dtype)
    for place in range(len(numbers)):
        found[place] = numbers[place]
    return found


@kernel
def double_rows(table: Any) -> Any:
    """Return a table with twice the rows."""
    found = np.zeros((2 * table.shape[0], table.shape[1]), table.dtype)
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            found[row, column] = table[row, column]
    return found


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
