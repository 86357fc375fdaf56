"""ComparedRegression: the coefficients of one model on a release and on its original, side by side."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from indistinct.data_utility.decoded_pair import DecodedPair
from indistinct.data_utility.regression.fitted_terms import CONSTANT, OTHERS, FittedTerms, TermModel
from indistinct.data_utility.regression.formula import ModelFamily, Regression
from indistinct.errors import PolicyError
from indistinct.showing.words import counted

NORMAL = 1.959963984540054
"""Standard errors to either side of an interval of 95 %."""


@dataclass(frozen=True, slots=True)
class CoefficientPair:
    """One coefficient before and after, with the figures by which such pairs are judged."""

    term: str
    """A column of numbers, or ``column=value``."""
    before: float
    error_before: float
    """Its standard error; intervals are 1.96 of them to either side."""
    after: float | None
    """None where the release cannot estimate it."""
    error_after: float | None

    @property
    def overlap(self) -> float | None:
        """Karr's overlap of both intervals: 1 if they are the same, negative if they are disjoint."""
        if self.after is None or self.error_after is None:
            return None
        return interval_overlap(
            (self.before - NORMAL * self.error_before, self.before + NORMAL * self.error_before),
            (self.after - NORMAL * self.error_after, self.after + NORMAL * self.error_after),
        )

    @property
    def standardised_difference(self) -> float | None:
        """The difference in standard errors of the original."""
        if self.after is None or not self.error_before:
            return None
        return (self.after - self.before) / self.error_before

    @property
    def keeps_sign(self) -> bool:
        """Both have the same sign."""
        return self.after is not None and math.copysign(1, self.before) == math.copysign(1, self.after)

    @property
    def keeps_significance(self) -> bool:
        """Both intervals contain zero, or none does and both have the same sign."""
        if self.after is None or self.error_after is None:
            return False
        is_clear = abs(self.before) > NORMAL * self.error_before
        stays_clear = abs(self.after) > NORMAL * self.error_after
        return is_clear == stays_clear and (not is_clear or self.keeps_sign)

    def to_dict(self) -> dict[str, Any]:
        """Return both, and all figures, as JSON takes them."""
        return asdict(self) | {
            "overlap": self.overlap,
            "standardised_difference": self.standardised_difference,
            "keeps_sign": self.keeps_sign,
            "keeps_significance": self.keeps_significance,
        }


@dataclass(frozen=True, slots=True)
class ComparedRegression:
    """A regression on the original and on the release."""

    regression: Regression
    family: ModelFamily
    rows_before: int
    """The rows that have all of its columns."""
    rows_after: int
    clusters_before: int | None
    """The people that errors are robust for; None where nobody has several rows, or it is not known."""
    clusters_after: int | None
    coefficients: tuple[CoefficientPair, ...]
    """The constant first."""
    notes: tuple[str, ...] = ()

    @property
    def overlap(self) -> float | None:
        """The mean overlap of all intervals but the constant's; one that cannot be estimated counts 0."""
        found = [one.overlap or 0.0 for one in self._slopes]
        return float(np.mean(found)) if found else None

    @property
    def signs_kept(self) -> int:
        """How many coefficients have the same sign, the constant aside."""
        return sum(one.keeps_sign for one in self._slopes)

    @property
    def significances_kept(self) -> int:
        """How many coefficients are as clearly below or above zero as before, or as unclear."""
        return sum(one.keeps_significance for one in self._slopes)

    @property
    def disjoint(self) -> int:
        """How many intervals do not overlap."""
        return sum(one.overlap is None or one.overlap < 0 for one in self._slopes)

    @property
    def in_words(self) -> str:
        """How alike the coefficients are, in words."""
        slopes = len(self._slopes)
        if not slopes:
            return "no coefficient beside the constant"
        overlap = "none" if self.overlap is None else f"{self.overlap:.3f}"
        return (
            f"overlap of intervals {overlap} on average, {self.disjoint} disjoint; {self.signs_kept} of {slopes} signs "
            f"and {self.significances_kept} significances kept"
        )

    @property
    def _slopes(self) -> tuple[CoefficientPair, ...]:
        return tuple(one for one in self.coefficients if one.term != CONSTANT)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "formula": str(self.regression),
            "family": self.family,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "clusters_before": self.clusters_before,
            "clusters_after": self.clusters_after,
            "overlap": self.overlap,
            "signs_kept": self.signs_kept,
            "significances_kept": self.significances_kept,
            "disjoint": self.disjoint,
            "coefficients": [one.to_dict() for one in self.coefficients],
            "notes": list(self.notes),
        }


def interval_overlap(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the mean share of either interval that lies in the other; negative by their distance if none does.

    Source: Karr et al. 2006.

    >>> interval_overlap((0, 2), (1, 3)), interval_overlap((0, 1), (0, 1)), interval_overlap((0, 1), (2, 3))
    (0.5, 1.0, -1.0)
    """
    shared = min(first[1], second[1]) - max(first[0], second[0])
    lengths = (first[1] - first[0], second[1] - second[0])
    if not all(lengths):
        return 1.0 if first == second else 0.0
    return 0.5 * sum(shared / length for length in lengths)


def compare_regression(pair: DecodedPair, asked: Regression | str) -> ComparedRegression:
    """Fit a regression to a release and to its original.

    A cell of the release counts as the mean of what its label stands for, or as the weights of its values; rows with a
    missing cell are left out of both. The most frequent value of a category is its reference. Where rows belong to
    people who have several, errors are robust for that, as far as the table says whose they are.
    """
    asked = Regression.parse(asked) if isinstance(asked, str) else asked
    model = TermModel.of(pair.original, asked)
    kept_before, kept_after = (~table.missing_rows(asked.columns) for table in (pair.original, pair.release))
    before = model.fit(pair.original, kept_before, pair.clusters)
    after = model.fit(pair.release, kept_after, pair.released_clusters)
    if before is None:
        raise PolicyError("regression: too few rows of the original have all of its columns")
    coefficients = tuple(
        CoefficientPair(term, before.estimates[term], before.errors[term], *_estimate(after, term))
        for term in before.estimates
    )
    return ComparedRegression(
        asked,
        model.family,
        int(kept_before.sum()),
        int(kept_after.sum()),
        before.clusters,
        None if after is None else after.clusters,
        coefficients,
        _notes(pair, model, before, after),
    )


def _estimate(found: FittedTerms | None, term: str) -> tuple[float | None, float | None]:
    if found is None or term not in found.estimates:
        return None, None
    return found.estimates[term], found.errors[term]


def _notes(pair: DecodedPair, model: TermModel, before: FittedTerms, after: FittedTerms | None) -> tuple[str, ...]:
    names, notes = model.asked.columns, []
    lacking = [int(table.missing_rows(names).sum()) for table in (pair.original, pair.release)]
    if any(lacking):
        notes.append(f"left out for a missing cell: {lacking[0]:,} rows of the original, {lacking[1]:,} of the release")
    if before.dependent:
        notes.append(
            f"left out: {counted(before.dependent, 'term')} that never vary in the original, or follow from others"
        )
    if alike := sorted(set(model.asked.predictors) - {name for name, _ in model.terms}):
        notes.append(f"left out, as all rows have one value there: {', '.join(alike)}")
    if several := [name for name, value in model.terms if value == OTHERS]:
        notes.append(f"rarer values share a coefficient: {', '.join(several)}")
    if before.endless:
        notes.append(f"left out: {counted(before.endless, 'term')} that tell the outcome of the original for sure")
    if before.clusters is not None and (after is None or after.clusters is None):
        notes.append("the release does not say whose its rows are, so its errors take each row for somebody else")
    suppressed = int(pair.release.suppressed_rows(names).sum())
    if suppressed:
        notes.append(f"{suppressed:,} released rows have a suppressed cell there; without them the result is biased")
    return tuple(notes)
