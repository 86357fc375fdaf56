"""A ledger in PostgreSQL for the faults campaign: a server of its own, and a database for each case.

Commands name the ledger as ``postgresql://``; which database that is, they take from the variables of libpq. A case
begins with a copy of the database that the template was made with: one entry. They share the folder of files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from campaigns import fault_server

if TYPE_CHECKING:
    from helpers.postgres import Server

TESTS = Path(__file__).resolve().parent.parent / "tests"
URL = "postgresql://"
LEDGER = ["--ledger", URL]
TERMS = ["--recipient", "R", "--again", "consistent", "--key", "name"]
BASE = "base"
"""The database of the template."""


@contextmanager
def server() -> Iterator[Server]:
    """Run a server until the block ends; forks find it, and its database, by their environment."""
    sys.path.insert(0, str(TESTS))
    from helpers import postgres

    before = dict(os.environ)
    with postgres.server() as running:
        parts = urlsplit(running.url)
        os.environ |= {"PGHOST": str(parts.hostname), "PGPORT": str(parts.port), "PGUSER": str(parts.username)}
        os.environ["PGDATABASE"] = "postgres"
        begin(BASE, "template1")
        try:
            yield running
        finally:
            os.environ.clear()
            os.environ |= before


def begin(name: str, template: str = BASE) -> None:
    """Make a database like another one, and let commands that start from now on use it."""
    _execute("postgres", f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    os.environ["PGDATABASE"] = name


def entries() -> int:
    """Count the entries of the ledger by SQL of our own, when the server has noticed that its writer is gone."""
    import psycopg

    with psycopg.connect(dbname=os.environ["PGDATABASE"], autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM indistinct_entries").fetchone()
    return 0 if row is None else int(row[0])


def wrong_store(place: Path) -> list[str]:
    """Find what is wrong with the ledger and its files after the next run, by a command."""
    ended = fault_server.run(["ledger", "verify", *LEDGER], place)
    return [f"ledger verify left with {ended.code}: {ended.said[-300:]}"] if ended.code else []


def _execute(database: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(dbname=database, autocommit=True) as connection:
        connection.execute(statement.encode())
