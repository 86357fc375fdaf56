"""Rebuilding: groups that satisfy models on sensitive values at little cost, from groups that were made without them.

Where few groups of k rows satisfy a model, to merge those that fail loses far more than to choose other rows. So groups
are taken apart and built anew with rows that bring what a group lacks. What still fails is merged. If Mondrian's groups
cost less than that, these are taken instead; and either are improved in the same way, as long as it pays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import IntArray
from indistinct.policy.algorithms import LabelKind
from indistinct.privacy.kernels.rule_kinds import KINDS
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.search.full_domain.best_node.value_counter import has_rules, rules_by_codes
from indistinct.search.local.groups.anneal import Annealing, descend
from indistinct.search.local.groups.kernels import row_groups
from indistinct.search.local.groups.kernels.acceptance import Pass
from indistinct.search.local.groups.kernels.exchanging import RowsByKind
from indistinct.search.local.groups.kernels.near_tuples import NOBODY, Prices
from indistinct.search.local.groups.kernels.row_groups import WORK, GroupRules, Room, RowGroups
from indistinct.search.local.groups.nearness import SEED, Finder, lay_out_prices
from indistinct.search.local.groups.partition import made_safe, stay_safe
from indistinct.search.local.groups.space import Space
from indistinct.search.local.mondrian import Mondrian
from indistinct.search.task import Task

REACH = 1.6
"""Groups that cost so many times the average are always taken apart, cheaper ones less often."""
NEAR = 16
"""Each tuple knows so many near ones."""
LARGEST_POOL = 256
"""So many rows are built anew at once."""
PENALTY = 100.0
"""A row of a group that fails costs so many times what a row can cost at most."""
STEP = 7
"""A pass comes to every seventh row."""
MOST_PASSES, ENOUGH, PATIENCE = 10_000, 0.0004, 5
"""Passes end after so many in a row that gained less than this share, or mended less of what fails."""
SLICE = 1_000
"""Visits between two looks at the clock."""
FIRST = 0.5
"""The share of a time limit in which groups that fail may be mended; if it is not enough, Mondrian's are taken."""
MOST_WORK = 8_000
"""The descent ends when each row was compared with so many rows and groups, on average."""


@dataclass(frozen=True, slots=True)
class RepairByRebuilding:
    """Makes groups safe; how what they lose is measured, and how long it may take."""

    measure: CellMeasure
    labels: LabelKind
    watch: Watch
    annealing: Annealing | None
    cut: Pieces | None = None
    """Mondrian's groups, if they are known."""

    def __call__(self, task: Task, space: Space, block_of: IntArray, pieces: Pieces, groups: int) -> Pieces:
        """Return safe groups that cost little, and never more than Mondrian's; those given, if all of them are safe."""
        stays = pieces.groups != SUPPRESSED
        if task.safe_parts(pieces.tuples[stays], pieces.rows[stays], pieces.groups[stays], groups).all():
            return pieces
        cut = self.cut
        if cut is None:  # it takes seconds
            unlimited = replace(self.watch, time_limit=None, ends_after=None)
            cut = Mondrian(strict=False, labels=self.labels).cut(task, unlimited).pieces
        repair = GroupRepair.of(task, space, block_of, self.watch) if has_rules(task) else None
        first = self.watch.part(FIRST)
        found = pieces if repair is None else repair.rebuild_groups(pieces, first, None)
        best = cut
        if repair is None or not first.time_is_up():  # else most that fails would have to be merged, which takes long
            best = self._cheaper(task, self._made_safe(task, space, block_of, found), cut)
        if repair is None:
            return best
        mixed = self._made_safe(task, space, block_of, repair.rebuild_groups(best, self.watch, self.annealing))
        return self._cheaper(task, best, mixed)

    def _made_safe(self, task: Task, space: Space, block_of: IntArray, pieces: Pieces) -> Pieces:
        return made_safe(task, space, block_of, pieces, int(pieces.groups.max()) + 1)

    def _cheaper(self, task: Task, one: Pieces, other: Pieces) -> Pieces:
        """Return the pieces that lose less once they are released."""
        recodings = [LocalRecoding.of_pieces(task.frequencies, pieces, self.labels) for pieces in (one, other)]
        losses = [self.measure.loss(stay_safe(task, recoding, self.labels)) for recoding in recodings]
        return one if losses[0] <= losses[1] else other


@dataclass(frozen=True, slots=True)
class GroupRepair:
    """The rows of a task one by one, and what the kernel knows of them."""

    task: Task
    entries: IntArray
    """The entry of each row; those of a tuple stand together, and so do those of an entry."""
    lost: IntArray
    """Entries that are suppressed."""
    by_kind: RowsByKind
    prices: Prices
    width: int
    rules: GroupRules
    most: float
    """What a row can cost."""

    @classmethod
    def of(cls, task: Task, space: Space, block_of: IntArray, watch: Watch) -> GroupRepair:
        """Lay out the rows that are released."""
        listed = task.frequencies.entries
        order = np.argsort(listed.tuples, kind="stable")
        own = order[block_of[order] != SUPPRESSED]
        entries = np.repeat(own, listed.counts[own])
        columns = np.argsort(space.sizes, kind="stable")
        prices, width = lay_out_prices(space, columns)
        _, first, tuples = np.unique(listed.tuples[entries], return_index=True, return_inverse=True)
        ranks = np.ascontiguousarray(space.ranks[entries[first]][:, columns])
        near, _ = Finder(space.sizes[columns], prices, watch, NEAR).nearest(ranks)
        blocks = block_of[entries[first]]
        near[blocks[near] != blocks[:, None]] = NOBODY
        rules, kinds = _rules(task, entries)
        by_kind = RowsByKind(ranks, tuples.ravel().astype(np.int64), kinds, near, np.append(first, len(entries)))
        lost = np.flatnonzero(block_of == SUPPRESSED)
        return cls(task, entries, lost, by_kind, prices, width, rules, space.whole_row)

    def rebuild_groups(self, pieces: Pieces, watch: Watch, annealing: Annealing | None) -> Pieces:
        """Return groups that cost no more, and of which no more fail; the same pieces give the same groups."""
        groups, k = self._groups(pieces), self.task.largest_k()
        room = _room(k, self.width, self.rules)
        search = _RowSearch(self, groups, room, watch)
        descend(search, MOST_PASSES, ENOUGH, PATIENCE)
        if annealing is not None:
            annealing.run(search, watch)
        pairs, rows = np.unique(np.stack([self.entries, groups.group_of]), axis=1, return_counts=True)
        _, numbers = np.unique(pairs[1], return_inverse=True)
        return Pieces(
            np.append(pairs[0], self.lost),
            np.append(rows.astype(np.int64), self.task.frequencies.entries.counts[self.lost]),
            np.append(numbers.ravel(), np.full(len(self.lost), SUPPRESSED)),
        )

    def _groups(self, pieces: Pieces) -> RowGroups:
        """Return the groups of the rows as the kernel takes them, each in a random order."""
        tuples = self.task.frequencies.entries.tuples
        order = np.lexsort((pieces.tuples, tuples[pieces.tuples]))
        order = order[pieces.groups[order] != SUPPRESSED]
        group_of = np.repeat(pieces.groups[order], pieces.rows[order])
        numbers, group_of = np.unique(group_of, return_inverse=True)
        group_of, number, rows = group_of.ravel().astype(np.int64), len(numbers), len(group_of)
        most = max(number, rows // self.task.largest_k()) + 1
        shuffled = np.random.default_rng(SEED).permutation(rows)
        line = shuffled[np.argsort(group_of[shuffled], kind="stable")]
        starts = np.searchsorted(group_of[line], np.arange(number + 1))
        head, follow = np.full(most, NOBODY, np.int64), np.full(rows, NOBODY, np.int64)
        head[:number] = line[starts[:-1]]
        follow[line[:-1]] = line[1:]
        follow[line[starts[1:] - 1]] = NOBODY
        sizes, counters = np.zeros(most, np.int64), np.array([most - number, SEED, 0], np.int64)
        sizes[:number] = np.diff(starts)
        free = np.arange(most)[::-1].copy()
        groups = RowGroups(head, follow, group_of, sizes, np.zeros(most), free, counters, np.zeros(most, np.int64))
        row_groups.all_costs(self.by_kind, groups, self.prices, np.zeros((1, self.width), np.int32))
        is_safe = self.task.safe_parts(self.entries, np.ones(rows, np.int64), group_of, number)
        groups.costs[:number][~is_safe] += PENALTY * self.most
        return groups


@dataclass(slots=True)
class _RowSearch:
    """Groups of rows that ``anneal`` improves."""

    repair: GroupRepair
    groups: RowGroups
    room: Room
    watch: Watch

    @property
    def passes_a_try(self) -> int:
        return STEP

    @property
    def number_of_groups(self) -> int:
        return int((self.groups.sizes > 0).sum())

    def total(self) -> float:
        return float((self.groups.sizes * self.groups.costs).sum())

    def try_changes(self, number: int, heat: float) -> bool:
        """Take groups apart around some rows in all places, and build them anew."""
        repair, rows = self.repair, len(self.repair.entries)
        if heat == 0.0 and self.room.counters[WORK] >= MOST_WORK * rows:
            return False
        penalty = PENALTY * repair.most
        costs = np.where(self.groups.costs < penalty, self.groups.costs, 0.0)
        reach = REACH * float((self.groups.sizes * costs).sum()) / rows
        for start in range(number % STEP, rows, SLICE * STEP):
            self.watch.report(
                "mix", *((int(self.room.counters[WORK]), MOST_WORK * rows) if heat == 0.0 else (None, None))
            )
            if self.watch.time_is_up():
                return False
            visits = Pass(start, min(rows, start + SLICE * STEP), STEP, reach, heat)
            row_groups.rebuild_groups(
                visits, penalty, repair.by_kind, self.groups, repair.prices, repair.rules, self.room
            )
        return True

    def save(self) -> Any:
        return self.groups.group_of.copy()

    def restore(self, saved: IntArray) -> None:
        """Make the groups of the rows what they were; it is the end of the search, which needs no more than that."""
        self.groups.group_of[:] = saved


def _rules(task: Task, entries: IntArray) -> tuple[GroupRules, IntArray]:
    """Return the rules of all models, and the kind of each row; rows of a kind have the same sensitive values."""
    listed = task.frequencies.entries
    own = {name: listed.codes[name] for name in task.frequencies.sensitive}
    _, first, kinds = np.unique(np.stack(list(own.values())), axis=1, return_index=True, return_inverse=True)
    kinds = kinds.ravel().astype(np.int64)[entries]
    ways: list[IntArray] = []
    lines: list[tuple[float, float, float]] = []
    spans: list[tuple[int, int]] = []
    limits: list[NDArray[Any] | None] = []
    cells = 0
    for name, rules in rules_by_codes(task):
        codes = rules[0].codes_of(len(task.frequencies.sensitive[name].values))
        begin, cells = cells, cells + int(codes.max(initial=-1)) + 1
        ways += [begin + way[own[name][first]] for way in codes]
        lines += [(KINDS[rule.kind], rule.number, rule.second) for rule in rules]
        spans += [(begin, cells)] * len(rules)
        limits += [rule.limits for rule in rules]
    shares = np.ones((len(lines), cells))
    for number, (limit, (begin, end)) in enumerate(zip(limits, spans, strict=True)):
        if limit is not None:
            shares[number, begin:end] = limit
    counts = np.bincount(kinds, minlength=len(first))
    whole = sum(np.bincount(way, counts, cells) for way in ways) / len(entries)
    found = GroupRules(
        codes=np.stack(ways, axis=1).astype(np.int64),
        rules=np.array(lines, np.float64),
        spans=np.array(spans, np.int64),
        limits=shares,
        whole=np.asarray(whole, np.float64),
        lows=np.zeros(shares.shape),
        highs=np.zeros(shares.shape),
        present=np.zeros(len(lines), np.int64),
    )
    return found, kinds


def _room(k: int, width: int, rules: GroupRules) -> Room:
    cells, most = len(rules.whole), LARGEST_POOL // k + row_groups.MOST_APART + 2
    return Room(
        pool=np.zeros(LARGEST_POOL, np.int64),
        place=np.zeros(LARGEST_POOL, np.int64),
        bounds=np.zeros(LARGEST_POOL),
        tally=np.zeros((most, cells), np.int64),
        sizes=np.zeros(most, np.int64),
        costs=np.zeros(most),
        rank_ranges=np.zeros((most, width), np.int32),
        apart=np.zeros((row_groups.MOST_APART, 4), np.int64),
        values=np.zeros(cells + 1, np.int64),
        counts=np.zeros(cells + 1, np.int64),
        span=np.zeros(2, np.int64),
        rows=np.zeros(1, np.int64),
        dense=np.zeros(cells),
        counters=np.array([0, 0, 0, k, 0, 0], np.int64),
    )
