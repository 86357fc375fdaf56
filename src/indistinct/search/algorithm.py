"""Algorithm: a declaration with ``run``; and the algorithm that a policy or a command names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import Policy
from indistinct.policy.algorithms import Declaration, LabelKind, Undeclared
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure, measure_named
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import Recoding
from indistinct.registry import ALGORITHMS
from indistinct.search.task import Task


class Algorithm(Declaration, ABC):
    """Finds a recoding of a frequency list that satisfies a policy.

    Algorithms are frozen dataclasses; their fields are the options that a policy file may give. ``Declaration`` lists
    what an algorithm may say of itself.
    """

    __slots__ = ()

    bound_effort: ClassVar[int] = 30
    """Nodes examined per entry when the lower bound is computed; chosen to take about 20 % of the algorithm's own
    time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("measure", "precision"):
            if hasattr(self, option):
                found = measure_named(getattr(self, option))
                object.__setattr__(self, option, cell_measure(found) if self.measures_cells else found)

    @abstractmethod
    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return a recoding that satisfies the task's policy, or raise InfeasibleError."""

    @property
    def label_kind(self) -> LabelKind | None:
        """The kind of labels that a local algorithm gives to its groups; None where they are of no kind in particular.

        Of labels of a kind a bound is stated: no release with such labels loses less.
        """
        return None

    @property
    def optimizes(self) -> QualityMeasure | None:
        """The measure whose loss it makes small, if there is one: what its option ``measure`` says."""
        measure = getattr(self, "measure", None)
        return measure if isinstance(measure, QualityMeasure) else None

    def allowed_suppression(self, task: Task) -> int:
        """Return the rows that it may suppress under a policy; a release of nothing is none."""
        return min(task.budget, task.frequencies.rows - 1) if self.suppresses else 0

    def check_feasible(self, task: Task, watch: Watch) -> None:
        """Raise InfeasibleError if it finds no release; none is made where there is a quicker way to know."""
        self.run(task, watch)


class UndeclaredAlgorithm(Undeclared, Algorithm):
    """An algorithm that has a name and ``run``, and of the rest says what it likes."""

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return the recoding of the algorithm itself."""
        raise NotImplementedError  # the algorithm's own is called


def as_algorithm(algorithm: Any) -> Algorithm:
    """Return an algorithm of which everything may be asked that an Algorithm says."""
    return algorithm if isinstance(algorithm, Algorithm) else UndeclaredAlgorithm(algorithm)


def algorithm_named(name: str, /, **options: Any) -> Algorithm:
    """Make the algorithm of this name with these options.

    >>> algorithm_named("samarati", preference="min-suppression").name
    'samarati'
    """
    return ALGORITHMS.make(name, **options)


def algorithm_of(policy: Policy) -> Algorithm:
    """Make the algorithm that a policy names."""
    return algorithm_named(policy.algorithm, **policy.options)


def cell_measure(measure: QualityMeasure | str) -> CellMeasure:
    """Return the measure, or refuse one that does not add up over cells."""
    found = measure_named(measure)
    if not isinstance(found, CellMeasure):
        raise PolicyError(
            f"measure: groups are made one by one, so it must be ncp, loss, precision or entropy, not {found.name}"
        )
    return found


def find_recoding(task: Task, algorithm: Any, watch: Watch) -> Recoding:
    """Return the recoding that an algorithm finds; where others know some events, it recodes the table of people."""
    if task.policy.knows is None:
        found: Recoding = algorithm.run(task, watch)
        return found
    from indistinct.search.histories import search_histories

    return search_histories(task, as_algorithm(algorithm), watch)


def refusal(task: Task, watch: Watch) -> InfeasibleError | None:
    """Return what the policy's algorithm would say instead of making a release; None if it makes one.

    No release is made where the answer is known without. µ-Argus, whose releases may fail the recount, is judged like
    the lattice.
    """
    if task.number_of_people() < max(1, task.largest_k()):
        return task.infeasible(task.budget)
    try:
        algorithm = as_algorithm(algorithm_of(task.policy))
        if task.policy.knows is None:
            algorithm.check_feasible(task, watch)
        else:
            find_recoding(task, algorithm, watch)
    except InfeasibleError as error:
        return error
    return None
