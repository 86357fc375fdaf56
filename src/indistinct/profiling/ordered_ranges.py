"""Ranges written as texts, such as ``[70-80)``, ``65+`` and ``under 2,600``: their order, and labels above them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from indistinct.hierarchy import read_number

FEWEST = 3
"""Ranges from which an order is worth using."""
MOST = 200
ENOUGH = 0.6
"""The share of values that must be ranges; the others, such as refused, stay by themselves."""

NUMBER = r"[-+]?[$€£]?\s*\d[\d,.' ]*?\s*[kK%]?"
AND = r"\s*(?:-|–|—|to|bis|à|a|y|and|until|,|;|\.\.+)\s*"
UNIT = r"\s*(?:[A-Za-z€$£/%]+\.?(?: [a-z]+)?)?"
BOTH = re.compile(rf"[\[(]?\s*({NUMBER}){AND}[<]?({NUMBER}){UNIT}\s*[\])]?", re.IGNORECASE)
ABOVE = re.compile(
    rf"(?:(?:>=?|≥|over|above|more than|at least|from|ab|über|plus de|más de|mas de|oltre|mais de)\s*({NUMBER}){UNIT}"
    rf"|({NUMBER})\s*(?:\+|or more|or over|and over|and above|or above|plus|and older|or older|und mehr|et plus|y más)"
    rf"{UNIT})",
    re.IGNORECASE,
)
BELOW = re.compile(
    rf"(?:<=?|≤|under|below|less than|up to|unter|bis|moins de|menos de|meno di)\s*({NUMBER}){UNIT}", re.IGNORECASE
)


def order_ranges(values: Sequence[str]) -> list[list[str]] | None:
    """Return a row of labels for each value, if most are ranges: two, four, eight neighbours joined, and all at the
    top.

    >>> for row in order_ranges(["[10-20)", "[0-10)", "[20-30)", "unknown"]):
    ...     print(" < ".join(row))
    [0-10) < [0-10) to [10-20) < *
    [10-20) < [0-10) to [10-20) < *
    [20-30) < [20-30) < *
    unknown < unknown < *
    >>> order_ranges(["555-1234", "02139-4307", "x"]) is None
    True
    """
    if len(values) > MOST:
        return None
    bounds = {value: found for value in values if (found := bounds_of(value)) is not None}
    if bounds:  # 0, 1, 2 and 3+: a number alone is a range as well
        bounds |= {value: (float(one), float(one)) for value in values if (one := read_number(value)) is not None}
    if len(bounds) < FEWEST or len(bounds) < ENOUGH * len(values) or not _is_in_a_row(list(bounds.values())):
        return None
    ordered = sorted(bounds, key=lambda value: (bounds[value], value))
    rows = {value: [value] for value in ordered}
    size = 2
    while size < len(ordered):
        for start in range(0, len(ordered), size):
            run = ordered[start : start + size]
            label = run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"
            for value in run:
                rows[value].append(label)
        size *= 2
    height = len(rows[ordered[0]])
    others = [value for value in values if value not in bounds]
    return [[*rows[value], "*"] for value in ordered] + [[*[value] * height, "*"] for value in others]


def bounds_of(text: str) -> tuple[float, float] | None:
    """Return the numbers between which a range lies, or None if a text is not one; an open end is infinite.

    >>> bounds_of("60000-74999"), bounds_of("65+"), bounds_of("under 2,600"), bounds_of("$5000 to 5999")
    ((60000.0, 74999.0), (65.0, inf), (-inf, 2600.0), (5000.0, 5999.0))
    >>> bounds_of("White") is None
    True
    """
    plain = text.strip()
    if found := BELOW.fullmatch(plain):
        return (float("-inf"), high) if (high := _number(found[1])) is not None else None
    if found := ABOVE.fullmatch(plain):
        low = _number(found[1] or found[2])
        return None if low is None else (low, float("inf"))
    if found := BOTH.fullmatch(plain):
        first, last = _number(found[1]), _number(found[2])
        return None if first is None or last is None or first >= last else (first, last)
    return None


def _number(text: str) -> float | None:
    plain = re.sub(r"[$€£,' %]", "", text.strip())
    scale = 1000 if plain.lower().endswith("k") else 1
    try:
        return scale * float(plain.rstrip("kK"))
    except ValueError:
        return None


def _is_in_a_row(bounds: Sequence[tuple[float, float]]) -> bool:
    """Return whether ranges follow each other: none begins before the one before it ends, save by a shared bound."""
    ordered = sorted(bounds)
    return all(after[0] >= before[1] for before, after in pairwise(ordered))
