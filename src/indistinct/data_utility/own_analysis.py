"""OwnAnalysis: an analysis of the user's own, a function or a query, run on a release and on its original."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.data_utility.decode import Decoded
from indistinct.data_utility.decoded_pair import DecodedPair
from indistinct.data_utility.regression import NORMAL, interval_overlap
from indistinct.engine import run_own_query
from indistinct.errors import PolicyError

DRAWS = 5
"""Tables that are drawn from a release if nothing else is said."""
MOST_FIGURES = 10_000
Analysis = Callable[[pa.Table], Any] | str
"""A function of a table, or an SQL query of ``data``."""


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One number of an analysis, before and after."""

    figure: str
    before: float | None
    """None where only the release has this number, or it is missing."""
    after: float | None
    """The mean over all drawn tables."""
    error_before: float | None = None
    """The standard error, where the analysis gives one."""
    error_after: float | None = None
    """By Rubin's rules: √(U + (1 + 1/m)·B), U the mean squared error and B the variance between m drawn tables."""
    between_draws: float | None = None
    """The standard deviation between the drawn tables."""

    @property
    def difference(self) -> float | None:
        """What the release is off by."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def relative_difference(self) -> float | None:
        """The difference over the number of the original."""
        return self.difference / abs(self.before) if self.difference is not None and self.before else None

    @property
    def overlap(self) -> float | None:
        """Karr's overlap of both intervals of 95 %, where the analysis gives errors."""
        if self.before is None or self.after is None or self.error_before is None or self.error_after is None:
            return None
        pairs = ((self.before, self.error_before), (self.after, self.error_after))
        first, second = ((mean - NORMAL * error, mean + NORMAL * error) for mean, error in pairs)
        return interval_overlap(first, second)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return asdict(self) | {
            "difference": self.difference,
            "relative_difference": self.relative_difference,
            "overlap": self.overlap,
        }


@dataclass(frozen=True, slots=True)
class OwnAnalysis:
    """What an analysis of the user's own gives of a release and of its original, number by number."""

    name: str
    draws: int
    """The tables that were drawn from the release; 0 where each label counted as its mean, or likeliest value."""
    figures: tuple[ComparedFigure, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {"name": self.name, "draws": self.draws, "figures": [one.to_dict() for one in self.figures]}


def compare_own(pair: DecodedPair, name: str, analysis: Analysis, *, draws: int = DRAWS, seed: int = 0) -> OwnAnalysis:
    """Run an analysis on the original and on tables that are drawn from the release, and compare its numbers.

    Each drawn table has one value for each cell, so both tables have the same columns: numbers as float64, dates,
    texts. Without draws a label counts as the mean of what it stands for, or its likeliest value. A function gives a
    number, or numbers by their names, each alone or with its standard error. Of a query each number is a figure, named
    by the texts of its row.
    """
    if not isinstance(draws, int) or draws < 0 or draws == 1:
        raise PolicyError(f"draws: must be 0, or 2 and more, got {draws!r}")
    before = _run(name, analysis, pair.original.table("middle"))
    tables = [_means(pair.release)] if not draws else (pair.release.table("draw", seed=seed + i) for i in range(draws))
    found = [_run(name, analysis, table) for table in tables]
    names = list(dict.fromkeys([*before, *(title for one in found for title in one)]))
    figures = tuple(_compare(title, before.get(title), [one.get(title) for one in found]) for title in names)
    return OwnAnalysis(name, draws, figures)


def combine_draws(estimates: Sequence[float], errors: Sequence[float] | None) -> tuple[float, float | None]:
    """Return the estimate of several drawn tables, and its standard error, by the rules of Rubin 1987.

    >>> combine_draws([1.0, 3.0], [1.0, 1.0])
    (2.0, 2.0)
    """
    mean = float(np.mean(estimates))
    if errors is None:
        return mean, None
    between = float(np.var(estimates, ddof=1)) if len(estimates) > 1 else 0.0
    within = float(np.mean(np.square(errors)))
    return mean, math.sqrt(within + (1 + 1 / len(estimates)) * between)


Estimate = tuple[float, float | None]
"""A number with its standard error, if that is known."""


def _compare(title: str, before: Estimate | None, drawn: Sequence[Estimate | None]) -> ComparedFigure:
    known = [one for one in drawn if one is not None]
    estimate = error = spread = None
    if known:
        errors = [one[1] for one in known if one[1] is not None]
        estimates = [one[0] for one in known]
        estimate, error = combine_draws(estimates, errors if len(errors) == len(known) else None)
        spread = float(np.std(estimates, ddof=1)) if len(known) > 1 else None
    own, own_error = (None, None) if before is None else before
    return ComparedFigure(title, own, estimate, own_error, error, spread)


def _means(release: Decoded) -> pa.Table:
    """Return a table with the columns of a drawn one: means of numbers, likeliest values of categories."""
    likeliest, spread = release.table("middle"), release.table("spread")
    for place, name in enumerate(likeliest.column_names):
        if name in spread.column_names:
            likeliest = likeliest.set_column(place, name, spread[name])
    return likeliest


def _run(name: str, analysis: Analysis, table: pa.Table) -> dict[str, Estimate]:
    """Return the numbers that an analysis gives of a table."""
    found = _numbers_of_rows(run_own_query(analysis, table)) if isinstance(analysis, str) else analysis(table)
    named = dict(found.items()) if hasattr(found, "items") else {"": found}
    if len(named) > MOST_FIGURES:
        raise PolicyError(f"own analysis {name!r}: it gives more than {MOST_FIGURES:,} numbers")
    read = {str(title): _estimate(name, one) for title, one in named.items()}
    return {title: one for title, one in read.items() if one is not None}


def _estimate(name: str, given: Any) -> Estimate | None:
    """Return a number with its error; None where it is missing."""
    try:
        number, error = given if isinstance(given, Sequence) and len(given) == 2 else (given, None)
        estimate = float("nan" if number is None else number), None if error is None else float(error)
    except (TypeError, ValueError):
        raise PolicyError(
            f"own analysis {name!r}: it must give a number, or numbers by name, each alone or as (number, error)"
        ) from None
    return estimate if math.isfinite(estimate[0]) else None


def _numbers_of_rows(found: pa.Table) -> dict[str, Any]:
    """Return the numbers of a query, each named by the texts of its row and by its column."""
    is_number = [
        pa.types.is_integer(one.type) or pa.types.is_floating(one.type) or pa.types.is_decimal(one.type)
        for one in found.schema
    ]
    columns = [name for name, number in zip(found.column_names, is_number, strict=True) if number]
    if not columns or len(set(found.column_names)) < len(found.column_names):
        raise PolicyError("query: it must give at least one column of numbers, and no two columns of one name")
    numbers: dict[str, Any] = {}
    for row in found.to_pylist():
        key = ", ".join(
            "–" if row[name] is None else str(row[name]) for name in found.column_names if name not in columns
        )
        for name in columns:
            title = f"{key}: {name}" if key else name
            if title in numbers:
                raise PolicyError("query: several rows have the same texts; cast to text what tells them apart")
            numbers[title] = row[name]
    return numbers
