"""The SQL by which people are recognised from one release to the next, by digests of what names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.plans import HISTORY, KEY, STATE, Recognition
from indistinct.errors import TableError

DIGITS = 32
"""Hexadecimal digits of a digest: 128 bits, so that no two of a billion people share one by chance."""


def told_sql(relation: str, texts: Mapping[str, str], how: Recognition) -> str:
    """Return the SQL of a table's rows with the key, the state and the history of each.

    ``texts`` gives the SQL of each column's cells as text.
    """
    for column in (*how.key, *how.state):
        if column not in texts:
            raise TableError(f"no column {column!r}, by which people should be recognised")
    names = [texts[column] for column in how.key]
    if how.numbered:
        names.append(f"(row_number() OVER (PARTITION BY {', '.join(names)}))::VARCHAR")
    empty = " AND ".join(f"{text} = ''" for text in names)
    key = f"CASE WHEN {empty} THEN NULL ELSE {_digest(names, how.secret)} END"
    state = _digest([texts[column] for column in how.state], how.secret)
    as_text = ", ".join(f"nullif({texts[column]}, '') AS {quote(column)}" for column in how.based)
    cells = f"* REPLACE ({as_text})" if how.based else "*"
    own = f"SELECT {cells}, {key} AS {quote(KEY)}, {state} AS {quote(STATE)} FROM {relation}"
    if how.earlier is None:
        return f"SELECT *, NULL::VARCHAR AS {quote(HISTORY)} FROM ({own})"
    based = [
        f"CASE WHEN e.state = o.{quote(STATE)} THEN e.{quote(f'label.{column}')} "
        f"ELSE o.{quote(column)} END AS {quote(column)}"
        for column in how.based
    ]
    changed = f" REPLACE ({', '.join(based)})" if based else ""
    return (
        f"SELECT o.*{changed}, e.cell::VARCHAR AS {quote(HISTORY)} FROM ({own}) AS o "
        f"LEFT JOIN read_parquet({literal(str(how.earlier))}) AS e ON o.{quote(KEY)} = e.key"
    )


def refuse_unusable_keys(session: Session, told: str, how: Recognition) -> None:
    """Raise if somebody has no key, or if several rows have the same."""
    key = quote(KEY)
    rows, present, distinct = session.fetch(f"SELECT count(*), count({key}), count(DISTINCT {key}) FROM {told}")[0]
    names = ", ".join(map(repr, how.key))
    if present < rows:
        raise TableError(
            f"{session.name}: {rows - present} rows have nothing in {names}, by which people should be recognised; "
            "fill it in, or name other columns as the key"
        )
    if distinct < rows:
        raise TableError(
            f"{session.name}: {rows - distinct} rows repeat the {names} of another; a key names one person, and a "
            "person has one row: name other columns as the key"
        )


def members_sql(released: str, told: str, labels: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Return the SQL of who was released in which group: key, state, group, the group's labels, and values."""
    groups = [f"g{position}" for position in range(len(labels))]
    cells = "".join(f", {text} AS {name}" for name, text in zip(groups, labels.values(), strict=True))
    own = "".join(f", {text} AS v{position}" for position, text in enumerate(values.values()))
    shown = "".join(
        f", nullif({name}, '') AS {quote(f'label.{column}')}" for name, column in zip(groups, labels, strict=True)
    ) + "".join(f", nullif(v{position}, '') AS {quote(f'value.{column}')}" for position, column in enumerate(values))
    return (
        f'SELECT key, state, dense_rank() OVER (ORDER BY {", ".join(groups)}) - 1 AS "group"{shown} '
        f"FROM (SELECT {quote(KEY)} AS key{cells} FROM {released}) "
        f"JOIN (SELECT {quote(KEY)} AS key, {quote(STATE)} AS state{own} FROM {told}) USING (key)"
    )


def _digest(texts: Iterable[str], secret: str) -> str:
    """Return the SQL of a keyed digest of several cells; their lengths keep them apart."""
    parts = ", ".join(f"length({text}), ':', {text}" for text in texts)
    return f"substr(sha256(concat({literal(secret)}, '|', {parts})), 1, {DIGITS})"
