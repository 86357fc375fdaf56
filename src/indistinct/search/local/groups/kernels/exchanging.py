"""Exchanging: rows that may stand for each other change places between groups, as long as labels become cheaper."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.group_costs import Prices, clear, cost_with, cover
from indistinct.search.local.groups.kernels.near_tuples import NOBODY
from indistinct.search.local.groups.kernels.parcel_groups import PRIME, draw


class Seats(NamedTuple):
    """Who sits where.

    ``rows``      (rows,) int64: the row at each seat; the seats of a group stand together
    ``seat_of``   (rows,) int64: the seat of each row
    ``group_of``  (rows,) int64: the group of each seat
    ``starts``    (groups + 1,) int64: where the seats of each group start
    ``costs``     (groups,) float64: what a row of the group costs
    ``counters``  (3,) int64, of which ``draw`` uses one
    """

    rows: Any
    seat_of: Any
    group_of: Any
    starts: Any
    costs: Any
    counters: Any


class Guests(NamedTuple):
    """What is known of the rows.

    ``ranks``  (tuples, columns) int32; ``tuples`` (rows,) int64: the tuple of each row
    ``kinds``  (rows,) int64: rows of the same kind may change places
    ``near``   (tuples, most) int32: near tuples, NOBODY where there is none
    ``row_at`` (tuples + 1,) int64: where the rows of each tuple start
    """

    ranks: Any
    tuples: Any
    kinds: Any
    near: Any
    row_at: Any


@kernel
def exchange(visits: Any, heat: float, guests: Guests, seats: Seats, prices: Prices, boxes: Any) -> float:
    """Let some rows change places with rows of their kind in groups of near rows; return what all groups gain.

    What costs less is kept, what costs more by x with the chance exp(-x / heat).

    IN      visits  (3,) int64: the first row, the end, and the step between those that are visited
    IN OUT  seats; boxes (2, words) int32 is room for what is tried
    """
    tuples, kinds, near, row_at = guests.tuples, guests.kinds, guests.near, guests.row_at
    gained = 0.0
    for row in range(visits[0], visits[1], visits[2]):
        here = seats.group_of[seats.seat_of[row]]
        friend = near[tuples[row], draw(near.shape[1], seats.counters)]
        if seats.costs[here] > 0.0 and friend != NOBODY:
            guest = row_at[friend] + draw(row_at[friend + 1] - row_at[friend], seats.counters)
            there, other = seats.group_of[seats.seat_of[guest]], NOBODY
            if there != here:
                start = seats.starts[there]
                number = seats.starts[there + 1] - start
                first = draw(number, seats.counters)
                for place in range(number):
                    candidate = seats.rows[start + (first + place) % number]
                    if other == NOBODY and kinds[candidate] == kinds[row] and candidate != guest:
                        other = candidate
            if other != NOBODY and tuples[other] != tuples[row]:
                most = 0.0
                if heat > 0.0:
                    most = -heat * math.log((1 + draw(PRIME - 1, seats.counters)) / PRIME)
                gained += change_places(row, other, most, guests, seats, prices, boxes)
    return gained


@kernel
def change_places(row: int, other: int, most: float, guests: Guests, seats: Seats, prices: Prices, boxes: Any) -> float:
    """Let two rows change places if that costs at most so much more; return what is gained."""
    seat, place = seats.seat_of[row], seats.seat_of[other]
    here, there = seats.group_of[seat], seats.group_of[place]
    rows_here = seats.starts[here + 1] - seats.starts[here]
    rows_there = seats.starts[there + 1] - seats.starts[there]
    before = rows_here * seats.costs[here] + rows_there * seats.costs[there]
    seats.rows[seat], seats.rows[place] = other, row
    cost_here = cost_of(here, 0, guests, seats, prices, boxes)
    after = rows_here * cost_here
    gain, is_kept = 0.0, False
    if after <= before + most:
        cost_there = cost_of(there, 1, guests, seats, prices, boxes)
        after += rows_there * cost_there
        if after <= before + most:
            seats.costs[here], seats.costs[there] = cost_here, cost_there
            seats.seat_of[row], seats.seat_of[other] = place, seat
            gain, is_kept = before - after, True
    if not is_kept:
        seats.rows[seat], seats.rows[place] = row, other
    return gain


@kernel
def cost_of(group: int, room: int, guests: Guests, seats: Seats, prices: Prices, boxes: Any) -> float:
    """Return what a row of a group costs, by who sits there."""
    clear(room, boxes, prices.columns)
    for seat in range(seats.starts[group], seats.starts[group + 1]):
        cover(room, guests.tuples[seats.rows[seat]], guests.ranks, boxes, prices.columns)
    first = guests.tuples[seats.rows[seats.starts[group]]]
    return cost_with(room, first, guests.ranks, boxes, prices.columns, prices.numbers)


@kernel
def all_costs(guests: Guests, seats: Seats, prices: Prices, boxes: Any) -> float:
    """Work out what each group costs; return what all cost together."""
    total = 0.0
    for group in range(len(seats.costs)):
        seats.costs[group] = cost_of(group, 0, guests, seats, prices, boxes)
        total += (seats.starts[group + 1] - seats.starts[group]) * seats.costs[group]
    return total
