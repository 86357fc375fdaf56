"""What local algorithms share: blocks that no label joins, and the way from a grouping of rows to a recoding.

A local algorithm only has to group the tuples of a space into groups of k rows or more. Here its groups are made safe
for every other model, by merging, and get their labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, IntArray
from indistinct.errors import InfeasibleError
from indistinct.policy.algorithms import LabelKind
from indistinct.progress import Watch
from indistinct.quality.measures import NCP, CellMeasure, within_unit
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.search.algorithm import Algorithm
from indistinct.search.local.groups.repair_by_swapping import swap_tuples
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows in groups, and what is proven about what they cost."""

    pieces: Pieces
    cost: float
    bound: float
    """No grouping costs less."""
    is_proven: bool


Grouping = Callable[[Space, int, Watch], Pieces | Partition]
"""Groups the tuples of a space into groups of at least so many rows."""
Finishing = Callable[[Task, Space, IntArray, Pieces, int], Pieces]
"""Makes so many groups safe for every model, within the block of each entry."""


def apart(frequencies: FrequencyList) -> tuple[list[int], IntArray]:
    """Return the columns that differ also at their highest level, and the number of each entry's labels there.

    Those are never generalized, or only up to a level that the policy demands.
    """
    tops = {column: hierarchy.maps[-1] for column, hierarchy in enumerate(frequencies.hierarchies)}
    fixed = [column for column, hierarchy in enumerate(frequencies.hierarchies) if len(hierarchy.labels[-1]) > 1]
    if not fixed:
        return fixed, np.zeros(len(frequencies.entries), np.int64)
    codes = np.stack([tops[column][frequencies.entry_codes(column)] for column in fixed])
    _, block_of = np.unique(codes, axis=1, return_inverse=True)
    return fixed, block_of.ravel().astype(np.int64)


class WithinBlocks(Algorithm):
    """Divides each block of tuples that may share a group, and gives its groups labels of the hierarchies."""

    __slots__ = ()

    @property
    def label_kind(self) -> LabelKind:
        return "hierarchy"

    def check_feasible(self, task: Task, watch: Watch) -> None:
        blocks_of(task)


def blocks_of(task: Task) -> tuple[IntArray, int]:
    """Return the block of each tuple, SUPPRESSED for those that cannot be released, and the number of blocks.

    Tuples that differ in a column which is never generalized can share no group. A block that fails even as one group
    must be suppressed; if that is more than the policy allows, there is no answer.
    """
    frequencies = task.frequencies
    entries = frequencies.entries
    fixed, block_of = apart(frequencies)
    number = int(block_of.max(initial=-1)) + 1
    is_safe = np.ones(number, np.bool_)
    while True:  # what is suppressed changes the table with which some models compare
        stays = np.flatnonzero(is_safe[block_of])
        left = task.without(~is_safe[block_of])
        judged = left.safe_parts(stays, entries.counts[stays], block_of[stays], number)
        if (judged == is_safe).all():
            break
        is_safe = judged
    lost = int(entries.counts[~is_safe[block_of]].sum())
    if lost > task.budget or lost == frequencies.rows:
        names = task.names_of(fixed)
        if not names:
            raise task.infeasible(task.budget)
        is_one, is_cut = len(names) == 1, any(frequencies.heights[column] for column in fixed)
        how = "generalized no further than the policy says" if is_cut else "never generalized"
        remedy = "raise max_level" if is_cut else f"give {'it a hierarchy' if is_one else 'them hierarchies'}"
        raise InfeasibleError(
            f"{', '.join(map(repr, names))} {'is' if is_one else 'are'} {how}, and {lost} of "
            f"{frequencies.rows} rows have values there that too few share; the policy allows {task.budget} suppressed "
            f"rows: allow more, or {remedy}"
        )
    new_numbers = np.where(is_safe, np.cumsum(is_safe) - 1, SUPPRESSED)
    return new_numbers[block_of], int(is_safe.sum())


ROUNDING = 1e-9
"""Losses that differ by less are the same."""


def partition_tuples(
    task: Task,
    watch: Watch,
    measure: CellMeasure,
    labels: LabelKind,
    group: Grouping,
    finish: Finishing | None = None,
    start: Pieces | None = None,
    given_blocks: IntArray | None = None,
) -> LocalRecoding:
    """Group the tuples of each block, make the groups safe for every model, and give them their labels.

    What makes them safe is ``made_safe``, if nothing else is given. A grouping may begin with the groups of ``start``.
    ``given_blocks`` are finer than need be, and safe.
    """
    frequencies = task.frequencies
    space = Space.of(frequencies, measure, labels)
    if start is not None:
        first_groups = np.full(len(space.counts), SUPPRESSED)
        first_groups[start.tuples] = start.groups
        space = replace(space, first_groups=first_groups)
    block_of = blocks_of(task)[0] if given_blocks is None else given_blocks
    blocks = int(block_of.max(initial=-1)) + 1
    task = task.without(block_of == SUPPRESSED)
    units = Units.of(frequencies, of_tuples=finish is not None)
    points, block_of_unit = units.points(space), block_of[units.first]
    order = np.argsort(block_of_unit, kind="stable")
    starts = np.searchsorted(block_of_unit[order], np.arange(blocks + 1))
    parts = [Pieces(order[: starts[0]], points.counts[order[: starts[0]]], np.full(starts[0], SUPPRESSED))]
    groups, bound, is_proven, is_bounded = 0, 0.0, True, True
    for block in range(blocks):
        own = order[starts[block] : starts[block + 1]]
        left = int(points.counts[order[starts[block] :]].sum())
        own_watch = watch.part(int(points.counts[own].sum()) / left) if blocks > 1 else watch
        found = group(points.only(own), task.largest_k(), own_watch)
        pieces = found.pieces if isinstance(found, Partition) else found
        is_bounded &= isinstance(found, Partition)
        if isinstance(found, Partition):
            bound += found.bound
            is_proven &= found.is_proven
        parts.append(Pieces(own[pieces.tuples], pieces.rows, pieces.groups + groups))
        groups += int(pieces.groups.max(initial=-1)) + 1
    pieces = units.in_rows(_join_parts(parts))
    safe = (finish or made_safe)(task, space, block_of, pieces, groups)
    recoding = stay_safe(task, LocalRecoding.of_pieces(frequencies, safe, labels), labels)
    if not is_bounded:
        return recoding
    is_proven &= safe is pieces
    if units.are_people or (bound == 0.0 and not is_proven):  # what was bounded is the cost of people, not of rows
        return replace(recoding, is_proven=False)
    least = within_unit(1.0 - (space.whole_row * recoding.released_rows - bound) / measure.prepare(frequencies).whole)
    gap = max(0.0, measure.loss(recoding) - least)
    # A label that reads the same on two levels counts as the higher one, which the groups were not chosen for.
    return recoding.with_gap(0.0 if is_proven and gap <= ROUNDING else gap)


def stay_safe(task: Task, recoding: LocalRecoding, labels: LabelKind) -> LocalRecoding:
    """Return a recoding whose groups are safe also after those that carry the same labels became one.

    Only where somebody stands in two of them can that spoil a model, since she counts once in the one that they become.
    """
    if not task.counts_people or task.is_monotone:
        return recoding
    block_of, _ = blocks_of(task)
    left = task.without(block_of == SUPPRESSED)
    space = Space.of(task.frequencies, NCP(), labels)
    while True:
        pieces = recoding.pieces
        safe = made_safe(left, space, block_of, pieces, recoding.number_of_groups)
        if safe is pieces:
            return recoding
        recoding = LocalRecoding.of_pieces(task.frequencies, safe, labels)


@dataclass(frozen=True, slots=True)
class Units:
    """What is grouped: the rows of an entry or of a tuple, or the people of entries that differ in the person alone.

    An algorithm that groups so many rows of a tuple, or people of a unit, need not know which they are. Somebody who
    stands in several units of a group is counted twice by it; few are, and their groups are merged with others
    afterwards.
    """

    first: IntArray
    """The first entry of each unit; those of a unit stand together."""
    counts: IntArray
    """The rows of each entry."""
    are_people: bool

    @classmethod
    def of(cls, frequencies: FrequencyList, *, of_tuples: bool) -> Units:
        """Return the units of a frequency list apart."""
        entries = frequencies.entries
        is_new = np.ones(len(entries), np.bool_)
        if of_tuples or entries.persons is not None:
            is_new[1:] = entries.tuples[1:] != entries.tuples[:-1]
        for name in frequencies.sensitive if entries.persons is not None else ():
            is_new[1:] |= entries.codes[name][1:] != entries.codes[name][:-1]
        return cls(np.flatnonzero(is_new), entries.counts, entries.persons is not None)

    def points(self, space: Space) -> Space:
        """Return the units as points, with the rows or the people of each."""
        if len(self.first) == len(self.counts):
            return space
        rows = self._lengths if self.are_people else np.add.reduceat(self.counts, self.first)
        return replace(space.only(self.first), counts=rows)

    def in_rows(self, pieces: Pieces) -> Pieces:
        """Return pieces of units as pieces of entries: so many rows or people of a unit go where it sends them.

        People go in their order. Of the rows of a tuple each of its groups gets some of every value, as far as they go.
        """
        if len(self.first) == len(self.counts):
            return pieces
        order = np.argsort(pieces.tuples, kind="stable")
        units, number, groups = pieces.tuples[order], pieces.rows[order], pieces.groups[order]
        each = np.repeat(np.arange(len(units)), number)
        entries = np.arange(len(self.counts))
        if self.are_people:
            assert (np.bincount(units, number) == self._lengths).all()
            return Pieces(entries, self.counts, groups[each])
        place = np.arange(len(each)) - np.repeat(np.cumsum(number) - number, number)
        dealt = np.lexsort((each, (place + 0.5) / number[each], units[each]))
        pairs = np.stack([np.repeat(entries, self.counts), groups[each[dealt]]])
        (tuples, found), rows = np.unique(pairs, axis=1, return_counts=True)
        return Pieces(tuples, rows.astype(np.int64), found)

    @property
    def _lengths(self) -> IntArray:
        """The entries of each unit."""
        return np.diff(np.append(self.first, len(self.counts)))


def _join_parts(parts: list[Pieces]) -> Pieces:
    return Pieces(
        np.concatenate([part.tuples for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.groups for part in parts]),
    )


MANY_FAILING = 300
"""Where rows are counted so many failing groups look at all others, however many these are."""
MOST_LOOKS = 20_000_000
"""Each failing group looks at all others, as long as these are fewer looks; more failing groups are paired off with
their neighbours first, all at once, which loses far more."""
PARTNERS = 8
"""So many groups that are cheap to join are tried, and one that makes both safe is preferred."""


def made_safe(task: Task, space: Space, block_of: IntArray, pieces: Pieces, groups: int) -> Pieces:
    """Let groups that fail a model swap tuples, then merge those that still fail with others, until none fails.

    They swap and merge within their block, at little cost. A whole block is safe, so this ends.
    """
    is_released = pieces.groups != SUPPRESSED
    tuples, rows = pieces.tuples[is_released], pieces.rows[is_released]
    group_of = pieces.groups[is_released]
    is_safe = task.safe_parts(tuples, rows, group_of, groups)
    if is_safe.all():
        return pieces
    if not task.counts_people:
        group_of = swap_tuples(task, space, block_of, Pieces(tuples, rows, group_of), is_safe).groups
        is_safe = task.safe_parts(tuples, rows, group_of, groups)
    while int((~is_safe).sum()) > max(0 if task.counts_people else MANY_FAILING, MOST_LOOKS // groups):
        group_of, groups = _pair_failing_groups(space, block_of, tuples, group_of, is_safe)
        is_safe = task.safe_parts(tuples, rows, group_of, groups)
    new_groups = pieces.groups.copy()
    new_groups[is_released] = _joined_one_by_one(task, space, block_of, Pieces(tuples, rows, group_of), is_safe)
    return Pieces(pieces.tuples, pieces.rows, new_groups)


def _pair_failing_groups(
    space: Space, block_of: IntArray, tuples: IntArray, group_of: IntArray, is_safe: BoolArray
) -> tuple[IntArray, int]:
    """Join each failing group with the next one in the order of their lowest ranks; return the groups and their number.

    The last one of a block joins the one before it.
    """
    low, _ = _ends(space, tuples, group_of, len(is_safe))
    block = np.zeros(len(is_safe), np.int64)
    block[group_of] = block_of[tuples]
    order = np.lexsort((*low.T[::-1], block))
    number = np.empty(len(is_safe), np.int64)
    current, is_open = -1, False
    for place, group in enumerate(order.tolist()):
        is_first = place == 0 or block[order[place - 1]] != block[group]
        is_last = place + 1 == len(order) or block[order[place + 1]] != block[group]
        joins = not is_first and (is_open or (is_last and not is_safe[group]))
        current += not joins
        number[group] = current
        is_open = not joins and not is_safe[group]
    return number[group_of], current + 1


def _joined_one_by_one(task: Task, space: Space, block_of: IntArray, pieces: Pieces, is_safe: BoolArray) -> IntArray:
    """Join failing groups, the smallest first, each with a cheap one that makes it safe, and return the groups."""
    tuples, rows, group_of = pieces.tuples, pieces.rows, pieces.groups
    groups = len(is_safe)
    block = np.zeros(groups, np.int64)
    block[group_of] = block_of[tuples]
    low, high = _ends(space, tuples, group_of, groups)
    sizes = np.bincount(group_of, rows, groups)
    costs = space.run_costs(low, high)
    goes_to = np.arange(groups)
    is_group = np.ones(groups, np.bool_)
    is_safe = is_safe.copy()
    while not is_safe.all():
        failing = np.flatnonzero(~is_safe)
        group = int(failing[np.lexsort((failing, sizes[failing]))[0]])
        others = np.flatnonzero((block == block[group]) & is_group)
        others = others[others != group]
        joined = space.run_costs(np.minimum(low[others], low[group]), np.maximum(high[others], high[group]))
        added = (sizes[others] + sizes[group]) * joined - sizes[others] * costs[others]
        cheap = others[np.argsort(added, kind="stable")[:PARTNERS]]
        members = [np.flatnonzero(goes_to[group_of] == one) for one in (group, *cheap.tolist())]
        together_safe = task.safe_parts(
            *_unions(tuples, rows, members),
            len(cheap),
        )
        best = int(np.argmax(together_safe))  # the first that is safe, or else the cheapest
        chosen = int(cheap[best])
        low[chosen], high[chosen] = np.minimum(low[chosen], low[group]), np.maximum(high[chosen], high[group])
        sizes[chosen] += sizes[group]
        costs[chosen] = space.run_costs(low[chosen][None], high[chosen][None])[0]
        goes_to[goes_to == group] = chosen
        is_group[group] = False
        is_safe[group] = True  # it is no group any more
        is_safe[chosen] = together_safe[best]
    return goes_to[group_of]


def _unions(tuples: IntArray, rows: IntArray, members: list[IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first set of pieces joined with each of the others, as parts."""
    own, others = members[0], members[1:]
    places = np.concatenate([np.concatenate([own, other]) for other in others])
    parts = np.repeat(np.arange(len(others)), [len(own) + len(other) for other in others])
    return tuples[places], rows[places], parts


def _ends(space: Space, tuples: IntArray, group_of: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest rank of each group in each column."""
    ranks = space.ranks[tuples].astype(np.int64)
    low = np.full((groups, ranks.shape[1]), np.iinfo(np.int64).max)
    high = np.full((groups, ranks.shape[1]), -1)
    np.minimum.at(low, group_of, ranks)
    np.maximum.at(high, group_of, ranks)
    return low, high


def together(task: Task, pieces: Pieces) -> Pieces:
    """Join groups that hold rows of the same tuple, as the classes of a release of two tables must be."""
    tuples = task.frequencies.entries.tuples[pieces.tuples]
    is_released = pieces.groups != SUPPRESSED
    number = int(pieces.groups.max(initial=-1)) + 1
    joined = _components(tuples[is_released], pieces.groups[is_released], len(task.frequencies.base), number)
    groups = pieces.groups.copy()
    groups[is_released] = joined[pieces.groups[is_released]]
    return Pieces(pieces.tuples, pieces.rows, groups)


def _components(tuples: IntArray, groups: IntArray, number_of_tuples: int, number_of_groups: int) -> IntArray:
    """Return each group the lowest number of the groups that it is linked with by shared tuples, near or far."""
    lowest = np.arange(number_of_groups)
    while True:
        by_tuple = np.full(number_of_tuples, number_of_groups)
        np.minimum.at(by_tuple, tuples, lowest[groups])
        by_group = lowest.copy()
        np.minimum.at(by_group, groups, by_tuple[tuples])
        by_group = by_group[by_group]
        if (by_group == lowest).all():
            return lowest
        lowest = by_group
