"""Which rows of a tuple go to which group, as tables that an engine joins with its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import integers
from indistinct.engine.plans import ClassPlan, LocalPlan

NOWHERE = -1
"""The group of suppressed rows in a local plan."""


def pieces(plan: LocalPlan | ClassPlan, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Return the pieces of tuples whose rows all go to one group, and those of tuples that are divided.

    Each has the number of its tuple and, from first up to last, the places of the tuple's rows that are its own.
    """
    codes = [np.asarray(plan.tuples[column], np.int64) for column in columns]
    rows = np.asarray(plan.rows, np.int64)
    order = np.lexsort(codes[::-1]) if codes else np.arange(len(rows))
    codes, rows, groups = [code[order] for code in codes], rows[order], np.asarray(plan.groups, np.int64)[order]
    is_first = np.ones(len(rows), np.bool_)
    if len(rows):
        is_first[1:] = False
        for code in codes:
            is_first[1:] |= code[1:] != code[:-1]
    tuples = np.cumsum(is_first) - 1
    ends = np.cumsum(rows)
    base = (ends - rows)[is_first][tuples] if len(rows) else ends
    is_whole = np.bincount(tuples)[tuples] == 1 if len(rows) else is_first
    table = pa.table(
        {f"c{position}": integers(code) for position, code in enumerate(codes)}
        | {
            "tuple": integers(tuples),
            "goal": integers(groups),
            "first": integers(ends - rows - base),
            "last": integers(ends - base),
        }
    )
    return table.take(integers(np.flatnonzero(is_whole))), table.take(integers(np.flatnonzero(~is_whole)))
