"""Origin: where the rows of a DuckDB session came from, and what is needed to give the same back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

DAY = 86_400_000_000
"""Microseconds."""
Restore = Callable[[pa.Table, frozenset[str]], object]
"""Makes the kind of table that came in; the names are the columns that kept their own type."""


def restore_as_arrow(table: pa.Table, typed: frozenset[str]) -> pa.Table:
    """Return the rows as an Arrow table in the types of DuckDB, as is done for files."""
    return table


def restore_arrow(schema: pa.Schema) -> Restore:
    """Return how to make an Arrow table whose kept columns have the types of ``schema``."""

    def restore(table: pa.Table, typed: frozenset[str]) -> pa.Table:
        return in_own_types(table, typed, schema)

    return restore


def with_durations(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are durations again, unless one of them counts months.

    DuckDB knows spans of months, days and seconds only.
    """
    for position, field in enumerate(table.schema):
        if field.type != pa.month_day_nano_interval():
            continue
        spans = table[field.name].to_pylist()
        if any(span is not None and span.months for span in spans):
            continue
        micros = [None if span is None else span.days * DAY + span.nanoseconds // 1000 for span in spans]
        table = table.set_column(position, field.name, pa.array(micros, pa.duration("us")))
    return table


def in_own_types(table: pa.Table, typed: frozenset[str], schema: pa.Schema) -> pa.Table:
    """Return a table whose kept columns have the type they came with, where the cells allow it."""
    if any(pa.types.is_duration(field.type) for field in schema):
        table = with_durations(table)
    for position, name in enumerate(table.column_names):
        if name not in typed:
            continue
        own = schema.field(name).type
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
