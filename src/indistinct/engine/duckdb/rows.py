"""DuckRows: the engine's verbs on a table, view or scan in a DuckDB session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column, without_rests
from indistinct.engine.duckdb.changed_cells import Change, changed_numbers, moment_sql, number_sql
from indistinct.engine.duckdb.distinct_lines import StoredRows
from indistinct.engine.duckdb.encoded import DuckEncoded
from indistinct.engine.duckdb.histories import (
    members_sql,
    profile_sql,
    pseudonym_sql,
    recognise_sql,
    refuse_unusable_keys,
)
from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.recoding import LINE, Stored
from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.duckdb.source import DuckSource, eligible
from indistinct.engine.duckdb.table_files import write_file
from indistinct.engine.plans import PERSON, Condition, Recognition, ValueCounts
from indistinct.engine.rows import Rows


class DuckRows(Rows):
    """A table, view or scan in a DuckDB session. ``views``, the last first, and the tables ``stored`` are its own."""

    def __init__(
        self,
        session: Session,
        relation: str,
        origin: Origin,
        typed: frozenset[str] | None = None,
        stored: tuple[str, ...] = (),
        views: tuple[str, ...] = (),
        max_tuples: int | None = None,
    ) -> None:
        super().__init__(session.name, origin.kind, max_tuples)
        self.source = DuckSource(session, relation, origin.repeats)
        self._origin = origin
        self._typed = frozenset(self.source.types) if typed is None else typed
        self._stored = stored
        self._views = views
        self._count: int | None = None
        self._closed = False
        self.notes = origin.notes
        session.retain()

    def columns(self) -> tuple[str, ...]:
        return tuple(self.source.types)

    def count(self) -> int:
        if self._count is None:
            self._count = self.source.rows_of(self.source.relation)
        return self._count

    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> DuckEncoded:
        self.encodings.free_forgotten()
        return DuckEncoded(self, columns, where)

    def with_max_tuples(self, max_tuples: int) -> DuckRows:
        session, relation = self.source.session, self.source.relation
        return DuckRows(session, relation, self._origin, self._typed, max_tuples=max_tuples)

    def with_names(self, names: Mapping[str, str]) -> DuckRows:
        session, relation = self.source.session, self.source.relation
        cells = [f"{quote(column)} AS {quote(names.get(column, column))}" for column in self.columns()]
        view = session.create_view(f"SELECT {', '.join(cells)} FROM {relation}")
        typed = frozenset(names.get(column, column) for column in self._typed)
        origin = self._origin.with_names({column: names.get(column, column) for column in self.columns()})
        return DuckRows(session, view, origin, typed, views=(view,), max_tuples=self.max_tuples)

    def derive(self, cells: Sequence[str], stored: str, typed: frozenset[str]) -> DuckRows:
        """Return these cells of a stored table as rows of the same kind; they own the table."""
        view = self.source.session.create_view(f"SELECT {', '.join(cells)} FROM {stored}")
        return DuckRows(self.source.session, view, self._origin, typed & self._typed, (stored,), (view,))

    def derive_released(self, shown: Mapping[str, str], typed: frozenset[str], stored: Stored) -> DuckRows:
        """Return the cells r0, r1, … of stored rows, as they are shown, as rows of the same kind, which own them."""
        session = self.source.session
        view = session.fresh("source")
        repeats = StoredRows(view, session, stored.table, shown, LINE if stored.has_lines else None, stored.kinds)
        cells = ", ".join(f"{sql} AS {quote(column)}" for column, sql in shown.items())
        session.execute(f"CREATE VIEW {view} AS SELECT {cells} FROM {repeats.rows}")
        tables = (stored.table, *([] if stored.kinds is None else [stored.kinds]))
        return DuckRows(session, view, replace(self._origin, repeats=repeats), typed & self._typed, tables, (view,))

    def with_labels(self, labels: Mapping[str, Mapping[str | None, str | None]]) -> DuckRows:
        session, source = self.source.session, self.source
        told = session.fresh("labels")
        places = [place for place, own in enumerate(labels.values()) for _ in own]
        texts = text_column([text or "" for own in labels.values() for text in own])
        shown = text_column([label for own in labels.values() for label in own.values()])
        data = pa.table({"position": integers(np.array(places, np.int64)), "text": texts, "label": shown})
        with session.registered_table(data) as given:
            session.execute(f"CREATE TABLE {told} AS SELECT * FROM {given}")
        types = {column: source.type_of_labels(column, own.values()) for column, own in labels.items()}
        place_of = {column: place for place, column in enumerate(labels)}
        cells = [
            f"l{place_of[column]}.label::{types[column]} AS {quote(column)}"
            if column in labels
            else f"r.{quote(column)}"
            for column in self.columns()
        ]
        keys = [f"{source.text(column)} AS t{place}" for column, place in place_of.items()]
        joins = "".join(
            f" LEFT JOIN (SELECT text, label FROM {told} WHERE position = {place}) AS l{place} "
            f"ON r.t{place} = l{place}.text"
            for place in range(len(labels))
        )
        view = session.create_view(
            f"SELECT {', '.join(cells)} FROM (SELECT *, {', '.join(keys)} FROM {source.relation}) AS r{joins}"
        )
        typed = self._typed - {column for column, kind in types.items() if kind == "VARCHAR"}
        rows = DuckRows(session, view, self._origin, typed, (told,), (view, *self._views), self.max_tuples)
        self._views = ()
        self.close()
        return rows

    def with_missing(self, texts: Mapping[str, Sequence[str]], left_out: Mapping[str, Sequence[str]]) -> DuckRows:
        cells = [
            f"CASE WHEN {self.source.has_text(column, texts[column])} THEN NULL ELSE {self.source.own_cell(column)} "
            f"END AS {quote(column)}"
            if texts.get(column)
            else quote(column)
            for column in self.columns()
        ]
        out = " OR ".join(self.source.has_text(column, some) for column, some in left_out.items() if some)
        view = self.source.session.create_view(
            f"SELECT {', '.join(cells)} FROM {self.source.relation} WHERE NOT ({out or 'false'})"
        )
        return DuckRows(self.source.session, view, self._origin, self._typed, views=(view,), max_tuples=self.max_tuples)

    def to_native(self) -> object:
        table = self.source.session.arrow(f"SELECT * FROM {self.source.relation}")
        return self._origin.to_native(without_rests(table), self._typed)

    def write(self, folder: Path, name: str = "table") -> Path:
        return write_file(self.source, folder, name, self._origin)

    def format(self) -> dict[str, str]:
        return {} if self._origin.delimiter is None else {"delimiter": self._origin.delimiter}

    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        if not columns:
            return max(0, self.count() - other.count())
        mine = self.source.all_texts(columns)
        if isinstance(other, DuckRows) and other.source.session is self.source.session:
            return self._count_unmatched_rows(mine, other.source.all_texts(columns), columns)
        with self.source.session.registered_table(other.texts(columns)) as theirs:
            return self._count_unmatched_rows(mine, f"SELECT * FROM {theirs}", columns)

    def sizes_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> NDArray[np.int64]:
        grouping = f"GROUP BY {', '.join(map(self.source.text, columns))}" if columns else "HAVING count(*) > 0"
        relation, size = self._what_to_count(columns)
        query = f"SELECT {size} AS size FROM {relation} {grouping}"
        if person:
            names, cells = self._told_apart(columns, person)
            ordered = f"GROUP BY {names} ORDER BY {names}" if columns else "HAVING count(*) > 0"
            query = f"SELECT count(*) AS size FROM ({cells}) {ordered}"
        return numbers(self.source.session.arrow(query)["size"]).astype(np.int64)

    def repeats_of(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> tuple[int, int]:
        condition, parameters = eligible(where, self.source.text)
        cells = ", ".join(f"{self.source.text(column)} AS k{position}" for position, column in enumerate(columns))
        keys = ", ".join(f"k{position}" for position in range(len(columns)))
        present = " AND ".join(f"k{position} <> ''" for position in range(len(columns)))
        rows, distinct = self.source.session.fetch(
            f"SELECT coalesce(sum(n), 0), count(*) FROM (SELECT count(*) AS n FROM (SELECT {cells} "
            f"FROM {self.source.relation} WHERE {condition}) WHERE {present} GROUP BY {keys})",
            parameters,
        )[0]
        return int(rows), int(distinct)

    def unreadable_dates(self, column: str, form: str | None, where: Sequence[Condition] = ()) -> int:
        condition, parameters = eligible(where, self.source.text)
        moment = moment_sql(self.source.types[column], self.source.own_cell(column), form)
        found = self.source.session.fetch(
            f"SELECT count(*) FROM {self.source.relation} WHERE {condition} AND {self.source.text(column)} <> '' "
            f"AND {moment} IS NULL",
            parameters,
        )
        return int(found[0][0])

    def unreadable_numbers(self, column: str, where: Sequence[Condition] = ()) -> int:
        condition, parameters = eligible(where, self.source.text)
        found = self.source.session.fetch(
            f"SELECT count(*) FROM {self.source.relation} WHERE {condition} AND {self.source.text(column)} <> '' "
            f"AND {number_sql(self.source.text(column))} IS NULL",
            parameters,
        )
        return int(found[0][0])

    def with_numbers(self, changes: Mapping[str, Change]) -> DuckRows:
        stored, types = changed_numbers(self.source, changes)
        cells = [
            f"{f'n{list(changes).index(column)}::{types[column]}' if column in changes else f'o{place}'} "
            f"AS {quote(column)}"
            for place, column in enumerate(self.columns())
        ]
        rows = self.derive(cells, stored, self._typed - set(changes))
        self.close()
        return rows

    def _told_apart(self, columns: Sequence[str], person: Sequence[str], *more: str) -> tuple[str, str]:
        """Return the names g0, g1, … of some columns, and the SQL of each person with each combination of cells."""
        names = [f"g{position}" for position in range(len(columns))]
        cells = [f"{self.source.text(name)} AS {alias}" for name, alias in zip(columns, names, strict=True)]
        cells += [*more, *(f"{self.source.text(name)} AS p{number}" for number, name in enumerate(person))]
        return ", ".join(names), f"SELECT DISTINCT {', '.join(cells)} FROM {self.source.relation}"

    def _what_to_count(self, columns: Sequence[str]) -> tuple[str, str]:
        """Return what has the cells of some columns, and the SQL of the number of rows in a group of it."""
        distinct = self.source.distinct_rows(columns) if columns else None
        if distinct is None or distinct.weight is None:
            return self.source.relation, "count(*)"
        return distinct.relation, f"sum({quote(distinct.weight)})::BIGINT"

    def values_by(self, columns: Sequence[str], column: str, person: Sequence[str] = ()) -> ValueCounts:
        names = [f"g{position}" for position in range(len(columns))]
        cells = ", ".join(f"{self.source.text(name)} AS {alias}" for name, alias in zip(columns, names, strict=True))
        keys = ", ".join(names)
        relation, size = self._what_to_count([*columns, column])
        counted = (
            f"SELECT {cells}{', ' if cells else ''}{self.source.text(column)} AS text, {size} AS size "
            f"FROM {relation} GROUP BY ALL"
        )
        if person:
            _, apart = self._told_apart(columns, person, f"{self.source.text(column)} AS text")
            counted = (
                f"SELECT {''.join(f'{name}, ' for name in names)}text, count(*) AS size FROM ({apart}) GROUP BY ALL"
            )
        table = self.source.session.arrow(
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

    def mixed_missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        if self.kind == "csv":  # text has one form
            return ()
        for form in ("count(*) > count({cell})", "count({cell}) > count(nullif({text}, ''))"):  # files know of nulls
            asked = [column for column in columns if self.source.has_forms_of_missing(column)]
            if not asked:
                return ()
            said = ", ".join(form.format(cell=quote(column), text=self.source.text(column)) for column in asked)
            found = self.source.session.fetch(f"SELECT {said} FROM {self.source.relation}")[0]
            columns = [column for column, has_form in zip(asked, found, strict=True) if has_form]
        return tuple(columns)

    def head(self, rows: int) -> pa.Table:
        return self.source.session.arrow(f"SELECT * FROM {self.source.relation} LIMIT {int(rows)}")

    def row_at(self, number: int) -> pa.Table:
        return self.source.session.arrow(f"SELECT * FROM {self.source.relation} LIMIT 1 OFFSET {int(number) - 1}")

    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        return self.source.session.stream(self.source.all_texts(columns))

    def recognise(self, how: Recognition) -> DuckRows:
        told = self.source.session.fresh("told")
        texts = {column: self.source.text(column) for column in self.columns()}
        condition, parameters = eligible(how.where, self.source.text)
        rows = f"(SELECT * FROM {self.source.relation} WHERE {condition})"
        self.source.session.execute(f"CREATE TABLE {told} AS {recognise_sql(rows, texts, how)}", parameters)
        found = self.derive(["*"], told, self._typed - set(how.based))
        refuse_unusable_keys(self.source.session, told, how)
        return found

    def write_members(self, released: Rows, path: Path, group: Sequence[str], values: Sequence[str]) -> None:
        assert isinstance(released, DuckRows)
        labels = {column: released.source.text(column) for column in group}
        cells = {column: self.source.text(column) for column in values}
        has_people = PERSON in self.columns()
        query = members_sql(released.source.relation, self.source.relation, labels, cells, has_people)
        self.source.session.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")

    def with_profiles(self, columns: Sequence[str], person: Sequence[str], name: str) -> DuckRows:
        text, relation = self.source.text, self.source.relation
        told = self.source.session.fresh("told")
        profiles = profile_sql(map(text, columns), map(text, person), relation)
        same = " AND ".join(f"{text(column)} = f.p{number}" for number, column in enumerate(person))
        self.source.session.execute(
            f"CREATE TABLE {told} AS SELECT r.*, f.digest AS {quote(name)} FROM {relation} AS r "
            f"JOIN ({profiles}) AS f ON {same}"
        )
        return self.derive(["*"], told, self._typed)

    def with_pseudonyms(self, person: Sequence[str], key: bytes, name: str) -> DuckRows:
        told = self.source.session.fresh("told")
        cells = [quote(column) for column in self.columns() if column not in person]
        pseudonym = pseudonym_sql(map(self.source.text, person), key)
        self.source.session.execute(
            f"CREATE TABLE {told} AS SELECT {', '.join([*cells, f'{pseudonym} AS {quote(name)}'])} "
            f"FROM {self.source.relation}"
        )
        rows = self.derive(["*"], told, self._typed - set(person))
        self.close()
        return rows

    def without(self, columns: Sequence[str]) -> DuckRows:
        session, relation = self.source.session, self.source.relation
        view = session.fresh("view")
        left = [column for column in self.columns() if column not in columns]
        session.execute(f"CREATE VIEW {view} AS SELECT {', '.join(map(quote, left))} FROM {relation}")
        rows = DuckRows(session, view, self._origin, self._typed - set(columns), self._stored, (view, *self._views))
        self._stored, self._views = (), ()
        self.close()
        return rows

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        session = self.source.session
        session.release()
        self.encodings.close()
        if session.is_open:
            for view in self._views:
                session.execute(f"DROP VIEW {view}")
            session.drop(*self._stored)

    def _count_unmatched_rows(self, mine: str, theirs: str, columns: Sequence[str]) -> int:
        """Return the rows of one query beyond those of another, as multisets: one grouping instead of EXCEPT ALL."""
        names = ", ".join(map(quote, columns))
        found = self.source.session.fetch(
            f"SELECT sum(surplus) FROM (SELECT sum(sign) AS surplus FROM (SELECT *, 1 AS sign FROM ({mine}) "
            f"UNION ALL SELECT *, -1 AS sign FROM ({theirs})) GROUP BY {names}) WHERE surplus > 0"
        )
        return int(found[0][0] or 0)
