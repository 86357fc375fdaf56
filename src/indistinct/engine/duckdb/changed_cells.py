"""Cells that change in DuckDB: dates that move by a number of days, numbers that become others, sets that are split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from indistinct.array_types import FloatArray
from indistinct.engine.arrays import integers, numbers
from indistinct.engine.duckdb.dialect import literal, quote
from indistinct.engine.duckdb.source import DuckSource
from indistinct.errors import TableError
from indistinct.showing.words import counted

YEARS = (20, 9980)
"""Dates in these years stay in years of four digits, wherever they move; others are most likely codes."""
ISO = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?"
"""ISO dates and timestamps as everybody reads them; DuckDB takes more."""
DAY_ONLY = 10
"""The length of an ISO date without a time."""
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""Numbers as everybody reads them; DuckDB takes more."""
TEXTS = ("VARCHAR", "ENUM")
NumberChange = Callable[[FloatArray], FloatArray]
MOST = 1e150
"""Numbers up to here can be added up."""


def set_members_sql(source: DuckSource, column: str, separator: str | None) -> str:
    """Return the SQL of the different members of each cell of a column as a list of texts; raise if there are none."""
    if column not in source.types:
        raise TableError(f"{source.name}: no column {column!r}")
    kind, name = source.types[column], quote(column)
    if kind.endswith("[]"):
        if kind.endswith("[][]") or kind.startswith(("STRUCT", "MAP", "UNION", "BLOB")):
            raise TableError(
                f"{source.name}: the lists of column {column!r} hold nested or binary cells; make them texts"
            )
        listed = name
    elif separator is not None:
        listed = f"string_split({name}::VARCHAR, {literal(separator)})"
    else:
        text = f"nullif(trim({name}::VARCHAR), '')"
        is_array = f"CASE WHEN json_valid({text}) THEN json_type({text}) = 'ARRAY' ELSE false END"
        wrong = source.rows_of(f"{source.relation} WHERE {text} IS NOT NULL AND NOT ({is_array})")
        if wrong:
            raise TableError(
                f"{source.name}: {counted(wrong, 'cell', 'cells')} of {column!r} are no lists and no JSON arrays; "
                'say what separates their members, such as set = { separator = ";" }'
            )
        listed = f"from_json({text}, '[\"VARCHAR\"]')"
    texts = f"list_transform({listed}, lambda one: trim(one::VARCHAR))"
    return f"list_distinct(list_filter({texts}, lambda one: one <> ''))"


def flags_sql(source: DuckSource, column: str, flags: Sequence[str]) -> str:
    """Return the SQL of the names of those columns of a row that have 1 or true; raise if one has other cells."""
    if column in source.types:
        raise TableError(f"{source.name}: has a column {column!r} already; give the set of columns another name")
    listed = []
    for flag in flags:
        if flag not in source.types:
            raise TableError(f"{source.name}: no column {flag!r}")
        text = f"lower(trim({quote(flag)}::VARCHAR))"
        wrong = source.rows_of(f"{source.relation} WHERE {text} NOT IN ('', '0', '1', '0.0', '1.0', 'false', 'true')")
        if wrong:
            raise TableError(
                f"{source.name}: {counted(wrong, 'cell', 'cells')} of {flag!r} are neither 0 nor 1; recode them before"
            )
        listed.append(f"CASE WHEN {text} IN ('1', '1.0', 'true') THEN {literal(flag)} END")
    return f"list_filter([{', '.join(listed)}], lambda one: one IS NOT NULL)"


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
    """Return the SQL of a date that moves by ``days``, in the type that it has; the time of the day stays."""
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


def number_sql(text: str) -> str:
    """Return the SQL of a text as a float, null where it is missing or no such number can be read."""
    trimmed = f"trim({text})"
    number = f"CASE WHEN regexp_full_match({trimmed}, {literal(NUMBER)}) THEN TRY_CAST({trimmed} AS DOUBLE) END"
    return f"CASE WHEN abs({number}) <= {MOST!r}::DOUBLE THEN {number} END"


def changed_numbers(source: DuckSource, changes: Mapping[str, NumberChange]) -> tuple[str, dict[str, str]]:
    """Create the table of cells o0, o1, … in their order, with the numbers n0, n1, … of columns that change.

    Return its name, and the type in which each of these columns is released.
    """
    session = source.session
    placed, changed = session.fresh("placed"), session.fresh("changed")
    types = {column: "VARCHAR" if source.types[column].startswith(TEXTS) else "DOUBLE" for column in changes}
    others = [place for place, column in enumerate(source.types) if column not in changes]
    cells = [f"{quote(column)} AS o{place}" for place, column in enumerate(source.types) if place in others]
    cells += [f"{number_sql(source.text(column))} AS n{number}" for number, column in enumerate(changes)]
    session.execute(
        f"CREATE TABLE {placed} AS SELECT {', '.join(cells)}, row_number() OVER () AS place FROM {source.relation}"
    )
    given = []
    try:
        for number, change in enumerate(changes.values()):
            given.append(session.fresh("numbers"))
            values = f"SELECT place, n{number} AS number FROM {placed} WHERE n{number} IS NOT NULL ORDER BY place"
            _store_changed(source, given[-1], session.arrow(values), change)
        shown = [
            *(f"p.o{place}" for place in others),
            *(f"c{number}.number AS n{number}" for number in range(len(given))),
        ]
        joins = "".join(f" LEFT JOIN {table} AS c{number} USING (place)" for number, table in enumerate(given))
        session.execute(
            f"CREATE TABLE {changed} AS SELECT {', '.join(shown)} FROM {placed} AS p{joins} ORDER BY p.place"
        )
    finally:
        session.drop(placed, *given)
    return changed, types


def _store_changed(source: DuckSource, name: str, found: pa.Table, change: NumberChange) -> None:
    """Create the table of what becomes of numbers, beside the places of their rows."""
    changed = np.asarray(change(numbers(found["number"])), np.float64)
    data = pa.table({"place": integers(numbers(found["place"])), "number": integers(changed)})
    with source.session.registered_table(data) as given:
        source.session.execute(f"CREATE TABLE {name} AS SELECT * FROM {given}")
