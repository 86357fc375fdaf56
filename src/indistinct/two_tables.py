"""Releases of two tables: judged by the join that an adversary would do, and proved against the original."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from indistinct.checks import Check, columns_check, counted_groups, model_check
from indistinct.engine import Rows
from indistinct.frequency import Groups, IntArray
from indistinct.plans import LINK
from indistinct.policy import Policy, sensitive_columns

Cells = tuple[str | None, ...]


def judge(quasi: Rows, sensitive: Rows, policy: Policy) -> tuple[list[Check], IntArray]:
    """Check both tables from their cells alone; also give the sizes of the classes."""
    columns = [
        columns_check(quasi.columns(), (LINK, *policy.with_role("quasi", "other")), policy),
        columns_check(sensitive.columns(), (LINK, *policy.with_role("sensitive")), policy),
    ]
    passed = all(check.passed for check in columns)
    detail = "; ".join(
        f"{name} table: {check.detail}" for name, check in zip(("quasi", "sensitive"), columns, strict=True)
    )
    checks = [Check("columns", passed, detail)]
    nothing = np.zeros(0, np.int64)
    if not passed:
        return checks, nothing
    ours, theirs = (_class_sizes(table) for table in (quasi, sensitive))
    if not ours:
        return [*checks, Check("rows", False, "the table has no rows")], nothing
    differing = sum(ours.get(name) != theirs.get(name) for name in {*ours, *theirs})
    checks.append(
        Check(
            "classes",
            differing == 0,
            f"{differing} classes have other numbers of rows in the two tables"
            if differing
            else f"{len(ours)} classes, each with as many rows in both tables",
        )
    )
    sizes = np.fromiter(ours.values(), np.int64, len(ours))
    for model in policy.privacy:
        asked = sensitive_columns(model, policy)
        groups = counted_groups(sensitive, [LINK], policy, model) if asked else Groups.of_sizes(sizes)
        checks.append(model_check(model, groups, "the classes", "class"))
    k = max((getattr(model, "k", 1) for model in policy.privacy), default=1)
    if k > 1:
        checks.append(_joined(quasi, policy, k))
    return checks, sizes


def _class_sizes(table: Rows) -> dict[str | None, int]:
    found = table.values_by([], LINK)
    sizes = np.bincount(found.values, found.counts, len(found.texts)).astype(np.int64)
    return dict(zip(found.texts, sizes.tolist(), strict=True))


def _joined(quasi: Rows, policy: Policy, k: int) -> Check:
    """Check that whoever joins the tables leaves everybody among k people with the same possible values.

    A tuple that stands in several classes links to the values of all of them; those who share exactly these classes
    must be k. Theorem 1 of Wong et al. 2007 overlooks this.
    """
    found = quasi.values_by(policy.quasi, LINK)
    classes_of = np.bincount(found.groups)
    is_single = classes_of[found.groups] == 1
    sharing: Counter[tuple[int, ...]] = Counter()
    for group, rows in zip(found.values[is_single].tolist(), found.counts[is_single].tolist(), strict=True):
        sharing[(group,)] += rows
    several: dict[int, list[int]] = defaultdict(list)
    rows_of: Counter[int] = Counter()
    for group, value, rows in zip(
        found.groups[~is_single].tolist(),
        found.values[~is_single].tolist(),
        found.counts[~is_single].tolist(),
        strict=True,
    ):
        several[group].append(value)
        rows_of[group] += rows
    for group, values in several.items():
        sharing[tuple(sorted(values))] += rows_of[group]
    small = sum(rows for rows in sharing.values() if rows < k)
    detail = (
        f"{small} rows can be told from all but fewer than {k} by the classes in which their quasi-identifier stands"
        if small
        else f"every quasi-identifier links to the values of at least {k} people"
    )
    return Check("join", small == 0, detail)


def prove(quasi: Rows, sensitive: Rows, source: Rows, policy: Policy) -> tuple[list[Check], int]:
    """Check both tables against the original; also give the number of eligible rows."""
    known, hidden = policy.with_role("quasi", "other"), policy.with_role("sensitive")
    original = _counted(source, [*known, *hidden], policy)
    eligible = sum(original.values())
    left: Counter[Cells] = Counter()
    values_of: dict[Cells, Counter[Cells]] = defaultdict(Counter)
    for cells, rows in original.items():
        left[cells[: len(known)]] += rows
        values_of[cells[: len(known)]][cells[len(known) :]] += rows
    members: dict[str | None, Counter[Cells]] = defaultdict(Counter)
    for (name, *quasi_cells), rows in _counted(quasi, [LINK, *known]).items():
        members[name][tuple(quasi_cells)] += rows
        left[tuple(quasi_cells)] -= rows
    false_rows = -sum(rows for rows in left.values() if rows < 0)
    if false_rows:
        return [Check("truthful", False, f"{false_rows} rows of the quasi table are not in the original")], eligible
    values: dict[str | None, Counter[Cells]] = defaultdict(Counter)
    for (name, *value_cells), rows in _counted(sensitive, [LINK, *hidden]).items():
        values[name][tuple(value_cells)] += rows
    wrong = sum(not _fits(members[name], values[name], values_of) for name in members)
    detail = (
        f"{wrong} classes have sensitive values that do not occur with their quasi-identifiers in the original"
        if wrong
        else "each class has quasi-identifiers of the original and sensitive values that occur with them"
    )
    return [Check("truthful", wrong == 0, detail)], eligible


def _fits(members: Counter[Cells], values: Counter[Cells], values_of: dict[Cells, Counter[Cells]]) -> bool:
    """Tell whether a class's sensitive values can be those of its tuples.

    Where all rows of all its tuples are in the class, they must be exactly these; otherwise none may occur more often
    than its tuples allow.
    """
    possible: Counter[Cells] = Counter()
    is_whole = True
    for cells, rows in members.items():
        is_whole &= sum(values_of[cells].values()) == rows
        for value, number in values_of[cells].items():
            possible[value] += min(number, rows)
    return values == possible if is_whole else all(number <= possible[value] for value, number in values.items())


def _counted(table: Rows, columns: Sequence[str], policy: Policy | None = None) -> Counter[Cells]:
    """Count the distinct rows of a table over some columns, of its eligible rows if a policy says which."""
    where = [] if policy is None else [condition.as_triple() for condition in policy.eligible]
    texts = table.encode(columns, where)
    found = table.count_by(columns)
    cells = [[texts[name][code] for code in codes.tolist()] for name, codes in zip(columns, found.codes, strict=True)]
    return Counter(dict(zip(zip(*cells, strict=True), found.counts.tolist(), strict=True)))
