"""Finding tuples that are near each other: those that stand close in some order, and those near to what is near."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.group_costs import Prices, pair_cost

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
                    other = np.int64(near[between, further])
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
