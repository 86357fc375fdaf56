"""m-invariance: groups of m values, each equally often, in which whoever was released before keeps her values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import IntArray
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import sensitive_columns
from indistinct.policy.algorithms import LabelKind, MInvariantOptions
from indistinct.privacy import MInvariance
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import SUPPRESSED, Classes, LocalRecoding, Pieces
from indistinct.recoding.classes import check_link
from indistinct.recoding.group_labels import used_labels
from indistinct.search.algorithm import Algorithm
from indistinct.search.local.groups.anneal import Annealing, descend
from indistinct.search.local.groups.kernels import exchanging
from indistinct.search.local.groups.kernels.acceptance import RANDOM, Pass
from indistinct.search.local.groups.kernels.exchanging import RowsByKind, Slots
from indistinct.search.local.groups.kernels.near_tuples import Prices
from indistinct.search.local.groups.nearness import Finder, lay_out_prices
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance.label_vectors import LabelledRows, fill_label_vectors
from indistinct.search.m_invariance.value_buckets import PeopleByValue, Pools, ValueSet
from indistinct.search.m_invariance.value_sets import NOBODY, Names, Placing, divide_bucket, span
from indistinct.search.task import Task
from indistinct.search.two_tables.anatomy import added_up

TRIES, WARM = 120, 0.04
"""Each row is tried so often while exchanges that cost a little more are accepted: that share of an average group at
first."""
MOST_PASSES, ENOUGH, PATIENCE = 280, 0.0005, 8
"""Afterwards passes end after so many in a row that gained less than this share."""
SEED = 1


def swap_rows(space: Space, entries: IntArray, group_of: IntArray, kinds: IntArray, watch: Watch) -> IntArray:
    """Return the group of each row after rows of the same kind have changed places; the same rows give the same groups.

    ``entries`` is the entry of each row, ``kinds`` its kind: an exchange never changes how many rows of a kind a group
    has. No group's labels need be cheaper than before, but all together never cost more.
    """
    columns = np.argsort(space.sizes, kind="stable")
    prices, width = lay_out_prices(space, columns)
    used, tuples = np.unique(entries, return_inverse=True)
    tuples = tuples.ravel()
    ranks = np.ascontiguousarray(space.ranks[used][:, columns])
    order = np.argsort(tuples, kind="stable")  # rows of a tuple stand together
    near, _ = Finder(space.sizes[columns], prices, watch).nearest(ranks)
    by_kind = RowsByKind(
        ranks=ranks,
        tuples=tuples[order],
        kinds=kinds[order],
        near=near,
        row_at=np.searchsorted(tuples[order], np.arange(len(used) + 1)),
    )
    search = _ExchangeSearch(by_kind, _slots(group_of[order]), prices, np.zeros((2, width), np.int32), watch)
    Annealing(TRIES, warm=WARM).run(search, watch)
    descend(search, MOST_PASSES, ENOUGH, PATIENCE)
    found = np.empty(len(entries), np.int64)
    found[order[search.slots.rows]] = search.slots.group_of
    return found


def _slots(group_of: IntArray) -> Slots:
    rows = np.argsort(group_of, kind="stable")
    groups = int(group_of.max(initial=-1)) + 1
    slot_of = np.empty(len(rows), np.int64)
    slot_of[rows] = np.arange(len(rows))
    counters = np.zeros(3, np.int64)
    counters[RANDOM] = SEED
    return Slots(
        rows=rows,
        slot_of=slot_of,
        group_of=group_of[rows],
        starts=np.searchsorted(group_of[rows], np.arange(groups + 1)),
        costs=np.zeros(groups),
        counters=counters,
    )


class _ExchangeSearch:
    """Groups whose rows change places, which ``anneal`` improves."""

    passes_a_try = 1

    def __init__(
        self, by_kind: RowsByKind, slots: Slots, prices: Prices, rank_ranges: NDArray[np.int32], watch: Watch
    ) -> None:
        self.by_kind, self.slots, self.prices, self.rank_ranges, self.watch = by_kind, slots, prices, rank_ranges, watch
        self._total = exchanging.all_costs(by_kind, slots, prices, rank_ranges)

    @property
    def number_of_groups(self) -> int:
        return len(self.slots.costs)

    def total(self) -> float:
        return self._total

    def try_changes(self, number: int, heat: float) -> bool:
        """Let all rows change places once."""
        self.watch.report("exchange", number, None)
        if self.watch.time_is_up():
            return False
        visits = Pass(0, len(self.slots.rows), 1, 0.0, heat)
        self._total -= exchanging.exchange(visits, self.by_kind, self.slots, self.prices, self.rank_ranges)
        return True

    def save(self) -> Any:
        return self.slots.rows.copy()

    def restore(self, saved: IntArray) -> None:
        """Make the groups those of some rows, and work out anew what they cost."""
        self.slots.rows[:] = saved
        self.slots.slot_of[saved] = np.arange(len(saved))
        self._total = exchanging.all_costs(self.by_kind, self.slots, self.prices, self.rank_ranges)


class MInvariant(MInvariantOptions, Algorithm):
    """Groups in which each of ``m`` or more sensitive values occurs equally often, for the model m-invariance.

    People whom the ledger knows from earlier releases come to *buckets* by their value set, the values that their
    groups had then. A bucket that lacks rows of some value gets new people with that value, those nearest to the rows
    it has; if there are not enough, people of its other values are suppressed. No made-up rows (*counterfeits*) are
    added: a release is true. Where one value is too frequent among new people, the surplus is suppressed.

    ``measure`` is what counts: ncp, loss, precision or entropy. In one table a group is known by its labels. So
    combinations of labels are looked at, cheap ones first, and each has one group: the rows under it of which equally
    many have each value, with the values of their value set, or ``m`` or more if they are new.

    For the few who find no place there, new people form buckets with the ``m`` values that most of them have, again and
    again, so many at a time that the rest can still do so. Buckets are divided into groups of nearby rows. Then rows of
    one value change places between groups; people who were released before stay in groups of their value set. Groups of
    different value sets that come to carry the same labels are joined with others of their value set, and if that is of
    no use suppressed. With ``two_tables`` groups are known by a number, so that nothing is lost in this way:
    quasi-identifiers are released as they are and sensitive values apart, as Anatomy does, and all rows are in buckets.
    The same table gives the same groups.

    Source: Xiao and Tao 2007, section 5; there counterfeits fill the gaps, and groups have labels and a number.
    """

    __slots__ = ()

    bound_effort: ClassVar[int] = 600

    @property
    def label_kind(self) -> LabelKind:
        return "hierarchy"

    def run(self, task: Task, watch: Watch) -> LocalRecoding | Classes:
        """Return the groups, or raise InfeasibleError if too many rows find no place."""
        assert isinstance(self.measure, CellMeasure)  # resolved when made
        frequencies = task.frequencies
        if self.two_tables:
            _check_two_tables(task)
        column, m = _asked_column(task)
        space = Space.of(frequencies, self.measure)
        people = PeopleByValue.of(task, space, column)
        lost: Counter[str] = Counter()
        pools = [Pools.of(people, block, m, lost) for block in range(int(people.blocks.max()) + 1)]
        names = None if self.two_tables else Names(frequencies, space)
        search = _Search(task, space, names, pools, m, lost, watch)
        found, refusals = list[_Found](), list[Counter[str]]()
        for labelled in self._labelled_rows(search):
            for answer, left_out in search.answers(labelled):
                if left_out.total() > task.budget or left_out.total() == frequencies.rows:
                    refusals.append(left_out)
                else:
                    found.append(answer)
            if found and frequencies.rows > FEW_ROWS:
                break
        if not found:
            raise _infeasible(task, m, min(refusals, key=Counter.total))
        if names is None:
            return Classes.of_pieces(frequencies, found[0].pieces(task))
        best = min((answer.recoding(task, names) for answer in found), key=self.measure.loss)
        return replace(best, is_cut_short=watch.time_is_up())

    def _labelled_rows(self, search: _Search) -> Iterator[LabelledRows]:
        """Return who has a place before buckets are divided; if too many rows are lost by it, nobody."""
        assert isinstance(self.measure, CellMeasure)  # resolved when made
        task, pools = search.task, search.pools
        if search.names is not None:
            found = fill_label_vectors(task, self.measure, search.names, pools, search.m, search.watch)
            yield found.only_safe(task, pools[0].people.entries)
        yield LabelledRows.nobody(len(pools[0].people.entries), len(task.frequencies.columns))


@dataclass(frozen=True, slots=True)
class _Search:
    """What is searched with."""

    task: Task
    space: Space
    names: Names | None
    pools: Sequence[Pools]
    m: int
    lost: Counter[str]
    """How many rows were left out before, by the reason."""
    watch: Watch

    def answers(self, labelled: LabelledRows) -> Iterator[tuple[_Found, Counter[str]]]:
        """Return groups of all rows, some of which have label vectors, and count who is left out by the reason."""
        lost = self.lost.copy()
        is_placed = labelled.group_of != NOBODY
        rest = _Rest.of(self.space, [one.without(is_placed, self.m, lost) for one in self.pools], self.m, self.watch)
        for group_of in rest.arrangements(self.names is not None, self.watch):
            answer = _with_the_rest(self.task, self.names, labelled, rest, group_of)
            yield answer, lost + Counter({NO_PLACE: int((answer.group_of == SUPPRESSED).sum())})


FEW_ROWS = 1_000
"""Up to so many rows buckets are also divided without label vectors, and the better release is given."""
NO_PLACE = "have no labels that no group with other values has, or fail another model"


@dataclass(frozen=True, slots=True)
class _Rest:
    """The rows that have no place in a label vector: groups of them by value set, which rows of one value may
    change."""

    space: Space
    people: PeopleByValue
    entries: IntArray
    group_of: IntArray
    value_sets: IntArray
    """The number of each group's value set."""

    @classmethod
    def of(cls, space: Space, pools: Sequence[Pools], m: int, watch: Watch) -> _Rest:
        """Divide the buckets of pools."""
        people = pools[0].people
        groups, value_sets = [], list[int]()
        number_of: dict[tuple[int, ValueSet], int] = {}
        for one in pools:
            for value_set, rows in one.buckets(m).items():
                number = number_of.setdefault((one.block, value_set), len(number_of))
                for group in divide_bucket(space, people.entries[rows], watch):
                    groups.append(group.ravel())
                    value_sets.append(number)
        sizes = [len(group) for group in groups]
        entries = np.concatenate([np.zeros(0, np.int64), *groups])
        return cls(space, people, entries, np.repeat(np.arange(len(groups)), sizes), np.array(value_sets, np.int64))

    def arrangements(self, is_labelled: bool, watch: Watch) -> Iterator[IntArray]:
        """Return the group of each row, and once more after exchanges, which matter where groups have labels."""
        yield self.group_of
        if is_labelled and len(self.entries) and not watch.time_is_up():
            yield swap_rows(self.space, self.entries, self.group_of, _kinds(self.people, self.entries), watch)


@dataclass(frozen=True, slots=True)
class _Found:
    """Groups of all rows that were not left out before."""

    entries: IntArray
    group_of: IntArray
    """SUPPRESSED where a row has no place."""
    labels: IntArray
    """(groups, columns) where groups have labels."""

    def pieces(self, task: Task) -> Pieces:
        """Return the groups of all rows; those that were left out before are in none."""
        missing = task.frequencies.entries.counts - np.bincount(self.entries, minlength=len(task.frequencies.entries))
        left_out = np.repeat(np.arange(len(missing)), missing)
        entries = np.concatenate([self.entries, left_out])
        return added_up(entries, np.concatenate([self.group_of, np.full(len(left_out), SUPPRESSED)]))

    def recoding(self, task: Task, names: Names) -> LocalRecoding:
        """Return every group its labels."""
        pieces, numbers = self.pieces(task).number_groups()
        found = [used_labels(labels, self.labels[numbers, column]) for column, (labels, _) in enumerate(names.columns)]
        codes = np.stack([codes for _, codes in found])
        return LocalRecoding.of_labels(task.frequencies, pieces, tuple(labels for labels, _ in found), codes)


def _with_the_rest(task: Task, names: Names | None, labelled: LabelledRows, rest: _Rest, group_of: IntArray) -> _Found:
    """Place the rest beside the groups that have label vectors; what is suppressed changes what some models compare
    with."""
    is_placed = labelled.group_of != NOBODY
    own, homes = rest.people.entries[is_placed], labelled.group_of[is_placed]
    placed, labels = np.zeros(0, np.int64), labelled.labels
    if len(rest.entries):
        placing = Placing(task, rest.space, rest.entries, group_of, rest.value_sets, names, labelled.labels)
        placed = _placed_in_what_is_left(placing, own)
        numbers, dense = np.unique(placed[placed != SUPPRESSED], return_inverse=True)
        if names is not None and len(numbers):
            ends = span(rest.space, rest.entries[placed != SUPPRESSED], dense.ravel(), len(numbers))
            labels = np.concatenate([labels, names.labels(*ends)])
        placed[placed != SUPPRESSED] = dense.ravel() + len(labelled.labels)
    entries, groups = np.concatenate([own, rest.entries]), np.concatenate([homes, placed])
    while any(model.asks_whole_table for model in task.models):
        left = groups != SUPPRESSED
        judged = _releasing(task, entries[left])
        ones, number = np.ones(int(left.sum()), np.int64), int(groups.max(initial=-1)) + 1
        is_safe = judged.safe_parts(entries[left], ones, groups[left], number)
        stays = left & is_safe[np.maximum(groups, 0)] if number else left
        if (stays == left).all():
            break
        groups = np.where(stays, groups, SUPPRESSED)
    return _Found(entries, groups, labels)


def _releasing(task: Task, entries: IntArray) -> Task:
    """Return the task of judging groups where just these rows are released."""
    frequencies = task.frequencies
    totals = {
        name: np.bincount(codes[entries], minlength=len(frequencies.sensitive[name].values))
        for name, codes in frequencies.entries.codes.items()
    }
    return replace(task, totals=totals)


def _placed_in_what_is_left(placing: Placing, others: IntArray) -> IntArray:
    """Return the group of each row; what is suppressed changes the table with which some models compare.

    ``others`` are the entries of rows that are released besides.
    """
    placed = np.arange(len(placing.entries))
    left = placed
    while True:
        placing.task = _releasing(placing.task, np.concatenate([placing.entries, others]))
        group_of = placing.group_of_each_row()
        placed = np.full(len(placed), SUPPRESSED)
        placed[left] = group_of
        stays = group_of != SUPPRESSED
        if stays.all() or not stays.any() or not any(model.asks_whole_table for model in placing.task.models):
            return placed
        left = left[stays]
        numbers, renumbered = np.unique(group_of[stays], return_inverse=True)
        placing = replace(
            placing, entries=placing.entries[stays], group_of=renumbered, value_sets=placing.value_sets[numbers]
        )


def _asked_column(task: Task) -> tuple[str, int]:
    """Return the sensitive column whose values are balanced, and how many of them a group must have."""
    models = [model for model in task.models if isinstance(model, MInvariance)]
    if not models:
        raise PolicyError("privacy: the algorithm m-invariance needs the model m-invariance, MInvariance(m)")
    columns = {column for model in models for column in sensitive_columns(model, task.policy)}
    if len(columns) > 1:
        raise PolicyError(
            f"privacy: m-invariance balances the values of one sensitive column; say which of "
            f"{', '.join(map(repr, sorted(columns)))} it is (column = …)"
        )
    return columns.pop(), max(model.m for model in models)


def _check_two_tables(task: Task) -> None:
    """Raise if the policy allows no release of two tables, or none in which equal people may be in several groups."""
    check_link(task.policy)
    asking = [model.name for model in task.models if model.least_rows > 1]
    if asking:
        raise PolicyError(
            f"privacy: {asking[0]} asks that equal quasi-identifiers share a class, which m-invariance in two tables "
            "cannot see to; leave it out, or release one table"
        )


def _kinds(people: PeopleByValue, entries: IntArray) -> IntArray:
    """Return each row its kind: new people of one block and value may stand for each other in every group.

    Those who were released before stand for others of their value and value set only.
    """
    row_of = np.zeros(int(people.entries.max()) + 1, np.int64)
    row_of[people.entries] = np.arange(len(people.entries))
    rows = row_of[entries]
    said = np.stack([people.blocks[rows], people.values[rows], people.told[rows]])
    return np.unique(said, axis=1, return_inverse=True)[1].ravel()


def _infeasible(task: Task, m: int, lost: Counter[str]) -> InfeasibleError:
    """Say why too many rows find no place."""
    if not lost.total():
        return task.infeasible(task.budget)
    reasons = "; ".join(f"{number} {why}" for why, number in lost.most_common() if number)
    return InfeasibleError(
        f"{lost.total()} of {task.frequencies.rows} rows find no group in which each of {m} values occurs equally "
        f"often, but the policy allows {task.budget} suppressed rows ({reasons}); allow more suppression, lower m, or "
        "release two tables (option two_tables)"
    )
