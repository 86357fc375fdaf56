"""The measures that a release states, worked out anew from its cells and the original, without the code that made them.

Each figure follows from few numbers: how many rows there were, the sizes of the groups, and of every released label its
level and how many values and rows of the original it covers. Where cells climb one by one, labels of several levels may
read the same; nobody can tell which is meant, so a figure then lies between two bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from indistinct.counting import IntArray, encode_eligible
from indistinct.engine import Rows
from indistinct.errors import HierarchyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.proof.checks import Check, count_blank_rows
from indistinct.recoding.label_texts import Cover, read_label
from indistinct.release.manifest import Facts

TOLERANCE = 1e-9
"""How far a stated figure may lie from ours: sums of floats depend on their order."""
BLANKING = "mu-argus"
"""The algorithm that leaves single cells blank, which then say nothing."""
FROM_ORIGINAL = ("loss", "ncp", "entropy")
"""Measures that follow from the released cells and the original."""
FROM_STATEMENTS = (
    *("precision", "discernibility", "average-group-size", "distinct-tuples", "completeness"),
    *("absolute-distance", "relative-distance", "accuracy"),
)
"""Measures that follow from the released groups and other statements of a manifest."""
SHARES = ("precision", "accuracy", "completeness", *FROM_ORIGINAL)
"""Measures that are never above 1."""
STATED_OF_DRAWN = ("precision", "discernibility", "average-group-size", "distinct-tuples")
"""Measures that may be stated of rows that were drawn: they follow from what is released."""


class Bounds(NamedTuple):
    """What a figure lies between; mostly both are the same."""

    low: float
    high: float

    def allow(self, said: float) -> bool:
        """Return whether a figure lies between them."""
        room = TOLERANCE * max(1.0, abs(self.low), abs(self.high))
        return self.low - room <= said <= self.high + room

    @property
    def are_one(self) -> bool:
        """There is one figure that is right."""
        return math.isclose(self.low, self.high, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


class Sense(NamedTuple):
    """What a label can mean: its level, and how many values of the domain and rows of the original it covers."""

    level: int
    leaves: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Figures:
    """What is known of one quasi column of a release: its weight and height, and the average level of its cells."""

    weight: float
    height: int
    levels: Bounds
    kept: Mapping[str, Bounds]
    """What released cells keep by each measure of cells, summed."""
    whole: Mapping[str, float]
    """What all eligible cells would keep as they are."""


@dataclass(frozen=True, slots=True)
class _Totals:
    """What was counted: eligible rows, and the sizes of the released groups."""

    rows: int
    sizes: IntArray

    @property
    def released(self) -> int:
        return int(self.sizes.sum())


def measures_from_statements(said: Facts, policy: Policy, sizes: IntArray) -> dict[str, Bounds]:
    """Return the measures that follow from the released groups and from levels and rows as a manifest states them.

    ``sizes`` are those of all groups, also that of rows that were suppressed and left blank. What a label covers in
    the original is not known, so measures that ask for it are missing.
    """
    rows = said.released + said.suppressed
    counts = _Totals(rows, without_blank(sizes, int(sizes.sum()) - said.released))
    columns = []
    for name in policy.quasi:
        height, level, weight = said.heights[name], said.levels[name], policy.columns[name].weight
        kept = counts.released * (1.0 - min(level / max(1, height), 1.0))
        columns.append(
            _Figures(
                weight, height, Bounds(level, level), {"precision": Bounds(kept, kept)}, {"precision": float(rows)}
            )
        )
    figures = _all_figures(counts, columns)
    return {name: figures[name] for name in STATED_OF_DRAWN} if said.drawn is not None else figures


def measures_check(said: Facts, released: Rows, source: Rows, policy: Policy, sizes: IntArray) -> Check | None:
    """Compare the measures and levels that a release states with what its cells and the original give.

    ``released`` is the table with the quasi columns, which was found to be true; None if what is stated begins at the
    labels of an earlier release, which are not at hand, or is said of rows that were drawn.
    """
    if said.drawn is not None or said.based is not None:
        return None
    with encode_eligible(source, policy, policy.quasi) as encoded:
        values, rows = encoded.values, encoded.rows
        found = {name: encoded.count_by([name]) for name in policy.quasi}
    blank = count_blank_rows(released, policy) if said.suppressed else 0
    counts = _Totals(rows, without_blank(sizes, blank))
    columns, wrong = {}, []
    for name in policy.quasi:
        hierarchy = policy.columns[name].compile(values[name])
        under = np.bincount(found[name].codes[0], found[name].counts, len(values[name])).astype(np.int64)
        reader = _Senses(hierarchy, under, None if said.node is None else said.node[name], said.algorithm)
        columns[name] = reader.column(policy.columns[name].weight, _released_labels(released, name, blank), counts)
        wrong += _level_mistakes(said, name, hierarchy, columns[name].levels)
    figures = _all_figures(counts, list(columns.values()))
    wrong += mistaken_measures(said.measures, figures)
    checked = [name for name in said.measures if name in figures]
    bounded = [name for name in checked if not figures[name].are_one]
    numbers = {"wrong": wrong} if wrong else {"checked": len(checked), "bounded": bounded}
    return Check("manifest.measures", not wrong, numbers)


def mistaken_measures(stated: Mapping[str, float], figures: Mapping[str, Bounds]) -> list[str]:
    """Return the measures whose figures are not what they are stated to be."""
    return [name for name, said in stated.items() if name in figures and not figures[name].allow(said)]


def _level_mistakes(said: Facts, name: str, hierarchy: CompiledHierarchy, levels: Bounds) -> list[str]:
    """Compare what is said of the levels of a column with its hierarchy for the values of the original."""
    if said.heights[name] != hierarchy.height:
        return [f"heights.{name}"]
    if said.node is None:
        return [] if levels.allow((said.mean_levels or {})[name]) else [f"mean_levels.{name}"]
    is_called = said.level_names is None or said.level_names[name] == hierarchy.level_names[said.node[name]]
    return [] if is_called else [f"level_names.{name}"]


def without_blank(sizes: IntArray, blank: int) -> IntArray:
    """Return the sizes of groups without that of the suppressed rows, which are as many as are blank."""
    return np.delete(sizes, np.flatnonzero(sizes == blank)[:1]) if blank else sizes


def _released_labels(released: Rows, name: str, blank: int) -> dict[str | None, int]:
    """Return how many released cells carry each label of a column; rows that were suppressed and left blank do not."""
    found = released.values_by([], name)
    rows = np.bincount(found.values, found.counts, len(found.texts)).astype(np.int64)
    labels = dict(zip(found.texts, rows.tolist(), strict=True))
    labels[None] = labels.get(None, 0) - blank
    return {text: number for text, number in labels.items() if number > 0}


def _cell_measures(hierarchy: CompiledHierarchy, rows: int) -> dict[str, Callable[[Sense], float]]:
    """Return what a cell keeps under a label by each measure that adds up over cells."""
    height, domain = max(1, hierarchy.height), hierarchy.domain_size
    return {
        "precision": lambda label: 1.0 - min(label.level / height, 1.0),
        "loss": lambda label: 1.0 - (label.leaves - 1) / (domain - 1) if domain > 1 else 1.0,
        "ncp": lambda label: 1.0 - label.leaves / domain if label.leaves > 1 else 1.0,
        "entropy": lambda label: math.log2(max(1, rows) / max(1, label.rows)),
    }


class _Senses:
    """Tells what the labels of a column can mean, given the values of the original and the rows of each."""

    def __init__(
        self, hierarchy: CompiledHierarchy, value_rows: IntArray, level: int | None, algorithm: str | None
    ) -> None:
        """``level`` is the one of the whole column; None where cells climb one by one."""
        self.hierarchy = hierarchy
        self.value_rows = value_rows
        self.level = level
        self.algorithm = algorithm
        self._positions: IntArray | None = None
        self._codes = {value: code for code, value in enumerate(hierarchy.values)}
        lowest = hierarchy.lowest if level is None else level
        highest = hierarchy.height if level is None else level
        self._levels = {
            at: {text: code for code, text in enumerate(hierarchy.labels[at])} for at in range(lowest, highest + 1)
        }

    def column(self, weight: float, labels: Mapping[str | None, int], counts: _Totals) -> _Figures:
        """Sum up what the cells of a column keep, and how high they stand."""
        keeping = _cell_measures(self.hierarchy, counts.rows)
        kept = dict.fromkeys(keeping, Bounds(0.0, 0.0))
        levels = Bounds(0.0, 0.0)
        for text, number in labels.items():
            readings = list(self.readings(text))
            levels = _plus(levels, number, [reading.level for reading in readings])
            for name, keep in keeping.items():
                kept[name] = _plus(kept[name], number, [keep(reading) for reading in readings])
        leaves = self.hierarchy.leaves[0].tolist()
        ground = [Sense(0, *pair) for pair in zip(leaves, self.value_rows.tolist(), strict=True)]
        whole = {name: math.fsum(one.rows * keep(one) for one in ground) for name, keep in keeping.items()}
        rows = max(1, counts.released)
        return _Figures(weight, self.hierarchy.height, Bounds(levels.low / rows, levels.high / rows), kept, whole)

    def readings(self, text: str | None) -> Iterator[Sense]:
        """Return everything that a released label can mean."""
        found = 0
        for level, codes in self._levels.items():
            if text in codes:
                found += 1
                yield self._of_values(level, self.hierarchy.maps[level] == codes[text], level_code=codes[text])
        if text is None:
            if self.level is None and (self.algorithm == BLANKING or not found):  # a blank cell, which says nothing
                yield Sense(max(1, self.hierarchy.height), self.hierarchy.domain_size, int(self.value_rows.sum()))
        elif self.level is None and (cover := read_label(text)) is not None:
            yield from self._of_cover(cover)

    def _of_values(self, level: int, covered: Any, *, level_code: int) -> Sense:
        leaves = int(self.hierarchy.leaves[level][level_code])
        return Sense(level, leaves, int(self.value_rows[covered].sum()))

    def _of_cover(self, cover: Cover) -> Iterator[Sense]:
        """Return what a range or a set can mean: it has the lowest level that has one label for all its values."""
        members = [self._codes[value] for value in cover.values if value in self._codes]
        missing = self._codes.get(None)
        if cover.is_range and len(members) < len(cover.values):  # an end that came from another table
            members = self._between(cover.values)
        more = [missing] if cover.or_missing and missing is not None else []
        if not members and not more:
            return
        ends = np.array([*members, *more], np.int64)
        if not cover.is_range:
            yield Sense(self._common_level(ends), len(ends), int(self.value_rows[ends].sum()))
            return
        if self._positions is None:
            self._positions = self.hierarchy.find_positions()
        positions = self._positions
        if positions is None:
            return
        if not members:
            return
        low, high = min(positions[members]), max(positions[members])
        within = (positions >= low) & (positions <= high)
        if missing is not None:
            within[missing] = cover.or_missing
        leaves = int(high - low) + 1 + len(more)
        inside = np.flatnonzero(within)
        for level in {self._common_level(ends), self._common_level(inside)}:  # nobody sees which of these it has
            yield Sense(level, leaves, int(self.value_rows[inside].sum()))

    def _between(self, ends: Sequence[str]) -> list[int]:
        """Return the values, no missing one, that lie between two ends that are numbers or dates."""
        try:
            keys, limits = self.hierarchy.sort_keys(self.hierarchy.values), self.hierarchy.sort_keys(ends)
        except HierarchyError:
            return []
        if keys is None or limits is None or None in limits:
            return []
        low, high = min(limits), max(limits)
        return [code for code, key in enumerate(keys) if key is not None and low <= key <= high]

    def _common_level(self, codes: IntArray) -> int:
        """Return the lowest level at which values have one label."""
        maps = self.hierarchy.maps
        return next(level for level in range(len(maps)) if len(np.unique(maps[level][codes])) == 1)


def _plus(total: Bounds, rows: int, each: Sequence[float]) -> Bounds:
    return Bounds(total.low + rows * min(each), total.high + rows * max(each))


def _all_figures(counts: _Totals, columns: Sequence[_Figures]) -> dict[str, Bounds]:
    """Return every measure that can be worked out, each by its definition; docs/measures.md has them."""
    rows, released = counts.rows, counts.released
    squares = float(np.square(counts.sizes, dtype=np.float64).sum()) + float(rows - released) * rows
    figures = {
        name: _lost_share(columns, name)
        for name in ("precision", "loss", "ncp", "entropy")
        if all(name in one.kept for one in columns)
    }
    figures["precision"] = _from_one(figures["precision"])
    steps = max(1, sum(one.height for one in columns))
    weights = sum(one.weight for one in columns) or 1.0
    climbed = _clip(_sum(columns, lambda one: (1.0 if one.height else 0.0) / steps))
    relative = _clip(_sum(columns, lambda one: one.weight / weights / one.height if one.height else 0.0))
    exact = {
        "discernibility": squares,
        "average-group-size": released / max(1, len(counts.sizes)),
        "distinct-tuples": float(len(counts.sizes)),
        "completeness": released / max(1, rows),
    }
    figures |= {name: Bounds(value, value) for name, value in exact.items()}
    figures["absolute-distance"] = _sum(columns, lambda one: 1.0)
    figures["accuracy"] = _from_one(climbed)
    total = sum(one.weight for one in columns)
    figures["relative-distance"] = Bounds(relative.low * total, relative.high * total)
    return figures


def _lost_share(columns: Sequence[_Figures], name: str) -> Bounds:
    """Return the share of what cells keep that a release loses."""
    whole = math.fsum(one.weight * one.whole[name] for one in columns)
    if whole <= 0:
        return Bounds(0.0, 0.0)
    low, high = (math.fsum(one.weight * one.kept[name][end] for one in columns) / whole for end in (0, 1))
    return _clip(Bounds(1.0 - high, 1.0 - low))


def _sum(columns: Sequence[_Figures], factor: Callable[[_Figures], float]) -> Bounds:
    """Sum up how high columns stand, each by a factor of its own."""
    low, high = (math.fsum(factor(one) * one.levels[end] for one in columns) for end in (0, 1))
    return Bounds(low, high)


def _clip(bounds: Bounds) -> Bounds:
    return Bounds(min(1.0, max(0.0, bounds.low)), min(1.0, max(0.0, bounds.high)))


def _from_one(bounds: Bounds) -> Bounds:
    return Bounds(1.0 - bounds.high, 1.0 - bounds.low)


LOSS_OF: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("loss", "ncp", "entropy"), lambda value: value),
    "precision": lambda value: 1.0 - value,
}
"""The loss that follows from the figure of a measure of cells."""


def bound_fits(stated: Facts) -> bool:
    """Return whether a stated bound, and the gap above it, fit the loss that is stated by the same measure."""
    for name, bound in (stated.bound or {}).items():
        if name in LOSS_OF and name in stated.measures:
            loss = LOSS_OF[name](stated.measures[name])
            is_gap = stated.gap is not None and abs(max(0.0, loss - bound) - stated.gap) <= TOLERANCE
            return is_gap and bound <= loss + TOLERANCE
    return True
