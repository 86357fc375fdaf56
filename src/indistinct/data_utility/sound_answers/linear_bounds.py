"""The coefficients of a linear model where predictors and outcome are known by ranges and sets.

Coefficients β of a table with features X and outcome y meet X'(y − Xβ) = 0. Around the middle of all cells, with the
model β₀ and the moments G of that table, the distance δ = β − β₀ is C X'(y − Xβ₀) + (1 − C X'X) δ, where C = G⁻¹. Both
are sums over rows, and in each row products of two linear functions of its cells. So each row is bounded by itself, and
the sums by adding that up: δ lies in z + R δ for known intervals z and R. If the absolute values of R are a contraction
then X'X is regular in every table, and the equation has bounds (Krawczyk 1969; Neumaier 1990, chapter 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.data_utility.regression.newton import independent_columns

ROUNDS = 50
"""Times that bounds of all coefficients are put into the equation, from which they come out narrower."""
SWEEPS = 10
"""Times at most that a search for an extreme table goes through all cells."""
ROUNDING = 1e-9
"""Bounds are widened by so much of their size."""


@dataclass(frozen=True, slots=True, eq=False)
class PossiblePredictor:
    """What the cells of a predictor may be: by kind of rows some points, each as what it adds to the features."""

    titles: tuple[str, ...]
    points: FloatArray
    """(points, titles) the features of each point; (kinds, 2, 1) both ends of a range of numbers."""
    may_be: BoolArray
    """(kinds, points) which points the cells of a kind may be."""
    is_range: bool
    """All numbers between both points are possible as well."""

    @classmethod
    def of_numbers(cls, name: str, low: FloatArray, high: FloatArray) -> PossiblePredictor:
        """Return a column of numbers, which is one feature."""
        points = np.stack([low, high], axis=1)[:, :, None]
        return cls((name,), points, np.ones((len(low), 2), np.bool_), True)

    @classmethod
    def of_categories(cls, name: str, values: list[str], may_be: BoolArray) -> PossiblePredictor:
        """Return a column of categories: a feature for each value but the first."""
        return cls(tuple(f"{name}={value}" for value in values[1:]), np.eye(len(values))[:, 1:], may_be, False)

    @property
    def middle(self) -> FloatArray:
        """(kinds, titles) the mean of the points of each kind."""
        if self.is_range:
            return np.asarray(self.points.mean(axis=1), np.float64)
        return np.asarray((self.may_be / self.may_be.sum(axis=1, keepdims=True)) @ self.points, np.float64)

    @property
    def is_exact(self) -> bool:
        """Each cell is known."""
        return bool(
            (self.points[:, 0] == self.points[:, 1]).all() if self.is_range else (self.may_be.sum(1) == 1).all()
        )

    def project(self, direction: FloatArray) -> FloatArray:
        """Return (kinds, points) the product of each point with a direction."""
        projected = self.points @ direction
        return projected if self.is_range else np.broadcast_to(projected, self.may_be.shape)


@dataclass(frozen=True, slots=True)
class CoefficientBounds:
    """What one coefficient may be; None where that is not known."""

    term: str
    low: float | None
    high: float | None
    reached: tuple[float, float] | None
    """The least and the greatest that were found; None where they are the bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """The rows that a linear model is made of, of some kinds."""

    predictors: tuple[PossiblePredictor, ...]
    low: FloatArray
    """By kind: the least outcome."""
    high: FloatArray
    rows: IntArray
    is_sure: BoolArray
    """By kind: its rows are in the model; else each may be."""

    @property
    def is_exact(self) -> bool:
        """Nothing but the outcome is in doubt."""
        return bool(self.is_sure.all()) and all(one.is_exact for one in self.predictors)

    @property
    def titles(self) -> list[str]:
        """The terms of the model."""
        return ["(constant)", *(title for one in self.predictors for title in one.titles)]

    @property
    def spans(self) -> list[slice]:
        """Where the features of each predictor stand."""
        ends = np.cumsum([1, *(len(one.titles) for one in self.predictors)])
        return [slice(start, end) for start, end in pairwise(ends)]

    @property
    def middle(self) -> FloatArray:
        """(kinds, terms) the features of the middle of all cells."""
        return np.hstack([np.ones((len(self.rows), 1)), *(one.middle for one in self.predictors)])

    @property
    def weights(self) -> FloatArray:
        """By kind: its rows, those in doubt by half."""
        return np.asarray(self.rows * np.where(self.is_sure, 1.0, 0.5), np.float64)

    @property
    def middle_outcome(self) -> FloatArray:
        """The middle of the outcomes, or the end that there is."""
        ends = np.stack([np.where(np.isfinite(end), end, np.nan) for end in (self.low, self.high)])
        has_end = np.isfinite(ends).any(axis=0)
        return np.where(has_end, np.nansum(ends, axis=0) / np.maximum(1, np.isfinite(ends).sum(axis=0)), 0.0)

    def centring_matrix(self, terms: list[int]) -> FloatArray:
        """Return the matrix that makes features as distances from their means; of some terms alone."""
        basis = np.eye(len(self.titles))
        basis[0, 1:] = -(self.rows @ self.middle[:, 1:]) / self.rows.sum()
        return basis[:, terms]


def bound_coefficients(possible: ModelRows) -> list[CoefficientBounds]:
    """Return what each coefficient may be, over all tables.

    Where everything but the outcome is exact it is a weighted sum of outcomes, and the bounds are reached; a term that
    depends linearly on those before it is left out. Else bounds hold, and tables that a search found show how wide
    they must be at least.
    """
    titles = possible.titles
    terms = independent_columns(possible.middle * np.sqrt(possible.weights)[:, None])
    if not possible.is_exact and len(terms) < len(titles):
        return [CoefficientBounds(title, None, None, None) for title in titles]
    equation = _Equation.of(possible, possible.centring_matrix(terms))
    found = equation.bounds(possible)
    return [
        CoefficientBounds(
            titles[term],
            float(low) if np.isfinite(low) else None,
            float(high) if np.isfinite(high) else None,
            None if possible.is_exact else _find_extremes(possible, equation.basis, term),
        )
        for term, (low, high) in zip(terms, found, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Equation:
    """δ lies in ``shift`` + ``turn`` δ, both between a least and a greatest value."""

    basis: FloatArray
    center: FloatArray
    """β₀, of the features that the basis makes."""
    directions: FloatArray
    """C: what the moments of these features with the residuals are multiplied by."""
    shift: FloatArray
    """(terms, 2)"""
    turn: FloatArray
    """(terms, terms, 2)"""

    @classmethod
    def of(cls, possible: ModelRows, basis: FloatArray) -> _Equation:
        """Return the equation of the coefficients of some features."""
        x, weights = possible.middle @ basis, possible.weights
        inverse = np.asarray(np.linalg.inv((x * weights[:, None]).T @ x), np.float64)
        center, directions = inverse @ (x.T @ (weights * possible.middle_outcome)), inverse @ basis.T
        rows = [
            _line(possible, basis, center, one, own) for one, own in zip(directions, np.eye(len(center)), strict=True)
        ]
        return cls(basis, center, directions, np.array([own for own, _ in rows]), np.array([own for _, own in rows]))

    def bounds(self, possible: ModelRows) -> FloatArray:
        """Return (terms, 2) the least and the greatest value of each coefficient."""
        ends = np.stack(self._solve())
        found = self.center + ends
        own = self.basis[0]  # the constant is a sum of several of these features
        shift, turn = _line(possible, self.basis, self.center, own @ self.directions, own)
        products = np.array([_product(turn[:, end], one) for end in (0, 1) for one in ends])
        found[:, 0] = own @ self.center + shift
        found[:, 0] += products.min(axis=0).sum(), products.max(axis=0).sum()
        if not possible.is_exact:
            found += np.array([[-ROUNDING], [ROUNDING]]) * (np.abs(found).sum(axis=0))
        return np.asarray(found.T, np.float64)

    def _solve(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest δ; infinite where there may be no bound."""
        most = np.abs(self.turn).max(axis=2)
        if not most.any():
            return self.shift[:, 0], self.shift[:, 1]
        none = np.full(len(most), np.inf)
        if not (np.isfinite(most).all() and np.isfinite(self.shift).all()):
            return -none, none
        if np.abs(np.linalg.eigvals(most)).max() >= 1 - ROUNDING:
            return -none, none
        high = np.linalg.solve(np.eye(len(most)) - most, np.abs(self.shift).max(axis=1))
        low = -high
        for _ in range(ROUNDS):
            products = np.stack([self.turn[:, :, end] * one for end in (0, 1) for one in (low, high)])
            low = np.maximum(low, self.shift[:, 0] + products.min(axis=0).sum(axis=1))
            high = np.minimum(high, self.shift[:, 1] + products.max(axis=0).sum(axis=1))
        return low, high


def _line(
    possible: ModelRows, basis: FloatArray, center: FloatArray, direction: FloatArray, own: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the line of the equation for a coefficient that is ``own`` times those of the basis."""
    shift = np.array(_sum_products(possible, direction, basis @ center, is_residual=True))
    if possible.is_exact:
        return shift, np.zeros((len(own), 2))
    moments = np.array([_sum_products(possible, direction, -one, is_residual=False) for one in basis.T])
    return shift, own[:, None] - moments[:, ::-1]


def _product(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return products in which zero times infinity is zero."""
    return np.asarray(np.where(first == 0, 0.0, first * np.where(first == 0, 0.0, second)), np.float64)


def _sum_products(
    possible: ModelRows, first: FloatArray, second: FloatArray, *, is_residual: bool
) -> tuple[float, float]:
    """Return bounds of the sum, over all rows, of two linear functions multiplied: ``first`` times the features, and
    the outcome, if it is asked for, less ``second`` times the features.

    What one cell moves alone is bounded exactly, or nearly; what two move together by the product of both.
    """
    x = possible.middle
    outcome = possible.middle_outcome if is_residual else np.zeros(len(x))
    one, two = x @ first, outcome - x @ second
    low, high = one * two, one * two
    reach_one, reach_two, by_one_cell = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    for predictor, span in zip(possible.predictors, possible.spans, strict=True):
        if predictor.is_exact:
            continue
        move_one = predictor.project(first[span]) - (x[:, span] @ first[span])[:, None]
        move_two = (x[:, span] @ second[span])[:, None] - predictor.project(second[span])
        moved, bent = one[:, None] * move_two + two[:, None] * move_one, move_one * move_two
        down, up = (np.minimum(bent, 0), np.maximum(bent, 0)) if predictor.is_range else (bent, bent)
        low += np.where(predictor.may_be, moved + down, np.inf).min(axis=1)
        high += np.where(predictor.may_be, moved + up, -np.inf).max(axis=1)
        reaches = [np.where(predictor.may_be, np.abs(move), 0).max(axis=1) for move in (move_one, move_two)]
        reach_one, reach_two = reach_one + reaches[0], reach_two + reaches[1]
        by_one_cell += reaches[0] * reaches[1]
    together = reach_one * reach_two - by_one_cell
    low, high = low - together, high + together
    if is_residual:
        ends = possible.low - outcome, possible.high - outcome
        moved = np.stack([_product(one, end) for end in ends])
        together = np.stack([_product(reach_one, np.abs(end)) for end in ends]).max(axis=0)
        low, high = low + moved.min(axis=0) - together, high + moved.max(axis=0) + together
    low = np.where(possible.is_sure, low, np.minimum(low, 0))
    high = np.where(possible.is_sure, high, np.maximum(high, 0))
    return float(possible.rows @ low), float(possible.rows @ high)


def _find_extremes(possible: ModelRows, basis: FloatArray, term: int) -> tuple[float, float] | None:
    """Return the least and the greatest value of a coefficient among the tables that a search comes by."""
    if not (np.isfinite(possible.low).all() and np.isfinite(possible.high).all()):
        return None
    found: list[float] = []
    for sign in (-1.0, 1.0):
        x, y, weights = possible.middle, possible.middle_outcome, possible.weights
        best = -np.inf
        for _ in range(SWEEPS):
            model = _fit(x @ basis, y, weights, basis)
            if model is None:
                break
            x, y, weights = _extreme(possible, x, model[0], sign * model[1][term])
            tried = _fit(x @ basis, y, weights, basis)
            if tried is None or sign * tried[0][term] <= best + ROUNDING * abs(best):
                break
            best = sign * float(tried[0][term])
        if not np.isfinite(best):
            return None
        found.append(sign * best)
    return found[0], found[1]


def _fit(x: FloatArray, y: FloatArray, weights: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the coefficients, and what each takes of the moments with the residuals; None if there are no such."""
    if len(independent_columns(x * np.sqrt(weights)[:, None])) < x.shape[1]:
        return None
    inverse = np.asarray(np.linalg.inv((x * weights[:, None]).T @ x), np.float64)
    return basis @ inverse @ (x.T @ (weights * y)), basis @ inverse @ basis.T


def _extreme(
    possible: ModelRows, x: FloatArray, coefficients: FloatArray, direction: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the features, outcomes and weights of rows, cell by cell at the end that moves a coefficient farthest."""
    x = x.copy()
    one = x @ direction
    y = np.where(one > 0, possible.high, possible.low)
    for predictor, span in zip(possible.predictors, possible.spans, strict=True):
        kinds = np.arange(len(x))
        one_rest = x @ direction - x[:, span] @ direction[span]
        two_rest = y - x @ coefficients + x[:, span] @ coefficients[span]
        products = one_rest[:, None] + predictor.project(direction[span])
        products = products * (two_rest[:, None] - predictor.project(coefficients[span]))
        best = np.where(predictor.may_be, products, -np.inf).argmax(axis=1)
        x[:, span] = predictor.points[kinds, best] if predictor.is_range else predictor.points[best]
    one = x @ direction
    y = np.where(one > 0, possible.high, possible.low)
    is_in = possible.is_sure | (one * (y - x @ coefficients) > 0)
    return x, y, np.asarray(possible.rows * is_in, np.float64)
