"""Encoding a table for a policy: the columns that are counted, of the rows that are eligible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indistinct.engine import Encoded, Rows
    from indistinct.policy import Policy


def encode_eligible(rows: Rows, policy: Policy, columns: Sequence[str] | None = None) -> Encoded:
    """Encode some columns of a policy's eligible rows; if none are named, all that are counted before a search.

    Those are the quasi columns, the sensitive ones that models ask about, and those that say whose row it is.
    """
    asked = (*policy.quasi, *policy.asked_sensitive, *policy.person_columns) if columns is None else columns
    return rows.encode(asked, [condition.as_triple() for condition in policy.eligible])
