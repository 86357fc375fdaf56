"""Dictionaries on the driver: the keys of each column in the order of their codes, and tuples as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.plans import Condition, Counts
from indistinct.engine.spark.cells import Cell
from indistinct.engine.spark.session import let_go, spark_errors
from indistinct.engine.spark.source import SparkSource, eligible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_TUPLES = 200_000
"""So many tuples come to the driver as texts, which saves Spark several jobs; more of them come as codes."""
Values = Mapping[str, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Encoding:
    """Dictionaries: ``keys`` has those of each column in the order of their codes.

    ``tuples`` is a frame of the distinct keys k0, k1, … of the eligible rows with the number of rows n. ``counted`` are
    their codes and numbers of rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    tuples: DataFrame
    where: str
    counted: Counts | None

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)

    def free(self) -> None:
        """Let go of tuples that Spark stores."""
        if self.counted is None:
            let_go(self.tuples)

    def key_columns(self, codes: Sequence[NDArray[Any]]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            f"k{position}": keys.take(integers(np.asarray(own, np.int64)))
            for position, (keys, own) in enumerate(zip(self.keys, codes, strict=True))
        }


def make_encoding(source: SparkSource, columns: Sequence[str], where: Sequence[Condition]) -> tuple[Encoding, Values]:
    """Count the tuples of keys of the eligible rows; return them, and the distinct values of each column."""
    columns = tuple(columns)
    cells = [source.cell(column) for column in columns]
    condition = eligible(where, source.cell)
    names = [f"k{position}" for position in range(len(cells))]
    with spark_errors(source.name):
        keys = source.keys(columns, names, condition)
        tuples = keys.groupBy(*names).count().where("count > 0").toDF(*names, "n")
    few = source.collect(tuples.limit(FEW_TUPLES + 1))
    is_few = len(few) <= FEW_TUPLES
    if not is_few:
        tuples = source.keep(tuples)
    found = [few[name] for name in names] if is_few else _distinct_keys(source, tuples, names)
    dictionaries = [sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
    counted = None
    if is_few:
        codes = tuple(codes_of(own, keys) for own, keys in zip(found, dictionaries, strict=True))
        counted = Counts(codes, numbers(few["n"]).astype(np.int64))
    values = {
        column: tuple(cell.text(key) for key in own)
        for column, cell, own in zip(columns, cells, dictionaries, strict=True)
    }
    return Encoding(columns, tuple(map(strings, dictionaries)), tuples, condition, counted), values


def _distinct_keys(source: SparkSource, tuples: DataFrame, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return the distinct keys of each column, all in one pass over the tuples."""
    pairs = ", ".join(f"{position}, {name}" for position, name in enumerate(names))
    stacked = tuples.selectExpr(f"stack({len(names)}, {pairs}) AS (position, key)").distinct()
    table = source.collect(stacked)
    positions = numbers(table["position"])
    return [table["key"].take(integers(np.flatnonzero(positions == place))) for place in range(len(names))]


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


def keyed_pieces(part: pa.Table, encoding: Encoding) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(encoding.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(encoding.key_columns(codes) | others)


def strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())
