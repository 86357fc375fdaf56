"""Encoded: the eligible rows of a table as codes of their values, which alone can be counted and recoded."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from indistinct.engine.plans import ClassPlan, Counts, FragmentPlan, LocalPlan, Plan, added_up
from indistinct.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.engine.rows import Rows


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

    def make_room(self, columns: Sequence[str], merged: Mapping[str, NDArray[np.int64]], bytes_each: int) -> None:
        """Raise if ``count_merged`` would give more tuples than fit into the memory that was allowed, before they come.

        Each takes so many bytes; what is left of the allowed memory is the engine's. An engine whose rows lie elsewhere
        has ``max_tuples`` for it.
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

    A forgotten one is noticed by the garbage collector, which may run anywhere, so that it only takes a note.
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
