"""The five decisions that matter most for a first policy, each with what it costs, tried on a sample.

Who is the person, which columns others know, which are secrets, what must be kept, how small a group may be. A decision
has numbered ways, and whoever knows better names columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from indistinct.errors import PolicyError
from indistinct.pipeline.suggesting.first_policy import Suggestion, suggested_policy, suggestion
from indistinct.pipeline.weighing import models_of, trial_loss
from indistinct.policy import Column, Policy, identifier
from indistinct.privacy import KAnonymity
from indistinct.profiling import Profile, SaidRoles, profile
from indistinct.progress import Watch
from indistinct.showing.words import counted

Asked = Literal["person", "known", "secret", "kept", "k"]
GROUPS = (3, 5, 10, 20)
"""How small a group may be: what is offered."""
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Way:
    """One way to decide, and the share of the cells that it would lose, on the sample; None where nothing is lost."""

    words: str
    columns: tuple[str, ...] = ()
    number: int = 0
    loss: float | None = None
    has_ranges: bool = False
    """Labels are ranges and sets."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A question, the ways to decide it, the first of which ``init`` takes if nobody is asked, and its columns."""

    asked: Asked
    question: str
    ways: tuple[Way, ...]
    columns: tuple[str, ...]
    rows: int
    """The rows of the sample."""

    def read(self, text: str) -> Way:
        """Return the way that somebody chose: by its place, by names of columns or a size; nothing is the first."""
        said = text.strip()
        if not said:
            return self.ways[0]
        if said.isdecimal() and self.asked == "k" and int(said) not in range(1, len(self.ways) + 1):
            return self.read_size(said)
        if said.isdecimal() and 1 <= int(said) <= len(self.ways):
            return self.ways[int(said) - 1]
        names = tuple(dict.fromkeys(one.strip() for one in said.split(",") if one.strip()))
        unknown = [name for name in names if name not in self.columns]
        if unknown or self.asked == "k":
            number = f"a number from 1 to {len(self.ways)}"
            what = (
                f"{number}, or a size" if self.asked == "k" else f"{number}, or names of columns, with commas between"
            )
            raise PolicyError(f"{', '.join(map(repr, unknown)) or repr(said)} is no answer; give {what}")
        return Way(", ".join(names), names)

    def read_size(self, text: str) -> Way:
        """Return the way that hides people in groups of a size."""
        if not text.strip().isdecimal() or not int(text):
            raise PolicyError(f"{text!r} is no size of a group; give a whole number, such as 5")
        return Way(f"groups of {int(text)}", number=int(text))


@dataclass(frozen=True, slots=True)
class Answers:
    """What was decided; None is what was left to ``init``."""

    person: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    secret: tuple[str, ...] | None = None
    kept: tuple[str, ...] = ()
    has_ranges: bool = False
    k: int = 5
    said: tuple[str, ...] = field(default=(), compare=False)
    """The answers in sentences, for the file."""

    def with_one(self, decision: Decision, way: Way) -> Answers:
        """Return the answers with one more."""
        made = replace(self, said=(*self.said, f"asked: {decision.question} {way.words}"))
        if decision.asked == "k":
            return replace(made, k=way.number)
        if way is decision.ways[0] and decision.asked in ("known", "secret"):
            return made  # as it was guessed, with the reasons
        columns = way.columns
        return replace(
            made,
            person=columns if decision.asked == "person" else self.person,
            known=columns if decision.asked == "known" else self.known,
            secret=columns if decision.asked == "secret" else self.secret,
            kept=columns if decision.asked == "kept" else self.kept,
            has_ranges=self.has_ranges or way.has_ranges,
        )


def policy_by(
    table: Any,
    answers: Answers,
    max_suppression: int | float | None = 0.02,
    *,
    watch: Watch | None = None,
    **reading: Any,
) -> Suggestion:
    """Return the policy that follows from the answers; what leaves is protected as in any other."""
    said = SaidRoles(answers.person, answers.known, answers.secret)
    found = profile(table, answers.k, said=said, watch=watch, **reading)
    return suggestion(found, answers.k, max_suppression, kept=answers.kept, has_ranges=answers.has_ranges, watch=watch)


def five_decisions(found: Profile, k: int = 5, watch: Watch | None = None) -> Iterator[Decision]:
    """Return the five decisions, one after the other, so that each is tried only when it is asked."""
    trial = _CostTrial(found, k, watch or Watch())
    every = tuple(column.name for column in found.columns)
    rows = 0 if found.sample is None else found.sample.num_rows
    for asked, question, ways in (
        ("person", "Whose row is each?", _people),
        ("known", "Which columns may others know of a person?", _known_columns),
        ("secret", "Which columns are secrets that nobody should learn?", _secrets),
        ("kept", "What must be kept as exact as can be?", _kept_columns),
        ("k", "How small may a group be in which a person hides?", _sizes),
    ):
        yield Decision(asked, question, tuple(ways(found, trial)), every, rows)  # type: ignore[arg-type]


class _CostTrial:
    """Makes releases of the sample, and says what share of its cells they lose."""

    def __init__(self, found: Profile, k: int, watch: Watch) -> None:
        self.found, self.k, self.watch = found, k, watch
        self.people = tuple(name for name in (found.person, *found.names) if name)
        self.quasi = tuple(column.name for column in found.with_role("quasi"))
        self.made: dict[object, float | None] = {}

    def loss(
        self,
        quasi: Sequence[str] | None = None,
        people: Sequence[str] | None = None,
        k: int | None = None,
        secrets: Sequence[str] = (),
        has_ranges: bool = False,
    ) -> float | None:
        """Return the share of the cells of all quasi columns that are lost if some are protected; None if unknown."""
        kept, whose = tuple(self.quasi if quasi is None else quasi), tuple(self.people if people is None else people)
        asked = (kept, whose, k or self.k, tuple(secrets), has_ranges)
        if asked not in self.made:
            self.made[asked] = self._try(*asked)
        return self.made[asked]

    def _try(
        self, kept: tuple[str, ...], whose: tuple[str, ...], k: int, secrets: tuple[str, ...], has_ranges: bool
    ) -> float | None:
        sample = self.found.sample
        if sample is None or not kept or any(name not in sample.column_names for name in (*kept, *whose, *secrets)):
            return None
        alone = suggested_policy(self.found, self.k, diverse=False)
        columns = {name: alone.columns[name] if name in kept else Column("other") for name in sample.column_names}
        columns |= {name: Column("sensitive") for name in secrets}
        columns |= {name: identifier() for name in (*self.people, *whose)}
        policy = Policy(
            columns=columns,
            privacy=[KAnonymity(k)],
            max_suppression=0.02,
            algorithm="regroup",
            options={"measure": "loss", "labels": "ranges"} if has_ranges else {"measure": "loss"},
            person=list(whose) or None,
            one_row_per_person=not whose,
        )
        self.watch.report("weigh", len(self.made))
        return trial_loss(sample, policy, models_of(secrets, {}), self.watch) * len(kept) / max(1, len(self.quasi))


def _people(found: Profile, trial: _CostTrial) -> Iterator[Way]:
    """Return whose rows they may be: as they seem to be first."""
    each = Way("every row is of somebody else", (), loss=trial.loss(people=()))
    if not trial.people:
        yield each
        if found.namesakes:
            yield Way(f"rows with the same {' and '.join(found.namesakes)} are one person's", found.namesakes)
        return
    same = f"rows with the same {' and '.join(trial.people)} are one person's"
    yield Way(same, trial.people, loss=trial.loss())
    yield each


def _known_columns(found: Profile, trial: _CostTrial) -> Iterator[Way]:
    """Return which columns others may know: all that nothing else is known of, or those whose names say so."""
    yield Way(f"all that are protected: {_some(trial.quasi)}", trial.quasi, loss=trial.loss())
    sure = tuple(column.name for column in found.with_role("quasi") if not column.is_unsure)
    if sure and sure != trial.quasi:
        yield Way(f"only these: {_some(sure)}", sure, loss=trial.loss(sure))


def _secrets(found: Profile, trial: _CostTrial) -> Iterator[Way]:
    """Return which columns are secrets, and that none is."""
    names = tuple(column.name for column in found.columns if column.role == "sensitive")
    if names:
        yield Way(f"these, with two values in every group: {_some(names)}", names, loss=trial.loss(secrets=names))
    yield Way("none", (), loss=trial.loss() if names else None)


def _kept_columns(found: Profile, trial: _CostTrial) -> Iterator[Way]:
    """Return what must be kept: nothing more than anything else, unless columns are named."""
    yield Way("nothing more than the rest", (), loss=trial.loss())
    ranges = trial.loss(has_ranges=True)
    if ranges is not None:
        yield Way("numbers and kinds, by ranges and sets that name values which occur", (), 0, ranges, has_ranges=True)


def _sizes(found: Profile, trial: _CostTrial) -> Iterator[Way]:
    """Return how small groups may be, what was asked for first."""
    for size in (trial.k, *(one for one in GROUPS if one != trial.k)):
        yield Way(f"groups of {size}", number=size, loss=trial.loss(k=size))


def _some(names: Sequence[str]) -> str:
    """Name some columns, and count the others."""
    more = f" and {counted(len(names) - MOST_NAMED, 'more column')}" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
