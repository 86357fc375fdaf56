"""Privacy models: one file per model, each a frozen description that judges groups."""

from __future__ import annotations

from indistinct.privacy.base import PrivacyModel
from indistinct.privacy.k_anonymity import KAnonymity

MODELS: dict[str, type[PrivacyModel]] = {"k-anonymity": KAnonymity}
"""Every model by its name in a policy file."""

__all__ = ["MODELS", "KAnonymity", "PrivacyModel"]
