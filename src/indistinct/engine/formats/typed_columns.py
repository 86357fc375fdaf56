"""Columns of Python cells, as spreadsheets, statistics files and JSON give them, as Arrow columns of one type each."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence

import pyarrow as pa

LARGEST_EXACT = 2**53
"""Beyond this not every whole number is a number of its own where numbers are floating."""


def arrow_column(cells: Sequence[object]) -> pa.Array:
    """Return cells in the one type that all of them have; where they have several, as text.

    Nothing is guessed from text. NaN and empty text are missing. Floating numbers that are all whole become whole ones.

    >>> [str(arrow_column(cells).type) for cells in ([1, None, 2.0], [1, 2.5], ["01", None], ["x", 1.0], [None])]
    ['int64', 'double', 'string', 'string', 'null']
    >>> arrow_column(["x", 1.0, True]).to_pylist()
    ['x', '1', 'true']

    Times of day and spans of time are text.
    """
    plain = [None if cell == "" or (isinstance(cell, float) and math.isnan(cell)) else cell for cell in cells]
    kinds = {_kind(cell) for cell in plain if cell is not None}
    if not kinds:
        return pa.nulls(len(plain))
    if kinds == {"date", "moment"}:
        kinds = {"moment"}
        plain = [datetime.datetime.combine(c, datetime.time()) if _kind(c) == "date" else c for c in plain]  # type: ignore[arg-type]
    if len(kinds - {"whole", "number"}) == 0:
        return _numbers(plain)
    types = {"truth": pa.bool_(), "text": pa.string(), "date": pa.date32(), "moment": pa.timestamp("us")}
    (kind, *others) = kinds
    if others or kind not in types:
        return pa.array([None if cell is None else cell_text(cell) for cell in plain], pa.string())
    return pa.array(plain, types[kind])


def _numbers(cells: Sequence[object]) -> pa.Array:
    """Return numbers as whole ones if all of them are."""
    numbers = [cell for cell in cells if isinstance(cell, int | float)]
    is_whole = all(
        float(cell).is_integer() and abs(cell) <= LARGEST_EXACT for cell in numbers if isinstance(cell, float)
    )
    if is_whole and all(-(2**63) <= cell < 2**63 for cell in numbers):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())  # type: ignore[call-overload]
    if any(isinstance(cell, int) and abs(cell) > LARGEST_EXACT for cell in numbers):
        return pa.array([None if cell is None else cell_text(cell) for cell in cells], pa.string())
    return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())  # type: ignore[arg-type]


def _kind(cell: object) -> str:
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "truth"),
        (int, "whole"),
        (float, "number"),
        (str, "text"),
        (datetime.datetime, "moment"),
        (datetime.date, "date"),
    )
    return next((kind for types, kind in kinds if isinstance(cell, types)), type(cell).__name__)


def cell_text(cell: object) -> str:
    """Return a cell as text: a floating number that is whole without its point, truth as DuckDB writes it."""
    writers: tuple[tuple[type, Callable[..., str]], ...] = (
        (bool, lambda truth: str(truth).lower()),
        (
            float,
            lambda number: str(int(number)) if number.is_integer() and abs(number) < LARGEST_EXACT else repr(number),
        ),
        (datetime.datetime, lambda moment: moment.isoformat(sep=" ")),
        (datetime.date, lambda day: day.isoformat()),
        (datetime.time, lambda hour: hour.isoformat()),
    )
    return next((write(cell) for kind, write in writers if isinstance(cell, kind)), str(cell))
