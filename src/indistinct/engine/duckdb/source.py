"""DuckSource: a table, view or scan in a DuckDB session, and its eligible rows as codes.

Dictionaries hold the distinct values of some columns. Cells become text and text becomes codes by joins with one
dictionary table: measured at 5 million rows, that is as fast as ENUM casts for small dictionaries, ten times faster for
large ones, and it spills.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import WideCodes, encode_texts, integers, numbers, text_column
from indistinct.engine.duckdb.dialect import DUCKDB, DuckCell, quote
from indistinct.engine.duckdb.distinct_lines import Repeats, WeightedRows
from indistinct.engine.duckdb.session import Session
from indistinct.engine.plans import Condition
from indistinct.engine.sql.dialect import eligible
from indistinct.engine.sql.rows import ColumnValues, SqlSource
from indistinct.errors import TableError

WIDE = 400
"""The most columns that are encoded by statements."""
MOST_WIDE_CELLS = 200_000_000
"""The most cells of wide tables whose codes are held beside DuckDB; a byte each, mostly."""
AT_ONCE = 40
"""The most columns in one statement; more are encoded step by step."""


class DuckSource(SqlSource):
    """A relation of a session, its columns and their types."""

    dialect = DUCKDB

    def __init__(self, session: Session, relation: str, repeats: Repeats | None = None) -> None:
        """Take a relation, and how its rows repeat; what is known of another relation does not matter."""
        self.session = session
        self.relation = relation
        self.repeats = repeats if repeats is not None and repeats.relation == relation else None
        self.name = session.name
        described = session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {relation})")
        self.types = dict(described)
        self.sent: list[str] = []
        """Tables that came from the driver."""

    def cell(self, column: str) -> DuckCell:
        if column not in self.types:
            raise TableError(f"{self.name}: no column {column!r}")
        return DuckCell.of(self.name, column, self.types[column])

    def identifier(self, column: str) -> str:
        return quote(column)

    def arrow(self, sql: str) -> pa.Table:
        return self.session.arrow(sql)

    def relation_of(self, table: pa.Table) -> str:
        self.sent.append(self.session.fresh("sent"))
        with self.session.registered_table(table) as given:
            self.session.execute(f"CREATE TABLE {self.sent[-1]} AS SELECT * FROM {given}")
        return self.sent[-1]

    def forget(self, *relations: str) -> None:
        self.session.drop(*relations)
        self.sent = [table for table in self.sent if table not in relations]

    def relation_to_count(self, columns: Sequence[str]) -> tuple[str, str]:
        distinct = self.distinct_rows(columns) if columns else None
        if distinct is None or distinct.weight is None:
            return self.relation, "count(*)"
        return distinct.relation, f"sum({quote(distinct.weight)})::BIGINT"

    def distinct_rows(self, columns: Sequence[str] | None = None) -> WeightedRows | None:
        """Return different rows once, with at least these columns or with all; None where nothing is gained."""
        return None if self.repeats is None else self.repeats.distinct_rows(columns)

    def all_texts(self, columns: Sequence[str]) -> str:
        """Return the SQL of all rows as text cells, missing as null."""
        cells = ", ".join(f"nullif({self.text(column)}, '') AS {quote(column)}" for column in columns)
        return f"SELECT {cells} FROM {self.relation}"


@dataclass(frozen=True, slots=True)
class Encoding:
    """Where codes are: ``dictionary`` has a row per value, ``coded`` a row of codes for each of ``rows`` rows."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    dictionary: str
    coded: str
    where: str
    relation: str
    """What the codes were made of: all rows, or each different one once."""
    weight: str | None
    """The column of ``relation`` with the number of rows that are alike; ``coded`` has it as n."""
    rows: int = 0
    wide: WideCodes | None = None
    """The codes of wide tables, which are found together with the values."""

    @property
    def number_of_rows(self) -> str:
        """The SQL of the number of rows in a group of ``coded``."""
        return "count(*)" if self.weight is None else "coalesce(sum(n), 0)::BIGINT"

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)


def make_encoding(
    source: DuckSource, columns: Sequence[str], where: Sequence[Condition]
) -> tuple[Encoding, ColumnValues]:
    """Create the dictionary; return where it is, without rows, and the distinct values of each column."""
    columns, condition = tuple(columns), eligible(where, source.cell)
    if _is_wide(source, columns):
        return _encode_wide(source, columns, condition)
    distinct = source.distinct_rows()
    if distinct is not None:
        with suppress(TableError):  # a line that cannot be parsed: of all lines it is said which one it is
            return _encode(source, columns, condition, distinct)
    return _encode(source, columns, condition, WeightedRows(source.relation, None))


def _is_wide(source: DuckSource, columns: tuple[str, ...]) -> bool:
    """Return whether columns are many, and the whole table is text, which is what it is in Arrow, too."""
    is_known = all(column in source.types for column in columns)
    if len(columns) <= WIDE or not is_known or any(kind != "VARCHAR" for kind in source.types.values()):
        return False
    return source.rows_of(source.relation) * len(columns) <= MOST_WIDE_CELLS


def _encode_wide(source: DuckSource, columns: tuple[str, ...], condition: str) -> tuple[Encoding, ColumnValues]:
    dictionary, coded = source.session.fresh("dictionary"), source.session.fresh("coded")
    found = _wide_codes(source, f"{source.relation} WHERE {condition}", columns)
    _store_dictionary(source.session, dictionary, found.values)
    sizes = tuple(len(found.values[column]) for column in columns)
    made = Encoding(columns, sizes, dictionary, coded, condition, source.relation, None, wide=found)
    return made, found.values


def _wide_codes(source: DuckSource, rows: str, columns: Sequence[str], copied: Sequence[str] = ()) -> WideCodes:
    return encode_texts(source.session.stream(f"SELECT * FROM {rows}"), columns, copied)


def _store_dictionary(session: Session, dictionary: str, values: ColumnValues) -> None:
    """Create the table of distinct values with their codes, as statements would."""
    sizes = [len(own) for own in values.values()]
    positions = np.repeat(np.arange(len(sizes)), sizes)
    codes = np.concatenate([np.arange(size) for size in sizes] or [np.zeros(0, np.int64)])
    texts = [text or "" for own in values.values() for text in own]
    table = pa.table({"position": integers(positions), "text": text_column(texts), "code": integers(codes)})
    with session.registered_table(table) as given:
        session.execute(
            f"CREATE TABLE {dictionary} AS SELECT position::INTEGER AS position, text::VARCHAR AS text, "
            f"code::BIGINT AS code FROM {given}"
        )


def _store_codes(session: Session, found: WideCodes, table: str) -> None:
    """Create the table of codes and copied cells."""
    both = found.codes
    for name in found.copied.column_names:
        both = both.append_column(name, found.copied[name])
    with session.registered_table(both) as given:
        session.execute(f"CREATE TABLE {table} AS SELECT * FROM {given}")


def _encode(
    source: DuckSource, columns: tuple[str, ...], condition: str, read: WeightedRows
) -> tuple[Encoding, ColumnValues]:
    dictionary, coded = source.session.fresh("dictionary"), source.session.fresh("coded")
    try:
        _make_dictionary(source, read.relation, dictionary, columns, condition)
        values = _values(source, dictionary, columns)
    except BaseException:
        source.session.drop(dictionary)
        raise
    sizes = tuple(len(values[column]) for column in columns)
    return Encoding(columns, sizes, dictionary, coded, condition, read.relation, read.weight), values


def with_codes(source: DuckSource, encoding: Encoding) -> Encoding:
    """Create the table of codes; return where they are, and of how many rows."""
    try:
        store_coded_rows(source, encoding, (), encoding.coded)
        if encoding.wide is not None:
            return replace(encoding, rows=encoding.wide.codes.num_rows)
        return replace(encoding, rows=count_known_codes(source, encoding, encoding.coded))
    except BaseException:
        source.session.drop(encoding.coded)
        raise


def store_coded_rows(source: DuckSource, encoding: Encoding, copied: Iterable[str], table: str) -> None:
    """Create the table of the eligible rows: c0, c1, … are the codes of encoded columns, o0, o1, … copied columns."""
    copied = list(copied)
    if encoding.wide is not None:
        found = encoding.wide
        if copied:  # which are read with the codes of their own rows once more, as below
            rows = f"{encoding.relation} WHERE {encoding.where}"
            found = _wide_codes(source, rows, encoding.columns, copied)
            source.refuse_changed(found.values != encoding.wide.values)
        _store_codes(source.session, found, table)
        return
    others = [f"{source.cell(column).own} AS o{position}" for position, column in enumerate(copied)]
    texts = [f"{source.text(column)} AS t{position}" for position, column in enumerate(encoding.columns)]
    number = "0 AS nothing" if encoding.weight is None else f"{quote(encoding.weight)} AS n"
    cells = f"SELECT {', '.join([*texts, *others, number])} FROM {encoding.relation} WHERE {encoding.where}"
    shown = [*(f"o{place}" for place in range(len(others))), *([] if encoding.weight is None else ["n"])]
    if len(texts) > AT_ONCE:
        _store_in_parts(source, encoding, cells, shown, table)
        return
    codes, joins = _codes_joined(encoding, range(len(texts)))
    made = f"SELECT {', '.join([*codes, *shown]) or 'nothing'} FROM ({cells}) AS cells{joins}"
    source.session.execute(f"CREATE TABLE {table} AS {made}")


def _store_in_parts(source: DuckSource, encoding: Encoding, cells: str, others: Sequence[str], table: str) -> None:
    """Return some columns their codes at a time, then put rows together by their numbers.

    The time to plan a query grows with the cube of the number of its joins: 240 columns took a minute, and take 2 s.
    """
    session, number = source.session, len(encoding.columns)
    parts = [range(start, min(start + AT_ONCE, number)) for start in range(0, number, AT_ONCE)]
    stored = [session.fresh("numbered"), *(session.fresh("part") for _ in parts)]
    try:
        numbered = f"SELECT *, row_number() OVER () AS number FROM ({cells})"
        session.execute(f"CREATE TABLE {stored[0]} AS {numbered}")
        for part, own in zip(parts, stored[1:], strict=True):
            codes, joins = _codes_joined(encoding, part)
            made = f"SELECT number, {', '.join(codes)} FROM {stored[0]} AS cells{joins}"
            session.execute(f"CREATE TABLE {own} AS {made}")
        joins = "".join(f" JOIN {own} USING (number)" for own in stored[1:])
        shown = [*(f"c{position}" for position in range(number)), *others]
        session.execute(f"CREATE TABLE {table} AS SELECT {', '.join(shown)} FROM {stored[0]}{joins} ORDER BY number")
    finally:
        session.drop(*stored)


def _codes_joined(encoding: Encoding, positions: Iterable[int]) -> tuple[list[str], str]:
    """Return the codes of some columns of ``cells``, and the joins with the dictionary that they come from."""
    kinds = {position: code_type(encoding.sizes[position]) for position in positions}
    joins = "".join(
        f" LEFT JOIN (SELECT text, code::{kind} AS code FROM {encoding.dictionary} "
        f"WHERE position = {position}) AS d{position} ON cells.t{position} = d{position}.text"
        for position, kind in kinds.items()
    )
    return [f"d{position}.code AS c{position}" for position in kinds], joins


def count_known_codes(source: DuckSource, encoding: Encoding, coded: str) -> int:
    """Return how many rows a table of codes has; refuse one with a value that is in no dictionary.

    Then the table changed between two scans.
    """
    if encoding.wide is not None:  # whose values were compared already
        return source.rows_of(coded)
    unknown = " OR ".join(f"c{position} IS NULL" for position in range(len(encoding.columns))) or "false"
    rows, strangers = source.session.fetch(
        f"SELECT {encoding.number_of_rows}, count(*) FILTER (WHERE {unknown}) FROM {coded}"
    )[0]
    source.refuse_changed(strangers > 0)
    return int(rows)


def code_type(size: int) -> str:
    """Return the narrowest type for codes below ``size``.

    >>> code_type(256), code_type(257)
    ('UTINYINT', 'USMALLINT')
    """
    return "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER"


def _make_dictionary(
    source: DuckSource, relation: str, dictionary: str, columns: tuple[str, ...], condition: str
) -> None:
    """Create the table of distinct values, coded by code point, missing last; one scan for many columns together."""
    if not columns:
        source.session.execute(f"CREATE TABLE {dictionary} (position INTEGER, text VARCHAR, code BIGINT)")
    for start in range(0, len(columns), AT_ONCE):
        some = list(enumerate(columns))[start : start + AT_ONCE]
        texts = ", ".join(f"{source.text(column)} AS t{position}" for position, column in some)
        which = " ".join(f"WHEN t{position} IS NOT NULL THEN {position}" for position, _ in some)
        sets = ", ".join(f"(t{position})" for position, _ in some)
        source.session.execute(
            f"{f'INSERT INTO {dictionary}' if start else f'CREATE TABLE {dictionary} AS'} SELECT position, text, "
            "row_number() OVER (PARTITION BY position ORDER BY text = '', text) - 1 AS code "
            f"FROM (SELECT CASE {which} END AS position, "
            f"coalesce({', '.join(f't{position}' for position, _ in some)}) AS text "
            f"FROM (SELECT {texts} FROM {relation} WHERE {condition}) GROUP BY GROUPING SETS ({sets}))"
        )


def _values(source: DuckSource, dictionary: str, columns: tuple[str, ...]) -> dict[str, tuple[str | None, ...]]:
    found = source.session.arrow(f"SELECT position, nullif(text, '') AS text FROM {dictionary} ORDER BY position, code")
    texts, sizes = found["text"].to_pylist(), np.bincount(numbers(found["position"]), minlength=len(columns))
    ends = np.cumsum(sizes).tolist()
    return {column: tuple(texts[end - size : end]) for column, size, end in zip(columns, sizes, ends, strict=True)}
