"""Marginals: total variation of columns and pairs, correlations, and NIST's k-marginal score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.data_utility.decode import DecodedColumn, NumberColumn
from indistinct.data_utility.decoded_pair import DecodedPair
from indistinct.data_utility.distributions.binned import BINS, BinnedColumn, bin_columns
from indistinct.progress import Watch
from indistinct.showing.numbers import percent

FEW_COLUMNS = 30
"""With fewer columns all pairs are scored, else a random sample of them, as NIST's SDNist does."""
SAMPLED_PAIRS = 200
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Shares of the original whose random samples are scored for the sub-sample equivalent."""
SAMPLES = 3
"""Random samples of each share."""


@dataclass(frozen=True, slots=True)
class ColumnDistance:
    """How far the distribution of one column moved."""

    column: str
    kind: str
    total_variation: float
    """Half the sum of differences between shares of bins: 0 is the same distribution, 1 has nothing in common."""
    exact: float
    """The share of released cells that are one value."""
    suppressed: float
    """The share of released cells that say nothing."""
    mean_before: float | None = None
    """Of numbers: the mean of the original; of dates none is given."""
    mean_after: float | None = None


@dataclass(frozen=True, slots=True)
class PairDistance:
    """How far the joint distribution of two columns moved."""

    columns: tuple[str, str]
    total_variation: float
    cramers_v_before: float
    """How strongly the two go together, from 0 to 1, over the same bins."""
    cramers_v_after: float
    correlation_before: float | None = None
    """Pearson's correlation of two columns of numbers, over the rows that have both."""
    correlation_after: float | None = None


@dataclass(frozen=True, slots=True)
class Marginals:
    """How alike the columns and the pairs of columns of a release and its original are."""

    columns: tuple[ColumnDistance, ...]
    pairs: tuple[PairDistance, ...]
    k_marginal: float | None
    """NIST's score, 500 · (2 − the mean over pairs of Σ|p − q|): 1,000 for the same table; None without a pair."""
    k_marginal_of_marginals: float | None
    """The score if the columns were independent and each as in the original."""
    sub_sample_equivalent: float | None
    """The share of the original whose random sample scores as much; 1 if no sample does."""

    @property
    def score_in_words(self) -> str:
        """The k-marginal score beside what makes it readable; nothing without a pair."""
        if self.k_marginal is None or self.k_marginal_of_marginals is None or self.sub_sample_equivalent is None:
            return ""
        sample = "" if self.sub_sample_equivalent == 1 else f", as a random {percent(self.sub_sample_equivalent)} of it"
        return f"{self.k_marginal:.0f} of 1,000{sample}; marginals alone {self.k_marginal_of_marginals:.0f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON takes them."""
        return {
            "k_marginal": self.k_marginal,
            "k_marginal_of_marginals": self.k_marginal_of_marginals,
            "sub_sample_equivalent": self.sub_sample_equivalent,
            "columns": [asdict(one) for one in self.columns],
            "pairs": [asdict(one) | {"columns": list(one.columns)} for one in self.pairs],
        }


def compare_marginals(pair: DecodedPair, *, bins: int = BINS, seed: int = 0, watch: Watch | None = None) -> Marginals:
    """Compare columns and pairs of a release with those of its original.

    Source of the score: NIST's SDNist, k-marginal with k = 2.
    """
    watch = watch or Watch()
    binned = bin_columns(pair, bins)
    rng = np.random.default_rng(seed)
    places = _scored_pairs(len(binned), rng)
    found, independent = [], []
    for done, (one, two) in enumerate(places):
        watch.report("utility", done, len(places))
        watch.time_is_up()
        before, after = joint_before(binned[one], binned[two]), joint_after(binned[one], binned[two])
        correlations = _correlations(pair, binned[one].name, binned[two].name)
        distance = 0.5 * float(np.abs(before - after).sum())
        names = (binned[one].name, binned[two].name)
        found.append(PairDistance(names, distance, cramers_v(before), cramers_v(after), *correlations))
        independent.append(0.5 * float(np.abs(before - np.outer(before.sum(axis=1), before.sum(axis=0))).sum()))
    score = None if not found else score_of([one.total_variation for one in found])
    return Marginals(
        tuple(_column(pair, one) for one in binned),
        tuple(found),
        score,
        None if not found else score_of(independent),
        None if score is None else _sub_sample_equivalent(score, binned, places, rng, watch),
    )


def k_marginal_score(pair: DecodedPair, *, seed: int = 0, watch: Watch | None = None) -> float | None:
    """Return the k-marginal score of ``compare_marginals`` alone; None without a pair."""
    watch, binned, distances = watch or Watch(), bin_columns(pair, BINS), []
    for one, two in _scored_pairs(len(binned), np.random.default_rng(seed)):
        watch.time_is_up()
        before, after = joint_before(binned[one], binned[two]), joint_after(binned[one], binned[two])
        distances.append(0.5 * float(np.abs(before - after).sum()))
    return score_of(distances) if distances else None


def _scored_pairs(columns: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return all pairs of columns, or a random sample of them where there are many."""
    places = list(combinations(range(columns), 2))
    if columns >= FEW_COLUMNS and len(places) > SAMPLED_PAIRS:
        places = [places[place] for place in np.sort(rng.choice(len(places), SAMPLED_PAIRS, replace=False))]
    return places


def score_of(distances: Sequence[float]) -> float:
    """Return the k-marginal score of total variation distances, half the sums that SDNist adds up.

    >>> score_of([0.0, 0.5])
    750.0
    """
    return float(1000 * (1 - np.mean(distances)))


def joint_before(one: BinnedColumn, two: BinnedColumn, rows: IntArray | None = None) -> FloatArray:
    """Return the share of each pair of bins among the rows of the original, or some of them."""
    first, second = (one.original, two.original) if rows is None else (one.original[rows], two.original[rows])
    counts = np.bincount(first * two.bins + second, minlength=one.bins * two.bins)
    return np.asarray(counts.reshape(one.bins, two.bins) / max(1, len(first)), np.float64)


def joint_after(one: BinnedColumn, two: BinnedColumn) -> FloatArray:
    """Return the share of each pair of bins in the release: both cells of a row are spread independently."""
    pairs, counts = np.unique(one.codes * len(two.masses) + two.codes, return_counts=True)
    first, second = one.masses[pairs // len(two.masses)], two.masses[pairs % len(two.masses)]
    return np.asarray((first * counts[:, None]).T @ second / max(1, len(one.codes)), np.float64)


def cramers_v(joint: FloatArray) -> float:
    """Return Cramér's V of a table of shares, √(χ² / min(rows − 1, columns − 1)); 0 where one of them is constant.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), cramers_v(np.array([[0.25, 0.25], [0.25, 0.25]]))
    (1.0, 0.0)
    """
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    expected = np.outer(rows, columns)
    least = min(int((rows > 0).sum()), int((columns > 0).sum())) - 1
    if least < 1:
        return 0.0
    is_possible = expected > 0
    chi = ((joint - expected)[is_possible] ** 2 / expected[is_possible]).sum()
    return float(np.sqrt(max(0.0, float(chi)) / least))


def _correlations(pair: DecodedPair, one: str, two: str) -> tuple[float | None, float | None]:
    """Return Pearson's correlation before and after; None where a column holds no numbers, or one number only."""
    before, after = (_correlation(table.columns[one], table.columns[two]) for table in (pair.original, pair.release))
    return before, after


def _correlation(one: DecodedColumn, two: DecodedColumn) -> float | None:
    if not isinstance(one, NumberColumn) or not isinstance(two, NumberColumn):
        return None
    x, y = one.mean[one.codes], two.mean[two.codes]
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _column(pair: DecodedPair, binned: BinnedColumn) -> ColumnDistance:
    released, own = pair.release.columns[binned.name], pair.original.columns[binned.name]
    means: list[float | None] = [None, None]
    if own.kind == "number" and isinstance(own, NumberColumn) and isinstance(released, NumberColumn):
        means = [_mean(column) for column in (own, released)]
        means[1] = None if (released.is_anything[released.codes] > 0).all() else means[1]
    return ColumnDistance(
        binned.name,
        own.kind,
        0.5 * float(np.abs(binned.before - binned.after).sum()),
        float(released.is_exact[released.codes].mean()),
        float((released.is_anything[released.codes] > 0).mean()),
        *means,
    )


def _mean(column: NumberColumn) -> float | None:
    """Return the mean of the cells, each weighed by how likely it is not missing."""
    weights = (1 - column.missing)[column.codes]
    numbers = np.where(weights > 0, column.mean[column.codes], 0.0)
    return float(numbers @ weights / weights.sum()) if weights.sum() > 0 else None


def _sub_sample_equivalent(
    score: float,
    binned: Sequence[BinnedColumn],
    places: Sequence[tuple[int, int]],
    rng: np.random.Generator,
    watch: Watch,
) -> float:
    """Return the share of the original whose random sample scores as much, between two shares by a straight line."""
    if score >= 1000 - 1e-9:
        return 1.0
    whole = [joint_before(binned[one], binned[two]) for one, two in places]
    rows = len(binned[0].original)
    last_share, last_score = 0.0, 0.0
    for share in (*SHARES, 1.0):
        watch.time_is_up()
        scores = []
        for _ in range(SAMPLES if share < 1 else 1):
            chosen = rng.choice(rows, max(1, round(share * rows)), replace=False)
            drawn = [joint_before(binned[one], binned[two], chosen) for one, two in places]
            scores.append(score_of([0.5 * float(np.abs(p - q).sum()) for p, q in zip(whole, drawn, strict=True)]))
        found = float(np.mean(scores))
        if found >= score:
            step = (score - last_score) / (found - last_score) if found > last_score else 1.0
            return last_share + max(0.0, step) * (share - last_share)
        last_share, last_score = share, found
    return 1.0
