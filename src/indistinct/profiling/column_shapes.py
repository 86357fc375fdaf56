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
from indistinct.hierarchy.catalogue import Recognised, recognise
from indistinct.policy.column import Unreadable
from indistinct.profiling.column_names import SHORTEST_PART, topics_of, word_list, words_of
from indistinct.profiling.column_statistics import MANY, MOST_DISTINCT, ColumnStatistics
from indistinct.profiling.date_shapes import MOST_UNREADABLE, look_like_dates, read_dates, read_quarters
from indistinct.profiling.ordered_ranges import order_ranges
from indistinct.profiling.safe_harbor import OLDEST
from indistinct.showing.words import counted

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
LEFT_TO_OTHERS = ("us_zip", "age")
"""Prefixes and intervals keep more of these."""
DECIMAL_COMMA = re.compile(r"[-+]?\d[\d.' ]*,\d+\s*[€$£%]?")
HALF = 0.5
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


def shape_of(name: str, cells: ColumnStatistics) -> Shape:
    """Return the hierarchy that all values of a column climb, and their shape in words."""
    if cells.values is None:
        return Shape(suppress(), f"more than {MOST_DISTINCT:,} distinct values, too many to look at")
    for found in (
        _as_shape(read_dates(cells)),
        _as_shape(read_quarters(cells)),
        _known_codes(name, cells),
        _codes(name, cells),
        _ranges(cells),
        _numbers(name, cells),
        _code_texts(cells),
    ):
        if found is not None:
            fitting = _declare_others(found, cells)
            if fitting is not None:
                return fitting
            break  # a value that the shape does not cover: nothing but suppression is safe to suggest
    if cells.distinct <= MANY:
        return _with_marks(counted(cells.distinct, "category", "categories"), cells)
    return _with_marks("texts without a common shape; to keep more of them list their labels with levels", cells)


def _with_marks(words: str, cells: ColumnStatistics) -> Shape:
    """Return a column of kinds: marks that stand for a missing cell are declared so, words that may are only named."""
    words = read_as_texts(cells) or words
    marks = tuple(code for code in cells.codes_for_missing if is_mark(code))
    words += f"; {counted(len(marks), 'mark is', 'marks are')} read as missing" if marks else ""
    others = len(cells.codes_for_missing) - len(marks)
    if others:
        means = "value may mean that a cell is missing, and is", "values may mean that a cell is missing, and are"
        words += f"; {counted(others, *means)} taken as {'it stands' if others == 1 else 'they stand'}"
    return Shape(suppress(), words, marks)


def read_as_texts(cells: ColumnStatistics) -> str:
    """Say why most of many values are texts that look like numbers or dates, and what to do; nothing if they do not."""
    values = cells.meaningful
    if len(values) <= MANY:
        return ""
    if sum(map(bool, map(DECIMAL_COMMA.fullmatch, values))) >= HALF * len(values):
        return "numbers with decimal commas, which are read as texts: write them with points to get intervals"
    if look_like_dates(values):
        return "dates that are written in several ways, read as texts: write all as 2024-03-31 to get months and years"
    return ""


def is_mark(code: str) -> bool:
    """Return whether a text can be nothing but the mark of a missing cell.

    >>> [is_mark(code) for code in ("?", "--", "N/A", "unknown", "-9")]
    [True, True, True, False, False]
    """
    plain = code.strip().lower()
    return plain in ("na", "n/a", "n.a.", "nan", "null", "nil") or not any(map(str.isalnum, plain))


def _as_shape(found: tuple[Hierarchy, str] | None) -> Shape | None:
    return None if found is None else Shape(*found)


def _declare_others(shape: Shape, cells: ColumnStatistics) -> Shape | None:
    """Declare what a shape does not cover: codes for missing, and a few unreadable cells; None if there is more."""
    values = cells.values or ()
    codes = tuple(code for code in cells.codes_for_missing if _is_apart(shape, code))
    others = [value for value in values if value not in codes]
    unreadable = set(shape.hierarchy.unreadable(others))
    try:
        shape.hierarchy.compile([value for value in others if value not in unreadable])
    except HierarchyError:
        return None
    if cells.counts is not None and unreadable:
        rows = sum(n for value, n in zip(values, cells.counts.tolist(), strict=True) if value in unreadable)
        if rows > MOST_UNREADABLE * cells.present:
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


def _known_codes(name: str, cells: ColumnStatistics) -> Shape | None:
    """Recognize codes and names of the catalogue: countries, states, occupations, industries, diagnoses, education."""
    values = cells.meaningful
    if not values or cells.distinct > MOST_KNOWN:
        return None
    words = words_of(name)
    expected = [kind for kind, known in topics_of("codes").items() if known.fits_any(words, SHORTEST_PART)]
    if cells.numbers:  # one survey's 3 is not another's
        if "education" in expected and not word_list("codes_of.education").fits_any(words):
            expected.remove("education")
        if not expected:
            return None  # digits alone may be anything
    found = recognise(values, expected=expected)
    if found is None and not cells.numbers:
        found = _mostly_known(cells, expected)
    if found is None or found.name in LEFT_TO_OTHERS or (cells.numbers and found.name not in expected):
        return None
    return Shape(found.hierarchy, f"known codes or names ({found.name})")


def _mostly_known(cells: ColumnStatistics, expected: Sequence[str]) -> Recognised | None:
    """Recognize what a name speaks of where some values are misspelt or unlisted, if few cells have these."""
    found = recognise(cells.meaningful, expected=expected, threshold=MOSTLY_LISTED)
    if found is None or found.name not in expected:
        return None
    return found if _declare_others(Shape(found.hierarchy, ""), cells) is not None else None


def _codes(name: str, cells: ColumnStatistics) -> Shape | None:
    """Recognize codes whose leading characters mean most: postal codes, and digits with leading zeros."""
    values = cells.values or ()
    length = max(map(len, values), default=0)
    is_postal = word_list("codes_of.postal").fits_any(words_of(name))
    is_digits = all(len(value) == length and value.isdecimal() for value in values)
    has_zeros = is_digits and any(value.startswith("0") for value in values)
    if not SHORTEST_CODE <= length <= LONGEST_CODE or not (is_postal or has_zeros):
        return None
    return _prefixes(length, f"codes of {length} digits" if is_digits else f"codes of up to {length} characters")


def _code_texts(cells: ColumnStatistics) -> Shape | None:
    """Recognize codes of letters and digits, all as long, that are many: 25-00503, 14:35."""
    values = cells.values or ()
    lengths = set(map(len, values))
    if cells.distinct <= MANY or len(lengths) != 1 or not all(map(CODE.fullmatch, values)) or look_like_dates(values):
        return None
    (length,) = lengths
    return _prefixes(length, f"codes of {length} characters") if SHORTEST_CODE <= length <= LONGEST_CODE else None


def _prefixes(length: int, words: str) -> Shape:
    if length <= MOST_CODE_LEVELS:
        return Shape(prefix(length), words)
    return Shape(prefix(length, keep=list(range(MOST_CODE_LEVELS - 1, 0, -1))), words)


def _ranges(cells: ColumnStatistics) -> Shape | None:
    """Recognize ranges as texts, such as [70-80) and 65+, and let neighbours join, two, four and eight at a time."""
    rows = order_ranges(cells.values or ())
    return None if rows is None else Shape(levels(rows), "ranges, whose neighbours are joined")


def _numbers(name: str, cells: ColumnStatistics) -> Shape | None:
    """Recognize numbers: codes of kinds, or amounts, whose intervals are sized by the middle of their range."""
    numbers = cells.numbers
    if len(numbers) < 3 or cells.distinct < 3:
        return None
    if cells.is_whole and is_of_kinds(name, cells):
        return _code_book(numbers) if len(numbers) > MOST_KINDS else None
    reach = Decimal(str(_reach(cells)))
    if reach <= 0:
        return None
    exact = [Decimal(str(number)) for number in numbers]
    apart = 2 * min(after - before for before, after in pairwise(exact) if after > before)
    narrowest: Decimal | int = _nice(max(reach / INTERVALS_ACROSS, apart))  # else the first level joined no values
    if cells.is_whole:
        narrowest = max(2, int(narrowest))
    widths = [narrowest * factor for factor in (1, 2, 4, 8) if factor == 1 or narrowest * factor < reach]
    words = f"{'whole ' if cells.is_whole else ''}numbers"
    is_age = word_list("quasi.age").fits_any(words_of(name), 9)
    if is_age and cells.is_whole and OLDEST < numbers[-1] <= OLDEST_OF_ALL and numbers[0] >= 0:
        return Shape(intervals(*widths, high=OLDEST + 1), f"{words}, {OLDEST + 1} and more together")
    return Shape(intervals(*widths), words)


def is_of_kinds(name: str, cells: ColumnStatistics) -> bool:
    """Return whether whole numbers are codes of kinds, as 1 and 2 for sex, and no amounts, as 1 and 2 children."""
    words = words_of(name)
    if word_list("numbers.amounts").fits_any(words, 9):
        return len(cells.numbers) <= 2
    if word_list("numbers.kinds", "quasi.sex", "quasi.origin").fits_any(words, 9):
        return True
    if word_list("quasi.place").fits_any(words, 9):
        return True
    return len(cells.numbers) <= FEW_KINDS and cells.numbers[-1] < MANY_ROWS


def _code_book(numbers: Sequence[float]) -> Shape | None:
    """Return intervals of ten, a hundred and a thousand, which are what codes of a code book have in common."""
    highest = max(map(abs, numbers))
    widths = [10**power for power in range(1, 8) if 10**power < highest]
    return Shape(intervals(*widths), "codes, whose leading digits are kept longest") if widths else None


def _reach(cells: ColumnStatistics) -> float:
    """Return the width of the range of the numbers, without outliers where there are many rows."""
    numbers = cells.numbers
    whole = numbers[-1] - numbers[0]
    if cells.present < MANY_ROWS or cells.counts is None or cells.values is None:
        return whole
    of = dict(zip(cells.values, cells.counts.tolist(), strict=True))
    readable = [value for value in cells.meaningful if value not in set(cells.unreadable)]
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
