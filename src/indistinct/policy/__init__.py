"""What a release must satisfy: the policy, its file and schema, and what it says of itself."""

from __future__ import annotations

from indistinct.engine.plans import OPERATORS
from indistinct.policy.column import Column, Role, identifier, other, quasi, sensitive
from indistinct.policy.person import PSEUDONYM, Person
from indistinct.policy.policy import (
    ALL_QUASI,
    Condition,
    Policy,
    sensitive_columns,
    suppression_in_rows,
    suppression_mistakes,
    where,
)

__all__ = [
    "ALL_QUASI",
    "OPERATORS",
    "PSEUDONYM",
    "Column",
    "Condition",
    "Person",
    "Policy",
    "Role",
    "identifier",
    "other",
    "quasi",
    "sensitive",
    "sensitive_columns",
    "suppression_in_rows",
    "suppression_mistakes",
    "where",
]
