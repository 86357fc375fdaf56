"""``indistinct compare``: what it prints, what it draws, what it refuses, and the codes that it ends with."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import Result

import indistinct as ix
from helpers import commands
from indistinct.examples import save_examples
from indistinct.recoding import FullDomainRecoding
from indistinct.registry import ALGORITHMS, MEASURES
from indistinct.search import Task

SVG = "{http://www.w3.org/2000/svg}"
FOUR = ("lattice", "samarati", "mingen", "datafly")

SEARCHING = [name for name in ALGORITHMS if name not in ("safepub", "chosen", "applied")]


run = partial(commands.run, "compare")
answer = partial(commands.answer, "compare")


def chosen(*names: str) -> list[str]:
    return [word for name in names for word in ("--algorithm", name)]


class Bare:
    """An algorithm that releases every row as it is, which hides nobody."""

    name = "bare"

    def run(self, task: Task, watch: ix.Watch) -> FullDomainRecoding:
        base = task.frequencies.base
        return FullDomainRecoding(task.frequencies, base, np.zeros(len(base), np.bool_))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The policy and the table of Sweeney's hospital, in the folder where commands run."""
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return "hospital.toml", "hospital.csv"


def with_line(old: str, new: str) -> str:
    """Return the policy of the example with one line changed, as a file of its own."""
    text = Path("hospital.toml").read_text("utf-8")
    assert old in text
    Path("changed.toml").write_text(text.replace(old, new), "utf-8")
    return "changed.toml"


def lines_of(result: Result, *names: str) -> list[list[str]]:
    """Return the words of the table's lines that begin with these names, in the order of the table."""
    found = [line.split() for line in result.stdout.splitlines()]
    return [words for words in found if words and words[0] in names]


# What it prints.


@pytest.mark.slow
def test_the_table_has_a_line_for_each_algorithm_the_best_first(example: tuple[str, str]) -> None:
    result = run(*example)
    assert result.exit_code == 0, result.output
    assert f"{len(SEARCHING)} algorithms on 12 rows" in result.stdout
    for words in ("algorithm", "precision", "loss", "suppressed", "groups", "smallest", "seconds", "CPU"):
        assert words in result.stdout
    lines = lines_of(result, *SEARCHING)
    assert {words[0] for words in lines} == set(SEARCHING)
    two_tables = ("lossy-join", "anatomy")  # they generalize nothing, so they are no match for the others
    precisions = [float(words[1]) for words in lines if words[-1] == "✓" and words[0] not in two_tables]
    assert precisions == sorted(precisions, reverse=True)
    assert ["lattice", "0.6917"] in [words[:2] for words in lines]


@pytest.mark.slow
@pytest.mark.parametrize("width", ["80", "100", "140"])
def test_the_table_fits_the_screen_and_a_wide_one_has_more_measures(
    example: tuple[str, str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    result = run(*example, *chosen(*FOUR))
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    assert "…" not in result.stdout
    assert ("discernibility" in result.stdout) == (width == "140")
    assert ("loss" in result.stdout) == (width != "80")


@pytest.mark.slow
def test_words_say_what_is_best_and_what_is_exact_and_what_to_do_next(example: tuple[str, str]) -> None:
    result = run(*example, *chosen(*FOUR))
    assert "best by precision: " in result.stderr
    assert "quickest: " in result.stderr
    assert "the algorithm considers: lattice (by precision), mingen (by precision)" in result.stderr
    assert "next: indistinct anonymize hospital.toml hospital.csv -o release\n" in result.stderr
    assert "best by" not in result.stdout


@pytest.mark.slow
def test_the_next_step_names_the_best_algorithm_if_the_policys_is_worse(example: tuple[str, str]) -> None:
    policy = with_line("max_suppression = 0 ", "max_suppression = 2 ")
    result = run(policy, example[1], *chosen("mingen", "datafly"))
    assert "best by precision: datafly (0.7500)" in result.stderr
    assert "-o release --algorithm datafly" in result.stderr


@pytest.mark.slow
def test_the_best_figures_stand_out(example: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setitem(ALGORITHMS._registered, "bare", Bare)
    policy = with_line("max_suppression = 0 ", "max_suppression = 2 ")
    shown = run(policy, example[1], *chosen("mingen", "datafly", "bare")).stdout
    assert re.search(r"\x1b\[1;32m *0\.7500", shown)  # Datafly's precision
    assert len(re.findall(r"\x1b\[1;32m *0\x1b", shown)) == 1  # MinGen suppresses no row; nor does what fails
    assert not re.search(r"\x1b\[1;32m *0\.6917", shown)
    assert not re.search(r"\x1b\[1;32m *1\x1b", shown)  # the precision of what does not verify


@pytest.mark.slow
def test_equals_are_all_called_best(example: tuple[str, str]) -> None:
    result = run(*example, *chosen("lattice", "mingen"))
    assert "best by precision: lattice, mingen (0.6917)" in result.stderr


@pytest.mark.slow
def test_the_measure_that_counts_stands_first_and_sorts(example: tuple[str, str]) -> None:
    content = answer(*example, *chosen(*FOUR), "--measure", "discernibility")
    result = run(*example, *chosen(*FOUR), "--measure", "discernibility")
    lines = lines_of(result, *FOUR)
    figures = [float(words[1].replace(",", "")) for words in lines]
    assert figures == sorted(one["measures"]["discernibility"] for one in content["trials"])
    assert lines[0][0] == content["best"]
    assert "best by discernibility" in result.stderr


@pytest.mark.slow
def test_the_policys_own_measure_counts_if_none_is_asked_for(example: tuple[str, str]) -> None:
    policy = with_line('algorithm = "lattice"', 'algorithm = "lattice"\noptions = { measure = "loss" }')
    content = answer(policy, example[1], *chosen(*FOUR))
    assert content["measure"] == "loss"
    assert content["trials"][0]["optimum_of"] == "loss"


@pytest.mark.slow
def test_json_has_every_figure(example: tuple[str, str]) -> None:
    content = answer(*example)
    assert list(content) == ["measure", "best", "rows", "tuples", "trials", "written"]
    assert [one["label"] for one in content["trials"]] == SEARCHING
    for one in (one for one in content["trials"] if one["is_feasible"]):
        with ix.anonymize(
            example[1], ix.read_policy(example[0]), algorithm=one["algorithm"], allow_unsafe=True
        ) as release:
            assert set(one["measures"]) == set(one["losses"]) == set(MEASURES)
            assert one["measures"] == pytest.approx(release.measures)
            assert (one["suppressed"], one["node"]) == (release.suppressed, release.node)
            assert release.verdict is not None
            assert one["verified"] == release.verdict.passed
            assert one["seconds"] > 0
    assert content["written"] is None


@pytest.mark.slow
def test_how_a_text_is_read_can_be_said(example: tuple[str, str]) -> None:
    text = Path("hospital.csv").read_text("utf-8").replace(",", "|").replace("fever", "fièvre")
    Path("hospital.csv").write_bytes(text.encode("latin-1"))
    reading = ("--delimiter", "|", "--encoding", "latin-1", "--memory", "1GB", "--threads", "1")
    assert answer(*example, *chosen("datafly"), *reading)["rows"] == 12


@pytest.mark.slow
def test_no_cell_of_the_table_is_printed_or_drawn(example: tuple[str, str]) -> None:
    rows = [line.split(",") for line in Path("hospital.csv").read_text("utf-8").splitlines()[1:]]
    cells = {cell for row in rows for cell in row}
    result = run(*example, "--chart", "chart.svg")
    told = result.output + json.dumps(answer(*example)) + Path("chart.svg").read_text("utf-8")
    assert len(cells) > 20
    words = set(re.split(r"[^\w./-]+", told))  # a number of seconds may hold the digits of a ZIP code
    assert cells & words == set()
    assert [cell for cell in cells if not cell.isdecimal() and cell in told] == []


# Without a release.


@pytest.mark.slow
def test_what_fails_is_reported_with_its_reason_beside_the_others(example: tuple[str, str]) -> None:
    result = run(*example, *chosen("samarati", "lattice", "datafly"), "--time-limit", "0")
    assert result.exit_code == 0
    assert "Without a release that verifies" in result.stdout
    told = " ".join(result.stdout.split())
    assert "samarati interrupted the time limit passed before the lowest height was known" in told
    assert lines_of(result, "samarati")[0][1:] == ["–"] * (len(lines_of(result, "samarati")[0]) - 1)
    assert "lattice: not proven; the loss of its best may be lower by up to" in result.stderr


@pytest.mark.slow
def test_an_unsafe_release_is_marked_and_never_the_best(
    example: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ALGORITHMS._registered, "bare", Bare)
    result = run(*example, *chosen("bare", "lattice"))
    assert result.exit_code == 0
    bare = lines_of(result, "bare")
    assert [words[-1] for words in lines_of(result, "lattice")] == ["✓"]
    assert bare[0][-1] == "✗"
    assert bare[1][1] == "unsafe"
    assert "12 of 12 groups fail" in " ".join(result.stdout.split())
    assert "best by precision: lattice (0.6917)" in result.stderr
    content = answer(*example, *chosen("bare", "lattice"))
    assert (content["best"], [one["verified"] for one in content["trials"]]) == ("lattice", [False, True])


@pytest.mark.slow
def test_the_code_says_why_there_is_no_release_at_all(
    example: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ALGORITHMS._registered, "bare", Bare)
    assert run(*example, *chosen("bare")).exit_code == 4
    assert run(*example, *chosen("samarati"), "--time-limit", "0").exit_code == 1
    stuck = with_line(
        'algorithm = "lattice"',
        'algorithm = "datafly"\noptions = { preference = { Race = 0, BirthDate = 0, Gender = 0, ZIP = 0 } }',
    )
    result = run(stuck, example[1], *chosen("datafly"))
    assert result.exit_code == 3
    assert "no algorithm gave a release that verifies" in result.stderr
    assert "next:" not in result.stderr
    content = answer(stuck, example[1], *chosen("datafly"), exit_code=3)
    assert (content["best"], content["trials"][0]["ending"]) == (None, "infeasible")
    assert run(stuck, example[1], *chosen("datafly", "lattice")).exit_code == 0
    assert run(with_line("k = 2", "k = 13"), example[1]).exit_code == 3


# The chart.


@pytest.mark.slow
def test_the_chart_has_every_algorithm(example: tuple[str, str]) -> None:
    content = answer(*example, "--measure", "entropy", "--chart", "chart.svg")
    assert content["written"] == "chart.svg"
    root = ElementTree.fromstring(Path("chart.svg").read_text("utf-8"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert [name for name in SEARCHING if name not in texts] == []
    for words in ("loss by entropy", "loss by precision", "loss", "rows suppressed", "seconds"):
        assert words in texts
    assert "written to other.svg" in run(*example, "--chart", "other.svg").stderr


@pytest.mark.slow
def test_an_existing_chart_is_replaced_only_if_asked(example: tuple[str, str], tmp_path: Path) -> None:
    goal = tmp_path / "chart.svg"
    goal.write_text("mine", "utf-8")
    before = sorted(tmp_path.iterdir())
    result = run(*example, *chosen("datafly"), "--chart", goal)
    assert result.exit_code == 2
    assert "--replace" in result.stderr
    assert goal.read_text("utf-8") == "mine"
    assert run(*example, *chosen("datafly"), "--chart", goal, "--replace").exit_code == 0
    assert goal.read_text("utf-8").startswith("<svg")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_write_that_fails_leaves_what_was_there(
    example: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = tmp_path / "chart.svg"
    goal.write_text("mine", "utf-8")
    before = sorted(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("indistinct.atomic_files.os.replace", full)
    result = run(*example, *chosen("datafly"), "--chart", goal, "--replace")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert goal.read_text("utf-8") == "mine"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithm", "latice"], "there is no 'latice'"),
        (["--algorithm", "lattice", "--algorithm", "one", "--algorithm", "two"], "2 mistakes"),
        (["--measure", "beauty"], "there is no 'beauty'"),
        (["--chart", "chart.png"], "written as .svg"),
        (["--chart", "no/such/folder/chart.svg"], "no folder that can be written to"),
        (["--time-limit", "-1"], "--time-limit"),
    ],
)
def test_mistakes_are_reported_before_anything_is_written(
    example: tuple[str, str], tmp_path: Path, arguments: list[str], said: str
) -> None:
    before = sorted(tmp_path.iterdir())
    result = run(*example, *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_map_names_the_releases_that_no_other_beats_in_both(example: tuple[str, str]) -> None:
    asked = [*example, *chosen("datafly", "mondrian"), "--utility", "k-marginal", "--k", "2", "--k", "3"]
    said = answer(*asked, "--chart", "map.svg")
    assert [one["k"] for one in said["trials"]] == [2, 2, 3, 3]
    assert set(said["undominated"]) <= {one["label"] for one in said["trials"]}
    assert said["undominated"]
    assert ElementTree.parse("map.svg").getroot().tag == f"{SVG}svg"
    assert "undominated" in run(*asked).output
