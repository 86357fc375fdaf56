"""Joined values: what an earlier release with other columns tells of people whom this one names or describes.

A list of the patients of each physician may not be sensitive, nor may one of the drugs that each prescribes. Joined by
physician they tell what a patient takes, if hers prescribes one drug.

Source: Sweeney, k-anonymity: a model for protecting privacy, 2002, section 2.4.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from indistinct.attacks.attack import EARLIER, Attack, InapplicableError, OtherTable, most_option, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.errors import PolicyError
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import cells_in_words, counted

Cells = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class JoinedGroup:
    """Rows of the release that are joined with one and the same value."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    cells: dict[str, str | None]
    """What both releases have in common there."""
    column: str
    rows: int
    earlier_rows: int

    @property
    def sentence(self) -> str:
        """What follows, in English; the value itself is not said."""
        who = counted(self.rows, "row")
        return f"the {who} with {cells_in_words(self.cells)} can have one {self.column} only."


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """A sensitive column that only the earlier release has, and how much the join tells of it."""

    column: str
    joined_rows: int
    """Rows of the release that fit some row of the earlier one."""
    known_rows: int
    """Those that can have one value only."""
    narrowed_rows: int
    """Those that can have several, but not all values of the earlier release."""


@dataclass(frozen=True, slots=True)
class JoinedReport(AttackReport):
    """How many rows of a release an earlier one gives a sensitive value: counts, and released cells."""

    attack: ClassVar[str] = "joined_values"
    usual_advice: ClassVar[tuple[str, ...]] = (
        "make the columns that both releases have quasi in both, and ask for l-diversity of what is sensitive",
        "leave one of these columns out, or hand both releases to nobody",
    )
    scope: ClassVar[str] = (
        "Cells are joined that are written alike, and blank ones with any; labels of different levels are not. A row "
        "may belong to none of the rows that it is joined with, if the releases are of different people."
    )

    on: tuple[str, ...]
    """The columns by which rows are joined."""
    rows: int
    columns: tuple[JoinedColumn, ...]
    findings: tuple[JoinedGroup, ...]
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """Broken if a value is known."""
        if any(one.known_rows for one in self.columns):
            return "broken"
        return "something" if any(one.narrowed_rows for one in self.columns) else "nothing"

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        told = [f"{one.column} of {counted(one.known_rows, 'row')}" for one in self.columns if one.known_rows]
        by = f"joined by {', '.join(self.on)}"
        return f"{by} the releases tell {' and '.join(told)}" if told else f"{by} no row has one value only"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many rows can have one value, or few."""
        figures: dict[str, float] = {"rows": self.rows}
        for one in self.columns:
            figures[f"rows that can have one {one.column} only"] = one.known_rows
            figures[f"rows that can have several, not all {one.column}"] = one.narrowed_rows
        return figures

    def tables(self) -> list[ReportTable]:
        """Return the numbers of each sensitive column."""
        heads = ("sensitive column", "rows joined", "with one value", "with several")
        rows = [(one.column, one.joined_rows, one.known_rows, one.narrowed_rows) for one in self.columns]
        return [ReportTable(f"Joined by {', '.join(self.on)}", heads, rows)]


@dataclass(frozen=True, slots=True)
class JoinedValues(Attack):
    """Show whose sensitive value an earlier release with other columns tells, joined by what both have."""

    name: ClassVar[str] = "joined_values"
    title: ClassVar[str] = "Joining releases of other columns"
    meaning: ClassVar[str] = "whoever joins both releases knows a sensitive value of people in this one"
    held: ClassVar[tuple[str, ...]] = ("the release", "an earlier one that has other columns")
    asks: ClassVar[tuple[OtherTable, ...]] = (replace(EARLIER, metavar="EARLIER", is_several=False),)
    is_in_all: ClassVar[bool] = False

    on: Sequence[str] | None = option(
        None, "A column to join by. Else all that both releases have.", metavar="COLUMN", is_several=True
    )
    most: int = most_option()

    def attack(self, target: Target) -> JoinedReport:
        """Join the release with the earlier one, and count the values that each row can have."""
        ((_, source), *others) = target.earlier.items()
        if others:
            raise PolicyError("joined_values: takes one earlier release at a time")
        (policy,) = target.earlier_policies
        earlier_release = ReleasedTables.of(source, policy, **target.reading)
        with target.release.only_rows() as ours, earlier_release.only_rows() as theirs:
            on = _columns_to_join(self.on, ours.columns(), theirs.columns())
            secrets = [name for name in policy.with_role("sensitive") if name in theirs.columns() and name not in on]
            if not secrets:
                raise InapplicableError(
                    "joined_values: the earlier release has no sensitive column that is not joined by"
                )
            mine = Counter(_rows(ours.texts(on)))
            known = [(cells[: len(on)], cells[len(on) :]) for cells in _rows(theirs.texts([*on, *secrets]))]
        bags = _Bags.of(known)
        columns, findings = [], []
        for place, name in enumerate(secrets):
            everything = {values[place] for _, values in known}
            joined = one = few = 0
            for cells, rows in mine.items():
                fitting = bags.fitting(cells)
                values = {own[place] for own in fitting}
                joined += rows if fitting else 0
                if len(values) == 1 and values != {None} and len(everything) > 1:
                    one += rows
                    findings.append(JoinedGroup(dict(zip(on, cells, strict=True)), name, rows, len(fitting)))
                elif fitting and values < everything:
                    few += rows
            columns.append(JoinedColumn(name, joined, one, few))
        findings.sort(key=lambda group: (-group.earlier_rows, -group.rows))
        notes = people_notes(target.policy, policy)
        return JoinedReport(on, sum(mine.values()), tuple(columns), tuple(findings[: self.most]), tuple(notes))


def joined_values(
    release: Any,
    earlier: Any,
    policy: OnePolicy,
    earlier_policy: OnePolicy,
    *,
    on: Sequence[str] | None = None,
    most: int = 20,
    **reading: Any,
) -> JoinedReport:
    """Return whose sensitive values an ``earlier`` release with other columns tells, joined ``on`` what both have.

    ``earlier_policy`` says which of its columns are sensitive. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> drug, patient = (Policy({"physician": quasi(), **more}, [KAnonymity(1)]) for more in (
    ...     {"drug": sensitive()}, {"patient": quasi()}))
    >>> seen = pa.table({"physician": ["A", "A", "B"], "patient": ["Ann", "Bea", "Cleo"]})
    >>> prescribed = pa.table({"physician": ["A", "A", "B"], "drug": ["x", "x", "y"]})
    >>> joined_values(seen, prescribed, patient, drug).columns[0].known_rows
    3
    """
    both = {"earlier": [earlier], "earlier_policies": [earlier_policy]}
    return JoinedValues(on, most).attack(JoinedValues.target_of(release, policy, **both, **reading))


def _columns_to_join(on: Sequence[str] | None, ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to join by."""
    if on is not None:
        if missing := [
            f"on: not both releases have a column {name!r}" for name in on if name not in ours or name not in theirs
        ]:
            raise PolicyError(missing)
        return tuple(on)
    shared = tuple(name for name in ours if name in theirs)
    if not shared:
        raise InapplicableError("joined_values: the releases have no column in common")
    return shared


def _rows(batches: Any) -> Iterator[Cells]:
    table = batches.read_all()
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


@dataclass(frozen=True, slots=True)
class _Bags:
    """The rows of the earlier release by the cells that they are joined by."""

    whole: Mapping[Cells, list[Cells]]
    blank: Sequence[tuple[Cells, Cells]]
    """Those of which such a cell is blank."""

    @classmethod
    def of(cls, known: Iterable[tuple[Cells, Cells]]) -> _Bags:
        """Take rows as what they are joined by and what they tell."""
        whole: defaultdict[Cells, list[Cells]] = defaultdict(list)
        blank = []
        for cells, told in known:
            if None in cells:
                blank.append((cells, told))
            else:
                whole[cells].append(told)
        return cls(whole, blank)

    def fitting(self, cells: Cells) -> list[Cells]:
        """Return what the rows tell that fit some cells; a blank one fits any."""
        sure = (
            self.whole.get(cells, [])
            if None not in cells
            else [one for other, told in self.whole.items() if _fits(cells, other) for one in told]
        )
        return [*sure, *(told for other, told in self.blank if _fits(cells, other))]


def _fits(one: Cells, other: Cells) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
