"""What an unmended release gives away, counted from its own cells: plain Python that knows nothing of the search.

A number of its own goes through the release beside each row, and is taken out before anybody attacks it. It leads back
to the row, and so to whose it is, as whoever published the table says: not as ``init`` guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pyarrow as pa

import indistinct as ix
from benchmarks.setting import Figures

NUMBER = "number of the row"
Cells = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Released:
    """A release with the number of each row, and what it lost."""

    cells: Cells
    people: Sequence[str]
    """Whose each row is."""
    table: pa.Table
    """The release as it leaves."""
    policy: ix.Policy
    loss: float
    recoding: Any
    suppressed: int


def release(table: pa.Table, policy: ix.Policy, person: Sequence[str]) -> Released:
    """Release a table whose rows carry their numbers."""
    numbered = table.append_column(NUMBER, pa.array([str(row) for row in range(table.num_rows)]))
    asked = replace(policy, columns={**policy.columns, NUMBER: ix.other()}, quasi_identifiers=None)
    whose = people_of(table, person)
    with ix.anonymize(numbered, asked) as made:
        leaving = made.table
        rows = [int(row) for row in leaving[NUMBER].to_pylist()]
        kept = leaving.drop_columns([NUMBER])
        cells = {name: [_text(cell) for cell in kept[name].to_pylist()] for name in kept.column_names}
        loss = float(ix.Loss().loss(made.recoding))
        return Released(
            cells, [whose[row] for row in rows], kept, policy, loss, made.recoding, table.num_rows - len(rows)
        )


def people_of(table: pa.Table, person: Sequence[str]) -> list[str]:
    """Return whose each row is; each is of somebody else where nothing says it."""
    if not person:
        return [str(row) for row in range(table.num_rows)]
    return ["|".join(map(str, row)) for row in zip(*(table[name].to_pylist() for name in person), strict=True)]


def recount(made: Released, k: int) -> Figures:
    """Count what fewer than k people have: groups, and values that leave as they are, up to three together."""
    policy, cells = made.policy, made.cells
    quasi = [name for name in policy.with_role("quasi") if name in cells]
    others = [name for name in policy.with_role("other") if name in cells]
    sensitive = [name for name in policy.with_role("sensitive") if name in cells]
    groups = fewer(list(zip(*(cells[name] for name in quasi), strict=True)), made.people, k) if quasi else 0
    alone = {name: fewer(cells[name], made.people, k) for name in (*others, *sensitive)}
    together = {
        some: fewer(
            [None if None in row else row for row in zip(*(cells[name] for name in some), strict=True)], made.people, k
        )
        for some in (*combinations(others, 2), *combinations(others, 3))
    }
    return {
        "groups_of_fewer": groups,
        "columns_with_rare_values": sum(map(bool, alone.values())),
        "rows_with_rare_values": max(alone.values(), default=0),
        "sets_with_rare_values": sum(map(bool, together.values())),
        "quasi": len(quasi),
        "other": len(others),
        "sensitive": len(sensitive),
        "dropped": len(policy.with_role("drop")),
        "rare": [name for name, rows in alone.items() if rows],
        "rare_sets": [" + ".join(some) for some, rows in together.items() if rows][:5],
    }


def fewer(labels: Sequence[Any], people: Sequence[str], k: int) -> int:
    """Return how many rows have a label that fewer than k people have; a missing cell is no label.

    >>> fewer(["a", "a", "b", None], ["1", "1", "2", "3"], 2)
    3
    """
    having, rows = defaultdict(set), defaultdict(int)
    for label, person in zip(labels, people, strict=True):
        if label is not None:
            having[label].add(person)
            rows[label] += 1
    return sum(rows[label] for label, some in having.items() if len(some) < k)


def attacked(made: Released, original: pa.Table | None = None) -> Figures:
    """Run all attacks on the release, and name those that expose people."""
    found = ix.attacks.run(made.table, made.policy, original=original)
    broken = [one.attack for one in found.outcomes if one.severity == "broken"]
    return {
        "attacks": len(found.outcomes),
        "severity": found.severity,
        "broken": broken,
        "said": [f"{one.attack}: {one.summary}" for one in found.outcomes if one.severity == "broken"],
    }


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)
