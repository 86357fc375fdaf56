"""Exposure: the chances that somebody's record is found, from the groups of a table and what its population is.

A record is a row. Where it is known whose rows these are, it is a person: a group then has as many as different people
stand in it, and somebody who stands in several is as exposed as in the worst of them.

Source of the three risks: El Emam and Dankar 2008; El Emam 2013, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import linked_as_declared
from indistinct.counting.membership import People
from indistinct.disclosure_risk.individual_risk import individual_risk
from indistinct.disclosure_risk.population_estimates import Estimate, estimate
from indistinct.engine import Counts, Rows, use_table
from indistinct.errors import PolicyError
from indistinct.hierarchy import keep, read_number
from indistinct.linkage import Coverage, count_candidates
from indistinct.policy import Policy
from indistinct.profiling import DistinctRows
from indistinct.showing.words import counted

Integers = IntArray

NO_ESTIMATE = (
    "how many people stand alone in the population is not estimated: somebody's rows differ in these columns, and the "
    "estimators take each for a record of one group"
)
ONE_ROW_THERE = "each row of the population is taken for somebody else"


@dataclass(frozen=True, slots=True)
class Exposure:
    """The chance that a record is found: the highest, the average, and the share of records above a threshold."""

    highest: float
    average: float
    at_risk: float


@dataclass(frozen=True)
class Exposed:
    """The groups of a table, in rows or in people, and how many people of the population each stands for."""

    sizes: Integers
    """The records of each group."""
    members: People | None = None
    """Who stands in which group; None where rows are counted."""
    fitting: FloatArray | None = None
    """The people of the population for each group; None if nothing is known of it."""
    population: int | None = None
    """Its size, if it is known."""
    is_estimated: bool = False
    """What is known of the population is its size or weights, so that chances are expected ones."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: DistinctRows, policy: Policy | None, population: Any, reading: Mapping[str, Any]) -> Exposed:
        """Take what was counted; ``population`` is a number, or a table of people, or nothing."""
        groups, members = table.groups()
        alone = cls(groups.counts, members)
        if population is None:
            return alone
        if isinstance(population, int) and not isinstance(population, bool):
            records = alone.records
            if population < records:
                what = "rows" if members is None else "people"
                raise PolicyError(f"population: must be at least the {records:,} {what} of the table, got {population}")
            notes = (NO_ESTIMATE,) * alone.is_in_several
            weight = population / max(1, records)
            return cls(alone.sizes, members, alone.sizes.astype(np.float64) * weight, population, True, notes)
        fitting, total = _count_fitting(table, groups, policy, population, reading)
        few = int(alone.sizes[fitting < alone.sizes].sum())
        row, rows = ("row", "rows") if members is None else ("person", "people")
        notes = (
            f"{counted(few, f'{row} belongs', f'{rows} belong')} to groups with fewer people in the population than "
            f"{rows} here, so these {rows} are counted instead",
        ) * bool(few)
        notes += (ONE_ROW_THERE,) * (members is not None)
        return cls(alone.sizes, members, np.maximum(fitting, alone.sizes).astype(np.float64), total, False, notes)

    @classmethod
    def of_weights(cls, rows: Rows, quasi: Sequence[str], weights: str, population: Any) -> Exposed:
        """Count the rows of each group, and sum their weights."""
        found = rows.values_by(quasi, weights)
        numbers = [None if text is None else read_number(text) for text in found.texts]
        if any(number is None or number <= 0 for number in numbers):
            raise PolicyError(f"weights: column {weights!r} must hold a number above 0 in every row")
        each = np.array([float(number or 0) for number in numbers])
        sizes = np.bincount(found.groups, found.counts).astype(np.int64)
        people = np.maximum(np.bincount(found.groups, found.counts * each[found.values], len(sizes)), sizes)
        known = population if isinstance(population, int) else round(float(people.sum()))
        return cls(sizes, None, people, known, True)

    @cached_property
    def records(self) -> int:
        """The rows, or the different people."""
        return int(self.sizes.sum()) if self.members is None else len(np.unique(self.members.persons))

    @property
    def is_in_several(self) -> bool:
        """Somebody stands in more than one group."""
        return self.records < int(self.sizes.sum())

    @property
    def by_size(self) -> dict[int, int]:
        """How many groups have one record, two …"""
        found, numbers = np.unique(self.sizes, return_counts=True)
        return dict(zip(found.tolist(), numbers.tolist(), strict=True))

    @property
    def alone(self) -> int:
        """The records that have a group to themselves, or a person at least one."""
        return self._count_records(self.sizes == 1)

    def prosecutor(self, threshold: float) -> Exposure:
        """Return the chances of somebody who knows that a person is in the table: 1 over the group's records."""
        chances = 1 / self.sizes
        average = len(self.sizes) / max(1, self.records) if self.members is None else self._average(chances)
        return Exposure(float(chances.max()), average, self._share_above(chances, threshold))

    def journalist(self, threshold: float) -> Exposure | None:
        """Return the chances of somebody who does not know it: 1 over the group's people in the population."""
        if self.fitting is None:
            return None
        chances = self._chances_there()
        average = self._average(chances)
        if not self.is_estimated:
            average = max(average, len(self.sizes) / float(self.fitting.sum()))
        return Exposure(float(chances.max()), average, self._share_above(chances, threshold))

    @property
    def marketer(self) -> float:
        """The share of right guesses when each record of each group is given to one who fits, drawn at random."""
        guesses = max(1, int(self.sizes.sum()))
        return (
            len(self.sizes) / guesses if self.fitting is None else float(self.sizes @ self._chances_there()) / guesses
        )

    def estimate(self) -> Estimate | None:
        """Estimate who stands alone in a population of known size; None also where somebody is in several groups."""
        if self.population is None or not self.is_estimated or self.is_in_several:
            return None
        return estimate(self.by_size, max(self.population, self.records, 1))

    def _chances_there(self) -> FloatArray:
        assert self.fitting is not None  # asked where something is known of the population
        return individual_risk(self.sizes, self.fitting) if self.is_estimated else 1 / self.fitting

    def _average(self, chances: FloatArray) -> float:
        """Return the chance of a record on average; that of a person is the highest in her groups."""
        if self.members is None:
            return float(self.sizes @ chances) / max(1, self.records)
        _, person_of = np.unique(self.members.persons, return_inverse=True)
        highest = np.zeros(self.records)
        np.maximum.at(highest, person_of.ravel(), chances[self.members.groups])
        return float(highest.sum()) / max(1, self.records)

    def _share_above(self, chances: FloatArray, threshold: float) -> float:
        """Return the share of records whose chance to be found lies above a threshold."""
        return self._count_records(chances > threshold * (1 + 1e-12)) / max(1, self.records)

    def _count_records(self, is_chosen: BoolArray) -> int:
        """Return the rows, or the different people, in some groups."""
        if self.members is None:
            return int(self.sizes[is_chosen].sum())
        return len(np.unique(self.members.persons[is_chosen[self.members.groups]]))


def _count_fitting(
    table: DistinctRows, groups: Counts, policy: Policy | None, population: Any, reading: Mapping[str, Any]
) -> tuple[Integers, int]:
    """Count the people of a population table that fit each group, and all of them."""
    quasi = table.columns
    with use_table(population, **reading) as rows:
        refuse_absent(rows, quasi, "the population")
        with linked_as_declared(rows, {name: name for name in quasi}, policy) as read, read.encode(quasi) as encoded:
            values, people = encoded.values, encoded.count_by(quasi)
    hierarchies = {} if policy is None else {name: policy.columns[name].hierarchy for name in policy.quasi}
    coverages = [Coverage.of(hierarchies.get(name, keep()), table.values[name], values[name]) for name in quasi]
    return count_candidates(groups, people, coverages).people, int(people.counts.sum())


def refuse_absent(rows: Rows, names: Sequence[str], table: str = "the table") -> None:
    """Raise a PolicyError that names every column that a table lacks."""
    mistakes = [f"{table} has no column {name!r}" for name in names if name not in rows.columns()]
    if mistakes:
        raise PolicyError(mistakes)
