"""SparkSource: a DataFrame of Spark whose columns need no quoting, what goes between it and the driver, and the SQL
of the rows that are eligible, with the meaning that conditions have in DuckDB.

Dictionaries are on the driver: the keys of each column in the order of their codes, and tuples as codes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.engine.arrays import integers, numbers, text_column
from indistinct.engine.number_texts import cell_texts
from indistinct.engine.plans import OPERATORS, Condition, Counts
from indistinct.engine.rows import check_names
from indistinct.engine.spark.cells import FLOATING, Cell, literal
from indistinct.engine.spark.failures import let_go
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MOST_BROADCAST = 1_000_000
"""Tables of so many rows are sent to every executor; Spark decides how to join larger ones."""
FEW_TUPLES = 200_000
"""So many tuples come to the driver as texts, which saves Spark several jobs; more of them come as codes."""
Values = Mapping[str, tuple[str | None, ...]]
"""The distinct values of some columns."""

# Spark reads more texts as numbers and dates than DuckDB does: 1d, 2020 and 2020-01 among them.
NUMBER = r"(?i)\s*[+-]?(([0-9]+(_[0-9]+)*)([.]([0-9]+(_[0-9]+)*)?)?|[.][0-9]+(_[0-9]+)*)(e[+-]?[0-9]+)?\s*"
INFINITE = r"(?i)\s*[+-]?inf(inity)?\s*"
DAY = r"\s*([0-9]{4,})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
TIME = r"([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"


class SparkSource:
    """A DataFrame, classic or Connect, with columns x0, x1, … so that no name needs quoting."""

    def __init__(self, frame: DataFrame, name: str) -> None:
        self.name = name
        self.given = frame
        self.names = tuple(frame.columns)
        check_names(name, self.names)
        self.kinds = dict(frame.dtypes)
        self.frame = frame.toDF(*(f"x{position}" for position in range(len(self.names))))

    @property
    def session(self) -> SparkSession:
        """The session that the frame belongs to."""
        return self.given.sparkSession

    def cell(self, column: str) -> Cell:
        """Return the cells of a column, or raise if there is none or they cannot be compared as text."""
        if column not in self.kinds:
            raise TableError(f"{self.name}: no column {column!r}")
        return Cell.of(self.name, column, f"x{self.names.index(column)}", self.kinds[column])

    def keys(self, columns: Sequence[str], names: Sequence[str], where: str = "true") -> DataFrame:
        """Return the keys of some columns; without columns, rows of nothing."""
        cells = [f"{self.cell(column).key} AS {name}" for column, name in zip(columns, names, strict=True)]
        return self.frame.where(where).selectExpr(*cells or ["1 AS nothing"])

    def keyed_rows(self, encoding: Encoding, own: Iterable[str]) -> DataFrame:
        """Return the eligible rows: k0, k1, … are keys of encoded columns, o0, o1, … cells in their own type."""
        keys = [f"{self.cell(column).key} AS k{position}" for position, column in enumerate(encoding.columns)]
        cells = [f"{self.cell(column).own} AS o{position}" for position, column in enumerate(own)]
        return self.frame.where(encoding.where).selectExpr(*[*keys, *cells] or ["1 AS n"])

    def send(self, table: pa.Table) -> DataFrame:
        """Return a table of the driver as a frame, sent to every executor unless it is large."""
        frame = self.session.createDataFrame(plain_strings(table))
        return frame.hint("broadcast") if len(table) <= MOST_BROADCAST else frame

    def collect(self, frame: DataFrame) -> pa.Table:
        """Return what a frame holds; it must not be as large as the rows."""
        return frame.toArrow()

    def rows_of(self, frame: DataFrame) -> int:
        """Return how many rows a frame has."""
        return int(frame.count())

    def total(self, frame: DataFrame) -> int:
        """Return the sum of the column n."""
        return int(self.collect(frame.selectExpr("coalesce(sum(n), 0) AS n"))["n"][0].as_py())

    def keep(self, frame: DataFrame) -> DataFrame:
        """Return a frame that Spark stores once it is computed, where it can: serverless sessions store nothing."""
        from pyspark.errors import PySparkException

        try:
            return frame.persist()
        except PySparkException:
            return frame

    def numbered_rows(self, where: str = "true") -> DataFrame:
        """Return rows with an id that rises in the order in which Spark holds them."""
        return self.frame.selectExpr("*", "monotonically_increasing_id() AS id").where(where)

    def row_numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row numbers, from 1, of such ids, which have the part in their upper bits."""
        if not len(ids):
            return ids.astype(np.int64)
        found = self.collect(self.frame.selectExpr("spark_partition_id() AS part").groupBy("part").count())
        parts, sizes = numbers(found["part"]), numbers(found["count"])
        size_of = np.zeros(int(parts.max()) + 2, np.int64)
        size_of[parts + 1] = sizes
        before: NDArray[np.int64] = np.cumsum(size_of)[ids >> 33]
        return before + (ids & ((1 << 33) - 1)) + 1


def join_rows(rows: DataFrame, other: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return rows joined with another frame by these columns; without columns each with each."""
    return rows.join(other, list(names)) if names else rows.crossJoin(other)


def plain_strings(table: pa.Table) -> pa.Table:
    """Return a table without large strings, which older servers do not take."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_large_string(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def eligible(where: Sequence[Condition], cell: Callable[[str], Cell]) -> str:
    """Return SQL that is true for the rows for which all conditions hold.

    >>> eligible([("age", "present", None)], lambda column: Cell("x0", "string"))
    "(coalesce(nullif(x0, ''), '') <> '')"
    """
    return " AND ".join(f"({_condition(*condition, cell(condition[0]))})" for condition in where) or "true"


def has_text(cell: Cell, texts: Sequence[str]) -> str:
    """Return SQL that is true for the cells that have one of some texts, as numbers where they are."""
    spelled = cell_texts(texts, are_numbers=cell.is_number)
    listed = [_text_as_key(text, cell) for text in spelled if text and (cell.has_common_keys or _is_common(text, cell))]
    return f"coalesce({cell.key} IN ({', '.join(listed) or 'NULL'}), false)"


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
    if isinstance(value, (Real, Decimal)):
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
    """Return whether a number of this type has exactly this text."""
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


@dataclass(frozen=True, slots=True)
class Encoding:
    """Dictionaries: ``keys`` has those of each column in the order of their codes.

    ``tuples`` is a frame of the distinct keys k0, k1, … of the eligible rows with the number of rows n. ``counted`` are
    their codes and numbers of rows, if they are few enough to be held on the driver.
    """

    columns: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    tuples: DataFrame
    where: str
    counted: Counts | None

    def position(self, column: str) -> int:
        """Return where an encoded column stands."""
        return self.columns.index(column)

    def free(self) -> None:
        """Let go of tuples that Spark stores."""
        if self.counted is None:
            let_go(self.tuples)

    def key_columns(self, codes: Sequence[NDArray[Any]]) -> dict[str, pa.Array]:
        """Return codes of all columns as the columns k0, k1, … of a table of keys."""
        return {
            f"k{position}": keys.take(integers(np.asarray(own, np.int64)))
            for position, (keys, own) in enumerate(zip(self.keys, codes, strict=True))
        }


def make_encoding(source: SparkSource, columns: Sequence[str], where: Sequence[Condition]) -> tuple[Encoding, Values]:
    """Count the tuples of keys of the eligible rows; return them, and the distinct values of each column."""
    columns = tuple(columns)
    cells = [source.cell(column) for column in columns]
    condition = eligible(where, source.cell)
    names = [f"k{position}" for position in range(len(cells))]
    keys = source.keys(columns, names, condition)
    tuples = keys.groupBy(*names).count().where("count > 0").toDF(*names, "n")
    few = source.collect(tuples.limit(FEW_TUPLES + 1))
    is_few = len(few) <= FEW_TUPLES
    if not is_few:
        tuples = source.keep(tuples)
    found = [few[name] for name in names] if is_few else _distinct_keys(source, tuples, names)
    dictionaries = [sorted_keys(cell, own) for cell, own in zip(cells, found, strict=True)]
    counted = None
    if is_few:
        codes = tuple(codes_of(own, keys) for own, keys in zip(found, dictionaries, strict=True))
        counted = Counts(codes, numbers(few["n"]).astype(np.int64))
    values = {
        column: tuple(cell.text(key) for key in own)
        for column, cell, own in zip(columns, cells, dictionaries, strict=True)
    }
    return Encoding(columns, tuple(map(strings, dictionaries)), tuples, condition, counted), values


def _distinct_keys(source: SparkSource, tuples: DataFrame, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return the distinct keys of each column, all in one pass over the tuples."""
    pairs = ", ".join(f"{position}, {name}" for position, name in enumerate(names))
    stacked = tuples.selectExpr(f"stack({len(names)}, {pairs}) AS (position, key)").distinct()
    table = source.collect(stacked)
    positions = numbers(table["position"])
    return [table["key"].take(integers(np.flatnonzero(positions == place))) for place in range(len(names))]


def sorted_keys(cell: Cell, found: pa.ChunkedArray) -> list[str]:
    """Return the distinct keys among those found, by the code points of their texts, missing last."""
    return sorted(found.unique().to_pylist(), key=lambda key: (key == "", cell.text(key) or ""))


def codes_of(found: pa.ChunkedArray, keys: Sequence[str]) -> NDArray[np.uint32]:
    """Return the position of each text among the keys."""
    encoded = found.combine_chunks().dictionary_encode()
    code_of = {key: code for code, key in enumerate(keys)}
    own = np.array([code_of[key] for key in encoded.dictionary.to_pylist()], np.uint32)
    codes: NDArray[np.uint32] = own[np.from_dlpack(encoded.indices)]
    return codes


def are_among(
    tuples: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]], length: int
) -> NDArray[np.bool_]:
    """Return which tuples of codes, one array per column, are among the wanted ones; without columns none is."""
    if not tuples or not len(wanted[0]):
        return np.zeros(length, np.bool_)
    both = np.stack([np.concatenate([own, np.asarray(other)]) for own, other in zip(tuples, wanted, strict=True)])
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    return np.isin(number[:length], number[length:])


def keyed_pieces(part: pa.Table, encoding: Encoding) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(encoding.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(encoding.key_columns(codes) | others)


def strings(texts: Sequence[str | None]) -> pa.Array:
    return text_column(texts).cast(pa.string())
