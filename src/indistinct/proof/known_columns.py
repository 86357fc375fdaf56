"""The recount where an adversary knows few columns: every set of that number of columns, counted from the cells.

The table is counted once by all quasi columns; the groups by each set of columns are sums of those counts. Nothing here
shares code with the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.engine import Rows
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.checks import Check, model_numbers
from indistinct.proof.sentences import known_columns_words

MOST_PLACES = 1 << 20
"""Groups are found by sorting where labels have more combinations than that, and than there are tuples."""


@dataclass(frozen=True, slots=True)
class CodedTuples:
    """Distinct tuples of some columns as codes, with their rows, and whose they are where people are counted."""

    columns: tuple[str, ...]
    codes: IntArray
    """(columns, tuples)"""
    counts: IntArray
    persons: IntArray | None = None

    @classmethod
    def of(cls, released: Rows, columns: Sequence[str], person: Sequence[str] = ()) -> CodedTuples:
        """Count a table by these columns, and by those that say whose row it is."""
        names = (*columns, *person)
        with released.encode(names) as encoded:
            found = encoded.count_by(names)
        codes = [np.asarray(code, np.int64) for code in found.codes]
        persons = _combination_numbers(codes[len(columns) :]) if person else None
        return cls(tuple(columns), np.stack(codes[: len(columns)]), np.asarray(found.counts, np.int64), persons)

    def sizes_by(self, columns: Sequence[str]) -> IntArray:
        """Return the rows, or the different people, of each group by some of the columns."""
        groups = _combination_numbers([self.codes[self.columns.index(name)] for name in columns])
        if self.persons is None:
            return _sums(groups, self.counts)
        people = np.int64(self.persons.max(initial=0)) + 1
        pairs = np.unique(groups * people + self.persons)
        return _sums(pairs // people, np.ones(len(pairs), np.int64))


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What whoever knows some of the columns of a quasi-identifier finds, over all sets of that size."""

    on: str
    known: int
    columns: int
    """The columns of the quasi-identifier."""
    sets: int
    smallest: int
    """The smallest group by any of the sets."""
    where: tuple[str, ...]
    """The columns by which that is."""
    failing_sets: int
    failing_groups: int
    unit: str = "row"

    @classmethod
    def count(
        cls, model: PrivacyModel, on: str, columns: Sequence[str], tuples: CodedTuples, unit: str = "row"
    ) -> KnownColumns:
        """Count every set of columns that the model judges."""
        sets = model.column_sets(columns)
        smallest, where, failing_sets, failing_groups = -1, sets[0], 0, 0
        for chosen in sets:
            sizes = tuples.sizes_by(chosen)
            failing = int((~model.satisfied(Groups.of_sizes(sizes))).sum())
            failing_sets, failing_groups = failing_sets + (failing > 0), failing_groups + failing
            least = int(sizes.min()) if len(sizes) else 0
            if smallest < 0 or least < smallest:
                smallest, where = least, chosen
        return cls(on, len(sets[0]), len(columns), len(sets), smallest, where, failing_sets, failing_groups, unit)

    @property
    def in_words(self) -> str:
        """What holds, whatever was asked for."""
        return known_columns_words(self._numbers())

    def check(self, model: PrivacyModel) -> Check:
        """Return the check of a model that asks for these sets."""
        numbers = model_numbers(model.terms(), self.on) | self._numbers()
        if self.failing_sets:
            numbers |= {"failing_sets": self.failing_sets, "failing": self.failing_groups, "where": list(self.where)}
        return Check(f"model.{model.name}", self.failing_sets == 0, numbers)

    def _numbers(self) -> dict[str, Any]:
        names = ("known", "columns", "sets", "smallest", "unit")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON takes them."""
        names = ("on", "known", "columns", "sets", "smallest")
        return {name: getattr(self, name) for name in names}


def _combination_numbers(columns: Sequence[IntArray]) -> IntArray:
    """Number the combinations of codes, in any order; numbers stay small enough to be multiplied."""
    numbers, most = columns[0], int(columns[0].max(initial=0)) + 1
    for codes in columns[1:]:
        width = int(codes.max(initial=0)) + 1
        numbers, most = numbers * width + codes, most * width
        if most > max(MOST_PLACES, 4 * len(numbers)):
            numbers = np.unique(numbers, return_inverse=True)[1].ravel().astype(np.int64)
            most = int(numbers.max(initial=0)) + 1
    return numbers


def _sums(groups: IntArray, counts: IntArray) -> IntArray:
    """Add up the counts of each group; groups that are numbered but not there are left out."""
    sums = np.bincount(groups, counts).astype(np.int64)
    return sums[sums > 0]
