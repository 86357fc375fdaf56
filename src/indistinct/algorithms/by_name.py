"""Algorithms by name: the one that a policy or a command names, with its options."""

from __future__ import annotations

from typing import Any

from indistinct.algorithms.algorithm import Algorithm
from indistinct.policy import Policy
from indistinct.registry import ALGORITHMS


def algorithm_named(name: str, **options: Any) -> Algorithm:
    """Make the algorithm of this name with these options.

    >>> algorithm_named("samarati", preference="min-suppression").name
    'samarati'
    """
    return ALGORITHMS.make(name, **options)


def algorithm_of(policy: Policy) -> Algorithm:
    """Make the algorithm that a policy names."""
    return algorithm_named(policy.algorithm, **policy.options)
