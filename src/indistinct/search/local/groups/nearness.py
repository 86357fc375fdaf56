"""What is near: the costs of columns as kernels take them, and near tuples, found by sorting in many orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray, UIntArray
from indistinct.progress import Watch
from indistinct.search.local.groups.kernels import near_tuples
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices
from indistinct.search.local.groups.space import NEVER, RANGE, RUN, SET, Space

Ranks = NDArray[np.int32]

NEAR, WINDOW = 8, 4
"""Each tuple knows so many near ones; it meets the next few in several orders."""
LEAST_ORDERS = 10
FEWEST_FAR = 64
"""So few tuples all meet each other."""
LENDERS = 3
LONGEST_TABLE = 100
SEED = 1


def lay_out_prices(space: Space, columns: IntArray) -> tuple[Prices, int]:
    """Lay the columns' costs out as the kernels take them; also give the words of a rank range."""
    lines, parts, at, rank_range = [], [], 0, 0
    for column in columns.tolist():
        values = int(space.sizes[column])
        kind, numbers = _numbers(space, column, values)
        lines.append((kind, rank_range, at, values))
        parts.append(numbers)
        at += len(numbers)
        rank_range += 1 + -(-values // 2**near_tuples.VALUES_A_WORD) if kind == near_tuples.SET else 2
    return Prices(np.array(lines, np.int64).reshape(-1, 4), np.concatenate(parts)), rank_range


def _numbers(space: Space, column: int, values: int) -> tuple[int, FloatArray]:
    """Return the kind and the costs of one column, see ``Prices``."""
    at, slope, start = int(space.table_at[column]), float(space.slopes[column]), float(space.starts[column])
    kind = int(space.kinds[column])
    if kind == SET:
        others = np.arange(values + 1)
        return near_tuples.SET, np.where(others > 0, start + slope * (others + 1), 0.0)
    if kind == RANGE:
        return near_tuples.RANGE, np.append(space.table[at : at + values] * slope, start + slope)
    assert kind == RUN
    if at >= 0 and values <= LONGEST_TABLE:
        return near_tuples.TABLE, space.table[at : at + values * values]
    alone, steps = _steps(space, column, values)
    rows = [alone, np.append(steps, 0.0)]
    length = 1
    while 2 * length < max(2, values):
        longer = rows[-1].copy()
        longer[:-length] = np.maximum(longer[:-length], rows[-1][length:])
        rows.append(longer)
        length *= 2
    return near_tuples.STEPS, np.concatenate(rows)


def _steps(space: Space, column: int, values: int) -> tuple[FloatArray, FloatArray]:
    """Return what each rank costs alone, and what it costs together with the next."""
    at = int(space.table_at[column])
    if at >= 0:
        table = space.table[at : at + values * values].reshape(values, values)
        return table.diagonal().copy(), table.diagonal(1).copy()
    steps = np.full(values - 1, NEVER)
    for level in range(int(space.heights[column]), -1, -1):
        codes = space.labels[column, level, :values]
        costs = space.label_costs[column, level][codes]
        steps = np.where(codes[:-1] == codes[1:], costs[:-1], steps)
    return space.label_costs[column, 0][space.labels[column, 0, :values]], steps


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds near tuples by sorting them in many ways."""

    sizes: IntArray
    prices: Prices
    watch: Watch
    near: int = NEAR

    def orders(self, ranks: Ranks) -> Iterator[IntArray]:
        """Return orders of the tuples by shuffled columns, each in turn the least significant, while there is time."""
        columns = ranks.shape[1]
        generator = np.random.default_rng(SEED)
        for turn in range(max(LEAST_ORDERS, columns)):
            if self.watch.time_is_up():
                return
            shuffled = generator.permutation(columns)
            last = turn % columns
            yield np.argsort(sort_keys(ranks, self.sizes, [*shuffled[shuffled != last].tolist(), last]), kind="stable")

    def nearest(self, ranks: Ranks) -> tuple[Ranks, NDArray[np.float32]]:
        """Return near tuples of each tuple, nearest first, and what a row costs with both."""
        near = np.full((len(ranks), self.near), NOBODY, np.int32)
        costs = np.full((len(ranks), self.near), np.inf, np.float32)
        if len(ranks) <= FEWEST_FAR:
            near_tuples.link(np.arange(len(ranks)), len(ranks), ranks, self.prices, near, costs)
            return near, costs
        for order in self.orders(ranks):
            near_tuples.link(order, WINDOW, ranks, self.prices, near, costs)
        if not self.watch.time_is_up():
            near_tuples.link_further(ranks, self.prices, near, costs)
        return near, costs

    def homes(self, ranks: Ranks, loose: int) -> tuple[Ranks, FloatArray]:
        """Return the homes, which stand after the loose tuples, that are nearest to each loose one."""
        number = min(LENDERS, len(ranks) - loose)
        homes = np.full((loose, number), NOBODY, np.int32)
        costs = np.full((loose, number), np.inf)
        for order in self.orders(ranks) if number else ():
            near_tuples.link_homes(order, ranks, self.prices, homes, costs)
        return homes, costs


def sort_keys(ranks: Ranks, sizes: IntArray, columns: Iterable[int]) -> UIntArray:
    """Return sort keys: the ranks of some columns, the first the most significant, as far as 64 bits go."""
    keys, bits = np.zeros(len(ranks), np.uint64), 0.0
    for column in columns:
        bits += np.log2(max(2, int(sizes[column])))
        if bits > 64:
            break
        keys = keys * np.uint64(sizes[column]) + ranks[:, column].astype(np.uint64)
    return keys
