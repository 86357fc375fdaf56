"""DuckSource: a table, view or scan in a DuckDB session, and the SQL of its cells and of the rows that are eligible.

In conditions numbers compare as numbers, dates as dates, text as text.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real

from indistinct.engine.duckdb.folding import Fold, Folded
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


class DuckSource:
    """A relation of a session, its columns and their types."""

    def __init__(self, session: Session, relation: str, fold: Fold | None = None) -> None:
        """Take a relation, and how its rows are folded; what is known of another relation does not matter."""
        self.session = session
        self.relation = relation
        self.fold = fold if fold is not None and fold.relation == relation else None
        self.name = session.name
        self.types: dict[str, str] = {
            row[0]: row[1] for row in session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {relation})")
        }

    def text(self, column: str) -> str:
        """Return the SQL of a column's cells as text, where missing is empty text."""
        cell = self.own_cell(column)
        if self.types[column] in FLOATS:
            return f"coalesce({_number_text(column)}, '')"
        return f"coalesce({cell}{'' if self.types[column] == 'VARCHAR' else '::VARCHAR'}, '')"

    def folded_rows(self, columns: Sequence[str] | None = None) -> Folded | None:
        """Return different rows once, with at least these columns or with all; None where nothing is gained."""
        return None if self.fold is None else self.fold.folded_rows(columns)

    def has_forms_of_missing(self, column: str) -> bool:
        """Tell whether cells of this type can be missing in another form than null: as empty text, or as no number."""
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
        """Return SQL that is true for the cells of a column that have one of some texts, as numbers where they are."""
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

    Not by ``isnan``: of a Parquet file DuckDB answers it from the least and greatest value of a part, which leave
    out what is no number, and finds none.
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
    """Compare with each member in the way of its type; a missing cell is neither in nor not in."""
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
