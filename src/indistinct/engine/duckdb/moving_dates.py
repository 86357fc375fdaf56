"""Dates in DuckDB: cells of any type as moments, and dates that move by a number of days."""

from __future__ import annotations

from indistinct.engine.duckdb.session import literal

YEARS = (20, 9980)
"""Dates in these years stay in years of four digits, wherever they move; others are most likely codes."""
ISO = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?"
"""ISO dates and timestamps as everybody reads them; DuckDB takes more."""
DAY_ONLY = 10
"""The length of an ISO date without a time."""


def moment_sql(kind: str, cell: str, form: str | None) -> str:
    """Return the SQL of a cell of some type as a timestamp, null where it is missing or no such date can be read."""
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        moment = f"{cell}::TIMESTAMP"
    elif kind != "VARCHAR" and not kind.startswith("ENUM"):
        return "NULL::TIMESTAMP"
    elif form is None:
        text = f"trim({cell}::VARCHAR)"
        moment = f"CASE WHEN regexp_full_match({text}, {literal(ISO)}) THEN TRY_CAST({text} AS TIMESTAMP) END"
    else:
        moment = f"try_strptime({cell}::VARCHAR, {literal(form)})"
    return f"CASE WHEN year({moment}) BETWEEN {YEARS[0]} AND {YEARS[1]} THEN {moment} END"


def shifted_sql(kind: str, cell: str, form: str | None, days: str) -> str:
    """Return the SQL of a date that moves by so many days, in the type that it has; the time of the day stays."""
    if kind == "DATE":
        return f"({cell} + {days}::INTEGER)"
    if kind.startswith("TIMESTAMP"):
        return f"({cell} + to_days({days}::INTEGER))::{kind}"
    moved = f"({moment_sql(kind, cell, form)} + to_days({days}::INTEGER))"
    if form is not None:
        return f"strftime({moved}, {literal(form)})"
    return (
        f"CASE WHEN length(trim({cell}::VARCHAR)) <= {DAY_ONLY} THEN {moved}::DATE::VARCHAR ELSE {moved}::VARCHAR END"
    )
