"""Algorithms: one file per paper, each finds a recoding of a frequency list that satisfies a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from indistinct.algorithms.algorithm import Algorithm, Task
from indistinct.algorithms.anatomy import Anatomy
from indistinct.algorithms.chosen import Chosen
from indistinct.algorithms.datafly import Datafly
from indistinct.algorithms.k_similar import KSimilar
from indistinct.algorithms.lattice import Lattice
from indistinct.algorithms.lossy_join import LossyJoin
from indistinct.algorithms.m_invariance import MInvariant
from indistinct.algorithms.mingen import MinGen, MinGenCell
from indistinct.algorithms.mondrian import Mondrian
from indistinct.algorithms.mu_argus import MuArgus
from indistinct.algorithms.regroup import Regroup
from indistinct.algorithms.samarati import Samarati
from indistinct.algorithms.top_down import TopDown
from indistinct.errors import PolicyError
from indistinct.policy import Policy

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "lattice": Lattice,
    "samarati": Samarati,
    "mingen": MinGen,
    "mingen-cell": MinGenCell,
    "datafly": Datafly,
    "regroup": Regroup,
    "mondrian": Mondrian,
    "k-similar": KSimilar,
    "mu-argus": MuArgus,
    "top-down": TopDown,
    "lossy-join": LossyJoin,
    "anatomy": Anatomy,
    "m-invariance": MInvariant,
    "chosen": Chosen,
}
"""Every algorithm by its name in a policy file."""


def algorithm_named(name: str, **options: Any) -> Algorithm:
    """Make the algorithm of this name with these options.

    >>> algorithm_named("samarati", preference="min-suppression").name
    'samarati'
    """
    if name not in ALGORITHMS:
        raise PolicyError(f"algorithm: there is no {name!r}; choose one of {', '.join(ALGORITHMS)}")
    make = ALGORITHMS[name]
    known: list[str] = [field.name for field in dataclasses.fields(make)] if dataclasses.is_dataclass(make) else []
    unknown = [option for option in options if option not in known]
    if unknown:
        raise PolicyError(
            [f"options.{option}: {name} has no such option; it has {', '.join(known)}" for option in unknown]
        )
    return make(**options)


def algorithm_of(policy: Policy) -> Algorithm:
    """Make the algorithm that a policy names."""
    return algorithm_named(policy.algorithm, **policy.options)


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Anatomy",
    "Chosen",
    "Datafly",
    "KSimilar",
    "Lattice",
    "LossyJoin",
    "MInvariant",
    "MinGen",
    "MinGenCell",
    "Mondrian",
    "MuArgus",
    "Regroup",
    "Samarati",
    "Task",
    "TopDown",
    "algorithm_named",
    "algorithm_of",
]
