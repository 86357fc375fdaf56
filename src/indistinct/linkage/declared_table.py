"""read_once(): a table with the cells that a policy declares, kept so that many may ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Unpack

from indistinct.counting import as_declared
from indistinct.engine import Rows, use_table

if TYPE_CHECKING:
    from indistinct.engine.opening import ReadingOptions
    from indistinct.policy import Policy


@contextmanager
def read_once(table: object, policy: Policy, **reading: Unpack[ReadingOptions]) -> Iterator[Rows]:
    """Return a table of any kind with the cells that the policy declares, read once however often it is asked.

    Rows that were read so before are returned as they are. ``reading`` goes to the engine.
    """
    if isinstance(table, Rows) and table.unreadable is not None:
        yield table
        return
    with use_table(table, **reading) as given, as_declared(given, policy) as declared, declared.as_stored() as rows:
        rows.unreadable = rows.unreadable or {}
        yield rows
