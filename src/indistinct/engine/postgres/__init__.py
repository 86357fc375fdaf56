"""Rows in PostgreSQL: they stay on the server; distinct tuples, labels and counts go between it and the driver."""

from indistinct.engine.postgres.session import open_in_postgres

__all__ = ["open_in_postgres"]
