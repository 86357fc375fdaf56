"""Unsorted matching: whether the order of a release tells where its rows come from.

Somebody who holds an earlier release of the same source lays the two tables side by side, row by row. If both kept the
order of the source, the rows at one position are the same person's, and their labels together say more than either. So
released rows stand in random order; this attack finds out whether they do.

Source: Sweeney, k-anonymity: a model for protecting privacy, 2002, section 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indistinct.attacks.order.unsorted_report import UnsortedReport
from indistinct.errors import PolicyError

if TYPE_CHECKING:
    import os

    from indistinct.policy import Policy


def unsorted(
    release: Any,
    earlier: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    earlier_policy: Policy | str | os.PathLike[str] | None = None,
    k: int | None = None,
    significance: float = 0.01,
    **reading: Any,
) -> UnsortedReport:
    """Compare a release with an earlier one, or the original, row by row, and tell whether its order says anything.

    Rows at one position agree if their labels can stand for the same value in every quasi column and all other columns
    that both tables have are equal. That is held against random order, as are the likeness of neighbouring rows in
    each column and the correlation of positions with where rows seem to come from. An order is telling if chance gives
    as much in less than a share ``significance`` of all tables, in any of these ways. ``earlier_policy`` is the policy
    of the earlier release if it had another. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy(columns={"age": quasi(intervals(10))}, privacy=[KAnonymity(2)])
    >>> ages = [32, 57, 31, 46, 58, 72, 44, 75]
    >>> private = pa.table({"age": [str(age) for age in ages]})
    >>> released = pa.table({"age": [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in ages]})
    >>> report = unsorted(released, private, policy)
    >>> report.agreeing, report.expected, report.disclosed
    (8, 2.0, 8)
    """
    from indistinct.attacks.order.positions import Positions
    from indistinct.policy.load import load_policy

    policy = load_policy(policy, to="attack")
    if not 0 < significance < 1:
        raise PolicyError(f"significance: must lie between 0 and 1, got {significance!r}")
    before = policy if earlier_policy is None else load_policy(earlier_policy, to="attack")
    positions = Positions.read(release, earlier, policy, before, **reading)
    return positions.attack(k, significance)
