"""Balanced charges: what rows are charged so that no balanced groups under labels of their own can cost less together.

In one table a combination of labels, a *box*, has one group, and m-invariance asks for its values equally often.
Charge rows what you like, none more than a suppressed row loses: a release costs at least what all rows are charged
less what each box can gain at the most, the charges of its best group beyond what that costs. Charges move towards the
highest such bound: rows that several boxes want are charged less, also less than nothing, rows that none wants more.

This is the Lagrangean dual of the program that column generation solves (Tobar, Castro and Gentile 2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, IntArray
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure, FloatArray
from indistinct.search.m_invariance.kernels import balanced_boxes
from indistinct.search.m_invariance.kernels.balanced_boxes import (
    BOXES,
    MEMBERS,
    NOWHERE,
    Bench,
    Charged,
    Ladders,
    Listed,
)
from indistinct.search.m_invariance.value_sets import Names

MOST_MEMBERS = 24_000_000
"""Boxes are listed, cheap nodes first, until they have so many members."""
MEMBERS_A_SECOND = 1_000_000
"""With a time limit, until they have so many for each second of it."""
MOST_NODES = 100_000
"""Of larger lattices no boxes are listed."""
MOST_KEYS = 1 << 62
AT_ONCE = 2_000_000
"""Members that are listed between two looks at the clock."""
MEMORY = 0.8
"""What boxes want is averaged over the last steps, so that charges do not swing to and fro."""
FIRST_STEP, LAST_STEP = 1.0, 0.05
"""Charges move by such a share of what a row costs in a known release."""
SOME = 4
"""Once in so many steps all boxes are looked at, else only those that gained something when they were."""
ENOUGH = 30
"""Charges after fewer steps tell too little to choose boxes by."""
FAR = 3.0
"""Charges whose bound falls by this share of what a release loses went too far."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Boxes:
    """Combinations of labels that hold rows of m values or more, cheap ones first."""

    order: IntArray
    """(entries,) entries by sensitive value: members of boxes are places in it."""
    values: IntArray
    """(entries,) the values, in this order."""
    listed: Listed
    nodes: IntArray
    """(nodes, columns) levels; those of boxes are numbers of them."""
    beyond: float
    """What a row costs at the least in boxes that are not listed."""

    @classmethod
    def of(
        cls, frequencies: FrequencyList, measure: CellMeasure, names: Names, values: IntArray, m: int, watch: Watch
    ) -> Boxes | None:
        """List boxes; ``values`` is the sensitive value of each entry. None if labels cannot be told apart so."""
        levels = [range(own.lowest, own.height + 1) for own in frequencies.hierarchies]
        is_large = math.prod(map(len, levels)) > MOST_NODES
        if is_large or math.prod(len(labels.texts) for labels, _ in names.columns) >= MOST_KEYS:
            return None
        order = np.argsort(values, kind="stable")
        ladders = _ladders(frequencies, measure, names, values[order].astype(np.int64), order)
        if ladders is None:
            return None
        nodes, least = _nodes(ladders, levels)
        entries = len(order)
        parts, number, first = list[Listed](), 0, 0
        most = MOST_MEMBERS if watch.time_limit is None else min(MOST_MEMBERS, int(MEMBERS_A_SECOND * watch.time_limit))
        while first < len(nodes) and number < most and not watch.time_is_up():
            end = min(len(nodes), first + max(1, AT_ONCE // entries))
            found = Listed.room((end - first) * (entries // m), (end - first) * entries)
            with np.errstate(over="ignore"):  # hashing wraps around
                balanced_boxes.list_boxes((end - first) * entries, first, nodes[first:end], m, ladders, found)
            parts.append(_cut(found))
            number, first = number + int(found.counters[MEMBERS]), end
        beyond = float(least[first]) if first < len(nodes) else np.inf
        return cls(order, ladders.values, _join_parts(parts), nodes, beyond)


def _cut(found: Listed) -> Listed:
    """Return what is listed without the room beyond it."""
    boxes, members = int(found.counters[BOXES]), int(found.counters[MEMBERS])
    return Listed(
        members=found.members[:members].copy(),
        starts=found.starts[: boxes + 1].copy(),
        costs=found.costs[:boxes].copy(),
        keys=found.keys[:boxes].copy(),
        nodes=found.nodes[:boxes].copy(),
        counters=found.counters,
    )


def _join_parts(parts: Sequence[Listed]) -> Listed:
    """Return all boxes in one list."""
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.starts) for part in parts)])
    return Listed(
        members=np.concatenate([np.zeros(0, np.int32), *(part.members for part in parts)]),
        starts=np.cumsum(sizes),
        costs=np.concatenate([np.zeros(0), *(part.costs for part in parts)]),
        keys=np.concatenate([np.zeros(0, np.int64), *(part.keys for part in parts)]),
        nodes=np.concatenate([np.zeros(0, np.int64), *(part.nodes for part in parts)]),
        counters=np.array([len(sizes) - 1, int(sizes.sum())]),
    )


def _ladders(
    frequencies: FrequencyList, measure: CellMeasure, names: Names, values: IntArray, order: IntArray
) -> Ladders | None:
    """Return keys and costs of labels; None if a text stands for other values at another level."""
    hierarchies = frequencies.hierarchies
    shape = len(hierarchies), max(len(p) for _, p in names.columns), max(len(own.values) for own in hierarchies)
    keys, costs = np.full(shape, NOWHERE, np.int64), np.zeros(shape)
    radix, kept = 1, measure.prepare(frequencies).per_label
    for column, (labels, places) in enumerate(names.columns):
        hierarchy = hierarchies[column]
        most = max(float(level.max()) for level in kept[column])
        members: dict[int, bytes] = {}
        for level in range(hierarchy.lowest, len(places)):
            own = places[level]
            is_new = np.ones(len(own), np.bool_)
            for place in np.unique(own).tolist():
                said = (own == place).tobytes()
                if members.setdefault(place, said) != said:
                    return None
            for lower in range(hierarchy.lowest, level):
                is_new &= places[lower] != own
            keys[column, level, : len(own)] = np.where(is_new, own * radix, NOWHERE)
            costs[column, level, : len(own)] = np.maximum(most - kept[column][level], 0.0)[hierarchy.maps[level]]
        radix *= len(labels.texts)
    codes = np.stack([frequencies.entry_codes(column)[order] for column in range(len(hierarchies))])
    return Ladders(np.ascontiguousarray(codes.astype(np.int32)), values, keys, costs)


def _nodes(ladders: Ladders, levels: Sequence[range]) -> tuple[IntArray, FloatArray]:
    """Return the nodes by what their labels cost at the least, and that."""
    cheapest = np.where(ladders.keys == NOWHERE, np.inf, ladders.costs).min(axis=2)
    nodes = np.array(list(product(*levels)), np.int64).reshape(-1, len(levels))
    least = np.sum([cheapest[column, nodes[:, column]] for column in range(len(levels))], axis=0)
    by_cost = np.argsort(least, kind="stable")
    by_cost = by_cost[np.isfinite(least[by_cost])]
    return np.ascontiguousarray(nodes[by_cost]), least[by_cost]


@dataclass(slots=True)
class Charging:
    """Charges of rows, and what boxes gain by them."""

    boxes: Boxes
    listed: Listed
    """The boxes with the entries that have rows left."""
    m: int
    rows: Charged
    most: float
    """No row is charged more."""
    bench: Bench
    average: FloatArray
    """(entries,) the share of an entry's rows that no box wants, of late."""
    gains: FloatArray
    """(boxes,) what each box gained when it was last looked at."""
    best: float = 0.0
    """The highest bound of all charges for which all boxes were looked at."""
    best_charges: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, boxes: Boxes, m: int, left: IntArray, charge: float, most: float) -> Charging:
        """Charge each of the rows that are left, in the order of entries, the same."""
        entries = len(boxes.order)
        charges = np.full(entries, min(charge, most))
        rows = Charged(boxes.values, left[boxes.order].astype(np.int64), charges, np.zeros(entries, np.int64))
        bench = Bench.of(int(boxes.values.max(initial=0)) + 1)
        return cls(boxes, boxes.listed, m, rows, most, bench, np.zeros(entries), np.zeros(len(boxes.listed.costs)))

    def weigh(self, which: IntArray) -> float:
        """Return what some boxes gain together."""
        own = np.zeros(len(which))
        total = float(balanced_boxes.weigh(which, self.listed, self.rows, self.m, self.bench, own))
        self.gains[which] = own
        return total

    def leave_out(self, is_free: NDArray[np.bool_]) -> None:
        """Leave out entries that have no rows left, and all those of boxes that are not free."""
        listed = self.listed
        is_kept = (self.rows.left > 0)[listed.members] & np.repeat(is_free, np.diff(listed.starts))
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_kept)])
        self.listed = listed._replace(members=listed.members[is_kept], starts=before[listed.starts])

    def note_bound(self, gained: float) -> float:
        """Return the bound, and remember the charges if it is the highest so far; all boxes together gain so much."""
        whole = float(np.abs(self.rows.charges) @ self.rows.left)
        bound = float(self.rows.charges @ self.rows.left) - gained - ROUNDING * (whole + gained)
        if bound > self.best:
            self.best, self.best_charges = bound, self.rows.charges.copy()
        return bound

    def move(self, pace: float) -> None:
        """Charge rows that boxes want less, and those that none wants more."""
        left, charges = self.rows.left, self.rows.charges
        lacking = np.where(left > 0, 1.0 - self.rows.wanted / np.maximum(left, 1), 0.0)
        self.average = MEMORY * self.average + (1.0 - MEMORY) * lacking
        charges[:] = np.minimum(charges + pace * np.clip(self.average, -2.0, 1.0), self.most)

    def raise_bound(self, scale: float, steps: int, watch: Watch) -> bool:
        """Move charges so many steps, or until time is up; ``scale`` is what a row costs on average somewhere.

        Tell whether there was time for enough steps; if that is seen not to be so, it ends at once.
        """
        everything = np.arange(len(self.gains))
        which, pace, far = everything, FIRST_STEP * scale, FAR * scale * float(self.rows.left.sum())
        began, step = watch.share_of_time(), 0
        for step in range(steps):
            watch.report("charge", step, steps)
            passed = watch.share_of_time() - began
            if watch.time_is_up() or (step == SOME and passed * ENOUGH > (1.0 - began) * SOME):
                break
            share = max(step / steps, began + passed)
            is_whole = step % SOME == 0 or step == steps - 1
            gained = self.weigh(everything if is_whole else which)
            if is_whole:
                which = np.flatnonzero(self.gains > 0.0)
                if self.note_bound(gained) < self.best - far:  # what was not looked at gained too much
                    self.rows.charges[:], self.average, pace = self.best_charges, 0.0 * self.average, pace / 2
                    continue
            if step < steps - 1:
                self.move(pace * (LAST_STEP / FIRST_STEP) ** share)
        return step >= min(ENOUGH, steps - 1)
