"""raise_prices(): feasible prices of rows, raised towards the value of the linear program over all groups.

Prices are feasible if no group of k rows exceeds its cost. Their sum bounds what every release costs. A pass over all
cells makes any prices feasible: it multiplies each point's price by what the tightest of its cells allows. Between two
passes only tight cells are examined, and prices move: a point that keeps many others from rising lowers its own price.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.search.bounds.cost_grids import CostGrids
from indistinct.search.bounds.kernels import dual_feasibility as dual_feasibility
from indistinct.search.bounds.kernels.dual_ascent import GridCells
from indistinct.search.bounds.kernels.dual_feasibility import (
    CELLS,
    VISITS,
    DualPrices,
    FeasibilityScratch,
    Tight,
    Weights,
)

GROWTH = 1.25
"""Between two passes no price is raised by more than this."""
STEPS = 30
"""How often prices move after the first pass; after the second twice as often, and so on: less is left to gain."""
FIRST_STEP, LAST_STEP = 0.1, 0.01
MEMORY = 0.9
"""Weights are averaged over the last moves, so that prices do not swing to and fro."""
ENOUGH = 0.001
"""Passes end when one has gained less than this share."""
MOST_CELLS, MOST_MEMBERS = 200_000, 4_000_000
"""Tight cells that are looked at, and their points."""
LARGEST = 5_000_000
"""Points times k above which prices stay as they are: passes would take too much memory."""
AT_ONCE = 5_000_000
"""Points times nodes that are visited between two looks at the clock."""
ROUNDING = 1e-9
"""Prices are lowered by this share, so that rounding never makes a group pay too much."""


def raise_prices(grids: CostGrids, duals: FloatArray, k: int, most: float, watch: Watch) -> FloatArray:
    """Return prices that no group of at least k rows exceeds, of a larger sum if there is one, none above ``most``.

    It ends when a pass gains little, or when the time is up. The answer is the best that was proven by then.
    """
    best: FloatArray = np.minimum(duals, most)
    if len(best) * k > LARGEST:
        return best
    nodes = _NodeBatches(grids)
    values, total, steps = best, float(best @ grids.counts), 0
    while not watch.time_is_up():
        proven, tight = _pass(nodes, values, k, watch)
        proven = np.minimum(proven, most)
        found = float(proven @ grids.counts)
        gained = found - total
        if gained > 0:
            best, total = proven, found
        if (steps and gained <= ENOUGH * total) or watch.time_is_up():
            break
        steps += STEPS
        values = _Moving(grids.cells(k), k, steps, watch).run(tight, proven, np.minimum(values * GROWTH, most))
    return best


class _NodeBatches:
    """The nodes of covers, cheapest first, and their tables; kept from pass to pass."""

    def __init__(self, grids: CostGrids) -> None:
        self.grids = grids
        self._coming = grids.cheapest_first()
        self._least: list[FloatArray] = []
        self._tables: list[IntArray] = []

    def batch(self, number: int) -> tuple[FloatArray, IntArray] | None:
        """Return what the nodes of a batch cost at the least, and where their tables start; None if there are none."""
        if number == len(self._least):
            waiting = list(islice(self._coming, 1 + AT_ONCE // len(self.grids.counts)))
            if not waiting:
                return None
            self._least.append(np.array([cost for cost, _ in waiting]))
            self._tables.append(self.grids.tables_at([node for _, node in waiting]))
        return self._least[number], self._tables[number]


def _pass(nodes: _NodeBatches, values: FloatArray, k: int, watch: Watch) -> tuple[FloatArray, Tight]:
    """Return prices near some values that no group exceeds, and the cells that limit them.

    When time is up, no price is above what the next node costs at the least, so no group of it is priced too much.
    """
    order = np.argsort(-values, kind="stable")
    prices = DualPrices(values, order, np.full(len(values), GROWTH), GROWTH)
    work = FeasibilityScratch.of(len(values), k, len(nodes.grids.shares.limits))
    tight = Tight(
        costs=np.empty(MOST_CELLS),
        starts=np.zeros(MOST_CELLS + 1, np.int64),
        members=np.empty(MOST_MEMBERS, np.int32),
        counters=np.zeros(2, np.int64),
    )
    number, highest, level = 0, float(values.max(initial=0.0)) * GROWTH, np.inf
    while (batch := nodes.batch(number)) is not None and batch[0][0] < highest:
        if watch.time_is_up():
            level = float(batch[0][0])
            break
        least, tables = batch
        with np.errstate(over="ignore"):  # hashing wraps around
            dual_feasibility.limit(tables, least, nodes.grids.cells(k), prices, tight, k, work)
        number += 1
        watch.report("bound", int(tight.counters[VISITS]), None)
    proven: FloatArray = np.minimum(values * prices.factors, level) * (1.0 - ROUNDING)
    return proven, tight


@dataclass(frozen=True, slots=True)
class _Moving:
    """Moves prices between points, some steps, with the tight cells alone in sight."""

    cells: GridCells
    k: int
    steps: int
    watch: Watch

    def run(self, tight: Tight, start: FloatArray, highest: FloatArray) -> FloatArray:
        """Return prices of a larger sum that the tight cells allow, none above ``highest``."""
        values = best = start
        total, average = 0.0, np.zeros(len(start))
        for step in range(self.steps if tight.counters[CELLS] else 0):
            if self.watch.time_is_up():
                break
            weighed = Weights.of(len(values), int(tight.counters[CELLS]), len(self.cells.most))
            dual_feasibility.weigh(tight, self.cells, values, self.k, weighed)
            weights, factors = weighed.weights, np.minimum(weighed.factors, GROWTH)
            allowed = np.minimum(values * factors, highest)
            found = float(allowed @ self.cells.counts)
            if found > total:
                best, total = allowed, found
            average = weights if step == 0 else MEMORY * average + (1.0 - MEMORY) * weights
            pace = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (step / self.steps)
            wanted = np.clip(factors - average / self.cells.counts, -2.0, 1.0)
            values = np.minimum(allowed * np.exp(pace * wanted), highest)
        return best
