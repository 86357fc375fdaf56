"""``indistinct hierarchy``: the catalogue listed, drawn and written, and hierarchies made of a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.hierarchy.catalogue import CATALOGUE


@pytest.fixture
def people(tmp_path: Path) -> Path:
    jobs = ["clerk"] * 12 + ["welder"] * 5 + ["judge", "monk", ""]
    homes = ["DE", "France", "Atlantis", "US"] * 5
    lines = [
        f"{job},{home},{18 + place},{place % 2}" for place, (job, home) in enumerate(zip(jobs, homes, strict=True))
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["job,home,age,ill", *lines]) + "\n", "utf-8")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["hierarchy", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_every_kind_is_listed_and_can_be_drawn() -> None:
    code, told, _ = run("list", "--json")
    assert code == 0
    assert list(json.loads(told)) == list(CATALOGUE)
    for name in CATALOGUE:
        code, told, _ = run("show", name, "--most", 1)
        assert (code, told[0]) == (0, "*"), name


def test_a_known_hierarchy_is_written_for_the_values_of_a_table(people: Path, tmp_path: Path) -> None:
    goal = tmp_path / "home.csv"
    code, _, said = run("show", "countries", "--table", people, "--column", "home", "-o", goal)
    assert code == 0
    assert "1 value is no such code" in said
    assert "Atlantis" not in said
    rows = {row[0]: row[1:] for row in ix.levels(goal).table()}
    assert rows["Atlantis"] == ["*", "*", "*"]
    assert rows["France"] == ["Western Europe", "Europe", "*"]
    assert goal.stat().st_mode & 0o077 == 0
    assert run("show", "countries", "-o", goal)[0] == 2  # it exists
    assert run("show", "countries", "-o", goal, "--replace")[0] == 0


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (["job", "--by", "frequency", "--parts", "0.2"], {"clerk", "welder", "2 other values"}),
        (["age", "--by", "prefix", "--parts", "2"], {"1*", "2*", "3*"}),
        (["job", "--by", "target", "--target", "ill", "--parts", "2"], None),
        (["age", "--by", "depth", "--parts", "4,2"], {"<23", "23-27", "28-32", ">=33"}),
    ],
)
def test_a_hierarchy_of_the_data_is_shown_and_written(
    people: Path, tmp_path: Path, options: list[str], labels: set[str] | None
) -> None:
    goal = tmp_path / "made.csv"
    code, told, _ = run("from-data", people, *options, "-o", goal, "--json")
    assert code == 0
    rows = json.loads(told)["rows"]
    assert ix.levels(goal).table() == rows
    found = {row[1] for row in rows}
    assert found == labels if labels else len(found) == 2
    assert run("from-data", people, *options)[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "hamster"], "there is no hierarchy 'hamster'"),
        (["show", "countries", "--level", "planet"], "no level 'planet'"),
        (["show", "countries", "--table", "people.csv"], "give both"),
        (["from-data", "people.csv", "wage"], "has no column 'wage'"),
        (["from-data", "people.csv", "job", "--by", "luck"], "there are frequency"),
        (["from-data", "people.csv", "job", "--by", "target"], "--target"),
        (["from-data", "people.csv", "job", "--parts", "many"], "--parts"),
        (["from-data", "people.csv", "job", "--by", "depth"], "4 values are not numbers"),
        (["from-data", "people.csv", "job", "-o", "made.txt"], "written as .csv"),
    ],
)
def test_what_cannot_be_done_is_said(
    people: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(people.parent)
    code, _, said = run(*words)
    assert code == 2
    assert told in said
    assert "clerk" not in said
    assert not Path("made.txt").exists()
