"""m-invariance: whoever is released again stays in a group of the same sensitive values, each equally frequent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray, np
from indistinct.counting import Groups
from indistinct.hierarchy import CompiledHierarchy, Texts
from indistinct.privacy.model import PrivacyModel, ValueRule, check_whole, shares_of_table
from indistinct.privacy.models.p_sensitive import PSensitive


@dataclass(frozen=True, slots=True)
class MInvariance(PrivacyModel):
    """Nobody's value is known with more certainty than one in ``m``, however often she is released.

    Two things are promised. In each release no sensitive value makes up more than 1 / ``m`` of a group, which this
    model judges. Over all releases in which a person is, her groups have the same values, her *signature*, each of
    them equally often; only the ledger can judge that, and the algorithm ``m-invariance`` sees to it. Then the values
    of all people of a signature can be exchanged for each other without any release changing.

    Merging two groups that satisfy the model gives one that does, but a failing group can spoil a satisfied one.

    Source: Xiao and Tao 2007, Definitions 3 and 4; there all values of a group are different.
    """

    name: ClassVar[str] = "m-invariance"
    title: ClassVar[str] = "No sensitive value surer than one in m, release by release"
    sentence: ClassVar[str] = (
        "No sensitive value makes up more than one in {m} of a group, and whoever is released again stays in "
        "a group of the same values."
    )
    usual: ClassVar[Mapping[str, float]] = {"m": 2}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True

    m: int
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_whole("m", self.m, least=2)

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell in which groups no value makes up more than one in ``m`` rows.

        >>> from indistinct.counting import Tally
        >>> groups, values, counts = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([2, 2, 1, 2])
        >>> MInvariance(2).satisfied(Groups.of_sizes([4, 3], {"ill": Tally.of(groups, values, counts, ["flu", "HIV"])}))
        array([ True, False])
        """
        verdict = np.ones(len(groups), np.bool_)
        for _, tally in self.tallies(groups):
            verdict[tally.groups[self.m * tally.counts > groups.sizes[tally.groups]]] = False
        return verdict

    @property
    def floor(self) -> PSensitive:
        """Groups of ``m`` rows with ``m`` different values."""
        return PSensitive(self.m, self.m, self.column, self.on)

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule:
        return ValueRule("shares", 0.0, limits=np.full(len(texts), 1 / self.m))

    def objection(self, groups: Groups) -> str | None:
        for column, tally in self.tallies(groups):
            most = float(shares_of_table(tally).max(initial=0.0))
            if self.m * int(tally.totals.max(initial=0)) > int(tally.totals.sum()):
                return (
                    f"column {column!r}: one value makes up {100 * most:.4g} % of the rows, so m = {self.m} cannot "
                    "hold in every group; lower m, or allow more suppression"
                )
        return None


@dataclass(frozen=True, slots=True)
class Signed(PrivacyModel):
    """Everybody stays in a group of the values that ``column`` lists for her, in JSON; new people have none there.

    The ledger puts it into the policy of a search. The algorithm ``m-invariance`` heeds it; what a group holds does not
    tell whether it is heeded, so the ledger looks itself.
    """

    name: ClassVar[str] = "signed"
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True

    column: str
    on: str | None = None

    def satisfied(self, groups: Groups) -> BoolArray:
        """Hold for every group."""
        return np.ones(len(groups), np.bool_)
