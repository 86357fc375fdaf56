"""Anatomy: small classes of rows with l different sensitive values, released as two tables."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray, UIntArray
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy.algorithms import AnatomyOptions
from indistinct.privacy import AlphaK, LDiversity, MInvariance, PSensitive
from indistinct.privacy.model import TOLERANCE
from indistinct.progress import Watch
from indistinct.randomness import Draws
from indistinct.recoding import SUPPRESSED, Classes, Pieces
from indistinct.recoding.classes import check_link
from indistinct.search.algorithm import Algorithm
from indistinct.search.local.groups.partition import together
from indistinct.search.task import Task
from indistinct.showing.words import counted

Keys = Callable[[int], UIntArray]
"""Gives so many uniform 64-bit keys."""


class Anatomy(AnatomyOptions, Algorithm):
    """Draws classes at random, each of ``l`` rows or a few more, all with different sensitive values.

    As long as ``l`` values have rows left, a class takes one row at random of each of the ``l`` most frequent; the
    rows that are left over, fewer than ``l``, join classes that lack their value. Where a value is too frequent, as
    few of its rows as possible are suppressed, if the policy allows that. Without ``l`` it is the largest that the
    policy's models ask for: the l of l-diversity, the p of p-sensitivity, the m of m-invariance, or 1 / alpha of
    (α,k)-anonymity.

    What other models demand beyond that is met by joining classes. Where a model has a k, classes that share a
    quasi-identifier become one as well: where many rows do, few and large ones are left, and lossy-join does better.

    ``column`` is the sensitive column; it may be left out if the models ask about one only. Rows are drawn with keys of
    the system's secure generator, or of the seed of the run. A ``seed`` of its own draws the same rows each time, which
    is for tests: somebody who knows it can draw again, and works out from the two tables who has which value.

    Source: Xiao and Tao 2006.
    """

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> Classes:
        """Return the classes, or raise InfeasibleError if a value is too frequent."""
        check_link(task.policy)
        frequencies = task.frequencies
        values = frequencies.entries.codes[self._column(task)]
        number = self.l or _most_values_asked(task)
        keys = _keys_of(task.draws) if self.seed is None else _seeded_keys(self.seed)
        drawn = _shuffled_by_value(values, frequencies.entries.counts, keys)
        kept = _rows_that_stay(task, values[drawn], number)
        entries = drawn[kept]
        class_of = _dealt(values[entries], number, keys)
        class_of = _join_failing_classes(_releasing(task, entries), entries, class_of, watch)
        classes = np.full(len(drawn), SUPPRESSED)
        classes[kept] = class_of
        pieces = added_up(drawn, classes)
        return Classes.of_pieces(frequencies, together(task, pieces) if _asks_for_company(task) else pieces)

    def _column(self, task: Task) -> str:
        asked = list(task.frequencies.sensitive)
        if self.column is not None:
            if self.column not in asked:
                raise PolicyError(f"column: no model asks about {self.column!r}; anatomy needs one, such as LDiversity")
            return self.column
        if len(asked) != 1:
            raise PolicyError(
                "column: anatomy groups by one sensitive column; "
                + (f"say which of {', '.join(map(repr, asked))} it is" if asked else "add a model such as LDiversity")
            )
        return asked[0]


def _most_values_asked(task: Task) -> int:
    """Return the largest number of different values that the models ask for."""
    numbers = [2]
    for model in task.models:
        if isinstance(model, LDiversity):
            numbers.append(model.l)
        elif isinstance(model, PSensitive):
            numbers.append(model.p)
        elif isinstance(model, MInvariance):
            numbers.append(model.m)
        elif isinstance(model, AlphaK) and isinstance(model.alpha, float | int):
            numbers.append(math.ceil(1 / model.alpha / (1 + TOLERANCE)))
    return max(numbers)


def _asks_for_company(task: Task) -> bool:
    """Return whether somebody must be hidden among several people, not only among several values."""
    return any(model.least_rows > 1 for model in task.models)


def _keys_of(draws: Draws) -> Keys:
    calls = count()
    return lambda number: draws.part(f"anatomy {next(calls)}").keys(number)


def _seeded_keys(seed: int) -> Keys:
    generator = np.random.default_rng(seed)
    return lambda number: generator.integers(2**64, size=number, dtype=np.uint64)


def _shuffled_by_value(values: IntArray, counts: IntArray, keys: Keys) -> IntArray:
    """Return the entry of each row: sorted by value, in random order within a value."""
    entries = np.repeat(np.arange(len(values)), counts)
    order: IntArray = np.lexsort((keys(len(entries)), values[entries]))
    return entries[order]


def _rows_that_stay(task: Task, values: IntArray, number: int) -> IntArray:
    """Return the places of the rows to release, as many as classes of so many different values can take."""
    counts = np.bincount(values)
    low = largest_limit(counts, number)
    place = np.arange(len(values)) - (np.cumsum(counts) - counts)[values]
    kept = np.flatnonzero(place < low)
    lost = len(values) - len(kept)
    if lost > task.budget or not len(kept):
        raise InfeasibleError(
            f"one sensitive value makes up {100 * int(counts.max()) / len(values):.4g} % of the rows, but classes of "
            f"{number} different values allow at most {100 / number:.4g} %; lower l, "
            + (f"allow {counted(lost, 'suppressed row')}, or use lossy-join" if len(kept) else "or use lossy-join")
        )
    return kept


def largest_limit(counts: IntArray, number: int) -> int:
    """Return how many rows of each value there can be in classes of so many different values.

    Such classes exist if and only if no value has more than one in ``number`` of the rows. A limit on the rows of each
    value leaves the more rows the higher it is, and the highest that can be is found by halving: what it leaves rises
    ever more slowly with it, while what classes need rises evenly.
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:
        limit = (low + high + 1) // 2
        if int(np.minimum(counts, limit).sum()) >= number * limit:
            low = limit
        else:
            high = limit - 1
    return low


def _dealt(values: IntArray, number: int, keys: Keys) -> IntArray:
    """Return the class of each row: one row of each of the most frequent values left, again and again.

    ``values`` are sorted. In the end each value has one row left at most, and fewer than ``number`` have one: a value
    with two, had it ever been passed over, would have seen ``number`` others with at least as many, which would still
    have rows; so it is in every class and has at least two more rows than there are classes; but it may have no more
    than one in ``number`` of all rows, and then the others would have to have as many left. For the same reason no
    value with a row left is in every class.
    """
    counts = np.bincount(values)
    dealt = hands(counts, number)
    used = np.bincount(dealt.ravel(), minlength=len(counts))
    place = np.arange(len(values)) - (np.cumsum(counts) - counts)[values]
    is_dealt = place < used[values]
    class_of = np.empty(len(values), np.int64)
    class_of[is_dealt] = np.argsort(dealt.ravel(), kind="stable") // number
    left = np.flatnonzero(~is_dealt)
    for row, key in zip(left.tolist(), keys(len(left)).tolist(), strict=True):
        lacking = np.flatnonzero((dealt != values[row]).all(axis=1))
        class_of[row] = lacking[key % len(lacking)]
    return class_of


def hands(counts: IntArray, number: int) -> IntArray:
    """Return the values of each class, (classes, number): those of which most rows are left, the first of equals."""
    different = len(counts)
    # one whole number says how many rows of which value are left, most first
    heap = [value - int(rows) * different for value, rows in enumerate(counts) if rows]
    heapq.heapify(heap)
    dealt: list[int] = []
    while len(heap) >= number:
        hand = [heapq.heappop(heap) for _ in range(number)]
        dealt += hand
        for left in hand:
            if left < -different:  # two rows at least, so one after this
                heapq.heappush(heap, left + different)
    return np.array(dealt, np.int64).reshape(-1, number) % different


def _releasing(task: Task, entries: IntArray) -> Task:
    """Return the task of judging classes of these rows, where a model compares with the whole of what is released."""
    frequencies = task.frequencies
    tallies = {
        name: replace(tally, totals=np.bincount(frequencies.entries.codes[name][entries], minlength=len(tally.totals)))
        for name, tally in frequencies.base.tallies.items()
    }
    return replace(task, frequencies=replace(frequencies, base=replace(frequencies.base, tallies=tallies)))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Tells which classes satisfy every model when some are joined: each class goes to a goal, the number of one."""

    task: Task
    entries: IntArray
    class_of: IntArray

    def safe(self, goals: IntArray, asked: IntArray) -> BoolArray:
        """Return which of the asked goals are safe."""
        number_of = np.full(len(goals), SUPPRESSED)
        number_of[asked] = np.arange(len(asked))
        parts = number_of[goals[self.class_of]]
        is_asked = parts != SUPPRESSED
        rows = np.ones(int(is_asked.sum()), np.int64)
        return self.task.safe_parts(self.entries[is_asked], rows, parts[is_asked], len(asked))


def _join_failing_classes(task: Task, entries: IntArray, class_of: IntArray, watch: Watch) -> IntArray:
    """Join classes until each satisfies every model, and return the class of each row.

    Those that fail are joined two at a time; of those that still fail three, then four, five, six, seven, eight, ten,
    … are. Early and late ones are mixed, since values are spread differently over them. Those that fail even when all
    are joined take in safe ones.
    """
    judge = _Judge(task, entries, class_of)
    goals = np.arange(int(class_of.max()) + 1)
    if not judge.safe(np.zeros_like(goals), goals[:1]).all():
        raise task.infeasible(task.budget)
    failing = goals[~judge.safe(goals, goals)]
    at_a_time = 1
    while len(failing):
        watch.time_is_up()  # raises if the work was cancelled
        at_a_time += max(1, at_a_time // 4)
        joined = failing[: max(1, len(failing) // at_a_time)]
        goes_to = np.arange(len(failing)) % len(joined)
        goals[failing] = joined[goes_to]
        is_safe = judge.safe(goals, joined)
        if len(joined) == 1:
            return (goals if is_safe.all() else _with_safe_ones(judge, goals, joined))[class_of]
        failing = failing[~is_safe[goes_to]]
    return goals[class_of]


def _with_safe_ones(judge: _Judge, goals: IntArray, failing: IntArray) -> IntArray:
    """Let the one goal that fails take in more and more of the others, until it is safe: with all of them it is."""
    others = np.setdiff1d(goals, failing)
    taken = 0
    while not judge.safe(goals, failing).all():
        taken = min(len(others), max(1, 2 * taken))
        chosen = others[np.arange(taken) * len(others) // taken]
        goals = np.where(np.isin(goals, chosen), failing, goals)
    return goals


def added_up(entries: IntArray, classes: IntArray) -> Pieces:
    """Return the rows of each entry in each class."""
    lowest = SUPPRESSED
    width = int(classes.max()) - lowest + 1
    pairs, rows = np.unique(entries * width + (classes - lowest), return_counts=True)
    return Pieces(pairs // width, rows.astype(np.int64), pairs % width + lowest)
