"""Arrow columns from NumPy arrays and texts, and back, by their buffers; and tables of which rows go to which group.

``pyarrow.array`` and ``to_numpy`` import pandas wherever it is installed, which costs a small run a third of its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.array_types import Array, IntArray
from indistinct.engine.plans import ClassPlan, LocalPlan

NOWHERE = -1
"""The group of suppressed rows in a local plan."""


def integers(values: Array) -> pa.Array:
    """Return an array of integers as an Arrow column that shares its memory.

    >>> integers(np.array([1, 2], np.uint8)).to_pylist()
    [1, 2]
    """
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def text_column(values: Sequence[str | None], places: IntArray | None = None) -> pa.Array:
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


def numbers(column: pa.ChunkedArray) -> Array:
    """Return an Arrow column of numbers, none missing, as a NumPy array.

    >>> numbers(pa.chunked_array([integers(np.array([1, 2])), integers(np.array([3]))]))
    array([1, 2, 3])
    """
    if column.num_chunks == 0:
        return np.empty(0, column.type.to_pandas_dtype())
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])


def without_rests(table: pa.Table) -> pa.Table:
    """Return a table with nothing behind its missing cells, where DuckDB leaves what stood in that memory before.

    >>> cells = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\\1"), pa.py_buffer(np.array([5, 99]))])
    >>> cells = without_rests(pa.table({"a": cells}))["a"].chunk(0)
    >>> np.frombuffer(cells.buffers()[1], np.int64)
    array([5, 0])
    """
    for position, field in enumerate(table.schema):
        column, width = table.column(position), _bits(field.type)
        if column.null_count and width:
            chunks = [_without_rests(cells, width) if cells.null_count else cells for cells in column.chunks]
            table = table.set_column(position, field, pa.chunked_array(chunks, field.type))
    return table


def _bits(kind: pa.DataType) -> int:
    """Return how many bits a cell of a type has; 0 if that differs, of which nothing is left behind missing cells."""
    is_nested = pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType)
    try:
        return 0 if is_nested else kind.bit_width
    except ValueError:
        return 0


def _without_rests(cells: pa.Array, width: int) -> pa.Array:
    """Return cells of ``width`` bits each anew, all bits of missing ones 0."""
    bitmap, data = (np.frombuffer(buffer, np.uint8) for buffer in cells.buffers())
    is_present = _bits_of(bitmap, cells.offset, len(cells))
    if width == 1:
        kept = np.packbits(_bits_of(data, cells.offset, len(cells)) & is_present, bitorder="little")
    else:
        size = width // 8
        cut = data[cells.offset * size : (cells.offset + len(cells)) * size].reshape(len(cells), size)
        kept = (cut * is_present[:, None]).ravel()
    marks = np.packbits(is_present, bitorder="little")
    return pa.Array.from_buffers(cells.type, len(cells), [pa.py_buffer(marks), pa.py_buffer(kept)])


def _bits_of(data: NDArray[np.uint8], start: int, count: int) -> NDArray[np.uint8]:
    return np.unpackbits(data, bitorder="little", count=start + count)[start:]


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


@dataclass(frozen=True, slots=True)
class WideCodes:
    """What one scan of a wide table gave."""

    values: Mapping[str, tuple[str | None, ...]]
    """The distinct values of each encoded column, by code point and missing last."""
    codes: pa.Table
    """The codes c0, c1, … of the rows in their order."""
    copied: pa.Table
    """The cells o0, o1, … of other columns."""


def encode_texts(stream: pa.RecordBatchReader, columns: Sequence[str], copied: Sequence[str] = ()) -> WideCodes:
    """Return the values and codes of columns of text, and the cells of others; empty text is missing.

    Of hundreds of columns that is quicker than by statements. The time to plan one grows with the square of its
    expressions, and each of many that encode some columns looks at all: 20,000 columns took hours, and take seconds.
    """
    codes_of: list[dict[str | None, int]] = [{} for _ in columns]
    parts: list[list[IntArray]] = [[] for _ in columns]
    others = [stream.schema.empty_table().select(list(copied))]
    for batch in stream:
        for own, part, column in zip(codes_of, parts, columns, strict=True):
            coded = batch.column(column).dictionary_encode("encode")
            numbers = [own.setdefault(text or None, len(own)) for text in coded.dictionary.to_pylist()]
            codes = np.array(numbers, np.int64)[np.from_dlpack(coded.indices)]
            part.append(codes.astype(np.min_scalar_type(max(len(own) - 1, 0))))
        others.append(pa.Table.from_batches([batch.select(list(copied))]))
    values, arrays = {}, []
    for own, part, column in zip(codes_of, parts, columns, strict=True):
        found = sorted(own, key=lambda text: (text is None, text or ""))
        rank_of = np.zeros(len(own), np.min_scalar_type(max(len(own) - 1, 0)))
        rank_of[[own[text] for text in found]] = np.arange(len(found))
        values[column] = tuple(found)
        arrays.append(integers(rank_of[np.concatenate(part)] if part else rank_of))
    cells = pa.concat_tables(others).rename_columns([f"o{position}" for position in range(len(copied))])
    return WideCodes(values, pa.table(arrays, [f"c{position}" for position in range(len(columns))]), cells)
