"""Models of sensitive values over tables that belong together: every value counts once for each person who has it.

The oracle finds profiles, values and what must be suppressed in plain Python, tries every node, and shares no code with
the package.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples

WARDS = {"eye": "surgery", "ear": "surgery", "flu": "medicine"}
SITES = ix.levels([[ward, kind] for ward, kind in WARDS.items()], top="*")
NODES = list(product(range(3), range(3)))
COLUMN = "visits.ill"


def policy(models, **more):
    """Return a policy of patients and their visits, with what they suffer from there."""
    return ix.Policy(
        tables={
            "patients": ix.LinkedTable({"age": ix.quasi(ix.intervals(10))}, key="patient"),
            "visits": ix.LinkedTable(
                {"ward": ix.quasi(SITES), "ill": ix.sensitive()}, references={"patient": "patients"}
            ),
        },
        privacy=models,
        person="patient",
        **more,
    )


def tables(people):
    """Return the tables of people, each as (age, [(ward, ill), …])."""
    patients = [{"patient": f"p{number}", "age": age} for number, (age, _) in enumerate(people)]
    visits = [
        {"patient": f"p{number}", "ward": ward, "ill": ill}
        for number, (_, stays) in enumerate(people)
        for ward, ill in stays
    ]
    schema = pa.schema([("patient", pa.string()), ("ward", pa.string()), ("ill", pa.string())])
    return {"patients": pa.Table.from_pylist(patients), "visits": pa.Table.from_pylist(visits, schema)}


def profile_at(person, node):
    """Return what a recipient sees of a person at a node, but for what is sensitive."""
    age, stays = person
    wards = sorted((ward, WARDS[ward], "*")[node[1]] for ward, _ in stays)
    return (age, age // 10 * 10, "*")[node[0]], tuple(wards)


def values_of(members):
    """Return how many of some people have each value; each counts once for it."""
    return Counter(ill for _, stays in members for ill in {ill for _, ill in stays})


def is_kept(model, members, everybody):
    """Return whether people who share a profile satisfy a model, where all of these are released."""
    values, number = values_of(members), len(members)
    if isinstance(model, ix.KAnonymity):
        return number >= model.k
    if isinstance(model, ix.AlphaK):
        least = max(model.k, math.ceil(1 / model.alpha - 1e-9))
        return number >= least and all(count <= model.alpha * number + 1e-9 for count in values.values())
    if isinstance(model, ix.PSensitive):
        return number >= model.k and (not values or len(values) >= model.p)
    if not values:
        return True  # nobody has anything to hide in this column
    shares = {value: count / values.total() for value, count in values.items()}
    if isinstance(model, ix.TCloseness):
        table = values_of(everybody)
        gains = [share - table[value] / table.total() for value, share in shares.items()]
        return sum(gain for gain in gains if gain > 0) <= model.t + 1e-9
    if model.kind == "entropy":
        return -sum(share * math.log(share) for share in shares.values()) >= math.log(model.l) - 1e-9
    return len(values) >= model.l


def kept_at(people, node, models):
    """Return the people whom a release at a node keeps: whoever fails goes, until nobody does."""
    left = list(people)
    for whole in (False, True):
        asked = [model for model in models if whole or not isinstance(model, ix.TCloseness)]
        before = None
        while before != len(left):
            before = len(left)
            classes = {}
            for person in left:
                classes.setdefault(profile_at(person, node), []).append(person)
            left = [
                person
                for person in left
                if all(is_kept(model, classes[profile_at(person, node)], left) for model in asked)
            ]
    return left


def rows_of(people):
    return sum(1 + len(stays) for _, stays in people)


def precision_at(people, kept, node):
    cells = rows_of(people)
    lost = rows_of(people) - rows_of(kept)
    lost += sum(node[0] / 2 + len(stays) * node[1] / 2 for _, stays in kept)
    return 1 - lost / cells


stay = st.tuples(st.sampled_from(sorted(WARDS)), st.sampled_from(["a", "b", "c"]))
person = st.tuples(st.sampled_from([21, 23, 34]), st.lists(stay, max_size=2))
crowds = st.lists(person, min_size=3, max_size=8)
asked_models = st.sampled_from(
    [
        (ix.LDiversity(2),),
        (ix.KAnonymity(2), ix.LDiversity(2, column=COLUMN)),
        (ix.LDiversity(2, kind="entropy"),),
        (ix.AlphaK(0.5, 2),),
        (ix.AlphaK(0.7, 1),),
        (ix.PSensitive(2, 3),),
        (ix.KAnonymity(2), ix.TCloseness(0.3)),
        (ix.LDiversity(2), ix.TCloseness(0.4)),
    ]
)


@pytest.mark.slow
@given(crowds, asked_models, st.sampled_from([0.0, 0.3, 0.7]))
@examples(120, opens_tables=True)
def test_the_exact_search_finds_the_best_node_for_values(people, models, share):
    rows = rows_of(people)
    kept = {node: kept_at(people, node, models) for node in NODES}
    allowed = min(int(share * rows + 1e-9), rows - 1)
    passing = [node for node in NODES if rows - rows_of(kept[node]) <= allowed]
    original, asked = tables(people), policy(models, max_suppression=share)
    if not passing:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(original, asked)
        return
    assert ix.check(original, asked).is_feasible
    with ix.anonymize(original, asked) as release:
        node = tuple(release.node.values())
        assert release.suppressed == rows - rows_of(kept[node])
        best = max(precision_at(people, kept[passed], passed) for passed in passing)
        assert release.measures["precision"] == pytest.approx(best)
        assert release.measures["precision"] == pytest.approx(precision_at(people, kept[node], node))
        verdict = release.verify(original=original)
        assert verdict.passed, str(verdict)
    for algorithm in ("samarati", "datafly"):
        try:
            with ix.anonymize(original, asked, algorithm=algorithm) as release:
                node = tuple(release.node.values())
                assert release.suppressed == rows - rows_of(kept[node])
                assert release.verify(original=original).passed
        except ix.InfeasibleError:
            assert algorithm == "datafly"


CLINIC = [
    (21, [("eye", "a")]),
    (21, [("eye", "b")]),
    (34, [("flu", "c")]),
    (34, [("flu", "c")]),
    (50, []),
    (50, []),
]


def test_people_who_have_no_row_have_nothing_to_hide():
    """Those of 50 years have no visit, which their profile shows anyway; those of 34 all suffer from one thing."""
    models = [ix.KAnonymity(2), ix.LDiversity(2)]
    with ix.anonymize(tables(CLINIC), policy(models, max_suppression=4)) as release:
        assert release.node == {"patients.age": 0, "visits.ward": 0}
        assert release.suppressed == 4
        assert sorted(release.tables["patients"]["age"].to_pylist()) == [21, 21, 50, 50]


def test_a_value_that_all_have_is_caught_in_tables_of_others(tmp_path):
    """The same tables, released for less, fail for more, and so does a folder whose values were exchanged."""
    lax, strict = policy([ix.KAnonymity(2)]), policy([ix.KAnonymity(2), ix.LDiversity(2)])
    with ix.anonymize(tables(CLINIC), lax) as release:
        verdict = ix.verify(release.tables, strict)
    failed = [check for check in verdict.checks if not check.passed]
    assert [check.name for check in failed] == ["people: l-diversity (l = 2) on all tables"]
    assert not ix.verify(release.tables, strict, original=tables(CLINIC)).passed


@pytest.mark.parametrize(
    ("model", "mistake"),
    [
        (ix.LDiversity(2, column="ill"), "'ill', which is not a sensitive column"),
        (ix.LDiversity(2, column="patients.age"), "'patients.age', which is not a sensitive column"),
    ],
)
def test_a_model_names_the_column_with_its_table(model, mistake):
    with pytest.raises(ix.PolicyError, match=mistake):
        policy([model])


def test_a_column_of_each_table_may_be_sensitive():
    """Each is judged among those who have a row there."""
    asked = ix.Policy(
        tables={
            "patients": ix.LinkedTable({"age": ix.quasi(), "job": ix.sensitive()}, key="patient"),
            "visits": ix.LinkedTable({"ill": ix.sensitive()}, references={"patient": "patients"}),
        },
        privacy=[ix.LDiversity(2)],
        person="patient",
        max_suppression=1.0,
    )
    given_tables = {
        "patients": pa.table(
            {
                "patient": [f"p{place}" for place in range(6)],
                "age": [1, 1, 2, 2, 3, 3],
                "job": ["x", "y", "x", "x", "x", "y"],
            }
        ),
        "visits": pa.table({"patient": ["p0", "p1", "p2", "p3"], "ill": ["a", "b", "a", "b"]}),
    }
    with ix.anonymize(given_tables, asked) as release:
        assert sorted(release.tables["patients"]["age"].to_pylist()) == [1, 1, 3, 3]
        assert release.verify(original=given_tables).passed
