"""Intervals of rates and of their differences, worked out anew from their definitions, over random counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from hypothesis import given
from hypothesis import strategies as st

from helpers.profiles import examples
from indistinct.attacks.guessing.rates import difference, paired_difference, wilson

Z = NormalDist().inv_cdf(0.975)
COUNTS = st.one_of(st.integers(0, 12), st.integers(0, 40_000))
CLOSE = 1e-9


def where_it_changes(rejects: Callable[[float], bool], outside: float, inside: float) -> float:
    """Return the last rate that a test does not reject, between one that it rejects and one that it does not."""
    if not rejects(outside):
        return outside
    for _ in range(200):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if rejects(middle) else (outside, middle)
    return inside


def by_the_score_test(right: int, tries: int) -> tuple[float, float]:
    """Return the rates that would not be rejected at 5 %, were they true: that is what Wilson's interval is."""
    seen = right / tries

    def rejects(rate: float) -> bool:
        return abs(seen - rate) > Z * math.sqrt(rate * (1 - rate) / tries)

    return where_it_changes(rejects, 0.0, seen), where_it_changes(rejects, 1.0, seen)


def newcombe(one: tuple[int, int], other: tuple[int, int], phi: float) -> tuple[float, float]:
    """Return method 10: the ends of both intervals, put together like the sides of a triangle."""
    (low, high), (other_low, other_high) = by_the_score_test(*one), by_the_score_test(*other)
    first, second = one[0] / one[1], other[0] / other[1]
    down = (first - low) ** 2 - 2 * phi * (first - low) * (other_high - second) + (other_high - second) ** 2
    up = (high - first) ** 2 - 2 * phi * (high - first) * (second - other_low) + (second - other_low) ** 2
    return first - second - math.sqrt(max(down, 0)), first - second + math.sqrt(max(up, 0))


def are_close(found: tuple[float, float], expected: tuple[float, float]) -> bool:
    return all(math.isclose(one, other, abs_tol=CLOSE) for one, other in zip(found, expected, strict=True))


@examples(200)
@given(COUNTS, COUNTS)
def test_the_interval_of_a_rate_holds_what_the_score_test_does_not_reject(right: int, wrong: int) -> None:
    if right + wrong:
        assert are_close(wilson(right, right + wrong), by_the_score_test(right, right + wrong))


@examples(200)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_interval_of_a_difference_is_newcombes(right: int, wrong: int, others: int, others_wrong: int) -> None:
    if right + wrong and others + others_wrong:
        found = difference(right, right + wrong, others, others + others_wrong)
        assert are_close(found, newcombe((right, right + wrong), (others, others + others_wrong), 0.0))
        assert -1 <= found[0] <= right / (right + wrong) - others / (others + others_wrong) <= found[1] <= 1


@examples(200)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_interval_of_a_paired_difference_is_newcombes(both: int, first: int, second: int, neither: int) -> None:
    people = both + first + second + neither
    if not people:
        return
    above = both * neither - first * second
    sides = [both + first, second + neither, both + second, first + neither]
    if above > 0:
        above = max(2 * above - people, 0) / 2  # type: ignore[assignment]
    phi = 0.0 if 0 in sides else above / math.prod(map(math.sqrt, sides))
    found = paired_difference(both, first, second, neither)
    assert are_close(found, newcombe((both + first, people), (both + second, people), phi))
    assert -1 <= found[0] <= (first - second) / people <= found[1] <= 1
