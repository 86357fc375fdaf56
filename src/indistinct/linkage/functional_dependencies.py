"""Dependencies between columns: a column that is released as it is can tell what became of a generalized one.

A column *tells* another if whoever guesses, for each row, the value that is most frequent among the **other** rows with
the same cell, avoids at least nine of ten mistakes that guessing the most frequent value of all makes. A row that
nobody shares its cell with teaches nothing, so a number of its own for every row tells nothing here. But numbers that
rise, or fall, always with those of another column are computed from it, as a logarithm is, and tell it.

Columns are read once, each value as a code, in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.engine import Rows

Codes = NDArray[np.int32]

MOST_CELLS = 60_000_000
"""Of a larger table no cells are read."""
CELLS_AT_ONCE, COLUMNS_AT_ONCE = 5_000_000, 200
"""What is read at once: engines take long to plan thousands of columns."""
ENOUGH = 0.9
"""Such a share of the mistakes must be gone."""
FEWEST_MISTAKES = 0.01
"""A column of which nearly all rows have one value is known without any other."""
FEWEST_NUMBERS = 20
"""Of fewer different numbers it is no wonder that they rise with others."""
MOST_PAIRS = 4_000
"""Of more pairs of columns those are looked at whose first column has fewest values."""


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


@dataclass(frozen=True, slots=True)
class Dependency:
    """A column that tells another, and how well."""

    column: str
    tells: str
    explained: float
    """The share of the mistakes that are gone, 1 at most."""
    is_exact: bool
    """No two rows with the same cell differ in the other column."""

    @property
    def sentence(self) -> str:
        """What follows, in English."""
        how = "tells" if self.is_exact else f"nearly tells ({self.explained:.0%} of the mistakes are gone)"
        return f"{self.column} {how} {self.tells}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return asdict(self)


def find_dependencies(rows: Rows, released: Sequence[str], quasi: Sequence[str]) -> list[Dependency]:
    """Return the columns that are released as they are and tell a quasi column; the strongest first."""
    if not released or not quasi:
        return []  # and no column need be read
    names = list(dict.fromkeys([*released, *quasi]))
    return dependencies_between(coded_columns(rows, names), released, quasi)


def dependencies_between(
    coded: Mapping[str, CodedColumn], released: Sequence[str], quasi: Sequence[str], enough: float = ENOUGH
) -> list[Dependency]:
    """Return the dependencies between columns that were read; ``enough`` is the share of mistakes that must be gone."""
    numbers = {name: _numbers(coded[name]) for name in dict.fromkeys([*released, *quasi]) if name in coded}
    found = []
    for column, other in pairs_between(coded, released, quasi):
        made = _dependency(column, other, coded[column].codes, coded[other].codes)
        if made.explained < enough and _is_computed(coded[column], coded[other], numbers[column], numbers[other]):
            made = Dependency(column, other, 1.0, True)
        if made.explained >= enough:
            found.append(made)
    return sorted(found, key=lambda one: (-one.explained, one.column, one.tells))


def unseen_pairs(released: Sequence[str], quasi: Sequence[str]) -> tuple[str, ...]:
    """Say that not all pairs of columns are looked at, where they are too many."""
    pairs = len(released) * len(quasi)
    if pairs <= MOST_PAIRS:
        return ()
    said = f"whether a column tells another was looked at for {MOST_PAIRS:,} of {pairs:,} pairs of columns"
    return (f"{said}, those whose first column has fewest values",)


def pairs_between(
    coded: Mapping[str, CodedColumn], released: Sequence[str], quasi: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Return the pairs of columns that are looked at, no more than ``MOST_PAIRS``."""
    few_first = sorted((name for name in released if name in coded), key=lambda name: len(coded[name].texts))
    pairs = [(one, other) for one in few_first for other in quasi if one != other and other in coded]
    yield from pairs[:MOST_PAIRS]


def _numbers(column: CodedColumn) -> NDArray[np.float64] | None:
    """Return the number of each code, NaN for a missing cell; None if some text is no number, or they are few."""
    if len(column.texts) < FEWEST_NUMBERS:
        return None
    try:
        return np.array([np.nan if text is None else float(text) for text in column.texts])
    except ValueError:
        return None


def _is_computed(
    column: CodedColumn,
    other: CodedColumn,
    numbers: NDArray[np.float64] | None,
    others: NDArray[np.float64] | None,
) -> bool:
    """Return whether the numbers of a column always rise, or always fall, with those of another, one for one."""
    if numbers is None or others is None or min(len(numbers), len(others)) < ENOUGH * max(len(numbers), len(others)):
        return False
    pairs = np.unique(column.codes.astype(np.int64) * len(other.texts) + other.codes)
    mine, theirs = numbers[pairs // len(other.texts)], others[pairs % len(other.texts)]
    known = ~(np.isnan(mine) | np.isnan(theirs))
    if known.sum() < FEWEST_NUMBERS or known.sum() < ENOUGH * len(pairs):
        return False
    steps = np.diff(theirs[known][np.argsort(mine[known], kind="stable")])
    rises = np.diff(np.sort(mine[known])) > 0
    return bool(rises.all() and ((steps > 0).all() or (steps < 0).all()))


def _dependency(column: str, tells: str, codes: Codes, others: Codes) -> Dependency:
    explained, is_exact = explained_by(codes, others)
    return Dependency(column, tells, explained, is_exact)


def explained_by(codes: Codes, others: Codes) -> tuple[float, bool]:
    """Return the share of mistakes about ``others`` that knowing ``codes`` takes away, and whether it always tells
    them.

    >>> city, state = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1])
    >>> explained_by(city, state), explained_by(state, city)
    ((1.0, True), (0.0, False))
    >>> explained_by(np.arange(6), state)
    (0.0, True)
    """
    rows = len(codes)
    if rows == 0:
        return 0.0, False
    mistakes = rows - int(np.bincount(others).max())
    if mistakes < max(1.0, FEWEST_MISTAKES * rows):
        return 0.0, False
    right, is_exact = _guessed_right(codes, others)
    return max(0.0, 1 - (rows - right) / mistakes), is_exact


def _guessed_right(codes: Codes, others: Codes) -> tuple[int, bool]:
    """Count the rows whose value is alone the most frequent among the other rows with the same cell."""
    width = int(others.max()) + 1
    pairs, sizes = np.unique(codes.astype(np.int64) * width + others, return_counts=True)
    cells = pairs // width
    starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])
    first = np.maximum.reduceat(sizes, starts)
    numbers = np.diff(np.r_[starts, len(cells)])
    is_first = sizes == np.repeat(first, numbers)
    # the second most frequent: the same again if two values are as frequent
    rest = np.where(is_first, 0, sizes)
    ties = np.add.reduceat(is_first.astype(np.int64), starts)
    second = np.where(ties > 1, first, np.maximum.reduceat(rest, starts))
    is_right = first - 1 > second
    return int(first[is_right].sum()), bool((numbers == 1).all())


def tells_some_value(codes: Codes, others: Codes) -> bool:
    """Return whether a column tells, of some value of ``others``, who has it and who has not, as it tells a column.

    Below each label that holds the value among others a recipient then knows which rows have it.

    >>> weight, home = np.repeat([0, 1, 2], 4), np.array([0] * 8 + [1, 2, 1, 2])
    >>> explained_by(weight, home)[0] < ENOUGH, tells_some_value(weight, home)  # never who has 1, but who has 0
    (True, True)
    """
    rows, width = len(codes), int(others.max(initial=0)) + 1
    pairs, with_value = np.unique(codes.astype(np.int64) * width + others, return_counts=True)
    cells, values = pairs // width, pairs % width
    of_cell, of_value = np.bincount(codes), np.bincount(others, minlength=width)
    without = of_cell[cells] - with_value
    right = np.where(with_value - 1 > without, with_value, 0) + np.where(without - 1 > with_value, without, 0)
    elsewhere = int(of_cell[of_cell >= 2].sum())  # rows of cells that never have the value are guessed right
    counted = np.bincount(values, right - np.where(of_cell[cells] >= 2, of_cell[cells], 0), width) + elsewhere
    mistakes = np.minimum(of_value, rows - of_value)
    is_asked = mistakes >= max(1.0, FEWEST_MISTAKES * rows)
    return bool((rows - counted[is_asked] <= (1 - ENOUGH) * mistakes[is_asked]).any())


def alike_by(codes: Codes, others: Codes, largest: int) -> list[float]:
    """Return how often groups of 2, 3, … ``largest`` rows with one cell also have one value of ``others``, by chance.

    A group is drawn from the rows with the cell of some row; where these are too few, from all rows.

    >>> cells, values = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 0, 0, 1])
    >>> [round(share, 4) for share in alike_by(cells, values, 4)]  # of the second cell 3 of 6 pairs, 1 of 4 triples
    [0.75, 0.625, 0.5]
    """
    rows, width = len(codes), int(others.max(initial=0)) + 1
    pairs, sizes = np.unique(codes.astype(np.int64) * width + others, return_counts=True)
    _, cell_of = np.unique(pairs // width, return_inverse=True)
    of_cell = np.bincount(cell_of, sizes)
    everywhere = np.bincount(others)
    within, anywhere = np.ones(len(pairs)), np.ones(len(everywhere))
    found = []
    for drawn in range(largest):  # one row more: it has the value as well, of those that are left
        within *= np.maximum(sizes - drawn, 0) / np.maximum(of_cell[cell_of] - drawn, 1)
        anywhere *= np.maximum(everywhere - drawn, 0) / max(rows - drawn, 1)
        by_cell = np.where(of_cell > drawn, np.bincount(cell_of, within), anywhere.sum())
        found.append(float((by_cell * of_cell).sum() / max(1, rows)))
    return found[1:]


def guess(column: CodedColumn, other: CodedColumn) -> NDArray[np.int64]:
    """Return, for each value of a column, the code of the other's value that it tells, and -1 where it tells none.

    A value tells what is most frequent among the rows with it, if there are two of them and no other is as frequent.
    """
    width = max(1, len(other.texts))
    pairs, sizes = np.unique(column.codes.astype(np.int64) * width + other.codes, return_counts=True)
    told = np.full(len(column.texts), -1, np.int64)
    best = np.zeros(len(column.texts), np.int64)
    for pair, size in zip(pairs.tolist(), sizes.tolist(), strict=True):
        cell, value = divmod(pair, width)
        if size > best[cell]:
            best[cell], told[cell] = size, value
        elif size == best[cell]:
            told[cell] = -1
    told[best < 2] = -1
    return told
