"""Names of tables and columns of a server: as SQL reads them, and as they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indistinct.engine.postgres.dialect import POSTGRES
from indistinct.engine.postgres.session import PostgresSession

PLAIN = re.compile(r"[^\W\d][\w$]*([.][^\W\d][\w$]*)?")
"""What SQL takes for a name without quotes, with its schema or without."""
MOST_BYTES = 63
"""Longer names are cut off."""


def forms_of(table: str) -> list[str]:
    """Return the forms in which a table is looked for: as SQL reads its name, and as it is written.

    >>> forms_of("public.Visits"), forms_of("My Schema.visits"), forms_of('"My Schema".visits')
    (['public.Visits', '"public"."Visits"'], ['"My Schema"."visits"'], ['"My Schema".visits'])
    """
    as_written = ".".join(map(POSTGRES.quote, table.split(".", 1)))
    return [table] if '"' in table else [table, as_written] if PLAIN.fullmatch(table) else [as_written]


def name_of(session: PostgresSession, table: str) -> list[str]:
    """Return a name by its parts as SQL reads it, where it can."""
    ((parts,),) = session.fetch("SELECT parse_ident(%s)", forms_of(table)[0])
    return list(parts)


def relation_of_columns(table: str, columns: Sequence[str]) -> str:
    """Return what stands after FROM for a table, whose columns it calls x0, x1, …"""
    cells = ", ".join(f"{POSTGRES.quote(column)} AS x{place}" for place, column in enumerate(columns))
    return f"(SELECT {cells} FROM {table}) AS given"
