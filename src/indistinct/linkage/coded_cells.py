"""Cells as numbers: the columns of a table read once, each value as a code, in the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indistinct.engine import Rows

Codes = NDArray[np.int32]

MOST_CELLS = 60_000_000
"""Of a larger table no cells are read."""
CELLS_AT_ONCE, COLUMNS_AT_ONCE = 5_000_000, 200
"""So many are read together: engines take long to plan thousands of columns."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """The cells of a column as codes, and the texts that these stand for; missing is a value of its own."""

    codes: Codes
    texts: tuple[str | None, ...]


def coded_columns(rows: Rows, names: Sequence[str]) -> dict[str, CodedColumn]:
    """Read some columns of a table, in the order of its rows; nothing if they are too many cells."""
    count = rows.count()
    if count * len(names) > MOST_CELLS:
        return {}
    step = max(1, min(COLUMNS_AT_ONCE, CELLS_AT_ONCE // max(1, count)))
    found = {}
    for start in range(0, len(names), step):
        some = names[start : start + step]
        table = rows.texts(some).read_all()
        for name in some:
            column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
            texts = tuple(text or None for text in column.dictionary.to_pylist())
            found[name] = CodedColumn(np.asarray(column.indices.to_numpy(zero_copy_only=False), np.int32), texts)
    return found
