"""BinnedColumn: a column of a release and of its original over the same bins, each cell as a share of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.data_utility.decode import CategoryColumn, DecodedColumn, NumberColumn
from indistinct.data_utility.decoded_pair import DecodedPair

BINS = 20
"""Bins of equal frequency of a column of numbers with more different values, as NIST's score has them."""
MOST_VALUES = 100
"""Values of a category that have a bin of their own, the most frequent ones; the others share one."""


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """The same bins for both tables; one more stands for missing cells."""

    name: str
    original: IntArray
    """The bin of each row of the original."""
    masses: FloatArray
    """Of each label of the release (rows): the probability of each bin (columns)."""
    codes: IntArray
    """The label of each row of the release."""

    @property
    def bins(self) -> int:
        """How many there are."""
        return int(self.masses.shape[1])

    @property
    def before(self) -> FloatArray:
        """The share of each bin among the rows of the original."""
        return np.bincount(self.original, minlength=self.bins) / max(1, len(self.original))

    @property
    def after(self) -> FloatArray:
        """The share of each bin among the rows of the release."""
        rows = np.bincount(self.codes, minlength=len(self.masses))
        return np.asarray(rows @ self.masses / max(1, len(self.codes)), np.float64)


def bin_columns(pair: DecodedPair, bins: int = BINS) -> tuple[BinnedColumn, ...]:
    """Return all columns over bins that the original gives.

    Numbers with more than ``bins`` different values have bins of equal frequency, others and categories one for each
    value. Of a column in which the release says nothing at all, each cell has the shares of the original: what
    somebody has who knows the marginals.
    """
    return tuple(
        _bin_column(name, pair.release.columns[name], own, bins) for name, own in pair.original.columns.items()
    )


def _bin_column(name: str, released: DecodedColumn, own: DecodedColumn, bins: int) -> BinnedColumn:
    if isinstance(own, NumberColumn) and isinstance(released, NumberColumn):
        cuts = _cuts(own, bins) + min(own.unit, released.unit) / 2
        exact, masses = own.masses(cuts), released.masses(cuts)
    else:
        assert isinstance(own, CategoryColumn)
        assert isinstance(released, CategoryColumn)  # they were decoded alike
        values = _frequent(own)
        exact, masses = own.masses(values), released.masses(values)
    original = np.argmax(_with_missing(exact, own.missing), axis=1)[own.codes]
    found = BinnedColumn(name, original, _with_missing(masses, released.missing), released.codes)
    if not (released.is_anything[released.codes] > 0).all():
        return found
    return BinnedColumn(name, original, np.tile(found.before, (len(released.labels), 1)), released.codes)


def _with_missing(masses: FloatArray, missing: FloatArray) -> FloatArray:
    """Return masses with a last bin for missing cells."""
    present = np.where(missing < 1, 1 - missing, 0.0)[:, None]
    return np.hstack([np.where(present > 0, masses, 0.0) * present, missing[:, None]])


def _cuts(column: NumberColumn, bins: int) -> FloatArray:
    """Return the greatest value of each bin but the last."""
    numbers = column.middle[column.codes]
    numbers = numbers[np.isfinite(numbers)]
    values = np.unique(numbers)
    if len(values) <= 1:
        return np.zeros(0)
    if len(values) <= bins:
        lower = values[:-1]
    else:
        ends = np.quantile(numbers, np.linspace(0, 1, bins + 1))[1:-1]
        lower = values[np.unique(np.searchsorted(values, ends, side="right") - 1)]
        lower = lower[lower < values[-1]]
    return np.asarray(lower, np.float64)


def _frequent(column: CategoryColumn) -> Sequence[str]:
    """Return the values of the original that have a bin, the most frequent first."""
    rows = np.bincount(column.codes, minlength=len(column.labels))
    order = sorted(range(len(column.labels)), key=lambda code: (-int(rows[code]), column.labels[code] or ""))
    return [label for code in order if (label := column.labels[code]) is not None][:MOST_VALUES]
