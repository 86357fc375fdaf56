"""Linked recodings: every column climbs to one level, and all rows of some people are suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Groups, IntArray
from indistinct.counting.membership import NOWHERE
from indistinct.engine.plans import Plan
from indistinct.policy import Policy
from indistinct.recoding.full_domain import FullDomainRecoding
from indistinct.recoding.recoding import SUPPRESSED, LabelValues, Pieces, Recoding


@dataclass(frozen=True, slots=True, eq=False)
class LinkedRecoding(FullDomainRecoding):
    """Every column climbs to one level, and whoever shares her profile with too few loses all her rows, or some."""

    is_gone: BoolArray
    """One claim per entry; a person's entries in one group go together."""
    sizes: IntArray
    """The released rows of each group."""

    @classmethod
    def of(cls, frequencies: FrequencyList, groups: Groups, is_gone: BoolArray) -> LinkedRecoding:
        """Suppress all rows of some entries."""
        people = groups.people
        assert people is not None  # rows are linked
        rows = frequencies.entries.counts * ~is_gone
        sizes = np.bincount(people.groups, rows, len(groups)).astype(np.int64)
        return cls(frequencies, groups, sizes == 0, is_gone, sizes)

    @property
    def released_sizes(self) -> IntArray:
        """The released rows of the groups that have any."""
        return self.sizes[self.sizes > 0]

    @property
    def suppressed_sizes(self) -> IntArray:
        """The suppressed rows of the groups that have any."""
        return self.lost_rows[self.lost_rows > 0]

    @property
    def lost_rows(self) -> IntArray:
        """The suppressed rows of each group."""
        return self.groups.sizes - self.sizes

    def as_pieces(self) -> Pieces:
        """Return every entry with all its rows to its group, or to none."""
        _, group_of = self.frequencies.roll_up(self.node)
        pieces = Pieces.whole(self.frequencies, group_of)
        return replace(pieces, groups=np.where(self.is_gone, SUPPRESSED, pieces.groups))

    @property
    def stated_sizes(self) -> IntArray:
        """The sizes of the groups that a release states: profiles in people, where several tables belong together."""
        people = self.groups.people
        if people is None or people.tree is None:
            return self.released_sizes
        left = replace(people, groups=np.where(self.is_gone, NOWHERE, people.groups))
        _, class_of = left.by_profile()
        return np.bincount(class_of[class_of >= 0]).astype(np.int64)

    def rows_by_table(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the rows of each of several tables, of these names: eligible, released and suppressed ones."""
        people = self.groups.people
        if people is None or people.tree is None:
            return {}
        counts, is_gone = self.frequencies.entries.counts[people.tree.order], self.is_gone[people.tree.order]
        number_of = people.tree.tables
        eligible = np.bincount(number_of, counts, len(names)).astype(np.int64).tolist()
        lost = np.bincount(number_of, counts * is_gone, len(names)).astype(np.int64).tolist()
        return {
            name: {"eligible": mine, "released": mine - gone, "suppressed": gone}
            for name, mine, gone in zip(names, eligible, lost, strict=True)
        }

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""
        return sum(
            float(self.lost_rows @ values[column][level][self.groups.label_codes(column)])
            for column, level in enumerate(self.node)
        )

    def suppressed_as_one(self) -> Groups:
        """Return all suppressed rows as one group, with their sensitive values."""
        return Recoding.suppressed_as_one(self)

    def without_groups(self, is_left_out: BoolArray) -> LinkedRecoding:
        """Return the same recoding without all people who stand in some more groups."""
        people = self.groups.people
        assert people is not None  # rows are linked
        is_out = np.zeros(int(people.persons.max(initial=-1)) + 1, np.bool_)
        is_out[people.persons[is_left_out[people.groups]]] = True
        fewer = self.of(self.frequencies, self.groups, self.is_gone | is_out[people.persons])
        return replace(fewer, is_proven=None if self.is_proven is None else False, gap=None)

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> Plan:
        """Put the recoding in the engine's terms: rows of some people, with some labels, are suppressed."""
        people, codes = self.groups.people, self.frequencies.entries.codes
        assert people is not None  # rows are linked
        gone = np.flatnonzero(self.is_gone)
        suppressed = {name: codes[name][gone] for name in policy.person_columns}
        for column, name in enumerate(self.frequencies.columns):
            suppressed[name] = self.groups.label_codes(column)[people.groups[gone]]
        return replace(FullDomainRecoding.plan(self, policy, extra), suppressed=suppressed)
