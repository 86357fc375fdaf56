"""Proof cell by cell: each released row generalizes an original row of its own, whatever levels its cells have."""

from __future__ import annotations

from collections.abc import Mapping

from indistinct.counting import encode_eligible
from indistinct.engine import Rows
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.privacy.model import least_rows
from indistinct.proof.checks import Check, claim_checks, count_blank_rows, limit_checks
from indistinct.proof.truth.row_fits import people_behind_groups, rows_without_original


def prove_cell_by_cell(released: Rows, source: Rows, policy: Policy, claimed: int | None) -> list[Check]:
    """Check truthfulness, one to one, of a table whose cells were generalized one by one."""
    policy.check(source.columns())
    with encode_eligible(source, policy, policy.quasi) as encoded:
        hierarchies = {name: policy.columns[name].compile(encoded.values[name]) for name in policy.quasi}
        eligible = encoded.rows
    rows = released.count()
    false_rows = rows_without_original(released, source, policy, hierarchies)
    if false_rows:
        return [Check("truth.rows", False, {"rows": false_rows})]
    suppressed = eligible - rows + count_blank_rows(released, policy)
    return [
        Check("truth.rows", True, {"rows": rows, "cell_by_cell": True, "perturbed": []}),
        *claim_checks(claimed, suppressed),
        *limit_checks(policy, suppressed, eligible),
        _suppression_bound(policy, suppressed, eligible),
        *(_people_checks(released, source, policy, hierarchies) if policy.person_columns else ()),
    ]


def _suppression_bound(policy: Policy, suppressed: int, eligible: int) -> Check:
    """Say what holds of the rows that are missing: as many as are counted, and no more than the policy allows.

    That fewer had to go is not proved: which groups there could have been is what the search decides, so a row more
    that was taken out, and stated, leaves a release that is as true as before.
    """
    allowed = None if policy.max_suppression is None else policy.allowed_suppression(eligible)
    numbers = {"how": "not proved", "suppressed": suppressed, "eligible": eligible, "allowed": allowed}
    return Check("suppression.least", True, numbers)


def _people_checks(
    released: Rows, source: Rows, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]
) -> list[Check]:
    """Check that enough people could be meant by every group: nothing tells which rows of the original it has."""
    least = max((least_rows(model) for model in policy.models_of_groups), default=1)
    people = people_behind_groups(released, source, policy, hierarchies)
    few = int((people < least).sum())
    numbers = {"failing": few, "least": least} if few else {"smallest": int(people.min())}
    checks = [Check("people.groups", few == 0, {"groups": len(people), **numbers})]
    if policy.links_rows:
        checks.append(Check("truth.linked_rows", True, {"why": "cell by cell"}))
    return checks
