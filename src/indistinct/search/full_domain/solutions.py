"""Solution: one k-minimal generalization as people compare it, and the preferences that choose among several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from indistinct.counting import Node
from indistinct.errors import PolicyError
from indistinct.progress import Watch
from indistinct.quality import all_measures
from indistinct.recoding import FullDomainRecoding
from indistinct.search.full_domain.lattice import Search
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class Solution:
    """A generalization that satisfies the policy: its node and what it costs."""

    node: Mapping[str, int]
    """The level of each quasi column."""
    heights: Mapping[str, int]
    """The height of each quasi column's hierarchy."""
    suppressed: int
    """Rows suppressed."""
    groups: int
    """Distinct released tuples."""
    measures: Mapping[str, float]

    @classmethod
    def of(cls, recoding: FullDomainRecoding) -> Solution:
        """Describe a recoding."""
        frequencies = recoding.frequencies
        return cls(
            recoding.levels,
            dict(zip(frequencies.columns, frequencies.heights, strict=True)),
            recoding.suppressed_rows,
            len(recoding.released_sizes),
            all_measures(recoding),
        )

    @property
    def vector(self) -> Node:
        """The node as Samarati's distance vector, in the policy's order of columns."""
        return tuple(self.node.values())

    @property
    def relative_levels(self) -> tuple[float, ...]:
        """Level over height of each column: Samarati's relative distances."""
        return tuple(self.node[name] / max(1, self.heights[name]) for name in self.node)


Preference = Callable[[Solution], Any]
"""Gives a solution's rank: of several solutions the one of least rank is preferred."""

PREFERENCES: dict[str, Preference] = {
    "min-absolute": lambda s: sum(s.vector),
    "min-relative": lambda s: s.measures["relative-distance"],
    "max-distribution": lambda s: -s.groups,
    "min-suppression": lambda s: s.suppressed,
    "highest-absolute-peak": lambda s: -max(s.vector),
    "highest-relative-peak": lambda s: -max(s.relative_levels),
    "fewest-attributes": lambda s: sum(level > 0 for level in s.vector),
    "most-attributes": lambda s: -sum(level > 0 for level in s.vector),
}
"""Samarati's preference policies by name (2001, section 6)."""


def preference_named(preference: str | Preference) -> Preference:
    """Return the preference of this name, or the user's own function itself."""
    if callable(preference):
        return preference
    if not isinstance(preference, str) or preference not in PREFERENCES:
        raise PolicyError(
            f"preference: there is no {preference!r}; choose one of {', '.join(PREFERENCES)}, or give a function"
        )
    return PREFERENCES[preference]


def preferred_solution(solutions: list[Solution], preference: str | Preference) -> Solution:
    """Return the one solution that a preference puts first; equals are settled by fewer relative steps and fewer rows.

    Exactly one is chosen, always the same: later releases are checked against it.
    """
    first = preference_named(preference)
    return min(
        solutions, key=lambda s: (first(s), s.measures["relative-distance"], s.suppressed, sum(s.vector), s.vector)
    )


def minimal_solutions(task: Task, watch: Watch) -> list[Solution]:
    """Return every k-minimal generalization of a task, lowest first; empty if no node satisfies the policy."""
    search = Search(task, watch)
    return [Solution.of(search.recoding(node)) for node in search.minimal()]
