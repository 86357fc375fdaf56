"""indistinct: releases of person-level tables in which nobody can be singled out, made, proved and remembered."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indistinct import attacks
    from indistinct.algorithms import (
        Anatomy,
        Chosen,
        Datafly,
        KSimilar,
        Lattice,
        LossyJoin,
        MinGen,
        MinGenCell,
        MInvariant,
        Mondrian,
        MuArgus,
        Regroup,
        Samarati,
        TopDown,
    )
    from indistinct.algorithms.datafly import for_recipient
    from indistinct.algorithms.distance_matrix import DistanceMatrix
    from indistinct.algorithms.frontier import Frontier
    from indistinct.algorithms.mu_argus import MuArgusSession
    from indistinct.algorithms.solutions import Solution
    from indistinct.errors import (
        HierarchyError,
        IndistinctError,
        InfeasibleError,
        InterruptedSearchError,
        LedgerError,
        MissingExtraError,
        OutputError,
        PolicyError,
        RefusedError,
        TableError,
        VerificationError,
    )
    from indistinct.hierarchy import (
        Hierarchy,
        dates,
        intervals,
        keep,
        levels,
        prefix,
        rounding,
        suppress,
        top_bottom,
        tree,
    )
    from indistinct.ledger import Ledger
    from indistinct.pipeline import anonymize, best_tables, distance_matrix, frontier, solutions
    from indistinct.pipeline.comparison import Comparison, compare
    from indistinct.policy import Policy, identifier, other, quasi, sensitive, where
    from indistinct.policy.policy_file import parse_policy, policy_schema, policy_toml, read_policy
    from indistinct.privacy import (
        AlphaK,
        AverageRisk,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        KMap,
        LDiversity,
        MInvariance,
        PrivacyModel,
        ProsecutorRisk,
        PSensitive,
        TCloseness,
    )
    from indistinct.proof.verdict import Verdict, verify
    from indistinct.quality import (
        NCP,
        AbsoluteDistance,
        Accuracy,
        AverageGroupSize,
        Completeness,
        Discernibility,
        DistinctTuples,
        Loss,
        NonUniformEntropy,
        Precision,
        RelativeDistance,
    )
    from indistinct.release import Release
    from indistinct.study.profiling import Profile, profile, suggested_policy
    from indistinct.study.risk import Risk, risk
    from indistinct.study.workload import QueryErrors, Workload, queries
    from indistinct.watch import Watch

__version__ = "0.1.0"

_HOMES = {
    "": ["attacks"],
    "algorithms": [
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
        "TopDown",
    ],
    "algorithms.datafly": ["for_recipient"],
    "algorithms.distance_matrix": ["DistanceMatrix"],
    "algorithms.frontier": ["Frontier"],
    "algorithms.mu_argus": ["MuArgusSession"],
    "algorithms.solutions": ["Solution"],
    "pipeline.comparison": ["Comparison", "compare"],
    "errors": [
        "HierarchyError",
        "IndistinctError",
        "InfeasibleError",
        "InterruptedSearchError",
        "LedgerError",
        "MissingExtraError",
        "OutputError",
        "PolicyError",
        "RefusedError",
        "TableError",
        "VerificationError",
    ],
    "hierarchy": [
        "Hierarchy",
        "dates",
        "intervals",
        "keep",
        "levels",
        "prefix",
        "rounding",
        "suppress",
        "top_bottom",
        "tree",
    ],
    "ledger": ["Ledger"],
    "pipeline": ["anonymize", "best_tables", "distance_matrix", "frontier", "solutions"],
    "policy": ["Policy", "identifier", "other", "quasi", "sensitive", "where"],
    "policy.policy_file": ["parse_policy", "policy_schema", "policy_toml", "read_policy"],
    "privacy": [
        "AlphaK",
        "AverageRisk",
        "BetaLikeness",
        "DeltaDisclosure",
        "KAnonymity",
        "KMap",
        "LDiversity",
        "MInvariance",
        "PSensitive",
        "PrivacyModel",
        "ProsecutorRisk",
        "TCloseness",
    ],
    "study.profiling": ["Profile", "profile", "suggested_policy"],
    "quality": [
        "NCP",
        "AbsoluteDistance",
        "Accuracy",
        "AverageGroupSize",
        "Completeness",
        "Discernibility",
        "DistinctTuples",
        "Loss",
        "NonUniformEntropy",
        "Precision",
        "RelativeDistance",
    ],
    "release": ["Release"],
    "study.risk": ["Risk", "risk"],
    "proof.verdict": ["Verdict", "verify"],
    "watch": ["Watch"],
    "study.workload": ["QueryErrors", "Workload", "queries"],
}
"""The module that each public name comes from, imported when the name is first asked for; "" for packages."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "NCP",
    "AbsoluteDistance",
    "Accuracy",
    "AlphaK",
    "Anatomy",
    "AverageGroupSize",
    "AverageRisk",
    "BetaLikeness",
    "Chosen",
    "Comparison",
    "Completeness",
    "Datafly",
    "DeltaDisclosure",
    "Discernibility",
    "DistanceMatrix",
    "DistinctTuples",
    "Frontier",
    "Hierarchy",
    "HierarchyError",
    "IndistinctError",
    "InfeasibleError",
    "InterruptedSearchError",
    "KAnonymity",
    "KMap",
    "KSimilar",
    "LDiversity",
    "Lattice",
    "Ledger",
    "LedgerError",
    "Loss",
    "LossyJoin",
    "MInvariance",
    "MInvariant",
    "MinGen",
    "MinGenCell",
    "MissingExtraError",
    "Mondrian",
    "MuArgus",
    "MuArgusSession",
    "NonUniformEntropy",
    "OutputError",
    "PSensitive",
    "Policy",
    "PolicyError",
    "Precision",
    "PrivacyModel",
    "Profile",
    "ProsecutorRisk",
    "QueryErrors",
    "RefusedError",
    "Regroup",
    "RelativeDistance",
    "Release",
    "Risk",
    "Samarati",
    "Solution",
    "TCloseness",
    "TableError",
    "TopDown",
    "Verdict",
    "VerificationError",
    "Watch",
    "Workload",
    "__version__",
    "anonymize",
    "attacks",
    "best_tables",
    "compare",
    "dates",
    "distance_matrix",
    "for_recipient",
    "frontier",
    "identifier",
    "intervals",
    "keep",
    "levels",
    "other",
    "parse_policy",
    "policy_schema",
    "policy_toml",
    "prefix",
    "profile",
    "quasi",
    "queries",
    "read_policy",
    "risk",
    "rounding",
    "sensitive",
    "solutions",
    "suggested_policy",
    "suppress",
    "top_bottom",
    "tree",
    "verify",
    "where",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME_OF[name]
    value = getattr(import_module(f"{__name__}.{home}"), name) if home else import_module(f"{__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
