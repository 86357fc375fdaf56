"""Released rows as tables of the server: made and recounted in one transaction, which nobody sees before it commits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indistinct.engine.address import is_address, read_address
from indistinct.engine.postgres.dialect import POSTGRES
from indistinct.engine.postgres.names import MOST_BYTES, name_of, relation_of_columns
from indistinct.engine.postgres.rows import PostgresRows
from indistinct.engine.postgres.session import PostgresSession
from indistinct.errors import OutputError, TableError

if TYPE_CHECKING:
    from indistinct.engine.rows import Rows

FIND = (
    "SELECT relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE nspname = %s AND relname = %s"
)


@dataclass(frozen=True, slots=True)
class PlaceOnServer:
    """Where a table is to stand."""

    schema: str
    table: str

    @property
    def sql(self) -> str:
        """The place as SQL."""
        return f"{POSTGRES.quote(self.schema)}.{POSTGRES.quote(self.table)}"

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def place_beside(rows: Rows, asked: str) -> tuple[PostgresRows, PlaceOnServer]:
    """Return rows of a server and the place there that is asked for, by ``schema.name`` or by an address."""
    if not isinstance(rows, PostgresRows):
        raise OutputError("only a release whose rows are on a server is written to a table there; name a folder")
    session, table = rows.source.session, asked
    if is_address(asked):
        goal = read_address(asked)
        if goal.database != session.address.database:
            raise OutputError("a release is written to the database where its rows are; give the same address")
        table = goal.table
    parts = name_of(session, table)
    if len(parts) != 2:
        raise OutputError(f"{table}: name the table of the release with its schema: schema.name")
    return rows, PlaceOnServer(*parts)


def publish(
    parts: Mapping[str, PostgresRows],
    places: Mapping[str, PlaceOnServer],
    *,
    recount: Callable[[Mapping[str, Rows]], str],
    may_go: Callable[[str | None], bool],
) -> dict[str, PostgresRows]:
    """Make the tables of a release, and return their rows; either all of them stand there, recounted, or none.

    ``recount`` gets the rows as they were written, and returns what is said of them, or raises. ``may_go`` says whether
    a table may be replaced, by what is said of that one.
    """
    session = next(iter(parts.values())).source.session
    session.execute("SAVEPOINT publishing")
    try:
        for place in places.values():
            _refuse_taken(session, place, may_go)
        staged = {name: _stage(rows, places[name]) for name, rows in parts.items()}
        said = recount({name: rows for name, (_, rows) in staged.items()})
        for name, (stage, rows) in staged.items():
            rows.close()
            session.execute(f"COMMENT ON TABLE {stage} IS {POSTGRES.text(said)}")
            session.execute(f"DROP TABLE IF EXISTS {places[name].sql}")
            session.execute(f"ALTER TABLE {stage} RENAME TO {POSTGRES.quote(places[name].table)}")
    except BaseException as error:
        if not session.connection.closed:
            session.execute("ROLLBACK TO SAVEPOINT publishing")
        if isinstance(error, TableError):
            raise OutputError(f"{error}; nothing was written") from None
        raise
    try:
        session.commit()
    except TableError as error:
        listed = ", ".join(map(str, places.values()))
        raise OutputError(f"{error}; see whether {listed} is there: if it is, it is whole") from None
    return {
        name: PostgresRows(session, relation_of_columns(place.sql, parts[name].columns()), parts[name].columns())
        for name, place in places.items()
    }


def _stage(rows: PostgresRows, place: PlaceOnServer) -> tuple[str, PostgresRows]:
    """Make a table beside the goal, and return its name and its rows; they stand in the order that was drawn."""
    columns, source = rows.columns(), rows.source
    if any(len(name.encode()) > MOST_BYTES for name in (*columns, place.table)):
        raise OutputError(f"PostgreSQL cuts off names after {MOST_BYTES} bytes; give shorter ones, such as by rename")
    stage = PlaceOnServer(place.schema, f"indistinct_{secrets.token_hex(8)}").sql
    cells = ", ".join(f"{source.cell(column).own} AS {POSTGRES.quote(column)}" for column in columns)
    source.session.execute(f"CREATE TABLE {stage} AS SELECT {cells} FROM {source.relation}")
    return stage, PostgresRows(source.session, relation_of_columns(stage, columns), columns)


def _refuse_taken(session: PostgresSession, place: PlaceOnServer, may_go: Callable[[str | None], bool]) -> None:
    """Raise if something is there that must stay."""
    for kind, said in session.fetch(FIND, place.schema, place.table):
        if kind != "r" or not may_go(said):
            raise OutputError(
                f"{place} is there already; name another table, or, where it is an earlier release, say replace "
                "(--replace)"
            )
