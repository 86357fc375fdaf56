"""``indistinct mu-argus``: the dialogue on stdin, what it shows, what it writes, and how it ends."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from indistinct.cli import app
from indistinct.examples import save_examples

IDENTIFYING = "{ BirthDate = 1, Gender = 2, ZIP = 2, Race = 3 }"


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Sweeney's hospital table, a name in each row, and a policy for µ-Argus with her tags."""
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    policy = Path("hospital.toml").read_text("utf-8")
    policy = policy.replace('"lattice"', f'"mu-argus"\noptions = {{ identifying = {IDENTIFYING} }}', 1)
    Path("policy.toml").write_text(policy.replace("[columns]", '[columns]\nName = { role = "identifier" }'), "utf-8")
    header, *rows = Path("hospital.csv").read_text("utf-8").splitlines()
    named = [f"Name,{header}", *(f"Person-{number},{row}" for number, row in enumerate(rows, start=1))]
    Path("named.csv").write_text("\n".join(named) + "\n", "utf-8")
    return tmp_path


def discuss(*answers: str, options: tuple[str, ...] = ()) -> Result:
    text = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(app, ["mu-argus", "policy.toml", "named.csv", "-o", "out", *options], input=text)


def released() -> Counter[tuple[str, ...]]:
    with Path("out", "table.csv").open(encoding="utf-8") as file:
        return Counter(tuple(row[:4]) for row in list(csv.reader(file))[1:])


def lines(text: str) -> list[str]:
    """Return lines without what depends on widths alone."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.slow
def test_done_at_once_shows_figure_14_and_writes_mt_of_figure_15_if_allowed(hospital: Path) -> None:
    result = discuss("done", "yes", options=("--allow-unsafe",))
    assert result.exit_code == 0, result.output
    shown = lines(result.stdout)
    assert "1 Race 0 2 □□ 2 3" in shown
    assert "2 BirthDate 2 5 ■■□□□ 2 5" in shown
    assert "BirthDate × Gender × ZIP 2 2" in shown
    assert "BirthDate 2" in shown  # two cells to suppress
    assert "7 of 13 combinations of columns are unsafe at k = 2, in 2 rows" in result.stderr
    assert "3 cells in 2 rows would be suppressed" in result.stderr
    assert "µ-Argus does not see them, but the recount does" in result.stderr
    assert "UNSAFE" in result.stderr
    assert released()["white", "", "male", "02138"] == 1
    assert released()["white", "", "", "02139"] == 1
    assert sum(released().values()) == 12
    manifest = json.loads(Path("out", "manifest.json").read_text("utf-8"))
    assert manifest["unsafe"] is True
    assert manifest["algorithm"] == "mu-argus"
    assert manifest["suppressed"] == 0


@pytest.mark.slow
def test_a_release_that_fails_its_recount_is_not_written(hospital: Path) -> None:
    result = discuss("done", "y")
    assert result.exit_code == 4
    assert "does not verify" in result.stderr
    assert "nothing was written; generalize more columns, or add --allow-unsafe" in result.stderr
    assert not Path("out").exists()
    assert not [place for place in hospital.iterdir() if "partial" in place.name]


@pytest.mark.slow
def test_generalizing_until_all_is_safe_writes_a_verified_release(hospital: Path) -> None:
    result = discuss("4", "Race", "done", "y")
    assert result.exit_code == 0, result.output
    assert "is unsafe at k = 2" in result.stderr
    assert "no cell has to be suppressed" in result.stderr
    assert "verified and written to out" in result.stderr
    assert min(released().values()) == 2
    assert "unsafe" not in json.loads(Path("out", "manifest.json").read_text("utf-8"))
    verified = CliRunner().invoke(app, ["verify", "policy.toml", "out", "--original", "named.csv"])
    assert verified.exit_code == 0, verified.output


@pytest.mark.slow
def test_undo_no_and_mistakes_lead_back_to_the_question(hospital: Path) -> None:
    answers = ["undo", "Problem", "9", "", "zip", "ZIP", "4", "4", "undo", "undo", "undo"]
    answers += ["done", "what", "no", "race", "ZIP", "done", "y"]
    result = discuss(*answers)
    assert result.exit_code == 0, result.output
    told = result.stderr
    assert told.count("there is no generalization to take back") == 1
    assert told.count("that is no column; say a number from 1 to 4 or one of Race, BirthDate, Gender, ZIP") == 3
    assert told.count("'ZIP' is at the top of its hierarchy already") == 1
    assert told.count("recount and write the release?") == 3
    assert set(released()) == {
        ("person", "1965", "male", "0214*"),
        ("person", "1965", "female", "0213*"),
        ("person", "1964", "female", "0213*"),
        ("person", "1964", "male", "0213*"),
        ("person", "1967", "male", "0213*"),
    }


def test_show_lists_the_categories_of_a_column(hospital: Path) -> None:
    result = discuss("show BirthDate", "show 3", "show", "show Name", "quit")
    shown = lines(result.stdout)
    assert "1965 5 2 3" in shown
    assert "1964 5 0 2" in shown
    assert "female 5 2 2" in shown
    assert not any(line.startswith("1967") for line in shown)  # not in any unsafe combination
    assert result.stderr.count("that is no column") == 2


@pytest.mark.parametrize("answers", [("quit",), ("4", "quit"), ("done", "quit"), (), ("ZIP",), ("done",)])
def test_whoever_leaves_before_confirming_writes_nothing(hospital: Path, answers: tuple[str, ...]) -> None:
    result = discuss(*answers)
    assert result.exit_code == 1
    assert "the dialogue ended before the release was confirmed; nothing was written" in result.stderr
    assert not Path("out").exists()


@pytest.mark.slow
def test_json_is_all_that_stdout_carries(hospital: Path) -> None:
    result = discuss("ZIP", "show ZIP", "race", "done", "y", options=("--json",))
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["algorithm"] == "mu-argus"
    assert document["levels"] == {"Race": 1, "BirthDate": 2, "Gender": 0, "ZIP": 1}
    assert document["blank_cells"] == {"Race": 0, "BirthDate": 0, "Gender": 0, "ZIP": 0}
    assert document["rows_with_blanks"] == 0
    assert document["verdict"]["passed"] is True
    assert "Unsafe combinations" in result.stderr


@pytest.mark.slow
def test_json_tells_errors_too(hospital: Path) -> None:
    refused = discuss("done", "y", options=("--json",))
    assert json.loads(refused.stdout)["error"]["exit_code"] == refused.exit_code == 4
    left = discuss("quit", options=("--json",))
    assert json.loads(left.stdout)["error"]["kind"] == "InterruptedSearchError"


@pytest.mark.slow
def test_no_identifier_is_ever_shown(hospital: Path) -> None:
    result = discuss("show 1", "show 2", "show 3", "show 4", "done", "y", options=("--allow-unsafe",))
    assert result.exit_code == 0
    assert "Person-" not in result.output
    assert "short of breath" not in result.output
    assert "Person-" not in Path("out", "table.csv").read_text("utf-8")


@pytest.mark.slow
def test_a_folder_that_holds_a_release_is_refused_before_the_dialogue(hospital: Path) -> None:
    assert discuss("4", "1", "done", "y").exit_code == 0
    again = discuss("4", "1", "done", "y")
    assert again.exit_code == 2
    assert "generalize which column" not in again.output
    assert discuss("4", "1", "done", "y", options=("--replace",)).exit_code == 0


def test_a_policy_for_another_algorithm_takes_the_defaults(hospital: Path) -> None:
    """All columns are then most identifying: {Race, Gender, ZIP} is tested, too."""
    arguments = ["mu-argus", "hospital.toml", "hospital.csv", "-o", "out"]
    result = CliRunner().invoke(app, arguments, input="quit\n")
    assert "8 of 14 combinations of columns are unsafe" in result.stderr


def test_options_of_the_policy_that_do_not_fit_are_refused(hospital: Path) -> None:
    text = Path("policy.toml").read_text("utf-8")
    Path("policy.toml").write_text(text.replace(IDENTIFYING, "{ Problem = 1 }"), "utf-8")
    result = discuss("done", "y")
    assert result.exit_code == 2
    assert "'Problem' is not a quasi column" in result.stderr


def test_columns_that_are_not_identifying_are_shown_as_not_tested(hospital: Path) -> None:
    text = Path("policy.toml").read_text("utf-8")
    Path("policy.toml").write_text(text.replace("Race = 3", "Race = 0"), "utf-8")
    result = discuss("show Race", "quit")
    assert "1 Race 0 2 □□ not tested not tested" in lines(result.stdout)
    assert "none is unsafe" in lines(result.stdout)


def test_many_combinations_are_cut_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"c{number}" for number in range(6)]
    columns = "\n".join(f'{name} = {{ role = "quasi" }}' for name in names)
    policy = f'version = 1\n[columns]\n{columns}\n[[privacy]]\nmodel = "k-anonymity"\nk = 2\n'
    Path("policy.toml").write_text(policy, "utf-8")
    rows = [names, ["x"] * 6, ["x"] * 6, ["y"] * 6]
    Path("named.csv").write_text("".join(",".join(row) + "\n" for row in rows), "utf-8")
    result = discuss("quit")
    assert "… 21 more" in lines(result.stdout)  # 6 + 15 + 20 are unsafe, 20 are shown
    assert "41 of 41 combinations" in result.stderr


def test_a_column_may_be_called_like_a_word_of_the_dialogue(hospital: Path) -> None:
    for name in ("policy.toml", "named.csv"):
        text = Path(name).read_text("utf-8")
        Path(name).write_text(text.replace("ZIP", "undo"), "utf-8")
    result = discuss("undo", "quit")
    assert "4 undo 1 3 ■□□ 0 1" in lines(result.stdout)


@pytest.mark.slow
def test_it_works_as_a_process_with_a_pipe(hospital: Path) -> None:
    command = [sys.executable, "-m", "indistinct", "mu-argus", "policy.toml", "named.csv", "-o", "out", "--json"]
    done = subprocess.run(command, input="4\n1\ndone\ny\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["smallest_group"] == 2
    assert "generalize which column?" in done.stderr
    assert Path("out", "table.csv").is_file()
