"""DatabaseSession: one connection in one transaction that sees one state of a database, with temporary tables.

What is counted, released and recounted is the same state, whoever writes meanwhile. Temporary tables are the session's
own, so nothing of them stays, however the session ends. A database brings this, its ``Dialect`` and its ``Cell``.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from indistinct.engine.address import Address
from indistinct.engine.sql.dialect import Cell, Dialect


class ServerColumn(NamedTuple):
    """A column of a query: its name and the kind of its cells."""

    name: str
    kind: str


class Place(NamedTuple):
    """Where a table of a database is to stand."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


class DatabaseSession(ABC):
    """A connection, its transaction and the names of its temporary tables; the last table on it closes it."""

    kind: str
    """What tables of such a database are called in code, as in ``plans.ELSEWHERE``."""
    dialect: Dialect
    most_bytes: ClassVar[int | None] = None
    """Longer names of tables and columns are cut off."""
    names_several: ClassVar[bool] = True
    """Tables that are made together get their names together."""

    def __init__(self, address: Address, name: str) -> None:
        self.address = address
        self.name = name
        self._users = 0
        self._numbers = itertools.count()

    @abstractmethod
    def execute(self, sql: str) -> int:
        """Run a statement, and return how many rows it made or found, if the database says so."""

    @abstractmethod
    def fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer; ``values`` stand for each place that is left open."""

    @abstractmethod
    def describe(self, relation: str) -> tuple[ServerColumn, ...]:
        """Return the columns of what stands after FROM."""

    @abstractmethod
    def cell(self, column: str, sql: str, kind: str) -> Cell:
        """Return the cells of a column, which ``sql`` stands for, or raise if they cannot be compared as text."""

    @abstractmethod
    def stream(self, sql: str, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
        """Return the rows of a query as they come, in Arrow types that the database, or ``schema``, says."""

    @abstractmethod
    def arrow_type(self, kind: str) -> pa.DataType:
        """Return the Arrow type of cells of a kind."""

    @abstractmethod
    def send(self, table: pa.Table) -> str:
        """Return the name of a temporary table with the rows of an Arrow table; its texts compare by their bytes."""

    @abstractmethod
    def store(self, query: str) -> tuple[str, int]:
        """Return the name of a temporary table with the rows of a query in their order, and how many they are."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Return whether statements can still be run."""

    @property
    @abstractmethod
    def is_lost(self) -> bool:
        """Return whether the connection is gone."""

    @abstractmethod
    def commit(self) -> None:
        """Keep what was made outside of temporary tables, drop those, and begin anew."""

    @abstractmethod
    def place_of(self, table: str) -> Place | None:
        """Return the place that a name stands for; None if it does not say its schema and must."""

    @abstractmethod
    def there(self, place: Place) -> tuple[bool, str | None] | None:
        """Return whether a table that can be dropped stands at a place, and what is said of it; None for nothing."""

    @abstractmethod
    def remark(self, stage: Place, said: str) -> None:
        """Say something of a table, which goes with it when it is renamed or dropped."""

    def begin_release(self) -> None:
        """Begin to make the tables of a release."""
        self.execute("SAVEPOINT publishing")

    def name_release(self, stage: Place, goal: Place) -> None:
        """Give a table that was recounted its name, and drop what had it before."""
        self.execute(f"DROP TABLE IF EXISTS {self.place_sql(goal)}")
        self.execute(f"ALTER TABLE {self.place_sql(stage)} RENAME TO {self.dialect.quote(goal.table)}")

    def undo_release(self, stages: Sequence[Place]) -> None:
        """Leave nothing of the tables that were made since ``begin_release``."""
        if not self.is_lost:
            self.execute("ROLLBACK TO SAVEPOINT publishing")

    @abstractmethod
    def close(self) -> None:
        """End the session."""

    def arrow(self, sql: str) -> pa.Table:
        """Return the rows of a query, whose columns have the types of the database where Arrow has them."""
        return self.stream(sql).read_all()

    def place_sql(self, place: Place) -> str:
        """Return a place as SQL."""
        return f"{self.dialect.quote(place.schema)}.{self.dialect.quote(place.table)}"

    def drop(self, *tables: str) -> None:
        """Drop temporary tables."""
        if self.is_open:
            for table in tables:
                self.execute(f"DROP TABLE IF EXISTS {table}")

    def fresh(self) -> str:
        """Return a name that no temporary table of the session has."""
        return f"indistinct_{next(self._numbers)}"

    def retain(self) -> None:
        """Count one more table on this session."""
        self._users += 1

    def release(self) -> None:
        """Count one table less; without any the session ends, and with it all that is temporary."""
        self._users -= 1
        if not self._users:
            self.close()


def relation_of_columns(dialect: Dialect, table: str, columns: list[str] | tuple[str, ...]) -> str:
    """Return what stands after FROM for a table, whose columns it calls x0, x1, …"""
    cells = ", ".join(f"{dialect.quote(column)} AS x{place}" for place, column in enumerate(columns))
    return f"(SELECT {cells} FROM {table}) AS given"
