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
from typing import TYPE_CHECKING, Any, Literal

from indistinct.attacks.linking.link_report import Label, LinkedColumn, LinkedGroup, LinkReport, Person
from indistinct.attacks.linking.linked_columns import column_pairs, hierarchy_of
from indistinct.attacks.people_notes import link_notes
from indistinct.errors import PolicyError, TableError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from indistinct.attacks.linking.linked_units import Known, Units
    from indistinct.engine import Encoded, Rows
    from indistinct.linkage.coverage import Coverage, Spelled
    from indistinct.linkage.fitting_people import Candidates
    from indistinct.policy import Policy

MOST_PERSONS = 5
"""So many people are named for each of the worst groups."""


def link(
    release: Any,
    external: Any,
    policy: Policy | str | os.PathLike[str],
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

    If the policy says whose row it is and the other table has these columns, too, its people may have several rows
    there; otherwise each of its rows is a person. With pseudonyms all rows of one are linked together: somebody fits it
    if each of its rows fits something that is known of her.

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
    from indistinct.attacks.linking.linked_units import Known, Units
    from indistinct.counting import linked_as_declared
    from indistinct.engine import use_table
    from indistinct.policy import PSEUDONYM
    from indistinct.policy.load import load_policy
    from indistinct.release.released_tables import ReleasedTables

    policy = load_policy(policy, to="attack")
    if fuzzy is not None and not 0 < fuzzy <= 1:
        raise PolicyError(f"fuzzy: must be a similarity above 0 and at most 1, got {fuzzy!r}")
    tables = ReleasedTables.of(release, policy, **reading)
    with tables.quasi_rows() as released, use_table(external, **reading) as other, ExitStack() as opened:
        pairs = column_pairs(on, released.columns(), other.columns(), policy)
        _refuse_unknown(show, other)
        if not other.count():
            raise TableError("the other table has no rows: it names nobody to link the release with")
        read = opened.enter_context(linked_as_declared(other, pairs, policy))
        is_linked = policy.links_rows and PSEUDONYM in released.columns()
        mine = [*pairs, *([PSEUDONYM] if is_linked else [])]
        person = _person_columns(policy, pairs, other)
        theirs = [*pairs.values(), *person]
        with released.encode(mine) as encoded, read.encode(theirs) as known:
            labels, rows = encoded.values, encoded.count_by(mine)
            values, people = known.values, Known.of(known.count_by(theirs), known.values, person)
            coverages = [_coverage(policy, name, labels[name], values[own], fuzzy) for name, own in pairs.items()]
            units = Units.of_pseudonyms(rows) if is_linked else Units.of_rows(rows)
            counts = _LinkCounts(pairs, labels, units, people, coverages, people.count(units, coverages))
            worst = counts.worst(known, show, most)
    notes = link_notes(policy, is_linked=is_linked, has_persons=bool(person))
    return counts.report(worst, not tables.form.generalizes, notes, "pseudonym" if is_linked else "row")


@dataclass(frozen=True, slots=True)
class _LinkCounts:
    """What was counted, to be summed up in a report."""

    pairs: Mapping[str, str]
    labels: Mapping[str, Sequence[Label]]
    units: Units
    people: Known
    coverages: Sequence[Coverage]
    found: Candidates

    def worst(self, known: Encoded, show: Sequence[str], most: int) -> tuple[LinkedGroup, ...]:
        """Describe the groups that tell most: fewest people and rows, and people who fit fewest other rows."""
        import numpy as np

        from indistinct.linkage.fitting_people import count_candidates, members_of

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
    ) -> tuple[Person, ...]:
        """Look up the rows of some tuples in the other table."""
        wanted = {
            name: [int(code) for code in codes[tuples]]
            for name, codes in zip(self.pairs.values(), self.people.tuples.codes, strict=True)
        }
        rows = known.rows_like(wanted, show, MOST_PERSONS).to_pylist()
        return tuple(
            Person(
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


def _column(name: str, theirs: str, spelled: Spelled) -> LinkedColumn:
    return LinkedColumn(name, theirs, spelled.kind, spelled.values, spelled.respelled, spelled.fuzzy, spelled.strangers)


def _coverage(
    policy: Policy, name: str, labels: Sequence[Label], values: Sequence[Label], fuzzy: float | None
) -> Coverage:
    """Work out what the labels of a column cover."""
    from indistinct.linkage.coverage import Coverage

    return Coverage.of(hierarchy_of(policy, name), labels, values, fuzzy)


def _person_columns(policy: Policy, pairs: Mapping[str, str], other: Rows) -> tuple[str, ...]:
    """Return the columns of the other table that say whose row it is, if it has them all and links by none of them."""
    names = policy.person_columns
    is_told = all(name in other.columns() and name not in pairs.values() for name in names)
    return names if is_told else ()


def _refuse_unknown(show: Sequence[str], other: Rows) -> None:
    mistakes = [f"show: the other table has no column {name!r}" for name in show if name not in other.columns()]
    if mistakes:
        raise PolicyError(mistakes)


def _distribution(numbers: NDArray[np.int64], weights: NDArray[np.int64]) -> dict[int, int]:
    """Return how much weight each number has, in the order of the numbers."""
    import numpy as np

    found, where = np.unique(numbers, return_inverse=True)
    sums = np.bincount(where.ravel(), weights, len(found)).astype(np.int64)
    return dict(zip(found.tolist(), sums.tolist(), strict=True))
