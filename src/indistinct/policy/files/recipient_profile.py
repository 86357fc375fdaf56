"""for_recipient() and for_levels(): a policy for one recipient, and one with an anonymity level for each column.

A recipient is one that the policy names, on terms of her own, or one of whom it is said by which columns she may link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.policy.column import Column, other
from indistinct.policy.context import Context, RecipientTerms
from indistinct.policy.policy import ALL_QUASI, Policy
from indistinct.registry import MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel


def for_recipient(policy: Policy, recipient: str | Mapping[str, float]) -> Policy:
    """Return the policy for a recipient: one that it names under ``recipients``, or one with a profile.

    The terms of a named one replace what is said for everybody else: k, columns, suppression, levels, context.
    A profile says, column by column, how likely they are to link by it. Columns at 1 are protected in combination with
    the policy's k; columns between 0 and 1 each alone, with k weighted by the profile (rounded up); columns at 0 cannot
    be linked by this recipient and are released as they are.

    Source: Samarati 2001, section 7, on the Datafly system.
    """
    return _on_own_terms(policy, recipient) if isinstance(recipient, str) else _by_profile(policy, recipient)


def _on_own_terms(policy: Policy, name: str) -> Policy:
    """Return the policy for a recipient whom it names; it names no other one any more.

    Of that one only what documents say is left, since its terms are the policy's now.
    """
    if name not in policy.recipients:
        known = f"it names {', '.join(policy.recipients)}" if policy.recipients else "it names none; add [recipients]"
        raise PolicyError(f"recipients: the policy has no recipient {name!r}; {known}")
    terms, place = policy.recipients[name], f"recipients.{name}"
    columns = _columns_for(policy, terms, place)
    sets = {own: [one for one in names if columns[one].role == "quasi"] for own, names in _sets(policy).items()}
    about = {**policy.about, **({"recipient": terms.who} if terms.who else {})}
    context = policy.context or (None if terms.context is None else Context())
    made: dict[str, Any] = {
        "privacy": [_with_k(model, terms.k, place) for model in policy.privacy],
        "about": about,
        "context": None if context is None else context.with_own(terms.context),
        "recipients": {name: RecipientTerms(terms.who, terms.holds, terms.means, terms.contract)},
    }
    made |= {} if terms.max_suppression is None else {"max_suppression": terms.max_suppression}
    if not policy.tables:
        named = {own: names for own, names in sets.items() if names}
        made |= {"columns": columns, "quasi_identifiers": None if set(named) == {ALL_QUASI} else named}
    try:
        found = replace(policy.with_columns(columns) if policy.tables else policy, **made)
        return found if terms.profile is None else _by_profile(found, terms.profile)
    except PolicyError as error:
        raise PolicyError([f"{place}: {mistake}" for mistake in error.mistakes]) from None


def _sets(policy: Policy) -> Mapping[str, Sequence[str]]:
    return policy.quasi_identifiers or {ALL_QUASI: policy.quasi}


def _columns_for(policy: Policy, terms: RecipientTerms, place: str) -> dict[str, Column]:
    """Return the columns as a recipient gets them: those that are not listed are dropped, some start higher up."""
    known = set(policy.columns)
    wanted = known if terms.columns is None else set(terms.columns)
    mistakes = [f"{place}.columns: the policy has no column {one!r}" for one in sorted(wanted - known)]
    mistakes += [
        f"{place}.min_level: {one!r} is not a quasi column of theirs"
        for one in terms.min_level
        if one not in wanted or one not in policy.quasi
    ]
    if mistakes:
        raise PolicyError(mistakes)
    released = ("quasi", "sensitive", "other")
    columns = {
        one: _drop(column) if column.role in released and one not in wanted else column
        for one, column in policy.columns.items()
    }
    for one, level in terms.min_level.items():
        columns[one] = replace(columns[one], min_level=level)
    return columns


def _drop(column: Column) -> Column:
    """Return a column that is not released; conditions still read its cells as before."""
    return Column("drop", missing=column.missing, missing_codes=column.missing_codes)


def _with_k(model: PrivacyModel, k: int | None, place: str) -> PrivacyModel:
    """Return a model with another k, if it has one."""
    if k is None or not hasattr(model, "k"):
        return model
    try:
        made: PrivacyModel = replace(model, k=k)  # type: ignore[type-var]  # every model is a dataclass
        return made
    except PolicyError as error:
        raise PolicyError([f"{place}.k: {mistake}" for mistake in error.mistakes]) from None


def _by_profile(policy: Policy, profile: Mapping[str, float]) -> Policy:
    """Return the policy for a recipient with a profile."""
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
