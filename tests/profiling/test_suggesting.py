"""The suggested policy: models for sensitive columns, as long as they cost little, and what goes without one."""

from __future__ import annotations

import json
import random
import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.linkage import alike_by
from indistinct.pipeline import weighing
from indistinct.pipeline.suggesting import reasons, suggested_policy, suggestion
from indistinct.pipeline.weighing import Weighed, weigh
from indistinct.profiling import profile
from indistinct.registry import DEFAULT_ALGORITHM

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
    """Return cells drawn from some values: those that stand there twice are twice as likely."""
    chance = random.Random(seed)
    return [chance.choice(values) for _ in range(ROWS)]


def models(table: pa.Table, k: int = 5) -> list[tuple[str | None, int]]:
    policy = suggested_policy(profile(table), k)
    return [(model.column, model.l) for model in policy.privacy if isinstance(model, ix.LDiversity)]


def why(table: pa.Table, k: int = 5) -> str:
    found = profile(table)
    made = suggestion(found, k)
    told = [column.reason for column in made.profile.columns]
    return "\n".join([*reasons(made.profile, made.policy, made.weighed), *told])


def test_every_sensitive_column_gets_a_model_where_that_costs_little() -> None:
    table = people(salary=drawn("1", "2", "3"), disease=drawn("flu", "cough", "gout"), religion=drawn("a", "b"))
    assert {column for column, _ in models(table)} == {"disease", "salary", "religion"}
    said = why(table)
    assert "l-diversity (l = 2) of disease, religion, salary, because otherwise everybody in a group may" in said
    assert "a trial with 400 rows lost 0." in said
    assert "--no-diverse leaves it out" in said
    assert "no model" not in said
    spread = people(salary=drawn(*map(str, range(90)), seed=4))
    assert models(spread) == [("salary", 2)]
    assert "it costs next to nothing" in why(spread)  # which no trial need show


def rare(most: int, beside: str, name: str = "income") -> pa.Table:
    """Return people of whom so many of twenty have one value, and the others another."""
    return people(**{name: [("none" if row % 20 < most else beside) for row in range(ROWS)]})


def limits(table: pa.Table) -> dict[str | None, dict[str, float]]:
    """Return the values that are limited by name."""
    found = suggested_policy(profile(table)).privacy
    return {
        one.column: dict(one.alpha) for one in found if isinstance(one, ix.AlphaK) and not isinstance(one.alpha, float)
    }


@pytest.mark.slow
def test_of_a_value_that_nearly_all_have_only_the_others_are_limited() -> None:
    assert limits(rare(19, "rich")) == {"income": {"rich": 0.8}}
    assert models(rare(19, "rich")) == []
    assert "a group may share that, which is taken for harmless" in why(rare(19, "rich"))
    assert limits(rare(17, "rich")) == {}
    several = rare(19, "rich").append_column("patient_id", [[str(row // 3) for row in range(ROWS)]])
    assert (limits(several), models(several)) == ({}, [])


@pytest.mark.slow
def test_a_no_about_health_may_be_shared_where_two_values_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "MOST_MORE", 0.0)
    table = rare(16, "heart", "illness")
    assert limits(table) == {"illness": {"heart": 0.8}}
    policy = suggested_policy(profile(table))
    with ix.anonymize(table, policy) as release:
        (found,) = ix.attacks.homogeneity(release, policy).columns
        assert found.harmless_rows == found.same_rows > 0
    assert limits(rare(16, "high", "income")) == {}  # to have none is no secret of health
    assert limits(rare(16, "months", "survival")) == {}  # and who has none would not have it known
    assert limits(people(diabetes=["0" if row % 20 < 16 else "1" for row in range(ROWS)])) == {"diabetes": {"1": 0.8}}
    assert limits(people(diabetes=["1" if row % 20 < 16 else "2" for row in range(ROWS)])) == {}
    assert "a trial with 400 rows lost 0." in why(rare(16, "high", "income"))
    assert models(table, 1) == []


def test_a_missing_cell_is_a_value_and_may_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "MOST_MORE", 0.0)
    cells = [None if row % 20 < 17 else "abc"[row % 3] for row in range(ROWS)]
    found = limits(people(income=cells))  # type: ignore[arg-type]
    assert found == {"income": {"a": 0.8, "b": 0.8, "c": 0.8}}


def losses_of(
    costs: dict[str, float], columns: list[str], harmful: dict[str, tuple[str, ...]] | None = None
) -> Weighed:
    """Weigh columns that cost so much each, and nothing if single values are limited."""

    def loss(sample: pa.Table, policy: ix.Policy, models: list[ix.PrivacyModel], watch: ix.Watch) -> float:
        return 0.2 + sum(costs[one.column] for one in models if isinstance(one, ix.LDiversity) and one.column)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "trial_loss", loss)
        return weigh(people(), suggested_policy(profile(people())), columns, harmful)


@examples(60)
@given(st.lists(st.sampled_from([0.0, 0.01, 0.03, 0.06, 0.2]), max_size=9))
def test_what_is_chosen_costs_no_more_than_a_tenth_and_what_is_left_would(costs: list[float]) -> None:
    named = {f"c{place}": cost for place, cost in enumerate(costs)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "MOST_TRIALS", 100)
        found = losses_of(named, list(named), {})
    assert sum(named[name] for name in found.chosen) <= 0.1 + 1e-9
    assert found.loss == pytest.approx(0.2 + sum(named[name] for name in found.chosen))
    assert set(found.chosen) | set(found.left) == set(named)
    for name, loss in found.left.items():
        assert loss is not None
        assert loss > 0.3
        assert loss <= found.loss + named[name] + 1e-9  # what was chosen later is not in it


def test_a_column_that_no_trial_was_left_for_gets_no_model() -> None:
    found = losses_of(dict.fromkeys("abcdefghijklmnop", 0.2), list("abcdefghijklmnop"), {})
    assert found.chosen == ()
    assert 0 < sum(loss is None for loss in found.left.values()) < 16


def test_values_are_limited_where_two_of_them_cost_too_much() -> None:
    found = losses_of({"a": 0.2, "b": 0.05}, ["b", "a"], {"a": ("x",), "c": ("y",)})
    assert (found.chosen, found.limited, found.left) == (("b",), {"a": ("x",), "c": ("y",)}, {})
    found = losses_of({"a": 0.02, "b": 0.05}, ["b", "a"], {"a": ("x",), "c": ("y",)})
    assert (found.chosen, found.limited) == (("b", "a"), {"c": ("y",)})


def test_no_model_is_asked_of_groups_of_one() -> None:
    assert models(people(disease=drawn(*map(str, range(30)))), k=1) == []


@pytest.mark.slow
def test_a_column_that_a_quasi_column_tells_gets_no_model() -> None:
    outcome = drawn("dead", "alive")
    ward = [{"dead": "A", "alive": "B"}[one] for one in outcome]
    assert models(people(outcome=outcome)) == [("outcome", 2)]
    table = people(outcome=outcome, city=ward)
    assert models(table) == []
    assert "dropped, since it always tells city" in why(table)
    assert models(people(outcome=outcome, city=ward, salary=drawn("1", "2", "3"))) == [("salary", 2)]


@pytest.mark.slow
def test_many_columns_without_a_model_are_counted() -> None:
    table = people(**{f"disease {number}": drawn("a", "b", str(number), seed=number) for number in range(12)})
    found = profile(table)
    said = "\n".join(reasons(found, suggested_policy(found, diverse=False)))
    assert said.count("no model for disease") == 8
    assert "no model for 4 more sensitive columns" in said
    many = people(**{f"disease {number}": drawn("a", "b", str(number), seed=number) for number in range(70)})
    assert len(models(many)) <= 60


def test_a_policy_file_offers_the_models_that_it_does_not_ask_for(tmp_path: Path) -> None:
    import pyarrow.csv

    table = people(disease=drawn("flu", "cough", "gout"), salary=drawn(*map(str, range(90))))
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    init = ["init", str(tmp_path / "people.csv"), "--no-diverse", "-o", str(tmp_path / "policy.toml")]
    made = CliRunner().invoke(app, init)
    assert made.exit_code == 0
    text = (tmp_path / "policy.toml").read_text("utf-8")
    assert "# no model for salary: none was asked for\n" in text
    assert [type(one) for one in ix.read_policy(tmp_path / "policy.toml").privacy] == [ix.KAnonymity]
    offered = text[text.index("# What would keep groups") :].splitlines()
    asked = [line.removeprefix("# ") for line in offered[1:] if not line.startswith("# or,")]
    (tmp_path / "all.toml").write_text("\n".join([text, *asked]), "utf-8")
    found = ix.read_policy(tmp_path / "all.toml").privacy
    assert [one.column for one in found if isinstance(one, ix.LDiversity)] == ["disease", "salary"]
    assert [(one.column, len(one.alpha)) for one in found if isinstance(one, ix.AlphaK)] == [("disease", 2)]  # type: ignore[arg-type]


@pytest.mark.slow
def test_diverse_asks_for_values_of_every_sensitive_column(tmp_path: Path) -> None:
    import pyarrow.csv

    rare = ["yes" if row % 20 == 7 else "no" for row in range(ROWS)]
    table = people(disease=drawn("flu", "cough", "gout"), salary=drawn("1", "2", "3"), hiv=rare)
    policy = suggested_policy(profile(table), diverse=True)
    assert {one.column for one in policy.privacy if isinstance(one, ix.LDiversity)} == {"disease", "salary", "hiv"}
    said = "\n".join(reasons(profile(table), policy))
    assert "l-diversity (l = 2) of disease, hiv, salary, because otherwise everybody" in said
    assert "it may cost much: compare the loss" in said
    assert "no model for" not in said
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    init = ["init", str(tmp_path / "people.csv"), "--diverse"]
    made = CliRunner().invoke(app, [*init, "-o", str(tmp_path / "policy.toml")])
    assert made.exit_code == 0
    assert ix.read_policy(tmp_path / "policy.toml") == policy
    with ix.anonymize(table.slice(0, 80), policy) as release:
        assert not ix.attacks.homogeneity(release, policy).is_broken
    assert CliRunner().invoke(app, [*init, "--known", "2"]).exit_code == 2


@pytest.mark.slow
def test_labels_are_raised_with_every_model_that_is_suggested(tmp_path: Path) -> None:
    import pyarrow.csv

    alone, diverse = people(), people(disease=drawn("flu", "cough", "gout"))
    several = people(patient_id=[str(row // 3) for row in range(ROWS)], disease=drawn("flu", "cough", "gout"))
    policies = [suggested_policy(profile(one)) for one in (alone, diverse, several)]
    assert [len(one.privacy) for one in policies] == [1, 2, 2]
    assert [bool(one.person_columns) for one in policies] == [False, False, True]
    assert all(one.options == {"measure": "loss", "random_raise": 0.1} for one in policies)
    with ix.anonymize(several, policies[2]) as release:  # what is suggested is never refused
        assert release.verdict.passed
    pyarrow.csv.write_csv(alone, tmp_path / "people.csv")
    goal = tmp_path / "policy.toml"
    assert (
        CliRunner()
        .invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(goal), "--random-raise", "0"])
        .exit_code
        == 0
    )
    assert ix.read_policy(goal).options == {"measure": "loss"}
    assert "no random_raise: every group carries the lowest labels" in goal.read_text("utf-8")


@pytest.mark.parametrize("random_raise", ["0.1", "0.2"])
def test_init_writes_the_random_raise_that_was_asked_for(tmp_path: Path, random_raise: str) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(people(town=drawn(*map(str, range(30)))), tmp_path / "people.csv")
    goal = tmp_path / "policy.toml"
    assert (
        CliRunner()
        .invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(goal), "--random-raise", random_raise])
        .exit_code
        == 0
    )
    assert ix.read_policy(goal).options == {"measure": "loss", "random_raise": float(random_raise)}
    for more in (["--known", "2"], ["-k", "1"]):  # k = 1 needs no labels at all
        said = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "--random-raise", random_raise, *more])
        assert (said.exit_code, "--random-raise" in said.stderr) == (2, True)


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


@pytest.mark.slow
def test_groups_that_agree_in_a_column_and_then_have_one_value_get_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those without work, 4 of 10, have no income: .4 of the groups of 5 that agree in work have one value."""
    work = [("none" if row % 10 < 4 else "some") for row in range(ROWS)]
    income = [("0" if one == "none" else str(row)) for row, one in enumerate(work)]
    assert models(people(income=income)) == [("income", 2)]
    table = people(income=income, work=work)
    monkeypatch.setattr(weighing, "MOST_MORE", 0.02)
    assert models(table) == []
    assert "dropped, since it always tells work" in why(table)  # no interval of income is that of both


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
    """Return rows with twenty different names, and the births that are given."""
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


@pytest.mark.parametrize("asked", [[], ["--known", "2"], ["--no-diverse", "-k", "2"]])
def test_init_names_its_algorithm_and_gives_the_reason_first(tmp_path: Path, asked: list[str]) -> None:
    place = tmp_path / "people.csv"
    csv.write_csv(people(disease=drawn("flu", "cough", "gout")), place)
    done = CliRunner().invoke(app, ["init", str(place), *asked, "--json"])
    said = json.loads(done.stdout)
    algorithm = tomllib.loads(said["policy"])["algorithm"]
    assert said["reasons"][0].startswith(f"{algorithm}, because ")
    assert f"# {said['reasons'][0]}" in said["policy"]


def test_a_policy_that_names_no_algorithm_means_lattice() -> None:
    columns = {"age": ix.quasi(ix.suppress())}
    assert ix.Policy(columns, [ix.KAnonymity(2)]).algorithm == DEFAULT_ALGORITHM == "lattice"
    text = ix.policy_toml(ix.Policy(columns, [ix.KAnonymity(2)], algorithm="datafly"))
    unnamed = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("algorithm"))
    assert ix.parse_policy(unnamed).algorithm == DEFAULT_ALGORITHM
