"""Regressions of decoded tables, and how alike those of a release and of its original are."""

from indistinct.data_utility.regression.coefficient_pairs import CoefficientPair, ComparedRegression, compare_regression
from indistinct.data_utility.regression.formula import Regression

__all__ = ["CoefficientPair", "ComparedRegression", "Regression", "compare_regression"]
