"""Rows in DuckDB: dictionaries first, then narrow tables of codes that are counted, recoded and shuffled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.base import (
    ClassPlan,
    Condition,
    Counts,
    LocalPlan,
    Plan,
    Recognition,
    Rows,
    ValueCounts,
)
from indistinct.engine.conditions import Clause, eligible
from indistinct.engine.people import members_sql, refuse_unusable_keys, told_sql
from indistinct.engine.pieces import NOWHERE, pieces
from indistinct.engine.session import Session, literal, quote
from indistinct.engine.writing import file_path, write_file
from indistinct.errors import TableError

Restore = Callable[[pa.Table, frozenset[str]], object]
"""Makes the kind of table that came in; the names are the columns that kept their own type."""

# Up to so many labels a released column is stored as a one- or two-byte ENUM, which sorts and decodes faster than text.
SMALL_DICTIONARY = 65_000
KEYS_PER_BATCH = 122_880


@dataclass(frozen=True, slots=True)
class Format:
    """What came in, and what is needed to give the same back."""

    kind: str
    restore: Restore
    delimiter: str = ","
    table: str = "release"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The latest dictionaries: ``dictionary`` has a row per value, ``coded`` a row of codes per eligible row."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    dictionary: str
    coded: str
    where: Clause

    def position(self, column: str) -> int:
        """Return where a column stands among the encoded ones."""
        if column not in self.columns:
            raise TableError(f"column {column!r} was not encoded")
        return self.columns.index(column)


class DuckRows(Rows):
    """A table, view or scan in a DuckDB connection.

    Cells become text and text becomes codes by joins with one dictionary table: measured at
    5 million rows, that is as fast as ENUM casts for small dictionaries, ten times faster for
    large ones, and it spills.
    """

    def __init__(
        self,
        session: Session,
        relation: str,
        form: Format,
        typed: frozenset[str] | None = None,
        stored: str | None = None,
        below: tuple[str, ...] = (),
    ) -> None:
        self._below = below
        self.kind = form.kind
        self.name = session.name
        self._session = session
        self._relation = relation
        self._form = form
        self._stored = stored
        self._encoding: Encoding | None = None
        self._count: int | None = None
        self._closed = False
        self._types: dict[str, str] = {
            row[0]: row[1] for row in session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {relation})")
        }
        self._typed = frozenset(self._types) if typed is None else typed
        session.retain()

    def columns(self) -> tuple[str, ...]:
        return tuple(self._types)

    def count(self) -> int:
        if self._count is None:
            self._count = self._rows_of(self._relation)
        return self._count

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> dict[str, tuple[str | None, ...]]:
        self._forget()
        columns = tuple(columns)
        clause = eligible(where, self._text)
        dictionary = self._session.fresh("dictionary")
        self._make_dictionary(dictionary, columns, clause)
        values = self._values(dictionary, columns)
        sizes = tuple(len(values[column]) for column in columns)
        coded = self._session.fresh("coded")
        self._encoding = Encoding(columns, sizes, dictionary, coded, clause)
        self._session.execute(f"CREATE TABLE {coded} AS {self._coded_rows(())}", clause[1])
        self._refuse_unknown_codes(coded, len(columns))
        return values

    def count_by(self, columns: Sequence[str]) -> Counts:
        encoding = self._encoded()
        codes = [f"c{encoding.position(column)}" for column in columns]
        grouping = f"GROUP BY {', '.join(codes)}" if codes else "HAVING count(*) > 0"
        table = self._session.arrow(
            f"SELECT {''.join(f'{code}, ' for code in codes)}count(*) FROM {encoding.coded} {grouping}"
        )
        arrays = [numbers(column) for column in table.columns]
        return Counts(tuple(arrays[:-1]), arrays[-1].astype(np.int64))

    def recode(self, plan: Plan | LocalPlan) -> DuckRows:
        return self._recode_locally(plan) if isinstance(plan, LocalPlan) else self._recode_by_column(plan)

    def _recode_by_column(self, plan: Plan) -> DuckRows:
        encoding = self._encoded()
        if set(plan.maps) != set(encoding.columns):
            raise TableError(f"{self.name}: a plan must map exactly the encoded columns")
        coded = self._copy_coded_rows(plan) if plan.copied else encoding.coded
        labels = [self._make_labels(column, plan, encoding) for column in encoding.columns]
        unordered = self._relabel(coded, labels, plan)
        for table in labels if coded == encoding.coded else [*labels, coded]:
            self._session.execute(f"DROP TABLE {table}")
        return self._released(self._shuffle(unordered), plan)

    def _recode_locally(self, plan: LocalPlan) -> DuckRows:
        encoding = self._encoded()
        if set(plan.tuples) != set(encoding.columns):
            raise TableError(f"{self.name}: a plan must place exactly the encoded columns")
        coded = self._copy_coded_rows(plan) if plan.copied else encoding.coded
        placed = self._place(coded, plan)
        if coded != encoding.coded:
            self._session.execute(f"DROP TABLE {coded}")
        unordered = self._label_groups(placed, plan)
        self._session.execute(f"DROP TABLE {placed}")
        return self._released(self._shuffle(unordered), plan)

    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        encoding = self._encoded()
        if set(plan.tuples) != set(encoding.columns):
            raise TableError(f"{self.name}: a plan must place exactly the encoded columns")
        coded = self._copy_coded_rows(plan)
        placed = self._place(coded, plan)
        self._session.execute(f"DROP TABLE {coded}")
        classes = int(np.max(plan.groups, initial=-1)) + 1
        numbers = np.argsort(np.frombuffer(os.urandom(8 * classes), np.uint64)) + 1
        names = pa.table({"goal": integers(np.arange(classes)), "class": integers(numbers)})
        divided: dict[str, Rows] = {}
        for name, columns in plan.tables.items():
            unordered = self._session.fresh("unordered")
            cells = "".join(f", rows.o{plan.copied.index(column)} AS r{n}" for n, column in enumerate(columns, 1))
            with self._session.registered(names) as given:
                self._session.execute(
                    f"CREATE TABLE {unordered} AS SELECT n.class AS r0{cells} "
                    f"FROM {placed} AS rows JOIN {given} AS n USING (goal)"
                )
            stored = self._shuffle(unordered)
            view = self._session.fresh("view")
            shown = ", ".join(f"r{n} AS {quote(column)}" for n, column in enumerate((plan.link, *columns)))
            self._session.execute(f"CREATE VIEW {view} AS SELECT {shown} FROM {stored}")
            divided[name] = DuckRows(self._session, view, self._form, frozenset(columns), stored)
        self._session.execute(f"DROP TABLE {placed}")
        return divided

    def give_back(self) -> object:
        return self._form.restore(self._session.arrow(f"SELECT * FROM {self._relation}"), self._typed)

    def write(self, folder: Path, name: str = "table") -> Path:
        path = file_path(folder, name, self.kind)
        write_file(
            self._session, self._relation, self.columns(), path, self.kind, self._form.delimiter, self._form.table
        )
        return path

    def format(self) -> dict[str, str]:
        return {"delimiter": self._form.delimiter} if self.kind == "csv" else {}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        mine = self._texts_sql(columns)
        if isinstance(other, DuckRows) and other._session is self._session:
            return self._unmatched(mine, other._texts_sql(columns), columns)
        with self._session.registered(other.texts(columns)) as theirs:
            return self._unmatched(mine, f"SELECT * FROM {theirs}", columns)

    def sizes_by(self, columns: Sequence[str]) -> NDArray[np.int64]:
        grouping = f"GROUP BY {', '.join(map(self._text, columns))}" if columns else "HAVING count(*) > 0"
        table = self._session.arrow(f"SELECT count(*) AS size FROM {self._relation} {grouping}")
        return numbers(table["size"]).astype(np.int64)

    def values_by(self, columns: Sequence[str], column: str) -> ValueCounts:
        names = [f"g{position}" for position in range(len(columns))]
        cells = ", ".join(f"{self._text(name)} AS {alias}" for name, alias in zip(columns, names, strict=True))
        keys = ", ".join(names)
        counted = (
            f"SELECT {cells}{', ' if cells else ''}{self._text(column)} AS text, count(*) AS size "
            f"FROM {self._relation} GROUP BY ALL"
        )
        table = self._session.arrow(
            f"SELECT list(text) AS texts, list(size) AS sizes FROM ({counted}) "
            f"{f'GROUP BY {keys} ORDER BY {keys}' if names else ''}"
        ).combine_chunks()
        texts, sizes = (table[name].combine_chunks() for name in ("texts", "sizes"))
        if isinstance(texts, pa.ChunkedArray):  # no rows, no chunks
            nothing = np.zeros(0, np.int64)
            return ValueCounts(nothing, nothing, nothing, ())
        lengths = np.diff(np.from_dlpack(texts.offsets))
        coded = texts.flatten().dictionary_encode()
        found = coded.dictionary.to_pylist()
        order = sorted(range(len(found)), key=lambda code: (found[code] == "", found[code]))
        number = np.empty(len(found), np.int64)
        number[order] = np.arange(len(found))
        return ValueCounts(
            np.repeat(np.arange(len(lengths)), lengths),
            number[np.from_dlpack(coded.indices)],
            np.from_dlpack(sizes.flatten()).astype(np.int64),
            tuple(found[code] or None for code in order),
        )

    def rows_with(self, column: str, codes: Sequence[int], limit: int = 5) -> list[int]:
        encoding = self._encoded()
        clause, parameters = encoding.where
        with self._session.registered(pa.table({"code": integers(np.asarray(codes, np.int64))})) as wanted:
            found = self._session.fetch(
                f"SELECT number FROM (SELECT *, row_number() OVER () AS number FROM {self._relation}) "
                f"WHERE {clause} AND {self._text(column)} IN (SELECT text FROM {encoding.dictionary} "
                f"WHERE position = {encoding.position(column)} AND code IN (SELECT code FROM {wanted})) "
                f"ORDER BY number LIMIT {int(limit)}",
                parameters,
            )
        return [int(row[0]) for row in found]

    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        encoding = self._encoded()
        keys = [f"{self._text(column)} AS k{position}" for position, column in enumerate(tuples)]
        cells = [f"nullif({self._text(column)}, '') AS s{position}" for position, column in enumerate(show)]
        wanted = {
            f"w{position}": integers(np.asarray(codes, np.int64)) for position, codes in enumerate(tuples.values())
        }
        number = max((len(codes) for codes in tuples.values()), default=0)
        texts = "".join(f", d{position}.text AS t{position}" for position in range(len(tuples)))
        joins = "".join(
            f" JOIN {encoding.dictionary} AS d{position} ON d{position}.position = {encoding.position(column)} "
            f"AND d{position}.code = w{position}"
            for position, column in enumerate(tuples)
        )
        same = " AND ".join(f"k{position} = t{position}" for position in range(len(tuples)))
        shown = "".join(f", s{position}" for position in range(len(show)))
        with self._session.registered(pa.table({"tuple": integers(np.arange(number))} | wanted)) as given:
            return self._session.arrow(
                f"SELECT tuple, number{shown} FROM "
                f"(SELECT row_number() OVER () AS number, {', '.join([*keys, *cells])} FROM {self._relation}) "
                f"JOIN (SELECT tuple{texts} FROM {given}{joins}) ON {same} "
                f"QUALIFY row_number() OVER (PARTITION BY tuple ORDER BY number) <= {int(limit)} ORDER BY tuple, number"
            )

    def head(self, rows: int) -> pa.Table:
        return self._session.arrow(f"SELECT * FROM {self._relation} LIMIT {int(rows)}")

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        return self._session.stream(self._texts_sql(columns))

    def recognise(self, how: Recognition) -> DuckRows:
        told = self._session.fresh("told")
        texts = {column: self._text(column) for column in self.columns()}
        condition, parameters = eligible(how.where, self._text)
        rows = f"(SELECT * FROM {self._relation} WHERE {condition})"
        self._session.execute(f"CREATE TABLE {told} AS {told_sql(rows, texts, how)}", parameters)
        view = self._session.fresh("view")
        self._session.execute(f"CREATE VIEW {view} AS SELECT * FROM {told}")
        found = DuckRows(self._session, view, self._form, self._typed - set(how.based), told)
        refuse_unusable_keys(self._session, told, how)
        return found

    def write_members(self, released: Rows, path: Path, group: Sequence[str], values: Sequence[str]) -> None:
        assert isinstance(released, DuckRows)
        labels = {column: released._text(column) for column in group}
        cells = {column: self._text(column) for column in values}
        query = members_sql(released._relation, self._relation, labels, cells)
        self._session.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")

    def without(self, columns: Sequence[str]) -> DuckRows:
        view = self._session.fresh("view")
        left = [column for column in self.columns() if column not in columns]
        shown = ", ".join(map(quote, left))
        self._session.execute(f"CREATE VIEW {view} AS SELECT {shown} FROM {self._relation}")
        rows = DuckRows(self._session, view, self._form, self._typed - set(columns), self._stored, (self._relation,))
        self._stored = None
        self.close()
        return rows

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._session.release()
        if self._session.is_open:
            self._forget()
            if self._stored is not None:
                for view in (self._relation, *self._below):
                    self._session.execute(f"DROP VIEW {view}")
                self._session.execute(f"DROP TABLE {self._stored}")

    def _text(self, column: str) -> str:
        """Return the SQL of a column's cells as text, where missing is empty text."""
        cell = self._released_cell(column)
        return f"coalesce({cell}{'' if self._types[column] == 'VARCHAR' else '::VARCHAR'}, '')"

    def _released_cell(self, column: str) -> str:
        """Return the SQL of a column's cells in their own type, where missing is null.

        An ENUM becomes text: its type would tell the values of rows that were suppressed.
        """
        if column not in self._types:
            raise TableError(f"{self.name}: no column {column!r}")
        kind = self._types[column]
        if kind in ("BLOB", "VARIANT", "GEOMETRY") or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
            raise TableError(
                f"{self.name}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        name = quote(column)
        if kind in ("FLOAT", "DOUBLE"):
            return f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END"
        if kind == "VARCHAR" or kind.startswith("ENUM"):
            return f"nullif({name}::VARCHAR, '')"
        return f"{name}::VARCHAR" if kind == '"NULL"' else name

    def _texts_sql(self, columns: Sequence[str]) -> str:
        cells = ", ".join(f"nullif({self._text(column)}, '') AS {quote(column)}" for column in columns)
        return f"SELECT {cells} FROM {self._relation}"

    def _make_dictionary(self, dictionary: str, columns: tuple[str, ...], clause: Clause) -> None:
        """Create the table of distinct values of all columns in one scan, coded by code point, missing last."""
        condition, parameters = clause
        positions = range(len(columns))
        if not columns:
            self._session.execute(f"CREATE TABLE {dictionary} (position INTEGER, code BIGINT, text VARCHAR)")
            return
        texts = ", ".join(f"{self._text(column)} AS t{position}" for position, column in enumerate(columns))
        which = " ".join(f"WHEN t{position} IS NOT NULL THEN {position}" for position in positions)
        sets = ", ".join(f"(t{position})" for position in positions)
        self._session.execute(
            f"CREATE TABLE {dictionary} AS SELECT position, text, "
            "row_number() OVER (PARTITION BY position ORDER BY text = '', text) - 1 AS code "
            f"FROM (SELECT CASE {which} END AS position, "
            f"coalesce({', '.join(f't{position}' for position in positions)}) AS text "
            f"FROM (SELECT {texts} FROM {self._relation} WHERE {condition}) GROUP BY GROUPING SETS ({sets}))",
            parameters,
        )

    def _values(self, dictionary: str, columns: tuple[str, ...]) -> dict[str, tuple[str | None, ...]]:
        return {
            column: tuple(
                self._session.arrow(
                    f"SELECT nullif(text, '') AS text FROM {dictionary} WHERE position = {position} ORDER BY code"
                )["text"].to_pylist()
            )
            for position, column in enumerate(columns)
        }

    def _coded_rows(self, copied: Iterable[str]) -> str:
        """Return the SQL of the eligible rows: c0, c1, … are the codes of encoded columns, o0, o1, … copied columns."""
        encoding = self._encoded()
        texts = [f"{self._text(column)} AS t{position}" for position, column in enumerate(encoding.columns)]
        others = [f"{self._released_cell(column)} AS o{position}" for position, column in enumerate(copied)]
        codes = [f"d{position}.code AS c{position}" for position in range(len(encoding.columns))]
        joins = "".join(
            f" LEFT JOIN (SELECT text, code::{_code_type(size)} AS code FROM {encoding.dictionary} "
            f"WHERE position = {position}) AS d{position} ON cells.t{position} = d{position}.text"
            for position, size in enumerate(encoding.sizes)
        )
        codes += [f"o{position}" for position in range(len(others))]
        cells = f"SELECT {', '.join([*texts, *others, '0 AS nothing'])} FROM {self._relation} WHERE {encoding.where[0]}"
        return f"SELECT {', '.join(codes) or 'nothing'} FROM ({cells}) AS cells{joins}"

    def _copy_coded_rows(self, plan: Plan | LocalPlan | ClassPlan) -> str:
        """Create the table of the codes and the copied cells of the eligible rows, and return its name.

        The rows are read again for it, so that cells nobody asked for were never held. If they are no longer
        those that were counted, nothing is released.
        """
        encoding = self._encoded()
        copied = self._session.fresh("copied")
        self._session.execute(f"CREATE TABLE {copied} AS {self._coded_rows(plan.copied)}", encoding.where[1])
        self._refuse_unknown_codes(copied, len(encoding.columns))
        if self._rows_of(copied) != self._rows_of(encoding.coded):
            raise TableError(self._changed())
        return copied

    def _relabel(self, coded: str, labels: Sequence[str], plan: Plan) -> str:
        """Create the table of released cells r0, r1, … in the order of the source, and return its name."""
        encoding = self._encoded()
        unordered = self._session.fresh("unordered")
        joins = "".join(
            f" LEFT JOIN {table} AS l{position} ON rows.c{position} = l{position}.code"
            for position, table in enumerate(labels)
        )
        same = " AND ".join(
            f"l{encoding.position(column)}.label = s.g{position}" for position, column in enumerate(plan.suppressed)
        )
        cells = ", ".join(
            f"{self._shown(column, plan, encoding)} AS r{position}" for position, column in enumerate(plan.columns)
        )
        with self._session.registered(_suppressed_groups(plan)) as suppressed:
            self._session.execute(
                f"CREATE TABLE {unordered} AS SELECT {cells} FROM {coded} AS rows{joins} "
                f"LEFT JOIN (SELECT DISTINCT *, true AS is_suppressed FROM {suppressed}) AS s ON {same or 'false'}"
                f"{'' if plan.blank else ' WHERE s.is_suppressed IS NULL'}"
            )
        return unordered

    def _place(self, coded: str, plan: LocalPlan | ClassPlan) -> str:
        """Create the table of rows with the number of the group that each goes to, and return its name.

        Where the rows of a tuple go to several groups they are drawn in random order: the order of the source would
        tell something about who went where.
        """
        encoding = self._encoded()
        placed, divided = self._session.fresh("placed"), self._session.fresh("divided")
        undivided, shared = pieces(plan, encoding.columns)
        same = " AND ".join(f"rows.c{position} = p.c{position}" for position in range(len(encoding.columns)))
        others = "".join(f"rows.o{position}, " for position in range(len(plan.copied)))
        joined = f"FROM {coded} AS rows JOIN {{}} AS p ON {same or 'true'}"
        with self._session.registered(undivided) as whole:
            self._session.execute(f"CREATE TABLE {placed} AS SELECT {others}p.goal {joined.format(whole)}")
        if len(shared):
            with self._session.registered(shared) as several:
                tuples = f"(SELECT DISTINCT * EXCLUDE (goal, first, last) FROM {several})"
                self._session.execute(f"CREATE TABLE {divided} AS SELECT {others}p.tuple {joined.format(tuples)}")
                with self._session.registered(_random_keys(self._rows_of(divided))) as keys:
                    drawn = (
                        "SELECT d.*, row_number() OVER (PARTITION BY tuple ORDER BY key) - 1 AS place "
                        f"FROM {divided} AS d POSITIONAL JOIN {keys}"
                    )
                    self._session.execute(
                        f"INSERT INTO {placed} SELECT {others}p.goal FROM ({drawn}) AS rows JOIN {several} AS p "
                        "ON rows.tuple = p.tuple AND rows.place >= p.first AND rows.place < p.last"
                    )
                self._session.execute(f"DROP TABLE {divided}")
        if self._rows_of(placed) != self._rows_of(coded):
            raise TableError(self._changed())
        return placed

    def _label_groups(self, placed: str, plan: LocalPlan) -> str:
        """Create the table of released cells r0, r1, … in the order of the source, and return its name."""
        unordered, labels = self._session.fresh("unordered"), self._session.fresh("labels")
        texts = {column: text_column(plan.labels[column]) for column in plan.labels}
        names = {column: f"l{position}" for position, column in enumerate(plan.labels)}
        numbers = np.arange(max((len(codes) for codes in plan.codes.values()), default=0))
        data = {"goal": integers(numbers)} | {
            names[column]: texts[column].take(integers(np.asarray(plan.codes[column], np.int64))) for column in texts
        }
        with self._session.registered(pa.table(data)) as given:
            cells = ", ".join(
                f"{name}::{self._storage(column, plan, f'SELECT {name} AS text FROM {given}')} AS {name}"
                for column, name in names.items()
            )
            self._session.execute(f"CREATE TABLE {labels} AS SELECT goal{', ' if cells else ''}{cells} FROM {given}")
        shown = ", ".join(
            f"{f'l.{names[column]}' if column in names else f'rows.o{plan.copied.index(column)}'} AS r{position}"
            for position, column in enumerate(plan.columns)
        )
        self._session.execute(
            f"CREATE TABLE {unordered} AS SELECT {shown} FROM {placed} AS rows LEFT JOIN {labels} AS l USING (goal)"
            f"{'' if plan.blank else f' WHERE rows.goal <> {NOWHERE}'}"
        )
        self._session.execute(f"DROP TABLE {labels}")
        return unordered

    def _refuse_unknown_codes(self, coded: str, columns: int) -> None:
        unknown = " OR ".join(f"c{position} IS NULL" for position in range(columns)) or "false"
        if self._session.fetch(f"SELECT 1 FROM {coded} WHERE {unknown} LIMIT 1"):
            raise TableError(self._changed())

    def _changed(self) -> str:
        return f"{self.name}: the table changed while it was read; try again when nothing writes to it"

    def _rows_of(self, table: str) -> int:
        return int(self._session.fetch(f"SELECT count(*) FROM {table}")[0][0])

    def _make_labels(self, column: str, plan: Plan, encoding: Encoding) -> str:
        """Create the table from value codes to label codes and to the cells that are shown for them."""
        position = encoding.position(column)
        size = encoding.sizes[position]
        table = self._session.fresh("labels")
        label_codes = np.asarray(plan.maps[column], dtype=np.int64)
        if column in plan.kept:
            data = pa.table({"code": integers(np.arange(size)), "label": integers(label_codes)})
            values = f"SELECT code, nullif(text, '') AS text FROM {encoding.dictionary} WHERE position = {position}"
            source = f"SELECT * FROM ({values}) JOIN {{}} USING (code)"
        else:
            shown = text_column(plan.labels[column]).take(integers(label_codes))
            data = pa.table({"code": integers(np.arange(size)), "label": integers(label_codes), "text": shown})
            source = "SELECT * FROM {}"
        with self._session.registered(data) as registered:
            stored = self._storage(column, plan, source.format(registered))
            self._session.execute(
                f"CREATE TABLE {table} AS SELECT code::{_code_type(size)} AS code, label, text::{stored} AS shown "
                f"FROM ({source.format(registered)})"
            )
        return table

    def _storage(self, column: str, plan: Plan | LocalPlan, labels: str) -> str:
        """Return the type in which a released column is stored until it is read."""
        own_type = self._types[column]
        if column in plan.kept and own_type != "VARCHAR" and not own_type.startswith("ENUM") and own_type != '"NULL"':
            return own_type
        distinct = f"SELECT DISTINCT text FROM ({labels}) WHERE text IS NOT NULL"
        if not 0 < int(self._session.fetch(f"SELECT count(*) FROM ({distinct})")[0][0]) <= SMALL_DICTIONARY:
            return "VARCHAR"
        enum = self._session.fresh("enum")
        self._session.execute(f"CREATE TYPE {enum} AS ENUM ({distinct})")
        return enum

    def _shown(self, column: str, plan: Plan, encoding: Encoding) -> str:
        """Return the SQL of one released cell."""
        if column not in plan.maps:
            return f"rows.o{plan.copied.index(column)}"
        cell = f"l{encoding.position(column)}.shown"
        is_blanked = plan.blank and column not in plan.unblanked
        return f"CASE WHEN s.is_suppressed THEN NULL ELSE {cell} END" if is_blanked else cell

    def _shuffle(self, unordered: str) -> str:
        """Move the rows into a new table in the order of 64-bit keys drawn from the system's secure generator."""
        ordered = self._session.fresh("released")
        with self._session.registered(_random_keys(self._rows_of(unordered))) as keys:
            self._session.execute(
                f"CREATE TABLE {ordered} AS SELECT u.* FROM {unordered} AS u POSITIONAL JOIN {keys} ORDER BY key"
            )
        self._session.execute(f"DROP TABLE {unordered}")
        return ordered

    def _released(self, stored: str, plan: Plan | LocalPlan) -> DuckRows:
        view = self._session.fresh("view")
        types = self._session.fetch(f"SELECT column_type FROM (DESCRIBE {stored})")
        cells = ", ".join(
            f"r{position}{'::VARCHAR' if kind.startswith('ENUM') else ''} AS {quote(column)}"
            for position, (column, (kind,)) in enumerate(zip(plan.columns, types, strict=True))
        )
        self._session.execute(f"CREATE VIEW {view} AS SELECT {cells} FROM {stored}")
        typed = plan.kept | frozenset(plan.copied)
        return DuckRows(self._session, view, self._form, typed, stored)

    def _unmatched(self, mine: str, theirs: str, columns: Sequence[str]) -> int:
        """Return the rows of one query beyond those of another, as multisets: one grouping instead of EXCEPT ALL."""
        names = ", ".join(map(quote, columns))
        found = self._session.fetch(
            f"SELECT sum(surplus) FROM (SELECT sum(sign) AS surplus FROM (SELECT *, 1 AS sign FROM ({mine}) "
            f"UNION ALL SELECT *, -1 AS sign FROM ({theirs})) GROUP BY {names}) WHERE surplus > 0"
        )
        return int(found[0][0] or 0)

    def _encoded(self) -> Encoding:
        if self._encoding is None:
            raise TableError(f"{self.name}: encode columns before counting or recoding them")
        return self._encoding

    def _forget(self) -> None:
        if self._encoding is not None:
            self._session.execute(f"DROP TABLE IF EXISTS {self._encoding.dictionary}")
            self._session.execute(f"DROP TABLE IF EXISTS {self._encoding.coded}")
            self._encoding = None


def _code_type(size: int) -> str:
    """Return the narrowest type for codes below ``size``."""
    return "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER"


def _suppressed_groups(plan: Plan) -> pa.Table:
    """Return the suppressed tuples of label codes as columns g0, g1, …"""
    codes = [integers(np.asarray(codes, dtype=np.int64)) for codes in plan.suppressed.values()]
    return pa.table({f"g{position}": column for position, column in enumerate(codes or [integers(np.empty(0, "i8"))])})


def _random_keys(rows: int) -> pa.RecordBatchReader:
    """Return so many uniform 64-bit keys as a stream; 5 million rows collide with a chance below one in a million."""
    schema = pa.schema([("key", pa.uint64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, KEYS_PER_BATCH):
            keys = np.frombuffer(os.urandom(8 * min(KEYS_PER_BATCH, rows - start)), dtype=np.uint64)
            yield pa.record_batch([integers(keys)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
