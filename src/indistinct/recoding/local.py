"""Local recodings: rows go to groups, and each group has its own label in every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList, Node
from indistinct.engine.plans import LocalPlan
from indistinct.policy import Policy
from indistinct.policy.algorithms import LabelKind
from indistinct.recoding.group_labels import lack_labels, lowest_labels
from indistinct.recoding.recoding import SUPPRESSED, TOLD, GroupedRecoding, Labels, Pieces, Recoding, distinct
from indistinct.recoding.saved import SavedRecoding


@dataclass(frozen=True, slots=True, eq=False)
class LocalRecoding(GroupedRecoding):
    """Rows go to groups, and each group has its own label in every column.

    ``codes[column, group]`` is the place of a group's label in ``labels[column]``. No two groups carry the same labels.
    """

    takes_bound: ClassVar[bool] = True

    labels: tuple[Labels, ...]
    codes: IntArray

    @classmethod
    def of_pieces(cls, frequencies: FrequencyList, pieces: Pieces, kind: LabelKind = "hierarchy") -> LocalRecoding:
        """Return every group the lowest labels that cover its rows."""
        pieces, numbers = pieces.number_groups()
        is_released = pieces.is_released
        tuples, group_of = pieces.tuples[is_released], pieces.groups[is_released]
        found = [
            lowest_labels(frequencies, column, tuples, group_of, len(numbers), kind)
            for column in range(len(frequencies.columns))
        ]
        codes = np.stack([codes for _, codes in found])
        return cls.of_labels(frequencies, pieces, tuple(labels for labels, _ in found), codes)

    @classmethod
    def of_labels(
        cls, frequencies: FrequencyList, pieces: Pieces, labels: tuple[Labels, ...], codes: IntArray
    ) -> LocalRecoding:
        """Return every group the labels that are said for it; groups that carry the same ones become one."""
        if codes.shape[1]:
            chosen, merged = distinct(*codes)
            codes = codes[:, chosen]
            groups = np.where(pieces.groups == SUPPRESSED, SUPPRESSED, merged[np.maximum(pieces.groups, 0)])
            pieces = Pieces(pieces.tuples, pieces.rows, groups)
        return cls(frequencies, pieces, pieces.sizes(codes.shape[1]), labels, codes)

    def with_gap(self, gap: float) -> LocalRecoding:
        """The same recoding, of which so much is known about the optimum: with no gap it is proven."""
        return replace(self, is_proven=gap <= 0.0, gap=gap)

    def with_promise_of(self, other: Recoding) -> LocalRecoding:
        """The same recoding, of which as much is promised as of another one."""
        return replace(
            self, is_proven=other.is_proven, gap=other.gap, is_cut_short=other.is_cut_short, is_safe=other.is_safe
        )

    @property
    def local(self) -> LocalRecoding:
        """Each group carries labels of its own."""
        return self

    @property
    def levels(self) -> None:
        """A local recoding has no single level per column."""
        return None

    @property
    def node(self) -> Node:
        """The highest level of each column's released cells."""
        return tuple(
            int(labels.levels[np.unique(codes)].max(initial=0))
            for labels, codes in zip(self.labels, self.codes, strict=True)
        )

    @property
    def mean_levels(self) -> tuple[float, ...]:
        """The average level of each column's released cells."""
        rows = max(1, self.released_rows)
        return tuple(
            float(self.sizes @ labels.levels[codes]) / rows
            for labels, codes in zip(self.labels, self.codes, strict=True)
        )

    def over_released(self, values: Sequence[FloatArray]) -> float:
        """Sum a number per column and label over all released cells."""
        return sum(float(self.sizes @ value[codes]) for value, codes in zip(values, self.codes, strict=True))

    def looks_suppressed(self) -> bool:
        """Return whether a group carries no label at all."""
        return bool(lack_labels([labels.texts for labels in self.labels], list(self.codes)).any())

    def without_groups(self, is_left_out: BoolArray) -> LocalRecoding:
        """Return the same recoding with some more groups suppressed, which is no longer proven to be the best."""
        pieces, numbers = self.pieces.without_groups(is_left_out).number_groups()
        rest = self.of_labels(self.frequencies, pieces, self.labels, self.codes[:, numbers]).with_promise_of(self)
        return replace(rest, is_proven=None if self.is_proven is None else False, gap=None)

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> LocalPlan:
        """Put the recoding in the engine's terms: the pieces, and the labels of each group."""
        frequencies, pieces = self.frequencies, self.pieces
        names = frequencies.columns
        tuples = {name: frequencies.entry_codes(column)[pieces.tuples] for column, name in enumerate(names)}
        kept = [name for name, labels in zip(names, self.labels, strict=True) if not labels.levels.any()]
        return LocalPlan(
            columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
            tuples=tuples | {name: codes[pieces.tuples] for name, codes in frequencies.entries.codes.items()},
            rows=pieces.rows,
            groups=pieces.groups,
            labels={name: self.labels[column].texts for column, name in enumerate(names)},
            codes={name: self.codes[column] for column, name in enumerate(names)},
            kept=frozenset(kept),
            blank=policy.suppressed_rows == "blank",
        )

    def as_saved(self) -> SavedRecoding:
        """Return the labels of each released group."""
        texts = [labels.texts for labels in self.labels]
        return SavedRecoding.of_groups(self._digests(), texts, self.codes.tolist())

    @property
    def average_levels(self) -> dict[str, float]:
        """The average level of each column."""
        return {name: float(level) for name, level in zip(self.frequencies.columns, self.mean_levels, strict=True)}

    def _seen_without(self, position: int | None, plain: FrequencyList, pieces: Pieces) -> LocalRecoding:
        """Return the groups with the labels that are left; those that now carry the same ones become one.

        Without a sensitive column every cell carries what it carried, so what was said of the loss stays true.
        """
        others = [other for other in range(len(self.labels)) if other != position]
        labels = tuple(self.labels[other] for other in others)
        found = self.of_labels(plain, pieces, labels, self.codes[others]).with_promise_of(self)
        return found if position is not None else replace(found, bound=self.bound, gap=self.gap)


@dataclass(frozen=True, slots=True, eq=False)
class RaisedRecoding(LocalRecoding):
    """A local recoding of which nobody may learn which labels were raised.

    So it says nothing of its own quality but what the released cells say anyway: not how far it is from the best, no
    measure that compares with the values below the labels, and not that time was up, which it never is for a table
    that is left as it is.
    """

    takes_bound: ClassVar[bool] = False

    def tells_measure(self, name: str) -> bool:
        """Only what follows from the released cells is told."""
        return name in TOLD

    @property
    def states_cut_short(self) -> bool:
        """A release says nothing of whether a time limit ended the algorithm."""
        return False
