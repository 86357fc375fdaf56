"""Propensity: whether a logistic model can tell released rows from original ones, as pMSE and its ratio."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.data_utility.decode import Decoded, NumberColumn
from indistinct.data_utility.decoded_pair import DecodedPair
from indistinct.data_utility.features import FeatureSpace
from indistinct.data_utility.regression.newton import fit_logistic, independent_columns
from indistinct.progress import Watch

DRAWS = 3
"""Tables that are drawn from the release; the figures are their means."""
MOST_ROWS = 20_000
"""Rows of either table that are looked at, a random sample of larger ones."""
MOST_VALUES = 10
"""Values of a category with a term of their own."""
SAME = 1e-18
"""A smaller pMSE is rounding: the tables are the same."""
MOST_TERMS = 100
"""Products of two terms are added where there are no more terms in all than this."""


@dataclass(frozen=True, slots=True)
class Propensity:
    """How well released rows can be told from original ones; each cell of the release is drawn from its label."""

    pmse: float
    """The mean of (p̂ − c)², with p̂ the predicted probability that a row is released, and c the share of these."""
    ratio: float
    """The pMSE over the one that would be expected if the release was drawn from the same population: 1 is as good as
    new rows, 0 the same table."""
    terms: int
    """The parameters of the model, the constant among them."""
    has_products: bool
    """The model has the products of all pairs of terms as well."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON takes them."""
        return asdict(self)


def propensity(pair: DecodedPair, *, seed: int = 0, watch: Watch | None = None) -> Propensity:
    """Return the pMSE of a logistic model of all columns, and its ratio.

    With k parameters and N rows the expected pMSE is (k − 1)(1 − c)² c / N. Source: Snoke et al. 2018.
    """
    watch = watch or Watch()
    rng = np.random.default_rng(seed)
    names = list(pair.original.columns)
    space = FeatureSpace.of(pair.original, names, MOST_VALUES)
    found = []
    is_drawn = any(
        (column.missing % 1 > 0).any() or not column.is_exact.all() for column in pair.release.columns.values()
    )
    for _ in range(DRAWS if is_drawn else 1):
        watch.time_is_up()
        before = _sample(_terms(space, pair.original, rng), rng)
        after = _sample(_terms(space, pair.release, rng), rng)
        found.append(_pmse(before, after))
    pmse, ratio = (float(np.mean([one[place] for one in found])) for place in (0, 1))
    return Propensity(pmse, ratio, found[0][2], found[0][3])


def _terms(space: FeatureSpace, table: Decoded, rng: np.random.Generator) -> FloatArray:
    """Return the features of each row with one value drawn for each cell, NaN for a missing number."""
    parts = [np.zeros((len(table), 0))]
    for name, values in zip(space.names, space.values, strict=True):
        column = table.column(name)
        if isinstance(column, NumberColumn):
            numbers = column.draw(rng)
            parts.append(
                np.column_stack([np.nan_to_num(numbers, nan=float(np.nanmean(column.mean))), np.isnan(numbers)])
            )
        else:
            place = {value: code for code, value in enumerate(column.values)}
            codes = column.draw(rng)
            parts.append(np.column_stack([codes < 0, *(codes == place.get(value, -2) for value in values)]))
    return np.hstack(parts).astype(np.float64)


def _sample(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rows if len(rows) <= MOST_ROWS else rows[rng.choice(len(rows), MOST_ROWS, replace=False)]


def _pmse(before: FloatArray, after: FloatArray) -> tuple[float, float, int, bool]:
    """Return the pMSE, its ratio, the parameters of the model, and whether it has products."""
    rows = np.vstack([before, after])
    center, width = before.mean(axis=0), before.std(axis=0)
    rows = _independent((rows - center) / np.where(width > 0, width, 1.0))
    terms = rows.shape[1]
    has_products = 1 + terms + terms * (terms + 1) // 2 <= MOST_TERMS
    if has_products:
        first, second = np.triu_indices(terms)
        rows = np.hstack([rows, rows[:, first] * rows[:, second]])
    rows = np.hstack([np.ones((len(rows), 1)), _independent(rows - rows.mean(axis=0))])
    is_released = np.repeat([0.0, 1.0], [len(before), len(after)])
    share = len(after) / len(rows)
    fitted = fit_logistic(rows, is_released)
    pmse = float(np.mean((fitted.predict(rows) - share) ** 2))
    pmse = pmse if pmse > SAME else 0.0
    expected = (rows.shape[1] - 1) * (1 - share) ** 2 * share / len(rows)
    return pmse, pmse / expected if expected > 0 else 0.0, rows.shape[1], has_products


def _independent(rows: FloatArray) -> FloatArray:
    return np.asarray(rows[:, independent_columns(rows)], np.float64)
