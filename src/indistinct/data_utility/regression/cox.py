"""Cox regression by Newton's method: proportional hazards, ties by Efron, with classical or clustered errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.data_utility.regression.newton import STEPS, TOLERANCE


@dataclass(frozen=True, slots=True, eq=False)
class CoxModel:
    """The logarithms of the hazard ratios, with their covariance."""

    coefficients: FloatArray
    covariance: FloatArray
    has_converged: bool


def fit_cox(x: FloatArray, time: FloatArray, event: FloatArray, clusters: IntArray | None = None) -> CoxModel:
    """Return the proportional hazards model of greatest partial likelihood; ``x`` has no column of ones.

    ``event`` is 1 where the time ended with the event and 0 where it was only watched so long; between them it is the
    probability that a label stands for the event, and the row counts as both in that proportion. With ``clusters``
    errors are robust for people with several rows (Lin and Wei 1989). Ties are treated as Efron 1977 does.
    """
    center, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    order = np.argsort(-time, kind="stable")
    rows = _TimedRows.of((x - center)[order] / scale, time[order], event[order])
    coefficients: FloatArray = np.zeros(x.shape[1])
    found, has_converged = rows.risks(coefficients), False
    for _ in range(STEPS):
        step = np.linalg.lstsq(found.information, found.gradient, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-6:
            tried = rows.risks(coefficients + size * step)
            if np.isfinite(tried.likelihood) and tried.likelihood >= found.likelihood - 1e-12 * abs(found.likelihood):
                break
            size /= 2
        gain, coefficients, found = tried.likelihood - found.likelihood, coefficients + size * step, tried
        if abs(gain) <= TOLERANCE * (1 + abs(found.likelihood)) and np.abs(size * step).max(initial=0) < 1e-6:
            has_converged = True
            break
    bread = np.linalg.pinv(found.information, rcond=1e-20, hermitian=True)
    if clusters is not None:
        _, own = np.unique(clusters[order], return_inverse=True)
        scores = np.zeros((int(own.max(initial=0)) + 1, x.shape[1]))
        np.add.at(scores, own, rows.scores(found))
        bread = bread @ (scores.T @ scores) @ bread
    return CoxModel(coefficients / scale, bread / np.outer(scale, scale), has_converged)


@dataclass(frozen=True, slots=True, eq=False)
class _Risks:
    """What one set of coefficients gives; a step is one of the events of a time, which Efron takes one by one."""

    likelihood: float
    gradient: FloatArray
    information: FloatArray
    hazard: FloatArray
    """By row: exp of its linear predictor."""
    means: FloatArray
    """By step: the mean features of those at risk."""
    increments: FloatArray
    """By step: what the cumulated hazard grows by."""


@dataclass(frozen=True, slots=True, eq=False)
class _TimedRows:
    """Rows in falling order of time, and the steps at which events happen, in the same order."""

    x: FloatArray
    event: FloatArray
    last: IntArray
    """By step: the number of rows at risk, which are the first ones."""
    first: IntArray
    """By step: how many rows have a greater time."""
    share: FloatArray
    """By step: the part of the hazard of those who have the event that no longer counts."""
    weight: FloatArray
    """By step: the mean probability of the events of its time."""
    at_risk_until: IntArray
    """By row: the first step at which it is at risk; all later ones have smaller times."""

    @classmethod
    def of(cls, x: FloatArray, time: FloatArray, event: FloatArray) -> _TimedRows:
        starts = np.flatnonzero(np.append(True, time[1:] != time[:-1])) if len(time) else np.zeros(0, np.int64)
        ends = np.append(starts[1:], len(time))
        has_event = np.append(0, np.cumsum(event > 0))
        events = has_event[ends] - has_event[starts]
        total = np.append(0.0, np.cumsum(event))
        mean = np.divide(total[ends] - total[starts], events, out=np.zeros(len(ends)), where=events > 0)
        of_step = np.repeat(np.arange(len(ends)), events)
        place = np.arange(len(of_step)) - np.repeat(np.cumsum(events) - events, events)
        until = np.repeat(np.cumsum(events) - events, ends - starts)
        return cls(x, event, ends[of_step], starts[of_step], place / events[of_step], mean[of_step], until)

    def risks(self, coefficients: FloatArray) -> _Risks:
        """Return the partial likelihood and its derivatives."""
        linear = self.x @ coefficients
        hazard = np.exp(np.clip(linear, -700, 700))
        weighted = self.x * hazard[:, None]
        sums = np.vstack([np.zeros(self.x.shape[1]), np.cumsum(weighted, axis=0)])
        own = np.vstack([np.zeros(self.x.shape[1]), np.cumsum(weighted * self.event[:, None], axis=0)])
        total, total_own = (np.append(0.0, np.cumsum(one)) for one in (hazard, hazard * self.event))
        gone = self.share * (total_own[self.last] - total_own[self.first])
        left = total[self.last] - gone
        features = sums[self.last] - self.share[:, None] * (own[self.last] - own[self.first])
        means = features / left[:, None]
        likelihood = float(self.event @ linear - self.weight @ np.log(left))
        increments = self.weight / left
        cumulated = self._sum_steps(increments, self.share * increments)
        gradient = self.x.T @ (self.event - hazard * cumulated)
        information = (self.x * (hazard * cumulated)[:, None]).T @ self.x - (means * self.weight[:, None]).T @ means
        return _Risks(likelihood, gradient, information, hazard, means, increments)

    def scores(self, found: _Risks) -> FloatArray:
        """Return what each row contributes to the gradient, for errors that are robust."""
        expected = [self._sum_steps(one, self.share * one) for one in (found.means * found.increments[:, None]).T]
        of_time = np.bincount(self.first, minlength=len(self.x) + 1)
        sums = np.vstack([np.zeros(self.x.shape[1]), np.cumsum(found.means, axis=0)])
        has_event = self.event > 0
        begin = self.at_risk_until[has_event]
        number = of_time[self.first[begin]]
        at_event = np.zeros_like(self.x)
        at_event[has_event] = (sums[begin + number] - sums[begin]) / number[:, None]
        cumulated = self._sum_steps(found.increments, self.share * found.increments)
        martingale = self.event - found.hazard * cumulated
        made = self.x * martingale[:, None] - self.event[:, None] * at_event
        return np.asarray(made + found.hazard[:, None] * np.column_stack(expected), np.float64)

    def _sum_steps(self, increments: FloatArray, gone: FloatArray) -> FloatArray:
        """Return for each row the sum of its steps: those of its own time and of smaller ones.

        A row that has the event itself is at risk in part of the steps of its own time only.
        """
        after = np.append(np.cumsum(increments[::-1])[::-1], 0.0)
        own = np.bincount(self.first, gone, len(self.x) + 1)
        until = self.at_risk_until
        found = after[until]
        steps = len(self.last)
        start = np.where(until < steps, np.append(self.first, 0)[np.minimum(until, steps)], len(self.x))
        return np.asarray(found - self.event * own[start], np.float64)
