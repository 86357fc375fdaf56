"""Descents beside the exact search: what they count is true, they change no proven answer, and they end with it."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.profiles import examples
from indistinct.counting import FrequencyList
from indistinct.registry import MEASURES
from indistinct.search import Task
from indistinct.search.full_domain.best_node import branch_and_bound, incumbent
from indistinct.search.full_domain.best_node.branch_and_bound import BranchAndBound
from indistinct.search.full_domain.best_node.counters import TupleCounter
from indistinct.search.full_domain.best_node.descent import Descent
from indistinct.search.full_domain.best_node.incumbent import FAILED, Descents, Incumbent
from indistinct.search.full_domain.lattice import Search
from indistinct.testing import tasks


def run_of(task, name="precision", watch=None, keeps_ties=False):
    budget = min(task.budget, task.frequencies.rows - 1)
    return BranchAndBound(task, watch or ix.Watch(time_limit=3600), budget, MEASURES[name](), keeps_ties)


def descended(task, name="precision", patience=20, seed=0):
    """Let one descent run alone, and give what it found."""
    run = run_of(task, name)
    run.incumbent.start_to_remember()
    run.descent(seed).run(patience)
    return run.incumbent


def at_once(wait=0.0):
    """Let descents begin with the search."""
    return mock.patch.object(branch_and_bound, "EARLY_SECONDS", wait)


def by_hand(rows, k, limit):
    """A case of two columns, each with one level below the top."""
    listed = (("x", "*"), ("y", "*"))
    columns = tuple(bf.Column(name, listed) for name in ("a", "b"))
    return bf.Case(columns, tuple(rows), k, limit)


def test_a_descent_goes_down_the_column_that_may_stay():
    """a tells nobody apart, b does: (0, 1) loses half of all cells, and every lower node leaves a row alone."""
    found = descended(bf.task_of(by_hand([("x", "x"), ("x", "y"), ("x", "x"), ("x", "x")], 2, 0)))
    assert found.best == (0.5, 0, 1, (0, 1))


def test_a_descent_suppresses_rows_where_that_loses_less():
    """At (0, 0) one of five rows is suppressed, a fifth of all cells; (0, 1) keeps it and loses half of them."""
    found = descended(bf.task_of(by_hand([("x", "y"), *[("x", "x")] * 4], 2, 1)))
    assert found.best == (0.2, 1, 0, (0, 0))


def shaped(columns, rows, seed, k=3, limit=0.02):
    """A task of so many columns with four values and three levels each, of which some hang together."""
    rng = np.random.default_rng(seed)
    trait = rng.integers(0, 4, rows)
    codes = [np.where(rng.random(rows) < 0.6, trait, rng.integers(0, 4, rows)) for _ in range(columns)]
    listed = [[f"{value}", f"{value // 2}-", "*"] for value in range(4)]
    names = [f"c{column}" for column in range(columns)]
    policy = ix.Policy({name: ix.quasi(ix.levels(listed)) for name in names}, [ix.KAnonymity(k)], max_suppression=limit)
    compiled = [policy.columns[name].compile([row[0] for row in listed]) for name in names]
    tuples, counts = np.unique(np.stack(codes), axis=1, return_counts=True)
    return Task.of(FrequencyList.of_codes(names, compiled, list(tuples), counts), policy)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.02, 1.0])
@pytest.mark.parametrize("name", ["precision", "loss", "discernibility"])
def test_on_seven_columns_a_descent_comes_close_to_the_optimum(name, limit):
    """It promises nothing; of these tables it is known to find the optimum, and a mistake in it would show here."""
    task = shaped(7, 3000, seed=7, limit=limit)
    optimum = Search(task, ix.Watch()).optimum(MEASURES[name]())
    assert descended(task, name, patience=40).best[0] == pytest.approx(optimum.loss, abs=1e-11)


@given(bf.cases(fewest_columns=1, people=None), st.sampled_from(sorted(bf.MEASURES)))
@examples(40)
def test_what_a_descent_finds_is_true_of_its_node(case, name):
    outcomes = bf.passing(case)
    task = bf.task_of(case)
    if not bf.outcome(case, case.heights).passes:
        return  # of monotone models no node passes then, and no descent is begun
    found = descended(task, name, patience=5)
    figure, _ = bf.MEASURES[name]
    loss, suppressed, steps, node = found.best
    assert suppressed == len(outcomes[node].suppressed)
    assert steps == sum(node)
    recoding = task.recoding(task.frequencies.roll_up(node)[0])
    assert MEASURES[name]().value(recoding) == pytest.approx(figure(outcomes[node]), abs=1e-9)
    assert loss == pytest.approx(MEASURES[name]().loss(recoding), abs=1e-9)
    for seen in found._known.values():
        assert (seen.loss == FAILED) == (seen.node not in outcomes)


def answers(task, name, keeps_ties=False):
    """Search without descents, and with some from the start."""
    alone = run_of(task, name, ix.Watch(), keeps_ties).run()
    with at_once():
        together = run_of(task, name, ix.Watch(time_limit=3600), keeps_ties).run()
    return alone, together


@given(bf.cases(fewest_columns=1, people=None, several=False), st.sampled_from(sorted(MEASURES)), st.booleans())
@examples(40)
def test_descents_change_no_proven_answer(case, name, keeps_ties):
    alone, together = answers(bf.task_of(case), name, keeps_ties)
    assert (sorted(together[0]), *together[1:]) == (sorted(alone[0]), *alone[1:])


@given(bf.cases(several=True), st.sampled_from(sorted(MEASURES)))
@examples(20)
def test_descents_change_no_proven_answer_with_several_quasi_identifiers(case, name):
    alone, together = answers(bf.task_of(case), name)
    assert together == alone


@given(tasks(models=[ix.LDiversity(2, "entropy"), ix.TCloseness(0.4), ix.AlphaK(0.6, 2)]))
@examples(30)
def test_descents_change_no_proven_answer_where_models_are_not_monotone(task):
    for name in ("precision", "discernibility"):
        alone, together = answers(task, name)
        assert together == alone


def test_descents_begin_on_a_larger_lattice_and_change_nothing():
    task = shaped(6, 3000, seed=3)
    with at_once():
        run = run_of(task, "loss")
        together = run.run()
    assert together == run_of(task, "loss", ix.Watch()).run()
    assert run.incumbent.recall(task.frequencies.heights) is not None


class NeverTops(ix.KAnonymity):
    """k-anonymity that a single group fails, so that the top of the lattice is no release."""

    is_monotone = False
    is_monotone_unsuppressed = False
    floor = None

    def satisfied(self, groups):
        return super().satisfied(groups) & (len(groups) > 1)


def test_a_descent_begins_elsewhere_where_the_top_fails():
    task = shaped(4, 500, seed=1)
    requirement = replace(task.requirements[0], models=(NeverTops(3),))
    task = replace(task, requirements=(requirement,))
    found = descended(task)
    assert found.best is not None
    assert found.recall(task.frequencies.heights).loss == FAILED
    alone, together = answers(task, "precision")
    assert together == alone


def test_levels_that_are_demanded_are_kept():
    task = shaped(4, 500, seed=2, limit=1.0)
    columns = {name: replace(column, min_level=1) for name, column in task.policy.columns.items()}
    columns["c0"] = replace(columns["c0"], min_level=None, max_level=1)
    policy = replace(task.policy, columns=columns)
    compiled = [policy.columns[name].compile(list("0123")) for name in columns]
    frequencies = replace(task.frequencies, hierarchies=tuple(compiled), _memory={})
    found = descended(Task.of(frequencies, policy))
    for node in found._known:
        assert all(low <= level <= high for low, level, high in zip((0, 1, 1, 1), node, (1, 2, 2, 2), strict=True))


def test_a_stopped_search_ends_its_descents_and_gives_what_they_found():
    task = shaped(7, 3000, seed=5)
    before = threading.active_count()

    class Stops(ix.Watch):
        """A watch whose time is up when a descent has counted some nodes."""

        def time_is_up(self):
            return run.incumbent.recall(task.frequencies.heights) is not None and run.incumbent.checks > 300

    with at_once():
        run = run_of(task, "precision", Stops(time_limit=3600))
        nodes, loss, bound = run.run()
    assert threading.active_count() == before
    assert (nodes, loss) == ([run.incumbent.best[3]], run.incumbent.best[0])
    assert bound <= loss


def test_a_cancelled_search_ends_its_descents():
    task = shaped(7, 3000, seed=5)
    before = threading.active_count()
    with at_once():
        run = run_of(task, "precision")
        run.watch.is_cancelled = lambda: run.incumbent.checks > 300
        with pytest.raises(ix.InterruptedSearchError, match="cancelled"):
            run.run()
    assert threading.active_count() == before


def test_a_mistake_in_a_descent_is_not_lost():
    wrong = mock.patch.object(Descent, "run", side_effect=ZeroDivisionError)
    with at_once(), wrong, pytest.raises(ZeroDivisionError):
        run_of(shaped(5, 1000, seed=5)).run()


def test_short_searches_begin_no_descent():
    run = run_of(shaped(3, 200, seed=1))
    run.run()
    assert run.incumbent.recall(run.frequencies.heights) is None
    assert isinstance(run.counter, TupleCounter)
    assert run_of(shaped(3, 200, seed=1), watch=ix.Watch())._wait_for_descents() == float("inf")


class Restless:
    """Stands for a descent that kicks until it is stopped."""

    is_stopped = False
    kicks = 0

    def run(self, patience):
        while not self.is_stopped:
            self.kicks += 1


def restless(_):
    return Restless()


def test_descents_run_alone_until_one_has_had_some_kicks():
    made = []

    def make(seed):
        made.append(Restless())
        return made[-1]

    with Descents(make, Incumbent(ix.Precision(), 0, False), math.inf, 2) as descents:
        descents.lead(ix.Watch(time_limit=3600))
        assert max(one.kicks for one in made) >= incumbent.LEAD_KICKS
    assert len(made) == 2


@pytest.mark.parametrize("limit", [0.0, 1e-6])
def test_descents_do_not_run_alone_beyond_their_part_of_the_time(limit):
    with (
        mock.patch.object(incumbent, "LEAD_KICKS", math.inf),
        Descents(restless, Incumbent(ix.Precision(), 0, False), math.inf, 1) as descents,
    ):
        descents.lead(ix.Watch(time_limit=limit))


def test_the_second_descent_begins_by_chance():
    task = shaped(7, 3000, seed=5)
    first, second = (set(descended(task, patience=0, seed=seed)._known) for seed in (0, 1))
    assert first != second
