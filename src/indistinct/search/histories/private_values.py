"""Private values: what nobody may learn of a person for sure enough who knows some of her events.

Of the people who fit what is known, no value may be had by more than its share: (h, k, p)-coherence. Each person counts
for a value that any of her rows has, released or not, so that dropping events changes no count.

Source: Xu, Wang, Fu and Yu 2008, Definition 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.policy import Policy, sensitive_columns

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PrivateValues:
    """The private values of each person, in the order of people, and the largest share of each value."""

    starts: IntArray
    """(people + 1,): where the values of each person begin."""
    values: IntArray
    limits: FloatArray

    @classmethod
    def of(cls, frequencies: FrequencyList, policy: Policy) -> PrivateValues | None:
        """Take the sensitive columns that models ask about; None if there are none."""
        persons = frequencies.entries.persons
        assert persons is not None  # rows of several tables are somebody's
        pairs, limits = [], []
        first = 0
        for name, column in frequencies.sensitive.items():
            most = np.ones(len(column.values))
            for model in policy.privacy:
                rule = model.value_rule(column.values) if name in sensitive_columns(model, policy) else None
                if rule is not None and rule.limits is not None:
                    most = np.minimum(most, rule.limits)
            codes = frequencies.entries.codes[name]
            there = np.flatnonzero(codes >= 0)
            there = there[most[codes[there]] < 1]
            pairs.append(np.stack([persons[there], codes[there] + first]))
            limits.append(most)
            first += len(most)
        if not pairs:
            return None
        owners, values = np.unique(np.concatenate(pairs, axis=1), axis=1)
        starts = np.searchsorted(owners, np.arange(int(persons.max(initial=-1)) + 2))
        return cls(starts, values, np.concatenate(limits))

    def too_sure(self, sets: IntArray, persons: IntArray) -> BoolArray:
        """Return of which sets a value is had by more than its share of the people who have the set.

        ``sets`` and ``persons`` say who has which, each once.
        """
        number = int(sets.max(initial=-1)) + 1
        people = np.bincount(sets, minlength=number)
        lengths = self.starts[persons + 1] - self.starts[persons]
        offsets = np.repeat(self.starts[persons] - np.append(0, np.cumsum(lengths))[:-1], lengths)
        values = self.values[np.arange(int(lengths.sum())) + offsets]
        pairs, times = np.unique(np.repeat(sets, lengths) * len(self.limits) + values, return_counts=True)
        own = pairs // len(self.limits)
        is_over = times > self.limits[pairs % len(self.limits)] * people[own] * (1 + TOLERANCE)
        found = np.zeros(number, np.bool_)
        found[own[is_over]] = True
        return found
