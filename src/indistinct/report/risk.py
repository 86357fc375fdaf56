"""Risk before and after: how large the groups are, and what chance that leaves to whoever looks for a person."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.frequency import IntArray
from indistinct.report.subject import Subject

STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bars of the distribution of group sizes begin."""
THRESHOLD = 0.2
"""The chance above which a row counts as at risk, as in custom: groups of fewer than five."""


def risks(subject: Subject) -> list[dict[str, Any]]:
    """Give the risk by each quasi-identifier, before the release where that is known, and after."""
    return [
        {
            "name": name,
            "columns": list(columns),
            "before": figures(_sizes_before(subject, columns)),
            "after": figures(subject.released.sizes_by(columns)),
        }
        for name, columns in subject.groupings()
    ]


def figures(sizes: IntArray | None) -> dict[str, Any] | None:
    """Give the risk figures of groups of these sizes.

    Prosecutor: somebody knows that a person is in the table and looks for the row; one over the group's size.
    Marketer: somebody links all rows and is glad of every right one; the average over rows, groups over rows.

    >>> found = figures(np.array([1, 4, 5]))
    >>> found["highest"], found["average"], found["at_risk"], found["sizes"]
    (1.0, 0.3, 5, {'1': 1, '3-4': 4, '5-9': 5})
    """
    if sizes is None or not len(sizes):
        return None
    rows = int(sizes.sum())
    return {
        "rows": rows,
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "alone": int((sizes == 1).sum()),
        "highest": 1 / int(sizes.min()),
        "average": len(sizes) / rows,
        "at_risk": int(sizes[1 / sizes > THRESHOLD].sum()),
        "sizes": _rows_by_size(sizes),
    }


def _sizes_before(subject: Subject, columns: tuple[str, ...]) -> IntArray | None:
    if subject.before is None:
        return None
    wanted = subject.policy.quasi if subject.is_apart else columns
    merged, _ = subject.before.base.only([subject.before.columns.index(name) for name in wanted])
    return merged.sizes


def _rows_by_size(sizes: IntArray) -> dict[str, int]:
    """Give how many rows stand in groups of each size, in steps that grow."""
    places = np.searchsorted(STEPS, sizes, side="right") - 1
    rows = np.bincount(places, sizes, len(STEPS)).astype(int).tolist()
    return {name: number for name, number in zip(step_names(), rows, strict=True) if number}


def step_names() -> list[str]:
    """Give the names of all bars, smallest groups first."""
    ends = [*STEPS[1:], None]
    return [
        f"{start} or more" if end is None else str(start) if end == start + 1 else f"{start}-{end - 1}"
        for start, end in zip(STEPS, ends, strict=True)
    ]
