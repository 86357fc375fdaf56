"""m-invariance: groups of m values, each equally often, in which whoever was released before keeps her values."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from indistinct.algorithms.algorithm import Algorithm
from indistinct.algorithms.anatomy import added_up, hands, largest_limit
from indistinct.algorithms.partition import apart
from indistinct.algorithms.regroup import cell_measure
from indistinct.algorithms.seating import seat_rows
from indistinct.algorithms.signatures import Placing, divide_bucket
from indistinct.algorithms.space import Space
from indistinct.algorithms.task import Task
from indistinct.counting import IntArray
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import sensitive_columns
from indistinct.privacy import MInvariance
from indistinct.privacy.m_invariance import Signed
from indistinct.quality import QualityMeasure
from indistinct.quality.cell_losses import CellMeasure
from indistinct.recoding import SUPPRESSED, Classes, LocalRecoding, Pieces
from indistinct.recoding.classes import check_link
from indistinct.recoding.group_labels import LabelKind
from indistinct.watch import Watch

Signature = tuple[int, ...]
"""The codes of the values that a group has, in ascending order."""


@dataclass(frozen=True, slots=True)
class MInvariant(Algorithm):
    """Groups in which each of ``m`` or more sensitive values occurs equally often, for the model m-invariance.

    People whom the ledger knows from earlier releases come to *buckets* by their signature, the values that their
    groups had then. A bucket that lacks rows of some value gets new people with that value, those nearest to the rows
    it has; if there are not enough, people of its other values are suppressed. No made-up rows (*counterfeits*) are
    added: a release is true. The other new people form buckets with the ``m`` values that most of them have, again and
    again, so many at a time that the rest can still do so; where one value is too frequent, the surplus is suppressed.

    Buckets are divided into groups of nearby rows. Then rows of one value change places between groups; people who were
    released before stay in groups of their signature. ``measure`` is what counts: ncp, loss, precision or entropy. A
    group is known by its labels: those of different signatures that come to carry the same ones are joined with others
    of their signature, and if that is of no use suppressed. If the release is worse for the exchanges, they are undone.
    With ``two_tables`` groups are known by a number, so that nothing is lost in this way: quasi-identifiers are
    released as they are and sensitive values apart, as Anatomy does.
    The same table gives the same groups.

    Source: Xiao and Tao 2007, section 5; there counterfeits fill the gaps, and groups have labels and a number.
    """

    name: ClassVar[str] = "m-invariance"
    title: ClassVar[str] = "people keep their group's values (Xiao and Tao 2007)"
    makes_safe_groups: ClassVar[bool] = False

    measure: QualityMeasure | str = "ncp"
    two_tables: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", cell_measure(self.measure))
        if not isinstance(self.two_tables, bool):
            raise PolicyError(f"two_tables: must be true or false, got {self.two_tables!r}")

    @property
    def label_kind(self) -> LabelKind:
        return "hierarchy"

    def run(self, task: Task, watch: Watch) -> LocalRecoding | Classes:
        """Give the groups, or raise InfeasibleError if too many rows find no place."""
        assert isinstance(self.measure, CellMeasure)  # resolved when made
        frequencies = task.frequencies
        if self.two_tables:
            _check_two_tables(task)
        column, m = _asked_column(task)
        space = Space.of(frequencies, self.measure)
        people = _People.of(task, space, column)
        lost: Counter[str] = Counter()
        groups: list[IntArray] = []
        signatures: list[int] = []
        number_of: dict[tuple[int, Signature], int] = {}
        for block in range(int(people.blocks.max()) + 1):
            buckets = _buckets(people, np.flatnonzero(people.blocks == block), m, lost)
            for signature, rows in buckets.items():
                number = number_of.setdefault((block, signature), len(number_of))
                for group in divide_bucket(space, people.entries[rows], watch):
                    groups.append(group.ravel())
                    signatures.append(number)
            watch.report("search", sum(map(len, groups)), frequencies.rows)
        if not groups:
            raise _infeasible(task, m, lost)
        entries = np.concatenate(groups)
        group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        seatings = [group_of]
        if not self.two_tables and not watch.time_is_up():
            seatings.append(seat_rows(space, entries, group_of, _kinds(people, entries), watch))
        found, refusals = [], []
        for seated in seatings:
            placing = Placing(task, space, entries, seated, np.array(signatures), not self.two_tables)
            placed = _placed_in_what_is_left(placing)
            left_out = lost + Counter({NO_PLACE: int((placed == SUPPRESSED).sum())})
            if left_out.total() > task.budget or left_out.total() == frequencies.rows:
                refusals.append(left_out)
            else:
                found.append(_pieces(task, entries, placed))
        if not found:
            raise _infeasible(task, m, min(refusals, key=Counter.total))
        if self.two_tables:
            return Classes.of_pieces(frequencies, found[0])
        recodings = [LocalRecoding.of_pieces(frequencies, pieces) for pieces in found]
        return replace(min(recodings, key=self.measure.loss), is_cut_short=watch.time_is_up())


NO_PLACE = "have no labels that no group with other values has, or fail another model"


def _pieces(task: Task, entries: IntArray, placed: IntArray) -> Pieces:
    """Give the groups of all rows; those that were left out before are in none."""
    missing = task.frequencies.entries.counts - np.bincount(entries, minlength=len(task.frequencies.entries))
    left_out = np.repeat(np.arange(len(missing)), missing)
    return added_up(np.concatenate([entries, left_out]), np.concatenate([placed, np.full(len(left_out), SUPPRESSED)]))


def _placed_in_what_is_left(placing: Placing) -> IntArray:
    """Give the group of each row; what is suppressed changes the table with which some models compare."""
    placed = np.arange(len(placing.entries))
    entries = placing.task.frequencies.entries
    left = placed
    while True:
        totals = {
            name: np.bincount(codes[placing.entries], minlength=len(placing.task.frequencies.sensitive[name].values))
            for name, codes in entries.codes.items()
        }
        placing.task = replace(placing.task, totals=totals)
        group_of = placing.group_of_each_row()
        placed = np.full(len(placed), SUPPRESSED)
        placed[left] = group_of
        stays = group_of != SUPPRESSED
        if stays.all() or not stays.any() or not any(model.asks_whole_table for model in placing.task.models):
            return placed
        left = left[stays]
        numbers, renumbered = np.unique(group_of[stays], return_inverse=True)
        placing = replace(
            placing, entries=placing.entries[stays], group_of=renumbered, signatures=placing.signatures[numbers]
        )


def _asked_column(task: Task) -> tuple[str, int]:
    """Give the sensitive column whose values are balanced, and how many of them a group must have."""
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


@dataclass(frozen=True, slots=True)
class _People:
    """The rows of the table, one by one."""

    entries: IntArray
    values: IntArray
    """The code of each row's sensitive value."""
    told: IntArray
    """The place of each row's signature among ``signatures``, -1 for new people."""
    signatures: list[Signature | None]
    """None where a signature has a value that nobody has any more."""
    blocks: IntArray
    walk: IntArray
    """The place of each row in an order in which neighbours are mostly near."""

    @classmethod
    def of(cls, task: Task, space: Space, column: str) -> _People:
        frequencies = task.frequencies
        entries = np.repeat(np.arange(len(frequencies.entries)), frequencies.entries.counts)
        _, block_of = apart(frequencies)
        walk = np.empty(len(entries), np.int64)
        walk[np.lexsort(space.ranks[entries].T[::-1])] = np.arange(len(entries))
        told, signatures = np.full(len(entries), -1), list[Signature | None]()
        signed = next((model.column for model in task.models if isinstance(model, Signed)), None)
        if signed is not None:
            code_of = {value or "": code for code, value in enumerate(frequencies.sensitive[column].values)}
            texts = frequencies.sensitive[signed].values
            signatures = [None if text is None else _read_signature(text, code_of) for text in texts]
            codes = frequencies.entries.codes[signed][entries]
            told = np.where(np.array([text is None for text in texts])[codes], -1, codes)
        values = frequencies.entries.codes[column][entries]
        return cls(entries, values, told, signatures, block_of[entries], walk)


def _kinds(people: _People, entries: IntArray) -> IntArray:
    """Give each row its kind: new people of one block and value may stand for each other in every group.

    Those who were released before stand for others of their value and signature only.
    """
    row_of = np.zeros(int(people.entries.max()) + 1, np.int64)
    row_of[people.entries] = np.arange(len(people.entries))
    rows = row_of[entries]
    said = np.stack([people.blocks[rows], people.values[rows], people.told[rows]])
    return np.unique(said, axis=1, return_inverse=True)[1].ravel()


def _read_signature(text: str, code_of: dict[str, int]) -> Signature | None:
    """Give the signature that the ledger wrote as a JSON list of values; None if one of them has no row."""
    values = json.loads(text)
    return tuple(sorted(code_of[value] for value in values)) if all(value in code_of for value in values) else None


def _buckets(people: _People, rows: IntArray, m: int, lost: Counter[str]) -> dict[Signature, IntArray]:
    """Give the rows of each signature, a line for each value, all lines of the same length; count what is lost."""
    found: dict[Signature, list[IntArray]] = {}
    free = _Free.of(people, rows)
    by_signature: dict[Signature, IntArray] = {}
    for number in np.unique(people.told[rows]).tolist():
        own = rows[people.told[rows] == number]
        signature = people.signatures[number] if number >= 0 else ()
        if signature is None:
            lost["were released with values of which there are too few now"] += len(own)
        elif signature:
            by_signature[signature] = own
    for signature, own in sorted(by_signature.items(), key=lambda item: (-len(item[1]), item[0])):
        bucket, left_out = _balance_bucket(people, signature, own, m, free)
        lost.update(left_out)
        if bucket.size:
            found.setdefault(signature, []).append(bucket)
    limit = largest_limit(free.counts, m)
    lost[f"have values too frequent among new people for groups of {m}"] += int(
        np.maximum(free.counts - limit, 0).sum()
    )
    for signature, bucket in _dealt(free.rows_up_to(limit), m):
        found.setdefault(signature, []).append(bucket)
    return {signature: np.concatenate(buckets, axis=1) for signature, buckets in found.items()}


@dataclass(slots=True)
class _Free:
    """The new people of each value, in the order of the walk."""

    people: _People
    rows: list[IntArray] = field(default_factory=list)

    @classmethod
    def of(cls, people: _People, rows: IntArray) -> _Free:
        new = rows[people.told[rows] < 0]
        new = new[np.lexsort((people.walk[new], people.values[new]))]
        number = int(people.values.max()) + 1
        ends = np.searchsorted(people.values[new], np.arange(number + 1))
        return cls(people, [new[ends[value] : ends[value + 1]] for value in range(number)])

    @property
    def counts(self) -> IntArray:
        return np.array([len(rows) for rows in self.rows], np.int64)

    def take_rows(self, value: int, number: int, near: IntArray) -> IntArray:
        """Take so many people of a value out, near these places of the walk."""
        rows = self.rows[value]
        chosen = _nearest(self.people.walk[rows], number, near)
        self.rows[value] = np.delete(rows, chosen)
        return rows[chosen]

    def rows_up_to(self, limit: int) -> list[IntArray]:
        """Give at most so many people of each value, evenly over the walk."""
        return [rows[_spread(len(rows), min(limit, len(rows)))] for rows in self.rows]


def _balance_bucket(
    people: _People, signature: Signature, own: IntArray, m: int, free: _Free
) -> tuple[IntArray, dict[str, int]]:
    """Give as many rows of each value of a signature as can be, and count those that are left out by the reason."""
    is_apt = np.isin(people.values[own], signature)
    reasons = {"have other values now than when they were released": int((~is_apt).sum())}
    own = own[is_apt]
    own = own[np.argsort(people.walk[own], kind="stable")]
    known = [own[people.values[own] == value] for value in signature]
    counts = np.array([len(rows) for rows in known])
    each = int(min(counts.max(initial=0), (counts + free.counts[list(signature)]).min()))
    if len(signature) < m:
        return own[:0].reshape(0, 0), reasons | {f"were released in groups of fewer than {m} values": len(own)}
    lines = []
    for value, rows in zip(signature, known, strict=True):
        if len(rows) < each:
            more = free.take_rows(value, each - len(rows), people.walk[own])
            lines.append(np.concatenate([rows, more]))
        else:
            scarce = known[int(np.argmin(counts))]
            lines.append(rows[_nearest(people.walk[rows], each, people.walk[scarce])])
    left_out = int(np.maximum(counts - each, 0).sum())
    return np.stack(lines), reasons | {"were released with values of which there are too few now": left_out}


def _nearest(places: IntArray, number: int, goals: IntArray) -> IntArray:
    """Choose so many of ascending places, each once, near some of the ascending goals, evenly over them."""
    if not len(goals):
        return _spread(len(places), number)
    steps = np.arange(number)
    chosen = np.searchsorted(places, goals[_spread(len(goals), number)])
    chosen = np.maximum.accumulate(chosen - steps) + steps
    nearest: IntArray = np.minimum(chosen, len(places) - number + steps)
    return nearest


def _spread(available: int, number: int) -> IntArray:
    """Choose so many of the available places evenly; each once, if there are enough."""
    chosen: IntArray = (2 * np.arange(number) + 1) * available // (2 * max(1, number))
    return chosen


def _dealt(rows: list[IntArray], m: int) -> list[tuple[Signature, IntArray]]:
    """Give buckets of new people, of which no value may have more than one in ``m``.

    The rows of a value go to its buckets in turn, so that each bucket has rows from everywhere.
    """
    numbers = _numbers(np.array([len(own) for own in rows], np.int64), m)
    lines: dict[Signature, list[IntArray]] = {signature: [] for signature in numbers}
    for value, own in enumerate(rows):
        holders = [signature for signature in numbers if value in signature]
        if not holders:
            continue
        when = np.concatenate([(np.arange(numbers[holder]) + 0.5) / numbers[holder] for holder in holders])
        whose = np.repeat(np.arange(len(holders)), [numbers[holder] for holder in holders])
        turns = whose[np.argsort(when, kind="stable")]
        for number, holder in enumerate(holders):
            lines[holder].append(own[turns == number])
    return [(signature, np.stack(own)) for signature, own in lines.items()]


def _numbers(counts: IntArray, m: int) -> dict[Signature, int]:
    """Give how many rows of each of its values the buckets of new people get.

    The ``m`` most frequent values form a bucket, of so many rows each that no other value then has more than one in
    ``m`` of what is left. Few rows are left in the end; they are dealt one by one, as Anatomy does.
    """
    left = counts.copy()
    numbers: Counter[Signature] = Counter()
    while True:
        order = np.lexsort((np.arange(len(left)), -left))
        following = int(left[order[m]]) if len(order) > m else 0
        number = min(int(left[order[m - 1]]), int(left.sum()) // m - following) if len(order) >= m else 0
        if number < 1:
            break
        numbers[tuple(sorted(order[:m].tolist()))] += number
        left[order[:m]] -= number
    dealt = [set(hand) for hand in hands(left, m).tolist()]
    used = Counter(value for hand in dealt for value in hand)
    for value in np.flatnonzero(left).tolist():
        for _ in range(int(left[value]) - used[value]):
            min((hand for hand in dealt if value not in hand), key=len).add(value)
    numbers.update(tuple(sorted(hand)) for hand in dealt)
    return dict(numbers)


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
