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
from indistinct.data_utility.decode import CoveredColumn, LabelCover, covered_columns
from indistinct.data_utility.sound_answers.bounds_query import BoundsQuery, CellCondition
from indistinct.data_utility.sound_answers.extremes import (
    RowKinds,
    greatest_difference,
    greatest_mean,
    least_mean,
)
from indistinct.data_utility.sound_answers.linear_bounds import ModelRows, PossiblePredictor, bound_coefficients
from indistinct.data_utility.sound_answers.possible_cells import Between, PossibleCells, PossibleValues
from indistinct.errors import PolicyError
from indistinct.policy import Policy

MOST_GROUPS = 50
MOST_TERMS = 50
"""Terms of a linear model whose predictors are generalized; each pair of them is bounded by itself."""
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
    """In some of the tables the group has no row, or the model no such coefficient; the bounds are those of others."""
    reached: tuple[float, float] | None = None
    """Of a coefficient that is not tight: some tables have these, so no bounds could be narrower."""

    @property
    def is_wide(self) -> bool:
        """It has no bounds, or bounds more than twice as wide as what tables were found to reach."""
        if self.is_tight or self.width is None:
            return not self.is_tight
        return self.reached is not None and self.width > 2 * (self.reached[1] - self.reached[0])

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

    @property
    def is_wide(self) -> bool:
        """Some answer is."""
        return any(one.is_wide for one in self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON takes them."""
        return asdict(self)

    def __str__(self) -> str:
        lines = []
        for one in (*self.answers, *self.differences):
            low, high = ("?" if end is None else f"{end:,.6g}" for end in (one.low, one.high))
            notes = ("" if one.is_tight else ", not tight") + (", or undefined" if one.may_be_undefined else "")
            notes += (
                "" if one.reached is None else f"; some table reaches {one.reached[0]:,.6g}, some {one.reached[1]:,.6g}"
            )
            lines.append(f"{'' if one.group is None else f'{one.group}: '}{low} to {high}{notes}")
        return "\n".join(lines)


def bounds(
    release: Any,
    query: BoundsQuery | str,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    between: Mapping[str, Between] | None = None,
    whole: Sequence[str] = (),
    with_left_out: bool = False,
    **reading: Any,
) -> SoundBounds:
    """Return intervals that hold for every table that a release could stem from.

    Labels are true, so each released row had some value of each of its labels; nothing else is assumed, and the
    original is not looked at. A query is ``count``, ``mean(age)``, ``rate(ill=flu)`` or ``linear(paid ~ age)``, then if
    wanted ``where sex=f and age>=65`` and ``by sex``. ``between`` says what the analyst knows besides, as
    ``{"age": (0, 120), "sex": ["f", "m"]}``, and ``whole`` names columns of whole numbers. ``release`` and ``policy``
    are those of ``decode``. Rows that were left out are in no label: the answers do not speak of them, or with
    ``with_left_out`` take each of their cells for anything.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy({"age": quasi(intervals(10)), "sex": quasi()}, [KAnonymity(1)])
    >>> print(bounds(pa.table({"age": ["[20, 24]", "30"], "sex": ["f", "f"]}), "mean(age)", policy))
    25 to 27
    """
    asked = BoundsQuery.parse(query) if isinstance(query, str) else query
    columns, left_out = covered_columns(release, policy, **reading)
    if with_left_out:
        columns, left_out = _with_rows_of_anything(columns, left_out), 0
    cells = _Cells(
        {
            name: PossibleCells.of(name, columns[name], (between or {}).get(name), is_whole=name in whole)
            for name in _columns_of(asked, columns, [*(between or {}), *whole])
        }
    )
    answers, differences = (_linear(cells, asked), ()) if asked.function == "linear" else _bound_groups(cells, asked)
    compared = {one.column for one in (*asked.where, *([] if asked.hit is None else [asked.hit]))}
    if any(cells.columns[name].has_gaps for name in compared):
        answers, differences = (tuple(replace(one, is_tight=False) for one in some) for some in (answers, differences))
    rows = len(next(iter(columns.values())).codes) if columns else 0
    if asked.function == "count" and not cells.columns:
        answers = (BoundedAnswer(None, float(rows), float(rows), is_tight=True),)
    return SoundBounds(query if isinstance(query, str) else str(query), answers, differences, rows, left_out)


def _with_rows_of_anything(columns: Mapping[str, CoveredColumn], rows: int | None) -> dict[str, CoveredColumn]:
    """Return the columns with more rows, of which nothing is known."""
    if rows is None:
        raise PolicyError("with_left_out: a table does not say how many rows were left out; give the release's folder")
    return {
        name: replace(
            one,
            labels=[*one.labels, None],
            covers=[*one.covers, LabelCover(or_missing=True)],
            codes=np.append(one.codes, np.full(rows, len(one.labels))),
        )
        for name, one in columns.items()
    }


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

    def choose(self, asked: BoundsQuery, group: str | None = None) -> _ChosenRows:
        """Return the rows of a group, or all that meet the conditions, with the values that are averaged."""
        kinds, rows = self.kinds()
        conditions = list(asked.where)
        if group is not None and asked.by is not None:
            conditions.append(CellCondition(asked.by, "=", group))
        may, sure = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        left: dict[str, tuple[PossibleValues, ...]] = {}
        for name, column in self.columns.items():
            own = [one for one in conditions if one.column == name]
            if not own and name not in asked.measured:
                continue
            left[name] = column.only(own)
            pairs = list(zip(left[name], column.labels, strict=True))
            may &= np.array([not one.is_empty for one, _ in pairs], np.bool_)[kinds[name]]
            is_sure = [one.values == whole.values and not whole.or_missing for one, whole in pairs]
            sure &= np.array(is_sure, np.bool_)[kinds[name]]
        low, high = self._ends(asked, left, kinds, len(rows))
        entries = RowKinds(low[may], high[may], sure[may], rows[may])
        return _ChosenRows(entries, may, left, {name: own[may] for name, own in kinds.items()})

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
        elif asked.column is not None:
            if not self.columns[asked.column].is_number or self.columns[asked.column].column.reader.is_of_dates:
                raise PolicyError(f"query: {asked.column!r} holds no numbers, as a mean and a linear model need")
            found = np.array([_numbers(one) for one in left[asked.column]]).reshape(-1, 2)[kinds[asked.column]]
        else:
            found = np.zeros((rows, 2))
        return found[:, 0], found[:, 1]


@dataclass(frozen=True, slots=True, eq=False)
class _ChosenRows:
    """The rows that may be in a group."""

    entries: RowKinds
    may: BoolArray
    """Which kinds of all those are."""
    left: Mapping[str, tuple[PossibleValues, ...]]
    """By column: the values that each label leaves to rows of the group."""
    codes: Mapping[str, IntArray]
    """By column: the label of each kind that may be in it."""


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
    found = {group: cells.choose(asked, group) for group in groups}
    answers = tuple(_answer(asked, group, chosen.entries) for group, chosen in found.items())
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
    first: _ChosenRows,
    second: _ChosenRows,
) -> BoundedAnswer:
    """Return the bounds of a difference of means: exact where each row in doubt is in one of the groups for sure."""
    name, either = f"{one} − {two}", first.may & second.may
    undefined = any(not chosen.entries.is_sure.any() for chosen in (first, second))
    low = least_mean(first.entries) - greatest_mean(second.entries)
    high = greatest_mean(first.entries) - least_mean(second.entries)
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
    first: _ChosenRows,
    second: _ChosenRows,
    either: BoolArray,
) -> bool:
    """Return whether each row in doubt is in one of both groups for sure, and all numbers have bounds."""
    assert asked.by is not None
    if any(not np.isfinite(ends).all() for chosen in (first, second) for ends in chosen.entries[:2]):
        return False
    if asked.by in {condition.column for condition in asked.where} | {asked.column}:
        return False
    doubtful = np.zeros(len(either), np.bool_)
    for chosen in (first, second):
        doubtful[chosen.may] |= ~chosen.entries.is_sure
    if (doubtful & ~either).any():
        return False
    kinds, _ = cells.kinds()
    labels = cells.columns[asked.by].labels
    is_pair = np.array([label.texts == frozenset([one, two]) and not label.or_missing for label in labels], np.bool_)
    everybody = cells.choose(replace(asked, by=None))
    everywhere = np.zeros(len(either), np.bool_)
    everywhere[everybody.may] = everybody.entries.is_sure
    return bool((is_pair[kinds[asked.by]] & everywhere)[either].all())


def _exact_difference(first: _ChosenRows, second: _ChosenRows, either: BoolArray) -> float | None:
    sure_first, sure_second = (_part(chosen.entries, ~either[chosen.may]) for chosen in (first, second))
    mine, theirs = (_part(chosen.entries, either[chosen.may]) for chosen in (first, second))
    return greatest_difference(sure_first, sure_second, (mine.high, theirs.low, mine.rows))


def _part(entries: RowKinds, chosen: BoolArray) -> RowKinds:
    return RowKinds(entries.low[chosen], entries.high[chosen], entries.is_sure[chosen], entries.rows[chosen])


def _finite(end: float) -> float | None:
    return end + 0.0 if math.isfinite(end) else None  # never a zero with a sign


def _linear(cells: _Cells, asked: BoundsQuery) -> tuple[BoundedAnswer, ...]:
    """Return the bounds of each coefficient of a linear model."""
    found = cells.choose(asked)
    assert asked.column is not None
    if not found.may.any():
        raise PolicyError("query: no row of the release can be in the model")
    predictors = []
    for name in asked.predictors:
        column, labels = cells.columns[name], [found.left[name][code] for code in found.codes[name]]
        if column.is_number:
            ends = np.array([_numbers(one) for one in labels])
            if not np.isfinite(ends).all():
                raise PolicyError(
                    f"query: a cell of {name!r} may be any number; say which may be by --between {name}=0:9"
                )
            predictors.append(PossiblePredictor.of_numbers(name, ends[:, 0], ends[:, 1]))
            continue
        if any(one.texts is None for one in labels):
            raise PolicyError(f"query: a cell of {name!r} may be any text; say which may be by --between {name}=a,b,c")
        values = sorted({text for one in labels for text in one.texts or ()})
        may_be = np.array([[value in (one.texts or ()) for value in values] for one in labels], np.bool_)
        predictors.append(PossiblePredictor.of_categories(name, values, may_be))
    entries = found.entries
    possible = ModelRows(tuple(predictors), entries.low, entries.high, entries.rows, entries.is_sure)
    if len(possible.titles) > MOST_TERMS and not possible.is_exact:
        raise PolicyError(
            f"query: the model has {len(possible.titles)} terms; of generalized columns {MOST_TERMS} at most"
        )
    return tuple(
        BoundedAnswer(
            one.term,
            one.low,
            one.high,
            is_tight=possible.is_exact,
            may_be_undefined=one.low is None and not possible.is_exact,
            reached=one.reached,
        )
        for one in bound_coefficients(possible)
    )
