"""The proof of truth by hand: which rows can be whose, on tables small enough to see it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.engine import Rows, ValueCounts, open_table
from indistinct.policy import Condition, Part, Person, Policy
from indistinct.proof import perturbed_numbers
from indistinct.proof.checks import Check
from indistinct.proof.judges import two_tables
from indistinct.proof.people_recount import (
    CellTuples,
    _entries_left,
    count_people,
    groups_in_people,
    linked_rows_checks,
    people_checks,
    people_who_stay,
    released_people_check,
)
from indistinct.proof.truth import class_truth, matching, person_trees
from indistinct.proof.truth import row_fits as truth
from indistinct.proof.truth.class_truth import _PairCounts
from indistinct.proof.truth.one_table import greatest_safe_set, least_suppression_check
from indistinct.proof.truth.person_trees import (
    MICROSECONDS_A_DAY,
    NO_DATE,
    NOBODY,
    Numbers,
    PersonTrees,
    SingleTable,
    _moment,
)
from indistinct.recoding.recoding import PeopleFacts

Cell = str | None


def table(**columns: Sequence[Cell]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def opened(**columns: Sequence[Cell]) -> Rows:
    return open_table(table(**columns))


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


AGES = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]])


# Two tables: values that can be those of quasi-identifiers


def pairs(*triples: tuple[int, int, int]) -> _PairCounts:
    return _PairCounts(*(ints(*(one[place] for one in triples)) for place in range(3)))


def test_pairs_without_others() -> None:
    left = pairs((0, 0, 3), (0, 1, 1), (2, 0, 1)).without(pairs((0, 0, 1), (0, 1, 1), (1, 1, 2)))
    assert list(left.one_by_one()) == [(0, 0, 2), (1, 1, -2), (2, 0, 1)]
    some = pairs((0, 0, 3), (0, 1, 1)).only(np.array([False, True]))
    assert list(some.one_by_one()) == [(0, 1, 1)]
    assert list(pairs().without(pairs()).one_by_one()) == []
    assert list(pairs((1, 0, 2)).without(pairs()).one_by_one()) == [(1, 0, 2)]
    assert class_truth._size(ints(3, 1), ints()) == 4
    assert class_truth._size(ints()) == 0


def test_rows_that_too_few_of_the_original_have() -> None:
    assert class_truth._surplus(ints(0, 1, 2), ints(2, 1, 4), ints(0, 1), ints(1, 3)) == 1 + 4
    assert class_truth._surplus(ints(0), ints(2), ints(0, 5), ints(2, 1)) == 0


@pytest.mark.parametrize(
    ("bags", "wanted", "can"),
    [
        ([(1, {0: 1})], {0: 1}, True),
        ([(1, {0: 1})], {1: 1}, False),
        ([(2, {0: 1, 1: 1})], {0: 1, 1: 1}, True),
        ([(2, {0: 1, 1: 1})], {0: 2}, False),
        ([(2, {0: 2})], {0: 2}, True),
        # the first takes 0 and must give it up for 1, since the second has only 0
        ([(1, {0: 1, 1: 1}), (1, {0: 1})], {0: 1, 1: 1}, True),
        ([(1, {0: 1, 1: 1}), (1, {0: 1, 2: 1}), (1, {0: 1})], {0: 1, 1: 1, 2: 1}, True),
        # a chain over two others
        ([(1, {0: 1, 1: 1}), (1, {1: 1, 2: 1}), (1, {0: 1})], {0: 1, 1: 1, 2: 1}, True),
        ([(1, {0: 1}), (1, {0: 1}), (1, {1: 1})], {0: 1, 1: 2}, False),
        ([(2, {0: 1, 1: 2}), (1, {0: 1})], {0: 1, 1: 2}, True),
    ],
)
def test_values_are_taken_out_of_bags(bags: list[Any], wanted: dict[int, int], can: bool) -> None:
    given = [(rows, Counter(bag)) for rows, bag in bags]
    assert class_truth._can_be_chosen(given, Counter(wanted)) is can


def test_values_are_chosen_wherever_there_is_a_way() -> None:
    """Against trying all ways, on random bags."""
    dice = random.Random(5)

    def takes(rows: int, bag: Counter[int]) -> set[tuple[tuple[int, int], ...]]:
        return {tuple(sorted(Counter(one).items())) for one in combinations(sorted(bag.elements()), rows)}

    answers = Counter[bool]()
    for _ in range(250):
        bags = []
        for _ in range(dice.randint(2, 4)):
            bag = Counter({value: dice.randint(1, 2) for value in dice.sample(range(4), dice.randint(1, 3))})
            bags.append((dice.randint(1, bag.total()), bag))
        wanted = Counter(dice.choices(range(4), k=sum(rows for rows, _ in bags)))
        ways = product(*(takes(rows, bag) for rows, bag in bags))
        expected = any(sum((Counter(dict(one)) for one in way), Counter()) == wanted for way in ways)
        assert class_truth._can_be_chosen(bags, wanted.copy()) is expected, (bags, wanted)
        answers[expected] += 1
    assert min(answers[True], answers[False]) > 20


def test_combinations_of_cells_are_numbered_alike() -> None:
    texts = {"a": ("x", "y"), "b": ("p", "q")}
    every = class_truth._Distinct({"a": ints(0, 0, 1, 1), "b": ints(0, 1, 0, 1)}, texts, ints(1, 1, 1, 1))
    turned = class_truth._Distinct({"a": ints(0, 1), "b": ints(0, 0)}, {"a": ("y", "z"), "b": ("q", "r")}, ints(1, 1))
    ours, theirs = class_truth._numbered_alike(["a", "b"], every, turned)
    assert len(set(ours.tolist())) == 4
    assert theirs[0] == ours[3]
    assert theirs[1] not in ours


def wrong(truth_of: Any, members: Any, shown: Any) -> list[bool]:
    return [bool(one) for one in class_truth._wrong_classes(pairs(*truth_of), pairs(*members), pairs(*shown))]


def test_classes_whose_values_cannot_be() -> None:
    """Tuple 0 has values 0 and 1, tuple 1 has value 2 twice; pairs are tuples and values, classes and tuples, ..."""
    original = [(0, 0, 1), (0, 1, 1), (1, 2, 2)]
    assert wrong(original, [(0, 0, 2)], [(0, 0, 1), (0, 1, 1)]) == [False]
    assert wrong(original, [(0, 0, 2)], [(0, 0, 2)]) == [True]
    assert wrong(original, [(0, 0, 1)], [(0, 1, 1)]) == [False]
    assert wrong(original, [(0, 0, 1)], [(0, 2, 1)]) == [True]
    assert wrong(original, [(0, 0, 1), (1, 0, 1)], [(0, 0, 1), (1, 1, 1)]) == [False, False]
    assert wrong(original, [(0, 1, 2), (1, 0, 1)], [(0, 2, 2), (1, 2, 1)]) == [False, True]
    assert wrong(original, [(0, 0, 1), (0, 1, 1)], [(0, 0, 1), (0, 2, 1)]) == [False]
    assert wrong(original, [(0, 0, 1), (0, 1, 1)], [(0, 0, 2)]) == [True]
    assert wrong(original, [(0, 0, 1)], [(0, 0, 1), (0, 1, 1)]) == [True]
    assert wrong(original, [(0, 0, 2)], [(0, 0, 1)]) == [True]
    assert wrong(original, [(0, 1, 2), (1, 0, 2)], [(0, 2, 2), (1, 0, 1), (1, 1, 1)]) == [False, False]
    part = [(0, 0, 5), (1, 1, 1), (1, 2, 1), (1, 3, 2)]
    assert wrong(part, [(0, 1, 2)], [(0, 1, 1), (0, 3, 1)]) == [False]


TWO = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive(), "job": ix.other()}, [ix.LDiversity(2)])


@pytest.mark.slow
def test_untruths_of_two_tables() -> None:
    source = opened(age=["1", "1", "2", "3"], job=["a", "a", "b", "c"], ill=["flu", "HIV", "flu", "ache"])

    def said(ages: str, jobs: str, classes: str, ills: list[str], theirs: str) -> tuple[dict[str, int], int]:
        quasi = opened(class_id=list(classes), age=list(ages), job=list(jobs))
        sensitive = opened(class_id=list(theirs), ill=ills)
        with quasi, sensitive:
            return class_truth.untruths(quasi, sensitive, source, TWO)

    assert said("112", "aab", "000", ["flu", "HIV", "flu"], "000") == ({"quasi": 0, "sensitive": 0, "classes": 0}, 4)
    assert said("112", "aab", "000", ["flu", "HIV", "HIV"], "000")[0] == {"quasi": 0, "sensitive": 1, "classes": 1}
    assert said("111", "aaa", "000", ["flu", "HIV", "flu"], "000")[0]["quasi"] == 1
    lost = said("113", "aac", "011", ["ache", "HIV", "flu"], "011")[0]
    assert lost == {"quasi": 0, "sensitive": 0, "classes": 2}
    holds = replace(TWO, eligible=[Condition("age", "!=", "3")])
    with opened(class_id=["0"], age=["3"], job=["c"]) as quasi, opened(class_id=["0"], ill=["ache"]) as sensitive:
        found, eligible = class_truth.untruths(quasi, sensitive, source, holds)
        assert eligible == 3
        assert all(found.values())
    source.close()


# Two tables from their cells


def test_classes_are_numbers_of_as_many_rows_in_both() -> None:
    check = two_tables._classes_check
    assert check({"0": 2, "1": 3}, {"0": 2, "1": 3}) == Check("classes.sizes", True, {"classes": 2})
    assert check({"0": 2}, {"0": 3}).numbers == {"classes": 1, "differing": 1, "digits": 2}
    assert check({"0": 2, "1": 1}, {"0": 2, "2": 1}).numbers["differing"] == 2
    assert check({"99": 2}, {"99": 2}).passed
    assert not check({"100": 2}, {"100": 2}).passed
    assert check({"Ann": 2}, {"Ann": 2}).numbers == {"classes": 1, "differing": 0, "digits": 2}
    assert not check({"01": 2}, {"01": 2}).passed
    assert check({"Ann": 2}, {"Ann": 3}).numbers["differing"] == 1
    assert two_tables._digits("\u0663") == ""
    assert [two_tables._digits(name) for name in ("7", "", None, "-1", "1.5", "²", "9" * 19, "9" * 20)] == [
        *("7", "", "", "", "", "", "9" * 19, ""),
    ]


def test_an_order_that_chance_would_never_give() -> None:
    many = np.repeat(np.arange(200), 2)
    assert two_tables._agree_too_often(many, many)
    assert not two_tables._agree_too_often(many, many[::-1])
    assert not two_tables._agree_too_often(ints(0), ints(0))
    assert not two_tables._agree_too_often(ints(), ints())
    halves = np.repeat([0, 1], 50)
    swapped = halves.copy()
    swapped[:20], swapped[50:70] = 1, 0  # 60 of 100 agree, 50 are expected, and the deviation is 5
    assert not two_tables._agree_too_often(halves, swapped)
    halves = np.repeat([0, 1], 5000)
    for moved, is_odd in ((2200, True), (2300, False)):  # 5,600 and 5,400 agree, and the deviation is 50
        swapped = halves.copy()
        swapped[:moved], swapped[5000 : 5000 + moved] = 1, 0
        assert two_tables._agree_too_often(halves, swapped) is is_odd
    assert not two_tables._agree_too_often(ints(0, 1), ints(0, 1))
    assert not two_tables._agree_too_often(np.zeros(400, np.int64), np.zeros(400, np.int64))  # all in one class
    some = np.arange(400)
    other = np.roll(some, 1)
    other[:5] = some[:5]
    assert not two_tables._agree_too_often(some, other)
    other[:11] = some[:11]  # one is expected, and the deviation is 1
    assert not two_tables._agree_too_often(some, other)
    other[:12] = some[:12]
    assert two_tables._agree_too_often(some, other)
    with opened(class_id=["7", "x", None]) as rows:
        assert two_tables._classes_in_order(rows).tolist() == [7, -1, -1]


def counts(groups: Sequence[int], values: Sequence[int], rows: Sequence[int], names: Sequence[str]) -> ValueCounts:
    return ValueCounts(ints(*groups), ints(*values), ints(*rows), tuple(names))


def test_rows_of_a_class_that_stand_together_are_noticed() -> None:
    together = [str(number) for number in range(30) for _ in range(2)]
    apart = [*map(str, range(30)), *map(str, range(30))]

    def said(ours: list[str], theirs: list[str]) -> list[str]:
        with opened(class_id=ours) as quasi, opened(class_id=theirs) as sensitive:
            return [one for check in two_tables._order_checks(quasi, sensitive) for one in check.numbers["told"]]

    assert said(apart, apart[::-1]) == []
    assert said(together, apart[::-1]) == ["quasi"]
    assert said(apart[::-1], together) == ["sensitive"]
    assert said(apart, apart) == ["both"]
    assert said(apart, apart[:-1]) == []


def test_bags_have_each_value_as_often_as_a_class_has_it() -> None:
    """Three people are linked to x twice and y, four to x three times and y: these are not the same bags."""
    policy = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive()}, [ix.LDiversity(2)])
    with (
        opened(age=list("1234567"), class_id=list("1112222")) as quasi,
        opened(ill=list("xxyxxxy"), class_id=list("1112222")) as sensitive,
    ):
        told = two_tables._join_check(quasi, sensitive, policy, 4)
    assert told.numbers == {"k": 4, "linked": 3}
    assert not told.passed


def test_columns_are_laid_out_one_after_another() -> None:
    columns = [
        truth._MatchedColumn.of(ints(0, 1, 1), ints(0), [ints(0, 1)], 2),
        truth._MatchedColumn.of(ints(2, 0, 1), ints(0), [ints()], 3),
    ]
    labels, originals, covers = truth._lay_out(columns)
    assert labels.tolist() == [[0, 1]]
    assert originals[1].tolist() == [0, 3]  # where the counts of each column begin
    assert originals[2].tolist() == [0, 1, 3, 0, 1, 2, 3]
    assert (covers[0].tolist(), covers[1].tolist()) == ([0, 1], [1, 0])


def test_people_by_the_classes_of_their_tuple() -> None:
    """Tuple 0 stands in class a alone, tuple 1 in a and b, twice in each, tuple 2 three times in a and once in b."""
    found = counts([0, 1, 1, 2, 2], [0, 0, 1, 0, 1], [5, 2, 2, 3, 1], ["a", "b"])
    assert two_tables._people_by_classes(found) == {
        ((0, 1),): 5,
        ((0, 1), (1, 1)): 4,
        ((0, 3), (1, 1)): 4,
    }


def join(ages: str, classes: str, ills: str, theirs: str, k: int = 2) -> Check:
    with (
        opened(class_id=list(classes), age=list(ages)) as quasi,
        opened(class_id=list(theirs), ill=list(ills)) as other,
    ):
        return two_tables._join_check(quasi, other, TWO, k)


def test_whoever_joins_both_tables_finds_k_people() -> None:
    assert join("12", "00", "ab", "00") == Check("classes.join", True, {"k": 2, "linked": None})
    assert join("123", "001", "abc", "001").numbers == {"k": 2, "linked": 1}
    assert not join("123", "001", "abc", "001").passed
    assert join("1234", "0011", "abab", "0011", 4).passed  # both classes have the same values
    assert not join("1234", "0011", "abac", "0011", 4).passed
    assert not join("1213", "0011", "abcd", "0011").passed  # 1 stands in both, and nobody else does


@pytest.mark.slow
def test_a_recount_of_two_tables() -> None:
    policy = Policy(
        {"age": ix.quasi(), "ill": ix.sensitive(missing=["9"])}, [ix.LDiversity(2), ix.KAnonymity(2)], max_suppression=1
    )

    def names(ages: str, classes: str, ills: str, theirs: str, by: Policy = policy) -> dict[str, bool]:
        with (
            opened(class_id=list(classes), age=list(ages)) as quasi,
            opened(class_id=list(theirs), ill=list(ills)) as other,
        ):
            found = two_tables.judge_two_tables({"quasi": quasi, "sensitive": other}, by)
        assert found.noun == "class"
        assert found.rows == sum(found.sizes)
        return {check.id: check.passed for check in found.checks}

    passing = (
        "cells.columns",
        "classes.sizes",
        "cells.codes",
        "model.l-diversity",
        "model.k-anonymity",
        "classes.join",
    )
    whole = dict.fromkeys(passing, True)
    assert names("12", "00", "ab", "00") == whole
    assert names("12", "00", "aa", "00") == whole | {"model.l-diversity": False}
    assert names("12", "00", "a9", "00") == whole | {"cells.codes": False}
    assert names("12", "01", "ab", "01") == whole | dict.fromkeys(passing[3:], False)
    assert names("12", "00", "abb", "000") == whole | {"classes.sizes": False}
    assert names("", "", "ab", "00") == {"cells.columns": True, "cells.rows": False}
    assert names("12", "00", "", "") == {"cells.columns": True, "cells.rows": False}
    alone = replace(policy, privacy=(ix.KAnonymity(1),))
    assert names("12", "00", "ab", "00", alone) == {
        "cells.columns": True,
        "classes.sizes": True,
        "cells.codes": True,
        "classes.sensitive": False,
        "model.k-anonymity": True,
    }
    more = replace(policy, privacy=(ix.KMap(2, "people.csv"), ix.KAnonymity(2, known=1), ix.LDiversity(2)))
    found = names("12", "00", "ab", "00", more)
    assert (found["model.k-map"], found["model.k-anonymity"], found["model.l-diversity"]) == (False, False, True)
    with opened(class_id=["0", "1"], age=["1", "2"]) as quasi, opened(class_id=["0"], ill=["a"]) as other:
        judged = two_tables.judge_two_tables({"quasi": quasi, "sensitive": other}, policy)
        assert judged.checks[2].numbers["differing"] == 1
    with opened(class_id=["0"], age=["1"], ill=["a"]) as quasi, opened(class_id=["0"], ill=["a"]) as other:
        judged = two_tables.judge_two_tables({"quasi": quasi, "sensitive": other}, policy)
        assert [check.passed for check in judged.checks] == [False, True]
        assert judged.checks[0].numbers["elsewhere"] == ["ill"]


def test_two_tables_are_told_apart_by_columns_and_order() -> None:
    policy = Policy({"age": ix.quasi(), "ill": ix.sensitive()}, [ix.LDiversity(1)])
    names = [str(number) for number in range(30) for _ in range(2)]
    with opened(class_id=names, age=names) as quasi, opened(class_id=names, ill=names) as sensitive:
        found = two_tables.judge_two_tables({"quasi": quasi, "sensitive": sensitive}, policy)
        assert [(check.id, check.passed) for check in found.checks][-1] == ("classes.order", False)
    apart = [*map(str, range(29, -1, -1)), *map(str, range(30))]
    with opened(class_id=names, age=names) as quasi, opened(class_id=apart, ill=apart) as sensitive:
        found = two_tables.judge_two_tables({"quasi": quasi, "sensitive": sensitive}, policy)
        assert found.checks[-1].numbers["told"] == ["quasi"]
    with opened(age=["1"]) as quasi, opened(class_id=["0"], ill=["a"], town=["b"]) as sensitive:
        found = two_tables.judge_two_tables({"quasi": quasi, "sensitive": sensitive}, policy)
        ours, theirs = (check.numbers for check in found.checks)
        assert (ours["missing"], theirs["unknown"]) == (["class_id"], ["town"])


@pytest.mark.slow
def test_two_tables_against_the_original() -> None:
    policy = Policy({"age": ix.quasi(), "ill": ix.sensitive()}, [ix.LDiversity(1)], max_suppression=1)

    def found(ages: str, ills: str, claimed: int | None = None) -> list[tuple[str, bool]]:
        zeros = ["0"] * len(ages)
        with (
            opened(age=list("1234"), ill=list("abcd")) as source,
            opened(class_id=zeros, age=list(ages)) as quasi,
            opened(class_id=zeros, ill=list(ills)) as sensitive,
        ):
            checks = two_tables.prove_two_tables({"quasi": quasi, "sensitive": sensitive}, source, policy, claimed)
        return [(check.id, check.passed) for check in checks]

    assert found("123", "bac") == [("truth.rows", True), ("suppression.limit", True)]
    assert found("12", "ba") == [("truth.rows", True), ("suppression.limit", False)]
    assert found("123", "bad") == [("truth.rows", False), ("suppression.limit", True)]
    assert found("123", "bac", 1) == [("truth.rows", True), ("suppression.limit", True)]
    assert found("123", "bac", 2) == [("truth.rows", True), ("suppression.stated", False), ("suppression.limit", True)]
    with opened(age=["1"]) as source, opened(class_id=["0"], age=["1"]) as quasi, pytest.raises(ix.PolicyError):
        two_tables.prove(quasi, quasi, source, policy)


# Means and noise


def test_means_of_clusters_by_hand() -> None:
    means = perturbed_numbers._means_by_mdav
    assert means(np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.0]), 2).tolist() == [1.5, 1.5, 6.5, 6.5, 11.5, 11.5]
    # four are left: the mean 5 is farther from 1 than from 7
    assert means(np.array([1.0, 6.0, 6.0, 7.0]), 2).tolist() == [3.5, 3.5, 6.5, 6.5]
    assert means(np.array([1.0, 2.0, 9.0]), 2).tolist() == [4.0, 4.0, 4.0]
    # five: the mean 4 is as far from 0 as from 8, so the low end is cut off
    assert means(np.array([0.0, 2.0, 4.0, 6.0, 8.0]), 2).tolist() == [1.0, 1.0, 6.0, 6.0, 6.0]
    assert means(np.array([0.0, 6.0, 7.0, 8.0, 9.0]), 2).tolist() == [3.0, 3.0, 8.0, 8.0, 8.0]
    assert means(np.array([0.0, 1.0, 2.0, 3.0, 9.0]), 2).tolist() == [1.0, 1.0, 1.0, 6.0, 6.0]


def test_ends_are_cut_off_until_few_are_left() -> None:
    means = perturbed_numbers._means_by_mdav
    seven = np.array([0.0, 2.0, 10.0, 11.0, 12.0, 20.0, 22.0])
    assert means(seven, 2).tolist() == [1.0, 1.0, 11.0, 11.0, 11.0, 21.0, 21.0]
    low, high = [0.0, 0.0], [100.0, 100.0]
    far_above = np.array([*low, 10.0, 11.0, 12.0, 13.0, 30.0, *high])
    assert means(far_above, 2).tolist()[2:7] == [11.0, 11.0, 11.0, 21.5, 21.5]
    far_below = np.array([*low, 10.0, 27.0, 28.0, 29.0, 30.0, *high])
    assert means(far_below, 2).tolist()[2:7] == [18.5, 18.5, 29.0, 29.0, 29.0]


def proof_of_means(released: Sequence[float], original: Sequence[float], k: int = 2) -> Check:
    return perturbed_numbers._prove_means("t", perturbed_numbers._Compared(np.array(released), np.array(original)), k)


def test_means_are_worked_out_anew() -> None:
    assert proof_of_means([1.5, 1.5, 10.5, 10.5], [1.0, 2.0, 10.0, 11.0]).passed
    assert proof_of_means([10.5, 1.5, 1.5, 10.5], [10.0, 1.0, 2.0, 11.0]).passed
    assert proof_of_means([1.5, 10.5, 1.5, 10.5], [1.0, 2.0, 10.0, 11.0]).numbers["wrong"] == 2
    assert not proof_of_means([1.5, 1.5, 10.5, 10.6], [1.0, 2.0, 10.0, 11.0]).passed
    assert not proof_of_means([1.4, 1.5, 10.5, 10.5], [1.0, 2.0, 10.0, 11.0]).passed
    assert proof_of_means([1.0], [1.0]) == Check(
        "truth.perturbed", False, {"column": "t", "how": "no cluster", "numbers": 1, "k": 2}
    )
    assert proof_of_means([0.0, 0.0], [-1.0, 1.0]).passed
    assert proof_of_means([1.5 * (1 + 5e-10), 1.5], [1.0, 2.0]).passed
    assert proof_of_means([3.0, 3.0, 7.0, 7.0], [1.0, 5.0, 5.0, 9.0]).passed
    assert not proof_of_means([3.0, 3.0, 3.0, 7.0], [1.0, 5.0, 5.0, 9.0]).passed  # one 5 is in each cluster
    assert proof_of_means([1.5, 1.5], [1.0, 2.0]).numbers["numbers"] == 2


def known_pairs(shown: Sequence[float], given: Sequence[float], mine: Sequence[int], theirs: Sequence[int]) -> Any:
    return perturbed_numbers._known_pairs(np.array(shown), np.array(given), ints(*mine), ints(*theirs))


def test_numbers_of_rows_that_are_alike() -> None:
    nan = np.nan
    both = known_pairs([5.0, 4.0, 9.0], [8.0, 3.0, 6.0], [0, 0, 1], [1, 0, 0])
    assert (both.released.tolist(), both.original.tolist()) == ([4.0, 5.0, 9.0], [3.0, 6.0, 8.0])
    missing = known_pairs([5.0, nan], [6.0, nan], [0, 0], [0, 0])
    assert (missing.released.tolist(), missing.original.tolist()) == ([5.0], [6.0])
    assert known_pairs([nan, nan], [6.0, nan], [0, 0], [0, 0]) == "missing"
    assert known_pairs([5.0, 4.0], [6.0, nan], [0, 0], [0, 0]) == "missing"
    assert known_pairs([5.0], [6.0, 7.0], [0], [0, 0]) == "unknown"
    assert known_pairs([5.0], [6.0, nan], [0], [0, 0]) == "unknown"
    gone = known_pairs([5.0], [6.0, 7.0, nan], [0], [0, 1, 1])
    assert (gone.released.tolist(), gone.original.tolist()) == ([5.0], [6.0])


def test_noise_keeps_to_its_bounds() -> None:
    both = perturbed_numbers._Compared(np.array([10.0, 12.0]), np.array([11.0, 11.0]))
    uniform = ix.Noise(1.0, "uniform")
    kept = perturbed_numbers._prove_noise("t", both, uniform)
    assert (kept.passed, kept.numbers["wrong"]) == (True, 0)
    at_the_end = np.array([11 - 1 - uniform.step - 5e-9, 11 + 1 + uniform.step + 5e-9])
    assert perturbed_numbers._prove_noise("t", replace(both, released=at_the_end), uniform).passed
    far = perturbed_numbers._prove_noise("t", replace(both, released=np.array([9.0, 14.0])), uniform)
    assert not far.passed
    assert far.numbers["wrong"] == 2
    normal = perturbed_numbers._prove_noise(
        "t", replace(both, released=np.array([-99.0, 99.0])), ix.Noise(1.0, "normal")
    )
    assert normal == Check("truth.perturbed", True, {"column": "t", "how": "noise", "kind": "normal", "scale": 1.0})


def test_perturbed_columns_from_their_cells() -> None:
    policy = Policy(
        {
            "age": ix.quasi(),
            "pay": ix.other(perturb=ix.Microaggregation(2)),
            "tax": ix.other(perturb=ix.Noise(1.0, "uniform")),
        },
        [ix.KAnonymity(1)],
    )

    def passed(pay: Sequence[Cell], tax: Sequence[Cell]) -> list[bool]:
        with opened(age=["1"] * len(pay), pay=pay, tax=tax) as rows:
            return [check.passed for check in perturbed_numbers.perturbation_checks(rows, policy)]

    assert passed(["1", "1.0", None], ["5", "6", "7"]) == [True, True]
    assert passed(["1", "1", "2"], ["5", "6", None]) == [False, True]
    assert passed(["1", "1", "x"], ["5", "y", "z"]) == [False, False]
    assert perturbed_numbers._means_check("pay", np.array([1.0, 1.0]), 2) == Check(
        "cells.perturbed", True, {"column": "pay", "k": 2, "means": 1}
    )
    assert perturbed_numbers._means_check("pay", np.array([1.0, 2.0]), 2) == Check(
        "cells.perturbed", False, {"column": "pay", "k": 2, "alone": 2}
    )
    assert perturbed_numbers._numbers(pa.chunked_array([["x", "x", "1"]])) == 2
    codes, texts = perturbed_numbers._codes(pa.chunked_array([], pa.string()))
    assert (codes.tolist(), texts) == ([], [])
    with opened(age=["1"]) as rows:
        assert perturbed_numbers.perturbation_checks(rows, policy) == []
    with (
        opened(age=["1", "1", "2"], pay=["1.5", "1.5", "1.5"], tax=["5", "6", "7"]) as mine,
        opened(age=["1", "1", "2"], pay=["1", "2", "1.5"], tax=["5", "6", "9"]) as theirs,
    ):
        means, noise = perturbed_numbers.prove_perturbations(mine, theirs, policy, ["age"])
        assert means.passed
        assert (noise.passed, noise.numbers["column"]) == (False, "tax")
        none = perturbed_numbers.prove_perturbations(
            mine, theirs, Policy({"age": ix.quasi()}, [ix.KAnonymity(1)]), ["age"]
        )
        assert none == []


def test_rows_are_alike_in_all_cells() -> None:
    mine = table(a=["x", "x", "y", "y"], b=["p", "q", "p", None])
    theirs = table(a=["y", "z"], b=[None, "q"])
    ours, others = perturbed_numbers._numbers_of_alike_rows(mine, theirs, ["a", "b"])
    assert len(set(ours.tolist())) == 4
    assert others[0] == ours[3]
    assert others[1] not in ours


def proof_of_noise(mine: dict[str, Sequence[Cell]], theirs: dict[str, Sequence[Cell]]) -> tuple[bool, str]:
    policy = Policy({"age": ix.quasi(), "pay": ix.other(perturb=ix.Noise(1.0, "uniform"))}, [ix.KAnonymity(1)])
    with opened(**mine) as released, opened(**theirs) as general:
        (check,) = perturbed_numbers.prove_perturbations(released, general, policy, ["age"])
    assert (check.id, check.numbers["column"]) == ("truth.perturbed", "pay")
    return check.passed, check.numbers["how"]


def test_noise_is_compared_as_far_as_it_is_known_whose_it_is() -> None:
    original: dict[str, Sequence[Cell]] = {"age": ["1", "2", "2"], "pay": ["5", "7", "8"]}
    assert proof_of_noise({"age": ["2", "2"], "pay": ["8.5", "7.5"]}, original)[0]
    assert not proof_of_noise({"age": ["2", "2"], "pay": ["8.5", "9.5"]}, original)[0]
    assert proof_of_noise({"age": ["2"], "pay": ["99"]}, original) == (True, "unknown")
    assert proof_of_noise({"age": ["1"], "pay": ["x"]}, original) == (False, "no number")
    assert proof_of_noise({"age": ["1"], "pay": ["5"]}, original | {"pay": ["5", "x", "8"]}) == (
        False,
        "no number in original",
    )
    assert proof_of_noise({"age": ["1"], "pay": [None]}, original) == (
        False,
        "missing",
    )


# Labels and what they cover


def covered(hierarchy: ix.Hierarchy, values: Sequence[Cell], label: Cell) -> list[Cell]:
    found = truth.Covers(hierarchy.compile(values)).of(label)
    return [values[code] for code in found.tolist()]


def test_what_labels_cover() -> None:
    values: list[Cell] = ["1", "2", "3", "4"]
    assert covered(AGES, values, "1-2") == ["1", "2"]
    assert covered(AGES, values, "3") == ["3"]
    assert covered(AGES, values, "*") == covered(AGES, values, None) == values
    assert covered(AGES, values, "[2, 3]") == ["2", "3"]
    assert covered(AGES, values, "[3, 2]") == ["2", "3"]
    assert covered(AGES, values, "{1, 4}") == ["1", "4"]
    assert covered(AGES, values, "5") == covered(AGES, values, "[x, y]") == []
    with_missing: list[Cell] = ["1", "2", None]
    assert covered(AGES, with_missing, "[1, 2]") == ["1", "2"]
    assert covered(AGES, with_missing, "[1, 2] or missing") == with_missing
    assert covered(AGES, with_missing, "{2} or missing") == ["2", None]
    assert covered(AGES, values, "{2} or missing") == ["2"]
    words = ix.levels([["a", "any"], ["b", "any"]])
    assert covered(words, ["a", "b"], "[a, b]") == []
    dates = ix.dates("year", format="%d.%m.%Y")
    assert covered(dates, ["01.02.2000", "02.01.2000"], "[01.01.2000, 31.01.2000]") == ["02.01.2000"]
    assert covered(dates, ["01.02.2000", "02.01.2000"], "[soon, later]") == []
    demanded = ix.quasi(AGES, min_level=1).compile(("1", "2"))
    assert truth.Covers(demanded).of("1").tolist() == []
    assert truth.Covers(demanded).of("[1, 2]").tolist() == []
    assert truth.Covers(demanded).of("1-2").tolist() == [0, 1]


def test_labels_of_the_hierarchy_come_before_ranges() -> None:
    odd = ix.levels([["1", "[1, 2]", "*"], ["2", "other", "*"], ["3", "[1, 2]", "*"]])
    assert covered(odd, ["1", "2", "3"], "[1, 2]") == ["1", "3"]
    words = ix.levels([["a", "any"], ["b", "any"]])
    assert covered(words, ["a", "b", None], "[1, 2] or missing") == [None]


def test_columns_are_laid_out_for_the_kernels() -> None:
    first = truth._MatchedColumn.of(ints(0, 1, 2), ints(0, 1), [ints(0, 1), ints(0, 2), ints()], 3)
    second = truth._MatchedColumn.of(ints(1, 1, 0), ints(1, 0), [ints(1), ints(0, 1, 3)], 4)
    labels, originals, covers = truth._lay_out([first, second])
    assert labels.tolist() == [[0, 4], [1, 3]]
    assert [list(map(int, part)) for part in covers] == [
        [0, 0, 1, 1, 0],
        [1, 2, 0, 1, 3],
        [-1, 0, -1, -1, 1],
        [0b101, 0b1011],
    ]
    far = truth._MatchedColumn.of(ints(0), ints(0), [ints(0, 2), ints(0, 200), ints(0, 3)], 201)
    assert truth._lay_out([far])[2].bits_at.tolist() == [0, 1, 5]
    ranks, offsets, starts, orders = originals
    assert ranks.tolist() == [[0, 1], [1, 1], [2, 0]]
    assert offsets.tolist() == [0, 4]
    assert starts.tolist() == [0, 1, 2, 3, 0, 1, 3, 3, 3]
    assert orders.tolist() == [[0, 1, 2], [2, 0, 1]]


def test_bits_of_ranks() -> None:
    assert truth._bits(ints(3, 5)).tolist() == [0b101]
    assert truth._bits(ints(3, 66, 67, 131)).tolist() == [1 | 1 << 63, 1, 1]


@pytest.mark.slow
def test_rows_are_matched_one_to_one() -> None:
    policy = Policy({"age": ix.quasi(AGES), "job": ix.other()}, [ix.KAnonymity(1)])
    with opened(age=["1", "2", "2", "4"], job=["a", "a", "b", "b"]) as source:

        def unmatched(ages: Sequence[Cell], jobs: Sequence[Cell]) -> int:
            hierarchies = {"age": AGES.compile(["1", "2", "4"])}
            with opened(age=ages, job=jobs) as released:
                return truth.rows_without_original(released, source, policy, hierarchies)

        assert unmatched(["1-2", "1-2", "*"], ["a", "a", "b"]) == 0
        assert unmatched(["1-2", "1-2", "1-2"], ["a", "a", "a"]) == 1
        assert unmatched(["*", "2"], ["a", "a"]) == 0  # the first gives way
        assert unmatched(["1", "1"], ["a", "a"]) == 1
        assert unmatched(["3-4", "9"], ["b", "b"]) == 1
        assert unmatched(["{1, 4}", "{1, 4}"], ["a", "b"]) == 0
        assert unmatched(["1"], ["c"]) == 1
    people = replace(policy, person="id")
    with (
        opened(age=["1", "2", "2", "4"], job=["a"] * 4, id=["x", "x", "y", "z"]) as source,
        opened(age=["1-2", "1-2", "*"], job=["a"] * 3) as released,
    ):
        behind = truth.people_behind_groups(released, source, people, {"age": AGES.compile(["1", "2", "4"])})
        assert sorted(behind.tolist()) == [2, 3]


@given(st.data())
@examples(100)
def test_as_many_rows_are_matched_as_can_be(data: st.DataObject) -> None:
    """The most that can be matched is found row by row, by whatever paths there are, and however much is kept."""
    sets = st.lists(st.sets(st.integers(0, 5)).map(lambda ranks: ints(*sorted(ranks))), min_size=1, max_size=4)
    rows, originals = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8))
    covers_of = data.draw(st.lists(sets, min_size=1, max_size=2))
    columns = [
        truth._MatchedColumn.of(
            ints(*data.draw(st.lists(st.integers(0, 5), min_size=originals, max_size=originals))),
            ints(*data.draw(st.lists(st.integers(0, len(covered) - 1), min_size=rows, max_size=rows))),
            covered,
            6,
        )
        for covered in covers_of
    ]
    wanted = data.draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=originals, max_size=originals))
    labels, laid_out, covers = truth._lay_out(columns)
    found = {
        most_kept: matching.count_unmatched(labels, ints(*wanted), laid_out, ints(*counts), covers, most_kept)
        for most_kept in (0, 5, 1000)
    }
    fits = [
        [
            all(one.ranks[other] in own[one.labels[row]] for one, own in zip(columns, covers_of, strict=True))
            for other in range(originals)
        ]
        for row in range(rows)
    ]
    assert set(found.values()) == {sum(wanted) - _most_matched(fits, wanted, counts)}


@examples(40)
@given(data=st.data())
def test_columns_that_stay_as_they_are_fit_as_one(data: st.DataObject) -> None:
    cells = st.sampled_from([*"abc", None])
    rows = [data.draw(st.lists(st.tuples(cells, cells), max_size=6)) for _ in range(2)]
    values, codes = [], []
    for place in range(2):
        own = [tuple(dict.fromkeys(row[place] for row in table)) for table in rows]
        values.append(own)
        codes.append(
            [ints(*(texts.index(row[place]) for row in table)) for texts, table in zip(own, rows, strict=True)]
        )
    column = truth._exact_column(values, [one[0] for one in codes], [one[1] for one in codes])
    assert len(column.ranks) == len(rows[0])
    assert column.values == len(set(rows[0]))
    for label, row in zip(column.labels, rows[1], strict=True):
        fits = [column.low[label] <= rank <= column.high[label] for rank in column.ranks]
        assert fits == [other == row for other in rows[0]]


def _most_matched(fits: list[list[bool]], wanted: list[int], counts: list[int]) -> int:
    """Return how many rows find one of their own, each tuple taken apart into its rows."""
    places = [other for other, count in enumerate(counts) for _ in range(count)]
    holder: dict[int, int] = {}

    def settle(row: int, tried: set[int]) -> bool:
        for place, other in enumerate(places):
            if fits[row][other] and place not in tried:
                tried.add(place)
                if place not in holder or settle(holder[place], tried):
                    holder[place] = row
                    return True
        return False

    return sum(settle(row, set()) for row, number in enumerate(wanted) for _ in range(number))


# People behind a release


def tuples(codes: Sequence[int], persons: Sequence[int], rows: Sequence[int], values: Sequence[int] = ()) -> CellTuples:
    texts = {"ill": ("a", "b", "c")} if values else {}
    found = {"ill": ints(*values)} if values else {}
    return CellTuples(np.array([codes]), {"age": ("1", "2", "3")}, found, texts, ints(*rows), ints(*persons))


def test_missing_rows_are_those_that_leave_fewest_people() -> None:
    """A tuple of persons 0 (1 row), 1 (2 rows) and 2 (3 rows), and another one of person 0."""
    own = tuples([0, 0, 0, 1], [0, 1, 2, 0], [1, 2, 3, 1])
    is_left, in_part = _entries_left(own, ints(6, 6, 6, 1))
    assert (is_left.tolist(), in_part) == ([True] * 4, 0)
    is_left, in_part = _entries_left(own, ints(4, 4, 4, 0))
    assert (is_left.tolist(), in_part) == ([False, True, True, False], 1)
    is_left, in_part = _entries_left(own, ints(3, 3, 3, 1))
    assert (is_left.tolist(), in_part) == ([False, False, True, True], 1)
    is_left, in_part = _entries_left(own, ints(0, 0, 0, 1))
    assert (is_left.tolist(), in_part) == ([False, False, False, True], 0)
    is_left, in_part = _entries_left(tuples([0], [0], [3]), ints(1))
    assert (is_left.tolist(), in_part) == ([True], 1)


def test_groups_in_people() -> None:
    policy = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive()}, [ix.LDiversity(2)], person="id")
    own = tuples([0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 2])
    groups = groups_in_people(own, ints(0, 0, 0, 1), np.array([True] * 4), policy, ix.LDiversity(2))
    assert groups.sizes.tolist() == [2, 1]
    tally = groups.tallies["ill"]
    assert tally.dense(2).tolist() == [[1, 2, 0], [0, 0, 1]]
    assert tally.totals.tolist() == [1, 2, 1]
    assert tally.whole == 2
    fewer = groups_in_people(own, ints(0, 0, 0, 1), np.array([True, True, False, False]), policy, ix.LDiversity(2))
    assert fewer.sizes.tolist() == [2 - 1, 0]
    assert fewer.tallies["ill"].totals.tolist() == [1, 1, 0]
    assert groups_in_people(own, ints(0, 0, 0, 1), np.array([True] * 4), policy, ix.KAnonymity(2)).tallies == {}


def test_people_of_a_release_before_it_leaves() -> None:
    policy = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)], person="id")
    with opened(age=["1", "1", "2"], id=["a", "b", "a"]) as rows:
        said = PeopleFacts(3, 2, 1, 1, smallest_group=1)
        assert released_people_check(rows, policy, said) == Check("people.stated", True)
        wrong_facts = released_people_check(rows, policy, replace(said, released=3, smallest_group=2))
        assert wrong_facts.numbers == {"released": 2, "smallest_group": 1}
        assert not wrong_facts.passed
    with opened(age=["1", "1"], id=["a", "b"]) as rows:
        assert released_people_check(rows, policy, PeopleFacts(2, 2, 0, 0, smallest_group=2)).passed


@pytest.mark.slow
def test_models_on_rows_that_say_whose_they_are() -> None:
    policy = Policy({"age": ix.quasi(AGES), "sex": ix.quasi(), "ill": ix.sensitive()}, [ix.KAnonymity(2)], person="id")
    rows = opened(age=list("1122"), sex=list("ffmm"), ill=list("abaa"), id=list("xxyz"))

    def found(*models: ix.PrivacyModel, person: Any = "id") -> list[tuple[bool, list[int]]]:
        """Return whether models hold, and the groups that fail and the people in them, or those of the smallest."""
        asked, names = replace(policy, privacy=models, person=person), ("failing", "groups", "inside", "smallest")
        checks = count_people(rows, asked, ("id",))
        return [(one.passed, [one.numbers[name] for name in names if name in one.numbers]) for one in checks]

    assert found(ix.KAnonymity(2)) == [(False, [1, 2, 1])]
    assert found(ix.KAnonymity(1)) == [(True, [2, 1])]
    assert found(ix.LDiversity(2)) == [(False, [1, 2, 2])]
    assert [passed for passed, _ in found(ix.KAnonymity(2, known=1), ix.KAnonymity(1, known=1))] == [False, True]
    linked = Person("id", release="pseudonym")
    assert found(ix.KAnonymity(2), person=linked) == [(False, [1, 2, 1])]
    assert found(ix.KAnonymity(1), person=linked) == [(True, [2, 1])]
    # of three people two have a, and one b: in the second group all have a, half more than in the table
    assert [passed for passed, _ in found(ix.BetaLikeness(0.0001), ix.BetaLikeness(2.0))] == [False, True]
    people = table(age=["1", "2", "2"], sex=["f", "m", "m"])
    assert [passed for passed, _ in found(ix.KMap(1, people), ix.KMap(2, people))] == [True, False]
    with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
        found(ix.TCloseness(1, "hierarchical"))
    rows.close()


def test_hierarchies_of_sensitive_columns_are_reported_to_models() -> None:
    tree = Policy({"age": ix.quasi(), "ill": ix.sensitive(AGES)}, [ix.TCloseness(1, "hierarchical")], person="id")
    bare = replace(tree, columns={"age": ix.quasi(), "ill": ix.sensitive()})
    with opened(age=list("1122"), ill=list("1234"), id=list("abcd")) as rows:
        assert [check.passed for check in count_people(rows, tree, ("id",))] == [True]
        assert [check.passed for check in people_checks(rows, rows, tree)] == [True]
        with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
            people_checks(rows, rows, bare)


def test_rows_in_different_engines_are_not_compared_under_pseudonyms() -> None:
    elsewhere: Any = object()
    with opened(age=["1"]) as rows:
        (check,) = linked_rows_checks(rows, elsewhere, TWO)
    assert check == Check("truth.linked_rows", True, {"why": "engines"})


def test_rows_under_a_pseudonym_are_those_of_one_person() -> None:
    linked = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(1)], person=Person("id", release="pseudonym"))
    general = opened(age=list("1221"), id=list("aabb"))

    def found(pseudonyms: str, ages: str, policy: Policy = linked) -> list[tuple[bool, Any]]:
        with opened(pseudonym=list(pseudonyms), age=list(ages)) as released:
            return [(check.passed, check.numbers) for check in linked_rows_checks(released, general, policy)]

    assert found("xxyy", "1212") == found("xx", "12") == [(True, {})]
    assert found("xxyy", "1122") == [(False, {"wrong": 4, "unit": "row"})]
    assert found("x", "1") == [(False, {"wrong": 1, "unit": "row"})]
    single = replace(linked, person=Person("id", release="pseudonym", suppress="rows"))
    assert found("x", "1", single) == [(True, {"why": "single rows"})]
    other: Any = SimpleNamespace()
    assert linked_rows_checks(other, general, linked)[0].numbers == {"why": "engines"}
    general.close()
    with (
        opened(pseudonym=["x"], age=["1"], day=["2000-01-05"], note=["n"]) as released,
        opened(id=["a"], age=["1"], day=["2000-01-01"], note=["n"]) as original,
    ):
        found_ids = [check.id for check in linked_rows_checks(released, original, MOVED)]
        assert found_ids == ["truth.linked_rows", "truth.dates"]


@pytest.mark.slow
def test_models_on_the_people_behind_a_release() -> None:
    policy = Policy({"age": ix.quasi(AGES), "sex": ix.quasi(), "ill": ix.sensitive()}, [ix.KAnonymity(2)], person="id")
    general = opened(age=["1", "1", "2", "2"], sex=["f"] * 4, ill=["a", "b", "a", "a"], id=["x", "y", "z", "z"])

    def passed(ages: Sequence[Cell], *models: ix.PrivacyModel) -> list[bool]:
        with opened(age=ages, sex=["f"] * len(ages), ill=["a"] * len(ages)) as released:
            return [one.passed for one in people_checks(released, general, replace(policy, privacy=models))]

    assert passed(["1", "1"], ix.KAnonymity(2)) == [True]
    assert passed(["1", "1", "2", "2"], ix.KAnonymity(2)) == [False]
    assert passed(["1"], ix.KAnonymity(2)) == [False]
    assert passed(["1"], ix.LDiversity(1)) == [False]  # nobody can tell whose row it is
    assert passed(["1"], ix.KAnonymity(1)) == [True]
    assert passed(["1", "1"], ix.KAnonymity(2, known=1), ix.KAnonymity(3)) == [True, False]
    assert passed(["1", "1"], ix.LDiversity(2), ix.KMap(2, "people.csv")) == [True]
    assert passed(["1", "1"], ix.KAnonymity(2, known=1)) == [True]
    assert passed(["1", "1", "2", "2"], ix.KAnonymity(2, known=1)) == [False]
    with opened(age=["1", "1"], sex=["f", "f"], ill=["a", "b"]) as released:
        (check,) = people_checks(released, general, policy)
        assert (check.numbers["groups"], check.numbers["smallest"], check.numbers["unit"]) == (1, 2, "person")
    general.close()
    with (
        opened(age=list("1122"), sex=list("fmfm"), ill=list("aaaa"), id=list("wxyz")) as general,
        opened(age=list("1122"), sex=list("fmfm"), ill=list("aaaa")) as released,
    ):
        few = replace(policy, privacy=(ix.KAnonymity(2, known=1), ix.KAnonymity(2)))
        assert [check.passed for check in people_checks(released, general, few)] == [True, False]


# What had to be suppressed


def test_failing_tuples_go_until_none_fails() -> None:
    policy = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive()}, [ix.KAnonymity(2), ix.LDiversity(2)])
    own = tuples([0, 0, 1, 2, 2], [0] * 5, [1, 1, 1, 1, 1], [0, 1, 0, 2, 2])
    assert greatest_safe_set(own, own.counts, policy).tolist() == [True, True, False, False, False]
    assert greatest_safe_set(own, ints(1, 0, 1, 1, 1), policy).tolist() == [False] * 5
    # the average risk is judged last, on what the others leave
    average = replace(policy, privacy=(ix.KAnonymity(2), ix.AverageRisk(0.5)))
    assert greatest_safe_set(own, ints(1, 1, 1, 1, 1), average).tolist() == [True, True, False, True, True]


def test_models_of_the_whole_table_see_what_others_leave() -> None:
    policy = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive()}, [ix.KAnonymity(2), ix.TCloseness(0.1)])
    own = tuples([0, 0, 1, 1, 2], [0] * 5, [1] * 5, [0, 1, 0, 1, 2])
    assert greatest_safe_set(own, own.counts, policy).tolist() == [True, True, True, True, False]


def test_people_who_are_gone_hide_nobody() -> None:
    of_people = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)], person="id")
    own = tuples([0, 0], [0, 1], [1, 1])
    assert greatest_safe_set(own, own.counts, of_people).all()
    assert not greatest_safe_set(own, ints(1, 0), of_people).any()


def test_what_the_whole_table_is_asked_takes_out_groups_as_well() -> None:
    policy = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive()}, [ix.TCloseness(0.1)])
    apart = tuples([0, 0, 1, 1, 2, 2], [0] * 6, [1] * 6, [0, 1, 0, 1, 2, 2])
    assert not greatest_safe_set(apart, apart.counts, policy).any()
    alike = tuples([0, 0, 1, 1], [0] * 4, [1] * 4, [0, 1, 0, 1])
    assert greatest_safe_set(alike, alike.counts, policy).all()
    with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
        greatest_safe_set(alike, alike.counts, replace(policy, privacy=(ix.TCloseness(0.1, "hierarchical"),)))
    tree = ix.levels([["a", "*"], ["b", "*"], ["c", "*"]])
    near = Policy({"age": ix.quasi(AGES), "ill": ix.sensitive(tree)}, [ix.TCloseness(0.1, "hierarchical")])
    assert greatest_safe_set(alike, alike.counts, near).all()


def suppression(ages: Sequence[Cell], suppressed: int, *models: ix.PrivacyModel, **more: Any) -> Check:
    policy = Policy({"age": ix.quasi(AGES)}, models or (ix.KAnonymity(2),), **more)
    columns = {"age": ages} | ({"id": [str(n) for n in range(len(ages))]} if policy.person_columns else {})
    with opened(**columns) as general:
        return least_suppression_check(general, policy, suppressed)


@pytest.mark.slow
def test_no_more_rows_are_suppressed_than_must_be() -> None:
    ages = ["1", "1", "1", "2", "2", "3"]
    assert suppression(ages, 1) == Check("suppression.least", True, {"how": "exact", "suppressed": 1, "required": 1})
    assert suppression(ages, 2) == Check("suppression.least", False, {"how": "exact", "suppressed": 2, "required": 1})
    assert not suppression(ages, 0).passed
    with_group = suppression(ages, 3)  # the smallest group to hide the one among
    assert (with_group.passed, with_group.numbers["how"]) == (True, "with the smallest group")
    assert not suppression(ages, 4).passed
    assert not suppression([*ages, "4"], 4).passed  # two are enough to hide among each other
    assert not suppression(["1", "1", "2", "2"], 2).passed  # there is nothing to hide
    assert suppression(["1", "1", "2", "2", "3", "3"], 0).passed
    people = table(age=["1"])
    assert suppression(["1", "1", "2"], 1, ix.KMap(1, people)).passed  # nobody of the population is 2
    assert suppression(["1", "1", "2"], 2, ix.KMap(1, people)) == Check(
        "suppression.least", True, {"how": "at least", "suppressed": 2, "required": 1}
    )
    assert suppression(["1", "1", "2"], 2, ix.KMap(1, table(age=["2"]))).numbers["how"] == "exact"
    assert not suppression(["1", "1", "2"], 0, ix.KMap(1, people)).passed
    assert not suppression(["1", "1", "2"], 2, ix.KAnonymity(1)).passed
    of_people = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)], person="id")
    with opened(age=list("1122"), id=list("aabc")) as general:  # one person has both rows of a group
        assert [least_suppression_check(general, of_people, rows).passed for rows in (0, 2)] == [False, True]
    with opened(age=list("331122"), id=list("aabcde")) as general:  # one person goes, and two to hide her among
        assert least_suppression_check(general, of_people, 4).passed
    profiles = replace(of_people, person=Person("id", release="pseudonym"))
    with opened(age=list("1212"), id=list("aabc")) as general:  # two are in each group, and nobody has all her rows
        assert [least_suppression_check(general, profiles, rows).passed for rows in (0, 4)] == [False, True]
    assert suppression(ages, 1, person="id").passed
    assert suppression(ages, 3, person="id").passed
    assert not suppression(ages, 2, person="id").passed
    linked = Person("id", release="pseudonym")
    assert suppression(ages, 1, person=linked).passed
    assert not suppression(ages, 3, person=linked).passed
    single = Person("id", release="pseudonym", suppress="rows")
    told = Check("suppression.least", True, {"how": "at least", "suppressed": 1, "required": 1})
    assert suppression(ages, 1, person=single) == told
    assert suppression(ages, 4, person=single).passed
    assert not suppression(ages, 0, person=single).passed


def test_whoever_shares_a_profile_with_too_few_goes() -> None:
    policy = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)], person=Person("id", release="pseudonym"))
    same = tuples([0, 1, 0, 1, 0], [0, 0, 1, 1, 2], [1, 1, 1, 1, 1])
    assert people_who_stay(same, policy).tolist() == [True, True, True, True, False]
    other = tuples([0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 2, 1])  # the second has two rows there
    assert people_who_stay(other, policy).tolist() == [False] * 4


def test_what_is_asked_of_the_whole_table_is_asked_of_those_who_stay() -> None:
    """Of three people two share a profile: the average risk is one half when the third is gone, and more before."""
    models = [ix.AverageRisk(0.5), ix.KAnonymity(2)]
    policy = Policy({"age": ix.quasi(AGES)}, models, person=Person("id", release="pseudonym"))
    same = tuples([0, 1, 0, 1, 0], [0, 0, 1, 1, 2], [1, 1, 1, 1, 1])
    assert people_who_stay(same, policy).tolist() == [True, True, True, True, False]
    close = Policy(
        {"age": ix.quasi(AGES), "ill": ix.sensitive()},
        [ix.TCloseness(0.1), ix.KAnonymity(2)],
        person=Person("id", release="pseudonym"),
    )
    alike = tuples([0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [1] * 5, [0, 1, 0, 1, 2])
    assert people_who_stay(alike, close).tolist() == [True, True, True, True, False]
    apart = tuples([0, 0, 1, 1], [0, 1, 2, 3], [1] * 4, [0, 0, 1, 1])
    assert not people_who_stay(apart, close).any()


# Trees of people, and dates that move


def test_moments_are_read_or_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _moment("1970-01-02", None) == MICROSECONDS_A_DAY
    assert _moment(" 1970-01-01T00:00:01.5 ", None) == 1_500_000
    assert _moment("1970-01-01T01:00:00+01:00", None) == 0
    assert _moment("1969-12-31", None) == -MICROSECONDS_A_DAY
    assert _moment("02.01.1970", "%d.%m.%Y") == MICROSECONDS_A_DAY
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "America/New_York")
        time.tzset()
        assert _moment("1970-01-02", None) == MICROSECONDS_A_DAY  # of no zone, whatever the clock here shows
    time.tzset()
    assert _moment("soon", None) == _moment("1970-01-02", "%d.%m.%Y") == _moment(None, None) == NO_DATE


def test_rows_of_nobody_have_no_first_date() -> None:
    nobody: Any = SimpleNamespace(number=0, first_moments=ints())
    rows: Any = SimpleNamespace(persons=ints(NOBODY, NOBODY))
    found = person_trees.PersonTrees._since_first(nobody, rows, ints(MICROSECONDS_A_DAY, NO_DATE))
    assert found.tolist() == [0, NOBODY]


MOVED = Policy(
    {"age": ix.quasi(AGES), "day": ix.other(shift=ix.DateShift(10)), "note": ix.other()},
    [ix.KAnonymity(1)],
    person=Person("id", release="pseudonym"),
)


def trees(numbers: Numbers, is_released: bool, who: str, ages: str, days: Sequence[Cell]) -> PersonTrees:
    name = "pseudonym" if is_released else "id"
    with opened(**{name: list(who), "age": list(ages), "day": days, "note": ["n"] * len(who)}) as rows:
        return PersonTrees.of({"table": rows}, SingleTable.of(MOVED), numbers, is_released=is_released)


def days(*numbers: int | None) -> list[Cell]:
    return [None if number is None else f"2000-01-{number:02}" for number in numbers]


def linked_checks(who: str, ages: str, moved: Sequence[Cell]) -> dict[str, tuple[bool, Any]]:
    """Compare with an original: a has 1 on days 1 and 4, b has 1 on day 10, c has 2 on none."""
    numbers = Numbers()
    mine = trees(numbers, True, who, ages, moved)
    theirs = trees(numbers, False, "aabc", "1112", days(1, 4, 10, None))
    return {
        check.id: (check.passed, check.numbers) for check in person_trees.linked_people_checks(mine, theirs, numbers)
    }


def test_pseudonyms_stand_for_people_whose_dates_moved_together() -> None:
    whole = linked_checks("xxyz", "1112", days(3, 6, 5, None))
    assert whole == {"truth.linked_rows": (True, {}), "truth.dates": (True, {"days": 10})}
    assert linked_checks("xxyz", "1122", days(3, 6, 5, None)) == {
        "truth.linked_rows": (False, {"wrong": 1, "unit": "pseudonym"})
    }
    torn = linked_checks("xxyz", "1112", days(3, 7, 5, None))
    assert torn["truth.dates"] == (False, {"days": 10, "pseudonyms": 1, "how": "distances"})
    far = linked_checks("xxyz", "1112", days(3, 6, 21, None))
    assert far["truth.dates"] == (False, {"days": 10, "pseudonyms": 1, "how": "too far"})
    assert linked_checks("zxxy", "2111", days(None, 3, 6, 21)) == far
    assert linked_checks("y", "1", days(20))["truth.dates"][0]
    assert not linked_checks("z", "2", days(20))["truth.dates"][0]


def test_people_who_are_suppressed_need_no_pseudonym() -> None:
    with (
        opened(pseudonym=["y"], age=["1"], day=days(20), note=["n"]) as released,
        opened(id=list("aabc"), age=list("1112"), day=days(1, 4, 10, None), note=["n"] * 4) as general,
    ):
        found = linked_rows_checks(released, general, MOVED)
    assert [(check.id, check.passed) for check in found] == [("truth.linked_rows", True), ("truth.dates", True)]
    numbers = Numbers()
    nobody = trees(numbers, True, "", "", [])
    assert nobody.profiles(lambda part: part.policy.quasi, numbers, with_dates=True).tolist() == []


def moved_too_far(mine: Sequence[int], theirs: Sequence[int], most: int = 2) -> int:
    """Pseudonyms and people of one profile, by the days of their first dates."""
    one, other = (SimpleNamespace(first_moments=np.array(some) * MICROSECONDS_A_DAY) for some in (mine, theirs))
    profiles = (np.zeros(len(mine), np.int64), np.zeros(len(theirs), np.int64))
    return person_trees._moved_too_far(one, other, profiles, most)  # type: ignore[arg-type]


def test_nobody_moved_farther_than_she_may() -> None:
    assert moved_too_far([5], [3]) == moved_too_far([5], [7]) == 0
    assert moved_too_far([5], [2]) == moved_too_far([5], [8]) == 1
    assert moved_too_far([5, 5], [5, 6]) == 0
    assert moved_too_far([5, 5], [5, 9]) == 1
    assert moved_too_far([5, 5], [5]) == 1
    assert moved_too_far([5, 9], [1, 6, 9]) == 0
    assert moved_too_far([4, 6], [6, 6]) == 0
    assert moved_too_far([4, 6], [8, 6]) == 0
    assert person_trees._surplus(ints(0, 0, 1), ints(0, 1, 1)) == 1
    assert person_trees._surplus(ints(), ints(3)) == 0


def test_pseudonyms_without_dates_that_move() -> None:
    policy = Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(1)], person=Person("id", release="pseudonym"))
    numbers = Numbers()
    with opened(pseudonym=["x", "y"], age=["1", "2"]) as mine, opened(id=["a", "b"], age=["2", "1"]) as theirs:
        ours = PersonTrees.of({"table": mine}, SingleTable.of(policy), numbers, is_released=True)
        others = PersonTrees.of({"table": theirs}, SingleTable.of(policy), numbers, is_released=False)
    assert [check.passed for check in person_trees.linked_people_checks(ours, others, numbers)] == [True]


def test_trees_count_rows_and_people() -> None:
    found = trees(Numbers(), False, "aabc", "1112", days(4, 1, 10, None))
    assert found.number == 3
    first = [int(moment) for moment in found.first_moments]
    assert first[0] == _moment("2000-01-01", None)
    assert first[2] == NO_DATE
    assert found.rows_of(np.array([True, False, True])) == 3
    profiles = found.profiles(lambda part: part.policy.quasi, Numbers())
    assert len(set(profiles.tolist())) == 3
    same = trees(Numbers(), False, "aabb", "1221", days(4, 1, 10, None))
    assert len(set(same.profiles(lambda part: part.policy.quasi, Numbers()).tolist())) == 1
    assert len(set(same.profiles(lambda part: part.policy.quasi, Numbers(), with_dates=True).tolist())) == 2
    nobody = trees(Numbers(), False, "", "", [])
    assert nobody.number == 0
    assert nobody.profiles(lambda part: part.policy.quasi, Numbers(), with_dates=True).tolist() == []


def tied_trees(visits: dict[str, Sequence[Cell]], drugs: dict[str, Sequence[Cell]]) -> PersonTrees:
    """Visits of people by their key, and drugs that refer to a visit; drugs may also say whose they are."""
    plain = {"ward": Policy({"ward": ix.quasi()}, [ix.KAnonymity(1)])}
    drug = Policy({"drug": ix.quasi(), "day": ix.other(shift=ix.DateShift(9))}, [ix.KAnonymity(1)], person=MOVED.person)
    parts = {
        "visits": Part(plain["ward"], ("id",), None, None, "visit", "visit", None),
        "drugs": Part(drug, ("id",) if "id" in drugs else (), "of", "visits", None, None, None),
    }
    tied: Any = SimpleNamespace(parts=parts, in_order=lambda: ("visits", "drugs"))
    with opened(**visits) as one, opened(**({"day": [None] * len(drugs["of"])} | drugs)) as other:
        return PersonTrees.of({"visits": one, "drugs": other}, tied, Numbers(), is_released=False)


VISITS: dict[str, Sequence[Cell]] = {"id": list("aabb"), "visit": list("1234"), "ward": list("xyxy")}


def profile_count(found: PersonTrees, **more: Any) -> int:
    return len(set(found.profiles(lambda part: part.policy.quasi, Numbers(), **more).tolist()))


def test_rows_hang_on_the_rows_that_they_refer_to() -> None:
    same = tied_trees(VISITS, {"of": ["1", "3"], "drug": ["p", "p"]})
    assert profile_count(same) == 1
    assert same.tables["drugs"].persons.tolist() == [0, 1]
    assert same.tables["drugs"].parents.tolist() == [0, 2]
    assert same.rows_of(np.array([True, False])) == 3
    assert profile_count(tied_trees(VISITS, {"of": ["1", "4"], "drug": ["p", "p"]})) == 2  # on another ward
    assert profile_count(tied_trees(VISITS, {"of": ["1", "3"], "drug": ["p", "q"]})) == 2
    held = same.tables
    assert [(held[name].dangling, held[name].strangers, held[name].repeated) for name in held] == [(0, 0, 0)] * 2
    lost = tied_trees(VISITS, {"of": ["1", "9", None], "drug": list("ppp"), "day": days(None, 1, None)})
    assert (lost.tables["drugs"].dangling, lost.tables["drugs"].persons.tolist()) == (2, [0, -1, -1])
    assert lost.first_moments.tolist() == [NO_DATE, NO_DATE]
    strange = tied_trees(VISITS, {"of": ["1", "3"], "drug": list("pp"), "id": list("ab")})
    assert strange.tables["drugs"].strangers == 0
    strange = tied_trees(VISITS, {"of": ["1", "3"], "drug": list("pp"), "id": list("aa")})
    assert strange.tables["drugs"].strangers == 1
    again = tied_trees(VISITS | {"visit": list("1134")}, {"of": ["1"], "drug": ["p"]})
    assert again.tables["visits"].repeated == 1


def test_dates_are_compared_by_what_lies_between_them_and_the_time_of_the_day() -> None:
    def profiles_of(*moments: Cell) -> int:
        return profile_count(
            tied_trees(VISITS, {"of": ["1", "3"], "drug": list("pp"), "day": moments}), with_dates=True
        )

    assert profiles_of("2000-01-01T10:00", "2000-03-01T10:00") == 1
    assert profiles_of("2000-01-01T10:00", "2000-03-01T11:00") == 2
    assert profiles_of("2000-01-01T10:00", None) == 2


def test_contents_have_one_number_each() -> None:
    numbers = Numbers()
    assert numbers.of_texts("t", "c", ["x", None, "x"]).tolist() == [0, 1, 0]
    assert numbers.of_texts("t", "d", ["y", "x"]).tolist() == [0, 1]
    assert numbers.of_texts("t", "c", ["z", "x"]).tolist() == [2, 0]
    first = numbers.of_contents("row", [b"a", b"b", b"a"]).tolist()
    assert first[0] == first[2] != first[1]
    assert numbers.of_contents("person", [b"a"]).tolist()[0] not in first
    kinds = person_trees._multisets("t", ints(1, 0, 0, 1, 7), ints(0, 0, 1, 1, -1), 3, numbers)
    assert kinds[0] == kinds[1] != kinds[2]
