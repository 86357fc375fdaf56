"""Regressions: against statsmodels on the original and, where labels are values, on the release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import indistinct as ix
from helpers.commands import answer
from helpers.profiles import cases
from indistinct.data_utility.regression import Regression
from indistinct.data_utility.regression.coefficient_pairs import interval_overlap
from indistinct.data_utility.regression.newton import fit

sm = pytest.importorskip("statsmodels.api")
SEEDS = cases(range(10), 0, 1)
FAMILIES = {"linear": sm.families.Gaussian(), "logistic": sm.families.Binomial(), "poisson": sm.families.Poisson()}


def drawn(seed, rows=300, **more):
    """Return random rows in which the outcomes depend on age and sex."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, rows), "sex": rng.choice(["f", "m"], rows, p=[0.6, 0.4])})
    linear = 0.02 * (frame.age - 50) + 0.5 * (frame.sex == "m")
    frame["paid"] = np.round(100 * linear + rng.normal(0, 30, rows), 1)
    frame["ill"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-linear)), "yes", "no")
    frame["visits"] = rng.poisson(np.exp(linear))
    return frame


def as_policy(k=1, **more):
    quasi = {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress())}
    rest = {name: ix.other() for name in ("paid", "ill", "visits")}
    return ix.Policy({**quasi, **rest}, [ix.KAnonymity(k)], **more)


def by_statsmodels(frame, outcome, family, **how):
    x = pd.DataFrame({"(constant)": 1.0, "age": frame.age, "sex=m": (frame.sex == "m").astype(float)})
    return sm.GLM(frame[outcome], x, FAMILIES[family]).fit(**how)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("formula", "family"),
    [("paid ~ age + sex", "linear"), ("ill ~ age + sex", "logistic"), ("poisson: visits ~ age + sex", "poisson")],
)
def test_coefficients_and_errors_are_those_of_statsmodels(seed, formula, family):
    before, after = drawn(seed), drawn(seed + 100)
    found = ix.utility(after, before, as_policy(), regressions=[formula]).regressions[0]
    assert found.family == family
    for frame, estimate, error in ((before, "before", "error_before"), (after, "after", "error_after")):
        frame = frame.assign(ill=(frame.ill == "yes").astype(float))
        wanted = by_statsmodels(frame, Regression.parse(formula).outcome, family)
        for one in found.coefficients:
            assert getattr(one, estimate) == pytest.approx(wanted.params[one.term], rel=1e-4, abs=1e-6)
            assert getattr(one, error) == pytest.approx(wanted.bse[one.term], rel=1e-3)
    for one in found.coefficients:
        low, high = one.before - 1.959964 * one.error_before, one.before + 1.959964 * one.error_before
        start, end = one.after - 1.959964 * one.error_after, one.after + 1.959964 * one.error_after
        shared = min(high, end) - max(low, start)
        assert one.overlap == pytest.approx((shared / (high - low) + shared / (end - start)) / 2, rel=1e-4)
        assert one.standardised_difference == pytest.approx((one.after - one.before) / one.error_before)
        is_clear = [low > 0 or high < 0, start > 0 or end < 0]
        assert one.keeps_sign == (one.before * one.after > 0)
        assert one.keeps_significance == (is_clear[0] == is_clear[1] and (not is_clear[0] or one.keeps_sign))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_errors_of_people_with_several_rows_are_those_of_statsmodels(seed, family):
    frame = drawn(seed)
    y = {"linear": frame.paid, "logistic": (frame.ill == "yes").astype(float), "poisson": frame.visits}[family]
    people = np.random.default_rng(seed).integers(0, 60, len(frame))
    x = np.column_stack([np.ones(len(frame)), frame.age, frame.sex == "m"]).astype(float)
    found = fit(x, y.to_numpy(float), family, people)
    wanted = sm.GLM(y, x, FAMILIES[family]).fit(cov_type="cluster", cov_kwds={"groups": people}, tol=1e-12)
    assert found.coefficients == pytest.approx(np.asarray(wanted.params), rel=1e-6)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.asarray(wanted.bse), rel=1e-6)


def test_the_original_of_several_rows_a_person_has_robust_errors():
    frame = pd.concat([drawn(1).assign(who=range(300))] * 2)
    found = ix.utility(frame.drop(columns="who"), frame, as_policy(person="who"), regressions=["paid ~ age + sex"])
    regression = found.regressions[0]
    assert (regression.clusters_before, regression.clusters_after) == (300, None)
    assert regression.notes
    own = drawn(1)
    wanted = by_statsmodels(pd.concat([own, own]), "paid", "linear")
    for one in regression.coefficients:
        assert one.error_after == pytest.approx(wanted.bse[one.term], rel=1e-6)
        assert one.error_before > 1.2 * one.error_after


@pytest.mark.parametrize("formula", ["paid ~ age + sex", "ill=no ~ age", "poisson: visits ~ sex"])
def test_an_untouched_table_has_the_same_coefficients(formula):
    frame = drawn(3)
    found = ix.utility(frame, frame, as_policy(), regressions=[formula]).regressions[0]
    assert found.overlap == pytest.approx(1)
    assert found.disjoint == 0
    assert found.signs_kept == found.significances_kept == len(found.coefficients) - 1


def test_a_label_counts_as_the_mean_of_what_it_stands_for():
    frame = drawn(4)
    release = ix.anonymize(frame, as_policy(4), algorithm=ix.Regroup(labels="ranges"))
    found = ix.utility(release, frame, regressions=["paid ~ age + sex"]).regressions[0]
    spread = ix.decode(release, "spread").to_pandas()
    wanted = sm.OLS(spread.paid, sm.add_constant(pd.DataFrame({"age": spread.age, "m": weight_of(spread, "m")}))).fit()
    assert [one.after for one in found.coefficients] == pytest.approx(list(wanted.params), rel=1e-4)
    assert found.overlap > 0.8


def weight_of(spread, value):
    return spread[f"sex={value}"] if f"sex={value}" in spread else (spread.sex == value).astype(float)


def test_a_suppressed_column_has_no_coefficient():
    frame = drawn(5)
    found = ix.utility(frame.assign(age="*"), frame, as_policy(), regressions=["paid ~ age + sex"]).regressions[0]
    by_term = {one.term: one for one in found.coefficients}
    assert by_term["age"].after is None
    assert by_term["age"].to_dict()["overlap"] is None
    assert not by_term["age"].keeps_sign
    assert by_term["sex=m"].after is not None
    assert found.disjoint == 1


def test_a_term_that_tells_the_outcome_is_left_out():
    frame = drawn(6)
    frame.loc[:5, "sex"], frame.loc[:5, "ill"] = "x", "yes"
    found = ix.utility(frame, frame, as_policy(), regressions=["ill ~ age + sex"]).regressions[0]
    assert [one.term for one in found.coefficients] == ["(constant)", "age", "sex=m"]
    assert found.notes


def test_overlaps_are_shares_of_both_intervals():
    assert interval_overlap((0, 1), (0, 4)) == 0.625
    assert interval_overlap((0, 4), (5, 6)) == pytest.approx((-1 / 4 - 1) / 2)


@pytest.mark.parametrize(
    "formula",
    ["paid", "paid ~", "~ age", "paid ~ age + age", "paid ~ paid", "paid=3 ~ age", "logistic: visits ~ age",
     "linear: ill ~ age", "ill=maybe ~ age", "poisson: paid ~ age", "gone ~ age"],
)  # fmt: skip
def test_what_is_no_regression_is_refused(formula):
    with pytest.raises(ix.PolicyError):
        ix.utility(drawn(1), drawn(1), as_policy(), regressions=[formula])


def test_formulas_are_read():
    assert Regression.parse("logistic: `a ~ b`=x=y ~ c + `d + e`") == Regression(
        "a ~ b", ("c", "d + e"), "logistic", "x=y"
    )
    assert str(Regression.parse("poisson:n~a+b")) == "poisson: n ~ a + b"


def test_the_command_takes_regressions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = drawn(7, 60)
    frame.to_csv("visits.csv", index=False)
    (tmp_path / "policy.toml").write_text(ix.policy_toml(as_policy(3, max_suppression=0.2)))
    answer("anonymize", "policy.toml", "visits.csv", "-o", "release", "--algorithm", "mondrian")
    said = answer("utility", "policy.toml", "release", "--original", "visits.csv", "--regression", "paid ~ age + sex")
    found = ix.utility("release", "visits.csv", "policy.toml", regressions=["paid ~ age + sex"])
    assert said["regressions"][0]["overlap"] == pytest.approx(found.regressions[0].overlap)
