"""SqlRows: the engine's verbs as SQL that every engine runs, on a relation whose cells are compared by their keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from indistinct.array_types import IntArray
from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.plans import Condition, ValueCounts
from indistinct.engine.rows import Encoded, Rows
from indistinct.engine.sql import digests
from indistinct.engine.sql.dialect import Cell, Dialect, eligible, has_text
from indistinct.errors import TableError

ColumnValues = Mapping[str, tuple[str | None, ...]]
"""The distinct values of some columns."""


class SqlSource(ABC):
    """A relation with rows: ``relation`` is what stands after FROM, ``types`` has the type of each column."""

    dialect: Dialect
    name: str
    relation: str
    types: Mapping[str, str]

    @abstractmethod
    def cell(self, column: str) -> Cell:
        """Return the cells of a column, or raise if there is none or they cannot be compared as text."""

    @abstractmethod
    def identifier(self, column: str) -> str:
        """Return a column of the relation as SQL, whatever its type."""

    @abstractmethod
    def arrow(self, sql: str) -> pa.Table:
        """Return the rows of a query; they must not be as many as those of the table."""

    @abstractmethod
    def relation_of(self, table: pa.Table) -> str:
        """Return what stands after FROM for a table of the driver."""

    @abstractmethod
    def forget(self, *relations: str) -> None:
        """Let go of stored relations, and of tables of the driver."""

    def row_numbers(self, ids: IntArray) -> IntArray:
        """Return the row numbers, from 1, of ids as the dialect gives them."""
        return ids

    def text(self, column: str) -> str:
        """Return the SQL of a column's cells as the text by which they are compared, where missing is empty."""
        return self.cell(column).key

    def texts(self, columns: Sequence[str], letter: str) -> list[str]:
        """Return the SQL of some columns' cells as texts that are called by a letter and a number."""
        return [f"{self.text(column)} AS {letter}{position}" for position, column in enumerate(columns)]

    def relation_to_count(self, columns: Sequence[str]) -> tuple[str, str]:
        """Return what has the cells of some columns, and the SQL of the number of rows in a group of it."""
        return self.relation, "count(*)"

    def value_lists(self, counted: str, groups: Sequence[str]) -> pa.Table:
        """Return the list ``texts`` and the list ``sizes`` of each group of a query, in the order of the groups."""
        names = ", ".join(groups)
        return self.arrow(
            f"SELECT array_agg(text) AS texts, array_agg(size) AS sizes FROM ({counted}) AS counted "
            f"{f'GROUP BY {names} ORDER BY {names}' if groups else 'HAVING count(*) > 0'}"
        )

    def rows_of(self, relation: str) -> int:
        """Return how many rows a relation has."""
        return int(self.arrow(f"SELECT count(*) AS n FROM {relation}")["n"][0].as_py())

    def refuse_changed(self, is_changed: bool) -> None:
        """Raise if the rows are no longer those that were counted."""
        if is_changed:
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")


FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


class SqlRows(Rows):
    """A table of an SQL engine."""

    source: SqlSource

    @abstractmethod
    def select(self, cells: Mapping[str, str], rows: str, typed: frozenset[str], *, is_stored: bool = False) -> Self:
        """Return rows of their own with these cells, the SQL of each column, which are selected from ``rows``.

        ``typed`` are the columns that keep their own type. Rows that are stored need this table no longer.
        """

    @abstractmethod
    def close_but_for(self, derived: Self) -> None:
        """Close this table, but leave to rows that were derived from it what they are computed of."""

    def columns(self) -> tuple[str, ...]:
        return tuple(self.source.types)

    def count(self) -> int:
        if self._count is None:
            self._count = self.source.rows_of(self.source.relation)
        return self._count

    _count: int | None = None

    def with_names(self, names: Mapping[str, str]) -> Self:
        cells = {names.get(column, column): self.source.identifier(column) for column in self.columns()}
        return self.select(cells, self.source.relation, frozenset())

    def head(self, rows: int) -> pa.Table:
        found = self.source.arrow(f"SELECT * FROM {self.source.relation} LIMIT {int(rows)}")
        return found.rename_columns(list(self.columns()))

    def sizes_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> IntArray:
        if not columns:
            rows = f"({self._people((), person)}) AS people" if person else self.source.relation
            query = f"SELECT count(*) AS size FROM {rows} HAVING count(*) > 0"
        elif person:
            names = ", ".join(f"g{position}" for position in range(len(columns)))
            people = self._people(columns, person)
            query = f"SELECT count(*) AS size FROM ({people}) AS people GROUP BY {names} ORDER BY {names}"
        else:
            relation, size = self.source.relation_to_count(columns)
            query = f"SELECT {size} AS size FROM {relation} GROUP BY {', '.join(map(self.source.text, columns))}"
        return numbers(self.source.arrow(query)["size"]).astype(np.int64)

    def alone_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> int:
        cells = list(map(self.source.text, columns))
        if person:
            whose = [self.source.text(column) for column in person]
            relation = f"({digests.profiles(self.source.dialect, cells, whose, self.source.relation)}) AS profiles"
            keys, size = "digest", "count(*)"
        else:
            relation, size = self.source.relation_to_count(columns)
            keys = ", ".join(dict.fromkeys(cells))
        groups = f"SELECT {size} AS size FROM {relation} GROUP BY {keys} HAVING {size} = 1"
        return self.source.rows_of(f"({groups}) AS alone")

    def formula_cells(self, columns: Sequence[str]) -> int:
        begins = ", ".join(self.source.dialect.text(letter) for letter in FORMULA_BEGINNINGS)
        cells = [self.source.cell(column) for column in columns]
        counts = [
            f"count(CASE WHEN substr({cell.key}, 1, 1) IN ({begins}) AND {cell.number} IS NULL THEN 1 END)"
            for cell in cells
        ]
        found = self.source.arrow(f"SELECT {' + '.join(counts) or '0'} AS n FROM {self.source.relation}")
        return int(found["n"][0].as_py())

    def values_by(self, columns: Sequence[str], column: str, person: Sequence[str] = ()) -> ValueCounts:
        names, value = [f"g{position}" for position in range(len(columns))], f"{self.source.text(column)} AS text"
        if person:
            cells = self._people(columns, person, value)
            listed = ", ".join([*names, "text"])
            counted = f"SELECT {listed}, count(*) AS size FROM ({cells}) AS people GROUP BY {listed}"
        else:
            relation, size = self.source.relation_to_count([*columns, column])
            cells = ", ".join([*self.source.texts(columns, "g"), value])
            keys = ", ".join(dict.fromkeys(map(self.source.text, [*columns, column])))
            counted = f"SELECT {cells}, {size} AS size FROM {relation} GROUP BY {keys}"
        return _value_counts(self.source.value_lists(counted, names), self.source.cell(column))

    def repeats_of(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> tuple[int, int]:
        names = [f"k{position}" for position in range(len(columns))]
        cells = ", ".join(self.source.texts(columns, "k"))
        present = " AND ".join(f"{name} <> ''" for name in names)
        found = self.source.arrow(
            "SELECT coalesce(sum(n), 0) AS n, count(*) AS different FROM (SELECT count(*) AS n FROM "
            f"(SELECT {cells} FROM {self.source.relation} WHERE {eligible(where, self.source.cell)}) AS cells "
            f"WHERE {present} GROUP BY {', '.join(names)}) AS counted"
        )
        return int(found["n"][0].as_py()), int(found["different"][0].as_py())

    def mixed_missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        cells = {column: self.source.cell(column) for column in columns}
        for form in ("count(*) > count({0.name})", "count({0.name}) > count(nullif({0.key}, ''))"):  # files know nulls
            asked = [column for column in columns if cells[column].has_forms_of_missing]
            if not asked:
                return ()
            shown = ", ".join(f"{form.format(cells[column])} AS m{place}" for place, column in enumerate(asked))
            found = self.source.arrow(f"SELECT {shown} FROM {self.source.relation}").to_pylist()[0].values()
            columns = [column for column, has_form in zip(asked, found, strict=True) if has_form]
        return tuple(columns)

    def with_missing(self, texts: Mapping[str, Sequence[str]], left_out: Mapping[str, Sequence[str]]) -> Self:
        cells = {column: self.source.identifier(column) for column in self.columns()}
        for column, some in texts.items():
            if some:
                cell = self.source.cell(column)
                cells[column] = f"CASE WHEN {has_text(cell, some)} THEN NULL ELSE {cell.own} END"
        out = " OR ".join(has_text(self.source.cell(column), some) for column, some in left_out.items() if some)
        rows = f"{self.source.relation} WHERE NOT ({out or 'false'})"
        return self.select(cells, rows, frozenset(self.columns()))

    def with_labels(self, labels: Mapping[str, Mapping[str | None, str | None]]) -> Self:
        places = [place for place, own in enumerate(labels.values()) for _ in own]
        known = pa.table(
            {
                "position": integers(np.array(places, np.int64)),
                "text": text_column([text or "" for own in labels.values() for text in own]),
                "label": text_column([label for own in labels.values() for label in own.values()]),
            }
        )
        given, cells, joins, typed = self.source.relation_of(known), self._aliases(), "", set(self.columns())
        for place, (column, own) in enumerate(labels.items()):
            cell = self.source.cell(column)
            kind = cell.type_of_labels(own.values())
            cells[column] = f"l{place}.label" if kind is None else f"CAST(l{place}.label AS {kind})"
            typed -= {column} if kind is None else set()
            joins += (
                f" LEFT JOIN (SELECT coalesce({cell.key_of('text')}, '') AS k, label FROM {given} "
                f"WHERE position = {place}) AS l{place} ON r.t{place} = l{place}.k"
            )
        rows = self.select(cells, f"({self._with_alias(list(labels))}) AS r{joins}", frozenset(typed))
        self.close_but_for(rows)
        return rows

    def with_profiles(self, columns: Sequence[str], person: Sequence[str], name: str) -> Self:
        whose = [self.source.text(column) for column in person]
        cells = map(self.source.text, columns)
        profiles = digests.profiles(self.source.dialect, cells, whose, self.source.relation)
        same = " AND ".join(f"r.t{number} = f.p{number}" for number in range(len(person)))
        rows = f"({self._with_alias(person)}) AS r JOIN ({profiles}) AS f ON {same}"
        return self.select(self._aliases() | {name: "f.digest"}, rows, frozenset(self.columns()), is_stored=True)

    def with_pseudonyms(self, person: Sequence[str], key: bytes, name: str) -> Self:
        left = [column for column in self.columns() if column not in person]
        cells = {column: self.source.identifier(column) for column in left}
        cells[name] = digests.pseudonym(self.source.dialect, map(self.source.text, person), key)
        rows = self.select(cells, self.source.relation, frozenset(left), is_stored=True)
        self.close_but_for(rows)
        return rows

    def without(self, columns: Sequence[str]) -> Self:
        left = [column for column in self.columns() if column not in columns]
        cells = {column: self.source.identifier(column) for column in left}
        rows = self.select(cells, self.source.relation, frozenset(left))
        self.close_but_for(rows)
        return rows

    def _people(self, columns: Sequence[str], person: Sequence[str], *more: str) -> str:
        """Return the SQL of each person with each combination g0, g1, … of cells, and with more cells, once."""
        cells = [*self.source.texts(columns, "g"), *more, *self.source.texts(person, "p")]
        return f"SELECT DISTINCT {', '.join(cells)} FROM {self.source.relation}"

    def _aliases(self) -> dict[str, str]:
        """Return the cells of all columns as ``_with_alias`` calls them: a user's name could be one of ours."""
        return {column: f"r.y{number}" for number, column in enumerate(self.columns())}

    def _with_alias(self, keys: Sequence[str]) -> str:
        """Return the SQL of all rows as y0, y1, …, with the keys t0, t1, … of some columns."""
        cells = [f"{self.source.identifier(column)} AS y{number}" for number, column in enumerate(self.columns())]
        return f"SELECT {', '.join([*cells, *self.source.texts(keys, 't')])} FROM {self.source.relation}"


class SqlEncoded(Encoded):
    """Encoded columns of a table of an SQL engine: rows are found again by the keys of their cells."""

    _source: SqlSource
    _where: str
    """The SQL of what makes a row eligible."""

    @abstractmethod
    def keys_of(self, column: str, codes: Sequence[int]) -> pa.Array:
        """Return the key of each of some codes."""

    def rows_with(self, column: str, codes: Sequence[int], limit: int = 5) -> list[int]:
        self.refuse_closed()
        source = self._source
        wanted = source.relation_of(pa.table({"wanted": self.keys_of(column, codes)}))
        cells = f"{source.dialect.row_id} AS id, {source.text(column)} AS k, {self._where} AS is_eligible"
        found = source.arrow(
            f"SELECT id FROM (SELECT {cells} FROM {source.relation}) AS numbered WHERE is_eligible "
            f"AND k IN (SELECT wanted FROM {wanted} AS w) ORDER BY id LIMIT {int(limit)}"
        )
        source.forget(wanted)
        return list(map(int, source.row_numbers(numbers(found["id"]))))

    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        self.refuse_closed()
        source, names = self._source, [f"k{position}" for position in range(len(tuples))]
        number = max((len(codes) for codes in tuples.values()), default=0)
        keys = {name: self.keys_of(column, tuples[column]) for name, column in zip(names, tuples, strict=True)}
        wanted = source.relation_of(pa.table({"tuple": integers(np.arange(number))} | keys))
        shown = [f"s{position}" for position in range(len(show))]
        cells = ", ".join(
            [f"{source.dialect.row_id} AS id", *source.texts(list(tuples), "k"), *source.texts(show, "s")]
        )
        joined = join(f"SELECT {cells} FROM {source.relation}", wanted, names)
        listed = ", ".join(["tuple", "id", *shown])
        place = "row_number() OVER (PARTITION BY tuple ORDER BY id) AS place"
        found = source.arrow(
            f"SELECT {listed} FROM (SELECT {listed}, {place} FROM {joined}) AS ranked "
            f"WHERE place <= {int(limit)} ORDER BY tuple, id"
        )
        source.forget(wanted)
        texts = {
            name: text_column([source.cell(column).text(key) for key in found[name].to_pylist()]).cast(pa.string())
            for name, column in zip(shown, show, strict=True)
        }
        return pa.table({"tuple": found["tuple"], "number": source.row_numbers(numbers(found["id"]))} | texts)


def join(rows: str, other: str, names: Sequence[str]) -> str:
    """Return the SQL after FROM of a query joined with a relation by these columns; without columns each with each."""
    return f"({rows}) AS r " + (
        f"JOIN {other} AS o USING ({', '.join(names)})" if names else f"CROSS JOIN {other} AS o"
    )


def surplus(mine: str, theirs: str, columns: int) -> str:
    """Return the SQL of the number n of rows that a query has beyond those of another, as multisets.

    ``mine`` calls its columns k0, k1, …; one grouping does what EXCEPT ALL would.
    """
    names = ", ".join(f"k{position}" for position in range(columns))
    both = f"SELECT *, 1 AS sign FROM ({mine}) AS mine UNION ALL SELECT *, -1 AS sign FROM ({theirs}) AS theirs"
    counted = f"SELECT sum(sign) AS n FROM ({both}) AS signed GROUP BY {names}"
    return f"SELECT coalesce(sum(n), 0) AS n FROM ({counted}) AS counted WHERE n > 0"


def _value_counts(table: pa.Table, cell: Cell) -> ValueCounts:
    """Return the entries of groups, each of which has a list of texts and one of their sizes."""
    if not table.num_rows:
        nothing = np.zeros(0, np.int64)
        return ValueCounts(nothing, nothing, nothing, ())
    keys, sizes = (table.combine_chunks()[name].combine_chunks() for name in ("texts", "sizes"))
    lengths = np.diff(np.from_dlpack(keys.offsets))
    coded = keys.flatten().dictionary_encode()
    texts = [cell.text(key) for key in coded.dictionary.to_pylist()]
    order = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
    number = np.empty(len(texts), np.int64)
    number[order] = np.arange(len(texts))
    return ValueCounts(
        np.repeat(np.arange(len(lengths)), lengths),
        number[np.from_dlpack(coded.indices)],
        np.from_dlpack(sizes.flatten()).astype(np.int64),
        tuple(texts[code] for code in order),
    )
