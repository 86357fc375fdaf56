"""Drawn recodings: every column climbs to one level, and of the rows only those leave that were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, IntArray, Node
from indistinct.engine.plans import LocalPlan
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.recoding.full_domain import FullDomainRecoding
from indistinct.recoding.recoding import SUPPRESSED, TOLD


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRecoding(FullDomainRecoding):
    """Every column climbs to one level; ``frequencies`` is the list of the rows that were drawn, and of no others.

    So whatever is counted or measured of it tells nothing of rows that stay behind, not even how many they are.
    """

    source: FrequencyList
    """The list of all rows; only the engine is told of it."""
    drawn: IntArray
    """How many rows of each entry of the source leave."""
    statements: Mapping[str, Any]
    """What a manifest says of how they were drawn."""

    @classmethod
    def of(cls, source: FrequencyList, drawn: IntArray, node: Node, statements: Mapping[str, Any]) -> DrawnRecoding:
        """Let so many rows of each entry leave, at the levels of a node."""
        columns = range(len(source.columns))
        there = np.flatnonzero(drawn)
        left = FrequencyList.of_codes(
            source.columns,
            source.hierarchies,
            [source.entry_codes(column)[there] for column in columns],
            drawn[there],
            source.weights,
        )
        groups, _ = left.roll_up(node)
        return cls(left, groups, np.zeros(len(groups), np.bool_), source, drawn, statements)

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> LocalPlan:  # type: ignore[override]
        """Put the recoding in the engine's terms: so many rows of each tuple leave, and which is drawn there.

        All cells leave as text: the type of a column can follow from a single cell, that of somebody who stays behind.
        """
        groups, group_of = self.source.roll_up(self.node)
        left = self.source.entries.counts - self.drawn
        leaving, staying = np.flatnonzero(self.drawn), np.flatnonzero(left)
        entries = np.concatenate([leaving, staying])
        names = self.source.columns
        hierarchies = zip(names, self.source.hierarchies, self.node, strict=True)
        return LocalPlan(
            columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
            tuples={name: self.source.entry_codes(column)[entries] for column, name in enumerate(names)},
            rows=np.concatenate([self.drawn[leaving], left[staying]]),
            groups=np.concatenate([group_of[leaving], np.full(len(staying), SUPPRESSED)]),
            labels={name: hierarchy.labels[level] for name, hierarchy, level in hierarchies},
            codes={name: groups.label_codes(column) for column, name in enumerate(names)},
        )

    @property
    def draws(self) -> Mapping[str, Any]:
        """How rows were drawn; the eligible rows that a release states are those that were drawn."""
        return self.statements

    def tells_measure(self, name: str) -> bool:
        """Only what follows from the released cells is told; other measures compare with cells that stay behind."""
        return name in TOLD

    def without_groups(self, is_left_out: BoolArray) -> FullDomainRecoding:
        """Refuse to leave out more: which groups leave is a matter of chance, and that was drawn."""
        raise PolicyError("rows that were drawn at random cannot be fitted to earlier releases; see docs/ledger.md")
