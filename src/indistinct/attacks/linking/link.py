"""Linking: which people of another table, such as a voter list, fit the rows of a release.

Somebody who has both tables joins them on the columns that they share. A label fits every value that it generalizes,
so this is no join of equal cells: each released row fits some people, and each of the people fits some rows. Who fits
one row that fits nobody else is found.

Source: Samarati 2001, section 1 and Figure 1; Sweeney, k-anonymity: a model for protecting
privacy, 2002, section 1, Example 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.attack import EXTERNAL, Attack, OtherTable, most_option, option
from indistinct.attacks.joint_rows import TREE, rows_of_people, with_some_cell
from indistinct.attacks.linking.link_report import FittingPerson, Label, LinkedColumn, LinkedGroup, LinkReport
from indistinct.attacks.linking.units import KnownPeople, LinkedUnits
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import linked_as_declared
from indistinct.engine import Encoded, Rows
from indistinct.errors import PolicyError, TableError
from indistinct.linkage import (
    Candidates,
    Coverage,
    column_pairs,
    count_candidates,
    hierarchy_of,
    members_of,
    use_people,
)
from indistinct.policy import PSEUDONYM, Person, Policy
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, TWO_TABLES, Form
from indistinct.showing.words import counted

MOST_PERSONS = 5
"""The people who are named for each of the worst groups."""
TOGETHER = (
    "pseudonyms are counted in place of rows: all rows of one are linked together, and somebody fits it if each of "
    "them fits what is known of her; whether she has as many rows was not compared"
)
PERSONS = "people of the other table may have several rows there; each is counted once"


def read_pairs(typed: Iterable[str]) -> dict[str, str]:
    """Return columns that belong together, as they are typed.

    >>> read_pairs(["ZIP", "DateOfBirth=DOB"])
    {'ZIP': 'ZIP', 'DateOfBirth': 'DOB'}
    """
    split = [text.partition("=") for text in typed]
    return {ours: theirs or ours for ours, _, theirs in split}


def pairs_option(help: str) -> Any:
    """Return the field that says which columns of both tables belong together."""
    return option(None, help, metavar="COLUMN[=COLUMN]", is_several=True, read=read_pairs)


def join_option() -> Any:
    """Return the field that names further tables of people."""
    return option(
        (),
        "A further table of the same people, joined by the columns that both have.",
        metavar="TABLE",
        is_several=True,
    )


def people_tables(external: Any, join: Sequence[Any]) -> Any:
    """Return one external table, or all of several."""
    if not join:
        return external
    return [*(external if isinstance(external, list | tuple) else [external]), *join]


@dataclass(frozen=True, slots=True)
class Link(Attack):
    """Link a release with another table, and show who is found.

    Labels fit the values that they generalize; days, numbers and texts may be written differently.
    """

    name: ClassVar[str] = "link"
    title: ClassVar[str] = "Linking with another table"
    meaning: ClassVar[str] = "somebody who has that table finds rows of people whom it names"
    held: ClassVar[tuple[str, ...]] = (
        "the release",
        "a table that names people, such as a voter list",
        "the policy's hierarchies",
    )
    asks: ClassVar[tuple[OtherTable, ...]] = (EXTERNAL,)
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES, LINKED_TABLES)

    on: Mapping[str, str] | Iterable[str] | None = pairs_option(
        "A column to link by; after = its name in the other table. Else all quasi columns of the same name."
    )
    show: Sequence[str] = option((), "A column of the other table to show.", metavar="COLUMN", is_several=True)
    fuzzy: float | None = option(
        None, "Also link texts that are as similar as this, such as 0.85.", float, least=0, largest=1
    )
    most: int = most_option("How many of the worst groups to show; all are counted.")
    join: Sequence[Any] = join_option()

    def __post_init__(self) -> None:
        if self.fuzzy is not None and not 0 < self.fuzzy <= 1:
            raise PolicyError(f"fuzzy: must be a similarity above 0 and at most 1, got {self.fuzzy!r}")

    def attack(self, target: Target) -> LinkReport:
        """Count who fits whom, and describe the groups that tell most."""
        policy = target.policy
        with (
            rows_of_people(target) as released,
            use_people(people_tables(target.external, self.join), **target.reading) as other,
            ExitStack() as opened,
        ):
            pairs = column_pairs(self.on, released.columns(), other.columns(), policy)
            _refuse_unknown(self.show, other)
            if not other.count():
                raise TableError("the other table has no rows: it names nobody to link the release with")
            read = opened.enter_context(linked_as_declared(other, pairs, policy))
            is_linked = policy.links_rows and PSEUDONYM in released.columns()
            mine = [*pairs, *([PSEUDONYM] if is_linked else [])]
            person = _person_columns(policy, pairs, other)
            theirs = [*pairs.values(), *person]
            with released.encode(mine) as encoded, read.encode(theirs) as known:
                labels, rows = encoded.values, encoded.count_by(mine)
                rows = with_some_cell(rows, labels, list(pairs)) if TREE in released.columns() else rows
                values, people = known.values, KnownPeople.of(known.count_by(theirs), known.values, person)
                coverages = [
                    Coverage.of(hierarchy_of(policy, name), labels[name], values[own], self.fuzzy)
                    for name, own in pairs.items()
                ]
                units = LinkedUnits.of_pseudonyms(rows) if is_linked else LinkedUnits.of_rows(rows)
                counts = _LinkCounts(pairs, labels, units, people, coverages, people.count(units, coverages))
                worst = counts.worst(known, self.show, self.most)
        notes = [TOGETHER] if is_linked else people_notes(policy)
        notes += [PERSONS] if person else []
        return counts.report(worst, not target.form.generalizes, notes, "pseudonym" if is_linked else "row")


def link(
    release: Any,
    external: Any,
    policy: OnePolicy,
    *,
    on: Mapping[str, str] | Iterable[str] | None = None,
    show: Sequence[str] = (),
    fuzzy: float | None = None,
    most: int = 20,
    **reading: Any,
) -> LinkReport:
    return Link(on, show, fuzzy, most).attack(Link.target_of(release, policy, external=external, **reading))


@dataclass(frozen=True, slots=True)
class _LinkCounts:
    """What was counted, to be summed up in a report."""

    pairs: Mapping[str, str]
    labels: Mapping[str, Sequence[Label]]
    units: LinkedUnits
    people: KnownPeople
    coverages: Sequence[Coverage]
    found: Candidates

    def worst(self, known: Encoded, show: Sequence[str], most: int) -> tuple[LinkedGroup, ...]:
        """Describe the groups that tell most: fewest people and rows, and people who fit fewest other rows."""
        found = self.found
        groups, covering = self.units.as_groups(self.coverages)
        tuples = self.people.tuples
        fitting = found.rows if self.people.persons is None else count_candidates(groups, tuples, covering).rows
        rows_of_one = found.rows[np.maximum(found.one, 0)]
        order = np.lexsort((rows_of_one, found.people, np.maximum(found.people, found.sizes)))
        chosen = order[found.people[order] > 0][: max(0, most)].tolist()
        made = []
        for group in chosen:
            members = members_of([int(codes[group]) for codes in groups.codes], tuples, covering)
            first = members[np.lexsort((members, fitting[members]))][:MOST_PERSONS]
            labels = {
                name: self.units.labels(group, column, self.labels[name]) for column, name in enumerate(self.pairs)
            }
            made.append(
                LinkedGroup(
                    labels,
                    int(found.sizes[group]),
                    int(found.people[group]),
                    self._persons(known, first, show, fitting),
                )
            )
        return tuple(made)

    def _persons(
        self, known: Encoded, tuples: NDArray[np.int64], show: Sequence[str], fitting: NDArray[np.int64]
    ) -> tuple[FittingPerson, ...]:
        """Look up the rows of some tuples in the other table."""
        wanted = {
            name: [int(code) for code in codes[tuples]]
            for name, codes in zip(self.pairs.values(), self.people.tuples.codes, strict=True)
        }
        rows = known.rows_like(wanted, show, MOST_PERSONS).to_pylist()
        return tuple(
            FittingPerson(
                row["number"],
                int(fitting[tuples[row["tuple"]]]),
                {name: row[f"s{position}"] for position, name in enumerate(show)},
            )
            for row in rows[:MOST_PERSONS]
        )

    def report(
        self, worst: tuple[LinkedGroup, ...], is_apart: bool, notes: Sequence[str], unit: Literal["row", "pseudonym"]
    ) -> LinkReport:
        """Sum up."""
        found = self.found
        fits = found.people > 0
        is_one_to_one = (found.sizes == 1) & (found.people == 1) & (found.rows[np.maximum(found.one, 0)] == 1)
        linked = found.rows > 0
        people = int(found.persons[linked].sum())
        risk = float((found.persons[linked] / found.rows[linked]).sum()) / max(1, people)
        return LinkReport(
            rows=int(found.sizes.sum()),
            groups=len(found.sizes),
            people=int(found.persons.sum()),
            columns=tuple(
                LinkedColumn(name, theirs, own.kind, own.values, own.respelled, own.fuzzy, own.strangers)
                for (name, theirs), own in zip(self.pairs.items(), (one.spelled for one in self.coverages), strict=True)
            ),
            people_of_rows=_distribution(found.people, found.sizes),
            rows_of_people=_distribution(found.rows, found.persons),
            one_to_one=int(is_one_to_one.sum()),
            expected_matches=float((found.sizes[fits] / np.maximum(found.people, found.sizes)[fits]).sum()),
            average_risk=risk,
            worst=worst,
            notes=(*notes, *self._notes(is_apart)),
            unit=unit,
        )

    def _notes(self, is_apart: bool) -> list[str]:
        notes = []
        if is_apart:
            notes.append(
                "this is a release of two tables: who is linked to a row is linked to its class, and one of the "
                "sensitive values of the class is theirs"
            )
        for (name, _), coverage in zip(self.pairs.items(), self.coverages, strict=True):
            spelled = coverage.spelled
            if spelled.strangers:
                notes.append(
                    f"{name}: {counted(spelled.strangers, 'value', 'values')} of the other table "
                    f"{'is' if spelled.strangers == 1 else 'are'} none of this column's; "
                    f"{'it fits' if spelled.strangers == 1 else 'they fit'} only labels that cover everything"
                )
            if spelled.has_missing:
                notes.append(f"{name}: people without a value in the other table fit every label")
        return notes


def _person_columns(policy: Policy, pairs: Mapping[str, str], other: Rows) -> tuple[str, ...]:
    """Return the columns of the other table that say whose row it is, if it has them all and links by none of them."""
    names = policy.person.columns if isinstance(policy.person, Person) else ()
    is_told = all(name in other.columns() and name not in pairs.values() for name in names)
    return names if is_told else ()


def _refuse_unknown(show: Sequence[str], other: Rows) -> None:
    mistakes = [f"show: the other table has no column {name!r}" for name in show if name not in other.columns()]
    if mistakes:
        raise PolicyError(mistakes)


def _distribution(numbers: NDArray[np.int64], weights: NDArray[np.int64]) -> dict[int, int]:
    """Return how much weight each number has, in the order of the numbers."""
    found, where = np.unique(numbers, return_inverse=True)
    sums = np.bincount(where.ravel(), weights, len(found)).astype(np.int64)
    return dict(zip(found.tolist(), sums.tolist(), strict=True))
