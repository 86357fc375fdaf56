"""Numbers that leave perturbed: means of clusters by MDAV, and noise.

MDAV (Domingo-Ferrer and Mateo-Sanz, 2002) of one column: while at least 3k values are left, the one farthest from
their mean and the k - 1 nearest to it are a cluster, and so are the value farthest from that one and the k - 1 nearest
to it. Of 2k to 3k - 1 values that are left, the one farthest from their mean and the k - 1 nearest to it are a cluster,
and the others are one. Fewer than 2k are one cluster. Of two values that are equally far the smaller one is taken. The
farthest value is the least or the greatest, so clusters are neighbours in sorted order. Equal values may go to two
clusters; which rows go where follows the random order of the release.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import fsum

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.engine import Rows
from indistinct.errors import InfeasibleError
from indistinct.policy import Microaggregation, Noise, Policy
from indistinct.randomness import SECURE, Draws

FINEST = 2.0**-53


def perturb(rows: Rows, policy: Policy, draws: Draws = SECURE) -> Rows:
    """Return the released rows with the perturbations that a policy declares; the rows that were given are closed.

    Numbers are perturbed as they leave: those of rows that were suppressed are in no mean.
    """
    changes: dict[str, Callable[[FloatArray], FloatArray]] = {}
    for name, how in policy.perturbed.items():
        if isinstance(how, Microaggregation):
            changes[name] = partial(_take_means, name=name, k=how.k)
        else:
            changes[name] = partial(add_noise, how=how, draws=draws.part(f"noise {name}"))
    try:
        return rows.with_numbers(changes)
    except BaseException:
        rows.close()
        raise


def _take_means(values: FloatArray, name: str, k: int) -> FloatArray:
    if len(values) < k:
        raise InfeasibleError(
            f"columns.{name}.microaggregate: the rows that leave hold fewer than k = {k} values there; lower k, or "
            "drop the column"
        )
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    means = np.empty(len(values))
    start = 0
    for size in cluster_sizes(ordered, k):
        cluster = ordered[start : start + size]
        means[order[start : start + size]] = fsum(cluster) / size
        start += size
    return means


def cluster_sizes(ordered: FloatArray, k: int) -> list[int]:
    """Return the sizes of MDAV's clusters of sorted values, in their order.

    >>> cluster_sizes(np.array([1.0, 2.0, 3.0, 10.0, 11.0]), 2), cluster_sizes(np.array([1.0, 2.0, 9.0]), 2)
    ([3, 2], [3])
    """
    start, end = 0, len(ordered)
    while end - start >= 3 * k:
        start, end = start + k, end - k
    ends = [k] * (start // k)
    left = ordered[start:end]
    if len(left) < 2 * k:
        return [*ends, len(left), *ends]
    total = sum(map(Fraction, left.tolist()))
    is_least_farther = 2 * total >= len(left) * (Fraction(float(left[0])) + Fraction(float(left[-1])))
    rest = len(left) - k
    return [*ends, *((k, rest) if is_least_farther else (rest, k)), *ends]


def add_noise(values: FloatArray, how: Noise, draws: Draws = SECURE) -> FloatArray:
    """Return values with noise, rounded so that no last bit tells the original."""
    first, second = (_draw(len(values), draws.part(name)) for name in ("first", "second"))
    if how.kind == "uniform":
        drawn = 2 * first - 1
    elif how.kind == "normal":
        drawn = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    else:
        drawn = np.log(first) - np.log(second)  # of two exponential numbers
    noisy: FloatArray = np.round(values + how.scale * drawn, how.decimals) + 0.0  # never -0
    return noisy


def _draw(number: int, draws: Draws) -> FloatArray:
    """Draw uniform numbers above 0, and 1 at most."""
    bits = draws.keys(number) >> np.uint64(11)
    uniform: FloatArray = (bits.astype(np.float64) + 1.0) * FINEST
    return uniform
