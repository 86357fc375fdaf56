"""run_own_query(): a query of the user's own, on one table and on nothing else."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from indistinct.errors import PolicyError

TABLE = "data"
"""The name of the table in the query."""
SAID_OF_THE_QUERY = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)
"""Errors whose message quotes the query, and no cell."""


def run_own_query(query: str, table: pa.Table) -> pa.Table:
    """Return what a query gives of a table named ``data``.

    It runs in a DuckDB of its own that opens no file and no address. What an error message may quote of the table is
    left out.
    """
    connection = duckdb.connect(
        ":memory:", config={"enable_external_access": "false", "python_enable_replacements": "false"}
    )
    try:
        connection.register(TABLE, table)
        found = connection.sql(query)
        if found is None:
            raise PolicyError(f"query: it must give rows; write it as select … from {TABLE}")
        return found.to_arrow_table()
    except SAID_OF_THE_QUERY as error:
        raise PolicyError(f"query: {_first_line(str(error))}") from None
    except duckdb.Error as error:
        raise PolicyError(f"query: it cannot be run on this table ({type(error).__name__})") from None
    finally:
        connection.close()


def _first_line(message: str) -> str:
    return re.sub(r"^\w+ Error: ", "", message.strip().splitlines()[0])
