"""Pulling back: which rows return from a class's children to the class, so that what remains there is safe.

Many classes are worked on at once, step by step, so that every model judges all of them in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from indistinct.array_types import BoolArray, FloatArray
from indistinct.counting import IntArray
from indistinct.search.task import Task

GROWTH = 4
"""A remainder that has k rows grows by about this part of its own rows while each kind gives once."""

MOST_KINDS = 32
"""Of more kinds than these each gives as much as if they were so many."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Rows told apart by the sensitive values and the people that models ask about: all that they can see of them."""

    kind_of: IntArray
    """The kind of each entry."""
    examples: IntArray
    """An entry of each kind."""
    values: tuple[IntArray, ...]
    """For each sensitive column the value of each kind, and then its person, where people have several rows."""
    weights: tuple[FloatArray, ...]
    """For each sensitive column what the rows of each value are divided by to say how frequent it is."""
    shares: FloatArray | None
    """The share that each kind is to have in a remainder, where a model compares with the table; else all the same."""
    places: IntArray
    """The place of each entry when those of the tuples with fewest rows stand first."""

    @classmethod
    def of(cls, task: Task) -> Self:
        """Return the entries of a task's frequency list apart."""
        frequencies = task.frequencies
        entries, number = frequencies.entries, len(frequencies.entries)
        persons = [] if entries.persons is None else [entries.persons]
        told_apart = [np.zeros(number, np.int64), *(entries.codes[name] for name in frequencies.sensitive), *persons]
        values, examples, kind_of = np.unique(np.stack(told_apart), axis=1, return_index=True, return_inverse=True)
        totals = [frequencies.base.tallies[name].totals for name in frequencies.sensitive]
        is_relative = any(model.asks_whole_table and model.asks_sensitive for model in task.models)
        shares = [total[value] / frequencies.rows for total, value in zip(totals, values[1:], strict=False)]
        weights = [np.maximum(total, 1.0) if is_relative else np.ones(len(total)) for total in totals]
        return cls(
            kind_of.ravel(),
            examples,
            tuple(values[1:]),
            (*weights, *(np.ones(task.number_of_people()) for _ in persons)),
            np.min(shares, axis=0) if is_relative else None,
            np.argsort(np.lexsort((np.arange(number), frequencies.base.sizes[entries.tuples]))),
        )

    def __len__(self) -> int:
        return len(self.examples)


@dataclass(frozen=True, slots=True)
class Cases:
    """Classes that were specialised: so many rows of some entries, in children by their label, or fallen back."""

    case_of: IntArray
    entries: IntArray
    rows: IntArray
    labels: IntArray
    is_back: BoolArray


class PullingBack:
    """Cases whose children are safe and whose remainders are not, until the remainders are safe, too.

    The rule is told in TopDown; here is how many rows are given at a time. While each kind gives once, the remainder
    is to grow by what it lacks to have k rows, or by a quarter if that is more. Of this every kind gives an equal part,
    but no more than makes it as frequent as the next rarest; where a model compares with the table, it gives the part
    that it has of the table. It is always at least one row, and one row only while the remainder is small.

    A *cell* is the rows of one kind in one child, a *share* the rows of one kind in one remainder. Children, cells
    and shares are sorted by their case.
    """

    def __init__(self, task: Task, kinds: Kinds, cases: Cases) -> None:
        self._task, self._kinds, self._cases, self._k = task, kinds, cases, task.largest_k()
        self._lay_out_children()
        self._lay_out_shares()
        self._lay_out_values()
        self.kept = sums(self._case_of_child, self._child_rows, self._number)
        """The rows of each case that stay specialised; 0 when it was given up."""

    def _lay_out_children(self) -> None:
        cases, inside = self._cases, ~self._cases.is_back
        rows, kind_of = cases.rows[inside], self._kinds.kind_of[cases.entries[inside]]
        self._case_of_child, child_of, _ = number_pairs(cases.case_of[inside], cases.labels[inside])
        self._child_of_cell, self._cell_of_piece, self._kind_of_cell = number_pairs(child_of, kind_of)
        self._case_of_cell = self._case_of_child[self._child_of_cell]
        self._number, children = int(self._case_of_child[-1]) + 1, len(self._case_of_child)
        self._first_cell = np.searchsorted(self._child_of_cell, np.arange(children + 1))
        self._child_rows = sums(child_of, rows, children)
        self._cell_rows = sums(self._cell_of_piece, rows, len(self._child_of_cell))
        self._most = self._cell_rows.copy()  # what each cell may give in one step
        self._pulled = np.zeros_like(self._cell_rows)

    def _lay_out_shares(self) -> None:
        cases, kinds = self._cases, self._kinds
        case_of_share, share_of, self._kind_of_share = number_pairs(cases.case_of, kinds.kind_of[cases.entries])
        self._first_share = np.searchsorted(case_of_share, np.arange(self._number + 1))
        self._share_rows = sums(share_of, np.where(cases.is_back, cases.rows, 0), len(case_of_share))
        self._back_rows = sums(case_of_share, self._share_rows, self._number)
        self._share_of_cell = np.searchsorted(
            case_of_share * len(kinds) + self._kind_of_share, self._case_of_cell * len(kinds) + self._kind_of_cell
        )
        offered = np.unique(self._share_of_cell)
        self._kinds_offered = np.bincount(case_of_share[offered], minlength=self._number)
        self._case_of_share = case_of_share

    def _lay_out_values(self) -> None:
        """Count the sensitive values of the remainders, column by column."""
        self._value_of_share, self._value_rows, self._value_weight = [], [], []
        for values, weights in zip(self._kinds.values, self._kinds.weights, strict=True):
            _, value_of, codes = number_pairs(self._case_of_share, values[self._kind_of_share])
            self._value_of_share.append(value_of)
            self._value_rows.append(sums(value_of, self._share_rows, len(codes)))
            self._value_weight.append(weights[codes])

    def run(self, to_beat: IntArray) -> None:
        """Pull rows back until every remainder is safe; give up cases that cannot keep as many rows as these."""
        is_open = np.ones(self._number, np.bool_)
        cells = np.arange(len(self._cell_rows))
        while is_open.any():
            can_give = np.minimum(self._most[cells], self._child_rows[self._child_of_cell[cells]] - self._k) > 0
            cells = cells[can_give & is_open[self._case_of_cell[cells]]]
            is_stuck = is_open.copy()
            is_stuck[self._case_of_cell[cells]] = False
            changed = np.concatenate([self._give(cells), self._fall_back(is_stuck)])
            is_open[changed] = ~self._remainders_are_safe(changed)
            is_lost = is_open & (self.kept <= to_beat)  # at least one row more will go
            self.kept[is_lost] = 0
            is_open &= ~is_lost

    def branches(self) -> IntArray:
        """Return the children of each case that are left."""
        return np.bincount(self._case_of_child, self._child_rows > 0, self._number).astype(np.int64)

    def back(self) -> IntArray:
        """Return the rows of each piece that are back."""
        cases, cell_of = self._cases, self._cell_of_piece
        inside = np.flatnonzero(~cases.is_back)
        order = np.lexsort((self._kinds.places[cases.entries[inside]], cell_of))
        rows, cell_of = cases.rows[inside][order], cell_of[order]
        through = np.cumsum(rows)
        before = through - rows
        before -= before[np.searchsorted(cell_of, cell_of)]
        back = cases.rows.copy()
        back[inside[order]] = np.clip(self._pulled[cell_of] - before, 0, rows)
        return back

    def _give(self, cells: IntArray) -> IntArray:
        """Let one of these cells in each case give rows, if its child can spare them; return the cases that changed."""
        if not len(cells):
            return cells
        chosen, amounts = self._rarest(cells)
        is_spared = self._children_stay_safe(chosen, amounts)
        self._most[chosen[~is_spared]] = amounts[~is_spared] // 2
        self._move(chosen[is_spared], amounts[is_spared])
        return self._case_of_cell[chosen[is_spared]]

    def _rarest(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Choose the cell of each case whose kind is rarest in the remainder, and how many rows it is to give."""
        cases, firsts, run_of = np.unique(self._case_of_cell[cells], return_index=True, return_inverse=True)
        frequency = self._frequencies(self._share_of_cell[cells])
        least = np.minimum.reduceat(frequency, firsts)
        rows = np.where(frequency == least[run_of], self._cell_rows[cells], 0)
        is_fullest = np.flatnonzero(rows == np.maximum.reduceat(rows, firsts)[run_of])
        chosen = cells[is_fullest[np.searchsorted(run_of[is_fullest], np.arange(len(firsts)))]]
        if self._kinds.shares is not None:
            wanted = self._rows_to_grow_by(cases) * self._kinds.shares[self._kind_of_cell[chosen]]
        else:
            wanted = self._rows_to_grow_by(cases) / np.minimum(self._kinds_offered[cases], MOST_KINDS)
            wanted = np.minimum(wanted, self._next_frequency(cases, least) - least)
        can_give = np.minimum(self._most[chosen], self._child_rows[self._child_of_cell[chosen]] - self._k)
        return chosen, np.clip(wanted.astype(np.int64), 1, can_give)

    def _rows_to_grow_by(self, cases: IntArray) -> FloatArray:
        """Return how many rows remainders are to grow by until they are looked at anew."""
        return np.maximum(self._k - self._back_rows[cases], self._back_rows[cases] / GROWTH)

    def _frequencies(self, shares: IntArray) -> FloatArray:
        """Return how frequent kinds are in their remainders: as much as the most frequent of their values."""
        frequency = np.zeros(len(shares))
        for value_of, rows, weights in zip(self._value_of_share, self._value_rows, self._value_weight, strict=True):
            values = value_of[shares]
            frequency = np.maximum(frequency, rows[values] / weights[values])
        return frequency

    def _next_frequency(self, cases: IntArray, least: FloatArray) -> FloatArray:
        """Return how frequent the rarest kind is in each remainder that is more frequent than the least."""
        inside, case_of = spans(self._first_share[cases], self._first_share[cases + 1])
        frequency = self._frequencies(inside)
        more = np.where(frequency > least[case_of], frequency, np.inf)
        return np.minimum.reduceat(more, np.searchsorted(case_of, np.arange(len(cases))))

    def _fall_back(self, is_stuck: BoolArray) -> IntArray:
        """Let the smallest child of each stuck case fall back; return those cases."""
        children = np.flatnonzero((self._child_rows > 0) & is_stuck[self._case_of_child])
        children = children[np.lexsort((self._child_rows[children], self._case_of_child[children]))]
        case_of, firsts = np.unique(self._case_of_child[children], return_index=True)
        smallest = children[firsts]
        cells, _ = spans(self._first_cell[smallest], self._first_cell[smallest + 1])
        self._move(cells, self._cell_rows[cells])
        return case_of

    def _children_stay_safe(self, cells: IntArray, amounts: IntArray) -> BoolArray:
        """Return which children, one for each of these cells, are safe when it has given so many rows."""
        children = self._child_of_cell[cells]
        inside, part_of = spans(self._first_cell[children], self._first_cell[children + 1])
        rows = self._cell_rows[inside] - np.where(inside == cells[part_of], amounts[part_of], 0)
        examples = self._kinds.examples[self._kind_of_cell[inside]]
        return self._task.safe_parts(examples, rows, part_of, len(cells))

    def _remainders_are_safe(self, cases: IntArray) -> BoolArray:
        """Return which of these cases have a safe remainder."""
        inside, part_of = spans(self._first_share[cases], self._first_share[cases + 1])
        examples = self._kinds.examples[self._kind_of_share[inside]]
        return self._task.safe_parts(examples, self._share_rows[inside], part_of, len(cases))

    def _move(self, cells: IntArray, amounts: IntArray) -> None:
        """Move rows from cells to the remainders of their cases."""
        self._cell_rows[cells] -= amounts
        self._most[cells] = np.minimum(self._most[cells], self._cell_rows[cells])
        self._pulled[cells] += amounts
        np.subtract.at(self._child_rows, self._child_of_cell[cells], amounts)
        np.subtract.at(self.kept, self._case_of_cell[cells], amounts)
        np.add.at(self._back_rows, self._case_of_cell[cells], amounts)
        shares = self._share_of_cell[cells]
        self._share_rows[shares] += amounts
        for value_of, rows in zip(self._value_of_share, self._value_rows, strict=True):
            np.add.at(rows, value_of[shares], amounts)


def sums(numbers: IntArray, rows: IntArray, number: int) -> IntArray:
    """Add up rows by number."""
    return np.bincount(numbers, rows, number).astype(np.int64)


def number_pairs(outer: IntArray, inner: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Number the different pairs in their order; return the outer of each, the number of each pair, and the inner.

    >>> number_pairs(np.array([1, 0, 1]), np.array([5, 7, 5]))
    (array([0, 1]), array([1, 0, 1]), array([7, 5]))
    """
    width = int(inner.max(initial=0)) + 1
    keys = outer * width + inner
    most = int(keys.max(initial=-1)) + 1
    if most <= 8 * len(keys) + 1024:  # a table is quicker than sorting
        is_there = np.zeros(most, np.bool_)
        is_there[keys] = True
        found = np.flatnonzero(is_there)
        number_of = (np.cumsum(is_there) - 1)[keys]
    else:
        found, number_of = np.unique(keys, return_inverse=True)
    of_outer, of_inner = np.divmod(found, width)
    return of_outer, number_of, of_inner


def spans(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return all positions from each start to before its end, and which span each lies in.

    >>> spans(np.array([3, 9]), np.array([5, 10]))
    (array([3, 4, 9]), array([0, 0, 1]))
    """
    lengths = ends - starts
    span_of = np.repeat(np.arange(len(starts)), lengths)
    return np.arange(len(span_of)) + (starts - np.cumsum(lengths) + lengths)[span_of], span_of
