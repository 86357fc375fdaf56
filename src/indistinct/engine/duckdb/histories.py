"""Histories: in which group each person was at each of several releases, and how many people share a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indistinct.engine.arrays import numbers
from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.plans import ValueCounts

ABSENT = -1
"""The group of somebody whom a release does not contain."""


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
