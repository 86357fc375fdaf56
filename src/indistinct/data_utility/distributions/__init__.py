"""Distributions: how alike the columns and pairs of a release and of its original are, and whether they tell apart."""

from indistinct.data_utility.distributions.binned import BINS, BinnedColumn, bin_columns
from indistinct.data_utility.distributions.marginals import (
    ColumnDistance,
    Marginals,
    PairDistance,
    compare_marginals,
    k_marginal_score,
)
from indistinct.data_utility.distributions.propensity import Propensity, propensity

__all__ = [
    "BINS",
    "BinnedColumn",
    "ColumnDistance",
    "Marginals",
    "PairDistance",
    "Propensity",
    "bin_columns",
    "compare_marginals",
    "k_marginal_score",
    "propensity",
]
