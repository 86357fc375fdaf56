"""Random numbers, and the rule by which a change of groups is accepted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from indistinct.kernel import kernel

RANDOM = 1
"""Among the counters of groups: the state of the random numbers."""

PRIME, FACTOR = 2**31 - 1, 48271


class Pass(NamedTuple):
    """Which parcels or rows are visited: every ``step``-th from ``first`` to ``end - 1``; and what is accepted.

    ``reach``  a group in which a row costs as much is always tried, one that costs less in proportion
    ``heat``   a change that costs x more is accepted with the chance exp(-x / heat); without heat none
    """

    first: int
    end: int
    step: int
    reach: float
    heat: float


@kernel
def draw(below: int, counters: Any) -> int:
    """Return the next random number in 0..below - 1 (the minimal standard generator of Park and Miller)."""
    counters[RANDOM] = counters[RANDOM] * FACTOR % PRIME
    return int(counters[RANDOM] % below)


@kernel
def accepted_rise(heat: float, counters: Any) -> float:
    """Return how much more a change may cost (Metropolis et al. 1953)."""
    number = draw(PRIME - 1, counters) if heat > 0.0 else 0
    return -heat * math.log((1 + number) / PRIME)
