"""Spans of time: durations of Arrow, pandas and Polars, which DuckDB has as months, days and microseconds.

So are the other cells of theirs that DuckDB does not take as they are: numbers of 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indistinct.engine.duckdb.session import Session, quote

DAY = 86_400_000_000
"""Microseconds."""
INTERVAL = "INTERVAL"
"""DuckDB's name of the type."""
NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
"""What the units of Arrow and Polars count."""


def as_duckdb_reads_it(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are counted in microseconds, and whose halves of floats are whole ones.

    DuckDB would count spans so itself, but refuses tables in which a missing one is the least number that there is. It
    knows no numbers of 16 bits.
    """
    for position, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            table = table.set_column(position, field.name, table[field.name].cast(pa.duration("us"), safe=False))
        elif pa.types.is_float16(field.type):
            table = table.set_column(position, field.name, table[field.name].cast(pa.float32()))
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
