"""Somebody who has the two tables of a release and knows everybody's quasi-identifier: plain Python, no shared code.

A table is a list of rows, and a row is a tuple of cells whose first is the class.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import gcd
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]


def rows_of(table: pa.Table, columns: Sequence[str] | None = None) -> list[Row]:
    """Return the rows of an Arrow table, over some columns."""
    names = table.column_names if columns is None else columns
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def classes(table: Sequence[Row]) -> dict[Any, list[Row]]:
    """Return what stands beside each class."""
    found = defaultdict(list)
    for name, *cells in table:
        found[name].append(tuple(cells))
    return dict(found)


def joined(quasi: Sequence[Row], sensitive: Sequence[Row]) -> list[Row]:
    """Join the two tables by the class: it stands first, then the quasi-identifier, then the sensitive values."""
    return [(*ours, *theirs[1:]) for ours in quasi for theirs in sensitive if ours[0] == theirs[0]]


def bags(quasi: Sequence[Row], sensitive: Sequence[Row]) -> dict[Row, frozenset[tuple[Row, Fraction]]]:
    """Return the bag of sensitive values that each quasi-identifier is linked to by the join, row by row.

    Where it stands n times, or a multiple of that, in each of its classes, every joined row is there n times; n times
    the same bag says no more than the bag once.
    """
    width = len(quasi[0])
    values_of = defaultdict(list)
    for row in joined(quasi, sensitive):
        values_of[row[1:width]].append(row[width:])
    found = {}
    for cells in {row[1:] for row in quasi}:
        times = gcd(*Counter(row[0] for row in quasi if row[1:] == cells).values())
        found[cells] = frozenset((value, Fraction(rows, times)) for value, rows in Counter(values_of[cells]).items())
    return found


def fewest_with_one_bag(quasi: Sequence[Row], sensitive: Sequence[Row]) -> int:
    """Return the smallest number of people who are linked to exactly the same bag."""
    bag_of = bags(quasi, sensitive)
    return min(Counter(bag_of[row[1:]] for row in quasi).values())


def largest_share(sensitive: Sequence[Row], column: int = 0) -> Fraction:
    """Return the largest share that a sensitive value has in any class."""
    shares = []
    for rows in classes(sensitive).values():
        counts = Counter(row[column] for row in rows)
        shares.append(Fraction(max(counts.values()), len(rows)))
    return max(shares)


def fewest_values(sensitive: Sequence[Row], column: int = 0) -> int:
    """Return the smallest number of different sensitive values in any class."""
    return min(len({row[column] for row in rows}) for rows in classes(sensitive).values())


def sizes(table: Sequence[Row]) -> Counter[Any]:
    """Return the number of rows of each class."""
    return Counter(row[0] for row in table)


def is_safe(quasi: Sequence[Row], sensitive: Sequence[Row], *, k: int = 1, alpha: Any = 1, l: int = 1) -> bool:  # noqa: E741
    """Return whether tables that fit together leave everybody among k people, each value below its share."""
    return (
        sizes(quasi) == sizes(sensitive)
        and min(sizes(quasi).values()) >= k
        and fewest_with_one_bag(quasi, sensitive) >= k
        and largest_share(sensitive) <= alpha
        and fewest_values(sensitive) >= l
    )


def can_be_true(quasi: Sequence[Row], sensitive: Sequence[Row], original: Sequence[tuple[Row, Row]]) -> bool:
    """Return by trying all ways whether rows of the original, each a quasi-identifier and values, can have become this.

    Each row of the quasi table takes a row of the original with its cells, and its class then has that row's values.
    """
    left, wanted = Counter(original), Counter((row[0], row[1:]) for row in sensitive)

    def rest_can_be(number: int) -> bool:
        if number == len(quasi):
            return not +wanted
        name, cells = quasi[number][0], quasi[number][1:]
        for values in {values for own, values in left if own == cells}:
            if left[cells, values] > 0 and wanted[name, values] > 0:
                left[cells, values] -= 1
                wanted[name, values] -= 1
                found = rest_can_be(number + 1)
                left[cells, values] += 1
                wanted[name, values] += 1
                if found:
                    return True
        return False

    return rest_can_be(0)
