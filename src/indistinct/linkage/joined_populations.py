"""use_people(): the people of one external table, or of several that are joined to one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engine import Rows, use_table
from indistinct.errors import PolicyError


@contextmanager
def use_people(source: Any, **reading: Any) -> Iterator[Rows]:
    """Return the rows of an external table, or of several in a list or tuple as one, for the time of the block.

    Tables are joined by all columns that both have; whoever is missing in one has no value in its other columns. Equal
    rows of tables with the same columns are the same people. That is the universal relation of Samarati's footnote 3.

    Source: Samarati 2001, section 2, footnote 3.
    """
    if not isinstance(source, list | tuple):
        with use_table(source, **reading) as rows:
            yield rows
        return
    if not source:
        raise PolicyError("external: an empty list of tables names nobody")
    tables = [_texts(one, reading) for one in source]
    joined = tables[0]
    for table in tables[1:]:
        joined = _join(joined, table)
    limits = {name: value for name, value in reading.items() if name in ("memory_limit", "threads")}
    with use_table(joined, **limits) as rows:
        yield rows


def _texts(source: Any, reading: Any) -> pa.Table:
    with use_table(source, **reading) as rows:
        return rows.texts(list(rows.columns())).read_all()


def _join(first: pa.Table, second: pa.Table) -> pa.Table:
    """Return the natural full outer join of two tables."""
    names = list(dict.fromkeys([*first.column_names, *second.column_names]))
    # under names of our own, since Arrow reads some names as paths
    one, other = (
        table.rename_columns([f"c{names.index(name)}" for name in table.column_names]) for table in (first, second)
    )
    shared = [name for name in one.column_names if name in other.column_names]
    if not shared:
        raise PolicyError("external: two of the tables have no column in common; say by its name who is who")
    if len(shared) < len(names):
        joined = one.join(other, shared, join_type="full outer")
    else:
        counts = [
            table.group_by(shared, use_threads=False).aggregate([([], "count_all")]).rename_columns([*shared, name])
            for table, name in ((one, "rows"), (other, "others"))
        ]
        both = counts[0].join(counts[1], shared, join_type="full outer")
        numbers = [np.nan_to_num(both[name].to_numpy().astype(float)) for name in ("rows", "others")]
        rows = np.repeat(np.arange(len(both)), np.maximum(*numbers).astype(np.int64))
        joined = both.select(shared).take(pa.array(rows))
    return joined.rename_columns([names[int(name[1:])] for name in joined.column_names])
