"""The tables of the benchmarks: synthetic populations and wide copies of Adult, and what the package needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import indistinct as ix
from benchmarks import adult
from benchmarks.adult import Rows
from indistinct.counting import FrequencyList
from indistinct.hierarchy import CompiledHierarchy
from indistinct.search import Task

CHANGED = 0.1
"""The share of a synthetic population's cells that are drawn anew from their own column."""
COPIES = (("marital-status", "workclass"), ("education",), ("age",), ("occupation",), ("native-country",))
"""What the wide tables add: two columns, then one more each time."""


def population(source: Rows, rows: int, seed: int = 0) -> Rows:
    """Draw rows with replacement, then each cell with a chance of a tenth anew from its own column."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(source), rows, dtype=np.int32)
    codes = []
    for values in source.codes:
        cells = values[drawn]
        is_changed = rng.random(rows, dtype=np.float32) < CHANGED
        cells[is_changed] = values[rng.integers(0, len(source), int(is_changed.sum()))]
        codes.append(cells)
    return Rows(source.columns, source.like, tuple(codes))


def wide(source: Rows, columns: int, seed: int = 0) -> Rows:
    """Add copies of some columns, each drawn from random other rows."""
    rng = np.random.default_rng(seed)
    names, like, codes = list(source.columns), list(source.like), list(source.codes)
    for name in [name for names_added in COPIES for name in names_added]:
        if len(names) == columns:
            break
        names.append(f"{name} of another")
        like.append(name)
        codes.append(source.codes[source.columns.index(name)][rng.permutation(len(source))])
    return Rows(tuple(names), tuple(like), tuple(codes))


@dataclass(frozen=True)
class Counted:
    """A table as the search sees it: the distinct tuples and their rows."""

    rows: Rows
    frequencies: FrequencyList

    @classmethod
    def of(cls, rows: Rows) -> Counted:
        """Count the tuples of a table."""
        sizes = [len(rows.values(column)) for column in range(len(rows.columns))]
        bits = [max(1, (size - 1).bit_length()) for size in sizes]
        assert sum(bits) <= 64, "the benchmark's tables fit into one word"
        keys = np.zeros(len(rows), np.uint64)
        for codes, width in zip(rows.codes, bits, strict=True):
            keys = (keys << np.uint64(width)) | codes.astype(np.uint64)
        tuples, counts = np.unique(keys, return_counts=True)
        columns = []
        for column, (hierarchy, width) in enumerate(zip(rows.like, bits, strict=True)):
            shift = np.uint64(sum(bits[column + 1 :]))
            own = ((tuples >> shift) & np.uint64((1 << width) - 1)).astype(np.int64)
            present = np.unique(own)
            columns.append((_compiled(hierarchy, tuple(present.tolist())), np.searchsorted(present, own)))
        frequencies = FrequencyList.of_codes(
            rows.columns, [compiled for compiled, _ in columns], [codes for _, codes in columns], counts
        )
        return cls(rows, frequencies)

    def task(self, k: int, max_suppression: float) -> Task:
        """Return a task with nothing worked out beforehand."""
        return Task.of(self.frequencies.afresh(), policy(self.rows, k, max_suppression))


@cache
def _compiled(column: str, present: tuple[int, ...]) -> CompiledHierarchy:
    """Compile a hierarchy for the values that are present, as counting a table does."""
    listed = adult.hierarchy(column)
    return ix.quasi(ix.levels(listed)).compile([listed[code][0] for code in present])


@cache
def hierarchy_of(column: str) -> ix.Hierarchy:
    return ix.levels(adult.hierarchy(column))


def policy(rows: Rows, k: int, max_suppression: float) -> ix.Policy:
    """Return the policy: every column is quasi."""
    return ix.Policy(
        columns={name: ix.quasi(hierarchy_of(like)) for name, like in zip(rows.columns, rows.like, strict=True)},
        privacy=[ix.KAnonymity(k)],
        max_suppression=max_suppression,
    )


def write_policy(rows: Rows, k: int, max_suppression: float, path: Path) -> Path:
    """Write the policy as a file."""
    path.write_text(ix.policy_toml(policy(rows, k, max_suppression)), "utf-8")
    return path


def write_csv(rows: Rows, path: Path) -> Path:
    """Write a table as CSV."""
    import pyarrow as pa
    import pyarrow.csv

    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(rows.values(column))).dictionary_decode()
        for column, (name, codes) in enumerate(zip(rows.columns, rows.codes, strict=True))
    }
    partial = path.with_name(f"{path.name}.partial")
    pyarrow.csv.write_csv(pa.table(columns), partial)
    partial.replace(path)
    return path
