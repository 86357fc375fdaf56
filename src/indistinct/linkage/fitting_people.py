"""Counting: how many people fit each group of a release, and how many released rows fit each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.counting import IntArray
from indistinct.engine import Counts
from indistinct.linkage import covering
from indistinct.linkage.coverage import UNKNOWN, Coverage
from indistinct.linkage.tuple_numbers import distinct_tuples

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who fits whom: released groups on one side, distinct tuples of the other table on the other."""

    sizes: IntArray
    """The rows of each group."""
    people: IntArray
    """The people that fit each group."""
    one: IntArray
    """The position of a tuple of people who fit each group, NOBODY if none do."""
    persons: IntArray
    """The people of each tuple of the other table."""
    rows: IntArray
    """The released rows that fit each tuple."""


def count_candidates(groups: Counts, people: Counts, coverages: Sequence[Coverage]) -> Candidates:
    """Count the people that fit each group and the rows that fit each of the people, column by column.

    Both are tuples of codes with their numbers; a coverage says for each column which of them fit.
    """
    labels = _table([np.asarray(codes, np.int64) for codes in groups.codes], len(groups.counts))
    ranks = _table(
        [coverage.ranks[codes] for coverage, codes in zip(coverages, people.codes, strict=True)], len(people.counts)
    )
    found = np.full(len(labels), NOBODY)
    fitting = np.zeros(len(labels), np.int64)
    rows = np.zeros(len(ranks), np.int64)
    for known, members in _by_known_columns(ranks):
        own = ranks[np.ix_(members, known)]
        distinct = distinct_tuples(list(own.T), len(own))
        points, point_of = np.ascontiguousarray(own[distinct.first]), distinct.number
        weights = np.bincount(point_of, people.counts[members], len(points)).astype(np.int64)
        if len(known):
            tree, order = covering.build(points, weights)
            covers = _covers([coverages[column] for column in known])
            boxes = np.ascontiguousarray(labels[:, known])
            inside, place, sizes = covering.count(tree, covers, boxes, groups.counts)
            over = np.empty(len(points), np.int64)
            over[order] = sizes
            one = np.where(place == covering.NOBODY, NOBODY, order[np.maximum(place, 0)])
        else:  # nothing is known of them, so they fit every row
            inside = np.full(len(labels), weights.sum())
            over, one = np.full(len(points), groups.counts.sum()), np.zeros(len(labels), np.int64)
        first = np.full(len(points), NOBODY)
        first[point_of] = members
        found = np.where(one == NOBODY, found, first[np.maximum(one, 0)])
        fitting += inside
        rows[members] = over[point_of]
    return Candidates(groups.counts, fitting, found, people.counts, rows)


def members_of(labels: Sequence[int], people: Counts, coverages: Sequence[Coverage]) -> IntArray:
    """Return the positions of the tuples of people who fit one group, by the code of its label in each column."""
    fits = np.ones(len(people.counts), np.bool_)
    for label, coverage, codes in zip(labels, coverages, people.codes, strict=True):
        is_covered = np.zeros(coverage.number + 1, np.bool_)
        is_covered[np.asarray(coverage.covered[label], np.int64)] = True
        is_covered[UNKNOWN] = True
        fits &= is_covered[coverage.ranks[codes]]
    return np.flatnonzero(fits)


def _table(columns: Sequence[IntArray], rows: int) -> IntArray:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int64)


def _by_known_columns(ranks: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Divide tuples by the columns in which they are not missing: give these columns, and the tuples' positions."""
    is_known = ranks != UNKNOWN
    if is_known.all():
        return [(np.arange(ranks.shape[1]), np.arange(len(ranks)))] if len(ranks) else []
    patterns, which = np.unique(is_known, axis=0, return_inverse=True)
    return [
        (np.flatnonzero(pattern), np.flatnonzero(which.ravel() == number)) for number, pattern in enumerate(patterns)
    ]


def _covers(coverages: Sequence[Coverage]) -> covering.LabelRanks:
    """Lay out what the labels of some columns cover, as the kernel takes it."""
    offsets: list[int] = []
    lows: list[int] = []
    highs: list[int] = []
    places: list[int] = []
    counts = [np.zeros(0, np.int64)]
    taken = 0
    for coverage in coverages:
        offsets.append(len(lows))
        for ranks in coverage.covered:
            lows.append(int(ranks[0]) if len(ranks) else 1)
            highs.append(int(ranks[-1]) if len(ranks) else 0)
            places.append(-1 if isinstance(ranks, range) else taken)
            if not isinstance(ranks, range):
                is_covered = np.zeros(coverage.number + 1, np.int64)
                is_covered[ranks + 1] = 1
                counts.append(np.cumsum(is_covered))
                taken += len(is_covered)
    return covering.LabelRanks(
        np.array(offsets, np.int64),
        np.array(lows, np.int64),
        np.array(highs, np.int64),
        np.array(places, np.int64),
        np.concatenate(counts),
    )
