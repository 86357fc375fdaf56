"""Folding: rows that are alike are had once, with their number, where there are far fewer of them than rows.

To group, label and write a row for each of its repetitions takes most of the time of a large table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from indistinct.engine.duckdb.session import Session, quote

SAMPLED_ROWS = 1 << 17
"""So many rows tell whether rows repeat; a table with fewer is not folded."""
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


class Folded(NamedTuple):
    """What has rows, as SQL that can stand after FROM, and the column with the number of those that are alike."""

    relation: str
    weight: str | None
    """None where every row is there."""


class Fold(Protocol):
    """How the rows of a relation are folded."""

    @property
    def relation(self) -> str:
        """The relation that it is about."""

    def folded_rows(self, columns: Sequence[str] | None = None) -> Folded | None:
        """Return the folded rows with at least these columns, or with all; None where nothing is gained."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The cells of a stored table, such as small ENUMs, which are grouped faster than what is shown of them.

    ``shown`` has the SQL of each column. If rows repeat, ``line`` is the column with the number of the row's kind.
    """

    relation: str
    session: Session
    stored: str
    shown: Mapping[str, str]
    line: str | None

    def folded_rows(self, columns: Sequence[str] | None = None) -> Folded | None:
        """Return the rows by some columns; they are counted anew by their cells."""
        if not columns:
            return None
        raw = ", ".join(f"r{list(self.shown).index(column)}" for column in dict.fromkeys(columns))
        cells = ", ".join(f"{self.shown[column]} AS {quote(column)}" for column in dict.fromkeys(columns))
        return Folded(
            f"(SELECT {cells}, folded FROM (SELECT {raw}, count(*) AS folded FROM {self.stored} GROUP BY {raw}))",
            "folded",
        )

    def kinds(self) -> str:
        """Return the SQL of each kind of row once, in the order of its number."""
        raw = ", ".join(f"first(r{position}) AS r{position}" for position in range(len(self.shown)))
        cells = ", ".join(f"{sql} AS {quote(column)}" for column, sql in self.shown.items())
        return f"SELECT {cells} FROM (SELECT {self.line}, {raw} FROM {self.stored} GROUP BY ALL) ORDER BY {self.line}"


def rows_repeat(session: Session, relation: str, columns: Iterable[str]) -> bool:
    """Tell whether of the first rows at most half are different, and there are enough of them to be worth it."""
    names = ", ".join(columns)
    rows, different = session.fetch(
        f"SELECT sum(n), count(*) FROM (SELECT {names}, count(*) AS n FROM (SELECT {names} FROM {relation} "
        f"LIMIT {SAMPLED_ROWS}) GROUP BY {names})"
    )[0]
    return bool(rows == SAMPLED_ROWS and 2 * different <= SAMPLED_ROWS)
