"""TermModel: the terms of a regression, the same for a release and its original, and their fitted coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.data_utility.decode import CategoryColumn, Decoded, NumberColumn
from indistinct.data_utility.features import frequent_values
from indistinct.data_utility.regression.cox import CoxModel, fit_cox
from indistinct.data_utility.regression.formula import ModelFamily, Regression
from indistinct.data_utility.regression.newton import FittedModel, fit, independent_columns
from indistinct.errors import PolicyError

MOST_VALUES = 30
"""Values of a category that have a coefficient; all others share one."""
ENDLESS = 10.0
"""A standard error, in outcomes of a typical row, from which on an estimate counts as endless."""
CONSTANT = "(constant)"
OTHERS = "(others)"

Term = tuple[str, str | None]
"""A column, and the value of a category; None for numbers."""


@dataclass(frozen=True, slots=True)
class FittedTerms:
    """The coefficients of a fitted model by their terms."""

    estimates: dict[str, float]
    errors: dict[str, float]
    clusters: int | None
    """The people that errors are robust for."""
    endless: int
    """Terms without a finite estimate: they tell the outcome for sure."""
    dependent: int
    """Terms that never vary, or follow from others."""


@dataclass(frozen=True, slots=True)
class TermModel:
    """A regression with its family and its terms, as the original has them."""

    asked: Regression
    family: ModelFamily
    value: str | None
    """The value of the outcome or the event that is modelled, if that is a category."""
    terms: tuple[Term, ...]
    """Beside the constant; the most frequent value of a category has none."""

    @classmethod
    def of(cls, original: Decoded, asked: Regression) -> TermModel:
        """Return the model of a regression; raise a PolicyError if the original does not have its columns."""
        for name in asked.columns:
            original.column(name)
        family, value = _cox(original, asked) if asked.family == "cox" else _family(original, asked)
        return cls(asked, family, value, tuple(_terms(original, asked.predictors)))

    def fit(self, table: Decoded, kept: BoolArray, clusters: IntArray | None) -> FittedTerms | None:
        """Return the coefficients in some rows of a table; None where these are too few."""
        titles = [CONSTANT, *(name if own is None else f"{name}={own}" for name, own in self.terms)]
        x = np.column_stack([np.ones(len(table)), *(self._feature(table, *term) for term in self.terms)])[kept]
        places = independent_columns(x)
        dependent = len(titles) - len(places)
        if not len(x) or len(places) >= len(x):
            return None
        groups = None if clusters is None else clusters[kept]
        if groups is not None and len(np.unique(groups)) in (1, len(groups)):
            groups = None
        found: FittedModel | CoxModel
        if self.family == "cox":
            places = [place for place in places if place > 0]  # the hazard of everybody is its constant
            found = fit_cox(
                x[:, places], self._numbers(table, self.asked.outcome)[kept], self._event(table)[kept], groups
            )
        else:
            found = fit(x[:, places], self._numbers(table, self.asked.outcome)[kept], self.family, groups)
        errors = np.sqrt(np.maximum(np.diag(found.covariance), 0))
        typical = np.sqrt((x[:, places] ** 2).mean(axis=0))
        is_finite = (errors > 0) & ((errors * typical < ENDLESS) | (self.family == "linear"))
        known = [place for place, one in enumerate(is_finite) if one]
        return FittedTerms(
            {titles[places[place]]: float(found.coefficients[place]) for place in known},
            {titles[places[place]]: float(errors[place]) for place in known},
            None if groups is None else len(np.unique(groups)),
            len(places) - len(known),
            dependent,
        )

    def _numbers(self, table: Decoded, name: str) -> FloatArray:
        """Return the mean of each cell, or the weight of the value that is modelled."""
        column = table.column(name)
        by_label = column.mean if isinstance(column, NumberColumn) else column.masses([self.value or ""])[:, 0]
        return np.asarray(by_label[column.codes], np.float64)

    def _event(self, table: Decoded) -> FloatArray:
        return np.ones(len(table)) if self.asked.event is None else self._numbers(table, self.asked.event)

    def _feature(self, table: Decoded, name: str, value: str | None) -> FloatArray:
        """Return what each row has of a term."""
        column = table.column(name)
        if isinstance(column, NumberColumn):
            return np.asarray(np.nan_to_num(column.mean)[column.codes], np.float64)
        return self._weights(column, name, value)[column.codes]

    def _weights(self, column: CategoryColumn, name: str, value: str | None) -> FloatArray:
        """Return by label the weight of a value, or of all values that have no term and are not the reference."""
        if value != OTHERS:
            return column.masses([value or ""])[:, 0]
        own = [one for other, one in self.terms if other == name and one is not None and one != OTHERS]
        reference = frequent_values(column, 1)
        return column.masses([*reference, *own])[:, -1]


def _family(original: Decoded, asked: Regression) -> tuple[ModelFamily, str | None]:
    """Return the family of a regression, and the value of its outcome that is modelled if that is a category."""
    column = original.column(asked.outcome)
    if isinstance(column, NumberColumn):
        if asked.value is not None:
            raise PolicyError(f"regression: {asked.outcome!r} holds numbers, so no value of it can be named")
        family = asked.family or "linear"
        known = column.middle[np.isfinite(column.middle)]
        if family == "logistic" and not set(known.tolist()) <= {0.0, 1.0}:
            raise PolicyError(f"regression: a logistic model of numbers takes 0 and 1; {asked.outcome!r} has others")
        if family == "poisson" and (known < 0).any():
            raise PolicyError(f"regression: a Poisson model takes counts; {asked.outcome!r} has numbers below 0")
        return family, None
    if asked.family not in (None, "logistic"):
        raise PolicyError(f"regression: {asked.outcome!r} is a category, which only a logistic model takes")
    return "logistic", _value(column, asked)


def _cox(original: Decoded, asked: Regression) -> tuple[ModelFamily, str | None]:
    """Return the family, and the value that is the event, if it is a category."""
    times = original.column(asked.outcome)
    if not isinstance(times, NumberColumn) or times.kind != "number":
        raise PolicyError(f"regression: a Cox model takes a time; {asked.outcome!r} holds no numbers")
    if (times.middle[np.isfinite(times.middle)] < 0).any():
        raise PolicyError(f"regression: a Cox model takes times; {asked.outcome!r} has numbers below 0")
    if asked.event is None:
        return "cox", None
    column = original.column(asked.event)
    if not isinstance(column, NumberColumn):
        return "cox", _value(column, asked, asked.event)
    if asked.value is not None or not set(column.middle[np.isfinite(column.middle)].tolist()) <= {0.0, 1.0}:
        raise PolicyError(f"regression: the event {asked.event!r} holds numbers, which must be 0 and 1")
    return "cox", None


def _value(column: CategoryColumn, asked: Regression, name: str | None = None) -> str:
    """Return the value of a category that is modelled."""
    name = name or asked.outcome
    if len(column.values) < 2 and (asked.value is None or name == asked.outcome):
        raise PolicyError(f"regression: {name!r} has one value only, so there is nothing to model")
    if asked.value is None and len(column.values) != 2:
        raise PolicyError(f"regression: say which value of {name!r} is modelled, as {name}=VALUE")
    value = column.values[1] if asked.value is None else asked.value
    if value not in column.values:
        raise PolicyError(f"regression: {name!r} has no such value")
    return value


def _terms(original: Decoded, predictors: Sequence[str]) -> list[Term]:
    """Return the terms beside the constant."""
    terms: list[Term] = []
    for name in predictors:
        column = original.column(name)
        if isinstance(column, NumberColumn):
            terms.append((name, None))
        else:
            values = frequent_values(column, len(column.values))
            terms += [(name, value) for value in values[1 : MOST_VALUES + 1]]
            terms += [(name, OTHERS)] if len(values) > MOST_VALUES + 1 else []
    return terms
