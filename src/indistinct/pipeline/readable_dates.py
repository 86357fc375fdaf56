"""Cells that a policy refuses, counted before any work: dates that must move, numbers to perturb, and missing ones."""

from __future__ import annotations

from indistinct.engine import Rows
from indistinct.policy import Policy
from indistinct.showing.words import counted


def refused_cells(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells are none that the policy can take, of columns that no search looks at."""
    return [*unreadable_dates(rows, policy), *unreadable_numbers(rows, policy), *missing_cells(rows, policy)]


def unreadable_dates(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells of columns whose dates move are none; a missing cell stays missing."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    mistakes = []
    for name, shift in policy.shifted.items():
        if wrong := rows.unreadable_dates(name, shift.format, conditions):
            expected = "an ISO date" if shift.format is None else repr(shift.format)
            mistakes.append(
                f"columns.{name}.shift: {counted(wrong, 'row holds', 'rows hold')} what cannot be read as {expected}, "
                "or lies before the year 20 or after 9980; give shift their format, or correct the table"
            )
    return mistakes


def unreadable_numbers(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells of columns whose numbers are perturbed are none; a missing cell stays missing."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    found = {name: rows.unreadable_numbers(name, conditions) for name in policy.perturbed}
    return [
        f"columns.{name}.{key}: {counted(wrong, 'row holds', 'rows hold')} what is no number, or one beyond 1e150; "
        "list codes that mean a missing cell under missing, or correct the table"
        for name, wrong in found.items()
        if wrong
        for key in policy.columns[name].describe_perturbation()
    ]


def missing_cells(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells are missing where a policy refuses that; quasi columns say it when they are counted."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    mistakes = []
    for name, column in policy.columns.items():
        if column.missing != "refuse" or column.role == "quasi":
            continue
        with rows.encode([name], [*conditions, (name, "missing", None)]) as found:
            missing = found.rows
        if missing:
            mistakes.append(
                f"columns.{name}.missing: {counted(missing, 'row has', 'rows have')} no cell there, which the policy "
                "refuses; fill them, leave those rows out with a filter (op = 'present'), or say missing = 'value'"
            )
    return mistakes
