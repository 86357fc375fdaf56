"""Hierarchies made of the data: by frequency, by likeness of a target, by equal depth, by prefixes that balance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.errors import HierarchyError
from indistinct.hierarchy.kinds.listed import Levels, levels
from indistinct.hierarchy.kinds.number_labels import Intervals, intervals, read_numbers

MOST_COMPARED = 2000
"""Values that are compared with each other; more would take minutes."""

ColumnCells = Iterable[object] | Mapping[str, int]
"""The cells of a column, or how often each of its values occurs."""
TargetPairs = Iterable[tuple[object, object]] | Mapping[tuple[str | None, str | None], int]
"""A value and its target for each row, or how often each pair of them occurs."""


def by_frequency(values: ColumnCells, *, shares: Sequence[float] = (0.05, 0.2, 0.5), top: str = "*") -> Levels:
    """Return the hierarchy that merges rare values first.

    ``values`` are the cells of a column, or a mapping of each value to the number of its rows. At each level the
    rarest values that hold no more than a share of the rows together become one; a level that would merge fewer than
    two values, or no more than the one below, is left out.

    >>> by_frequency({"flu": 90, "cough": 8, "gout": 1, "mumps": 1}, shares=(0.05,)).table()[1:3]
    [['cough', 'cough', '*'], ['mumps', '2 other values', '*']]
    """
    _check_rising("shares", shares)
    if not all(0 < share < 1 for share in shares):
        raise HierarchyError(f"shares lie between 0 and 1, got {list(shares)}")
    counts = counts_of(values)
    rarest_first = sorted(counts, key=lambda value: (counts[value], value))
    held = np.cumsum([counts[value] for value in rarest_first])
    merged = [int(np.searchsorted(held, share * held[-1] + 1e-9, side="right")) for share in shares]
    steps = [number for number in dict.fromkeys(merged) if 2 <= number < len(counts)]
    places = {value: place for place, value in enumerate(rarest_first)}
    rows = [
        [value, *(f"{step} other values" if places[value] < step else value for step in steps)]
        for value in reversed(rarest_first)
    ]
    return levels(rows, top=top)


def by_target(pairs: TargetPairs, *, parts: Sequence[int] = (), top: str = "*") -> Levels:
    """Return the hierarchy that merges values whose rows have a target spread alike.

    ``pairs`` are a value and its target for each row, or a mapping of such pairs to the number of rows. The two groups
    whose merging loses least of what values say about the target are merged, again and again; the levels are what
    stands when as many groups are left as ``parts`` says, coarser from level to level, or else half as many each time.

    Source: Slonim and Tishby 1999, agglomerative information bottleneck.

    >>> rows = [("a", 1), ("a", 1), ("b", 1), ("c", 0), ("d", 0), ("d", 0)]
    >>> print(by_target(rows, parts=[2]).draw())
    *
    ├── a, b
    │   ├── a
    │   └── b
    └── d, c
        ├── d
        └── c
    """
    joint: Counter[tuple[str, Hashable]] = Counter()
    for (value, target), number in _rows_of_each(pairs).items():
        if (text := cell_text(value)) is not None:
            joint[text, cell_text(target)] += number
    counts = Counter[str]()
    for (value, _), number in joint.items():
        counts[value] += number
    names = sorted(counts, key=lambda value: (-counts[value], value))
    _check_some(names)
    if len(names) > MOST_COMPARED:
        raise HierarchyError(f"{len(names)} values are too many to compare; {MOST_COMPARED} are the most")
    targets = {target: place for place, target in enumerate(dict.fromkeys(target for _, target in joint))}
    table = np.zeros((len(names), len(targets)))
    places = {value: place for place, value in enumerate(names)}
    for (value, target), number in joint.items():
        table[places[value], targets[target]] = number
    wanted = list(parts) or _halves(len(names))
    _check_rising("parts", [-part for part in wanted])
    stages = _merge(table, [part for part in wanted if 1 < part < len(names)])
    rows = [[value, *(_name(stage, names, place) for stage in stages)] for place, value in enumerate(names)]
    return levels(_beside_their_group(rows), top=top)


def equal_depth(values: ColumnCells, *, parts: Sequence[int] = (16, 8, 4, 2), top: str = "*") -> Intervals:
    """Return intervals of numbers that hold about as many rows each: as many as ``parts`` says at each level.

    Every number of parts divides the one before, so that intervals nest. A value of many rows takes the place of
    several parts. It is a hierarchy of cut points, so it also takes numbers that were not there.

    >>> ages = [str(age) for age in range(20, 60)]
    >>> [equal_depth(ages, parts=(4, 2)).label("37", level) for level in range(4)]
    ['37', '30-39', '<40', '*']
    """
    _check_rising("parts", [-part for part in parts])
    if any(finer % coarser for finer, coarser in pairwise(parts)) or min(parts, default=0) < 2:
        raise HierarchyError(f"each of parts divides the one before, down to 2 or more, got {list(parts)}")
    counts = counts_of(values)
    texts = list(counts)
    numbers = [Decimal(number) for number in read_numbers(texts) if number is not None]
    weights: Counter[Decimal] = Counter()
    for number, text in zip(numbers, texts, strict=True):
        weights[number] += counts[text]
    ordered = sorted(weights)
    held = np.cumsum([weights[number] for number in ordered])
    chosen: list[list[Decimal]] = []
    for part in parts:
        below = [np.searchsorted(held, held[-1] * step / part) for step in range(1, part)]
        cuts = sorted({ordered[place + 1] for place in map(int, below) if place + 1 < len(ordered)})
        cuts = [cut for cut in cuts if not chosen or cut in chosen[-1]]
        if cuts and (not chosen or len(cuts) < len(chosen[-1])):
            chosen.append(cuts)
    if not chosen:
        raise HierarchyError("one number in nearly all rows leaves nothing to cut; use suppress()")
    is_whole = all(number == int(number) for number in ordered)
    return intervals(*([int(cut) if is_whole else cut for cut in cuts] for cuts in chosen), top=top)


def balanced_prefixes(values: ColumnCells, *, parts: Sequence[int] = (64, 16, 4), top: str = "*") -> Levels:
    """Return the hierarchy of prefixes that hold about as many rows each: at least as many as ``parts`` says.

    The prefix of most rows is lengthened by a character until there are enough, so those of rare values stay short.

    >>> balanced_prefixes({"0211": 9, "0212": 9, "1000": 1, "1999": 1}, parts=(3,)).table()
    [['0211', '0211', '*'], ['0212', '0212', '*'], ['1000', '1*', '*'], ['1999', '1*', '*']]
    """
    _check_rising("parts", [-part for part in parts])
    counts = counts_of(values)
    names = sorted(counts)
    groups = [names]
    stages: dict[int, dict[str, str]] = {}
    for part in sorted(parts):
        while len(groups) < part and (largest := max(groups, key=lambda group: _weight(group, counts)))[1:]:
            groups.remove(largest)
            groups += _split(largest)
        stages[part] = {name: _prefix(group) for group in groups for name in group}
    rows = [[name, *(stages[part][name] for part in parts)] for name in names]
    return levels(_without_repeated_levels(rows), top=top)


def counts_of(values: ColumnCells) -> dict[str, int]:
    """Return how often each value occurs that is not missing; ones that are no text are written as tables show them."""
    found: Counter[str] = Counter()
    for cell, number in _rows_of_each(values).items():
        if (text := cell_text(cell)) is not None:
            found[text] += number
    _check_some(found)
    return dict(found)


def cell_text(cell: object) -> str | None:
    """Return a cell as text, None for a missing one.

    >>> cell_text(3), cell_text(True), cell_text(float("nan")), cell_text("")
    ('3', 'true', None, None)
    """
    cell = cell.as_py() if hasattr(cell, "as_py") else cell  # Arrow
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # pandas
        return None
    if (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell):
        return None
    return str(cell).lower() if isinstance(cell, (bool, np.bool_)) else str(cell)


def _rows_of_each(cells: Any) -> Mapping[Any, int]:
    if isinstance(cells, Mapping):
        return cells
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise HierarchyError(
            f"give the cells of a column, or how often each value occurs, not a {type(cells).__name__}"
        )
    return Counter(cells)


def _check_some(values: Iterable[str]) -> None:
    if not any(True for _ in values):
        raise HierarchyError("every cell is missing; there is nothing to make a hierarchy of")


def _check_rising(name: str, numbers: Sequence[float]) -> None:
    if not numbers or any(after <= before for before, after in pairwise(numbers)):
        shown = [abs(number) for number in numbers]
        raise HierarchyError(f"{name} lists a number for each level, each coarser than the one before, got {shown}")


def _halves(number: int) -> list[int]:
    """Return half of a number, half of that, and so on down to 2.

    >>> _halves(20)
    [10, 5, 2]
    """
    found = []
    while (number := number // 2) >= 2:
        found.append(number)
    return found or [2]


def _merge(table: FloatArray, parts: Sequence[int]) -> list[list[list[int]]]:
    """Return the groups of rows of a table when as many are left as each of some numbers, finest first."""
    groups = [[place] for place in range(len(table))]
    sums = table / table.sum()
    costs = np.full((len(table), len(table)), np.inf)
    for place in range(len(table) - 1):
        costs[place, place + 1 :] = _losses(sums[place], sums[place + 1 :])
    left, stages = len(groups), []
    for part in parts:
        while left > part:
            one, other = divmod(int(np.argmin(costs)), len(table))
            groups[one], groups[other] = [*groups[one], *groups[other]], []
            sums[one] += sums[other]
            costs[other], costs[:, other] = np.inf, np.inf
            alive = np.array([place for place, group in enumerate(groups) if group and place != one], np.int64)
            again = _losses(sums[one], sums[alive])
            costs[np.minimum(one, alive), np.maximum(one, alive)] = again
            left -= 1
        stages.append([sorted(group) for group in groups if group])
    return stages


def _losses(one: FloatArray, others: FloatArray) -> FloatArray:
    """Return how much information about the target is lost if one row of shares is merged with each of others."""
    both = one + others
    found: FloatArray = _information(others) + _information(one[None, :]) - _information(both)
    return found


def _information(shares: FloatArray) -> FloatArray:
    """Return the sum of s ln(s / S) for each row, with S its sum: what a row says about the target."""
    whole = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log(shares / whole), 0.0)
    return np.asarray(terms.sum(axis=1))


def _name(stage: Sequence[Sequence[int]], names: Sequence[str], place: int) -> str:
    """Return the label of the group that a value is in: its most frequent values, and how many there are more."""
    group = next(group for group in stage if place in group)
    first = [names[one] for one in group[:2]]
    more = [f"and {len(group) - 2} more"] if len(group) > 3 else [names[one] for one in group[2:3]]
    return " ".join([", ".join(first), *more]) if len(group) > 3 else ", ".join([*first, *more])


def _beside_their_group(rows: Sequence[list[str]]) -> list[list[str]]:
    """Return rows with those of one group together, groups in the order of their first row."""
    order: dict[str, int] = {}
    for row in rows:
        for level, label in enumerate(row):
            order.setdefault(f"{level} {label}", len(order))
    return sorted(rows, key=lambda row: [order[f"{level} {label}"] for level, label in enumerate(row)][::-1])


def _weight(group: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return the rows of a group that can be divided further; 0 for one value."""
    return sum(counts[name] for name in group) if len(group) > 1 else 0


def _split(group: Sequence[str]) -> list[list[str]]:
    """Return a group of texts by the character after what they have in common."""
    start = len(_common(group))
    parts: dict[str, list[str]] = {}
    for name in group:
        parts.setdefault(name[start : start + 1], []).append(name)
    return list(parts.values())


def _common(group: Sequence[str]) -> str:
    first, last = min(group), max(group)
    length = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def _prefix(group: Sequence[str]) -> str:
    return group[0] if len(group) == 1 else f"{_common(group)}*"


def _without_repeated_levels(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Leave out levels that say the same as the one below, and one that merges all, which is the top's."""
    columns = list(zip(*rows, strict=True))
    kept = [columns[0]]
    for column in columns[1:]:
        if len(set(column)) < len(set(kept[-1])) and len(set(column)) > 1:
            kept.append(column)
    return [list(row) for row in zip(*kept, strict=True)]
