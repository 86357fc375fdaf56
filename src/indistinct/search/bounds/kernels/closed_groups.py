"""Boxes of labels that hold at least k rows and could not be narrower over their own points.

Points are the distinct tuples of a space, ``counts`` their rows. ``labels[column, level, value]`` is the label of a
value at a level (the first value that it covers), ``costs`` what it costs a row. A label vector is one label in every
column;
``members[starts[label_vector] : starts[label_vector + 1]]`` are the points in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
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
