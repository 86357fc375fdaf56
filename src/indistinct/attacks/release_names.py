"""Several releases, earliest first: what to call each of them, and the policy of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.load import load_policy


def releases_by_name(releases: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return releases with their names: those that they were given, those of their files, or numbers."""
    if isinstance(releases, Mapping):
        return dict(releases)
    if isinstance(releases, str | Path):
        raise PolicyError("releases: give several, earliest first")
    names = [
        Path(release).name if isinstance(release, str | Path) else f"release {number}"
        for number, release in enumerate(releases, 1)
    ]
    if len(set(names)) < len(names):
        names = [f"release {number}" for number in range(1, len(names) + 1)]
    return dict(zip(names, releases, strict=True))


OnePolicy = Policy | str | os.PathLike[str]
"""A policy of one table, or the path of its file."""


def policy_of_each(policies: OnePolicy | Sequence[OnePolicy], number: int) -> list[Policy]:
    """Return a policy for each release: the same for all, or one each."""
    if isinstance(policies, Policy | str | os.PathLike):
        return [load_policy(policies, to="attack")] * number
    if len(policies) != number:
        raise PolicyError(f"policies: {len(policies)} for {number} releases; give one for all, or one for each")
    return [load_policy(policy, to="attack") for policy in policies]
