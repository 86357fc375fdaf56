"""utility(): what analyses of a release still give, beside the same analyses of its original."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.data_utility.decoded_pair import DecodedPair
from indistinct.data_utility.distributions import BINS, Marginals, Propensity, compare_marginals, propensity
from indistinct.data_utility.own_analysis import DRAWS, Analysis, OwnAnalysis, compare_own
from indistinct.data_utility.regression import ComparedRegression, Regression, compare_regression
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.showing.words import counted


@dataclass(frozen=True, slots=True)
class Utility:
    """What analyses of a release still give: numbers and names of columns, and no cell."""

    rows: int
    """The released rows."""
    original_rows: int
    """The eligible rows of the original."""
    marginals: Marginals
    propensity: Propensity
    regressions: tuple[ComparedRegression, ...] = ()
    own: tuple[OwnAnalysis, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON takes them."""
        return {
            "rows": self.rows,
            "original_rows": self.original_rows,
            "marginals": self.marginals.to_dict(),
            "propensity": self.propensity.to_dict(),
            "regressions": [one.to_dict() for one in self.regressions],
            "own": [one.to_dict() for one in self.own],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        found = self.marginals
        lines = [f"{counted(self.rows, 'released row')} beside {self.original_rows:,} of the original"]
        if found.k_marginal is not None:
            lines.append(f"k-marginal {found.score_in_words}")
        lines.append(f"pMSE ratio {self.propensity.ratio:.3g}")
        lines += [f"{one.column}: total variation {one.total_variation:.4f}" for one in found.columns]
        lines += [f"{one.regression}: {one.in_words}" for one in self.regressions]
        for own in self.own:
            lines += [f"{own.name}: {one.figure} {one.before} before, {one.after} after" for one in own.figures]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def utility(
    release: Any,
    original: Any,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    regressions: Sequence[Regression | str] = (),
    own: Mapping[str, Analysis] | None = None,
    draws: int = DRAWS,
    bins: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    **reading: Any,
) -> Utility:
    """Compare analyses of a release with those of its original.

    ``release`` is a Release, a release folder or a table; a Release knows its policy itself. Labels are spread over
    what they cover, as ``decode`` does. Columns and pairs are compared over bins of the original: ``bins`` of equal
    frequency for numbers with more values, 20 if not said. A regression is a formula, ``"paid ~ age + sex"``; it may
    begin with its family (``poisson: visits ~ age``, ``cox: days + died=yes ~ age``) and name a value of its outcome
    (``ill=flu ~ age``). ``own`` has analyses of your own by name: functions of an Arrow table that return a number or
    numbers by name, each with its standard error if wanted, or SQL queries of ``data``; of the release each is run on
    ``draws`` tables that are drawn from its labels (0: on one of means and likeliest values). ``reading`` goes to the
    engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy({"age": quasi(intervals(10)), "sex": quasi()}, [KAnonymity(1)])
    >>> table = pa.table({"age": [20, 20, 31, 31], "sex": ["f", "m", "f", "m"]})
    >>> found = utility(table, table, policy)
    >>> found.marginals.k_marginal, found.propensity.ratio
    (1000.0, 0.0)
    """
    watch = watch or Watch()
    watch.report("utility")
    given = getattr(release, "policy", None) if policy is None else policy
    if given is None:
        raise PolicyError("policy: say by which policy the release was made; only a Release knows it itself")
    loaded = load_policy(given, to="utility")
    pair = DecodedPair.of(release, original, loaded, **reading)
    compared = tuple(compare_own(pair, name, one, draws=draws, seed=seed) for name, one in (own or {}).items())
    return replace(compare_decoded(pair, regressions, bins=bins or BINS, seed=seed, watch=watch), own=compared)


def compare_decoded(
    pair: DecodedPair,
    regressions: Sequence[Regression | str] = (),
    *,
    bins: int = BINS,
    seed: int = 0,
    watch: Watch | None = None,
) -> Utility:
    """Compare a decoded release with its decoded original."""
    asked = [Regression.parse(one) if isinstance(one, str) else one for one in regressions]
    compared = tuple(compare_regression(pair, one) for one in asked)
    marginals = compare_marginals(pair, bins=bins, seed=seed, watch=watch)
    told_apart = propensity(pair, seed=seed, watch=watch)
    return Utility(len(pair.release), len(pair.original), marginals, told_apart, compared, notes=pair.release.notes)
