"""Tables with too many tuples are generalized before they are counted; the search from there is exact, and says so."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.pipeline.in_fragments import fragments_of
from indistinct.quality import measure_named
from indistinct.registry import MEASURES
from indistinct.report import report_facts
from indistinct.search import Task

FULL_DOMAIN = (ix.Lattice(), ix.Samarati(), ix.MinGen(), ix.Datafly(), ix.Samarati(preference="max-distribution"))


def table_of(rows: int, seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "age": generator.integers(20, 60, rows).astype(str),
            "zip": generator.integers(1000, 1200, rows).astype(str),
            "sex": generator.choice(["f", "m"], rows),
            "illness": generator.choice(["flu", "cold", "angina"], rows),
        }
    )


def policy_of(model: Any = None, **more: Any) -> ix.Policy:
    columns = {
        "age": ix.quasi(ix.intervals(5, 10, 20)),
        "zip": ix.quasi(ix.prefix()),
        "sex": ix.quasi(ix.suppress()),
        "illness": ix.sensitive(),
    }
    return ix.Policy(columns=columns, privacy=[model or ix.KAnonymity(3)], **({"max_suppression": 0.1} | more))


def counted(table: Any, policy: ix.Policy, max_tuples: int | None) -> FrequencyList:
    with open_table(table, max_tuples=max_tuples) as rows:
        return FrequencyList.count(encode_eligible(rows, policy), policy, may_merge=True)


@pytest.mark.slow
@examples(15)
@given(st.integers(0, 10**6), st.integers(1, 80), st.sampled_from([None, ix.AlphaK(0.7, 3)]))
def test_the_list_fits_and_counts_what_it_should(seed: int, most: int, model: Any) -> None:
    table, policy = table_of(100, seed), policy_of(model)
    whole = counted(table, policy, None)
    if most < (3 if model else 1):
        with pytest.raises(ix.InfeasibleError, match="raise max_tuples"):
            counted(table, policy, most)
        return
    cut = counted(table, policy, most)
    assert len(cut.entries) <= most
    for node in product(*(range(low, high + 1) for low, high in zip(cut.lowest, cut.heights, strict=True))):
        found = [sorted(frequencies.roll_up(node)[0].sizes.tolist()) for frequencies in (whole, cut)]
        assert found[0] == found[1], node
    for column in range(3):
        assert (whole.value_counts(column) == cut.value_counts(column)).all()
        if cut.lowest[column]:  # one level less would be too long
            lower = tuple(level - (position == column) for position, level in enumerate(cut.lowest))
            groups, group_of = whole.roll_up(lower)
            if model is None:
                assert len(groups) > most
            else:
                values = whole.entries.codes["illness"]
                assert len(set(zip(group_of[whole.entries.tuples].tolist(), values.tolist(), strict=True))) > most


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_the_answer_is_the_best_above_the_bottom(measure: str) -> None:
    """Every node above the bottom is scored from the whole list."""
    table, policy = table_of(150, 1), policy_of()
    whole, cut = counted(table, policy, None), counted(table, policy, 40)
    assert any(cut.lowest)
    scale = measure_named(measure)
    task = Task.of(whole, policy)
    losses = []
    for node in product(*(range(low, high + 1) for low, high in zip(cut.lowest, cut.heights, strict=True))):
        recoding = task.recoding(whole.roll_up(node)[0])
        if recoding.suppressed_rows <= task.budget and recoding.released_rows:
            losses.append((scale.loss(recoding), node))
    found = ix.Lattice(measure=measure).run(Task.of(cut, policy), ix.Watch())
    assert all(level >= low for level, low in zip(found.node, cut.lowest, strict=True))
    if measure == "distinct-tuples":  # a share of the tuples that were counted
        assert len(found.groups) == max(len(whole.roll_up(node)[0]) for _, node in losses)
    else:
        assert scale.loss(found) == pytest.approx(min(losses)[0])


EXACT = [algorithm for algorithm in FULL_DOMAIN if algorithm.is_exact]


@pytest.mark.parametrize("algorithm", EXACT, ids=lambda algorithm: algorithm.name)
def test_nothing_is_proven_of_nodes_below_a_raised_start_node(algorithm: Any) -> None:
    """Among them there may be a better one; no loss is below 0, so the gap is the loss."""
    table, policy = table_of(300, 2), policy_of()
    whole, cut = counted(table, policy, None), counted(table, policy, 20)
    best, found = (algorithm.run(Task.of(frequencies, policy), ix.Watch()) for frequencies in (whole, cut))
    assert (best.is_proven, best.gap) == (True, 0.0)
    assert found.is_proven is False
    measure = algorithm.optimizes
    if measure is None:
        assert found.gap is None
    else:
        assert found.gap == pytest.approx(measure.loss(found))
        assert measure.loss(found) - measure.loss(best) <= found.gap


def test_levels_that_a_policy_demands_leave_a_proof_whole() -> None:
    policy = policy_of()
    columns = dict(policy.columns) | {"zip": ix.quasi(ix.prefix(), min_level=2)}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)], max_suppression=0.1)
    found = ix.Lattice().run(Task.of(counted(table_of(300, 2), policy, None), policy), ix.Watch())
    assert (found.is_proven, found.gap) == (True, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", FULL_DOMAIN, ids=lambda algorithm: algorithm.name)
@pytest.mark.parametrize("model", [None, ix.AlphaK(0.7, 3)], ids=["k", "alpha-k"])
def test_every_algorithm_over_the_lattice_stays_above_the_bottom(algorithm: Any, model: Any) -> None:
    table, policy = table_of(300, 2), policy_of(model)
    with ix.anonymize(table, policy, algorithm=algorithm, max_tuples=60) as release:
        bottom = release.facts.start_node
        assert any(bottom.values())
        assert release.node is not None
        assert all(release.node[name] >= level for name, level in bottom.items())
        verdict = ix.verify(release.table, policy, original=table)
        assert verdict.passed, str(verdict)


@pytest.mark.slow
def test_a_report_counts_the_original_where_tuples_were_merged() -> None:
    table, policy = table_of(300, 2), policy_of()
    with ix.anonymize(table, policy, max_tuples=60) as release:
        assert any(release.facts.start_node.values())
        found = report_facts(release, policy, original=table)["risk"][0]["before"]
    groups = Counter(zip(*(table[name].to_pylist() for name in policy.quasi), strict=True))
    assert found["alone"] == sum(rows == 1 for rows in groups.values())
    assert found["alone"] > 0


@pytest.mark.slow
def test_algorithms_that_need_every_tuple_get_every_tuple() -> None:
    table, policy = table_of(100, 3), policy_of()
    for algorithm in (ix.Regroup(), ix.Mondrian(), ix.Samarati(satisfies="matrix"), ix.MinGenCell()):
        assert not getattr(algorithm, "uses_start_node", False)
    with ix.anonymize(table, policy, algorithm="mondrian", max_tuples=10) as release:
        assert release.facts.start_node is None
        assert ix.verify(release.table, policy, original=table).passed
    with ix.anonymize(table, policy, max_tuples=10**6) as release:
        assert release.facts.start_node is None


@pytest.mark.slow
def test_a_list_that_was_counted_higher_says_so_and_its_labels_are_those_of_its_node() -> None:
    table, policy = table_of(150, 1), policy_of(ix.AlphaK(0.7, 3))
    whole, cut = counted(table, policy, None), counted(table, policy, 60)
    assert any(cut.base.node)
    expected, _ = whole.roll_up(cut.base.node)
    codes = [
        sorted(zip(*(groups.label_codes(column).tolist() for column in range(3)), groups.sizes.tolist(), strict=True))
        for groups in (expected, cut.base)
    ]
    assert codes[0] == codes[1]
    for column, (hierarchy, level) in enumerate(zip(cut.hierarchies, cut.base.node, strict=True)):
        values = cut.tuple_codes(column)
        assert (hierarchy.maps[level][values] == cut.base.label_codes(column)).all()


@pytest.mark.slow
def test_a_report_says_nothing_of_people_who_were_not_counted_one_by_one() -> None:
    """Nearly everybody stands alone in the private table; counted at a higher node, hardly anybody seems to."""
    table, policy = table_of(300, 2), policy_of()
    with ix.anonymize(table, policy) as release:
        (whole,) = report_facts(release, policy)["risk"]
    assert whole["before"]["alone"] > 250
    with ix.anonymize(table, policy, max_tuples=60) as release:
        assert any(release.facts.start_node.values())
        (cut,) = report_facts(release, policy)["risk"]
    assert cut["before"] is None
    assert cut["identifying"] is None
    assert cut["after"] is not None


def test_levels_that_are_chosen_are_those_that_are_released() -> None:
    table, policy = table_of(100, 3), policy_of()
    chosen = ix.Chosen(node={"age": 3, "zip": 4, "sex": 1})
    with ix.anonymize(table, policy, algorithm=chosen, max_tuples=10) as release:
        assert release.node == {"age": 3, "zip": 4, "sex": 1}
        assert release.facts.start_node is None


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(20, 200), st.integers(1, 60))
def test_fragments_are_neither_too_large_nor_too_small(seed: int, most: int, least: int) -> None:
    """A fragment that is too large cannot be cut: no column has a cut with enough rows on both sides."""
    frequencies = counted(table_of(400, seed), policy_of(), 100)
    numbers = fragments_of(frequencies, most, least)
    sizes = np.bincount(numbers, frequencies.base.sizes)
    assert sizes.min() >= min(least, 400)
    for fragment in np.flatnonzero(sizes > most):
        for column in range(3):
            order = np.lexsort(frequencies.hierarchies[column].maps)
            places = np.argsort(order)[frequencies.base.label_codes(column)]
            inside = numbers == fragment
            values, rows = places[inside], frequencies.base.sizes[inside]
            middle = values[np.argsort(values, kind="stable")][
                np.searchsorted(np.cumsum(rows[np.argsort(values, kind="stable")]), rows.sum() / 2)
            ]
            for lower in (values <= middle, values < middle):
                assert min(rows[lower].sum(), rows[~lower].sum()) < least
