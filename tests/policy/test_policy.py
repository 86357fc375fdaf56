"""Policy: frozen descriptions that refuse nonsense, every mistake at once."""

from __future__ import annotations

import dataclasses
import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from indistinct.policy import suppression_in_rows

AGE = ix.intervals(5, 10)


def policy(**changes):
    given = {
        "columns": {
            "name": ix.identifier(),
            "age": ix.quasi(AGE),
            "sex": ix.quasi(ix.suppress()),
            "ill": ix.sensitive(),
            "cost": ix.other(),
        },
        "privacy": [ix.KAnonymity(2)],
    }
    return ix.Policy(**given | changes)


def mistakes(**changes):
    with pytest.raises(ix.PolicyError) as caught:
        policy(**changes)
    return caught.value.mistakes


def test_a_policy_knows_its_columns_by_role():
    assert policy().quasi == ("age", "sex")
    assert policy().with_role("quasi", "sensitive", "other") == ("age", "sex", "ill", "cost")
    assert policy().with_role("identifier") == ("name",)


def test_a_policy_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy().max_suppression = 1
    with pytest.raises(TypeError):
        policy().columns["more"] = ix.other()
    with pytest.raises(TypeError):
        policy().quasi_identifiers["more"] = ("age",)


def test_a_policy_does_not_follow_later_changes_of_what_it_was_made_from():
    columns = {"age": ix.quasi(AGE)}
    privacy = [ix.KAnonymity(2)]
    made = ix.Policy(columns=columns, privacy=privacy)
    columns["more"] = ix.other()
    privacy.clear()
    assert list(made.columns) == ["age"]
    assert made.privacy == (ix.KAnonymity(2),)


def test_equal_policies_are_equal():
    assert policy() == policy()
    assert policy() != policy(max_suppression=3)
    assert policy(privacy=[ix.KAnonymity(3)]) != policy()


def test_every_mistake_is_reported_at_once():
    found = mistakes(
        columns={"age": ix.other(), "sex": "quasi"},
        privacy=[],
        max_suppression=1.5,
        suppressed_rows="hide",
        eligible=[ix.where("height", "present"), "age > 3"],
    )
    assert len(found) == 7
    for words in (
        "columns.sex: use identifier(), quasi(), sensitive(), other() or drop()",
        "no quasi column",
        "privacy: no model",
        "max_suppression: must be a share",
        "suppressed_rows: must be 'remove' or 'blank'",
        "column 'height' is not declared",
        "use where(column, op, value), not str",
    ):
        assert any(words in mistake for mistake in found), words


def test_one_mistake_is_reported_as_it_is_and_several_as_a_list():
    with pytest.raises(ix.PolicyError, match=r"^privacy: no model"):
        policy(privacy=[])
    with pytest.raises(ix.PolicyError, match=r"^2 mistakes in the policy:"):
        policy(privacy=[], max_suppression=-1)


@pytest.mark.parametrize("value", [-1, 1.5, -0.1, 150.0, "2 %", True, False, float("nan"), float("inf"), [1]])
def test_a_suppression_limit_that_is_none_is_refused(value):
    assert any("max_suppression" in mistake for mistake in mistakes(max_suppression=value))


@pytest.mark.parametrize("value", [None, 0, 1, 5, 10**9, 0.0, 0.02, 1.0])
def test_a_suppression_limit_is_a_share_or_a_number(value):
    assert policy(max_suppression=value).max_suppression == value


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_share_of_the_rows_is_not_rounded_up_nor_down_by_floating_point(parts, rows):
    """0.29 of 100 rows is 29 rows, although 0.29 * 100 is 28.999999999999996."""
    share = parts / 10**6
    assert suppression_in_rows(share, rows) == parts * rows // 10**6


def test_a_number_of_rows_is_at_most_all_rows():
    assert suppression_in_rows(7, 5) == 5
    assert suppression_in_rows(None, 5) == 0
    assert suppression_in_rows(1, 5) == 1
    assert suppression_in_rows(1.0, 5) == 5


@pytest.mark.parametrize("k", [0, -1, "five", 2.5, 2.0, True, None, float("nan")])
def test_k_is_a_whole_number_of_at_least_one(k):
    with pytest.raises(ix.PolicyError, match="k must be a whole number of at least 1"):
        ix.KAnonymity(k)


@pytest.mark.parametrize("level", [-0.1, 1.1, float("nan")])
def test_an_anonymity_level_lies_between_0_and_1(level):
    with pytest.raises(ix.PolicyError, match="between 0 and 1"):
        ix.KAnonymity.at_level(level, 1000)


def test_the_lowest_anonymity_level_asks_for_nothing():
    assert ix.KAnonymity.at_level(0, 54_805).k == 1
    assert ix.KAnonymity.at_level(0.1, 54_805).k == 1


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), True, "2"])
def test_a_weight_is_a_positive_number(weight):
    with pytest.raises(ix.PolicyError, match="weight must be a positive number"):
        ix.quasi(AGE, weight=weight)


def test_a_column_refuses_what_is_no_hierarchy():
    with pytest.raises(ix.PolicyError, match="hierarchy must be made by"):
        ix.quasi("race.csv")
    with pytest.raises(ix.PolicyError, match="missing must be"):
        ix.quasi(AGE, missing="drop")


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"patient": ["age"]}, "quasi column 'sex' is in none of them"),
        ({"patient": ["age", "sex", "ill"]}, "'ill' is not a quasi column"),
        ({"patient": "age", "rest": ["sex", "age"]}, "must be a list of quasi columns"),
        ({"patient": [], "rest": ["sex", "age"]}, "must be a list of quasi columns"),
    ],
)
def test_named_quasi_identifiers_hold_quasi_columns_and_cover_them_all(named, words):
    assert any(words in mistake for mistake in mistakes(quasi_identifiers=named))


@pytest.mark.parametrize("named", [{"patient": None}, {"patient": 5}, {"patient": [["age"], "sex"]}])
def test_named_quasi_identifiers_of_a_wrong_type_are_a_mistake_and_no_crash(named):
    assert mistakes(quasi_identifiers=named)


def test_a_model_names_a_quasi_identifier_that_exists():
    assert "refers to quasi-identifier 'doctor', which does not exist" in " ".join(
        mistakes(privacy=[ix.KAnonymity(2, on="doctor")])
    )


def test_requirements_are_every_model_on_every_quasi_identifier_it_protects():
    made = policy(
        quasi_identifiers={"patient": ["age", "sex"], "doctor": ["sex"]},
        privacy=[ix.KAnonymity(2), ix.KAnonymity(5, on="doctor")],
    )
    assert made.requirements() == [
        ("patient", ("age", "sex"), ix.KAnonymity(2)),
        ("doctor", ("sex",), ix.KAnonymity(2)),
        ("doctor", ("sex",), ix.KAnonymity(5, on="doctor")),
    ]


def test_a_table_must_have_the_declared_columns_and_no_others():
    with pytest.raises(ix.PolicyError) as caught:
        policy().check(["name", "agee", "sex", "ill", "phone"])
    assert len(caught.value.mistakes) == 4
    text = str(caught.value)
    assert "columns.age: the table has no such column; did you mean 'agee'?" in text
    assert "columns.cost: the table has no such column" in text
    assert "column 'phone' of the table is not declared" in text
    assert "column 'agee' of the table is not declared" in text


# Which rows are eligible.

PEOPLE = pa.table(
    {
        "name": ["Ann", "Bob", "Cy", "Dee", "Eve", None],
        "age": ["9", "30", "31", "100", None, "35"],
        "sex": ["f", "m", "m", "f", "f", "m"],
        "ill": ["flu", "flu", "gout", "", "flu", "gout"],
        "cost": ["2020-01-05", "2021-01-05", "2021-06-30", "2022-01-01", "2022-02-02", "x"],
    }
)


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ([], [0, 1, 2, 3, 4, 5]),
        ([("age", ">=", 30)], [1, 2, 3, 5]),
        ([("age", "<", 30)], [0]),
        ([("age", ">", "30")], [0, 2, 5]),
        ([("age", "==", 30)], [1]),
        ([("age", "!=", 30)], [0, 2, 3, 5]),
        ([("age", "present", None)], [0, 1, 2, 3, 5]),
        ([("age", "missing", None)], [4]),
        ([("ill", "missing", None)], [3]),
        ([("name", "missing", None)], [5]),
        ([("ill", "==", "flu")], [0, 1, 4]),
        ([("ill", "!=", "flu")], [2, 5]),
        ([("ill", "in", ["gout", "flu"])], [0, 1, 2, 4, 5]),
        ([("ill", "not in", ["flu"])], [2, 5]),
        ([("age", "in", [30, 31])], [1, 2]),
        ([("cost", ">=", datetime.date(2021, 6, 30))], [2, 3, 4]),
        ([("cost", "<", datetime.date(2021, 1, 5))], [0]),
        ([("sex", "==", "m"), ("ill", "==", "gout")], [2, 5]),
        ([("ill", "==", "' OR true --")], []),
    ],
)
def test_eligible_rows_are_those_for_which_every_condition_holds(conditions, numbers):
    """Numbers compare as numbers, dates as dates, text as text; a missing cell satisfies only "missing"."""
    columns = {
        "name": ix.other(),
        "age": ix.quasi(ix.suppress()),
        "sex": ix.other(),
        "ill": ix.other(),
        "cost": ix.other(),
    }
    made = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)], eligible=[ix.where(*c) for c in conditions])
    if not numbers:
        with pytest.raises(ix.InfeasibleError, match="0 eligible rows"):
            ix.anonymize(PEOPLE, made)
        return
    with ix.anonymize(PEOPLE, made) as release:
        assert sorted(release.table["cost"].to_pylist()) == sorted(PEOPLE["cost"][n].as_py() for n in numbers)
        assert release.facts.eligible == len(numbers)


@pytest.mark.parametrize(
    "condition",
    [
        ("age", "=", 3),
        ("age", "~", 3),
        ("age", "in", "abc"),
        ("age", "in", []),
        ("age", "in", [None]),
        ("age", "in", 5),
        ("age", "==", None),
        ("age", "<", [1]),
        ("age", "present", 1),
        ("age", "missing", "x"),
    ],
)
def test_a_condition_refuses_nonsense(condition):
    with pytest.raises(ix.PolicyError, match="op"):
        ix.where(*condition)


# A recipient's profile.


def test_a_recipient_profile_weighs_k_column_by_column():
    """Samarati 2001, section 7: columns at 1 together, columns between 0 and 1 alone, columns at 0 not at all."""
    columns = {name: ix.quasi(ix.suppress()) for name in ("a", "b", "c", "d")} | {"ill": ix.sensitive()}
    made = ix.for_recipient(
        ix.Policy(columns=columns, privacy=[ix.KAnonymity(10)]), {"a": 1, "b": 1.0, "c": 0.55, "d": 0}
    )
    assert made.quasi == ("a", "b", "c")
    assert made.columns["d"].role == "other"
    assert made.requirements() == [
        ("combination", ("a", "b"), ix.KAnonymity(10, on="combination")),
        ("c", ("c",), ix.KAnonymity(6, on="c")),
    ]


@pytest.mark.parametrize(("share", "k"), [(0.1, 1), (0.3, 3), (0.7, 7), (0.29, 3), (0.01, 1)])
def test_a_profile_rounds_k_up_and_not_by_floating_point(share, k):
    made = ix.for_recipient(ix.Policy(columns={"a": ix.quasi()}, privacy=[ix.KAnonymity(10)]), {"a": share})
    assert made.privacy == (ix.KAnonymity(k, on="a"),)


@pytest.mark.slow
def test_a_profile_is_enforced():
    table = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "c": ["1", "2", "3", "4"]})
    columns = {name: ix.quasi(ix.suppress()) for name in "abc"}
    whole = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, whole) as release:
        assert release.node == {"a": 0, "b": 1, "c": 1} or release.node == {"a": 1, "b": 0, "c": 1}
    with ix.anonymize(table, ix.for_recipient(whole, {"a": 1, "b": 0.5, "c": 0})) as release:
        assert release.node == {"a": 0, "b": 0}
        assert sorted(release.table["c"].to_pylist()) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ({"a": 1}, "'b' has no value"),
        ({"a": 1, "b": 2}, "profile.b: must lie between 0 and 1"),
        ({"a": 1, "b": -0.5}, "profile.b: must lie between 0 and 1"),
        ({"a": 1, "b": 0, "z": 1}, "'z' is not a quasi column"),
        ({"a": 0, "b": 0}, "can link by no column"),
    ],
)
def test_a_profile_refuses_nonsense(profile, words):
    columns = {"a": ix.quasi(), "b": ix.quasi()}
    with pytest.raises(ix.PolicyError) as caught:
        ix.for_recipient(ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)]), profile)
    assert words in str(caught.value)


def test_a_profile_of_the_wrong_type_is_a_mistake_and_no_crash():
    columns = {"a": ix.quasi(), "b": ix.quasi()}
    with pytest.raises(ix.PolicyError):
        ix.for_recipient(ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)]), {"a": "high", "b": 1})


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        (ix.Lattice, {"measure": "beauty"}),
        (ix.Lattice, {"measure": 5}),
        (ix.Lattice, {"measure": ["precision"]}),
        (ix.Samarati, {"preference": "nicest"}),
        (ix.Samarati, {"preference": ["min-absolute"]}),
        (ix.Samarati, {"satisfies": "magic"}),
        (ix.MinGen, {"preference": 3}),
        (ix.MinGen, {"precision": "high"}),
        (ix.Datafly, {"suppression": -1}),
        (ix.Datafly, {"suppression": "all"}),
        (ix.Datafly, {"complementary": "yes"}),
        (ix.Datafly, {"likelihood": {"a": 2}}),
        (ix.Datafly, {"preference": {"a": "much"}}),
        (ix.Datafly, {"likelihood": "much"}),
        (ix.AverageGroupSize, {"k": 0}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_an_algorithm_refuses_nonsense_when_it_is_made(algorithm, options):
    with pytest.raises(ix.PolicyError):
        algorithm(**options)


def test_datafly_refuses_weights_for_columns_that_are_not_quasi():
    table = pa.table({"a": ["x", "x"], "ill": ["flu", "gout"]})
    made = ix.Policy(columns={"a": ix.quasi(), "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError, match="'ill' is not a quasi column"):
        ix.anonymize(table, made, algorithm=ix.Datafly(likelihood={"ill": 1}))
