"""What a policy's context demands of a release that was made: that its risk is not above the threshold, if enforced."""

from __future__ import annotations

import math
from typing import Any

from indistinct.disclosure_risk import OverallRisk, overall_risk
from indistinct.errors import VerificationError
from indistinct.policy import Policy
from indistinct.release import Release


def refuse_above_threshold(release: Release) -> Release:
    """Return a release whose risk may be accepted; one whose policy enforces a lower risk is closed and refused."""
    found = risk_if_enforced(release, release.policy)
    if found is not None and found.is_above:
        release.close()
        raise VerificationError(f"refused: {found.sentence}; {_remedy(found)}")
    return release


def risk_if_enforced(release: Any, policy: Policy | None) -> OverallRisk | None:
    """Return the risk of a release whose policy enforces a threshold; None where none does."""
    if policy is None or policy.context is None or not policy.context.is_enforced:
        return None
    return overall_risk(release, policy)


def _remedy(found: OverallRisk) -> str:
    """Say which k would be enough, whatever the groups, and what else can be done."""
    limit = found.context.limit
    assert limit is not None  # only what has a threshold is above it
    wanted = [found.r_context / limit.value] if "threshold" in found.reasons else []
    wanted += [1 / (found.context.cutoff or 1)] if "highest" in found.reasons else []
    k = math.ceil(max(wanted) - 1e-9)
    return f"k = {k:,} is enough, or say in [context] what makes an attempt less likely, or accept more and say why"
