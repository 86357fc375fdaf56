"""QueryErrors: what a release answers to COUNT queries, beside what is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.errors import PolicyError
from indistinct.showing.words import counted


@dataclass(frozen=True, slots=True, eq=False)
class QueryErrors:
    """What each estimator answers to each query on one release, beside what is true.

    >>> found = QueryErrors(np.array([4, 10]), {"uniform": np.array([5.0, 10.0]), "overlap": np.array([6.0, 20.0])})
    >>> found.average
    {'uniform': 0.125, 'overlap': 0.75}
    """

    actual: IntArray
    """The answers on the original."""
    estimates: Mapping[str, FloatArray]
    """The answers on the release by estimator: ``uniform`` and ``overlap`` for one table, ``proportional`` and
    ``paper`` for two."""

    @property
    def estimators(self) -> tuple[str, ...]:
        """The estimators; the first is the one to use."""
        return tuple(self.estimates)

    def relative(self, estimator: str) -> FloatArray:
        """Return the relative error of every query: the distance to the actual count, in actual counts."""
        if estimator not in self.estimates:
            raise PolicyError(f"estimator: there is no {estimator!r}; this release has {' and '.join(self.estimates)}")
        return np.abs(self.actual - self.estimates[estimator]) / self.actual

    @property
    def average(self) -> dict[str, float]:
        """The average relative error by estimator: the figure of the paper."""
        return {estimator: float(self.relative(estimator).mean()) for estimator in self.estimates}

    @property
    def median(self) -> dict[str, float]:
        """The median relative error by estimator: half of the queries go no further wrong."""
        return {estimator: float(np.median(self.relative(estimator))) for estimator in self.estimates}

    def to_dict(self) -> dict[str, Any]:
        """Return the averages and medians as JSON takes them."""
        return {"queries": len(self.actual), "average": self.average, "median": self.median}

    def __repr__(self) -> str:
        average, median = self.average, self.median
        said = [f"{name} {average[name]:.4f} on average, {median[name]:.4f} in the median" for name in self.estimates]
        return f"QueryErrors({counted(len(self.actual), 'query', 'queries')}: {'; '.join(said)})"
