"""Histories of people with several rows: each row is followed from release to release, cells are counted in people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indistinct.engine.arrays import numbers
from indistinct.engine.duckdb.people import ABSENT, Histories
from indistinct.engine.duckdb.session import quote
from indistinct.engine.plans import PlacedRows


class RowHistories(Histories):
    """The rows of people, and the group of each at each release; rows that were in the same groups form a cell.

    A row is recognised by the person and by what tells her rows apart. ``tells_rows`` says which of the files have
    that; in the others everybody has one row. With ``names_rows`` it is a name that a row keeps. Without, it is the
    whole row, so that one which changed is not recognised: ``unrecognised_people`` gives those of whom nobody can tell
    which row became which. Where nobody has several rows in any release, her row is always the same.
    """

    def __init__(
        self,
        members: Sequence[Path],
        tells_rows: Sequence[bool],
        names_rows: bool,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._tells_rows = list(tells_rows)
        self._names_rows = names_rows
        super().__init__(members, memory_limit=memory_limit, threads=threads)

    def _make_cells(self) -> None:
        """Create the tables of cells and of rows; a row of the private table is one, whichever releases it is in."""
        groups = ", ".join(self._groups)
        each = " UNION ALL ".join(
            f"SELECT key::UUID AS key, {'row_key::UUID' if tells else 'NULL::UUID'} AS row_key, {position} AS release, "
            f'"group"::INTEGER AS g FROM {self._scan(position)}'
            for position, tells in enumerate(self._tells_rows)
        )
        self._session.execute(f"CREATE TABLE placed AS {each}")
        if not self._names_rows and self._most_rows() <= 1:
            self._session.execute("UPDATE placed SET row_key = NULL")
        pivoted = ", ".join(
            f"coalesce(max(g) FILTER (release = {position}), {ABSENT}) AS {name}, "
            f"count(*) FILTER (release = {position}) > 0 AS is_in_{name}"
            for position, name in enumerate(self._groups)
        )
        self._session.execute(
            f"CREATE TABLE threads AS SELECT key, row_key, {pivoted} FROM (SELECT *, row_number() OVER "
            "(PARTITION BY key, row_key, release ORDER BY g DESC) AS number FROM placed) GROUP BY key, row_key, number"
        )
        is_released = " OR ".join(f"{name} <> {ABSENT}" for name in self._groups)
        self._session.execute(
            f"CREATE TABLE cells AS SELECT {groups}, count(DISTINCT key) AS size, row_number() OVER "
            f"(ORDER BY {groups}) - 1 AS cell FROM threads WHERE {is_released} GROUP BY {groups}"
        )
        same = " AND ".join(f"t.{name} = c.{name}" for name in self._groups)
        self._session.execute(
            f"CREATE TABLE people AS SELECT t.*, c.cell, dense_rank() OVER (ORDER BY key) - 1 AS person "
            f"FROM threads AS t JOIN cells AS c ON {same}"
        )

    def _most_rows(self) -> int:
        """Return the most rows that anybody has in a release."""
        found = self._session.fetch("SELECT max(n) FROM (SELECT count(*) AS n FROM placed GROUP BY key, release)")
        return int(found[0][0] or 0)

    def people_in(self, is_chosen: NDArray[np.bool_]) -> int:
        """Return the number of people in some cells together, each once."""
        return len(self.persons_in(is_chosen))

    def persons_in(self, is_chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the numbers of the people in some cells; ``is_chosen`` has a truth for each cell."""
        persons, cells = self._places
        return np.unique(persons[is_chosen[cells]])

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of each person, with the number of each cell that she is in."""
        found = self._session.arrow("SELECT DISTINCT person, cell FROM people")
        return numbers(found["person"]).astype(np.int64), numbers(found["cell"]).astype(np.int64)

    def unrecognised_people(self) -> NDArray[np.int64]:
        """Return the numbers of people of whom it is not certain which of their rows became which.

        Those are people with two rows of which neither is in a release that has the other, since the one may have
        become the other; and people with equal rows that went to several groups of a release.
        """
        if self._names_rows:
            return np.zeros(0, np.int64)
        apart = " AND ".join(f"NOT (a.is_in_{name} AND b.is_in_{name})" for name in self._groups)
        present = ", ".join(f"is_in_{name}" for name in self._groups)
        patterns = f"(SELECT DISTINCT key, {present} FROM people)"
        may_be_one = f"SELECT a.key FROM {patterns} AS a JOIN {patterns} AS b ON a.key = b.key WHERE {apart}"
        scattered = (
            "SELECT key FROM (SELECT key, row_key, release, count(DISTINCT g) AS n FROM placed GROUP BY ALL) "
            "GROUP BY key, row_key HAVING max(n) > 1 AND count(*) > 1"
        )
        found = self._session.arrow(
            f"SELECT DISTINCT person FROM people WHERE key IN ({may_be_one}) OR key IN ({scattered}) ORDER BY person"
        )
        return numbers(found["person"]).astype(np.int64)

    def rows_in(self, release: int, columns: Sequence[str]) -> PlacedRows:
        """Return the rows of a release: whose each is, the cell that it is in, and its values in some columns."""
        values = "".join(
            f", coalesce(m.{quote(f'value.{column}')}, '') AS v{position}" for position, column in enumerate(columns)
        )
        own = "m.row_key::UUID" if self._tells_rows[release] else "NULL::UUID"
        found = self._session.arrow(
            f"SELECT DISTINCT p.person, p.cell{values} FROM {self._scan(release)} AS m JOIN people AS p "
            f'ON m.key::UUID = p.key AND p.{self._groups[release]} = m."group" '
            f"AND (p.row_key IS NULL OR p.row_key = {own}) WHERE p.{self._groups[release]} <> {ABSENT} ORDER BY ALL"
        )
        coded = {
            column: found[f"v{position}"].combine_chunks().dictionary_encode()
            for position, column in enumerate(columns)
        }
        return PlacedRows(
            numbers(found["person"]).astype(np.int64),
            numbers(found["cell"]).astype(np.int64),
            {column: np.asarray(codes.indices, np.int64) for column, codes in coded.items()},
            {column: tuple(text or None for text in codes.dictionary.to_pylist()) for column, codes in coded.items()},
        )
