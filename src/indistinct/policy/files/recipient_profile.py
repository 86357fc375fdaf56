"""for_recipient(): a policy for one recipient, by how likely they are to link by each column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from indistinct.errors import PolicyError
from indistinct.policy.column import other
from indistinct.policy.policy import Policy
from indistinct.registry import MODELS


def for_recipient(policy: Policy, profile: Mapping[str, float]) -> Policy:
    """Return the policy for a recipient whose profile says, column by column, how likely they are to link by it.

    Columns at 1 are protected in combination with the policy's k; columns between 0 and 1 each alone, with k
    weighted by the profile (rounded up); columns at 0 cannot be linked by this recipient and are released as they are.

    Source: Samarati 2001, section 7, on the Datafly system.
    """
    if not isinstance(profile, Mapping) or not all(isinstance(value, int | float) for value in profile.values()):
        raise PolicyError("profile: must give each quasi column a number between 0 and 1")
    mistakes = [f"profile: {name!r} is not a quasi column" for name in profile if name not in policy.quasi]
    mistakes += [f"profile: {name!r} has no value" for name in policy.quasi if name not in profile]
    mistakes += [f"profile.{n}: must lie between 0 and 1, got {v!r}" for n, v in profile.items() if not 0 <= v <= 1]
    k_anonymity: Any = MODELS["k-anonymity"]
    asked = [model for model in policy.privacy if isinstance(model, k_anonymity)]
    if len(asked) != len(policy.privacy) or len(asked) != 1:
        mistakes.append("profile: a recipient profile weighs the k of a policy with k-anonymity as its only model")
    if not any(profile.values()):
        mistakes.append("profile: a recipient who can link by no column needs no protection; give some column a value")
    if policy.tables and any(0 < value < 1 for value in profile.values()):
        mistakes.append("profile: several tables have one quasi-identifier, all of it; give each column 0 or 1")
    if mistakes:
        raise PolicyError(mistakes)
    columns = {
        name: other() if column.role == "quasi" and profile[name] == 0 else column
        for name, column in policy.columns.items()
    }
    if policy.tables:
        return policy.with_columns(columns)
    together = [name for name in policy.quasi if profile[name] == 1]
    named: dict[str, list[str]] = {"combination": together} if together else {}
    models = [replace(asked[0], on="combination")] if together else []
    for name in policy.quasi:
        if 0 < profile[name] < 1:
            named[name] = [name]
            models.append(k_anonymity(max(1, math.ceil(asked[0].k * profile[name] - 1e-9)), on=name))
    return replace(policy, columns=columns, privacy=models, quasi_identifiers=named)
