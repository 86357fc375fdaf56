"""Dates that move must be dates: what cannot be read as one is counted and refused before any work."""

from __future__ import annotations

from indistinct.engine import Rows
from indistinct.policy import Policy
from indistinct.showing.words import counted


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
