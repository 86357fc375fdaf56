"""In what surroundings a release is used: how likely an attempt is there, the threshold and why, and who gets it."""

from __future__ import annotations

from indistinct.policy.context.context import LIMITS, SHARING, Context, Limit
from indistinct.policy.context.likelihood import CONTROLS, CONTROLS_SOURCE, KNOWN_SOURCE, Likelihood
from indistinct.policy.context.recipient import RecipientTerms

__all__ = [
    "CONTROLS",
    "CONTROLS_SOURCE",
    "KNOWN_SOURCE",
    "LIMITS",
    "SHARING",
    "Context",
    "Likelihood",
    "Limit",
    "RecipientTerms",
]
