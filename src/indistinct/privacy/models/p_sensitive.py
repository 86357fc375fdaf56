"""p-sensitive k-anonymity: groups of k rows with p different sensitive values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray
from indistinct.counting import Groups
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import PrivacyModel, ValueRule, check_whole
from indistinct.privacy.models.k_anonymity import KAnonymity
from indistinct.privacy.models.l_diversity import LDiversity, too_few_values


@dataclass(frozen=True, slots=True)
class PSensitive(PrivacyModel):
    """Each person is hidden among ``k`` rows, which have at least ``p`` different values in each sensitive column.

    Source: Truta and Vinay 2006.
    """

    name: ClassVar[str] = "p-sensitive"
    title: ClassVar[str] = "Each group of k has at least p sensitive values"
    sentence: ClassVar[str] = (
        "Each person is hidden among at least {k} {rows} that look alike, which have at least {p} values in "
        "each sensitive column."
    )
    usual: ClassVar[Mapping[str, float]] = {"p": 2, "k": 5}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True

    p: int
    k: int
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_whole("p", self.p)
        check_whole("k", self.k)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups have ``k`` rows and ``p`` different values."""
        return KAnonymity(self.k).satisfied(groups) & LDiversity(self.p, column=self.column).satisfied(groups)

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        return ValueRule("distinct", self.p)

    def objection(self, groups: Groups) -> str | None:
        return too_few_values(self, groups, "p", self.p)
