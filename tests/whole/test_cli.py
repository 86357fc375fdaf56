"""Every command does its job: what it prints, what it writes, and what its JSON document says."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import indistinct
from helpers.commands import answer, run
from indistinct.cli.command import CommandLine
from indistinct.cli.options import ReadingAnywhere
from indistinct.engine import open_table
from indistinct.examples import EXAMPLES, FIGURE_FILES, save_examples
from indistinct.policy.files.policy_file import read_policy


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the papers' tables and their policies, which is also where commands run."""
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_version_is_the_packages() -> None:
    assert run("--version").stdout == f"indistinct {indistinct.__version__}\n"


def test_help_lists_every_command() -> None:
    text = run("--help").stdout
    commands = ("demo", "init", "check", "anonymize", "verify", "solutions", "doctor", "schema")
    assert [command for command in commands if command not in text] == []


@pytest.mark.slow
def test_every_command_has_json_and_help() -> None:
    for command in ("demo", "init", "check", "anonymize", "verify", "solutions", "doctor", "schema"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "--json" in result.stdout


def test_a_group_of_options_is_spread_and_arrives_as_one() -> None:
    line, arrived = CommandLine(), []

    @line.command()
    def count(table: str, most: int = 3, *, reading: ReadingAnywhere, as_json: bool = False) -> None:
        arrived.append((table, most, reading, as_json))

    runner = CliRunner()
    asked = runner.invoke(line, ["--help"]).stdout
    assert [option in asked for option in ("--delimiter", "--threads", "--engine", "--as-json")] == [True] * 4
    assert "--reading" not in asked
    assert runner.invoke(line, ["a.csv", "--threads", "2", "--delimiter", ";", "--as-json"]).exit_code == 0
    assert arrived == [("a.csv", 3, ReadingAnywhere(delimiter=";", threads=2), True)]
    assert runner.invoke(line, ["a.csv", "--threads", "0"]).exit_code == 2


def test_usage_mistakes_leave_with_2() -> None:
    assert run("anonymise").exit_code == 2
    assert run("anonymize", "policy.toml").exit_code == 2
    assert run("check", "a.toml", "b.csv", "--threads", "0").exit_code == 2


# demo


@pytest.mark.slow
def test_demo_releases_the_papers_tables_as_the_papers_do() -> None:
    """Samarati 2001, Figure 7: with MaxSup 1 only dates climb, to [0,1,0,0,0], and t11 is suppressed."""
    examples = answer("demo")["examples"]
    assert list(examples["samarati"]["node"].values()) == [0, 1, 0, 0, 0]
    assert examples["samarati"]["suppressed"] == 1
    assert examples["hospital"]["node"] == {"Race": 1, "BirthDate": 2, "Gender": 0, "ZIP": 1}
    assert examples["hospital"]["measures"]["precision"] == pytest.approx(1 - (1 / 2 + 2 / 5 + 0 + 1 / 3) / 4)
    assert all(example["verdict"]["passed"] for example in examples.values())
    names = [check["name"] for check in examples["hospital"]["verdict"]["checks"]]
    assert "truthful" in names


@pytest.mark.slow
@pytest.mark.parametrize("width", ["80", "100", "150"])
def test_demo_shows_both_tables_before_and_after(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    result = run("demo")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    for words in ("Sweeney's hospital table", "Samarati's medical table", "Private table: 11 rows", "Release: 10 rows"):
        assert words in result.stdout
    for words in ("09/27/64", "09/64", "0213*", "precision", "0.6917", "proved: columns"):
        assert words in result.stdout
    assert "indistinct init" in result.stderr


@pytest.mark.slow
def test_demo_saves_its_examples_and_its_picture(tmp_path: Path) -> None:
    result = run("demo", "--save", tmp_path / "new" / "place", "--svg", tmp_path / "demo.svg")
    assert result.exit_code == 0
    saved = {path.name for path in (tmp_path / "new" / "place").iterdir()}
    names = {"hospital.csv", "hospital.toml", "samarati.csv", "samarati.toml"}
    assert saved == {*names, "hospital-voters.csv", "samarati-voters.csv", *FIGURE_FILES}
    assert (tmp_path / "demo.svg").read_text("utf-8").startswith("<svg")
    again = run("demo", "--save", tmp_path / "new" / "place")
    assert again.exit_code == 2
    assert "already holds hospital.csv" in again.stderr


def test_example_policies_fit_their_schema() -> None:
    validator = Draft202012Validator(answer("schema"))
    for example in EXAMPLES:
        with example.paths() as (_, policy):
            assert list(validator.iter_errors(tomllib.loads(policy.read_text("utf-8")))) == []


# check


@pytest.mark.slow
def test_check_says_how_anonymous_the_table_is_and_that_the_policy_can_be_met(examples: Path) -> None:
    found = answer("check", "samarati.toml", "samarati.csv")
    assert found == {
        "rows": 11,
        "eligible": 11,
        "tuples": 11,
        "unique_rows": 11,
        "k_of_the_table": 1,
        "k_of_the_policy": 2,
        "unsafe_rows": 11,
        "lattice_nodes": 2 * 5 * 2 * 3 * 3,
        "suppression_allowed": 1,
        "suppression_at_the_top": 0,
        "feasible": True,
    }
    result = run("check", "samarati.toml", "samarati.csv")
    assert result.exit_code == 0
    assert "nodes of the lattice         180" in result.stdout
    assert "can be met" in result.stderr
    assert "indistinct anonymize samarati.toml samarati.csv -o release" in result.stderr


def test_check_leaves_with_3_when_no_release_can_satisfy_the_policy(examples: Path) -> None:
    text = Path("hospital.toml").read_text("utf-8").replace("k = 2", "k = 13")
    Path("hospital.toml").write_text(text, "utf-8")
    found = answer("check", "hospital.toml", "hospital.csv", exit_code=3)
    assert found["feasible"] is False
    assert "fewer than k = 13" in found["error"]["message"]


@pytest.mark.parametrize(
    ("algorithm", "limit", "allowed"),
    [("lattice", "2", 2), ("mingen", "2", 0), ("datafly", "1", 1), ("datafly", None, 2), ("samarati", None, 0)],
)
def test_check_knows_what_each_algorithm_may_suppress(
    examples: Path, algorithm: str, limit: str | None, allowed: int
) -> None:
    text = Path("hospital.toml").read_text("utf-8").replace('algorithm = "lattice"', f'algorithm = "{algorithm}"')
    given = "" if limit is None else f"max_suppression = {limit}"
    Path("hospital.toml").write_text(text.replace("max_suppression = 0 ", given + " "), "utf-8")
    assert answer("check", "hospital.toml", "hospital.csv")["suppression_allowed"] == allowed


# anonymize and verify


@pytest.mark.slow
def test_anonymize_writes_a_release_that_verify_proves(examples: Path) -> None:
    result = run("anonymize", "hospital.toml", "hospital.csv", "-o", "out")
    assert result.exit_code == 0
    for words in ("Generalization", "BirthDate", "year", "0.6917", "k-anonymity (k = 2)", "12 of 12 eligible"):
        assert words in result.stdout
    assert "verified and written to out" in result.stderr
    assert "indistinct verify hospital.toml out --original hospital.csv" in result.stderr
    assert sorted(path.name for path in Path("out").iterdir()) == ["manifest.json", "table.csv"]
    proof = run("verify", "hospital.toml", "out", "--original", "hospital.csv")
    assert proof.exit_code == 0
    assert "truthful" in proof.stdout
    assert "verified" in proof.stderr


@pytest.mark.slow
def test_anonymize_describes_the_release_as_json(examples: Path) -> None:
    found = answer("anonymize", "samarati.toml", "samarati.csv", "-o", "out")
    assert found["written"] == "out"
    assert found["algorithm"] == "samarati"
    assert (found["released"], found["suppressed"], found["groups"], found["smallest_group"]) == (10, 1, 5, 2)
    assert found["level_names"]["DateOfBirth"] == "month"
    assert found["verdict"]["passed"] is True


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["lattice", "samarati", "mingen", "datafly"])
def test_anonymize_takes_another_algorithm(examples: Path, algorithm: str) -> None:
    assert answer("anonymize", "hospital.toml", "hospital.csv", "-o", "out", "--algorithm", algorithm)["algorithm"] == (
        algorithm
    )


@pytest.mark.slow
def test_anonymize_optimizes_the_measure_that_was_asked_for(examples: Path) -> None:
    by = {
        measure: answer("anonymize", "hospital.toml", "hospital.csv", "-o", measure, "--measure", measure)["measures"]
        for measure in ("precision", "absolute-distance", "discernibility")
    }
    assert by["precision"]["precision"] == max(measures["precision"] for measures in by.values())
    assert by["discernibility"]["discernibility"] == min(measures["discernibility"] for measures in by.values())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["k-similar", "regroup"])
def test_anonymize_gives_the_measure_to_every_algorithm_that_takes_one(examples: Path, algorithm: str) -> None:
    common = ("anonymize", "hospital.toml", "hospital.csv", "--algorithm", algorithm)
    for measure in ("ncp", "precision"):
        assert answer(*common, "-o", measure, "--measure", measure)["algorithm"] == algorithm


def test_anonymize_refuses_a_measure_that_the_algorithm_has_no_use_for(examples: Path) -> None:
    result = run("anonymize", "samarati.toml", "samarati.csv", "-o", "out", "--measure", "loss")
    assert result.exit_code == 2
    assert "--algorithm lattice" in result.stderr
    unknown = run("anonymize", "hospital.toml", "hospital.csv", "-o", "out", "--measure", "beauty")
    assert unknown.exit_code == 2
    assert "discernibility" in unknown.stderr
    assert not Path("out").exists()


@pytest.mark.slow
def test_anonymize_reads_other_delimiters_and_encodings(examples: Path) -> None:
    text = Path("hospital.csv").read_text("utf-8").replace(",", "|").replace("fever", "fièvre")
    Path("hospital.csv").write_bytes(text.encode("latin-1"))
    reading = ("--delimiter", "|", "--encoding", "latin-1", "--memory", "1GB", "--threads", "1")
    assert run("anonymize", "hospital.toml", "hospital.csv", "-o", "out", *reading).exit_code == 0
    released = (Path("out") / "table.csv").read_text("utf-8")
    assert released.startswith("Race|BirthDate|Gender|ZIP|Problem")
    assert "fièvre" in released
    assert run("verify", "hospital.toml", "out", "--original", "hospital.csv", *reading).exit_code == 0


def test_verify_judges_any_table(examples: Path) -> None:
    result = run("verify", "hospital.toml", "hospital.csv")
    assert result.exit_code == 4
    assert "12 of 12 groups fail" in result.stdout
    assert "Do not hand this table out" in result.stderr
    assert answer("verify", "hospital.toml", "hospital.csv", exit_code=4)["passed"] is False


@pytest.mark.slow
def test_verify_finds_a_release_that_was_changed(examples: Path) -> None:
    assert run("anonymize", "hospital.toml", "hospital.csv", "-o", "out").exit_code == 0
    table = Path("out/table.csv")
    table.write_text(table.read_text("utf-8").replace("person,1967", "person,1966"), "utf-8")
    found = answer("verify", "hospital.toml", "out", "--original", "hospital.csv", exit_code=4)
    failed = {check["name"] for check in found["checks"] if not check["passed"]}
    assert failed == {"file", "truthful"}


# solutions


@pytest.mark.slow
def test_solutions_lists_samaratis_minimal_generalizations(examples: Path) -> None:
    """Samarati 2001, Figure 6: without suppression [0,2,1,2,2] and [1,3,0,1,1] are the 2-minimal ones."""
    text = Path("samarati.toml").read_text("utf-8").replace("max_suppression = 1", "max_suppression = 0")
    Path("samarati.toml").write_text(text, "utf-8")
    found = answer("solutions", "samarati.toml", "samarati.csv")
    vectors = {tuple(solution["node"].values()): solution["is_preferred"] for solution in found["solutions"]}
    assert vectors == {(0, 2, 1, 2, 2): False, (1, 3, 0, 1, 1): True}
    result = run("solutions", "samarati.toml", "samarati.csv", "--preference", "highest-absolute-peak")
    assert result.exit_code == 0
    assert "2 k-minimal generalizations" in result.stdout
    assert "highest-absolute-peak" in result.stderr


def test_solutions_shows_which_ones_a_preference_does_not_tell_apart(examples: Path) -> None:
    found = answer("solutions", "hospital.toml", "hospital.csv", "--preference", "max-distribution")["solutions"]
    assert {tuple(one["node"].values()): (one["is_preferred"], one["is_tied"]) for one in found} == {
        (1, 2, 0, 1): (True, False),
        (0, 3, 1, 1): (False, True),
        (0, 4, 1, 0): (False, False),
    }
    result = run("solutions", "hospital.toml", "hospital.csv", "--preference", "max-distribution")
    assert [line.split()[0] for line in result.stdout.splitlines() if "[" in line] == ["→", "=", "[0,"]
    assert "ties with it by max-distribution: 1 other" in result.stderr
    assert "ties" not in run("solutions", "hospital.toml", "hospital.csv").stderr


def test_solutions_refuses_an_unknown_preference(examples: Path) -> None:
    result = run("solutions", "samarati.toml", "samarati.csv", "--preference", "prettiest")
    assert result.exit_code == 2
    assert "min-absolute" in result.stderr


# init, schema, doctor


@pytest.mark.slow
def test_init_writes_a_policy_that_check_accepts(examples: Path) -> None:
    result = run("init", "hospital.csv", "-k", "2", "--max-suppression", "3")
    assert result.exit_code == 0
    Path("policy.toml").write_text(result.stdout, "utf-8")
    assert "# BirthDate: its name speaks of birth" in result.stdout
    assert "indistinct check policy.toml hospital.csv" in result.stderr
    policy = read_policy("policy.toml")
    assert policy.quasi == ("Race", "BirthDate", "Gender", "ZIP")
    assert policy.max_suppression == 3
    assert run("check", "policy.toml", "hospital.csv").exit_code == 0


def test_init_writes_a_file_once(examples: Path) -> None:
    found = answer("init", "hospital.csv", "-o", "policy.toml")
    assert Path("policy.toml").read_text("utf-8") == found["policy"]
    assert [column["role"] for column in found["columns"]] == ["quasi"] * 4 + ["sensitive"]
    again = run("init", "samarati.csv", "-o", "policy.toml")
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert Path("policy.toml").read_text("utf-8") == found["policy"]


def test_schema_is_a_json_schema() -> None:
    content = json.loads(run("schema").stdout)
    Draft202012Validator.check_schema(content)
    assert "columns" in content["properties"]


@pytest.mark.slow
def test_doctor_compiles_ahead() -> None:
    found = answer("doctor", "--compile")
    assert found["is_well"]
    assert int(found["findings"][-1]["found"].split()[0]) > 10


@pytest.mark.slow
def test_doctor_finds_this_installation_well() -> None:
    found = answer("doctor")
    assert found["is_well"] is True
    names = {finding["name"] for finding in found["findings"]}
    assert {"Python", "indistinct", "duckdb", "numba", "memory", "cores", "temporary space", "self-test"} <= names
    result = run("doctor")
    assert result.exit_code == 0
    assert "all is well" in result.stderr


@pytest.mark.slow
def test_doctor_names_the_command_that_installs_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = metadata.version

    def without(name: str) -> str:
        if name in ("numba", "polars"):
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr("indistinct.cli.setup.doctor.metadata.version", without)
    found = answer("doctor", exit_code=1)
    advice = {finding["name"]: finding["advice"] for finding in found["findings"] if finding["advice"]}
    assert advice["numba"].endswith("pip install numba")
    assert advice["polars"].endswith("pip install polars")


def test_cells_that_a_spreadsheet_takes_for_formulas_are_counted(tmp_path: Path) -> None:
    cells = ["=1+1", "+a", "-x", "@me", "\tx", "-3", "+4.5", "3", "a=b", ""]
    table = pa.table({"sex": ["f"] * len(cells), "said": cells})
    with open_table(table) as rows:
        assert (rows.formula_cells(["sex", "said"]), rows.formula_cells(["sex"])) == (5, 0)
    policy = 'version = 1\n[columns]\nsex = { role = "quasi" }\nsaid = { role = "other" }\n'
    (tmp_path / "p.toml").write_text(f'{policy}[[privacy]]\nmodel = "k-anonymity"\nk = 2\n', "utf-8")
    for text, is_said in (("=1+1", True), ("-3", False)):
        (tmp_path / "t.csv").write_text(f"sex,said\nf,{text}\nf,a\n", "utf-8")
        made = run("anonymize", tmp_path / "p.toml", tmp_path / "t.csv", "-o", tmp_path / "out", "--replace")
        assert made.exit_code == 0, made.output
        assert ("1 text cell begins with" in " ".join(made.output.split())) is is_said


@pytest.mark.parametrize("text", ["=1+1", "+a", "@SUM(A1)", "-x"])
def test_a_release_that_is_safe_for_spreadsheets_has_texts_and_no_formulas(tmp_path: Path, text: str) -> None:
    policy = 'version = 1\n[columns]\nsex = { role = "quasi" }\nsaid = { role = "other" }\n'
    (tmp_path / "p.toml").write_text(f'{policy}[[privacy]]\nmodel = "k-anonymity"\nk = 2\n', "utf-8")
    (tmp_path / "t.csv").write_text(f"sex,said\nf,{text}\nf,a\n", "utf-8")
    out = tmp_path / "out"
    made = run("anonymize", tmp_path / "p.toml", tmp_path / "t.csv", "-o", out, "--spreadsheet-safe")
    assert made.exit_code == 0, made.output
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "table.xlsx"]
    assert run("verify", tmp_path / "p.toml", out, "--original", tmp_path / "t.csv").exit_code == 0
    sheet = openpyxl.load_workbook(out / "table.xlsx").active
    cells = {sheet.cell(row, 2).value: sheet.cell(row, 2).data_type for row in (2, 3)}
    assert cells == {text: "s", "a": "s"}
