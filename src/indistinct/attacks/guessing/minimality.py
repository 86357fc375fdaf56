"""Minimality: what follows about sensitive values from why a group was not divided.

An algorithm that looks at sensitive values generalizes no more than it must. So where a group could have been released
as several smaller ones, some of those would have failed: too many of their people have the same value. Whoever knows
the quasi cells of people counts only the ways of handing out the values of a group to its people in which that is so,
and some values become likelier for some people than their share of the group.

A world hands the sensitive rows of a group out to its people. Before anything is concluded all worlds are as likely as
each other. Of a local release the worlds stay in which some part fails by every column by which the group could have
been divided. A full-domain release divides all groups by a column or none; there a world of one group counts as much as
it is likely that, with it, more rows fail in the whole table than may be suppressed.

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import FloatArray
from indistinct.attacks.attack import ORIGINAL, Attack, InapplicableError, OtherTable
from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.known_cells import (
    CodedRows,
    cells_of,
    coverages_of,
    people_of,
    with_shared_texts,
)
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import Groups, IntArray, Tally
from indistinct.errors import PolicyError
from indistinct.linkage import Coverage, climbed_labels, count_candidates, distinct_tuples, members_of
from indistinct.policy import Policy

BLIND = "no model asks about sensitive values, so the search saw none, and nothing follows from what it chose"
WORLDS = 1_000
"""A group with no more worlds is counted exactly; of others this number is drawn."""
MOST_GROUPS = 300
"""The most groups that are attacked; of more some are drawn."""
MOST_LOOKED_AT = 3_000
"""The groups of which it is looked up who fits them: those that fewest people fit."""
LARGEST = 400
"""Groups of more people are not attacked: nothing can follow about any of them."""
SEED = 1
FIRMER = 0.01
"""A belief that is above the share of the group by more than this is raised."""


@dataclass(frozen=True, slots=True)
class MinimalityReport(GuessReport):
    """How often values are guessed right by why groups were not divided, and by their shares of a group."""

    attack: ClassVar[str] = "minimality"
    main: ClassVar[str] = "whoever knows why groups were not divided is"
    control: ClassVar[str] = "whoever knows only the shares of each group"
    assumed: ClassVar[tuple[str, ...]] = (
        "the quasi cells of everybody in the release as they were",
        "the policy, and that no group could have been divided by one column without breaking it",
    )
    usual_advice: ClassVar[tuple[str, ...]] = (
        "ask for models that do not look at sensitive values, so that the search is blind",
        "or draw the release: differential-privacy, or anatomy, whose classes are random",
    )
    scope: ClassVar[str] = (
        "Groups were attacked one by one, of which it is known who is in them, by columns whose labels stand in the "
        "hierarchy. Other rules of an algorithm, and what several groups tell together, may tell more."
    )

    groups: int = 0
    """Groups that were attacked."""
    raised: int = 0
    """People of whom some value is believed more firmly than its share of the group says."""
    highest: float = 0.0
    """The firmest of these beliefs."""


@dataclass(frozen=True, slots=True)
class Minimality(Attack):
    """Show what follows about sensitive values from why groups were not divided."""

    name: ClassVar[str] = "minimality"
    title: ClassVar[str] = "Guessing by why groups were not divided"
    meaning: ClassVar[str] = "whoever knows the policy concludes, from what was not released, which values people have"
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    @classmethod
    def why_not(cls, target: Target) -> str | None:
        """Say why it does not apply: a search that saw no sensitive value tells nothing of them."""
        return super(Minimality, cls).why_not(target) or (None if target.policy.asked_sensitive else BLIND)

    def attack(self, target: Target) -> MinimalityReport:
        """Work out what follows about the people of each group of which it is known who is in it."""
        policy = target.policy
        found = UndividedGroups.read(target)
        guesses, raised, highest = [], 0, 0.0
        for name in policy.asked_sensitive:
            outcome = found.guess(name)
            guesses += [outcome.guess] if outcome.guess.people else []
            raised, highest = max(raised, outcome.raised), max(highest, outcome.highest)
        notes = (*people_notes(policy), *found.notes)
        return MinimalityReport(tuple(guesses), notes, len(found.groups), raised, highest)


def minimality(release: Any, policy: OnePolicy, original: Any, **reading: Any) -> MinimalityReport:
    """Return how often sensitive values follow from why groups were not divided.

    ``release`` is a Release, a release folder or a released table of any kind, ``original`` the private table: its
    quasi cells are known to whoever attacks, its sensitive cells say who is right. ``reading`` goes to the engine.

    Here two people have q1 and five q2. Had one of the two been without HIV, q1 would not have been generalized:

    >>> import pyarrow as pa
    >>> from indistinct import AlphaK, Policy, quasi, sensitive, suppress
    >>> policy = Policy(columns={"q": quasi(suppress()), "ill": sensitive()}, privacy=[AlphaK(0.5, 2)])
    >>> private = pa.table({"q": ["q1"] * 2 + ["q2"] * 5, "ill": ["HIV"] * 2 + ["flu", "gout", "rash", "cold", "burn"]})
    >>> released = pa.table({"q": ["*"] * 7, "ill": private["ill"]})
    >>> report = minimality(released, policy, private)
    >>> report.highest, report.raised
    (1.0, 7)
    """
    return Minimality().attack(Minimality.target_of(release, policy, original=original, **reading))


@dataclass(frozen=True, slots=True)
class GuessedColumn:
    """What was guessed about one sensitive column."""

    guess: Guess
    raised: int
    highest: float


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """A released group, and the people in it."""

    people: IntArray
    """For each of its people the number of their distinct cells among those of the original."""
    values: IntArray
    """(rows,): the numbers of its sensitive rows among the distinct ones of the release."""
    parts: Mapping[str, IntArray]
    """By each column that could have been lower: the part of each person."""


@dataclass(slots=True)
class UndividedGroups:
    """The groups that can be attacked, and what is believed about the people in them."""

    policy: Policy
    people: CodedRows
    sensitive: CodedRows
    """The distinct sensitive rows of the release."""
    groups: list[KnownGroup]
    notes: list[str]
    is_local: bool
    allowed: int
    """Rows that may be suppressed in place of being generalized."""
    beliefs: list[tuple[KnownGroup, FloatArray]] = field(default_factory=list)
    """Of each group (people, sensitive rows): how likely somebody has a sensitive row."""

    @classmethod
    def read(cls, target: Target) -> UndividedGroups:
        """Find the groups of a release of one table of which it is known who is in them."""
        policy = target.policy
        quasi, asked = list(policy.quasi), list(policy.asked_sensitive)
        if len(policy.quasi_identifiers or {}) > 1 or policy.person_columns:
            raise InapplicableError("this attack takes policies with one quasi-identifier, of people with one row each")
        with target.release.only_rows() as rows:
            if absent := [name for name in (*quasi, *asked) if name not in rows.columns()]:
                raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
            released = cells_of(rows, [*quasi, *asked])
        people = people_of(target.original, policy, [*quasi, *asked], "original", **target.reading)
        released, people = with_shared_texts([released, people], asked)
        labels, group_of = _distinct(released, quasi)
        tuples, tuple_of = _distinct(people, quasi)
        coverages = coverages_of(policy, labels, tuples, quasi)
        said = target.release.said
        is_local = not _is_full_domain(policy, labels, tuples) if said is None else said.node is None
        values, row_of = _distinct(released, asked)
        found = cls(policy, people, values, [], [], is_local, policy.allowed_suppression(people.rows))
        entries = [np.repeat(row_of[own], released.counts[own]) for own in _by_number(group_of, len(labels.counts))]
        found._take(_Fits.of(labels, tuples, coverages, quasi), entries, tuple_of)
        found._believe()
        return found

    def _take(self, fits: _Fits, values: Sequence[IntArray], tuple_of: IntArray) -> None:
        """Keep the groups whose people are known, and that could have been divided; ``values`` are those of each."""
        closed = fits.closed_groups()
        if not self.is_local and len(closed) > MOST_GROUPS:
            self.notes.append(f"{len(closed):,} groups were divided together or not at all: too many to tell of one")
            return
        draw = np.random.default_rng(SEED)
        chosen = np.sort(draw.permutation(list(closed))[:MOST_GROUPS]).tolist()
        climbed = {name: fits.paths_of(self.policy, name) for name in fits.names}
        lots = _by_number(tuple_of, len(fits.tuples.counts))
        for group in chosen:
            members = closed[group]
            cells = np.concatenate([lots[member] for member in members])
            people = np.repeat(cells, self.people.counts[cells])
            parts = fits.parts(group, members, climbed)
            by_person = {name: part[np.searchsorted(members, tuple_of[people])] for name, part in parts.items()}
            if by_person or not self.is_local:
                self.groups.append(KnownGroup(people, values[group], by_person))
        left_out = len(fits.labels.counts) - len(closed)
        self.notes += [f"{left_out:,} groups were not attacked: who is in them is not known"] if left_out else []
        if len(chosen) < len(closed):
            self.notes.append(f"{len(chosen):,} of {len(closed):,} groups were attacked, drawn at random")

    def _believe(self) -> None:
        """Work out the worlds that are left of each group."""
        draw = np.random.default_rng(SEED)
        is_together = not self.is_local
        is_drawn = is_together and len(self.groups) > 1  # worlds of several groups are put together one by one
        worlds = [_worlds(group.values, draw, is_drawn=is_drawn) for group in self.groups]
        columns = sorted({name for group in self.groups for name in group.parts})
        fails = {
            name: [self._failing(g, w, name) for g, w in zip(self.groups, worlds, strict=True)] for name in columns
        }
        for number, (group, world) in enumerate(zip(self.groups, worlds, strict=True)):
            weights = np.ones(len(world))
            for name in columns:
                if is_together:
                    weights *= _together(fails[name], number, self.allowed)
                elif name in group.parts:
                    weights *= fails[name][number] > 0
            if not group.parts or not weights.any() or (weights == weights[0]).all():
                continue  # nothing follows, or what is assumed is not so
            self.beliefs.append((group, _marginals(world, weights, len(self.sensitive.counts))))

    def _failing(self, group: KnownGroup, worlds: IntArray, name: str) -> IntArray:
        """Return for each world the rows of the parts that fail when a group is divided by a column."""
        if name not in group.parts:
            return np.zeros(len(worlds), np.int64)
        part = group.parts[name]
        number = int(part.max()) + 1
        where = (np.arange(len(worlds))[:, None] * number + part[None, :]).ravel()
        sizes = np.bincount(where, minlength=len(worlds) * number)
        tallies = {}
        for column in self.policy.asked_sensitive:
            texts = self.sensitive.texts[column]
            values = self.sensitive.codes[column][worlds.ravel()]
            compiled = self.policy.columns[column].compile(texts)
            totals = np.bincount(self.sensitive.codes[column], self.sensitive.counts, len(texts)).astype(np.int64)
            hierarchy = compiled if compiled.height > 0 else None
            tallies[column] = Tally.of(where, values, np.ones(len(values), np.int64), texts, hierarchy, totals)
        groups = Groups.of_sizes(sizes, tallies)
        holds = np.ones(len(sizes), np.bool_)
        for model in self.policy.models_of_groups:
            if not model.asks_population:
                holds &= model.satisfied(groups)
        failing: IntArray = np.where(holds, 0, sizes).reshape(len(worlds), number).sum(axis=1)
        return failing

    def guess(self, name: str) -> GuessedColumn:
        """Guess a column of everybody in an attacked group, by what is believed and by the shares of the group."""
        of_row = self.sensitive.codes[name]
        number = len(self.sensitive.texts[name])
        counts = np.zeros((2, 2), np.int64)
        raised, highest = 0, 0.0
        for group, rows in self.beliefs:
            beliefs = np.zeros((len(rows), number))
            np.add.at(beliefs.T, of_row, rows.T)
            shares = np.bincount(of_row[group.values], minlength=number) / len(group.values)
            order = np.argsort(-shares, kind="stable")
            guessed = order[np.round(beliefs[:, order], 6).argmax(axis=1)]
            truth = self.people.codes[name][group.people]
            np.add.at(counts, ((guessed == truth).astype(int), (order[0] == truth).astype(int)), 1)
            firmer = (beliefs - shares[None, :]).max(axis=1) > FIRMER
            raised += int(firmer.sum())
            highest = max(highest, float(beliefs[firmer].max(initial=0.0)))
        return GuessedColumn(Guess.of_pairs(name, counts), raised, highest)


@dataclass(frozen=True, slots=True)
class _Fits:
    """Which people fit which groups."""

    names: Sequence[str]
    labels: CodedRows
    """The groups, by their labels."""
    tuples: CodedRows
    """The distinct quasi cells of people."""
    coverages: Sequence[Coverage]
    people: IntArray
    """How many people fit each group."""

    @classmethod
    def of(cls, labels: CodedRows, tuples: CodedRows, coverages: Sequence[Coverage], names: Sequence[str]) -> _Fits:
        found = count_candidates(labels.counts_by(names), tuples.counts_by(names), coverages)
        return cls(names, labels, tuples, coverages, found.people)

    def closed_groups(self) -> dict[int, IntArray]:
        """Return the groups whose people are known, with their distinct people, ascending.

        If no more people fit a group than it has rows, all of them are in it, and in no other: those that are placed
        this way fit no further group. Small groups come first.
        """
        sizes, is_placed = self.labels.counts, np.zeros(len(self.tuples.counts), np.bool_)
        found = {}
        for group in np.argsort(self.people, kind="stable")[:MOST_LOOKED_AT].tolist():
            if sizes[group] > LARGEST:
                continue
            members = self.members(group)
            members = members[~is_placed[members]]
            if self.tuples.counts[members].sum() == sizes[group]:
                is_placed[members] = True
                found[group] = members
        return {group: members for group, members in found.items() if sizes[group] > 1}

    def members(self, group: int) -> IntArray:
        """Return the distinct people who fit a group, ascending; some may be placed in another."""
        labels = [int(self.labels.codes[name][group]) for name in self.names]
        return members_of(labels, self.tuples.counts_by(self.names), self.coverages)

    def paths_of(self, policy: Policy, name: str) -> list[list[str | None] | None]:
        """Return the labels of each value of a column."""
        texts = self.tuples.texts[name]
        return climbed_labels(policy.columns[name].hierarchy, texts, texts)

    def parts(self, group: int, members: IntArray, climbed: Mapping[str, Any]) -> dict[str, IntArray]:
        """Return by each column that could have been one level lower the part of each member, if there are several."""
        found = {}
        for name in self.names:
            label = self.labels.texts[name][int(self.labels.codes[name][group])]
            paths = [climbed[name][int(code)] for code in self.tuples.codes[name][members]]
            if label is None or any(path is None for path in paths):
                continue
            levels = range(1, len(paths[0]))
            level = next((one for one in levels if all(path[one] == label for path in paths)), None)
            below = [] if level is None else [path[level - 1] for path in paths]
            numbers = {text: number for number, text in enumerate(dict.fromkeys(below))}
            if len(numbers) > 1:
                found[name] = np.array([numbers[text] for text in below], np.int64)
        return found


def _worlds(values: IntArray, draw: np.random.Generator, *, is_drawn: bool) -> IntArray:
    """Return ways (worlds, rows) of handing out values to as many people: all, or some that are drawn."""
    counts = np.unique(values, return_counts=True)[1]
    number = math.factorial(len(values)) if len(values) <= 20 else 0
    for count in counts.tolist():
        number //= math.factorial(count)
    if is_drawn or not 0 < number <= WORLDS:
        return draw.permuted(np.repeat(values[None, :], WORLDS, axis=0), axis=1)
    return np.array(list(_arrangements(sorted(values.tolist()))), np.int64)


def _arrangements(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return every different order of some values."""
    if not values:
        yield ()
    for place, value in enumerate(values):
        if place == 0 or value != values[place - 1]:
            for rest in _arrangements([*values[:place], *values[place + 1 :]]):
                yield (value, *rest)


def _together(fails: Sequence[IntArray], own: int, allowed: int) -> FloatArray:
    """Return for each world of a group how likely more rows fail than are allowed, with what fails in all others."""
    others = np.sort(sum(fails) - fails[own])
    needed = allowed - fails[own]
    return 1 - np.searchsorted(others, needed, "right") / len(others)


def _marginals(worlds: IntArray, weights: FloatArray, number: int) -> FloatArray:
    """Return (people, sensitive rows): how likely each has each, by worlds of these weights."""
    people = worlds.shape[1]
    where = np.arange(people)[None, :] * number + worlds
    found: FloatArray = np.bincount(where.ravel(), np.repeat(weights, people), people * number).astype(np.float64)
    found /= weights.sum()
    return found.reshape(people, number)


def _distinct(cells: CodedRows, names: Sequence[str]) -> tuple[CodedRows, IntArray]:
    """Return the distinct rows by some columns, and which of them each row is."""
    first, which = distinct_tuples([cells.codes[name] for name in names], len(cells.counts))
    counts = np.bincount(which, cells.counts, len(first)).astype(np.int64)
    codes = {name: cells.codes[name][first] for name in names}
    return CodedRows({name: cells.texts[name] for name in names}, codes, counts), which


def _by_number(numbers: IntArray, most: int) -> list[NDArray[np.int64]]:
    """Return the places of each number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(numbers, minlength=most))[:-1])


def _is_full_domain(policy: Policy, labels: CodedRows, tuples: CodedRows) -> bool:
    """Return whether each column of a table without a manifest has labels of one level."""
    for name in labels.texts:
        paths = climbed_labels(policy.columns[name].hierarchy, tuples.texts[name], tuples.texts[name])
        known = [path for path in paths if path is not None]
        height = len(known[0]) if known else 0
        used = {labels.texts[name][code] for code in labels.codes[name]} - {None}
        if not any(used <= {path[level] for path in known} for level in range(height)):
            return False
    return True
