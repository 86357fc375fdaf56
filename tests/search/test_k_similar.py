"""k-Similar: optimal where that can be proven, as its author claims, and honest about the gap where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.brute_force import cases, task_of
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, cells, policy_of, table_of
from helpers.profiles import cases as some_of
from helpers.profiles import examples, scaled
from indistinct import testing
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.progress import Watch
from indistinct.quality import NCP, Loss, NonUniformEntropy, Precision
from indistinct.search import KSimilar, MinGenCell, Regroup, Task, algorithm_named
from indistinct.search.bounds.bounds import cell_bound


def task_for(table, policy):
    with open_table(table) as rows:
        return Task.of(FrequencyList.count(encode_eligible(rows, policy), policy), policy)


def random_table(rows, seed=0, columns=3):
    """Return a table over balanced hierarchies of eight values, common values more often, and its policy's columns."""
    generator = np.random.default_rng(seed)
    listed = [[str(n), f"{n // 2}-", f"{n // 4}--", "*"] for n in range(8)]
    names = [f"c{column}" for column in range(columns)]
    share = 0.5 ** np.arange(8)
    drawn = {name: generator.choice(8, rows, p=share / share.sum()).astype(str) for name in names}
    return pa.table(drawn), {name: ix.quasi(ix.levels(listed)) for name in names}


def random_task(rows, k, **more):
    table, columns = random_table(rows, **more)
    return task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)]))


def test_figure_7_of_sweeney_2002_has_precision_611_720():
    policy = policy_of(SWEENEY, HOSPITAL_COLUMNS[:4], 2, sensitive=["Problem"])
    with ix.anonymize(table_of(HOSPITAL_COLUMNS, HOSPITAL), policy, algorithm=KSimilar()) as release:
        assert release.measures["precision"] == pytest.approx(611 / 720, abs=1e-12)
        assert release.suppressed == 0
        assert release.verdict.passed


def test_a_tuple_of_more_than_k_rows_lends_one_of_them():
    """With k = 2, of three a's one joins the b: two cells are lost, where merging everything would lose four."""
    table = pa.table({"letter": ["a", "a", "a", "b"]})
    policy = ix.Policy(columns={"letter": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, policy, algorithm=KSimilar()) as release:
        assert cells(release.table) == {("a",): 2, ("*",): 2}


def test_tuples_of_k_rows_stay_when_nobody_needs_them():
    table = pa.table({"letter": ["a"] * 5 + ["b"] * 2})
    policy = ix.Policy(columns={"letter": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, policy, algorithm=KSimilar()) as release:
        assert cells(release.table) == {("a",): 5, ("b",): 2}


@pytest.mark.slow
@given(cases(most_rows=12, most_columns=3))
def test_it_is_as_precise_as_mingen_on_small_tables(case):
    """Both claim the optimum; MinGen's is checked against every set partition."""
    task = task_of(case)
    try:
        best = MinGenCell().run(task, Watch())
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            KSimilar().run(task, Watch())
        return
    found = KSimilar().run(task, Watch())
    if any(len(labels) != len(set(labels)) for labels in texts_by_level(task)):
        # what reads the same on two levels counts as the higher one; then nothing is claimed that does not hold
        assert Precision().loss(found) - found.gap <= Precision().loss(best) + 1e-9
        return
    assert found.is_proven
    assert Precision().loss(found) == pytest.approx(Precision().loss(best), abs=1e-9)


def texts_by_level(task):
    """Return the labels of each column, those of all levels together; a value whose labels are all it is counts
    once.
    """
    return [
        [text for level in hierarchy.labels for text in level if text is not None]
        for hierarchy in task.frequencies.hierarchies
    ]


@pytest.mark.slow
@pytest.mark.parametrize("measure", [Precision(), Loss(), NCP(), NonUniformEntropy()], ids=lambda measure: measure.name)
@pytest.mark.parametrize(("rows", "k"), some_of([(150, 2), (400, 5), (2000, 10)], (150, 2), (400, 5)))
def test_it_is_never_worse_than_local_search_and_within_its_gap(measure, rows, k):
    task = random_task(rows, k, columns=4)
    found = KSimilar(measure=measure, program_size=300).run(task, Watch())
    local = Regroup(measure=measure).run(task, Watch())
    loss = measure.loss(found)
    assert loss <= measure.loss(local) + 1e-9
    assert found.suppressed_rows == 0
    assert found.sizes.min() >= k
    assert found.gap == 0 if found.is_proven else 0 < found.gap <= loss
    assert cell_bound(task.frequencies, measure, k, Watch()) <= loss + 1e-9
    assert loss - found.gap <= measure.loss(local) + 1e-9


@pytest.mark.slow
def test_what_is_not_proven_says_so_in_the_release():
    table, columns = random_table(3000, columns=4)
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(5)])
    with ix.anonymize(table, policy, algorithm=KSimilar(program_size=0)) as release:
        assert release.verdict.passed
        assert release.suppressed == 0
    recoding = KSimilar(program_size=0).run(task_for(table, policy), Watch())
    assert not recoding.is_proven
    assert recoding.gap > 0


def test_values_that_are_never_generalized_keep_rows_apart():
    table = pa.table({"sex": ["f", "f", "f", "m", "m"], "age": ["31", "32", "33", "31", "32"]})
    columns = {"sex": ix.quasi(ix.keep()), "age": ix.quasi(ix.intervals(10))}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, policy, algorithm=KSimilar()) as release:
        assert cells(release.table) == {("f", "30-39"): 3, ("m", "30-39"): 2}
    with pytest.raises(InfeasibleError, match="'sex' is never generalized"):
        KSimilar().run(task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)])), Watch())


@pytest.mark.slow
@given(st.integers(0, 1000))
@examples(2)
def test_the_same_table_gives_the_same_groups(seed):
    first, second = (KSimilar().run(random_task(36, 3, seed=seed), Watch()) for _ in range(2))
    assert (first.codes == second.codes).all()
    assert (first.pieces.groups == second.pieces.groups).all()
    assert (first.pieces.rows == second.pieces.rows).all()


def test_answers_verify_whatever_the_policy():
    testing.check_algorithm(KSimilar(), examples=scaled(25))


def test_options_in_a_policy_file():
    made: Any = algorithm_named("k-similar", measure="ncp", program_size=200)
    assert (made.name, made.measure, made.program_size) == ("k-similar", NCP(), 200)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": "discernibility"}, "measure: .* not discernibility"),
        ({"measure": "best"}, "measure: there is no 'best'"),
        ({"program_size": -1}, "program_size: must be a whole number"),
        ({"program_size": 2.5}, "program_size: must be a whole number"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(PolicyError, match=said):
        KSimilar(**options)
