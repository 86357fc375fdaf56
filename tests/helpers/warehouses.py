"""Snowflake and BigQuery played by DuckDB: every statement is read by sqlglot in its own dialect, and translated.

What DuckDB has no statement for is done by hand: comments, and the one that puts a table in the place of another.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

CODES = {"snowflake": {"VARCHAR": 2, "DOUBLE": 1, "DATE": 3, "BOOLEAN": 13, "TIMESTAMP": 8, "BLOB": 11}}
TABLE = r'["`](\w+)["`]\.["`](\w+)["`]'


class Error(Exception):
    """What the driver of a warehouse raises."""


class Played:
    """A connection of the DB-API, and a cursor of itself; sessions have temporary tables of their own."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.duck = duckdb.connect()
        self.duck.execute("SET TimeZone = 'UTC'")
        self.said: list[str] = []
        self.comments: dict[tuple[str, str], str] = {}
        self.faults: list[str] = []
        """How statements begin that fail."""
        self.rowcount = -1
        self._answer: list[tuple[Any, ...]] | None = None
        self._columns: list[tuple[str, str]] = []

    def save(self, table: pa.Table) -> str:
        """Store a table, and return its address."""
        self.duck.execute("CREATE SCHEMA IF NOT EXISTS med")
        self.duck.register("given", table)
        self.duck.execute("CREATE OR REPLACE TABLE med.people AS SELECT * FROM given")
        return f"{self.dialect}://ann@account/clinic?table=med.people"

    def tables(self) -> set[str]:
        """Return the names of all tables that are there, also of temporary ones."""
        return {name for (name,) in self.duck.execute("SELECT table_name FROM duckdb_tables()").fetchall()}

    def session(self) -> Played:
        """Return a connection that sees the same tables."""
        other = copy.copy(self)
        other.duck = self.duck.cursor()
        return other

    def cursor(self) -> Played:
        return self

    def execute(self, sql: str, *_: object) -> None:
        self.said.append(sql)
        if any(re.match(fault, sql) for fault in self.faults):
            raise Error("a private cell")
        self._answer = None
        if not self._done_by_hand(sql):
            tree = sqlglot.parse_one(sql, read=self.dialect)
            assert tree.key != "command", sql
            try:
                found = self.duck.execute(tree.sql("duckdb"))
            except duckdb.Error as error:
                raise Error(f"{error}\n{sql}\n{tree.sql('duckdb')}") from error
            self._columns = [(name, str(kind)) for name, kind, *_ in found.description or []]
            self._answer = found.fetchall()

    @property
    def description(self) -> list[tuple[Any, ...]]:
        return [(name, *self._type_of(kind), True) for name, kind in self._columns]

    def fetchall(self) -> list[tuple[Any, ...]]:
        found, self._answer = self._answer or [], None
        return found

    def fetchmany(self, rows: int) -> list[tuple[Any, ...]]:
        found = self._answer or []
        self._answer = found[rows:]
        return found[:rows]

    def close(self) -> None:
        """End the session."""
        self.duck.close()

    def _type_of(self, kind: str) -> tuple[Any, ...]:
        scale = int(kind.rstrip(")").partition(",")[2] or 0) if kind.startswith("DECIMAL") else 0
        if self.dialect == "snowflake":
            return (CODES["snowflake"].get(kind, 0), None, None, None, scale)
        names = {"VARCHAR": "STRING", "DOUBLE": "FLOAT", "BLOB": "BYTES", "TIMESTAMP": "DATETIME"}
        return ("NUMERIC" if scale else names.get(kind, "INTEGER" if "INT" in kind else kind), None, None, None, None)

    def _done_by_hand(self, sql: str) -> bool:
        if "INFORMATION_SCHEMA" in sql.upper():
            sqlglot.parse_one(sql, read=self.dialect)
            schema = re.search(r"table_schema = '(\w+)'|`(\w+)`", sql)
            name = re.search(r"table_name = '(\w+)'", sql)
            assert schema is not None
            assert name is not None
            place = (schema[1] or schema[2], name[1])
            kinds = self.duck.execute(
                "SELECT table_type FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2", place
            ).fetchall()
            self._answer = [(kind, self.comments.get(place)) for (kind,) in kinds]
            return True
        if found := re.match(
            rf"(?:COMMENT ON TABLE|ALTER TABLE) {TABLE} (?:IS|SET OPTIONS \(description =) '(.*?)'\)?$", sql
        ):
            self.comments[found[1], found[2]] = re.sub(r"\\(.)", r"\1", found[3].replace("\\n", "\n"))
            return True
        if (found := re.match(rf"ALTER TABLE {TABLE} SWAP WITH {TABLE}$", sql)) or (
            found := re.match(rf"CREATE OR REPLACE TABLE {TABLE} COPY {TABLE}$", sql)
        ):
            goal, stage = (found[1], found[2]), (found[3], found[4])
        elif found := re.match(rf"ALTER TABLE {TABLE} RENAME TO (?:{TABLE}|[\"`](\w+)[\"`])$", sql):
            stage, goal = (found[1], found[2]), (found[1], found[4] or found[5])
            assert sqlglot.parse_one(sql, read=self.dialect).key == "alter"
        else:
            return False
        self.duck.execute(f"DROP TABLE IF EXISTS {goal[0]}.{goal[1]}")
        self.duck.execute(f"CREATE TABLE {goal[0]}.{goal[1]} AS SELECT * FROM {stage[0]}.{stage[1]}")
        self.duck.execute(f"DROP TABLE {stage[0]}.{stage[1]}")
        self.comments[goal] = self.comments.pop(stage)
        return True
