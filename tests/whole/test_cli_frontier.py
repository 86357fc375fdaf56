"""``indistinct frontier``: what it prints, what it writes, what it refuses; and the charts that it draws."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import commands
from indistinct.cli.explore.frontier import KINDS
from indistinct.examples import save_examples
from indistinct.showing.chart import PALETTE, Axis, Chart, Line

SVG = "{http://www.w3.org/2000/svg}"


run = partial(commands.run, "frontier")
answer = partial(commands.answer, "frontier")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the policy and the table of Samarati's example."""
    folder = tmp_path_factory.mktemp("examples")
    save_examples(folder)
    return folder / "samarati.toml", folder / "samarati.csv"


@pytest.mark.slow
def test_every_best_release_is_the_one_that_anonymize_makes(example: tuple[Path, Path]) -> None:
    policy_path, table = example
    content = answer(
        *example, "--ks", "1-3,5", "--limits", "0,0.2,3,0.9", "--measure", "loss", "--measure", "precision"
    )
    policy = ix.read_policy(policy_path)
    assert content["ks"] == [1, 2, 3, 5]
    assert list(content["measures"]) == ["loss", "precision"]
    compared = 0
    for measure, found in content["measures"].items():
        best = {(one["k"], one["max_suppression"]): one for one in found["best"]}
        for k in content["ks"]:
            for limit in (0, 0.2, 3, 0.9):
                asked = ix.Policy(columns=policy.columns, privacy=[ix.KAnonymity(k)], max_suppression=limit)
                try:
                    release = ix.anonymize(table, asked, algorithm=ix.Lattice(measure=measure))
                except ix.InfeasibleError:
                    assert (k, limit) not in best
                    continue
                with release:
                    one = best[k, limit]
                    assert one["node"] == release.node
                    assert one["suppressed"] == release.suppressed
                    assert one["value"] == pytest.approx(release.measures[measure])
                    compared += 1
    assert compared >= 20


@pytest.mark.slow
def test_the_policys_own_k_and_limit_are_always_among_those_asked_for(example: tuple[Path, Path]) -> None:
    policy = ix.read_policy(example[0])
    own_k = max(model.k for model in policy.privacy)  # type: ignore[attr-defined]
    content = answer(*example, "--ks", "7", "--limits", "0.5")
    assert content["ks"] == sorted({7, own_k})
    assert content["policy"]["k"] == own_k
    assert content["policy"]["max_suppression"] == policy.max_suppression
    with ix.anonymize(example[1], policy, algorithm=ix.Lattice()) as release:
        assert content["policy"]["best"]["node"] == release.node
    limits = {one["max_suppression"] for one in content["measures"]["precision"]["best"]}
    assert limits == {0.5, policy.max_suppression}


@pytest.mark.slow
def test_the_screen_shows_a_table_a_drawing_and_the_policys_cell(example: tuple[Path, Path]) -> None:
    result = run(*example, "--ks", "1-6", "--measure", "precision")
    assert result.exit_code == 0, result.output
    assert "Best precision by k and suppression limit" in result.stdout
    assert result.stdout.count("→") == 1
    assert any("\u2800" < sign <= "\u28ff" for sign in result.stdout)
    assert "└" in result.stdout
    content = answer(*example, "--ks", "1-6", "--measure", "precision")
    node = list(content["policy"]["best"]["node"].values())
    assert f"node {node}" in result.stderr
    assert "indistinct anonymize" in result.stderr


@pytest.mark.slow
def test_a_screen_shows_few_of_many_ks_and_says_so(example: tuple[Path, Path]) -> None:
    result = run(*example, "--ks", "1-300")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) < 60
    assert "of 300 ks are shown" in result.stderr


@pytest.mark.slow
def test_a_policy_that_cannot_be_met_is_said_to_be_so(example: tuple[Path, Path], tmp_path: Path) -> None:
    text = example[0].read_text("utf-8").replace("k = 2", "k = 5000")
    assert "k = 5000" in text
    policy = example[0].with_name("impossible.toml")
    policy.write_text(text, "utf-8")
    result = run(policy, example[1])
    assert result.exit_code == 0
    assert "no node satisfies it" in result.stderr
    assert answer(policy, example[1])["policy"]["best"] is None


def test_parquet_holds_every_node_and_k(example: tuple[Path, Path], tmp_path: Path) -> None:
    content = answer(*example, "--ks", "2,3", "-o", tmp_path / "all.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "all.parquet")
    assert content["written"] == str(tmp_path / "all.parquet")
    assert table.num_rows == 2 * content["nodes"]
    assert {"k", "suppressed", *content["measures"]} <= set(table.column_names)
    own = content["policy"]["best"]
    rows = [
        row
        for row in table.to_pylist()
        if row["k"] == own["k"] and all(row[f"level {name}"] == level for name, level in own["node"].items())
    ]
    assert [row["suppressed"] for row in rows] == [own["suppressed"]]
    assert rows[0]["precision"] == pytest.approx(own["value"])


def test_json_file_is_the_document_that_json_prints(example: tuple[Path, Path], tmp_path: Path) -> None:
    content = answer(*example, "--limits", "0,4", "-o", tmp_path / "best.json")
    written = json.loads((tmp_path / "best.json").read_text("utf-8"))
    assert written | {"written": content["written"]} == content


def test_svg_has_a_line_and_a_name_for_each_limit(example: tuple[Path, Path], tmp_path: Path) -> None:
    run(*example, "--ks", "1-9", "--limits", "0,0.1,2,1.0", "-o", tmp_path / "chart.svg")
    root = ElementTree.fromstring((tmp_path / "chart.svg").read_text("utf-8"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for name in ("0 %", "10 %", "2 rows", "100 %", "precision", "k (rows that each person hides among)"):
        assert name in texts
    colours = {element.get("stroke") for element in root.iter(f"{SVG}path")}
    assert set(PALETTE[:4]) <= colours


@pytest.mark.parametrize("kind", KINDS)
def test_an_existing_file_is_replaced_only_if_asked(example: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    goal = tmp_path / f"frontier{kind}"
    goal.write_text("mine", "utf-8")
    result = run(*example, "-o", goal)
    assert result.exit_code == 2
    assert "--replace" in result.stderr
    assert goal.read_text("utf-8") == "mine"
    assert run(*example, "-o", goal, "--replace").exit_code == 0
    assert goal.read_bytes() != b"mine"
    assert list(tmp_path.iterdir()) == [goal]


def test_a_write_that_fails_leaves_what_was_there(
    example: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = tmp_path / "chart.svg"
    goal.write_text("mine", "utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("indistinct.atomic_files.os.replace", full)
    result = run(*example, "-o", goal, "--replace")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert goal.read_text("utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [goal]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ks", "five"], "--ks: 'five'"),
        (["--ks", "9-2"], "--ks: '9-2'"),
        (["--ks", "0"], "--ks: '0'"),
        (["--ks", "2,,3"], "--ks: ''"),
        (["--ks", "1-100000000"], "name fewer"),
        (["--limits", "2.5"], "--limits: must be a share"),
        (["--limits", "-1"], "--limits: must be a share"),
        (["--limits", "nan"], "--limits: must be a share"),
        (["--limits", "0,some"], "--limits: must be a share"),
        (["--measure", "beauty"], "there is no 'beauty'"),
        (["-o", "frontier.csv"], "is written as .parquet, .json or .svg"),
        (["-o", "no/such/folder/f.svg"], "no folder that can be written to"),
    ],
)
def test_mistakes_are_reported_before_anything_is_written(
    example: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*example, *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_that_passes_leaves_nothing(example: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(*example, "--time-limit", "0", "-o", tmp_path / "f.json")
    assert result.exit_code != 0
    assert "time limit" in result.stderr
    assert list(tmp_path.iterdir()) == []


# Charts.


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1), st.integers(3, 9))
def test_a_linear_axis_holds_all_numbers_between_round_ticks(numbers: list[float], most: int) -> None:
    axis = Axis.over(numbers, most=most)
    assert all(-1e-6 <= axis.share(number) <= 1 + 1e-6 for number in numbers)
    assert 2 <= len(axis.ticks) <= most + 2
    assert list(axis.ticks) == sorted(set(axis.ticks))


@given(st.lists(st.floats(1e-6, 1e12), min_size=1))
def test_a_logarithmic_axis_holds_all_numbers_between_its_ends(numbers: list[float]) -> None:
    axis = Axis.over(numbers, is_log=True, most=9)
    assert all(-1e-9 <= axis.share(number) <= 1 + 1e-9 for number in numbers)
    assert len(axis.ticks) >= 2
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), max_size=8, unique_by=lambda point: point[0]),
        max_size=9,
    ),
    st.integers(40, 120),
)
def test_any_lines_are_drawn_inside_the_picture(drawn: list[list[tuple[int, float]]], width: int) -> None:
    lines = tuple(Line(f"<{n}> & co", tuple(sorted((float(k), y) for k, y in line))) for n, line in enumerate(drawn))
    chart = Chart("a < b", "k", "measure", lines, is_log_x=True)
    root = ElementTree.fromstring(chart.svg(900, 500))
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx", "nan")) <= 900
        assert 0 <= float(circle.get("cy", "nan")) <= 500
    rows = ["".join(text for text, _ in pieces) for pieces in chart.text(width, 12)]
    assert len(rows) == 14
    assert all(len(row) <= width for row in rows)
    owners = {line for pieces in chart.text(width, 12) for _, line in pieces if line is not None}
    assert owners <= {n for n, line in enumerate(lines) if line.points}


def test_a_falling_line_falls_in_the_drawing() -> None:
    chart = Chart("t", "k", "y", (Line("a", ((1.0, 1.0), (10.0, 0.0))),))
    root = ElementTree.fromstring(chart.svg())
    first, last = list(root.iter(f"{SVG}circle"))[:2]
    assert float(first.get("cx", "nan")) < float(last.get("cx", "nan"))
    assert float(first.get("cy", "nan")) < float(last.get("cy", "nan"))  # downwards
    rows = [[line for _, line in pieces] for pieces in chart.text(40, 10)]
    places = [row.index(0) for row in rows if 0 in row]
    assert places == sorted(places)
    assert math.isclose(Axis.over([1.0, 100.0], is_log=True).share(10.0), 0.5)
