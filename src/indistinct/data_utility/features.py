"""Features: the columns of a decoded table as the numbers that learners and regressions take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.data_utility.decode import CategoryColumn, Decoded, DecodedColumn, NumberColumn
from indistinct.errors import PolicyError

MOST_VALUES = 100
"""Values of a category that have a feature of their own; the rarer ones share one."""


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """Which features a table has, so that those of another table mean the same.

    A column of numbers is one feature, the mean of what each cell stands for; a category has a feature for each of its
    values, the weight of the value in the cell: 0 or 1 where the cell is exact.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """The values of each category that have a feature, by frequency; none for numbers."""

    @classmethod
    def of(cls, table: Decoded, names: Sequence[str], most_values: int = MOST_VALUES) -> FeatureSpace:
        """Return the features of some columns of a table."""
        columns = [table.column(name) for name in names]
        values = [frequent_values(column, most_values) for column in columns]
        return cls(tuple(names), tuple(column.kind for column in columns), tuple(values))

    @property
    def titles(self) -> tuple[str, ...]:
        """The features by name; ``column=value`` for those of a category."""
        titles: list[str] = []
        for name, kind, values in zip(self.names, self.kinds, self.values, strict=True):
            titles += [f"{name}={value}" for value in values] if kind == "category" else [name]
        return tuple(titles)

    def matrix(self, table: Decoded) -> FloatArray:
        """Return the features of each row; NaN where a number is missing."""
        parts = [np.zeros((len(table), 0))]
        for name, kind, values in zip(self.names, self.kinds, self.values, strict=True):
            column = table.column(name)
            if (kind == "category") != isinstance(column, CategoryColumn):
                raise PolicyError(
                    f"column {name!r}: it holds {kind}s in one of the tables and not in the other; decode both alike"
                )
            if isinstance(column, NumberColumn):
                parts.append(column.mean[column.codes][:, None])
            else:
                masses = column.masses(values)[:, :-1] * (1 - column.missing)[:, None]
                parts.append(masses[column.codes])
        return np.hstack(parts)


def frequent_values(column: DecodedColumn, most: int) -> tuple[str, ...]:
    """Return the most frequent values of a category, the first most frequent; none of numbers."""
    if isinstance(column, NumberColumn):
        return ()
    rows = np.bincount(column.codes, minlength=len(column.labels)) * (1 - column.missing)
    mass = np.bincount(column.value_of, column.weight * rows[column.label_of], len(column.values))
    order = np.argsort(-mass, kind="stable")[:most]
    return tuple(column.values[code] for code in order if mass[code] > 0)
