"""Rows: what an engine can do with the rows of a table, the verbs that every engine speaks."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from indistinct.engine.encoded import Encoded, Encodings
from indistinct.engine.plans import Condition, Recognition, ValueCounts
from indistinct.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa


THREADS_PER_CORE = 4
"""More threads than this for each core make nothing quicker; they only take memory."""


def usable_threads(asked: int | None) -> int | None:
    """Return how many threads an engine gets on this machine of those that were asked for; None for its own choice."""
    return None if asked is None else min(asked, THREADS_PER_CORE * (os.cpu_count() or 1))


def check_names(table: str, names: Sequence[str]) -> None:
    """Refuse a table without columns, a column without a name, and two of which differ at most in case, as in SQL."""
    if not names:
        raise TableError(f"{table}: has no columns")
    seen: dict[str, str] = {}
    for position, name in enumerate(names, start=1):
        if not name:
            raise TableError(f"{table}: column {position} has no name; give it one")
        twin = seen.get(name.lower())
        if twin is not None:
            how = "occurs twice" if twin == name else f"differs from {twin!r} only in case"
            raise TableError(f"{table}: column {name!r} {how}; rename one of them")
        seen[name.lower()] = name


CELL = re.compile(r"\s*([+-]?[0-9]+([.,][0-9]+)*|[0-9]{1,4}([-/.][0-9]{1,4}){2}([ T].*)?|\S+@\S+\.\S+)\s*")
"""A number, a date or an address, as cells are and names of columns are not."""


def refuse_cells_as_names(table: str, names: Sequence[str]) -> None:
    """Refuse a file whose first line seems to be a row of the table; no name is quoted, since it may be a cell.

    Columns that are numbered, or named by years, are not refused.
    """
    cells = [name for name in names if CELL.fullmatch(name)]
    numbers = sorted(int(name) for name in cells if name.isdecimal() and len(name) < 10)
    is_numbered = len(cells) > 1 and numbers == list(
        range(min(numbers, default=0), len(cells) + min(numbers, default=0))
    )
    if cells and 2 * len(cells) >= len(names) and not is_numbered:
        raise TableError(
            f"{table}: the first line seems to be a row and not the names of columns ({len(cells)} of {len(names)} "
            "cells there are numbers, dates or addresses); write the names into a line above it"
        )


class Rows(ABC):
    """A table whose rows stay where they are; it answers with dictionaries, counts and new tables.

    Cells are compared as text. Null, NaN and empty text are all missing, and missing equals missing.
    Close it, or use it as a context manager: it owns a private folder and, usually, a connection.
    """

    def __init__(self, name: str, kind: str, max_tuples: int | None = None) -> None:
        self.name = name
        """What to call the table in messages."""
        self.kind = kind
        """What came in: the kind of a file format, arrow, pandas, polars, polars-lazy, duckdb or spark."""
        self.max_tuples = max_tuples
        """How many distinct tuples may come to the driver; None for all that there are."""
        self.unreadable: Mapping[str, int] | None = None
        """The rows by column whose cell a policy's hierarchy cannot read; None until cells were read by a policy."""
        self.encodings = Encodings()
        self.notes: tuple[str, ...] = ()
        """What is to be known of how the table was read, or will be written."""

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the column names in order."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows, eligible or not."""

    @abstractmethod
    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> Encoded:
        """Return the codes of some columns of the eligible rows, to be counted and recoded; see Encoded."""

    @abstractmethod
    def with_max_tuples(self, max_tuples: int) -> Rows:
        """Return the same rows, to be closed by themselves, of which no more distinct tuples come to the driver."""

    @abstractmethod
    def with_names(self, names: Mapping[str, str]) -> Rows:
        """Return the same rows in their order, to be closed by themselves, with new names for some columns."""

    @abstractmethod
    def with_missing(self, texts: Mapping[str, Sequence[str]], left_out: Mapping[str, Sequence[str]]) -> Rows:
        """Return the same rows, to be closed by themselves, in which cells with some texts are missing.

        Rows with one of the texts of ``left_out`` are left out. In a column of numbers texts compare as numbers.
        """

    @abstractmethod
    def with_labels(self, labels: Mapping[str, Mapping[str | None, str | None]]) -> Rows:
        """Return the same rows with a label in place of each cell of some columns; this table is closed by it.

        Every text of a column, None for missing, has a label. A column of numbers whose labels are all numbers of its
        type keeps the type; others hold texts afterwards.
        """

    @abstractmethod
    def give_back(self) -> object:
        """Return the rows as the kind of table that came in; for files, as a ``pyarrow.Table``."""

    @abstractmethod
    def write(self, folder: Path, name: str = "table") -> Path:
        """Write the rows in their order to one file of the kind that came in, and return its path."""

    @abstractmethod
    def format(self) -> dict[str, str]:
        """Return the options of ``open_table`` with which the file that ``write`` writes is read again."""

    def reading(self) -> dict[str, Any]:
        """Return the options of ``open_table`` with which a file is read where these rows are."""
        return {}

    @abstractmethod
    def difference(self, other: Rows, columns: Sequence[str]) -> int:
        """Return how many rows have no counterpart in ``other``; rows are multisets of text over ``columns``."""

    @abstractmethod
    def sizes_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> NDArray[np.int64]:
        """Return the number of rows of each distinct combination of cells, counted from the cells themselves.

        With ``person`` it is the number of different people, whom these columns tell apart; the combinations then
        stand in the order of ``values_by``. Nothing of ``encode`` or ``count_by`` is used, so that a recount shares no
        code with the count.
        """

    @abstractmethod
    def repeats_of(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> tuple[int, int]:
        """Return the eligible rows that lack none of these cells, and the different combinations of the cells there."""

    def unreadable_dates(self, column: str, form: str | None, where: Sequence[Condition] = ()) -> int:
        """Return how many eligible rows hold something that is no date of this format, None for ISO dates.

        Dates of the years before 20 and after 9980 are none: those are most likely codes.
        """
        raise TableError(f"{self.name}: dates do not move in a {self.kind} table; write it to Parquet first")

    def unreadable_numbers(self, column: str, where: Sequence[Condition] = ()) -> int:
        """Return how many eligible rows hold something that is no number, or one beyond 1e150."""
        raise TableError(f"{self.name}: numbers are not perturbed in a {self.kind} table; write it to Parquet first")

    def with_numbers(self, changes: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]) -> Rows:
        """Return the same rows in their order with other numbers in some columns; this table is closed by it.

        Each function gets the numbers of its column that are not missing, in the order of the rows. A column of texts
        stays one; others hold floats afterwards.
        """
        raise TableError(f"{self.name}: numbers are not perturbed in a {self.kind} table; write it to Parquet first")

    @abstractmethod
    def values_by(self, columns: Sequence[str], column: str, person: Sequence[str] = ()) -> ValueCounts:
        """Return how often each value of a column occurs in each group over ``columns``, counted from the cells.

        With ``person`` it is how many different people have the value there. Groups have the same numbers whichever
        column is asked about. Like ``sizes_by`` it uses nothing of ``encode`` or ``count_by``.
        """

    @abstractmethod
    def mixed_missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return those of the columns in which missing cells have several forms, such as null and empty text.

        Here they are one value, but some readers tell them apart, and then there are more groups than were counted.
        """

    @abstractmethod
    def head(self, rows: int) -> pa.Table:
        """Return the first rows, in the types of the table."""

    def row_at(self, number: int) -> pa.Table:
        """Return one row by its number, from 1, in the types of the table; none if there is no such row."""
        return self.head(number).slice(number - 1)

    @abstractmethod
    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream of text cells, missing as null."""

    def recognise(self, how: Recognition) -> Rows:
        """Return the eligible rows with columns KEY, STATE and HISTORY, the last missing for people who are new.

        Where a person may have several rows there are PERSON and ROW as well.
        """
        raise TableError(f"{self.name}: a ledger is not supported for a {self.kind} table; write it to Parquet first")

    def write_members(self, released: Rows, path: Path, group: Sequence[str], values: Sequence[str]) -> None:
        """Write who was released in which group: key, state, number of the group, its labels, and some values.

        ``self`` has recognised its people, and ``released`` was made from it with KEY among its columns.
        """
        raise TableError(f"{self.name}: a ledger is not supported for a {self.kind} table; write it to Parquet first")

    @abstractmethod
    def with_profiles(self, columns: Sequence[str], person: Sequence[str], name: str) -> Rows:
        """Return the rows with one more column, a digest of the profile of each row's person.

        Two people have the same digest if they have as many rows with the same cells in ``columns``. To be closed.
        """

    @abstractmethod
    def with_pseudonyms(self, person: Sequence[str], key: bytes, name: str) -> Rows:
        """Return the rows in their order with a keyed pseudonym in place of what says whose they are.

        It is the first half of HMAC-SHA-256 of the cells, as text with their lengths. This table is closed by it.
        """

    def without(self, columns: Sequence[str]) -> Rows:
        """Return the same rows in the same order without some columns; this table is closed by it."""
        raise TableError(f"{self.name}: columns cannot be taken out of a {self.kind} table")

    @abstractmethod
    def close(self) -> None:
        """Let go of the rows; the last table on a connection closes it and removes its private folder."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
