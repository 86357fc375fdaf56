"""The declaration of each algorithm, and the one that a policy, a manifest or a message asks for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from indistinct.errors import PolicyError
from indistinct.policy.algorithms.declaration import (
    Declaration,
    Kind,
    LabelKind,
    LabelPromise,
    Undeclared,
    are_combinations,
    choice_mistakes,
    column_mistakes,
    declaration_of,
    flag_mistakes,
    is_number,
    is_whole,
    measure_mistakes,
    name_of,
    options_of,
    precision_mistakes,
    preference_mistakes,
    target_mistakes,
    whole_mistakes,
)
from indistinct.policy.policy import Policy, suppression_mistakes
from indistinct.registry import ALGORITHMS, make_with

if TYPE_CHECKING:
    from indistinct.quality import QualityMeasure

MOST_RAISED = 0.5


class FullDomainDeclaration(Declaration):
    """Takes every column to one level, and never below a start node nor beyond levels that are demanded."""

    __slots__ = ()

    kind: ClassVar[Kind] = "full-domain"

    @property
    def keeps_levels(self) -> bool:
        return True

    @property
    def uses_start_node(self) -> bool:
        return True


class PeopleAndLinks(Declaration):
    """Heeds that people have several rows, and that pseudonyms may link them."""

    __slots__ = ()

    counts_people: ClassVar[bool] = True
    links_rows: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class LatticeOptions(FullDomainDeclaration, PeopleAndLinks):
    """The best node by a measure."""

    name: ClassVar[str] = "lattice"
    title: ClassVar[str] = "the best levels by a measure, proven"
    is_exact: ClassVar[bool] = True

    measure: QualityMeasure | str = "precision"
    target: str | Mapping[str, Any] | None = None

    def mistakes(self) -> Iterator[str]:
        yield from measure_mistakes(self, self.measure)
        yield from target_mistakes(self.target)
        if self.target is not None and name_of(self.measure) != "precision":
            yield "measure: with a target nothing else is measured; leave one of them out"

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Where rows may be suppressed it may climb higher than it must, to suppress fewer; for a target as well."""
        return () if may_suppress or self.target is not None else ("minimal",)


@dataclass(frozen=True, slots=True)
class SamaratiOptions(FullDomainDeclaration, PeopleAndLinks):
    """A node of least height."""

    name: ClassVar[str] = "samarati"
    title: ClassVar[str] = "the lowest levels (Samarati 2001)"
    is_exact: ClassVar[bool] = True

    preference: str | Callable[[Any], Any] | None = None
    satisfies: Literal["roll-up", "matrix"] = "roll-up"

    def mistakes(self) -> Iterator[str]:
        if self.preference is not None:
            yield from preference_mistakes(self.preference)
        yield from choice_mistakes("satisfies", self.satisfies, ("roll-up", "matrix"))

    @property
    def keeps_levels(self) -> bool:
        return self.satisfies != "matrix"

    @property
    def uses_start_node(self) -> bool:
        """Distance vectors are between tuples as they are; the roll-up starts anywhere."""
        return self.satisfies != "matrix"


@dataclass(frozen=True, slots=True)
class MinGenOptions(FullDomainDeclaration, PeopleAndLinks):
    """The node of greatest precision without suppressed rows."""

    name: ClassVar[str] = "mingen"
    title: ClassVar[str] = "the most precise levels (Sweeney 2002)"
    is_exact: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False

    preference: str | Callable[[Any], Any] = "min-absolute"
    precision: QualityMeasure | str = "precision"

    def mistakes(self) -> Iterator[str]:
        yield from preference_mistakes(self.preference)
        yield from precision_mistakes(self.precision)


@dataclass(frozen=True, slots=True)
class MinGenCellOptions(Declaration):
    """The groups of greatest precision."""

    name: ClassVar[str] = "mingen-cell"
    title: ClassVar[str] = "the most precise cells, tiny tables"
    is_exact: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ("minimal-rows",)
    """No row could carry a lower label, or the table would be more precise."""

    preference: str | Callable[[Any], Any] = "min-absolute"
    precision: QualityMeasure | str = "precision"
    program_size: int = 6_000

    def mistakes(self) -> Iterator[str]:
        yield from preference_mistakes(self.preference)
        yield from precision_mistakes(self.precision)
        yield from whole_mistakes("program_size", self.program_size)


@dataclass(frozen=True, slots=True)
class DataflyOptions(FullDomainDeclaration, PeopleAndLinks):
    """The node at the end of a greedy climb."""

    name: ClassVar[str] = "datafly"
    title: ClassVar[str] = "quick, the most varied column first (Sweeney)"
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ()
    """It climbs column by column, often higher than it must."""

    suppression: int | float | None = None
    complementary: bool = True
    likelihood: Mapping[str, float] = field(default_factory=dict)
    preference: Mapping[str, float] = field(default_factory=dict)

    def mistakes(self) -> Iterator[str]:
        yield from (m.replace("max_suppression", "suppression") for m in suppression_mistakes(self.suppression))
        yield from flag_mistakes("complementary", self.complementary)
        for name, weights in (("likelihood", self.likelihood), ("preference", self.preference)):
            yield from column_mistakes(name, weights, lambda weight: is_number(weight, 0, 1), "a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class SafePubOptions(FullDomainDeclaration):
    """Levels and people drawn at random."""

    name: ClassVar[str] = "safepub"
    title: ClassVar[str] = "levels and rows drawn at random, for differential privacy"
    is_search: ClassVar[bool] = False
    draws_rows: ClassVar[bool] = True
    makes_safe_groups: ClassVar[bool] = False
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ()
    """Any levels may be drawn."""

    @property
    def uses_start_node(self) -> bool:
        """Where tuples are counted must not depend on them."""
        return False


@dataclass(frozen=True, slots=True)
class ChosenOptions(FullDomainDeclaration, PeopleAndLinks):
    """The node that somebody chose."""

    name: ClassVar[str] = "chosen"
    title: ClassVar[str] = "the levels that were picked"
    is_search: ClassVar[bool] = False

    node: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Declaration.__post_init__(self)
        object.__setattr__(self, "node", MappingProxyType(dict(self.node)))

    def mistakes(self) -> Iterator[str]:
        if not isinstance(self.node, Mapping) or not all(type(level) is int for level in self.node.values()):
            yield "options.node: must give the level of each column, such as { age = 2, zip = 1 }"

    @property
    def uses_start_node(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class AppliedOptions(Declaration):
    """The groups of an earlier release."""

    name: ClassVar[str] = "applied"
    title: ClassVar[str] = "the recoding of an earlier release, again"
    is_search: ClassVar[bool] = False
    counts_people: ClassVar[bool] = True
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ()
    """The labels follow from other rows."""

    recoding: Any = None

    def mistakes(self) -> Iterator[str]:
        given = self.recoding
        if not (given is None or isinstance(given, str | os.PathLike) or hasattr(given, "groups")):
            yield f"recoding: must be the path of a saved recoding, got {given!r}"

    @property
    def keeps_levels(self) -> bool:
        """Ranges and sets, which have no level, are refused where levels are demanded."""
        return True


class RaisedAtRandom(Declaration):
    """Chance may raise labels of the hierarchy, which then promise nothing."""

    __slots__ = ()

    random_raise: float

    def mistakes(self) -> Iterator[str]:
        labels = getattr(self, "labels", "hierarchy")
        if not is_number(self.random_raise, 0, MOST_RAISED):
            yield f"random_raise: must be a number from 0 to {MOST_RAISED}, got {self.random_raise!r}"
        elif self.random_raise and labels != "hierarchy":
            yield (
                "random_raise: needs labels = 'hierarchy'; a range names its ends, and a set its members, because "
                "they occur, "
                "so both tell what is there"
            )


@dataclass(frozen=True, slots=True)
class RegroupOptions(RaisedAtRandom, PeopleAndLinks):
    """Groups of near rows, made better by rebuilding."""

    name: ClassVar[str] = "regroup"
    title: ClassVar[str] = "cell by cell, very little loss"
    measures_cells: ClassVar[bool] = True
    works_in_fragments: ClassVar[bool] = True

    measure: QualityMeasure | str = "ncp"
    labels: LabelKind = "hierarchy"
    random_raise: float = 0.0
    effort: int = 0
    target: str | Mapping[str, Any] | None = None

    def mistakes(self) -> Iterator[str]:
        yield from measure_mistakes(self, self.measure)
        yield from choice_mistakes("labels", self.labels, ("hierarchy", "ranges"))
        yield from target_mistakes(self.target)
        if self.labels == "ranges" and name_of(self.measure) in ("precision", "entropy"):
            yield "measure: ranges and sets are measured by 'loss' or 'ncp'"
        yield from RaisedAtRandom.mistakes(self)
        yield from whole_mistakes("effort", self.effort)

    @property
    def keeps_levels(self) -> bool:
        """Labels of the hierarchy have levels; ranges and sets have none."""
        return self.labels == "hierarchy"

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Groups are near rows, and not always as small as they could be."""
        return () if self.random_raise else ("lowest-labels", "whole-tuples")


@dataclass(frozen=True, slots=True)
class MondrianOptions(RaisedAtRandom, PeopleAndLinks):
    """Groups that are cut one column at a time."""

    name: ClassVar[str] = "mondrian"
    title: ClassVar[str] = "cell by cell, for very large tables"
    works_in_fragments: ClassVar[bool] = True

    strict: bool = True
    labels: LabelKind = "hierarchy"
    choose: Literal["loss", "widest"] = "loss"
    random_raise: float = 0.0
    target: str | Mapping[str, Any] | None = None

    def mistakes(self) -> Iterator[str]:
        yield from flag_mistakes("strict", self.strict)
        yield from choice_mistakes("labels", self.labels, ("hierarchy", "ranges"))
        yield from choice_mistakes("choose", self.choose, ("loss", "widest"))
        yield from target_mistakes(self.target)
        yield from RaisedAtRandom.mistakes(self)

    @property
    def keeps_levels(self) -> bool:
        """Labels of the hierarchy have levels; ranges and sets have none."""
        return self.labels == "hierarchy"

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Ranges are cut along no hierarchy, so nothing says what they could have been instead."""
        if self.random_raise:
            return ()
        return ("lowest-labels",) if self.labels == "ranges" else ("minimal",)


@dataclass(frozen=True, slots=True)
class KSimilarOptions(RaisedAtRandom):
    """Groups of similar rows."""

    name: ClassVar[str] = "k-similar"
    title: ClassVar[str] = "cell by cell, groups of similar rows"
    counts_people: ClassVar[bool] = True
    measures_cells: ClassVar[bool] = True
    works_in_fragments: ClassVar[bool] = True

    measure: QualityMeasure | str = "precision"
    program_size: int = 1_000
    random_raise: float = 0.0

    def mistakes(self) -> Iterator[str]:
        yield from measure_mistakes(self, self.measure)
        yield from whole_mistakes("program_size", self.program_size)
        yield from RaisedAtRandom.mistakes(self)

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Groups are similar rows, and not always as small as they could be."""
        return () if self.random_raise else ("lowest-labels",)


@dataclass(frozen=True, slots=True)
class TopDownOptions(Declaration):
    """Classes that are specialised from the top."""

    name: ClassVar[str] = "top-down"
    title: ClassVar[str] = "classes with their own labels (Wong et al.)"
    counts_people: ClassVar[bool] = True
    works_in_fragments: ClassVar[bool] = True

    tighten: bool = False

    def mistakes(self) -> Iterator[str]:
        yield from flag_mistakes("tighten", self.tighten)

    def promises(self, *, may_suppress: bool) -> tuple[LabelPromise, ...]:
        """Labels are as low as they can be only if it tightens them."""
        return ("minimal",) if self.tighten else ()


@dataclass(frozen=True, slots=True)
class MuArgusOptions(Declaration):
    """Cells of rare combinations are blanked."""

    name: ClassVar[str] = "mu-argus"
    title: ClassVar[str] = "blanks single cells, not always safe"
    makes_safe_groups: ClassVar[bool] = False
    is_safe: ClassVar[bool] = False
    blanks_cells: ClassVar[bool] = True
    label_promises: ClassVar[tuple[LabelPromise, ...]] = ()
    """Cells are blanked one by one until none is rare, some without need."""

    identifying: Mapping[str, int] = field(default_factory=dict)
    recoded: Mapping[str, int] = field(default_factory=dict)
    automatic: bool = True
    combinations: Literal["types", "all"] | Sequence[Sequence[str]] = "types"
    dimension: int = 3
    suppression: Literal["greedy", "entropy", "priorities"] = "greedy"
    priorities: Mapping[str, float] = field(default_factory=dict)

    def mistakes(self) -> Iterator[str]:
        kinds = "0 (not), 1 (most), 2 (more) or 3"
        yield from column_mistakes("identifying", self.identifying, lambda kind: is_whole(kind) and kind <= 3, kinds)
        yield from column_mistakes("recoded", self.recoded, is_whole, "a level, 0 or more")
        is_priority: Callable[[Any], bool] = lambda one: is_number(one, 0, math.inf) and 0 < one < math.inf  # noqa: E731
        yield from column_mistakes("priorities", self.priorities, is_priority, "a number above 0")
        yield from flag_mistakes("automatic", self.automatic)
        yield from choice_mistakes("suppression", self.suppression, ("greedy", "entropy", "priorities"))
        if self.priorities and self.suppression != "priorities":
            yield "priorities: count only with suppression = 'priorities'"
        if not is_whole(self.dimension) or self.dimension < 1:
            yield f"dimension: must be a whole number of columns, 1 or more, got {self.dimension!r}"
        elif self.dimension > 3 and self.combinations == "types":
            yield "dimension: the types of Figure 12 have up to 3 columns; for more set combinations = 'all'"
        if not are_combinations(self.combinations):
            yield "combinations: must be 'types', 'all' or a list of lists of columns"


@dataclass(frozen=True, slots=True)
class LossyJoinOptions(Declaration):
    """Two tables, linked by the groups of another algorithm."""

    name: ClassVar[str] = "lossy-join"
    title: ClassVar[str] = "two tables (Wong et al.)"
    makes_safe_groups: ClassVar[bool] = False
    kind: ClassVar[Kind] = "two-table"

    grouping: Any = "top-down"

    def mistakes(self) -> Iterator[str]:
        name = name_of(self.grouping)
        grouping = declaration_of(self.grouping) if name != self.grouping else declared_class(name)
        if grouping is None or not grouping.makes_safe_groups:
            yield f"grouping: {name!r} makes no safe groups; choose {choices_that('makes_safe_groups')}"


@dataclass(frozen=True, slots=True)
class AnatomyOptions(Declaration):
    """Two tables with classes of different values."""

    name: ClassVar[str] = "anatomy"
    title: ClassVar[str] = "two tables (Xiao and Tao 2006)"
    makes_safe_groups: ClassVar[bool] = False
    kind: ClassVar[Kind] = "two-table"
    draws_groups: ClassVar[bool] = True

    l: int | None = None  # noqa: E741  # the name that everyone knows
    column: str | None = None
    seed: int | None = None

    def mistakes(self) -> Iterator[str]:
        if self.l is not None:
            yield from whole_mistakes("l", self.l, least=2)
        if self.seed is not None:
            yield from whole_mistakes("seed", self.seed)


@dataclass(frozen=True, slots=True)
class MInvariantOptions(Declaration):
    """Groups of m values that stay the same from release to release."""

    name: ClassVar[str] = "m-invariance"
    title: ClassVar[str] = "people keep their group's values (Xiao and Tao 2007)"
    makes_safe_groups: ClassVar[bool] = False
    measures_cells: ClassVar[bool] = True

    measure: QualityMeasure | str = "ncp"
    two_tables: bool = False

    def mistakes(self) -> Iterator[str]:
        yield from measure_mistakes(self, self.measure)
        yield from flag_mistakes("two_tables", self.two_tables)


DECLARATIONS: Mapping[str, type[Declaration]] = {
    one.name: one
    for one in (
        *(LatticeOptions, SamaratiOptions, MinGenOptions, MinGenCellOptions, DataflyOptions, RegroupOptions),
        *(MondrianOptions, KSimilarOptions, MuArgusOptions, TopDownOptions, LossyJoinOptions, AnatomyOptions),
        *(MInvariantOptions, SafePubOptions, ChosenOptions, AppliedOptions),
    )
}
"""The declaration of every algorithm of this package by its name."""


def declared_class(name: str) -> Any:
    """Return the class that declares the algorithm of this name, of which class variables may be asked; None if there
    is no such algorithm. Only the class of another package is loaded.
    """
    if name in DECLARATIONS:
        return DECLARATIONS[name]
    found = ALGORITHMS.get(name)
    return found if found is None or issubclass(found, Declaration) else Undeclared(found)


def declare(name: str, /, **options: Any) -> Declaration:
    """Return the declaration of the algorithm of this name with these options, or raise PolicyError.

    >>> declare("samarati", satisfies="matrix").uses_start_node, declare("samarati").uses_start_node
    (False, True)
    """
    own = DECLARATIONS.get(name)
    return declaration_of(ALGORITHMS.make(name, **options) if own is None else make_with(own, name, options))


def declared_by(name: str | None, policy: Policy, options: Mapping[str, Any] | None = None) -> Declaration | None:
    """Return the declaration of the algorithm that a release names, with the options that it states.

    If it states none, these are the policy's if it is the policy's own. None if it is unknown or cannot be made so.
    """
    if name is None or name not in ALGORITHMS:
        return None
    own = policy.options if name == policy.algorithm else {}
    try:
        return declare(name, **(own if options is None else options))
    except (TypeError, PolicyError):
        return None


def choices_that(what: str) -> str:
    """Return the algorithms that declare something, as a message lists them; searches alone, if there is one.

    >>> choices_that("draws_rows")
    'safepub'
    """
    can = [name for name in ALGORITHMS if _can(name, what)]
    can = [name for name in can if declared_class(name).is_search] or can
    return can[0] if len(can) == 1 else f"{', '.join(can[:-1])} or {can[-1]}"


def _can(name: str, what: str) -> bool:
    """Return whether an algorithm declares something; where that follows from its options, with the usual ones."""
    said = getattr(declared_class(name), what)
    if not isinstance(said, property):
        return bool(said)
    try:
        return bool(getattr(declare(name), what))
    except (TypeError, PolicyError):  # one of another package that has no usual options
        return False


def exact_measure_of(policy: Policy) -> str | None:
    """Return the name of the measure that a policy lets an exact search over the lattice optimize, if it names one."""
    chosen = declared_class(policy.algorithm)
    if chosen is None or not chosen.is_exact or "measure" not in options_of(chosen):
        return None
    own = policy.options.get("measure")
    return own if isinstance(own, str) else None
