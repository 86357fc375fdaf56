"""Truth of a release of two tables: the sensitive values of each class can be those of its quasi-identifiers.

Nothing says which value belongs to which row of a class, so all that can be proved is that there is a way to give each
row of the quasi table a row of the original of its own, such that each class has just the sensitive values it shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.engine import Condition, Rows
from indistinct.policy import Policy
from indistinct.recoding.classes import LINK

Bag = Counter[int]
"""How often each combination of sensitive values occurs, by its number."""


def untruths(quasi: Rows, sensitive: Rows, source: Rows, policy: Policy) -> tuple[dict[str, int], int]:
    """Return how many rows of each table and how many classes cannot be true, and the eligible rows of the original."""
    known, hidden = policy.with_role("quasi", "other"), policy.with_role("sensitive")
    where = [condition.as_triple() for condition in policy.eligible]
    original = _Distinct.of(source, [*known, *hidden], where)
    ours, theirs = _Distinct.of(quasi, [LINK, *known]), _Distinct.of(sensitive, [LINK, *hidden])
    tuples, values, classes = (
        _numbered_alike(known, original, ours),
        _numbered_alike(hidden, original, theirs),
        _numbered_alike([LINK], ours, theirs),
    )
    truth = _PairCounts(tuples[0], values[0], original.rows)
    members = _PairCounts(classes[0], tuples[1], ours.rows)
    shown = _PairCounts(classes[1], values[1], theirs.rows)
    found = {
        "quasi": _surplus(members.second, ours.rows, truth.first, original.rows),
        "sensitive": _surplus(shown.second, theirs.rows, truth.second, original.rows),
        "classes": int(_wrong_classes(truth, members, shown).sum()),
    }
    return found, int(original.rows.sum())


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The distinct rows of a table over some columns: codes and texts of their cells, and how many rows they are."""

    codes: Mapping[str, IntArray]
    texts: Mapping[str, Sequence[str | None]]
    rows: IntArray

    @classmethod
    def of(cls, table: Rows, columns: Sequence[str], where: Sequence[Condition] = ()) -> _Distinct:
        """Count a table."""
        with table.encode(columns, where) as encoded:
            texts, found = encoded.values, encoded.count_by(columns)
        codes = {name: np.asarray(code, np.int64) for name, code in zip(columns, found.codes, strict=True)}
        return cls(codes, texts, found.counts)


def _numbered_alike(columns: Sequence[str], first: _Distinct, second: _Distinct) -> tuple[IntArray, IntArray]:
    """Return each row's combination of cells a number, the same in both tables."""
    numbers = np.zeros(len(first.rows) + len(second.rows), np.int64)
    for name in columns:
        number_of: dict[str | None, int] = {}
        codes = []
        for table in (first, second):
            own = [number_of.setdefault(text, len(number_of)) for text in table.texts[name]]
            codes.append(np.array(own, np.int64)[table.codes[name]])
        numbers = np.unique(numbers * max(1, len(number_of)) + np.concatenate(codes), return_inverse=True)[1]
    return numbers[: len(first.rows)], numbers[len(first.rows) :]


def _surplus(numbers: IntArray, rows: IntArray, allowed_numbers: IntArray, allowed_rows: IntArray) -> int:
    """Return how many rows have a number that too few of the allowed ones have."""
    most = _size(numbers, allowed_numbers)
    found = np.bincount(numbers, rows, most) - np.bincount(allowed_numbers, allowed_rows, most)
    return int(np.maximum(found, 0).sum())


def _size(*numbers: IntArray) -> int:
    return max(int(some.max(initial=-1)) for some in numbers) + 1


@dataclass(frozen=True, slots=True)
class _PairCounts:
    """Pairs of numbers, and how many rows have them."""

    first: IntArray
    second: IntArray
    rows: IntArray

    def only(self, places: IntArray | BoolArray) -> _PairCounts:
        """Return some of them."""
        return _PairCounts(self.first[places], self.second[places], self.rows[places])

    def without(self, others: _PairCounts) -> _PairCounts:
        """Return each pair once with the rows that are left when those of others are taken away, fewer than none
        too.
        """
        width = _size(self.second, others.second)
        keys = np.concatenate([self.first * width + self.second, others.first * width + others.second])
        found, where = np.unique(keys, return_inverse=True)
        left = np.bincount(where, np.concatenate([self.rows, -others.rows]), len(found)).astype(np.int64)
        first, second = np.divmod(found[left != 0], max(1, width))
        return _PairCounts(first, second, left[left != 0])

    def one_by_one(self) -> Iterator[tuple[int, int, int]]:
        """Return each pair with its rows."""
        return zip(self.first.tolist(), self.second.tolist(), self.rows.tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Truth:
    """The sensitive values of each tuple of the original."""

    pairs: _PairCounts
    """Tuples and values, sorted by tuple."""
    starts: IntArray

    @classmethod
    def of(cls, truth: _PairCounts, tuples: int) -> _Truth:
        """Sort pairs of tuples and values."""
        pairs = truth.only(np.argsort(truth.first, kind="stable"))
        return cls(pairs, np.searchsorted(pairs.first, np.arange(tuples + 1)))

    def brought(self, members: _PairCounts) -> _PairCounts:
        """Return the values that members, tuples with all their rows, bring into their classes."""
        lengths = np.diff(self.starts)[members.second]
        ends = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(self.starts[members.second] - (ends - lengths), lengths)
        return _PairCounts(np.repeat(members.first, lengths), self.pairs.second[places], self.pairs.rows[places])

    def bag(self, number: int) -> Bag:
        """Return the values of a tuple."""
        own = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return Counter(dict(zip(self.pairs.second[own].tolist(), self.pairs.rows[own].tolist(), strict=True)))


def _wrong_classes(truth: _PairCounts, members: _PairCounts, shown: _PairCounts) -> BoolArray:
    """Return which classes, of these tuples and these values, cannot be.

    A tuple that is in a class with all its rows brings all its values. Of the others it must be possible to choose
    values, as many as the tuple has rows there, that are just those which are left. Where no tuple stands in several
    classes this is all there is to prove. Otherwise two classes could still ask for the same row of the original; to
    rule that out is to find a table of three dimensions with given margins, which is NP-complete.
    """
    tuples, classes = _size(truth.first, members.second), _size(members.first, shown.first)
    by_tuple = _Truth.of(truth, tuples)
    is_whole = members.rows == np.bincount(truth.first, truth.rows, tuples)[members.second]
    left = shown.without(by_tuple.brought(members.only(is_whole)))
    divided = members.only(~is_whole)
    is_wrong: BoolArray = np.bincount(left.first, left.rows, classes) != np.bincount(
        divided.first, divided.rows, classes
    )
    is_wrong[left.first[left.rows < 0]] = True
    wanted: dict[int, Bag] = defaultdict(Counter)
    for name, value, rows in left.only(~is_wrong[left.first]).one_by_one():
        wanted[name][value] = rows
    choices: dict[int, list[tuple[int, Bag]]] = defaultdict(list)
    for name, number, rows in divided.only(~is_wrong[divided.first]).one_by_one():
        choices[name].append((rows, by_tuple.bag(number)))
    for name, bags in choices.items():
        is_wrong[name] = not _can_be_chosen(bags, wanted[name])
    return is_wrong


def _can_be_chosen(bags: Sequence[tuple[int, Bag]], wanted: Bag) -> bool:
    """Return whether the given number of values of each bag can be chosen so that together they are the wanted ones.

    Each takes what it can; where nothing that is wanted is left, others exchange what they took along a chain.
    """
    taken: list[Bag] = [Counter() for _ in bags]
    for number, (rows, _) in enumerate(bags):
        for _ in range(rows):
            chain = _chain(number, bags, taken, wanted)
            if not chain:
                return False
            given_up = None
            for taker, value in chain:
                taken[taker][value] += 1
                if given_up is not None:
                    taken[taker][given_up] -= 1
                given_up = value
            wanted[chain[-1][1]] -= 1
    return True


def _chain(start: int, bags: Sequence[tuple[int, Bag]], taken: Sequence[Bag], wanted: Bag) -> list[tuple[int, int]]:
    """Return who takes which value so that the first has one more: each other gives up what the one before it takes."""
    came_from: dict[int, tuple[int, int | None]] = {}
    queue: list[tuple[int, int | None]] = [(start, None)]
    for taker, given_up in queue:
        for value, rows in bags[taker][1].items():
            if value in came_from or taken[taker][value] >= rows:
                continue
            came_from[value] = (taker, given_up)
            if wanted[value] > 0:
                return _trace(value, came_from)
            queue += [(other, value) for other, own in enumerate(taken) if own[value] > 0]
    return []


def _trace(end: int, came_from: Mapping[int, tuple[int, int | None]]) -> list[tuple[int, int]]:
    """Return the chain that ends with a value, from its start."""
    chain, value = [], end
    while True:
        taker, before = came_from[value]
        chain.append((taker, value))
        if before is None:
            return chain[::-1]
        value = before
