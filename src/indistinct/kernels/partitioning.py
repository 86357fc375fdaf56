"""Kernels of exact partitioning: groups of a small table, boxes of labels, and prices of groups under duals.

Points are the distinct tuples of a space, ``counts`` their rows. ``labels[column, level, value]`` is the label of a
value at a level (the first value that it covers), ``costs`` what it costs a row. A box is one label in every column;
``members[starts[box] : starts[box + 1]]`` are the points in it. Each kernel has its obvious version in the tests.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.kernels.kernel import kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

NEARLY = 1e-12
"""Rounding that is no difference."""


@kernel
def least_costs(counts: IntArray, points: Any, run_costs: FloatArray, k: int) -> FloatArray:
    """Give the least cost of grouping every choice of rows, by dynamic programming.

    A choice is the number of rows left of each point, read as the digits of a mixed-radix number, the first point's
    digit the most significant.

    IN   counts     (points,) int64
    IN   points     (points, columns) int64: value of each point
    IN   run_costs  (columns, values, values) float64: the cost of the lowest label over two values
    OUT  least      (choices,) float64; infinite where the rows cannot be grouped
    """
    radix = place_values(counts)
    choices = radix[0] * (counts[0] + 1)
    least = np.full(choices, np.inf)
    least[0] = 0.0
    nowhere = np.empty(0, np.int64)
    for choice in range(1, choices):
        least[choice], _ = least_of(choice, radix, (points, run_costs), least, k, -1.0, nowhere)
    return least


@kernel
def place_values(counts: IntArray) -> IntArray:
    """Give what one row of each point adds to the number of a choice.

    IN   counts  (points,) int64
    OUT  radix   (points,) int64
    """
    radix = np.ones(len(counts), np.int64)
    for point in range(len(counts) - 2, -1, -1):
        radix[point] = radix[point + 1] * (counts[point + 1] + 1)
    return radix


@kernel
def least_of(
    choice: int, radix: IntArray, space: Any, least: FloatArray, k: int, within: float, found: IntArray
) -> tuple[float, int]:
    """Give the least cost of grouping one choice of rows, from those of all smaller choices.

    The group of the first row left is tried in every way, with k to 2k - 1 rows: larger ones split at no cost.

    IN   space   (points, run_costs) as ``least_costs`` takes them
    IN   within  groups that lead to at most this cost are listed
    OUT  found   int64: the choices that remain after them, as many as it has room for
    OUT  the least cost, and the number of groups to list
    """
    points, run_costs = space
    number, columns = points.shape
    left = np.empty(number, np.int64)
    rest, rows = choice, 0
    for point in range(number):
        left[point] = rest // radix[point]
        rest -= left[point] * radix[point]
        rows += left[point]
    best, listed = np.inf, 0
    if rows < k:
        return best, listed
    most = min(rows, 2 * k - 1)
    chosen = np.zeros(most, np.int64)  # the group's points, one entry a row, in ascending order
    rests = np.empty(most, np.int64)
    low = np.empty((most, columns), np.int64)
    high = np.empty((most, columns), np.int64)
    point = 0
    while left[point] == 0:
        point += 1
    depth = -1
    while True:
        if depth + 1 < most and point < number:  # one row more
            depth += 1
            left[point] -= 1
            chosen[depth] = point
            rests[depth] = (choice if depth == 0 else rests[depth - 1]) - radix[point]
            for column in range(columns):
                value = points[point, column]
                low[depth, column] = value if depth == 0 else min(low[depth - 1, column], value)
                high[depth, column] = value if depth == 0 else max(high[depth - 1, column], value)
            size = depth + 1
            if size >= k and (size == rows or rows - size >= k):
                cost = 0.0
                for column in range(columns):
                    cost += run_costs[column, low[depth, column], high[depth, column]]
                cost = size * cost + least[rests[depth]]
                best = min(best, cost)
                if cost <= within:
                    if listed < len(found):
                        found[listed] = rests[depth]
                    listed += 1
        elif depth > 0:  # the next point in place of the last row
            point = chosen[depth]
            left[point] += 1
            point += 1
            depth -= 1
        else:
            return best, listed
        while point < number and left[point] == 0:
            point += 1


@kernel
def closed_boxes(
    points: Any, counts: IntArray, labels: Any, costs: FloatArray, k: int, most: int
) -> tuple[Any, IntArray, FloatArray, bool]:
    """List every box of at least k rows whose labels are the lowest over its own points, each once.

    From the box of all points one column at a time is narrowed to a label one step below; then all labels become the
    lowest over what is left. A box is kept only where that leaves the columns before the narrowed one as they were,
    and columns are narrowed in ascending order, so it is found in one way only.

    Source: the prefix-preserving closure extension of Uno, Kiyomi and Arimura 2004 (LCM).

    IN   points   (points, columns) int32
    IN   labels   (columns, levels, values) int32; costs alike, float64
    IN   most     the number of members at which to give up
    OUT  members  (members,) int32, starts (boxes + 1,) int64, box_costs (boxes,) float64, and whether this is all
    """
    number, columns = points.shape
    members = np.empty(max(1024, 2 * number), np.int32)
    starts = np.zeros(1024, np.int64)
    levels = np.zeros((1024, columns), np.int8)
    narrowed = np.zeros(1024, np.int64)
    box_costs = np.zeros(1024)
    members[:number] = np.arange(number)
    starts[1] = number
    box_costs[0] = _lowest_labels(points, members[:number], labels, costs, levels[0])
    boxes, box = 1, 0
    rows = np.zeros(labels.shape[2], np.int64)
    touched = np.empty(labels.shape[2], np.int64)
    while box < boxes:
        for column in range(narrowed[box], columns):
            if levels[box, column] == 0:
                continue
            below = labels[column, levels[box, column] - 1]
            seen = 0
            for place in range(starts[box], starts[box + 1]):
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
                end = starts[boxes]
                if end + starts[box + 1] - starts[box] > len(members):
                    if len(members) >= most:
                        return members, starts[: boxes + 1].copy(), box_costs[:boxes].copy(), False
                    members = np.concatenate((members, np.empty_like(members)))
                if boxes + 2 > len(starts):
                    starts = np.concatenate((starts, np.zeros_like(starts)))
                    levels = np.concatenate((levels, np.zeros_like(levels)))
                    narrowed = np.concatenate((narrowed, np.zeros_like(narrowed)))
                    box_costs = np.concatenate((box_costs, np.zeros_like(box_costs)))
                for place in range(starts[box], starts[box + 1]):
                    if below[points[members[place], column]] == label:
                        members[end] = members[place]
                        end += 1
                cost = _lowest_labels(points, members[starts[boxes] : end], labels, costs, levels[boxes])
                is_first = True
                for before in range(column):
                    is_first &= levels[boxes, before] == levels[box, before]
                if is_first:
                    box_costs[boxes] = cost
                    narrowed[boxes] = column
                    boxes += 1
                    starts[boxes] = end
        box += 1
    return members[: starts[boxes]].copy(), starts[: boxes + 1].copy(), box_costs[:boxes].copy(), True


@kernel
def _lowest_labels(points: Any, group: Any, labels: Any, costs: FloatArray, levels: Any) -> float:
    """Give the cost of the lowest labels over a group of points; their levels go to ``levels``."""
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
def rising_duals(members: Any, starts: IntArray, box_costs: FloatArray, counts: IntArray, k: int) -> FloatArray:
    """Give each point a charge such that no group of k rows in a box is charged more than it costs.

    All charges rise together; where a box is charged to the full, those of its points stop. Boxes wait in a heap for
    the level at which that happens, which only rises while points stop below it, so it is settled when its turn comes.

    IN   box_costs  (boxes,) float64: the cost per row
    OUT  duals      (points,) float64
    """
    duals = np.full(len(counts), np.inf)
    order = np.argsort(box_costs, kind="mergesort")
    top = np.empty(k)
    waiting = [(0.0, 0) for _ in range(0)]
    following = 0
    while following < len(order) or len(waiting) > 0:
        if len(waiting) == 0 or (following < len(order) and box_costs[order[following]] <= waiting[0][0]):
            box = order[following]
            level = box_costs[box]
            following += 1
        else:
            level, box = heapq.heappop(waiting)
        group = members[starts[box] : starts[box + 1]]
        rising = 0
        for point in group:
            if duals[point] == np.inf:
                rising += counts[point]
        if rising == 0:
            continue
        full = level
        if rising < k:
            full = (k * box_costs[box] - _largest_sum(group, duals, counts, k - rising, top)) / rising
        if full > level + NEARLY:
            heapq.heappush(waiting, (full, box))
            continue
        for point in group:
            if duals[point] == np.inf:
                duals[point] = level
    return duals


@kernel
def _largest_sum(group: Any, duals: FloatArray, counts: IntArray, number: int, top: FloatArray) -> float:
    """Sum the charges of the rows with the largest ones, so many, among the points that have stopped."""
    filled = 0
    for point in group:
        if duals[point] == np.inf:
            continue
        filled = _insert(top, filled, number, duals[point], counts[point])
    total = 0.0
    for place in range(filled):
        total += top[place]
    return total


@kernel
def _insert(top: FloatArray, filled: int, room: int, value: float, times: int) -> int:
    """Insert a value so many times among the largest ones, in descending order; give how many there are then."""
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
    members: Any, starts: IntArray, box_costs: FloatArray, counts: IntArray, duals: FloatArray, k: int
) -> FloatArray:
    """Give for each box the least of what a group of k to 2k - 1 of its rows costs beyond the charges of its rows.

    IN   duals    (points,) float64
    OUT  reduced  (boxes,) float64
    """
    reduced = np.empty(len(box_costs))
    room = 2 * k - 1
    top = np.empty(room)
    for box in range(len(box_costs)):
        filled = 0
        cost = box_costs[box]
        for place in range(starts[box], starts[box + 1]):
            point = members[place]
            charge = duals[point]
            # beyond k rows only those count that are charged more than they cost
            if filled < k or charge > cost or charge > top[k - 1]:
                filled = _insert(top, filled, room, charge, counts[point])
        total = 0.0
        for place in range(filled):
            if place >= k and top[place] <= cost:
                break
            total += cost - top[place]
        reduced[box] = total
    return reduced


@kernel
def feasible_duals(members: Any, starts: IntArray, reduced: FloatArray, duals: FloatArray, k: int) -> FloatArray:
    """Lower charges just so far that no group is charged more than it costs.

    Where a group of some box is charged too much, every point of the box gives up a k-th of the worst excess in it:
    a group has at least k rows.

    IN   reduced  (boxes,) float64, from ``reduced_costs`` of these duals
    OUT  duals    (points,) float64
    """
    excess = np.zeros(len(duals))
    for box in range(len(reduced)):
        if reduced[box] < 0:
            for place in range(starts[box], starts[box + 1]):
                excess[members[place]] = max(excess[members[place]], -reduced[box])
    return duals - excess / k


@kernel
def best_groups(
    boxes: IntArray, members: Any, starts: IntArray, box_costs: FloatArray, counts: IntArray, duals: FloatArray, k: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Give the groups of least reduced cost in some boxes, leaving out those whose points all have one already.

    IN   boxes   int64, best first
    OUT  chosen  the boxes that were taken; group_starts (groups + 1,); group_points and group_rows, one entry a point
    """
    room = 2 * k - 1
    is_served = np.zeros(len(duals), np.bool_)
    chosen = np.empty(len(boxes), np.int64)
    group_starts = np.zeros(len(boxes) + 1, np.int64)
    group_points = np.empty(len(boxes) * min(room, len(duals)), np.int64)
    group_rows = np.empty(len(group_points), np.int64)
    groups = 0
    for box in boxes:
        group = members[starts[box] : starts[box + 1]]
        end = group_starts[groups]
        rows = 0
        is_needed = False
        for place in np.argsort(-duals[group], kind="mergesort"):
            point = group[place]
            taken = min(counts[point], room - rows)
            if duals[point] <= box_costs[box]:
                taken = min(taken, k - rows)
            if taken <= 0:
                break
            group_points[end] = point
            group_rows[end] = taken
            end += 1
            rows += taken
            is_needed |= not is_served[point]
        if is_needed:
            is_served[group_points[group_starts[groups] : end]] = True
            chosen[groups] = box
            groups += 1
            group_starts[groups] = end
    end = group_starts[groups]
    return chosen[:groups].copy(), group_starts[: groups + 1].copy(), group_points[:end].copy(), group_rows[:end].copy()


@kernel
def member_costs(
    members: Any, starts: IntArray, box_costs: FloatArray, counts: IntArray, duals: FloatArray, k: int
) -> FloatArray:
    """Give for each member of each box the least reduced cost of a group there that has a row of it.

    IN   duals  (points,) float64, feasible
    OUT  least  (members,) float64
    """
    least = np.empty(len(members))
    top = np.empty(k)
    for box in range(len(box_costs)):
        filled = 0
        for place in range(starts[box], starts[box + 1]):
            filled = _insert(top, filled, k, duals[members[place]], counts[members[place]])
        reduced = k * box_costs[box] - top[:k].sum()
        for place in range(starts[box], starts[box + 1]):
            least[place] = reduced + max(0.0, top[k - 1] - duals[members[place]])
    return least


@kernel
def limit_charges(
    group_of: IntArray,
    costs: FloatArray,
    counts: IntArray,
    duals: FloatArray,
    stopped: IntArray,
    limits: FloatArray,
    k: int,
) -> None:
    """Limit the charges of rising points by what the stopped points of their group leave of its cost.

    IN   group_of  (points,) int64, -1 for a point in none; costs (groups,) float64 per row
    IN   duals     (points,) float64, infinite where a point still rises
    IN   stopped   int64: the other points, in ascending order of their charges
    OUT  limits    (points,) float64, lowered in place
    """
    groups = len(costs)
    sizes = np.zeros(groups, np.int64)
    rising = np.zeros(groups, np.int64)
    for point in range(len(counts)):
        group = group_of[point]
        if group >= 0:
            sizes[group] += counts[point]
            if duals[point] == np.inf:
                rising[group] += counts[point]
    needed = np.zeros(groups, np.int64)
    for group in range(groups):
        if sizes[group] >= k and rising[group] > 0:
            needed[group] = max(0, k - rising[group])
    paid = np.zeros(groups)
    for place in range(len(stopped) - 1, -1, -1):
        point = stopped[place]
        group = group_of[point]
        if group >= 0 and needed[group] > 0:
            rows = min(needed[group], counts[point])
            needed[group] -= rows
            paid[group] += rows * duals[point]
    for point in range(len(counts)):
        group = group_of[point]
        if group >= 0 and duals[point] == np.inf and sizes[group] >= k:
            payers = min(k, rising[group])
            limits[point] = min(limits[point], (k * costs[group] - paid[group]) / payers)
