"""Previews: a few rows and labels as texts, for the pages to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.hierarchy import Hierarchy

SHOWN_VALUES = 14


@dataclass(frozen=True, slots=True)
class Preview:
    """What a hierarchy makes of the values at hand: some of them at each level, and how many labels are left."""

    level_names: tuple[str, ...]
    labels: tuple[int, ...]
    """Distinct labels at each level."""
    rows: tuple[tuple[str | None, ...], ...]
    values: int

    @classmethod
    def of(cls, hierarchy: Hierarchy, values: Sequence[str | None]) -> Preview:
        """Climb the values by a hierarchy; raise if they do not fit it.

        >>> from indistinct.hierarchy import prefix
        >>> Preview.of(prefix(3, keep=[2]), ["021", "022", "031"]).labels
        (3, 2, 1)
        """
        compiled = hierarchy.compile(values)
        shown = range(0, len(values), max(1, len(values) // SHOWN_VALUES))[:SHOWN_VALUES]
        rows = tuple(
            tuple(labels[codes[value]] for labels, codes in zip(compiled.labels, compiled.maps, strict=True))
            for value in shown
        )
        return cls(compiled.level_names, tuple(map(len, compiled.labels)), rows, len(values))


def text_cells(table: Any) -> list[list[str]]:
    """Give the rows of an Arrow table as texts; a missing cell is empty."""
    columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]
