"""Known totals: what suppressed and generalized cells must be, if it is known how many people have each value.

Somebody knows that there are 7 men and 5 women. A release shows 7 men, 4 women and a blank: the blank is a woman.

Source: Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from indistinct.attacks.attack import Attack, InapplicableError, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.errors import PolicyError
from indistinct.linkage import Coverage, hierarchy_of
from indistinct.showing.words import counted

Totals = Mapping[str, Mapping[str, int]]
LEFT_OUT = "rows that are not in the release"
MOST_PAIRS = 200_000
"""Of a column with more pairs of a label and a value nothing is worked out."""


def read_totals(typed: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return known totals as they are typed.

    >>> read_totals(["Gender=male:7", "Gender=female:5"])
    {'Gender': {'male': 7, 'female': 5}}
    """
    found: dict[str, dict[str, int]] = {}
    for text in typed:
        column, _, rest = text.partition("=")
        value, _, number = rest.rpartition(":")
        if not column or not value or not number.isdigit():
            raise PolicyError(f"total: {text!r} is no COLUMN=VALUE:NUMBER, such as Gender=female:5")
        found.setdefault(column, {})[value] = int(number)
    return found


@dataclass(frozen=True, slots=True)
class InferredCells:
    """Cells of one label, and what they can be."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    column: str
    label: str | None
    rows: int
    values: tuple[str, ...]
    """The values that are left."""
    of: int
    """How many values the label alone leaves."""

    @property
    def sentence(self) -> str:
        """What follows, in English."""
        what = "suppressed cell" if self.label is None else f"cell {self.label!r}"
        which = f"the {counted(self.rows, what, f'{what}s')} of {self.column}"
        if len(self.values) == 1:
            return f"{which} must be {self.values[0]!r}."
        return f"{which} can be {len(self.values)} of {self.of} values."


@dataclass(frozen=True, slots=True)
class TotalsReport(AttackReport):
    """Which cells known totals infer, or narrow."""

    attack: ClassVar[str] = "totals"
    usual_advice: ClassVar[tuple[str, ...]] = (
        "suppress whole rows, or k cells of a column at least, with different values below them",
        "use an algorithm that promises k-anonymity: the labels of a group are then shared by k rows",
    )
    scope: ClassVar[str] = "Each column is looked at by itself, as if nothing linked it with others."

    rows: int
    inferred: int
    """Cells of which only one value is left, though their label leaves several."""
    narrowed: int
    """Cells of which fewer values are left than their label says, but several."""
    findings: tuple[InferredCells, ...]
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """Broken if a cell is known."""
        return "broken" if self.inferred else "something" if self.narrowed else "nothing"

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.findings:
            return "the totals tell nothing that the release does not say"
        return f"the totals infer {counted(self.inferred, 'cell')} and narrow {self.narrowed:,} others"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many cells follow."""
        return {"rows": self.rows, "cells inferred": self.inferred, "cells narrowed": self.narrowed}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for it, in English."""
        return ("the totals are those of the people of the table, and every suppressed cell has one of the values",)

    def tables(self) -> list[ReportTable]:
        """Return the labels of which something follows."""
        rows = [(one.column, one.label or "(suppressed)", one.rows, len(one.values), one.of) for one in self.findings]
        return [ReportTable("What the totals say", ("column", "label", "cells", "values left", "of"), rows, words=2)]


@dataclass(frozen=True, slots=True)
class KnownTotals(Attack):
    """Show which suppressed or generalized cells follow from known totals, such as the numbers of men and women."""

    name: ClassVar[str] = "totals"
    title: ClassVar[str] = "Inferring cells from known totals"
    meaning: ClassVar[str] = "whoever knows how many people have each value knows what stands in a suppressed cell"
    held: ClassVar[tuple[str, ...]] = ("the release", "how many people have each value of a column")
    is_in_all: ClassVar[bool] = False

    total: Mapping[str, Mapping[str, int]] | None = option(
        None,
        "How many people have a value; all values of the column must be given.",
        metavar="COLUMN=VALUE:NUMBER",
        is_several=True,
        read=read_totals,
    )

    def attack(self, target: Target) -> TotalsReport:
        """Work out for each label of each such column which values its cells can have."""
        if not self.total:
            raise InapplicableError("total: no totals were given, such as Gender=male:7 and Gender=female:5")
        findings: list[InferredCells] = []
        with target.release.only_rows() as rows:
            names = rows.columns()
            if missing := [f"total: the release has no column {name!r}" for name in self.total if name not in names]:
                raise PolicyError(missing)
            number = rows.count()
            for name, totals in self.total.items():
                with rows.encode([name]) as encoded:
                    labels, counts = encoded.values[name], encoded.count_by([name])
                sizes = np.zeros(len(labels), np.int64)
                sizes[np.asarray(counts.codes[0], np.int64)] = counts.counts
                values = tuple(totals)
                covered = _places_covered(Coverage.of(hierarchy_of(target.policy, name), labels, values), len(values))
                left = possible_values(sizes.tolist(), covered, [totals[value] for value in values], name)
                findings += [
                    InferredCells(name, label, int(size), tuple(values[place] for place in sorted(own)), len(before))
                    for label, size, own, before in zip(labels, sizes, left, covered, strict=True)
                    if size and len(own) < len(before)
                ]
        findings.sort(key=lambda one: (len(one.values) > 1, -one.rows))
        inferred = sum(one.rows for one in findings if len(one.values) == 1)
        narrowed = sum(one.rows for one in findings) - inferred
        return TotalsReport(number, inferred, narrowed, tuple(findings), tuple(people_notes(target.policy)))


def totals(release: Any, policy: OnePolicy, known: Totals, **reading: Any) -> TotalsReport:
    """Return which cells of a release follow from the numbers of people that have each value of some columns.

    ``known`` has for each column the number of people by value, of the whole table: where these are more than the
    release has rows, the others may be any of those that were left out. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, suppress
    >>> policy = Policy(columns={"sex": quasi(suppress())}, privacy=[KAnonymity(2)])
    >>> found = totals(pa.table({"sex": ["m", "m", "f", None]}), policy, {"sex": {"m": 2, "f": 2}})
    >>> found.inferred, found.findings[0].values
    (1, ('f',))
    """
    return KnownTotals(known).attack(KnownTotals.target_of(release, policy, **reading))


def _places_covered(coverage: Coverage, values: int) -> list[set[int]]:
    """Return the places of the values that each label covers."""
    ranks = coverage.ranks.tolist()
    return [{place for place in range(values) if ranks[place] in covers} for covers in map(set, coverage.covered)]


def possible_values(
    sizes: Sequence[int], covered: Sequence[set[int]], totals: Sequence[int], name: str
) -> list[set[int]]:
    """Return the values that cells of each label can have, where so many cells in all have each value.

    A label can have a value if cells can be given to values so that every total is met and one of its cells has it.
    Given one such way, that is so if it has one already, or if moving cells in a circle gives it one.

    >>> [sorted(values) for values in possible_values([2, 1, 1], [{0}, {1}, {0, 1}], [2, 2], "sex")]
    [[0], [1], [1]]
    """
    rest = sum(totals) - sum(sizes)
    if rest < 0:
        raise PolicyError(f"total: the totals of {name} are {-rest:,} fewer than the rows of the release")
    sizes, covered = [*sizes, rest], [*covered, set(range(len(totals)))]
    if sum(map(len, covered)) > MOST_PAIRS:
        raise InapplicableError(f"total: {name} has more than {MOST_PAIRS:,} pairs of a label and a value")
    given = [dict.fromkeys(own, 0) for own in covered]
    missing = list(totals)
    for label, size in enumerate(sizes):
        while size:
            moved = _give(label, size, given, missing)
            if not moved:
                raise PolicyError(f"total: no table with the labels of this release has these totals of {name}")
            size -= moved
    found = []
    for label, size in enumerate(sizes[:-1]):
        reached = _values_reached_from(label, given)
        found.append({value for value in covered[label] if size and (given[label][value] or label in reached[value])})
    return found


def _give(start: int, size: int, given: list[dict[int, int]], missing: list[int]) -> int:
    """Give cells of a label to a value that misses some, moving cells of other labels where needed; return how many."""
    came_from: dict[int, tuple[int, int | None]] = {}
    labels, seen = [start], {start}
    through: dict[int, int | None] = {start: None}
    while labels:
        label = labels.pop()
        for value in given[label]:
            if value in came_from:
                continue
            came_from[value] = (label, through[label])
            if missing[value]:
                return _move(value, size, came_from, given, missing)
            for other, own in enumerate(given):
                if own.get(value) and other not in seen:
                    seen.add(other)
                    through[other] = value
                    labels.append(other)
    return 0


def _move(
    value: int, size: int, came_from: dict[int, tuple[int, int | None]], given: list[dict[int, int]], missing: list[int]
) -> int:
    """Move as many cells as can be along a way that was found, from its end to its start."""
    way, place = [], value
    while True:
        label, before = came_from[place]
        way.append((label, place, before))
        if before is None:
            break
        place = before
    moved = min(size, missing[value], *(given[label][before] for label, _, before in way if before is not None), size)
    missing[value] -= moved
    for label, to, before in way:
        given[label][to] += moved
        if before is not None:
            given[label][before] -= moved
    return moved


def _values_reached_from(label: int, given: list[dict[int, int]]) -> dict[int, set[int]]:
    """Return for each value that a label covers whether the label is reached from it, as a set with the label or none.

    From a value one comes to the labels that have cells of it, and from a label to all values that it covers.
    """
    holders: dict[int, list[int]] = {}
    for other, own in enumerate(given):
        for value, cells in own.items():
            if cells:
                holders.setdefault(value, []).append(other)
    found = {}
    for start in given[label]:
        seen, values, labels = {start}, [start], set()
        while values and label not in labels:
            for other in holders.get(values.pop(), ()):
                if other not in labels:
                    labels.add(other)
                    fresh = set(given[other]) - seen
                    seen |= fresh
                    values += fresh
        found[start] = labels & {label}
    return found
