"""Whose rows repeat, by structure: the column within which many others stay the same belongs to people or things.

A name may say nothing. But rows of one person agree in what does not change: sex, origin, birth, the arm of a trial.
Rows of a postal code agree in its county and its state as well; what sets people apart is that what stays the same
tells most of them from each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.linkage import CodedColumn, Codes
from indistinct.profiling.column_names import number_people
from indistinct.profiling.column_roles import ColumnProfile, said_by
from indistinct.profiling.column_shapes import shape_of
from indistinct.profiling.column_statistics import MANY, ColumnStatistics, cells_of

FEWEST_REPEATS = 0.05
"""The share of the rows, at least, that follow another of the same number."""
CONSTANT = 0.98
"""The share of neighbouring rows of one number that agree where a column is constant within it."""
MOST_BY_CHANCE = 0.9
"""A column in which any two rows agree more often says nothing."""
FEWEST_CONSTANT = 3
"""Columns that must stay the same, none of which determines another, unless their names say that people have them."""
PERSONAL = ("birth", "age", "sex", "origin")
"""Topics of names that speak of people: places and things have none of them, so each counts that stays the same."""
TELLS_APART = 0.5
"""The share of the numbers that the constant columns tell from each other, at least."""
MOST_DIFFERENT = 0.5
"""Values for each number, at most, of a column that is asked whether others follow from it."""
SHORTEST_RUN, LONGEST_RUN = 2, 60
"""Rows of one number on average, at least and at most, where it is known by its runs alone."""
MOST_RUNS = 1.05
"""Runs for each value, at most: nearly all equal cells stand together."""
MANY_NUMBERS = 120
"""Whole numbers within a shorter range may be ages, or count something."""
MOST_CANDIDATES = 12
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Entity:
    """A column whose equal rows belong to one person or thing, and the columns that stay the same within them."""

    column: str
    number: int
    constant: tuple[str, ...]


def repeated_entity(table: pa.Table) -> Entity | None:
    """Return whose rows repeat in some rows of a table, by their texts, or None; missing cells are null or empty."""
    coded = {}
    for name in table.column_names:
        numbers: dict[str | None, int] = {}  # by hand: Arrow's own way imports pandas
        codes = [numbers.setdefault(text or None, len(numbers)) for text in table[name].to_pylist()]
        coded[name] = CodedColumn(np.array(codes, np.int32), tuple(numbers))
    return find_entity(coded, {name: cells_of(column, table.num_rows) for name, column in coded.items()})


def find_entity(
    coded: Mapping[str, CodedColumn], found: Mapping[str, ColumnStatistics], others: Sequence[str] = ()
) -> Entity | None:
    """Return whose rows repeat, by what stays the same, or None; of several the one with the most rows each.

    To count the larger unit is safe for the smaller as well: k households are at least k people. Where no column says
    it, one that stands in runs does: rows that were written together, under numbers that mean nothing else. ``others``
    are known to number something else.
    """
    names = [name for name in coded if name not in others and _may_repeat(found[name])]
    names = sorted(names, key=lambda name: -found[name].distinct)[:MOST_CANDIDATES]
    entities = [one for name in names if (one := entity_of(name, coded, found)) is not None]
    if not entities:
        runs = [name for name in names if _stands_in_runs(name, coded[name], found[name])]
        return Entity(runs[0], int(coded[runs[0]].codes.max()) + 1, ()) if runs else None
    most = max(len(one.constant) for one in entities)
    return min((one for one in entities if 2 * len(one.constant) >= most), key=lambda one: one.number)


def entity_of(column: str, coded: Mapping[str, CodedColumn], found: Mapping[str, ColumnStatistics]) -> Entity | None:
    """Return what the equal rows of a column belong to, if enough other columns stay the same within them."""
    whose = coded[column].codes
    order = np.argsort(whose, kind="stable")
    is_next = whose[order][1:] == whose[order][:-1]
    if is_next.sum() < FEWEST_REPEATS * len(whose):
        return None
    first, second = order[:-1][is_next], order[1:][is_next]
    constant = [
        name
        for name, other in coded.items()
        if name != column
        and found[name].distinct >= 2
        and _agree_by_chance(other) <= MOST_BY_CHANCE
        and float((other.codes[first] == other.codes[second]).mean()) >= CONSTANT
    ]
    number = int(whose.max()) + 1
    constant = [name for name in constant if found[name].distinct < number]  # not another name of the same
    firsts = np.unique(whose, return_index=True)[1]
    evidence = {*_independent({name: coded[name].codes[firsts] for name in constant})}
    evidence |= {name for name in constant if said_by(name)[1] in PERSONAL}
    if len(evidence) < FEWEST_CONSTANT:
        return None
    told_apart = len(np.unique(_together([coded[name] for name in constant])))
    return Entity(column, number, tuple(constant)) if told_apart >= TELLS_APART * number else None


def _stands_in_runs(name: str, column: CodedColumn, cells: ColumnStatistics) -> bool:
    """Return whether equal cells of a column stand together, as rows of one person do, and it is of unknown meaning.

    What others know, as ages, places and days, may be in order as well; its name says so, or it is a date.
    """
    if said_by(name)[0] is not None or not SHORTEST_RUN <= cells.rows / cells.distinct <= LONGEST_RUN:
        return False
    if not cells.is_whole and (cells.numbers or shape_of(name, cells).kind != "suppress"):
        return False
    different = int((column.codes[1:] != column.codes[:-1]).sum()) + 1
    is_counted = cells.is_whole and cells.numbers[-1] - cells.numbers[0] < MANY_NUMBERS
    return different <= MOST_RUNS * cells.distinct and not is_counted


def _independent(constant: Mapping[str, Codes]) -> list[str]:
    """Return the columns that no other determines, of those that many share: a county determines its state.

    A column that is different for most says nothing of that, since it determines all others.
    """
    kept: list[str] = []
    distinct = {name: len(np.unique(codes)) for name, codes in constant.items()}
    for name in sorted(constant, key=lambda name: (-distinct[name], name)):
        shared = distinct[name] <= MOST_DIFFERENT * len(constant[name])
        if shared and not any(_share_alike(constant[other], constant[name]) >= CONSTANT for other in kept):
            kept.append(name)
    return kept


def _share_alike(codes: Codes, others: Codes) -> float:
    """Return how often rows that agree in one column agree in another."""
    order = np.argsort(codes, kind="stable")
    is_next = codes[order][1:] == codes[order][:-1]
    return float((others[order][1:] == others[order][:-1])[is_next].mean()) if is_next.any() else 0.0


def _may_repeat(cells: ColumnStatistics) -> bool:
    """Return whether a column may number what has several rows: no measured number, hardly a cell missing."""
    is_measured = bool(cells.numbers) and not cells.is_whole
    return not is_measured and not cells.missing and cells.distinct > MANY and number_people(cells.rows, cells.distinct)


def _agree_by_chance(column: CodedColumn) -> float:
    """Return how often two rows agree that are drawn at random."""
    shares = np.bincount(column.codes) / max(1, len(column.codes))
    return float((shares**2).sum())


def _together(columns: Sequence[CodedColumn]) -> Codes:
    """Return a code for each combination of the values of some columns."""
    codes = columns[0].codes.astype(np.int64)
    for column in columns[1:]:
        _, codes = np.unique(codes * len(column.texts) + column.codes, return_inverse=True)
    return np.unique(codes, return_inverse=True)[1].astype(np.int32)


def entity_profile(entity: Entity, cells: ColumnStatistics) -> ColumnProfile:
    """Describe the column that says whose row it is, by what stays the same."""
    same = ", ".join(entity.constant[:MOST_NAMED])
    why = f"agree in {same}" if same else "stand together"
    reason = (
        f"rows with one value {why}, so they are taken for one person's "
        f"({entity.number:,} different in {cells.rows:,} rows); if every row is of somebody else, say so"
    )
    return ColumnProfile(
        entity.column, "identifier", None, reason, cells.distinct, cells.missing, topic="person", is_unsure=True
    )
