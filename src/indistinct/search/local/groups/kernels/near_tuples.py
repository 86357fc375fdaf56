"""What a row costs in a group, and which tuples are near each other.

The cost follows from the rank range of a group, which says what its cells span in every column. Near tuples are those
that stand close in some order, and those near to what is near.
"""

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


NOBODY = -1


@kernel
def offer(one: int, other: int, cost: float, near: Any, costs: Any) -> None:
    """Put a tuple among the nearest of another, if it belongs there; the nearest come first."""
    last = near.shape[1] - 1
    is_wanted = cost < costs[one, last]
    place = 0
    while is_wanted and place <= last:
        is_wanted = near[one, place] != other
        place += 1
    if is_wanted:
        place = last
        while place > 0 and costs[one, place - 1] > cost:
            near[one, place], costs[one, place] = near[one, place - 1], costs[one, place - 1]
            place -= 1
        near[one, place], costs[one, place] = other, cost


@kernel
def link(order: Any, window: int, ranks: Any, prices: Prices, near: Any, costs: Any) -> None:
    """Offer tuples to each other that stand close in an order.

    IN      order        (tuples,) int64
    IN OUT  near, costs  (tuples, most) int32 and float32: the nearest tuples so far, NOBODY and infinity where none
    """
    columns, numbers = prices
    for place in range(len(order)):
        for next_place in range(place + 1, min(len(order), place + 1 + window)):
            one, other = order[place], order[next_place]
            cost = pair_cost(one, other, ranks, columns, numbers)
            offer(one, other, cost, near, costs)
            offer(other, one, cost, near, costs)


def link_further(ranks: Any, prices: Prices, near: Any, costs: Any) -> None:
    """Offer each tuple those that are near to what is near to it.

    IN OUT  near, costs  as in ``link``
    """
    _link_further(ranks, prices, near, costs, np.full(len(near), NOBODY, np.int64))


@kernel
def _link_further(ranks: Any, prices: Prices, near: Any, costs: Any, met: Any) -> None:
    """Do so; ``met`` is for each tuple the last to which it was offered."""
    columns, numbers = prices
    tuples, most = near.shape
    for one in range(tuples):
        met[one] = one
        for place in range(most):
            if near[one, place] != NOBODY:
                met[near[one, place]] = one
        for place in range(most):
            if near[one, place] != NOBODY:
                between = near[one, place]
                for further in range(most):
                    other: Any = np.int64(near[between, further])
                    if other != NOBODY and met[other] != one:
                        met[other] = one
                        offer(one, other, pair_cost(one, other, ranks, columns, numbers), near, costs)


@kernel
def link_homes(order: Any, ranks: Any, prices: Prices, homes: Any, home_costs: Any) -> None:
    """Offer each loose tuple the homes that come next before and after it in an order.

    IN      order              (tuples,) int64 of loose tuples and, after them, homes
    IN OUT  homes, home_costs  (loose, most) int32 and float64, as in ``link``
    """
    columns, numbers = prices
    loose, length = len(homes), len(order)
    for way in range(2):
        home = NOBODY
        for place in range(length):
            one = order[place] if way == 0 else order[length - 1 - place]
            if one >= loose:
                home = one
            elif home != NOBODY:
                offer(one, home, pair_cost(one, home, ranks, columns, numbers), homes, home_costs)


@kernel
def sort_links(starts: Any, links: Any, costs: Any, ranks: Any, prices: Prices) -> None:
    """Put the nearest first in each list of links.

    IN      starts  (tuples + 1,) int64: where the lists start
    IN OUT  links   int32
    OUT     costs   float32: what a row costs in a group of the tuple and each link
    """
    columns, numbers = prices
    for one in range(len(starts) - 1):
        for place in range(starts[one], starts[one + 1]):
            link: Any = np.int64(links[place])
            at = place
            cost = np.float32(pair_cost(one, link, ranks, columns, numbers))
            while at > starts[one] and costs[at - 1] > cost:
                links[at], costs[at] = links[at - 1], costs[at - 1]
                at -= 1
            links[at], costs[at] = link, cost


@kernel
def write_links(members: Any, near: Any, ends: Any, links: Any) -> None:
    """Append what is near to some tuples to their lists.

    IN      members  (members,) int64: the tuples
    IN      near     (members, most) int32: by their place in ``members``, or NOBODY
    IN OUT  ends     (tuples,) int64: where the list of each tuple ends so far
    OUT     links    int32
    """
    for member in range(len(members)):
        for place in range(near.shape[1]):
            if near[member, place] != NOBODY:
                links[ends[members[member]]] = members[near[member, place]]
                ends[members[member]] += 1
