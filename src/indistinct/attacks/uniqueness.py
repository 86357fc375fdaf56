"""Uniqueness: how many rows, and people, stand alone by the released cells, and by the worst column left unprotected.

A model speaks of the quasi columns alone. Whoever knows a cell of another column that is released as it is finds the
row by that, whatever group it stands in.

Source: Samarati and Sweeney 1998, section 1, of combinations that are unique; here of what leaves unprotected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from indistinct.attacks.attack import Attack, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.joint_rows import rows_of_each_table
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.engine import Rows
from indistinct.errors import PolicyError
from indistinct.policy import PSEUDONYM
from indistinct.policy.stated_policy import stated_policy
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, TWO_TABLES, Form
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

ADVICE = (
    'if others may know it, make it quasi, so that it is generalized: {column} = {{ role = "quasi" }}',
    'or leave it out: {column} = {{ role = "drop" }}',
    "or recode it: recode = {{ rounding = 1000 }}, or noise, in its entry",
    "if nobody can know it, and you accept that, raise max_unique in the policy",
)
TOGETHER = (
    "nothing, if nobody can know several secrets of a person; else recode columns that leave as they are, or drop some"
)
"""What to do where rows stand alone by several columns together, and by none alone."""
SCOPE = (
    "Counted are rows and people that no other equals in the released cells. Not counted is what rows become unique by "
    "together with what is in no released column, nor by two or three of the columns."
)
NOBODY = "the policy releases no column as it is"


@dataclass(frozen=True, slots=True)
class UniqueBy:
    """How many stand alone by one column that is released as it is."""

    column: str
    rows: int
    people: int | None = None


@dataclass(frozen=True, slots=True)
class UniquenessReport(AttackReport):
    """How many stand alone by all released cells together, and by each column that is released as it is."""

    attack: ClassVar[str] = "uniqueness"
    scope: ClassVar[str] = SCOPE
    also: ClassVar[tuple[str, ...]] = ("worst_share",)

    rows: int
    people: int | None
    """The people, where pseudonyms link their rows; None where whose a row is is not released."""
    rows_alone: int
    """Rows that no other equals in all released cells."""
    people_alone: int | None
    """People whose rows, as a multiset, nobody else has."""
    columns: tuple[UniqueBy, ...]
    """Each column that is released as it is, worst first."""
    limit: float
    """The share that may be unique by one column."""
    notes: tuple[str, ...] = ()

    def share_of(self, one: UniqueBy) -> float:
        """Return the share of people who stand alone by a column, or of rows where that is larger or all there is."""
        by_people = 0.0 if one.people is None else one.people / max(1, self.people or 0)
        return max(by_people, one.rows / max(1, self.rows))

    @property
    def worst(self) -> UniqueBy | None:
        """The column by which most stand alone; None if each column is protected."""
        return self.columns[0] if self.columns else None

    @property
    def worst_share(self) -> float:
        """The share that stands alone by the worst column."""
        return 0.0 if self.worst is None else self.share_of(self.worst)

    @property
    def severity(self) -> Severity:
        """Broken if more than the limit stand alone by one column."""
        if self.worst_share > self.limit:
            return "broken"
        return "something" if self.rows_alone or self.people_alone else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """The shares that stand alone."""
        found: dict[str, float] = {"share of rows alone by all released cells": self.rows_alone / max(1, self.rows)}
        if self.people is not None and self.people_alone is not None:
            found["share of people alone by all their rows"] = self.people_alone / max(1, self.people)
        for one in self.columns:
            found[f"share alone by {one.column}"] = self.share_of(one)
        return found

    def tables(self) -> list[ReportTable]:
        """Return the figures of each column."""
        title = counted(self.rows, "row") + (
            "" if self.people is None else f" of {counted(self.people, 'person', 'people')}"
        )
        heads = ["column released as it is", "rows alone", *(["people alone"] if self.people is not None else [])]
        rows = [
            (one.column, one.rows, *([one.people] if self.people is not None else []))
            for one in (UniqueBy("all released cells", self.rows_alone, self.people_alone), *self.columns)
        ]
        return [ReportTable(title, heads, rows)]

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do about the worst column."""
        if self.worst is None:
            return ()
        if not self.worst_share:
            return (TOGETHER,)
        return tuple(line.format(column=self.worst.column) for line in ADVICE)

    @property
    def summary(self) -> str:
        """The outcome in one sentence, as ``anonymize`` and ``verify`` show it."""
        whole = f"{self._share(self.rows_alone, self.people_alone)} stand alone by all released cells together"
        if self.worst is None:
            return f"{whole}; {NOBODY}"
        if not self.worst_share:
            return f"nobody stands alone by one column that leaves as it is; {whole}, secrets as well"
        alone = self._share(self.worst.rows, self.worst.people)
        limit = f", where {self.limit:.1%} may" if self.worst_share > self.limit else ""
        return f"{whole}; {alone} by {self.worst.column} alone, the worst column that leaves unprotected{limit}"

    def _share(self, rows: int, people: int | None) -> str:
        said = f"{rows / max(1, self.rows):.1%} of {counted(self.rows, 'row')}"
        if people is None or self.people is None:
            return said
        return f"{said} and {people / max(1, self.people):.1%} of {counted(self.people, 'person', 'people')}"


@dataclass(frozen=True, slots=True)
class Uniqueness(Attack):
    """Count the rows and people that stand alone by the released cells, and by each column released as it is."""

    name: ClassVar[str] = "uniqueness"
    title: ClassVar[str] = "Rows that stand alone by what is released as it is"
    meaning: ClassVar[str] = "whoever knows those cells of somebody finds her row, and reads all the others"
    held: ClassVar[tuple[str, ...]] = ("the release", "somebody's cell of a column that is released as it is")
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES, LINKED_TABLES)

    limit: float | None = option(
        None, "The share that may stand alone by one column. Else max_unique of the policy.", float, least=0, largest=1
    )

    def __post_init__(self) -> None:
        if self.limit is not None and not 0 <= self.limit <= 1:
            raise PolicyError(f"limit: must be from 0 to 1, got {self.limit!r}")

    def attack(self, target: Target) -> UniquenessReport:
        """Count who stands alone: one group-by over all columns, and one for each that is released as it is."""
        free, known = _columns(target)
        with rows_of_each_table(target) as (rows, tables):
            person = (PSEUDONYM,) if target.policy.links_rows and PSEUDONYM in rows.columns() else ()
            found = [
                UniqueBy(name, *_alone(table, [name], person))
                for table in tables
                for name in free
                if name in table.columns()
            ]
            report = UniquenessReport(
                rows.count(),
                len(rows.sizes_by(person)) if person else None,
                *_alone(rows, [name for name in known if name in rows.columns()], person),
                (),
                target.policy.max_unique if self.limit is None else self.limit,
                () if person else tuple(people_notes(target.policy)),
            )
        return replace(report, columns=tuple(sorted(found, key=lambda one: (-report.share_of(one), one.column))))


def uniqueness(
    release: Any, policy: OnePolicy | None = None, *, limit: float | None = None, **reading: Any
) -> UniquenessReport:
    """Return how many rows and people stand alone by the released cells, and by each column that is released as it is.

    ``release`` is a Release, a release folder or a released table of any kind; without a ``policy`` a folder is read by
    the one that its manifest states. ``limit`` is the share that may stand alone by one column, else ``max_unique`` of
    the policy. Where pseudonyms link rows people are counted as well: by the multiset of the cells in all their rows.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, other, quasi
    >>> policy = Policy(columns={"sex": quasi(), "weight": other()}, privacy=[KAnonymity(2)])
    >>> found = uniqueness(pa.table({"sex": ["f", "f", "m", "m"], "weight": [60, 61, 80, 80]}), policy)
    >>> found.rows_alone, found.worst
    (2, UniqueBy(column='weight', rows=2, people=None))
    """
    if policy is None:
        tables = ReleasedTables.of(release, **reading)
        if tables.manifest is None:
            raise PolicyError("uniqueness: without a policy only a release folder with its manifest.json can be read")
        policy = stated_policy(tables.manifest.policy)[0]
    return Uniqueness(limit).attack(Uniqueness.target_of(release, policy, **reading))


def _alone(rows: Rows, columns: Sequence[str], person: Sequence[str]) -> tuple[int, int | None]:
    """Return how many rows stand alone by some columns, and how many people, where the rows tell them."""
    if not columns:
        return 0, 0 if person else None
    return rows.alone_by(columns), rows.alone_by(columns, person) if person else None


def _columns(target: Target) -> tuple[list[str], list[str]]:
    """Return the columns that are released as they are, and with the quasi columns all of which a cell can be known.

    Dates that moved and numbers that were perturbed are known to nobody, and pseudonyms tell everybody apart.
    """
    policy, manifest = target.policy, target.release.manifest
    moved = (
        set() if manifest is None else {n for n, one in manifest.policy.all_columns.items() if one.shift is not None}
    )
    known = [name for name in policy.compared_columns if name not in moved]
    is_apart = not target.form.generalizes  # sensitive cells stand in a table of their own, of classes
    free = [name for name in known if policy.columns[name].role in (("other",) if is_apart else ("other", "sensitive"))]
    return free, known
