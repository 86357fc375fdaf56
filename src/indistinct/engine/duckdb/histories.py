"""People over releases: how they are recognised, by digests of what names them, and in which groups they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.engine.arrays import numbers
from indistinct.engine.duckdb.dialect import DUCKDB, literal, quote
from indistinct.engine.duckdb.session import Session
from indistinct.engine.plans import (
    HISTORY,
    KEY,
    PARENT,
    PERSON,
    ROW,
    STATE,
    PlacedRows,
    Recognition,
    TableMembers,
    ValueCounts,
)
from indistinct.engine.sql.digests import keyed_digest, name_digest
from indistinct.errors import TableError

ABSENT = -1
"""The group of somebody whom a release does not contain."""


def recognise_sql(relation: str, texts: Mapping[str, str], how: Recognition) -> str:
    """Return the SQL of a table's rows with the key, the state and the history of each.

    ``texts`` gives the SQL of each column's cells as text.
    """
    for column in (*how.key, *how.state, *how.person, *how.row):
        if column not in texts:
            raise TableError(f"no column {column!r}, by which people should be recognised")
    names = [texts[column] for column in how.key]
    if how.numbered:
        names.append(f"(row_number() OVER (PARTITION BY {', '.join(names)}))::VARCHAR")
    key = name_digest(DUCKDB, names, how.secret)
    whose = ""
    if how.person:
        key = "(row_number() OVER ())::VARCHAR"  # it only finds a released row in the table again
        person = name_digest(DUCKDB, [texts[column] for column in how.person], how.secret)
        whose = f", {person} AS {quote(PERSON)}, {_row_digest(texts, how.row, how.table, how.secret)} AS {quote(ROW)}"
    if how.parent:
        whose += f", {_row_digest(texts, how.parent, how.above, how.secret)} AS {quote(PARENT)}"
    state = keyed_digest(DUCKDB, [texts[column] for column in how.state], how.secret)
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


def _row_digest(texts: Mapping[str, str], columns: Sequence[str], table: str, secret: str) -> str:
    """Return the SQL of what tells a row apart: of one of several tables also which of them it is in."""
    told = [texts[column] for column in columns]
    return keyed_digest(DUCKDB, [literal(table), *told] if table else told, secret)


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


def members_sql(
    released: str, told: str, labels: Mapping[str, str], values: Mapping[str, str], whose: Sequence[str] = ()
) -> str:
    """Return the SQL of who was released in which group: key, state, group, the group's labels, and values.

    Where a person may have several rows, ``whose`` has the columns that tell it: the key is hers, ``row_key`` tells her
    rows apart, ``parent`` the row of another table that it belongs to, and rows that were not released are there as
    well, in the group ABSENT: they existed, so that no other row is taken for them.
    """
    groups = [f"g{position}" for position in range(len(labels))]
    cells = "".join(f", {text} AS {name}" for name, text in zip(groups, labels.values(), strict=True))
    own = "".join(f", {text} AS v{position}" for position, text in enumerate(values.values()))
    shown = "".join(
        f", nullif({name}, '') AS {quote(f'label.{column}')}" for name, column in zip(groups, labels, strict=True)
    ) + "".join(f", nullif(v{position}, '') AS {quote(f'value.{column}')}" for position, column in enumerate(values))
    order = ", ".join(groups) or "1"  # a table without quasi columns is one group
    names = {PERSON: "person", ROW: "row_key", PARENT: "parent"}
    told_by = "".join(f", {quote(column)} AS {names[column]}" for column in whose)
    told_rows = f"SELECT {quote(KEY)} AS key, {quote(STATE)} AS state{told_by}{own} FROM {told}"
    if not whose:
        return (
            f'SELECT key, state, dense_rank() OVER (ORDER BY {order}) - 1 AS "group"{shown} '
            f"FROM (SELECT {quote(KEY)} AS key{cells} FROM {released}) JOIN ({told_rows}) USING (key)"
        )
    return (
        f"SELECT person AS key, row_key, {'parent, ' if PARENT in whose else ''}state, "
        f'coalesce(g, {ABSENT}) AS "group"{shown} FROM ({told_rows}) LEFT JOIN '
        f"(SELECT *, dense_rank() OVER (ORDER BY {order}) - 1 AS g "
        f"FROM (SELECT {quote(KEY)} AS key{cells} FROM {released})) USING (key)"
    )


def join_members(tables: Sequence[TableMembers], path: Path) -> None:
    """Write who was released in which group of several tables, those that others belong to first, as one file.

    Beside what the file of one table has, each row says in which table it is (``tab``), how many rows it stands below
    (``depth``) and whether its name is its own (``named``). No group is in two tables; values of other tables are null.
    """
    names = [f"{table.name}.{column}" for table in tables for column in table.values]
    depths: dict[str, int] = {}
    parts = []
    with closing(Session("the ledger", None, None)) as session:
        for number, table in enumerate(tables):
            depths[table.name] = 0 if table.above is None else depths[table.above] + 1
            own = {f"{table.name}.{column}": f"coalesce({quote(f'value.{column}')}, '')" for column in table.values}
            values = "".join(f", {own.get(name, 'NULL::VARCHAR')} AS {quote(f'value.{name}')}" for name in names)
            scan = f"read_parquet({literal(str(table.path))}) AS m"
            if not table.has_people:
                scan += (
                    f" JOIN (SELECT row_key, key AS whose FROM {quote(str(table.above))}) AS a ON m.parent = a.row_key"
                )
            session.execute(
                f"CREATE TABLE {quote(table.name)} AS SELECT {'key' if table.has_people else 'whose AS key'}, "
                f"m.row_key, {'NULL::VARCHAR' if table.above is None else 'parent'} AS parent, {number} AS tab, "
                f"{depths[table.name]} AS depth, {str(table.named).lower()} AS named, "
                f'CASE WHEN "group" = {ABSENT} THEN {ABSENT} ELSE "group" * {len(tables)} + {number} END AS "group"'
                f"{values} FROM {scan}"
            )
            parts.append(f"SELECT * FROM {quote(table.name)}")
        session.execute(
            f"COPY ({' UNION ALL '.join(parts)}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        )


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

    def cells(self) -> tuple[IntArray, IntArray]:
        """Return the groups of each cell, a row per cell and a column per release, and the sizes of the cells."""
        found = self._session.arrow(f"SELECT {', '.join(self._groups)}, size FROM cells ORDER BY cell")
        *groups, sizes = (numbers(column).astype(np.int64) for column in found.columns)
        return np.stack(groups, axis=1), sizes

    def people_in(self, is_chosen: BoolArray) -> int:
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

    def signatures(self, release: int, column: str) -> tuple[list[str], BoolArray]:
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


class RowHistories(Histories):
    """The rows of people, and the group of each at each release; rows that were in the same groups form a cell.

    ``links`` has a number for each release whose pseudonyms link the rows of a person, the same for releases with the
    same pseudonyms. Rows that are linked, in one release or by turns over several, are a bundle, and bundles whose rows
    were in the same groups form a cell. With ``has_trees`` rows are of several tables, and those of a cell also belong
    to each other in the same way.

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
        has_trees: bool = False,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._tells_rows = list(tells_rows)
        self._names_rows = names_rows
        self._links = list(links or [None] * len(members))
        self._has_trees = has_trees
        super().__init__(members, memory_limit=memory_limit, threads=threads)

    def _make_cells(self) -> None:
        """Create the tables of cells and of rows; a row of the private table is one, whichever releases it is in."""
        of_one = f"NULL::UUID AS parent, 0 AS tab, 0 AS depth, {str(self._names_rows).lower()} AS named"
        belongs = "parent::UUID AS parent, tab, depth, named" if self._has_trees else of_one
        each = " UNION ALL ".join(
            f"SELECT key::UUID AS key, {'row_key::UUID' if tells else 'NULL::UUID'} AS row_key, {position} AS release, "
            f'"group"::INTEGER AS g, {belongs} FROM {self._scan(position)}'
            for position, tells in enumerate(self._tells_rows)
        )
        self._session.execute(f"CREATE TABLE placed AS {each}")
        if not self._has_trees and not self._names_rows and self._most_rows() <= 1:
            self._session.execute("UPDATE placed SET row_key = NULL")
        pivoted = ", ".join(
            f"coalesce(max(g) FILTER (release = {position}), {ABSENT}) AS {name}, "
            f"count(*) FILTER (release = {position}) > 0 AS is_in_{name}"
            for position, name in enumerate(self._groups)
        )
        self._session.execute(
            f"CREATE TABLE threads AS SELECT key, row_key, {pivoted}, min(parent) AS parent, min(tab) AS tab, "
            "min(depth) AS depth, bool_and(named) AS named, row_number() OVER () AS bundle "
            "FROM (SELECT *, row_number() OVER (PARTITION BY key, row_key, release ORDER BY g DESC) AS number "
            "FROM placed) GROUP BY key, row_key, number"
        )
        self._link_rows()
        self._describe_rows()
        highest = ", ".join(f"max({name}) AS {name}" for name in self._groups)
        self._session.execute(
            f"CREATE TABLE bundles AS SELECT key, bundle, {highest}, "
            "string_agg(own, ';' ORDER BY own) FILTER (depth = 0) AS profile "
            f"FROM threads WHERE {self._is_released} GROUP BY key, bundle"
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

    @property
    def _is_released(self) -> str:
        """The SQL of whether a row was released at all."""
        return " OR ".join(f"{name} <> {ABSENT}" for name in self._groups)

    def _describe_rows(self) -> None:
        """Say of each row, as ``own``, in which groups it was, and the same of the rows that belong to it."""
        own = f"concat_ws(',', {', '.join(self._groups)})"
        self._session.execute(f"CREATE OR REPLACE TABLE threads AS SELECT *, {own} AS own FROM threads")
        deepest = int(self._session.fetch("SELECT coalesce(max(depth), 0) FROM threads")[0][0])
        for depth in range(deepest, 0, -1):
            below = (
                "SELECT key, parent, '[' || string_agg(own, ';' ORDER BY own) || ']' AS below FROM threads "
                f"WHERE depth = {depth} AND ({self._is_released}) GROUP BY key, parent"
            )
            self._session.execute(
                "CREATE OR REPLACE TABLE threads AS SELECT t.* REPLACE (t.own || coalesce(b.below, '') AS own) "
                f"FROM threads AS t LEFT JOIN ({below}) AS b ON t.key = b.key AND t.row_key = b.parent"
            )

    def _most_rows(self) -> int:
        """Return the most rows that anybody has in a release."""
        found = self._session.fetch("SELECT max(n) FROM (SELECT count(*) AS n FROM placed GROUP BY key, release)")
        return int(found[0][0] or 0)

    def people_in(self, is_chosen: BoolArray) -> int:
        """Return the number of people in some cells together, each once."""
        return len(self.persons_in(is_chosen))

    def persons_in(self, is_chosen: BoolArray) -> IntArray:
        """Return the numbers of the people in some cells; ``is_chosen`` has a truth for each cell."""
        persons, cells = self._places
        return np.unique(persons[is_chosen[cells]])

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The number of each person, with the number of each cell that she is in."""
        found = self._session.arrow("SELECT DISTINCT person, cell FROM people")
        return numbers(found["person"]).astype(np.int64), numbers(found["cell"]).astype(np.int64)

    def unrecognised_people(self) -> IntArray:
        """Return the numbers of people of whom it is not certain which of their rows became which.

        Those are people with two rows of which neither is in a release that has the other, since the one may have
        become the other; people with equal rows that went to several groups of a release; and those of whom a row went
        from one row of another table to another one.
        """
        apart = " AND ".join(f"NOT (a.is_in_{name} AND b.is_in_{name})" for name in self._groups)
        present = ", ".join(f"is_in_{name}" for name in self._groups)
        patterns = f"(SELECT DISTINCT key, tab, {present} FROM people WHERE NOT named)"
        may_be_one = f"SELECT a.key FROM {patterns} AS a JOIN {patterns} AS b USING (key, tab) WHERE {apart}"
        moved = "SELECT key FROM placed GROUP BY key, row_key HAVING min(parent) <> max(parent)"
        scattered = (
            "SELECT key FROM (SELECT key, row_key, release, count(DISTINCT g) AS n FROM placed GROUP BY ALL) "
            "GROUP BY key, row_key HAVING max(n) > 1 AND count(*) > 1"
        )
        found = self._session.arrow(
            f"SELECT DISTINCT person FROM people WHERE key IN ({may_be_one}) OR key IN ({scattered}) "
            f"OR key IN ({moved}) ORDER BY person"
        )
        return numbers(found["person"]).astype(np.int64)

    def rows_in(self, release: int, columns: Sequence[str]) -> PlacedRows:
        """Return the rows of a release: whose each is, the cell that it is in, and its values in some columns.

        A value below 0 is none: the row is of a table that has no such column.
        """
        cells = [f"m.{quote(f'value.{column}')}" for column in columns]
        given = cells if self._has_trees else [f"coalesce({cell}, '')" for cell in cells]
        values = "".join(f", {cell} AS v{position}" for position, cell in enumerate(given))
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
            {column: np.asarray(codes.indices.fill_null(-1), np.int64) for column, codes in coded.items()},
            {column: tuple(text or None for text in codes.dictionary.to_pylist()) for column, codes in coded.items()},
        )
