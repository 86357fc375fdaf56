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
from indistinct.linkage import EqualPairs, number_tuples

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
    barred: Sequence[IntArray | None],
) -> tuple[Chains, JoinStep]:
    """Add the next release to all chains.

    ``barred`` has, for each release so far, the pairs with the next one that are ruled out, as in ``pair_numbers``.
    An entry that fits no chain starts one. A chain that no entry fits goes on without, unless all its members go on in
    other chains: whose row fits a row of another release is in that release.
    """
    done = chains.members.shape[1]
    entries = releases[done]
    lefts, rights, labels = [], [], []
    dropped = 0
    weights = _rows_of(chains, releases)
    for left, right, met in consistent_pairs(chains.labels, chains.values, entries, vocabularies):
        is_barred = _are_barred(chains.members[left], right, len(entries.counts), barred)
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


def _are_barred(members: IntArray, right: IntArray, rights: int, barred: Sequence[IntArray | None]) -> BoolArray:
    """Return which chains have a member that is ruled out for the entry on the right."""
    found = np.zeros(len(right), np.bool_)
    for own, pairs in zip(members.T, barred, strict=True):
        if pairs is not None:
            found |= (own != ABSENT) & is_among(pair_numbers(own, right, rights), pairs)
    return found


def consistent_pairs(
    labels: IntArray,
    values: IntArray,
    entries: ReleaseEntries,
    vocabularies: Sequence[Vocabulary],
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Return the pairs of rows and entries that can be the same people's, and what their labels have in common.

    Only pairs are looked at that have the same values that link, and labels of the same components.
    """
    tables = [
        _Meets(vocabulary, labels[:, column], entries.labels[:, column])
        for column, vocabulary in enumerate(vocabularies)
    ]
    for left, right in _candidates(*_keys(labels, values, entries, vocabularies)):
        met: list[IntArray] = []
        for table in tables:
            met.append(table.of(left, right))
            fits = met[-1] != DISJOINT
            if not fits.all():
                left, right = left[fits], right[fits]
                met = [codes[fits] for codes in met]
        yield left, right, np.column_stack(met)


def all_consistent_pairs(
    one: ReleaseEntries, other: ReleaseEntries, vocabularies: Sequence[Vocabulary], most: float = np.inf
) -> tuple[IntArray, IntArray] | None:
    """Return the consistent pairs of entries of two releases; None if they are more than ``most``."""
    lefts, rights, number = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for left, right, _ in consistent_pairs(one.labels, one.values, other, vocabularies):
        lefts.append(left)
        rights.append(right)
        number += len(left)
        if number > most:
            return None
    return np.concatenate(lefts), np.concatenate(rights)


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


def distinct(numbers: IntArray) -> IntArray:
    """Return each number once, ascending; for many numbers sorting is quicker than the hash table of ``np.unique``."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: IntArray = ordered[is_first]
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
    labels: IntArray, values: IntArray, entries: ReleaseEntries, vocabularies: Sequence[Vocabulary]
) -> tuple[IntArray, IntArray]:
    """Number rows by their values that link and the components of their labels: rows that may agree are equal."""
    columns = [np.concatenate([values, entries.values])]
    for column, vocabulary in enumerate(vocabularies):
        components = vocabulary.components()
        columns.append(components[np.concatenate([labels[:, column], entries.labels[:, column]])])
    keys = number_tuples(columns, len(values) + len(entries.values))
    return keys[: len(values)], keys[len(values) :]


def _candidates(ours: IntArray, theirs: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Return all pairs with the same key, some at a time."""
    pairs = EqualPairs.of(ours, theirs)
    ends = np.cumsum(pairs.sizes)
    if (total := int(pairs.sizes.sum())) > MOST_PAIRS:
        raise InapplicableError(
            f"the releases have {total:,} pairs of entries that agree in what links them; "
            "link on more columns (on=…), or compare fewer releases"
        )
    begin = 0
    while begin < len(ours):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SLICE, "right")))
        yield pairs.between(begin, end)
        begin = end


class _Meets:
    """Looks up what pairs of labels of one column have in common; each pair is worked out once."""

    def __init__(self, vocabulary: Vocabulary, ours: IntArray, theirs: IntArray) -> None:
        self._vocabulary, self._ours, self._theirs = vocabulary, ours, theirs
        our_codes, our_places = np.unique(ours, return_inverse=True)
        their_codes, their_places = np.unique(theirs, return_inverse=True)
        self._our_codes, self._their_codes = our_codes, their_codes
        self._our_places, self._their_places = our_places.ravel(), their_places.ravel()
        size = len(our_codes) * len(their_codes)
        self._table = np.full(size, NOT_YET) if size <= DENSE else None

    def of(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the code of what the labels of each pair have in common, DISJOINT for nothing."""
        if self._table is None:
            return self._vocabulary.meets(self._ours[left], self._theirs[right])
        pairs = self._our_places[left] * len(self._their_codes) + self._their_places[right]
        is_wanted = np.zeros(len(self._table), np.bool_)
        is_wanted[pairs] = True
        wanted = np.flatnonzero(is_wanted & (self._table == NOT_YET))
        ours, theirs = np.divmod(wanted, len(self._their_codes))
        self._table[wanted] = self._vocabulary.meets(self._our_codes[ours], self._their_codes[theirs])
        found: IntArray = self._table[pairs]
        return found
