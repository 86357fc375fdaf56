"""DuckSource: a table, view or scan in a DuckDB session, and the SQL of its cells and of the rows that are eligible.

In conditions numbers compare as numbers, dates as dates, text as text. Eligible rows are also given as codes:
dictionaries hold the distinct values of some columns. Cells become text and text becomes codes by joins with one
dictionary table: measured at 5 million rows, that is as fast as ENUM casts for small dictionaries, ten times faster for
large ones, and it spills.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real

import numpy as np

from indistinct.engine.arrays import numbers
from indistinct.engine.duckdb.distinct_lines import DistinctRows, Repeats
from indistinct.engine.duckdb.session import Session, literal, quote
from indistinct.engine.number_texts import are_whole, cell_texts
from indistinct.engine.plans import OPERATORS, Condition
from indistinct.errors import TableError

FLOATS = ("FLOAT", "DOUBLE")
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM")
NUMBERS = (*INTEGERS, *(f"U{name}" for name in INTEGERS), *FLOATS, "DECIMAL")
"""How the names of types of numbers begin."""
Clause = tuple[str, list[object]]
"""SQL that is true for the rows that hold, and its parameters."""
Values = Mapping[str, tuple[str | None, ...]]
"""The distinct values of some columns."""
AT_ONCE = 40
"""So many columns stand in one statement; more are encoded step by step."""


class DuckSource:
    """A relation of a session, its columns and their types."""

    def __init__(self, session: Session, relation: str, repeats: Repeats | None = None) -> None:
        """Take a relation, and how its rows repeat; what is known of another relation does not matter."""
        self.session = session
        self.relation = relation
        self.repeats = repeats if repeats is not None and repeats.relation == relation else None
        self.name = session.name
        self.types: dict[str, str] = {
            row[0]: row[1] for row in session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {relation})")
        }

    def text(self, column: str) -> str:
        """Return the SQL of a column's cells as text, where missing is empty text."""
        self.own_cell(column)  # refuses what is no text
        if self.types[column] in FLOATS:
            return f"coalesce({_number_text(column)}, '')"
        return f"coalesce({quote(column)}{'' if self.types[column] == 'VARCHAR' else '::VARCHAR'}, '')"

    def distinct_rows(self, columns: Sequence[str] | None = None) -> DistinctRows | None:
        """Return different rows once, with at least these columns or with all; None where nothing is gained."""
        return None if self.repeats is None else self.repeats.distinct_rows(columns)

    def has_forms_of_missing(self, column: str) -> bool:
        """Return whether cells of this type can be missing in another form than null: as empty text, or as no
        number.
        """
        return self.types[column] in FLOATS or self.types[column].startswith(("VARCHAR", "ENUM"))

    def own_cell(self, column: str) -> str:
        """Return the SQL of a column's cells in their own type, where missing is null.

        An ENUM becomes text: its type would tell the values of rows that were suppressed.
        """
        if column not in self.types:
            raise TableError(f"{self.name}: no column {column!r}")
        kind = self.types[column]
        if kind in ("BLOB", "VARIANT", "GEOMETRY") or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
            raise TableError(
                f"{self.name}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        name = quote(column)
        if kind in FLOATS:
            return f"CASE WHEN {_number_text(column)} IS NULL THEN NULL ELSE {name} END"
        if kind == "VARCHAR" or kind.startswith("ENUM"):
            return f"nullif({name}::VARCHAR, '')"
        return f"{name}::VARCHAR" if kind == '"NULL"' else name

    def has_text(self, column: str, texts: Sequence[str]) -> str:
        """Return SQL that is true for the cells of a column that have one of some texts; numbers compare as numbers."""
        are_numbers = self.types[column].startswith(NUMBERS)
        listed = ", ".join(literal(text) for text in cell_texts(texts, are_numbers=are_numbers) if text)
        return f"{self.text(column)} IN ({listed or 'NULL'}) IS TRUE"

    def type_of_labels(self, column: str, labels: Iterable[str | None]) -> str:
        """Return the type in which labels stand in place of a column's cells: its own if all are numbers of it."""
        kind, whole = self.types[column], are_whole(labels)
        is_own = kind in FLOATS or (kind.startswith(NUMBERS) and whole and not kind.startswith("DECIMAL"))
        return kind if whole is not None and is_own else "VARCHAR"

    def all_texts(self, columns: Sequence[str]) -> str:
        """Return the SQL of all rows as text cells, missing as null."""
        cells = ", ".join(f"nullif({self.text(column)}, '') AS {quote(column)}" for column in columns)
        return f"SELECT {cells} FROM {self.relation}"

    def rows_of(self, table: str) -> int:
        """Return how many rows a table of the session has."""
        return int(self.session.fetch(f"SELECT count(*) FROM {table}")[0][0])

    def refuse_changed(self, is_changed: bool) -> None:
        """Raise if the rows are no longer those that were counted."""
        if is_changed:
            raise TableError(f"{self.name}: the table changed while it was read; try again when nothing writes to it")


def _number_text(column: str) -> str:
    """Return the SQL of cells of a float as text, where a cell that is no number is null.

    ``isnan`` will not do: for a Parquet file DuckDB answers it from the least and the greatest value of each part.
    NaN is neither, so it finds none.
    """
    return f"nullif(nullif({quote(column)}::VARCHAR, 'nan'), '-nan')"


def eligible(where: Sequence[Condition], text: Callable[[str], str]) -> Clause:
    """Return one clause that is true for the rows for which all conditions hold.

    ``text`` gives the SQL of a column's cells as text, where missing is empty text.

    >>> eligible([("age", "present", None)], text=lambda column: column)
    ("(age <> '')", [])
    """
    clauses = [_condition(column, operator, value, text(column)) for column, operator, value in where]
    sql = " AND ".join(f"({clause})" for clause, _ in clauses) or "true"
    return sql, [parameter for _, parameters in clauses for parameter in parameters]


def _condition(column: str, operator: str, value: object, cell: str) -> Clause:
    if operator not in OPERATORS:
        raise TableError(f"column {column!r}: no operator {operator!r}; choose from {', '.join(OPERATORS)}")
    if operator in ("present", "missing"):
        return f"{cell} {'<>' if operator == 'present' else '='} ''", []
    if operator in ("in", "not in"):
        return _membership(column, operator, value, cell)
    expression, parameter = _operand(column, value, cell)
    return f"{expression} {'=' if operator == '==' else operator} ?", [parameter]


def _membership(column: str, operator: str, value: object, cell: str) -> Clause:
    """Compare with each member as its type asks; a missing cell is neither in the list nor outside it."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TableError(f"column {column!r}: {operator!r} needs a list of values")
    members: dict[str, list[object]] = {}
    for member in value:
        expression, parameter = _operand(column, member, cell)
        members.setdefault(expression, []).append(parameter)
    if not members:
        return ("false" if operator == "in" else f"{cell} <> ''"), []
    sql_operator, junction = ("IN", " OR ") if operator == "in" else ("NOT IN", " AND ")
    clauses = [
        f"{expression} {sql_operator} ({', '.join('?' * len(parameters))})"
        for expression, parameters in members.items()
    ]
    return junction.join(clauses), [parameter for parameters in members.values() for parameter in parameters]


def _operand(column: str, value: object, cell: str) -> tuple[str, object]:
    """Return the cell as SQL in the type of ``value``, null where it has none, and the value as a parameter."""
    if isinstance(value, bool):
        return f"nullif({cell}, '')", "true" if value else "false"
    if isinstance(value, (Real, Decimal)):
        return f"nullif(TRY_CAST({cell} AS DOUBLE), 'nan'::DOUBLE)", float(value)
    if isinstance(value, datetime.datetime):
        return f"TRY_CAST({cell} AS TIMESTAMP)", value
    if isinstance(value, datetime.date):
        return f"TRY_CAST(TRY_CAST({cell} AS TIMESTAMP) AS DATE)", value
    if isinstance(value, str):
        return f"nullif({cell}, '')", value
    raise TableError(f"column {column!r}: cells compare with text, numbers and dates, not with {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Encoding:
    """Where codes are: ``dictionary`` has a row per value, ``coded`` a row of codes for each of ``rows`` rows."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    dictionary: str
    coded: str
    where: Clause
    relation: str
    """What the codes were made of: all rows, or each different one once."""
    weight: str | None
    """The column of ``relation`` with the number of rows that are alike; ``coded`` has it as n."""
    rows: int = 0

    @property
    def number_of_rows(self) -> str:
        """The SQL of the number of rows in a group of ``coded``."""
        return "count(*)" if self.weight is None else "coalesce(sum(n), 0)::BIGINT"

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)


def make_encoding(source: DuckSource, columns: Sequence[str], where: Sequence[Condition]) -> tuple[Encoding, Values]:
    """Create the dictionary; return where it is, without rows, and the distinct values of each column."""
    columns, clause = tuple(columns), eligible(where, source.text)
    distinct = source.distinct_rows()
    if distinct is not None:
        with suppress(TableError):  # a line that cannot be parsed: of all lines it is said which one it is
            return _encode(source, columns, clause, distinct)
    return _encode(source, columns, clause, DistinctRows(source.relation, None))


def _encode(
    source: DuckSource, columns: tuple[str, ...], clause: Clause, read: DistinctRows
) -> tuple[Encoding, Values]:
    dictionary, coded = source.session.fresh("dictionary"), source.session.fresh("coded")
    try:
        _make_dictionary(source, read.relation, dictionary, columns, clause)
        values = _values(source, dictionary, columns)
    except BaseException:
        source.session.drop(dictionary)
        raise
    sizes = tuple(len(values[column]) for column in columns)
    return Encoding(columns, sizes, dictionary, coded, clause, read.relation, read.weight), values


def with_codes(source: DuckSource, encoding: Encoding) -> Encoding:
    """Create the table of codes; return where they are, and of how many rows."""
    try:
        store_coded_rows(source, encoding, (), encoding.coded)
        return replace(encoding, rows=count_known_codes(source, encoding, encoding.coded))
    except BaseException:
        source.session.drop(encoding.coded)
        raise


def store_coded_rows(source: DuckSource, encoding: Encoding, copied: Iterable[str], table: str) -> None:
    """Create the table of the eligible rows: c0, c1, … are the codes of encoded columns, o0, o1, … copied columns."""
    texts = [f"{source.text(column)} AS t{position}" for position, column in enumerate(encoding.columns)]
    others = [f"{source.own_cell(column)} AS o{position}" for position, column in enumerate(copied)]
    number = "0 AS nothing" if encoding.weight is None else f"{quote(encoding.weight)} AS n"
    cells = f"SELECT {', '.join([*texts, *others, number])} FROM {encoding.relation} WHERE {encoding.where[0]}"
    shown = [*(f"o{place}" for place in range(len(others))), *([] if encoding.weight is None else ["n"])]
    if len(texts) > AT_ONCE:
        _store_in_parts(source, encoding, cells, shown, table)
        return
    codes, joins = _codes_joined(encoding, range(len(texts)))
    made = f"SELECT {', '.join([*codes, *shown]) or 'nothing'} FROM ({cells}) AS cells{joins}"
    source.session.execute(f"CREATE TABLE {table} AS {made}", encoding.where[1])


def _store_in_parts(source: DuckSource, encoding: Encoding, cells: str, others: Sequence[str], table: str) -> None:
    """Return some columns their codes at a time, then put rows together by their numbers.

    The time to plan a query grows with the cube of the number of its joins: 240 columns took a minute, and take 2 s.
    """
    session, number = source.session, len(encoding.columns)
    parts = [range(start, min(start + AT_ONCE, number)) for start in range(0, number, AT_ONCE)]
    stored = [session.fresh("numbered"), *(session.fresh("part") for _ in parts)]
    try:
        numbered = f"SELECT *, row_number() OVER () AS number FROM ({cells})"
        session.execute(f"CREATE TABLE {stored[0]} AS {numbered}", encoding.where[1])
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
    source: DuckSource, relation: str, dictionary: str, columns: tuple[str, ...], clause: Clause
) -> None:
    """Create the table of distinct values, coded by code point, missing last; one scan for many columns together."""
    condition, parameters = clause
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
            f"FROM (SELECT {texts} FROM {relation} WHERE {condition}) GROUP BY GROUPING SETS ({sets}))",
            parameters,
        )


def _values(source: DuckSource, dictionary: str, columns: tuple[str, ...]) -> dict[str, tuple[str | None, ...]]:
    found = source.session.arrow(f"SELECT position, nullif(text, '') AS text FROM {dictionary} ORDER BY position, code")
    texts, sizes = found["text"].to_pylist(), np.bincount(numbers(found["position"]), minlength=len(columns))
    ends = np.cumsum(sizes).tolist()
    return {column: tuple(texts[end - size : end]) for column, size, end in zip(columns, sizes, ends, strict=True)}
