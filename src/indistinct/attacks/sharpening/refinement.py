"""Refinement: which cells of a local release can be sharpened by what its groups say together.

Downcoding looks at each label by itself. But the rows behind all groups are one table: a tuple that k people have is
not hidden, so if it is not there, all groups that could hide it have fewer than k rows of it between them. For every
generalized label of every group this attack asks integer or linear programs how few and how many rows can lie under
each lower label. It concludes nothing that does not hold in every table that could be behind the release.

Source: Chhillar, Righi, Sutter and Kornaropoulos, Exposing privacy risks in anonymizing clinical data: combinatorial
refinement attacks on k-anonymity without auxiliary information, arXiv 2509.03350, for the idea.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from indistinct.attacks.attack import Attack, most_option, option
from indistinct.attacks.sharpening.deduction import MINIMAL_ROWS, Deduced
from indistinct.attacks.sharpening.downcoding import (
    ASSUMPTIONS,
    KNOWN,
    MEANING,
    RECODING_HELP,
    Looked,
    RecodingKind,
    assume_option,
    check_sharpening,
    look_at,
    report_facts,
    why_not_minimal,
)
from indistinct.attacks.sharpening.downcoding_report import DowncodingReport
from indistinct.attacks.sharpening.possible_rows import Extra, PossibleRows
from indistinct.attacks.sharpening.row_programs import ImpossibleRows, Refiner
from indistinct.attacks.target import OnePolicy, Target
from indistinct.hierarchy import Listed
from indistinct.policy import Policy
from indistinct.showing.words import counted

TOGETHER = {
    "whole-tuples": "k equal rows or more were never all generalized",
    "node-by-node": "groups were made node by node, lower levels first, each of all rows left that share its labels",
}
"""What can be assumed of all groups of a local release together, beside what is assumed of each."""


SCOPE = (
    "This is what follows for certain from the released cells, the hierarchies and what is assumed of the groups, "
    "each and all together. Not shown is what is merely likely, and what follows from the rules by which an algorithm "
    "breaks ties: that nothing is found does not prove that nothing can be found."
)


LIMIT_AMONG_ALL = 20.0
"""Seconds that it may take where all attacks are run."""


@dataclass(frozen=True, slots=True)
class RefinementReport(DowncodingReport):
    """What follows from all groups of a release together."""

    attack: ClassVar[str] = "refinement"
    scope: ClassVar[str] = SCOPE

    programs: int
    """The integer and linear programs that were solved; none where what is assumed speaks of each group only."""
    unsolved: int
    """Generalized labels of groups that were not looked at, since time was up."""

    @property
    def why_left_out(self) -> str | None:
        """Why it says nothing beside downcoding."""
        return None if self.programs else "all groups together tell no more than each by itself, which downcoding shows"


@dataclass(frozen=True, slots=True)
class Refinement(Attack):
    """Show which generalized cells all groups of a local release together sharpen.

    Integer and linear programs bound how many rows lie under each lower label.
    """

    name: ClassVar[str] = "refinement"
    title: ClassVar[str] = "Sharpening labels by all groups together"
    meaning: ClassVar[str] = MEANING
    held: ClassVar[tuple[str, ...]] = KNOWN

    assume: Collection[str] | None = assume_option(
        "what downcoding knows, and whole-tuples or node-by-node of all groups together, or nothing. Else what its "
        "algorithm promises."
    )
    recoding: str | None = option(None, RECODING_HELP)
    time_limit: float | None = option(60.0, "Seconds to look for; what was found by then is true.", float, least=0)
    most: int = most_option()

    def __post_init__(self) -> None:
        check_sharpening(self.assume, {**ASSUMPTIONS, **TOGETHER}, self.recoding)

    @classmethod
    def of_all(cls, most: int) -> Refinement:
        """Return the attack with less time than by itself."""
        return cls(time_limit=LIMIT_AMONG_ALL, most=most)

    def attack(self, target: Target) -> RefinementReport:
        """Conclude what follows from all groups together, as long as there is time."""
        looked = look_at(target, self.assume, self.recoding)
        notes, wanted = list(looked.notes), {name for name in TOGETHER if name in looked.promised}
        if wanted and (reason := _why_not_together(looked, target.policy)):
            notes.append(f"nothing is assumed of all groups together: {reason}")
            wanted = set()
        ends_at = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        found = _refine(looked, wanted, target.policy, ends_at) if looked.known.is_local else Refined(looked.deduced)
        if found is None:
            notes.append("the groups contradict what was assumed of them together, so nothing is concluded from that")
            wanted, found = set(), Refined(looked.deduced)
        if found.unlisted and (wanted or found.programs):
            notes.append(f"{counted(found.unlisted, 'group')} with too many possible tuples looked at alone")
        if found.unsolved:
            notes.append(f"time was up before {counted(found.unsolved, 'generalized label')} could be looked at")
        assumed = looked.assumed | {name: TOGETHER[name] for name in sorted(wanted)}
        facts = report_facts(looked, found.deduced, assumed, self.most, notes)
        return RefinementReport(**facts, programs=found.programs, unsolved=found.unsolved)


def refinement(
    release: Any,
    policy: OnePolicy,
    *,
    assume: Collection[str] | None = None,
    recoding: RecodingKind | None = None,
    time_limit: float | None = 60.0,
    most: int = 20,
    **reading: Any,
) -> RefinementReport:
    """Return what follows about generalized cells from all groups of a local release together.

    ``assume`` says what its algorithm is believed to promise: what ``downcoding`` knows, and ``"whole-tuples"`` or
    ``"node-by-node"``. Without it this is what the release's own algorithm promises. The attack ends after
    ``time_limit`` seconds, small groups first; what it found by then is true. ``most`` findings are described, all
    are counted. A full-domain release has no groups that overlap: there nothing is found that downcoding does not find.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, tree
    >>> job = quasi(tree({"*": {"office": ["clerk", "judge"], "care": ["nurse", "carer"]}}), missing="refuse")
    >>> table = pa.table({"job": ["office"] * 4 + ["care"] * 3})
    >>> report = refinement(table, Policy(columns={"job": job}, privacy=[KAnonymity(3)]),
    ...                     assume=["whole-tuples"], recoding="local")
    >>> report.sharpened_cells, report.findings[0].bounds
    (6, (Bound(label='clerk', least=2, most=2), Bound(label='judge', least=2, most=2)))
    """
    return Refinement(assume, recoding, time_limit, most).attack(Refinement.target_of(release, policy, **reading))


class Refined(NamedTuple):
    """What follows, and what it took."""

    deduced: list[Deduced]
    programs: int = 0
    unsolved: int = 0
    """Generalized labels of groups that were not looked at, since time was up."""
    unlisted: int = 0
    """Groups whose tuples are too many, or cannot be listed."""


def _why_not_together(looked: Looked, policy: Policy) -> str | None:
    """Say why the rows of tuples would tell nothing about k, if that is so."""
    if not looked.known.is_local:
        return "a full-domain release gives every tuple to one group"
    if any(tree.lowest > 0 for tree in looked.known.trees):
        return "the policy lets no release show the values of some column"
    return why_not_minimal(looked.known, policy)


def _fixed_columns(looked: Looked, policy: Policy) -> list[int]:
    """Return the columns that need not have one label above all values, so that no group may reach across."""
    fixed = []
    for place, name in enumerate(looked.known.released.columns):
        column = policy.columns[name]
        hierarchy = column.hierarchy
        tops = {row[-1] for row in hierarchy.table()} if isinstance(hierarchy, Listed) else {hierarchy.top}
        if column.max_level is not None or hierarchy.height == 0 or len(tops) > 1 or tops == {None}:
            fixed.append(place)
    return fixed


def _refine(looked: Looked, wanted: Collection[str], policy: Policy, ends_at: float) -> Refined | None:
    """Return what follows from all groups together; None if no table can be behind them."""
    if not wanted and looked.strength < MINIMAL_ROWS:
        return Refined(looked.deduced)
    extra = Extra("whole-tuples" in wanted, "node-by-node" in wanted)
    possible = PossibleRows.of(looked.known, looked.strength, extra, _fixed_columns(looked, policy))
    refiner = Refiner(possible, len(looked.assumed) + len(wanted) + 1)
    better: dict[tuple[int, int | None], list[Deduced]] = {}
    unsolved = 0
    try:
        for number in sorted(range(len(possible.boxes)), key=lambda one: len(possible.boxes[one].tuples)):
            box = possible.boxes[number]
            if time.monotonic() >= ends_at:
                unsolved += len(box.parts)
                continue
            for column in box.parts if refiner.tells(number) else ():
                if (found := refiner.look(number, column)) is not None:
                    better[column, box.group] = found
    except ImpossibleRows:
        return None
    kept = [one for one in looked.deduced if (one.column, one.group) not in better]
    deduced = kept + [one for found in better.values() for one in found]
    return Refined(deduced, refiner.programs, unsolved, possible.unlisted)
