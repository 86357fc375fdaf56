"""verify() for several tables that belong together: what a recipient gets by joining them, and with the originals.

From the released tables alone: no reference leads nowhere, and every model holds on the people who share a tree. With
the originals: every cell is true, and each pseudonym stands for all rows of one person, in all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    model_check,
    pseudonym_checks,
    unreadable_checks,
)
from indistinct.proof.stated_search import search_checks
from indistinct.proof.stated_tables import stated_rows_checks
from indistinct.proof.statements import mistakes_of_tables
from indistinct.proof.truth.by_column import general_like
from indistinct.proof.truth.linked_people import linked_people_checks
from indistinct.proof.truth.person_trees import Numbers, PersonTrees
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

QUASI_OF_ALL = "all tables"


def judge_tables(
    release: tuple[ReleasedTables, Mapping[str, Rows]],
    policy: Policy,
    originals: Any,
    suppressed: int | None,
    **reading: Any,
) -> tuple[list[Check], int, IntArray]:
    """Return every check of a release whose rows are open, the number of its rows, and the people of each profile."""
    released, tables = release
    refuse_other_engines(tables)
    checks = _columns_checks(tables, policy)
    if not all(check.passed for check in checks):
        return checks, sum(rows.count() for rows in tables.values()), np.zeros(0, np.int64)
    for name, part in policy.parts.items():
        checks += [_of_table(name, check) for check in _cell_checks(tables[name], part.policy)]
    numbers = Numbers()
    trees = PersonTrees.of(tables, policy, numbers, is_released=True)
    checks.append(_joins_check(trees))
    sizes, found = _people_checks(trees, policy, numbers)
    checks += found
    rows_of = {name: len(table.persons) for name, table in trees.tables.items()}
    rows = sum(rows_of.values())
    wrong: list[str] = []
    claimed = released.said.get("suppressed") if suppressed is None else suppressed
    limit = [] if claimed is None else _limit_checks(policy, int(claimed), rows + int(claimed))
    if released.manifest is not None:
        recount = Recount(tuple(checks), sizes, rows, "profile")
        wrong = mistakes_of_tables(released.manifest, policy, recount, [*checks, *limit])
        checks.append(_manifest_check(released.manifest, rows_of, trees.number, sizes, wrong))
        checks[-1:-1] = search_checks(released.manifest, policy)
    if originals is None:
        checks += limit
    elif rows:
        hint = released.said.get("node")
        said = (hint if isinstance(hint, Mapping) else {}, claimed)
        is_sound = released.manifest is not None and not wrong
        with _open_originals(originals, policy, reading) as opened:
            checks += _unreadable_checks(opened, released.said)
            more, theirs = _prove(tables, opened, policy, (trees, numbers), said)
            checks += more
            if is_sound and theirs is not None:
                rows_there = {name: len(table.persons) for name, table in theirs.tables.items()}
                checks += stated_rows_checks(released.said, rows_there, theirs.number)
    return checks, rows, sizes


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


def _unreadable_checks(originals: Mapping[str, Rows], said: Mapping[str, Any]) -> list[Check]:
    """Check what a release says about cells of the originals that hierarchies cannot read."""
    claimed = said.get("unreadable", {}) if said else None
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
        checks += [_of_table(name, check) for check in unreadable_checks(rows, own)]
    return checks


def refuse_other_engines(tables: Mapping[str, Rows]) -> None:
    """Raise if a table is in Spark, which knows nothing of several tables."""
    for name, rows in tables.items():
        if rows.kind == "spark":
            raise TableError(
                f"{name}: several tables that belong together are not supported in Spark; write to Parquet"
            )


def _of_table(name: str, check: Check) -> Check:
    return Check(f"{name}: {check.name}", check.passed, check.detail)


def _columns_checks(tables: Mapping[str, Rows], policy: Policy) -> list[Check]:
    """Check that the tables are those of the policy, each with its columns and no identifier."""
    absent = [f"{name!r} is missing" for name in policy.parts if name not in tables]
    absent += [f"{name!r} is not in the policy" for name in tables if name not in policy.parts]
    checks = [Check("tables", not absent, "; ".join(absent) or counted(len(tables), "table"))]
    return checks + [
        _of_table(name, columns_check(tables[name].columns(), part.policy.released_columns, part.policy))
        for name, part in policy.parts.items()
        if name in tables
    ]


def _joins_check(trees: PersonTrees) -> Check:
    """Check that every reference leads to one row, of the same person, and that people are listed who should be."""
    wrong = []
    for name, table in trees.tables.items():
        for number, what in (
            (table.dangling, "lead nowhere"),
            (table.strangers, "lead to a row of somebody else"),
            (table.repeated, "have a key that another row has"),
        ):
            if number:
                wrong.append(f"{counted(number, 'row')} of {name} {what}")
        if table.part.member_of is not None:
            is_listed = np.zeros(trees.number, np.bool_)
            is_listed[trees.tables[table.part.member_of].persons] = True
            if missing := int((~is_listed[table.persons]).sum()):
                wrong.append(f"{counted(missing, 'row')} of {name} are of people who are not in {table.part.member_of}")
    return Check("references", not wrong, "; ".join(wrong) or "every reference leads to a row of the same person")


def _people_checks(trees: PersonTrees, policy: Policy, numbers: Numbers) -> tuple[IntArray, list[Check]]:
    """Check every model on the people who share a tree, over the quasi columns of all tables."""
    profiles = trees.profiles(lambda part: part.policy.quasi, numbers)
    _, class_of, sizes = np.unique(profiles, return_inverse=True, return_counts=True)
    if not len(sizes):
        return sizes.astype(np.int64), [Check("rows", False, "the tables have no rows")]
    everybody = np.ones(trees.number, np.bool_)
    checks = [
        model_check(
            model, trees.groups(class_of.ravel(), everybody, policy, model, numbers), QUASI_OF_ALL, "profile", "person"
        )
        for model in policy.privacy
    ]
    return sizes.astype(np.int64), [Check(f"people: {check.name}", check.passed, check.detail) for check in checks]


def _manifest_check(
    said: Mapping[str, Any], rows: Mapping[str, int], people: int, sizes: IntArray, wrong: Sequence[str]
) -> Check:
    """Compare the counts of a manifest with those of the tables, beside what is wrong with it already."""
    found: dict[str, Any] = {
        "released": sum(rows.values()),
        "groups": len(sizes),
        "smallest_group": int(sizes.min(initial=people)),
        "people": people,
        **{f"rows of {name}": number for name, number in rows.items()},
    }
    tables = said.get("linked_tables")
    per_table = tables if isinstance(tables, Mapping) else {}
    in_people = said.get("people")
    stated = {
        **{name: said.get(name) for name in ("released", "groups", "smallest_group")},
        "people": in_people.get("released") if isinstance(in_people, Mapping) else None,
        **{
            f"rows of {name}": per_table[name].get("released") if isinstance(per_table.get(name), Mapping) else None
            for name in rows
        },
    }
    wrong = wrong or [
        f"{name} is {number}, not {stated[name]}" for name, number in found.items() if stated[name] != number
    ]
    return Check("manifest", not wrong, "; ".join(wrong) or "the tables have the counts of the manifest")


def _limit_checks(policy: Policy, suppressed: int, rows: int) -> list[Check]:
    """Check the number of suppressed rows of all tables against the policy's limit, if it sets one."""
    if policy.max_suppression is None:
        return []
    allowed = policy.allowed_suppression(rows)
    detail = f"{suppressed:,} of {rows:,} rows of all tables suppressed, {allowed:,} allowed"
    return [Check("suppression limit", suppressed <= allowed, detail)]


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
            checks += [_of_table(name, check) for check in own_checks]
            if found is not None:
                general[name] = stack.enter_context(found)
        if not all(check.passed for check in checks):
            return checks, None
        theirs = PersonTrees.of(general, policy, numbers, is_released=False)
    eligible = sum(len(table.persons) for table in theirs.tables.values())
    suppressed = eligible - sum(len(table.persons) for table in trees.tables.values())
    checks += [*claim_checks(claimed, suppressed), *_limit_checks(policy, suppressed, eligible)]
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
    if suppressed == required:
        detail = f"{counted(suppressed, 'row')} suppressed, as many as must be at this generalization"
    else:
        detail = f"{counted(suppressed, 'row')} suppressed, but {required:,} must be at this generalization"
    return Check("least suppression", suppressed == required, detail)
