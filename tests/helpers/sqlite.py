"""Tables in files of SQLite for tests."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa


def save(folder: Path, table: pa.Table, name: str = "people") -> str:
    """Store a table in a file of its own, and return its address."""
    columns = ", ".join(f"{_quote(one.name)} {_type_of(one.type)}" for one in table.schema)
    address = f"sqlite:///{folder / secrets.token_hex(8)}.db?table={name}"
    run(address, f"CREATE TABLE {_quote(name)} ({columns})")
    with contextlib.closing(sqlite3.connect(file_of(address))) as connection, connection:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(f"INSERT INTO {_quote(name)} VALUES ({', '.join('?' * table.num_columns)})", rows)
    return address


def run(address: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, and return the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    with contextlib.closing(sqlite3.connect(file_of(address), isolation_level=None, timeout=0)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    return rows


def file_of(address: str) -> Path:
    """Return the file of an address."""
    return Path(address.removeprefix("sqlite:///").partition("?")[0])


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"
