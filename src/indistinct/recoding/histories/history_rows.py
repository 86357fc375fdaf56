"""Histories: people with labels of their rows, and each of their events with a label of its own, or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.counting.joined_tables import ABSENT
from indistinct.engine.plans import LocalPlan
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.recoding.local import LocalRecoding
from indistinct.recoding.recoding import PeopleFacts
from indistinct.recoding.saved import SavedRecoding


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """What a search found out about sets of events, as a manifest states it."""

    together: int
    """The most events that are known together."""
    dropped: int
    """Events of released people that were dropped."""
    events: int
    """Events of all tables."""


@dataclass(frozen=True, slots=True, eq=False)
class HistoryRecoding(LocalRecoding):
    """A recoding of a table of people and tables of events, in which every row has labels of its own.

    Groups are rows that carry the same labels. Columns of other tables carry a label that stands for none.
    """

    takes_bound: ClassVar[bool] = False

    people_sizes: IntArray
    """The people of each released group of equal rows in the table of people."""
    known: KnownEvents

    @classmethod
    def of_rows(
        cls, frequencies: FrequencyList, base: LocalRecoding, people: IntArray, known: KnownEvents
    ) -> HistoryRecoding:
        """Take a local recoding of the rows of all tables."""
        return cls(frequencies, base.pieces, base.sizes, base.labels, base.codes, people, known)

    @property
    def _is_there(self) -> BoolArray:
        """Which groups have a cell in each column: (columns, groups)."""
        absent = [_place_of_absent(labels.texts) for labels in self.labels]
        return np.stack([codes != place for codes, place in zip(self.codes, absent, strict=True)])

    @property
    def mean_levels(self) -> tuple[float, ...]:
        """The average level of the released cells that each column has."""
        found = []
        for labels, codes, is_there in zip(self.labels, self.codes, self._is_there, strict=True):
            sizes = self.sizes * is_there
            found.append(float(sizes @ labels.levels[codes]) / max(1, int(sizes.sum())))
        return tuple(found)

    def over_released(self, values: Sequence[FloatArray]) -> float:
        """Sum a number per column and label over all released cells that there are."""
        return sum(
            float((self.sizes * is_there) @ value[codes])
            for value, codes, is_there in zip(values, self.codes, self._is_there, strict=True)
        )

    @property
    def stated_sizes(self) -> IntArray:
        """The people who share a row in the table of people."""
        return self.people_sizes

    @property
    def known_events(self) -> dict[str, int]:
        """How many events are known together, how many there were, and how many of people who stay were dropped."""
        return asdict(self.known)

    def looks_suppressed(self) -> bool:
        """No row stays blank where several tables belong together."""
        return False

    def rows_by_table(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the rows of each of several tables, of these names: eligible, released and suppressed ones."""
        tables = table_of_entries(self.frequencies)
        eligible = np.bincount(tables, self.frequencies.entries.counts, len(names)).astype(np.int64).tolist()
        is_out = ~self.pieces.is_released
        lost = np.bincount(tables[self.pieces.tuples], self.pieces.rows * is_out, len(names)).astype(np.int64).tolist()
        return {
            name: {"eligible": mine, "released": mine - gone, "suppressed": gone}
            for name, mine, gone in zip(names, eligible, lost, strict=True)
        }

    def people_facts(self, policy: Policy) -> PeopleFacts:
        """Say how many people are released and left out; groups are those of equal rows in the table of people."""
        persons = self.frequencies.entries.persons
        assert persons is not None  # rows of several tables are somebody's
        is_kept = self.pieces.is_released & (self.pieces.rows > 0)
        is_lost = ~self.pieces.is_released & (self.pieces.rows > 0)
        eligible = int(persons.max(initial=-1)) + 1
        released = len(np.unique(persons[self.pieces.tuples[is_kept]]))
        smallest = int(self.people_sizes.min(initial=eligible))
        return PeopleFacts(
            eligible=eligible,
            released=released,
            lost_rows=len(np.unique(persons[self.pieces.tuples[is_lost]])),
            lost_all_rows=eligible - released,
            smallest_group=smallest,
            smallest_profile=smallest,
        )

    def as_saved(self) -> SavedRecoding:
        """Refuse: labels follow from who has which events."""
        raise PolicyError("a recoding of several tables, of two or of rows that were drawn cannot be applied to others")

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> LocalPlan:
        """Refuse: each table has a plan of its own."""
        raise PolicyError("several tables have a plan each")

    def without_groups(self, is_left_out: BoolArray) -> HistoryRecoding:
        """Refuse: without some events others are rarer."""
        raise PolicyError("groups of events hold only together: the support of each follows from the others")


def _place_of_absent(texts: Sequence[str | None]) -> int:
    return texts.index(ABSENT) if ABSENT in texts else -1


def table_of_entries(frequencies: FrequencyList) -> IntArray:
    """Return the number of each entry's table, in the order of the policy."""
    people = frequencies.base.people
    assert people is not None  # several tables were counted
    assert people.tree is not None
    tables = np.empty(len(frequencies.entries), np.int64)
    tables[people.tree.order] = people.tree.tables
    return tables
