"""Naive Bayes: guesses a sensitive value from what is known of somebody, each column by itself.

P(value | cells) is taken to be in proportion to P(value) · P(cell | value) · …, a column after the other. It is a weak
learner that needs few rows, so that what it guesses right is easy to learn. Whoever sees a label knows that one of its
values is meant, and not which: each of them gets an equal part of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import IntArray
from indistinct.linkage import Coverage

AT_ONCE = 100_000
"""The scores that are worked out together: they stay in the processor's own memory."""
DIGITS = 9
"""Scores that differ by less are equal: they differ by rounding only."""


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """Log shares of values, and of ranks among the rows of each value."""

    prior: FloatArray
    """(values,)"""
    given: tuple[FloatArray, ...]
    """For each column (ranks, values)."""

    @classmethod
    def train(cls, values: FloatArray, tables: Sequence[FloatArray]) -> NaiveBayes:
        """Learn from the rows of each value (values,), and for each column those of each rank and value.

        What was never seen of a value gets as much of one more row as it has of all rows.
        """
        with np.errstate(divide="ignore"):
            prior = np.log(values / max(values.sum(), 1.0))
        given = []
        for table in tables:
            whole = table.sum()
            overall = (table.sum(axis=1) + 1e-6) / (whole + 1e-6 * len(table))
            given.append(np.log((table + overall[:, None]) / (table.sum(axis=0) + 1.0)))
        return cls(prior, tuple(given))

    def guess(self, ranks: Sequence[IntArray], people: int) -> IntArray:
        """Return the value that goes best with what is known of each person; of equals the more frequent one."""
        order = np.argsort(-self.prior, kind="stable")
        prior, tables = self.prior[order], [given[:, order] for given in self.given]
        step = max(1, AT_ONCE // max(1, len(prior)))
        found = np.zeros(people, np.int64)
        for start in range(0, people, step):
            some = slice(start, min(start + step, people))
            scores = np.repeat(prior[None, :], some.stop - start, axis=0)
            for given, own in zip(tables, ranks, strict=True):
                scores += given.take(own[some], axis=0)
            found[some] = order[np.round(scores, DIGITS, out=scores).argmax(axis=1)]
        return found


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """The labels of a released column, and the ranks of values that each covers."""

    widths: FloatArray
    """(ranks,): how many values have each rank; no label tells them apart."""
    starts: IntArray
    stops: IntArray
    """(labels,): the run of ranks that each label covers, nothing where they are none."""
    scattered: dict[int, IntArray]
    """The ranks of labels that cover no run."""
    covered: FloatArray
    """(labels,): how many values each label covers."""

    @classmethod
    def of(cls, coverage: Coverage) -> LabelSpread:
        """Take what labels cover; values are those that the coverage was made of."""
        widths = np.bincount(coverage.ranks, minlength=coverage.number).astype(np.float64)
        runs = [ranks if isinstance(ranks, range) else range(0) for ranks in coverage.covered]
        scattered = {
            label: np.asarray(ranks, np.int64)
            for label, ranks in enumerate(coverage.covered)
            if not isinstance(ranks, range)
        }
        starts = np.array([run.start for run in runs], np.int64)
        stops = np.array([max(run.start, run.stop) for run in runs], np.int64)
        before = np.append(0.0, np.cumsum(widths))
        covered = before[stops] - before[starts]
        for label, ranks in scattered.items():
            covered[label] = widths[ranks].sum()
        return cls(widths, starts, stops, scattered, covered)

    def spread(self, rows: FloatArray) -> FloatArray:
        """Return (ranks, kinds) of the rows (labels, kinds): each label's rows in equal parts to its values."""
        density = rows / np.maximum(self.covered, 1.0)[:, None]
        steps = np.zeros((len(self.widths) + 1, rows.shape[1]))
        is_run = self.stops > self.starts
        np.add.at(steps, self.starts[is_run], density[is_run])
        np.subtract.at(steps, self.stops[is_run], density[is_run])
        found = np.cumsum(steps[:-1], axis=0)
        for label, ranks in self.scattered.items():
            found[ranks] += density[label]
        return np.maximum(found, 0.0) * self.widths[:, None]  # rounding may leave less than nothing

    def gather(self, people: FloatArray, rows: FloatArray) -> FloatArray:
        """Return (labels, kinds): people of each rank (ranks, kinds) with the labels that the release has for them.

        ``rows`` (labels,) are the released rows of each label. Where several labels cover a rank its people have them
        in the shares in which rows of the rank are expected to.
        """
        expected = self.spread(rows[:, None])[:, 0]
        share = people * np.divide(self.widths, expected, out=np.zeros_like(expected), where=expected > 0)[:, None]
        before = np.concatenate([np.zeros((1, people.shape[1])), np.cumsum(share, axis=0)])
        found = before[self.stops] - before[self.starts]
        for label, ranks in self.scattered.items():
            found[label] = share[ranks].sum(axis=0)
        densities: FloatArray = (rows / np.maximum(self.covered, 1.0))[:, None]
        gathered: FloatArray = np.maximum(found, 0.0) * densities
        return gathered
