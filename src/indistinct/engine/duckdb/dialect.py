"""DuckDB's dialect, and the cells of its columns by their types."""

from __future__ import annotations

from collections.abc import Iterable

from indistinct.engine.sql.dialect import Cell, Dialect, are_whole
from indistinct.errors import TableError

FLOATS = ("FLOAT", "DOUBLE")
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM")
NUMBERS = (*INTEGERS, *(f"U{name}" for name in INTEGERS), *FLOATS, "DECIMAL")
"""How the names of types of numbers begin."""
TEXTS = ("VARCHAR", "ENUM")


class DuckDialect(Dialect):
    """SQL of DuckDB, whose strings have no escapes."""

    def text(self, value: str) -> str:
        if "\0" in value:
            return f"decode(unhex('{value.encode().hex()}'))"
        return literal(value)

    def sha256(self, content: str) -> str:
        return f"sha256({content})"

    def utf8(self, text: str) -> str:
        return f"encode({text})"


def quote(identifier: str) -> str:
    """Return an identifier as SQL.

    >>> quote('the "best" name')
    '"the ""best"" name"'
    """
    return DUCKDB.quote(identifier)


def literal(text: str) -> str:
    """Return text as SQL, for values and for the few places where DuckDB takes no parameter.

    >>> literal("it's")
    "'it''s'"
    """
    if any("\ud800" <= letter <= "\udfff" for letter in text):  # so Python keeps the bytes of a name that is not UTF-8
        raise TableError("a path that is not UTF-8 cannot be opened or written; rename the file or its folder")
    return "'" + text.replace("'", "''") + "'"


DUCKDB = DuckDialect()


class DuckCell(Cell):
    """The cells of a column of DuckDB, whose keys are the common texts."""

    dialect = DUCKDB

    @classmethod
    def of(cls, table: str, column: str, kind: str) -> DuckCell:
        """Return the cells of a column, or raise if they cannot be compared as text."""
        if kind in ("BLOB", "VARIANT", "GEOMETRY") or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
            raise TableError(
                f"{table}: column {column!r} holds binary or nested cells; turn them into text, or leave it out"
            )
        return cls(quote(column), kind)

    @property
    def is_number(self) -> bool:
        return self.kind.startswith(NUMBERS)

    @property
    def has_forms_of_missing(self) -> bool:
        return self.kind in FLOATS or self.kind.startswith(TEXTS)

    @property
    def key(self) -> str:
        if self.kind in FLOATS:
            return f"coalesce({self._number_text}, '')"
        return f"coalesce({self.name}{'' if self.kind == 'VARCHAR' else '::VARCHAR'}, '')"

    @property
    def own(self) -> str:
        """The SQL of a cell in its own type; an ENUM is text, as its type would list values of suppressed rows."""
        if self.kind in FLOATS:
            return f"CASE WHEN {self._number_text} IS NULL THEN NULL ELSE {self.name} END"
        if self.kind.startswith(TEXTS):
            return f"nullif({self.name}::VARCHAR, '')"
        return f"{self.name}::VARCHAR" if self.kind == '"NULL"' else self.name

    @property
    def number(self) -> str:
        return f"nullif(TRY_CAST({self.key} AS DOUBLE), 'nan'::DOUBLE)"

    @property
    def moment(self) -> str:
        return f"TRY_CAST({self.key} AS TIMESTAMP)"

    @property
    def _number_text(self) -> str:
        """The SQL of cells of a float as text, where a cell that is no number is null.

        ``isnan`` will not do: for a Parquet file DuckDB answers it from the least and the greatest value of each part.
        NaN is neither, so it finds none.
        """
        return f"nullif(nullif({self.name}::VARCHAR, 'nan'), '-nan')"

    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        whole = are_whole(labels)
        is_own = self.kind in FLOATS or (self.is_number and whole and not self.kind.startswith("DECIMAL"))
        return self.kind if whole is not None and is_own else None
