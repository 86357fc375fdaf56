"""The improver of groups: passes of changes, each accepted by one rule.

A change that costs no more is accepted. One that costs x more is accepted with the chance exp(-x / heat). A descent has
no heat. In simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) the heat falls with time, so that the search
leaves dead ends; the best groups that were met are the answer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Protocol

from indistinct.progress import Watch

WARM, COOLING, PLENTY = 0.4, 0.025, 40
"""The heat at first where groups are built anew, as a share of what an average group costs; in the end, as a share of
that. With fewer tries a row than plenty it is less at first, but no less than half as much."""
MOST_TRIES = 1_000
"""With a time limit alone, each row is tried at most so often: small tables need no longer."""
TIME = 0.85
"""The share of a time limit after which annealing ends: the bound takes some of it, too."""
MOST_THREADS = 4
"""Threads that work at once where time alone is limited."""


class Improvable(Protocol):
    """Groups that changes make cheaper or dearer."""

    @property
    def passes_a_try(self) -> int:
        """The passes that try each row once."""

    @property
    def number_of_groups(self) -> int:
        """The groups that there are now."""

    def total(self) -> float:
        """Return what all groups cost."""

    def try_changes(self, number: int, heat: float) -> bool:
        """Try changes in one pass; return whether there is time for another."""

    def save(self) -> Any:
        """Return what ``restore`` needs to make the groups what they are now."""

    def restore(self, saved: Any) -> None:
        """Make the groups what they were."""


def descend(groups: Improvable, most_passes: int, enough: float, patience: int) -> None:
    """Improve groups until so many passes in a row gained less than the share ``enough``."""
    before, poor = groups.total(), 0
    for number in range(most_passes):
        if before <= 0.0 or not groups.try_changes(number, 0.0):
            return
        total = groups.total()
        poor = poor + 1 if before - total < enough * before else 0
        if poor == patience:
            return
        before = total


def cool(groups: Improvable, passes: int, warm: float) -> None:
    """Anneal groups in so few passes, from a heat of this share of an average group; they become the best ones met."""
    total = least = groups.total()
    best = groups.save()
    first_heat = warm * total / max(1, groups.number_of_groups)
    for number in range(passes):
        if least <= 0.0 or not groups.try_changes(number, first_heat * COOLING ** (number / passes)):
            break
        total = groups.total()
        if total < least:
            least, best = total, groups.save()
    groups.restore(best)


@dataclass(frozen=True, slots=True)
class Annealing:
    """How long groups are annealed: so many tries for each row, or until most of the time limit has passed."""

    tries: int
    threads: int = 1
    """So many threads may work at once, each on groups that lie together; what they find then differs each time."""
    warm: float = WARM

    @classmethod
    def of(cls, effort: int, watch: Watch) -> Annealing | None:
        """Return what was asked for: an effort, or a time limit; None if neither was."""
        if effort:
            return cls(effort)
        return None if watch.time_limit is None else cls(MOST_TRIES, min(os.cpu_count() or 1, MOST_THREADS))

    def run(self, groups: Improvable, watch: Watch) -> None:
        """Make the groups the best ones that were met."""
        total = least = groups.total()
        best = groups.save()
        each = total / max(1, groups.number_of_groups)
        passes, begun = groups.passes_a_try * self.tries, watch.share_of_time() / TIME
        for number in range(passes):
            share = watch.share_of_time() / TIME
            if least <= 0.0 or share >= 1.0:
                break
            progress = max(number / passes, (share - begun) / (1.0 - begun))
            watch.report("anneal", round(100 * progress), 100)
            tries = (number / progress if number else passes) / groups.passes_a_try
            if not groups.try_changes(number, each * self.warm * heat(tries, progress)):
                break
            total = groups.total()
            if total < least:
                least, best = total, groups.save()
        groups.restore(best)


def heat(tries: float, progress: float) -> float:
    """Return the heat as a share of what it is at first, where each row is tried so often in all.

    >>> [round(heat(40, progress), 3) for progress in (0, 0.5, 1)]
    [1.0, 0.158, 0.025]
    >>> [round(heat(10, progress), 3) for progress in (0, 0.5, 1)]
    [0.5, 0.079, 0.013]
    """
    return float(min(1.0, max(0.5, (tries / PLENTY) ** 0.5)) * COOLING**progress)
