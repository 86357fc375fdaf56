"""Regroup: groups of near rows, improved by building some of them anew; the local algorithm to start with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from indistinct.counting import IntArray
from indistinct.policy.algorithms import PredictionTarget, RegroupOptions
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.search.local.aligned_profiles import Aligning
from indistinct.search.local.groups.anneal import MOST_THREADS, Annealing, cool, descend
from indistinct.search.local.groups.kernels import first_groups, near_tuples, parcel_groups, regrouping
from indistinct.search.local.groups.kernels.acceptance import RANDOM, Pass
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices
from indistinct.search.local.groups.kernels.parcel_groups import (
    FREE,
    GROUP,
    HEAD,
    LENDER,
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
from indistinct.search.local.groups.nearness import FEWEST_FAR, NEAR, SEED, Finder, Ranks, lay_out_prices, sort_keys
from indistinct.search.local.groups.partition import blocks_of, partition_tuples, stay_safe
from indistinct.search.local.groups.repair_by_rebuilding import RepairByRebuilding
from indistinct.search.local.groups.space import Space
from indistinct.search.local.lower_for_known import lower_labels
from indistinct.search.local.mondrian import CutRows, Mondrian
from indistinct.search.target_of_rows import TargetOfRows, affordable_blocks
from indistinct.search.task import Task

CUTTING = 0.2
"""The share of a time limit that Mondrian may take; where it needs longer, groups grow as if there were no others."""
MANY_NEAR = 32
"""Near tuples that each tuple knows while groups are annealed."""
FEW_GROUPS = 1_000
"""So few groups are improved from both starts, know more near tuples and are annealed a little: that takes seconds."""
BRIEF_PASSES, BRIEF_WARM = 12, 0.03
"""The passes that anneal few groups, and the heat at first as a share of what an average group costs."""
PARCELS = 5
"""The rows of a tuple travel in parcels of k / 5 rows."""
MOST_PASSES, ENOUGH, PATIENCE = 64, 0.004, 2
"""Passes end after so many in a row that gained less than this share."""


class Regroup(RegroupOptions, Aligning):
    """Groups rows so that giving each group the lowest labels that cover it loses little; a few seconds, not exact.

    The first groups are Mondrian's. Then groups are improved: one that costs much is taken apart together with some
    near it, and their rows form new groups, which are kept if they cost no more. Tuples with more than k rows lend the
    surplus to groups that are short. Passes end when they gain little, or at the time limit. Up to 1,000 groups are
    also improved from another start, and the better answer is taken: groups that grow around tuples whose neighbours
    are near, each time by the tuple that widens the group's labels least. Near tuples are found by sorting in many
    orders of columns. The answer never loses more than Mondrian's, unless the time limit passes before that is made.

    ``measure`` is what counts: ncp, loss, precision or entropy. ``labels`` says what cells carry: labels of the
    ``"hierarchy"``, or ``"ranges"`` of numbers and dates and sets of other values, which lose far less.
    Where models ask about sensitive values, groups that fail are built anew with rows that bring what they lack.

    The same table gives the same groups. With ``random_raise`` chance raises some labels, so that none can be
    sharpened: about so many times as many as are generalized, which loses about that much more.

    With a ``target`` rows are first divided by the cuts of Mondrian that tell something of that column, see there, and
    groups are made and improved within these blocks: they tell as much of it and lose less. The search is not blind.

    Without a time limit the search ends after a minute, and the release says so. With one, groups are improved by
    simulated annealing for 85 % of it, in several threads. With ``effort`` each row that needs company is tried so
    often, in one thread; without a time limit the same table then gives the same groups.
    """

    __slots__ = ()

    bound_effort: ClassVar[int] = 600
    ends_after: ClassVar[float] = 60.0
    """Seconds after which passes end where no time limit is set; of most tables they have ended long before."""

    def group(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding to groups that no pass improved much."""
        assert isinstance(self.measure, CellMeasure)  # resolved when made
        # not within the minute, of which kernels that are compiled first would take most: a start is always the same
        mondrian = Mondrian(strict=self.target is not None, labels=self.labels, target=self.target)
        cut = mondrian.cut(task, watch.part(CUTTING))
        blocks = None if self.target is None else _safe_blocks(task, cut)
        watch = watch.ending_after(self.ends_after)
        annealing = Annealing.of(self.effort, watch)
        asks_sensitive = any(model.asks_sensitive for model in task.models)
        start = None if cut.is_cut_short and self.target is None else cut.pieces
        finish = None
        if asks_sensitive or task.counts_people:
            finish = RepairByRebuilding(self.measure, self.labels, watch, annealing, start)
        is_later = asks_sensitive and not task.counts_people  # rebuilt groups are annealed, and only rows are rebuilt
        group = partial(group_tuples, annealing=None if is_later else annealing)
        found = partition_tuples(task, watch, self.measure, self.labels, group, finish, start, blocks)
        if blocks is not None:
            found = self._within_alike(task, found, cut, blocks)
        if start is not None:
            cut_only = stay_safe(task, LocalRecoding.of_pieces(task.frequencies, start, self.labels), self.labels)
            found = min(found, cut_only, key=self.measure.loss)
        if watch.time_limit is None and watch.time_is_up():
            found = replace(found, is_cut_short=True)
        return lower_labels(task, found) if self.labels == "hierarchy" else found

    def _within_alike(self, task: Task, found: LocalRecoding, cut: CutRows, block_of: IntArray) -> LocalRecoding:
        """Return groups of which no more rows stand among their like than may be: some blocks keep Mondrian's."""
        named = PredictionTarget.of(self.target)
        if named is None or named.max_alike >= 1:
            return found
        target = TargetOfRows.of(task, named)
        pieces = affordable_blocks(target, (found.pieces, cut.pieces), block_of)
        return stay_safe(task, LocalRecoding.of_pieces(task.frequencies, pieces, self.labels), self.labels)


def _safe_blocks(task: Task, cut: CutRows) -> IntArray:
    """Return the blocks that cuts for a target made, or one if somebody who stands in several groups makes one fail."""
    is_in = cut.block_of != SUPPRESSED
    entries = np.flatnonzero(is_in)
    rows, number = task.frequencies.entries.counts[entries], int(cut.block_of.max(initial=-1)) + 1
    judged = task.without(~is_in).safe_parts(entries, rows, cut.block_of[entries], number)
    return cut.block_of if judged.all() else blocks_of(task)[0]


def group_tuples(space: Space, k: int, watch: Watch, annealing: Annealing | None = None) -> Pieces:
    """Group the tuples of a space into groups of at least k rows, at little cost."""
    loose_rows = _loose_rows(space, k)
    if not loose_rows.any():
        return Pieces(np.arange(len(space.counts)), space.counts, np.arange(len(space.counts)))
    columns = np.argsort(space.sizes, kind="stable")
    sizes = space.sizes[columns]
    prices, width = lay_out_prices(space, columns)
    own = np.flatnonzero(loose_rows)
    own = own[np.argsort(sort_keys(space.ranks[own][:, columns], sizes, range(len(columns))), kind="stable")]
    homes = np.flatnonzero(space.counts - loose_rows > k)
    members = np.concatenate([own, homes])
    ranks = np.ascontiguousarray(space.ranks[members][:, columns])
    has_few = int(loose_rows.sum()) <= FEW_GROUPS * k
    finder = Finder(sizes, prices, watch, MANY_NEAR if has_few else NEAR)
    loose, seeds = _neighbourhood(ranks, loose_rows[own], k, finder)
    spare = np.append(np.zeros(len(own), np.int64), (space.counts - loose_rows)[homes] - k)
    searches = []
    for is_given in _starts(space, has_few):
        groups = _without_groups(_parcels(loose_rows[own], loose.parcel_at, k), width, spare.copy(), k)
        if is_given and space.first_groups is not None:
            first_groups.take_over(k, space.first_groups[own], loose, groups, prices)
        else:
            first_groups.gather(k, seeds, loose, groups, prices)
        first_groups.settle(k, loose, groups, prices)
        searches.append(ParcelSearch(k, loose, groups, prices, watch))
        descend(searches[-1], MOST_PASSES, ENOUGH, PATIENCE)
    search = min(searches, key=ParcelSearch.total)
    if has_few:
        search.is_brief = True
        cool(search, BRIEF_PASSES, BRIEF_WARM)
        search.is_brief = False
    if annealing is not None:
        loose, _ = _neighbourhood(ranks, loose_rows[own], k, replace(finder, near=MANY_NEAR))
        loose = loose._replace(near_costs=np.empty(len(loose.near), np.float32))
        near_tuples.sort_links(loose.near_at, loose.near, loose.near_costs, ranks, prices)
        search.loose = loose
        search.share(annealing.threads)
        annealing.run(search, watch)
    return _pieces(space.counts - loose_rows, members, search.groups, k)


def _starts(space: Space, has_few: bool) -> tuple[bool, ...]:
    """Return with which first groups to begin: those that are given, or those that grow; with both if few are made."""
    if space.first_groups is None:
        return (False,)
    return (True, False) if has_few else (True,)


def _loose_rows(space: Space, k: int) -> IntArray:
    """Return the rows of each tuple that need company: all of a tuple with fewer than k, none of the others.

    If they are fewer than k in all, the tuple nearest to them gives what they lack, or all if too few would remain.
    """
    rows = np.where(space.counts < k, space.counts, 0)
    while 0 < rows.sum() < k:
        others = np.flatnonzero(rows == 0)
        ranks = space.ranks.astype(np.int64)
        lost = ranks[rows > 0]
        low, high = np.minimum(ranks[others], lost.min(axis=0)), np.maximum(ranks[others], lost.max(axis=0))
        nearest = others[np.argmin(space.run_costs(low, high))]
        lacking = k - rows.sum()
        rows[nearest] = lacking if space.counts[nearest] >= k + lacking else space.counts[nearest]
    return rows


# What is near.


def _neighbourhood(ranks: Ranks, counts: IntArray, k: int, finder: Finder) -> tuple[Loose, IntArray]:
    """Find who is near whom; also give the loose tuples, those first that find k rows nearby.

    Tuples far from all others need each other, though each has nearer ones among the rest: so the half that is
    farthest from its neighbours meets once more among itself, then the half of those, and so on.
    """
    own = np.ascontiguousarray(ranks[: len(counts)])
    far = np.arange(len(own))
    near, costs = finder.nearest(own)
    lists = [(far, near)]
    while len(far) // 2 >= FEWEST_FAR and not finder.watch.time_is_up():
        far = np.sort(far[np.argsort(-costs[far, -1], kind="stable")[: len(far) // 2]])
        lists.append((far, finder.nearest(np.ascontiguousarray(own[far]))[0]))
    degrees = np.zeros(len(own), np.int64)
    for members, found in lists:
        degrees[members] += (found != NOBODY).sum(axis=1)
    near_at = np.append(0, np.cumsum(degrees))
    links, ends = np.empty(int(near_at[-1]), np.int32), near_at[:-1].copy()
    for members, found in lists:
        near_tuples.write_links(members, found, ends, links)
    parcel_at = np.append(0, np.cumsum(-(-counts // _parcel_size(k))))
    rows_near = np.cumsum(np.where(near != NOBODY, counts[near], 0), axis=1) + counts[:, None]
    enough = np.minimum((rows_near < k).sum(axis=1), near.shape[1] - 1)
    seeds = np.argsort(np.take_along_axis(costs, enough[:, None], axis=1)[:, 0], kind="stable")
    homes = finder.homes(ranks, len(own))
    return Loose(ranks, parcel_at, near_at, links, np.empty(0, np.float32), *homes), seeds


# Groups.


def _parcel_size(k: int) -> int:
    return max(1, k // PARCELS)


def _parcels(counts: IntArray, parcel_at: IntArray, k: int) -> IntArray:
    """Divide the rows of each loose tuple into parcels; the last may be smaller."""
    number = np.diff(parcel_at)
    parcels = np.full((int(parcel_at[-1]), 4), NOBODY, np.int64)
    parcels[:, TUPLE] = np.repeat(np.arange(len(counts)), number)
    parcels[:, SIZE] = _parcel_size(k)
    parcels[parcel_at[1:] - 1, SIZE] = counts - (number - 1) * _parcel_size(k)
    return parcels


def _without_groups(parcels: IntArray, width: int, spare: IntArray, k: int) -> ParcelGroups:
    """Return a state in which all groups are free; a group holds a parcel, and k rows of its own or borrowed.

    Each thread that works on it needs one more than that.
    """
    most = min(len(parcels), int(parcels[:, SIZE].sum() + spare.sum()) // k) + MOST_THREADS
    facts = np.full((most, 6), NOBODY, np.int64)
    facts[:, ROWS] = facts[:, OWNER] = 0
    counters = np.zeros(4, np.int64)
    counters[FREE], counters[RANDOM] = most, SEED
    return ParcelGroups(
        rank_ranges=np.zeros((most, width), np.int32),
        facts=facts,
        costs=np.zeros(most),
        parcels=parcels,
        spare=spare,
        free=np.arange(most)[::-1].copy(),
        counters=counters,
    )


def _pieces(home_rows: IntArray, members: IntArray, groups: ParcelGroups, k: int) -> Pieces:
    """Return the groups as pieces: homes less what they lent, then the parcels, then what was lent to them."""
    rows, lenders = groups.facts[:, ROWS], groups.facts[:, LENDER]
    short = np.flatnonzero((lenders != NOBODY) & (rows > 0) & (rows < k))
    lent_by, lent = members[lenders[short]], k - rows[short]
    homes = np.flatnonzero(home_rows)
    kept = home_rows[homes] - np.bincount(lent_by, lent, len(home_rows)).astype(np.int64)[homes]
    tuples = np.concatenate([homes, members[groups.parcels[:, TUPLE]], lent_by])
    numbers = np.concatenate([np.arange(len(homes)), groups.parcels[:, GROUP] + len(homes), short + len(homes)])
    number_of, numbers = np.unique(numbers, return_inverse=True)
    pairs, places = np.unique(tuples * len(number_of) + numbers.ravel(), return_inverse=True)
    sizes = np.bincount(places.ravel(), np.concatenate([kept, groups.parcels[:, SIZE], lent])).astype(np.int64)
    return Pieces(pairs // len(number_of), sizes, pairs % len(number_of))


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
