"""Failures of PostgreSQL as errors of ours, by the codes of the SQL standard: its own words may quote cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from indistinct.errors import IndistinctError, TableError

GONE = (
    "the server ended, or the connection to it was lost, in the middle; what was made for this run lay in temporary "
    "tables, which go with the session, at the latest when the server starts again; see that it runs, and try again"
)
REASONS = {
    "25006": "the server makes no temporary tables, as a standby does not; give a server that may be written to",
    "25P02": "the session ended with an error before; open the table again",
    "25P03": "the server ended the session for being idle; raise idle_in_transaction_session_timeout for this user",
    "28000": "the server does not let this user in; see the user name and pg_hba.conf",
    "28P01": "the server refuses the password; give it in PGPASSWORD, a password file or a service file",
    "3D000": "the server has no such database; see the address",
    "2BP01": "a view or another table stands on the table that is there; drop that first, or name another table",
    "3F000": "the database has no such schema; name one that is there",
    "40001": "the table changed while it was read; try again when nothing writes to it",
    "42501": "the user may not do that: reading the table takes SELECT on it, without row-level security that would "
    "hide rows, and work takes TEMPORARY on the database; a release on the server takes CREATE on its schema",
    "42602": "the address does not name a table as SQL does; say table=schema.name",
    "42P01": "no such table, or it was dropped meanwhile; see the address",
    "42P07": "a table of this name is there already; name another one, or say replace",
    "53100": "the disk of the server is full; free space there: labels and released rows take about as much as the "
    "columns that are released",
    "53200": "the server is out of memory; lower its work_mem, or give it more",
    "53300": "the server has no connection left; try again later",
    "53400": "a limit of the server was reached, such as temp_file_limit; raise it for this user",
    "54000": "a row of the release would be longer than the server's pages; drop some columns of long cells",
    "54011": "the release would have more columns than a table may have, which are 1,600 at most; drop some",
    "55P03": "somebody else keeps the table locked; try again later",
    "57014": "the server cancelled the statement, by statement_timeout or by hand; raise the timeout for this user",
}
"""What went wrong, and what to do."""
LOST = ("08", "57P", "58", "XX")
"""How the codes begin of a connection, a server or a disk that failed."""


@contextmanager
def postgres_errors(name: str, connection: Any = None) -> Iterator[None]:
    """Raise errors of the server as a TableError that says what went wrong, without a cell."""
    import psycopg

    try:
        yield
    except IndistinctError:
        raise
    except psycopg.Error as error:
        is_lost = connection is not None and connection.closed
        raise TableError(f"{name}: {explain(error.sqlstate, is_lost=is_lost)}") from None


def explain(code: str | None, *, is_lost: bool = False) -> str:
    """Return what went wrong and what to do, by the code of an error.

    >>> explain("53100")[:30]
    'the disk of the server is full'
    """
    if code in REASONS:
        return REASONS[code]
    if is_lost or code is None or code.startswith(LOST):
        return GONE
    return f"PostgreSQL cannot read or compute it (error {code}); the server's own log says more"


def explain_refusal(error: Exception, password: str) -> str:
    """Return why no connection came about; libpq's words say nothing of tables, but must not say a password."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = lines[-1].strip()
    for code, said in (("28P01", "password"), ("3D000", "does not exist"), ("53300", "too many")):
        if said in reason and "role" not in reason:
            return REASONS[code]
    if password and password in reason:
        reason = type(error).__name__
    return f"the server cannot be reached ({reason}); see the address, and that the server runs"
