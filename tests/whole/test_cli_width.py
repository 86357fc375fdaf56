"""Every command is readable at 80 columns: no word is cut. Also what all commands share: --quiet, and JSON mistakes."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import indistinct as ix
from indistinct.cli import app, show
from indistinct.cli.explore.solutions import picking_lines
from indistinct.examples import save_examples

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
WIDE = "a-column-with-a-rather-long-name"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the demo, two releases of one, and a table of many wide columns with its release."""
    folder = tmp_path_factory.mktemp("width")
    save_examples(folder)
    names = [f"{WIDE}-{number}" for number in range(4)]
    rows = [f"{age},{zip_},x{age % 3},y{age % 2},flu" for age in range(20, 32) for zip_ in ("02138", "02139")]
    (folder / "wide.csv").write_text("\n".join([",".join([*names, "illness"]), *rows]) + "\n", "utf-8")
    columns = "".join(f'{name} = {{ role = "quasi", hierarchy = {{ suppress = true }} }}\n' for name in names)
    text = f'version = 1\nmax_suppression = 0.5\n[columns]\n{columns}illness = {{ role = "sensitive" }}\n'
    (folder / "wide.toml").write_text(text + '[[privacy]]\nmodel = "k-anonymity"\nk = 2\n', "utf-8")
    voters = [row.rsplit(",", 1)[0] + f",Person-{number}" for number, row in enumerate(rows)]
    (folder / "voters.csv").write_text("\n".join([",".join([*names, "name"]), *voters]) + "\n", "utf-8")
    for policy, table, goal in (("hospital", "hospital", "first"), ("hospital", "hospital", "second"), ("wide",) * 3):
        with ix.anonymize(folder / f"{table}.csv", ix.read_policy(folder / f"{policy}.toml")) as release:
            release.write(folder / goal)
    return folder


def run(place: Path, command: str, width: int, more: tuple[str, ...] = ()) -> Result:
    """Run a command as on a screen of some width; names of files are those in the folder."""
    words = [str(place / word) if (place / word).exists() else word for word in command.split()]
    return CliRunner(env={"COLUMNS": str(width), "FORCE_COLOR": "1"}).invoke(app, [*words, *more])


COMMANDS = [
    "check hospital.toml hospital.csv",
    "check wide.toml wide.csv",
    "verify hospital.toml first --original hospital.csv",
    "verify first",
    "verify wide",
    "solutions hospital.toml hospital.csv",
    "solutions wide.toml wide.csv",
    "frontier hospital.toml hospital.csv",
    "frontier wide.toml wide.csv",
    "compare hospital.toml hospital.csv --algorithm datafly --algorithm lattice",
    "compare wide.toml wide.csv --algorithm datafly --algorithm mondrian --queries",
    "risk hospital.csv --policy hospital.toml",
    "risk wide.csv --policy wide.toml",
    "distance-matrix hospital.toml hospital.csv",
    "attack link wide.toml wide voters.csv --show name",
    "attack link hospital.toml first hospital.csv",
    "attack maps wide.toml wide voters.csv",
    "attack downcoding hospital.toml first",
    "attack downcoding wide.toml wide",
    "attack complementary hospital.toml first second",
    "attack unsorted hospital.toml first hospital.csv",
    "attack homogeneity wide.toml wide",
    "attack all wide.toml wide --original wide.csv --external voters.csv",
    "init wide.csv",
    "doctor",
    "schema",
    "anonymize wide.toml wide.csv",
    "anonymize hospital.toml hospital.csv --algorithm regroup",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_cut_at_80_columns(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(show, "progress", lambda *_: nullcontext(ix.Watch()))  # whose words come and go

    def said(width: int) -> tuple[set[str], int]:
        more = ("-o", str(tmp_path / str(width))) if command.startswith("anonymize") else ()
        more = ("-o", str(tmp_path / f"{width}.toml")) if command.startswith("init") else more
        result = run(place, command, width, more)
        assert result.exit_code in (0, 6), result.output
        text = CONTROL.sub("", result.stdout + result.stderr)
        words = {word for word in text.split() if "─" not in word and str(tmp_path) not in word}
        return {word for word in words if re.search("[a-zA-Z]", word)}, result.exit_code

    if command == "doctor":
        run(place, command, 80)  # it may compile a kernel, which it says once
    wide, narrow = said(400), said(80)
    assert wide[1] == narrow[1]
    # compare shows as many measures as there is room for
    assert {word for word in wide[0] - narrow[0] if not command.startswith("compare") or len(word) > 20} == set()


def test_a_table_that_does_not_fit_is_shown_row_by_row(place: Path) -> None:
    text = CONTROL.sub("", run(place, "attack link wide.toml wide voters.csv --show name", 80).stdout)
    assert max(map(len, text.splitlines())) <= 80
    assert f"  {WIDE}-0" in text
    assert "in the other table  " in text


@pytest.mark.parametrize("command", ["verify first", "check hospital.toml hospital.csv", "doctor"])
def test_quiet_prints_nothing_but_what_json_asks_for(place: Path, command: str) -> None:
    quiet = run(place, command, 80, ("--quiet",))
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    both = run(place, command, 80, ("-q", "--json"))
    assert json.loads(both.stdout)
    assert both.stderr == ""


def test_errors_are_reported_even_quietly(place: Path) -> None:
    refused = run(place, "anonymize hospital.toml hospital.csv -o first", 80, ("--quiet",))
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "already holds a release" in " ".join(CONTROL.sub("", refused.stderr).split())


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("check hospital.toml hospital.csv --threads none --json", "'--threads'"),
        ("check --json", "Missing argument"),
        ("frontier a b c --json", "nexpected extra argument"),
        ("check a b --nonsense --json", "No such option"),
        ("chekc a b --json", "No such command"),
        ("attack nobody a b --json", "No such command"),
        ("ledger list --nothing --json", "No such option"),
    ],
)
def test_mistakes_in_a_command_are_json_where_that_was_asked_for(place: Path, command: str, says: str) -> None:
    result = run(place, command, 80)
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert says in error["message"]
    assert error["exit_code"] == 2
    plain = run(place, command.replace(" --json", ""), 80)
    assert plain.exit_code == 2
    assert plain.stdout == ""


def test_solutions_are_picked_by_the_lines_that_are_shown(place: Path, tmp_path: Path) -> None:
    found = ix.solutions(place / "hospital.csv", ix.read_policy(place / "hospital.toml"))
    assert len(found) > 2
    shown = json.loads(run(place, "solutions hospital.toml hospital.csv --most 2 --json", 80).stdout)
    assert [one["is_preferred"] for one in shown["solutions"]] == [True, False]
    assert shown["found"] == len(found)
    text = CONTROL.sub("", run(place, "solutions hospital.toml hospital.csv --most 1", 200).output)
    lines = shown["solutions"][0]["policy_lines"]
    assert all(line in text for line in lines)
    whole = (place / "hospital.toml").read_text("utf-8")
    bare = "\n".join(line for line in whole.splitlines() if not line.startswith(("algorithm", "options")))
    for solution in found:
        version, _, rest = bare.partition("\n")
        picked = ix.parse_policy("\n".join([version, *picking_lines(solution), rest]))
        with ix.anonymize(place / "hospital.csv", picked) as release:
            assert release.node == solution.node


def test_where_words_go_to_a_file_long_work_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    shown = show.PlainProgress(clock=lambda: now[0])
    for seconds, done in [(0.0, 0), (4.0, 4), (6.0, 25), (9.0, 30), (16.5, 50)]:
        now[0] = seconds
        shown("count", done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert [re.findall(r"[0-9]+", line) for line in lines] == [["25", "18"], ["50", "16"]]
    assert show.stage_line("mondrian: search", None, None, 9.0) == f"mondrian: {show.STAGES['search']}"
