"""Complementary and temporal releases: what follows about people who stand in several releases of one source.

Somebody who holds them joins the releases on everything that was released as it is, keeps the pairs whose labels can
stand for the same person, and lays their labels on top of each other. Each release may hide everybody among k, and the
labels together nobody. Rows that were added or removed in between show as well: they fit no row of the other release.

LinkedSource: Sweeney, k-anonymity: a model for protecting privacy, 2002, sections 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.attacks.attack import EARLIER, Attack, OtherTable, most_option, option
from indistinct.attacks.complementary.chains import (
    JoinStep,
    all_consistent_pairs,
    extend,
    pair_numbers,
    start,
)
from indistinct.attacks.complementary.combination_counts import JoinedChains
from indistinct.attacks.complementary.complementary_report import ComplementaryReport
from indistinct.attacks.complementary.joined_releases import JoinedReleases
from indistinct.attacks.complementary.one_to_one import one_to_one as pair_off
from indistinct.attacks.target import OnePolicy, Target, policy_of_each
from indistinct.errors import PolicyError

MOST_MATCHED = 3_000_000
"""The most pairs of entries of two releases that are matched one to one."""


@dataclass(frozen=True, slots=True)
class Complementary(Attack):
    """Link releases of one source with each other, also over time, and show who is left in a crowd below k."""

    name: ClassVar[str] = "complementary"
    title: ClassVar[str] = "Linking with earlier releases"
    meaning: ClassVar[str] = "the releases together tell people apart whom each of them hides"
    held: ClassVar[tuple[str, ...]] = (
        "the release",
        "every earlier release of the same source",
        "the policies' hierarchies",
    )
    asks: ClassVar[tuple[OtherTable, ...]] = (EARLIER,)

    on: Sequence[str] | None = option(
        None,
        "A column to link by. Else all that were released as they are.",
        metavar="COLUMN",
        is_several=True,
    )
    k: int | None = option(None, "How many rows a crowd needs. Else the policies' k.", int, least=1)
    one_to_one: bool = option(
        True, "Rule out pairs that would leave somebody else without a row, where counts allow it.", bool
    )
    most: int = most_option()

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise PolicyError(f"k: must be at least 1, got {self.k}")

    def attack(self, target: Target) -> ComplementaryReport:
        """Join all releases, and count who is left with whom."""
        releases = {**target.earlier, target.name: target.release}
        policies = [*target.earlier_policies, target.policy]
        joined = JoinedReleases.read(releases, policies, self.on, **target.reading)
        barred, is_in, notes = _rule_out(joined, self.one_to_one)
        chains, steps = start(joined.entries[0]), [JoinStep(0, 0, 0)]
        for position in range(1, len(joined.entries)):
            ruled_out = [barred.get((earlier, position)) for earlier in range(position)]
            chains, step = extend(chains, joined.entries, joined.vocabularies, ruled_out)
            steps.append(step)
        found = JoinedChains(joined, chains, is_in)
        return found.report(joined.requirements(self.k), steps, [*joined.notes, *notes], self.most)


def complementary(
    releases: Sequence[Any] | Mapping[str, Any],
    policies: OnePolicy | Sequence[OnePolicy],
    *,
    on: Sequence[str] | None = None,
    k: int | None = None,
    one_to_one: bool = True,
    most: int = 20,
    **reading: Any,
) -> ComplementaryReport:
    if isinstance(releases, str) or len(releases) < 2:
        raise PolicyError("releases: give at least two releases of the same source, earliest first")
    *before, own = policy_of_each(policies, len(releases))
    name: str | None
    if isinstance(releases, Mapping):
        *names, name = releases
        earlier: Any = {one: releases[one] for one in names}
        release = releases[name]
    else:
        *earlier, release = releases
        name = None if isinstance(release, str | Path) else f"release {len(releases)}"
    given = {"name": name, "earlier": earlier, "earlier_policies": before}
    target = Complementary.target_of(release, own, **given, **reading)
    return Complementary(on, k, one_to_one, most).attack(target)


def _rule_out(joined: JoinedReleases, is_asked: bool) -> tuple[dict[tuple[int, int], IntArray], BoolArray, list[str]]:
    """Return pairs that are ruled out for each two releases, and whether all people of one are in another."""
    number = len(joined.entries)
    barred: dict[tuple[int, int], IntArray] = {}
    is_in = np.eye(number, dtype=np.bool_)
    notes = []
    for later in range(1, number if is_asked else 0):
        for earlier in range(later):
            one, other = joined.entries[earlier], joined.entries[later]
            pairs = all_consistent_pairs(one, other, joined.vocabularies, MOST_MATCHED)
            if pairs is None:
                notes.append(
                    f"{joined.names[earlier]} and {joined.names[later]} have too many pairs to be matched one to one, "
                    "so none is ruled out"
                )
                continue
            left, right = pairs
            found = pair_off(left, right, one.counts, other.counts)
            is_in[earlier, later], is_in[later, earlier] = (alone == 0 for alone in found.alone)
            if 0 in found.alone:
                ruled_out = ~found.is_possible
                barred[earlier, later] = np.sort(pair_numbers(left[ruled_out], right[ruled_out], len(other.counts)))
    return barred, is_in, notes
