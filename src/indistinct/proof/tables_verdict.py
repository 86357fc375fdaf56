"""verify() for several tables that belong together: what a recipient gets by joining them, and with the originals.

From the released tables alone: no reference leads nowhere, and every model holds on the people who share a tree. With
the originals: every cell is true, and each pseudonym stands for all rows of one person, in all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from indistinct.counting import IntArray, encode_eligible
from indistinct.counting.declared_cells import as_declared
from indistinct.engine import Rows, use_table
from indistinct.errors import TableError
from indistinct.policy import Policy
from indistinct.privacy.model import BoolArray
from indistinct.proof.checks import (
    Check,
    Recount,
    claim_checks,
    code_checks,
    columns_check,
    level_checks,
    limit_checks,
    model_check,
    pseudonym_checks,
    unreadable_checks,
)
from indistinct.proof.statements import manifest_check, search_check
from indistinct.proof.truth.by_column import general_like
from indistinct.proof.truth.linked_people import linked_people_checks
from indistinct.proof.truth.person_trees import Numbers, PersonTrees
from indistinct.release.manifest import Manifest
from indistinct.release.released_tables import Claims, ReleasedTables

QUASI_OF_ALL = "all tables"


def judge_tables(
    release: tuple[ReleasedTables, Mapping[str, Rows]],
    policy: Policy,
    originals: Any,
    claims: Claims,
    **reading: Any,
) -> tuple[list[Check], int, IntArray]:
    """Return every check of a release whose rows are open, the number of its rows, and the people of each profile."""
    released, tables = release
    refuse_other_engines(tables)
    checks = _columns_checks(tables, policy)
    if not all(check.passed for check in checks):
        return checks, sum(rows.count() for rows in tables.values()), np.zeros(0, np.int64)
    for name, part in policy.parts.items():
        checks += [check.of_table(name) for check in _cell_checks(tables[name], part.policy)]
    numbers = Numbers()
    trees = PersonTrees.of(tables, policy, numbers, is_released=True)
    checks.append(_joins_check(trees))
    sizes, found = _people_checks(trees, policy, numbers)
    checks += found
    rows_of = {name: len(table.persons) for name, table in trees.tables.items()}
    rows = sum(rows_of.values())
    claimed, manifest = claims.suppressed, released.manifest
    limit = [] if claimed is None else limit_checks(policy, claimed, rows + claimed)
    is_sound = False
    if manifest is not None:
        recount = Recount(tuple(checks), sizes, rows, "profile", people=trees.number, rows_of=rows_of)
        statements = manifest_check(manifest, policy, recount, [*checks, *limit])
        is_sound = statements.passed
        checks += [search_check(manifest, policy), statements]
    if originals is None:
        checks += limit
    elif rows:
        with _open_originals(originals, policy, reading) as opened:
            checks += _unreadable_checks(opened, claims.unreadable)
            more, theirs = _prove(tables, opened, policy, (trees, numbers), (claims.node or {}, claimed))
            checks += more
            if manifest is not None and is_sound and theirs is not None:
                rows_there = {name: len(table.persons) for name, table in theirs.tables.items()}
                checks += _stated_rows_checks(manifest, rows_there, theirs.number)
    return checks, rows, sizes


def _stated_rows_checks(said: Manifest, rows: Mapping[str, int], people: int) -> list[Check]:
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
        refuse_other_engines(given)
        policy.check_tables({name: rows.columns() for name, rows in given.items()})
        yield {name: stack.enter_context(as_declared(given[name], part.policy)) for name, part in policy.parts.items()}


def _cell_checks(released: Rows, policy: Policy) -> list[Check]:
    """Check what single cells of a table may be."""
    return [
        *pseudonym_checks(released, policy),
        *level_checks(released, policy),
        *code_checks(released, policy, [name for name in policy.compared_columns if name not in policy.quasi]),
    ]


def _unreadable_checks(originals: Mapping[str, Rows], claimed: Mapping[str, int] | None) -> list[Check]:
    """Check what a release says about cells of the originals that hierarchies cannot read."""
    checks = []
    for name, rows in originals.items():
        own = (
            None
            if claimed is None
            else {
                column.removeprefix(f"{name}."): number
                for column, number in claimed.items()
                if column.startswith(f"{name}.")
            }
        )
        checks += [check.of_table(name) for check in unreadable_checks(rows, own)]
    return checks


def refuse_other_engines(tables: Mapping[str, Rows]) -> None:
    """Raise if a table is in Spark, which knows nothing of several tables."""
    for name, rows in tables.items():
        if rows.kind == "spark":
            raise TableError(
                f"{name}: several tables that belong together are not supported in Spark; write to Parquet"
            )


def _columns_checks(tables: Mapping[str, Rows], policy: Policy) -> list[Check]:
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


def _joins_check(trees: PersonTrees) -> Check:
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


def _people_checks(trees: PersonTrees, policy: Policy, numbers: Numbers) -> tuple[IntArray, list[Check]]:
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


def _prove(
    tables: Mapping[str, Rows],
    originals: Mapping[str, Rows],
    policy: Policy,
    known: tuple[PersonTrees, Numbers],
    said: tuple[Mapping[str, int], int | None],
) -> tuple[list[Check], PersonTrees | None]:
    """Check the released tables against the originals, and give the trees of these, if labels could be compared.

    ``said`` are levels, as a hint, and the suppressed rows.
    """
    (trees, numbers), (hint, claimed) = known, said
    checks: list[Check] = []
    general: dict[str, Rows] = {}
    with ExitStack() as stack:
        for name, part in policy.parts.items():
            columns = (*part.policy.quasi, *part.identity)
            encoded = stack.enter_context(encode_eligible(originals[name], part.policy, columns))
            own = {column: hint[f"{name}.{column}"] for column in part.policy.quasi if f"{name}.{column}" in hint}
            found, own_checks = general_like(tables[name], encoded, part.policy, own or None, part.identity)
            checks += [check.of_table(name) for check in own_checks]
            if found is not None:
                general[name] = stack.enter_context(found)
        if not all(check.passed for check in checks):
            return checks, None
        theirs = PersonTrees.of(general, policy, numbers, is_released=False)
    eligible = sum(len(table.persons) for table in theirs.tables.values())
    suppressed = eligible - sum(len(table.persons) for table in trees.tables.values())
    checks += [*claim_checks(claimed, suppressed), *limit_checks(policy, suppressed, eligible)]
    checks.append(_least_suppression_check(theirs, policy, numbers, suppressed))
    return checks + linked_people_checks(trees, theirs, numbers), theirs


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
