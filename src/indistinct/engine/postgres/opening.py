"""Tables of a PostgreSQL server, found by their address."""

from __future__ import annotations

from indistinct.engine.address import read_address
from indistinct.engine.postgres.dialect import POSTGRES
from indistinct.engine.postgres.session import PostgresSession, forms_of
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.session import relation_of_columns
from indistinct.errors import TableError

FIND = (
    "SELECT nspname, relname, relkind::text, pg_catalog.row_security_active(c.oid), "
    "pg_catalog.obj_description(c.oid, 'pg_class') "
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE c.oid = pg_catalog.to_regclass(%s)"
)
READABLE = ("r", "p", "v", "m", "f")
"""Tables, also parted ones, views, also materialized ones, and tables of other servers."""


def open_in_postgres(address: str) -> DatabaseRows:
    """Return the rows of a table or view of a server, which stay there."""
    found = read_address(address)
    session = PostgresSession(found, found.table)
    try:
        relation, remark = _find_table(session, found.table)
        session.begin()
        columns = [column.name for column in session.describe(relation)]
        rows = DatabaseRows(session, relation_of_columns(POSTGRES, relation, columns), columns)
        rows.remark = remark
        return rows
    except BaseException:
        session.close()
        raise


def _find_table(session: PostgresSession, table: str) -> tuple[str, str | None]:
    """Return a table with its schema as SQL, and what is said of it.

    A name as it is written counts where SQL's way of reading it finds none. The schema is looked for before the path is
    pinned: the user's own path says where.
    """
    for form in forms_of(table):
        with_answer = session.fetch(FIND, form)
        if not with_answer:
            continue
        schema, name, kind, hides_rows, remark = with_answer[0]
        if kind not in READABLE:
            break
        if hides_rows:
            raise TableError(
                f"{table}: row-level security hides rows of it from this user, so what is counted could be another "
                "table than others see; read it as its owner, or as a user with BYPASSRLS"
            )
        return f"{POSTGRES.quote(schema)}.{POSTGRES.quote(name)}", remark
    raise TableError(f"{table}: the database has no such table or view that this user can see; see the address")
