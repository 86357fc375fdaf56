"""Judge: what every form of release is asked: what its cells alone show, and whether they are true.

The judge of one table, the plainest form, stands here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.engine import Rows
from indistinct.linkage import counted_people, read_once
from indistinct.policy import PSEUDONYM, Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.checks import (
    Check,
    Recount,
    cell_checks,
    columns_check,
    counted_groups,
    implied_of_rows,
    knows_few,
    model_check,
    unreadable_checks,
)
from indistinct.proof.known_columns import CodedTuples, KnownColumns
from indistinct.proof.people_recount import count_people, pseudonym_people_checks
from indistinct.proof.perturbed_numbers import perturbation_checks
from indistinct.release.released_tables import Claims, ReleasedTables


class Judge(ABC):
    """Judges the tables of a release, which are open, by a policy."""

    def __init__(self, released: ReleasedTables, tables: Mapping[str, Rows], policy: Policy, claims: Claims) -> None:
        self.released = released
        self.tables = tables
        self.policy = policy
        self.claims = claims

    @property
    def policies(self) -> Mapping[str, Policy]:
        """The policy of each table."""
        return dict.fromkeys(self.tables, self.policy)

    def refuse_original(self, original: Any) -> None:
        """Raise a TableError if this cannot be an original of such a release."""
        return

    @abstractmethod
    def recount(self) -> Recount:
        """Return what the released cells alone show."""

    @abstractmethod
    def truth_checks(self, source: Rows) -> list[Check]:
        """Check the cells against the original, and how many rows are missing."""

    def stated_people_checks(self) -> list[Check]:
        """Compare the people that a release is about, as its manifest says, with its cells."""
        return []

    def prove(self, original: Any, found: Recount, *, is_sound: bool, **reading: Any) -> list[Check]:
        """Check the release against its original; ``is_sound`` if what its manifest states is possible."""
        from indistinct.proof.people_recount import stated_people_checks
        from indistinct.proof.stated_measures import measures_check

        with read_once(original, self.policy, **reading) as source:
            checks = [*unreadable_checks(source, self.claims.unreadable), *(truth := self.truth_checks(source))]
            said = self.released.said
            if said is not None and is_sound and all(check.passed for check in truth):
                first = self.tables[self.released.form.first]
                figures = measures_check(said, first, source, self.policy, found.sizes)
                checks += stated_people_checks(said, source, self.policy) + ([] if figures is None else [figures])
        return checks


def judge_of(released: ReleasedTables, tables: Mapping[str, Rows], policy: Policy, claims: Claims) -> Judge:
    """Return what judges a release of this form; of other forms nothing is loaded."""
    module = released.form.judged_in if policy.knows is None else "known_events"
    kind: type[Judge] = import_module(f"indistinct.proof.judges.{module}").JUDGE
    return kind(released, tables, policy, claims)


class _OneTableJudge(Judge):
    def recount(self) -> Recount:
        released, policy = self.tables["table"], self.policy
        sizes = _Sizes(released, policy)
        checks = tuple(_checks_of_cells(released, policy, sizes))
        return Recount(checks, sizes.by(policy.quasi), sizes.rows, known=tuple(sizes.known))

    def stated_people_checks(self) -> list[Check]:
        manifest = self.released.manifest
        if manifest is None or not self.policy.links_rows:
            return []
        return pseudonym_people_checks(manifest, self.tables["table"], self.policy)

    def truth_checks(self, source: Rows) -> list[Check]:
        from indistinct.proof.truth.one_table import prove_by_column, prove_cell_by_cell

        released, claims = self.tables["table"], self.claims
        if claims.is_local:
            return prove_cell_by_cell(released, source, self.policy, claims.suppressed)
        checks = prove_by_column(released, source, self.policy, claims.node, claims.suppressed)
        if claims.is_local is None and not checks[0].passed:  # nothing says how the table was made
            return prove_cell_by_cell(released, source, self.policy, claims.suppressed)
        return checks


JUDGE = _OneTableJudge


def _checks_of_cells(released: Rows, policy: Policy, sizes: _Sizes) -> list[Check]:
    checks = [columns_check(released.columns(), policy.released_columns, policy)]
    if not sizes.has_quasi:
        return checks
    if sizes.rows == 0 and not policy.is_drawn:
        return [*checks, Check("cells.rows", False)]
    checks += cell_checks(released, policy)
    if policy.perturbed:
        checks += perturbation_checks(released, policy)
    if policy.links_rows and PSEUDONYM in released.columns():
        checks += count_people(released, policy, (PSEUDONYM,))
    for name, quasi, model in policy.requirements():
        if any(column not in released.columns() for column in sensitive_columns(model, policy)):
            checks.append(Check(f"model.{model.name}", False, {"on": name, "why": "no sensitive column"}))
        elif knows_few(model, quasi):
            checks.append(sizes.by_known(model, name, quasi).check(model))
        else:
            own = implied_of_rows(model, links_rows=policy.links_rows) if policy.person_columns else model
            checks += [] if own is None else [model_check(own, sizes.groups_for(quasi, own), name)]
    return checks


class _Sizes:
    """Group sizes of a released table, each counted once: to read a file again takes long."""

    def __init__(self, released: Rows, policy: Policy) -> None:
        self._released = released
        self._policy = policy
        self._known: dict[tuple[str, ...], IntArray] = {}
        self._tuples: CodedTuples | None = None
        self.known: list[KnownColumns] = []
        self.has_quasi = all(name in released.columns() for name in policy.quasi)
        self.rows = int(self.by(policy.quasi).sum()) if self.has_quasi else released.count()

    def by(self, columns: Sequence[str]) -> IntArray:
        """Return the sizes of the groups over these columns; none if the table lacks a quasi column."""
        if not self.has_quasi:
            return np.zeros(0, np.int64)
        if tuple(columns) not in self._known:
            self._known[tuple(columns)] = self._released.sizes_by(columns)
        return self._known[tuple(columns)]

    def by_known(self, model: PrivacyModel, name: str, columns: Sequence[str]) -> KnownColumns:
        """Count every set of as many columns as the model says that others know, all of them from one scan."""
        if self._tuples is None:
            self._tuples = CodedTuples.of(self._released, self._policy.quasi)
        self.known.append(KnownColumns.count(model, name, columns, self._tuples))
        return self.known[-1]

    def groups_for(self, columns: Sequence[str], model: PrivacyModel) -> Groups:
        """Return the groups over these columns, with their sensitive values if the model asks about any."""
        if model.asks_population:
            return counted_people(self._released, columns, self._policy, model)
        if not sensitive_columns(model, self._policy):
            return Groups.of_sizes(self.by(columns))
        return counted_groups(self._released, columns, self._policy, model)
