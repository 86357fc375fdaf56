"""Unicity: how many rows of a table stand alone to whoever knows any few cells of somebody, whatever their columns.

A release can be k-anonymous by its quasi columns and still hold other columns that make nearly every row unique. Who
knows a few of those cells of a person, from a bill or a conversation, finds her row.

Source: de Montjoye and others, Unique in the crowd, 2013, who counted places; here any columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from indistinct.engine import Rows, use_table
from indistinct.errors import PolicyError
from indistinct.profiling import DistinctRows
from indistinct.progress import Watch
from indistinct.showing.fields import as_json
from indistinct.showing.words import counted

MOST_CELLS = 6
"""Cells that somebody is taken to know, at most; beside all of them."""
SETS = 60
"""Sets of columns that are looked at for each number of cells; more are drawn from."""
MOST_DISTINCT = 2_000_000
"""Distinct rows beyond which unicity is not counted: each set takes a pass over all of them."""
UNICITY_COLUMNS = 64
"""Columns beyond which a report or a risk does not count it unasked."""
HIGH = 0.05
"""A share of rows alone that is worth a warning."""


@dataclass(frozen=True, slots=True)
class UnicityOfCells:
    """What somebody can do who knows a number of cells of a row."""

    cells: int
    mean: float
    """The share of rows that stand alone, on average over sets of as many columns."""
    worst: float
    """The largest share by any set that was looked at."""
    columns: tuple[str, ...]
    """The columns of that set."""
    sets: int
    """The sets that the average is of."""
    is_every: bool
    """These are all sets of as many columns; else the average is of sets drawn at random, and a worse one may exist."""


@dataclass(frozen=True, slots=True)
class Unicity:
    """The share of rows that stand alone, by the number of cells that somebody knows."""

    also: ClassVar[tuple[str, ...]] = ("is_high",)

    rows: int
    """The rows, or the people where those are counted."""
    columns: tuple[str, ...]
    known: tuple[UnicityOfCells, ...]
    """For one cell, two, …, and for all columns together."""
    unit: Literal["rows", "people"] = "rows"
    """Of several tables people are counted, and who knows a column of somebody knows it in all her rows."""

    @property
    def is_high(self) -> bool:
        """More rows than a few stand alone to whoever knows three cells, or as many as there are."""
        return self.of(min(3, len(self.columns))).mean > HIGH

    def of(self, cells: int) -> UnicityOfCells:
        """Return what is found by somebody who knows this number of cells."""
        return next(one for one in self.known if one.cells >= cells)

    @property
    def sentence(self) -> str:
        """Say in one sentence what was found."""
        some, every = self.of(min(3, len(self.columns))), self.known[-1]
        what = "cell" if self.unit == "rows" else "column"
        known = f"one {what}" if some.cells == 1 else f"any {some.cells} {what}s"
        whose = "somebody" if self.unit == "rows" else "all rows of somebody"
        more = "" if some.cells == every.cells else f", and with all {every.cells} {every.mean:.1%}"
        return f"to whoever knows {known} of {whose} {some.mean:.1%} of the {self.unit} stand alone{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        found: dict[str, Any] = as_json(self)
        return found

    def __str__(self) -> str:
        lines = [
            f"{counted(one.cells, 'cell')}: {one.mean:.1%} of {self.rows:,} {self.unit} alone on average, "
            f"{one.worst:.1%} by {', '.join(one.columns)}"
            for one in self.known
        ]
        return "\n".join(lines)


def unicity(table: Any, columns: Sequence[str] | None = None, *, watch: Watch | None = None, **reading: Any) -> Unicity:
    """Return how many rows of a table stand alone to whoever knows any one, two, … cells of somebody.

    ``columns`` are those that count; all of the table if not given. ``reading`` goes to the engine. Where there are
    many sets of columns some are drawn, always the same ones.

    >>> import pyarrow as pa
    >>> found = unicity(pa.table({"age": [30, 30, 40], "town": ["a", "b", "b"]}))
    >>> [round(one.mean, 4) for one in found.known], found.known[-1].worst
    ([0.3333, 1.0], 1.0)
    """
    with use_table(table, **reading) as rows:
        return count_unicity(rows, tuple(columns or rows.columns()), watch)


def count_unicity(rows: Rows, columns: Sequence[str], watch: Watch | None = None) -> Unicity:
    """Return the unicity of an open table by some of its columns."""
    if absent := [name for name in columns if name not in rows.columns()]:
        raise PolicyError(f"unicity: the table has no column {absent[0]!r}")
    if not columns:
        raise PolicyError("unicity: name at least one column")
    return unicity_of(DistinctRows.of(rows, tuple(columns)), watch)


def unicity_of(table: DistinctRows, watch: Watch | None = None) -> Unicity:
    """Return the unicity of what was counted: rows, or the people of several tables by all their rows."""
    columns, whole = table.columns, max(1, table.records)
    if len(table.base) > MOST_DISTINCT:
        raise PolicyError(
            f"unicity: the table has more than {MOST_DISTINCT:,} distinct rows; count it by fewer columns, or on a part"
        )
    number = len(columns)
    found: list[UnicityOfCells] = []
    worst: tuple[int, ...] = ()
    steps = [*range(1, min(MOST_CELLS, number - 1) + 1), number]
    for done, cells in enumerate(steps):
        if watch is not None:
            watch.report("combinations", done, len(steps))
        sets = _sets_of(number, cells)
        shares = {columns_of: table.alone(columns_of) / whole for columns_of in sets}
        mean = float(np.mean(list(shares.values())))
        is_every = len(sets) == math.comb(number, cells)
        if not is_every:  # a set that is bad is looked for, too: the worst so far with one column more
            longer = [tuple(sorted((*worst, more))) for more in range(number) if more not in worst]
            shares |= {one: table.alone(one) / whole for one in longer if len(one) == cells}
        worst = max(shares, key=lambda one: (shares[one], _combinations_of(table, one), [-place for place in one]))
        named = tuple(columns[column] for column in worst)
        found.append(UnicityOfCells(cells, mean, shares[worst], named, len(sets), is_every))
    return Unicity(table.records, columns, tuple(found), "people" if table.has_trees else "rows")


def _combinations_of(table: DistinctRows, columns: Sequence[int]) -> int:
    """Return how many combinations of values some columns could have: of sets that are as bad the more telling one."""
    return math.prod(table.distinct[column] for column in columns)


def _sets_of(number: int, cells: int) -> list[tuple[int, ...]]:
    """Return all sets of ``cells`` columns, or some of them that are drawn, the same ones each time."""
    if math.comb(number, cells) <= SETS:
        return list(combinations(range(number), cells))
    draw = np.random.default_rng([number, cells])
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < SETS:
        drawn[tuple(sorted(draw.choice(number, cells, replace=False).tolist()))] = None
    return list(drawn)
