"""Value sets: the sensitive values that people's groups had, release by release, for m-invariance.

Where everybody's groups have the same values in all releases in which she is, each value equally often, the values of
all people of a value set can be exchanged for each other (the first for the second, the second for the third, and so
on) without a single released cell changing: in every group each value is as frequent as before. So each value of her
set is as likely as any other, whatever is known about who was in which group. This holds as long as nothing but
the labels of groups and this one value is released of a person; by anything else rows could be linked, and the person
who is in all of the linked rows' groups would be found.

Source: Xiao and Tao 2007, Definition 4 and Theorem 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.engine import ABSENT, Histories
from indistinct.ledger.terms import others_shown, shows
from indistinct.policy import Policy

UNKNOWN = -2
"""The value set of people in a release that shows the values, but with more by which rows could be linked."""


@dataclass(frozen=True, slots=True)
class EarlierValueSets:
    """The value set of each cell in each release, for one sensitive column."""

    numbers: IntArray
    """(cells, releases) a number for the values of the cell's group; ABSENT where the release tells nothing of them."""
    is_even: BoolArray
    """(cells, releases) whether each value is equally frequent in the cell's group."""
    values: list[frozenset[str]]
    """The values of each set."""

    @classmethod
    def of(cls, histories: Histories, groups: IntArray, policies: Sequence[Policy], column: str) -> EarlierValueSets:
        """Look up the values of all groups; ``groups`` has the group of each cell in each release."""
        numbers, is_even = np.full(groups.shape, ABSENT), np.ones(groups.shape, np.bool_)
        known: dict[str, int] = {}
        for release, policy in enumerate(policies):
            is_present = groups[:, release] != ABSENT
            if not shows(policy, column):
                continue
            if others_shown(policy, column):
                numbers[is_present, release] = UNKNOWN
                continue
            texts, even = histories.signatures(release, column)
            number_of = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
            numbers[is_present, release] = number_of[groups[is_present, release]]
            is_even[is_present, release] = even[groups[is_present, release]]
        return cls(numbers, is_even, [frozenset(json.loads(text)) for text in known])

    def failing(self, release: int, m: int) -> BoolArray:
        """Return for which cells of a release the value set is too small, uneven, or another one elsewhere."""
        own = self.numbers[:, release]
        is_large = np.array([len(values) >= m for values in self.values] + [False])  # the last is for those without
        is_same = (self.numbers == own[:, None]) | (self.numbers == ABSENT)
        holds = is_same.all(axis=1) & self.is_even.all(axis=1) & is_large[np.maximum(own, -1)]
        fails: BoolArray = ~holds & (own != ABSENT)
        return fails

    def values_left(self, is_asked: BoolArray) -> int:
        """Return the fewest values that are possible for somebody in these cells, by all releases that show them."""
        fewest = len(frozenset().union(*self.values))
        for row in np.unique(self.numbers[is_asked], axis=0).tolist():
            if UNKNOWN in row:
                return 1
            known = [self.values[number] for number in row if number != ABSENT]
            fewest = min(fewest, len(frozenset.intersection(*known)))
        return fewest
