"""deFinetti: which sensitive value of its class belongs to whom, by what all classes of two tables say together.

A release of two tables publishes quasi cells as they are, and the sensitive values of each class apart. Within a class
every assignment looks as likely as any other. But the classes together tell which cells go with which values, and that
tells which assignments are likelier: whoever smokes rather has the bronchitis of the class. A naive Bayes learner is
trained on all possible pairs, assignments are weighted by it, it is trained on those, and so on.

Source: Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009. He draws assignments; here their expected values
are scaled until every row has one value and every value its number of rows (Sinkhorn).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.attacks.attack import ORIGINAL, Attack, OtherTable
from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.known_cells import (
    CodedRows,
    LearnedRelease,
    count_pairs,
    guessable,
    people_of,
    with_shared_texts,
)
from indistinct.attacks.guessing.naive_bayes import NaiveBayes
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import IntArray
from indistinct.linkage import number_tuples
from indistinct.recoding.classes import LINK
from indistinct.release.forms import TWO_TABLES, Form

ROUNDS = 25
"""How often the learner is trained anew."""
SCALINGS = 15
"""How often assignments are scaled in a round."""
MOST_PAIRS = 40_000_000
"""Rows of the quasi table times values of their class, beyond which a release is not attacked."""


@dataclass(frozen=True, slots=True)
class DeFinettiReport(GuessReport):
    """How often the value of a row of the quasi table is guessed right, by patterns and by shares of its class."""

    attack: ClassVar[str] = "definetti"
    main: ClassVar[str] = "whoever learns from all classes is"
    control: ClassVar[str] = "whoever takes the most frequent value of the class"
    assumed: ClassVar[tuple[str, ...]] = ("nothing but both tables of the release",)
    usual_advice: ClassVar[tuple[str, ...]] = (
        "take larger classes, or ask for t-closeness, so that classes differ less from each other",
        "or release one generalized table, in which fewer cells go with values",
    )
    scope: ClassVar[str] = (
        "A simple learner was trained on the classes. Rows were counted whose quasi cells have one value in the "
        "private table; a better learner, or one who knows other people as well, may guess better."
    )


@dataclass(frozen=True, slots=True)
class DeFinetti(Attack):
    """Show how well the values of a class are given to its rows by what all classes of two tables say together."""

    name: ClassVar[str] = "definetti"
    title: ClassVar[str] = "Guessing by what all classes say together"
    meaning: ClassVar[str] = (
        "which of the values of a class somebody has can be guessed from what goes with what in all classes"
    )
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    forms: ClassVar[tuple[Form, ...]] = (TWO_TABLES,)
    roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    def attack(self, target: Target) -> DeFinettiReport:
        """Train a learner on all classes, and count whose values it guesses."""
        policy = target.policy
        columns = list(policy.quasi)
        sensitive, notes = guessable(policy, columns)
        learned = LearnedRelease.read(target.release, columns, sensitive)
        people = people_of(target.original, policy, [*columns, *sensitive], "original", **target.reading)
        people, values = with_shared_texts([people, learned.values], sensitive)
        people, known = with_shared_texts([people, learned.known], columns)
        learned = LearnedRelease(known, values, is_apart=True)
        guesses = []
        for name in sensitive:
            truth = _truth(people, known, columns, name)
            pairs = _ClassPairs.of(learned, name)
            if len(pairs.rows) * len(columns) > MOST_PAIRS:
                notes.append(f"{name}: the classes are too large to be attacked")
                continue
            guessed, likeliest = pairs.guess(columns)
            is_known = truth >= 0
            weights = known.counts
            counts = np.zeros((2, 2), np.int64)
            both = ((guessed == truth)[is_known].astype(int), (likeliest == truth)[is_known].astype(int))
            np.add.at(counts, both, weights[is_known])
            if left := int(weights[~is_known].sum()):
                notes.append(
                    f"{name}: {left:,} rows were not counted, whose quasi cells have several values in the original"
                )
            if counts.any():
                guesses.append(Guess.of_pairs(name, counts))
        return DeFinettiReport(tuple(guesses), (*people_notes(policy), *notes))


def definetti(release: Any, policy: OnePolicy, original: Any, **reading: Any) -> DeFinettiReport:
    """Return how often the sensitive value of a row of the quasi table is guessed right from both tables.

    ``release`` is a Release of two tables, its folder, or ``{"quasi": …, "sensitive": …}``; ``original`` is the private
    table, which says who is right. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import Anatomy, LDiversity, Policy, quasi, sensitive, anonymize
    >>> policy = Policy(columns={"smokes": quasi(), "ill": sensitive()}, privacy=[LDiversity(2)])
    >>> illnesses = ["bronchitis", "flu", "bronchitis", "gout"]
    >>> table = pa.table({"smokes": ["yes", "no"] * 40, "ill": illnesses * 20})
    >>> with anonymize(table, policy, algorithm=Anatomy()) as release:
    ...     definetti(release, policy, table).notes
    ('ill: 40 rows were not counted, whose quasi cells have several values in the original',)
    """
    return DeFinetti().attack(DeFinetti.target_of(release, policy, original=original, **reading))


def _truth(people: CodedRows, known: CodedRows, columns: Sequence[str], name: str) -> IntArray:
    """Return the value of each distinct row of the quasi table, -1 where the original has several, or nobody."""
    cells = [np.concatenate([people.codes[column], known.codes[column]]) for column in columns]
    which = number_tuples(cells, len(people.counts) + len(known.counts))
    of_people, of_rows = which[: len(people.counts)], which[len(people.counts) :]
    number = int(which.max()) + 1
    lowest, highest = np.full(number, len(people.texts[name])), np.full(number, -1)
    np.minimum.at(lowest, of_people, people.codes[name])
    np.maximum.at(highest, of_people, people.codes[name])
    return np.where(lowest == highest, highest, -1)[of_rows]


@dataclass(frozen=True, slots=True)
class _ClassPairs:
    """Every distinct row of the quasi table beside every value of its class."""

    learned: LearnedRelease
    rows: IntArray
    values: IntArray
    classes: IntArray
    """The number of the class and value of each pair, for sums over all rows of the class."""
    wanted: FloatArray
    """How many rows of the class have the value of the pair."""
    number: int

    @classmethod
    def of(cls, learned: LearnedRelease, name: str) -> _ClassPairs:
        """Join both tables by class, each value of a class once."""
        (rows, entries), _ = learned.class_pairs()
        value, number = learned.values.codes[name][entries], len(learned.values.texts[name])
        keys, where = np.unique(rows * number + value, return_inverse=True)
        wanted = np.bincount(where, learned.values.counts[entries], len(keys))
        rows, value = np.divmod(keys, number)
        classes = np.unique(learned.known.codes[LINK][rows] * number + value, return_inverse=True)[1]
        return cls(learned, rows, value, np.asarray(classes).ravel(), wanted.astype(np.float64), number)

    def guess(self, columns: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the value that is guessed for each row, and the most frequent one of its class."""
        known = self.learned.known
        counts = known.counts[self.rows].astype(np.float64)
        cells = [known.codes[column] for column in columns]
        sizes = [len(known.texts[column]) for column in columns]
        begun = self._by_row(self.wanted)
        belief = begun
        for _ in range(ROUNDS):
            weights = belief * counts
            shares = np.bincount(self.values, weights, self.number).astype(np.float64)
            tables = [
                count_pairs(own[self.rows], self.values, weights, (size, self.number))
                for own, size in zip(cells, sizes, strict=True)
            ]
            learner = NaiveBayes.train(shares, tables)
            score = sum(given[own[self.rows], self.values] for given, own in zip(learner.given, cells, strict=True))
            before, belief = belief, self._scale(np.asarray(score), counts)
            if np.abs(belief - before).max(initial=0.0) < 1e-6:
                break
        return self._best(belief), self._best(begun)

    def _by_row(self, weights: FloatArray) -> FloatArray:
        """Return weights so that those of each row add up to 1."""
        found: FloatArray = weights / np.bincount(self.rows, weights, len(self.learned.known.counts))[self.rows]
        return found

    def _scale(self, score: FloatArray, counts: FloatArray) -> FloatArray:
        """Return how likely each pair is: every row has one value, every value of a class its number of rows."""
        best = np.full(len(self.learned.known.counts), -np.inf)
        np.maximum.at(best, self.rows, score)
        belief = self._by_row(np.exp(np.maximum(score - best[self.rows], -30.0)) * self.wanted)
        for _ in range(SCALINGS):
            have = np.bincount(self.classes, belief * counts)[self.classes]
            belief = self._by_row(belief * self.wanted / np.maximum(have, 1e-300))
        return belief

    def _best(self, belief: FloatArray) -> IntArray:
        """Return the likeliest value of each row; of equals the first, by a number that has no meaning."""
        order = np.lexsort((self.values, -np.round(belief, 9), self.rows))
        first = np.append(True, self.rows[order][1:] != self.rows[order][:-1])
        found = np.full(len(self.learned.known.counts), -1)
        found[self.rows[order[first]]] = self.values[order[first]]
        return found
