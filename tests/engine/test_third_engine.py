"""What a third engine must bring: a dialect and a session that runs queries, keeps what they give and takes Arrow.

The engine here speaks DuckDB's SQL through a bare connection, and has nothing of DuckDB's own fast paths: tuples are
counted and rows recoded by ``engine.sql`` alone. Its releases are compared with those of the engine that has them.
"""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.engine import Rows, open_table
from indistinct.engine.duckdb.dialect import DUCKDB, DuckCell
from indistinct.engine.sql.keyed import KeyedRows, KeyedSource
from indistinct.engine.sql.rows import surplus


class PlainSource(KeyedSource):
    """A table of a connection; whatever is made beside it is a temporary table."""

    dialect = DUCKDB
    name = "the plain table"
    numbers = itertools.count()

    def __init__(self, connection: duckdb.DuckDBPyConnection, relation: str) -> None:
        self.connection, self.relation = connection, relation
        described = connection.execute(f"DESCRIBE {relation}").fetchall()
        self.types = {name: kind for name, kind, *_ in described}

    def cell(self, column: str) -> DuckCell:
        return DuckCell.of(self.name, column, self.types[column])

    def identifier(self, column: str) -> str:
        return self.dialect.quote(column)

    def arrow(self, sql: str) -> pa.Table:
        return self.connection.sql(sql).to_arrow_table()

    def store(self, query: str) -> str:
        name = f"made_{next(self.numbers)}"
        self.connection.execute(f"CREATE TEMPORARY TABLE {name} AS {query}")
        return name

    def relation_of(self, table: pa.Table) -> str:
        self.connection.register("given", table)
        return self.store("SELECT * FROM given")

    def forget(self, *relations: str) -> None:
        for relation in relations:
            self.connection.execute(f"DROP TABLE {relation}")


class PlainRows(KeyedRows):
    """The rows of such a table."""

    source: PlainSource

    def __init__(self, source: PlainSource) -> None:
        super().__init__(source.name, "plain")
        self.source = source

    def select(
        self, cells: Mapping[str, str], rows: str, typed: frozenset[str], *, is_stored: bool = False
    ) -> PlainRows:
        listed = ", ".join(f"{sql} AS {self.source.dialect.quote(column)}" for column, sql in cells.items())
        return PlainRows(PlainSource(self.source.connection, self.source.store(f"SELECT {listed} FROM {rows}")))

    def release(self, query: str, columns: Sequence[str], rows: int) -> PlainRows:
        shown = {column: f"r{number}" for number, column in enumerate(columns)}
        secret = self.source.dialect.text(secrets.token_hex(32))
        order = self.source.dialect.sha256(f"concat({', '.join([secret, *shown.values()])})")
        released = self.select(shown, f"({query}) AS recoded ORDER BY {order}", frozenset())
        self.source.refuse_changed(released.count() != rows)
        return released

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        assert isinstance(other, PlainRows)
        mine, theirs = (
            f"SELECT {', '.join(own.source.texts(columns, 'k'))} FROM {own.source.relation}" for own in (self, other)
        )
        return int(self.source.arrow(surplus(mine, theirs, len(columns)))["n"][0].as_py())

    def to_native(self) -> pa.Table:
        return self.source.arrow(f"SELECT * FROM {self.source.relation}")

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        cells = ", ".join(f"nullif({self.source.text(column)}, '') AS {DUCKDB.quote(column)}" for column in columns)
        return self.source.arrow(f"SELECT {cells} FROM {self.source.relation}").to_reader()

    def with_max_tuples(self, max_tuples: int) -> PlainRows:
        raise NotImplementedError

    def write(self, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        raise NotImplementedError

    def format(self) -> dict[str, str]:
        return {}

    def close_but_for(self, derived: PlainRows) -> None:
        """What was derived is stored."""

    def close(self) -> None:
        self.encodings.close()


TABLE = pa.table(
    {
        "age": [23, 24, 31, 33, 38, 39, 41, 44, None, 58],
        'it\'s "town"': ["Bern", "Bern", "Basel", "Basel", "Biel", "Biel", "Chur", "Chur", "Bern", ""],
        "ill": ["flu", "gout", "flu", "cough", "flu", "gout", "cough", "flu", None, "gout"],
        "number": list(range(10)),
    }
)


def plain_rows(table: pa.Table) -> PlainRows:
    connection = duckdb.connect()
    connection.register("people", table)
    return PlainRows(PlainSource(connection, "people"))


def cells_of(table: Any) -> Counter[tuple[Any, ...]]:
    """Return the released rows, in whatever order, as texts; classes have random numbers."""
    columns = [name for name in table.column_names if name != "class_id"]
    return Counter(
        tuple(None if cell in (None, "") else str(cell) for cell in row)
        for row in zip(*(table[name].to_pylist() for name in columns), strict=True)
    )


@pytest.mark.parametrize("algorithm", ["lattice", "mondrian", "regroup"])
@pytest.mark.parametrize("few", [200_000, 2])
def test_a_dialect_and_a_session_are_enough_for_a_release(algorithm, few, monkeypatch):
    """Also where tuples are so many that they are counted and recoded where the rows are."""
    monkeypatch.setattr("indistinct.engine.sql.keyed.FEW_TUPLES", few)
    policy = ix.Policy(
        {
            "age": ix.quasi(ix.intervals(10, 20)),
            'it\'s "town"': ix.quasi(ix.prefix(keep=[1])),
            "ill": ix.sensitive(),
            "number": ix.drop(),
        },
        [ix.KAnonymity(2)],
        max_suppression=2,
        algorithm=algorithm,
    )
    with ix.anonymize(plain_rows(TABLE), policy) as release, ix.anonymize(TABLE, policy) as expected:
        assert release.verdict.passed
        assert cells_of(release.table) == cells_of(expected.table)
        assert release.facts.groups == expected.facts.groups


def test_the_verbs_of_the_third_engine_answer_as_duckdb_does():
    with plain_rows(TABLE) as plain, open_table(TABLE) as rows:
        town = 'it\'s "town"'
        assert plain.columns() == rows.columns()
        assert plain.count() == rows.count() == 10
        assert sorted(plain.sizes_by([town])) == sorted(rows.sizes_by([town]))
        assert plain.mixed_missing([town, "ill"]) == rows.mixed_missing([town, "ill"])
        assert plain.repeats_of(["age", town], [("age", ">", 25)]) == rows.repeats_of(["age", town], [("age", ">", 25)])
        assert plain.head(3).equals(rows.head(3))
        assert plain.with_names({town: "town"}).columns() == ("age", "town", "ill", "number")
        mine, theirs = plain.values_by(["age"], "ill"), rows.values_by(["age"], "ill")
        assert mine.texts == theirs.texts
        assert mine.counts.sum() == theirs.counts.sum() == 10
        with plain.encode(["age", town], [("number", ">=", 1)]) as own, rows.encode(["age", town]) as other:
            assert own.rows == 9
            assert own.values == {"age": other.values["age"][1:], town: other.values[town]}
            code = own.values["age"].index("33")
            assert own.rows_with("age", [code]) == [4]
            assert own.rows_like({"age": [code]}, [town]).to_pydict() == {"tuple": [0], "number": [4], "s0": ["Basel"]}
        missing = plain.with_missing({"ill": ["flu"]}, {"age": ["58"]})
        assert missing.count() == 9
        assert plain.difference(missing, ["ill"]) == 5
        labelled = missing.with_labels({"ill": {None: "unknown", "gout": "gout", "cough": "cough"}})
        assert Counter(labelled.to_native()["ill"].to_pylist()) == {"unknown": 5, "gout": 2, "cough": 2}
