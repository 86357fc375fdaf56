"""What a policy says of itself: as a public manifest may state it, and as a digest of all that it requires."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from indistinct.policy.policy import Policy


def policy_described(policy: Policy) -> dict[str, Any]:
    """Give a policy as a public manifest may state it: hierarchies by kind, levels and digest, filters by column.

    Ground values that a hierarchy lists, and values that a filter compares with, could be cells of the private table,
    so they are left out.
    """
    assert policy.quasi_identifiers is not None  # set when the policy was made
    columns: dict[str, Any] = {}
    for name, column in policy.columns.items():
        columns[name] = {"role": column.role}
        if column.role == "sensitive" and not column.hierarchy.is_never_generalized:
            columns[name] |= {"hierarchy": column.hierarchy.describe()}
        if column.role == "quasi":
            columns[name] |= {
                "hierarchy": column.hierarchy.describe(),
                "weight": column.weight,
                "missing": column.missing,
            }
    return {
        "columns": columns,
        "quasi_identifiers": {name: list(names) for name, names in policy.quasi_identifiers.items()},
        "privacy": [model.terms() for model in policy.privacy],
        "max_suppression": policy.max_suppression,
        "suppressed_rows": policy.suppressed_rows,
        "eligible": [{"column": condition.column, "op": condition.op} for condition in policy.eligible],
        "algorithm": policy.algorithm,
    }


def policy_digest(policy: Policy) -> str:
    """Give the SHA-256 of everything that a policy requires of a release; the algorithm is not part of it."""
    described = policy_described(policy)
    del described["algorithm"]
    described["eligible"] = [[c.column, c.op, str(c.value)] for c in policy.eligible]
    described["privacy"] = [model.describe() for model in policy.privacy]
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
