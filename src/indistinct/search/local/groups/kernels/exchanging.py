"""Exchanging: rows that may stand for each other change places between groups, as long as labels become cheaper."""

from __future__ import annotations

from typing import Any, NamedTuple

from indistinct.kernel import kernel
from indistinct.search.local.groups.kernels.acceptance import Pass, accepted_rise, draw
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices, clear, cost_with, cover


class Slots(NamedTuple):
    """Which row stands in which group.

    ``rows``      (rows,) int64: the row at each slot; the slots of a group stand together
    ``slot_of``   (rows,) int64: the slot of each row
    ``group_of``  (rows,) int64: the group of each slot
    ``starts``    (groups + 1,) int64: where the slots of each group start
    ``costs``     (groups,) float64: what a row of the group costs
    ``counters``  (3,) int64, of which ``draw`` uses one
    """

    rows: Any
    slot_of: Any
    group_of: Any
    starts: Any
    costs: Any
    counters: Any


class RowsByKind(NamedTuple):
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
def exchange(visits: Pass, by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: Any) -> float:
    """Let some rows change places with rows of their kind in groups of near rows; return what all groups gain.

    IN OUT  slots; rank_ranges (2, words) int32 is room for what is tried
    """
    tuples, kinds, near, row_at = by_kind.tuples, by_kind.kinds, by_kind.near, by_kind.row_at
    gained = 0.0
    for row in range(visits.first, visits.end, visits.step):
        here = slots.group_of[slots.slot_of[row]]
        friend = near[tuples[row], draw(near.shape[1], slots.counters)]
        if slots.costs[here] > 0.0 and friend != NOBODY:
            near_row = row_at[friend] + draw(row_at[friend + 1] - row_at[friend], slots.counters)
            there, other = slots.group_of[slots.slot_of[near_row]], NOBODY
            if there != here:
                start = slots.starts[there]
                number = slots.starts[there + 1] - start
                first = draw(number, slots.counters)
                for place in range(number):
                    candidate = slots.rows[start + (first + place) % number]
                    if other == NOBODY and kinds[candidate] == kinds[row] and candidate != row:
                        other = candidate
            if other != NOBODY and tuples[other] != tuples[row]:
                rise = accepted_rise(visits.heat, slots.counters)
                gained += change_places(row, other, rise, by_kind, slots, prices, rank_ranges)
    return gained


@kernel
def change_places(
    row: int, other: int, most: float, by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: Any
) -> float:
    """Let two rows change places if that costs at most so much more; return what is gained."""
    slot, place = slots.slot_of[row], slots.slot_of[other]
    here, there = slots.group_of[slot], slots.group_of[place]
    rows_here = slots.starts[here + 1] - slots.starts[here]
    rows_there = slots.starts[there + 1] - slots.starts[there]
    before = rows_here * slots.costs[here] + rows_there * slots.costs[there]
    slots.rows[slot], slots.rows[place] = other, row
    cost_here = cost_of(here, 0, by_kind, slots, prices, rank_ranges)
    after = rows_here * cost_here
    gain, is_kept = 0.0, False
    if after <= before + most:
        cost_there = cost_of(there, 1, by_kind, slots, prices, rank_ranges)
        after += rows_there * cost_there
        if after <= before + most:
            slots.costs[here], slots.costs[there] = cost_here, cost_there
            slots.slot_of[row], slots.slot_of[other] = place, slot
            gain, is_kept = before - after, True
    if not is_kept:
        slots.rows[slot], slots.rows[place] = row, other
    return gain


@kernel
def cost_of(group: int, room: int, by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: Any) -> float:
    """Return what a row of a group costs, by the rows that stand there."""
    clear(room, rank_ranges, prices.columns)
    for slot in range(slots.starts[group], slots.starts[group + 1]):
        cover(room, by_kind.tuples[slots.rows[slot]], by_kind.ranks, rank_ranges, prices.columns)
    first = by_kind.tuples[slots.rows[slots.starts[group]]]
    return cost_with(room, first, by_kind.ranks, rank_ranges, prices.columns, prices.numbers)


@kernel
def all_costs(by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: Any) -> float:
    """Work out what each group costs; return what all cost together."""
    total = 0.0
    for group in range(len(slots.costs)):
        slots.costs[group] = cost_of(group, 0, by_kind, slots, prices, rank_ranges)
        total += (slots.starts[group + 1] - slots.starts[group]) * slots.costs[group]
    return total
