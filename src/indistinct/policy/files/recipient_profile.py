"""for_recipient() and for_levels(): a policy for one recipient, and one with an anonymity level for each column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def for_levels(policy: Policy, levels: Mapping[str, float], population: int) -> Policy:
    """Return the policy with an anonymity level for some columns: how many rows each label of theirs must have alone.

    A level between 0 and 1 computes to a k as ``KAnonymity.at_level`` does, for the size of a ``population``. At 0 a
    column has no demand of its own. At 1 it is released at the top of its hierarchy alone. What the policy asks of
    columns in combination stays.

    Source: Samarati 2001, section 7, and Sweeney 2002, section 4.1, on the Datafly system.

    >>> from indistinct import KAnonymity, quasi
    >>> policy = Policy(columns={"sex": quasi(), "zip": quasi()}, privacy=[KAnonymity(2)])
    >>> for_levels(policy, {"zip": 0.2}, 10_000).privacy
    (KAnonymity(k=2, on='quasi-identifier'), KAnonymity(k=10, on='zip'))
    """
    k_anonymity: Any = MODELS["k-anonymity"]
    mistakes = [f"levels: {name!r} is not a quasi column" for name in levels if name not in policy.quasi]
    mistakes += [f"levels.{n}: must lie between 0 and 1, got {v!r}" for n, v in levels.items() if not 0 <= v <= 1]
    if policy.tables:
        mistakes.append("levels: several tables have one quasi-identifier, all of it")
    if type(population) is not int or population < 1:
        mistakes.append(f"population: must be a whole number of at least 1, got {population!r}")
    if mistakes:
        raise PolicyError(mistakes)
    columns = dict(policy.columns)
    for name in (name for name, level in levels.items() if level == 1):
        height = columns[name].hierarchy.height
        if not height:
            raise PolicyError(f"levels.{name}: its hierarchy has no top that is known; give it one, or a level below 1")
        columns[name] = replace(columns[name], min_level=height)
    sets: Mapping[str, Sequence[str]] = policy.quasi_identifiers or {}
    own = [name for name in policy.quasi if 0 < levels.get(name, 0) < 1]
    if taken := [name for name in own if name in sets]:
        raise PolicyError([f"levels.{name}: a quasi-identifier has this name; call it otherwise" for name in taken])
    models: list[Any] = [
        replace(model, on=name)  # type: ignore[type-var]  # every model is a dataclass
        for model in policy.privacy
        for name in (sets if model.on is None else [model.on])
    ]
    models += [k_anonymity.at_level(levels[name], population, name) for name in own]
    named = {**sets, **{name: [name] for name in own}}
    return replace(policy, columns=columns, privacy=models, quasi_identifiers=named)
