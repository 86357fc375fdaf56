"""Releases of two tables: judged by the join that an adversary would do, and proved against the original."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.engine import Rows, ValueCounts
from indistinct.policy import Policy, sensitive_columns
from indistinct.proof.checks import Check, columns_check, counted_groups, model_check
from indistinct.proof.class_truth import untruths
from indistinct.recoding.link_column import LINK, NOTHING_HIDDEN
from indistinct.showing.words import counted

Class = str | None
"""What a class is called: the text of its cells."""


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
    if not ours or not theirs:
        return [*checks, Check("rows", False, f"the {'sensitive' if ours else 'quasi'} table has no rows")], nothing
    checks.append(_same_classes(ours, theirs))
    sizes = np.fromiter(ours.values(), np.int64, len(ours))
    if not policy.asked_sensitive:
        checks.append(Check("sensitive values", False, NOTHING_HIDDEN))
    for model in policy.privacy:
        if model.asks_population:
            detail = "the quasi-identifiers stand there as they are, so nobody is hidden in a population"
            checks.append(Check(model.name, False, detail))
            continue
        asked = sensitive_columns(model, policy)
        groups = counted_groups(sensitive, [LINK], policy, model) if asked else Groups.of_sizes(sizes)
        checks.append(model_check(model, groups, "the classes", "class"))
    k = max(model.least_rows for model in policy.privacy)
    if k > 1:
        checks.append(_shared(quasi, sensitive, policy, k))
    return checks, sizes


def _class_sizes(table: Rows) -> dict[Class, int]:
    found = table.values_by([], LINK)
    sizes = np.bincount(found.values, found.counts, len(found.texts)).astype(np.int64)
    return dict(zip(found.texts, sizes.tolist(), strict=True))


def _same_classes(ours: Mapping[Class, int], theirs: Mapping[Class, int]) -> Check:
    """Check that each class has as many quasi-identifiers as sensitive values."""
    differing = sum(ours.get(name) != theirs.get(name) for name in {*ours, *theirs})
    words = counted(differing, "class has another number", "classes have other numbers")
    detail = f"{words} of rows in the sensitive table" if differing else "each has as many rows in both tables"
    return Check("classes", differing == 0, f"{counted(len(ours), 'class', 'classes')}; {detail}")


def _shared(quasi: Rows, sensitive: Rows, policy: Policy, k: int) -> Check:
    """Check that whoever joins the tables finds k people for each bag of sensitive values to which somebody is linked.

    A tuple that stands in several classes is linked to the values of all of them, and fewer than k may be linked to
    exactly these. Theorem 1 of Wong et al. 2007 overlooks this.

    Source: Wong et al. 2007, Definition 1.
    """
    found = quasi.values_by(policy.quasi, LINK)
    people = _people_by_classes(found)
    if min(people.values()) >= k:
        return Check("join", True, f"at least {k} people share each bag of sensitive values that somebody is linked to")
    values_of = _numbered_values(sensitive, policy)
    by_bag: Counter[frozenset[tuple[int, int]]] = Counter()
    for classes, number in people.items():  # other classes may have the same values
        bag: Counter[int] = sum((values_of[found.texts[name]] for name in classes), Counter())
        by_bag[frozenset(bag.items())] += number
    small = sum(number for number in by_bag.values() if number < k)
    words = counted(small, "person is", "people are")
    return Check("join", small == 0, f"{words} linked to a bag of sensitive values that fewer than {k} share")


def _people_by_classes(found: ValueCounts) -> dict[tuple[int, ...], int]:
    """Give the number of people whose quasi-identifier stands in exactly these classes, for all sets of classes."""
    is_single = np.bincount(found.groups)[found.groups] == 1
    in_one = np.bincount(found.values[is_single], found.counts[is_single], len(found.texts)).astype(np.int64)
    people: Counter[tuple[int, ...]] = Counter()
    people.update({(name,): number for name, number in enumerate(in_one.tolist()) if number})
    classes_of: dict[int, list[int]] = defaultdict(list)
    rows_of: Counter[int] = Counter()
    several = (part[~is_single].tolist() for part in (found.groups, found.values, found.counts))
    for group, name, rows in zip(*several, strict=True):
        classes_of[group].append(name)
        rows_of[group] += rows
    for group, classes in classes_of.items():
        people[tuple(sorted(classes))] += rows_of[group]
    return people


def _numbered_values(sensitive: Rows, policy: Policy) -> dict[Class, Counter[int]]:
    """Count the sensitive values of each class from the cells; each combination of values has a number."""
    found = sensitive.values_by(policy.with_role("sensitive"), LINK)
    values_of: dict[Class, Counter[int]] = defaultdict(Counter)
    for values, name, rows in zip(found.groups.tolist(), found.values.tolist(), found.counts.tolist(), strict=True):
        values_of[found.texts[name]][values] += rows
    return values_of


def prove(quasi: Rows, sensitive: Rows, source: Rows, policy: Policy) -> tuple[list[Check], int]:
    """Check both tables against the original; also give the number of eligible rows."""
    policy.check(source.columns())
    found, eligible = untruths(quasi, sensitive, source, policy)
    holds = "each class has quasi-identifiers of the original, and sensitive values that can be theirs"
    return [Check("truthful", not found, "; ".join(found) or holds)], eligible
