"""Algorithms by name: the one that a policy or a command names, with its options."""

from __future__ import annotations

import dataclasses
from typing import Any

from indistinct.algorithms.algorithm import Algorithm, declaration_of
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


def exact_measure_of(policy: Policy) -> str | None:
    """Give the name of the measure that a policy lets an exact search over the lattice optimize, if it names one."""
    chosen = ALGORITHMS.get(policy.algorithm)
    if chosen is None or not declaration_of(chosen).is_exact or "measure" not in options_of(chosen):
        return None
    own = policy.options.get("measure")
    return own if isinstance(own, str) else None


def options_of(algorithm: type) -> tuple[str, ...]:
    """Give the names of an algorithm's options."""
    return tuple(field.name for field in dataclasses.fields(algorithm)) if dataclasses.is_dataclass(algorithm) else ()
