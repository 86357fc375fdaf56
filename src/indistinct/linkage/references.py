"""Which column of one table holds the keys of another: by containment, and by names where values say too little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from indistinct.linkage.functional_dependencies import CodedColumn

FEWEST_KEYS = 2
FEWEST_VALUES = 20
"""Of fewer different values it is no wonder that all are keys, unless the columns are called alike."""
MOST_KEYS_USED = 0.3
"""So large a share of the keys must be referred to, unless the columns are called alike."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A column whose every cell is the key of a row of another table."""

    table: str
    column: str
    parent: str
    key: str
    is_alike: bool
    """Both are called the same."""
    share: float
    """The share of the keys that are referred to."""


def find_references(tables: Mapping[str, Mapping[str, CodedColumn]]) -> list[Reference]:
    """Return, for every column that refers to another table, the reference that fits best, in the order of the tables.

    A key has no cell missing and none twice. Tables of equal keys refer to the one that is named first.
    """
    keys = {name: _keys_of(columns) for name, columns in tables.items()}
    order = list(tables)
    found = []
    for table, columns in tables.items():
        for column, cells in columns.items():
            if None in cells.texts or len(cells.texts) < FEWEST_KEYS:
                continue
            values = frozenset(cells.texts)
            is_key = column in keys[table]
            fitting = [
                Reference(table, column, parent, key, _alike(column, key), len(values) / len(texts))
                for place, parent in enumerate(order)
                if parent != table
                for key, texts in keys[parent].items()
                if values <= texts and (values < texts or not is_key or place < order.index(table))
            ]
            likely = [one for one in fitting if one.is_alike or (not is_key and _is_likely(one, len(values)))]
            if likely:
                found.append(max(likely, key=lambda one: (one.is_alike, one.share, -order.index(one.parent))))
    return found


def _keys_of(columns: Mapping[str, CodedColumn]) -> dict[str, frozenset[str | None]]:
    """Return the columns of a table that could be its key, with their values."""
    return {
        name: frozenset(cells.texts)
        for name, cells in columns.items()
        if len(cells.texts) == len(cells.codes) >= FEWEST_KEYS and None not in cells.texts
    }


def _is_likely(one: Reference, values: int) -> bool:
    """Return whether a column refers to a key of another name: it has many values, and most keys are among them."""
    return values >= FEWEST_VALUES and one.share >= MOST_KEYS_USED


def _alike(one: str, other: str) -> bool:
    """Return whether two columns are called the same, but for capitals and marks between the words."""
    return "".join(filter(str.isalnum, one.lower())) == "".join(filter(str.isalnum, other.lower()))
