"""swap_rows(): groups that are improved by letting rows of one kind change places, whatever each group must have.

In a group of an m-invariant release each value has equally many rows, and people who were released before are in
groups of their value set. New people with the same value can change places between any two groups, others between
groups of one value set: both groups keep their values. Partners are looked for in the groups of near rows.
First exchanges are annealed, then only those are kept that cost no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.search.local.groups.anneal import Annealing, descend
from indistinct.search.local.groups.kernels import exchanging
from indistinct.search.local.groups.kernels.acceptance import Pass
from indistinct.search.local.groups.kernels.exchanging import RowsByKind, Slots
from indistinct.search.local.groups.kernels.group_costs import Prices
from indistinct.search.local.groups.nearness import Finder, lay_out_prices
from indistinct.search.local.groups.space import Space

TRIES, WARM = 120, 0.04
"""Each row is tried so often while exchanges that cost a little more are accepted: that share of an average group at
first."""
MOST_PASSES, ENOUGH, PATIENCE = 280, 0.0005, 8
"""Afterwards passes end after so many in a row that gained less than this share."""
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
    search = _ExchangeSearch(by_kind, _slots(group_of[order]), prices, np.zeros((2, width), np.int32), watch)
    Annealing(TRIES, warm=WARM).run(search, watch)
    descend(search, MOST_PASSES, ENOUGH, PATIENCE)
    found = np.empty(len(entries), np.int64)
    found[order[search.slots.rows]] = search.slots.group_of
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


class _ExchangeSearch:
    """Groups whose rows change places, which ``anneal`` improves."""

    passes_a_try = 1

    def __init__(
        self, by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: NDArray[np.int32], watch: Watch
    ) -> None:
        self.by_kind, self.slots, self.prices, self.rank_ranges, self.watch = by_kind, slots, prices, rank_ranges, watch
        self._total = exchanging.all_costs(by_kind, slots, prices, rank_ranges)

    @property
    def number_of_groups(self) -> int:
        return len(self.slots.costs)

    def total(self) -> float:
        return self._total

    def try_changes(self, number: int, heat: float) -> bool:
        """Let all rows change places once."""
        self.watch.report("exchange", number, None)
        if self.watch.time_is_up():
            return False
        visits = Pass(0, len(self.slots.rows), 1, 0.0, heat)
        self._total -= exchanging.exchange(visits, self.by_kind, self.slots, self.prices, self.rank_ranges)
        return True

    def save(self) -> Any:
        return self.slots.rows.copy()

    def restore(self, saved: IntArray) -> None:
        """Make the groups those of some rows, and work out anew what they cost."""
        self.slots.rows[:] = saved
        self.slots.slot_of[saved] = np.arange(len(saved))
        self._total = exchanging.all_costs(self.by_kind, self.slots, self.prices, self.rank_ranges)
