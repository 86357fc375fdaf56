"""Arrow columns from NumPy arrays and texts, and back, by their buffers.

``pyarrow.array`` and ``to_numpy`` import pandas wherever it is installed, which costs a small run a third of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def integers(values: NDArray[Any]) -> pa.Array:
    """Return an array of integers as an Arrow column that shares its memory.

    >>> integers(np.array([1, 2], np.uint8)).to_pylist()
    [1, 2]
    """
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def text_column(values: Sequence[str | None]) -> pa.Array:
    """Return texts, None for missing, as an Arrow column.

    >>> text_column(["é", None, ""]).to_pylist()
    ['é', None, '']
    """
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
