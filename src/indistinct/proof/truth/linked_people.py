"""Linked people: each pseudonym stands for all rows of one person of the originals, whose dates moved together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indistinct.counting import IntArray
from indistinct.policy import Part
from indistinct.proof.checks import Check
from indistinct.proof.truth.person_trees import MICROSECONDS_A_DAY, NO_DATE, Numbers, PersonTrees


def linked_people_checks(mine: PersonTrees, theirs: PersonTrees, numbers: Numbers) -> list[Check]:
    """Check that each pseudonym stands for all rows of a person of her own, and that her dates move together."""

    def columns(part: Part) -> Sequence[str]:
        return part.policy.compared_columns

    shifts = [shift for part in mine.tied.parts.values() for shift in part.policy.shifted.values()]
    false = _surplus(mine.profiles(columns, numbers), theirs.profiles(columns, numbers))
    checks = [Check("truth.linked_rows", not false, {"wrong": false, "unit": "pseudonym"} if false else {})]
    if not shifts or false:
        return checks
    ours, others = (trees.profiles(columns, numbers, with_dates=True) for trees in (mine, theirs))
    torn, how, days = _surplus(ours, others), "distances", shifts[0].days
    if not torn:
        torn, how = _moved_too_far(mine, theirs, (ours, others), days), "too far"
    found = {"days": days} | ({"pseudonyms": torn, "how": how} if torn else {})
    return [*checks, Check("truth.dates", not torn, found)]


def _surplus(mine: IntArray, theirs: IntArray) -> int:
    """Return how many of these profiles are more than there are people who have them."""
    most = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    return int(np.maximum(np.bincount(mine, minlength=most) - np.bincount(theirs, minlength=most), 0).sum())


def _moved_too_far(mine: PersonTrees, theirs: PersonTrees, profiles: tuple[IntArray, IntArray], days: int) -> int:
    """Return how many pseudonyms find no person of their own within so many days, among those with the same distances.

    Whoever has the earliest date takes the earliest person she can: no other choice leaves more for those after her.
    """
    room = days * MICROSECONDS_A_DAY
    people: dict[int, list[int]] = {}
    for profile, first in sorted(zip(profiles[1].tolist(), theirs.first_moments.tolist(), strict=True)):
        people.setdefault(profile, []).append(first)
    next_of = dict.fromkeys(people, 0)
    lost = 0
    for profile, first in sorted(zip(profiles[0].tolist(), mine.first_moments.tolist(), strict=True)):
        if first == NO_DATE:
            continue
        there, place = people[profile], next_of[profile]
        while place < len(there) and there[place] < first - room:
            place += 1
        is_found = place < len(there) and there[place] <= first + room
        lost += not is_found
        next_of[profile] = place + is_found
    return lost
