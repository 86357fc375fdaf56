"""Nodes counted for models on sensitive values: as definitions say, and never more than nodes below must lose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force
from helpers.profiles import examples
from helpers.uncompiled import run_uncompiled
from indistinct.counting import FrequencyList, Sensitive
from indistinct.privacy.kernels import value_bounds
from indistinct.privacy.kernels.rule_kinds import KINDS
from indistinct.quality import QualityMeasure
from indistinct.search import Task
from indistinct.search.full_domain.best_node import value_counter
from indistinct.search.full_domain.best_node.branch_and_bound import counter_for
from indistinct.search.full_domain.best_node.counters import GroupCounter
from indistinct.search.full_domain.best_node.value_counter import ValueCounter
from privacy import test_models

MEASURES = [ix.Precision(), ix.Loss(), ix.Discernibility(), ix.DistinctTuples()]


def task_of(given: test_models.Task3) -> Task:
    """Return the task, counted here and not by an engine."""
    case, policy = given.case, given.policy
    counted = Counter((*row, *own) for row, own in zip(case.rows, given.values, strict=True))
    cells = list(zip(*counted, strict=True))
    texts = [sorted({own for own in column if own is not None}) + [None] * (None in column) for column in cells]
    codes = [np.array([own.index(cell) for cell in column]) for own, column in zip(texts, cells, strict=True)]
    quasi = len(case.columns)
    compiled = [
        policy.columns[column.name].compile(own) for column, own in zip(case.columns, texts[:quasi], strict=True)
    ]
    sensitive = {
        name: (Sensitive(tuple(own), policy.columns[name].compile(own)), code)
        for name, own, code in zip(policy.asked_sensitive, texts[quasi:], codes[quasi:], strict=False)
    }
    weights = [column.weight for column in case.columns]
    names = [column.name for column in case.columns]
    counts = np.array(list(counted.values()), np.int64)
    return Task.of(FrequencyList.of_codes(names, compiled, codes[:quasi], counts, weights, sensitive), policy)


@st.composite
def searches(draw: st.DrawFn) -> test_models.Task3:
    """Draw a search with one to three models, all of which compiled code judges."""
    given = draw(test_models.searches())
    models = [draw(test_models.sensitive_models()), *given.models[1:]]
    return replace(given, models=tuple(models[: draw(st.integers(1, 2))]))


def check_counts(given: test_models.Task3, measure: QualityMeasure, at_most: int, most_codes: int = 64) -> None:
    """Count every node from all tuples and from the groups below it, and compare with rows that are taken out."""
    task = task_of(given)
    assert ValueCounter.serves(task)
    with patch.object(value_counter, "MOST_CODES", most_codes):
        counter, plain = ValueCounter(task, measure, at_most), GroupCounter(task)
    for node in given.case.nodes():
        expected = test_models.outcome(given, node)
        below = tuple(max(0, level - 1) for level in node)
        for source in (counter.base, counter.reduce_source(below, counter.base)):
            found = counter.outcome(node, source)
            if len(expected.suppressed) > at_most:
                assert found.suppressed_rows > at_most
                continue
            assert found.suppressed_rows == len(expected.suppressed)
            other = plain.outcome(node, plain.base)
            assert measure.loss(found) == pytest.approx(measure.loss(other), abs=1e-12)
            assert measure.suppression_loss(found) == pytest.approx(measure.suppression_loss(other), abs=1e-12)


@pytest.mark.slow
@given(searches(), st.sampled_from(MEASURES), st.integers(0, 16), st.sampled_from([0, 64]))
@examples(60)
def test_nodes_are_counted_as_the_definitions_say(given, measure, at_most, most_codes):
    """In a table of values, and entry by entry as where these are many."""
    check_counts(given, measure, at_most, most_codes)


def check_bounds(given: test_models.Task3, measure: QualityMeasure, most: int) -> None:
    """No node that suppresses at most so many rows loses less than is said of any node above it."""
    task = task_of(given)
    counter, plain = ValueCounter(task, measure), GroupCounter(task)
    rows = {node: len(test_models.outcome(given, node).suppressed) for node in given.case.nodes()}
    for high in rows:
        least = counter.least_outcome(high, counter.base, most)
        for node, suppressed in rows.items():
            if suppressed > most or any(level > top for level, top in zip(node, high, strict=True)):
                continue
            assert least.suppressed_rows <= suppressed, (high, node)
            own = plain.outcome(node, plain.base)
            assert measure.suppression_loss(least) <= measure.suppression_loss(own) + 1e-12, (high, node)


@pytest.mark.slow
@given(searches(), st.sampled_from(MEASURES), st.integers(0, 16))
@examples(80)
def test_no_node_loses_less_than_is_said_of_those_above_it(given, measure, most):
    check_bounds(given, measure, most)


@pytest.mark.slow
@given(searches(), st.sampled_from(["precision", "loss", "discernibility"]))
@examples(40)
def test_the_search_finds_the_optimum(given, measure):
    figure, more_is_better = brute_force.MEASURES[measure]
    passing = test_models.passing(given)
    try:
        recoding = ix.Lattice(measure=measure).run(task_of(given), ix.Watch())
    except ix.InfeasibleError:
        assert not passing
        return
    losses = {node: figure(one) * (-1 if more_is_better else 1) for node, one in passing.items()}
    best = [node for node, loss in losses.items() if loss <= min(losses.values()) + 1e-9]
    assert recoding.node == min(best, key=lambda node: (len(passing[node].suppressed), sum(node), node))
    assert recoding.suppressed_rows == len(passing[recoding.node].suppressed)


def test_two_columns_and_models_that_compare_them_with_one_table():
    """Models take turns in the order of rounds: what fails by one is in the table that another compares with."""
    rng = np.random.default_rng(7)
    policy = ix.Policy(
        columns={
            "q": ix.quasi(ix.levels([[str(n), f"{n // 2}", "*"] for n in range(8)])),
            "r": ix.quasi(ix.levels([["x", "*"], ["y", "*"]])),
            "s": ix.sensitive(),
            "t": ix.sensitive(ix.levels([["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]])),
        },
        privacy=[
            ix.TCloseness(0.3, "hierarchical", column="t"),
            ix.BetaLikeness(1.5, column="s"),
            ix.TCloseness(0.35),
            ix.LDiversity(2, "entropy", column="t"),
        ],
        max_suppression=1.0,
    )
    for _ in range(10):
        cells = [rng.integers(0, size, 40) for size in (8, 2, 3, 3)]
        texts = [[str(n) for n in range(8)], ["x", "y"], ["a", "b", "c"], ["1", "2", "3"]]
        compiled = [policy.columns[name].compile(own) for name, own in zip("qrst", texts, strict=True)]
        unique, counts = np.unique(np.stack(cells), axis=1, return_counts=True)
        sensitive = {
            name: (Sensitive(tuple(texts[place]), compiled[place] if name == "t" else None), unique[place])
            for place, name in ((2, "s"), (3, "t"))
        }
        frequencies = FrequencyList.of_codes("qr", compiled[:2], list(unique[:2]), counts, None, sensitive)
        task = Task.of(frequencies, policy)
        counter, plain = ValueCounter(task, ix.Precision()), GroupCounter(task)
        for node in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]:
            expected = plain.outcome(node, plain.base).suppressed_rows
            assert counter.outcome(node, counter.base).suppressed_rows == expected
            assert counter.least_outcome(node, counter.base, 40).suppressed_rows <= expected


GROUPS = [
    # of a table with 40 of each of two values, and a group of so many rows of each: the most that can be released
    (ix.LDiversity(2), (8, 0), 0),
    (ix.LDiversity(2, "entropy"), (8, 3), 6),  # 3 + 3 are as even as two can be; 4 + 3 are not
    (ix.LDiversity(2, "recursive", 2.0), (9, 3), 8),  # 5 < 2 * 3
    (ix.AlphaK(0.75, 2), (9, 1), 4),  # 3 of 4
    (ix.TCloseness(0.25), (9, 1), 4),  # 3 of 4 are a quarter above one half
    (ix.TCloseness(0.25), (9, 0), 0),
    (ix.BetaLikeness(0.5), (9, 1), 4),
    (ix.DeltaDisclosure(0.5), (9, 2), 6),  # e^-0.5 / 2 = 0.303: 2 of 6 are enough
    (ix.DeltaDisclosure(9.0), (9, 0), 0),
]


@pytest.mark.parametrize(("model", "group", "kept"), GROUPS, ids=[str(one) for one in GROUPS])
def test_what_a_group_can_keep_at_the_most(model, group, kept):
    rule = model.value_rule(["flu", "HIV"])
    present = [code for code, count in enumerate(group) if count]
    groups = (
        np.array([sum(group)]),
        np.array([0]),
        np.array([0, len(present)]),
        np.array(present, np.int32),
        np.array([group[code] for code in present], np.int32),
    )
    limits = np.ones((1, 2)) if rule.limits is None else rule.limits[None, :]
    rules = np.array([[KINDS[rule.kind], rule.number, rule.second]])
    # a value of the table that is not there would change what is left, so no row may be missing
    lost, rows = value_bounds.least_lost(groups, 1, rules, limits, np.array([40, 40, 80]), 0, 1)
    assert sum(group) - lost.tolist()[0] == kept
    assert rows == 80 - kept


class Own(ix.LDiversity):
    """A model that says nothing of rules."""

    value_rule = ix.PrivacyModel.value_rule


class Stricter(ix.LDiversity):
    """A model that changes the verdict, and not the rule that it has inherited."""

    def satisfied(self, groups):
        return super().satisfied(groups) & (groups.sizes != 3)


@given(searches())
@examples(10)
def test_what_compiled_code_cannot_judge_is_judged_by_the_model(given):
    task = task_of(given)
    assert isinstance(counter_for(task, ix.Precision()), ValueCounter)
    for model in (Own(2), Stricter(2), ix.AverageRisk(0.5)):
        own = replace(task.requirements[0], models=(*task.models, model))
        assert isinstance(counter_for(replace(task, requirements=(own,)), ix.Precision()), GroupCounter)
    twice = (task.requirements[0], replace(task.requirements[0], columns=(0,)))
    assert isinstance(counter_for(replace(task, requirements=twice), ix.Precision()), GroupCounter)


WITHOUT_JIT = """
from hypothesis import given, settings, strategies as st, HealthCheck
import search.test_value_counter as t

@settings(max_examples=12, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(t.searches(), st.sampled_from(t.MEASURES), st.integers(0, 16))
def check(given, measure, most):
    t.check_counts(given, measure, most)
    t.check_counts(given, measure, most, 0)
    t.check_bounds(given, measure, most)

check()
print("the same without compilation")
"""


@pytest.mark.slow
def test_kernels_of_values_do_the_same_without_compilation():
    assert "the same" in run_uncompiled(WITHOUT_JIT)
