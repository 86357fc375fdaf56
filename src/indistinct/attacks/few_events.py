"""History: somebody knows a person's row and a few of her events, and looks for who fits in linked tables.

A volunteer of a large study was found by her month of birth and one dated operation. Here people are drawn from the
private tables, and a few events of each; counted is who fits in these tables, and who could fit in the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import IntArray
from indistinct.attacks.attack import ORIGINAL, Attack, InapplicableError, OtherTable, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.guessing.rates import Interval, wilson
from indistinct.attacks.target import OnePolicy, Target
from indistinct.counting import as_declared, encode_eligible
from indistinct.engine import Rows, use_table
from indistinct.linkage import Coverage
from indistinct.policy import PSEUDONYM, Column, Knows, Policy, lists_people
from indistinct.recoding.label_texts import read_label
from indistinct.release.forms import LINKED_TABLES, Form

TRIES = 500
SEED = 1
WAYS = ("any events", "the rarest events")
"""Which events of a person are known."""
CONTROL = "events of others"
"""Events that no single person has, as a control."""

Known = Sequence[Mapping[str, IntArray]]
"""For each known event the codes that each column may have; the codes of a table's columns are those of a release."""


@dataclass(frozen=True, slots=True)
class FewEvents:
    """How often few people fit what is known, in one way of choosing events."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    known: str
    tries: int
    alone_in_original: int
    """How often nobody else fits in the private tables."""
    fewer_in_original: int
    """How often fewer than k fit there."""
    alone_in_release: int
    fewer_in_release: int
    """How often somebody fits in the release, and fewer than k."""
    none_in_release: int
    """How often nobody fits: an event was dropped."""
    interval: Interval
    """The 95 % interval of the share of tries in which fewer than k fit in the release."""

    @property
    def sentence(self) -> str:
        """The outcome in English."""
        return (
            f"{self.known}: fewer than k fit in {self.fewer_in_release} of {self.tries} tries, one in "
            f"{self.alone_in_release}; in the private tables in {self.fewer_in_original}, one in "
            f"{self.alone_in_original}."
        )


@dataclass(frozen=True, slots=True)
class HistoryReport(AttackReport):
    """How often somebody who knows a few events of a person finds fewer than k people."""

    attack: ClassVar[str] = "history"
    usual_advice: ClassVar[tuple[str, ...]] = (
        "say knows = { events = … } in the policy: k people then share any so many events",
        "release codes and dates at higher levels, or drop columns that others may know",
    )
    scope: ClassVar[str] = (
        "Who knows that something did not happen, how many events somebody has, or columns that are not quasi, may "
        "find fewer people."
    )

    events: int
    k: int
    findings: tuple[FewEvents, ...]
    control: FewEvents
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """Broken if somebody is found among fewer than k."""
        return "broken" if any(one.fewer_in_release for one in self.findings) else "nothing"

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        worst = max(self.findings, key=lambda one: one.fewer_in_release)
        if not worst.fewer_in_release:
            return f"a person's row and {self.events} of her events fit nobody, or {self.k} people and more"
        found = f"in {worst.fewer_in_release} of {worst.tries} tries"
        return f"a person's row and {self.events} of her events fit fewer than {self.k} people {found}"

    @property
    def figures(self) -> Mapping[str, float]:
        """The shares of tries in which few fit."""
        return {
            f"{one.known}: share with fewer than k, {place}": number / max(1, one.tries)
            for one in (*self.findings, self.control)
            for place, number in (("original", one.fewer_in_original), ("release", one.fewer_in_release))
        }

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for it, in English."""
        return (f"somebody knows the row of a person and {self.events} of her events, as the private tables have them",)

    def tables(self) -> list[ReportTable]:
        """Return the counts of each way."""
        heads = ("known", "tries", "one in original", "fewer there", "one in release", "fewer there", "nobody", "up to")
        rows = [
            (
                *(one.known, one.tries, one.alone_in_original, one.fewer_in_original),
                *(one.alone_in_release, one.fewer_in_release, one.none_in_release, round(one.interval[1], 4)),
            )
            for one in (*self.findings, self.control)
        ]
        return [ReportTable("Who fits a few events", heads, rows)]


@dataclass(frozen=True, slots=True)
class FindByEvents(Attack):
    """Draw people and a few of their events, and count who fits in the release."""

    name: ClassVar[str] = "history"
    title: ClassVar[str] = "Finding people by a few of their events"
    meaning: ClassVar[str] = "a few events that others may know lead to fewer people than k"
    held: ClassVar[tuple[str, ...]] = ("the release", "a person's row and a few of her events")
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    forms: ClassVar[tuple[Form, ...]] = (LINKED_TABLES,)

    events: int = option(0, "How many events are known in full. Else those of the policy, or 2.", int, least=0)
    undated: int = option(0, "How many others are known without their time. Else those of the policy.", int, least=0)
    known: Sequence[str] = option(
        (), "A column that is known, such as visits.day. Else all quasi columns.", metavar="COLUMN", is_several=True
    )
    tries: int = option(TRIES, "How many people are drawn, for each way of choosing events.", int, least=1)

    def attack(self, target: Target) -> HistoryReport:
        """Draw people and events, and count who fits."""
        policy = target.policy
        if any(part.parent is not None for part in policy.parts.values()):
            raise InapplicableError("history: rows of one table of events refer to rows of another; join them first")
        if wrong := [name for name in self.known if name not in policy.quasi]:
            raise InapplicableError([f"known: {name!r} is no quasi column" for name in wrong])
        knows = self._known_of(policy)
        with target.release.rows() as tables:
            released = _Histories.of_release(tables, policy, self.known)
        private = _Histories.of_original(target, self.known)
        k = max(model.least_rows for model in policy.privacy)
        trial = _EventTrial(private, released, private.meanings(released, policy), knows, k, self.tries)
        return HistoryReport(knows.together, k, tuple(trial.run(way) for way in WAYS), trial.run(CONTROL))

    def _known_of(self, policy: Policy) -> Knows:
        """Return how many events are known, in full and without time."""
        if self.events or self.undated:
            time = policy.knows.time if policy.knows and self.undated else ()
            number = policy.knows is not None and policy.knows.number
            found = Knows(dated=self.events, undated=self.undated, time=time, number=number)
        else:
            found = policy.knows or Knows(2)
        found = found.with_time(policy.parts)
        if found.has_undated and not found.time:
            raise InapplicableError("undated: no quasi column of events has dates; leave undated out")
        return found


def history(
    release: Any,
    policy: OnePolicy,
    original: Any,
    *,
    events: int = 0,
    undated: int = 0,
    known: Sequence[str] = (),
    tries: int = TRIES,
    **reading: Any,
) -> HistoryReport:
    """Return how often whoever knows a person's row and some of her events finds fewer than k people.

    ``events`` are as many as the policy says that others know, or 2; ``undated`` ones more are known without their
    columns of time. ``known`` names quasi columns, such as
    ``people.born`` and ``visits.day``; else all are known. For each way of choosing events so many people are drawn.
    """
    return FindByEvents(events, undated, known, tries).attack(
        FindByEvents.target_of(release, policy, original=original, **reading)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """One table: the code of each cell, the texts that codes stand for, and whose each row is."""

    texts: Mapping[str, tuple[str | None, ...]]
    codes: Mapping[str, IntArray]
    persons: IntArray
    has_people: bool
    by_code: Mapping[str, tuple[IntArray, IntArray]]
    """Column -> rows in the order of codes, and where each code begins."""

    @classmethod
    def of(
        cls, texts: Mapping[str, Sequence[str | None]], codes: Mapping[str, IntArray], persons: IntArray, people: bool
    ) -> _Coded:
        """Take a table, and index its rows by code."""
        by_code = {
            name: (np.argsort(own, kind="stable"), np.searchsorted(np.sort(own), np.arange(len(texts[name]) + 1)))
            for name, own in codes.items()
        }
        return cls({name: tuple(own) for name, own in texts.items()}, codes, persons, people, by_code)

    def rows_with(self, allowed: Mapping[str, IntArray]) -> IntArray:
        """Return the rows whose code in each column is one that is allowed."""
        best: IntArray | None = None
        for name, some in allowed.items():
            order, starts = self.by_code[name]
            spans = [order[starts[code] : starts[code + 1]] for code in some.tolist()]
            rows = np.concatenate(spans) if spans else np.zeros(0, np.int64)
            if best is None or len(rows) < len(best):
                best = rows
        if best is None:
            return np.arange(len(self.persons))
        for name, some in allowed.items():
            best = best[np.isin(self.codes[name][best], some)]
        return best


@dataclass(frozen=True, slots=True, eq=False)
class _Histories:
    """All tables, with one number for each person."""

    tables: Mapping[str, _Coded]
    people: int

    @classmethod
    def of_release(cls, tables: Mapping[str, Rows], policy: Policy, known: Sequence[str]) -> _Histories:
        """Read released tables; people are told apart by their pseudonyms."""
        return cls._read(tables, policy, known, dict.fromkeys(tables, (PSEUDONYM,)))

    @classmethod
    def of_original(cls, target: Target, known: Sequence[str]) -> _Histories:
        """Read the eligible rows of the private tables."""
        policy = target.policy
        with ExitStack() as stack:
            given = {
                name: stack.enter_context(
                    as_declared(stack.enter_context(use_table(target.original[name], **target.reading)), part.policy)
                )
                for name, part in policy.parts.items()
            }
            return cls._read(given, policy, known, {name: part.person for name, part in policy.parts.items()})

    @classmethod
    def _read(
        cls,
        tables: Mapping[str, Rows],
        policy: Policy,
        known: Sequence[str],
        whose: Mapping[str, tuple[str, ...]],
    ) -> _Histories:
        people: dict[tuple[str | None, ...], int] = {}
        found = {}
        for name, part in policy.parts.items():
            quasi = [c for c in part.policy.quasi if not known or f"{name}.{c}" in known]
            columns = [*quasi, *whose[name]]
            is_private = whose[name] == part.person
            with (
                encode_eligible(tables[name], part.policy, columns) if is_private else tables[name].encode(columns)
            ) as encoded:
                counted = encoded.count_by(columns)
                codes = [np.repeat(np.asarray(own, np.int64), counted.counts) for own in counted.codes]
                texts = [encoded.values[column] for column in whose[name]]
                own = zip(
                    *(map(t.__getitem__, c.tolist()) for t, c in zip(texts, codes[len(quasi) :], strict=True)),
                    strict=True,
                )
                persons = np.array([people.setdefault(one, len(people)) for one in own], np.int64)
                values = {column: encoded.values[column] for column in quasi}
            found[name] = _Coded.of(values, dict(zip(quasi, codes, strict=False)), persons, lists_people(part))
        return cls(found, len(people))

    def meanings(self, released: _Histories, policy: Policy) -> dict[str, dict[str, list[IntArray]]]:
        """Return for each table, column and value here the codes of the labels of a release that cover it."""
        found: dict[str, dict[str, list[IntArray]]] = {}
        for name, table in self.tables.items():
            found[name] = {}
            for column, texts in table.texts.items():
                found[name][column] = _covering_labels(
                    policy.parts[name].policy.columns[column], texts, released.tables[name].texts[column]
                )
        return found

    def numbers(self) -> dict[str, IntArray]:
        """Return how many events each person has in each table of events."""
        return {
            name: np.bincount(table.persons, minlength=self.people)
            for name, table in self.tables.items()
            if not table.has_people
        }

    def fitting(
        self,
        row: Known,
        events: Sequence[tuple[str, Mapping[str, IntArray]]],
        people: str | None,
        among: IntArray | None = None,
    ) -> int:
        """Return how many people, ``among`` some or all, have a row and events of their own that are allowed."""
        left = among
        if people is not None and row:
            table = self.tables[people]
            own = np.unique(table.persons[table.rows_with(row[0])])
            left = own if left is None else np.intersect1d(left, own, assume_unique=True)
        rows = [self.tables[name].rows_with(allowed) for name, allowed in events]
        for number in range(1, len(events) + 1):
            for chosen in combinations(range(len(events)), number):
                if len({events[place][0] for place in chosen}) > 1:
                    continue  # rows of different tables are different ones
                own = np.unique(np.concatenate([rows[place] for place in chosen]))
                persons, times = np.unique(self.tables[events[chosen[0]][0]].persons[own], return_counts=True)
                enough = persons[times >= number]  # Hall: so many events need so many rows
                left = enough if left is None else np.intersect1d(left, enough, assume_unique=True)
        return self.people if left is None else len(left)


def _covering_labels(column: Column, values: Sequence[str | None], labels: Sequence[str | None]) -> list[IntArray]:
    """Return for each value the codes of the labels that cover it: of its hierarchy, and ranges."""
    compiled = column.compile(values)
    code_of = {text: code for code, text in enumerate(labels)}
    pairs = []
    for names, codes in zip(compiled.labels, compiled.maps, strict=True):
        own = np.array([code_of.get(text, -1) for text in names], np.int64)[codes]
        pairs.append(np.stack([np.arange(len(values)), own])[:, own >= 0])
    listed = {text for names in compiled.labels for text in names}
    ranges = {code: cover for text, code in code_of.items() if text not in listed and (cover := read_label(text or ""))}
    if ranges:
        covered = Coverage.of(column.hierarchy, [labels[code] for code in ranges], values)
        ranks = np.where([value is None for value in values], -1, covered.ranks)
        order = np.argsort(ranks, kind="stable")
        for (code, cover), under in zip(ranges.items(), covered.covered, strict=True):
            missing = np.flatnonzero(ranks < 0) if cover.or_missing else order[:0]
            if isinstance(under, range):
                begin, end = np.searchsorted(ranks[order], [under.start, under.stop])
                chosen = np.append(order[begin:end], missing)
            else:
                chosen = np.append(np.flatnonzero(np.isin(ranks, under)), missing)
            pairs.append(np.stack([chosen, np.full(len(chosen), code)]))
    value_of, found = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return np.split(found, np.searchsorted(value_of, np.arange(1, len(values))))


@dataclass(frozen=True, slots=True, eq=False)
class _EventTrial:
    """Draws people and their events, and counts who fits."""

    private: _Histories
    released: _Histories
    meanings: Mapping[str, Mapping[str, Sequence[IntArray]]]
    knows: Knows
    k: int
    tries: int

    @property
    def events(self) -> int:
        """How many events are known together."""
        return self.knows.together

    def run(self, way: str) -> FewEvents:
        """Draw people, and events in one way."""
        draw = np.random.default_rng(SEED)
        rows_of, all_events = self._rows_of_people()
        enough = [person for person, rows in enumerate(rows_of) if len(rows) >= self.events]
        if not enough:
            raise InapplicableError(f"history: nobody has {self.events} events")
        originals, releases = [], []
        for person in draw.choice(enough, self.tries).tolist():
            if way == CONTROL:
                chosen = draw.choice(len(all_events), self.events, replace=False).tolist()
                events = [all_events[place] for place in chosen]
            else:
                events = [all_events[place] for place in self._choose(rows_of[person], way, draw, all_events)]
            original, release = self._fitting(person, events)
            originals.append(original)
            releases.append(release)
        fewer = sum(0 < fit < self.k for fit in releases)
        return FewEvents(
            way,
            self.tries,
            sum(fit == 1 for fit in originals),
            sum(0 < fit < self.k for fit in originals),
            sum(fit == 1 for fit in releases),
            fewer,
            sum(fit == 0 for fit in releases),
            wilson(fewer, self.tries),
        )

    def _rows_of_people(self) -> tuple[list[list[int]], list[tuple[str, int]]]:
        """Return the places of each person's events among all events, and the table and row of each event."""
        rows_of: list[list[int]] = [[] for _ in range(self.private.people)]
        events: list[tuple[str, int]] = []
        for name, table in self.private.tables.items():
            if not table.has_people:
                for row, person in enumerate(table.persons.tolist()):
                    rows_of[person].append(len(events))
                    events.append((name, row))
        return rows_of, events

    def _choose(
        self, rows: Sequence[int], way: str, draw: np.random.Generator, events: Sequence[tuple[str, int]]
    ) -> list[int]:
        """Return the places of the events of a person that are known."""
        shuffled: list[int] = draw.permutation(np.array(rows)).tolist()
        if way == WAYS[0]:
            return shuffled[: self.events]
        found: list[int] = sorted(shuffled, key=lambda place: self._times(*events[place]))
        return found[: self.events]

    def _times(self, name: str, row: int) -> int:
        """Return how many rows at the most are like one in its rarest column."""
        table = self.private.tables[name]
        found = [
            int(starts[table.codes[column][row] + 1] - starts[table.codes[column][row]])
            for column, (_, starts) in table.by_code.items()
        ]
        return min(found, default=0)

    def _fitting(self, person: int, events: Sequence[tuple[str, int]]) -> tuple[int, int]:
        """Return how many people fit in the private tables, and could fit in the release."""
        people = next((name for name, table in self.private.tables.items() if table.has_people), None)
        rows: list[tuple[str, int]] = []
        if people is not None:
            own = np.flatnonzero(self.private.tables[people].persons == person)
            rows = [(people, int(own[0]))] if len(own) else []
        number = len(rows)
        bare = number + self.events - self.knows.undated_together  # what comes later is known without its time
        known = list(enumerate((*rows, *events)))
        exact = [(name, self._codes(name, row, exact=True, timeless=place >= bare)) for place, (name, row) in known]
        covered = [(name, self._codes(name, row, exact=False, timeless=place >= bare)) for place, (name, row) in known]
        among = self._with_number(person) if self.knows.number else (None, None)
        found = [
            tables.fitting([allowed for _, allowed in known[:number]], known[number:], people, some)
            for tables, known, some in zip((self.private, self.released), (exact, covered), among, strict=True)
        ]
        return found[0], found[1]

    def _with_number(self, person: int) -> tuple[IntArray, IntArray]:
        """Return who has as many events as a person, and who is released with no more."""
        mine = self.private.numbers()
        own = {name: numbers[person] for name, numbers in mine.items()}
        same = np.all([numbers == own[name] for name, numbers in mine.items()], axis=0)
        fewer = np.all([numbers <= own[name] for name, numbers in self.released.numbers().items()], axis=0)
        return np.flatnonzero(same), np.flatnonzero(fewer)

    def _codes(self, name: str, row: int, *, exact: bool, timeless: bool) -> dict[str, IntArray]:
        """Return the codes that each column may have; one of time any, if the event is ``timeless``."""
        table = self.private.tables[name]
        hidden = self.knows.time if timeless else ()
        values = {column: int(own[row]) for column, own in table.codes.items() if f"{name}.{column}" not in hidden}
        if exact:
            return {column: np.array([value]) for column, value in values.items()}
        return {column: self.meanings[name][column][value] for column, value in values.items()}
