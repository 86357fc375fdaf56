"""Plans of histories: how the rows of each table become released rows, each with labels of its own or dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from indistinct.array_types import IntArray
from indistinct.counting.joined_tables import TableCount
from indistinct.engine.plans import LocalPlan
from indistinct.randomness import SECURE, Draws
from indistinct.recoding.histories.history_rows import HistoryRecoding
from indistinct.recoding.recoding import SUPPRESSED


def history_plans(
    tables: Mapping[str, TableCount], recoding: HistoryRecoding, extra: tuple[str, ...] = (), draws: Draws = SECURE
) -> dict[str, LocalPlan]:
    """Return the plan of each table; what says whose rows they are stays, until pseudonyms take its place."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    people = frequencies.base.people
    assert people is not None  # several tables were counted
    assert people.tree is not None
    assert people.tree.sources is not None
    sources = people.tree.sources[pieces.tuples]
    start, plans = 0, {}
    for name, table in tables.items():
        chosen = (sources >= start) & (sources < start + len(table.rows))
        plans[name] = replace(
            _table_plan(name, table, recoding, np.flatnonzero(chosen), sources[chosen] - start),
            draws=draws.part(name),
        )
        plans[name] = replace(plans[name], columns=(*plans[name].columns, *extra))
        start += len(table.rows)
    return plans


def _table_plan(
    name: str, table: TableCount, recoding: HistoryRecoding, chosen: IntArray, entries: IntArray
) -> LocalPlan:
    """Return the plan of one table, of these pieces, each of an entry of the table."""
    policy, frequencies = table.part.policy, recoding.frequencies
    groups = recoding.pieces.groups[chosen]
    used, numbers = np.unique(groups[groups != SUPPRESSED], return_inverse=True)
    goal = np.full(len(groups), SUPPRESSED)
    goal[groups != SUPPRESSED] = numbers.ravel()
    positions = {column: frequencies.columns.index(f"{name}.{column}") for column in policy.quasi}
    codes = {column: recoding.codes[position][used] for column, position in positions.items()}
    labels = {column: recoding.labels[position].texts for column, position in positions.items()}
    kept = [c for c, p in positions.items() if not recoding.labels[p].levels[codes[c]].any()]
    released = (*policy.with_role("quasi", "sensitive", "other"), *policy.pseudonymous, *table.part.person)
    return LocalPlan(
        columns=released,
        tuples={column: own[entries] for column, own in table.codes.items()},
        rows=recoding.pieces.rows[chosen],
        groups=goal,
        labels=labels,
        codes=codes,
        kept=frozenset(kept),
    )
