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

    ``links`` has a number for each release whose pseudonyms link the rows of a person, the same for releases with the
    same pseudonyms. Rows that are linked, in one release or by turns over several, are a bundle, and bundles whose rows
    were in the same groups form a cell.

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
        links: Sequence[int | None] | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._tells_rows = list(tells_rows)
        self._names_rows = names_rows
        self._links = list(links or [None] * len(members))
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
            f"CREATE TABLE threads AS SELECT key, row_key, {pivoted}, row_number() OVER () AS bundle "
            "FROM (SELECT *, row_number() OVER (PARTITION BY key, row_key, release ORDER BY g DESC) AS number "
            "FROM placed) GROUP BY key, row_key, number"
        )
        self._link_rows()
        highest = ", ".join(f"max({name}) AS {name}" for name in self._groups)
        own = f"concat_ws(',', {groups})"
        is_released = " OR ".join(f"{name} <> {ABSENT}" for name in self._groups)
        self._session.execute(
            f"CREATE TABLE bundles AS SELECT key, bundle, {highest}, string_agg({own}, ';' ORDER BY {own}) AS profile "
            f"FROM threads WHERE {is_released} GROUP BY key, bundle"
        )
        self._session.execute(
            f"CREATE TABLE cells AS SELECT {highest}, count(DISTINCT key) AS size, profile, row_number() OVER "
            f"(ORDER BY profile) - 1 AS cell FROM bundles GROUP BY profile"
        )
        self._session.execute(
            "CREATE TABLE people AS SELECT t.*, c.cell, dense_rank() OVER (ORDER BY key) - 1 AS person "
            "FROM threads AS t JOIN bundles AS b USING (key, bundle) JOIN cells AS c USING (profile)"
        )

    def _link_rows(self) -> None:
        """Say in the table of rows which of a person's are bundled: those that pseudonyms link, directly or in turn.

        A row starts as a bundle of its own. Under each key all rows of a person that were released with it become one
        bundle, and so do bundles that share a row, until nothing changes.
        """
        released = {
            key: " OR ".join(
                f"{name} <> {ABSENT}" for name, own in zip(self._groups, self._links, strict=True) if own == key
            )
            for key in dict.fromkeys(self._links)
            if key is not None
        }
        before = None
        while before != (before := self._session.fetch("SELECT sum(bundle) FROM threads")[0][0]):
            for is_linked in released.values():
                joined = f"min(bundle) OVER (PARTITION BY key, {is_linked})"
                self._session.execute(
                    "CREATE OR REPLACE TABLE threads AS SELECT * "
                    f"REPLACE (CASE WHEN {is_linked} THEN {joined} ELSE bundle END AS bundle) FROM threads"
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
