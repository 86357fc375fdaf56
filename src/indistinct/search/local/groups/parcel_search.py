"""Groups of parcels while they are improved: by one thread, or by several that each have groups which lie together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from indistinct.progress import Watch
from indistinct.search.local.groups.kernels import parcel_groups, regrouping
from indistinct.search.local.groups.kernels.acceptance import RANDOM, Pass
from indistinct.search.local.groups.kernels.group_costs import Prices
from indistinct.search.local.groups.kernels.parcel_groups import (
    FREE,
    GROUP,
    HEAD,
    LOGGED,
    OWNER,
    ROWS,
    SIZE,
    THREAD,
    TICK,
    TUPLE,
    Loose,
    ParcelGroups,
)
from indistinct.search.local.groups.kernels.regrouping import TURN, RegroupScratch
from indistinct.search.local.groups.nearness import SEED

REACH, WARM_REACH = 1.6, 1.2
"""Groups that cost so many times the average are always taken apart, in a descent and while they are annealed."""
VISITS = 6
"""In a descent a pass comes to a group so often, on average."""
STEP = 7
"""While groups are annealed, a pass comes to every seventh parcel."""
SLICE = 20_000
"""Visits between two looks at the clock."""
FEWEST_GROUPS = 250
"""Each thread works on so many groups or more."""


@dataclass(slots=True)
class ThreadGroups:
    """The groups as one thread sees them, and where it works."""

    groups: ParcelGroups
    scratch: RegroupScratch


class ParcelSearch:
    """Groups of parcels that ``anneal`` improves."""

    passes_a_try = STEP

    def __init__(self, k: int, loose: Loose, groups: ParcelGroups, prices: Prices, watch: Watch) -> None:
        self.k, self.loose, self.groups, self.prices, self.watch = k, loose, groups, prices, watch
        self.parts = [ThreadGroups(groups, _scratch(k, groups))]
        self._rows = max(1, int(groups.parcels[:, SIZE].sum()))
        self.is_brief = False  # a pass that anneals comes to as few parcels as one of a descent
        self._generator = np.random.default_rng(SEED)
        self._refresh()

    @property
    def number_of_groups(self) -> int:
        return int((self.groups.facts[:, ROWS] > 0).sum())

    def total(self) -> float:
        return self._total

    def try_changes(self, number: int, heat: float) -> bool:
        """Take groups apart around some parcels, and build them anew."""
        parcels, step, reach = len(self.groups.parcels), STEP, WARM_REACH
        if heat == 0.0 or self.is_brief:
            step = max(1, parcels // (VISITS * self.number_of_groups))
        if heat == 0.0:
            reach = REACH
        if number % STEP == 0:
            self.divide()
        reach *= self._total / self._rows
        gained = 0.0
        for start in range(number % step, parcels, SLICE * step):
            if heat == 0.0:
                self.watch.report(f"improving groups, pass {number + 1}", start, parcels)
            if self.watch.time_is_up():
                return False
            visits = Pass(start, min(parcels, start + SLICE * step), step, reach, heat)
            gained += self._visit(visits)
        self._total -= gained
        if heat == 0.0 or number % STEP == STEP - 1:
            self._join()
            self._refresh()
        return True

    def save(self) -> ParcelGroups:
        self._join()
        return ParcelGroups(*(part.copy() for part in self.groups))

    def restore(self, saved: ParcelGroups) -> None:
        for now, then in zip(self.groups, saved, strict=True):
            now[:] = then
        self._refresh()

    def share(self, threads: int) -> None:
        """Let so many threads work from now on, or as many as there are groups for."""
        threads = max(1, min(threads, self.number_of_groups // FEWEST_GROUPS))
        if threads > 1:
            whole = self.parts[0].scratch
            self.parts = [
                ThreadGroups(_own(self.groups, thread), RegroupScratch(*(part.copy() for part in whole)))
                for thread in range(threads)
            ]

    def divide(self) -> None:
        """Return each thread groups that lie together, by other columns each time, and room for as many as they may be.

        Groups are put in the order of some columns, and cut where each thread gets as many rows.
        """
        number = len(self.parts)
        if number == 1:
            return
        whole, ranks = self.groups, self.loose.ranks
        self._join()
        facts, parcels = whole.facts, whole.parcels
        used = np.flatnonzero(facts[:, ROWS] > 0)
        some = ranks[parcels[facts[used, HEAD], TUPLE]]
        used = used[np.lexsort(some[:, self._generator.permutation(some.shape[1])].T)]
        rows = np.maximum(facts[used, ROWS], self.k)  # of its own or borrowed
        facts[used, OWNER] = owner = (np.cumsum(rows) - 1) * number // rows.sum()
        parcels_of = np.bincount(facts[parcels[:, GROUP], OWNER], minlength=number)
        free = whole.free[: whole.counters[FREE]]
        marks = max(int(part.groups.counters[TICK]) for part in self.parts)
        turns = max(int(part.scratch.counters[TURN]) for part in self.parts)
        for thread, part in enumerate(self.parts):
            groups = part.groups
            groups.spare[:] = (whole.spare + thread) // number
            most = int(rows[owner == thread].sum() + groups.spare.sum()) // self.k
            room = min(int(parcels_of[thread]), most) + 1 - int((owner == thread).sum())
            own, free = (free[:room], free[room:]) if thread < number - 1 else (free, free[:0])
            groups.free[: len(own)], groups.counters[FREE] = own, len(own)
            facts[own, OWNER] = thread
            groups.counters[TICK], part.scratch.counters[TURN] = marks, turns

    def _join(self) -> None:
        """Write into the whole what the threads keep for themselves."""
        if len(self.parts) == 1:
            return
        free = np.concatenate([part.groups.free[: part.groups.counters[FREE]] for part in self.parts])
        self.groups.free[: len(free)], self.groups.counters[FREE] = free, len(free)
        self.groups.spare[:] = sum(part.groups.spare for part in self.parts)

    def _visit(self, visits: Pass) -> float:
        """Return what all threads gain."""
        visit = partial(_visit_part, visits, self)
        if len(self.parts) == 1:
            return visit(self.parts[0])
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return sum(pool.map(visit, self.parts))

    def _refresh(self) -> None:
        self._total = float(parcel_groups.refresh(self.k, self.loose.ranks, self.groups, self.prices))


def _visit_part(visits: Pass, search: ParcelSearch, part: ThreadGroups) -> float:
    return regrouping.regroup(visits, search.k, search.loose, part.groups, search.prices, part.scratch)


def _own(groups: ParcelGroups, thread: int) -> ParcelGroups:
    """Return the groups as a thread takes them: all of it is free and spare for the first one."""
    spare, free, counters = groups.spare.copy(), groups.free.copy(), groups.counters.copy()
    counters[RANDOM] += thread
    counters[THREAD] = thread
    if thread > 0:
        spare[:], counters[FREE] = 0, 0
    return groups._replace(spare=spare, free=free, counters=counters)


def _scratch(k: int, groups: ParcelGroups) -> RegroupScratch:
    """Return room to work in; turns are counted on from those that groups are marked with."""
    most = regrouping.MOST_APART * (regrouping.LARGE + 1) * k
    logged = most + regrouping.MOST_APART + 1
    counters = np.zeros(5, np.int64)
    counters[TURN] = max(0, int(groups.facts[:, LOGGED].max(initial=0)))
    return RegroupScratch(
        pool=np.zeros(most, np.int64),
        taken=np.zeros(most, np.int64),
        taken_to=np.zeros((regrouping.MOST_APART, 2), np.int64),
        logged=np.zeros(logged, np.int64),
        rank_ranges=np.zeros((logged, groups.rank_ranges.shape[1]), np.int32),
        facts=np.zeros((logged, groups.facts.shape[1]), np.int64),
        costs=np.zeros(logged),
        trial=np.zeros((most, 2), np.int64),
        bounds=np.zeros(most),
        counters=counters,
    )
