"""Naive Bayes: guesses a sensitive value from what is known of somebody, each column by itself.

P(value | cells) is taken to be in proportion to P(value) · P(cell | value) · …, a column after the other. It is a weak
learner that needs few rows, so that what it guesses right is easy to learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.attacks.guessing.label_spread import FloatArray
from indistinct.counting import IntArray

AT_ONCE = 4_000_000
"""So many scores are worked out together."""
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

    def scores(self, ranks: Sequence[IntArray], people: int) -> FloatArray:
        """Return (people, values): how well each value goes with what is known of each person."""
        found = np.repeat(self.prior[None, :], people, axis=0)
        for given, own in zip(self.given, ranks, strict=True):
            found += given[own]
        return found

    def guess(self, ranks: Sequence[IntArray], people: int) -> IntArray:
        """Return the value that goes best with what is known of each person; of equals the more frequent one."""
        order = np.argsort(-self.prior, kind="stable")
        step = max(1, AT_ONCE // max(1, len(self.prior)))
        found = [np.zeros(0, np.int64)]
        for start in range(0, people, step):
            some = slice(start, min(start + step, people))
            scores = self.scores([own[some] for own in ranks], some.stop - start)[:, order]
            found.append(order[np.round(scores, DIGITS).argmax(axis=1)])
        return np.concatenate(found)
