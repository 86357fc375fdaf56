"""anneal_groups(): Regroup's groups, improved for as long as it is allowed.

Groups are taken apart and put together anew as before. What costs more is kept, too, with a chance that falls with what
it costs and with the time that has passed: so the search leaves dead ends. The best groups that were met are given.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.quality.measures import FloatArray
from indistinct.search.local.groups.kernels import parcel_groups, regrouping
from indistinct.search.local.groups.kernels.group_costs import Prices
from indistinct.search.local.groups.kernels.parcel_groups import (
    FREE,
    GROUP,
    HEAD,
    OWNER,
    RANDOM,
    ROWS,
    SIZE,
    THREAD,
    TICK,
    TUPLE,
    Groups,
    Loose,
)
from indistinct.search.local.groups.kernels.regrouping import Work
from indistinct.search.local.groups.nearness import SEED

WARM, COOLING, PLENTY = 0.4, 0.025, 40
"""What costs this share of an average group more is kept with a chance of 1 / e at first, and in the end this share of
that; where each parcel is tried less often than plenty, less is kept at first, but no less than half as much."""
REACH = 1.2
"""Groups that cost so many times the average are always taken apart, cheaper ones less often."""
MOST_TRIES = 1_000
"""With a time limit alone, each parcel is tried at most so often: small tables need no longer."""
TIME = 0.85
"""The share of a time limit after which it ends: the bound wants some of it, too."""
STEP = 7
"""A pass comes to every seventh parcel."""
MOST_THREADS, FEWEST_GROUPS = 4, 250
"""With a time limit alone so many threads work at once, each on so many groups or more."""


@dataclass(frozen=True, slots=True)
class Annealing:
    """How long groups are improved: so many tries for each parcel, or until most of the time limit has passed."""

    tries: int
    threads: int = 1
    """So many threads may work at once, each on groups that lie together; what they find then differs each time."""

    @classmethod
    def of(cls, effort: int, watch: Watch) -> Annealing | None:
        """Return what was asked for: an effort, or a time limit; None if neither was."""
        if effort:
            return cls(effort)
        return None if watch.time_limit is None else cls(MOST_TRIES, min(os.cpu_count() or 1, MOST_THREADS))

    def run(self, k: int, loose: Loose, groups: Groups, prices: Prices, work: Work, watch: Watch) -> None:
        """Improve the groups in place."""
        rows, visits = max(1, int(groups.parcels[:, SIZE].sum())), np.array([0, len(groups.parcels), STEP])
        total = least = parcel_groups.refresh(k, loose.ranks, groups, prices)
        best = _copy(groups)
        number_of_groups = int((groups.facts[:, ROWS] > 0).sum())
        each = total / max(1, number_of_groups)
        passes, begun = STEP * self.tries, watch.share_of_time() / TIME
        threads = max(1, min(self.threads, number_of_groups // FEWEST_GROUPS))
        parts = Parts.of(groups, work, threads)
        with ThreadPoolExecutor(threads) as pool:
            for number in range(passes):
                watch.report("anneal", number, passes)
                share = watch.share_of_time() / TIME
                if least <= 0.0 or share >= 1.0 or watch.time_is_up():
                    break
                if number % STEP == 0:
                    parts.divide(k, loose.ranks)
                visits[0] = number % STEP
                pace = np.array([REACH * total / rows, each * heat(number, passes, (share - begun) / (1.0 - begun))])
                visit = partial(_visit, visits, k, pace, loose, prices)
                total -= sum(pool.map(visit, parts.each) if threads > 1 else map(visit, parts.each))
                if number % STEP == STEP - 1:
                    parts.join()
                    total = parcel_groups.refresh(k, loose.ranks, groups, prices)
                if total < least:
                    parts.join()
                    least, best = total, _copy(groups)
        for now, then in zip(groups, best, strict=True):
            now[:] = then


def heat(number: int, passes: int, share: float) -> float:
    """Return what is kept in a pass, as a share of an average group, by the passes and by the time that have passed.

    >>> [round(heat(number, 7 * 40, 0.0), 3) for number in (0, 140, 280)]
    [0.4, 0.063, 0.01]
    >>> [round(heat(number, 7 * 1000, number / 70), 3) for number in (1, 35, 70)]
    [0.19, 0.032, 0.005]
    """
    progress = max(number / passes, share)
    tries = (number / progress if number else passes) / STEP
    return float(WARM * min(1.0, max(0.5, (tries / PLENTY) ** 0.5)) * COOLING**progress)


def _visit(
    visits: IntArray, k: int, pace: FloatArray, loose: Loose, prices: Prices, part: tuple[Groups, Work]
) -> float:
    groups, work = part
    return regrouping.regroup(visits, k, pace, loose, groups, prices, work)


@dataclass(frozen=True, slots=True)
class Parts:
    """The groups, divided among threads: each has groups that lie together, and may take no others apart."""

    whole: Groups
    each: list[tuple[Groups, Work]]
    generator: np.random.Generator

    @classmethod
    def of(cls, groups: Groups, work: Work, number: int) -> Parts:
        """Return so many parts; a single one is the whole."""
        each = [(groups, work)]
        if number > 1:
            each = [(_own(groups, thread), Work(*(part.copy() for part in work))) for thread in range(number)]
        return cls(groups, each, np.random.default_rng(SEED))

    def divide(self, k: int, ranks: IntArray) -> None:
        """Return each thread groups that lie together, by other columns each time, and room for as many as they may be.

        Groups are put in the order of some columns, and cut where each thread gets as many rows.
        """
        if len(self.each) == 1:
            return
        whole, number = self.whole, len(self.each)
        self.join()
        facts, parcels = whole.facts, whole.parcels
        used = np.flatnonzero(facts[:, ROWS] > 0)
        some = ranks[parcels[facts[used, HEAD], TUPLE]]
        used = used[np.lexsort(some[:, self.generator.permutation(some.shape[1])].T)]
        rows = np.maximum(facts[used, ROWS], k)  # of its own or borrowed
        facts[used, OWNER] = owner = (np.cumsum(rows) - 1) * number // rows.sum()
        parcels_of = np.bincount(facts[parcels[:, GROUP], OWNER], minlength=number)
        free = whole.free[: whole.counters[FREE]]
        marks = max(int(part.counters[TICK]) for part, _ in self.each)
        turns = max(int(work.counters[regrouping.TURN]) for _, work in self.each)
        for thread, (part, work) in enumerate(self.each):
            part.spare[:] = (whole.spare + thread) // number
            most = int(rows[owner == thread].sum() + part.spare.sum()) // k
            room = min(int(parcels_of[thread]), most) + 1 - int((owner == thread).sum())
            own, free = (free[:room], free[room:]) if thread < number - 1 else (free, free[:0])
            part.free[: len(own)], part.counters[FREE] = own, len(own)
            facts[own, OWNER] = thread
            part.counters[TICK], work.counters[regrouping.TURN] = marks, turns

    def join(self) -> None:
        """Write into the whole what the threads keep for themselves."""
        if len(self.each) == 1:
            return
        free = np.concatenate([part.free[: part.counters[FREE]] for part, _ in self.each])
        self.whole.free[: len(free)], self.whole.counters[FREE] = free, len(free)
        self.whole.spare[:] = sum(part.spare for part, _ in self.each)


def _own(groups: Groups, thread: int) -> Groups:
    """Return the groups as a thread takes them: all of it is free and spare for the first one."""
    spare, free, counters = groups.spare.copy(), groups.free.copy(), groups.counters.copy()
    counters[RANDOM] += thread
    counters[THREAD] = thread
    if thread > 0:
        spare[:], counters[FREE] = 0, 0
    return groups._replace(spare=spare, free=free, counters=counters)


def _copy(groups: Groups) -> Groups:
    return Groups(*(part.copy() for part in groups))
