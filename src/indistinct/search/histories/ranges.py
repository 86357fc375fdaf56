"""Ranges: dates and numbers of events under the narrowest range of those that have the same labels otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.hierarchy import Dates, Intervals
from indistinct.policy import Policy
from indistinct.quality import NCP
from indistinct.recoding.group_labels import lowest_labels
from indistinct.recoding.recoding import Labels
from indistinct.search.histories.people_rows import with_absent

ORDERED = (Dates, Intervals)
"""Hierarchies of values whose order means something; numbers may also be codes."""


@dataclass(frozen=True, slots=True, eq=False)
class EventRanges:
    """The labels of a column, the last one of events without the column, and which one each event has."""

    labels: Labels
    codes: IntArray
    kept: FloatArray
    """What a cell keeps under each label."""


@dataclass(frozen=True, slots=True, eq=False)
class RangedColumn:
    """A column of dates or numbers, as a list of its own."""

    own: FrequencyList
    """Its values alone, each an entry."""
    entry_of: IntArray
    """(values,): the entry of each value."""
    ranks: IntArray
    """(values,): where each stands in the order of the domain, a missing one last."""
    domain: int
    weight: float

    @classmethod
    def of(cls, frequencies: FrequencyList, position: int, policy: Policy) -> RangedColumn | None:
        """Take a column of the list of all tables; None if labels of its hierarchy alone are asked for."""
        name = frequencies.columns[position]
        column, hierarchy = policy.columns[name], frequencies.hierarchies[position]
        assert policy.knows is not None
        if hierarchy.lowest or policy.knows.labels != "ranges" or not isinstance(column.hierarchy, ORDERED):
            return None
        compiled = column.compile(hierarchy.values[:-1])  # the last one stands for no cell
        ranks = compiled.find_positions()
        if ranks is None or not compiled.height:
            return None
        codes = np.arange(len(ranks))
        counts = frequencies.value_counts(position)[:-1]
        weight = frequencies.weights[position]
        own = FrequencyList.of_codes([name], [compiled], [codes], counts, [weight])
        entry_of = np.empty(len(codes), np.int64)
        entry_of[own.entry_codes(0)] = codes
        return cls(own, entry_of, np.append(ranks, 0), compiled.domain_size, weight)

    def share_kept(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return what a cell keeps under the range between two ranks."""
        return self.weight * np.where(low == high, 1.0, 1.0 - (high - low + 1) / self.domain)

    def labels(self, values: IntArray, classes: IntArray, is_chosen: BoolArray) -> EventRanges:
        """Return the labels of chosen events, the narrowest for all of a class; others have none."""
        found = np.unique(classes, return_inverse=True)[1].ravel()
        number = int(found.max(initial=-1)) + 1
        labels, own = lowest_labels(self.own, 0, self.entry_of[values[is_chosen]], found, number, "ranges")
        kept = self.weight * NCP().kept(self.own, 0, labels)
        codes = np.full(len(values), len(labels.texts))
        codes[is_chosen] = own[found] if number else own
        return EventRanges(with_absent(labels), codes, np.append(kept, 0.0))
