"""Regressions: against statsmodels on the original and, where labels are values, on the release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import indistinct as ix
from helpers.commands import answer
from helpers.optional_modules import optional_module
from helpers.profiles import cases
from indistinct.data_utility.regression import Regression
from indistinct.data_utility.regression.coefficient_pairs import interval_overlap
from indistinct.data_utility.regression.cox import fit_cox
from indistinct.data_utility.regression.newton import fit

sm = optional_module("statsmodels.api")
SEEDS = cases(range(10), 0, 1)
FAMILIES = {"linear": "Gaussian", "logistic": "Binomial", "poisson": "Poisson"}
"""What statsmodels calls them."""


def drawn(seed, rows=300, **more):
    """Return random rows in which the outcomes depend on age and sex."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, rows), "sex": rng.choice(["f", "m"], rows, p=[0.6, 0.4])})
    linear = 0.02 * (frame.age - 50) + 0.5 * (frame.sex == "m")
    frame["paid"] = np.round(100 * linear + rng.normal(0, 30, rows), 1)
    frame["ill"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-linear)), "yes", "no")
    frame["visits"] = rng.poisson(np.exp(linear))
    frame["days"] = np.ceil(rng.exponential(10 * np.exp(-linear)))
    frame["died"] = np.where(rng.random(rows) < 0.7, "yes", "no")
    return frame


def as_policy(k=1, **more):
    quasi = {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress())}
    rest = {name: ix.other() for name in ("paid", "ill", "visits", "days", "died")}
    return ix.Policy({**quasi, **rest}, [ix.KAnonymity(k)], **more)


def family_of(name):
    return getattr(sm.families, FAMILIES[name])()


def by_statsmodels(frame, outcome, family, **how):
    x = pd.DataFrame({"(constant)": 1.0, "age": frame.age, "sex=m": (frame.sex == "m").astype(float)})
    return sm.GLM(frame[outcome], x, family_of(family)).fit(**how)


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
    wanted = sm.GLM(y, x, family_of(family)).fit(cov_type="cluster", cov_kwds={"groups": people}, tol=1e-12)
    assert found.coefficients == pytest.approx(np.asarray(wanted.params), rel=1e-6)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.asarray(wanted.bse), rel=1e-6)


def hazards(frame, ties="efron"):
    design = np.column_stack([frame.age, frame.sex == "m"]).astype(float)
    return sm.PHReg(frame.days, design, status=(frame.died == "yes").astype(float), ties=ties)


@pytest.mark.parametrize("seed", SEEDS)
def test_hazard_ratios_and_their_errors_are_those_of_statsmodels(seed):
    before, after = drawn(seed), drawn(seed + 100)
    (found,) = ix.utility(after, before, as_policy(), regressions=["cox: days + died=yes ~ age + sex"]).regressions
    assert [one.term for one in found.coefficients] == ["age", "sex=m"]
    for frame, estimate, error in ((before, "before", "error_before"), (after, "after", "error_after")):
        wanted = hazards(frame).fit(disp=0)
        assert [getattr(one, estimate) for one in found.coefficients] == pytest.approx(list(wanted.params), rel=1e-6)
        assert [getattr(one, error) for one in found.coefficients] == pytest.approx(list(wanted.bse), rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_hazard_ratios_of_people_with_several_rows_have_the_errors_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    frame = drawn(seed).assign(days=rng.exponential(10, 300))  # without ties: there statsmodels follows Breslow
    people = rng.integers(0, 60, len(frame))
    model = hazards(frame, "breslow")
    found = fit_cox(model.exog, frame.days.to_numpy(), model.status, people)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(model.fit(groups=people, disp=0).bse, rel=1e-6)


def test_an_event_that_is_half_likely_counts_half():
    """Maximized by hand: with two rows the partial likelihood has one term for each event."""
    x, time = np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    found = fit_cox(x, time, np.array([0.5, 1.0, 0.0, 1.0]))
    grid = np.linspace(-3, 3, 60_001)
    risk = np.exp(grid)
    by_hand = 0.5 * (grid - np.log(2 * risk + 2)) - np.log(risk + 2)
    assert found.coefficients[0] == pytest.approx(grid[by_hand.argmax()], abs=1e-4)


def test_a_column_of_ones_and_zeros_may_say_the_event_or_nobody_does():
    frame = drawn(2)
    as_numbers = frame.assign(died=(frame.died == "yes").astype(int))
    found = [
        ix.utility(table, table, as_policy(), regressions=[formula]).regressions[0].coefficients[0].before
        for table, formula in (
            (frame, "cox: days + died ~ age"),
            (as_numbers, "cox: days + died ~ age"),
            (frame.assign(died="yes"), "cox: days + died=yes ~ age"),
            (frame, "cox: days ~ age"),
        )
    ]
    assert found[0] == found[1] != found[2] == found[3]


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


def test_what_a_regression_leaves_out_is_said():
    frame = drawn(7).assign(paid=lambda own: own.paid.where(own.index > 4), died="no", years=lambda own: 2 * own.age)
    policy = ix.Policy({**as_policy().columns, "years": ix.other()}, [ix.KAnonymity(1)])
    (found,) = ix.utility(frame, frame, policy, regressions=["paid ~ age + years + died"]).regressions
    assert (found.rows_before, found.rows_after, len(found.coefficients)) == (295, 295, 2)
    missing, dependent, constant = found.notes
    assert "5 rows" in missing
    assert "1 term" in dependent
    assert "died" in constant
    (alone,) = ix.utility(frame, frame, policy, regressions=["paid ~ died"]).regressions
    assert alone.overlap is None


def test_overlaps_are_shares_of_both_intervals():
    assert interval_overlap((0, 1), (0, 4)) == 0.625
    assert interval_overlap((0, 4), (5, 6)) == pytest.approx((-1 / 4 - 1) / 2)


@pytest.mark.parametrize(
    "formula",
    ["paid", "paid ~", "~ age", "paid ~ age + age", "paid ~ paid", "paid=3 ~ age", "logistic: visits ~ age",
     "linear: ill ~ age", "ill=maybe ~ age", "poisson: paid ~ age", "gone ~ age",
     "cox: paid + died ~ age", "cox: died + died ~ age", "cox: days + visits ~ age", "cox: days=3 ~ age",
     "cox: sex ~ age", "one ~ age", "days + died ~ age", "cox: days + died=maybe ~ age"],
)  # fmt: skip
def test_what_is_no_regression_is_refused(formula):
    frame = drawn(1).assign(one="x")
    policy = ix.Policy({**as_policy().columns, "one": ix.other()}, [ix.KAnonymity(1)])
    with pytest.raises(ix.PolicyError):
        ix.utility(frame, frame, policy, regressions=[formula])


def test_formulas_are_read():
    assert Regression.parse("logistic: `a ~ b`=x=y ~ c + `d + e`") == Regression(
        "a ~ b", ("c", "d + e"), "logistic", "x=y"
    )
    assert Regression.parse("cox: `a + b` + died=x ~ c") == Regression("a + b", ("c",), "cox", "x", "died")
    assert str(Regression.parse("cox: days+died=x ~ c")) == "cox: days + died=x ~ c"
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
