"""One to one: the pairs of rows of two releases that no pairing of all their people allows.

If everybody in one release is in the other as well, each of its rows has a row to itself in the other. A pair that
leaves somebody else without a row is then ruled out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.attacks.complementary import pairing
from indistinct.attacks.complementary.chains import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class OneToOne:
    """What a pairing of as many rows as possible says."""

    is_possible: BoolArray
    """For each pair whether it belongs to such a pairing."""
    alone: tuple[int, int]
    """The rows of each release that are left over."""


def one_to_one(left: IntArray, right: IntArray, left_rows: IntArray, right_rows: IntArray) -> OneToOne:
    """Pair off as many rows of two releases as possible; ``left`` and ``right`` are the entries of each pair.

    A pair with rows belongs to such a pairing if some are paired off, or can be by shifting others in a circle.

    >>> found = one_to_one(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1, 1]), np.array([1, 1]))
    >>> found.is_possible.tolist(), found.alone
    ([True, False, True], (0, 0))
    """
    lefts, rights = len(left_rows), len(right_rows)
    order = np.argsort(left, kind="stable")
    starts = _starts(left, lefts)
    ordered = right[order]
    back = np.argsort(ordered, kind="stable")
    over_left, over_right = left_rows.copy(), right_rows.copy()
    owner = left[order]
    pairs = pairing.EntryPairs(starts, owner, ordered, _starts(right, rights), back)
    paired = pairing.pair_off(pairs, over_left, over_right)
    is_kept = paired > 0
    kept_left, kept_right = owner[is_kept], ordered[is_kept] + lefts
    nobody, nowhere = lefts + rights, lefts + rights + 1
    everyone, everywhere = np.arange(lefts), np.arange(rights) + lefts
    arcs = [
        (owner, ordered + lefts),
        (kept_right, kept_left),
        _between(nobody, everyone[over_left > 0]),
        _between(everyone[over_left < left_rows], nobody),
        _between(everywhere[over_right > 0], nowhere),
        _between(nowhere, everywhere[over_right < right_rows]),
    ]
    sources, targets = (np.concatenate(ends) for ends in zip(*arcs, strict=True))
    component = pairing.strong_components(_starts(sources, nowhere + 1), targets[np.argsort(sources, kind="stable")])
    is_possible = np.empty(len(left), np.bool_)
    is_possible[order] = is_kept | (component[owner] == component[ordered + lefts])
    return OneToOne(is_possible, (int(over_left.sum()), int(over_right.sum())))


def _starts(numbers: IntArray, size: int) -> IntArray:
    """Return where the entries of each number start when they are sorted by it."""
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=size))).astype(np.int64)


def _between(source: IntArray | int, target: IntArray | int) -> tuple[IntArray, IntArray]:
    """Return the arcs between one node and some others."""
    one, other = np.broadcast_arrays(np.asarray(source, np.int64), np.asarray(target, np.int64))
    return one, other
