"""A first policy for tables that belong together: keys are found by containment, and it makes a release."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.engine import use_table
from indistinct.linkage import CodedColumn, coded_columns, find_references
from indistinct.pipeline.suggesting import linked_suggestion

PEOPLE, VISITS, DRUGS = 120, 150, 90


def clinic(seed: int = 1, *, person: str = "patient") -> dict[str, pa.Table]:
    """Return patients, their visits and what was given there: each table under another number."""
    chance = random.Random(seed)
    visits = [chance.randrange(PEOPLE) for _ in range(VISITS)]
    return {
        "patients": pa.table({"patient": range(PEOPLE), "sex": [chance.choice("mf") for _ in range(PEOPLE)]}),
        "visits": pa.table(
            {
                "visit": [1000 + one for one in range(VISITS)],
                person: visits,
                "ward": [chance.choice(["eye", "ear"]) for _ in visits],
            }
        ),
        "drugs": pa.table(
            {
                "visit": [1000 + chance.randrange(VISITS) for _ in range(DRUGS)],
                "drug": [chance.choice(["a", "b"]) for _ in range(DRUGS)],
            }
        ),
    }


def coded(tables: dict[str, pa.Table]) -> dict[str, dict[str, CodedColumn]]:
    found = {}
    for name, table in tables.items():
        with use_table(table) as rows:
            found[name] = coded_columns(rows, rows.columns())
    return found


def plain_references(tables: dict[str, pa.Table]) -> set[tuple[str, str, str]]:
    """Find references of columns that are called as the key they hold, by plain sets."""
    found = set()
    for child, own in tables.items():
        for column in own.column_names:
            for parent, other in tables.items():
                if parent != child and column in other.column_names:
                    keys = other[column].to_pylist()
                    cells = own[column].to_pylist()
                    if len(set(keys)) == len(keys) and set(cells) < set(keys):
                        found.add((child, column, parent))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_references_are_those_of_plain_sets(seed: int) -> None:
    tables = clinic(seed)
    found = {(one.table, one.column, one.parent) for one in find_references(coded(tables))}
    assert found == plain_references(tables) == {("visits", "patient", "patients"), ("drugs", "visit", "visits")}


def test_a_reference_may_have_another_name_if_most_keys_are_used() -> None:
    found = {(one.table, one.column, one.parent) for one in find_references(coded(clinic(person="seen")))}
    assert ("visits", "seen", "patients") in found


def test_one_row_that_leads_nowhere_is_no_reference() -> None:
    tables = clinic()
    broken = pa.concat_tables([tables["drugs"], pa.table({"visit": [7], "drug": ["a"]})])
    assert all(one.table != "drugs" for one in find_references(coded({**tables, "drugs": broken})))
    with pytest.raises(ix.PolicyError, match="drugs"):
        linked_suggestion({**tables, "drugs": broken})


@pytest.mark.slow
def test_the_policy_makes_a_release_of_all_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = clinic()
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, f"{name}.csv")
    given = [f"{name}={name}.csv" for name in tables]
    made = CliRunner().invoke(app, ["init", *given, "-k", "3", "-o", "clinic.toml"])
    assert made.exit_code == 0, made.output
    policy = ix.read_policy("clinic.toml")
    assert {name: dict(one.references) for name, one in policy.tables.items()} == {
        "patients": {},
        "visits": {"patient": "patients"},
        "drugs": {"visit": "visits"},
    }
    assert policy.tables["patients"].key == "patient"
    assert policy.columns["drugs.drug"].role in ("sensitive", "drop")
    done = CliRunner().invoke(app, ["anonymize", "clinic.toml", *given, "-o", "out"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(app, ["init", "patients.csv", "visits.csv"]).exit_code == 2
