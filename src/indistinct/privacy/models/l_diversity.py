"""l-diversity: every group has l well-represented sensitive values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from indistinct.array_types import Array, BoolArray, FloatArray, np
from indistinct.counting import Groups, Tally
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import (
    TOLERANCE,
    PrivacyModel,
    ValueRule,
    check_choice,
    check_positive,
    check_whole,
    spread_of_groups,
)


@dataclass(frozen=True, slots=True)
class LDiversity(PrivacyModel):
    """Every group has ``l`` different sensitive values, and for two kinds of it they are also spread well.

    ``distinct``   l different values
    ``entropy``    the entropy of the values is at least log(l)
    ``recursive``  the most frequent value occurs less than ``c`` times as often as the l-th and all rarer ones together

    Distinct l-diversity survives any merging; the other two only that of groups which satisfy them.

    Source: Machanavajjhala et al. 2007, Definitions 4.1 and 4.2.
    """

    name: ClassVar[str] = "l-diversity"
    title: ClassVar[str] = "Each group has at least l sensitive values"
    sentence: ClassVar[str] = "Every group has at least {l} sensitive values."
    usual: ClassVar[Mapping[str, float]] = {"l": 2}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True

    l: int  # noqa: E741  # the name that everyone knows
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_whole("l", self.l)
        check_choice("kind", self.kind, ("distinct", "entropy", "recursive"))
        if self.kind == "recursive":
            check_positive("c", self.c)
        elif self.c is not None:
            raise PolicyError(f"c belongs to kind = 'recursive', not to {self.kind!r}")

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        """Only distinct values never become fewer."""
        return self.kind == "distinct"

    @property
    def floor(self) -> PrivacyModel:
        """All kinds demand ``l`` different values."""
        return self if self.kind == "distinct" else LDiversity(self.l, column=self.column, on=self.on)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups are diverse in every sensitive column that is asked about."""
        diverse = np.ones(len(groups), np.bool_)
        for _, tally in self.tallies(groups):
            diverse &= self._diverse(tally, groups)
        verdict: BoolArray = diverse | (groups.sizes == 0)
        return verdict

    def _diverse(self, tally: Tally, groups: Groups) -> BoolArray:
        if self.kind == "entropy":
            return entropies(tally, groups) >= math.log(self.l) - TOLERANCE
        if self.kind == "distinct":
            return np.bincount(tally.groups, minlength=len(groups)) >= self.l
        assert self.c is not None  # checked when made
        most, rest = _most_and_rest(tally, groups, self.l)
        return most < self.c * rest - TOLERANCE

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        if self.kind == "entropy":
            return ValueRule("entropy", math.log(self.l))
        if self.kind == "distinct":
            return ValueRule("distinct", self.l)
        assert self.c is not None  # checked when made
        return ValueRule("recursive", self.c, self.l)

    def objection(self, groups: Groups) -> str | None:
        reason = too_few_values(self, groups, "l", self.l)
        if reason is not None or self.kind == "distinct":
            return reason
        for column, tally in self.tallies(groups):
            if self._diverse(tally, groups).all():
                continue
            if self.kind == "entropy":
                spread = math.exp(float(entropies(tally, groups)[0]))
                return (
                    f"column {column!r}: the values of all rows are spread no better than {spread:.4g} equally "
                    f"frequent ones, so no group division has entropy {self.l}-diversity; lower l, or allow more "
                    "suppression"
                )
            most, rest = _most_and_rest(tally, groups, self.l)
            return (
                f"column {column!r}: over all rows the most frequent value occurs {most[0] / rest[0]:.4g} times as "
                f"often as the {self.l}-th and all rarer ones together, where c = {self.c:g} asks for less; raise c, "
                "lower l, or allow more suppression"
            )
        return None


def entropies(tally: Tally, groups: Groups) -> FloatArray:
    """Return the entropy of each group's values, by the natural logarithm."""
    shares = spread_of_groups(tally, groups)
    return np.bincount(tally.groups, -shares * np.log(shares), len(groups)).astype(np.float64)


def too_few_values(model: PrivacyModel, groups: Groups, name: str, least: int) -> str | None:
    """Say which column has fewer different values in all groups than a model's parameter of this name asks for."""
    for column, tally in model.tallies(groups):
        found = int((tally.totals > 0).sum())
        if found < least:
            return (
                f"column {column!r} has {found} different values in the rows that can be released, fewer than "
                f"{name} = {least}; lower {name}"
            )
    return None


def _most_and_rest(tally: Tally, groups: Groups, place: int) -> tuple[Array, Array]:
    """Return the rows of each group's most frequent value, and those of its values from this place on, most first."""
    order = np.lexsort((-tally.counts, tally.groups))
    in_group, counts = tally.groups[order], tally.counts[order]
    places = 1 + np.arange(len(order)) - np.searchsorted(in_group, in_group)
    most = np.bincount(in_group, counts * (places == 1), len(groups))
    rest = np.bincount(in_group, counts * (places >= place), len(groups))
    return most, rest
