"""Estimates: how many rows match a COUNT query, as far as one released table or two can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.recoding.classes import LINK

Named = Mapping[str, BoolArray]
"""A query: for each column that it asks about, which of the column's values it names."""

ONE_TABLE = ("uniform", "overlap")
TWO_TABLES = ("proportional", "paper")
LITERAL = "literal"
"""The estimators of each form of release: first the one that spreads evenly what is not known, then the one that counts
whatever could match."""


@dataclass(frozen=True, slots=True)
class CoveredLabels:
    """The labels of a column and the values of the original that each covers, as pairs."""

    label_of: IntArray
    value_of: IntArray
    sizes: IntArray
    """The number of values that each label covers."""

    @classmethod
    def of(cls, covered: Sequence[IntArray]) -> CoveredLabels:
        """Return the labels that cover these values each."""
        sizes = np.array([len(own) for own in covered], np.int64)
        flat = np.concatenate([*covered, np.zeros(0, np.int64)]).astype(np.int64)
        return cls(np.repeat(np.arange(len(covered)), sizes), flat, sizes)

    @classmethod
    def same(cls, labels: Sequence[str | None], values: Sequence[str | None]) -> CoveredLabels:
        """Return labels that are values themselves; one that the original does not have covers nothing."""
        code_of = {value: code for code, value in enumerate(values)}
        return cls.of([np.array([code_of[label]] if label in code_of else [], np.int64) for label in labels])

    def shares(self, chosen: BoolArray) -> FloatArray:
        """Return the share of each label's values that is chosen."""
        found = np.bincount(self.label_of, chosen[self.value_of], len(self.sizes))
        return np.asarray(found / np.maximum(self.sizes, 1), np.float64)


@dataclass(frozen=True, slots=True)
class CountedTable:
    """The distinct rows of a table over some columns: an entry each, with its label codes and its number of rows."""

    codes: Mapping[str, IntArray]
    counts: IntArray
    labels: Mapping[str, CoveredLabels]
    classes: Sequence[str | None] = ()
    """The names of the classes, if the table has any."""

    def matching(self, query: Named) -> FloatArray:
        """Return the share of each entry's rows that a query matches if labels are spread evenly; 0 if it cannot."""
        shares: FloatArray = np.ones(len(self.counts))
        for name, chosen in query.items():
            shares *= self.labels[name].shares(chosen).take(self.codes[name])
        return shares


@dataclass(frozen=True, slots=True)
class OneTableEstimates:
    """A table, generalized or not."""

    table: CountedTable
    as_text: CountedTable | None = None
    """The same table with labels that cover nothing but what they are as text, if that is asked for."""

    @property
    def estimators(self) -> tuple[str, ...]:
        """The names of the answers."""
        return ONE_TABLE if self.as_text is None else (*ONE_TABLE, LITERAL)

    def estimates(self, query: Named) -> tuple[float, ...]:
        """Return the answers to a query: spread evenly, whatever could match, and what matches as text."""
        shares, rows = self.table.matching(query), self.table.counts
        found = float((rows * shares).sum()), float(rows[shares > 0].sum())
        if self.as_text is None:
            return found
        return (*found, float(self.as_text.counts[self.as_text.matching(query) > 0].sum()))


@dataclass(frozen=True, slots=True)
class TwoTablesEstimates:
    """Quasi and sensitive cells apart, each row of both in a class."""

    quasi: CountedTable
    sensitive: CountedTable
    column: str
    """The sensitive column."""
    class_of: tuple[IntArray, IntArray]
    """The class of each entry of both tables."""
    sizes: IntArray
    estimators = TWO_TABLES

    @classmethod
    def of(cls, quasi: CountedTable, sensitive: CountedTable, column: str) -> TwoTablesEstimates:
        """Number the classes of both tables alike."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys([*quasi.classes, *sensitive.classes]))}
        first, second = (
            np.array([numbers[name] for name in table.classes], np.int64)[table.codes[LINK]]
            for table in (quasi, sensitive)
        )
        sizes = np.bincount(first, quasi.counts, len(numbers)).astype(np.int64)
        return cls(quasi, sensitive, column, (first, second), np.maximum(sizes, 1))

    def estimates(self, query: Named) -> tuple[float, float]:
        """Return the answers to a query: spread evenly, and whatever could match."""
        about_quasi = {name: chosen for name, chosen in query.items() if name != self.column}
        people = self.quasi.counts * self.quasi.matching(about_quasi)
        values = self.sensitive.counts * self.sensitive.matching({self.column: query[self.column]})
        matching, possible = (
            np.bincount(class_of, rows, len(self.sizes))
            for class_of, rows in zip(self.class_of, (people, values), strict=True)
        )
        return float((matching * possible / self.sizes).sum()), float(possible[matching > 0].sum())
