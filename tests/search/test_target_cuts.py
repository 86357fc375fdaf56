"""A target: cuts against a slow search of the best boundary; what groups promise, and what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.errors import PolicyError
from indistinct.policy.algorithms import PredictionTarget
from indistinct.search.kernels.target_spread import tells
from indistinct.search.local.kernels import cut_scores, cutting
from indistinct.search.local.kernels.target_scores import ListedCuts, TargetSums, score_for_target
from search.test_repair_by_rebuilding import check
from search.test_value_counter import searches, task_of


def bits_of(classes):
    """Rows times entropy, from the definition."""
    return -sum(number * log2(number / len(classes)) for number in Counter(classes).values())


def squares_of(numbers):
    mean = sum(numbers) / len(numbers) if numbers else 0.0
    return sum((number - mean) ** 2 for number in numbers)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=14), st.integers(1, 4), st.booleans()
)
@examples(120)
def test_the_boundary_is_the_one_that_saves_most(rows, least, is_number):
    spread = squares_of if is_number else bits_of
    whole = spread([target for _, target in rows])
    gains = {}
    for boundary in range(5):
        sides = [[t for v, t in rows if v <= boundary], [t for v, t in rows if v > boundary]]
        if min(map(len, sides)) >= least:
            gains[boundary] = whole - sum(map(spread, sides))
    best = max(gains.values(), default=0.0)
    values, targets = (np.array(one) for one in zip(*rows, strict=True))
    size = 6
    axes = cutting.Axes(
        kinds=np.array([cutting.RANGE]),
        sizes=np.array([size]),
        offsets=np.array([0]),
        labels=np.arange(size),
        leaves=np.zeros(size, np.int64),
        slopes=np.array([1 / size]),
        missing=np.array([-1]),
    )
    ranks, counts, starts = values[None, :].astype(np.int32), np.ones(len(rows), np.int64), np.array([0, len(rows)])
    listed = ListedCuts(*cut_scores.find_cuts(ranks, counts, starts, axes, cut_scores.CutRules(least, True, False)))
    sums = np.stack([targets, targets**2], axis=1).astype(float) if is_number else np.eye(3)[targets]
    found = score_for_target(ranks, counts, starts, TargetSums(sums, is_number, 1e-9), axes, least, listed)
    score = found.scores[0, cutting.HALVES]
    if best <= 1e-7:
        assert score <= 1e-7
    else:
        assert score == pytest.approx(best / len(rows))
        low, high = found.spans[0, cutting.HALVES]
        inside = [t for v, t in rows if low <= v <= high]
        outside = [t for v, t in rows if not low <= v <= high]
        assert whole - spread(inside) - spread(outside) == pytest.approx(best)


COLUMNS = {
    "age": ix.quasi(ix.intervals(5, 10, 20)),
    "town": ix.quasi(ix.suppress()),
    "pay": ix.sensitive(),
    "ill": ix.sensitive(),
}


def people(rows=400, seed=3):
    """People whose pay follows from age and town, mostly."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(20, 80, rows), rng.integers(0, 6, rows)
    pay = np.where(rng.random(rows) < 0.1, rng.integers(0, 2, rows), (age > 47) & np.isin(town, [0, 3, 4]))
    ill = rng.choice(["flu", "gout", "rash"], rows)
    names = [f"t{one}" for one in town]
    return pa.table({"age": age, "town": names, "pay": [f"p{one}" for one in pay], "ill": ill})


def policy_of(*models, algorithm="mondrian", **options):
    return ix.Policy(
        columns=COLUMNS,
        privacy=[ix.KAnonymity(10), *models],
        algorithm=algorithm,
        options={"labels": "ranges", **options},
    )


def groups_of(table):
    found = defaultdict(list)
    for row in table.to_pylist():
        found[row["age"], row["town"]].append(row)
    return list(found.values())


def hits(table):
    """Rows whose pay is the most frequent one of their group."""
    return sum(max(Counter(row["pay"] for row in group).values()) for group in groups_of(table))


def spread_in_bits(table):
    return sum(bits_of([row["pay"] for row in group]) for group in groups_of(table))


def alike_rows(table):
    """Rows of groups in which all have one pay."""
    return sum(len(group) for group in groups_of(table) if len({row["pay"] for row in group}) == 1)


LOCAL = pytest.mark.parametrize("algorithm", ["mondrian", "regroup"])


@LOCAL
def test_groups_tell_more_of_the_target_and_the_manifest_says_that_the_search_saw_it(tmp_path, algorithm):
    table = people()
    policy = policy_of(algorithm=algorithm, target="pay")
    with ix.anonymize(table, policy_of(algorithm=algorithm)) as plain, ix.anonymize(table, policy) as found:
        assert spread_in_bits(found.table) < 0.9 * spread_in_bits(plain.table)
        assert min(map(len, groups_of(found.table))) >= 10
        assert plain.facts.search.blind
        assert not found.facts.search.blind
        assert found.verify(table).passed
        found.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out").passed
    assert ix.verify(tmp_path / "out", policy, original=table).passed


def test_the_recoding_is_applied_to_other_rows(tmp_path):
    policy = policy_of(target="pay")
    with ix.anonymize(people(), policy) as first, ix.apply(people(seed=9), policy, first) as again:
        assert not again.facts.search.blind
        again.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out").passed


@LOCAL
@pytest.mark.parametrize("most", [0.0, 0.05, 0.15])
def test_no_more_rows_than_are_allowed_come_among_their_like(algorithm, most):
    table = people(seed=5)
    target = {"column": "pay", "max_alike": most}
    with (
        ix.anonymize(table, policy_of(algorithm=algorithm, target=target)) as found,
        ix.anonymize(table, policy_of(algorithm=algorithm, target="pay")) as free,
    ):
        assert alike_rows(found.table) <= most * table.num_rows < alike_rows(free.table)


@pytest.mark.slow
def test_cuts_do_not_follow_chance():
    """Where nothing tells of the target, nearly all tables are cut as if there were none."""
    columns = {"age": ix.quasi(ix.intervals(5)), "height": ix.quasi(ix.intervals(5)), "pay": ix.sensitive()}
    target = {"column": "pay", "task": "classification"}
    same = 0
    for seed in range(10):
        drawn = np.random.default_rng(seed).integers(0, [[30], [30], [2]], (3, 200))
        table = pa.table(dict(zip(columns, drawn, strict=True)))
        found = []
        for options in ({}, {"target": target}):
            policy = ix.Policy(
                columns, [ix.KAnonymity(8)], algorithm="mondrian", options={"labels": "ranges"} | options
            )
            with ix.anonymize(table, policy) as release:
                found.append(Counter((row["age"], row["height"]) for row in release.table.to_pylist()))
        same += found[0] == found[1]
    assert same >= 8


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=2, max_size=30),
    st.booleans(),
    st.floats(0.1, 20),
)
@examples(100)
def test_a_cut_tells_something_if_it_makes_the_target_likelier_by_so_many_bits(rows, is_number, least):
    """Against likelihoods from their definitions: of shares, and of normal distributions with one variance."""
    parts = [[value for value, side in rows if side == one] for one in (0, 1)]
    whole = [value for value, _ in rows]
    if is_number:
        before, after = squares_of(whole), sum(map(squares_of, parts))
        bits = len(whole) / 2 * log2(before / after) if after > 1e-9 else (1e9 if before > 1e-9 else 0.0)
    else:
        before, after = bits_of(whole), sum(map(bits_of, parts))
        bits = before - after
    if abs(bits - least) > 1e-6:
        assert tells(before, after, len(whole), is_number, least) == (bits > least)


@pytest.mark.slow
@given(searches(), st.sampled_from(["hierarchy", "ranges"]), st.sampled_from([1.0, 0.3, 0.0]))
@examples(60)
def test_regroup_keeps_models_and_loses_no_more_than_mondrian_with_the_same_target(given, labels, most):
    task = task_of(given)
    target = {"column": "illness", "task": "classification", "max_alike": most}
    try:
        found = ix.Regroup(labels=labels, target=target).run(task, ix.Watch())
    except ix.InfeasibleError:
        return
    check(task, given, found)
    cut = ix.Mondrian(labels=labels, target=target).run(task, ix.Watch())
    assert found.suppressed_rows == cut.suppressed_rows
    assert ix.NCP().loss(found) <= ix.NCP().loss(cut) + 1e-9 or most < 1
    alike = [rows_alike(task, one.pieces) for one in (found, cut)]
    assert alike[0] <= max(most * task.frequencies.rows, alike[1])


def rows_alike(task, pieces):
    values = defaultdict(list)
    codes = task.frequencies.entries.codes["illness"]
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        values[group] += [codes[entry]] * rows if group >= 0 else []
    return sum(len(own) for own in values.values() if len(set(own)) == 1)


def test_models_hold_beside_a_target():
    table = people(seed=6)
    with ix.anonymize(
        table, policy_of(ix.LDiversity(2, column="pay"), ix.TCloseness(0.3, column="ill"), target="pay")
    ) as found:
        assert found.verdict.passed
        assert all(len({row["pay"] for row in group}) == 2 for group in groups_of(found.table))


def test_numbers_are_estimated_and_labels_of_hierarchies_are_cut_too():
    table = people(seed=7)
    pay = [one * 37 % 101 + (one > 48) * 500 for one in table["age"].to_pylist()]
    table = table.set_column(2, "pay", pa.array(pay))
    assert PredictionTarget("pay").is_regression([str(one) for one in set(pay)])
    errors = []
    for options in ({"labels": "hierarchy"}, {"labels": "hierarchy", "target": "pay"}, {"target": "pay"}):
        with ix.anonymize(table, policy_of(**options)) as found:
            errors.append(sum(squares_of([row["pay"] for row in group]) for group in groups_of(found.table)))
    assert errors[1] <= errors[0]
    assert errors[2] < errors[0]


@pytest.mark.parametrize(
    "target",
    [
        "age",
        "nothing",
        {"column": "pay", "task": "guess"},
        {"column": "pay", "max_alike": 2},
        {"task": "regression"},
        7,
    ],
)
def test_a_target_that_cannot_be_is_refused(target):
    with pytest.raises(PolicyError), ix.anonymize(people(50), policy_of(target=target)):
        pass


def test_a_target_that_the_policy_does_not_name_is_refused():
    with (
        pytest.raises(PolicyError, match="target"),
        ix.anonymize(people(50), policy_of(), algorithm=ix.Mondrian(target="pay")),
    ):
        pass
    with (
        pytest.raises(PolicyError, match="target"),
        ix.anonymize(people(50), policy_of(target="pay"), algorithm="datafly"),
    ):
        pass


def test_classes_that_are_no_numbers_are_not_estimated():
    target = {"column": "ill", "task": "regression"}
    with pytest.raises(PolicyError, match="no numbers"), ix.anonymize(people(50), policy_of(target=target)):
        pass
