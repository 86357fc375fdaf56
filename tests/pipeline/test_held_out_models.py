"""Models: the same learner on a release, its original and its marginals, beside scikit-learn on the raw cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import indistinct as ix
from helpers.commands import answer
from helpers.optional_modules import optional_module
from indistinct.data_utility import model_scores

linear_model = optional_module("sklearn.linear_model")


def drawn(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, rows), "sex": rng.choice(["f", "m"], rows)})
    frame["ill"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-(frame.age - 50) / 5)), "yes", "no")
    return frame


def as_policy(k=2, **more):
    quasi = {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress())}
    return ix.Policy({**quasi, "ill": ix.other()}, [ix.KAnonymity(k)], **more)


def test_scores_are_those_of_scikit_learn_on_the_same_rows():
    frame, learner = drawn(), linear_model.LogisticRegression(max_iter=1000)
    found = ix.model_utility(frame, as_policy(), "ill", learner=learner, algorithm="mondrian", splits=3)
    rng = np.random.default_rng(0)
    for score in found.original:
        is_test = np.isin(np.arange(400), rng.permutation(400)[:120])
        train, test = frame[~is_test], frame[is_test]
        male = [(one.sex == "m").astype(float) for one in (train, test)]
        female = [1 - one for one in male]
        x, tests = (np.column_stack([one.age, f, m]) for one, f, m in zip((train, test), female, male, strict=True))
        wanted = linear_model.LogisticRegression(max_iter=1000).fit(x, train.ill).score(tests, test.ill)
        assert score == pytest.approx(wanted, abs=0.02)
    assert (found.rows, found.held_out, found.metric) == (280, 120, "accuracy")
    assert found.means["original"] - 0.1 < found.means["release"]
    assert found.means["marginals"] < 0.7 < found.means["release"]


def test_everything_suppressed_scores_as_the_marginals_do():
    learner = linear_model.LogisticRegression()
    found = ix.model_utility(drawn(), as_policy(280), "ill", learner=learner, algorithm="lattice", splits=2)
    assert found.means["release"] == pytest.approx(found.means["marginals"], abs=0.12)
    assert found.means["release"] < 0.7


def test_people_are_held_out_with_all_their_rows():
    frame = pd.concat([drawn(1, 100).assign(who=range(100))] * 3)
    found = ix.model_utility(
        frame, as_policy(person="who"), "ill", learner=linear_model.LogisticRegression(), algorithm="mondrian", splits=1
    )
    assert (found.rows, found.held_out) == (210, 90)


def test_wrong_tasks_are_refused():
    for wrong in ({"splits": 0}, {"held_out": 1.0}, {"learner": "guess"}):
        with pytest.raises(ix.PolicyError):
            ix.model_utility(drawn(), as_policy(), "ill", algorithm="mondrian", **wrong)
    with pytest.raises(ix.PolicyError):
        ix.model_utility(drawn(), as_policy(), "gone", algorithm="mondrian")
    with pytest.raises(ix.PolicyError):
        ix.model_utility(drawn().assign(ill="no"), as_policy(), "ill", algorithm="mondrian")


@pytest.mark.parametrize("learner", ["boosting", pytest.param("forest", marks=pytest.mark.slow)])
def test_classes_of_one_row_and_missing_targets_are_no_mistake(learner):
    frame = drawn().assign(ill=lambda own: own.ill.where(own.index % 50 != 0, None))
    frame.loc[[1, 2, 3], "ill"] = ["rare", "rarer", "rarest"]
    found = ix.model_utility(frame, as_policy(), "ill", algorithm="mondrian", splits=1, learner=learner)
    assert 0.5 < found.means["release"] <= 1


@pytest.mark.slow
def test_the_command_makes_releases_as_this_one_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_scores, "TREES", 3)
    drawn().to_csv("visits.csv", index=False)
    (tmp_path / "policy.toml").write_text(ix.policy_toml(as_policy(5)))
    answer("anonymize", "policy.toml", "visits.csv", "-o", "release", "--algorithm", "mondrian")
    said = answer(
        "utility", "policy.toml", "release", "--original", "visits.csv", "--target", "ill", "--splits", "2",
        "--learner", "forest",
    )["model"]  # fmt: skip
    wanted = ix.model_utility("visits.csv", "policy.toml", "ill", learner="forest", algorithm="mondrian", splits=2)
    assert said["original"] == list(wanted.original)
    assert len(said["release"]) == 2
