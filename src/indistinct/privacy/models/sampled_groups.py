"""What sampling and dropping small groups give: the least k for which a release is (ε,δ)-differentially private.

Each person is taken with probability β, cells are generalized by levels that do not depend on who is in the table, and
groups below k are dropped. That is (ε,δ)-differentially private for every ε of at least -ln(1 - β) with

    δ = max over n >= ⌈k/γ - 1⌉ of P[Bin(n, β) > γn],   γ = (e^ε - 1 + β) / e^ε.

Every number here is rounded towards the safe side: γ down, so that more outcomes count as bad; probabilities up; k up.

Source: Li, Qardaji, Su, On sampling, anonymization, and differential privacy, 2012, Theorem 5; Bild, Kuhn, Prasser,
SafePub, 2018, section 5.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from indistinct.errors import PolicyError

DIGITS = 60
DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
MARGIN = Decimal(10) ** -(DIGITS - 12)
"""More than all roundings of one probability together; powers and exponentials are right but for their last digit."""
ABOVE_ONE = UP.add(Decimal(1), MARGIN)
MOST_PEOPLE = 5_000_000
"""A k above that is asked of nobody: the search for it would take minutes, and no group is so large."""
FINENESS = 10_000
"""A share that is chosen for somebody is a multiple of one part in so many: it is read and written by people."""


def largest_share(epsilon: float) -> float:
    """Return the largest share of people that may be sampled for an ε, rounded down to four places.

    >>> largest_share(1.0), largest_share(2.0)
    (0.6321, 0.8646)
    """
    share = DOWN.subtract(Decimal(1), _exponential(Decimal(epsilon)))
    return math.floor(Fraction(share) * FINENESS) / FINENESS


def least_k(epsilon: float, delta: float, share: float) -> int:
    """Return the least group that may be released where so large a share of people is sampled.

    >>> least_k(1.0, 1e-5, 0.632), least_k(1.0, 1e-5, 0.316), least_k(2.0, 1e-5, 0.432)
    (61, 19, 17)
    """
    return _least_k(Decimal(epsilon), Decimal(delta), Decimal(share))


def delta_of(epsilon: float, k: int, share: float) -> float:
    """Return the δ that groups of k give, rounded up: no smaller one is claimed.

    >>> delta_of(1.0, 61, 0.632) <= 1e-5 < delta_of(1.0, 60, 0.632)
    True
    """
    gamma, beta = _gamma(Decimal(epsilon), Decimal(share)), Decimal(share)
    worst, n = Decimal(0), max(0, math.ceil(Fraction(k) / Fraction(UP.add(gamma, MARGIN)) - 1))
    while True:
        worst = max(worst, _tail(n, beta, gamma))
        n += 1
        if _chernoff(n, beta, gamma) <= worst:
            return math.nextafter(float(worst), math.inf)


@lru_cache(maxsize=256)
def _least_k(epsilon: Decimal, delta: Decimal, beta: Decimal) -> int:
    gamma = _gamma(epsilon, beta)
    n = _beyond(delta, beta, gamma)
    if n > MOST_PEOPLE:
        raise PolicyError(
            "differential-privacy: epsilon and delta ask for groups of millions; give a larger epsilon or delta"
        )
    while n > 0 and _tail(n, beta, gamma) <= delta:
        n -= 1
    # n people may be too many for δ, and no more than that are: k must be such that ⌈k/γ - 1⌉ is above n
    above = Fraction(UP.add(gamma, MARGIN)) * (n + 1)
    return max(1, math.floor(above) + 1)


def _gamma(epsilon: Decimal, beta: Decimal) -> Decimal:
    """Return γ = 1 - (1 - β) / e^ε, rounded down."""
    return DOWN.subtract(Decimal(1), UP.multiply(UP.subtract(Decimal(1), beta), _exponential(epsilon)))


def _exponential(number: Decimal) -> Decimal:
    """Return e^-number, rounded up."""
    return UP.multiply(UP.exp(number.copy_negate()), ABOVE_ONE)


def _tail(n: int, beta: Decimal, gamma: Decimal) -> Decimal:
    """Return P[Bin(n, β) > γn], rounded up."""
    first = math.floor(Fraction(gamma) * n) + 1
    if first > n:
        return Decimal(0)
    rest = UP.subtract(Decimal(1), beta)
    term = UP.multiply(Decimal(math.comb(n, first)), UP.multiply(UP.power(beta, first), UP.power(rest, n - first)))
    total, odds = term, UP.divide(beta, rest)
    for successes in range(first + 1, n + 1):
        term = UP.multiply(term, UP.multiply(odds, UP.divide(Decimal(n - successes + 1), Decimal(successes))))
        total = UP.add(total, term)
        if term < UP.multiply(total, MARGIN):  # terms fall beyond the mode, so the rest is at most n of them
            total = UP.add(total, UP.multiply(term, Decimal(n)))
            break
    return UP.multiply(total, ABOVE_ONE)


def _chernoff(n: int, beta: Decimal, gamma: Decimal) -> Decimal:
    """Return a bound of P[Bin(m, β) > γm] for all m of at least n: e^(-n KL(γ, β)), rounded up."""
    return _exponential(DOWN.multiply(Decimal(n), _divergence(beta, gamma)))


def _beyond(delta: Decimal, beta: Decimal, gamma: Decimal) -> int:
    """Return so many people that for as many or more the probability is at most δ."""
    logarithm = UP.add(DOWN.ln(delta).copy_negate(), MARGIN)
    return math.ceil(UP.divide(logarithm, _divergence(beta, gamma))) + 1


def _divergence(beta: Decimal, gamma: Decimal) -> Decimal:
    """Return γ ln(γ/β) + (1 - γ) ln((1 - γ)/(1 - β)), rounded down."""
    ratio = DOWN.ln(DOWN.divide(gamma, beta))
    left = UP.subtract(Decimal(1), gamma)
    rest = DOWN.ln(DOWN.divide(left, UP.subtract(Decimal(1), beta)))
    found = DOWN.add(DOWN.multiply(gamma, ratio), DOWN.multiply(left, rest))
    return DOWN.subtract(found, MARGIN)
