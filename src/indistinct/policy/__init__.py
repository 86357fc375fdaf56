"""What a release must satisfy: the policy, its file and schema, and what it says of itself."""

from __future__ import annotations

from indistinct.engine.plans import OPERATORS
from indistinct.policy.cell_rules import CellSet, DateShift, Microaggregation, Noise
from indistinct.policy.column import Column, Role, drop, identifier, other, quasi, sensitive
from indistinct.policy.condition import Condition, where
from indistinct.policy.context import Context, Likelihood, RecipientTerms
from indistinct.policy.knows import Knows, lists_people
from indistinct.policy.linked_tables import LinkedTable, Part
from indistinct.policy.person import PSEUDONYM, Person
from indistinct.policy.policy import (
    ALL_QUASI,
    Policy,
    sensitive_columns,
    suppression_in_rows,
    suppression_mistakes,
)

__all__ = [
    "ALL_QUASI",
    "OPERATORS",
    "PSEUDONYM",
    "CellSet",
    "Column",
    "Condition",
    "Context",
    "DateShift",
    "Knows",
    "Likelihood",
    "LinkedTable",
    "Microaggregation",
    "Noise",
    "Part",
    "Person",
    "Policy",
    "RecipientTerms",
    "Role",
    "drop",
    "identifier",
    "lists_people",
    "other",
    "quasi",
    "sensitive",
    "sensitive_columns",
    "suppression_in_rows",
    "suppression_mistakes",
    "where",
]
