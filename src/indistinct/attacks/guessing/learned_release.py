"""LearnedRelease: what a release teaches a learner: how often each label of a known column stands beside each value.

In a release of two tables each row of the quasi table stands beside all sensitive rows of its class, with equal weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.attacks.guessing.known_cells import Cells, cells_of, count_pairs
from indistinct.attacks.guessing.label_spread import FloatArray
from indistinct.counting import IntArray
from indistinct.errors import PolicyError
from indistinct.recoding.classes import LINK
from indistinct.release.released_tables import ReleasedTables


@dataclass(frozen=True, slots=True)
class LearnedRelease:
    """The distinct rows of a release by known columns and sensitive ones; by class, if these stand apart."""

    known: Cells
    """The known columns, and the sensitive ones or the class."""
    values: Cells
    """The sensitive columns, and the class if they stand apart; else the same rows."""
    is_apart: bool

    @classmethod
    def read(cls, tables: ReleasedTables, known: Sequence[str], sensitive: Sequence[str]) -> LearnedRelease:
        """Read a release of one table or of two."""
        with tables.rows() as rows:
            quasi = rows[tables.form.first]
            apart = rows.get("sensitive", quasi)
            absent = [name for name in known if name not in quasi.columns()]
            absent += [name for name in sensitive if name not in apart.columns()]
            if absent:
                raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
            if tables.form.generalizes:
                both = cells_of(quasi, list(dict.fromkeys([*known, *sensitive])))
                return cls(both, both, is_apart=False)
            return cls(cells_of(quasi, [*known, LINK]), cells_of(apart, [*sensitive, LINK]), is_apart=True)

    def with_values(self, values: Cells) -> LearnedRelease:
        """The same release whose sensitive values have other codes."""
        return LearnedRelease(self.known if self.is_apart else values, values, self.is_apart)

    def shares(self, name: str) -> FloatArray:
        """Return the released rows of each value of a sensitive column."""
        found = np.bincount(self.values.codes[name], self.values.counts, len(self.values.texts[name]))
        return found.astype(np.float64)

    def beside(self, column: str, name: str) -> FloatArray:
        """Return (labels of a known column, values of a sensitive one): the rows that have both, or may have."""
        shape = (len(self.known.texts[column]), len(self.values.texts[name]))
        if not self.is_apart:
            return np.asarray(self.known.table(column, name), np.float64)
        (rows, entries), sizes = self.class_pairs()
        weights = self.known.counts[rows] * self.values.counts[entries] / sizes[rows]
        found = count_pairs(self.known.codes[column][rows], self.values.codes[name][entries], weights, shape)
        return np.asarray(found, np.float64)

    def class_pairs(self) -> tuple[tuple[IntArray, IntArray], FloatArray]:
        """Join both tables by class: pairs of distinct rows, and the rows that the class of each known one has."""
        place = {text: code for code, text in enumerate(self.values.texts[LINK])}
        class_of = np.array([place.get(text, -1) for text in self.known.texts[LINK]], np.int64)[self.known.codes[LINK]]
        order = np.argsort(self.values.codes[LINK], kind="stable")
        classes = self.values.codes[LINK][order]
        starts, stops = np.searchsorted(classes, class_of), np.searchsorted(classes, class_of, "right")
        lengths = stops - starts
        rows = np.repeat(np.arange(len(class_of)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        sizes = np.bincount(self.values.codes[LINK], self.values.counts, len(place) or 1)
        return (rows, order[within + np.repeat(starts, lengths)]), np.maximum(sizes[class_of], 1.0)
