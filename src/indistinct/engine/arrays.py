"""Arrow columns from NumPy arrays and texts, and back, by their buffers; and tables of which rows go to which group.

``pyarrow.array`` and ``to_numpy`` import pandas wherever it is installed, which costs a small run a third of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.plans import ClassPlan, LocalPlan

NOWHERE = -1
"""The group of suppressed rows in a local plan."""


def integers(values: NDArray[Any]) -> pa.Array:
    """Return an array of integers as an Arrow column that shares its memory.

    >>> integers(np.array([1, 2], np.uint8)).to_pylist()
    [1, 2]
    """
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def text_column(values: Sequence[str | None], places: NDArray[np.int64] | None = None) -> pa.Array:
    """Return texts, None for missing, as an Arrow column; or for each of some places the text that stands there.

    >>> text_column(["é", None, ""]).to_pylist()
    ['é', None, '']
    >>> text_column(["é", None, ""], np.array([2, 0, 0])).to_pylist()
    ['', 'é', 'é']
    """
    if places is not None:  # what Arrow can do as well, but to load its functions takes longer
        listed = list(values)
        values = [listed[place] for place in places.tolist()]
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    is_present = np.array([value is not None for value in values], np.bool_)
    return pa.Array.from_buffers(
        pa.large_string(),
        len(encoded),
        [
            pa.py_buffer(np.packbits(is_present, bitorder="little")),
            pa.py_buffer(ends),
            pa.py_buffer(b"".join(encoded)),
        ],
    )


def numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return an Arrow column of numbers, none missing, as a NumPy array.

    >>> numbers(pa.chunked_array([integers(np.array([1, 2])), integers(np.array([3]))]))
    array([1, 2, 3])
    """
    if column.num_chunks == 0:
        return np.empty(0, column.type.to_pandas_dtype())
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])


def pieces(plan: LocalPlan | ClassPlan, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Return the pieces of tuples whose rows all go to one group, and those of tuples that are divided.

    Each has the number of its tuple and, from first up to last, the places of the tuple's rows that are its own.
    """
    codes = [np.asarray(plan.tuples[column], np.int64) for column in columns]
    rows = np.asarray(plan.rows, np.int64)
    order = np.lexsort(codes[::-1]) if codes else np.arange(len(rows))
    codes, rows, groups = [code[order] for code in codes], rows[order], np.asarray(plan.groups, np.int64)[order]
    is_first = np.ones(len(rows), np.bool_)
    if len(rows):
        is_first[1:] = False
        for code in codes:
            is_first[1:] |= code[1:] != code[:-1]
    tuples = np.cumsum(is_first) - 1
    ends = np.cumsum(rows)
    base = (ends - rows)[is_first][tuples] if len(rows) else ends
    is_whole = np.bincount(tuples)[tuples] == 1 if len(rows) else is_first
    table = pa.table(
        {f"c{position}": integers(code) for position, code in enumerate(codes)}
        | {
            "tuple": integers(tuples),
            "goal": integers(groups),
            "first": integers(ends - rows - base),
            "last": integers(ends - base),
        }
    )
    return table.take(integers(np.flatnonzero(is_whole))), table.take(integers(np.flatnonzero(~is_whole)))
