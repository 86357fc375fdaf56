"""The distance-vector matrix of Samarati's section 5: required suppression without building any generalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, Node
from indistinct.errors import PolicyError
from indistinct.privacy import KAnonymity
from indistinct.search.task import Task

LARGEST_MATRIX = 200_000_000
"""Bytes: two per outlier, tuple and column."""


@dataclass(frozen=True, slots=True)
class DistanceMatrix:
    """For each outlier and each tuple, the lowest levels at which the two become equal.

    Outliers are the tuples that occur fewer than k times. A generalization merges two tuples exactly if its vector
    is at least their distance vector in every component, so all answers of a lattice search can be read off.

    Source: Samarati 2001, section 5 and Figure 11.
    """

    vectors: NDArray[np.int16]
    """(outliers, tuples, columns)"""
    heights: Node
    """The height of each column's hierarchy."""
    counts: NDArray[np.int64]
    """Rows of each tuple."""
    outliers: NDArray[np.int64]
    """Which tuples the rows of the matrix stand for."""
    codes: NDArray[np.int64]
    """(columns, tuples): the value code of each column in each tuple."""
    k: int
    rows: NDArray[np.int64] | None = None
    """The first row of each tuple in the table, from 1, if that was looked up: what papers number tuples by."""

    @classmethod
    def of(cls, task: Task) -> DistanceMatrix:
        """Compute the matrix; only for k-anonymity on a single quasi-identifier, and only for small tables."""
        models = [model for requirement in task.requirements for model in requirement.models]
        if len(task.requirements) != 1 or not all(isinstance(model, KAnonymity) for model in models):
            raise PolicyError(
                "the distance matrix answers for k-anonymity on one quasi-identifier only; use satisfies = 'roll-up'"
            )
        if task.counts_people:
            raise PolicyError(
                "person: the distance matrix counts rows, and somebody may have several; use satisfies = 'roll-up'"
            )
        return cls.of_frequencies(task.frequencies, task.largest_k())

    @classmethod
    def of_frequencies(cls, frequencies: FrequencyList, k: int) -> DistanceMatrix:
        """Compute the matrix of a frequency list."""
        base, columns = frequencies.base, len(frequencies.columns)
        outliers = np.flatnonzero(base.sizes < k)
        if 2 * len(outliers) * len(base) * columns > LARGEST_MATRIX:
            raise PolicyError(
                f"a distance matrix of {len(outliers):,} outliers by {len(base):,} tuples is too large; "
                f"use satisfies = 'roll-up'"
            )
        codes = np.stack([base.label_codes(column) for column in range(columns)])
        vectors = np.zeros((len(outliers), len(base), columns), np.int16)
        for column, hierarchy in enumerate(frequencies.hierarchies):
            for labels in hierarchy.maps:
                # two values stay apart up to the level below their meeting point, and never part again above it;
                # values that never meet are one level further apart than their column can climb
                label = labels[codes[column]]
                vectors[:, :, column] += label[outliers][:, None] != label[None, :]
        return cls(vectors, frequencies.heights, base.sizes, outliers, codes, k)

    def in_order_of(self, rows: NDArray[np.int64]) -> DistanceMatrix:
        """Return the same matrix with the tuples in the order of these rows, each tuple's first in the table."""
        order = np.argsort(rows, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        outliers = places[self.outliers]
        lines = np.argsort(outliers)
        vectors = self.vectors[lines][:, order]
        moved = (self.counts[order], outliers[lines], self.codes[:, order])
        return DistanceMatrix(vectors, self.heights, *moved, self.k, rows[order])

    def required_suppression(self, node: Node) -> int:
        """Return the rows that must be suppressed at a node: those of outliers that meet fewer than k rows there."""
        meets = (self.vectors <= np.array(node, np.int16)).all(axis=2)
        is_left = meets @ self.counts < self.k
        return int(self.counts[self.outliers][is_left].sum())

    def minimal_vectors(self, outlier: int) -> list[Node]:
        """Return the least vectors at which an outlier (a row of the matrix) meets any other tuple."""
        row = np.unique(np.delete(self.vectors[outlier], self.outliers[outlier], axis=0), axis=0)
        return [
            tuple(int(level) for level in vector)
            for vector in row
            if not ((row <= vector).all(axis=1) & (row < vector).any(axis=1)).any()
        ]

    def lower_bounds(self, max_suppressed: int) -> list[list[Node]]:
        """Return for each outlier that may not be suppressed its minimal vectors: a solution dominates one of each."""
        rows = np.flatnonzero(self.counts[self.outliers] > max_suppressed)
        return [self.minimal_vectors(int(row)) for row in rows]

    def upper_bound(self) -> Node:
        """Return the least upper bound of all vectors: no minimal generalization lies above it.

        Example 5.1 prints [1,3,2,2,2] for Figure 11; its own matrix gives [1,3,1,2,2].
        """
        if not self.vectors.size:
            return (0,) * int(self.vectors.shape[2])
        highest: list[int] = np.minimum(self.vectors.max(axis=(0, 1)), self.heights).tolist()
        return tuple(highest)

    def occurring_levels(self) -> list[NDArray[np.int16]]:
        """Return the levels that occur for each column; a minimal generalization has no others."""
        return [np.unique(self.vectors[:, :, column]) for column in range(self.vectors.shape[2])]
