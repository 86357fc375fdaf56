"""WarehouseSession: a session of a database whose statements commit by themselves; and tables by their address.

The table is copied once, into a temporary table of the session, so that count, release and recount see one state.
A release is a table under a name drawn by chance until it was recounted; then one statement gives it its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from indistinct.engine.address import Address, read_address
from indistinct.engine.sql.cursors import CursorSession
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.session import Place, ServerColumn
from indistinct.engine.warehouse import bigquery, snowflake
from indistinct.engine.warehouse.dialect import Kind, WarehouseCell, WarehouseDialect
from indistinct.errors import OutputError, TableError

DIALECTS: dict[str, WarehouseDialect] = {"snowflake": snowflake.SNOWFLAKE, "bigquery": bigquery.BIGQUERY}
LONGEST = 500_000
"""Characters of a statement that brings labels; both warehouses take at least twice as many."""
ARROW = {
    Kind.WHOLE: pa.int64(),
    Kind.FLOATING: pa.float64(),
    Kind.FLAG: pa.bool_(),
    Kind.DAY: pa.date32(),
    Kind.MOMENT: pa.timestamp("us"),
    Kind.INSTANT: pa.timestamp("us", "UTC"),
}


class WarehouseSession(CursorSession):
    """A session of a warehouse, through its driver."""

    dialect: WarehouseDialect
    names_several = False

    def __init__(self, address: Address, name: str) -> None:
        super().__init__(address, name)
        self.kind, self.dialect = address.kind, DIALECTS[address.kind]
        self._is_open = False
        with self.errors():
            self.connection = self.dialect.connect(address)
        self._is_open = True

    def explain(self, error: Exception) -> str | None:
        if type(error).__module__ == "builtins":
            return None
        code = getattr(error, "errno", None) or getattr(error, "code", None) or type(error).__name__
        return (
            f"{self.dialect.system} cannot do it (error {code}); see that the table is there, and that the user may "
            "read it and make temporary tables, and for a release tables in its schema; the query history says more"
        )

    def describe(self, relation: str) -> tuple[ServerColumn, ...]:
        found = self.run(f"SELECT * FROM {relation} LIMIT 0").description
        return tuple(ServerColumn(str(column[0]), self.dialect.kind_of(column)) for column in found)

    def cell(self, column: str, sql: str, kind: str) -> WarehouseCell:
        return WarehouseCell(sql, kind, self.dialect, column)

    def arrow_type(self, kind: str) -> pa.DataType:
        return ARROW.get(Kind(kind), pa.string())

    def stream(self, sql: str, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
        """Return the rows of a query in an order drawn anew: a warehouse keeps no order of rows that it stores."""
        return super().stream(f"SELECT * FROM ({sql}) AS drawn ORDER BY {self.dialect.random_key}", schema)

    def insert(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        """Put rows in a table by statements of values: a statement a row would take hours."""
        told = [f"({', '.join(map(self._literal, row))})" for row in rows]
        while told:
            length = taken = 0
            while taken < len(told) and length < LONGEST:
                length += len(told[taken])
                taken += 1
            self.execute(f"INSERT INTO {name} VALUES {', '.join(told[:taken])}")
            told = told[taken:]

    def _literal(self, cell: str | int | None) -> str:
        return "NULL" if cell is None else self.dialect.text(cell) if isinstance(cell, str) else str(cell)

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def is_lost(self) -> bool:
        return not self._is_open

    def commit(self) -> None:
        """Do nothing: each statement has committed."""

    def place_of(self, table: str) -> Place | None:
        schema, _, name = table.rpartition(".")
        return Place(schema, name) if schema and name else None

    def there(self, place: Place) -> tuple[bool, str | None] | None:
        for kind, said in self.fetch(self.dialect.there(place)):
            return kind == "BASE TABLE", said
        return None

    def remark(self, stage: Place, said: str) -> None:
        self.execute(self.dialect.remark(self.place_sql(stage), said))

    def begin_release(self) -> None:
        """Do nothing: what fails is dropped."""

    def name_release(self, stage: Place, goal: Place) -> None:
        if self.there(goal) is None:
            self.execute(f"ALTER TABLE {self.place_sql(stage)} RENAME TO {self.dialect.new_name(goal)}")
            return
        first, *rest = self.dialect.replace(self.place_sql(stage), self.place_sql(goal))
        self.execute(first)
        for statement in rest:
            with suppress(TableError):  # the release has its name; what is left is an earlier one, or the same again
                self.execute(statement)

    def undo_release(self, stages: Sequence[Place]) -> None:
        left = []
        for stage in stages:
            try:
                self.execute(f"DROP TABLE IF EXISTS {self.place_sql(stage)}")
            except TableError:
                left.append(str(stage))
        if left:
            raise OutputError(f"{self.name}: the release failed, and {', '.join(left)} could not be dropped; drop it")

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            with suppress(Exception):
                self.connection.close()


def open_in_warehouse(address: str) -> DatabaseRows:
    """Return the rows of a table or view of a warehouse, as they are now."""
    found = read_address(address)
    session = WarehouseSession(found, found.table)
    try:
        place = session.place_of(found.table)
        if place is None:
            raise TableError(f"{found.table}: name the table with its schema, as the database writes it: schema.name")
        relation = session.place_sql(place)
        names = [column.name for column in session.describe(relation)]
        cells = ", ".join(f"{session.dialect.quote(name)} AS x{number}" for number, name in enumerate(names))
        copied, _ = session.store(f"SELECT {cells} FROM {relation}")
        rows = DatabaseRows(session, copied, names, (copied,))
        there = session.there(place)
        rows.remark = None if there is None else there[1]
        return rows
    except BaseException:
        session.close()
        raise
