"""Membership: how often somebody who knows a person's cells tells rightly that she is in the release.

Whoever knows all released cells of a person says that she is in it if some released row fits them. The control are
people who are not in it: a table of such people, or else made-up ones, whose quasi cells are those of one person and
whose other cells are those of another. What both share holds for people in general; the difference is what the release
tells of its own people.

Source: Yeom et al., Privacy risk in machine learning, CSF 2018, whose membership advantage is this difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from indistinct.attacks.attack import CONTROL, ORIGINAL, Attack, InapplicableError, OtherTable, option
from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.known_cells import CodedRows, cells_of, people_of, with_shared_texts
from indistinct.attacks.guessing.rates import difference
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import IntArray
from indistinct.hierarchy import keep
from indistinct.linkage import Coverage, count_candidates
from indistinct.policy import Policy
from indistinct.release.forms import ONE_TABLE, Form

MOST_PEOPLE = 50_000
"""The most people who are made up."""
SEED = 1
MADE_UP = (
    "the control was made up of cells of different people, so what goes with the quasi cells in general counts as if "
    "the release told it; people who are not in the release make a fairer one"
)


@dataclass(frozen=True, slots=True)
class MembershipReport(GuessReport):
    """How often it is said of people of the release, and of others, that they are in it."""

    attack: ClassVar[str] = "membership"
    main: ClassVar[str] = "who says of its people that they are in the release is"
    control: ClassVar[str] = "of others it would be said"
    assumed: ClassVar[tuple[str, ...]] = (
        "all released cells of a person as they were, but not whether she is in the release",
        "the policy's hierarchies",
    )
    usual_advice: ClassVar[tuple[str, ...]] = (
        "release fewer columns as they are: recode or leave out those that are not quasi",
        "release a sample of the people, so that nobody is surely in it",
    )
    scope: ClassVar[str] = (
        "Whoever knows fewer cells tells less. Whether it harms somebody to be known to be in the table is for people "
        "to say."
    )


@dataclass(frozen=True, slots=True)
class Membership(Attack):
    """Show how often whoever knows a person's cells tells rightly that she is in the release."""

    name: ClassVar[str] = "membership"
    title: ClassVar[str] = "Telling who is in the release"
    meaning: ClassVar[str] = "whoever knows the cells of a person can tell that she is in the release, not by chance"
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    takes: ClassVar[tuple[OtherTable, ...]] = (CONTROL,)
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE,)
    is_in_all: ClassVar[bool] = False

    known: Sequence[str] | None = option(
        None, "A column that is known of people. Else all released ones.", metavar="COLUMN", is_several=True
    )

    def attack(self, target: Target) -> MembershipReport:
        """Say of people of the release, and of others, whether some released row fits them."""
        policy = target.policy
        changed = {*policy.perturbed, *policy.shifted}
        with target.release.quasi_rows() as rows:
            names = [one for one in policy.with_role("quasi", "sensitive", "other") if one in rows.columns()]
            names = [one for one in names if one not in changed and (self.known is None or one in self.known)]
            rest = [one for one in names if one not in policy.quasi]
            if not names or (target.control is None and (not rest or len(rest) == len(names))):
                raise InapplicableError("control: give people who are not in the release; nothing else is to be told")
            released = cells_of(rows, names)
        tables = [people_of(target.original, policy, names, "original", **target.reading)]
        if target.control is not None:
            tables.append(people_of(target.control, policy, names, "control", **target.reading))
        tables = with_shared_texts(tables, names)
        quasi = [one for one in names if one in policy.quasi]
        people = tables[0]
        inside = people.only(_fits(policy, released, people, quasi) > 0) if quasi else people
        if not inside.rows:
            raise InapplicableError("original: nobody of this table fits a row of the release; was it made of another?")
        others = tables[1] if target.control is not None else _make_up(inside, quasi, rest)
        right, wrong = (_count_told(policy, released, one, names) for one in (inside, others))
        interval = difference(right, inside.rows, wrong, others.rows)
        what = f"{len(names)} cells" if len(names) > 1 else "one cell"
        notes = [] if target.control is not None else [MADE_UP]
        guess = Guess(what, inside.rows, right, others.rows, wrong, interval)
        return MembershipReport((guess,), (*people_notes(policy), *notes))


def membership(
    release: Any,
    policy: OnePolicy,
    original: Any,
    *,
    control: Any = None,
    known: Sequence[str] | None = None,
    **reading: Any,
) -> MembershipReport:
    """Return how often whoever knows a person's released cells tells rightly that she is in the release.

    ``control`` is a table of people who are not in the release; without it people are made up of the quasi cells of one
    person and the others of another, drawn with a fixed seed. ``known`` names the columns that are known, else all that
    are released. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, other, quasi
    >>> policy = Policy(columns={"sex": quasi(), "bill": other()}, privacy=[KAnonymity(2)])
    >>> table = pa.table({"sex": ["f", "m"] * 20, "bill": [str(100 + row) for row in range(40)]})
    >>> elsewhere = pa.table({"sex": ["f", "m"] * 20, "bill": [str(200 + row) for row in range(40)]})
    >>> guess = membership(table, policy, table, control=elsewhere).guesses[0]
    >>> guess.rate, guess.control
    (1.0, 0.0)
    """
    target = Membership.target_of(release, policy, original=original, control=control, **reading)
    return Membership(known).attack(target)


def _fits(policy: Policy, released: CodedRows, people: CodedRows, names: Sequence[str]) -> IntArray:
    """Count the released rows that fit each of the distinct people in some columns."""
    coverages = [
        Coverage.of(
            policy.columns[name].hierarchy if name in policy.quasi else keep(),
            released.texts[name],
            people.texts[name],
            missing_fits=False,
        )
        for name in names
    ]
    return count_candidates(released.counts_by(names), people.counts_by(names), coverages).rows


def _count_told(policy: Policy, released: CodedRows, people: CodedRows, names: Sequence[str]) -> int:
    """Return of how many people it is said that they are in the release."""
    return int(people.counts[_fits(policy, released, people, names) > 0].sum())


def _make_up(people: CodedRows, quasi: Sequence[str], rest: Sequence[str]) -> CodedRows:
    """Return people with the quasi cells of one and the other cells of another, each drawn by how many there are."""
    draw = np.random.default_rng(SEED)
    number, share = min(people.rows, MOST_PEOPLE), people.counts / people.counts.sum()
    one, another = (draw.choice(len(share), number, p=share) for _ in range(2))
    codes = {name: people.codes[name][one] for name in quasi} | {name: people.codes[name][another] for name in rest}
    return CodedRows(people.texts, codes, np.ones(number, np.int64))
