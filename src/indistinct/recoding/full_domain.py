"""Full-domain recodings: every column climbs to one level, and some whole groups are suppressed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Groups, IntArray, Node
from indistinct.engine.plans import Plan
from indistinct.policy import Policy
from indistinct.recoding.group_labels import lack_labels
from indistinct.recoding.local import LocalRecoding
from indistinct.recoding.recoding import SUPPRESSED, Labels, LabelValues, Pieces, Recoding
from indistinct.recoding.saved import SavedRecoding


@dataclass(frozen=True, slots=True, eq=False)
class FullDomainRecoding(Recoding):
    """Every column climbs to one level, and some whole groups are suppressed."""

    groups: Groups
    is_suppressed: BoolArray
    """One claim per group."""

    @property
    def node(self) -> Node:
        """The level of each quasi column."""
        return self.groups.node

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi column by its name."""
        return dict(zip(self.frequencies.columns, self.node, strict=True))

    @property
    def released_sizes(self) -> IntArray:
        """The sizes of the released groups."""
        return self.groups.sizes[~self.is_suppressed]

    @property
    def suppressed_sizes(self) -> IntArray:
        """The sizes of the suppressed groups."""
        return self.groups.sizes[self.is_suppressed]

    @property
    def lost_rows(self) -> IntArray:
        """The suppressed rows of each group."""
        return self.groups.sizes * self.is_suppressed

    @property
    def suppressed_rows(self) -> int:
        """The rows in suppressed groups."""
        return int(self.suppressed_sizes.sum())

    @property
    def number_of_groups(self) -> int:
        """How many groups there are at the node."""
        return len(self.groups)

    def as_pieces(self) -> Pieces:
        """Return every tuple with all its rows to its group."""
        _, group_of = self.frequencies.roll_up(self.node)
        return Pieces.whole(self.frequencies, np.where(self.is_suppressed[group_of], SUPPRESSED, group_of))

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows."""
        suppressed = np.flatnonzero(self.is_suppressed)
        if not len(suppressed):
            return 0.0
        sizes, total = self.groups.sizes[suppressed], 0.0
        for column, level in enumerate(self.node):
            numbers = values[column][level]
            # rows of each label first: a long product would wake the threads of NumPy's library, which take more time
            rows = np.bincount(self.groups.label_codes(column)[suppressed], sizes, len(numbers))
            total += float(rows @ numbers)
        return total

    def looks_suppressed(self) -> bool:
        """Return whether rows without any quasi cell would stand beside suppressed ones."""
        hierarchies = self.frequencies.hierarchies
        texts = [hierarchy.labels[level] for hierarchy, level in zip(hierarchies, self.node, strict=True)]
        codes = [self.groups.label_codes(column) for column in range(len(texts))]
        return self.suppressed_rows > 0 and bool(lack_labels(texts, codes).any())

    def suppressed_as_one(self) -> Groups:
        """Return all suppressed rows as one group, with their sensitive values."""
        zero = np.zeros(len(self.groups), np.int64)
        tallies = {n: t.only(self.is_suppressed).merge(zero) for n, t in self.groups.tallies.items()}
        populations = {name: counts.everyone() for name, counts in self.frequencies.base.populations.items()}
        people = None if self.groups.people is None else self.groups.people.without(~self.is_suppressed).merge(zero)
        return replace(Groups.of_sizes([self.suppressed_rows], tallies, populations), people=people)

    def without_groups(self, is_left_out: BoolArray) -> FullDomainRecoding:
        """Return the same recoding with some more groups suppressed, which is no longer proven to be the best."""
        is_proven = None if self.is_proven is None else False
        return replace(self, is_suppressed=self.is_suppressed | is_left_out, is_proven=is_proven, gap=None)

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> Plan:
        """Put the recoding in the engine's terms: maps of codes, texts of labels, and the groups to suppress."""
        suppressed = np.flatnonzero(self.is_suppressed)
        sensitive = self.frequencies.sensitive
        plan_maps, plan_labels, plan_suppressed = {}, {}, {}
        for column, (name, level) in enumerate(self.levels.items()):
            hierarchy = self.frequencies.hierarchies[column]
            plan_maps[name] = hierarchy.maps[level]
            plan_labels[name] = hierarchy.labels[level]
            plan_suppressed[name] = self.groups.label_codes(column)[suppressed]
        for name, column_values in sensitive.items():  # released as they are
            plan_maps[name] = np.arange(len(column_values.values))
            plan_labels[name] = column_values.values
        apart = self.frequencies.entries.codes  # sensitive columns, and those that say whose row it is
        for name in apart.keys() - sensitive.keys():
            plan_maps[name] = np.arange(int(apart[name].max(initial=-1)) + 1)
            plan_labels[name] = ()
        return Plan(
            columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
            maps=plan_maps,
            labels=plan_labels,
            kept=frozenset([*(name for name, level in self.levels.items() if level == 0), *apart]),
            suppressed=plan_suppressed,
            blank=policy.suppressed_rows == "blank",
            unblanked=frozenset(apart),
        )

    @property
    def level_names(self) -> dict[str, str]:
        """What the level of each column is called."""
        return {
            name: hierarchy.level_names[level]
            for (name, level), hierarchy in zip(self.levels.items(), self.frequencies.hierarchies, strict=True)
        }

    def as_saved(self) -> SavedRecoding:
        """Return the level of each column."""
        if self.draws is not None:
            return Recoding.as_saved(self)  # which refuses it
        return SavedRecoding(hierarchies=self._digests(), levels=self.levels)

    def _seen_without(self, position: int | None, plain: FrequencyList, pieces: Pieces) -> LocalRecoding:
        """Return the groups with the labels that are left; those that now carry the same ones become one."""
        others = [other for other in range(len(self.node)) if other != position]
        labels = tuple(Labels.at_level(plain, place, self.node[other]) for place, other in enumerate(others))
        pieces, used = pieces.number_groups()
        codes = np.stack([self.groups.label_codes(other) for other in others])[:, used]
        return LocalRecoding.of_labels(plain, pieces, labels, codes).with_promise_of(self)
