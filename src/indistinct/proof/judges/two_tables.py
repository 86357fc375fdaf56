"""Releases of two tables: judged by the join that an adversary would do, and proved against the original."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from math import gcd

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.engine import Rows, ValueCounts
from indistinct.policy import Policy, sensitive_columns
from indistinct.proof.checks import (
    CLASSES,
    Check,
    Recount,
    claim_checks,
    code_checks,
    columns_check,
    counted_groups,
    limit_checks,
    model_check,
)
from indistinct.proof.judges.judge import Judge
from indistinct.proof.truth.class_truth import untruths
from indistinct.recoding.classes import LINK
from indistinct.release.forms import TWO_TABLES

Class = str | None
"""What a class is called: the text of its cells."""


class _TwoTablesJudge(Judge):
    def recount(self) -> Recount:
        """Check both tables by the join that an adversary would do."""
        return judge_two_tables(self.tables, self.policy)

    def truth_checks(self, source: Rows) -> list[Check]:
        return prove_two_tables(self.tables, source, self.policy, self.claims.suppressed)


JUDGE = _TwoTablesJudge


def judge_two_tables(tables: Mapping[str, Rows], policy: Policy) -> Recount:
    """Check both tables from their cells alone, by the join that an adversary would do."""
    checks, sizes = judge(tables["quasi"], tables["sensitive"], policy)
    checks += _order_checks(tables["quasi"], tables["sensitive"]) if len(sizes) else []
    return Recount(tuple(checks), sizes, int(sizes.sum()), "class")


def prove_two_tables(tables: Mapping[str, Rows], source: Rows, policy: Policy, claimed: int | None) -> list[Check]:
    """Check both tables against the original, and the number of rows that are missing from them."""
    checks, eligible = prove(tables["quasi"], tables["sensitive"], source, policy)
    suppressed = eligible - tables["quasi"].count()
    return [*checks, *claim_checks(claimed, suppressed), *limit_checks(policy, suppressed, eligible)]


def judge(quasi: Rows, sensitive: Rows, policy: Policy) -> tuple[list[Check], IntArray]:
    """Check both tables from their cells alone; also give the sizes of the classes."""
    tables = {TWO_TABLES.first: quasi, TWO_TABLES.last: sensitive}
    checks = [
        columns_check(tables[name].columns(), columns, policy).of_table(name)
        for name, columns in TWO_TABLES.columns_of(policy).items()
    ]
    nothing = np.zeros(0, np.int64)
    if not all(check.passed for check in checks):
        return checks, nothing
    ours, theirs = (_class_sizes(table) for table in (quasi, sensitive))
    if not ours or not theirs:
        return [*checks, Check("cells.rows", False, {"table": "sensitive" if ours else "quasi"})], nothing
    checks.append(_classes_check(ours, theirs))
    sizes = np.fromiter(ours.values(), np.int64, len(ours))
    for table in (quasi, sensitive):
        checks += code_checks(table, policy, [name for name in table.columns() if name in policy.columns])
    if not policy.asked_sensitive:
        checks.append(Check("classes.sensitive", False))
    for model in policy.privacy:
        if model.asks_population or model.known is not None:
            why = "exact quasi cells" if model.asks_population else "exact known columns"
            checks.append(Check(f"model.{model.name}", False, {"why": why}))
            continue
        asked = sensitive_columns(model, policy)
        groups = counted_groups(sensitive, [LINK], policy, model) if asked else Groups.of_sizes(sizes)
        checks.append(model_check(model, groups, CLASSES, "class"))
    k = max(model.least_rows for model in policy.privacy)
    if k > 1:
        checks.append(_join_check(quasi, sensitive, policy, k))
    return checks, sizes


def _class_sizes(table: Rows) -> dict[Class, int]:
    found = table.values_by([], LINK)
    sizes = np.bincount(found.values, found.counts, len(found.texts)).astype(np.int64)
    return dict(zip(found.texts, sizes.tolist(), strict=True))


def _classes_check(ours: Mapping[Class, int], theirs: Mapping[Class, int]) -> Check:
    """Check that each class has as many quasi-identifiers as sensitive values."""
    differing = sum(ours.get(name) != theirs.get(name) for name in {*ours, *theirs})
    longest = len(str(sum(ours.values()))) + 1
    are_numbers = all(text and text == str(int(text)) and len(text) <= longest for text in map(_digits, ours))
    if not differing and are_numbers:
        return Check("classes.sizes", True, {"classes": len(ours)})
    return Check("classes.sizes", False, {"classes": len(ours), "differing": differing, "digits": longest})


def _digits(name: Class) -> str:
    """Return the name of a class if it is a whole number that is not absurdly long."""
    return name if name is not None and len(name) < 20 and name.isascii() and name.isdecimal() else ""


def _order_checks(quasi: Rows, sensitive: Rows) -> list[Check]:
    """Check that the order of rows links nothing; shown only where rows stand as chance would never put them.

    Rows of one class stand at the same places in both tables, or beside each other, about as often as in tables that
    were shuffled: no more than ten times the standard deviation above that, which no shuffled table ever has.
    """
    ours, theirs = (_classes_in_order(table) for table in (quasi, sensitive))
    if len(ours) != len(theirs):
        return []  # said already
    places = {"both": (ours, theirs), "quasi": (ours[:-1], ours[1:]), "sensitive": (theirs[:-1], theirs[1:])}
    told = [name for name, (one, other) in places.items() if _agree_too_often(one, other)]
    return [Check("classes.order", False, {"told": told})] if told else []


def _classes_in_order(table: Rows) -> IntArray:
    """Return the class of each row, in the order of the table."""
    with table.texts([LINK]) as batches:
        cells = [int(_digits(text) or -1) for batch in batches for text in batch[0].to_pylist()]
    return np.array(cells, np.int64)


def _agree_too_often(one: IntArray, other: IntArray) -> bool:
    """Return whether two lists of classes agree at more places than shuffled ones ever would."""
    rows = len(one)
    if rows < 2:
        return False
    classes = int(max(one.max(), other.max())) + 2
    mine, yours = (np.bincount(side + 1, minlength=classes) / rows for side in (one, other))
    expected = float((mine * yours).sum())
    deviation = np.sqrt(max(expected * (1 - expected), 1 / rows) * rows)
    return bool((one == other).sum() > expected * rows + 10 * deviation)


def _join_check(quasi: Rows, sensitive: Rows, policy: Policy, k: int) -> Check:
    """Check that whoever joins the tables finds k people for each bag of sensitive values to which somebody is linked.

    Each row of a tuple is joined with every sensitive row of its class. So a tuple that stands in several classes is
    linked to the values of all of them, those of a class once for each of its rows there, and fewer than k may be
    linked to exactly these. Theorem 1 of Wong et al. 2007 overlooks this.

    Source: Wong et al. 2007, Definition 1.
    """
    found = quasi.values_by(policy.quasi, LINK)
    people = _people_by_classes(found)
    if min(people.values()) >= k:
        return Check("classes.join", True, {"k": k, "linked": None})
    values_of = _values_by_class(sensitive, policy)
    by_bag: Counter[frozenset[tuple[int, int]]] = Counter()
    for classes, number in people.items():  # other classes may have the same values
        bag: Counter[int] = Counter()
        for name, times in classes:
            for value, rows in values_of[found.texts[name]].items():
                bag[value] += times * rows
        by_bag[frozenset(bag.items())] += number
    small = sum(number for number in by_bag.values() if number < k)
    return Check("classes.join", small == 0, {"k": k, "linked": small})


def _people_by_classes(found: ValueCounts) -> dict[tuple[tuple[int, int], ...], int]:
    """Return the number of people whose tuple stands in exactly these classes, the given number of times in each.

    A tuple of several people has every joined row several times. What all of its classes have in common there is
    divided out: two rows in a class link to the same values as one does.
    """
    is_single = np.bincount(found.groups)[found.groups] == 1
    in_one = np.bincount(found.values[is_single], found.counts[is_single], len(found.texts)).astype(np.int64)
    people: Counter[tuple[tuple[int, int], ...]] = Counter()
    people.update({((name, 1),): number for name, number in enumerate(in_one.tolist()) if number})
    classes_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    several = (part[~is_single].tolist() for part in (found.groups, found.values, found.counts))
    for group, name, rows in zip(*several, strict=True):
        classes_of[group].append((name, rows))
    for classes in classes_of.values():
        common = gcd(*(rows for _, rows in classes))
        people[tuple(sorted((name, rows // common) for name, rows in classes))] += sum(rows for _, rows in classes)
    return people


def _values_by_class(sensitive: Rows, policy: Policy) -> dict[Class, Counter[int]]:
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
    wrong = any(found.values())
    return [Check("truth.rows", not wrong, found if wrong else {})], eligible
