"""What a manifest says of its search: its options, blind if it saw no sensitive value, randomised if it drew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from indistinct.policy import Policy, TablesPolicy
from indistinct.policy.stated_shapes import is_plain
from indistinct.proof.checks import Check
from indistinct.registry import ALGORITHMS


def is_search(said: Any) -> bool:
    """Tell whether this is what a manifest may say of a search."""
    return (
        isinstance(said, dict)
        and set(said) == {"blind", "randomised"}
        and all(type(one) is bool for one in said.values())
    )


def option_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say whether options are stated that their algorithm does not have, or texts in them that name no column."""

    def has_text(said: Any) -> bool:
        if isinstance(said, dict | list):
            return any(map(has_text, [*said, *said.values()] if isinstance(said, dict) else said))
        return isinstance(said, str) and said not in policy.columns and not is_plain(said)

    options, algorithm = manifest.get("options", {}), ALGORITHMS.get(str(manifest.get("algorithm")))
    if algorithm is None:  # of another package
        known = set(options)
    else:
        known = {field.name for field in fields(algorithm)} if is_dataclass(algorithm) else set()
    is_possible = options.keys() <= known and not has_text(options)
    return [] if is_possible else ["options are not those of its algorithm"]


def search_checks(manifest: Mapping[str, Any], policy: Policy | TablesPolicy) -> list[Check]:
    """Check what a manifest says of its search against the policy, and against what its algorithm can be.

    A search sees sensitive values only where models ask about them, and may be told of earlier releases as well.
    """
    said = manifest.get("search")
    if not is_search(said):
        return []
    assert isinstance(said, dict)  # else it would be none
    asked = (policy if isinstance(policy, Policy) else policy.joint()).asked_sensitive
    wrong = ["blind, though models ask about sensitive values"] if said["blind"] and asked else []
    algorithm = ALGORITHMS.get(str(manifest.get("algorithm")))
    draws = algorithm is None or any(getattr(algorithm, what, 0) for what in ("draws_rows", "draws_groups", "doubt"))
    wrong += ["randomised, though its algorithm draws nothing"] if said["randomised"] and not draws else []
    if wrong:
        return [Check("search", False, f"the manifest calls it {' and '.join(wrong)}")]
    found = "blind: it saw no sensitive value" if said["blind"] else "not blind: it saw sensitive values"
    return [Check("search", True, f"{found}; {'' if said['randomised'] else 'not '}randomised")]
