"""Positions: two tables laid side by side, row by row, and what their order tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.attacks.complementary.chains import Entries, IntArray, consistent_pairs, number_combinations
from indistinct.attacks.complementary.joined_releases import JoinedReleases, rows_in_order
from indistinct.attacks.labels.meanings import DISJOINT
from indistinct.attacks.order.row_order import (
    Agreement,
    Chance,
    FloatArray,
    agreement_by_position,
    correlation_with_position,
    likeness_of_neighbours,
)
from indistinct.attacks.order.unsorted_report import Signal, UnsortedReport
from indistinct.hierarchy import read_number
from indistinct.policy import Policy
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

NAMES = ("the earlier table", "the release")


@dataclass(frozen=True, slots=True)
class Positions:
    """The rows of an earlier table and of a release, in their order."""

    joined: JoinedReleases
    """Both tables, with an entry for each row; the earlier one comes first."""
    ranks: dict[str, IntArray]
    """For each column of the release the rank of each row's cell."""

    @classmethod
    def read(cls, release: Any, earlier: Any, policy: Policy, earlier_policy: Policy, **reading: Any) -> Positions:
        """Read both tables row by row."""
        tables = dict(zip(NAMES, (earlier, release), strict=True))
        joined = JoinedReleases.read(tables, [earlier_policy, policy], None, row_by_row=True, **reading)
        with ReleasedTables.of(release, policy, **reading).only_rows() as rows:
            names = rows.columns()
            values, codes = rows_in_order(rows, names)
        ranks = {name: _by_size(values[name])[own] for name, own in zip(names, codes, strict=True)}
        return cls(joined, ranks)

    def attack(self, k: int | None, significance: float) -> UnsortedReport:
        """Hold the order against random order."""
        earlier, release = self.joined.entries
        kinds, first = self._kinds()
        theirs, ours = kinds
        agreement = self._agreement(kinds, first)
        by_position = agreement_by_position(ours, theirs, agreement)
        found = {"position": by_position}
        if len(ours):
            found["source"] = correlation_with_position(self._origins(ours, theirs, agreement))
        found |= {name: likeness_of_neighbours(ranks) for name, ranks in self.ranks.items()}
        signals = [_signal(name, chance, significance / len(found)) for name, chance in found.items()]
        needed = max(self.joined.requirements(k).values())
        notes = [note for note in self.joined.notes if "linked by" not in note]
        if earlier.rows != release.rows:
            notes.append(
                f"the earlier table has {counted(earlier.rows, 'row')} and the release "
                f"{counted(release.rows, 'row')}, so positions may be shifted"
            )
        return UnsortedReport(
            k=needed,
            rows=release.rows,
            earlier_rows=earlier.rows,
            columns=(*self.joined.columns, *self.joined.on),
            agreeing=int(by_position.found),
            expected=by_position.expected,
            disclosed=self._count_disclosed(needed) if signals[0].is_telling else 0,
            signals=tuple(signals),
            significance=significance,
            notes=tuple(notes),
        )

    def _kinds(self) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        """Number the rows of each table by how they look, and give a row of each kind."""
        kinds, first = [], []
        for entries in self.joined.entries:
            numbers = number_combinations([entries.values, *entries.labels.T], len(entries.values))
            kinds.append(numbers)
            first.append(np.unique(numbers, return_index=True)[1])
        return (kinds[0], kinds[1]), (first[0], first[1])

    def _agreement(self, kinds: tuple[IntArray, IntArray], first: tuple[IntArray, IntArray]) -> Agreement:
        """Find the kinds of rows of the release (left) and of the earlier table (right) that agree."""
        earlier, release = (
            Entries(one.labels[rows], one.values[rows], np.bincount(numbers, minlength=len(rows)))
            for one, rows, numbers in zip(self.joined.entries, first, kinds, strict=True)
        )
        blocks = [vocabulary.components() for vocabulary in self.joined.vocabularies]
        lefts, rights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for left, right, _ in consistent_pairs(
            release.labels, release.values, earlier, self.joined.vocabularies, blocks
        ):
            lefts.append(left)
            rights.append(right)
        return Agreement(np.concatenate(lefts), np.concatenate(rights), release.counts, earlier.counts)

    def _origins(self, ours: IntArray, theirs: IntArray, agreement: Agreement) -> FloatArray:
        """Return for each released row the mean position of the earlier rows that it agrees with."""
        kinds = len(agreement.right_sizes)
        places = np.bincount(theirs, np.arange(len(theirs)), kinds)
        sums = np.bincount(agreement.left, places[agreement.right], len(agreement.left_sizes))
        rows = np.bincount(agreement.left, agreement.right_sizes[agreement.right], len(agreement.left_sizes))
        means = np.divide(sums, rows, out=np.full(len(rows), np.nan), where=rows > 0)
        return np.asarray(means[ours], np.float64)

    def _count_disclosed(self, k: int) -> int:
        """Count the rows of which position tells something that fewer than k share."""
        earlier, release = self.joined.entries
        both = min(earlier.rows, release.rows)
        met = np.empty((both, len(self.joined.columns)), np.int64)
        agrees = earlier.values[:both] == release.values[:both]
        for column, vocabulary in enumerate(self.joined.vocabularies):
            pairs = np.column_stack([earlier.labels[:both, column], release.labels[:both, column]])
            distinct, places = np.unique(pairs, axis=0, return_inverse=True)
            codes = np.array([vocabulary.meet(one, other) for one, other in distinct.tolist()], np.int64)
            met[:, column] = codes[places.ravel()]
            agrees &= met[:, column] != DISJOINT
        tuples = number_combinations(list(met[agrees].T), int(agrees.sum()))
        narrower = (met[agrees] != release.labels[:both][agrees]).any(axis=1)
        sizes = np.bincount(tuples)
        return int((narrower & (sizes[tuples] < k)).sum()) if len(tuples) else 0


def _by_size(values: tuple[str | None, ...]) -> IntArray:
    """Return the rank of each value: by number if all are numbers, else by text; a missing one last."""
    numbers = [None if value is None else read_number(value) for value in values]
    if any(number is None and value is not None for number, value in zip(numbers, values, strict=True)):
        return np.arange(len(values))
    order = sorted(range(len(values)), key=lambda code: (numbers[code] is None, numbers[code] or 0))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _signal(name: str, chance: Chance, significance: float) -> Signal:
    if name == "position":
        what = f"{int(chance.found):,} positions agree where random order gives {chance.expected:,.1f}"
    elif name == "source":
        what = f"positions correlate with those of the earlier rows that fit ({chance.found:+.2f})"
    else:
        what = f"neighbouring rows are alike in {name} ({chance.found:+.2f})"
    names = {"position": "position", "source": "correlation"}
    return Signal(
        names.get(name, f"neighbours in {name}"),
        what,
        chance.found,
        chance.expected,
        chance.chance,
        chance.chance < significance,
    )
