"""The law of the ledger: people who share a history must be many enough, whatever was released and to whom.

The adversary is given everything: she holds all releases in question, can tell which rows belong to the same person,
and knows who is in which release. What hides a person is then only her cell: the people who were released in the same
groups as she, release by release, and left out of the same ones. Within a cell people can be exchanged without a
single released cell changing, so that nothing in the releases tells them apart.

Where a person may have several rows, the adversary can follow each row from release to release, but no release tells
her which rows are of the same person. A cell then is made of rows that were in the same groups and left out of the same
ones; it hides a row among the different people whose rows are in it, and they are what is counted.

Pseudonyms tell her which rows are of the same person: all those of a release under one, and under stable ones also
those of several releases. What she knows to be of one person, in turn by rows that she follows, is a bundle; bundles of
as many rows with the same histories form a cell. Two people of a cell can exchange their bundles, and all releases stay
as they are.

Of several tables the rows of a person also belong to each other. A cell then is made of people whose rows were in the
same groups, release by release, and belong to each other in the same way.

m-invariance is another promise, about values alone and against an adversary who cannot link rows;
``earlier_value_sets`` judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import Groups, IntArray, Tally
from indistinct.counting.membership import People
from indistinct.engine import ABSENT, Histories, RowHistories
from indistinct.errors import LedgerError, PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.ledger.earlier_value_sets import EarlierValueSets
from indistinct.ledger.store.entry import Entry
from indistinct.ledger.store.entry_files import MEMBERS, Files
from indistinct.ledger.terms import promised_columns
from indistinct.policy import PSEUDONYM, Policy, sensitive_columns
from indistinct.policy.files.policy_file import parse_policy
from indistinct.privacy import MInvariance, PrivacyModel
from indistinct.showing.words import counted

MOST_FAILURES = 20
"""Failing patterns that are described; all are counted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that does not hold any more for people who were in some releases and not in others."""

    model: str
    promised_by: int
    """The entry whose policy promised it; 0 is the release that is checked."""
    present: tuple[int, ...]
    """The entries that contain these people; 0 is the release that is checked."""
    absent: tuple[int, ...]
    people: int
    cells: int
    smallest: int
    values: int | None = None
    """The fewest values that are left to somebody, where m-invariance was promised."""


@dataclass(frozen=True, slots=True)
class Linked:
    """What somebody who holds all these releases can do: how finely she can tell people apart."""

    entries: tuple[int, ...]
    """The entries that the release was checked against."""
    people: int
    """The people in any of the releases."""
    cells: int
    smallest: int
    at_risk: int
    """The people in cells for which a promise is broken."""
    failures: tuple[Failure, ...]
    unrecognised: int = 0
    """The people with several rows of whom nobody can tell which row became which; they are at risk as well."""

    @property
    def passed(self) -> bool:
        """Nobody is at risk."""
        return self.at_risk == 0

    @property
    def reason(self) -> str:
        """Say in one sentence what was found; no cell is quoted."""
        which = _entries_text(self.entries)
        if self.passed:
            if not self.entries:
                return "there is no earlier release that could be joined with this one"
            return (
                f"joined with {which}, it tells {counted(self.people, 'person', 'people')} apart into "
                f"{counted(self.cells, 'cell')}, the smallest of {self.smallest}"
            )
        if self.unrecognised:
            rows_of = counted(self.unrecognised, "person", "people")
            return (
                f"joined with {which}, nobody can tell what it reveals: rows of {rows_of} cannot be recognised "
                "again, since they changed or are equal"
            )
        worst = self.failures[0]
        whose = "this policy" if worst.promised_by == 0 else f"entry {worst.promised_by}"
        how = (
            f"and the smallest cell has {counted(worst.smallest, 'person', 'people')}"
            if worst.values is None
            else f"since their groups do not have the same values, each equally often, in every release; "
            f"{counted(worst.values, 'value is', 'values are')} left to somebody"
        )
        return (
            f"{f'joined with {which}, ' if self.entries else ''}it would leave "
            f"{counted(self.at_risk, 'person', 'people')} less protected than was promised: {worst.model} of {whose} "
            f"fails, {how} ({_where(worst)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON takes it."""
        return {
            "passed": self.passed,
            "entries": list(self.entries),
            "people": self.people,
            "cells": self.cells,
            "smallest_cell": self.smallest,
            "people_at_risk": self.at_risk,
            **({"people_unrecognised": self.unrecognised} if self.unrecognised else {}),
            "reason": self.reason,
            "failures": [
                {
                    "model": failure.model,
                    "promised_by": failure.promised_by or "this policy",
                    "present_in": ["this release" if number == 0 else number for number in failure.present],
                    "absent_from": ["this release" if number == 0 else number for number in failure.absent],
                    "people": failure.people,
                    "cells": failure.cells,
                    "smallest_cell": failure.smallest,
                }
                | ({} if failure.values is None else {"values_left": failure.values})
                for failure in self.failures
            ],
        }


@dataclass(frozen=True, slots=True)
class Earlier:
    """Releases that somebody holds already, the oldest first: their policies, and who was in which of their groups."""

    entries: tuple[Entry, ...]
    policies: tuple[Policy, ...]
    members: tuple[Path, ...]
    limits: Mapping[str, Any]
    """What the engine may use: memory_limit and threads."""
    names_rows: bool = False
    """The key tells the rows of a person apart, where she may have several."""

    @classmethod
    def of(
        cls, entries: Sequence[Entry], files: Files, reading: Mapping[str, Any], *, names_rows: bool = False
    ) -> Earlier:
        """Take the releases of some entries; ``files`` are those of the ledger."""
        policies = tuple(parse_policy(entry.policy) for entry in entries)
        members = tuple(files.path(entry, MEMBERS) for entry in entries)
        limits = {name: reading[name] for name in ("memory_limit", "threads") if name in reading}
        return cls(tuple(entries), policies, members, limits, names_rows)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the entries."""
        return tuple(entry.number for entry in self.entries)

    def histories(self) -> Histories:
        """Open what was released of everybody, release by release; close it, or use it as a context manager."""
        return Histories(list(self.members), **self.limits)

    def joined_with(self, members: Path, policy: Policy) -> Linked:
        """Return what one more release would reveal together with these."""
        policies, files = [policy, *self.policies], [members, *self.members]
        tells_rows = [bool(one.person_columns) for one in policies]
        if any(one.stable_pseudonyms for one in policies):
            _refuse_m_invariance(policies, "stable pseudonyms")
        if not any(tells_rows):
            histories = Histories(files, **self.limits)
        else:
            _refuse_m_invariance(policies, "person")
            has_trees, links = bool(policy.tables), _links(policies)
            histories = RowHistories(
                files, tells_rows, self.names_rows, links=links, has_trees=has_trees, **self.limits
            )
        with histories:
            return judge_together(histories, [0, *self.numbers], policies)


def judge_together(histories: Histories, entries: Sequence[int], policies: Sequence[Policy]) -> Linked:
    """Return what all these releases together reveal; entry 0 is the release that is checked.

    A cell must satisfy the models of every policy under which its people were released, counted in people.
    m-invariance is judged by the values of their groups instead, since it lets cells be as small as they may.
    """
    groups, sizes = histories.cells()
    signatures = {
        column: EarlierValueSets.of(histories, groups, policies, column)
        for column in sorted({column for policy in policies for column in promised_columns(policy)})
    }
    is_broken = np.zeros(len(sizes), np.bool_)
    failures: list[Failure] = []
    for release, policy in enumerate(policies):
        is_present = groups[:, release] != ABSENT
        for column, m in promised_columns(policy).items():
            failing = signatures[column].failing(release, m)
            is_broken |= failing
            found = _failures(MInvariance(m), entries, release, histories, failing)
            failures += [replace(failure, values=signatures[column].values_left(failing)) for failure in found]
        for model in policy.privacy:
            if isinstance(model, MInvariance):
                continue
            if model.known is not None:
                raise PolicyError(
                    f"privacy: a ledger cannot judge what several releases together mean for {model.name} with known, "
                    "since it keeps no labels of people; drop known for releases that it remembers"
                )
            if model.asks_population:
                raise PolicyError(
                    f"privacy: a ledger cannot judge what several releases together mean for {model.name}, since it "
                    "keeps no labels of people; use k-anonymity for releases that it remembers"
                )
            failing = is_present & ~model.holds(_cells(histories, release, policy, model, sizes))
            is_broken |= failing
            failures += _failures(model, entries, release, histories, failing)
    failures.sort(key=lambda failure: (failure.smallest, -failure.people))
    everybody, unrecognised = np.ones(len(sizes), np.bool_), 0
    at_risk = histories.people_in(is_broken)
    if isinstance(histories, RowHistories):
        lost = histories.unrecognised_people()
        unrecognised, at_risk = len(lost), len(np.union1d(histories.persons_in(is_broken), lost))
    people = histories.people_in(everybody)
    return Linked(
        entries=tuple(sorted(entry for entry in entries if entry)),
        people=people,
        cells=len(sizes),
        smallest=int(sizes.min(initial=people)),
        at_risk=at_risk,
        failures=tuple(failures[:MOST_FAILURES]),
        unrecognised=unrecognised,
    )


def _cells(histories: Histories, release: int, policy: Policy, model: PrivacyModel, sizes: IntArray) -> Groups:
    """Return the cells as groups, with the sensitive values that a release has in each, for a model to judge."""
    columns = sensitive_columns(model, policy)
    if not isinstance(histories, RowHistories):
        return Groups.of_sizes(sizes, _tallies(histories, release, policy, columns))
    rows = histories.rows_in(release, columns)
    tallies = {}
    for name in columns:
        is_there, hierarchy = rows.values[name] >= 0, _hierarchy(policy, name, rows.texts[name])
        groups, values = rows.groups[is_there], rows.values[name][is_there]
        tallies[name] = Tally.of(groups, values, np.ones(len(groups), np.int64), rows.texts[name], hierarchy)
    return replace(Groups.of_sizes(sizes, tallies), people=People(rows.persons, rows.groups, rows.values))


def _tallies(histories: Histories, release: int, policy: Policy, columns: Sequence[str]) -> dict[str, Tally]:
    """Return the sensitive values that a release has in each cell, where each person has one row."""
    tallies = {}
    for name in columns:
        found = histories.values_by_cell(release, name)
        hierarchy = _hierarchy(policy, name, found.texts)
        tallies[name] = Tally.of(found.groups, found.values, found.counts, found.texts, hierarchy)
    return tallies


def _hierarchy(policy: Policy, column: str, texts: Sequence[str | None]) -> CompiledHierarchy | None:
    """Return the hierarchy of a sensitive column for these values, if it has one."""
    hierarchy = policy.columns[column].compile(texts)
    return hierarchy if hierarchy.height else None


def _links(policies: Sequence[Policy]) -> list[int | None]:
    """Return the key under which each release links the rows of a person, by a number; None where it does not.

    Every release with fresh pseudonyms has a key of its own; all those with stable ones share one.
    """
    return [
        None if not policy.links_rows else 0 if PSEUDONYM in policy.stable_pseudonyms else position + 1
        for position, policy in enumerate(policies)
    ]


def _refuse_m_invariance(policies: Sequence[Policy], what: str) -> None:
    """Raise if one of some releases promised m-invariance, though people may have several rows or can be followed."""
    if any(promised_columns(policy) for policy in policies):
        raise LedgerError(
            f"{what}: m-invariance was promised by a release of this source, and the ledger can hold to it only where "
            "each person has one row that nothing links to another release; name another source if these are other "
            "people"
        )


def _failures(
    model: PrivacyModel, entries: Sequence[int], release: int, histories: Histories, failing: BoolArray
) -> list[Failure]:
    """Describe the failing cells, those of people in and out of the same releases together."""
    if not failing.any():
        return []
    groups, sizes = histories.cells()
    patterns, pattern_of = np.unique(groups != ABSENT, axis=0, return_inverse=True)
    pattern_of = pattern_of.ravel()
    found = []
    for number in np.unique(pattern_of[failing]).tolist():
        own, pattern = failing & (pattern_of == number), patterns[number]
        present = tuple(entry for entry, is_in in zip(entries, pattern, strict=True) if is_in)
        absent = tuple(entry for entry, is_in in zip(entries, pattern, strict=True) if not is_in)
        people, smallest = histories.people_in(own), int(sizes[own].min())
        found.append(Failure(_name(model), entries[release], present, absent, people, int(own.sum()), smallest))
    return found


def _name(model: PrivacyModel) -> str:
    terms = ", ".join(f"{key} = {value}" for key, value in model.terms().items() if key not in ("model", "on"))
    return f"{model.name} ({terms})"


def _where(failure: Failure) -> str:
    """Say in which releases the people of a failing cell are, and in which they are not."""
    here = _releases_text(failure.present)
    return f"in {here}" + (f", not in {_releases_text(failure.absent)}" if failure.absent else "")


def _releases_text(entries: Sequence[int]) -> str:
    earlier = tuple(entry for entry in sorted(entries) if entry)
    parts = [_entries_text(earlier)] if earlier else []
    return " and ".join([*parts, *["this release"] * (0 in entries)])


def _entries_text(entries: Sequence[int]) -> str:
    shown = ", ".join(map(str, entries[:6])) + (", …" if len(entries) > 6 else "")
    return f"{'entry' if len(entries) == 1 else 'entries'} {shown}"
