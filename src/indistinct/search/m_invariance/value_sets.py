"""Buckets of rows with the same value set: how they become groups, and how groups stay apart from each other.

A value set is a set of sensitive values. A bucket has equally many rows of each value of its value set, and so has
every group that is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import FrequencyList, IntArray
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED
from indistinct.recoding.group_labels import labels_of_all_levels
from indistinct.recoding.recoding import distinct
from indistinct.search.local.groups.space import Space
from indistinct.search.task import Task

AT_ONCE = 2_000_000
"""So many ranks are looked at together when cuts are tried."""
SPAN = 0.01
"""What the share of all ranks that a group spans counts beside the cost of its labels, which one cut may not lower."""
PARTNERS = 1_000
"""So many groups that are cheap to join are tried before rows are suppressed."""
NOBODY = -1


def divide_bucket(space: Space, bucket: IntArray, watch: Watch) -> Iterator[IntArray]:
    """Divide a bucket into groups of nearby rows, one of each value; fewer and larger ones when the time is up.

    ``bucket``, like each group, is (values, rows): the entries of its rows, those of one value in a line. A group is
    cut in one column: the first rows of each value in the order of that column go to one part, equally many of each
    value, and the others to the other. The cut of least cost is taken.
    """
    waiting = [bucket]
    while waiting:
        group = waiting.pop()
        if group.shape[1] == 1 or watch.time_is_up():
            yield group
        else:
            waiting += _best_cut(space, group)[::-1]


def _best_cut(space: Space, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the two parts that cost least together."""
    values, number = group.shape
    ranks = space.ranks[group].astype(np.int64)  # (values, rows, columns)
    columns = ranks.shape[2]
    least = np.inf
    at_a_time = max(1, AT_ONCE // ranks.size)
    edge = number // 8  # no long chain of tiny parts
    chosen, after = group, 0
    for first in range(0, columns, at_a_time):
        order = np.argsort(ranks[:, :, first : first + at_a_time], axis=1, kind="stable")
        in_order = ranks[np.arange(values)[:, None, None], order]  # (values, rows, sorted by, columns)
        costs = _costs_of_cuts(space, in_order.min(axis=0), in_order.max(axis=0))[edge : number - 1 - edge]
        by_column = costs.T  # of equal cuts the first column's, and there the first
        column, cut = np.unravel_index(int(np.argmin(by_column)), by_column.shape)
        if by_column[column, cut] < least:
            least, after = float(by_column[column, cut]), edge + int(cut) + 1
            chosen = np.take_along_axis(group, order[:, :, column], axis=1)
    return chosen[:, :after], chosen[:, after:]


def _costs_of_cuts(space: Space, low: IntArray, high: IntArray) -> FloatArray:
    """Return what both parts cost when cut after each row but the last; (rows - 1, sorted by)."""
    number, sorted_by, columns = low.shape

    def costs(lowest: IntArray, highest: IntArray) -> FloatArray:
        low_ends, high_ends = lowest.reshape(-1, columns), highest.reshape(-1, columns)
        spans = ((high_ends - low_ends) / space.sizes).sum(axis=1)
        flat: FloatArray = space.run_costs(low_ends, high_ends) + SPAN * spans
        return flat.reshape(-1, sorted_by)

    before = costs(np.minimum.accumulate(low)[:-1], np.maximum.accumulate(high)[:-1])
    after = costs(np.minimum.accumulate(low[::-1])[::-1][1:], np.maximum.accumulate(high[::-1])[::-1][1:])
    rows = np.arange(1, number)[:, None]
    both: FloatArray = rows * before + (number - rows) * after
    return both


@dataclass(slots=True)
class Placing:
    """Groups that must be told apart: in one table those of different value sets may not carry the same labels.

    ``entries``    the entry of each row
    ``group_of``   the group of each row
    ``value_sets`` the number of each group's value set; groups of one value set may be joined
    ``names``      what groups are known by; None if they have numbers, as in a release of two tables
    ``taken``      (groups, columns) labels that other groups have
    """

    task: Task
    space: Space
    entries: IntArray
    group_of: IntArray
    value_sets: IntArray
    names: Names | None
    taken: IntArray

    def group_of_each_row(self) -> IntArray:
        """Return the group of each row, SUPPRESSED where there is no place.

        Of groups with the same labels the largest stays. The others, and those that fail another model, are joined
        with one of their value set, the cheapest that gives free labels and satisfies every model.
        """
        names = self.names
        if names is not None:  # the same labels and the same value set: one group
            self._renumber(distinct(names.numbers(names.labels(*self._span())), self.value_sets)[1])
        low, high = self._span()
        number = len(self.value_sets)
        labels = np.arange(number) if names is None else names.numbers(names.labels(low, high))
        sizes = np.bincount(self.group_of, minlength=number)
        costs = self.space.run_costs(low, high)
        members = self._rows_of_groups()
        is_safe = self.task.safe_parts(self.entries, np.ones(len(self.entries), np.int64), self.group_of, number)
        owner = dict.fromkeys([] if names is None else names.numbers(self.taken).tolist(), NOBODY)
        for group in np.lexsort((np.arange(number), -sizes)).tolist():
            if is_safe[group]:
                owner.setdefault(int(labels[group]), group)
        is_placed = np.zeros(number, np.bool_)
        is_placed[[group for group in owner.values() if group != NOBODY]] = True
        goes_to = np.arange(number)
        for group in np.flatnonzero(~is_placed).tolist():
            if is_placed[group] or goes_to[group] != group:
                continue  # another one that had no place was joined with it
            others = np.flatnonzero((self.value_sets == self.value_sets[group]) & (goes_to == np.arange(number)))
            others = others[others != group]
            joined_low, joined_high = np.minimum(low[others], low[group]), np.maximum(high[others], high[group])
            joined_costs = self.space.run_costs(joined_low, joined_high)
            added = (sizes[others] + sizes[group]) * joined_costs - sizes[others] * costs[others]
            order = np.argsort(added, kind="stable")[:PARTNERS]
            known = labels[others[order]]
            if names is not None:
                known = names.known_numbers(names.labels(joined_low[order], joined_high[order]))
            for place, name in zip(order.tolist(), known.tolist(), strict=True):
                other = int(others[place])
                if owner.get(name, other) != other:
                    continue
                together = np.concatenate([members[group], members[other]])
                if not self._is_safe(together):
                    continue
                if owner.get(int(labels[other])) == other:
                    del owner[int(labels[other])]
                ends = joined_low[[place]], joined_high[[place]]
                labels[other] = name if names is None else names.numbers(names.labels(*ends))[0]
                owner[int(labels[other])], members[other] = other, together
                low[other], high[other], costs[other] = *(end[0] for end in ends), joined_costs[place]
                sizes[other] += sizes[group]
                goes_to[goes_to == group] = other
                is_placed[other] = True
                break
        goes_to = np.where(is_placed[goes_to], goes_to, SUPPRESSED)
        return goes_to[self.group_of]

    def _renumber(self, home_of: IntArray) -> None:
        """Let each group be part of the one with this number."""
        value_sets = np.zeros(int(home_of.max(initial=-1)) + 1, np.int64)
        value_sets[home_of] = self.value_sets
        self.group_of, self.value_sets = home_of[self.group_of], value_sets

    def _span(self) -> tuple[IntArray, IntArray]:
        return span(self.space, self.entries, self.group_of, len(self.value_sets))

    def _rows_of_groups(self) -> list[IntArray]:
        """Return the entries of each group's rows."""
        order = np.argsort(self.group_of, kind="stable")
        ends = np.searchsorted(self.group_of[order], np.arange(1, len(self.value_sets)))
        return np.split(self.entries[order], ends)

    def _is_safe(self, entries: IntArray) -> bool:
        """Return whether a group of these rows satisfies every model."""
        ones, zeros = np.ones(len(entries), np.int64), np.zeros(len(entries), np.int64)
        return bool(self.task.safe_parts(entries, ones, zeros, 1)[0])


class Names:
    """The labels that groups may carry: places for those of each column, and numbers for combinations of them."""

    def __init__(self, frequencies: FrequencyList, space: Space) -> None:
        self.columns = [labels_of_all_levels(frequencies, column) for column in range(len(frequencies.columns))]
        """The labels of each column, each text once, and the place of each value's: (levels, values)."""
        self.space = space
        self._frequencies, self._value_of = frequencies, space.value_of
        self._known: dict[bytes, int] = {}

    def numbers(self, labels: IntArray) -> IntArray:
        """Return a number for each combination of labels, the same for all that read the same."""
        known = self._known
        return np.array([known.setdefault(row.tobytes(), len(known)) for row in labels], np.int64)

    def known_numbers(self, labels: IntArray) -> IntArray:
        """Return the number of each combination, -1 for those that no group has had yet."""
        known = self._known
        return np.array([known.get(row.tobytes(), -1) for row in labels], np.int64)

    def labels(self, low: IntArray, high: IntArray) -> IntArray:
        """Return the places of the lowest labels over groups, from the lowest and highest rank in each column."""
        found = np.full(low.shape, -1)
        for column, (_, places) in enumerate(self.columns):
            for level in range(self._frequencies.hierarchies[column].lowest, len(places)):
                by_rank = places[level][self._value_of[column]]
                first = by_rank[low[:, column]]
                is_it = (found[:, column] < 0) & (first == by_rank[high[:, column]])
                found[is_it, column] = first[is_it]
        return found

    def at(self, nodes: IntArray, entries: IntArray) -> IntArray:
        """Return the places of the labels of entries, each at a node of its own: (entries, columns)."""
        found = [
            places[nodes[:, column], self._frequencies.entry_codes(column)[entries]]
            for column, (_, places) in enumerate(self.columns)
        ]
        return np.ascontiguousarray(np.stack(found, axis=1).astype(np.int64))


def span(space: Space, entries: IntArray, group_of: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest rank of each group in each column; no group is empty."""
    order = np.argsort(group_of, kind="stable")
    starts = np.searchsorted(group_of[order], np.arange(number))
    ranks = space.ranks[entries[order]].astype(np.int64)
    return np.minimum.reduceat(ranks, starts), np.maximum.reduceat(ranks, starts)
