"""UtilityAxis: the user's own utility of a release beside its risk, the axes of the map that compare() draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from indistinct.data_utility import DecodedPair
from indistinct.data_utility.distributions import k_marginal_score
from indistinct.data_utility.regression import Regression, compare_regression
from indistinct.disclosure_risk import risk
from indistinct.errors import PolicyError
from indistinct.pipeline.held_out import model_utility
from indistinct.policy import Policy
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.release import Release
from indistinct.search import Algorithm

K_MARGINAL = "k-marginal"
TARGET = "target="
SPLITS = 2
"""How often rows are held out to score a model; a map has many releases."""


@dataclass(frozen=True, slots=True)
class UtilityAxis:
    """What makes a release useful to somebody: more is better."""

    name: str
    """As it was asked for."""
    regression: Regression | None = None
    target: str | None = None

    @classmethod
    def parse(cls, text: str) -> UtilityAxis:
        """Return the utility that a text names: ``k-marginal``, the formula of a regression, or ``target=COLUMN``.

        >>> UtilityAxis.parse("stay ~ age").title, UtilityAxis.parse("target=ill").title
        ('overlap of stay ~ age', 'score of a model of ill')
        """
        if text == K_MARGINAL:
            return cls(text)
        if text.startswith(TARGET) and len(text) > len(TARGET):
            return cls(text, target=text[len(TARGET) :])
        if "~" in text:
            return cls(text, regression=Regression.parse(text))
        raise PolicyError(f"utility: must be {K_MARGINAL}, a formula such as 'stay ~ age', or {TARGET}COLUMN")

    @property
    def title(self) -> str:
        """What the axis shows."""
        if self.target is not None:
            return f"score of a model of {self.target}"
        return "k-marginal score" if self.regression is None else f"overlap of {self.regression}"

    def value(self, release: Release, table: Any, algorithm: Algorithm, watch: Watch) -> float | None:
        """Return the utility of a release; None where its form cannot be decoded."""
        if not release.form.shows_recoding:
            return None
        watch.report("utility")
        if self.target is not None:
            found = model_utility(table, release.policy, self.target, algorithm=algorithm, splits=SPLITS, watch=watch)
            return found.means["release"]
        pair = DecodedPair.of(release, table, release.policy)
        if self.regression is not None:
            return compare_regression(pair, self.regression).overlap
        return k_marginal_score(pair, watch=watch)


def risks(release: Release) -> dict[str, float]:
    """Return how surely somebody is found who is known to be in the release: the highest chance, and the average."""
    if not release.form.shows_recoding:
        return {}
    policy = release.policy
    found = risk(release.tables["table"], policy.quasi, policy=policy, most=1).prosecutor
    return {"highest": found.highest, "average": found.average}


def with_k(policy: Policy, k: int) -> Policy:
    """Return a policy whose k-anonymity asks for another k; one without gets that model as well."""
    if not any(isinstance(model, KAnonymity) for model in policy.privacy):
        return replace(policy, privacy=(*policy.privacy, KAnonymity(k)))
    models = tuple(replace(model, k=k) if isinstance(model, KAnonymity) else model for model in policy.privacy)
    return replace(policy, privacy=models)
