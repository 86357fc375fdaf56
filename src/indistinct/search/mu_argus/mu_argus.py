"""µ-Argus: test combinations of a few columns, let the holder generalize, and blank single cells of what is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from indistinct.errors import PolicyError
from indistinct.progress import Watch
from indistinct.recoding import LocalRecoding
from indistinct.search.algorithm import Algorithm, Kind, LabelPromise
from indistinct.search.full_domain.lattice import check_some_node_passes
from indistinct.search.mu_argus.dialogue import MuArgusDialogue
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class MuArgus(Algorithm):
    """µ-Argus: rare combinations of two and three columns lose cells. It does not promise k-anonymity.

    ``identifying`` says how identifying a column is: 0 not at all (it is left out of every test), 1 most, 2 more, 3
    identifying. A column that is not named is taken as most identifying, so that without any name all combinations
    of up to three columns are tested.

    1. Every column starts at its level in ``recoded``, or at 0. With ``automatic``, each climbs until every value
       alone has k rows (step 2 of Figure 11); else the holder does that, in a session.
    2. ``combinations`` are tested: "types" are the ten types of Figure 12, "all" those of up to ``dimension``
       columns, and a list of lists of columns just these. Single columns are always tested.
    3. In every tuple the cells of unsafe combinations are blanked, until none is left whole. "greedy" takes the cell
       that is in most of them, of equal ones the first in the policy's order (step 6); "entropy" and "priorities"
       take the cells of least loss, exactly: the entropy of their columns, or the number in ``priorities`` (1 where
       it names none), both times the column's weight. Of equal ones the fewest cells go, then the first columns.

    A missing cell is as blank as a suppressed one: combinations with it are not tested. Combinations of more columns
    are not tested, and those with blank cells are not tested again; so the recount may well find that a release of
    µ-Argus fails.

    Source: Sweeney 2002, Figures 11 to 15; the rule behind Figure 12, entropy and priorities from the manual of
    µ-Argus 5.1.3, sections 4.1.1 and 5.5.1.
    """

    name: ClassVar[str] = "mu-argus"
    title: ClassVar[str] = "blanks single cells, not always safe"
    makes_safe_groups: ClassVar[bool] = False
    kind: ClassVar[Kind] = "local"
    is_safe: ClassVar[bool] = False
    blanks_cells: ClassVar[bool] = True

    identifying: Mapping[str, int] = field(default_factory=dict)
    recoded: Mapping[str, int] = field(default_factory=dict)
    automatic: bool = True
    combinations: Literal["types", "all"] | Sequence[Sequence[str]] = "types"
    dimension: int = 3
    suppression: Literal["greedy", "entropy", "priorities"] = "greedy"
    priorities: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mistakes = _mistakes_in("identifying", self.identifying, _is_kind, "0 (not), 1 (most), 2 (more) or 3")
        mistakes += _mistakes_in("recoded", self.recoded, _is_level, "a level, 0 or more")
        mistakes += _mistakes_in("priorities", self.priorities, _is_priority, "a number above 0")
        if not isinstance(self.automatic, bool):
            mistakes.append(f"automatic: must be true or false, got {self.automatic!r}")
        if self.suppression not in ("greedy", "entropy", "priorities"):
            mistakes.append(f"suppression: must be 'greedy', 'entropy' or 'priorities', got {self.suppression!r}")
        if self.priorities and self.suppression != "priorities":
            mistakes.append("priorities: count only with suppression = 'priorities'")
        if not _is_level(self.dimension) or self.dimension < 1:
            mistakes.append(f"dimension: must be a whole number of columns, 1 or more, got {self.dimension!r}")
        elif self.dimension > 3 and self.combinations == "types":
            mistakes.append("dimension: the types of Figure 12 have up to 3 columns; for more set combinations = 'all'")
        if not _are_combinations(self.combinations):
            mistakes.append("combinations: must be 'types', 'all' or a list of lists of columns")
        if mistakes:
            raise PolicyError(mistakes)

    def session(self, task: Task, watch: Watch | None = None) -> MuArgusDialogue:
        """Begin the dialogue about a table that was counted; ``MuArgusSession`` also opens and releases it."""
        return MuArgusDialogue(task, self, watch or Watch())

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Cells are blanked one by one until none is rare, some without need."""
        return ()

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding without a dialogue: what the options say, then suppression."""
        return self.session(task, watch).finish()


def _mistakes_in(name: str, given: object, is_right: Callable[[object], bool], right: str) -> list[str]:
    """List what is wrong with an option that gives columns a number."""
    if not isinstance(given, Mapping):
        return [f"{name}: must give columns a number, got {given!r}"]
    return [
        f"{name}.{column}: must be {right}, got {value!r}" for column, value in given.items() if not is_right(value)
    ]


def _is_kind(value: object) -> bool:
    return _is_level(value) and value in range(4)


def _is_level(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_priority(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _are_combinations(given: object) -> bool:
    if isinstance(given, str):
        return given in ("types", "all")
    return isinstance(given, Sequence) and all(
        isinstance(names, Sequence)
        and not isinstance(names, str)
        and len(names) > 0
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names)
        for names in given
    )
