"""β-likeness: no group makes a sensitive value much more likely than the table does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray, np
from indistinct.counting import Groups
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import TOLERANCE, PrivacyModel, ValueRule, check_positive, compared_shares


@dataclass(frozen=True, slots=True)
class BetaLikeness(PrivacyModel):
    """The share of a sensitive value in a group exceeds its share q in the table by at most ``beta`` times q.

    ``enhanced`` takes the lower of ``beta`` and -ln(q), so that frequent values are protected as well.
    Merging satisfied groups gives a satisfied one.

    Source: Cao and Karras 2012, Definitions 2 and 3.
    """

    name: ClassVar[str] = "beta-likeness"
    title: ClassVar[str] = "No value is more than 1 + beta times as likely"
    sentence: ClassVar[str] = "No sensitive value is more frequent in a group than in the table by over {beta} times."
    usual: ClassVar[Mapping[str, float]] = {"beta": 1.0}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True
    asks_whole_table: ClassVar[bool] = True

    beta: float
    enhanced: bool = False
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups raise no value's share by too much."""
        verdict = np.ones(len(groups), np.bool_)
        for _, tally in self.tallies(groups):
            shares, whole = compared_shares(tally, groups)
            nobody = np.where(shares > 0, np.inf, 0.0)  # what nobody of the table has is no gain, unless a group has it
            gains = np.divide(shares, whole, out=nobody, where=whole > 0) - 1
            limits = np.minimum(self.beta, -np.log(np.where(whole > 0, whole, 1.0))) if self.enhanced else self.beta
            verdict[tally.groups[gains > limits + TOLERANCE]] = False
        return verdict

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        return ValueRule("like", self.beta, float(self.enhanced))
