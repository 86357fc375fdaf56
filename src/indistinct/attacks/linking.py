"""Linking: which people of another table, such as a voter list, fit the rows of a release.

Somebody who has both tables joins them on the columns that they share. A label fits every value that it generalizes,
so this is no join of equal cells: each released row fits some people, and each of the people fits some rows. Who fits
one row that fits nobody else is found.

Source: Samarati 2001, section 1 and Figure 1; Sweeney 2002, section 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.attacks.link_report import Label, LinkedColumn, LinkedGroup, LinkReport, Person
from indistinct.attacks.linked_columns import column_pairs, hierarchy_of
from indistinct.attacks.people_notes import people_notes
from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from indistinct.engine import Counts, Encoded, Rows
    from indistinct.linkage.coverage import Coverage, Spelled
    from indistinct.linkage.fitting_people import Candidates
    from indistinct.policy import Policy

MOST_PERSONS = 5
"""So many people are named for each of the worst groups."""


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
    from indistinct.counting import linked_as_declared
    from indistinct.engine import use_table
    from indistinct.linkage.fitting_people import count_candidates
    from indistinct.released.released_tables import ReleasedTables

    if fuzzy is not None and not 0 < fuzzy <= 1:
        raise PolicyError(f"fuzzy: must be a similarity above 0 and at most 1, got {fuzzy!r}")
    tables = ReleasedTables.of(release, **reading)
    with tables.quasi_rows() as released, use_table(external, **reading) as other, ExitStack() as opened:
        pairs = column_pairs(on, released.columns(), other.columns(), policy)
        _refuse_unknown(show, other)
        read = opened.enter_context(linked_as_declared(other, pairs, policy))
        with released.encode(list(pairs)) as encoded, read.encode(list(pairs.values())) as known:
            labels, groups = encoded.values, encoded.count_by(list(pairs))
            values, people = known.values, known.count_by(list(pairs.values()))
            coverages = [_coverage(policy, name, labels[name], values[theirs], fuzzy) for name, theirs in pairs.items()]
            found = count_candidates(groups, people, coverages)
            counts = _LinkCounts(pairs, labels, groups, people, coverages, found)
            worst = counts.worst(known, show, most)
    return counts.report(worst, tables.is_apart, people_notes(policy))


@dataclass(frozen=True, slots=True)
class _LinkCounts:
    """What was counted, to be summed up in a report."""

    pairs: Mapping[str, str]
    labels: Mapping[str, Sequence[Label]]
    groups: Counts
    people: Counts
    coverages: Sequence[Coverage]
    found: Candidates

    def worst(self, known: Encoded, show: Sequence[str], most: int) -> tuple[LinkedGroup, ...]:
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
                    self._persons(known, first, show),
                )
            )
        return tuple(made)

    def _persons(self, known: Encoded, tuples: NDArray[np.int64], show: Sequence[str]) -> tuple[Person, ...]:
        """Look up the rows of some tuples in the other table."""
        wanted = {
            name: [int(code) for code in codes[tuples]]
            for name, codes in zip(self.pairs.values(), self.people.codes, strict=True)
        }
        rows = known.rows_like(wanted, show, MOST_PERSONS).to_pylist()
        return tuple(
            Person(
                row["number"],
                int(self.found.rows[tuples[row["tuple"]]]),
                {name: row[f"s{position}"] for position, name in enumerate(show)},
            )
            for row in rows[:MOST_PERSONS]
        )

    def report(self, worst: tuple[LinkedGroup, ...], is_apart: bool, notes: Sequence[str]) -> LinkReport:
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
            notes=(*notes, *self._notes(is_apart)),
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
