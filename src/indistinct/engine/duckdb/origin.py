"""Origin: what kind of table the rows of a DuckDB session came from, and how the same kind is made again.

Spans of time and numbers of 16 bits need care on both ways: DuckDB has spans as months, days and microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from indistinct.engine.duckdb.dialect import quote
from indistinct.engine.duckdb.distinct_lines import Repeats
from indistinct.engine.duckdb.session import Session

Typed = Mapping[str, str]
"""The columns that kept their own type, with the name that each had in the table that came in."""
Restore = Callable[[pa.Table, Typed], object]
"""Makes the kind of table that came in."""
DAY = 86_400_000_000
"""Microseconds."""
INTERVAL = "INTERVAL"
"""DuckDB's name of the type."""
NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
"""What the units of Arrow and Polars count."""


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
    repeats: Repeats | None = None
    """How the rows of one relation repeat; relations made of it have none."""

    def with_names(self, names: Mapping[str, str]) -> Origin:
        """Return the origin of a table of which each column has a new name."""
        came = {new: self.came_as.get(name, name) for name, new in names.items()}
        return replace(self, came_as={new: name for new, name in came.items() if new != name})

    def to_native(self, table: pa.Table, typed: frozenset[str]) -> object:
        """Make the kind of table that came in, of which some columns kept their own type."""
        return self.restore(table, {name: self.came_as.get(name, name) for name in typed})


def as_duckdb_reads_it(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are counted in microseconds, and whose halves of floats are whole ones.

    DuckDB would count spans so itself, but refuses tables in which a missing one is the least number that there is. It
    knows no numbers of 16 bits.
    """
    for position, own in enumerate(table.schema):
        if pa.types.is_duration(own.type):
            table = table.set_column(position, own.name, table[own.name].cast(pa.duration("us"), safe=False))
        elif pa.types.is_float16(own.type):
            table = table.set_column(position, own.name, table[own.name].cast(pa.float32()))
    return table


def with_durations(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are durations again, unless one of them counts months."""
    for position, own in enumerate(table.schema):
        if own.type != pa.month_day_nano_interval():
            continue
        spans = table[own.name].to_pylist()
        if any(span is not None and span.months for span in spans):
            continue
        micros = [None if span is None else span.days * DAY + span.nanoseconds // 1000 for span in spans]
        table = table.set_column(position, own.name, pa.array(micros, pa.duration("us")))
    return table


def numbers_as_spans(relation: str, units: Mapping[str, str]) -> str:
    """Return the SQL of rows in which numbers of some columns are spans of time, each counted in a unit."""
    cells = ", ".join(
        f"to_microseconds(({quote(name)}::HUGEINT * {int(NANOSECONDS[unit])} // 1000)::BIGINT) AS {quote(name)}"
        for name, unit in units.items()
    )
    return f"SELECT * {f'REPLACE ({cells}) ' if cells else ''}FROM {relation}"


def spans_as_text(relation: str, types: Mapping[str, str]) -> str:
    """Return the SQL of rows in which spans of time are text."""
    cells = ", ".join(f"{quote(name)}::VARCHAR AS {quote(name)}" for name, kind in types.items() if kind == INTERVAL)
    return f"SELECT * {f'REPLACE ({cells}) ' if cells else ''}FROM {relation}"


def plain_spans(session: Session, relation: str, types: Mapping[str, str]) -> list[str]:
    """Return the columns of spans of time of which none counts days or months: as durations they are the same text."""
    names = [name for name, kind in types.items() if kind == INTERVAL]
    if not names:
        return []
    are_plain: tuple[Any, ...] = session.fetch(
        "SELECT "
        + ", ".join(f"coalesce(bool_and({_text(name)} = {_plain_text(name)}), true)" for name in names)
        + f" FROM {relation}"
    )[0]
    return [name for name, is_plain in zip(names, are_plain, strict=True) if is_plain]


def _text(name: str) -> str:
    return f"{quote(name)}::VARCHAR"


def _plain_text(name: str) -> str:
    return f"to_microseconds(epoch_us({quote(name)}))::VARCHAR"
