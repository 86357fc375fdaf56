"""How many people of a population stand alone, estimated from a sample of it: the estimators that are in use.

Each sees only how many groups of each size the sample has, and how large the population is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.errors import PolicyError

SMALL_SAMPLE = 0.1
"""Up to this sampling fraction Pitman's model estimates best, as Dankar et al. found."""
GOLDEN = (math.sqrt(5) - 1) / 2
STEPS = 80


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many groups of each size a sample has, and the population it was drawn from."""

    sizes: FloatArray
    groups: FloatArray
    population: int

    @classmethod
    def of(cls, sizes: Mapping[int, int], population: int) -> Histogram:
        """Make one of groups by size; a population that is smaller than its sample is refused."""
        made = cls(np.array(list(sizes), np.float64), np.array(list(sizes.values()), np.float64), population)
        if population < made.rows:
            raise PolicyError(
                f"population: a population of {population:,} is smaller than the table, which has {made.rows:,} rows"
            )
        return made

    @property
    def rows(self) -> int:
        """The records of the sample."""
        return int(self.sizes @ self.groups)

    @property
    def fraction(self) -> float:
        """The share of the population that was drawn."""
        return self.rows / self.population

    def of_size(self, size: int) -> float:
        """The number of groups of one size."""
        return float(self.groups[self.sizes == size].sum())


@dataclass(frozen=True, slots=True)
class Estimate:
    """The people of the population who stand alone, by each estimator; None where it has no answer."""

    population: int
    fraction: float
    """The share of the population that is in the table."""
    uniques: Mapping[str, float | None]
    """By estimator: zayatz, pitman, snb."""
    chosen: str
    """The estimator that the rule of Dankar et al. chooses: ``exact`` where the table is the population."""

    @property
    def population_uniques(self) -> float:
        """The estimate of the chosen estimator."""
        return self.uniques[self.chosen] or 0.0

    @property
    def population_uniqueness(self) -> float:
        """The same as a share of the population."""
        return self.population_uniques / max(1, self.population)


def estimate(sizes: Mapping[int, int], population: int) -> Estimate:
    """Estimate how many people of a population stand alone, from the groups by size of a sample.

    The estimator is chosen by the rule of Dankar et al.: Pitman's up to a tenth of the population; else the lower of
    Zayatz's and the slide negative binomial model's.

    Source: Dankar, El Emam, Neisa and Roffey 2012.

    >>> found = estimate({1: 60, 2: 15, 5: 2}, population=10_000)
    >>> found.chosen, sorted(found.uniques)
    ('pitman', ['pitman', 'snb', 'zayatz'])
    """
    sample = Histogram.of(sizes, population)
    uniques: dict[str, float | None]
    if sample.rows == population or not sample.of_size(1):
        return Estimate(population, sample.fraction, {"exact": sample.of_size(1)}, "exact")
    uniques = {"zayatz": zayatz(sample), "pitman": pitman(sample), "snb": snb(sample)}
    if sample.fraction <= SMALL_SAMPLE:
        chosen = "pitman" if uniques["pitman"] is not None else "zayatz"
    else:
        known = [name for name in ("zayatz", "snb") if uniques[name] is not None]
        chosen = min(known, key=lambda name: uniques[name] or 0.0)
    return Estimate(population, sample.fraction, uniques, chosen)


def zayatz(sample: Histogram) -> float:
    """Estimate by Bayes' rule, with the sizes of the sample's groups for those of the population's.

    Source: Zayatz 1991.
    """
    single = np.array([_chance_of_one(int(size), sample) for size in sample.sizes])
    shares = sample.groups / sample.groups.sum()
    chance = sample.of_size(1) / sample.groups.sum() * sample.fraction / float(shares @ single)
    return float(sample.of_size(1) * chance / sample.fraction)


def _chance_of_one(size: int, sample: Histogram) -> float:
    """Return the chance that exactly one of a group's people is drawn (hypergeometric)."""
    people, drawn = sample.population, sample.rows
    if people - size < drawn - 1:
        return 0.0
    log = _log_choose(people - size, drawn - 1) - _log_choose(people, drawn) + math.log(size)
    return math.exp(log)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman(sample: Histogram) -> float | None:
    """Estimate by Pitman's sampling formula, whose two parameters are those of greatest likelihood.

    A population of N then has N Γ(θ + 1) Γ(θ + α + N - 1) / (Γ(θ + α) Γ(θ + N)) people alone on average.

    Source: Hoshino 2001.
    """
    groups, rows = float(sample.groups.sum()), float(sample.rows)
    if groups == rows or groups < 2:
        return None  # all alone, or all alike: nothing to tell the parameters from

    def best_theta(alpha: float) -> tuple[float, float]:
        inner: float = sum(
            number * (math.lgamma(size - alpha) - math.lgamma(1 - alpha))
            for size, number in zip(sample.sizes.tolist(), sample.groups.tolist(), strict=True)
        )

        def likelihood(log_theta: float) -> float:
            theta = math.exp(log_theta) - alpha  # any θ above -α
            between = math.lgamma(theta / alpha + groups) - math.lgamma(theta / alpha + 1)
            over = math.lgamma(theta + rows) - math.lgamma(theta + 1)
            return (groups - 1) * math.log(alpha) + between - over + inner

        place = _highest(likelihood, math.log(1e-9), math.log(1e12))
        return likelihood(place), math.exp(place) - alpha

    alpha = _highest(lambda alpha: best_theta(alpha)[0], 1e-6, 1 - 1e-6)
    theta = best_theta(alpha)[1]
    people = sample.population
    log = math.log(people) + math.lgamma(theta + 1) - math.lgamma(theta + alpha)
    log += math.lgamma(theta + alpha + people - 1) - math.lgamma(theta + people)
    return min(float(people), float(math.exp(log)))


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function with one summit is highest, by golden section."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(STEPS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2


def snb(sample: Histogram) -> float | None:
    """Estimate by the slide negative binomial model: a group's size in the population is 1 and a negative binomial.

    Its parameters are those with which the sample has as many groups of 1 and of 2 as it has, in a population with
    as many groups as Shlosser's modified estimator says. None if there are no such parameters.

    Source: Chen and Keller-McNulty 1998; Haas and Stokes 1998.
    """
    return uniques_of_model(shlosser(sample), sample.of_size(1), sample.of_size(2), sample.fraction)


def uniques_of_model(groups: float, ones: float, twos: float, fraction: float) -> float | None:
    """Return how many of a population's groups have one person by the model that samples so many groups of 1 and of
    2.
    """
    if not twos:
        return None
    betas = np.concatenate([np.geomspace(1e-9, 0.5, 500), 1 - np.geomspace(0.5, 1e-9, 500)[1:]])
    surplus = _expected_ones(betas, groups, twos / ones, fraction) - ones
    crossings = np.flatnonzero(surplus[:-1] * surplus[1:] <= 0)
    if not len(crossings):
        return None
    place = int(crossings[0])
    low, high, rises = float(betas[place]), float(betas[place + 1]), surplus[place] < surplus[place + 1]
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_low = float(_expected_ones(np.array([middle]), groups, twos / ones, fraction)[0]) < ones
        low, high = (middle, high) if is_low == rises else (low, middle)
    alpha = float(_alphas(np.array([low]), twos / ones, fraction)[0])
    return float(groups * low**alpha)


def shlosser(sample: Histogram) -> float:
    """Estimate how many groups the population has, by Shlosser's estimator as Haas and Stokes modified it."""
    f, sizes, groups = sample.fraction, sample.sizes, sample.groups
    drawn_twice = float((sizes * f**2 * (1 - f**2) ** (sizes - 1)) @ groups)
    # as a difference of expm1, which does not vanish where the population is vast
    either = float((np.expm1(sizes * math.log1p(-(f**2))) - np.expm1(sizes * math.log1p(-f))) @ groups)
    missed = float(((1 - f) ** sizes) @ groups)
    single = float((sizes * f * (1 - f) ** (sizes - 1)) @ groups)
    return float(groups.sum()) + sample.of_size(1) * drawn_twice / either * (missed / single) ** 2


def _alphas(betas: FloatArray, ratio: float, fraction: float) -> FloatArray:
    """Return for each β the α with which a sample has so many groups of 2 for one of 1: a quadratic equation.

    It has one root above 0. The numbers of such groups are the first two derivatives of the model's generating
    function s (β / (1 - (1 - β) s))^α at 1 - fraction.
    """
    missing = (1 - fraction) * (1 - betas)
    scale = fraction * (1 - betas) / (2 * (1 - missing) ** 2)
    square, line = scale * missing, scale * (2 - missing) - ratio * missing / (1 - missing)
    # the form of the root without cancellation, whichever sign the line has
    root = np.sqrt(line**2 + 4 * square * ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas: FloatArray = np.where(line > 0, 2 * ratio / (line + root), (root - line) / (2 * square))
    return alphas


def _expected_ones(betas: FloatArray, groups: float, ratio: float, fraction: float) -> FloatArray:
    """Return for each β, and the α that fits it, how many groups of 1 a sample has on average."""
    alphas, missing = _alphas(betas, ratio, fraction), (1 - fraction) * (1 - betas)
    shrunk = np.exp(alphas * np.log(betas / (1 - missing)))
    ones: FloatArray = groups * fraction * shrunk * (1 + alphas * missing / (1 - missing))
    return ones
