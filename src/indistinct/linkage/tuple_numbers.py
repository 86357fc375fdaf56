"""Tuple numbers: one number for each combination of codes that occurs, and the pairs of rows that have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from indistinct.array_types import IntArray

MOST_NUMBERS = 1 << 62


class TupleNumbers(NamedTuple):
    """The different tuples of some columns, in their order."""

    first: IntArray
    """(tuples,): a row of each"""
    number: IntArray
    """(rows,): which of them each row is"""


def number_tuples(columns: Sequence[Any], rows: int) -> IntArray:
    """Number the combinations of some columns of numbers, none of which is negative, in their order.

    >>> number_tuples([np.array([7, 0, 7]), np.array([1, 2, 0])], 3)
    array([2, 0, 1])
    """
    return distinct_tuples(columns, rows).number


def distinct_tuples(columns: Sequence[Any], rows: int) -> TupleNumbers:
    """Return the different combinations of some columns of numbers, none of which is negative."""
    numbers, room = np.zeros(rows, np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if room * size > MOST_NUMBERS:
            numbers = np.unique(numbers, return_inverse=True)[1].ravel()
            room = int(numbers.max(initial=0)) + 1
        numbers = numbers * size + column.astype(np.int64)
        room *= size
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    return TupleNumbers(first, which.ravel())


@dataclass(frozen=True, slots=True)
class EqualPairs:
    """The pairs of a number on the left and an equal one on the right, which need not be made all at once."""

    order: IntArray
    """The places on the right, by their numbers."""
    first: IntArray
    sizes: IntArray
    """(left,): where in that order the equal ones begin, and how many there are."""

    @classmethod
    def of(cls, left: IntArray, right: IntArray) -> EqualPairs:
        """Find the equal numbers of each number on the left.

        >>> EqualPairs.of(np.array([5, 9, 7]), np.array([7, 5, 7])).between(0, 3)
        (array([0, 2, 2]), array([1, 0, 2]))
        """
        order = np.argsort(right, kind="stable")
        first = np.searchsorted(right[order], left, "left")
        return cls(order, first, np.searchsorted(right[order], left, "right") - first)

    def between(self, begin: int, end: int) -> tuple[IntArray, IntArray]:
        """Return the pairs of some places on the left: the places on both sides."""
        sizes = self.sizes[begin:end]
        left = np.repeat(np.arange(begin, end), sizes)
        within = np.arange(len(left)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return left, self.order[np.repeat(self.first[begin:end], sizes) + within]
