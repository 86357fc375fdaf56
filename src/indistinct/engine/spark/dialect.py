"""Spark's dialect, and the cells of its columns by their types.

For most types the key of a cell is the text that DuckDB gives as well. Spark writes floating-point numbers and some
decimals in Java's way; their keys become the common text on the driver, where there is one of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from indistinct.engine.sql.dialect import Cell, Dialect, are_whole
from indistinct.errors import TableError

PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp_ntz", "void")
WHOLE = ("tinyint", "smallint", "int", "bigint")
TEXT = ("string", "char", "varchar")
FLOATING = ("float", "double")
ESTIMATE = 0.02
"""The relative error of estimated numbers of tuples."""

# Spark reads more texts as numbers and dates than DuckDB does: 1d, 2020 and 2020-01 among them.
NUMBER = r"(?i)\s*[+-]?(([0-9]+(_[0-9]+)*)([.]([0-9]+(_[0-9]+)*)?)?|[.][0-9]+(_[0-9]+)*)(e[+-]?[0-9]+)?\s*"
INFINITE = r"(?i)\s*[+-]?inf(inity)?\s*"
DAY = r"\s*([0-9]{4,})([-/ ])([0-9]{1,2})\2([0-9]{1,2})"
TIME = r"([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"


class SparkDialect(Dialect):
    """SQL of Spark; texts are written so that it does not matter what the session's parser takes for an escape."""

    text_type = "STRING"
    timestamp = "TIMESTAMP_NTZ"
    row_id = "monotonically_increasing_id()"

    def text(self, value: str) -> str:
        """Return a text as SQL.

        >>> SparkDialect().text("it's")
        "CAST(X'69742773' AS STRING)"
        """
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def sha256(self, content: str) -> str:
        return f"sha2({content}, 256)"

    def utf8(self, text: str) -> str:
        return f"encode({text}, 'UTF-8')"

    def joined_in_order(self, text: str) -> str:
        return f"array_join(array_sort(collect_list({text})), '')"

    def distinct_estimate(self, cells: Sequence[str]) -> str:
        return f"approx_count_distinct(xxhash64({', '.join(cells)}), {ESTIMATE})"


SPARK = SparkDialect()


class SparkCell(Cell):
    """The cells of a column of a frame."""

    dialect = SPARK

    @classmethod
    def of(cls, table: str, column: str, name: str, kind: str) -> SparkCell:
        """Return the cells of a column, or raise if they cannot be compared as text."""
        if kind not in PLAIN + FLOATING + ("timestamp",) and not kind.startswith((*TEXT, "decimal", "time(")):
            raise TableError(
                f"{table}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        return cls(name, kind)

    @property
    def is_text(self) -> bool:
        """Return whether the cells are text."""
        return self.kind.startswith(TEXT)

    @property
    def is_number(self) -> bool:
        return self.kind in (*WHOLE, *FLOATING) or self.kind.startswith("decimal")

    @property
    def has_forms_of_missing(self) -> bool:
        return self.is_text or self.kind in FLOATING

    @property
    def own(self) -> str:
        if self.kind in FLOATING:
            return f"CASE WHEN isnan({self.name}) THEN NULL ELSE {self.name} END"
        if self.is_text:
            return f"nullif({self._plain}, '')"
        return f"CAST({self.name} AS STRING)" if self.kind == "void" else self.name

    @property
    def key(self) -> str:
        if self.is_text:  # empty text is missing as it stands
            return f"coalesce({self._plain}, '')"
        if self.kind == "void":
            return f"coalesce({self.own}, '')"
        if self.kind == "timestamp":  # an instant: its text must not depend on the session's time zone
            return f"coalesce(concat(CAST({self.moment} AS STRING), '+00'), '')"
        return f"coalesce(CAST({self.own} AS STRING), '')"

    @property
    def number(self) -> str:
        if self.is_text:
            is_number = f"{self._matches(NUMBER)} OR {self._matches(INFINITE)}"
            return f"CASE WHEN {is_number} THEN try_cast(replace({self.name}, '_', '') AS DOUBLE) END"
        number = f"nullif(CAST({self.name} AS DOUBLE), CAST('NaN' AS DOUBLE))"
        return number if self.is_number else "CAST(NULL AS DOUBLE)"

    @property
    def moment(self) -> str:
        """The SQL of a date or time as a timestamp without time zone, in UTC; null for cells of another type."""
        if self.is_text:
            day = f"regexp_replace({self.name}, {SPARK.text('^' + DAY)}, '$1-$3-$4')"
            return f"CASE WHEN {self._matches(DAY + TIME)} THEN try_cast({day} AS TIMESTAMP_NTZ) END"
        if self.kind == "timestamp":
            return f"timestampadd(MICROSECOND, unix_micros({self.name}), TIMESTAMP_NTZ '1970-01-01 00:00:00')"
        is_date = self.kind in ("date", "timestamp_ntz")
        return f"CAST({self.name if is_date else 'NULL'} AS TIMESTAMP_NTZ)"

    @property
    def has_common_keys(self) -> bool:
        return self.kind not in FLOATING and not self.kind.startswith("decimal")

    def text(self, key: str) -> str | None:
        """Return the text of the cells with this key, None for missing.

        >>> (
        ...     SparkCell("x0", "double").text("1.0E16"),
        ...     SparkCell("x0", "float").text("1.00000003E16"),
        ...     SparkCell("x0", "int").text(""),
        ... )
        ('1e+16', '1e+16', None)
        """
        return text_of(self.kind, key)

    def key_of(self, text: str) -> str:
        return text if self.has_common_keys else f"CAST(try_cast({text} AS {self.kind}) AS STRING)"

    def key_of_value(self, text: str) -> str:
        return self.key_of(SPARK.text(text)) if self.has_common_keys or self._can_be(text) else SPARK.text("")

    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        whole = are_whole(labels)
        is_own = self.kind in FLOATING or (whole and self.kind in WHOLE)
        return self.kind if whole is not None and is_own else None

    @property
    def _plain(self) -> str:
        """The SQL of a text by its bytes: a collation may take different texts for equal."""
        return self.name if self.kind == "string" else f"collate({self.name}, 'UTF8_BINARY')"

    def _can_be(self, text: str) -> bool:
        """Return whether a number of this type has exactly this text."""
        try:
            if self.kind in FLOATING:
                return self.text(text) == text
            scale = int(self.kind.rstrip(")").rpartition(",")[2])
            return format(Decimal(text).quantize(Decimal(1).scaleb(-scale)), "f") == text
        except (ValueError, ArithmeticError):
            return False

    def _matches(self, pattern: str) -> str:
        whole = rf"^(?:{pattern})\z"
        return f"{self.name} RLIKE {SPARK.text(whole)}"


def text_of(kind: str, key: str) -> str | None:
    """Return the text that every engine gives for the cells of a type with this key, None for missing."""
    if key == "":
        return None
    if kind == "double":
        return repr(float(key))
    if kind == "float":  # the fewest digits that tell it from other floats, laid out as those of a double
        return repr(float(str(np.float32(key))))
    if kind.startswith("decimal") and "E" in key:
        return format(Decimal(key), "f")
    return key
