"""What the values of a column look like: dates, codes, ranges, kinds or amounts, and the hierarchy that they climb."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Hierarchy, intervals, levels, prefix, suppress
from indistinct.hierarchy.catalogue.known_codes import Recognised, recognise
from indistinct.policy.column import Unreadable
from indistinct.profiling import role_words
from indistinct.profiling.column_names import is_one_of, words_of
from indistinct.profiling.column_statistics import MANY, MOST_DISTINCT, Look
from indistinct.profiling.date_shapes import MOST_UNREADABLE, read_dates, read_quarters
from indistinct.profiling.ordered_ranges import order_ranges
from indistinct.profiling.safe_harbor import OLDEST
from indistinct.showing.words import counted

POSTAL_WORDS = "zip zipcode postal postcode postleitzahl plz cp cap codepostal"

INTERVALS_ACROSS = 20
FEW_KINDS = 12
"""Whole numbers of unknown meaning that are no more, and small, are codes of kinds."""
MOST_KINDS = 60
"""More numbered kinds than these stand in a code book, whose neighbours are related."""
OLDEST_OF_ALL = 130
MANY_ROWS = 100
OUTLIERS = 0.01
"""With many rows the highest and the lowest hundredth do not set the widths of intervals."""
SHORTEST_CODE, LONGEST_CODE, MOST_CODE_LEVELS = 3, 12, 8
MOST_KNOWN = 5_000
MOSTLY_LISTED = 0.6
"""Where a column's name speaks of a list, such a share of values must be on it, if few cells have the others."""
EXPECTED = {
    "countries": "country countries nation* land pays pais paese nationality birthplace pobp citizen*",
    "us_states": "state states stateabb statefip",
    "education": "educ* isced",
    "isco": "isco*",
    "nace": "nace*",
    "naics": "naics*",
    "icd9": "icd*",
    "icd10": "icd* diag*",
    "nuts": "nuts*",
}
"""What words of a column's name make codes of the catalogue likely."""
OWN_NUMBERS = {"education": "isced"}
"""What many surveys number in their own way: digits are codes of the catalogue only if the name says which."""
LEFT_TO_OTHERS = ("us_zip", "age")
"""Prefixes and intervals keep more of these."""
CODE = re.compile(r"[A-Za-z]{0,3}[0-9][A-Za-z0-9./:-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shape:
    """The hierarchy that all values of a column climb, and what they look like in words."""

    hierarchy: Hierarchy
    words: str
    missing_codes: tuple[str, ...] = ()
    """Values that mean a missing cell, to be declared so."""
    unreadable: Unreadable = "refuse"
    """What becomes of the few values that the hierarchy cannot read."""

    @property
    def kind(self) -> str:
        """The kind of the hierarchy."""
        return self.hierarchy.kind


def shape_of(name: str, look: Look) -> Shape:
    """Return the hierarchy that all values of a column climb, and their shape in words."""
    if look.values is None:
        return Shape(suppress(), f"more than {MOST_DISTINCT:,} distinct values, too many to look at")
    for found in (
        _as_shape(read_dates(look)),
        _as_shape(read_quarters(look)),
        _known_codes(name, look),
        _codes(name, look),
        _ranges(look),
        _numbers(name, look),
        _code_texts(look),
    ):
        if found is not None:
            fitting = _declare_others(found, look)
            if fitting is not None:
                return fitting
            break  # a value that the shape does not cover: nothing but suppression is safe to suggest
    if look.distinct <= MANY:
        return Shape(suppress(), counted(look.distinct, "category", "categories"))
    return Shape(suppress(), "texts without a common shape; to keep more of them list their labels with levels")


def _as_shape(found: tuple[Hierarchy, str] | None) -> Shape | None:
    return None if found is None else Shape(*found)


def _declare_others(shape: Shape, look: Look) -> Shape | None:
    """Declare what a shape does not cover: codes for missing, and a few unreadable cells; None if there is more."""
    values = look.values or ()
    codes = tuple(code for code in look.codes_for_missing if _is_apart(shape, code))
    others = [value for value in values if value not in codes]
    unreadable = set(shape.hierarchy.unreadable(others))
    try:
        shape.hierarchy.compile([value for value in others if value not in unreadable])
    except HierarchyError:
        return None
    if look.counts is not None and unreadable:
        rows = sum(n for value, n in zip(values, look.counts.tolist(), strict=True) if value in unreadable)
        if rows > MOST_UNREADABLE * look.present:
            return None
    words = [shape.words]
    if codes:
        words.append(counted(len(codes), "code is read as missing", "codes are read as missing"))
    if unreadable:
        words.append(f"{counted(len(unreadable), 'value that is none', 'values that are none')} are read as missing")
    return Shape(shape.hierarchy, "; ".join(words), codes, "missing" if unreadable else "refuse")


def _is_apart(shape: Shape, code: str) -> bool:
    """Return whether a code for missing must be declared: the shape cannot read it, or reads it as an amount."""
    return shape.kind == "intervals" or code in shape.hierarchy.unreadable([code])


def _known_codes(name: str, look: Look) -> Shape | None:
    """Recognize codes and names of the catalogue: countries, states, occupations, industries, diagnoses, education."""
    values = look.meaningful
    if not values or look.distinct > MOST_KNOWN:
        return None
    expected = [kind for kind, known in EXPECTED.items() if any(is_one_of(word, known, 7) for word in words_of(name))]
    if look.numbers:  # one survey's 3 is not another's
        own = {
            kind for kind, known in OWN_NUMBERS.items() if not any(is_one_of(word, known) for word in words_of(name))
        }
        expected = [kind for kind in expected if kind not in own]
        if not expected:
            return None  # digits alone may be anything
    found = recognise(values, expected=expected)
    if found is None and not look.numbers:
        found = _mostly_known(look, expected)
    if found is None or found.name in LEFT_TO_OTHERS or (look.numbers and found.name not in expected):
        return None
    return Shape(found.hierarchy, f"known codes or names ({found.name})")


def _mostly_known(look: Look, expected: Sequence[str]) -> Recognised | None:
    """Recognize what a name speaks of where some values are misspelt or unlisted, if few cells have these."""
    found = recognise(look.meaningful, expected=expected, threshold=MOSTLY_LISTED)
    if found is None or found.name not in expected:
        return None
    return found if _declare_others(Shape(found.hierarchy, ""), look) is not None else None


def _codes(name: str, look: Look) -> Shape | None:
    """Recognize codes whose leading characters mean most: postal codes, and digits with leading zeros."""
    values = look.values or ()
    length = max(map(len, values), default=0)
    is_postal = any(is_one_of(word, POSTAL_WORDS) for word in words_of(name))
    is_digits = all(len(value) == length and value.isdecimal() for value in values)
    has_zeros = is_digits and any(value.startswith("0") for value in values)
    if not SHORTEST_CODE <= length <= LONGEST_CODE or not (is_postal or has_zeros):
        return None
    return _prefixes(length, f"codes of {length} digits" if is_digits else f"codes of up to {length} characters")


def _code_texts(look: Look) -> Shape | None:
    """Recognize codes of letters and digits, all as long, that are many: 25-00503, 14:35."""
    values = look.values or ()
    lengths = set(map(len, values))
    if look.distinct <= MANY or len(lengths) != 1 or not all(map(CODE.fullmatch, values)):
        return None
    (length,) = lengths
    return _prefixes(length, f"codes of {length} characters") if SHORTEST_CODE <= length <= LONGEST_CODE else None


def _prefixes(length: int, words: str) -> Shape:
    if length <= MOST_CODE_LEVELS:
        return Shape(prefix(length), words)
    return Shape(prefix(length, keep=list(range(MOST_CODE_LEVELS - 1, 0, -1))), words)


def _ranges(look: Look) -> Shape | None:
    """Recognize ranges as texts, such as [70-80) and 65+, and let neighbours join, two, four and eight at a time."""
    rows = order_ranges(look.values or ())
    return None if rows is None else Shape(levels(rows), "ranges, whose neighbours are joined")


def _numbers(name: str, look: Look) -> Shape | None:
    """Recognize numbers: codes of kinds, or amounts, whose intervals are sized by the middle of their range."""
    numbers = look.numbers
    if len(numbers) < 3 or look.distinct < 3:
        return None
    if look.is_whole and is_of_kinds(name, look):
        return _code_book(numbers) if len(numbers) > MOST_KINDS else None
    reach = Decimal(str(_reach(look)))
    if reach <= 0:
        return None
    exact = [Decimal(str(number)) for number in numbers]
    apart = 2 * min(after - before for before, after in pairwise(exact) if after > before)
    narrowest: Decimal | int = _nice(max(reach / INTERVALS_ACROSS, apart))  # else the first level joined no values
    if look.is_whole:
        narrowest = max(2, int(narrowest))
    widths = [narrowest * factor for factor in (1, 2, 4, 8) if factor == 1 or narrowest * factor < reach]
    words = f"{'whole ' if look.is_whole else ''}numbers"
    is_age = any(is_one_of(word, role_words.AGES, 9) for word in words_of(name))
    if is_age and look.is_whole and OLDEST < numbers[-1] <= OLDEST_OF_ALL and numbers[0] >= 0:
        return Shape(intervals(*widths, high=OLDEST + 1), f"{words}, {OLDEST + 1} and more together")
    return Shape(intervals(*widths), words)


def is_of_kinds(name: str, look: Look) -> bool:
    """Return whether whole numbers are codes of kinds, as 1 and 2 for sex, and no amounts, as 1 and 2 children."""
    words = words_of(name)
    if any(is_one_of(word, role_words.AMOUNTS, 9) for word in words):
        return len(look.numbers) <= 2
    if any(is_one_of(word, f"{role_words.KINDS} {role_words.SEX} {role_words.RACE}", 9) for word in words):
        return True
    if any(is_one_of(word, role_words.PLACES, 9) for word in words):
        return True
    return len(look.numbers) <= FEW_KINDS and look.numbers[-1] < MANY_ROWS


def _code_book(numbers: Sequence[float]) -> Shape | None:
    """Return intervals of ten, a hundred and a thousand, which are what codes of a code book have in common."""
    highest = max(map(abs, numbers))
    widths = [10**power for power in range(1, 8) if 10**power < highest]
    return Shape(intervals(*widths), "codes, whose leading digits are kept longest") if widths else None


def _reach(look: Look) -> float:
    """Return the width of the range of the numbers, without outliers where there are many rows."""
    numbers = look.numbers
    whole = numbers[-1] - numbers[0]
    if look.present < MANY_ROWS or look.counts is None or look.values is None:
        return whole
    of = dict(zip(look.values, look.counts.tolist(), strict=True))
    readable = [value for value in look.meaningful if value not in set(look.unreadable)]
    values = np.array([float(Decimal(value.strip())) for value in readable])
    order = np.argsort(values, kind="stable")
    share = np.cumsum(np.array([of[value] for value in readable])[order])
    low, high = np.searchsorted(share, [OUTLIERS * share[-1], (1 - OUTLIERS) * share[-1]])
    middle = float(values[order[high]] - values[order[low]])
    return middle if middle > 0 and math.isfinite(middle) else whole


def _nice(number: Decimal) -> Decimal:
    """Return the smallest of 1, 2 and 5, times a power of ten, that is at least a number.

    >>> _nice(Decimal("3.65")), _nice(Decimal("0.013"))
    (Decimal('5'), Decimal('0.02'))
    """
    power = Decimal(1).scaleb(number.adjusted())
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number)
