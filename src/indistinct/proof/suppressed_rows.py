"""Suppressed rows: how many a release left out or blank, against what it says and what the policy allows."""

from __future__ import annotations

from indistinct.engine import Rows
from indistinct.policy import Policy
from indistinct.proof.checks import Check


def limit_checks(policy: Policy, suppressed: int, rows: int) -> list[Check]:
    """Check the number of suppressed rows against the policy's limit, if it sets one."""
    if policy.max_suppression is None:
        return []
    allowed = policy.allowed_suppression(rows)
    detail = f"{suppressed} of {rows} rows suppressed, {allowed} allowed"
    return [Check("suppression limit", suppressed <= allowed, detail)]


def claim_checks(claimed: int | None, suppressed: int) -> list[Check]:
    """Check what a release says about the rows that it leaves out, if it does."""
    if claimed is None or claimed == suppressed:
        return []
    return [Check("suppressed rows", False, f"the release says {claimed}, but {suppressed} rows are missing from it")]


def count_blank_rows(released: Rows, policy: Policy) -> int:
    """Give the number of released rows whose quasi-identifier is blank, if the policy lets rows be released so."""
    if policy.suppressed_rows != "blank":
        return 0
    with released.encode(policy.quasi, [(name, "missing", None) for name in policy.quasi]) as blank:
        return blank.rows
