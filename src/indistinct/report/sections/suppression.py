"""Suppression: how many rows were left out, which columns forced it, and what keeps the columns at their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from indistinct.counting import FrequencyList, Groups, IntArray
from indistinct.hierarchy import label_text
from indistinct.report.subject import Subject
from indistinct.search import Task, with_level

MOST_LABELS = 8
"""Labels that lost most of their rows, to be shown."""


def suppression(subject: Subject) -> dict[str, Any]:
    """Return what was left out; for a full-domain release also why, if the private table is at hand."""
    said = subject.said
    rows = said.suppressed
    described: dict[str, Any] = {
        "rows": rows,
        "eligible": said.eligible,
        "share": rows / max(1, said.eligible),
        "allowed": subject.policy.allowed_suppression(said.eligible),
        "limit": subject.policy.max_suppression,
        "people": None if said.people is None else said.people.to_dict(),
        "drawn": None if said.drawn is None else said.drawn.to_dict(),
    }
    if subject.policy.is_drawn:
        return described | {"left_out": "which rows were left out, and how many, was drawn at random and is a secret"}
    if subject.edition == "public":
        return described | {"left_out": "which rows were left out, and why, stands in the internal edition only"}
    if subject.before is None:
        return described | {"left_out": "why is counted from the private table, which is not at hand"}
    if subject.node is None:
        return described | {"left_out": "a release without one level per column has no single column that forces it"}
    return described | _why(subject.before, Task.of(subject.before, subject.policy), subject)


def _why(before: FrequencyList, task: Task, subject: Subject) -> dict[str, Any]:
    """Return what each column forces: the rows to leave out were it higher, lower, or not there at all."""
    assert subject.node is not None  # asked for releases with levels only
    node = tuple(subject.node[name] for name in before.columns)
    groups, _ = before.roll_up(node)
    recoding = task.recoding(groups)
    made = []
    for column, (name, height) in enumerate(zip(before.columns, before.heights, strict=True)):
        level = node[column]
        higher = before.roll_up(with_level(node, column, level + 1), groups)[0] if level < height else None
        lower = before.roll_up(with_level(node, column, level - 1))[0] if level else None
        without, _ = groups.only([other for other in range(len(node)) if other != column])
        made.append(
            {
                "name": name,
                "level": level,
                "height": height,
                "one_lower": None if lower is None else _left_out(task, lower),
                "one_higher": None if higher is None else _left_out(task, higher),
                "not_there": _left_out(task, without) if len(node) > 1 else None,
            }
        )
    required = recoding.suppressed_rows
    return {
        "required": required,
        "columns": made,
        "forced_by": _forced_by(made, required),
        "labels": _hit_labels(before, groups, recoding.lost_rows),
    }


def _forced_by(columns: Sequence[Mapping[str, Any]], required: int) -> list[dict[str, Any]]:
    """Return the columns without which fewer rows would have to go, those that cost most rows first."""
    saved = [(required - column["not_there"], column["name"]) for column in columns if column["not_there"] is not None]
    return [{"name": name, "rows": rows} for rows, name in sorted(saved, key=lambda one: -one[0]) if rows > 0]


def _left_out(task: Task, groups: Groups) -> int:
    return task.recoding(groups).suppressed_rows


def _hit_labels(before: FrequencyList, groups: Groups, lost_rows: IntArray) -> list[dict[str, Any]]:
    """Return the labels that lost the largest shares of their rows; whoever uses the release should know."""
    found: list[dict[str, Any]] = []
    for column, (name, level) in enumerate(zip(before.columns, groups.node, strict=True)):
        labels = before.hierarchies[column].labels[level]
        labels = labels[:-1] if before.has_absent else labels  # the last is that of other tables' rows
        if len(labels) < 2:
            continue  # what all rows have in common was not hit in particular
        codes = groups.label_codes(column)
        rows = np.bincount(codes, groups.sizes, len(labels))[: len(labels)]
        lost = np.bincount(codes, lost_rows, len(labels))[: len(labels)]
        found += [
            {"column": name, "label": label_text(labels[code]), "rows": int(rows[code]), "suppressed": int(lost[code])}
            for code in np.flatnonzero(lost)
        ]
    found.sort(key=lambda one: (-one["suppressed"] / one["rows"], -one["suppressed"], one["column"], one["label"]))
    return found[:MOST_LABELS]
