"""Rows in DuckDB: the engine for tables of one machine, also for those that do not fit into its memory."""

from indistinct.engine.duckdb.rows import DuckRows

__all__ = ["DuckRows"]
