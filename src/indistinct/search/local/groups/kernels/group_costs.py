"""What a row costs in a group: by the box of a group, which says what its cells span in every column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel

TABLE, STEPS, RANGE, SET = range(4)
"""How a column's costs are laid out, see ``Prices``."""

KIND, BOX, NUMBERS, STRIDE = range(4)
"""A column: its kind, where it stands in a box, where its numbers start, and how far their rows are apart."""

VALUES_A_WORD = 4
"""A word of a set holds 2**4 values."""


class Prices(NamedTuple):
    """What a row costs in a group, by the ranks that the group spans in each column.

    ``columns``  (columns, 4) int64: KIND, BOX, NUMBERS, STRIDE
    ``numbers``  float64, where ``low`` and ``high`` are the ends of the span
                 TABLE  the cost of low..high at low * stride + high
                 STEPS  the cost of low..high is the most that a step between neighbours in it costs;
                        row 0: each rank alone, row r: the most that 2**(r - 1) steps from each rank on cost
                 RANGE  each rank's share of the cost, then what a range costs besides
                 SET    at n: the cost of n values and one more
    """

    columns: Any
    numbers: Any


@kernel
def span_cost(column: int, low: Any, high: Any, columns: Any, numbers: Any) -> float:
    """Return the cost of the span of ranks low..high in a column that is no set."""
    at, stride = columns[column, NUMBERS], columns[column, STRIDE]
    cost = 0.0
    if columns[column, KIND] == TABLE:
        cost = numbers[at + low * stride + high]
    elif columns[column, KIND] == RANGE:
        cost = numbers[at + high] - numbers[at + low] + (numbers[at + stride] if low < high else 0.0)
    else:
        distance, half = high - low, 0  # half: the largest power of two in the distance
        while distance > 0:
            distance >>= 1
            half = 2 * half if half > 0 else 1
            at += stride
        cost = max(numbers[at + low], numbers[at + high - half])
    return float(cost)


@kernel
def pair_cost(one: int, other: int, ranks: Any, columns: Any, numbers: Any) -> float:
    """Return what a row costs in a group of two tuples."""
    cost = 0.0
    for column in range(columns.shape[0]):
        a, b = np.int64(ranks[one, column]), np.int64(ranks[other, column])
        if columns[column, KIND] == SET:
            cost += numbers[columns[column, NUMBERS] + (1 if a != b else 0)]
        else:
            cost += span_cost(column, min(a, b), max(a, b), columns, numbers)
    return cost


@kernel
def cost_with(group: int, tuple_: Any, ranks: Any, boxes: Any, columns: Any, numbers: Any) -> float:
    """Return what a row costs in a group once a tuple has joined it."""
    cost = 0.0
    for column in range(columns.shape[0]):
        value, box = np.int64(ranks[tuple_, column]), columns[column, BOX]
        if columns[column, KIND] == SET:
            has_it = (boxes[group, box + 1 + (value >> VALUES_A_WORD)] >> (value & (2**VALUES_A_WORD - 1))) & 1
            cost += numbers[columns[column, NUMBERS] + boxes[group, box] - has_it]
        else:
            low, high = min(np.int64(boxes[group, box]), value), max(np.int64(boxes[group, box + 1]), value)
            cost += span_cost(column, low, high, columns, numbers)
    return cost


@kernel
def clear(group: int, boxes: Any, columns: Any) -> None:
    """Make a box span nothing."""
    for word in range(boxes.shape[1]):
        boxes[group, word] = 0
    for column in range(columns.shape[0]):
        if columns[column, KIND] != SET:
            boxes[group, columns[column, BOX]] = 2**30
            boxes[group, columns[column, BOX] + 1] = -1


@kernel
def cover(group: int, tuple_: int, ranks: Any, boxes: Any, columns: Any) -> None:
    """Widen a box so that it spans a tuple."""
    for column in range(columns.shape[0]):
        value, box = ranks[tuple_, column], columns[column, BOX]
        if columns[column, KIND] == SET:
            word, bit = box + 1 + (value >> VALUES_A_WORD), 1 << (value & (2**VALUES_A_WORD - 1))
            if boxes[group, word] & bit == 0:
                boxes[group, word] |= bit
                boxes[group, box] += 1
        else:
            boxes[group, box] = min(boxes[group, box], value)
            boxes[group, box + 1] = max(boxes[group, box + 1], value)
