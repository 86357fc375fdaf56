"""Which columns identify: the smallest sets of columns by which all rows, or nearly all, stand alone.

Where it is known whose rows these are, people are counted instead: somebody stands alone by some columns who is the
only one with some combination of their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from indistinct.array_types import IntArray
from indistinct.counting import Groups, Layout
from indistinct.counting.frequency_list import number_persons, refuse_nobodies
from indistinct.counting.kernels import grouping
from indistinct.counting.membership import People
from indistinct.engine import Counts, Rows
from indistinct.progress import Watch

MOST_SETS, FEWEST_SETS = 20_000, 500
"""Sets of columns of one size that are looked at, at most and at least."""
MOST_WORK = 200_000_000
"""Distinct rows that are counted for all of them, unless these are the fewest sets."""
REPORTED = 50
"""Sets after which progress is reported."""
LARGEST_KEY = 2**62
"""More combinations of values have no number of 64 bits."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Some columns, and how many rows, or people, have a combination of their values to themselves."""

    columns: tuple[str, ...]
    alone: int
    """The rows that no other row equals in these columns, or the people who have some combination to themselves."""
    rows: int
    """All rows, or all people where those are counted."""

    @property
    def share(self) -> float:
        """The share of those who stand alone."""
        return self.alone / max(1, self.rows)

    @property
    def is_unique(self) -> bool:
        """Everybody stands alone: where rows are counted, the columns are a key of the table."""
        return self.alone == self.rows


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The distinct rows of a table over some columns, from which any of them can be counted."""

    columns: tuple[str, ...]
    distinct: tuple[int, ...]
    """The distinct values of each column."""
    base: Groups
    """Each distinct row; where people are counted, with each person who has it."""
    values: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """The texts of each column's codes."""

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[str], person: Sequence[str] = ()) -> DistinctRows:
        """Count a table by these columns; ``person`` are those that say whose row it is."""
        both = (*columns, *person)
        with rows.encode(both) as encoded:
            refuse_nobodies(encoded, person)
            values, found = encoded.values, encoded.count_by(both)
        sizes = [len(values[column]) for column in columns]
        layout = Layout.for_sizes(sizes)
        codes = np.stack([np.asarray(code).astype(np.uint64) for code in found.codes[: len(sizes)]])
        keys = grouping.pack(codes, layout.words, layout.shifts, layout.number_of_words)
        persons = number_persons([np.asarray(code).astype(np.int64) for code in found.codes[len(sizes) :]])
        people = None if persons is None else People(persons, np.arange(len(persons)))
        base = Groups(found.counts, keys, (0,) * len(sizes), layout, people=people)
        return cls(tuple(columns), tuple(sizes), base, {name: values[name] for name in columns})

    @property
    def records(self) -> int:
        """The rows of the table, or its people where those are counted."""
        return self.base.number_of_people(np.ones(len(self.base), np.bool_))

    def groups(self) -> tuple[Counts, People | None]:
        """Return the groups over all columns with the rows of each, or its people; and who stands in which."""
        everything = range(len(self.columns))
        merged, _ = self.base.only(everything)
        if self.has_trees:
            people, sizes = _by_tree(merged)
            return Counts((), sizes), people
        codes = tuple(merged.label_codes(column).astype(np.uint64) for column in everything)
        return Counts(codes, merged.sizes_in_people()), merged.people

    @property
    def has_trees(self) -> bool:
        """Rows of several tables belong together, and people are alike whose trees of rows are equal."""
        return self.base.people is not None and self.base.people.tree is not None

    def alone(self, columns: Sequence[int]) -> int:
        """Return the rows that no other row equals in these columns, or the people who have a combination alone."""
        different = math.prod(self.distinct[column] for column in columns)
        if self.base.people is not None or different > LARGEST_KEY:
            merged, _ = self.base.only(columns)
            if self.has_trees:
                return int((_by_tree(merged)[1] == 1).sum())
            return merged.number_of_people(merged.sizes_in_people() == 1)
        keys = np.zeros(len(self.base), np.int64)
        for column in columns:
            keys = keys * self.distinct[column] + self.base.label_codes(column).astype(np.int64)
        if different > 4 * len(keys):
            keys = np.unique(keys, return_inverse=True)[1]
        return int((np.bincount(keys, self.base.sizes) == 1).sum())

    def looked_at(self, size: int) -> tuple[int, ...]:
        """Return the columns of which sets of a size are looked at: all, or those with most values if sets are too
        many.

        >>> wide = DistinctRows(tuple("abcdef"), (2, 9, 2, 9, 9, 2), Groups.of_sizes([1]))
        >>> wide.looked_at(3)
        (0, 1, 2, 3, 4, 5)
        """
        places = range(len(self.columns))
        most = max(FEWEST_SETS, min(MOST_SETS, MOST_WORK // max(1, len(self.base))))
        if size <= 1 or math.comb(len(places), size) <= most:
            return tuple(places)
        number = next(number for number in reversed(places) if math.comb(number, size) <= most)
        return tuple(sorted(sorted(places, key=lambda place: (-self.distinct[place], place))[:number]))

    def left_out(self, most: int) -> tuple[str, ...]:
        """Say in sentences of which columns no sets were looked at, because there are too many."""
        number = {size: len(self.looked_at(size)) for size in range(2, most + 1)}
        few = [f"of {size} columns among the {few}" for size, few in number.items() if few < len(self.columns)]
        if not few:
            return ()
        said = f"sets {' and '.join(few)} with most values were looked at, of {len(self.columns)}"
        return (f"{said}; to look at others name them as quasi (--quasi)",)


def _by_tree(groups: Groups) -> tuple[People, IntArray]:
    """Return everybody in the class of those whose trees of rows are equal, and the people of each class."""
    assert groups.people is not None  # asked of tables that belong together
    _, class_of = groups.people.by_profile()
    persons = np.flatnonzero(class_of >= 0)
    return People(persons, class_of[persons]), np.bincount(class_of[persons]).astype(np.int64)


def minimal_combinations(
    counted: DistinctRows, share: float, most: int, watch: Watch | None = None
) -> list[Combination]:
    """Return the minimal sets of at most ``most`` columns by which at least a share of rows, or people, stand alone.

    More columns never leave fewer alone. So a set that contains one that was found is not minimal, and is not
    counted; nor is one whose columns have too few combinations of values. Of very many columns those with
    most values are looked at together (``DistinctRows.looked_at``).
    """
    rows = counted.records
    needed = max(1, math.ceil(share * rows - 1e-9))
    found: dict[tuple[int, ...], int] = {}
    for size in range(1, min(most, len(counted.columns)) + 1):
        candidates = list(combinations(counted.looked_at(size), size))
        for done, columns in enumerate(candidates):
            if watch is not None and done % REPORTED == 0:
                watch.report("combinations", done, len(candidates))
            if any(one in found for less in range(1, size) for one in combinations(columns, less)):
                continue
            different = math.prod(counted.distinct[column] for column in columns)
            if different < needed and not counted.has_trees:  # of few cells there may be many trees
                continue
            alone = counted.alone(columns)
            if alone >= needed:
                found[columns] = alone
    made = [
        Combination(tuple(counted.columns[column] for column in columns), alone, rows)
        for columns, alone in found.items()
    ]
    return sorted(made, key=lambda one: (len(one.columns), -one.alone, one.columns))
