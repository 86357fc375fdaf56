"""WarehouseDialect: what Snowflake and BigQuery must say of themselves; and the cells of their columns by their kinds.

Cells of floating numbers are no keys: a warehouse writes them with fewer digits than they have, so two could be one.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from indistinct.engine.address import Address
from indistinct.engine.sql.dialect import INFINITE, NUMBER, Cell, Dialect, are_whole
from indistinct.engine.sql.session import Place
from indistinct.errors import TableError


class Kind(StrEnum):
    """What a column holds."""

    WHOLE = "whole numbers"
    DECIMAL = "decimals"
    FLOATING = "floating numbers"
    TEXT = "texts"
    FLAG = "yes or no"
    DAY = "dates"
    MOMENT = "moments"
    INSTANT = "instants"
    TIME = "times"
    NESTED = "binary or nested cells"


class WarehouseDialect(Dialect):
    """SQL of a warehouse, and how it is connected to."""

    system: ClassVar[str]
    """What it is called."""

    def text(self, value: str) -> str:
        """Return a text as SQL; a backslash is an escape there."""
        if "\0" in value:
            raise TableError(f"{self.system} is given no texts with the character NUL; take it out of the policy")
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"

    def moment(self, value: datetime.datetime) -> str:
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return f"CAST('{value.isoformat(sep=' ')}' AS {self.timestamp})"

    def day(self, value: datetime.date) -> str:
        return f"CAST('{value.isoformat()}' AS DATE)"

    @abstractmethod
    def connect(self, address: Address) -> Any:
        """Return a connection of the DB-API in a session that has temporary tables."""

    @abstractmethod
    def kind_of(self, column: Sequence[Any]) -> str:
        """Return the kind of a column that a cursor describes."""

    @abstractmethod
    def by_bytes(self, text: str) -> str:
        """Return the SQL of a text that is compared by its characters, whatever its collation."""

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Return the SQL of whether all of a text is what a pattern says, in small letters or capitals."""

    @abstractmethod
    def moment_text(self, cell: str, kind: str) -> str:
        """Return the SQL of a moment as text, with six digits of a second; of an instant in UTC."""

    @abstractmethod
    def number_of_text(self, text: str) -> str:
        """Return the SQL of a text as a floating number, null if it is none."""

    @abstractmethod
    def there(self, place: Place) -> str:
        """Return the query of the type and the comment of what stands at a place."""

    @abstractmethod
    def remark(self, table: str, said: str) -> str:
        """Return the statement that makes a comment on a table."""

    def new_name(self, goal: Place) -> str:
        """Return what a table beside a place is renamed to, to be there."""
        return self.quote(goal.table)

    @abstractmethod
    def replace(self, stage: str, goal: str) -> Sequence[str]:
        """Return statements of which the first alone puts one table in the place of another, and the rest tidy up."""


@dataclass(frozen=True, slots=True)
class WarehouseCell(Cell):
    """The cells of a column, whose ``kind`` is one of this module's."""

    warehouse: WarehouseDialect
    column: str

    @property
    def dialect(self) -> WarehouseDialect:  # type: ignore[override]
        """The dialect of this warehouse."""
        return self.warehouse

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.WHOLE, Kind.DECIMAL, Kind.FLOATING)

    @property
    def has_forms_of_missing(self) -> bool:
        return self.kind in (Kind.TEXT, Kind.FLOATING)

    @property
    def own(self) -> str:
        if self.kind == Kind.TEXT:
            return f"nullif({self._plain}, '')"
        return f"nullif({self.name}, CAST('NaN' AS {self.dialect.double}))" if self.kind == Kind.FLOATING else self.name

    @property
    def key(self) -> str:
        if self.kind in (Kind.FLOATING, Kind.NESTED):
            raise TableError(
                f"column {self.column!r} holds {self.kind}, which {self.dialect.system} does not write as they are; "
                "turn them into decimals or text in a view, or leave the column out"
            )
        if self.kind in (Kind.MOMENT, Kind.INSTANT):
            written = f"rtrim(rtrim({self.dialect.moment_text(self.name, self.kind)}, '0'), '.')"
            return (
                f"coalesce({self.dialect.concat([written, repr('+00')]) if self.kind == Kind.INSTANT else written}, '')"
            )
        written = self._plain if self.kind == Kind.TEXT else f"CAST({self.name} AS {self.dialect.text_type})"
        return f"coalesce({written}, '')"

    @property
    def number(self) -> str:
        if self.kind == Kind.TEXT:
            is_number = " OR ".join(self.dialect.matches(self._plain, own) for own in (NUMBER, INFINITE))
            number = self.dialect.number_of_text(f"replace({self._plain}, '_', '')")
            return f"(CASE WHEN {is_number} THEN {number} END)"
        return f"CAST({self.own if self.is_number else 'NULL'} AS {self.dialect.double})"

    @property
    def moment(self) -> str:
        if self.kind == Kind.TEXT:
            raise TableError(f"column {self.column!r} holds texts; turn them into dates in a view to compare them so")
        is_moment = self.kind in (Kind.DAY, Kind.MOMENT, Kind.INSTANT)
        return f"CAST({self.name if is_moment else 'NULL'} AS {self.dialect.timestamp})"

    def type_of_labels(self, labels: Iterable[str | None]) -> str | None:
        return self.dialect.whole if self.kind == Kind.WHOLE and are_whole(labels) else None

    @property
    def _plain(self) -> str:
        return self.dialect.by_bytes(self.name)
