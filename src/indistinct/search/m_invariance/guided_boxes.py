"""Guide: charges of rows, by which boxes are chosen for an m-invariant release, and what every one of these loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.progress import Watch
from indistinct.quality.measures import CellMeasure, within_unit
from indistinct.search.local.groups.anneal import Annealing
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance.balanced_charges import Boxes, Charging
from indistinct.search.m_invariance.choosing_boxes import Chosen, choose_boxes
from indistinct.search.m_invariance.value_buckets import Pools
from indistinct.search.m_invariance.value_sets import Names

STEPS_A_TRY, FEWEST_STEPS, MOST_STEPS = 5, 20, 200
"""Charges move so often for each try that is asked for."""
CHARGED, CHOSEN = 0.3, 0.65
"""Shares of a time limit after which charges stay, and after which no more boxes are chosen."""
FIRST_CHARGE = 0.1
"""The share of what a row costs in a known release that every row is charged at first."""
ALL_STEPS = 400
"""Where nothing but a bound is wanted charges move so often, or until time is up."""


@dataclass(frozen=True, slots=True)
class Guide:
    """Charges of the rows of a table that is to be released m-invariant."""

    frequencies: FrequencyList
    measure: CellMeasure
    whole_row: float
    charging: Charging
    scale: float
    """What a row costs on average in a known release."""

    @classmethod
    def of(
        cls, frequencies: FrequencyList, measure: CellMeasure, column: str, m: int, known: float, watch: Watch
    ) -> Guide | None:
        """List the boxes of a table, with every row charged little; ``known`` is the loss of some release.

        None if there are no boxes that can be told apart, or nothing can be lost.
        """
        whole = measure.prepare(frequencies).whole
        space = Space.of(frequencies, measure)
        scale = space.whole_row - (1.0 - known) * whole / max(1, frequencies.rows)
        if whole <= 0 or scale <= 0:
            return None
        values = frequencies.entries.codes[column].astype(np.int64)
        boxes = Boxes.of(frequencies, measure, Names(frequencies, space), values, m, watch)
        if boxes is None or not len(boxes.listed.costs):
            return None
        most = min(space.whole_row, boxes.beyond)
        charging = Charging.of(boxes, m, frequencies.entries.counts, FIRST_CHARGE * scale, most)
        return cls(frequencies, measure, space.whole_row, charging, scale)

    def raise_charges(self, steps: int, watch: Watch) -> bool:
        """Move charges so many steps towards the highest bound; tell whether there was time enough."""
        return self.charging.raise_bound(self.scale, steps, watch)

    def choose_boxes(self, pools: Sequence[Pools], watch: Watch) -> Chosen | None:
        """Choose boxes for the new people of pools; None if charges tell nothing."""
        if not len(self.charging.best_charges):
            return None
        people = pools[0].people
        rows = np.concatenate([own for one in pools for own in one.free])
        left = np.bincount(people.entries[rows], minlength=len(self.frequencies.entries))
        return choose_boxes(self.charging, left, self.scale, watch, CHOSEN)

    def least_loss(self) -> float:
        """Return a loss that no release gets below in which every combination of labels has m values equally often."""
        lost = self.charging.best
        whole = self.measure.prepare(self.frequencies).whole
        return within_unit(1.0 - (self.whole_row * self.frequencies.rows - lost) / whole)


def steps_for(annealing: Annealing) -> int:
    """Return how often charges move before boxes are chosen."""
    return min(MOST_STEPS, FEWEST_STEPS + STEPS_A_TRY * annealing.tries)


def balanced_bound(
    frequencies: FrequencyList, measure: CellMeasure, column: str, m: int, known: float, watch: Watch
) -> float:
    """Return a loss that no m-invariant release of one table gets below, however many rows it suppresses.

    In it every combination of labels has m or more values of a column, each equally often. ``known`` is the loss of a
    release, or a guess: it says only by how much charges move. 0 where labels cannot be told apart.
    """
    guide = Guide.of(frequencies, measure, column, m, known, watch)
    if guide is None:
        return 0.0
    guide.raise_charges(ALL_STEPS, watch)
    return guide.least_loss()
