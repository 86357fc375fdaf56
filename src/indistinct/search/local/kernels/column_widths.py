"""The columns of a table whose groups are cut, and the share of a column's domain that the cells of a group span.

In every column the values have ranks, in an order in which each label of the hierarchy covers a run of neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

from indistinct.array_types import FloatArray, IntArray
from indistinct.kernel import kernel

LABEL, RANGE, SET = 0, 1, 2
"""What the cells of a group carry in a column: its lowest common label, a range, or a set of values."""


class Axes(NamedTuple):
    """The columns, as arrays.

    ``kinds``    (columns,) LABEL, RANGE or SET
    ``sizes``    (columns,) the number of ranks
    ``offsets``  (columns,) where the column's part of ``labels`` and ``leaves`` starts
    ``labels``   LABEL: the code of a rank's label stands at offset + level * size + rank;
                 RANGE: the position of a rank in the domain stands at offset + rank
    ``leaves``   LABEL: at the same place, the values of the domain under that label
    ``slopes``   (columns,) what each value of the domain adds to the width of the label, range or set that covers it
    ``missing``  (columns,) RANGE: the rank of a missing value, which stands beside a range; -1 if there is none
    """

    kinds: IntArray
    sizes: IntArray
    offsets: IntArray
    labels: IntArray
    leaves: IntArray
    slopes: FloatArray
    missing: IntArray


@kernel
def common_level(low: int, high: int, axes: Axes, column: int) -> int:
    """Return the lowest level at which two ranks have the same label, which ranks of one group always do."""
    level, at = 0, axes.offsets[column]
    while axes.labels[at + low] != axes.labels[at + high]:
        level += 1
        at += axes.sizes[column]
    return level


@kernel
def width_of_values(values: IntArray, axes: Axes, column: int) -> float:
    """Return the weighted share of the domain under what covers two or more values."""
    high, more = values[len(values) - 1], 0
    if axes.kinds[column] == SET:
        more = len(values)
    elif high == axes.missing[column]:
        high, more = values[len(values) - 2], 1
    return width_between(values[0], high, more, axes, column)


@kernel
def width_between(low: int, high: int, more: int, axes: Axes, column: int) -> float:
    """Return the width of what covers two ranks and those between them, and so many values more; of one value, 0."""
    if axes.kinds[column] == SET:
        return float(more * axes.slopes[column]) if more > 1 else 0.0
    if low == high and more == 0:
        return 0.0
    at = axes.offsets[column]
    if axes.kinds[column] == RANGE:
        return float((axes.labels[at + high] - axes.labels[at + low] + 1 + more) * axes.slopes[column])
    at += common_level(low, high, axes, column) * axes.sizes[column]
    return float(axes.leaves[at + low] * axes.slopes[column])
