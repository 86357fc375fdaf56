"""LinkReport: who of another table fits whom in a release, in counts, labels and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.showing.numbers import figure
from indistinct.showing.words import cells_in_words, counted

Label = str | None

STEPS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bars of a distribution begin."""
ADVICE = (
    "release the columns that link at higher levels, or raise k",
    "leave out a column that the other table has and the recipient does not need",
    "suppress the rows that fit one person only",
    "ask for k-map with this table as the population, so that each group fits k of its people",
)

SCOPE = (
    "Who fits a row need not be in the release, and who is in it need not be on the list: what is counted is who could "
    "be meant. Not counted is what follows from sensitive values, and from other tables."
)


@dataclass(frozen=True, slots=True)
class LinkedColumn:
    """A column that both tables have, and how the other table's values were read."""

    column: str
    external: str
    kind: str
    """What the values were taken for: texts, numbers, codes or dates."""
    values: int
    respelled: int
    """Values that are written otherwise than in the release, and were taken for the same."""
    fuzzy: Mapping[str, str]
    """Values that were taken for a similar one."""
    strangers: int
    """Values that the column does not have; they fit only labels that cover everything."""


@dataclass(frozen=True, slots=True)
class FittingPerson:
    """One of the people of the other table."""

    row: int
    """The number of the row in the other table, from 1."""
    rows: int
    """The released rows that fit this person."""
    shown: Mapping[str, Label]
    """The cells of the other table that were asked for."""

    @property
    def words(self) -> str:
        """The row, and what was to be shown of it."""
        shown = ", ".join("(missing)" if cell is None else cell for cell in self.shown.values())
        return f"row {self.row}" + (f" ({shown})" if shown else "")


@dataclass(frozen=True, slots=True)
class LinkedGroup:
    """Released rows with the same cells in the columns that link, and who fits them."""

    also: ClassVar[tuple[str, ...]] = ("chance",)

    labels: Mapping[str, Label]
    rows: int
    people: int
    """The people that fit."""
    persons: tuple[FittingPerson, ...]
    """The first of them."""

    @property
    def chance(self) -> float:
        """The chance that a row of the group is right when it is given to one who fits, drawn at random."""
        return 1 / max(self.people, self.rows)

    def sentence(self, unit: str = "row") -> str:
        """Say in English who fits the group."""
        cells = cells_in_words(self.labels, missing="(blank)")
        named = "; ".join(person.words for person in self.persons)
        more = ", …" if self.people > len(self.persons) else ""
        fit = "fits" if self.rows == 1 else "fit"
        people = counted(self.people, "person", "people")
        return f"{counted(self.rows, unit)} with {cells} {fit} {people}: {named}{more}"


@dataclass(frozen=True, slots=True)
class LinkReport(AttackReport):
    """Who of another table fits whom in a release: counts, released labels, and what was to be shown of the table."""

    attack: ClassVar[str] = "link"
    also: ClassVar[tuple[str, ...]] = ("unique_rows", "unique_people")
    usual_advice: ClassVar[tuple[str, ...]] = ADVICE
    scope: ClassVar[str] = SCOPE

    rows: int
    groups: int
    """Combinations of released cells in the columns that link."""
    people: int
    columns: tuple[LinkedColumn, ...]
    people_of_rows: Mapping[int, int]
    """How many released rows fit no person, one, two …"""
    rows_of_people: Mapping[int, int]
    """How many people fit no released row, one, two …"""
    one_to_one: int
    """Rows that fit one person only who fits no other row."""
    expected_matches: float
    """Rows that are right on average when each is given to one who fits, drawn at random, if all are on the list."""
    average_risk: float
    """The chance, on average over all who fit, that one of the rows that fit a person is theirs, if they are in."""
    worst: tuple[LinkedGroup, ...]
    """The groups that tell most, worst first; no more than were asked for."""
    notes: tuple[str, ...]
    unit: Literal["row", "pseudonym"] = "row"
    """What is linked: released rows, or pseudonyms with all their rows, and then each count of rows is one of those."""

    @property
    def unique_rows(self) -> int:
        """Released rows that fit exactly one person."""
        return self.people_of_rows.get(1, 0)

    @property
    def unique_people(self) -> int:
        """People who fit exactly one released row."""
        return self.rows_of_people.get(1, 0)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.one_to_one and not self.unique_rows and not self.unique_people:
            return (
                f"nobody of {counted(self.people, 'person', 'people')} is linked to one {self.unit}, and no "
                f"{self.unit} to one person"
            )
        return (
            f"{self.one_to_one:,} of {counted(self.rows, f'released {self.unit}')} "
            f"{'is' if self.one_to_one == 1 else 'are'} linked to one person and no other; {self.unique_rows:,} "
            f"{'fits' if self.unique_rows == 1 else 'fit'} one person only, and {self.unique_people:,} of "
            f"{counted(self.people, 'person', 'people')} one {self.unit} only"
        )

    @property
    def severity(self) -> Severity:
        """Broken if somebody is found: a row fits one person only, who fits no other row."""
        if self.one_to_one:
            return "broken"
        return "something" if self.unique_rows or self.unique_people else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many are linked."""
        return {
            f"released {self.unit}s": self.rows,
            "people of the other table": self.people,
            f"{self.unit}s that fit one person who fits no other {self.unit}": self.one_to_one,
            f"{self.unit}s that fit one person only": self.unique_rows,
            "expected right guesses": round(self.expected_matches, 2),
        }

    @property
    def sentences(self) -> list[str]:
        """Who fits the groups that tell most."""
        return [group.sentence(self.unit) for group in self.worst]

    def tables(self) -> list[ReportTable]:
        """Return the columns that link, and how many fit."""
        title = f"Linking {counted(self.rows, self.unit)} with {counted(self.people, 'person', 'people')}"
        heads = ("column", "in the other table", "read as", "values", "written otherwise", "similar", "unknown")
        columns = [
            (one.column, one.external, one.kind, one.values, one.respelled, len(one.fuzzy), one.strangers)
            for one in self.columns
        ]
        return [ReportTable(title, heads, columns, words=3), self.distributions()]

    def distributions(self) -> ReportTable:
        """Return how many rows fit no person, one, two …, and how many people fit no row, one, two …"""
        rows, people = bars(self.people_of_rows), bars(self.rows_of_people)
        names = bars({**self.people_of_rows, **self.rows_of_people})
        heads = ("candidates", f"released {self.unit}s", "people")
        right = f"{figure(self.expected_matches)} of {counted(self.rows, self.unit)}"
        title = f"How many fit: guessing names {right} right on average, if all of them are on the list"
        return ReportTable(title, heads, [(name, rows.get(name, 0), people.get(name, 0)) for name in names])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it, with distributions in steps that grow."""
        steps = {"people_of_rows": bars(self.people_of_rows), "rows_of_people": bars(self.rows_of_people)}
        return AttackReport.to_dict(self) | steps


def bars(distribution: Mapping[int, int]) -> dict[str, int]:
    """Return a distribution in steps that grow, for reading.

    >>> bars({0: 5, 1: 2, 3: 1, 4: 1, 2000: 7})
    {'0': 5, '1': 2, '3-4': 2, '1000 or more': 7}
    """
    found: dict[str, int] = {}
    for start, end in zip(STEPS, [*STEPS[1:], None], strict=True):
        inside = sum(size for number, size in distribution.items() if number >= start and (end is None or number < end))
        name = f"{start} or more" if end is None else str(start) if end == start + 1 else f"{start}-{end - 1}"
        if inside:
            found[name] = inside
    return found
