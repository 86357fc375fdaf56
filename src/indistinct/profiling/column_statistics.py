"""What the cells of each column are: how many differ, how many are missing, and their values with their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from indistinct.array_types import IntArray
from indistinct.engine import Rows
from indistinct.hierarchy import read_number
from indistinct.linkage import CodedColumn
from indistinct.profiling.column_names import word_list
from indistinct.progress import Watch

MOST_DISTINCT = 200_000
"""Columns with more distinct values are judged by their name and their counts alone."""
MANY = 20
"""With fewer distinct values nothing is concluded from nearly all being different."""
NEARLY_UNIQUE = 0.9
AT_ONCE = 20
"""Columns that are encoded together, of a table that is too large to be read."""
NOT_THERE_NUMBERS = (-9, -8, -7, -1, -99, -98, -97, -88, -77, -999, -998, -9999, -99999)
FEWEST_BESIDE, MOST_STRAYS, LONGEST_STRAY = 3, 2, 4
"""Beside three numbers or more, at most two texts of at most four letters are codes: N for not applicable."""
FEWEST_NUMBERS = 0.95
"""The share of cells, apart from codes that mean missing, that makes a column one of numbers."""


@dataclass(frozen=True)
class ColumnStatistics:
    """The cells of a column: their numbers, and their distinct values with their rows unless there are too many."""

    rows: int
    distinct: int
    missing: int
    values: tuple[str, ...] | None
    counts: IntArray | None = None
    """How many rows have each value."""

    @property
    def present(self) -> int:
        """The cells that are not missing."""
        return self.rows - self.missing

    @property
    def is_nearly_unique(self) -> bool:
        """Nearly every row has a value of its own."""
        return self.distinct >= MANY and self.distinct >= NEARLY_UNIQUE * self.present

    @property
    def has_few(self) -> bool:
        """Its values are so few, beside its rows, that they are kinds of something and name nobody."""
        return self.distinct <= MANY and self.present >= 5 * self.distinct

    @property
    def largest_share(self) -> float:
        """The share of the rows that have its most frequent value; a missing cell is one."""
        if self.counts is None or not self.rows:
            return 0.0
        return float(max(self.counts.max(initial=0), self.missing) / self.rows)

    @property
    def few_values(self) -> tuple[str, ...]:
        """Its values, the most frequent first, if they are few beside its rows; else none."""
        if self.values is None or self.counts is None or not self.has_few:
            return ()
        return tuple(self.values[place] for place in np.argsort(-self.counts, kind="stable").tolist())

    @cached_property
    def read(self) -> dict[str, Decimal | int]:
        """The number that each value says, of those that say one."""
        return {value: number for value in self.values or () if (number := read_number(value)) is not None}

    @cached_property
    def codes_for_missing(self) -> tuple[str, ...]:
        """The values that seem to say that a cell is missing.

        They are words for it; one or two short texts among numbers, or -9 among texts; and numbers far from all others,
        as 999 is.
        """
        values = self.values or ()
        absent = word_list("values.missing")
        words = tuple(value for value in values if value.strip().lower() in absent)
        others = [value for value in values if value not in words]
        numbers = {value: float(self.read[value]) for value in others if value in self.read}
        strays = tuple(value for value in others if value not in numbers)
        if len(numbers) <= MOST_STRAYS <= len(strays) and all(
            number in NOT_THERE_NUMBERS for number in numbers.values()
        ):
            return (*words, *(() if any(any(map(str.isdigit, one)) for one in strays) else numbers))
        if len(numbers) < FEWEST_BESIDE or len(strays) > MOST_STRAYS or any(len(one) > LONGEST_STRAY for one in strays):
            return words
        return (*words, *strays, *_numbers_apart(numbers))

    @cached_property
    def meaningful(self) -> tuple[str, ...]:
        """The values without those that seem to mean missing."""
        absent = set(self.codes_for_missing)
        return tuple(value for value in self.values or () if value not in absent)

    @cached_property
    def unreadable(self) -> tuple[str, ...]:
        """The few values of a column of numbers that are no numbers; none if it is not one of numbers."""
        values = self.meaningful
        unreadable = tuple(value for value in values if value not in self.read)
        if not unreadable or self.counts is None or self.values is None:
            return ()
        rows = dict(zip(self.values, self.counts.tolist(), strict=True))
        of_numbers = sum(rows[value] for value in values) - sum(rows[value] for value in unreadable)
        is_few = sum(rows[value] for value in unreadable) <= (1 - FEWEST_NUMBERS) * max(1, of_numbers)
        return unreadable if is_few and len(unreadable) < len(values) / 4 else ()

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The numbers of a column of numbers, codes for missing left out; none if it is not one of numbers."""
        readable = set(self.meaningful) - set(self.unreadable)
        return tuple(sorted(float(self.read[value]) for value in readable)) if readable <= self.read.keys() else ()

    @cached_property
    def is_whole(self) -> bool:
        """It is one of numbers, and all of them are whole."""
        return bool(self.numbers) and all(number.is_integer() for number in self.numbers)


def _numbers_apart(numbers: Mapping[str, float]) -> tuple[str, ...]:
    """Return the numbers that are codes for missing: negative ones where no other is, and nines far above all
    others.
    """
    distinct = sorted(set(numbers.values()))
    absent: set[float] = set()
    negative = [number for number in distinct if number < 0]
    if len(distinct) - len(negative) >= 2 and all(number in NOT_THERE_NUMBERS for number in negative):
        absent.update(negative)
    left = [number for number in distinct if number not in absent]
    while len(left) >= 3 and _is_nines(left[-1]) and _is_far(left):
        absent.add(left.pop())
    return tuple(value for value, number in numbers.items() if number in absent)


def _is_nines(number: float) -> bool:
    """Return whether a number is written with nines alone, or with nines and a last digit from six on."""
    text = f"{number:.0f}" if number.is_integer() else ""
    return bool(text) and set(text[:-1]) <= {"9"} and text[-1] in "6789" and number >= 96


def _is_far(numbers: Sequence[float]) -> bool:
    """Return whether the last of some rising numbers lies far above those that are not nines themselves."""
    last = numbers[-1]
    rest = [number for number in numbers[:-1] if not (_is_nines(number) and last - number < 4)]
    if len(rest) < 2:
        return False
    reach = rest[-1] - rest[0]
    return last - rest[-1] > max(1.0, 0.2 * reach) and last > 1.2 * rest[-1]


def statistics_of(
    rows: Rows, coded: Mapping[str, CodedColumn], count: int, watch: Watch, names: Sequence[str] | None = None
) -> dict[str, ColumnStatistics]:
    """Return the statistics of all columns, or of some: from their cells where they were read, else by asking for
    each.
    """
    names = rows.columns() if names is None else names
    if not coded:
        return dict(_ask_each(rows, names, count, watch))
    return {name: cells_of(coded[name], count) for name in names}


def cells_of(column: CodedColumn, count: int) -> ColumnStatistics:
    """Count the values of a column that was read."""
    sizes = np.bincount(column.codes, minlength=len(column.texts)).tolist()
    present = sorted((text, size) for text, size in zip(column.texts, sizes, strict=True) if text is not None)
    return _look(count, count - sum(size for _, size in present), present)


def _look(count: int, missing: int, present: Sequence[tuple[str, int]]) -> ColumnStatistics:
    if len(present) > MOST_DISTINCT:
        return ColumnStatistics(count, len(present), missing, None)
    sizes = np.array([size for _, size in present], np.int64)
    return ColumnStatistics(count, len(present), missing, tuple(text for text, _ in present), sizes)


def _ask_each(rows: Rows, names: Sequence[str], count: int, watch: Watch) -> Iterator[tuple[str, ColumnStatistics]]:
    """Count the distinct values of every column, and fetch those of the columns that have not too many."""
    distinct = {}
    for done, name in enumerate(names):
        watch.report("profile", done, len(names))
        distinct[name] = len(rows.sizes_by([name]))
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        with rows.encode([name for name in some if distinct[name] <= MOST_DISTINCT]) as encoded:
            for name in some:
                if name not in encoded.values:
                    with rows.encode([name], [(name, "missing", None)]) as only_missing:
                        absent = only_missing.rows
                    yield name, ColumnStatistics(count, distinct[name] - bool(absent), absent, None)
                    continue
                counted = encoded.count_by([name])
                texts = [encoded.values[name][code] for code in np.asarray(counted.codes[0]).tolist()]
                present = sorted(
                    (text, size) for text, size in zip(texts, counted.counts.tolist(), strict=True) if text is not None
                )
                yield name, _look(count, count - sum(size for _, size in present), present)
