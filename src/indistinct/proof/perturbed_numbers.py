"""Perturbed numbers: what can be said of means and of noise from released cells, and with the original at hand.

Nothing tells which released row was which original one. Where all rows that are alike in the cells that did not change
left, or none of them, the numbers that left are known; then means are worked out anew, and rows that are alike are
compared in sorted order, which no other order can better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa

from indistinct.array_types import FloatArray, IntArray
from indistinct.engine import Rows
from indistinct.hierarchy import read_number
from indistinct.policy import Microaggregation, Noise, Policy
from indistinct.proof.checks import Check

ROUNDING = 1e-9
"""The share of a number that may be lost where it is written and read again, and LEAST of any."""
LEAST = 1e-300


def perturbation_checks(released: Rows, policy: Policy) -> list[Check]:
    """Name the perturbations of a release, and check what its cells alone can tell of them."""
    names = [name for name in policy.perturbed if name in released.columns()]
    if not names:
        return []
    cells = released.texts(names).read_all()
    checks = []
    for name in names:
        how = policy.perturbed[name]
        found = _numbers(cells[name])
        if isinstance(found, int):
            checks.append(Check("cells.perturbed", False, {"column": name, "no_numbers": found}))
        elif isinstance(how, Noise):
            checks.append(Check("cells.perturbed", True, {"column": name, "noise": how.in_words()}))
        else:
            checks.append(_means_check(name, found[~np.isnan(found)], how.k))
    return checks


def _means_check(name: str, values: FloatArray, k: int) -> Check:
    """Check that every number is one that k rows have."""
    distinct, rows = np.unique(values, return_counts=True)
    alone = int((rows < k).sum())
    numbers = {"alone": alone} if alone else {"means": len(distinct)}
    return Check("cells.perturbed", alone == 0, {"column": name, "k": k, **numbers})


def prove_perturbations(released: Rows, general: Rows, policy: Policy, told_by: Sequence[str]) -> list[Check]:
    """Check perturbed numbers against the eligible rows of the original, generalized as the release is.

    ``told_by`` are the columns in which a released row equals its original.
    """
    names = list(policy.perturbed)
    if not names:
        return []
    mine, theirs = (rows.texts([*told_by, *names]).read_all() for rows in (released, general))
    alike = _numbers_of_alike_rows(mine, theirs, told_by)
    return [_prove_column(name, policy, mine[name], theirs[name], alike) for name in names]


def _prove_column(
    name: str, policy: Policy, mine: pa.ChunkedArray, theirs: pa.ChunkedArray, alike: tuple[IntArray, IntArray]
) -> Check:
    how = policy.perturbed[name]
    shown, given = _numbers(mine), _numbers(theirs)
    if isinstance(shown, int):
        return _check(name, False, "no number", no_numbers=shown)
    if isinstance(given, int):
        return _check(name, False, "no number in original")
    both = _known_pairs(shown, given, *alike)
    if both == "missing":
        return _check(name, False, "missing")
    if both == "unknown":
        return _check(name, True, "unknown")
    if isinstance(how, Microaggregation):
        return _prove_means(name, both, how.k)
    return _prove_noise(name, both, how)


def _check(column: str, passed: bool, how: str, **numbers: float | str) -> Check:
    return Check("truth.perturbed", passed, {"column": column, "how": how, **numbers})


@dataclass(frozen=True, slots=True)
class _Compared:
    """The numbers that were released and those of the same rows of the original, both sorted where rows are alike."""

    released: FloatArray
    original: FloatArray


def _prove_means(name: str, both: _Compared, k: int) -> Check:
    """Check that every number is the mean of MDAV's cluster of its original."""
    ordered = np.sort(both.original)
    if len(ordered) < k:
        return _check(name, False, "no cluster", numbers=len(ordered), k=k)
    means = _means_by_mdav(ordered, k)
    first, last = (np.searchsorted(ordered, both.original, side) for side in ("left", "right"))
    lost = ROUNDING * np.abs(means) + LEAST
    is_low = both.released < means[first] - lost[first]
    is_high = both.released > means[last - 1] + lost[last - 1]
    wrong = int((is_low | is_high).sum()) or int((np.abs(np.sort(both.released) - means) > lost).sum())
    return _check(name, not wrong, "means", numbers=len(ordered), wrong=wrong, k=k)


def _means_by_mdav(ordered: FloatArray, k: int) -> FloatArray:
    """Return the mean of the cluster of each of some sorted values, as MDAV says: ends are cut off until few are
    left.
    """
    exact = [Fraction(value) for value in ordered.tolist()]
    cuts = [0, len(exact)]
    low, high = 0, len(exact)
    while high - low >= 3 * k:
        low, high = low + k, high - k
        cuts += [low, high]
    if high - low >= 2 * k:
        middle = sum(exact[low:high]) / (high - low)
        cuts.append(low + k if middle - exact[low] >= exact[high - 1] - middle else high - k)
    means = np.empty(len(exact))
    places = sorted(set(cuts))
    for start, end in pairwise(places):
        means[start:end] = float(sum(exact[start:end]) / (end - start))
    return means


def _prove_noise(name: str, both: _Compared, how: Noise) -> Check:
    """Check that uniform noise is within its bounds; other noise has none."""
    if how.kind != "uniform":
        return _check(name, True, "noise", kind=how.kind, scale=how.scale)
    most = how.scale + how.step + ROUNDING * np.abs(both.original)
    wrong = int((np.abs(both.released - both.original) > most).sum())
    return _check(name, not wrong, "noise", kind=how.kind, scale=how.scale, wrong=wrong)


def _known_pairs(
    shown: FloatArray, given: FloatArray, mine: IntArray, theirs: IntArray
) -> _Compared | Literal["missing", "unknown"]:
    """Pair the numbers of rows that are alike; say if cells are missing that should not be, or if nobody can know."""
    size = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    known = True
    for of in (np.isnan, lambda values: ~np.isnan(values)):
        left = np.bincount(mine[of(shown)], minlength=size)
        all_rows = np.bincount(theirs[of(given)], minlength=size)
        if (left > all_rows).any():
            return "missing"
        has_left = np.bincount(mine, minlength=size) > 0
        known = known and bool((left == all_rows)[has_left].all())
    if not known:
        return "unknown"
    has_left = np.bincount(mine, minlength=size) > 0
    kept = ~np.isnan(given) & has_left[theirs]
    ours = ~np.isnan(shown)
    by_row = np.lexsort((shown[ours], mine[ours]))
    by_original = np.lexsort((given[kept], theirs[kept]))
    return _Compared(shown[ours][by_row], given[kept][by_original])


def _numbers_of_alike_rows(mine: pa.Table, theirs: pa.Table, columns: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Number the rows of two tables so that those with equal cells in some columns have equal numbers."""
    numbers = np.zeros(mine.num_rows + theirs.num_rows, np.int64)
    for name in columns:
        codes, texts = _codes(pa.chunked_array([*mine[name].chunks, *theirs[name].chunks], mine[name].type))
        _, numbers = np.unique(numbers * (len(texts) + 1) + codes, return_inverse=True)
    return numbers[: mine.num_rows], numbers[mine.num_rows :]


def _numbers(column: pa.ChunkedArray) -> FloatArray | int:
    """Return the numbers of a column, NaN for missing ones, or how many cells are no number."""
    codes, texts = _codes(column)
    read = [read_number(text) for text in texts]
    if wrong := int(np.isin(codes, [code for code, number in enumerate(read) if number is None]).sum()):
        return wrong
    return np.array([*(float(number) for number in read if number is not None), np.nan])[codes]


def _codes(column: pa.ChunkedArray) -> tuple[IntArray, list[str]]:
    """Return the code of each cell, that of missing ones last, and the texts that they stand for."""
    texts: list[str] = []
    if not len(column):
        return np.zeros(0, np.int64), texts
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    texts = coded.dictionary.to_pylist()
    return np.from_dlpack(coded.indices.fill_null(len(texts))).astype(np.int64), texts
