"""Two tables that belong together, through every command and page that one table goes through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.commands import answer, run

POLICY = """
version = 1
person = "patient"
max_suppression = 0.4

[tables.patients]
key = "patient"
columns.born = { role = "quasi", hierarchy = { intervals = [20, 40] } }

[tables.visits]
references = { patient = "patients" }
columns.ward = { role = "quasi", hierarchy = { suppress = "*" } }
columns.ill = { role = "sensitive" }

[[privacy]]
model = "k-anonymity"
k = 3
"""
PEOPLE = [
    (1941, "eye", "flu"),
    (1945, "eye", "cold"),
    (1949, "eye", "flu"),
    (1958, "eye", "cold"),
    (1970, "ear", "flu"),
]
"""By intervals of 20 years four people share a profile, and the last has nobody: one row of each table is left out."""
TABLES = ("patients=patients.csv", "visits=visits.csv")


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where commands run, with the policy and both tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("clinic.toml").write_text(POLICY, "utf-8")
    patients = [f"p{place},{born}" for place, (born, _, _) in enumerate(PEOPLE)]
    visits = [f"p{place},{ward},{ill}" for place, (_, ward, ill) in enumerate(PEOPLE)]
    Path("patients.csv").write_text("\n".join(["patient,born", *patients]), "utf-8")
    Path("visits.csv").write_text("\n".join(["patient,ward,ill", *visits]), "utf-8")
    return tmp_path


@pytest.fixture
def release(clinic: Path) -> Path:
    """Return the folder of a release of both tables."""
    assert run("anonymize", "clinic.toml", *TABLES, "-o", "out").exit_code == 0
    return clinic / "out"


def test_compare_runs_the_algorithms_that_serve_several_tables(clinic: Path) -> None:
    found = answer("compare", "clinic.toml", *TABLES, "--algorithm", "lattice", "--algorithm", "mondrian")
    by_name = {trial["label"]: trial for trial in found["trials"]}
    assert (found["rows"], found["people"], found["best"]) == (10, 5, "lattice")
    assert (by_name["lattice"]["suppressed"], by_name["lattice"]["people"]["smallest_profile"]) == (2, 4)
    assert by_name["mondrian"]["ending"] == "refused"


def test_queries_are_refused_for_several_tables(clinic: Path) -> None:
    assert run("compare", "clinic.toml", *TABLES, "--queries").exit_code == 2


def test_solutions_have_the_columns_of_all_tables(clinic: Path) -> None:
    found = answer("solutions", "clinic.toml", *TABLES)
    nodes = [solution["node"] for solution in found["solutions"]]
    assert {"patients.born": 1, "visits.ward": 0} in nodes, nodes


def test_gate_finds_linked_tables_without_their_manifest(release: Path) -> None:
    assert run("gate", release, "--policy", "clinic.toml").exit_code == 0
    (release / "manifest.json").unlink()
    found = json.loads(run("gate", release, "--policy", "clinic.toml", "--json").stdout)
    assert list(found["failed"]) == [str(release)]


def test_a_report_has_the_columns_of_all_tables_and_counts_people(release: Path) -> None:
    originals = [part for table in TABLES for part in ("--original", table)]
    found = answer("report", "clinic.toml", release, *originals, "-o", "report.html")
    columns = {column["name"]: column for column in found["columns"]}
    assert list(columns) == ["patients.born", "visits.ward", "visits.ill"]
    (risk,) = found["risk"]
    assert (risk["units"], risk["before"]["alone"], risk["before"]["rows"]) == ("people", 5, 5)
    assert (risk["after"]["sizes"], risk["after"]["groups"]) == ({"3-4": 4}, 1)
    bars = columns["visits.ward"]["after"]["bars"]
    assert bars == [{"label": "eye", "rows": 4, "before": 4}, {"label": "ear", "rows": 0, "before": 1}]
    assert sum(bar["rows"] for bar in columns["patients.born"]["before"]["bars"]) == 5
    assert found["suppression"]["required"] == 2
    assert {one["label"] for one in found["suppression"]["labels"]} == {"ear", "1960-1979"}
    assert found["conclusion"]["outcome"] in ("nothing", "something")
    assert "visits=TABLE" in found["reproduce"]["commands"][0]["command"]
    page = Path("report.html").read_text("utf-8")
    assert "patients.born" in page
    assert ".absent" not in page


def test_the_public_report_of_linked_tables_holds_no_private_count(release: Path) -> None:
    found = answer("report", "clinic.toml", release, "--edition", "public", "-o", "public.html")
    assert found["risk"][0]["before"] is None
    assert all(column["before"] is None for column in found["columns"])
    assert "1941" not in Path("public.html").read_text("utf-8")


def test_a_report_wants_every_original_by_name(release: Path) -> None:
    for given in ([TABLES[0]], ["patients.csv"]):
        originals = [part for table in given for part in ("--original", table)]
        assert run("report", "clinic.toml", release, *originals, "-o", "report.html").exit_code in (1, 2)
        assert not Path("report.html").exists()
