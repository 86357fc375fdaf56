"""Declaration: what an algorithm says of itself, which options it has, and what is wrong with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from indistinct.errors import PolicyError
from indistinct.registry import MEASURES

Kind = Literal["full-domain", "local", "two-table"]
LabelKind = Literal["hierarchy", "ranges"]
"""What the cells of a group carry: the lowest label of the hierarchy, or ranges of numbers and dates, and sets."""
LabelPromise = Literal["lowest-labels", "minimal", "minimal-rows", "whole-tuples"]
"""Groups carry the lowest labels that cover them; no column of a group could be lower; no row could; and of k equal
rows or more k are released as they are, unless all that is generalized is one group."""

CELL_MEASURES = ("ncp", "loss", "precision", "entropy")
"""The measures of this package that add up over cells."""
PREFERENCES = (
    *("min-absolute", "min-relative", "max-distribution", "min-suppression"),
    *("highest-absolute-peak", "highest-relative-peak", "fewest-attributes", "most-attributes"),
)
"""The names of Samarati's preference policies (2001, section 6)."""


class Declaration:
    """What an algorithm is: frozen, with its options as fields. The defaults promise nothing, so they hold for all."""

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
    """What it returns always satisfies the policy."""
    is_search: ClassVar[bool] = True
    """It looks for an answer; False for one that is given the answer, or draws it."""
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
    """It draws at random who stands in which group, so that its answer does not follow from the table."""
    blanks_cells: ClassVar[bool] = False
    """It may release a missing cell where the table has a value."""
    measures_cells: ClassVar[bool] = False
    """Its option ``measure`` must be one that adds up over cells."""
    works_in_fragments: ClassVar[bool] = False
    """Parts of a table may be recoded by themselves, where all of its tuples are too many for one machine."""
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ("minimal",)
    """What is known of its labels, unless its options say more: an adversary may believe what it leaves unsaid, so the
    default is what most algorithms promise."""

    def __post_init__(self) -> None:
        if mistakes := list(self.mistakes()):
            raise PolicyError(mistakes)

    def mistakes(self) -> Iterator[str]:
        """Say what is wrong with its options."""
        yield from ()

    @property
    def has_one_level(self) -> bool:
        """Every column climbs to one level, so that dates can move and numbers be perturbed beside it."""
        return self.kind == "full-domain"

    @property
    def links_tables(self) -> bool:
        """It looks at all rows of a person in several tables that belong together."""
        return self.links_rows and self.has_one_level

    @property
    def is_randomised(self) -> bool:
        """Its answer is drawn with numbers that nobody can guess, unless a seed of its own fixes them."""
        draws = self.draws_rows or self.draws_groups or getattr(self, "random_raise", 0) > 0
        return bool(draws) and getattr(self, "seed", None) is None

    @property
    def uses_start_node(self) -> bool:
        """It never goes below ``task.frequencies.start``.

        Tables with too many tuples are then generalized before they are counted; others are given every tuple.
        """
        return False

    @property
    def keeps_levels(self) -> bool:
        """It keeps to the levels that a policy demands: no label below ``min_level``, none above ``max_level``."""
        return False

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Return what is known of its labels where the policy lets rows be suppressed, or not; attacks use it."""
        return self.label_promises


class Undeclared(Declaration):
    """An algorithm of another package, or its class: what it leaves unsaid has the defaults."""

    __slots__ = ("algorithm",)

    def __init__(self, algorithm: Any) -> None:
        self.algorithm = algorithm

    def __getattribute__(self, name: str) -> Any:
        algorithm = object.__getattribute__(self, "algorithm")
        if not name.startswith("_") and name != "algorithm" and hasattr(algorithm, name):
            return getattr(algorithm, name)
        return object.__getattribute__(self, name)


def declaration_of(algorithm: Any) -> Declaration:
    """Return what an algorithm declares, with the defaults for what it leaves out."""
    return algorithm if isinstance(algorithm, Declaration) else Undeclared(algorithm)


def options_of(algorithm: Any) -> tuple[str, ...]:
    """Return the names of the options of an algorithm, or of its class."""
    said = algorithm.algorithm if isinstance(algorithm, Undeclared) else algorithm
    return tuple(option.name for option in dataclasses.fields(said)) if dataclasses.is_dataclass(said) else ()


def usual_value(algorithm: Any, option: str) -> Any:
    """Return the default of an option of an algorithm's class.

    >>> from indistinct.policy.algorithms.declarations import RegroupOptions
    >>> usual_value(RegroupOptions, "measure")
    'ncp'
    """
    said = algorithm.algorithm if isinstance(algorithm, Undeclared) else algorithm
    (found,) = [one for one in dataclasses.fields(said) if one.name == option]
    value = found.default if found.default_factory is dataclasses.MISSING else found.default_factory()
    return _plain_value(value)


def options_said(algorithm: Any) -> dict[str, Any]:
    """Return the options of an algorithm that are not the usual ones, as JSON and a policy file take them.

    >>> from indistinct.policy.algorithms.declarations import LatticeOptions, SamaratiOptions
    >>> options_said(LatticeOptions("loss")), options_said(SamaratiOptions())
    ({'measure': 'loss'}, {})
    """
    if not dataclasses.is_dataclass(algorithm):
        return {}
    said = {}
    for option in dataclasses.fields(algorithm):
        value, made = getattr(algorithm, option.name), option.default_factory
        if not _is_usual(value, option.default if made is dataclasses.MISSING else made()):
            said[option.name] = _plain_value(value)
    return said


def _is_usual(value: object, usual: object) -> bool:
    """Return whether an option has its default, which may be the name of what was made of it."""
    is_made = isinstance(usual, str) and not isinstance(value, str) and getattr(value, "name", None) == usual
    return value == (type(value)() if is_made else usual)


def _plain_value(value: object) -> Any:
    """Return the value of an option as JSON takes it: whatever has a name by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain_value(one) for key, one in value.items()}
    if isinstance(value, Sequence | Set):
        return [_plain_value(one) for one in (sorted(value, key=str) if isinstance(value, Set) else value)]
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__)


# What is wrong with an option.


def name_of(value: Any) -> Any:
    """Return the name of a measure or an algorithm that is given by name or as it is."""
    return value if isinstance(value, str) else getattr(value, "name", value)


def measure_mistakes(declaration: Declaration, measure: Any) -> Iterator[str]:
    name = name_of(measure)
    if measure is name and (not isinstance(name, str) or name not in MEASURES):
        yield f"measure: there is no {measure!r}; choose one of {', '.join(MEASURES)}"
    elif declaration.measures_cells and name in MEASURES.own and name not in CELL_MEASURES:
        yield f"measure: groups are made one by one, so it must be ncp, loss, precision or entropy, not {name}"


def precision_mistakes(precision: Any) -> Iterator[str]:
    if name_of(precision) != "precision":
        yield f"precision: must be a Precision(), got {precision!r}"


def preference_mistakes(preference: Any) -> Iterator[str]:
    if not callable(preference) and preference not in PREFERENCES:
        yield f"preference: there is no {preference!r}; choose one of {', '.join(PREFERENCES)}, or give a function"


def choice_mistakes(name: str, value: object, choices: Sequence[str]) -> Iterator[str]:
    if value not in choices:
        listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        yield f"{name}: must be {listed}, got {value!r}"


def flag_mistakes(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{name}: must be true or false, got {value!r}"


def whole_mistakes(name: str, value: object, least: int = 0) -> Iterator[str]:
    if not is_whole(value, least):
        yield f"{name}: must be a whole number, {least} or more, got {value!r}"


def column_mistakes(name: str, given: Any, is_right: Callable[[Any], bool], right: str) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield f"{name}: must give columns a number, got {given!r}"
        return
    for column, value in given.items():
        if not is_right(value):
            yield f"{name}.{column}: must be {right}, got {value!r}"


def is_whole(value: object, least: int = 0) -> bool:
    return type(value) is int and value >= least


def is_number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def are_combinations(given: object) -> bool:
    """Return whether these are lists of different columns, or the word for some of them."""
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


TASKS = ("classification", "regression")
MANY_NUMBERS = 10
"""Numbers of more different values are for regression, if nothing is said."""


@dataclass(frozen=True, slots=True)
class PredictionTarget:
    """A sensitive column that others will want to predict: groups are cut where that costs the prediction least.

    ``task`` is ``"classification"``, ``"regression"``, or None: regression for many different numbers.
    ``max_alike`` bounds the price: at most this share of the rows come to groups in which all have one target value, as
    far as cuts decide it.
    """

    column: str
    task: Literal["classification", "regression"] | None = None
    max_alike: float = 1.0

    @classmethod
    def of(cls, given: PredictionTarget | Mapping[str, Any] | str | None) -> Self | None:
        """Return a target from what a policy says; raise a PolicyError with all that is wrong with it."""
        if given is None or isinstance(given, cls):
            return given
        if mistakes := list(target_mistakes(given)):
            raise PolicyError(mistakes)
        return cls(given) if isinstance(given, str) else cls(**given)  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest say it."""
        said: dict[str, Any] = {"column": self.column}
        if self.task is not None:
            said["task"] = self.task
        return said | ({"max_alike": self.max_alike} if self.max_alike < 1 else {})

    def is_regression(self, values: Sequence[str | None]) -> bool:
        """Return whether such values are numbers to be estimated, and not classes."""
        if self.task is not None:
            return self.task == "regression"
        return len(values) > MANY_NUMBERS and all(one is None or _is_numeral(one) for one in values)


def target_mistakes(given: Any) -> Iterator[str]:
    """Say what is wrong with a target as a policy gives it."""
    if given is None or isinstance(given, PredictionTarget) or (isinstance(given, str) and given):
        return
    if not isinstance(given, Mapping):
        yield f"target: must be the name of a sensitive column, or {{ column, task, max_alike }}, got {given!r}"
        return
    for key in given:
        if key not in ("column", "task", "max_alike"):
            yield f"target.{key}: is not known; say column, task and max_alike"
    if not isinstance(given.get("column"), str) or not given["column"]:
        yield "target.column: must name the sensitive column that is to be predicted"
    if given.get("task") is not None:
        yield from choice_mistakes("target.task", given["task"], TASKS)
    if not is_number(given.get("max_alike", 1.0), 0, 1):
        yield f"target.max_alike: must be a share from 0 to 1, got {given['max_alike']!r}"


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
