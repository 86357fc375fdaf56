"""Previews: a few rows and labels as texts, for the pages to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.hierarchy import Hierarchy
from indistinct.showing.words import counted

SHOWN_VALUES = 14
EXTREMES = 2
"""Lowest and highest values that are shown."""
RAREST = 2


@dataclass(frozen=True, slots=True)
class Preview:
    """What a hierarchy makes of the values at hand: some of them at each level, and how many labels are left."""

    level_names: tuple[str, ...]
    labels: tuple[int, ...]
    """Distinct labels at each level."""
    rows: tuple[tuple[str | None, ...], ...]
    values: int
    reasons: tuple[str, ...] = ()
    """Why each of the rows is shown: lowest, highest, rare, missing, or nothing for one among all."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, values: Sequence[str | None], counts: Mapping[str | None, int] = {}) -> Preview:
        """Climb the values by a hierarchy; raise if they do not fit it. ``counts`` tells which are rare.

        >>> from indistinct.hierarchy import intervals, prefix
        >>> Preview.of(prefix(3, keep=[2]), ["021", "022", "031"]).labels
        (3, 2, 1)
        >>> ages = Preview.of(intervals(10), [str(age) for age in range(100)])
        >>> [row[0] for row in ages.rows if row[0] in ("0", "1", "98", "99")], ages.reasons[0], ages.reasons[-1]
        (['0', '1', '98', '99'], 'lowest', 'highest')
        """
        compiled = hierarchy.compile(values)
        keys = compiled.sort_keys(values)
        order = _in_order(values, keys)
        reasons = dict(_reasons(values, order, keys is not None, counts))
        if len(reasons) < SHOWN_VALUES:
            others = [place for place in order if place not in reasons]
            room = SHOWN_VALUES - len(reasons)
            step = max(1, -(-len(others) // room))
            reasons |= dict.fromkeys(others[step // 2 :: step] or others[:room], "")
        shown = [place for place in order if place in reasons]
        rows = tuple(
            tuple(labels[codes[value]] for labels, codes in zip(compiled.labels, compiled.maps, strict=True))
            for value in shown
        )
        told = tuple(reasons[place] for place in shown)
        return cls(compiled.level_names, tuple(map(len, compiled.labels)), rows, len(values), told)


def _in_order(values: Sequence[str | None], keys: Sequence[Any] | None) -> list[int]:
    """Return the places of the values from the lowest to the highest, or by their text; missing ones last."""
    by: Sequence[Any] = values if keys is None else keys
    present = [place for place, value in enumerate(values) if value is not None]
    return [*sorted(present, key=lambda place: by[place]), *(p for p, value in enumerate(values) if value is None)]


def _reasons(
    values: Sequence[str | None], order: Sequence[int], has_order: bool, counts: Mapping[str | None, int]
) -> Iterator[tuple[int, str]]:
    """Return the places that tell most about a hierarchy, and why; a later reason replaces an earlier one."""
    present = [place for place in order if values[place] is not None]
    if counts:
        rows = {place: counts.get(values[place], 0) for place in present}
        rarest = sorted(present, key=lambda place: rows[place])[:RAREST]
        most = max(rows.values(), default=0)
        yield from ((place, f"rare: {counted(rows[place], 'row')}") for place in rarest if rows[place] < most)
    if has_order:
        yield from ((place, "lowest") for place in present[:EXTREMES])
        yield from ((place, "highest") for place in present[-EXTREMES:][::-1])
    elif present:
        yield max(present, key=lambda place: len(values[place] or "")), "longest"
    yield from ((place, "missing") for place in order if values[place] is None)


def text_cells(table: Any) -> list[list[str]]:
    """Return the rows of an Arrow table as texts; a missing cell is empty."""
    columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]
