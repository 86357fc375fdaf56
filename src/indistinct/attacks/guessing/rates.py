"""Rates: how often a guess was right, and how sure that is: Wilson's intervals, and Newcombe's for differences.

Sources: Wilson 1927; Newcombe, Statistics in Medicine 17 (1998): 873-890 for two groups of people and 2635-2650 for two
guesses about the same people, method 10 of each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

NORMAL = 1.959963984540054
"""The standard normal distribution lies within this on both sides with a probability of 95 %."""

Interval = tuple[float, float]


class Rate(NamedTuple):
    """How many of some tries were right."""

    right: int
    tries: int


def wilson(right: int, tries: int) -> Interval:
    """Return the 95 % interval of a rate, from 0 to 1; all of it where nothing was tried.

    >>> tuple(round(end, 4) for end in wilson(56, 70))
    (0.6918, 0.877)
    """
    if not tries:
        return 0.0, 1.0
    rate, square = right / tries, NORMAL**2
    middle = (rate + square / (2 * tries)) / (1 + square / tries)
    half = NORMAL * math.sqrt(rate * (1 - rate) / tries + square / (4 * tries**2)) / (1 + square / tries)
    low = 0.0 if right == 0 else max(0.0, middle - half)
    return low, 1.0 if right == tries else min(1.0, middle + half)


def difference(right: int, tries: int, other_right: int, other_tries: int) -> Interval:
    """Return the 95 % interval of the difference between two rates of different people.

    >>> tuple(round(end, 4) for end in difference(56, 70, 48, 80))
    (0.0524, 0.3339)
    """
    if not tries or not other_tries:
        return -1.0, 1.0
    return _of_wilson(Rate(right, tries), Rate(other_right, other_tries), 0.0)


def paired_difference(both: int, first: int, second: int, neither: int) -> Interval:
    """Return the 95 % interval of the difference between two guesses about the same people.

    ``first`` are people about whom only the first guess was right, ``second`` only the second.

    >>> tuple(round(end, 4) for end in paired_difference(36, 12, 2, 0))
    (0.0569, 0.3404)
    """
    tries = both + first + second + neither
    if not tries:
        return -1.0, 1.0
    product = both * neither - first * second
    if product > 0:
        product = max(product - tries / 2, 0)  # type: ignore[assignment]  # Newcombe's correction for continuity
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    correlation = product / math.sqrt(margins) if margins else 0.0
    return _of_wilson(Rate(both + first, tries), Rate(both + second, tries), correlation)


def _of_wilson(one: Rate, other: Rate, correlation: float) -> Interval:
    """Put the intervals of two rates together."""
    rate, other_rate = one.right / one.tries, other.right / other.tries
    (low, high), (other_low, other_high) = wilson(*one), wilson(*other)
    found = rate - other_rate

    def reach(own: float, others: float) -> float:
        return math.sqrt(max(0.0, own**2 - 2 * correlation * own * others + others**2))

    return (
        max(-1.0, found - reach(rate - low, other_high - other_rate)),
        min(1.0, found + reach(high - rate, other_rate - other_low)),
    )
