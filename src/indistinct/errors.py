"""Every exception of indistinct as one tree, each class with the exit code of the command line.

    IndistinctError                 1  the root: catch this to catch all
    ├── PolicyError                 2  the policy asks for nonsense, or does not fit the table
    │   └── HierarchyError          2  a hierarchy is not one, or lacks a value of the table
    ├── TableError                  2  the table cannot be read
    ├── OutputError                 2  the release cannot be written where it was asked for
    ├── KeyFileError                2  the key of a signature cannot be read, is of another kind, or would be lost
    ├── MissingExtraError           2  an optional part is not installed
    ├── LedgerError                 2  the ledger cannot be opened or written, or is not one
    ├── InfeasibleError             3  no release of this table can satisfy the policy
    ├── VerificationError           4  a recount found that a release, or a ledger, does not hold what it promises
    ├── RefusedError                5  the release is refused because of an earlier one
    ├── ExposedError                6  an attack exposes people of a release
    └── InterruptedSearchError      1  a time limit or a cancellation stopped the search before it had any answer

Messages say what is wrong, where, and what to do next. They never quote a cell of the private table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class IndistinctError(Exception):
    """The root of all errors that indistinct raises on purpose."""

    exit_code: ClassVar[int] = 1


class PolicyError(IndistinctError):
    """The policy is wrong in itself or does not fit the table; ``mistakes`` lists every reason.

    >>> str(PolicyError(["k: must be at least 1", "columns.age: no such column"]))
    '2 mistakes in the policy:\\n  - k: must be at least 1\\n  - columns.age: no such column'
    """

    exit_code = 2

    def __init__(self, mistakes: str | Iterable[str]) -> None:
        self.mistakes = (mistakes,) if isinstance(mistakes, str) else tuple(mistakes)
        if len(self.mistakes) == 1:
            message = self.mistakes[0]
        else:
            lines = "".join(f"\n  - {mistake}" for mistake in self.mistakes)
            message = f"{len(self.mistakes)} mistakes in the policy:{lines}"
        super().__init__(message)


class HierarchyError(PolicyError):
    """A hierarchy breaks the rules of the papers, or has no label for a value of the table."""


class TableError(IndistinctError):
    """The table cannot be opened or read as a table."""

    exit_code = 2


class OutputError(IndistinctError):
    """The release cannot be written where it was asked for; nothing was left behind."""

    exit_code = 2


class KeyFileError(IndistinctError):
    """The key of a signature cannot be read or written, or is not of the kind that is needed."""

    exit_code = 2


class MissingExtraError(IndistinctError):
    """An optional part is not installed; the message names the command that installs it."""

    exit_code = 2


class LedgerError(IndistinctError):
    """The ledger cannot be opened or written, or is not one; nothing was changed."""

    exit_code = 2


class InfeasibleError(IndistinctError):
    """No release of this table can satisfy the policy; the message says what stands in the way."""

    exit_code = 3


class VerificationError(IndistinctError):
    """A recount found that a release, or a ledger, does not hold what it promises."""

    exit_code = 4


class RefusedError(IndistinctError):
    """The release is refused because of an earlier one; the message says which, and why."""

    exit_code = 5


class ExposedError(IndistinctError):
    """An attack exposes people of a release; the message says which."""

    exit_code = 6


class InterruptedSearchError(IndistinctError):
    """A time limit or a cancellation stopped the search before it had any answer."""
