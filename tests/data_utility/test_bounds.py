"""Sound answers: against all originals of small tables, one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer
from helpers.profiles import examples
from indistinct.data_utility.sound_answers import BoundsQuery

AGES: dict[str, list] = {"0": [0], "2": [2], "3": [3], "[0, 1]": [0, 1], "[1, 3]": [1, 2, 3], "*": [0, 1, 2, 3, None]}
SEXES = {"f": ["f"], "m": ["m"], "{f, m}": ["f", "m"], "{m, x}": ["m", "x"], "*": ["f", "m", "x", "y", None]}
PAID = {str(number): [number] for number in range(3)}
LABELS: dict[str, Any] = {"age": AGES, "sex": SEXES, "paid": PAID}
ROWS = st.lists(st.tuples(*(st.sampled_from(sorted(own)) for own in LABELS.values())), min_size=1, max_size=3)
QUERIES = {
    "count": lambda rows: len(rows),
    "count where sex=f": lambda rows: sum(sex == "f" for _, sex, _ in rows),
    "count where sex!=f and age>=1": lambda rows: sum(
        sex not in ("f", None) and age is not None and age >= 1 for age, sex, _ in rows
    ),
    "mean(age)": lambda rows: mean([age for age, *_ in rows if age is not None]),
    "mean(age) where age<3": lambda rows: mean([age for age, *_ in rows if age is not None and age < 3]),
    "mean(paid) where sex=f": lambda rows: mean([paid for _, sex, paid in rows if sex == "f"]),
    "mean(age) where sex=m and paid>0": lambda rows: mean(
        [age for age, sex, paid in rows if sex == "m" and paid > 0 and age is not None]
    ),
    "rate(age=1)": lambda rows: mean([age == 1 for age, *_ in rows if age is not None]),
    "rate(age>=2) where sex=m": lambda rows: mean([age >= 2 for age, sex, _ in rows if sex == "m" and age is not None]),
    "rate(sex=m) where paid<=1": lambda rows: mean(
        [sex == "m" for _, sex, paid in rows if sex is not None and paid <= 1]
    ),
    "rate(sex!=m) where sex!=f": lambda rows: mean([sex != "m" for _, sex, _ in rows if sex not in ("f", None)]),
}
POLICY = ix.Policy(
    {"age": ix.quasi(ix.intervals(2, 4)), "sex": ix.quasi(ix.suppress()), "paid": ix.other()}, [ix.KAnonymity(1)]
)


def mean(values):
    return sum(values) / len(values) if values else None


def asked(rows, query):
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(LABELS)})
    return ix.bounds(table, query, POLICY, between={"age": (0, 3)}, whole=["age"])


def originals(rows):
    """Return every table that released rows could stem from."""
    kinds = [
        list(itertools.product(*(own[label] for own, label in zip(LABELS.values(), row, strict=True)))) for row in rows
    ]
    return itertools.product(*kinds)


def check(found, truth, has_undefined):
    """Compare an answer with all answers that there are."""
    if not truth:  # nothing to hold for
        assert not found.is_tight or (found.low, found.high) == (None, None)
        return
    assert found.low <= min(truth) + 1e-9
    assert found.high >= max(truth) - 1e-9
    if found.is_tight:
        assert found.low == pytest.approx(min(truth))
        assert found.high == pytest.approx(max(truth))
    assert found.may_be_undefined or not has_undefined


@examples(120, opens_tables=True)
@given(ROWS, st.sampled_from(sorted(QUERIES)))
def test_answers_are_the_least_and_the_greatest_of_all_originals(rows, query):
    truth = [QUERIES[query](original) for original in originals(rows)]
    (found,) = asked(rows, query).answers
    assert found.is_tight
    check(found, [one for one in truth if one is not None], None in truth)


@examples(120, opens_tables=True)
@given(
    ROWS,
    st.sampled_from(["mean(paid) by sex", "mean(age) by sex", "rate(age>=2) by sex", "mean(age) where paid>0 by sex"]),
)
def test_groups_and_their_differences_hold_for_all_originals(rows, query):
    found = asked(rows, query)
    truth = {one.group: [] for one in (*found.answers, *found.differences)}
    undefined = set()
    for original in originals(rows):
        kept = [row for row in original if "paid>0" not in query or row[2] > 0]
        means = {}
        for group in {one.group for one in found.answers}:
            own = [paid if "paid)" in query else age for age, sex, paid in kept if sex == group]
            own = [one for one in own if one is not None]
            means[group] = mean([one >= 2 for one in own] if "rate" in query else own)
        for name, answers in truth.items():
            one, _, two = name.partition(" − ")
            value = means[one] if not two else None if None in (means[one], means[two]) else means[one] - means[two]
            if value is None:
                undefined.add(name)
            else:
                answers.append(value)
    for one in (*found.answers, *found.differences):
        check(one, truth[one.group], one.group in undefined)


def test_a_difference_with_rows_in_doubt_is_tight_where_each_is_in_one_of_both():
    rows = [("0", "f", "0"), ("3", "m", "0"), ("[1, 3]", "{f, m}", "0")]
    (difference,) = asked(rows, "mean(age) by sex").differences
    assert difference.is_tight
    truth = []
    for original in originals(rows):
        means = [mean([age for age, sex, _ in original if sex == one]) for one in "fm"]
        truth.append(means[0] - means[1])
    assert (difference.low, difference.high) == (min(truth), max(truth))


@examples(30, opens_tables=True)
@given(
    st.lists(st.tuples(st.sampled_from(["0", "2", "[0, 1]", "[1, 3]"]), st.sampled_from("abc")), min_size=4, max_size=6)
)
def test_coefficients_are_the_least_and_the_greatest_of_all_originals(rows):
    table = pa.table({"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]})
    found = ix.bounds(table, "linear(age ~ sex)", POLICY, whole=["age"]).answers
    x = np.column_stack(
        [np.ones(len(rows)), *([sex == one for _, sex in rows] for one in sorted({s for _, s in rows})[1:])]
    )
    truth = [
        np.linalg.lstsq(x.astype(float), np.array(ages, float), rcond=None)[0]
        for ages in itertools.product(*[AGES[age] for age, _ in rows])
    ]
    assert [one.low for one in found] == pytest.approx(np.min(truth, axis=0), abs=1e-9)
    assert [one.high for one in found] == pytest.approx(np.max(truth, axis=0), abs=1e-9)


SURE = [
    ("0", "f", 1),
    ("9", "f", 4),
    ("2", "m", 2),
    ("8", "m", 9),
    ("5", "m", 3),
    ("4", "f", 0),
    ("1", "m", 4),
    ("9", "m", 7),
]
DOUBTFUL = st.tuples(
    st.sampled_from(["3", "[2, 4]", "[8, 9]", "*"]), st.sampled_from(["f", "m", "{f, m}", "*"]), st.integers(0, 9)
)


@examples(60, opens_tables=True)
@given(
    st.lists(DOUBTFUL, max_size=2), st.sampled_from(["age", "sex", "age + sex"]), st.sampled_from(["", " where sex=m"])
)
def test_models_of_generalized_predictors_hold_for_all_originals(rows, predictors, where):
    cells: dict[str, list[Any]] = {"3": [3], "[2, 4]": [2, 3, 4], "[8, 9]": [8, 9]}
    cells |= {"f": ["f"], "m": ["m"], "{f, m}": ["f", "m"]}
    anything: dict[str, Any] = {"age": [None, *range(10)], "sex": [None, "f", "m"]}
    query = f"linear(paid ~ {predictors}){where if predictors == 'age' else ''}"
    table = pa.table(dict(zip(("age", "sex", "paid"), zip(*SURE, *rows, strict=True), strict=True)))
    found = ix.bounds(table, query, POLICY, between={"age": (0, 9), "sex": ["f", "m"]}).answers
    truth = []
    for doubtful in itertools.product(
        *(
            itertools.product(cells.get(age, anything["age"]), cells.get(sex, anything["sex"]), [paid])
            for age, sex, paid in rows
        )
    ):
        whole = [(int(age), sex, paid) for age, sex, paid in SURE] + list(doubtful)
        whole = [
            row for row in whole if ("age" not in predictors or row[0] is not None) and (predictors == "age" or row[1])
        ]
        whole = [row for row in whole if "where" not in query or row[1] == "m"]
        features = {"age": [row[0] for row in whole], "sex": [row[1] == "m" for row in whole]}
        x = np.column_stack([np.ones(len(whole)), *(features[one] for one in predictors.split(" + "))]).astype(float)
        truth.append(np.linalg.lstsq(x, np.array([row[2] for row in whole], float), rcond=None)[0])
    least, most = np.min(truth, axis=0), np.max(truth, axis=0)
    for one, low, high in zip(found, least, most, strict=True):
        assert one.low is None or (one.low <= low + 1e-9 and one.high >= high - 1e-9)
        if one.reached is not None:
            assert low - 1e-9 <= one.reached[0] <= one.reached[1] <= high + 1e-9
        assert not one.is_tight or (one.low, one.high) == (pytest.approx(low), pytest.approx(high))
    if not any("*" in row for row in rows):
        assert all(one.low is not None for one in found)


def test_a_model_that_some_original_does_not_have_is_without_bounds():
    found = ix.bounds(
        pa.table({"age": ["[1, 3]", "[1, 3]", "2"], "sex": list("fmf"), "paid": [1, 2, 3]}),
        "linear(paid ~ age)",
        POLICY,
    )
    assert [(one.low, one.may_be_undefined) for one in found.answers] == [(None, True)] * 2
    assert found.is_wide


def test_rows_that_were_left_out_may_be_anything():
    frame = pd.DataFrame({"age": [1, 1, 1, 50], "sex": ["f"] * 4, "paid": [1, 2, 3, 4]})
    policy = ix.Policy({**POLICY.columns, "age": ix.quasi(ix.keep())}, [ix.KAnonymity(3)], max_suppression=1)
    release = ix.anonymize(frame, policy)
    asked = {"with_left_out": True, "between": {"age": (0, 99), "sex": ["f", "m"]}}
    (mean,) = ix.bounds(release, "mean(age)", **asked).answers
    assert (mean.low, mean.high) == (3 / 4, 102 / 4)
    (rows,) = ix.bounds(release, "count where sex=f", **asked).answers
    assert (rows.low, rows.high) == (3, 4)
    with pytest.raises(ix.PolicyError):
        ix.bounds(frame, "count", policy, with_left_out=True)


@pytest.mark.parametrize("algorithm", ["mondrian", "regroup", "lattice", ix.Regroup(labels="ranges")])
def test_what_is_true_of_the_original_lies_inside(algorithm):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 60, 300), "sex": rng.choice(["f", "m"], 300)})
    frame["paid"] = rng.normal(frame.age, 20).round(2)
    release = ix.anonymize(frame, policy_of(4), algorithm=algorithm)
    by_sex = {one.group: one for one in ix.bounds(release, "mean(age) by sex").answers}
    for sex, own in frame.groupby("sex"):
        inside(by_sex[sex], own.age.mean())
        inside(ix.bounds(release, f"mean(paid) where sex={sex} and age>=30").answers[0], own[own.age >= 30].paid.mean())
        inside(ix.bounds(release, f"rate(age<20) where sex={sex}").answers[0], (own.age < 20).mean())
    inside(ix.bounds(release, "mean(paid)").answers[0], frame.paid.mean())


def policy_of(k):
    return ix.Policy(
        {"age": ix.quasi(ix.intervals(5, 10, 20)), "sex": ix.quasi(ix.suppress()), "paid": ix.other()},
        [ix.KAnonymity(k)],
    )


def inside(found, truth):
    assert -math.inf if found.low is None else found.low <= truth + 1e-9
    assert math.inf if found.high is None else found.high >= truth - 1e-9


def test_open_labels_have_open_answers():
    found = ix.bounds(pa.table({"age": ["*", "2"], "sex": ["f", "m"], "paid": ["1", "1"]}), "mean(age)", POLICY)
    assert (found.answers[0].low, found.answers[0].high) == (None, None)


def test_columns_whose_cells_say_nothing_sure_are_refused(tmp_path):
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"], "paid": [1, 2, 3, 4]})
    tree = ix.quasi(ix.tree({"*": {"p": ["f", "m"]}}))
    altered = ix.other(perturb=ix.Noise(1))
    policy = ix.Policy({"age": ix.quasi(ix.intervals(2, 4)), "sex": tree, "paid": altered}, [ix.KAnonymity(4)])
    ix.anonymize(frame, policy).write(tmp_path / "release")
    assert ix.bounds(tmp_path / "release", "rate(sex=f)", policy).answers[0].high == 1
    for query, known in (("rate(sex=f)", None), ("mean(paid)", policy), ("mean(paid)", None)):
        with pytest.raises(ix.PolicyError):
            ix.bounds(tmp_path / "release", query, known)
    with pytest.raises(ix.PolicyError):
        ix.bounds(frame, "mean(age)")


def test_left_out_rows_are_said():
    frame = pd.DataFrame({"age": [1, 1, 1, 50], "sex": ["f"] * 4, "paid": [1, 2, 3, 4]})
    policy = ix.Policy({**POLICY.columns, "age": ix.quasi(ix.keep())}, [ix.KAnonymity(3)], max_suppression=1)
    found = ix.bounds(ix.anonymize(frame, policy), "count")
    assert (found.rows, found.left_out, found.answers[0].high) == (3, 1, 3)


@pytest.mark.parametrize(
    "query",
    ["", "median(age)", "mean()", "mean(sex)", "mean(gone)", "count(age)", "rate(age)", "mean(age) by age",
     "rate(age!=2)", "count where sex>f", "linear(paid ~ sex)", "linear(paid)", "linear(age ~ sex) by sex",
     "count where age=x"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(query):
    with pytest.raises(ix.PolicyError):
        asked([("[1, 3]", "f", "1"), ("2", "*", "1")], query)
    with pytest.raises(ix.PolicyError):
        ix.bounds(pa.table({"age": ["3"], "sex": ["f"], "paid": ["1"]}), "mean(age)", POLICY, between={"age": (0, 2)})


@pytest.mark.parametrize("between", [{"age": ["2", "3"]}, {"sex": ["x"]}, {"sex": (0, 1)}, {"paid": ["1"]}])
def test_what_cannot_be_possible_is_refused(between):
    with pytest.raises(ix.PolicyError):
        ix.bounds(
            pa.table({"age": ["[1, 3]"], "sex": ["f"], "paid": ["1"]}),
            "mean(paid) where sex=f and age<2",
            POLICY,
            between=between,
        )


def test_queries_are_read():
    found = BoundsQuery.parse("rate(`my ill`=flu) where `a b`!=x and age<3 by sex")
    assert (found.hit.column, found.hit.value, found.where[0].column, found.by) == ("my ill", "flu", "a b", "sex")
    for quoted in ("'flu'", '"flu"', "`flu`"):  # as SQL and Python write it: else no cell is equal, and every rate 0
        assert BoundsQuery.parse(f"rate(ill = {quoted}) where sex != {quoted}").hit.value == "flu"
        assert BoundsQuery.parse(f"rate(ill = {quoted}) where sex != {quoted}").where[0].value == "flu"
    assert BoundsQuery.parse("rate(ill = it's)").hit.value == "it's"


def test_the_command_gives_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa_table = {"age": ["[0, 3]", "2"], "sex": ["f", "{f, m}"], "paid": [1, 2]}
    pd.DataFrame(pa_table).to_csv("release.csv", index=False)
    (tmp_path / "policy.toml").write_text(ix.policy_toml(POLICY))
    options = ("--policy", "policy.toml", "--whole", "age", "--between", "age=0:3")
    said = answer("bounds", "release.csv", "mean(age) by sex", *options)
    found = ix.bounds("release.csv", "mean(age) by sex", "policy.toml", whole=["age"], between={"age": (0, 3)})
    assert [one["high"] for one in said["answers"]] == [one.high for one in found.answers]
    assert [one.high for one in found.answers] == [3, 2]
