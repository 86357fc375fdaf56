"""People: how they are recognised from one release to the next, by digests of what names them, and their histories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indistinct.engine.arrays import numbers
from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.plans import HISTORY, KEY, PERSON, ROW, STATE, Recognition, ValueCounts
from indistinct.errors import TableError

DIGITS = 32
"""Hexadecimal digits of a digest: 128 bits, so that no two of a billion people share one by chance."""
ABSENT = -1
"""The group of somebody whom a release does not contain."""


def told_sql(relation: str, texts: Mapping[str, str], how: Recognition) -> str:
    """Return the SQL of a table's rows with the key, the state and the history of each.

    ``texts`` gives the SQL of each column's cells as text.
    """
    for column in (*how.key, *how.state, *how.person, *how.row):
        if column not in texts:
            raise TableError(f"no column {column!r}, by which people should be recognised")
    names = [texts[column] for column in how.key]
    if how.numbered:
        names.append(f"(row_number() OVER (PARTITION BY {', '.join(names)}))::VARCHAR")
    key = _name_digest(names, how.secret)
    whose = ""
    if how.person:
        key = "(row_number() OVER ())::VARCHAR"  # it only finds a released row in the table again
        person = _name_digest([texts[column] for column in how.person], how.secret)
        row = _digest([texts[column] for column in how.row], how.secret)
        whose = f", {person} AS {quote(PERSON)}, {row} AS {quote(ROW)}"
    state = _digest([texts[column] for column in how.state], how.secret)
    as_text = ", ".join(f"nullif({texts[column]}, '') AS {quote(column)}" for column in how.based)
    cells = f"* REPLACE ({as_text})" if how.based else "*"
    own = f"SELECT {cells}, {key} AS {quote(KEY)}, {state} AS {quote(STATE)}{whose} FROM {relation}"
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
    """Raise if somebody has no key, or if several rows have the same where only one may."""
    key = quote(PERSON if how.person else KEY)
    each = f"({key}, {quote(ROW)})" if how.person else key
    rows, present, distinct = session.fetch(f"SELECT count(*), count({key}), count(DISTINCT {each}) FROM {told}")[0]
    names = ", ".join(map(repr, how.person or how.key))
    if present < rows:
        raise TableError(
            f"{session.name}: {rows - present} rows have nothing in {names}, by which people should be recognised; "
            "fill it in, or name other columns as the key"
        )
    if how.person and how.names_rows and distinct < rows:
        raise TableError(
            f"{session.name}: {rows - distinct} rows repeat the {', '.join(map(repr, how.key))} of another; a key that "
            "tells the rows of a person apart names one row: name other columns as the key"
        )
    if not how.person and distinct < rows:
        raise TableError(
            f"{session.name}: {rows - distinct} rows repeat the {names} of another; a key names one person, and a "
            "person has one row: name other columns as the key, or say in the policy whose row it is (person)"
        )


def profile_sql(columns: Iterable[str], person: Iterable[str], relation: str) -> str:
    """Return the SQL of each person, by the text p0, p1, … of some columns, with a digest of all her rows."""
    cells = f"concat({_with_lengths(columns)})"
    whose = [f"{text} AS p{number}" for number, text in enumerate(person)]
    names = ", ".join(f"p{number}" for number in range(len(whose)))
    rows = "string_agg(concat(length(cells), ':', cells), '' ORDER BY cells)"
    return (
        f"SELECT {names}, sha256(concat(count(*), '|', {rows})) AS digest "
        f"FROM (SELECT {', '.join(whose)}, {cells} AS cells FROM {relation}) GROUP BY {names}"
    )


def pseudonym_sql(person: Iterable[str], key: bytes) -> str:
    """Return the SQL of a pseudonym: HMAC-SHA-256 of the texts of some columns under a key, its first 128 bits."""
    block = key.ljust(64, b"\0")
    inner, outer = (f"unhex('{bytes(byte ^ pad for byte in block).hex()}')" for pad in (0x36, 0x5C))
    message = f"encode(concat({_with_lengths(person)}))"
    return f"substr(sha256({outer} || unhex(sha256({inner} || {message}))), 1, {DIGITS})"


def _with_lengths(texts: Iterable[str]) -> str:
    """Return the SQL of several cells one after the other; their lengths keep them apart."""
    return ", ".join(f"length({text}), ':', {text}" for text in texts)


def members_sql(
    released: str, told: str, labels: Mapping[str, str], values: Mapping[str, str], has_people: bool = False
) -> str:
    """Return the SQL of who was released in which group: key, state, group, the group's labels, and values.

    Where a person may have several rows, the key is hers, ``row_key`` tells her rows apart, and rows that were not
    released are there as well, in the group ABSENT: they existed, so that no other row is taken for them.
    """
    groups = [f"g{position}" for position in range(len(labels))]
    cells = "".join(f", {text} AS {name}" for name, text in zip(groups, labels.values(), strict=True))
    own = "".join(f", {text} AS v{position}" for position, text in enumerate(values.values()))
    shown = "".join(
        f", nullif({name}, '') AS {quote(f'label.{column}')}" for name, column in zip(groups, labels, strict=True)
    ) + "".join(f", nullif(v{position}, '') AS {quote(f'value.{column}')}" for position, column in enumerate(values))
    order = ", ".join(groups)
    whose = f", {quote(PERSON)} AS person, {quote(ROW)} AS row_key" if has_people else ""
    told_rows = f"SELECT {quote(KEY)} AS key, {quote(STATE)} AS state{whose}{own} FROM {told}"
    if not has_people:
        return (
            f'SELECT key, state, dense_rank() OVER (ORDER BY {order}) - 1 AS "group"{shown} '
            f"FROM (SELECT {quote(KEY)} AS key{cells} FROM {released}) JOIN ({told_rows}) USING (key)"
        )
    return (
        f'SELECT person AS key, row_key, state, coalesce(g, {ABSENT}) AS "group"{shown} FROM ({told_rows}) LEFT JOIN '
        f"(SELECT *, dense_rank() OVER (ORDER BY {order}) - 1 AS g "
        f"FROM (SELECT {quote(KEY)} AS key{cells} FROM {released})) USING (key)"
    )


def _name_digest(texts: Sequence[str], secret: str) -> str:
    """Return the SQL of a digest of cells that name somebody; null where there is nothing in any of them."""
    empty = " AND ".join(f"{text} = ''" for text in texts)
    return f"CASE WHEN {empty} THEN NULL ELSE {_digest(texts, secret)} END"


def _digest(texts: Iterable[str], secret: str) -> str:
    """Return the SQL of a keyed digest of several cells; their lengths keep them apart."""
    return f"substr(sha256(concat({literal(secret)}, '|', {_with_lengths(texts)})), 1, {DIGITS})"


class Histories:
    """People by their keys, and the group of each at each release, from the files that ``write_members`` wrote.

    People who were in the same groups all along form a cell.
    """

    def __init__(self, members: Sequence[Path], *, memory_limit: str | None = None, threads: int | None = None) -> None:
        self._session = Session("the ledger", memory_limit, threads)
        self._members = list(members)
        self._groups = [f"g{position}" for position in range(len(members))]
        try:
            self._make_cells()
        except BaseException:
            self._session.close()
            raise

    def _make_cells(self) -> None:
        """Create the tables of cells and of people; a person is one row, whichever releases she is in."""
        groups = ", ".join(self._groups)
        each = " UNION ALL ".join(
            f'SELECT key::UUID AS key, {position} AS release, "group"::INTEGER AS g FROM {self._scan(position)}'
            for position in range(len(self._members))
        )
        pivoted = ", ".join(
            f"coalesce(max(g) FILTER (release = {position}), {ABSENT}) AS {name}"
            for position, name in enumerate(self._groups)
        )
        self._session.execute(f"CREATE TABLE histories AS SELECT key, {pivoted} FROM ({each}) GROUP BY key")
        self._session.execute(
            f"CREATE TABLE cells AS SELECT {groups}, count(*) AS size, row_number() OVER (ORDER BY {groups}) - 1 "
            f"AS cell FROM histories GROUP BY {groups}"
        )
        same = " AND ".join(f"h.{name} = c.{name}" for name in self._groups)
        self._session.execute(
            f"CREATE TABLE people AS SELECT h.*, c.cell FROM histories AS h JOIN cells AS c ON {same}"
        )
        self._session.execute("DROP TABLE histories")

    def _scan(self, release: int) -> str:
        return f"read_parquet({literal(str(self._members[release]))})"

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the groups of each cell, a row per cell and a column per release, and the sizes of the cells."""
        found = self._session.arrow(f"SELECT {', '.join(self._groups)}, size FROM cells ORDER BY cell")
        *groups, sizes = (numbers(column).astype(np.int64) for column in found.columns)
        return np.stack(groups, axis=1), sizes

    def people_in(self, is_chosen: NDArray[np.bool_]) -> int:
        """Return the number of people in some cells together; ``is_chosen`` has a truth for each cell."""
        return int(self.cells()[1][is_chosen].sum())

    def values_by_cell(self, release: int, column: str) -> ValueCounts:
        """Return how often each value that a release has in a column occurs in each cell."""
        found = self._session.arrow(
            f"SELECT p.cell, coalesce(m.{quote(f'value.{column}')}, '') AS text, count(*) AS size "
            f"FROM {self._scan(release)} AS m JOIN people AS p ON m.key::UUID = p.key "
            "GROUP BY ALL ORDER BY p.cell, text"
        )
        coded = found["text"].combine_chunks().dictionary_encode()
        texts = coded.dictionary.to_pylist() if len(found) else []
        return ValueCounts(
            numbers(found["cell"]).astype(np.int64),
            np.asarray(coded.indices, np.int64) if len(found) else np.zeros(0, np.int64),
            numbers(found["size"]).astype(np.int64),
            tuple(text or None for text in texts),
        )

    def signatures(self, release: int, column: str) -> tuple[list[str], NDArray[np.bool_]]:
        """Return the values that each group of a release has in a column, as JSON, and whether each is as frequent.

        The values of a group are listed once, in ascending order, a missing one as an empty text. Groups with the same
        values have the same JSON.
        """
        found = self._session.arrow(
            f"SELECT signature, is_even FROM ({self._signatures_sql(release, column)}) ORDER BY g"
        )
        return found["signature"].to_pylist(), np.array(found["is_even"].to_pylist(), np.bool_)

    def _signatures_sql(self, release: int, column: str) -> str:
        value = f"coalesce({quote(f'value.{column}')}, '')"
        counts = f'SELECT "group"::INTEGER AS g, {value} AS v, count(*) AS n FROM {self._scan(release)} GROUP BY ALL'
        return (
            "SELECT g, to_json(list(v ORDER BY v))::VARCHAR AS signature, min(n) = max(n) AS is_even "
            f"FROM ({counts}) GROUP BY g"
        )

    def write_signatures(self, path: Path, releases: Sequence[int], column: str) -> None:
        """Write, as the cell of each person, the values of her group in the last of some releases that she is in."""
        each = " UNION ALL ".join(
            f"SELECT p.key, {release} AS release, s.signature FROM people AS p "
            f"JOIN ({self._signatures_sql(release, column)}) AS s ON p.{self._groups[release]} = s.g"
            for release in releases
        )
        self._session.execute(
            f"COPY (SELECT replace(key::VARCHAR, '-', '') AS key, arg_max(signature, release) AS cell FROM ({each}) "
            f"GROUP BY key) TO {literal(str(path))} (FORMAT parquet)"
        )

    def write(self, path: Path, labels: Sequence[str] = ()) -> None:
        """Write the cell of each person, with her state and labels in the last release if she is in that."""
        last = len(self._members) - 1
        cells = "".join(f", m.{quote(f'label.{column}')}" for column in labels)
        self._session.execute(
            f"COPY (SELECT replace(p.key::VARCHAR, '-', '') AS key, p.cell, m.state{cells} FROM people AS p "
            f"LEFT JOIN {self._scan(last)} AS m ON p.key = m.key::UUID) "
            f"TO {literal(str(path))} (FORMAT parquet)"
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._session.close()

    def __enter__(self) -> Histories:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
