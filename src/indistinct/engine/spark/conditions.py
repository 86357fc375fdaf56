"""Which rows are eligible, as Spark's SQL, with the meaning that conditions have in DuckDB."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from indistinct.engine.plans import OPERATORS, Condition
from indistinct.engine.spark.cells import FLOATING, Cell, literal
from indistinct.errors import TableError

# Spark reads more texts as numbers and dates than DuckDB does: 1d, 2020 and 2020-01 among them.
NUMBER = r"(?i)\s*[+-]?(([0-9]+(_[0-9]+)*)([.]([0-9]+(_[0-9]+)*)?)?|[.][0-9]+(_[0-9]+)*)(e[+-]?[0-9]+)?\s*"
INFINITE = r"(?i)\s*[+-]?inf(inity)?\s*"
DAY = r"\s*([0-9]{4,})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
TIME = r"([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"


def eligible(where: Sequence[Condition], cell: Callable[[str], Cell]) -> str:
    """Return SQL that is true for the rows for which all conditions hold.

    >>> eligible([("age", "present", None)], lambda column: Cell("x0", "string"))
    "(coalesce(nullif(x0, ''), '') <> '')"
    """
    return " AND ".join(f"({_condition(*condition, cell(condition[0]))})" for condition in where) or "true"


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
    """Compare with each member in the way of its type; a missing cell is neither in nor not in."""
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


def _operands(column: str, value: object, cell: Cell, is_order: bool) -> tuple[str, str]:
    """Return the cell as SQL in the type of ``value``, null where it has none, and the value as SQL."""
    if isinstance(value, bool):
        return _text(column, cell, is_order), _text_as_key("true" if value else "false", cell)
    if isinstance(value, (numbers.Real, Decimal)):
        return _number(cell), _double(float(value))
    if isinstance(value, datetime.datetime):
        return _moment(cell), _timestamp(value)
    if isinstance(value, datetime.date):
        return f"CAST({_moment(cell)} AS DATE)", f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return _text(column, cell, is_order), _text_as_key(value, cell)
    raise TableError(f"column {column!r}: cells compare with text, numbers and dates, not with {type(value).__name__}")


def _text(column: str, cell: Cell, is_order: bool) -> str:
    if is_order and not cell.has_common_keys:
        raise TableError(f"column {column!r} holds numbers; compare it with a number instead of text")
    return f"nullif({cell.key}, '')"


def _text_as_key(text: str, cell: Cell) -> str:
    """Return a text as SQL in the way in which the keys of the cells are written; the empty text equals no cell."""
    if cell.has_common_keys:
        return literal(text)
    return f"CAST(try_cast({literal(text)} AS {cell.kind}) AS STRING)" if _is_common(text, cell) else literal("")


def _is_common(text: str, cell: Cell) -> bool:
    """Tell whether a number of this type has exactly this text."""
    try:
        if cell.kind in FLOATING:
            return cell.text(text) == text
        scale = int(cell.kind.rstrip(")").rpartition(",")[2])
        return format(Decimal(text).quantize(Decimal(1).scaleb(-scale)), "f") == text
    except (ValueError, ArithmeticError):
        return False


def _number(cell: Cell) -> str:
    if cell.is_text:
        digits = f"replace({cell.name}, '_', '')"
        is_number = f"{_matches(cell, NUMBER)} OR {_matches(cell, INFINITE)}"
        return f"CASE WHEN {is_number} THEN try_cast({digits} AS DOUBLE) END"
    return f"nullif(CAST({cell.name} AS DOUBLE), CAST('NaN' AS DOUBLE))" if cell.is_number else "CAST(NULL AS DOUBLE)"


def _moment(cell: Cell) -> str:
    if not cell.is_text:
        return f"CAST({cell.moment} AS TIMESTAMP_NTZ)"
    day = f"regexp_replace({cell.name}, {literal('^' + DAY)}, '$1-$3-$4')"
    return f"CASE WHEN {_matches(cell, DAY + TIME)} THEN try_cast({day} AS TIMESTAMP_NTZ) END"


def _matches(cell: Cell, pattern: str) -> str:
    whole = rf"^(?:{pattern})\z"
    return f"{cell.name} RLIKE {literal(whole)}"


def _double(value: float) -> str:
    return f"CAST({literal(repr(value))} AS DOUBLE)"


def _timestamp(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
