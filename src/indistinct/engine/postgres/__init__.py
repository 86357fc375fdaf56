"""Rows in PostgreSQL: they stay on the server; distinct tuples, labels and counts go between it and the driver."""

from indistinct.engine.postgres.opening import open_in_postgres
from indistinct.engine.postgres.rows import PostgresRows
from indistinct.engine.postgres.stage_tables import place_beside, publish

__all__ = ["PostgresRows", "open_in_postgres", "place_beside", "publish"]
