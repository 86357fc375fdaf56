"""bounds(): intervals that hold for every original table that a release could stem from."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.data_utility.decode import CoveredColumn, covered_columns
from indistinct.data_utility.regression.newton import independent_columns
from indistinct.data_utility.sound_answers.bounds_query import BoundsQuery, CellCondition
from indistinct.data_utility.sound_answers.extremes import (
    RowKinds,
    greatest_difference,
    greatest_mean,
    least_mean,
)
from indistinct.data_utility.sound_answers.possible_cells import PossibleCells, PossibleValues
from indistinct.errors import PolicyError
from indistinct.policy import Policy

MOST_GROUPS = 50
COMPARED_GROUPS = 8
"""Groups of which all pairs are compared."""


@dataclass(frozen=True, slots=True)
class BoundedAnswer:
    """The least and the greatest answer over all tables that the release could stem from."""

    group: str | None
    """The value of ``by``, ``a − b`` for a difference, the term of a linear model, or None for all rows."""
    low: float | None
    """None where it has no lower bound, or no row is in the group in any table."""
    high: float | None
    is_tight: bool
    """Some table, or one as near as one likes, has the least answer, and another the greatest."""
    may_be_undefined: bool = False
    """In some of the tables the group has no row; the bounds are those of all others."""

    @property
    def width(self) -> float | None:
        """The width of the interval."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class SoundBounds:
    """The answers of a query, of the rows that a release has."""

    query: str
    answers: tuple[BoundedAnswer, ...]
    differences: tuple[BoundedAnswer, ...]
    """Between each two groups of a mean or a rate."""
    rows: int
    left_out: int | None
    """The rows that the release says to have left out: the answers do not speak of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON takes them."""
        return asdict(self)

    def __str__(self) -> str:
        lines = []
        for one in (*self.answers, *self.differences):
            low, high = ("?" if end is None else f"{end:,.6g}" for end in (one.low, one.high))
            notes = ("" if one.is_tight else ", not tight") + (", or undefined" if one.may_be_undefined else "")
            lines.append(f"{'' if one.group is None else f'{one.group}: '}{low} to {high}{notes}")
        return "\n".join(lines)


def bounds(
    release: Any,
    query: BoundsQuery | str,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    between: Mapping[str, tuple[float, float]] | None = None,
    whole: Sequence[str] = (),
    **reading: Any,
) -> SoundBounds:
    """Return intervals that hold for every table that a release could stem from.

    Labels are true, so each released row had some value of each of its labels; nothing else is assumed, and the
    original is not looked at. A query is ``count``, ``mean(age)``, ``rate(ill=flu)`` or ``linear(paid ~ age)``, then if
    wanted ``where sex=f and age>=65`` and ``by sex``. ``between`` says what the analyst knows besides, as
    ``{"age": (0, 120)}``, and ``whole`` names columns of whole numbers. ``release`` and ``policy`` are those of
    ``decode``. Rows that were left out are in no label: the answers do not speak of them.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy({"age": quasi(intervals(10)), "sex": quasi()}, [KAnonymity(1)])
    >>> print(bounds(pa.table({"age": ["[20, 24]", "30"], "sex": ["f", "f"]}), "mean(age)", policy))
    25 to 27
    """
    asked = BoundsQuery.parse(query) if isinstance(query, str) else query
    columns, left_out = covered_columns(release, policy, **reading)
    cells = _Cells(
        {
            name: PossibleCells.of(name, columns[name], (between or {}).get(name), is_whole=name in whole)
            for name in _columns_of(asked, columns, [*(between or {}), *whole])
        }
    )
    answers, differences = _linear(cells, asked) if asked.function == "linear" else _bound_groups(cells, asked)
    compared = {one.column for one in (*asked.where, *([] if asked.hit is None else [asked.hit]))}
    if any(cells.columns[name].has_gaps for name in compared):
        answers, differences = (tuple(replace(one, is_tight=False) for one in some) for some in (answers, differences))
    rows = len(next(iter(columns.values())).codes) if columns else 0
    if asked.function == "count" and not cells.columns:
        answers = (BoundedAnswer(None, float(rows), float(rows), is_tight=True),)
    return SoundBounds(query if isinstance(query, str) else str(query), answers, differences, rows, left_out)


def _columns_of(asked: BoundsQuery, columns: Mapping[str, CoveredColumn], more: Sequence[str]) -> list[str]:
    """Return the columns of a query; raise if the release lacks one."""
    hit = [] if asked.hit is None else [asked.hit.column]
    named = [asked.column, *hit, *asked.predictors, *(one.column for one in asked.where), asked.by]
    names = list(dict.fromkeys(name for name in named if name is not None))
    if missing := [name for name in (*names, *more) if name not in columns]:
        raise PolicyError([f"query: the release has no column {name!r}" for name in missing])
    if doubts := [f"column {name!r}: {columns[name].doubt}" for name in names if columns[name].doubt]:
        raise PolicyError(doubts)
    return names


@dataclass(frozen=True, slots=True)
class _Cells:
    """The columns of a query; rows with the same labels there are of one kind."""

    columns: Mapping[str, PossibleCells]

    def kinds(self) -> tuple[dict[str, IntArray], IntArray]:
        """Return the label of each kind of rows, by column, and how many rows each has."""
        codes = [one.column.codes for one in self.columns.values()]
        if not codes:
            return {}, np.zeros(0, np.int64)
        distinct, rows = np.unique(np.column_stack(codes), axis=0, return_counts=True)
        return {name: distinct[:, place] for place, name in enumerate(self.columns)}, np.asarray(rows, np.int64)

    def entries(self, asked: BoundsQuery, group: str | None) -> tuple[RowKinds, BoolArray]:
        """Return the rows of a group with the values that are averaged, and which kinds may be in it at all."""
        kinds, rows = self.kinds()
        conditions = list(asked.where)
        if group is not None and asked.by is not None:
            conditions.append(CellCondition(asked.by, "=", group))
        may, sure = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        left: dict[str, tuple[PossibleValues, ...]] = {}
        for name, column in self.columns.items():
            own = [one for one in conditions if one.column == name]
            is_needed = bool(own) or name == asked.column or (asked.hit is not None and name == asked.hit.column)
            if not is_needed:
                continue
            left[name] = column.only(own)
            pairs = list(zip(left[name], column.labels, strict=True))
            may &= np.array([not one.is_empty for one, _ in pairs], np.bool_)[kinds[name]]
            is_sure = [one.values == whole.values and not whole.or_missing for one, whole in pairs]
            sure &= np.array(is_sure, np.bool_)[kinds[name]]
        low, high = self._ends(asked, left, kinds, len(rows))
        return RowKinds(low[may], high[may], sure[may], rows[may]), may

    def _ends(
        self,
        asked: BoundsQuery,
        left: Mapping[str, tuple[PossibleValues, ...]],
        kinds: Mapping[str, IntArray],
        rows: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of each kind of rows, given that it is in the group."""
        if asked.hit is not None:
            column, wanted = self.columns[asked.hit.column], self.columns[asked.hit.column].read(asked.hit)
            ends = []
            for one in left[asked.hit.column]:
                hit = one.only(asked.hit, wanted)
                ends.append((float(hit.values == one.values), float(not hit.is_empty)))
            found = np.array(ends).reshape(-1, 2)[kinds[column.name]]
        elif asked.function == "mean" and asked.column is not None:
            if not self.columns[asked.column].is_number or self.columns[asked.column].column.reader.is_of_dates:
                raise PolicyError(f"query: {asked.column!r} holds no numbers that have a mean")
            found = np.array([_numbers(one) for one in left[asked.column]]).reshape(-1, 2)[kinds[asked.column]]
        else:
            found = np.zeros((rows, 2))
        return found[:, 0], found[:, 1]


def _numbers(one: PossibleValues) -> tuple[float, float]:
    """Return the least and the greatest number of a label."""
    return (
        -math.inf if one.low is None else float(one.low[0]),
        math.inf if one.high is None else float(one.high[0]),
    )


def _bound_groups(cells: _Cells, asked: BoundsQuery) -> tuple[tuple[BoundedAnswer, ...], tuple[BoundedAnswer, ...]]:
    """Return the answer of each group, and the differences between groups."""
    groups: list[str | None] = [None]
    if asked.by is not None:
        groups = list(cells.columns[asked.by].known_texts())
        if cells.columns[asked.by].is_number:
            raise PolicyError(f"query: {asked.by!r} holds numbers; ask for ranges of them with 'where'")
        if len(groups) > MOST_GROUPS:
            raise PolicyError(f"query: {asked.by!r} has more than {MOST_GROUPS} values; choose some with 'where'")
    found = {group: cells.entries(asked, group) for group in groups}
    answers = tuple(_answer(asked, group, entries) for group, (entries, _) in found.items())
    if asked.function == "count" or asked.by is None or len(groups) > COMPARED_GROUPS:
        return answers, ()
    pairs = combinations([group for group in groups if group is not None], 2)
    return answers, tuple(_difference(cells, asked, one, two, found[one], found[two]) for one, two in pairs)


def _answer(asked: BoundsQuery, group: str | None, entries: RowKinds) -> BoundedAnswer:
    sure = int(entries.rows[entries.is_sure].sum())
    if asked.function == "count":
        return BoundedAnswer(group, float(sure), float(entries.rows.sum()), is_tight=True)
    low, high = least_mean(entries), greatest_mean(entries)
    return BoundedAnswer(group, _finite(low), _finite(high), is_tight=True, may_be_undefined=not sure)


def _difference(
    cells: _Cells,
    asked: BoundsQuery,
    one: str,
    two: str,
    first: tuple[RowKinds, BoolArray],
    second: tuple[RowKinds, BoolArray],
) -> BoundedAnswer:
    """Return the bounds of a difference of means: exact where each row in doubt is in one of the groups for sure."""
    name, either = f"{one} − {two}", first[1] & second[1]
    undefined = any(not entries.is_sure.any() for entries, _ in (first, second))
    low = least_mean(first[0]) - greatest_mean(second[0])
    high = greatest_mean(first[0]) - least_mean(second[0])
    if not either.any():
        return BoundedAnswer(name, _finite(low), _finite(high), is_tight=True, may_be_undefined=undefined)
    if _is_one_of_both(cells, asked, one, two, first, second, either):
        ends = [
            _exact_difference(first, second, either),
            _exact_difference(second, first, either),
        ]
        if all(end is not None and math.isfinite(end) for end in ends):
            assert ends[1] is not None
            return BoundedAnswer(name, -ends[1], ends[0], is_tight=True, may_be_undefined=undefined)
    return BoundedAnswer(name, _finite(low), _finite(high), is_tight=False, may_be_undefined=undefined)


def _is_one_of_both(
    cells: _Cells,
    asked: BoundsQuery,
    one: str,
    two: str,
    first: tuple[RowKinds, BoolArray],
    second: tuple[RowKinds, BoolArray],
    either: BoolArray,
) -> bool:
    """Return whether each row in doubt is in one of both groups for sure, and all numbers have bounds."""
    assert asked.by is not None
    if any(not np.isfinite(ends).all() for entries, _ in (first, second) for ends in entries[:2]):
        return False
    if asked.by in {condition.column for condition in asked.where} | {asked.column}:
        return False
    doubtful = np.zeros(len(either), np.bool_)
    for entries, may in (first, second):
        doubtful[may] |= ~entries.is_sure
    if (doubtful & ~either).any():
        return False
    kinds, _ = cells.kinds()
    labels = cells.columns[asked.by].labels
    is_pair = np.array([label.texts == frozenset([one, two]) and not label.or_missing for label in labels], np.bool_)
    others_sure, _ = cells.entries(BoundsQuery(asked.function, asked.column, asked.hit, (), asked.where), None)
    everywhere = np.zeros(len(either), np.bool_)
    everywhere[cells.entries(BoundsQuery(asked.function, asked.column, asked.hit, (), asked.where), None)[1]] = (
        others_sure.is_sure
    )
    return bool((is_pair[kinds[asked.by]] & everywhere)[either].all())


def _exact_difference(
    first: tuple[RowKinds, BoolArray], second: tuple[RowKinds, BoolArray], either: BoolArray
) -> float | None:
    sure_first, sure_second = (_part(entries, ~either[may]) for entries, may in (first, second))
    mine, theirs = (_part(entries, either[may]) for entries, may in (first, second))
    return greatest_difference(sure_first, sure_second, (mine.high, theirs.low, mine.rows))


def _part(entries: RowKinds, chosen: BoolArray) -> RowKinds:
    return RowKinds(entries.low[chosen], entries.high[chosen], entries.is_sure[chosen], entries.rows[chosen])


def _finite(end: float) -> float | None:
    return end + 0.0 if math.isfinite(end) else None  # never a zero with a sign


def _linear(cells: _Cells, asked: BoundsQuery) -> tuple[tuple[BoundedAnswer, ...], tuple[BoundedAnswer, ...]]:
    """Return the bounds of each coefficient of a linear model whose predictors are exact.

    A coefficient is a weighted sum of the outcomes, so each takes the end of its interval that the weight asks for:
    closed, and attained.
    """
    assert asked.column is not None
    kinds, _ = cells.kinds()
    entries, may = cells.entries(BoundsQuery("mean", asked.column, where=asked.where), None)
    if not entries.is_sure.all():
        raise PolicyError(
            "query: in a linear model it must be sure which rows are in it, and that they have the outcome"
        )
    features, titles = [np.ones(int(may.sum()))], ["(constant)"]
    for name in asked.predictors:
        column = cells.columns[name]
        own = [column.labels[code] for code in kinds[name][may]]
        if column.is_number:
            ends = [_numbers(one) for one in own]
            if any(low != high or one.or_missing for (low, high), one in zip(ends, own, strict=True)):
                raise PolicyError(f"query: {name!r} is generalized; a linear model takes columns with exact cells only")
            features.append(np.array([low for low, _ in ends]))
            titles.append(name)
            continue
        texts = [one.texts for one in own]
        if any(one is None or len(one) != 1 for one in texts) or any(one.or_missing for one in own):
            raise PolicyError(f"query: {name!r} is generalized; a linear model takes columns with exact cells only")
        values = sorted({text for one in texts for text in one or ()})
        for value in values[1:]:
            features.append(np.array([float(one == frozenset([value])) for one in texts]))
            titles.append(f"{name}={value}")
    x = np.column_stack(features)
    weighted = x * np.sqrt(entries.rows)[:, None]
    independent = independent_columns(weighted)
    x = x[:, independent]
    weights = np.linalg.solve((x * entries.rows[:, None]).T @ x, (x * entries.rows[:, None]).T)
    answers = []
    for place, own_weights in zip(independent, weights, strict=True):
        used = own_weights != 0
        up = np.where(own_weights > 0, entries.high, entries.low)[used] @ own_weights[used]
        down = np.where(own_weights > 0, entries.low, entries.high)[used] @ own_weights[used]
        answers.append(BoundedAnswer(titles[place], _finite(float(down)), _finite(float(up)), is_tight=True))
    return tuple(answers), ()
