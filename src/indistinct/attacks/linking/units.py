"""LinkedUnits: what is linked with people, each released row by itself, or all rows of a pseudonym together.

Whoever follows a pseudonym knows that all its rows are one person's. So somebody fits it only if each of its rows fits
something that is known of her: the one row that a list has of her, or one of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.counting import IntArray
from indistinct.engine import Counts
from indistinct.errors import PolicyError
from indistinct.linkage import (
    NOBODY,
    Candidates,
    Coverage,
    count_candidates,
    distinct_tuples,
    members_of,
    number_tuples,
)

Label = str | None
MOST_PAIRS = 2_000_000_000
"""The most pairs of a released group and a person with several rows that are looked at; more are refused."""


@dataclass(frozen=True, slots=True)
class LinkedUnits:
    """What is linked: some groups of released rows each, and how many units are like that."""

    groups: Counts
    """The groups of released rows: codes of their labels in each column that links, and their rows."""
    members: tuple[IntArray, ...] | None
    """The groups in which each kind of unit has rows; None where each group is a kind by itself."""
    sizes: IntArray
    """The units of each kind."""

    @classmethod
    def of_rows(cls, groups: Counts) -> LinkedUnits:
        """Take each released row by itself."""
        return cls(groups, None, groups.counts)

    @classmethod
    def of_pseudonyms(cls, found: Counts) -> LinkedUnits:
        """Take all rows of a pseudonym together; its code is the last one of each tuple of codes.

        >>> found = Counts((np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])), np.array([2, 1, 1, 1]))
        >>> units = LinkedUnits.of_pseudonyms(found)
        >>> [groups.tolist() for groups in units.members or ()], units.sizes
        ([[0, 1]], array([2]))
        """
        labels, pseudonyms = found.codes[:-1], np.asarray(found.codes[-1], np.int64)
        first, group_of = distinct_tuples(labels, len(found.counts))
        rows = np.bincount(group_of, found.counts, len(first)).astype(np.int64)
        groups = Counts(tuple(codes[first] for codes in labels), rows)
        order = np.lexsort((group_of, pseudonyms))
        starts = np.flatnonzero(np.diff(pseudonyms[order], prepend=-1))
        kinds: dict[bytes, int] = {}
        for own in np.split(group_of[order], starts[1:]):
            key = own.tobytes()
            kinds[key] = kinds.get(key, 0) + 1
        members = tuple(np.frombuffer(key, np.int64) for key in kinds)
        return cls(groups, members, np.array(list(kinds.values()), np.int64))

    def labels(self, kind: int, column: int, texts: Sequence[Label]) -> Label:
        """Return the labels that a kind of unit has in a column, as one text; None if all are blank."""
        rows = kind if self.members is None else self.members[kind]
        own = [texts[int(code)] for code in np.unique(self.groups.codes[column][rows])]
        said = [text for text in own if text is not None]
        return " and ".join(said) if said else None

    def as_groups(self, coverages: Sequence[Coverage]) -> tuple[Counts, list[Coverage]]:
        """Return the units as groups of their own, whose labels cover what all labels of a unit do."""
        if self.members is None:
            return self.groups, list(coverages)
        codes, made = [], []
        for column, coverage in zip(self.groups.codes, coverages, strict=True):
            sets: dict[tuple[int, ...], int] = {}
            of_kind = [tuple(np.unique(column[own]).tolist()) for own in self.members]
            codes.append(np.array([sets.setdefault(one, len(sets)) for one in of_kind], np.uint32))
            made.append(coverage.of_sets(list(sets)))
        return Counts(tuple(codes), self.sizes), made


@dataclass(frozen=True, slots=True)
class KnownPeople:
    """The people of another table, told apart by whose row it is where that is known."""

    tuples: Counts
    """The cells of the other table in the columns that link, and its rows."""
    persons: IntArray | None = None
    """With several rows a person: whose each entry is."""
    tuple_of: IntArray | None = None
    """The tuple of each entry."""

    @classmethod
    def of(cls, found: Counts, values: Mapping[str, Sequence[Label]], person: Sequence[str]) -> KnownPeople:
        """Take entries that were counted by the columns that link and then by those that say whose row it is."""
        if not person:
            return cls(found)
        for name in person:
            if None in values[name]:
                raise PolicyError(
                    f"person: rows of the other table have nothing in {name!r}, which says whose they are; fill it in, "
                    "leave them out, or rename the column, and each row is taken for a person"
                )
        cells, whose = found.codes[: -len(person)], found.codes[-len(person) :]
        first, tuple_of = distinct_tuples(cells, len(found.counts))
        rows = np.bincount(tuple_of, found.counts, len(first)).astype(np.int64)
        tuples = Counts(tuple(codes[first] for codes in cells), rows)
        return cls(tuples, number_tuples(whose, len(found.counts)), tuple_of)

    def count(self, units: LinkedUnits, coverages: Sequence[Coverage]) -> Candidates:
        """Count the people that fit each kind of unit, and the units that fit each of the people.

        People whose rows all have the same cells are counted by those. The others are looked at one by one: somebody
        fits a unit if each of its groups fits one of her rows.
        """
        groups, covering = units.as_groups(coverages)
        if self.persons is None or self.tuple_of is None:
            return count_candidates(groups, self.tuples, covering)
        entries = np.unique(np.stack([self.persons, self.tuple_of]), axis=1)
        rows_of = np.bincount(entries[0])
        is_alone = rows_of[entries[0]] == 1
        alike = np.bincount(entries[1][is_alone], minlength=len(self.tuples.counts)).astype(np.int64)
        kept = np.flatnonzero(alike)
        simple = count_candidates(
            groups, Counts(tuple(codes[kept] for codes in self.tuples.codes), alike[kept]), covering
        )
        several, place = np.unique(entries[0][~is_alone], return_inverse=True)
        if len(several) * len(units.groups.counts) > MOST_PAIRS:
            raise PolicyError(
                f"external: {len(several)} people with several rows are too many to be looked at one by one in "
                f"{len(units.groups.counts)} groups; link a part of the table, or one row of each person"
            )
        fits = self._fits(units.groups, entries[1][~is_alone], place.ravel(), len(several), coverages)
        people, one = simple.people.copy(), simple.one.copy()
        rows = np.zeros(len(several), np.int64)
        for kind in range(len(units.sizes)):
            is_fitting = fits[kind] if units.members is None else fits[units.members[kind]].all(axis=0)
            number = int(is_fitting.sum())
            if number:
                one[kind] = len(kept) + int(np.argmax(is_fitting)) if one[kind] == NOBODY else one[kind]
                people[kind] += number
                rows[is_fitting] += units.sizes[kind]
        ones = np.ones(len(several), np.int64)
        return Candidates(
            units.sizes, people, one, np.concatenate([simple.persons, ones]), np.concatenate([simple.rows, rows])
        )

    def _fits(
        self, groups: Counts, tuples: IntArray, place: IntArray, number: int, coverages: Sequence[Coverage]
    ) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Return for each group, and each of the people with several rows, whether one of her rows fits it."""
        known = Counts(tuple(codes[tuples] for codes in self.tuples.codes), np.ones(len(tuples), np.int64))
        fits = np.zeros((len(groups.counts), number), np.bool_)
        for group in range(len(groups.counts)):
            labels = [int(codes[group]) for codes in groups.codes]
            fits[group, place[members_of(labels, known, coverages)]] = True
        return fits
