"""Inference: how well somebody guesses the sensitive value of a person whose quasi cells are known, with the release.

A naive Bayes learner is trained on the released rows; a label counts in equal parts for the values that it covers. It
guesses about the people who are in the release. The same learner, trained on other people whose cells are blurred as
the release blurs them, is the control: what it guesses follows from what holds for people in general. The most
frequent value is the baseline.

Source: the three attacks, main, baseline and control, are those of Giomi et al., A unified framework for quantifying
privacy risk in synthetic data, PoPETs 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.attacks.attack import (
    CONTROL,
    ORIGINAL,
    Attack,
    InapplicableError,
    OtherTable,
    option,
)
from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.known_cells import (
    CodedRows,
    LearnedRelease,
    count_pairs,
    coverages_of,
    fitting_rows,
    guessable,
    people_of,
    with_shared_texts,
)
from indistinct.attacks.guessing.naive_bayes import LabelSpread, NaiveBayes
from indistinct.attacks.joint_rows import attack_each_table
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import IntArray
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, TWO_TABLES, Form

FOLDS = 10
"""The parts of the private table, without other people: each is guessed about by what the others teach."""
MOST_PEOPLE = 50_000
"""The most people about whom it is guessed; of more some are drawn."""
MOST_VALUES = 1_000
"""A sensitive column with more different values is not guessed."""
MOST_ENTRIES = 20_000_000
"""Labels or ranks times values, beyond which a known column is left out."""
SEED = 1
DIVIDED = (
    "the control was trained on other people of the same table, who may share a group with whom it guesses about; "
    "people who are not in the release at all make a stronger one"
)


@dataclass(frozen=True, slots=True)
class InferenceReport(GuessReport):
    """How often a learner guesses sensitive values right: trained on the release, and on other people."""

    attack: ClassVar[str] = "inference"
    main: ClassVar[str] = "a learner that was trained on the release is"
    control: ClassVar[str] = "one that was trained on other people"
    assumed: ClassVar[tuple[str, ...]] = (
        "somebody's quasi cells as they were, and that she is in the release",
        "the policy's hierarchies, and which values each column has",
    )
    usual_advice: ClassVar[tuple[str, ...]] = (
        "ask for t-closeness or beta-likeness of the sensitive column, which bound what a group adds to what is known",
        "take a larger k, or coarser levels of the columns that go with the value",
    )
    scope: ClassVar[str] = (
        "A simple learner guessed; a better one, or one who knows more columns, may guess better. What holds for "
        "people in general can be learned from any table, and is not held against this one."
    )


@dataclass(frozen=True, slots=True)
class Inference(Attack):
    """Show how well sensitive values are guessed from the release, and how well from other people."""

    name: ClassVar[str] = "inference"
    title: ClassVar[str] = "Guessing sensitive values by a learner"
    meaning: ClassVar[str] = "rows of people who are in the release are guessed better than rows of people who are not"
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    takes: ClassVar[tuple[OtherTable, ...]] = (CONTROL,)
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES, LINKED_TABLES)
    roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    known: Sequence[str] | None = option(
        None, "A column that is known of people. Else all quasi ones.", metavar="COLUMN", is_several=True
    )

    def attack(self, target: Target) -> InferenceReport:
        """Train learners on the release and on other people, and count whose values they guess."""
        return attack_each_table(self._guess, target, InferenceReport.of_tables, "sensitive")

    def _guess(self, target: Target) -> InferenceReport:
        policy = target.policy
        columns = list(policy.quasi if self.known is None else self.known)
        sensitive, notes = guessable(policy, columns)
        learned = LearnedRelease.read(target.release, columns, sensitive)
        people = [people_of(target.original, policy, [*columns, *sensitive], "original", **target.reading)]
        if target.control is not None:
            people.append(people_of(target.control, policy, [*columns, *sensitive], "control", **target.reading))
        *people, values = with_shared_texts([*with_shared_texts(people, columns), learned.values], sensitive)
        learned = learned.with_values(values)
        coverages = coverages_of(policy, learned.known, people[0], columns)
        inside = people[0].only(fitting_rows(learned.known, people[0], coverages, columns) > 0)
        if not inside.rows:
            raise InapplicableError("original: nobody of this table fits a row of the release; was it made of another?")
        guesses, controls = [], _Control.all_of(inside, people[1:])
        is_asked = np.any([control.asked > 0 for control in controls], axis=0)
        inside, controls = inside.only(is_asked), [replace(one, asked=one.asked[is_asked]) for one in controls]
        for name in sensitive:
            number = len(inside.texts[name])
            if number > MOST_VALUES:
                notes.append(f"{name}: has more than {MOST_VALUES:,} values, too many to guess")
                continue
            taught = {
                column: _Taught(LabelSpread.of(coverage), coverage.ranks, learned.beside(column, name))
                for column, coverage in zip(columns, coverages, strict=True)
                if max(len(coverage.covered), coverage.number) * number <= MOST_ENTRIES
            }
            notes += [f"{column}: too many values for {name}, left out" for column in columns if column not in taught]
            guesses.append(_Guesser(name, taught, learned.shares(name)).guess(inside, controls))
        notes += [] if target.control is not None else [DIVIDED]
        return InferenceReport(tuple(guesses), (*people_notes(policy), *notes))


def inference(
    release: Any,
    policy: OnePolicy,
    original: Any,
    *,
    control: Any = None,
    known: Sequence[str] | None = None,
    **reading: Any,
) -> InferenceReport:
    """Return how often sensitive values are guessed right from a release, and how often from other people.

    ``release`` is a Release, a release folder, ``{"quasi": …, "sensitive": …}`` or a released table of any kind.
    ``original`` is the private table; it says who is in the release, and whether a guess was right. ``control`` is a
    table of people who are not in the release; without it the original is divided, and a learner guesses about each
    part that was trained on the others. Then whoever shares a group with somebody teaches the control, too, so that
    what a whole group has in common is not held against the release. ``known`` names the columns that are known of
    people, else all quasi columns. ``reading`` goes to the engine. Draws have a fixed seed.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"room": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> rooms = [str(row // 2) for row in range(80)]
    >>> table = pa.table({"room": rooms, "ill": [["flu", "gout"][int(room) % 7 % 2] for room in rooms]})
    >>> inference(table, policy, table).guesses[0].right
    80
    """
    target = Inference.target_of(release, policy, original=original, control=control, **reading)
    return Inference(known).attack(target)


@dataclass(frozen=True, slots=True)
class _Taught:
    """What the release teaches of one known column."""

    spread: LabelSpread
    ranks: IntArray
    """The rank of each value."""
    rows: FloatArray
    """(labels, values): the released rows."""

    def of_people(self, people: IntArray) -> FloatArray:
        """Return (labels, values) of other people (ranks, values), with the labels that the release has for them."""
        return self.spread.gather(people.astype(float), self.rows.sum(axis=1))


@dataclass(frozen=True, slots=True)
class _Control:
    """People who teach a learner, and whom it then guesses about."""

    asked: IntArray
    """How many of each of the distinct people in the release it is asked about."""
    teachers: CodedRows
    absent: CodedRows | None
    """Those of the teachers who do not teach, since it may be asked about them."""

    @classmethod
    def all_of(cls, inside: CodedRows, others: Sequence[CodedRows]) -> list[_Control]:
        """Return one that other people teach, or one for each part of the people in the release, taught by the rest."""
        draw = np.random.default_rng(SEED)
        share = min(1.0, MOST_PEOPLE / inside.rows)
        folds = [inside.counts] if others else list(draw.multinomial(inside.counts, np.full(FOLDS, 1 / FOLDS)).T)
        controls = []
        for fold in folds:
            asked = fold if share == 1 else draw.binomial(fold, share)
            some = np.flatnonzero(fold)
            absent = None if others else inside.only(some, fold[some])
            controls.append(cls(asked, others[0] if others else inside, absent))
        return controls


def _sum_teachers(controls: Sequence[_Control], count: Callable[[CodedRows], IntArray]) -> Iterator[IntArray]:
    """Return what each control's teachers add up to; all controls have the same teachers but for some."""
    whole = count(controls[0].teachers)
    for control in controls:
        yield whole if control.absent is None else whole - count(control.absent)


@dataclass(frozen=True, slots=True)
class _Guesser:
    """Trains learners for one sensitive column, and counts whose value they guess."""

    column: str
    taught: Mapping[str, _Taught]
    shares: FloatArray
    """The released rows of each value."""

    def guess(self, inside: CodedRows, controls: Sequence[_Control]) -> Guess:
        """Guess about the people in the release, by the release and by others."""
        ranks = {name: taught.ranks[inside.codes[name]] for name, taught in self.taught.items()}
        truth = inside.codes[self.column]
        learner = self._train({name: taught.rows for name, taught in self.taught.items()}, self.shares)
        is_right = learner.guess(list(ranks.values()), len(truth)) == truth
        is_mode = truth == int(self.shares.argmax())
        by_others, by_mode = np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)
        shares = _sum_teachers(
            controls, lambda people: np.bincount(people.codes[self.column], people.counts, len(self.shares))
        )
        tables = {name: list(self._teach(name, controls)) for name in self.taught}
        for place, (control, own_shares) in enumerate(zip(controls, shares, strict=True)):
            weights, some = control.asked[control.asked > 0], np.flatnonzero(control.asked)
            own = {name: table[place] for name, table in tables.items()}
            taught_by_others = self._train(own, own_shares.astype(np.float64))
            is_too = taught_by_others.guess([rank[some] for rank in ranks.values()], len(some)) == truth[some]
            for table, is_other in ((by_others, is_too), (by_mode, is_mode[some])):
                np.add.at(table, (is_right[some].astype(int), is_other.astype(int)), weights)
        return Guess.of_pairs(self.column, by_others, by_mode)

    def _teach(self, name: str, controls: Sequence[_Control]) -> Iterator[FloatArray]:
        """Return (labels, values) of a known column that the teachers of each control have."""
        taught = self.taught[name]
        shape = (len(taught.spread.widths), len(self.shares))

        def count(people: CodedRows) -> IntArray:
            table: IntArray = count_pairs(
                taught.ranks[people.codes[name]], people.codes[self.column], people.counts, shape
            )
            return table

        return map(taught.of_people, _sum_teachers(controls, count))

    def _train(self, rows: Mapping[str, FloatArray], values: FloatArray) -> NaiveBayes:
        return NaiveBayes.train(values, [taught.spread.spread(rows[name]) for name, taught in self.taught.items()])
