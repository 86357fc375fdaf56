"""Order: whether the order of rows tells more than chance would, by statistics whose chances are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from indistinct.array_types import FloatArray, IntArray

SMALL = 500
"""Up to this number of rows the chance is found by shuffling, beyond it by the normal distribution."""
RARE = 100
"""Where fewer positions agree on average, their number is spread wider above its mean than a normal one."""
SHUFFLES = 9_999
SEED = 20_020_501
BATCH = 500
LEAST_CHANCE = 1e-300
"""Chances below it are written as it, since zero would say that chance is ruled out."""


class Chance(NamedTuple):
    """A statistic of an order: what was found, what random order gives on average, and the chance to find as much."""

    found: float
    expected: float
    chance: float


class Agreement(NamedTuple):
    """Pairs of kinds of rows of two tables that agree: their kinds, and how many rows each kind has."""

    left: IntArray
    right: IntArray
    left_sizes: IntArray
    right_sizes: IntArray

    def table(self) -> Callable[[IntArray, IntArray], IntArray]:
        """Return what tells which pairs of kinds agree."""
        size = max(1, len(self.right_sizes))
        numbers = np.sort(self.left * size + self.right)

        def agree(left: IntArray, right: IntArray) -> IntArray:
            if not len(numbers):
                return np.zeros(np.broadcast(left, right).shape, np.int64)
            wanted = left * size + right
            places = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            found: IntArray = (numbers[places] == wanted).astype(np.int64)
            return found

        return agree


def agreement_by_position(ours: IntArray, theirs: IntArray, agreement: Agreement) -> Chance:
    """Count the positions at which rows of two tables agree, against a random order of one of them.

    ``ours`` and ``theirs`` are the kinds of the rows in their order. Where one table is longer, rows beyond the other
    agree with nothing.

    Source for the variance: Hoeffding, A combinatorial central limit theorem, 1951.
    """
    agree = agreement.table()
    both, longest = min(len(ours), len(theirs)), max(len(ours), len(theirs), 1)
    found = int(agree(ours[:both], theirs[:both]).sum())
    weights = agreement.left_sizes[agreement.left] * agreement.right_sizes[agreement.right]
    per_row = np.bincount(agreement.left, agreement.right_sizes[agreement.right], len(agreement.left_sizes)) / longest
    per_column = (
        np.bincount(agreement.right, agreement.left_sizes[agreement.left], len(agreement.right_sizes)) / longest
    )
    pairs = float(weights.sum())
    expected = pairs / longest
    squares = (
        pairs
        - longest * float(agreement.left_sizes @ per_row**2)
        - longest * float(agreement.right_sizes @ per_column**2)
        + expected**2
    )
    variance = squares / max(1, longest - 1)
    padded = np.append(ours, np.full(longest - len(ours), -1))

    def statistic_in(orders: IntArray) -> FloatArray:
        mixed = padded[orders][:, : len(theirs)]
        agreeing: FloatArray = np.where(mixed < 0, 0, agree(np.maximum(mixed, 0), theirs)).sum(axis=1).astype(float)
        return agreeing

    chance = _chance(found, expected, variance, longest, statistic_in)
    if longest > SMALL and expected < RARE:
        chance = max(chance, poisson_tail(found, expected))
    return Chance(found, expected, chance)


def poisson_tail(least: int, mean: float) -> float:
    """Return the chance of at least this number of rare events, which agreements by position are if few are expected.

    Source: Montmort's matching problem; the number of fixed points of a random order is Poisson in the limit.

    >>> round(poisson_tail(5, 1.0), 5), poisson_tail(0, 3.0)
    (0.00366, 1.0)
    """
    if least <= 0 or mean <= 0:
        return 1.0
    logarithms = (
        number * math.log(mean) - mean - math.lgamma(number + 1) for number in range(least, least + 10 * RARE)
    )
    return min(1.0, max(math.fsum(map(math.exp, logarithms)), LEAST_CHANCE))


def correlation_with_position(places: FloatArray) -> Chance:
    """Return the rank correlation of the position of rows with where they seem to come from, NaN where nobody knows."""
    known = np.flatnonzero(~np.isnan(places))
    ranks = _ranks(places[known])
    positions = np.arange(len(known)) - (len(known) - 1) / 2
    spread = math.sqrt(float(ranks @ ranks) * float(positions @ positions))
    if spread == 0:
        return Chance(0.0, 0.0, 1.0)
    found = float(ranks @ positions) / spread

    def statistic_in(orders: IntArray) -> FloatArray:
        return np.abs(ranks[orders] @ positions) / spread

    return Chance(
        found, 0.0, _chance(abs(found), 0.0, 1 / max(1, len(known) - 1), len(known), statistic_in, is_two_sided=True)
    )


def likeness_of_neighbours(ranks: IntArray) -> Chance:
    """Return how alike neighbours are in a column: the correlation of each row's rank with that of the next one.

    Source for the variance: Wald and Wolfowitz, An exact test for randomness in the non-parametric case, 1943.
    """
    centred = _ranks(ranks.astype(float))
    number = len(centred)
    spread = float(centred @ centred)
    if spread == 0 or number < 3:
        return Chance(0.0, 0.0, 1.0)
    found = float(centred @ np.roll(centred, -1)) / spread
    expected = -1 / (number - 1)
    fourth = float((centred**4).sum()) / spread**2
    mean_square = (1 - fourth) / (number - 1) + (1 - 2 * fourth) / ((number - 1) * (number - 2))
    variance = mean_square - expected**2

    def statistic_in(orders: IntArray) -> FloatArray:
        mixed = centred[orders]
        likeness: FloatArray = np.einsum("ij,ij->i", mixed, np.roll(mixed, -1, axis=1)) / spread
        return likeness

    return Chance(found, expected, _chance(found, expected, variance, number, statistic_in))


def _ranks(numbers: FloatArray) -> FloatArray:
    """Return the ranks of numbers around their mean; equal numbers share one."""
    _, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = ((ends - counts + ends - 1) / 2)[codes.ravel()]
    return ranks - ranks.mean() if len(ranks) else ranks


def _chance(
    found: float,
    expected: float,
    variance: float,
    rows: int,
    statistic_in: Callable[[IntArray], FloatArray],
    is_two_sided: bool = False,
) -> float:
    """Return the chance that random order gives at least what was found."""
    if rows <= SMALL:
        as_much = sum(int((statistic_in(orders) >= found - 1e-9).sum()) for orders in _orders(rows))
        return (1 + as_much) / (1 + SHUFFLES)
    if variance <= 0:
        return 1.0
    tail = math.erfc((found - expected) / math.sqrt(2 * variance))
    return min(1.0, max(tail if is_two_sided else tail / 2, LEAST_CHANCE))


def _orders(rows: int) -> Iterable[IntArray]:
    """Return random orders of a number of rows, the same ones each time, some at a time."""
    generator = np.random.default_rng(SEED)
    left = SHUFFLES
    while left:
        size = min(BATCH, left)
        yield generator.permuted(np.tile(np.arange(rows), (size, 1)), axis=1)
        left -= size
