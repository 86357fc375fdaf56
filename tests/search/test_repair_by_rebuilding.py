"""Groups that are rebuilt until models on sensitive values hold: safe by definition, and never dearer than
Mondrian's."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from helpers.uncompiled import run_uncompiled
from indistinct.counting import FrequencyList, Sensitive
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.search import Task
from indistinct.search.local.groups.partition import Units
from privacy import test_models
from search.test_value_counter import searches, task_of


def check(task: Task, given: test_models.Task3, recoding: LocalRecoding) -> None:
    """Every row has one group, and every group keeps every model, by their definitions."""
    entries, pieces = task.frequencies.entries, recoding.pieces
    assert (np.bincount(pieces.tuples, pieces.rows, len(entries)) == entries.counts).all()
    texts = task.frequencies.sensitive["illness"].values
    groups: dict[int, list[test_models.Row]] = {}
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group >= 0:
            groups.setdefault(group, []).extend([((), (texts[entries.codes["illness"][entry]],))] * rows)
    for model in given.models:
        paths = {"illness": test_models.path_in(given.listed)}
        assert all(test_models.satisfied(model, list(groups.values()), paths=paths)), model


@pytest.mark.slow
@given(searches(), st.sampled_from(["hierarchy", "ranges"]), st.sampled_from([0, 2]))
@examples(60)
def test_groups_are_safe_by_definition_and_lose_no_more_than_mondrian(given, labels, effort):
    task = task_of(given)
    try:
        found = ix.Regroup(labels=labels, effort=effort).run(task, ix.Watch())
    except ix.InfeasibleError:
        return
    check(task, given, found)
    for strict in (True, False):
        cut = ix.Mondrian(labels=labels, strict=strict).run(task, ix.Watch())
        assert found.suppressed_rows == cut.suppressed_rows
        assert ix.NCP().loss(found) <= ix.NCP().loss(cut) + 1e-9


def made_task(model: ix.PrivacyModel, rows: int, k: int = 4, seed: int = 7) -> Task:
    """A table whose sensitive value leans on its age, and some rows that are all equal."""
    rng = np.random.default_rng(seed)
    age = np.append(rng.integers(0, 40, rows - rows // 5), np.full(rows // 5, 11))
    town = np.append(rng.integers(0, 12, rows - rows // 5), np.full(rows // 5, 3))
    ill = (age // 10 + rng.integers(0, 4, rows)) % 5
    found, counts = np.unique(np.stack([age, town, ill]), axis=1, return_counts=True)
    ages, towns = [f"{number:02}" for number in range(40)], [f"{number // 4}{number:02}" for number in range(12)]
    hierarchies = [ix.intervals(5, 10, 20).compile(ages), ix.prefix(3).compile(towns)]
    ills = {"ill": (Sensitive(tuple("abcde"), None), found[2])}
    columns = {"age": ix.quasi(), "town": ix.quasi(), "ill": ix.sensitive()}
    listed = FrequencyList.of_codes(["age", "town"], hierarchies, list(found[:2]), counts, sensitive=ills)
    return Task.of(listed, ix.Policy(columns=columns, privacy=[ix.KAnonymity(k), model]))


MODELS = [
    ix.LDiversity(3),
    ix.LDiversity(3, "entropy"),
    ix.LDiversity(3, "recursive", 2.0),
    ix.TCloseness(0.25),
    ix.BetaLikeness(1.0),
    ix.DeltaDisclosure(1.0),
    ix.AlphaK(0.4, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.describe()))
def test_it_loses_less_than_mondrian_where_many_groups_of_k_fail(model):
    task = made_task(model, 120)
    found = ix.Regroup().run(task, ix.Watch())
    pieces = found.pieces
    assert task.safe_parts(pieces.tuples, pieces.rows, pieces.groups, int(pieces.groups.max()) + 1).all()
    assert ix.NCP().loss(found) < ix.NCP().loss(ix.Mondrian(strict=False).run(task, ix.Watch()))


@pytest.mark.slow
def test_more_effort_never_costs_more_and_gives_the_same_each_time():
    task = made_task(ix.TCloseness(0.25), 200)
    plain, more, again = (ix.Regroup(effort=effort).run(task, ix.Watch()) for effort in (0, 5, 5))
    assert ix.NCP().loss(more) <= ix.NCP().loss(plain)
    assert more.pieces.groups.tolist() == again.pieces.groups.tolist()


def test_without_time_it_loses_no_more_than_mondrian_either():
    task = made_task(ix.TCloseness(0.25), 120)
    found = ix.Regroup().run(task, ix.Watch(time_limit=0.0))
    pieces = found.pieces
    assert task.safe_parts(pieces.tuples, pieces.rows, pieces.groups, int(pieces.groups.max()) + 1).all()
    assert ix.NCP().loss(found) <= ix.NCP().loss(ix.Mondrian(strict=False).run(task, ix.Watch())) + 1e-9


class Plain(ix.LDiversity):
    """A model that offers no rule to compiled code."""

    def satisfied(self, groups):
        return super().satisfied(groups)


def test_a_model_without_a_rule_loses_no_more_than_mondrian_either():
    task = made_task(Plain(4), 200)
    loss = ix.NCP().loss(ix.Regroup().run(task, ix.Watch()))
    assert loss <= ix.NCP().loss(ix.Mondrian().run(task, ix.Watch())) + 1e-9


@pytest.mark.parametrize("models", [[], [ix.LDiversity(2)]], ids=["k-anonymity alone", "diverse"])
def test_groups_of_few_people_with_many_rows_lose_no_more_than_mondrian(models):
    """Groups of five near rows are often those of fewer people; merging them loses more than cutting does."""
    rng = np.random.default_rng(0)
    person, age, town = rng.geometric(0.25, 200), 20 + rng.integers(0, 60, 200), rng.integers(0, 30, 200)
    table = pa.table({"person": person, "age": age, "town": town, "ill": rng.choice(["flu", "cough", "gout"], 200)})
    columns = {"age": ix.quasi(ix.intervals(5, 10, 20)), "town": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(5), *models], person="person")
    with (
        ix.anonymize(table, policy, algorithm="regroup") as found,
        ix.anonymize(table, policy, algorithm="mondrian") as cut,
    ):
        assert found.measures["ncp"] <= cut.measures["ncp"] + 1e-9


def test_each_group_of_a_tuple_gets_some_of_every_value():
    """By hand: six rows, three with each of two values, in groups of four and two: two of each, and one of each."""
    hierarchy = ix.suppress().compile(["x"])
    codes = {"ill": (Sensitive(("a", "b"), None), np.array([0, 1]))}
    listed = FrequencyList.of_codes(["c"], [hierarchy], [np.array([0, 0])], np.array([3, 3]), sensitive=codes)
    units = Units.of(listed, of_tuples=True)
    dealt = units.in_rows(Pieces(np.array([0, 0]), np.array([4, 2]), np.array([0, 1])))
    found = Counter(dict(zip(zip(dealt.tuples.tolist(), dealt.groups.tolist(), strict=True), dealt.rows, strict=True)))
    assert found == {(0, 0): 2, (1, 0): 2, (0, 1): 1, (1, 1): 1}


FIND_GROUPS = """
from dataclasses import replace

import numpy as np

import indistinct as ix
from indistinct.search.local.groups import repair_by_rebuilding
from indistinct.search.local.groups.space import Space
from search.test_repair_by_rebuilding import MODELS, made_task

found = []
for model in (MODELS[3], MODELS[5]):
    task = made_task(model, 40)
    space = Space.of(task.frequencies, ix.NCP(), "hierarchy")
    repair = repair_by_rebuilding.GroupRepair.of(task, space, np.zeros(len(space.counts), np.int64), ix.Watch())
    tuples = len(repair.by_kind.near)
    near = (np.arange(tuples)[:, None] + np.arange(1, 9)) % tuples
    repair = replace(repair, by_kind=repair.by_kind._replace(near=near.astype(np.int32)))
    pieces = ix.Mondrian(strict=False).cut(task, ix.Watch()).pieces
    found.append(repair.rebuild_groups(pieces, ix.Watch(), None).groups.tolist())
"""


@pytest.mark.slow
def test_kernels_give_the_same_when_they_are_not_compiled(monkeypatch):
    monkeypatch.setattr("indistinct.search.local.groups.repair_by_rebuilding.MOST_WORK", 400)
    here: dict[str, object] = {}
    exec(FIND_GROUPS, here)
    fewer = "from indistinct.search.local.groups import repair_by_rebuilding; repair_by_rebuilding.MOST_WORK = 400\n"
    uncompiled = run_uncompiled(fewer + FIND_GROUPS + "import json; print(json.dumps(found))")
    assert json.loads(uncompiled) == here["found"]
