"""Private values: what nobody may learn of a person for sure enough who knows some of her events.

Of the people who fit what is known, no value may be had by more than its share: (h, k, p)-coherence. Each person counts
for a value that any of her rows has, released or not, so that dropping events changes no count.

Values of the table of people, of which everybody has one, may be asked for more: that the people who fit have several,
or that theirs are spread like those of all who are released. Models say so, of groups that may overlap.

Source: Xu, Wang, Fu and Yu 2008, Definition 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList, Groups, Tally
from indistinct.counting.frequency_list import Sensitive
from indistinct.policy import Policy, sensitive_columns
from indistinct.policy.knows import OF_PEOPLE
from indistinct.privacy.model import PrivacyModel

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ValuesOfPeople:
    """A sensitive column of the table of people, and what a model asks of it."""

    model: PrivacyModel
    name: str
    column: Sensitive
    codes: IntArray
    """(people,): the value of each, below 0 of whom no row is there."""
    totals: IntArray
    """The people who are released with each value."""

    def fails(self, sets: IntArray, persons: IntArray, number: int) -> BoolArray:
        """Return which of so many sets the model refuses; of those whose people have no value it asks nothing."""
        codes = self.codes[persons]
        own, codes = sets[codes >= 0], codes[codes >= 0]
        texts, hierarchy = self.column.values, self.column.hierarchy
        tally = Tally.of(own, codes, np.ones(len(own), np.int64), texts, hierarchy, self.totals)
        groups = Groups.of_sizes(np.bincount(own, minlength=number), {self.name: tally})
        found: BoolArray = ~self.model.satisfied(groups)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PrivateValues:
    """The private values of each person, in the order of people, and the largest share of each value."""

    starts: IntArray
    """(people + 1,): where the values of each person begin."""
    values: IntArray
    limits: FloatArray
    of_people: Sequence[ValuesOfPeople]

    @classmethod
    def of(cls, frequencies: FrequencyList, policy: Policy) -> PrivateValues | None:
        """Take the sensitive columns that models ask about; None if there are none."""
        persons = frequencies.entries.persons
        assert persons is not None  # rows of several tables are somebody's
        pairs, limits, of_people = [], [], []
        first = 0
        for name, column in frequencies.sensitive.items():
            most = np.ones(len(column.values))
            for model in policy.privacy:
                rule = model.value_rule(column.values) if name in sensitive_columns(model, policy) else None
                if rule is not None and rule.limits is not None:
                    most = np.minimum(most, rule.limits)
            codes = frequencies.entries.codes[name]
            for model in policy.privacy:
                if model.name in OF_PEOPLE and name in sensitive_columns(model, policy):
                    own = np.full(int(persons.max(initial=-1)) + 1, -1)
                    own[persons[codes >= 0]] = codes[codes >= 0]
                    totals = np.bincount(own[own >= 0], minlength=len(most)).astype(np.int64)
                    of_people.append(ValuesOfPeople(model, name, column, own, totals))
            there = np.flatnonzero(codes >= 0)
            there = there[most[codes[there]] < 1]
            pairs.append(np.stack([persons[there], codes[there] + first]))
            limits.append(most)
            first += len(most)
        if not pairs:
            return None
        owners, values = np.unique(np.concatenate(pairs, axis=1), axis=1)
        starts = np.searchsorted(owners, np.arange(int(persons.max(initial=-1)) + 2))
        return cls(starts, values, np.concatenate(limits), of_people)

    def among(self, is_released: BoolArray) -> PrivateValues:
        """Return the same where these people are released."""
        found = []
        for one in self.of_people:
            codes = one.codes[is_released & (one.codes >= 0)]
            totals = np.bincount(codes, minlength=len(one.totals)).astype(np.int64)
            found.append(replace(one, totals=totals))
        return replace(self, of_people=found)

    def too_sure(self, sets: IntArray, persons: IntArray) -> BoolArray:
        """Return of which sets a value is had by more than its share of the people who have the set, or models fail.

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
        for one in self.of_people:
            found |= one.fails(sets, persons, number)
        return found
