"""The suggested policy: one model for a sensitive column, where groups can have it, and what goes without one."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.linkage.telling_columns import alike_by
from indistinct.study.profiling import profile
from indistinct.study.suggesting import reasons, suggested_policy
from profiles import examples

ROWS = 400


def people(**more: list[str]) -> pa.Table:
    chance = random.Random(1)
    return pa.table(
        {
            "age": [str(chance.randint(20, 60)) for _ in range(ROWS)],
            "sex": [chance.choice("mf") for _ in range(ROWS)],
            **more,
        }
    )


def drawn(*values: str, seed: int = 2) -> list[str]:
    """Give cells drawn from some values: those that stand there twice are twice as likely."""
    chance = random.Random(seed)
    return [chance.choice(values) for _ in range(ROWS)]


def models(table: pa.Table, k: int = 5) -> list[tuple[str | None, int]]:
    policy = suggested_policy(profile(table), k)
    return [(model.column, model.l) for model in policy.privacy if isinstance(model, ix.LDiversity)]


def why(table: pa.Table, k: int = 5) -> str:
    found = profile(table)
    return "\n".join(reasons(found, suggested_policy(found, k)))


def test_the_most_sensitive_column_gets_a_model_and_others_whose_values_are_spread() -> None:
    amounts = drawn(*map(str, range(9)), seed=4)
    table = people(salary=amounts, disease=drawn("flu", "cough", "gout"), religion=drawn("a", "b"))
    assert models(table) == [("disease", 2), ("salary", 2)]
    items = {f"item{n}": drawn(*"abcdefgh", seed=n) for n in range(9)}
    assert len(models(people(**items))) == 6  # their names say nothing, but they are items of one record
    table = people(salary=drawn("1", "2", "3"), disease=drawn("flu", "cough", "gout"), religion=drawn("a", "b"))
    assert models(table) == [("disease", 2)]
    said = why(table)
    assert "l-diversity of disease" in said
    assert "no model for religion: each costs much" in said
    assert "no model for salary: each costs much" in said
    assert "no model for disease" not in said


@pytest.mark.parametrize(
    ("most", "k", "has_model"), [(6, 5, True), (7, 5, False), (7, 10, True), (3, 2, True), (4, 2, False)]
)
def test_a_value_that_nearly_all_have_is_asked_no_company(most: int, k: int, has_model: bool) -> None:
    """.6 ** 5 = .078 and .7 ** 10 = .028 of the groups have one value by chance; .7 ** 5 = .168 would be too many."""
    own = ["none"] * most + [f"other {number}" for number in range(10 - most)]
    table = people(disease=[own[row % 10] for row in range(ROWS)])
    assert models(table, k) == [("disease", 2)] * has_model
    assert ("groups would have to be much larger" in why(table, k)) is not has_model


def test_no_model_is_asked_of_groups_of_one() -> None:
    assert models(people(disease=drawn(*map(str, range(30)))), k=1) == []


def test_a_column_that_a_quasi_column_tells_gets_no_model() -> None:
    outcome = drawn("dead", "alive")
    ward = [{"dead": "A", "alive": "B"}[one] for one in outcome]
    assert models(people(outcome=outcome)) == [("outcome", 2)]
    table = people(outcome=outcome, place=ward)
    assert models(table) == []
    assert "no model for outcome: place, which is quasi, mostly tells it" in why(table)
    assert models(people(outcome=outcome, place=ward, salary=drawn("1", "2", "3"))) == [("salary", 2)]


def test_many_columns_without_a_model_are_counted() -> None:
    table = people(**{f"disease {number}": drawn("a", "b", str(number), seed=number) for number in range(12)})
    said = why(table)
    assert said.count("no model for disease") == 8
    assert "no model for 3 more sensitive columns" in said


def test_the_policy_file_names_what_goes_without_a_model(tmp_path: Path) -> None:
    table = people(salary=drawn("1", "2", "3"), disease=drawn("flu", "cough", "gout"))
    from pyarrow import csv

    csv.write_csv(table, tmp_path / "people.csv")
    done = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(tmp_path / "policy.toml")])
    assert done.exit_code == 0
    text = (tmp_path / "policy.toml").read_text("utf-8")
    assert "# no model for salary: each costs much of the table, and others come first\n" in text
    assert text.count('\nmodel = "l-diversity"') == 1


def test_a_policy_file_offers_the_models_that_it_does_not_ask_for(tmp_path: Path) -> None:
    import pyarrow.csv

    table = people(disease=drawn("flu", "cough", "gout"), salary=drawn("1", "2", "3"), religion=drawn("a", "b"))
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    made = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(tmp_path / "policy.toml")])
    assert made.exit_code == 0
    text = (tmp_path / "policy.toml").read_text("utf-8")
    offered = text[text.index("# What would keep groups") :].replace("# ", "")
    assert 'column = "disease"' not in offered
    (tmp_path / "all.toml").write_text(text + offered[offered.index("[[privacy]]") :], "utf-8")
    models = ix.read_policy(tmp_path / "all.toml").privacy
    assert {one.column for one in models if isinstance(one, ix.LDiversity)} == {"disease", "salary", "religion"}


def test_diverse_asks_for_values_of_every_sensitive_column(tmp_path: Path) -> None:
    import pyarrow.csv

    rare = ["yes" if row % 20 == 7 else "no" for row in range(ROWS)]
    table = people(disease=drawn("flu", "cough", "gout"), salary=drawn("1", "2", "3"), hiv=rare)
    assert models(table) == [("disease", 2)]
    policy = suggested_policy(profile(table), diverse=True)
    assert {one.column for one in policy.privacy if isinstance(one, ix.LDiversity)} == {"disease", "salary", "hiv"}
    said = "\n".join(reasons(profile(table), policy))
    assert (
        "l-diversity of hiv, because otherwise everybody in a group may have the same value; it may cost much: 9"
        in said
    )
    assert "no model for" not in said
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    init = ["init", str(tmp_path / "people.csv"), "--diverse"]
    made = CliRunner().invoke(app, [*init, "-o", str(tmp_path / "policy.toml")])
    assert made.exit_code == 0
    assert ix.read_policy(tmp_path / "policy.toml") == policy
    with ix.anonymize(table.slice(0, 80), policy) as release:
        assert not ix.attacks.homogeneity(release, policy).is_broken
    assert CliRunner().invoke(app, [*init, "--known", "2"]).exit_code == 2


def test_labels_are_doubted_with_every_model_that_is_suggested(tmp_path: Path) -> None:
    import pyarrow.csv

    alone, diverse = people(), people(disease=drawn("flu", "cough", "gout"))
    several = people(patient_id=[str(row // 3) for row in range(ROWS)], disease=drawn("flu", "cough", "gout"))
    policies = [suggested_policy(profile(one)) for one in (alone, diverse, several)]
    assert [len(one.privacy) for one in policies] == [1, 2, 2]
    assert [bool(one.person_columns) for one in policies] == [False, False, True]
    assert all(one.options == {"measure": "loss", "doubt": 0.1} for one in policies)
    with ix.anonymize(several, policies[2]) as release:  # what is suggested is never refused
        assert release.verdict.passed
    pyarrow.csv.write_csv(alone, tmp_path / "people.csv")
    goal = tmp_path / "policy.toml"
    assert (
        CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(goal), "--doubt", "0"]).exit_code == 0
    )
    assert ix.read_policy(goal).options == {"measure": "loss"}
    assert "no doubt: every group carries the lowest labels" in goal.read_text("utf-8")


@pytest.mark.parametrize("doubt", ["0.1", "0.2"])
def test_init_writes_the_doubt_that_was_asked_for(tmp_path: Path, doubt: str) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(people(town=drawn(*map(str, range(30)))), tmp_path / "people.csv")
    goal = tmp_path / "policy.toml"
    assert (
        CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(goal), "--doubt", doubt]).exit_code
        == 0
    )
    assert ix.read_policy(goal).options == {"measure": "loss", "doubt": float(doubt)}
    for more in (["--known", "2"], ["-k", "1"]):  # k = 1 needs no labels at all
        said = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "--doubt", doubt, *more])
        assert (said.exit_code, "--doubt" in said.stderr) == (2, True)


@pytest.mark.parametrize(
    ("alone", "limit", "algorithm"),
    [(0, 0, "lattice"), (8, 0.02, "lattice"), (9, 0.02, "regroup"), (3, 3, "lattice"), (4, 3, "regroup")],
)
def test_regroup_is_suggested_unless_nearly_all_rows_stand_in_full_groups(
    alone: int, limit: float, algorithm: str
) -> None:
    """400 rows of two sexes and two towns make groups of 100; 2 % are 8 rows, each in a town of its own."""
    towns = ["north", "south"] * (ROWS // 2)
    towns[:alone] = [f"hamlet {row}" for row in range(alone)]
    table = pa.table({"sex": ["m", "m", "f", "f"] * (ROWS // 4), "town": towns})
    found = profile(table)
    policy = suggested_policy(found, 5, limit)
    assert policy.algorithm == algorithm
    said = "\n".join(reasons(found, policy))
    assert ("nearly all rows stand in groups of 5 or more by 2 quasi columns already" in said) is (alone in (0, 8, 3))
    with ix.anonymize(table, policy) as release:
        assert release.verdict is not None
        assert release.verdict.passed


def test_people_and_not_rows_must_stand_in_full_groups() -> None:
    """Each of eight people has fifty rows in a town of her own with another: two people, and a hundred rows."""
    table = pa.table(
        {
            "patient_id": [f"p{row // 50}" for row in range(ROWS)],
            "sex": [["m", "f"][row // 50 % 2] for row in range(ROWS)],
            "town": [f"town {row // 100}" for row in range(ROWS)],
        }
    )
    assert suggested_policy(profile(table)).algorithm == "regroup"


def test_a_crowded_table_with_a_model_is_recoded_cell_by_cell() -> None:
    towns = ["north", "south"] * (ROWS // 2)
    table = pa.table({"town": towns, "disease": drawn("flu", "cough", "gout")})
    assert suggested_policy(profile(table)).algorithm == "regroup"


def test_groups_that_agree_in_a_column_and_then_have_one_value_get_no_model() -> None:
    """Those without work, 4 of 10, have no income: .4 of the groups of 5 that agree in work have one value."""
    work = [("none" if row % 10 < 4 else "some") for row in range(ROWS)]
    income = [("0" if one == "none" else str(row)) for row, one in enumerate(work)]
    assert models(people(income=income)) == [("income", 2)]
    table = people(income=income, work=work)
    assert models(table) == []
    assert "no model for income: 40 % of the groups of 5 rows that agree in work have one value by chance" in why(table)


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9))
def test_how_often_groups_are_alike_is_that_of_all_groups(rows: list[tuple[int, int]]) -> None:
    codes, others = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    for size, share in zip(range(2, 6), alike_by(codes, others, 5), strict=True):
        shares = []
        for cell, _ in rows:
            beside = [value for other, value in rows if other == cell]
            drawn_from = beside if len(beside) >= size else [value for _, value in rows]
            groups = list(combinations(drawn_from, size))
            shares.append(sum(len(set(group)) == 1 for group in groups) / max(1, len(groups)))
        assert share == pytest.approx(sum(shares) / len(rows))


def namesakes(births: list[str], **more: list[str]) -> pa.Table:
    """Give rows with twenty different names, and the births that are given."""
    chance = random.Random(5)
    names = [f"name {row % 20}" for row in range(ROWS)]
    return pa.table({"name": names, "birthday": births, "town": [chance.choice("abcd") for _ in names], **more})


def some_days(people: int) -> list[str]:
    chance = random.Random(6)
    days = [
        f"{chance.randint(1930, 2005)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}" for _ in range(people)
    ]
    return [days[row % people] for row in range(ROWS)]


@pytest.mark.parametrize("number", [None, "id", "customer_id", "bib_num"])
def test_rows_of_one_name_with_different_births_are_of_namesakes(number: str | None) -> None:
    own = {number: [str(1000 + row // (1 + (number == "bib_num"))) for row in range(ROWS)]} if number else {}
    table = namesakes(some_days(ROWS), **own)
    found = profile(table)
    assert (found.person, found.names) == (None, ())
    assert "name" in found.namesakes
    policy = suggested_policy(found)
    assert policy.person is None
    assert policy.one_row_per_person is (number in (None, "bib_num"))
    assert "so they are taken for namesakes" in "\n".join(reasons(found, policy))
    assert ix.check(table, policy).mistakes == ()
    assert found.to_dict()["namesakes"] == list(found.namesakes)


@pytest.mark.parametrize("number", [None, "id", "customer_id"])
def test_rows_of_one_name_and_birth_are_of_one_person(number: str | None) -> None:
    own = {number: [str(1000 + row) for row in range(ROWS)]} if number else {}
    found = profile(namesakes(some_days(20), **own))
    assert (found.names, found.namesakes) == (("name",), ())
    assert suggested_policy(found).person_columns == ("name",)


def test_names_of_people_with_several_rows_are_asked_before_numbers_that_are_nobodys() -> None:
    """Numbers of starters are given twice, to different people; their names and births repeat together."""
    found = profile(namesakes(some_days(20), bib_num=[str(row // 2) for row in range(ROWS)]))
    assert (found.names, found.namesakes) == (("name",), ())
    policy = suggested_policy(found)
    assert policy.person_columns == ("name",)
    assert not policy.one_row_per_person


def test_some_namesakes_among_people_with_several_rows_do_no_harm() -> None:
    """Twenty names, of forty people with ten rows each."""
    assert profile(namesakes(some_days(40))).names == ("name",)


def test_without_births_sex_tells_namesakes_and_then_what_numbers_people() -> None:
    names = [f"name {row % 20}" for row in range(ROWS)]
    differing, same = drawn("m", "f"), [str(row % 2) for row in range(ROWS)]
    town = drawn("a", "b", "c", seed=4)
    assert profile(pa.table({"name": names, "sex": differing, "town": town})).namesakes == ("name",)
    assert profile(pa.table({"name": names, "sex": same, "town": town})).names == ("name",)
    assert profile(pa.table({"name": names, "town": town})).names == ("name",)
    rows = [str(row) for row in range(ROWS)]
    assert profile(pa.table({"name": names, "customer": rows, "town": town})).namesakes == ("name",)
    assert profile(pa.table({"name": names, "id": rows, "town": town})).names == ("name",)


def test_people_with_two_rows_are_found_among_many_namesakes() -> None:
    assert profile(namesakes(some_days(ROWS // 2))).names == ("name",)
