"""Generalized linear models by Newton's method: linear, logistic and Poisson, with classical or clustered errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from indistinct.array_types import FloatArray, IntArray

Family = Literal["linear", "logistic", "poisson"]
STEPS = 100
"""Newton steps at most; a model that separates the classes never converges."""
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """The coefficients of a model, with their covariance."""

    family: Family
    coefficients: FloatArray
    covariance: FloatArray
    has_converged: bool

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the mean of the outcome for rows of features."""
        return _mean(self.family, x @ self.coefficients)


def fit_logistic(x: FloatArray, y: FloatArray) -> FittedModel:
    """Return a logistic model."""
    return fit(x, y, "logistic")


def fit(x: FloatArray, y: FloatArray, family: Family, clusters: IntArray | None = None) -> FittedModel:
    """Return the model of greatest likelihood; ``x`` has a column of ones, and independent columns.

    With ``clusters``, the number of whose row each is, the covariance is that of Liang and Zeger 1986 with the usual
    correction g / (g − 1) · (n − 1) / (n − k). Without, it is the classical one.
    """
    scale = np.sqrt((x**2).mean(axis=0))  # so that columns of all sizes are solved for alike
    x = x / scale
    coefficients, has_converged = _solve(x, y, family)
    covariance = _covariance(x, y, family, coefficients, clusters) / np.outer(scale, scale)
    return FittedModel(family, coefficients / scale, covariance, has_converged)


def _solve(x: FloatArray, y: FloatArray, family: Family) -> tuple[FloatArray, bool]:
    """Return the coefficients, and whether Newton's method came to an end."""
    if family == "linear":
        return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0], np.float64), True
    coefficients: FloatArray = np.zeros(x.shape[1])
    if family == "poisson":
        coefficients[0] = np.log(max(float(y.mean()), 1e-9))
    likelihood = _log_likelihood(family, x @ coefficients, y)
    for _ in range(STEPS):
        mean = _mean(family, x @ coefficients)
        weight = mean * (1 - mean) if family == "logistic" else mean
        step = np.linalg.lstsq((x * weight[:, None]).T @ x, x.T @ (y - mean), rcond=1e-12)[0]
        size = 1.0
        while size > 1e-6:
            found = _log_likelihood(family, x @ (coefficients + size * step), y)
            if np.isfinite(found) and found >= likelihood - 1e-12 * abs(likelihood):
                break
            size /= 2
        coefficients = coefficients + size * step
        gain, likelihood = found - likelihood, found
        if abs(gain) <= TOLERANCE * (1 + abs(likelihood)) and np.abs(size * step).max() < 1e-6:
            return coefficients, True
    return coefficients, False


def _mean(family: Family, linear: FloatArray) -> FloatArray:
    if family == "linear":
        return linear
    if family == "poisson":
        return np.asarray(np.exp(np.clip(linear, -700, 700)), np.float64)
    return np.asarray(0.5 * (1 + np.tanh(linear / 2)), np.float64)


def _log_likelihood(family: Family, linear: FloatArray, y: FloatArray) -> float:
    if family == "poisson":
        return float((y * linear - _mean(family, linear)).sum())
    return float((y * linear - np.logaddexp(0, linear)).sum())


def _covariance(
    x: FloatArray, y: FloatArray, family: Family, coefficients: FloatArray, clusters: IntArray | None
) -> FloatArray:
    rows, terms = x.shape
    mean = _mean(family, x @ coefficients)
    weight = np.ones(rows) if family == "linear" else mean * (1 - mean) if family == "logistic" else mean
    bread = np.linalg.pinv((x * weight[:, None]).T @ x, rcond=1e-20, hermitian=True)
    if clusters is None:
        scale = float(((y - mean) ** 2).sum()) / max(1, rows - terms) if family == "linear" else 1.0
        return np.asarray(bread * scale, np.float64)
    _, own = np.unique(clusters, return_inverse=True)
    groups = int(own.max(initial=0)) + 1
    scores = np.zeros((groups, terms))
    np.add.at(scores, own, x * (y - mean)[:, None])
    correction = groups / max(1, groups - 1) * (rows - 1) / max(1, rows - terms)
    return np.asarray(correction * bread @ (scores.T @ scores) @ bread, np.float64)


def independent_columns(rows: FloatArray) -> list[int]:
    """Return the places of the columns that do not depend linearly on columns before them.

    >>> independent_columns(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]))
    [0, 2]
    """
    gram = rows.T @ rows
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram = gram / np.outer(scale, scale)
    kept: list[int] = []
    for place in range(rows.shape[1]):
        if scale[place] <= 1e-9 * np.sqrt(max(1, len(rows))):
            continue
        known = gram[kept, place]
        left = 1 - float(known @ np.linalg.solve(gram[np.ix_(kept, kept)], known)) if kept else 1.0
        if left > 1e-8:
            kept.append(place)
    return kept
