"""Regressions of decoded tables, and how alike those of a release and of its original are."""

from indistinct.data_utility.regression.coefficient_pairs import (
    NORMAL,
    CoefficientPair,
    ComparedRegression,
    compare_regression,
    interval_overlap,
)
from indistinct.data_utility.regression.formula import Regression

__all__ = [
    "NORMAL",
    "CoefficientPair",
    "ComparedRegression",
    "Regression",
    "compare_regression",
    "interval_overlap",
]
