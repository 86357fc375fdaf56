"""Which rows are eligible, as SQL: numbers compare as numbers, dates as dates, text as text."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from indistinct.engine.plans import OPERATORS, Condition
from indistinct.errors import TableError

Clause = tuple[str, list[object]]
"""SQL that is true for the rows that hold, and its parameters."""


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
    if isinstance(value, (numbers.Real, Decimal)):
        return f"nullif(TRY_CAST({cell} AS DOUBLE), 'nan'::DOUBLE)", float(value)
    if isinstance(value, datetime.datetime):
        return f"TRY_CAST({cell} AS TIMESTAMP)", value
    if isinstance(value, datetime.date):
        return f"TRY_CAST(TRY_CAST({cell} AS TIMESTAMP) AS DATE)", value
    if isinstance(value, str):
        return f"nullif({cell}, '')", value
    raise TableError(f"column {column!r}: cells compare with text, numbers and dates, not with {type(value).__name__}")
