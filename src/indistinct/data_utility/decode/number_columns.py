"""Columns of numbers or dates: each label as a distribution over what it covers, by what the release itself tells.

All values of a column lie on a lattice: ``unit`` is the greatest number that divides all differences between the
numbers that its labels name. A value stands for the cell of the lattice around it, a label for an interval that begins
and ends between cells, and the release for a histogram over the pieces between the ends of all labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.attacks.labels import Span
from indistinct.data_utility.decode.label_covers import CoverReader, LabelCover

SHAPE = 0.5
"""The share of a cell that follows the shape of the column's released distribution; the rest is even."""
ROUNDS = 10
"""Rounds of expectation and maximization by which the shape is estimated from all labels of the column."""
FINEST = 1e-9
"""The lattice of numbers that lie on none, in widths of the whole column."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A released column whose labels are numbers or dates, or ranges of them."""

    name: str
    kind: Literal["number", "date"]
    labels: tuple[str | None, ...]
    codes: IntArray
    """The label of each row."""
    low: FloatArray
    """By label: the lowest number that it covers; NaN for a missing cell, −∞ where it has no lower end."""
    high: FloatArray
    missing: FloatArray
    """By label: the probability that it stands for a missing cell."""
    ends: FloatArray
    """By label: the share of its rows that surely have its lowest number, and as many its highest."""
    unit: float
    is_anything: FloatArray
    """By label: 1 if it says nothing, as a suppressed cell does; else 0."""
    shape: float = SHAPE
    _from: FloatArray = field(init=False, repr=False)
    _to: FloatArray = field(init=False, repr=False)
    _edges: FloatArray = field(init=False, repr=False)
    _mass: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        present = np.isfinite(self.low) & np.isfinite(self.high)
        bottom = float(np.nanmin(np.where(np.isfinite(self.low), self.low, np.nan), initial=np.inf))
        top = float(np.nanmax(np.where(np.isfinite(self.high), self.high, np.nan), initial=-np.inf))
        if bottom > top:  # no label names a number, or only one side
            bottom = top = bottom if math.isfinite(bottom) else top if math.isfinite(top) else 0.0
        low = np.where(np.isfinite(self.low), self.low, np.minimum(bottom, np.where(present, bottom, self.high)))
        high = np.where(np.isfinite(self.high), self.high, np.maximum(top, np.where(present, top, self.low)))
        low, high = np.nan_to_num(low, nan=bottom), np.nan_to_num(high, nan=top)
        start, end = low - self.unit / 2, np.maximum(high, low) + self.unit / 2
        has_ends = self.ends > 0
        cells = start[has_ends] + self.unit, end[has_ends] - self.unit
        edges = np.unique(np.concatenate([start, end, *cells]))
        object.__setattr__(self, "_from", start)
        object.__setattr__(self, "_to", end)
        object.__setattr__(self, "_edges", edges)
        rows = np.bincount(self.codes, minlength=len(self.labels)) * (1 - self.missing)
        object.__setattr__(self, "_mass", self._estimate_mass(rows))

    def __len__(self) -> int:
        return len(self.codes)

    def _estimate_mass(self, rows: FloatArray) -> FloatArray:
        """Return the mass of each piece between the edges, estimated from the labels that cover it.

        It begins with every label spread evenly. Each round spreads every label in proportion to what was found, as
        Turnbull 1976 does for observations that are known by intervals; few rounds leave it smooth. Rows that surely
        have an end of their label are counted there, and only the others are spread.
        """
        edges, pieces = self._edges, len(self._edges) - 1
        first, last = np.searchsorted(edges, self._from), np.searchsorted(edges, self._to)
        sure, has_ends = np.zeros(pieces), self.ends > 0
        for places in (first[has_ends], last[has_ends] - 1):
            sure += np.bincount(places, (rows * self.ends)[has_ends], pieces)
        mass = np.diff(edges)
        for _ in range(ROUNDS + 1):
            cumulated = np.append(0.0, np.cumsum(mass))
            inside = cumulated[last] - cumulated[first]
            share = np.divide(rows * (1 - 2 * self.ends), inside, out=np.zeros_like(inside), where=inside > 0)
            change = np.bincount(first, share, len(edges)) - np.bincount(last, share, len(edges))
            mass = mass * np.maximum(np.cumsum(change)[:-1], 0) + sure
        total = mass.sum()
        return np.asarray(mass / total if total > 0 else mass, np.float64)

    @property
    def is_exact(self) -> BoolArray:
        """By label: whether it is one number, or says that the cell is missing."""
        one = (self.low == self.high) & (self.missing == 0)
        return np.asarray(one | (self.missing >= 1), np.bool_)

    def below(self, cuts: FloatArray) -> FloatArray:
        """Return for each label (rows) the probability of lying below each cut (columns), given that it is present."""
        start, end = self._from[:, None], self._to[:, None]
        x = np.clip(cuts[None, :], start, end)
        even = (x - start) / (end - start)
        found = even
        if self.shape:
            cumulated = np.append(0.0, np.cumsum(self._mass))
            first, last = np.interp(start, self._edges, cumulated), np.interp(end, self._edges, cumulated)
            has_mass = last - first > 1e-12
            with np.errstate(divide="ignore", invalid="ignore"):
                shaped = (np.interp(x, self._edges, cumulated) - first) / (last - first)
            found = (1 - self.shape) * even + self.shape * np.where(has_mass, shaped, even)
        ends = self.ends[:, None]
        at_low, at_high = (np.clip((x - edge) / self.unit, 0, 1) for edge in (start, end - self.unit))
        return np.asarray((1 - 2 * ends) * found + ends * at_low + ends * at_high, np.float64)

    def masses(self, cuts: FloatArray) -> FloatArray:
        """Return for each label the probability of each bin between the cuts, the outer ones open, given presence."""
        below = self.below(cuts)
        zero, one = np.zeros((len(below), 1)), np.ones((len(below), 1))
        return np.diff(np.hstack([zero, below, one]), axis=1)

    @property
    def mean(self) -> FloatArray:
        """By label: the mean of what it stands for; NaN for a missing cell."""
        middle = (self._from + self._to) / 2
        found = middle
        if self.shape:
            centers = (self._edges[1:] + self._edges[:-1]) / 2
            mass, moment = (np.append(0.0, np.cumsum(one)) for one in (self._mass, self._mass * centers))
            first, last = np.searchsorted(self._edges, self._from), np.searchsorted(self._edges, self._to)
            inside = mass[last] - mass[first]
            with np.errstate(divide="ignore", invalid="ignore"):
                shaped = (moment[last] - moment[first]) / inside
            found = (1 - self.shape) * middle + self.shape * np.where(inside > 1e-12, shaped, middle)
        # the first and the last cell have the mean of both ends, which is the middle
        return np.where(self.missing < 1, (1 - 2 * self.ends) * found + 2 * self.ends * middle, np.nan)

    @property
    def middle(self) -> FloatArray:
        """By label: the middle between its ends; of an open end the outermost number of the column counts."""
        return np.where(self.missing < 1, (self._from + self._to) / 2, np.nan)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return one number for each row, drawn from what its label stands for; NaN for a missing one."""
        codes = self.codes
        start, end, ends = self._from[codes], self._to[codes], self.ends[codes]
        chance = rng.random(len(codes))
        found = start + chance * (end - start)
        if self.shape:
            cumulated = np.append(0.0, np.cumsum(self._mass))
            first, last = np.interp(start, self._edges, cumulated), np.interp(end, self._edges, cumulated)
            grow = np.maximum.accumulate(cumulated + np.arange(len(cumulated)) * 1e-15)
            shaped = np.interp(first + chance * (last - first), grow, self._edges)
            takes_shape = (rng.random(len(codes)) < self.shape) & (last - first > 1e-12)
            found = np.where(takes_shape, np.clip(shaped, start, end), found)
        which = rng.random(len(codes))
        low, high = start + self.unit / 2, end - self.unit / 2
        found = np.clip(low + np.round((found - low) / self.unit) * self.unit, low, high)
        found = np.where(which < ends, low, np.where(which < 2 * ends, high, found))
        return np.where(rng.random(len(codes)) < self.missing[codes], np.nan, found)


def number_column(
    name: str,
    labels: Sequence[str | None],
    codes: IntArray,
    covers: Sequence[LabelCover],
    reader: CoverReader,
    ends: FloatArray,
) -> NumberColumn | None:
    """Return a column as numbers; None if some label names a text that is none, or no label names a number."""
    spans: list[tuple[Any, Any, bool, bool]] = []
    for cover in covers:
        if cover.is_set or cover.branch is not None:
            return None
        if cover.span is not None:
            spans.append(_ends_of(cover.span))
        elif cover.texts is not None:
            numbers = [reader.number_of(text) for text in cover.texts]
            if any(number is None for number in numbers):
                return None
            spans.append((min(numbers), max(numbers), False, False))
        else:
            spans.append((None, None, False, False))
    named = [end for low, high, *_ in spans for end in (low, high) if end is not None]
    if not named:
        return None
    unit = _lattice_unit(named, [span for span in spans if span[2] or span[3]])
    lows = np.array([-np.inf if low is None else float(low) + unit * out for low, _, out, _ in spans])
    highs = np.array([np.inf if high is None else float(high) - unit * out for _, high, _, out in spans])
    is_missing = np.array([cover.is_missing for cover in covers])
    anything = np.array([cover.is_anything for cover in covers])
    return NumberColumn(
        name,
        "date" if reader.is_of_dates else "number",
        tuple(labels),
        codes,
        np.where(is_missing, np.nan, lows),
        np.where(is_missing, np.nan, highs),
        missing_shares(covers, codes, ends),
        np.where(highs > lows, ends, 0.0),
        unit,
        anything.astype(np.float64),
    )


def _ends_of(span: Span) -> tuple[Any, Any, bool, bool]:
    """Return both ends of a span, None for an open one, and whether it excludes them."""
    low, high = span.low, span.high
    return (
        None if low is None else low[0],
        None if high is None else high[0],
        low is not None and low[1] == 1,
        high is not None and high[1] == 0,
    )


def missing_shares(covers: Sequence[LabelCover], codes: IntArray, ends: FloatArray) -> FloatArray:
    """Return for each label the probability that it stands for a missing cell.

    A label that may stand for one does so as often as the cells of the column are missing that say what they are, and
    at least as often as it names its members.
    """
    rows = np.bincount(codes, minlength=len(covers))
    is_missing = np.array([cover.is_missing for cover in covers], np.float64)
    says = np.array([cover.is_missing or not cover.or_missing for cover in covers], np.bool_)
    told = rows[says].sum()
    share = float(rows[is_missing > 0].sum() / told) if told else 0.0
    may_be = np.array([cover.or_missing for cover in covers], np.bool_)
    return np.asarray(np.where(is_missing > 0, 1.0, np.where(may_be, np.maximum(share, ends), 0.0)), np.float64)


def _lattice_unit(named: Sequence[Any], excluding: Sequence[tuple[Any, Any, bool, bool]]) -> float:
    """Return the greatest number that divides all differences; a tiny one for numbers that lie on no lattice.

    An end that a span excludes lies on the lattice only if all numbers are whole.

    >>> _lattice_unit([20, 25, 40], []), _lattice_unit([Decimal("0.5"), Decimal("2")], [])
    (5.0, 1.5)
    """
    numbers = [Decimal(one) for one in set(named)]
    widest = float(max(numbers) - min(numbers)) or 1.0
    are_whole = all(number == number.to_integral_value() for number in numbers)
    if excluding:
        return 1.0 if are_whole else widest * FINEST
    if len(numbers) == 1:
        return 1.0
    exponents = [number.normalize().as_tuple().exponent for number in numbers]
    places = max([0, *(-one for one in exponents if isinstance(one, int))])
    if places > 12:
        return widest * FINEST
    scaled = [int(number.scaleb(places)) for number in numbers]
    step = math.gcd(*(one - scaled[0] for one in scaled))
    return max(float(Decimal(step).scaleb(-places)), widest * FINEST)
