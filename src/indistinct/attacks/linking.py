"""Linking: which people of another table, such as a voter list, fit the rows of a release.

Somebody who has both tables joins them on the columns that they share. A label fits every value that it generalizes,
so this is no join of equal cells: each released row fits some people, and each of the people fits some rows. Who fits
one row that fits nobody else is found.

Source: Samarati 2001, section 1 and Figure 1; Sweeney 2002, section 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from indistinct.engine import Counts, Rows
    from indistinct.hierarchy import Hierarchy
    from indistinct.linkage.coverage import Coverage, Spelled
    from indistinct.linkage.fitting_people import Candidates
    from indistinct.policy import Policy

Label = str | None

STEPS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bars of a distribution begin."""
MOST_PERSONS = 5
"""So many people are named for each of the worst groups."""

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

    def to_dict(self) -> dict[str, Any]:
        """Give the column as JSON takes it."""
        return {
            "column": self.column,
            "external": self.external,
            "kind": self.kind,
            "values": self.values,
            "respelled": self.respelled,
            "fuzzy": dict(self.fuzzy),
            "strangers": self.strangers,
        }


@dataclass(frozen=True, slots=True)
class Person:
    """One of the people of the other table."""

    row: int
    """The number of the row in the other table, from 1."""
    rows: int
    """The released rows that fit this person."""
    shown: Mapping[str, Label]
    """The cells of the other table that were asked for."""


@dataclass(frozen=True, slots=True)
class LinkedGroup:
    """Released rows with the same cells in the columns that link, and who fits them."""

    labels: Mapping[str, Label]
    rows: int
    people: int
    """The people that fit."""
    persons: tuple[Person, ...]
    """The first of them."""

    @property
    def chance(self) -> float:
        """The chance that a row of the group is right when it is given to one who fits, drawn at random."""
        return 1 / max(self.people, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the group as JSON takes it."""
        persons = [
            {"row": one.row, "rows": one.rows, **({"shown": dict(one.shown)} if one.shown else {})}
            for one in self.persons
        ]
        return {
            "labels": dict(self.labels),
            "rows": self.rows,
            "people": self.people,
            "chance": self.chance,
            "persons": persons,
        }


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Who of another table fits whom in a release: counts, released labels, and what was to be shown of the table."""

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
                f"nobody of {counted(self.people, 'person', 'people')} is linked to one row, and no row to one person"
            )
        return (
            f"{self.one_to_one:,} of {counted(self.rows, 'released row')} "
            f"{'is' if self.one_to_one == 1 else 'are'} linked to one person and no other; {self.unique_rows:,} "
            f"{'fits' if self.unique_rows == 1 else 'fit'} one person only, and {self.unique_people:,} of "
            f"{counted(self.people, 'person', 'people')} one row only"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON takes it."""
        return {
            "rows": self.rows,
            "groups": self.groups,
            "people": self.people,
            "columns": [column.to_dict() for column in self.columns],
            "one_to_one": self.one_to_one,
            "unique_rows": self.unique_rows,
            "unique_people": self.unique_people,
            "expected_matches": self.expected_matches,
            "average_risk": self.average_risk,
            "people_of_rows": bars(self.people_of_rows),
            "rows_of_people": bars(self.rows_of_people),
            "worst": [group.to_dict() for group in self.worst],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        joined = ", ".join(
            one.column if one.column == one.external else f"{one.column} = {one.external}" for one in self.columns
        )
        lines = [f"linking on {joined}: {self.summary}", f"expected right guesses: {self.expected_matches:.4g}"]
        lines += [f"note: {note}" for note in self.notes]
        if self.worst:
            lines += ["", "worst first:", *(f"  - {sentence(group)}" for group in self.worst)]
            lines += ["", "what to do:", *(f"  - {advice}" for advice in ADVICE)]
        return "\n".join([*lines, "", SCOPE])


def sentence(group: LinkedGroup) -> str:
    """Say in English who fits a group."""
    cells = ", ".join(f"{name} {'(blank)' if label is None else label}" for name, label in group.labels.items())
    named = "; ".join(_named(person) for person in group.persons)
    more = ", …" if group.people > len(group.persons) else ""
    fit = "fits" if group.rows == 1 else "fit"
    return f"{counted(group.rows, 'row')} with {cells} {fit} {counted(group.people, 'person', 'people')}: {named}{more}"


def _named(person: Person) -> str:
    shown = ", ".join("(missing)" if cell is None else cell for cell in person.shown.values())
    return f"row {person.row}" + (f" ({shown})" if shown else "")


def bars(distribution: Mapping[int, int]) -> dict[str, int]:
    """Give a distribution in steps that grow, for reading.

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


def link(
    release: Any,
    external: Any,
    policy: Policy,
    *,
    on: Mapping[str, str] | Iterable[str] | None = None,
    show: Sequence[str] = (),
    fuzzy: float | None = None,
    most: int = 20,
    **reading: Any,
) -> LinkReport:
    """Link a release with another table, as somebody could who has both, and give who fits whom.

    ``release`` is a Release, a release folder, ``{"quasi": …, "sensitive": …}`` or a released table of any kind;
    ``external`` is a table of any kind that names people. ``on`` names the columns to link by, or maps each column of
    the release to the other table's; without it, quasi columns of the same name are taken. Values are compared by what
    they say: days, numbers and texts may be written differently. ``fuzzy``, a similarity from 0 to 1 such as 0.85,
    also takes texts for the most similar one of the column. ``show`` names columns of the other table to show of the
    ``most`` worst groups. ``reading`` goes to the engine: memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, dates, quasi, sensitive
    >>> birth = quasi(dates("month", "year", format="%m/%d/%Y"))
    >>> policy = Policy(columns={"birth": birth, "illness": sensitive()}, privacy=[KAnonymity(1)])
    >>> released = pa.table({"birth": ["1961-09", "1964-09"], "illness": ["flu", "gout"]})
    >>> voters = pa.table({"name": ["Sue", "Bob"], "Birth": ["9/15/61", "1970-01-01"]})
    >>> report = link(released, voters, policy, show=["name"])
    >>> report.one_to_one, report.worst[0].persons[0].shown
    (1, {'name': 'Sue'})
    """
    from indistinct.attacks.released import quasi_rows
    from indistinct.engine import open_table
    from indistinct.linkage.fitting_people import count_candidates

    if fuzzy is not None and not 0 < fuzzy <= 1:
        raise PolicyError(f"fuzzy: must be a similarity above 0 and at most 1, got {fuzzy!r}")
    with quasi_rows(release, **reading) as (released, is_apart):
        other = open_table(external, **reading)
        try:
            pairs = column_pairs(on, released.columns(), other.columns(), policy)
            _refuse_unknown(show, other)
            labels = released.encode(list(pairs))
            groups = released.count_by(list(pairs))
            values = other.encode(list(pairs.values()))
            people = other.count_by(list(pairs.values()))
            coverages = [_coverage(policy, name, labels[name], values[theirs], fuzzy) for name, theirs in pairs.items()]
            found = count_candidates(groups, people, coverages)
            described = _Described(pairs, labels, groups, people, coverages, found)
            worst = described.worst(other, show, most)
        finally:
            if other is not external:
                other.close()
    return described.report(worst, is_apart)


@dataclass(frozen=True, slots=True)
class _Described:
    """What was counted, ready to be told."""

    pairs: Mapping[str, str]
    labels: Mapping[str, Sequence[Label]]
    groups: Counts
    people: Counts
    coverages: Sequence[Coverage]
    found: Candidates

    def worst(self, other: Rows, show: Sequence[str], most: int) -> tuple[LinkedGroup, ...]:
        """Describe the groups that tell most: fewest people and rows, and people who fit fewest other rows."""
        import numpy as np

        from indistinct.linkage.fitting_people import members_of

        found = self.found
        rows_of_one = found.rows[np.maximum(found.one, 0)]
        order = np.lexsort((rows_of_one, found.people, np.maximum(found.people, found.sizes)))
        chosen = order[found.people[order] > 0][: max(0, most)].tolist()
        made = []
        for group in chosen:
            codes = [int(codes[group]) for codes in self.groups.codes]
            members = members_of(codes, self.people, self.coverages)
            first = members[np.lexsort((members, found.rows[members]))][:MOST_PERSONS]
            made.append(
                LinkedGroup(
                    {name: self.labels[name][code] for name, code in zip(self.pairs, codes, strict=True)},
                    int(found.sizes[group]),
                    int(found.people[group]),
                    self._persons(other, first, show),
                )
            )
        return tuple(made)

    def _persons(self, other: Rows, tuples: NDArray[np.int64], show: Sequence[str]) -> tuple[Person, ...]:
        """Look up the rows of some tuples in the other table."""
        wanted = {
            name: [int(code) for code in codes[tuples]]
            for name, codes in zip(self.pairs.values(), self.people.codes, strict=True)
        }
        rows = other.rows_like(wanted, show, MOST_PERSONS).to_pylist()
        return tuple(
            Person(
                row["number"],
                int(self.found.rows[tuples[row["tuple"]]]),
                {name: row[f"s{position}"] for position, name in enumerate(show)},
            )
            for row in rows[:MOST_PERSONS]
        )

    def report(self, worst: tuple[LinkedGroup, ...], is_apart: bool) -> LinkReport:
        """Sum up."""
        import numpy as np

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
                _column(name, theirs, coverage.spelled)
                for (name, theirs), coverage in zip(self.pairs.items(), self.coverages, strict=True)
            ),
            people_of_rows=_distribution(found.people, found.sizes),
            rows_of_people=_distribution(found.rows, found.persons),
            one_to_one=int(is_one_to_one.sum()),
            expected_matches=float((found.sizes[fits] / np.maximum(found.people, found.sizes)[fits]).sum()),
            average_risk=risk,
            worst=worst,
            notes=tuple(self._notes(is_apart)),
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


def _column(name: str, theirs: str, spelled: Spelled) -> LinkedColumn:
    return LinkedColumn(name, theirs, spelled.kind, spelled.values, spelled.respelled, spelled.fuzzy, spelled.strangers)


def _coverage(
    policy: Policy, name: str, labels: Sequence[Label], values: Sequence[Label], fuzzy: float | None
) -> Coverage:
    """Work out what the labels of a column cover."""
    from indistinct.linkage.coverage import Coverage

    return Coverage.of(hierarchy_of(policy, name), labels, values, fuzzy)


def hierarchy_of(policy: Policy, name: str) -> Hierarchy:
    """Give the hierarchy of a released column; columns that are no quasi columns are released as they are."""
    from indistinct.hierarchy import keep

    column = policy.columns.get(name)
    return column.hierarchy if column is not None and column.role == "quasi" else keep()


def column_pairs(
    on: Mapping[str, str] | Iterable[str] | None, ours: Sequence[str], theirs: Sequence[str], policy: Policy
) -> dict[str, str]:
    """Give the columns to link by: a column of the release and one of the other table each."""
    if on is None:
        by_name = {_plain(name): name for name in theirs}
        same = {name: by_name[_plain(name)] for name in policy.quasi if name in ours and _plain(name) in by_name}
        if not same:
            raise PolicyError(
                "on: no quasi column of the release has the name of a column of the other table; say which belong "
                'together, such as on={"DateOfBirth": "DOB"}'
            )
        return same
    if isinstance(on, str):
        raise PolicyError("on: must list columns, or map columns of the release to columns of the other table")
    pairs = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    mistakes = [f"on: the release has no column {name!r}" for name in pairs if name not in ours]
    mistakes += [f"on: the other table has no column {name!r}" for name in pairs.values() if name not in theirs]
    mistakes += [
        f"on: column {name!r} of the other table is named twice"
        for name in set(pairs.values())
        if list(pairs.values()).count(name) > 1
    ]
    if not pairs:
        mistakes.append("on: name at least one column to link by")
    if mistakes:
        raise PolicyError(mistakes)
    return pairs


def _plain(name: str) -> str:
    """Give a column's name without capitals and marks.

    >>> _plain("Date_of Birth") == _plain("DateOfBirth")
    True
    """
    return "".join(character for character in name.casefold() if character.isalnum())


def _refuse_unknown(show: Sequence[str], other: Rows) -> None:
    mistakes = [f"show: the other table has no column {name!r}" for name in show if name not in other.columns()]
    if mistakes:
        raise PolicyError(mistakes)


def _distribution(numbers: NDArray[np.int64], weights: NDArray[np.int64]) -> dict[int, int]:
    """Give how much weight each number has, in the order of the numbers."""
    import numpy as np

    found, where = np.unique(numbers, return_inverse=True)
    sums = np.bincount(where.ravel(), weights, len(found)).astype(np.int64)
    return dict(zip(found.tolist(), sums.tolist(), strict=True))
