"""Limits of suppression: a share of the rows, or a number of them."""

from __future__ import annotations


def suppression_mistakes(value: object) -> list[str]:
    """Tell what is wrong with a suppression limit."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return []
    if isinstance(value, float) and 0 <= value <= 1:
        return []
    return [
        f"max_suppression: must be a share of the rows from 0.0 to 1.0 (0.02 is 2 %) "
        f"or a whole number of rows, got {value!r}"
    ]


def suppression_in_rows(value: int | float | None, rows: int) -> int:
    """Turn a suppression limit into rows.

    >>> suppression_in_rows(0.02, 30_162), suppression_in_rows(3, 11), suppression_in_rows(None, 11)
    (603, 3, 0)
    """
    if value is None:
        return 0
    if isinstance(value, float):
        return int(value * rows + 1e-9)  # 0.29 * 100 is 28.999999999999996
    return min(value, rows)
