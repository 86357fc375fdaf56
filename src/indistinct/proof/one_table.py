"""The recount of one released table: its columns, and every model on groups counted from its own cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.engine import Rows
from indistinct.linkage.population import counted_people
from indistinct.policy import Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.checks import Check, Recount, columns_check, counted_groups, model_check


def judge_one_table(released: Rows, policy: Policy) -> Recount:
    """Check columns and models from the released cells alone."""
    sizes = _Sizes(released, policy)
    return Recount(tuple(_checks(released, policy, sizes)), sizes.by(policy.quasi), sizes.rows)


def _checks(released: Rows, policy: Policy, sizes: _Sizes) -> list[Check]:
    checks = [columns_check(released.columns(), policy.with_role("quasi", "sensitive", "other"), policy)]
    if not sizes.has_quasi:
        return checks
    if sizes.rows == 0:
        return [*checks, Check("rows", False, "the table has no rows")]
    for name, quasi, model in policy.requirements():
        if any(column not in released.columns() for column in sensitive_columns(model, policy)):
            checks.append(Check(f"{model.name} on {name}", False, "a sensitive column is missing"))
        else:
            checks.append(model_check(model, sizes.groups_for(quasi, model), name))
    return checks


class _Sizes:
    """Group sizes of a released table, each counted once: reading a file again is dear."""

    def __init__(self, released: Rows, policy: Policy) -> None:
        self._released = released
        self._policy = policy
        self._known: dict[tuple[str, ...], IntArray] = {}
        self.has_quasi = all(name in released.columns() for name in policy.quasi)
        self.rows = int(self.by(policy.quasi).sum()) if self.has_quasi else released.count()

    def by(self, columns: Sequence[str]) -> IntArray:
        """Give the sizes of the groups over these columns; none if the table lacks a quasi column."""
        if not self.has_quasi:
            return np.zeros(0, np.int64)
        if tuple(columns) not in self._known:
            self._known[tuple(columns)] = self._released.sizes_by(columns)
        return self._known[tuple(columns)]

    def groups_for(self, columns: Sequence[str], model: PrivacyModel) -> Groups:
        """Give the groups over these columns, with their sensitive values if the model asks about any."""
        if model.asks_population:
            return counted_people(self._released, columns, self._policy, model)
        if not sensitive_columns(model, self._policy):
            return Groups.of_sizes(self.by(columns))
        return counted_groups(self._released, columns, self._policy, model)
