"""trade_tuples(): groups that fail a model take a tuple of another group, or exchange one, so that both are safe.

Merging two groups of k gives one of 2k, which loses much. A group whose rows all have one illness often lacks no more
than one row with another, and somewhere near is a group that can spare it, or that takes a row in return. Tuples move
whole, so none comes to stand in two groups that stood in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import IntArray
from indistinct.recoding import Pieces
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task

LOOKED, HELPING, TRIED = 80, 6, 20
"""Of so many near tuples it is asked which make a group safe; of so many of these all swaps are weighed; and so many
swaps, the cheapest, are judged."""
MOST_LOOKS = 20_000_000
"""Each group that fails looks at all tuples, as long as these are fewer looks."""
FEWEST_TRIES, WORTH = 60, 0.1
"""After so many groups it goes on only if such a share of them found a swap."""


def swap_tuples(task: Task, space: Space, block_of: IntArray, pieces: Pieces, is_safe: BoolArray) -> Pieces:
    """Return the groups after failing ones swapped tuples with others; those that found no swap fail as before.

    A swap is made if it costs less than the cheapest merger, and leaves no group failing that was safe, nor one of
    fewer than k rows. All pieces are released.
    """
    numbers, own = np.unique(pieces.groups, return_inverse=True)
    slots = _Slots(task, space, block_of, Pieces(pieces.tuples, pieces.rows, own), len(numbers))
    is_safe = is_safe[numbers]
    tries = swapped = 0
    failing = np.flatnonzero(~is_safe)
    is_single = np.array([len(slots.members[group]) == 1 for group in failing.tolist()], np.bool_)
    failing = failing[np.argsort(is_single, kind="stable")]  # a single tuple can give nothing in return
    for group in failing[: MOST_LOOKS // max(1, len(slots.rows))].tolist():
        if is_safe[group]:
            continue
        if tries >= FEWEST_TRIES and swapped < WORTH * tries:
            break
        tries += 1
        swap = slots.best_swap(group, is_safe)
        if swap is not None:
            slots.make(swap)
            swapped += 1
            is_safe[swap.group], is_safe[swap.partner] = True, swap.is_partner_safe
    return Pieces(pieces.tuples, pieces.rows, numbers[slots.group_of[slots.slot_of]])


@dataclass(frozen=True, slots=True)
class _Swap:
    """What two groups hold after one took a tuple of the other, and perhaps gave one for it."""

    group: int
    partner: int
    own: list[int]
    theirs: list[int]
    is_partner_safe: bool = True


class _Slots:
    """Which tuples stand in which group, what each group covers and costs, and which tuples may move."""

    def __init__(self, task: Task, space: Space, block_of: IntArray, pieces: Pieces, groups: int) -> None:
        self.task, self.space, self.k = task, space, task.largest_k()
        self.tuples, self.piece_rows = pieces.tuples, pieces.rows
        own = task.frequencies.entries.tuples[pieces.tuples].astype(np.int64)
        _, first, self.slot_of = np.unique(own * groups + pieces.groups, return_index=True, return_inverse=True)
        # a slot: all pieces of one tuple in one group
        self.group_of = pieces.groups[first].copy()
        self.rows = np.bincount(self.slot_of, pieces.rows).astype(np.int64)
        self.is_whole = np.bincount(own[first], minlength=len(task.frequencies.base))[own[first]] == 1
        self.ranks = space.ranks[pieces.tuples[first]].astype(np.int64)
        self.blocks = block_of[pieces.tuples[first]]
        self.places = np.argsort(self.slot_of, kind="stable")
        self.starts = np.searchsorted(self.slot_of[self.places], np.arange(len(first) + 1))
        self.members: list[list[int]] = [[] for _ in range(groups)]
        for slot, group in enumerate(self.group_of.tolist()):
            self.members[group].append(slot)
        self.block_of_group = self.blocks[[slots[0] for slots in self.members]]
        ends = [self._ends(slots) for slots in self.members]
        self.low, self.high = (np.array(side) for side in zip(*ends, strict=True))
        self.sizes = np.bincount(self.group_of, self.rows, groups).astype(np.int64)
        self.costs = space.run_costs(self.low, self.high)

    def best_swap(self, group: int, is_safe: BoolArray) -> _Swap | None:
        """Return the cheapest swap found that makes a group safe; None if a merger is as cheap, or there is none."""
        swaps = self._swaps(group)
        if not swaps:
            return None
        partners = np.array([swap.partner for swap in swaps])
        added = self._costs_after(swaps) - (self.sizes * self.costs)[group] - (self.sizes * self.costs)[partners]
        cheap = [int(place) for place in np.argsort(added, kind="stable")[:TRIED]]
        judged = self._judge([slots for place in cheap for slots in (swaps[place].own, swaps[place].theirs)])
        for place, (is_own, is_theirs) in zip(cheap, judged.reshape(-1, 2).tolist(), strict=True):
            swap = swaps[place]
            if is_own and (is_theirs or not is_safe[swap.partner]):
                found = _Swap(group, swap.partner, swap.own, swap.theirs, is_theirs)
                return found if added[place] < self._cheapest_merger(group) else None
        return None

    def make(self, swap: _Swap) -> None:
        """Let both groups hold what a swap gives them."""
        for group, slots in ((swap.group, swap.own), (swap.partner, swap.theirs)):
            self.members[group] = slots
            self.group_of[slots] = group
            self.low[group], self.high[group] = self._ends(slots)
            self.sizes[group] = self.rows[slots].sum()
            self.costs[group] = self.space.run_costs(self.low[group][None], self.high[group][None])[0]

    def _swaps(self, group: int) -> list[_Swap]:
        """Return the swaps with tuples that make a group safe, near ones first, that leave k rows on both sides."""
        own, found = self.members[group], []
        for slot in self._helping(group):
            partner = int(self.group_of[slot])
            rest = [one for one in self.members[partner] if one != slot]
            left, more = int(self.sizes[partner] - self.rows[slot]), int(self.sizes[group] + self.rows[slot])
            if left >= self.k:
                found.append(_Swap(group, partner, [*own, slot], rest))
            for given in own:
                is_enough = left + self.rows[given] >= self.k and more - self.rows[given] >= self.k
                if self.is_whole[given] and is_enough:
                    kept = [one for one in own if one != given]
                    found.append(_Swap(group, partner, [*kept, slot], [*rest, given]))
        return found

    def _helping(self, group: int) -> list[int]:
        """Return tuples of other groups that would make a group safe, those first that widen it least."""
        is_near = (self.blocks == self.block_of_group[group]) & (self.group_of != group)
        others = np.flatnonzero(self.is_whole & is_near)
        low, high = np.minimum(self.ranks[others], self.low[group]), np.maximum(self.ranks[others], self.high[group])
        near = others[np.argsort(self.space.run_costs(low, high), kind="stable")[:LOOKED]].tolist()
        if not near:
            return []
        helps = self._judge([[*self.members[group], slot] for slot in near])
        return [slot for slot, does in zip(near, helps.tolist(), strict=True) if does][:HELPING]

    def _costs_after(self, swaps: Sequence[_Swap]) -> FloatArray:
        """Return what both groups of each swap cost after it."""
        sides = [slots for swap in swaps for slots in (swap.own, swap.theirs)]
        low, high = (np.array(side) for side in zip(*map(self._ends, sides), strict=True))
        rows = np.array([self.rows[slots].sum() for slots in sides])
        found: FloatArray = (self.space.run_costs(low, high) * rows).reshape(-1, 2).sum(axis=1)
        return found

    def _cheapest_merger(self, group: int) -> float:
        """Return what it would cost to merge a group with the cheapest other one."""
        low, high = np.minimum(self.low, self.low[group]), np.maximum(self.high, self.high[group])
        whole = (self.sizes + self.sizes[group]) * self.space.run_costs(low, high)
        added = whole - self.sizes * self.costs - self.sizes[group] * self.costs[group]
        is_other = (self.block_of_group == self.block_of_group[group]) & (np.arange(len(added)) != group)
        return float(added[is_other].min(initial=np.inf))

    def _judge(self, parts: Sequence[Sequence[int]]) -> BoolArray:
        """Return which sets of tuples are safe as groups."""
        places = [self.places[self.starts[slot] : self.starts[slot + 1]] for part in parts for slot in part]
        lengths = [sum(int(self.starts[slot + 1] - self.starts[slot]) for slot in part) for part in parts]
        own = np.concatenate(places)
        numbers = np.repeat(np.arange(len(parts)), lengths)
        return self.task.safe_parts(self.tuples[own], self.piece_rows[own], numbers, len(parts))

    def _ends(self, slots: Sequence[int]) -> tuple[IntArray, IntArray]:
        ranks = self.ranks[slots]
        return ranks.min(axis=0), ranks.max(axis=0)
