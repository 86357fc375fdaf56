"""Released rows as tables of a database: made and recounted in one transaction, which nobody sees before it commits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from indistinct.engine.address import is_address, read_address
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.session import DatabaseSession, Place, relation_of_columns
from indistinct.errors import OutputError, TableError

if TYPE_CHECKING:
    from indistinct.engine.rows import Rows


def place_beside(rows: Rows, asked: str) -> tuple[DatabaseRows, Place]:
    """Return rows of a server and the place there that is asked for, by ``schema.name`` or by an address."""
    if not isinstance(rows, DatabaseRows):
        raise OutputError("only a release whose rows are on a server is written to a table there; name a folder")
    session, table = rows.source.session, asked
    if is_address(asked):
        goal = read_address(asked)
        if goal.database != session.address.database:
            raise OutputError("a release is written to the database where its rows are; give the same address")
        table = goal.table
    place = session.place_of(table)
    if place is None:
        raise OutputError(f"{table}: name the table of the release with its schema: schema.name")
    return rows, place


def publish(
    parts: Mapping[str, DatabaseRows],
    places: Mapping[str, Place],
    *,
    recount: Callable[[Mapping[str, Rows]], str],
    may_go: Callable[[str | None], bool],
) -> dict[str, DatabaseRows]:
    """Make the tables of a release, and return their rows; either all of them stand there, recounted, or none.

    ``recount`` gets the rows as they were written, and returns what is said of them, or raises. ``may_go`` says whether
    a table may be replaced, by what is said of that one.
    """
    session = next(iter(parts.values())).source.session
    if len(parts) > 1 and not session.names_several:
        raise OutputError("the database cannot give two tables their names at once; write to a folder")
    stages = {name: Place(place.schema, f"indistinct_{secrets.token_hex(8)}") for name, place in places.items()}
    staged: dict[str, DatabaseRows] = {}
    session.begin_release()
    try:
        for place in places.values():
            _refuse_taken(session, place, may_go)
        for name, rows in parts.items():
            staged[name] = _stage(rows, stages[name], places[name])
        said = recount(staged)
        for name, rows in staged.items():
            rows.close()
            session.remark(stages[name], said)
            session.name_release(stages[name], places[name])
    except BaseException as error:
        for rows in staged.values():
            rows.close()
        session.undo_release(list(stages.values()))
        if isinstance(error, TableError):
            raise OutputError(f"{error}; nothing was written") from None
        raise
    try:
        session.commit()
    except TableError as error:
        listed = ", ".join(map(str, places.values()))
        raise OutputError(f"{error}; see whether {listed} is there: if it is, it is whole") from None
    tables = {name: session.place_sql(place) for name, place in places.items()}
    published = {name: _rows_of(session, table, parts[name].columns()) for name, table in tables.items()}
    for rows in parts.values():
        rows.close()
    return published


def _rows_of(session: DatabaseSession, table: str, columns: tuple[str, ...]) -> DatabaseRows:
    return DatabaseRows(session, relation_of_columns(session.dialect, table, columns), columns)


def _stage(rows: DatabaseRows, stage: Place, place: Place) -> DatabaseRows:
    """Make a table beside the goal, and return its rows; they stand in the order that was drawn."""
    columns, source, session = rows.columns(), rows.source, rows.source.session
    most = session.most_bytes
    if most is not None and any(len(name.encode()) > most for name in (*columns, place.table)):
        raise OutputError(f"the database cuts off names after {most} bytes; give shorter ones, such as by rename")
    cells = ", ".join(f"{source.cell(column).own} AS {session.dialect.quote(column)}" for column in columns)
    session.execute(f"CREATE TABLE {session.place_sql(stage)} AS SELECT {cells} FROM {source.relation}")
    return _rows_of(session, session.place_sql(stage), columns)


def _refuse_taken(session: DatabaseSession, place: Place, may_go: Callable[[str | None], bool]) -> None:
    """Raise if something is there that must stay."""
    found = session.there(place)
    if found is not None and not (found[0] and may_go(found[1])):
        raise OutputError(
            f"{place} is there already; name another table, or, where it is an earlier release, say replace (--replace)"
        )
