"""Privacy models: one file per model, each a frozen description that judges groups."""

from __future__ import annotations

from indistinct.privacy.alpha_k import AlphaK
from indistinct.privacy.beta_likeness import BetaLikeness
from indistinct.privacy.delta_disclosure import DeltaDisclosure
from indistinct.privacy.k_anonymity import KAnonymity
from indistinct.privacy.k_map import KMap
from indistinct.privacy.l_diversity import LDiversity
from indistinct.privacy.m_invariance import MInvariance
from indistinct.privacy.model import PrivacyModel
from indistinct.privacy.p_sensitive import PSensitive
from indistinct.privacy.risk_thresholds import AverageRisk, ProsecutorRisk
from indistinct.privacy.t_closeness import TCloseness

MODELS: dict[str, type[PrivacyModel]] = {
    "k-anonymity": KAnonymity,
    "k-map": KMap,
    "alpha-k": AlphaK,
    "l-diversity": LDiversity,
    "t-closeness": TCloseness,
    "beta-likeness": BetaLikeness,
    "delta-disclosure": DeltaDisclosure,
    "p-sensitive": PSensitive,
    "m-invariance": MInvariance,
    "prosecutor-risk": ProsecutorRisk,
    "average-risk": AverageRisk,
}
"""Every model by its name in a policy file."""

__all__ = [
    "MODELS",
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
]
