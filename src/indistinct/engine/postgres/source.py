"""PostgresSource: a relation of a session whose columns need no quoting, and what goes between it and the driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import integers, numbers
from indistinct.engine.postgres.dialect import POSTGRES, PostgresCell
from indistinct.engine.postgres.session import PostgresSession
from indistinct.engine.rows import check_names
from indistinct.engine.sql.keyed import KeyedSource
from indistinct.errors import TableError


class PostgresSource(KeyedSource):
    """A relation with columns x0, x1, … so that no name needs quoting, or is cut off after 63 bytes."""

    dialect = POSTGRES

    def __init__(self, session: PostgresSession, relation: str, names: Sequence[str]) -> None:
        self.session = session
        self.name = session.name
        self.relation = relation
        self.names = tuple(names)
        check_names(self.name, self.names)
        described = session.describe(relation)
        self.types = {name: column.kind for name, column in zip(self.names, described, strict=True)}
        self.sent: list[str] = []
        """Temporary tables that were made for this relation."""

    def cell(self, column: str) -> PostgresCell:
        if column not in self.types:
            raise TableError(f"{self.name}: no column {column!r}")
        return PostgresCell.of(self.name, column, self.identifier(column), self.types[column])

    def identifier(self, column: str) -> str:
        return f"x{self.names.index(column)}"

    def arrow(self, sql: str) -> pa.Table:
        return self.session.arrow(sql)

    def relation_of(self, table: pa.Table) -> str:
        self.sent.append(self.session.send(table))
        return self.sent[-1]

    def store(self, query: str) -> str:
        relation, _ = self.session.store(query)
        self.sent.append(relation)
        return relation

    def forget(self, *relations: str) -> None:
        self.session.drop(*relations)
        self.sent = [table for table in self.sent if table not in relations]

    def value_lists(self, counted: str, groups: Sequence[str]) -> pa.Table:
        """Return the lists from rows that stand in the order of their groups: arrays would come as text."""
        number = f"dense_rank() OVER (ORDER BY {', '.join(groups)})" if groups else "1"
        found = self.arrow(f"SELECT {number} AS place, text, size FROM ({counted}) AS counted ORDER BY 1")
        places = numbers(found["place"])
        starts = np.flatnonzero(np.diff(places, prepend=0)) if len(places) else np.zeros(0, np.int64)
        ends = integers(np.append(starts, len(places)).astype(np.int32))
        lists = {
            name: pa.ListArray.from_arrays(ends, found[own].combine_chunks())
            for name, own in (("texts", "text"), ("sizes", "size"))
        }
        return pa.table(lists)
