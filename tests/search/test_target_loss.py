"""Lattice with a target: the optimum of all nodes, by rows and definitions that share no code with the search."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.errors import PolicyError
from indistinct.policy.algorithms.declaration import options_of
from indistinct.policy.algorithms.declarations import DECLARATIONS
from indistinct.policy.policy import TARGETED
from privacy import test_models
from search.test_target_cuts import bits_of, squares_of
from search.test_value_counter import searches, task_of


def loss_of(rows, suppressed, values, spread, most):
    """The share of the spread that is left, by the rows of a node; None if too many are among their like."""
    groups = defaultdict(list)
    for number, (row, value) in enumerate(zip(rows, values, strict=True)):
        groups["out" if number in suppressed else row].append(value)
    alike = sum(len(own) for row, own in groups.items() if row != "out" and len(set(own)) == 1)
    if alike > most * len(values):
        return None
    whole = spread(values)
    return sum(map(spread, groups.values())) / whole if whole > 1e-12 else 0.0


@given(searches(), st.sampled_from([1.0, 0.4, 0.0]), st.booleans())
@examples(60)
def test_it_is_the_best_of_all_nodes_and_proven(given, most, is_number):
    task = task_of(given)
    values = [value for (value,) in given.values]
    if is_number and any(value is None or not value.replace(".", "").lstrip("-").isdigit() for value in values):
        return
    if is_number:
        values = [float(value) for value in values]
    spread = squares_of if is_number else bits_of
    losses = {
        node: loss_of(one.rows, one.suppressed, values, spread, most)
        for node, one in test_models.passing(given).items()
        if len(one.suppressed) < len(values)
    }
    best = min((loss for loss in losses.values() if loss is not None), default=None)
    kind = "regression" if is_number else "classification"
    way = ix.Lattice(target={"column": "illness", "task": kind, "max_alike": most})
    if best is None:
        with pytest.raises(ix.InfeasibleError):
            way.run(task, ix.Watch())
        return
    found = way.run(task, ix.Watch())
    assert losses[found.node] == pytest.approx(best, abs=1e-9)
    assert found.is_proven
    assert found.gap == 0


def people(rows=300):
    rng = np.random.default_rng(4)
    age, town = rng.integers(20, 80, rows), rng.integers(0, 4, rows)
    pay = np.where(rng.random(rows) < 0.1, rng.integers(0, 2, rows), age > 47)
    return pa.table({"age": age, "town": [f"t{one}" for one in town], "pay": pay})


COLUMNS = {"age": ix.quasi(ix.intervals(9, 27)), "town": ix.quasi(ix.suppress()), "pay": ix.sensitive()}


def test_a_release_says_that_the_search_was_not_blind_and_verifies(tmp_path):
    policies = [ix.Policy(COLUMNS, [ix.KAnonymity(20)], options=options) for options in ({}, {"target": "pay"})]
    with ix.anonymize(people(), policies[0]) as plain, ix.anonymize(people(), policies[1]) as found:
        assert (plain.recoding.levels, found.recoding.levels) == ({"age": 3, "town": 0}, {"age": 1, "town": 1})
        assert (plain.facts.search.blind, found.facts.search.blind) == (True, False)
        assert found.facts.is_proven
        found.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out", policies[1], original=people()).passed


@pytest.mark.parametrize("options", [{"target": "age"}, {"target": "pay", "measure": "ncp"}, {"target": {"column": 3}}])
def test_what_cannot_be_is_refused(options):
    with pytest.raises(PolicyError), ix.anonymize(people(60), ix.Policy(COLUMNS, [ix.KAnonymity(2)], options=options)):
        pass


def test_the_algorithms_that_have_the_option_are_those_of_which_policies_ask_it():
    assert {name for name, own in DECLARATIONS.items() if "target" in options_of(own)} == set(TARGETED)
