"""The foreign recount: it shares no code with the package, finds what it should, and finds nothing in our releases."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.foreign_models import failing  # noqa: E402
from campaigns.random_cases import NO_RECOUNT, draw_case  # noqa: E402
from campaigns.running import Options  # noqa: E402

from campaigns import foreign, recount  # noqa: E402
from helpers.profiles import scaled  # noqa: E402
from indistinct.privacy import LDiversity  # noqa: E402
from indistinct.registry import ALGORITHMS, MODELS  # noqa: E402

FOREIGN = ["foreign.py", "foreign_models.py", "random_cases.py"]


def group(*values):
    """Return a group in which everybody is somebody else than in every other."""
    return [(object(), {"s": value}) for value in values]


@pytest.mark.parametrize("name", FOREIGN)
def test_the_recount_imports_nothing_of_ours(name):
    tree = ast.parse((ROOT / "campaigns" / name).read_text("utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in found if module.partition(".")[0] not in sys.stdlib_module_names}
    assert ours <= {"campaigns.foreign_models"}


@pytest.mark.parametrize(
    ("model", "groups", "fail"),
    [
        ({"model": "k-anonymity", "k": 3}, ["aab", "ab"], 1),
        ({"model": "prosecutor-risk", "at_most": 1 / 3}, ["aab", "ab"], 1),
        ({"model": "average-risk", "at_most": 0.4}, ["aab", "ab"], 0),
        ({"model": "average-risk", "at_most": 0.39}, ["aab", "ab"], 2),
        ({"model": "alpha-k", "alpha": 0.5, "k": 2}, ["aab", "ab", "a"], 2),
        ({"model": "alpha-k", "alpha": {"b": 0.4}, "k": 2}, ["aab", "ab"], 1),
        ({"model": "l-diversity", "l": 2}, ["aa", "ab"], 1),
        ({"model": "l-diversity", "l": 2, "kind": "entropy"}, ["aab", "ab"], 1),
        ({"model": "l-diversity", "l": 2, "kind": "recursive", "c": 2.0}, ["aab", "aaab", "ab"], 2),
        ({"model": "p-sensitive", "p": 2, "k": 3}, ["aab", "ab", "aaa"], 2),
        ({"model": "m-invariance", "m": 2}, ["aab", "aabb"], 1),
        ({"model": "beta-likeness", "beta": 0.5}, ["ab", "aa"], 1),
        ({"model": "beta-likeness", "beta": 0.5}, ["ab", "ab", "bb"], 0),
        ({"model": "beta-likeness", "beta": 0.4}, ["ab", "ab", "bb"], 3),
        ({"model": "delta-disclosure", "delta": 1.0}, ["ab", "aab"], 0),
        ({"model": "delta-disclosure", "delta": 9.0}, ["ab", "aa"], 1),
        ({"model": "t-closeness", "t": 0.25}, ["aa", "ab"], 0),
        ({"model": "t-closeness", "t": 0.24}, ["aa", "ab"], 2),
        ({"model": "t-closeness", "t": 0.3, "distance": "ordered"}, ["12", "23"], 0),
        ({"model": "t-closeness", "t": 0.2, "distance": "ordered"}, ["12", "23"], 2),
    ],
)
def test_models_judge_as_the_papers_do(model, groups, fail):
    """Worked out by hand: of 12 | 23 the cumulative shares differ by 1/4 and 1/4 over two steps, a distance of 1/4."""
    assert failing([group(*values) for values in groups], model, ["s"]) == fail


def test_the_hierarchical_distance_charges_the_level_that_joins():
    """a and b meet at level 1 of 2, c only at the top: half of the shares of a moved to b cost 1/4, to c 1/2."""
    chains = {"a": ["a", "x", "*"], "b": ["b", "x", "*"], "c": ["c", "y", "*"]}
    near = {"model": "t-closeness", "t": 0.25, "distance": "hierarchical", "chains": chains}
    assert failing([group("a", "a"), group("b", "b")], near, ["s"]) == 0
    assert failing([group("a", "a"), group("b", "b")], near | {"t": 0.24}, ["s"]) == 2
    assert failing([group("a", "a"), group("c", "c")], near | {"t": 0.5}, ["s"]) == 0
    assert failing([group("a", "a"), group("c", "c")], near | {"t": 0.49}, ["s"]) == 2


def test_people_are_counted_once():
    twice = [("Ann", {"s": "a"}), ("Ann", {"s": "b"}), ("Bea", {"s": "a"})]
    assert failing([twice], {"model": "k-anonymity", "k": 3}, ["s"]) == 1
    assert failing([twice], {"model": "alpha-k", "alpha": 0.9, "k": 2}, ["s"]) == 1  # both have a


@pytest.mark.parametrize(
    ("label", "value", "kind", "is_covered"),
    [
        ("20-29", "29", "intervals", True),
        ("20-29", "30", "intervals", False),
        ("*", "", "intervals", True),
        ("", "", "intervals", True),
        ("", "20", "intervals", False),
        ("[17, 25] or missing", "", "intervals", True),
        ("[17, 25]", "26", "intervals", False),
        ("{a, b}", "b", "suppress", True),
        ("02**", "0213", "prefix", True),
        ("02**", "0313", "prefix", False),
        ("*", "a", "keep", False),
    ],
)
def test_labels_cover_what_they_say(label, value, kind, is_covered):
    assert foreign.covers(label, value, {"kind": kind}) is is_covered


def test_a_false_cell_a_doubled_row_and_too_few_rows_are_found():
    claim = {
        "quasi": {"age": {"kind": "intervals"}},
        "sensitive": ["ill"],
        "other": [],
        "sets": {"all": ["age"]},
        "models": [{"model": "k-anonymity", "k": 2}],
        "eligible": [],
        "limit": 0,
    }
    original = foreign.read("age,ill\n21,flu\n22,gout\n")
    assert foreign.judge_one(foreign.read("age,ill\n20-29,flu\n20-29,gout\n"), original, claim) == []
    for broken in ("20-29,flu\n20-29,flu\n", "30-39,flu\n30-39,gout\n", "20-29,flu\n", "20-29,flu\n21,gout\n"):
        assert foreign.judge_one(foreign.read(f"age,ill\n{broken}"), original, claim) != [], broken


def test_two_tables_are_joined_as_an_adversary_would():
    claim = {"quasi": {"age": {}}, "sensitive": ["ill"], "other": [], "eligible": [], "limit": 0, "k": 2}
    claim["models"] = [{"model": "l-diversity", "l": 2}]
    original = foreign.read("age,ill\n1,flu\n2,gout\n3,flu\n4,gout\n")
    quasi = foreign.read("class_id,age\n0,1\n0,2\n1,3\n1,4\n")
    sensitive = foreign.read("class_id,ill\n0,flu\n0,gout\n1,flu\n1,gout\n")
    assert foreign.judge_two(quasi, sensitive, original, claim) == []
    swapped = foreign.read("class_id,ill\n0,flu\n0,flu\n1,gout\n1,gout\n")
    assert len(foreign.judge_two(quasi, swapped, original, claim)) == 3  # both classes are untrue, and not diverse


def test_every_algorithm_and_model_is_drawn():
    drawn = [draw_case(Options("recount").dice(number)) for number in range(600)]
    # what is drawn at random is judged by its whole distribution, in test_differential_privacy.py
    others = {*NO_RECOUNT.values(), "applied"}  # which asks for a release
    assert {case.algorithm for case in drawn} == set(ALGORITHMS) - others
    assert {model["model"] for case in drawn for model in case.claim["models"]} == set(MODELS) - set(NO_RECOUNT)


@pytest.mark.slow
def test_random_releases_hold_under_the_foreign_recount():
    outcome = recount.run(Options("recount", seed=3, inputs=scaled(12)))
    assert outcome.faults == []
    assert outcome.figures["released tables"] >= outcome.cases // 2


@pytest.mark.slow
def test_a_broken_model_is_found_and_its_case_made_small(tmp_path, monkeypatch):
    """Where l-diversity lets everything through, so does the package's own recount; the foreign one does not."""
    monkeypatch.setattr(LDiversity, "satisfied", lambda self, groups: np.ones(len(groups), np.bool_))
    monkeypatch.setattr(recount, "ATTEMPTS", 8)
    options = Options("recount", seed=0, inputs=400, failures=tmp_path)
    asked = [
        number
        for number in options.cases()
        if any(model["model"] == "l-diversity" for model in draw_case(options.dice(number)).claim["models"])
    ][:12]
    for number in asked:
        outcome = recount.run(Options("recount", seed=0, case=number, failures=tmp_path))
        if outcome.faults:
            break
    assert "l-diversity" in outcome.faults[0]
    kept = next(tmp_path.iterdir())
    assert {"case.json", "faults.txt"} < {path.name for path in kept.iterdir()}
    assert len(json.loads((kept / "case.json").read_text("utf-8"))["rows"]) < len(draw_case(options.dice(number)).rows)
