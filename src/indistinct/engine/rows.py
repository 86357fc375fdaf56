"""Rows and Encoded: what an engine can do with the rows of a table, the verbs that every engine speaks.

``Rows`` can be read, written, derived and encoded. What is encoded, and that alone, can be counted and recoded.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.engine.plans import (
    ClassPlan,
    Condition,
    Counts,
    FragmentPlan,
    LocalPlan,
    Plan,
    Recognition,
    ValueCounts,
    sum_by_tuple,
)
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
        """Return the same rows, to be closed by themselves, with a limit to the tuples that come to the driver."""

    def as_stored(self) -> Rows:
        """Return the same rows in their order, to be closed by themselves, for whoever asks them many questions.

        An engine that would read a file, or compute cells, again for each question does that once.
        """
        rows = self.with_names({})
        rows.unreadable = self.unreadable
        return rows

    @abstractmethod
    def with_names(self, names: Mapping[str, str]) -> Rows:
        """Return the same rows in their order, to be closed by themselves, with new names for some columns."""

    @abstractmethod
    def with_missing(self, texts: Mapping[str, Sequence[str]], left_out: Mapping[str, Sequence[str]]) -> Rows:
        """Return the same rows, to be closed by themselves, in which cells with some texts are missing.

        Rows with one of the texts of ``left_out`` are left out. In a column of numbers texts compare as numbers.
        """

    def with_members(self, column: str, separator: str | None, flags: Sequence[str] = ()) -> Rows:
        """Return a row for each different member of the cells of a column, to be closed by themselves.

        With ``flags`` members are the names of those columns that have 1 or true, and the column is a new one.

        All other cells of a row stand beside each of its members. Members are what stands between separators, without
        blanks around; without a separator the cells are lists, or texts that are JSON arrays. A missing cell, an empty
        list and missing members give no row.
        """
        raise TableError(f"{self.name}: cells that hold sets are split in files and frames alone; write to Parquet")

    @abstractmethod
    def with_labels(self, labels: Mapping[str, Mapping[str | None, str | None]]) -> Rows:
        """Return the same rows with a label in place of each cell of some columns, and close this table.

        Every text of a column, None for missing, has a label. A column of numbers whose labels are all numbers of its
        type keeps the type; others hold texts afterwards.
        """

    @abstractmethod
    def to_native(self) -> object:
        """Return the rows as the kind of table that came in; for files, as a ``pyarrow.Table``."""

    @abstractmethod
    def write(self, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        """Write the rows in their order to one file of the kind that came in, or of ``kind``, and return its path."""

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
    def sizes_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> IntArray:
        """Return the number of rows of each distinct combination of cells, counted from the cells themselves.

        With ``person`` it is the number of different people, whom these columns tell apart; the combinations then
        stand in the order of ``values_by``. Nothing of ``encode`` or ``count_by`` is used, so that a recount shares no
        code with the count.
        """

    @abstractmethod
    def alone_by(self, columns: Sequence[str], person: Sequence[str] = ()) -> int:
        """Return how many rows no other row equals in these cells; one group-by, of which a single number is read.

        With ``person`` it is the number of people whom nobody equals: each has all her rows, as a multiset.
        """

    @abstractmethod
    def formula_cells(self, columns: Sequence[str]) -> int:
        """Return how many cells of some columns a spreadsheet takes for formulas: = + - @, a tab or a return in front.

        Numbers are none, whatever their sign.
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

    def with_numbers(self, changes: Mapping[str, Callable[[FloatArray], FloatArray]]) -> Rows:
        """Return the same rows in their order with other numbers in some columns, and close this table.

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
        """Return the same rows in the same order without some columns, and close this table."""
        raise TableError(f"{self.name}: columns cannot be taken out of a {self.kind} table")

    def close_but_for(self, derived: Self) -> None:
        """Close this table, and leave what a table that was made of it needs to that one."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of the rows; the last table on a connection closes it and removes its private folder."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Encoded(ABC):
    """Some columns of the eligible rows of a table, as codes; the position of a value among ``values`` is its code.

    It does not change, and what is counted or recoded with it has its codes and its eligible rows: several of them
    live side by side on one table without knowing of each other. Rows are read for their values at once, and for their
    codes when those are first needed; a value that is new by then is refused. Closing it frees its codes. One that is
    forgotten is freed with the table, or before the table is encoded the next time.
    """

    can_work_in_fragments: ClassVar[bool] = False
    """The engine runs Python where the rows are."""

    def __init__(self, table: Rows, values: Mapping[str, tuple[str | None, ...]], free: Callable[[], None]) -> None:
        """Take the table, the values of each column, and what frees the codes; that must not refer to ``self``."""
        self.name = table.name
        """What to call the table in messages."""
        self.max_tuples = table.max_tuples
        """How many distinct tuples may come to the driver; None for all that there are."""
        self.unreadable = dict(table.unreadable or {})
        """The rows by column whose cell the policy's hierarchy cannot read."""
        self.values = MappingProxyType(dict(values))
        """The distinct values of each column among the eligible rows, by code point, missing last."""
        self._free = free
        self._finalizer = table.encodings.add(self, free)

    @property
    def columns(self) -> tuple[str, ...]:
        """The encoded columns, in order."""
        return tuple(self.values)

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of eligible rows."""

    @abstractmethod
    def count_by(self, columns: Sequence[str]) -> Counts:
        """Return each distinct tuple of codes of the eligible rows once, with the number of its rows."""

    def count_merged(self, columns: Sequence[str], merged: Mapping[str, IntArray]) -> Counts:
        """Return ``count_by`` with other codes in place of those of some columns: ``merged`` has one for each code."""
        found = self.count_by(columns)
        codes = [
            np.asarray(merged[column])[codes] if column in merged else codes
            for column, codes in zip(columns, found.codes, strict=True)
        ]
        return sum_by_tuple([np.asarray(code).astype(np.uint32) for code in codes], found.counts)

    def tuples_at(self, columns: Sequence[str], ways: Sequence[Mapping[str, IntArray]]) -> list[int]:
        """Return about how many distinct tuples ``count_merged`` would give, for each way of merging codes."""
        return [len(self.count_merged(columns, merged).counts) for merged in ways]

    def make_room(self, columns: Sequence[str], merged: Mapping[str, IntArray], bytes_each: int) -> None:
        """Raise if ``count_merged`` would give more tuples than fit into the memory that was allowed, before they come.

        Each takes ``bytes_each``; what is left of the allowed memory is the engine's. An engine whose rows lie
        elsewhere has ``max_tuples`` for it.
        """
        self.refuse_closed()

    @abstractmethod
    def recode(self, plan: Plan | LocalPlan) -> Rows:
        """Return the released rows as a new table of the same kind, in fresh cryptographically random order."""

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        """Return the released rows, and each distinct combination of labels with its number of rows n."""
        raise TableError(f"{self.name}: its engine does not work in fragments")

    @abstractmethod
    def divide(self, plan: ClassPlan) -> dict[str, Rows]:
        """Return the tables of a plan, each in a fresh random order of its own.

        Classes have random numbers, which tell nothing about the order in which they were made.
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

    def position(self, column: str) -> int:
        """Return where a column stands among the encoded ones."""
        if column not in self.values:
            raise TableError(f"column {column!r} was not encoded")
        return self.columns.index(column)

    def refuse_closed(self) -> None:
        """Raise if the codes were let go."""
        if not self._finalizer.alive:
            raise TableError(f"{self.name}: what was encoded is closed; encode the table again")

    def refuse_other_columns(self, columns: Mapping[str, object], verb: str) -> None:
        """Raise if a plan is not about exactly the encoded columns."""
        if set(columns) != set(self.columns):
            raise TableError(f"{self.name}: a plan must {verb} exactly the encoded columns")

    def close(self) -> None:
        """Let go of the codes; doing so twice is harmless."""
        if self._finalizer.detach() is not None:
            self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Encodings:
    """What was encoded of one table: it is closed with the table, and forgotten ones are freed at the next chance.

    The garbage collector notices a forgotten one, and may run anywhere; so it only makes a note then.
    """

    def __init__(self) -> None:
        self._open: weakref.WeakSet[Encoded] = weakref.WeakSet()
        self._forgotten: list[Callable[[], None]] = []

    def add(self, encoded: Encoded, free: Callable[[], None]) -> weakref.finalize[[Callable[[], None]], Encoded]:
        """Take one more into account, and return its finalizer."""
        self._open.add(encoded)
        finalizer = weakref.finalize(encoded, self._forgotten.append, free)
        finalizer.atexit = False
        return finalizer

    def free_forgotten(self) -> None:
        """Free the codes of those that nobody holds any more."""
        while self._forgotten:
            self._forgotten.pop()()

    def close(self) -> None:
        """Close all of them."""
        for encoded in list(self._open):
            encoded.close()
        self.free_forgotten()
