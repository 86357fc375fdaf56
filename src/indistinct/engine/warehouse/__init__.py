"""Rows in Snowflake and BigQuery: the same verbs, for databases whose statements commit by themselves."""

from indistinct.engine.warehouse.session import open_in_warehouse

__all__ = ["open_in_warehouse"]
