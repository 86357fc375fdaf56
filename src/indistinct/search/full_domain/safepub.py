"""SafePub: levels by the exponential mechanism, rows by sampling, and no group that is too small for that.

The levels are drawn from all nodes with a probability that grows with the cells that they are expected to keep. Then
each person is drawn by a fresh coin, and groups below k are dropped. The first is ε₁-differentially private, the second
(ε₂,δ) for whatever levels it is given, so both together are (ε₁ + ε₂, δ).

Source: Bild, Kuhn, Prasser, SafePub, 2018; McSherry, Talwar 2007; docs/differential-privacy.md has the proofs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from indistinct.counting import FrequencyList, IntArray, Node
from indistinct.errors import InterruptedSearchError, PolicyError
from indistinct.policy.algorithms import SafePubOptions
from indistinct.privacy.models.differential_privacy import DifferentialPrivacy
from indistinct.progress import Watch
from indistinct.randomness import Draws
from indistinct.recoding.drawn import DrawnRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.best_node.counters import TupleCounter
from indistinct.search.full_domain.frontier import visit
from indistinct.search.task import Task

MOST_NODES = 1_000_000
"""Candidates: of larger lattices some levels are left out, those of the tallest hierarchies first."""
UNIT = 1 << 20
"""Scores are whole numbers: so many are one row."""
PARTS = 1 << 12
"""The share of its cells that a node keeps is counted in so many parts."""
BLOCK = 1 << 22
"""Rows for which coins are tossed at once."""
SLACK = 1e-9
"""What of ε is left aside for the rounding of exponentials, which is a thousand times less."""


class SafePub(SafePubOptions, Algorithm):
    """Draws levels by the exponential mechanism and people by chance, for the model differential-privacy."""

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> DrawnRecoding:
        """Draw levels and rows."""
        model = model_of(task)
        k, frequencies = task.largest_k(), task.frequencies
        candidates = candidate_levels(frequencies)
        node = draw_node(task, model, candidates, watch)
        drawn = draw_rows(frequencies.entries.counts, model.share, task.draws.part("people"))
        groups, group_of = frequencies.roll_up(node)
        sizes = np.bincount(group_of[frequencies.entries.tuples], drawn, len(groups))
        drawn = np.where(sizes[group_of[frequencies.entries.tuples]] >= k, drawn, 0)
        statements = model.expenses() | {"k": k, "candidates": math.prod(map(len, candidates))}
        return DrawnRecoding.of(frequencies, drawn, node, statements)


def model_of(task: Task) -> DifferentialPrivacy:
    """Return the model that says how to draw."""
    found = [model for model in task.models if isinstance(model, DifferentialPrivacy)]
    if len(found) != 1:
        raise PolicyError("safepub: the policy must have one model differential-privacy, which says how rows are drawn")
    return found[0]


def candidate_levels(frequencies: FrequencyList) -> list[list[int]]:
    """Return the levels of each column among which a node is drawn; they follow from heights and demands alone.

    All of them, unless that makes too many nodes: then columns with most levels lose every other one, but for the
    lowest and the highest.
    """
    levels = [list(range(low, top + 1)) for low, top in zip(frequencies.start, frequencies.heights, strict=True)]
    while math.prod(map(len, levels)) > MOST_NODES:
        longest = max(range(len(levels)), key=lambda column: len(levels[column]))
        if len(levels[longest]) <= 2:
            raise PolicyError(
                f"safepub: {len(levels)} columns make too many nodes to draw from; demand levels of some columns with "
                "min_level and max_level"
            )
        levels[longest] = [*levels[longest][:-1:2], levels[longest][-1]]
    return levels


def draw_node(task: Task, model: DifferentialPrivacy, candidates: Sequence[Sequence[int]], watch: Watch) -> Node:
    """Draw a node, each with a probability that grows with its score: the exponential mechanism.

    One more person raises every score, by no more than the sensitivity; where all move the same way, e^(ε score /
    sensitivity) is enough, without the usual 2.
    """
    if math.prod(map(len, candidates)) == 1:
        return tuple(levels[0] for levels in candidates)
    nodes, scores, sensitivity = node_scores(task, model, candidates, watch)
    epsilon = max(0.0, model.epsilon_of_levels - SLACK)
    best = max(scores)
    weights = [math.exp(-epsilon * ((best - score) / sensitivity)) for score in scores]
    return nodes[_draw_one(weights, task.draws.part("levels"))]


def node_scores(
    task: Task, model: DifferentialPrivacy, candidates: Sequence[Sequence[int]], watch: Watch
) -> tuple[list[Node], list[int], int]:
    """Return each candidate, its score, and the most that one person can change of a score: whole numbers all.

    The score is the number of rows that are expected to be released, times the share of precision that the levels keep.
    """
    frequencies = task.frequencies
    released, step = released_rows(task.largest_k(), model.share)
    slope = int(released[-1]) - int(released[-2])
    sizes = np.arange(1, len(released))
    lost = slope * sizes[:-1] - released[1:-1]
    kept = _kept_parts(frequencies)
    counter = TupleCounter(task, None, len(sizes))
    into = (np.empty(len(sizes), np.int64), np.empty(len(sizes), np.int64), np.empty(len(sizes)), np.empty(len(sizes)))
    nodes, scores, number = [], [], math.prod(map(len, candidates))
    for done, (node, source) in enumerate(visit(counter, frequencies, candidates)):
        if done % 256 == 0:
            watch.report("sweep", done, number)
            if watch.time_is_up():
                raise InterruptedSearchError("the time limit passed before every node was scored")
        counter.tally_by_k(node, source, sizes, into)
        groups_of_size = np.diff(into[1])  # that are smaller than each number, so of one size each
        rows = slope * frequencies.rows - int(groups_of_size @ lost)
        nodes.append(node)
        scores.append(rows * sum(parts[level] for parts, level in zip(kept, node, strict=True)))
    return nodes, scores, step * PARTS


def released_rows(k: int, share: float) -> tuple[IntArray, int]:
    """Return the rows that are expected to be released of a group of 0, 1, … people, and the most that one more adds.

    Of n people X = Bin(n, share) are drawn, and released if X >= k: E[X; X >= k] = share · n · P[Bin(n - 1, share) >=
    k - 1] rows. Both are in whole units and never fall; beyond the last two numbers the rise stays the same. However
    they were rounded, the most that one person adds is that of these very numbers.

    >>> rows, most = released_rows(2, 0.5)
    >>> (rows[:5] / UNIT).tolist(), most / UNIT
    ([0.0, 0.0, 0.5, 1.125, 1.75], 0.625)
    """
    slope = max(1, int(share * UNIT))
    spread = math.sqrt(k * (1 - share) + 1) / share
    sizes = np.arange(k, math.ceil(k / share + 7 * spread) + 8)
    # P[Bin(m + 1) >= j] = P[Bin(m) >= j] + share · P[Bin(m) = j - 1], and the first of them is share^j at m = j
    rises = [share * _binomial(int(size) - 2, k - 2, share) for size in sizes[1:]] if k > 1 else []
    reached = np.cumsum([share ** (k - 1), *rises]) if k > 1 else np.ones(len(sizes))
    released = np.zeros(sizes[-1] + 2, np.int64)
    released[sizes] = np.minimum(slope * sizes * reached, slope * sizes)
    released[-2:] = slope * (sizes[-1] + np.arange(2))
    released = np.maximum.accumulate(released)
    return released, int(np.diff(released).max())


def _binomial(tries: int, hits: int, share: float) -> float:
    """Return the probability of so many hits."""
    ways = math.lgamma(tries + 1) - math.lgamma(hits + 1) - math.lgamma(tries - hits + 1)
    return math.exp(ways + hits * math.log(share) + (tries - hits) * math.log1p(-share))


def _kept_parts(frequencies: FrequencyList) -> list[list[int]]:
    """Return the parts of precision that each level of each column keeps; those of all columns at level 0 are PARTS."""
    whole = sum(map(Fraction, frequencies.weights))
    shares = [PARTS * Fraction(weight) / whole for weight in frequencies.weights]
    return [
        [math.floor(share * (1 - Fraction(level, max(1, height)))) for level in range(height + 1)]
        for share, height in zip(shares, frequencies.heights, strict=True)
    ]


def draw_rows(counts: IntArray, share: float, draws: Draws) -> IntArray:
    """Toss a coin for each row, and return how many rows of each entry were drawn."""
    bound = np.uint64(Fraction(share) * 2**64)  # whole, since a share of at least 1/1000 has no finer bits
    ends, drawn = np.cumsum(counts), np.zeros(len(counts), np.int64)
    for first in range(0, int(ends[-1]) if len(ends) else 0, BLOCK):
        heads = np.flatnonzero(draws.keys(min(BLOCK, int(ends[-1]) - first)) < bound) + first
        drawn += np.bincount(np.searchsorted(ends, heads, "right"), minlength=len(counts))
    return drawn


def _draw_one(weights: Sequence[float], draws: Draws) -> int:
    """Draw one place with exactly these weights: floats are fractions, and those are added up as whole numbers."""
    parts = [math.frexp(weight) for weight in weights]
    sums = list(accumulate(int(math.ldexp(part, 53)) << (power + 1100) for part, power in parts))
    bits = sums[-1].bit_length()
    while True:
        drawn = int.from_bytes(draws.keys(bits // 64 + 1).tobytes(), "little") & ((1 << bits) - 1)
        if drawn < sums[-1]:
            return bisect_right(sums, drawn)
