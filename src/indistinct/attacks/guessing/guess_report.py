"""GuessReport: how often an attack that guesses is right, how often its control is, and what lies between them.

A guess can be right without the release: most people have the frequent values, and what holds for many holds for those
in the table as well. So each attack comes with a control that lacks what the release tells of its own people. The
difference between both, with its interval, is what the release adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from indistinct.array_types import IntArray
from indistinct.attacks.attack import InapplicableError
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.guessing.rates import Interval, paired_difference, wilson
from indistinct.showing.fields import as_json
from indistinct.showing.numbers import percent
from indistinct.showing.words import counted

OF_ROWS = "rows of linked tables are looked at one by one, each with the cells of the rows that it belongs to"
MATTERS = 0.01
"""A difference of rates that is surely above this is held against a release: one guess in a hundred."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How often guesses about one thing were right: counts, and no cell."""

    also: ClassVar[tuple[str, ...]] = (
        "rate",
        "rate_interval",
        "control",
        "control_interval",
        "baseline",
        "difference",
        "is_found",
    )

    what: str
    """The column whose value was guessed, or what else was tried."""
    people: int
    """The people about whom it was guessed, or how often it was tried."""
    right: int
    control_people: int
    control_right: int
    interval: Interval
    """The 95 % interval of the difference between the rate and that of the control."""
    baseline_right: int | None = None
    """How often whoever knows only the shares of all values is right, of ``people``; None where there are none."""
    baseline_interval: Interval | None = None
    """The interval of the difference between the rate and that of the baseline."""

    @classmethod
    def of_pairs(cls, what: str, by_control: IntArray, by_baseline: IntArray | None = None) -> Guess:
        """Count guesses about the same people, by whether the guess was right (rows), and the other (columns)."""
        people, right = int(by_control.sum()), int(by_control[1].sum())
        found = cls(what, people, right, people, int(by_control[:, 1].sum()), _interval(by_control))
        if by_baseline is None:
            return found
        return replace(found, baseline_right=int(by_baseline[:, 1].sum()), baseline_interval=_interval(by_baseline))

    @property
    def rate(self) -> float:
        """The share of right guesses."""
        return self.right / self.people if self.people else 0.0

    @property
    def control(self) -> float:
        """The share of right guesses of the control."""
        return self.control_right / self.control_people if self.control_people else 0.0

    @property
    def baseline(self) -> float | None:
        """The share of right guesses by shares alone."""
        return None if self.baseline_right is None else self.baseline_right / max(1, self.people)

    @property
    def difference(self) -> float:
        """By how much the rate is above that of the control."""
        return self.rate - self.control

    @property
    def is_found(self) -> bool:
        """The attack is better than its control and its baseline, not by chance, and by more than a hundredth."""
        return self.people > 0 and self.surely > MATTERS

    @property
    def surely(self) -> float:
        """The least difference from control and baseline that is within both intervals."""
        return min(self.interval[0], self.interval[0] if self.baseline_interval is None else self.baseline_interval[0])

    @property
    def rate_interval(self) -> Interval:
        """The 95 % interval of the rate."""
        return wilson(self.right, self.people)

    @property
    def control_interval(self) -> Interval:
        """The 95 % interval of the rate of the control."""
        return wilson(self.control_right, self.control_people)

    def to_dict(self) -> dict[str, Any]:
        """Return the rates as JSON takes them."""
        found: dict[str, Any] = as_json(self)
        return found

    def sentence(self, main: str, control: str) -> str:
        """Say in English how often it was right; ``main`` and ``control`` say who guessed."""
        low, high = self.interval
        said = (
            f"{self.what}: {main} right for {percent(self.rate)} of {counted(self.people, 'guess', 'guesses')}, "
            f"{control} for {percent(self.control)}; difference {points(self.difference)} "
            f"({points(low)} to {points(high)})"
        )
        return said if self.baseline is None else f"{said}; the most frequent value for {percent(self.baseline)}"


def _interval(pairs: IntArray) -> Interval:
    """Return the interval of the difference between two guesses about the same people."""
    return paired_difference(int(pairs[1, 1]), int(pairs[1, 0]), int(pairs[0, 1]), int(pairs[0, 0]))


def points(share: float) -> str:
    """Return a difference of rates in points of per cent.

    >>> points(0.1234), points(-0.0004)
    ('+12.3', '-0.0')
    """
    return f"{100 * share:+.1f}"


@dataclass(frozen=True, slots=True)
class GuessReport(AttackReport):
    """What an attack that guesses found: rates of the attack and of its control, and no cell of any table."""

    also: ClassVar[tuple[str, ...]] = ("attack", "main", "control", "assumed")
    main: ClassVar[str]
    """Who guesses."""
    control: ClassVar[str]
    """Who guesses without what the release tells of its people."""
    assumed: ClassVar[tuple[str, ...]]
    """What whoever guesses is assumed to know."""

    guesses: tuple[Guess, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of_tables(cls, reports: Mapping[str, Self]) -> Self:
        """Return what was guessed about the rows of each of linked tables as one report, each column once."""
        if not reports:
            raise InapplicableError("none of the tables has quasi columns, or belongs to rows that do")
        guesses = [
            guess if guess.what.startswith(f"{name}.") else replace(guess, what=f"{name}: {guess.what}")
            for name, report in reports.items()
            for guess in report.guesses
            if guess.what.partition(".")[0] not in set(reports) - {name}
        ]
        notes = dict.fromkeys(note for report in reports.values() for note in report.notes)
        return cls(tuple(guesses), (OF_ROWS, *notes))

    @property
    def found(self) -> tuple[Guess, ...]:
        """The guesses that are better than their control."""
        return tuple(guess for guess in self.guesses if guess.is_found)

    @property
    def worst(self) -> Guess | None:
        """The guess that is the most above its control; None if there was none."""
        return max(self.guesses, key=lambda guess: guess.surely, default=None)

    @property
    def sentences(self) -> list[str]:
        """Each rate beside that of its control, in English; those first that are the most above it."""
        ordered = sorted(self.guesses, key=lambda guess: -guess.surely)
        return [guess.sentence(self.main, self.control) for guess in ordered]

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.guesses:
            return "nothing could be guessed"
        if not self.found:
            is_more = self.worst is not None and self.worst.interval[0] > 0
            return f"{self.main} right {'hardly more' if is_more else 'no more'} often than {self.control}"
        worst = max(self.found, key=lambda guess: guess.surely)
        return (
            f"{self.main} right about {worst.what} {percent(worst.rate)} of the time, {self.control} "
            f"{percent(worst.control)}"
        )

    @property
    def severity(self) -> Severity:
        """Something, if a guess is better than its control."""
        return "something" if self.found else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """How often each guess is right."""
        figures: dict[str, float] = {}
        for guess in self.guesses:
            figures |= {
                f"{guess.what}: guesses": guess.people,
                f"{guess.what}: right": guess.right,
                f"{guess.what}: right by the control": guess.control_right,
            }
        return figures

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What whoever guesses is assumed to know."""
        return self.assumed

    def tables(self) -> list[ReportTable]:
        """Return the rates of each guess beside those of its control."""
        rows = []
        for guess in self.guesses:
            baseline = "" if guess.baseline is None else percent(guess.baseline)
            rates = (percent(guess.rate), percent(guess.control), baseline)
            rows.append((guess.what, guess.people, *rates, *map(points, (guess.difference, *guess.interval))))
        heads = ("", "guesses", "right", "control", "most frequent", "difference", "from", "to")
        return [ReportTable(f"Guessing: {self.attack}", heads, rows)] if rows else []
