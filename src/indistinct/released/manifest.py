"""The manifest: what a release says about itself, without a cell of the private table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import indistinct
from indistinct.policy import Policy
from indistinct.policy.statement import policy_described, policy_digest
from indistinct.proof.verdict import Verdict

MANIFEST = "manifest.json"
"""The file in which a release folder says what it is."""
FORMAT = 1


def manifest(
    policy: Policy, *, algorithm: str, facts: Mapping[str, Any], verdict: Verdict, files: Mapping[str, str]
) -> dict[str, Any]:
    """Give the manifest of a release as JSON takes it."""
    return {
        "format": FORMAT,
        "made_by": f"indistinct {indistinct.__version__}",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "algorithm": algorithm,
        "policy": policy_described(policy),
        "policy_sha256": policy_digest(policy),
        "verdict": verdict.to_dict(),
        "files": dict(files),
    }
