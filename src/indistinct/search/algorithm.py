"""Algorithm: what every algorithm does and says of itself; and the one that a policy or a command names."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, Literal

from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import Policy
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure
from indistinct.recoding import Recoding
from indistinct.recoding.group_labels import LabelKind
from indistinct.registry import ALGORITHMS
from indistinct.search.task import Task

Kind = Literal["full-domain", "local", "two-table"]
LabelPromise = Literal["lowest-labels", "minimal", "minimal-rows", "whole-tuples"]
"""Groups carry the lowest labels that cover them; no column of a group could be lower; no row could; and of k equal
rows or more k are released as they are, unless all that is generalized is one group."""


class Algorithm(ABC):
    """Finds a recoding of a frequency list that satisfies a policy.

    Algorithms are frozen dataclasses; their fields are the options that a policy file may give. What stands below says
    what an algorithm is. The defaults promise nothing and so are right for every algorithm.
    """

    __slots__ = ()

    name: ClassVar[str]
    """The algorithm's name in policy files, manifests and on the command line."""
    title: ClassVar[str] = ""
    """What it does, in one line for people who choose."""
    kind: ClassVar[Kind] = "local"
    """Every column climbs to one level; or each group carries labels of its own; or quasi cells stay as they are."""
    is_exact: ClassVar[bool] = False
    """Its answer is the best that it considers, unless a limit cut it short, and says so."""
    is_safe: ClassVar[bool] = True
    """What it gives always satisfies the policy."""
    is_search: ClassVar[bool] = True
    """It looks for an answer; False for one that is told what to give, or draws it."""
    suppresses: ClassVar[bool] = True
    """It may leave out as many rows as the policy allows."""
    makes_safe_groups: ClassVar[bool] = True
    """Its groups may become the classes of a lossy join."""
    counts_people: ClassVar[bool] = False
    """Where people have several rows, its groups have enough different people, as ``task.unsafe`` and
    ``task.safe_parts`` judge them."""
    links_rows: ClassVar[bool] = False
    """Where the rows of a person are linked by a pseudonym, k people share all of hers, as ``task.recoding`` judges."""
    draws_rows: ClassVar[bool] = False
    """It draws levels and rows at random, as models that are ``is_drawn`` ask."""
    draws_groups: ClassVar[bool] = False
    """It draws at random who stands in which group, so that the table does not tell what it gives."""
    blanks_cells: ClassVar[bool] = False
    """It may release a missing cell where the table has a value."""
    bound_effort: ClassVar[int] = 30
    """Where its labels have a kind, so many nodes are looked at for the bound that is stated with its releases: about
    a fifth of the time that it takes itself."""
    works_in_fragments: ClassVar[bool] = False
    """Parts of a table may be recoded by themselves, where all of its tuples are too many for one machine."""

    @abstractmethod
    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return a recoding that satisfies the task's policy, or raise InfeasibleError."""

    @property
    def is_randomised(self) -> bool:
        """What it gives is drawn with numbers that nobody can guess, unless a seed of its own tells them."""
        draws = self.draws_rows or self.draws_groups or getattr(self, "doubt", 0) > 0
        return bool(draws) and getattr(self, "seed", None) is None

    @property
    def heeds_bottom(self) -> bool:
        """It never goes below ``task.frequencies.lowest``.

        Tables with too many tuples are then generalized before they are counted; others are given every tuple.
        """
        return False

    @property
    def keeps_levels(self) -> bool:
        """It keeps to the levels that a policy demands: no label below ``min_level``, none above ``max_level``."""
        return False

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

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Return what is known of its labels where the policy lets rows be suppressed, or not; attacks conclude from
        it.

        What an algorithm leaves unsaid an adversary may believe of it, so the default is what most of them promise.
        """
        return ("minimal",)

    def allowed_suppression(self, task: Task) -> int:
        """Return the rows that it may suppress under a policy; a release of nothing is none."""
        return min(task.budget, task.frequencies.rows - 1) if self.suppresses else 0

    def check_feasible(self, task: Task, watch: Watch) -> None:
        """Raise InfeasibleError if it finds no release; none is made where there is a quicker way to tell."""
        self.run(task, watch)


class ClimbsLevels(Algorithm):
    """Takes every column to one level, and never below a node that it is given nor beyond levels that are demanded."""

    __slots__ = ()

    kind: ClassVar[Kind] = "full-domain"

    @property
    def keeps_levels(self) -> bool:
        return True

    @property
    def heeds_bottom(self) -> bool:
        return True


DECLARED = frozenset(name for name in (*vars(Algorithm), *Algorithm.__annotations__) if not name.startswith("_"))
"""What an algorithm may say of itself."""


class Undeclared(Algorithm):
    """An algorithm, or the class of one, that has a name and ``run``, and of the rest says what it likes."""

    __slots__ = ("algorithm",)

    def __init__(self, algorithm: Any) -> None:
        self.algorithm = algorithm

    def __getattribute__(self, name: str) -> Any:
        algorithm = object.__getattribute__(self, "algorithm")
        said = name in DECLARED and hasattr(algorithm, name)
        return getattr(algorithm, name) if said else object.__getattribute__(self, name)

    def run(self, task: Task, watch: Watch) -> Recoding:
        """Return the recoding of the algorithm itself."""
        recoding: Recoding = self.algorithm.run(task, watch)
        return recoding


def declaration_of(algorithm: Any) -> Algorithm:
    """Return what an algorithm, or a class of them, says of itself, and the defaults for what it leaves unsaid."""
    return algorithm if isinstance(algorithm, Algorithm) else Undeclared(algorithm)


def algorithm_named(name: str, /, **options: Any) -> Algorithm:
    """Make the algorithm of this name with these options.

    >>> algorithm_named("samarati", preference="min-suppression").name
    'samarati'
    """
    return ALGORITHMS.make(name, **options)


def algorithm_of(policy: Policy) -> Algorithm:
    """Make the algorithm that a policy names."""
    return algorithm_named(policy.algorithm, **policy.options)


def algorithm_that_made(name: str | None, policy: Policy, options: Mapping[str, Any] | None = None) -> Algorithm | None:
    """Return what is known of the algorithm that a release names, with the options that it states.

    If it states none, these are the policy's if it is the policy's own.
    """
    if name is None or name not in ALGORITHMS:
        return None
    own = policy.options if name == policy.algorithm else {}
    try:
        return declaration_of(algorithm_named(name, **(own if options is None else options)))
    except (TypeError, PolicyError):
        return None  # one of somebody's own that cannot be made so


def exact_measure_of(policy: Policy) -> str | None:
    """Return the name of the measure that a policy lets an exact search over the lattice optimize, if it names one."""
    chosen = ALGORITHMS.get(policy.algorithm)
    if chosen is None or not declaration_of(chosen).is_exact or "measure" not in options_of(chosen):
        return None
    own = policy.options.get("measure")
    return own if isinstance(own, str) else None


def options_said(algorithm: Any) -> dict[str, Any]:
    """Return the options of an algorithm that are not the usual ones, as JSON and a policy file take them.

    >>> from indistinct.search import Lattice, Samarati
    >>> options_said(Lattice("loss")), options_said(Samarati()), options_said(Samarati(satisfies="matrix"))
    ({'measure': 'loss'}, {}, {'satisfies': 'matrix'})
    """
    if not dataclasses.is_dataclass(algorithm):
        return {}
    said = {}
    for option in dataclasses.fields(algorithm):
        value, made = getattr(algorithm, option.name), option.default_factory
        if value != (option.default if made is dataclasses.MISSING else made()):
            said[option.name] = _plain_value(value)
    return said


def _plain_value(value: object) -> Any:
    """Return the value of an option as JSON takes it: whatever has a name by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain_value(one) for key, one in value.items()}
    if isinstance(value, Sequence | Set):
        return [_plain_value(one) for one in (sorted(value, key=str) if isinstance(value, Set) else value)]
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__)


def options_of(algorithm: type) -> tuple[str, ...]:
    """Return the names of an algorithm's options."""
    return tuple(field.name for field in dataclasses.fields(algorithm)) if dataclasses.is_dataclass(algorithm) else ()


def refusal(task: Task, watch: Watch) -> InfeasibleError | None:
    """Return what the policy's algorithm would say instead of making a release; None if it makes one.

    It is told without making one where that is possible. µ-Argus, whose releases may fail the recount, is judged like
    the lattice.
    """
    if task.number_of_people() < max(1, task.largest_k()):
        return task.infeasible(task.budget)
    try:
        declaration_of(algorithm_of(task.policy)).check_feasible(task, watch)
    except InfeasibleError as error:
        return error
    return None
