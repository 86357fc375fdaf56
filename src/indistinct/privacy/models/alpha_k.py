"""(α,k)-anonymity: groups of k rows in which no sensitive value has a share above α."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from indistinct.array_types import BoolArray, FloatArray, np
from indistinct.counting import Groups
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import (
    TOLERANCE,
    PrivacyModel,
    ValueRule,
    check_share,
    check_whole,
    shares_of_groups,
    shares_of_table,
)
from indistinct.privacy.models.k_anonymity import KAnonymity
from indistinct.showing.words import counted as counted_words


@dataclass(frozen=True, slots=True)
class AlphaK(PrivacyModel):
    """Each person is hidden among ``k`` rows, and no sensitive value makes up more than ``alpha`` of them.

    ``alpha`` is one share for every value, or a mapping that limits only the values it names. ``column`` is the
    sensitive column; None means every one, each by itself.

    Merging two groups that satisfy the model gives one that does, but a failing group can spoil a satisfied one. So a
    search without suppression skips what lies above a node that passes, and one with suppression relies on k alone.

    Source: Wong et al. 2006, Definition 2; Wong et al. 2007, section 2.
    """

    name: ClassVar[str] = "alpha-k"
    title: ClassVar[str] = "Each person hides in a group of at least k, and no sensitive value has a share above alpha"
    sentence: ClassVar[str] = (
        "Each person is hidden among at least {k} {rows} that look alike, and no sensitive value makes up more "
        "than {alpha} of them."
    )
    usual: ClassVar[Mapping[str, float]] = {"alpha": 0.5, "k": 5}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True

    alpha: float | Mapping[str, float]
    k: int
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if not isinstance(self.alpha, Mapping):
            check_share("alpha", self.alpha)
            return
        if not self.alpha:
            raise PolicyError("alpha must be a share, or give some values a share of their own")
        for value, share in self.alpha.items():
            if not isinstance(value, str):
                raise PolicyError(f"alpha names values by their text, such as '1', not by {value!r}")
            check_share("alpha", share)
        object.__setattr__(self, "alpha", MappingProxyType(dict(self.alpha)))

    def in_words(self, counted: Literal["rows", "people"] = "rows") -> str:
        said = PrivacyModel.in_words(self, counted)
        if not isinstance(self.alpha, Mapping):
            return said
        few, many = min(self.alpha.values()), max(self.alpha.values())
        what = f"none of {counted_words(len(self.alpha), 'sensitive value')} makes up more than"
        share = str(few) if few == many else f"its own share, {few} to {many},"
        return f"{said.partition('no sensitive value')[0]}{what} {share} of them{said.partition(' of them')[2]}"

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups have ``k`` rows, and no value above its share."""
        verdict = KAnonymity(self.k).satisfied(groups)
        for _, tally in self.tallies(groups):
            limits = self._limits(tally.texts)[tally.values] * (1 + TOLERANCE)
            verdict[tally.groups[shares_of_groups(tally, groups) > limits]] = False
        return verdict

    @property
    def floor(self) -> KAnonymity:
        """k-anonymity; a group whose values all stay at or below ``alpha`` also has at least 1 / ``alpha`` rows."""
        if isinstance(self.alpha, Mapping):
            return KAnonymity(self.k, self.on)
        return KAnonymity(max(self.k, math.ceil(1 / self.alpha / (1 + TOLERANCE))), self.on)

    def objection(self, groups: Groups) -> str | None:
        for column, tally in self.tallies(groups):
            shares, limits = shares_of_table(tally), self._limits(tally.texts)
            worst = int(np.argmax(shares - limits))
            if shares[worst] > limits[worst] * (1 + TOLERANCE):
                return (
                    f"column {column!r}: one value makes up {100 * shares[worst]:.4g} % of the rows, so "
                    f"alpha = {limits[worst]:g} cannot hold in every group; raise alpha, or allow more suppression"
                )
        return None

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        return ValueRule("shares", 0.0, limits=self._limits(texts))

    def _limits(self, texts: Sequence[str | None]) -> FloatArray:
        """Return the largest share that each value may have."""
        if not isinstance(self.alpha, Mapping):
            return np.full(len(texts), float(self.alpha))
        return np.array([self.alpha.get(text, 1.0) if text is not None else 1.0 for text in texts])
