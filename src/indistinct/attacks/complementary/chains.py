"""Chains: which rows of several releases can be the same person's, by what was released as it is and by their labels.

A chain takes one entry of each release, or none where the person cannot be in it. An entry is what rows of a release
have in common that look the same: their labels, and the values that link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.attack import InapplicableError
from indistinct.attacks.labels import DISJOINT, Vocabulary

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ABSENT = -1
SLICE = 4_000_000
"""The number of pairs that are looked at at a time."""
MOST_PAIRS = 4_000_000_000
MOST_CHAINS = 40_000_000
DENSE = 20_000_000
"""A column with no more pairs of labels has a table of what they have in common."""
NOT_YET = -2
MOST_NUMBERS = 1 << 62


@dataclass(frozen=True, slots=True)
class ReleaseEntries:
    """What the rows of one release look like: an entry for each combination of labels and values that link."""

    labels: IntArray
    """(entries, columns) codes in the columns' vocabularies"""
    values: IntArray
    """(entries,) number of the combination of values that link"""
    counts: IntArray
    """(entries,) rows"""

    @property
    def rows(self) -> int:
        """The rows of the release."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Chains:
    """ReleaseEntries of several releases that can belong to the same people."""

    members: IntArray
    """(chains, releases) number of the entry, ABSENT where no entry fits"""
    labels: IntArray
    """(chains, columns) what the labels of all members have in common"""
    values: IntArray
    """(chains,) number of the combination of values that link"""

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True)
class JoinStep:
    """What one more release added: pairs of rows that agree in what links, and those whose labels agree as well."""

    pairs: int
    consistent: int
    dropped: int
    """Consistent pairs that no one-to-one matching of all rows allows."""


def start(entries: ReleaseEntries) -> Chains:
    """Return the chains of one release."""
    return Chains(np.arange(len(entries.counts))[:, None], entries.labels, entries.values)


def extend(
    chains: Chains,
    releases: Sequence[ReleaseEntries],
    vocabularies: Sequence[Vocabulary],
    blocks: Sequence[IntArray],
    barred: Sequence[IntArray | None],
) -> tuple[Chains, JoinStep]:
    """Add the next release to all chains.

    ``blocks`` number the labels of each column so that labels with something in common have the same number, and
    ``barred`` has, for each release so far, the pairs with the next one that are ruled out, as in ``pair_numbers``.
    An entry that fits no chain starts one. A chain that no entry fits goes on without, unless all its members go on in
    other chains: whose row fits a row of another release is in that release.
    """
    done = chains.members.shape[1]
    entries = releases[done]
    lefts, rights, labels = [], [], []
    dropped = 0
    weights = _rows_of(chains, releases)
    for left, right, met in consistent_pairs(chains.labels, chains.values, entries, vocabularies, blocks):
        is_barred = np.zeros(len(left), np.bool_)
        for position, pairs in enumerate(barred):
            if pairs is not None:
                members = chains.members[left, position]
                numbers = pair_numbers(members, right, len(entries.counts))
                is_barred |= (members != ABSENT) & is_among(numbers, pairs)
        dropped += int(weights[left[is_barred]] @ entries.counts[right[is_barred]])
        lefts.append(left[~is_barred])
        rights.append(right[~is_barred])
        labels.append(met[~is_barred])
        if sum(map(len, lefts)) > MOST_CHAINS:
            raise InapplicableError(
                f"the releases have more than {MOST_CHAINS:,} consistent pairs of entries; "
                "link on more columns (on=…), or compare fewer releases"
            )
    left, right = np.concatenate([[], *lefts]).astype(np.int64), np.concatenate([[], *rights]).astype(np.int64)
    met = np.concatenate([np.zeros((0, chains.labels.shape[1]), np.int64), *labels])
    alone_left, alone_right = _chains_that_end(chains, left, releases), _others(right, len(entries.counts))
    made = Chains(
        np.concatenate(
            [
                np.column_stack([chains.members[left], right]),
                np.column_stack([chains.members[alone_left], np.full(len(alone_left), ABSENT)]),
                np.column_stack([np.full((len(alone_right), done), ABSENT), alone_right]),
            ]
        ),
        np.concatenate([met, chains.labels[alone_left], entries.labels[alone_right]]),
        np.concatenate([chains.values[left], chains.values[alone_left], entries.values[alone_right]]),
    )
    number = _number_of_pairs(chains.values, weights, entries)
    return made, JoinStep(number, int(weights[left] @ entries.counts[right]) + dropped, dropped)


def consistent_pairs(
    labels: IntArray,
    values: IntArray,
    entries: ReleaseEntries,
    vocabularies: Sequence[Vocabulary],
    blocks: Sequence[IntArray],
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Return the pairs of rows and entries that can be the same people's, and what their labels have in common.

    Only pairs with the same values that link, and labels of the same blocks, are looked at.
    """
    tables = [
        _Meets(vocabulary, labels[:, column], entries.labels[:, column])
        for column, vocabulary in enumerate(vocabularies)
    ]
    for left, right in _candidates(_keys(labels, values, entries, blocks)):
        met: list[IntArray] = []
        for table in tables:
            met.append(table.of(left, right))
            fits = met[-1] != DISJOINT
            if not fits.all():
                left, right = left[fits], right[fits]
                met = [codes[fits] for codes in met]
        yield left, right, np.column_stack(met)


def pair_numbers(left: IntArray, right: IntArray, rights: int) -> IntArray:
    """Return one number for each pair."""
    return left * rights + right


def is_among(numbers: IntArray, ascending: IntArray) -> BoolArray:
    """Return which numbers are among some ascending ones."""
    if not len(ascending):
        return np.zeros(len(numbers), np.bool_)
    places = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
    found: BoolArray = ascending[places] == numbers
    return found


def number_combinations(columns: Sequence[IntArray], rows: int) -> IntArray:
    """Number the combinations of some columns of numbers, none of which is negative, in their order."""
    numbers, room = np.zeros(rows, np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if room * size > MOST_NUMBERS:
            numbers = _ranks(numbers)
            room = int(numbers.max(initial=0)) + 1
        numbers = numbers * size + column
        room *= size
    return _ranks(numbers)


def distinct(numbers: IntArray) -> IntArray:
    """Return each number once, ascending; for many numbers sorting is quicker than the hash table of ``np.unique``."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: IntArray = ordered[is_first]
    return found


def _ranks(numbers: IntArray) -> IntArray:
    """Number the numbers in their order."""
    places = np.unique(numbers, return_inverse=True)[1].ravel()
    found: IntArray = places
    return found


def _chains_that_end(chains: Chains, left: IntArray, releases: Sequence[ReleaseEntries]) -> IntArray:
    """Return the chains with a member that is in none of those that go on."""
    is_ended = np.zeros(len(chains), np.bool_)
    for position, members in enumerate(chains.members.T):
        goes_on = np.zeros(len(releases[position].counts) + 1, np.bool_)
        goes_on[members[left]] = True
        goes_on[ABSENT] = True
        is_ended |= ~goes_on[members]
    return np.flatnonzero(is_ended)


def _others(numbers: IntArray, size: int) -> IntArray:
    """Return the numbers below a size that are not among some."""
    is_other = np.ones(size, np.bool_)
    is_other[numbers] = False
    return np.flatnonzero(is_other)


def _rows_of(chains: Chains, releases: Sequence[ReleaseEntries]) -> IntArray:
    """Return the most people that each chain can have: the fewest rows of its members."""
    fewest = np.full(len(chains), np.iinfo(np.int64).max)
    for position, entries in enumerate(releases[: chains.members.shape[1]]):
        rows = np.append(entries.counts, np.iinfo(np.int64).max)  # the last one is for ABSENT
        fewest = np.minimum(fewest, rows[chains.members[:, position]])
    return fewest


def _number_of_pairs(values: IntArray, weights: IntArray, entries: ReleaseEntries) -> int:
    """Return how many pairs of rows have the same values that link."""
    size = int(max(values.max(initial=0), entries.values.max(initial=0))) + 1
    ours = np.bincount(values, weights, size).astype(np.int64)
    theirs = np.bincount(entries.values, entries.counts, size).astype(np.int64)
    return int(ours @ theirs)


def _keys(
    labels: IntArray, values: IntArray, entries: ReleaseEntries, blocks: Sequence[IntArray]
) -> tuple[IntArray, IntArray]:
    """Number rows by their values that link and the blocks of their labels: rows that may agree have one number."""
    columns = [np.concatenate([values, entries.values])]
    for column, block in enumerate(blocks):
        columns.append(np.concatenate([block[labels[:, column]], block[entries.labels[:, column]]]))
    keys = number_combinations(columns, len(values) + len(entries.values))
    return keys[: len(values)], keys[len(values) :]


def _candidates(keys: tuple[IntArray, IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Return all pairs with the same key, some at a time."""
    ours, theirs = keys
    order = np.argsort(theirs, kind="stable")
    ordered = theirs[order]
    first = np.searchsorted(ordered, ours, "left")
    sizes = np.searchsorted(ordered, ours, "right") - first
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    if total > MOST_PAIRS:
        raise InapplicableError(
            f"the releases have {total:,} pairs of entries that agree in what links them; "
            "link on more columns (on=…), or compare fewer releases"
        )
    begin = 0
    while begin < len(ours):
        before = int(ends[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, before + SLICE, "right")))
        part = sizes[begin:stop]
        left = np.repeat(np.arange(begin, stop), part)
        offsets = np.repeat(first[begin:stop] - (ends[begin:stop] - part) + before, part)
        yield left, order[offsets + np.arange(len(left))]
        begin = stop


class _Meets:
    """Looks up what pairs of labels of one column have in common; each pair is worked out once."""

    def __init__(self, vocabulary: Vocabulary, ours: IntArray, theirs: IntArray) -> None:
        self._vocabulary = vocabulary
        self._our_codes, our_places = np.unique(ours, return_inverse=True)
        self._their_codes, their_places = np.unique(theirs, return_inverse=True)
        self._our_places, self._their_places = our_places.ravel(), their_places.ravel()
        size = len(self._our_codes) * len(self._their_codes)
        self._table = np.full(size, NOT_YET) if size <= DENSE else None

    def of(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the code of what the labels of each pair have in common, DISJOINT for nothing."""
        pairs = self._our_places[left] * len(self._their_codes) + self._their_places[right]
        if self._table is None:
            once, places = np.unique(pairs, return_inverse=True)
            worked_out: IntArray = self._work_out(once)[places.ravel()]
            return worked_out
        found: IntArray = self._table[pairs]
        is_new = found == NOT_YET
        if is_new.any():
            is_wanted = np.zeros(len(self._table), np.bool_)
            is_wanted[pairs[is_new]] = True
            wanted = np.flatnonzero(is_wanted)
            self._table[wanted] = self._work_out(wanted)
            found = self._table[pairs]
        return found

    def _work_out(self, pairs: IntArray) -> IntArray:
        ours, theirs = np.divmod(pairs, len(self._their_codes))
        codes = zip(self._our_codes[ours].tolist(), self._their_codes[theirs].tolist(), strict=True)
        return np.array([self._vocabulary.meet(one, other) for one, other in codes], np.int64)
