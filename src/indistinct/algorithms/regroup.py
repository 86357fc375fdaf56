"""Regroup: groups of near rows, improved by ruining some and recreating them; the local algorithm to start with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.algorithms.base import Task
from indistinct.algorithms.partition import partitioned
from indistinct.algorithms.space import RANGE, RUN, Space
from indistinct.errors import PolicyError
from indistinct.frequency import IntArray, UIntArray
from indistinct.kernels import regrouping
from indistinct.kernels.regrouping import Log, Loose, Prices, State
from indistinct.quality import QualityMeasure, measure_named
from indistinct.quality.base import FloatArray
from indistinct.quality.cells import CellMeasure
from indistinct.recoding import LabelKind, LocalRecoding, Pieces
from indistinct.watch import Watch

Ranks = NDArray[np.int32]

NEAR, ORDERS, WINDOW = 8, 16, 6
"""Each tuple knows so many near ones, met in so many orders among the next few."""
FEWER_ORDERS, SMALLEST = 8, 64
"""Tuples that are far from all others also meet among themselves, halving by halving, down to so few."""
LENDERS = 3
PARCELS = 5
"""Rows of a tuple travel in parcels of k / 5 rows."""
MOST_RUINED = 4
REACH, MANY = 1.6, 10
"""A group is ruined by chance, the more likely the more it costs; large groups, which cost much time, more seldom."""
PASSES, ENOUGH = 12, 0.004
"""So many passes at most, and none after one that gained less than this share."""
SEED = 1
LONGEST_TABLE = 600


@dataclass(frozen=True, slots=True)
class Regroup:
    """Groups rows so that giving each group the lowest labels that cover it loses little; a few seconds, not exact.

    Near tuples are found by sorting in many orders of columns. Groups grow around tuples whose neighbours are near,
    each time by the tuple that widens the group's labels least. Then groups are improved: one that costs much is
    ruined together with some near it, and their rows are put together anew; what is no dearer is kept. Tuples with
    more than k rows lend the surplus to groups that are short. Passes end when little is gained, or at the time limit.

    ``measure`` is what counts: ncp, loss, precision or entropy. ``labels`` says what cells carry: labels of the
    ``"hierarchy"``, or ``"ranges"`` of numbers and dates and sets of other values, which lose far less.
    The same table gives the same groups.
    """

    name: ClassVar[str] = "regroup"

    measure: QualityMeasure | str = "ncp"
    labels: LabelKind = "hierarchy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", cell_measure(self.measure))
        check_labels(self.labels, self.measure)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Give the recoding to groups that no pass improved much."""
        assert isinstance(self.measure, CellMeasure)  # resolved when made
        return partitioned(task, watch, self.measure, self.labels, grouped)


def cell_measure(measure: QualityMeasure | str) -> CellMeasure:
    """Give the measure, or refuse one that does not add up over cells."""
    found = measure_named(measure)
    if not isinstance(found, CellMeasure):
        raise PolicyError(
            f"measure: groups are made one by one, so it must be ncp, loss, precision or entropy, not {found.name}"
        )
    return found


def check_labels(labels: object, measure: object = None) -> None:
    """Refuse a kind of labels that there is not, or that the measure cannot judge."""
    if labels not in ("hierarchy", "ranges"):
        raise PolicyError(f"labels: must be 'hierarchy' or 'ranges', got {labels!r}")
    if labels == "ranges" and isinstance(measure, CellMeasure) and measure.name not in ("ncp", "loss"):
        raise PolicyError("measure: ranges and sets are measured by 'loss' or 'ncp'")


def grouped(space: Space, k: int, watch: Watch) -> Pieces:
    """Group the tuples of a space into groups of at least k rows, at little cost."""
    counts = space.counts
    is_loose = counts < k
    whole = np.flatnonzero(~is_loose)
    if not is_loose.any():
        return Pieces(whole, counts, np.arange(len(whole)))
    order = np.argsort(space.sizes, kind="stable")
    sizes = space.sizes[order]
    own = np.flatnonzero(is_loose)
    own = own[np.argsort(_keys(space.ranks[own][:, order], sizes, range(len(order))), kind="stable")]
    lenders = np.flatnonzero(counts > k)
    members = np.concatenate([own, lenders])
    ranks = np.ascontiguousarray(space.ranks[members][:, order])
    prices, width = _prices(space, order)
    generator = np.random.default_rng(SEED)
    loose, floors = _neighbourhood(ranks, len(own), counts[members], k, sizes, prices, generator)
    parcels = _parcels(counts[own], k, loose.parcel_at)
    state = _state(parcels, width, counts[members], len(own), k)
    regrouping.gather(k, np.argsort(floors, kind="stable"), loose, state, prices)
    regrouping.settle(k, loose, state, prices)
    _improve(k, loose, state, prices, watch)
    return _pieces(space, k, whole, own, members, state)


def _improve(k: int, loose: Loose, state: State, prices: Prices, watch: Watch) -> None:
    """Go over all groups again and again as long as it pays."""
    room = (3 * MOST_RUINED + 8) * k + 64
    entries, width = room + MOST_RUINED + 64, state.boxes.shape[1]
    log = Log(
        np.zeros((entries, width), np.int32),
        np.zeros((entries, 3), np.int64),
        np.zeros(entries),
        np.zeros(entries, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros((MOST_RUINED + 1, 2), np.int64),
        np.zeros(4, np.int64),
    )
    for number in range(PASSES):
        watch.report("search", number, PASSES)
        before = _total(k, state)
        if before <= 0.0 or watch.time_is_up():
            return
        reach = REACH * max(1.0, k / MANY) * before / len(state.parcels)
        regrouping.regroup(k, MOST_RUINED, reach, loose, state, prices, log)
        regrouping.tighten(k, loose, state, prices)
        if before - _total(k, state) < ENOUGH * before:
            return


def _total(k: int, state: State) -> float:
    rows = state.facts[:, regrouping.ROWS]
    return float((np.maximum(rows, k) * state.costs)[rows > 0].sum())


def _prices(space: Space, order: IntArray) -> tuple[Prices, int]:
    """Lay the columns' costs out as the kernels take them; also give the width of a box."""
    lines, parts, at, box = [], [], 0, 0
    for column in order.tolist():
        values, kind, levels = int(space.sizes[column]), int(space.kinds[column]), 0
        slope, start = float(space.slopes[column]), float(space.starts[column])
        first = int(space.table_at[column])
        width = 2
        if kind == RUN and first >= 0:
            numbers = space.table[first : first + values * values]
        elif kind == RUN:
            kind, levels = regrouping.CLIMB, int(space.heights[column]) + 1
            codes = space.labels[column, :levels, :values].astype(np.int64)
            costs = [space.label_costs[column, level][codes[level]] for level in range(levels)]
            numbers = np.stack([codes.astype(np.float64), np.stack(costs)], axis=1).ravel()
        elif kind == RANGE:
            positions = space.table[first : first + values]
            if values <= LONGEST_TABLE:
                kind = regrouping.RUN
                spans = np.abs(positions[None, :] - positions[:, None]) + 1
                numbers = np.where(np.eye(values, dtype=np.bool_), 0.0, start + slope * spans).ravel()
            else:
                numbers = np.append(positions * slope, start + slope)
        else:
            numbers = np.where(np.arange(values + 1) > 0, start + slope * (np.arange(values + 1) + 1), 0.0)
            width = 1 + (values + 15) // 16
        lines.append((kind, box, at, values, levels))
        parts.append(numbers)
        at += len(numbers)
        box += width
    return Prices(np.array(lines, np.int64), np.concatenate(parts)), box


def _keys(ranks: Ranks, sizes: IntArray, columns: Iterable[int]) -> UIntArray:
    """Give sort keys: the ranks of some columns, the first the most significant, as far as 64 bits go."""
    keys, bits = np.zeros(len(ranks), np.uint64), 0.0
    for column in columns:
        bits += np.log2(max(2, int(sizes[column])))
        if bits > 64:
            break
        keys = keys * np.uint64(sizes[column]) + ranks[:, column].astype(np.uint64)
    return keys


def _orders(ranks: Ranks, sizes: IntArray, number: int, generator: np.random.Generator) -> Iterator[IntArray]:
    """Give orders of the tuples by their columns, shuffled, each column in turn the least significant."""
    columns = ranks.shape[1]
    for turn in range(number):
        shuffled = generator.permutation(columns)
        last = turn % columns
        yield np.argsort(_keys(ranks, sizes, np.append(shuffled[shuffled != last], last)), kind="stable")


def _nearest(
    ranks: Ranks, sizes: IntArray, orders: int, prices: Prices, generator: np.random.Generator
) -> tuple[Ranks, FloatArray]:
    """Give near tuples of each tuple, nearest first, and their distance."""
    near = np.full((len(ranks), NEAR), regrouping.NOBODY, np.int32)
    costs = np.full((len(ranks), NEAR), np.inf)
    if len(ranks) <= 2 * WINDOW:
        regrouping.link(np.arange(len(ranks)), len(ranks), ranks, prices, near, costs)
        return near, costs
    for order in _orders(ranks, sizes, orders, generator):
        regrouping.link(order, WINDOW, ranks, prices, near, costs)
    regrouping.link_further(ranks, prices, near, costs)
    return near, costs


def _neighbourhood(
    ranks: Ranks,
    loose: int,
    counts: IntArray,
    k: int,
    sizes: IntArray,
    prices: Prices,
    generator: np.random.Generator,
) -> tuple[Loose, FloatArray]:
    """Find who is near whom; also give what each loose tuple costs at least to find company."""
    own = np.ascontiguousarray(ranks[:loose])
    near, costs = _nearest(own, sizes, ORDERS, prices, generator)
    rows = np.cumsum(np.where(near >= 0, counts[near], 0), axis=1) + counts[:loose, None]
    floors = np.take_along_axis(costs, np.minimum((rows < k).sum(axis=1), NEAR - 1)[:, None], axis=1)[:, 0]
    lists = [(np.arange(loose), near)]
    far, distance = np.arange(loose), np.where(np.isfinite(costs[:, -1]), costs[:, -1], np.inf)
    while len(far) // 2 >= SMALLEST:
        far = np.sort(far[np.argsort(-distance[far], kind="stable")[: len(far) // 2]])
        among, _ = _nearest(np.ascontiguousarray(own[far]), sizes, FEWER_ORDERS, prices, generator)
        lists.append((far, np.where(among >= 0, far[among], regrouping.NOBODY).astype(np.int32)))
    degrees = np.zeros(loose, np.int64)
    for some, found in lists:
        degrees[some] += (found >= 0).sum(axis=1)
    near_at = np.append(0, np.cumsum(degrees))
    chained, fill = np.empty(int(near_at[-1]), np.int32), near_at[:-1].copy()
    for some, found in lists:
        regrouping.chain(some, found, chained, fill)
    number = LENDERS if loose < len(ranks) else 0
    lenders = np.full((loose, number), regrouping.NOBODY, np.int32)
    lender_costs = np.full((loose, number), np.inf)
    if number:
        for order in _orders(ranks, sizes, FEWER_ORDERS, generator):
            regrouping.link_lenders(order, loose, 2, ranks, prices, lenders, lender_costs)
    size = max(1, k // PARCELS)
    parcel_at = np.append(0, np.cumsum(-(-counts[:loose] // size)))
    return Loose(ranks, parcel_at, near_at, chained, lenders, lender_costs), floors


def _parcels(counts: IntArray, k: int, parcel_at: IntArray) -> IntArray:
    """Divide the rows of each loose tuple into parcels."""
    size = max(1, k // PARCELS)
    number = np.diff(parcel_at)
    parcels = np.full((int(parcel_at[-1]), 4), regrouping.NOBODY, np.int64)
    parcels[:, regrouping.TUPLE] = np.repeat(np.arange(len(counts)), number)
    parcels[:, regrouping.SIZE] = size
    parcels[parcel_at[1:] - 1, regrouping.SIZE] = counts - (number - 1) * size
    return parcels


def _state(parcels: IntArray, width: int, counts: IntArray, loose: int, k: int) -> State:
    """Give a state without groups; a group has a parcel, so there are never more than parcels."""
    most = len(parcels) + 8
    facts = np.full((most, 5), regrouping.NOBODY, np.int64)
    facts[:, regrouping.ROWS] = 0
    spare = np.where(np.arange(len(counts)) < loose, 0, counts - k)
    return State(
        np.zeros((most, width), np.int32),
        facts,
        np.zeros(most),
        parcels,
        spare.astype(np.int64),
        np.arange(most)[::-1].copy(),
        np.array([most, 12345, 0], np.int64),
    )


def _pieces(space: Space, k: int, whole: IntArray, own: IntArray, members: IntArray, state: State) -> Pieces:
    """Give the groups as pieces: whole tuples first, less what they lent, then the groups of loose ones."""
    tuples, rows = own[state.parcels[:, regrouping.TUPLE]], state.parcels[:, regrouping.SIZE]
    group_of = np.where(
        state.parcels[:, regrouping.GROUP] >= 0, state.parcels[:, regrouping.GROUP] + len(whole), regrouping.NOBODY
    )
    is_short = (state.facts[:, regrouping.LENDER] >= 0) & (state.facts[:, regrouping.ROWS] > 0)
    is_short &= state.facts[:, regrouping.ROWS] < k
    short = np.flatnonzero(is_short)
    lent_by = members[state.facts[short, regrouping.LENDER]]
    lent = k - state.facts[short, regrouping.ROWS]
    kept = space.counts[whole] - np.bincount(lent_by, lent, len(space.counts)).astype(np.int64)[whole]
    tuples = np.concatenate([whole, tuples, lent_by])
    rows = np.concatenate([kept, rows, lent])
    groups = np.concatenate([np.arange(len(whole)), group_of, short + len(whole)])
    groups = _placed(space, tuples, rows, groups)
    _, groups = np.unique(groups, return_inverse=True)
    pairs, where = np.unique(np.stack([tuples, groups.ravel()]), axis=1, return_inverse=True)
    return Pieces(pairs[0], np.bincount(where.ravel(), rows).astype(np.int64), pairs[1])


def _placed(space: Space, tuples: IntArray, rows: IntArray, groups: IntArray) -> IntArray:
    """Put what found no group, since nobody near it has one, where it costs least; if there is no group, into one."""
    lost = np.flatnonzero(groups < 0)
    if not len(lost):
        return groups
    groups = groups.copy()
    if len(lost) == len(groups):
        return np.zeros(len(groups), np.int64)
    numbers, place = np.unique(groups[groups >= 0], return_inverse=True)
    ranks = space.ranks[tuples].astype(np.int64)
    low = np.full((len(numbers), ranks.shape[1]), np.iinfo(np.int64).max)
    high = np.full((len(numbers), ranks.shape[1]), -1)
    np.minimum.at(low, place.ravel(), ranks[groups >= 0])
    np.maximum.at(high, place.ravel(), ranks[groups >= 0])
    sizes = np.bincount(place.ravel(), rows[groups >= 0])
    for one in lost.tolist():
        costs = space.run_costs(np.minimum(low, ranks[one]), np.maximum(high, ranks[one]))
        added = (sizes + rows[one]) * costs - sizes * space.run_costs(low, high)
        chosen = int(np.argmin(added))
        groups[one] = numbers[chosen]
        low[chosen], high[chosen] = np.minimum(low[chosen], ranks[one]), np.maximum(high[chosen], ranks[one])
        sizes[chosen] += rows[one]
    return groups
