"""Dictionaries on the driver: the keys of each column in the order of their codes, and tuples as codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.base import Counts
from indistinct.engine.spark.cells import Cell
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Encoding:
    """The latest dictionaries: ``keys`` has those of each column in the order of their codes.

    ``tuples`` is a frame of the distinct keys k0, k1, … of the eligible rows with the number of rows n. ``counted`` are
    their codes and numbers of rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    tuples: DataFrame
    where: str
    counted: Counts | None

    def position(self, column: str) -> int:
        """Return where a column stands among the encoded ones."""
        if column not in self.columns:
            raise TableError(f"column {column!r} was not encoded")
        return self.columns.index(column)

    def key_columns(self, codes: Sequence[NDArray[Any]]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            f"k{position}": keys.take(integers(np.asarray(own, np.int64)))
            for position, (keys, own) in enumerate(zip(self.keys, codes, strict=True))
        }


def sorted_keys(cell: Cell, found: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys among those found, by the code points of their texts, missing last."""
    return sorted(found.unique().to_pylist(), key=lambda key: (key == "", cell.text(key) or ""))


def codes_of(found: pa.ChunkedArray, keys: Sequence[str]) -> NDArray[np.uint32]:
    """Return the position of each text among the keys."""
    encoded = found.combine_chunks().dictionary_encode()
    code_of = {key: code for code, key in enumerate(keys)}
    own = np.array([code_of[key] for key in encoded.dictionary.to_pylist()], np.uint32)
    codes: NDArray[np.uint32] = own[np.from_dlpack(encoded.indices)]
    return codes


def are_among(
    tuples: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]], length: int
) -> NDArray[np.bool_]:
    """Tell which tuples of codes, one array per column, are among the wanted ones; without columns none is."""
    if not tuples or not len(wanted[0]):
        return np.zeros(length, np.bool_)
    both = np.stack([np.concatenate([own, np.asarray(other)]) for own, other in zip(tuples, wanted, strict=True)])
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    return np.isin(number[:length], number[length:])


def keyed(part: pa.Table, encoding: Encoding) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(encoding.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(encoding.key_columns(codes) | others)


def strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())
