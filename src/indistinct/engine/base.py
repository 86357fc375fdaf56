"""What an engine can do with the rows of a table: the verbs every engine speaks, and the plain data they exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.errors import TableError

Condition = tuple[str, str, object]
"""A column, an operator and a value, such as ``("age", ">=", 18)``; a row is eligible if all its conditions hold."""

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "present", "missing")

Codes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each distinct tuple of codes occurs: one array of codes per column, and one of counts."""

    codes: tuple[Codes, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """How often each value of a column occurs in each group of rows: an entry per group and value."""

    groups: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    texts: tuple[str | None, ...]
    """The values, in the order of their numbers; None for missing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How eligible rows become released rows; every encoded column has a map.

    ``columns``     what to release, in order; a column without a map is copied
    ``maps``        column -> (values,) label code of each value code
    ``labels``      column -> (labels,) text of each label code, None for missing
    ``kept``        encoded columns whose map is the identity: released as they are, in their own type
    ``suppressed``  column -> (groups,) label codes: a row that equals one of these tuples is suppressed
    ``blank``       False: suppressed rows are left out. True: they stay, with every mapped column missing
    ``unblanked``   mapped columns that suppressed rows keep all the same
    """

    columns: tuple[str, ...]
    maps: Mapping[str, NDArray[np.int64]]
    labels: Mapping[str, tuple[str | None, ...]]
    kept: frozenset[str] = frozenset()
    suppressed: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    blank: bool = False
    unblanked: frozenset[str] = frozenset()

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns without a map."""
        return tuple(column for column in self.columns if column not in self.maps)


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """How eligible rows become released rows when rows of a tuple go to groups, each with labels of its own.

    ``columns``  what to release, in order; a column without labels is copied
    ``tuples``   encoded column -> (pieces,) value codes of the tuple; every encoded column is there
    ``rows``     (pieces,) how many rows of the tuple go to the group; which ones is drawn at random
    ``groups``   (pieces,) number of the group, -1 for rows that are suppressed
    ``labels``   column -> text of each label code, None for missing
    ``codes``    column -> (groups,) label code that a group carries
    ``kept``     columns that carry nothing but their own values: released in their own type
    ``blank``    False: suppressed rows are left out. True: they stay, with every column that has labels missing
    """

    columns: tuple[str, ...]
    tuples: Mapping[str, NDArray[np.int64]]
    rows: NDArray[np.int64]
    groups: NDArray[np.int64]
    labels: Mapping[str, tuple[str | None, ...]]
    codes: Mapping[str, NDArray[np.int64]]
    kept: frozenset[str] = frozenset()
    blank: bool = False

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns without labels."""
        return tuple(column for column in self.columns if column not in self.labels)


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """How eligible rows become two tables that are linked by the class of a row only; no cell is changed.

    ``tables``  name -> columns of a table, without the class
    ``tuples``, ``rows``, ``groups``  which rows go to which class, as in a LocalPlan; those of class -1 are left out
    ``link``    the name of the column of classes
    """

    tables: Mapping[str, tuple[str, ...]]
    tuples: Mapping[str, NDArray[np.int64]]
    rows: NDArray[np.int64]
    groups: NDArray[np.int64]
    link: str

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns: all are copied."""
        return tuple(dict.fromkeys(column for columns in self.tables.values() for column in columns))


@dataclass(frozen=True, slots=True)
class FragmentPlan:
    """How eligible rows become released rows when their tuples are placed part by part, where the rows are.

    ``columns``    what to release, in order; a column that is not labelled is copied
    ``labelled``   the encoded columns that get labels
    ``merged``     labelled column -> a code for each code; a column without one stays as it is
    ``tuples``     labelled column -> (tuples,) merged codes of each distinct tuple
    ``fragments``  (tuples,) the number of the fragment to which a tuple belongs
    ``work``       makes pieces of the tuples of one fragment. It gets codes c0, c1, … of the encoded columns and the
                   rows n of each tuple; it gives codes, n, the group ``goal``, -1 for rows that are suppressed, and for
                   each labelled column its label: s0 the text, v0 the level, w0 the values and u0 the rows under it
    """

    columns: tuple[str, ...]
    labelled: tuple[str, ...]
    merged: Mapping[str, NDArray[np.int64]]
    tuples: Mapping[str, NDArray[np.int64]]
    fragments: NDArray[np.int64]
    work: Callable[[pa.Table], pa.Table]


KEY = ".key"
"""The column of a person's digest, STATE of a digest of her quasi cells, HISTORY of what was released of her before."""
STATE = ".state"
HISTORY = ".history"


@dataclass(frozen=True, slots=True)
class Recognition:
    """How people are recognised from one release to the next, without keeping who they are.

    ``key``       columns that name a person; only a digest of them is kept
    ``numbered``  rows with equal keys are numbered, instead of refused: for keys that are whole rows
    ``state``     columns whose change matters
    ``secret``    makes digests that nobody can compute who does not know it
    ``earlier``   a Parquet file with the history of each person who was released before, or None
    ``based``     columns whose cells are replaced by what was released last, for people whose state is the same
    ``where``     conditions on eligible rows; the others are left out
    """

    key: tuple[str, ...]
    state: tuple[str, ...]
    secret: str
    numbered: bool = False
    earlier: Path | None = None
    based: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()


def added_up(codes: Sequence[Codes], counts: NDArray[np.int64]) -> Counts:
    """Return each distinct tuple of codes once, with its counts added up.

    >>> added_up([np.array([1, 0, 1], np.uint32)], np.array([2, 3, 4])).counts
    array([3, 6])
    """
    if not codes:
        return Counts((), counts.sum(keepdims=True) if len(counts) else counts)
    distinct, where = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return Counts(tuple(distinct), np.bincount(where.ravel(), counts, distinct.shape[1]).astype(np.int64))


class Rows(ABC):
    """A table whose rows stay where they are; it answers with dictionaries, counts and new tables.

    Cells are compared as text. Null, NaN and empty text are all missing, and missing equals missing.
    Close it, or use it as a context manager: it owns a private folder and, usually, a connection.
    """

    kind: str
    """What came in: csv, parquet, arrow, pandas, polars, polars-lazy, duckdb, database, ipc or spark."""
    name: str
    """What to call the table in messages."""
    max_tuples: int | None = None
    """How many distinct tuples may come to the driver; None for all that there are."""

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the column names in order."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows, eligible or not."""

    @abstractmethod
    def encode(self, columns: Sequence[str], where: Sequence[Condition] = ()) -> dict[str, tuple[str | None, ...]]:
        """Return the distinct values of each column among the eligible rows, by code point, missing last.

        The position of a value is its code. ``count_by``, ``recode`` and ``rows_with`` use the
        codes and the eligible rows of the latest call.
        """

    @abstractmethod
    def count_by(self, columns: Sequence[str]) -> Counts:
        """Return each distinct tuple of codes of the eligible rows once, with the number of its rows."""

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, NDArray[np.int64]]) -> Counts:
        """Return ``count_by`` with other codes in place of those of some columns: ``merged`` has one for each code."""
        found = self.count_by(columns)
        codes = [
            np.asarray(merged[column])[codes] if column in merged else codes
            for column, codes in zip(columns, found.codes, strict=True)
        ]
        return added_up([np.asarray(code).astype(np.uint32) for code in codes], found.counts)

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, NDArray[np.int64]]]) -> list[int]:
        """Return about how many distinct tuples ``count_merged`` would give, for each way of merging codes."""
        return [len(self.count_merged(columns, merged).counts) for merged in ways]

    @abstractmethod
    def recode(self, plan: Plan | LocalPlan) -> Rows:
        """Return the released rows as a new table of the same kind, in fresh cryptographically random order."""

    can_work_in_fragments: ClassVar[bool] = False
    """The engine runs Python where the rows are."""

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        """Return the released rows, and each distinct combination of labels with its number of rows n."""
        raise TableError(f"{self.name}: the engine of a {self.kind} table does not work in fragments")

    @abstractmethod
    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        """Return the tables of a plan, each in a fresh random order of its own.

        Classes have random numbers, which tell nothing about the order in which they were made.
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
    def sizes_by(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of rows of each distinct combination of cells, counted from the cells themselves.

        Nothing of ``encode`` or ``count_by`` is used, so that a recount shares no code with the count.
        """

    @abstractmethod
    def values_by(self, columns: Sequence[str], column: str) -> ValueCounts:
        """Return how often each value of a column occurs in each group over ``columns``, counted from the cells.

        Groups have the same numbers whichever column is asked about. Like ``sizes_by`` it uses nothing of ``encode``
        or ``count_by``.
        """

    @abstractmethod
    def rows_with(self, column: str, codes: Sequence[int], limit: int = 5) -> list[int]:
        """Return the first row numbers, from 1, of eligible rows whose cell has one of these codes.

        Messages name rows by number because they must never quote a cell.
        """

    @abstractmethod
    def rows_like(self, tuples: Mapping[str, Sequence[int]], show: Sequence[str], limit: int = 5) -> pa.Table:
        """Return the first rows that equal each of some tuples of codes: ``tuple``, ``number`` and cells ``s0``, ….

        ``tuple`` is the position of the tuple, ``number`` that of the row in the table, from 1. The cells are texts
        of the columns to ``show``. It serves tables that are not private, such as a voter list.
        """

    @abstractmethod
    def head(self, rows: int) -> pa.Table:
        """Return the first rows, in the types of the table."""

    @abstractmethod
    def texts(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream of text cells, missing as null."""

    def recognise(self, how: Recognition) -> Rows:
        """Return the eligible rows with columns KEY, STATE and HISTORY, the last missing for people who are new."""
        raise TableError(f"{self.name}: a ledger is not supported for a {self.kind} table; write it to Parquet first")

    def write_members(self, released: Rows, path: Path, group: Sequence[str], values: Sequence[str]) -> None:
        """Write who was released in which group: key, state, number of the group, its labels, and some values.

        ``self`` has recognised its people, and ``released`` was made from it with KEY among its columns.
        """
        raise TableError(f"{self.name}: a ledger is not supported for a {self.kind} table; write it to Parquet first")

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
