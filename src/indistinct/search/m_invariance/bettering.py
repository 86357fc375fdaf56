"""better_groups(): the balanced groups of m-invariance, bettered for as long as it is allowed.

Moves are tried that keep every group balanced, everybody in groups of her signature, and labels for one group alone.
What costs more is kept, too, with a chance that falls with what it costs and with the time that has passed: so the
search leaves dead ends. The best groups that were met are given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from indistinct.counting import IntArray
from indistinct.privacy import KAnonymity, MInvariance
from indistinct.privacy.models.m_invariance import Signed
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, Pieces
from indistinct.search.local.groups.anneal import TIME, Annealing
from indistinct.search.local.groups.nearness import Finder, lay_out_prices
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance.kernels import balanced_groups, balanced_moves
from indistinct.search.m_invariance.kernels.balanced_groups import ANY, FIXED, NOBODY, Groups, Rows, Trial
from indistinct.search.m_invariance.value_buckets import People
from indistinct.search.m_invariance.value_sets import Names, span
from indistinct.search.task import Task

WARM, COLD = 0.15, 0.01
"""What costs this share of an average group more is kept with a chance of 1 / e, at first and in the end."""
TURNS = 16
"""A try visits each row so often: a move takes as much less time than Regroup's."""
REACH = 1.6
"""Rows that cost so many times the average are tried at every turn, cheaper ones less often."""
NEAR = 48
"""Each point knows so many near ones."""
LARGEST = 60
"""Rows of groups with more values stay where they are."""
ROOM = 64
"""So many places for labels to each group: the more, the more rarely labels are taken for those of another group."""
SLICE = 50_000
"""Visits between two looks at the clock."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Seated:
    """Rows with what they are, and their groups."""

    entries: IntArray
    """(rows,)"""
    group_of: IntArray
    """(rows,) NOBODY where a row is in none."""
    labels: IntArray
    """(groups, columns) as names number them."""
    values: IntArray
    """(entries,) the sensitive value of each entry."""
    told: IntArray
    """(entries,) the signature that it must keep, ANY for new people."""

    @classmethod
    def of(cls, pieces: Pieces, labels: IntArray, people: People, number: int) -> Seated:
        """Return the rows of pieces of so many entries, and the groups that have some; groups have labels by number."""
        entries, group_of = np.repeat(pieces.tuples, pieces.rows), np.repeat(pieces.groups, pieces.rows)
        is_placed = group_of != SUPPRESSED
        used, dense = np.unique(group_of[is_placed], return_inverse=True)
        seats = np.full(len(entries), NOBODY)
        seats[is_placed] = dense.ravel()
        values, told = np.zeros(number, np.int64), np.full(number, ANY)
        values[people.entries], told[people.entries] = people.values, people.told
        return cls(entries, seats, labels[used], values, told)

    def span(self, space: Space) -> tuple[IntArray, IntArray]:
        """Return the lowest and the highest rank of each group in each column."""
        is_placed = self.group_of != NOBODY
        return span(space, self.entries[is_placed], self.group_of[is_placed], len(self.labels))

    def layers(self) -> Seated:
        """Divide each group into as many as it has rows of a value, one of each value in each, of the same labels."""
        is_placed = self.group_of != NOBODY
        order = np.lexsort((self.entries, self.values[self.entries], self.group_of))
        values, groups = self.values[self.entries][order], self.group_of[order]
        is_first = np.append(len(order) > 0, (values[1:] != values[:-1]) | (groups[1:] != groups[:-1]))
        starts = np.flatnonzero(is_first)
        turn = np.empty(len(order), np.int64)
        turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        most = int(turn.max(initial=0)) + 1
        found, group_of = np.unique(self.group_of[is_placed] * most + turn[is_placed], return_inverse=True)
        layered = np.full(len(self.group_of), NOBODY)
        layered[is_placed] = group_of.ravel()
        return replace(self, group_of=layered, labels=self.labels[found // most])

    def signs(self) -> IntArray:
        """Return a number for the values of each group, which has each once; groups of the same values have the
        same.
        """
        is_placed = self.group_of != NOBODY
        values = self.values[self.entries[is_placed]]
        with np.errstate(over="ignore"):  # hashing wraps around
            each = [balanced_groups.sign_of(value) for value in range(int(values.max(initial=-1)) + 1)]
        found = np.zeros(len(self.labels), np.int64)
        np.bitwise_xor.at(found, self.group_of[is_placed], np.array(each, np.int64)[values])
        return found


def better_groups(
    space: Space, names: Names, seated: Seated, fewest: int, annealing: Annealing, watch: Watch
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the entries of rows, their groups and the labels of those after moves; the same rows give the same groups.

    A group has at least so many rows. All together never cost more than before, and no more rows are in none.
    """
    columns = np.argsort(space.sizes, kind="stable")
    prices, width = lay_out_prices(space, columns)
    points, point_of = np.unique(space.ranks[:, columns], axis=0, return_inverse=True)
    point_of = point_of.ravel()[seated.entries]
    order = np.argsort(point_of, kind="stable")  # rows of a point stand together
    ranks = np.ascontiguousarray(points)
    near, _ = Finder(space.sizes[columns], prices, watch, min(NEAR, max(1, len(points) - 1))).nearest(ranks)
    entries = seated.entries[order]
    rows = Rows(
        ranks=ranks,
        points=point_of[order],
        values=seated.values[entries].astype(np.int64),
        told=seated.told[entries].astype(np.int64),
        near=near,
        row_at=np.searchsorted(point_of[order], np.arange(len(points) + 1)),
        names=names.by_rank(columns),
    )
    start = seated.layers()
    signs, lowest = start.signs(), names.labels(*start.span(space))
    start = replace(start, labels=_lower_labels(start.labels, lowest, signs))
    groups = _groups(start, rows, order, signs, columns)
    groups.binds[: len(lowest)][(lowest != start.labels).any(axis=1)] = FIXED
    trial = Trial(
        limits=np.array([fewest, LARGEST], np.int64),
        whole=np.array([space.whole_row]),
        boxes=np.zeros((2, width), np.int32),
        chosen=np.zeros(LARGEST, np.int64),
        homes=np.zeros(LARGEST, np.int64),
        columns=prices.columns,
        numbers=prices.numbers,
    )
    _anneal(rows, groups, trial, annealing, watch)
    group_of = np.empty(len(order), np.int64)
    group_of[order] = groups.group_of
    used = np.unique(group_of[group_of != NOBODY])
    number_of = np.full(len(groups.head), NOBODY)
    number_of[used] = np.arange(len(used))
    group_of = np.where(group_of == NOBODY, NOBODY, number_of[group_of])
    ended = replace(seated, group_of=group_of, labels=np.zeros((len(used), len(columns)), np.int64))
    labels = names.labels(*ended.span(space))
    kept = np.flatnonzero(groups.binds[used] == FIXED)  # they carry what they carried
    labels[kept] = start.labels[used[kept]]
    _, first, home_of = np.unique(names.numbers(labels), return_index=True, return_inverse=True)
    homes = np.where(group_of == NOBODY, SUPPRESSED, home_of.ravel()[group_of])
    return seated.entries, homes, labels[first]


def is_alone(task: Task, m: int) -> bool:
    """Return whether nothing is asked of groups but that they have m values, each equally often, and keep
    signatures.
    """
    everything = len(task.frequencies.columns)
    return all(
        len(one.columns) == everything
        and all(
            isinstance(model, MInvariance | Signed)
            or (isinstance(model, KAnonymity) and model.known is None and model.k <= m)
            for model in one.models
        )
        for one in task.requirements
    )


def _lower_labels(labels: IntArray, lowest: IntArray, signs: IntArray) -> IntArray:
    """Return groups their lowest labels, unless groups of other values have them."""
    found, numbers = labels.copy(), signs.tolist()
    owner = {row.tobytes(): number for row, number in zip(labels, numbers, strict=True)}
    for group in np.flatnonzero((lowest != labels).any(axis=1)).tolist():
        if owner.setdefault(lowest[group].tobytes(), numbers[group]) == numbers[group]:
            found[group] = lowest[group]
    return found


def _groups(start: Seated, rows: Rows, order: IntArray, signs: IntArray, columns: IntArray) -> Groups:
    """Lay out groups that have each value once, with room for as many again."""
    group_of, number = start.group_of[order], len(start.labels)
    most = max(1, 2 * number)
    placed = np.flatnonzero(group_of != NOBODY)
    values = rows.values[placed]
    has = np.zeros((most, 1 + int(rows.values.max(initial=0)) // 64), np.uint64)
    np.bitwise_or.at(has, (group_of[placed], values // 64), np.uint64(1) << (values % 64).astype(np.uint64))
    binds = np.full(most, ANY)
    np.maximum.at(binds, group_of[placed], rows.told[placed])
    after, head = np.full(len(group_of), NOBODY), np.full(most, NOBODY)
    by_group = placed[np.argsort(group_of[placed], kind="stable")]
    is_first = np.diff(group_of[by_group], prepend=NOBODY) != 0
    head[group_of[by_group[is_first]]] = by_group[is_first]
    after[by_group[:-1]] = np.where(is_first[1:], NOBODY, by_group[1:])
    groups = Groups(
        group_of=group_of,
        after=after,
        head=head,
        size=np.bincount(group_of[placed], minlength=most),
        binds=binds,
        places=np.zeros(most, np.int64),
        signs=np.append(signs, np.zeros(most - number, np.int64)),
        costs=np.zeros(most),
        has=has,
        taken=np.zeros((2, 1 << (ROOM * most).bit_length()), np.int64),
        free=np.concatenate([np.arange(number, most), np.zeros(number, np.int64)]),
        counters=np.array([most - number, SEED, 0], np.int64),
    )
    with np.errstate(over="ignore"):  # hashing wraps around
        balanced_groups.take_labels(np.ascontiguousarray(start.labels[:, columns]), groups)
    return groups


def _anneal(rows: Rows, groups: Groups, trial: Trial, annealing: Annealing, watch: Watch) -> None:
    """Move rows in place; in the end the groups are the best that were met."""
    total = least = balanced_groups.find_costs(rows, groups, trial)
    each = total / max(1, int((groups.size > 0).sum()))
    best, number = [part.copy() for part in groups], len(rows.points)
    turns = TURNS * annealing.tries
    for turn in range(turns):
        watch.report("anneal", turn, turns)
        share = watch.share_of_time() / TIME
        if least <= 0.0 or share >= 1.0 or watch.time_is_up():
            break
        heat = each * WARM * (COLD / WARM) ** max(turn / turns, share)
        for start in range(0, number, SLICE):
            visits = np.array([start, min(number, start + SLICE), 1])
            with np.errstate(over="ignore"):  # hashing wraps around
                total -= balanced_moves.move(visits, np.array([heat, REACH * total / number]), rows, groups, trial)
        if total < least:
            least = total
            for now, then in zip(groups, best, strict=True):
                then[:] = now
    for now, then in zip(groups, best, strict=True):
        now[:] = then
