"""The suggested policy: one model for a sensitive column, where groups can have it, and what goes without one."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.study.profiling import profile
from indistinct.study.suggesting import reasons, suggested_policy

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


def test_the_most_sensitive_column_alone_gets_a_model() -> None:
    table = people(salary=drawn("1", "2", "3", "4"), disease=drawn("flu", "cough", "gout"), religion=drawn("a", "b"))
    assert models(table) == [("disease", 2)]
    said = why(table)
    assert "l-diversity of disease" in said
    assert "no model for religion: one is suggested" in said
    assert "no model for salary: one is suggested" in said
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
    table = people(salary=drawn("1", "2", "3", "4"), disease=drawn("flu", "cough", "gout"))
    from pyarrow import csv

    csv.write_csv(table, tmp_path / "people.csv")
    done = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), "-o", str(tmp_path / "policy.toml")])
    assert done.exit_code == 0
    text = (tmp_path / "policy.toml").read_text("utf-8")
    assert "# no model for salary: one is suggested, since each costs much of the table\n" in text
    assert text.count('model = "l-diversity"') == 1
