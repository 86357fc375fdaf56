"""Which columns identify: the smallest sets of columns by which all rows, or nearly all, stand alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from indistinct.counting import Groups, Layout
from indistinct.engine import Rows
from indistinct.kernels import grouping
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class Combination:
    """Some columns, and how many rows have a combination of their values to themselves."""

    columns: tuple[str, ...]
    alone: int
    """The rows that no other row equals in these columns."""
    rows: int

    @property
    def share(self) -> float:
        """The share of rows that stand alone."""
        return self.alone / max(1, self.rows)

    @property
    def is_unique(self) -> bool:
        """Every row stands alone: the columns are a key of the table."""
        return self.alone == self.rows


@dataclass(frozen=True, slots=True)
class Counted:
    """The distinct rows of a table over some columns, from which any of them can be counted."""

    columns: tuple[str, ...]
    distinct: tuple[int, ...]
    """The distinct values of each column."""
    base: Groups

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[str]) -> Counted:
        """Count a table by these columns."""
        with rows.encode(columns) as encoded:
            values, found = encoded.values, encoded.count_by(columns)
        sizes = [len(values[column]) for column in columns]
        layout = Layout.for_sizes(sizes)
        codes = np.stack([np.asarray(code).astype(np.uint64) for code in found.codes])
        keys = grouping.pack(codes, layout.words, layout.shifts, layout.number_of_words)
        return cls(tuple(columns), tuple(sizes), Groups(found.counts, keys, (0,) * len(sizes), layout))

    def alone(self, columns: Sequence[int]) -> int:
        """Give the rows that no other row equals in these columns."""
        return int((self.base.only(columns)[0].sizes == 1).sum())


def minimal_combinations(counted: Counted, share: float, most: int, watch: Watch | None = None) -> list[Combination]:
    """Give the minimal sets of at most so many columns by which at least a share of the rows stand alone.

    More columns never leave fewer rows alone. So a set that contains one that was found is not minimal, and is not
    counted; nor is one whose columns have too few values for so many combinations.
    """
    rows = counted.base.rows
    needed = max(1, math.ceil(share * rows - 1e-9))
    found: list[tuple[frozenset[int], int]] = []
    for size in range(1, min(most, len(counted.columns)) + 1):
        candidates = list(combinations(range(len(counted.columns)), size))
        for done, columns in enumerate(candidates):
            if watch is not None:
                watch.report("combinations", done, len(candidates))
            if any(smaller <= set(columns) for smaller, _ in found):
                continue
            if math.prod(counted.distinct[column] for column in columns) < needed:
                continue
            alone = counted.alone(columns)
            if alone >= needed:
                found.append((frozenset(columns), alone))
    made = [
        Combination(tuple(counted.columns[column] for column in sorted(columns)), alone, rows)
        for columns, alone in found
    ]
    return sorted(made, key=lambda one: (len(one.columns), -one.alone, one.columns))
