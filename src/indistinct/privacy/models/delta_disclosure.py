"""δ-disclosure: every sensitive value is about as likely in every group as in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray, np
from indistinct.counting import Groups
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import TOLERANCE, PrivacyModel, ValueRule, check_positive, compared_shares


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(PrivacyModel):
    """The natural logarithm of a value's share in a group over its share in the table lies within ``delta`` of 0.

    It holds strictly, and for every value of the table: one that a group lacks is disclosed not to be there.
    Merging satisfied groups gives a satisfied one.

    Source: Brickell and Shmatikov 2008, Definition 1.
    """

    name: ClassVar[str] = "delta-disclosure"
    title: ClassVar[str] = "The logarithm of how much likelier a value becomes stays below delta"
    sentence: ClassVar[str] = (
        "No group makes a sensitive value much more or less likely than the table does: the logarithm of the "
        "ratio stays within {delta}."
    )
    usual: ClassVar[Mapping[str, float]] = {"delta": 1.5}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True
    asks_whole_table: ClassVar[bool] = True

    delta: float
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_positive("delta", self.delta)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups keep every value's share near that in the table."""
        near = np.ones(len(groups), np.bool_)
        for _, tally in self.tallies(groups):
            shares, whole = compared_shares(tally, groups)
            ratios = shares / whole
            near[tally.groups[np.abs(np.log(ratios)) >= self.delta - TOLERANCE]] = False
            present = np.bincount(tally.groups, minlength=len(groups))
            near &= present == int((tally.totals > 0).sum())
        verdict: BoolArray = groups.sizes == 0
        verdict |= near
        return verdict

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        return ValueRule("near", self.delta)
