"""Several tables that belong together: what a recipient gets by joining them, and the proof by their originals.

From the released tables alone: no reference leads nowhere, and every model holds on the people who share a tree. With
the originals: every cell is true, and each pseudonym stands for all rows of one person, in all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray, encode_eligible
from indistinct.counting.declared_cells import as_declared
from indistinct.engine import Rows, use_table
from indistinct.policy import Policy
from indistinct.proof.checks import (
    Check,
    Recount,
    cell_checks,
    claim_checks,
    columns_check,
    limit_checks,
    model_check,
    unreadable_checks,
)
from indistinct.proof.judges.judge import Judge
from indistinct.proof.truth.one_table import general_like
from indistinct.proof.truth.person_trees import Numbers, PersonTrees, linked_people_checks
from indistinct.release.manifest import Manifest

QUASI_OF_ALL = "all tables"


class SeveralTablesJudge(Judge):
    """Judges people by the trees of all their rows."""

    numbers: Numbers
    trees: PersonTrees

    @property
    def policies(self) -> Mapping[str, Policy]:
        return {name: part.policy for name, part in self.policy.parts.items()}

    def recount(self) -> Recount:
        tables, policy = self.tables, self.policy
        policy.form.refuse_engines({name: rows.kind for name, rows in tables.items()})
        checks = columns_checks(tables, policy)
        if not all(check.passed for check in checks):
            rows = sum(table.count() for table in tables.values())
            return Recount(tuple(checks), np.zeros(0, np.int64), rows, "profile")
        for name, own in self.policies.items():
            checks += [check.of_table(name) for check in cell_checks(tables[name], own)]
        self.numbers = Numbers()
        self.trees = PersonTrees.of(tables, policy, self.numbers, is_released=True)
        checks.append(joins_check(self.trees))
        sizes, found = self.people_checks()
        rows_of = self.trees.rows_by_table()
        checks += found
        rows = sum(rows_of.values())
        return Recount(tuple(checks), sizes, rows, "profile", people=self.trees.number, rows_of=rows_of)

    def people_checks(self) -> tuple[IntArray, list[Check]]:
        """Return how many people each profile has, and the checks of every model on them."""
        return _tree_checks(self.trees, self.policy, self.numbers)

    def refuse_original(self, original: Any) -> None:
        if not isinstance(original, Mapping):  # those that are missing are all said later
            self.policy.form.by_name(original, self.policy.parts, "original")

    def prove(self, original: Any, found: Recount, *, is_sound: bool, **reading: Any) -> list[Check]:
        with _open_originals(original, self.policy, reading) as opened:
            checks = _unreadable_checks(opened, self.claims.unreadable)
            return checks + self._prove_opened(opened, is_sound=is_sound)

    def truth_checks(self, source: Rows) -> list[Check]:
        raise LookupError("several tables have several originals")

    def _prove_opened(self, originals: Mapping[str, Rows], *, is_sound: bool) -> list[Check]:
        """Check the released tables against the originals, generalized as they are."""
        policy, claims, numbers, hint = self.policy, self.claims, self.numbers, self.claims.node or {}
        checks: list[Check] = []
        general: dict[str, Rows] = {}
        with ExitStack() as stack:
            for name, part in policy.parts.items():
                columns = (*part.policy.quasi, *part.identity)
                encoded = stack.enter_context(encode_eligible(originals[name], part.policy, columns))
                own = {column: hint[f"{name}.{column}"] for column in part.policy.quasi if f"{name}.{column}" in hint}
                found, truth = general_like(self.tables[name], encoded, part.policy, own or None, part.identity)
                checks += [check.of_table(name) for check in truth]
                if found is not None:
                    general[name] = stack.enter_context(found)
            if not all(check.passed for check in checks):
                return checks
            theirs = PersonTrees.of(general, policy, numbers, is_released=False)
        rows = theirs.rows_by_table()
        eligible = sum(rows.values())
        suppressed = eligible - sum(self.trees.rows_by_table().values())
        checks += [*claim_checks(claims.suppressed, suppressed), *limit_checks(policy, suppressed, eligible)]
        checks.append(_least_suppression_check(theirs, policy, numbers, suppressed))
        checks += linked_people_checks(self.trees, theirs, numbers)
        if self.released.manifest is not None and is_sound:
            checks += stated_rows_checks(self.released.manifest, rows, theirs.number)
        return checks


JUDGE = SeveralTablesJudge


def stated_rows_checks(said: Manifest, rows: Mapping[str, int], people: int) -> list[Check]:
    """Compare the eligible rows of each original, and the people in them, with what is stated; shown if they differ."""
    wrong = {name: number for name, number in rows.items() if said.tables[name].eligible != number}
    wrong |= {"people": people} if said.people is None or said.people.eligible != people else {}
    return [Check("manifest.rows", False, wrong)] if wrong else []


@contextmanager
def _open_originals(
    originals: Mapping[str, Any], policy: Policy, reading: Mapping[str, Any]
) -> Iterator[dict[str, Rows]]:
    """Return the originals with the cells that the policy declares, for the time of the block."""
    with ExitStack() as stack:
        given = {name: stack.enter_context(use_table(one, **reading)) for name, one in originals.items()}
        policy.form.refuse_engines({name: rows.kind for name, rows in given.items()})
        policy.check_tables({name: rows.columns() for name, rows in given.items()})
        yield {name: stack.enter_context(as_declared(given[name], part.policy)) for name, part in policy.parts.items()}


def _unreadable_checks(originals: Mapping[str, Rows], claimed: Mapping[str, int] | None) -> list[Check]:
    """Check what a release says about cells of the originals that hierarchies cannot read."""
    checks = []
    for name, rows in originals.items():
        start = f"{name}."
        stated = {column.removeprefix(start): n for column, n in (claimed or {}).items() if column.startswith(start)}
        own = None if claimed is None else stated
        checks += [check.of_table(name) for check in unreadable_checks(rows, own)]
    return checks


def columns_checks(tables: Mapping[str, Rows], policy: Policy) -> list[Check]:
    """Check that the tables are those of the policy, each with its columns and no identifier."""
    absent = [name for name in policy.parts if name not in tables]
    unknown = [name for name in tables if name not in policy.parts]
    wrong = absent or unknown
    numbers = {"missing": absent, "unknown": unknown} if wrong else {"tables": len(tables)}
    return [Check("tables.names", not wrong, numbers)] + [
        columns_check(tables[name].columns(), part.policy.released_columns, part.policy).of_table(name)
        for name, part in policy.parts.items()
        if name in tables
    ]


def joins_check(trees: PersonTrees) -> Check:
    """Check that every reference leads to one row, of the same person, and that people are listed who should be."""
    wrong = {}
    for name, table in trees.tables.items():
        found = {"dangling": table.dangling, "strangers": table.strangers, "repeated": table.repeated}
        if table.part.member_of is not None:
            is_listed = np.zeros(trees.number, np.bool_)
            is_listed[trees.tables[table.part.member_of].persons] = True
            found["unlisted"] = int((~is_listed[table.persons]).sum())
        if any(found.values()):
            wrong[name] = {what: number for what, number in found.items() if number}
    return Check("tables.references", not wrong, {"wrong": wrong} if wrong else {})


def profile_sizes(tables: Mapping[str, Rows], policy: Policy) -> IntArray:
    """Return how many people share each profile, by the quasi columns of all released tables."""
    numbers = Numbers()
    trees = PersonTrees.of(tables, policy, numbers, is_released=True)
    profiles = trees.profiles(lambda part: part.policy.quasi, numbers)
    return np.unique(profiles, return_counts=True)[1].astype(np.int64)


def _tree_checks(trees: PersonTrees, policy: Policy, numbers: Numbers) -> tuple[IntArray, list[Check]]:
    """Check every model on the people who share a tree, over the quasi columns of all tables."""
    profiles = trees.profiles(lambda part: part.policy.quasi, numbers)
    _, class_of, sizes = np.unique(profiles, return_inverse=True, return_counts=True)
    if not len(sizes):
        return sizes.astype(np.int64), [Check("cells.rows", False)]
    everybody = np.ones(trees.number, np.bool_)
    checks = [
        model_check(
            model, trees.groups(class_of.ravel(), everybody, policy, model, numbers), QUASI_OF_ALL, "profile", "person"
        )
        for model in policy.privacy
    ]
    return sizes.astype(np.int64), [check.in_people() for check in checks]


def _least_suppression_check(theirs: PersonTrees, policy: Policy, numbers: Numbers, suppressed: int) -> Check:
    """Check that no more rows were suppressed than must be at this generalization."""
    profiles = theirs.profiles(lambda part: part.policy.quasi, numbers)
    _, class_of = np.unique(profiles, return_inverse=True)
    class_of = class_of.ravel()
    is_left: BoolArray = np.ones(theirs.number, np.bool_)
    for alone in (True, False):  # what compares with all that is released comes last
        models = [model for model in policy.privacy if not (alone and model.asks_whole_table)]
        before = -1
        while int((~is_left).sum()) > before:
            before = int((~is_left).sum())
            judged = [model.holds(theirs.groups(class_of, is_left, policy, model, numbers)) for model in models]
            for holds in judged:
                is_left &= holds[class_of]
    required = theirs.rows_of(~is_left)
    found = {"how": "exact", "suppressed": suppressed, "required": required}
    return Check("suppression.least", suppressed == required, found)
