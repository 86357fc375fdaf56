"""swap_rows(): groups that are improved by letting rows of one kind change places, whatever each group must have.

A group of an m-invariant release has so many rows of each of its values, and people who were released before stand in
groups of their value set. Two rows of the same value can change places between any two groups, if neither binds them,
or between two of one value set: both groups keep their values. Partners are looked for in the groups of near rows.
First exchanges are also kept that cost a little more, less and less often; then only those that cost less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.search.local.groups.kernels import exchanging
from indistinct.search.local.groups.kernels.exchanging import RowsByKind, Slots
from indistinct.search.local.groups.kernels.group_costs import Prices
from indistinct.search.local.groups.nearness import Finder, lay_out_prices
from indistinct.search.local.groups.space import Space

WARMTH = 0.04
"""At first an exchange that costs this share of an average group more is kept with a chance of 1 / e."""
WARM_PASSES, MOST_PASSES = 120, 400
ENOUGH, PATIENCE = 0.0005, 8
"""Passes end after so many in a row that gained less than this share."""
SEED = 1


def swap_rows(space: Space, entries: IntArray, group_of: IntArray, kinds: IntArray, watch: Watch) -> IntArray:
    """Return the group of each row after rows of the same kind have changed places; the same rows give the same groups.

    ``entries`` is the entry of each row, ``kinds`` its kind: an exchange never changes how many rows of a kind a group
    has. No group's labels need be cheaper than before, but all together never cost more.
    """
    columns = np.argsort(space.sizes, kind="stable")
    prices, width = lay_out_prices(space, columns)
    used, tuples = np.unique(entries, return_inverse=True)
    tuples = tuples.ravel()
    ranks = np.ascontiguousarray(space.ranks[used][:, columns])
    order = np.argsort(tuples, kind="stable")  # rows of a tuple stand together
    near, _ = Finder(space.sizes[columns], prices, watch).nearest(ranks)
    by_kind = RowsByKind(
        ranks=ranks,
        tuples=tuples[order],
        kinds=kinds[order],
        near=near,
        row_at=np.searchsorted(tuples[order], np.arange(len(used) + 1)),
    )
    slots = _slots(group_of[order])
    rank_ranges = np.zeros((2, width), np.int32)
    start = slots.rows.copy()
    before = exchanging.all_costs(by_kind, slots, prices, rank_ranges)
    if _exchange(by_kind, slots, prices, rank_ranges, before, watch) > before:
        slots.rows[:] = start  # a time limit ended it while it was warm
    found = np.empty(len(entries), np.int64)
    found[order[slots.rows]] = slots.group_of
    return found


def _slots(group_of: IntArray) -> Slots:
    rows = np.argsort(group_of, kind="stable")
    groups = int(group_of.max(initial=-1)) + 1
    slot_of = np.empty(len(rows), np.int64)
    slot_of[rows] = np.arange(len(rows))
    return Slots(
        rows=rows,
        slot_of=slot_of,
        group_of=group_of[rows],
        starts=np.searchsorted(group_of[rows], np.arange(groups + 1)),
        costs=np.zeros(groups),
        counters=np.array([0, SEED, 0], np.int64),
    )


def _exchange(
    by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: NDArray[np.int32], total: float, watch: Watch
) -> float:
    """Go over all rows again and again as long as it pays; return what all groups cost then."""
    rows, poor = len(slots.rows), 0
    warmth = WARMTH * total / max(1, len(slots.costs))
    for number in range(MOST_PASSES):
        watch.report("exchange", number, MOST_PASSES)
        if total <= 0.0 or watch.time_is_up():
            break
        heat = warmth * max(0.0, 1.0 - number / WARM_PASSES)
        gained = exchanging.exchange(np.array([0, rows, 1]), heat, by_kind, slots, prices, rank_ranges)
        total -= gained
        poor = poor + 1 if number >= WARM_PASSES and gained < ENOUGH * total else 0
        if poor == PATIENCE:
            break
    return exchanging.all_costs(by_kind, slots, prices, rank_ranges)
