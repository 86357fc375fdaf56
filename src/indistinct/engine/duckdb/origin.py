"""Origin: where the rows of a DuckDB session came from, and what is needed to give the same back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from indistinct.engine.duckdb.distinct_lines import Fold
from indistinct.engine.duckdb.spans import with_durations

Typed = Mapping[str, str]
"""The columns that kept their own type, with the name that each had in the table that came in."""
Restore = Callable[[pa.Table, Typed], object]
"""Makes the kind of table that came in."""


def restore_as_arrow(table: pa.Table, typed: Typed) -> pa.Table:
    """Return the rows as an Arrow table in the types of DuckDB, as is done for files."""
    return table


def restore_arrow(schema: pa.Schema) -> Restore:
    """Return how to make an Arrow table whose kept columns have the types of ``schema``."""

    def restore(table: pa.Table, typed: Typed) -> pa.Table:
        return in_own_types(table, typed, schema)

    return restore


def in_own_types(table: pa.Table, typed: Typed, schema: pa.Schema) -> pa.Table:
    """Return a table whose kept columns have the type they came with, where the cells allow it."""
    if any(pa.types.is_duration(own.type) for own in schema):
        table = with_durations(table)
    for position, name in enumerate(table.column_names):
        if name not in typed:
            continue
        own = schema.field(typed[name]).type
        column = table[name]
        try:
            column = column.dictionary_encode().cast(own) if pa.types.is_dictionary(own) else column.cast(own)
        except (pa.ArrowException, TypeError):
            continue
        table = table.set_column(position, name, column)
    return table


@dataclass(frozen=True, slots=True)
class Origin:
    """The kind of table that came in, how it is given back, and what its file told beyond its rows."""

    kind: str
    restore: Restore = restore_as_arrow
    delimiter: str | None = None
    table: str = "release"
    notes: tuple[str, ...] = ()
    """What the caller should know of how the file was read, or will be written."""
    came_as: Mapping[str, str] = field(default_factory=dict)
    """The columns that have another name than in the table that came in, with that name."""
    fold: Fold | None = None
    """How the rows of one relation are folded; others that are made of it are not."""

    def with_names(self, names: Mapping[str, str]) -> Origin:
        """Return the origin of a table of which each column has a new name."""
        came = {new: self.came_as.get(name, name) for name, new in names.items()}
        return replace(self, came_as={new: name for new, name in came.items() if new != name})

    def give_back(self, table: pa.Table, typed: frozenset[str]) -> object:
        """Make the kind of table that came in, of which some columns kept their own type."""
        return self.restore(table, {name: self.came_as.get(name, name) for name in typed})
