"""What a row costs in a group: by the rank range of a group, which says what its cells span in every column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernel import kernel

TABLE, STEPS, RANGE, SET = range(4)
"""How a column's costs are laid out, see ``Prices``."""

KIND, ENDS, NUMBERS, STRIDE = range(4)
"""A column: its kind, where it stands in a rank range, where its numbers start, and how far their rows are apart."""

VALUES_A_WORD = 4
"""A word of a set holds 2**4 values."""


class Prices(NamedTuple):
    """What a row costs in a group, by the ranks that the group spans in each column.

    ``columns``  (columns, 4) int64: KIND, ENDS, NUMBERS, STRIDE
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
def cost_with(group: int, tuple_: Any, ranks: Any, rank_ranges: Any, columns: Any, numbers: Any) -> float:
    """Return what a row costs in a group once a tuple has joined it."""
    cost = 0.0
    for column in range(columns.shape[0]):
        value, rank_range = np.int64(ranks[tuple_, column]), columns[column, ENDS]
        if columns[column, KIND] == SET:
            has_it = (
                rank_ranges[group, rank_range + 1 + (value >> VALUES_A_WORD)] >> (value & (2**VALUES_A_WORD - 1))
            ) & 1
            cost += numbers[columns[column, NUMBERS] + rank_ranges[group, rank_range] - has_it]
        else:
            low, high = (
                min(np.int64(rank_ranges[group, rank_range]), value),
                max(np.int64(rank_ranges[group, rank_range + 1]), value),
            )
            cost += span_cost(column, low, high, columns, numbers)
    return cost


@kernel
def clear(group: int, rank_ranges: Any, columns: Any) -> None:
    """Make a rank range span nothing."""
    for word in range(rank_ranges.shape[1]):
        rank_ranges[group, word] = 0
    for column in range(columns.shape[0]):
        if columns[column, KIND] != SET:
            rank_ranges[group, columns[column, ENDS]] = 2**30
            rank_ranges[group, columns[column, ENDS] + 1] = -1


@kernel
def cover(group: int, tuple_: int, ranks: Any, rank_ranges: Any, columns: Any) -> None:
    """Widen a rank range so that it spans a tuple."""
    for column in range(columns.shape[0]):
        value, rank_range = ranks[tuple_, column], columns[column, ENDS]
        if columns[column, KIND] == SET:
            word, bit = rank_range + 1 + (value >> VALUES_A_WORD), 1 << (value & (2**VALUES_A_WORD - 1))
            if rank_ranges[group, word] & bit == 0:
                rank_ranges[group, word] |= bit
                rank_ranges[group, rank_range] += 1
        else:
            rank_ranges[group, rank_range] = min(rank_ranges[group, rank_range], value)
            rank_ranges[group, rank_range + 1] = max(rank_ranges[group, rank_range + 1], value)
