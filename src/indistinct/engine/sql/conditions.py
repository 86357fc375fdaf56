"""Conditions: which rows are eligible, as SQL. Numbers compare as numbers, dates as dates, text as text.

A missing cell is neither equal nor unequal to anything, and neither in a list nor outside it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real

from indistinct.engine.plans import OPERATORS, Condition
from indistinct.engine.sql.cells import Cell, cell_texts
from indistinct.errors import TableError


def eligible(where: Sequence[Condition], cell: Callable[[str], Cell]) -> str:
    """Return SQL that is true for the rows for which all conditions hold; ``cell`` gives the cells of a column."""
    return " AND ".join(f"({_condition(*condition, cell(condition[0]))})" for condition in where) or "true"


def has_text(cell: Cell, texts: Sequence[str]) -> str:
    """Return SQL that is true for the cells that have one of some texts; numbers compare as numbers."""
    keys = [cell.key_of_value(text) for text in cell_texts(texts, are_numbers=cell.is_number) if text]
    nothing = cell.dialect.text("")
    listed = ", ".join(key for key in keys if key != nothing)
    return f"coalesce({cell.key} IN ({listed or 'NULL'}), false)"


def _condition(column: str, operator: str, value: object, cell: Cell) -> str:
    if operator not in OPERATORS:
        raise TableError(f"column {column!r}: no operator {operator!r}; choose from {', '.join(OPERATORS)}")
    if operator in ("present", "missing"):
        return f"{cell.key} {'<>' if operator == 'present' else '='} ''"
    if operator in ("in", "not in"):
        return _membership(column, operator, value, cell)
    mine, theirs = _operands(column, value, cell, is_order=operator not in ("==", "!="))
    return f"{mine} {'=' if operator == '==' else operator} {theirs}"


def _membership(column: str, operator: str, value: object, cell: Cell) -> str:
    """Return the SQL that compares a cell with each member of a list, in the way of the member's type."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TableError(f"column {column!r}: {operator!r} needs a list of values")
    members: dict[str, list[str]] = {}
    for member in value:
        mine, theirs = _operands(column, member, cell, is_order=False)
        members.setdefault(mine, []).append(theirs)
    if not members:
        return "false" if operator == "in" else f"{cell.key} <> ''"
    sql_operator, junction = ("IN", " OR ") if operator == "in" else ("NOT IN", " AND ")
    return junction.join(f"{mine} {sql_operator} ({', '.join(theirs)})" for mine, theirs in members.items())


def _operands(column: str, value: object, cell: Cell, *, is_order: bool) -> tuple[str, str]:
    """Return the cell as SQL in the type of ``value``, null where it has none, and the value as SQL."""
    if isinstance(value, bool | str):
        if is_order and not cell.has_common_keys:
            raise TableError(f"column {column!r} holds numbers; compare it with a number instead of text")
        text = value if isinstance(value, str) else str(value).lower()
        return f"nullif({cell.key}, '')", cell.key_of_value(text)
    if isinstance(value, Real | Decimal):
        return cell.number, cell.dialect.number(float(value))
    if isinstance(value, datetime.datetime):
        return cell.moment, cell.dialect.moment(value)
    if isinstance(value, datetime.date):
        return f"CAST({cell.moment} AS DATE)", cell.dialect.day(value)
    raise TableError(f"column {column!r}: cells compare with text, numbers and dates, not with {type(value).__name__}")
