"""Individual risk: the chance that a record of a sample is re-identified, given how many look like it."""

from __future__ import annotations

import math

import numpy as np

from indistinct.array_types import FloatArray, IntArray

LARGE = 50
"""Records of a group from which the series below ends after a few dozen terms, whatever p is."""
TERMS = 200


def individual_risk(sizes: IntArray, people: FloatArray) -> FloatArray:
    """Return E[1 / F | f] for groups of f records and the people they stand for, the sum of their sampling weights.

    F is the group's size in the population: given f, it is taken as negative binomial with p = f over the sum of the
    weights, as Benedetti and Franconi do. Then the risk is p^f / f · 2F1(f, f; f + 1; 1 - p), which is p times the
    integral of v^(f - 1) / (p + (1 - p) v) for v from 0 to 1.

    Source: Benedetti and Franconi 1998; µ-Argus manual 5.1.3, section 3.3.3.

    >>> individual_risk(np.array([1, 2, 3]), np.array([10.0, 20.0, 30.0])).round(6)
    array([0.255843, 0.082684, 0.046368])
    """
    pairs, where = np.unique(np.stack([sizes, people], axis=1).astype(np.float64), axis=0, return_inverse=True)
    found = [_risk(int(f), min(1.0, f / max(weight, 1e-300))) for f, weight in pairs.tolist()]
    risk: FloatArray = np.array(found)[where.ravel()]
    return risk


def _risk(f: int, p: float) -> float:
    q = 1 - p
    if p >= 0.5 or f >= LARGE:
        term, integral = 1 / f, 0.0
        for step in range(1, TERMS):  # the integral as a series in q, whose terms are beta functions
            integral += term
            term *= q * step / (step + f)
        return p * integral
    integral = math.log(1 / p) / q
    for size in range(1, f):  # q I(size + 1) + p I(size) = 1 / size, which damps errors while p is below q
        integral = (1 / size - p * integral) / q
    return p * integral
