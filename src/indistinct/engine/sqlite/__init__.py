"""Rows in a file of SQLite: they stay there, and what is made of them lies in temporary tables of the connection."""

from indistinct.engine.sqlite.session import open_in_sqlite

__all__ = ["open_in_sqlite"]
