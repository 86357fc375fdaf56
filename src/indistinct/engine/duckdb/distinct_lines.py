"""Distinct lines: rows that are alike are read once, with their number, where there are far fewer of them than rows.

To group, label and write a row for each of its repetitions takes most of the time of a large table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from indistinct.engine.duckdb.dialect import literal, quote
from indistinct.engine.duckdb.session import Session
from indistinct.engine.formats.delimited_text import TextFile

SAMPLED_ROWS = 1 << 17
"""The number of rows that show whether rows repeat; a table with fewer is not distinct."""
NO_CELL = "\x01"
"""Stands between cells where a line is one; a file that holds it is not distinct."""
WHOLE_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
SAFE_TYPES = (
    "VARCHAR",
    "ENUM",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    *WHOLE_NUMBERS,
    *(f"U{name}" for name in WHOLE_NUMBERS),
)
"""How names of types begin whose equal cells are one cell; 0.0 equals -0.0, and a month 30 days."""


class WeightedRows(NamedTuple):
    """What has rows, as SQL that can stand after FROM, and the column with the number of those that are alike."""

    relation: str
    weight: str | None
    """None where every row is there."""


class Repeats(Protocol):
    """How the rows of a relation are distinct."""

    @property
    def relation(self) -> str:
        """The relation that it is about."""

    def distinct_rows(self, columns: Sequence[str] | None = None) -> WeightedRows | None:
        """Return the distinct rows with at least these columns, or with all; None where nothing is gained."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The cells of a stored table, such as small ENUMs, which are grouped faster than what is shown of them.

    ``shown`` has the SQL of each column. If rows repeat, ``line`` is the column with the number of the row's kind;
    ``apart`` is the table with the cells of each kind, if ``stored`` has nothing but these numbers.
    """

    relation: str
    session: Session
    stored: str
    shown: Mapping[str, str]
    line: str | None = None
    apart: str | None = None

    @property
    def rows(self) -> str:
        """The SQL after FROM of all rows r0, r1, … in their order, which DuckDB's joins do not keep."""
        if self.apart is None:
            return self.stored
        return f"{self.stored} JOIN {self.apart} USING ({self.line}) ORDER BY {self.stored}.rowid"

    def distinct_rows(self, columns: Sequence[str] | None = None) -> WeightedRows | None:
        """Return the rows by some columns; they are counted anew by their cells."""
        if not columns:
            return None
        raw = ", ".join(f"r{list(self.shown).index(column)}" for column in dict.fromkeys(columns))
        cells = ", ".join(f"{self.shown[column]} AS {quote(column)}" for column in dict.fromkeys(columns))
        rows, number = self.stored, "count(*)"
        if self.apart is not None:
            lines = f"SELECT {self.line}, count(*) AS number FROM {self.stored} GROUP BY {self.line}"
            rows, number = f"({lines}) JOIN {self.apart} USING ({self.line})", "sum(number)::BIGINT"
        weight = _free_name(self.shown)
        counted = f"SELECT {raw}, {number} AS n FROM {rows} GROUP BY {raw}"
        return WeightedRows(f"(SELECT {cells}, n AS {quote(weight)} FROM ({counted}))", weight)

    def kinds(self) -> str:
        """Return the SQL of each kind of row once, in the order of its number."""
        cells = ", ".join(f"{sql} AS {quote(column)}" for column, sql in self.shown.items())
        if self.apart is not None:
            return f"SELECT {cells} FROM {self.apart} ORDER BY {self.line}"
        raw = ", ".join(f"first(r{position}) AS r{position}" for position in range(len(self.shown)))
        return f"SELECT {cells} FROM (SELECT {self.line}, {raw} FROM {self.stored} GROUP BY ALL) ORDER BY {self.line}"


def read_distinct_lines(
    session: Session, layout: TextFile, lines: str, counted: Callable[[Path, str], str]
) -> WeightedRows | None:
    """Return the rows of a text file by its lines; None where lines are not rows, or do not repeat.

    ``lines`` is the scan of all lines as one cell each, and ``counted`` returns that of a file in which a number stands
    before each. Lines are grouped as they are. What is left is divided at the delimiters, if in each line no cell is
    quoted or all are. Else it goes to such a file in the private folder, which is parsed like the file itself.
    """
    weight = _free_name(layout.names)
    if not rows_repeat(session, lines, ["line"]):
        return None
    table = session.fresh("lines")
    session.execute(f"CREATE TABLE {table} AS SELECT line, count(*) AS n FROM {lines} GROUP BY line")
    try:
        odd, mixed = _count_quoted(session, table, len(layout.names))
        if odd or not _are_whole(session, table, layout):  # a cell holds a line break only where there is an odd line
            return None
        divided = None if mixed else _divide(session, table, layout, weight)
        return WeightedRows(
            divided or session.create_view(counted(_copy_numbered(session, table, layout), weight)), weight
        )
    finally:
        session.drop(table)


def _free_name(names: Iterable[str]) -> str:
    """Return a name for the number of equal rows that no column has, in any case of its letters.

    >>> _free_name(["sex", "N"])
    'n_'
    """
    taken, name = {name.lower() for name in names}, "n"
    while name in taken:
        name += "_"
    return name


def _count_quoted(session: Session, table: str, columns: int) -> tuple[int, int]:
    """Return how many lines have an odd number of quotation marks, and how many some, but not two for each cell."""
    marks = "strlen(line) - strlen(replace(line, '\"', ''))"
    is_mixed = f"marks <> {2 * columns} OR NOT starts_with(line, '\"') OR NOT ends_with(line, '\"')"
    odd, mixed = session.fetch(
        f"SELECT count(*) FILTER (WHERE marks % 2 = 1), count(*) FILTER (WHERE {is_mixed}) "
        f"FROM (SELECT line, {marks} AS marks FROM {table} WHERE contains(line, '\"'))"
    )[0]
    return odd, mixed


def _are_whole(session: Session, table: str, layout: TextFile) -> bool:
    """Return whether lines are the whole file, byte by byte."""
    lines, letters = session.fetch(f"SELECT sum(n), coalesce(sum(n * strlen(line)), 0) FROM {table}")[0]
    before, line_end = layout.measure_header()
    missing = layout.path.stat().st_size - (before + int(letters) + int(lines) * line_end)
    return missing in (0, -line_end)  # the last line may do without its end


def _divide(session: Session, table: str, layout: TextFile, weight: str) -> str | None:
    """Create the table of the cells of lines; None if one has more or fewer cells than the header.

    A line with as many quotation marks as all its cells need, two of them at its ends, has nothing but these: if
    dividing it between two of them gives a cell for each column, none is left inside a cell.
    """
    cells, delimiter, between = session.fresh("cells"), literal(layout.delimiter), literal(f'"{layout.delimiter}"')
    in_quotes = f"str_split(substr(line, 2, length(line) - 2), {between})"
    divided = f"CASE WHEN contains(line, '\"') THEN {in_quotes} ELSE str_split(line, {delimiter}) END"
    number = f"CASE WHEN len(cells) = {len(layout.names)} THEN n END AS {quote(weight)}"
    shown = ", ".join(f"cells[{place}] AS {quote(name)}" for place, name in enumerate(layout.names, 1))
    lines = f"SELECT n, {divided} AS cells FROM {table} WHERE line <> ''"
    session.execute(f"CREATE TABLE {cells} AS SELECT {number}, {shown} FROM ({lines})")
    if session.fetch(f"SELECT count(*) FROM {cells} WHERE {quote(weight)} IS NULL")[0][0]:
        session.drop(cells)
        return None
    return cells


def _copy_numbered(session: Session, table: str, layout: TextFile) -> Path:
    """Write lines to a file of the private folder, each after its number."""
    path = session.folder / f"{session.fresh('lines')}.csv"
    numbered = f"SELECT n || {literal(layout.delimiter)} || line FROM {table} WHERE line <> ''"
    session.execute(
        f"COPY ({numbered}) TO {literal(str(path))} "
        f"(FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER {literal(NO_CELL)})"
    )
    return path


def rows_repeat(session: Session, relation: str, columns: Iterable[str]) -> bool:
    """Return whether of the first rows at most half are different, and there are enough of them to be worth it."""
    names = ", ".join(columns)
    rows, different = session.fetch(
        f"SELECT sum(n), count(*) FROM (SELECT {names}, count(*) AS n FROM (SELECT {names} FROM {relation} "
        f"LIMIT {SAMPLED_ROWS}) GROUP BY {names})"
    )[0]
    return bool(rows == SAMPLED_ROWS and 2 * different <= SAMPLED_ROWS)
