"""Unsorted matching: whether the order of a release tells where its rows come from.

Somebody who holds an earlier release of the same source lays the two tables side by side, row by row. If both kept the
order of the source, the rows at one position are the same person's, and their labels together say more than either. So
released rows stand in random order; this attack finds out whether they do.

Source: Sweeney, k-anonymity: a model for protecting privacy, 2002, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.attacks.attack import Attack, OtherTable, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.complementary import JoinedReleases, ReleaseEntries, all_consistent_pairs, rows_in_order
from indistinct.attacks.labels import DISJOINT
from indistinct.attacks.order.row_order import (
    Agreement,
    Chance,
    agreement_by_position,
    correlation_with_position,
    likeness_of_neighbours,
)
from indistinct.attacks.target import OnePolicy, Target
from indistinct.counting import IntArray
from indistinct.errors import PolicyError
from indistinct.hierarchy import read_number
from indistinct.linkage import TupleNumbers, distinct_tuples, number_tuples
from indistinct.showing.words import counted

ADVICE = (
    "put the released rows in a fresh random order before anybody gets them; anonymize always does",
    "never release a table in the order of its source, sorted by a column, or in the order of an earlier release",
)

SCOPE = (
    "Order is judged by three kinds of statistics. An order that carries something in another way, such as "
    "every second row, is not seen."
)


NAMES = ("the earlier table", "the release")


@dataclass(frozen=True, slots=True)
class Signal:
    """One way in which an order can tell something."""

    name: str
    what: str
    """What was found, in English."""
    found: float
    expected: float
    """What random order gives on average."""
    chance: float
    """The chance that random order gives at least what was found."""
    is_telling: bool


@dataclass(frozen=True, slots=True)
class UnsortedReport(AttackReport):
    """What the order of a release tells: counts and chances, and no cell."""

    attack: ClassVar[str] = "unsorted"
    also: ClassVar[tuple[str, ...]] = ("is_telling",)
    usual_advice: ClassVar[tuple[str, ...]] = ADVICE
    scope: ClassVar[str] = SCOPE

    k: int
    rows: int
    earlier_rows: int
    columns: tuple[str, ...]
    """The columns by which rows at one position are compared."""
    agreeing: int
    """Positions at which the rows of both tables can be the same person's."""
    expected: float
    """Such positions in random order, on average."""
    disclosed: int
    """Rows that fewer than k others share what position tells about them; 0 if position tells nothing."""
    signals: tuple[Signal, ...]
    significance: float
    notes: tuple[str, ...]

    @property
    def is_telling(self) -> bool:
        """The order tells something."""
        return any(signal.is_telling for signal in self.signals)

    @property
    def severity(self) -> Severity:
        """Broken if position discloses rows."""
        return "broken" if self.disclosed else "something" if self.is_telling else "nothing"

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.is_telling:
            return "the order of the rows tells nothing that random order would not"
        told = "; ".join(signal.what for signal in self.signals if signal.is_telling)
        return f"the order of the rows tells something: {told}; {counted(self.disclosed, 'row')} disclosed by position"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many positions agree, and how many do in random order."""
        return {
            "rows": self.rows,
            "positions that agree": self.agreeing,
            "positions that agree in random order": round(self.expected, 1),
            "rows disclosed": self.disclosed,
        }

    @property
    def sentences(self) -> list[str]:
        """What the order tells."""
        return [f"{one.what}, by chance {_seldom(one.chance)}" for one in self.signals if one.is_telling]

    def tables(self) -> list[ReportTable]:
        """Return what order could tell, against random order."""
        title = f"Order of {counted(self.rows, 'row')} against {counted(self.earlier_rows, 'earlier row')}"
        heads = ("what the order could tell", "found", "in random order", "chance")
        return [ReportTable(title, heads, [(one.name, one.found, one.expected, one.chance) for one in self.signals])]


@dataclass(frozen=True, slots=True)
class Unsorted(Attack):
    """Lay a release beside an earlier one, row by row, and show whether its order says anything."""

    name: ClassVar[str] = "unsorted"
    title: ClassVar[str] = "Reading the order of the rows"
    meaning: ClassVar[str] = "the place of a row tells whose it is"
    held: ClassVar[tuple[str, ...]] = (
        "the release in the order in which it is handed out",
        "the other table in its order",
    )
    asks: ClassVar[tuple[OtherTable, ...]] = (
        OtherTable(
            "earlier",
            "EARLIER",
            "An earlier release, or the private table.",
            "neither the original nor an earlier release was given",
        ),
    )

    k: int | None = option(None, "How many rows a crowd needs. Else the policy's k.", int, least=1)
    significance: float = option(0.01, "How seldom chance may be taken for order.", float)

    def __post_init__(self) -> None:
        if not 0 < self.significance < 1:
            raise PolicyError(f"significance: must lie between 0 and 1, got {self.significance!r}")

    @classmethod
    def why_not(cls, target: Target) -> str | None:
        """Say why it does not apply: the original may stand in the place of an earlier release."""
        own = {} if target.original is None else {"the original": target.original}
        return super(Unsorted, cls).why_not(replace(target, earlier={**target.earlier, **own}))

    def targets(self, target: Target) -> Iterator[tuple[str | None, Target]]:
        """Return the release beside each earlier one, and beside the original."""
        others = list(zip(target.earlier.items(), target.earlier_policies, strict=True))
        if target.original is not None:
            others.append((("the original", target.original), target.policy))
        for (name, table), policy in others:
            yield name, replace(target, earlier={name: table}, earlier_policies=(policy,), original=None)

    def attack(self, target: Target) -> UnsortedReport:
        """Hold the order of the rows against random order."""
        return _Positions.read(target).attack(self.k, self.significance)


def unsorted(
    release: Any,
    earlier: Any,
    policy: OnePolicy,
    *,
    earlier_policy: OnePolicy | None = None,
    k: int | None = None,
    significance: float = 0.01,
    **reading: Any,
) -> UnsortedReport:
    """Compare a release with an earlier one, or the original, row by row, and tell whether its order says anything.

    Rows at one position agree if their labels can stand for the same value in every quasi column and all other columns
    that both tables have are equal. That is held against random order, as are the likeness of neighbouring rows in
    each column and the correlation of positions with where rows seem to come from. An order is telling if chance gives
    as much in less than a share ``significance`` of all tables, in any of these ways. ``earlier_policy`` is the policy
    of the earlier release if it had another. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy(columns={"age": quasi(intervals(10))}, privacy=[KAnonymity(2)])
    >>> ages = [32, 57, 31, 46, 58, 72, 44, 75]
    >>> private = pa.table({"age": [str(age) for age in ages]})
    >>> released = pa.table({"age": [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in ages]})
    >>> report = unsorted(released, private, policy)
    >>> report.agreeing, report.expected, report.disclosed
    (8, 2.0, 8)
    """
    attack = Unsorted(k, significance)
    both = {"earlier": {NAMES[0]: earlier}, "earlier_policies": earlier_policy}
    return attack.attack(Unsorted.target_of(release, policy, **both, **reading))


@dataclass(frozen=True, slots=True)
class _Positions:
    """The rows of an earlier table and of a release, in their order."""

    joined: JoinedReleases
    """Both tables, with an entry for each row; the earlier one comes first."""
    ranks: dict[str, IntArray]
    """For each column of the release the rank of each row's cell."""

    @classmethod
    def read(cls, target: Target) -> _Positions:
        """Read a release and the one earlier table of a target, row by row."""
        tables = dict(zip(NAMES, (*target.earlier.values(), target.release), strict=True))
        policies = [*target.earlier_policies, target.policy]
        joined = JoinedReleases.read(tables, policies, None, row_by_row=True, **target.reading)
        with target.release.only_rows() as rows:
            names = rows.columns()
            values, codes = rows_in_order(rows, names)
        ranks = {name: _by_size(values[name])[own] for name, own in zip(names, codes, strict=True)}
        return cls(joined, ranks)

    def attack(self, k: int | None, significance: float) -> UnsortedReport:
        """Hold the order against random order."""
        earlier, release = self.joined.entries
        kinds = [self._kinds(entries) for entries in self.joined.entries]
        theirs, ours = (one.number for one in kinds)
        agreement = self._agreement(kinds)
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

    def _kinds(self, entries: ReleaseEntries) -> TupleNumbers:
        """Number the rows of a table by how they look."""
        return distinct_tuples([entries.values, *entries.labels.T], len(entries.values))

    def _agreement(self, kinds: Sequence[TupleNumbers]) -> Agreement:
        """Find the kinds of rows of the release (left) and of the earlier table (right) that agree."""
        earlier, release = (
            ReleaseEntries(entries.labels[one.first], entries.values[one.first], np.bincount(one.number))
            for entries, one in zip(self.joined.entries, kinds, strict=True)
        )
        pairs = all_consistent_pairs(release, earlier, self.joined.vocabularies)
        assert pairs is not None  # there is no most
        return Agreement(*pairs, release.counts, earlier.counts)

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
            met[:, column] = vocabulary.meets(earlier.labels[:both, column], release.labels[:both, column])
            agrees &= met[:, column] != DISJOINT
        tuples = number_tuples(list(met[agrees].T), int(agrees.sum()))
        narrower = (met[agrees] != release.labels[:both][agrees]).any(axis=1)
        sizes = np.bincount(tuples)
        return int((narrower & (sizes[tuples] < k)).sum()) if len(tuples) else 0


def _by_size(values: Sequence[str | None]) -> IntArray:
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


def _seldom(chance: float) -> str:
    """Say how seldom something comes by chance.

    >>> _seldom(0.002), _seldom(1e-20)
    ('once in 500 tables', 'less than once in a million tables')
    """
    return f"once in {1 / chance:,.0f} tables" if chance >= 1e-6 else "less than once in a million tables"
