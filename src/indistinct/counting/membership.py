"""People: who stands in which group, so that models count people and not their rows.

A person may have several rows. A group then hides her among the different people in it, and a sensitive value is as
frequent there as the people who have it: each counts once for a value, however many of her rows show it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indistinct.array_types import BoolArray, IntArray, np

if TYPE_CHECKING:
    from indistinct.counting.groups import Groups, Tally

NOWHERE = -1
"""The group of entries that were taken out."""


@dataclass(frozen=True, slots=True)
class RowTree:
    """How rows of several tables belong to each other: a prescription to its visit, a visit to its patient.

    Entries stand in an order in which those of deeper tables come first. One that others belong to is one row.
    """

    order: IntArray
    """The entries, deepest first."""
    parents: IntArray
    """In that order: the place of the entry that each belongs to, or -1 where that is the person."""
    tables: IntArray
    """In that order: the number of each entry's table."""
    sources: IntArray | None = None
    """The place of each entry in the lists of the tables, one after the other."""

    @classmethod
    def of(cls, rows: IntArray, parents: IntArray, tables: IntArray, depths: IntArray) -> RowTree:
        """Take the number of each entry's row and of the row that it belongs to, below 0 where there is none.

        >>> RowTree.of(np.array([0, -1]), np.array([-1, 0]), np.array([0, 1]), np.array([0, 1])).parents
        array([ 1, -1])
        """
        order = np.argsort(-depths, kind="stable")
        place_of = np.full(int(rows.max(initial=-1)) + 2, -1)  # the last is for entries without a parent
        is_row = rows[order] >= 0
        place_of[rows[order][is_row]] = np.flatnonzero(is_row)
        return cls(order, place_of[parents[order]], tables[order])


@dataclass(frozen=True, slots=True)
class People:
    """The person and the group of each entry, and its sensitive values; entries are in any order.

    A value below 0 is none: the entry is of a table that has no such column.
    ``totals`` has for each sensitive column the people of each value in all that is released together, and the number
    of people there; where it says nothing these entries are all.
    """

    persons: IntArray
    groups: IntArray
    values: Mapping[str, IntArray] = field(default_factory=dict)
    totals: Mapping[str, tuple[IntArray, int]] = field(default_factory=dict)
    rows: IntArray | None = None
    """The rows of each entry; where it says nothing each has one."""
    tree: RowTree | None = None
    """How the rows of a person belong to each other, where they are of several tables."""

    def by_profile(self) -> tuple[People, IntArray]:
        """Return people in classes of those who have the same profile: as many rows in the same groups.

        Where rows of several tables belong to each other, they also do so in the same way. Also give the class of
        each person; of somebody who has no row left it is NOWHERE.
        """
        from indistinct.counting.kernels import people_counts

        number = int(self.persons.max(initial=-1)) + 1
        rows = np.ones(len(self.groups), np.int64) if self.rows is None else self.rows
        with np.errstate(over="ignore"):  # sums wrap around, which NumPy remarks on when numba is switched off
            class_of: IntArray
            if self.tree is None:
                class_of = people_counts.number_profiles(self.persons, self.groups, rows, number)
            else:
                order, tables = self.tree.order, self.tree.tables
                groups = self.groups[order]
                places = np.where(groups < 0, NOWHERE, groups * (int(tables.max(initial=0)) + 1) + tables)
                persons = self.persons[order]
                class_of = people_counts.number_trees(places, rows[order], self.tree.parents, persons, number)
        return replace(self, groups=np.where(self.groups < 0, NOWHERE, class_of[self.persons])), class_of

    def merge(self, group_of: IntArray) -> People:
        """The people of groups that were merged, each into the group of this number."""
        return replace(self, groups=np.where(self.groups < 0, NOWHERE, group_of[self.groups]))

    def without(self, is_suppressed: BoolArray) -> People:
        """The people of what is left when some groups are taken out."""
        return replace(self, groups=np.where(is_suppressed[self.groups], NOWHERE, self.groups), totals={})

    def sizes(self, groups: int) -> IntArray:
        """Return the number of different people in each group.

        >>> People(np.array([7, 7, 8]), np.array([0, 0, 0])).sizes(1)
        array([2])
        """
        return np.bincount(self.groups[self._is_first(self.groups)], minlength=groups).astype(np.int64)

    def totals_of(self, column: str, values: int) -> tuple[IntArray, int]:
        """Return the people of each value of a sensitive column in all groups together, and the number of people."""
        if column in self.totals:
            return self.totals[column]
        is_there = self.groups >= 0
        codes = np.where(is_there, self.values[column], NOWHERE)
        totals = np.bincount(codes[self._is_first(codes)], minlength=values).astype(np.int64)
        return totals, int(np.count_nonzero(np.bincount(self.persons[codes >= 0])))

    def weigh(self, groups: Groups, columns: Collection[str] | None = None) -> Groups:
        """Return groups as models see them: sizes and sensitive values in people, of some columns or of all."""
        asked = {name: tally for name, tally in groups.tallies.items() if columns is None or name in columns}
        tallies = {name: self._tally(name, tally, len(groups)) for name, tally in asked.items()}
        return replace(groups, sizes=self.sizes(len(groups)), tallies=tallies, people=None)

    def _tally(self, column: str, rows: Tally, number_of_groups: int) -> Tally:
        """Tally the people of each group who have each value."""
        number = max(1, len(rows.texts))
        values = self.values[column]
        holders = None
        if (values < 0).any():  # rows of other tables, which have no such column
            there = np.where(values < 0, NOWHERE, self.groups)
            holders = np.bincount(there[self._is_first(there)], minlength=number_of_groups).astype(np.int64)
        places = np.where((self.groups < 0) | (values < 0), NOWHERE, self.groups * number + values)
        is_first = self._is_first(places)
        groups, values = self.groups[is_first], values[is_first]
        totals, whole = self.totals_of(column, number)
        tally = type(rows).of(groups, values, np.ones(len(groups), np.int64), rows.texts, rows.hierarchy, totals)
        return replace(tally, whole=whole, holders=holders)

    def _is_first(self, places: IntArray) -> BoolArray:
        from indistinct.counting.kernels import people_counts

        is_first: BoolArray = people_counts.first_of_person(places, self.persons)
        return is_first
