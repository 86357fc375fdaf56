"""Commands for small tables and for populations: best-tables, distance-matrix and attack maps."""

from __future__ import annotations

import csv
import json

import pytest

import indistinct as ix
from helpers.commands import answer, run
from indistinct.examples import save_examples


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The papers' tables and policies, where commands run."""
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.slow
def test_the_three_tables_of_sweeneys_figure_7_are_listed_and_one_is_written(folder):
    found = answer("best-tables", "hospital.toml", "hospital.csv", "--choose", 2, "-o", "best")
    assert [table["precision"] for table in found["tables"]] == [pytest.approx(611 / 720)] * 3
    assert all(len(table["rows"]) == 12 for table in found["tables"])
    assert len({json.dumps(table["rows"]) for table in found["tables"]}) == 3
    assert (found["chosen"], found["folder"]) == (2, "best")
    assert ix.verify("best", ix.read_policy("hospital.toml")).passed
    with (folder / "best" / "table.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    key = json.dumps
    assert sorted(written, key=key) == sorted(found["tables"][1]["rows"], key=key)
    shown = run("best-tables", "hospital.toml", "hospital.csv")
    assert "Table 3 of 3, precision 0.8486" in shown.stdout
    assert "let only one of them leave the house" in shown.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--choose", 4, "-o", "best"], "there are 3 tables"),
        (["--choose", 1], "--choose NUMBER and --output FOLDER belong together"),
        (["-o", "best"], "--choose NUMBER and --output FOLDER belong together"),
    ],
)
def test_a_table_that_is_not_there_is_not_written(folder, options, said):
    result = run("best-tables", "hospital.toml", "hospital.csv", *options)
    assert (result.exit_code, said in result.stderr) == (2, True)
    assert not (folder / "best").exists()


@pytest.mark.slow
def test_samaratis_figure_11_is_the_distance_matrix():
    found = answer("distance-matrix", "samarati.toml", "samarati.csv")
    matrix = ix.distance_matrix("samarati.csv", ix.read_policy("samarati.toml"))
    assert found["columns"] == list(ix.read_policy("samarati.toml").quasi)
    assert found["vectors"] == matrix.vectors.tolist()
    assert found["outliers"] == list(range(11))
    # Example 5.1: the widow has two minimal vectors, and no minimal generalization lies above [1,3,1,2,2]
    assert [[0, 2, 1, 2, 2], [1, 3, 0, 1, 1]] in found["minimal_vectors"]
    assert (found["k"], found["upper_bound"]) == (2, [1, 3, 1, 2, 2])
    shown = run("distance-matrix", "samarati.toml", "samarati.csv")
    assert "11 outliers by 11 tuples, k = 2" in shown.stdout
    assert "widow" not in shown.stdout
    # as Figure 11 prints them: the tuples in the order of the table, each by the number of its row
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert [f"t{number}" for number in range(1, 12)] in lines
    assert [
        "t1",
        "00000",
        "01000",
        "02101",
        "02101",
        "13111",
        "13111",
        "11021",
        "11021",
        "13112",
        "13112",
        "13021",
    ] in lines
    assert [
        "t9",
        "13112",
        "13112",
        "13012",
        "13012",
        "13002",
        "13002",
        "13122",
        "13122",
        "00000",
        "01000",
        "02122",
    ] in lines
    assert found["rows"] == list(range(1, 12))


def test_a_tuple_of_the_distance_matrix_is_known_by_its_first_row(folder):
    lines = (folder / "hospital.csv").read_text("utf-8").splitlines()
    (folder / "twice.csv").write_text("\n".join([lines[0], lines[7], lines[7], lines[2], lines[1]]) + "\n")
    matrix = ix.distance_matrix("twice.csv", ix.read_policy("hospital.toml"))
    assert matrix.rows.tolist() == [1, 3, 4]
    assert (matrix.counts.tolist(), matrix.outliers.tolist()) == ([2, 1, 1], [1, 2])
    assert matrix.vectors[0, 2].tolist() == matrix.vectors[1, 1].tolist() == [0, 2, 0, 0]
    assert matrix.vectors[0, 1].tolist() == matrix.vectors[1, 2].tolist() == [0, 0, 0, 0]


@pytest.mark.slow
def test_maps_are_reported_from_the_command_line(folder):
    (folder / "zip.toml").write_text(
        "version = 1\n[columns]\nzip = { role = 'quasi', hierarchy = { prefix = { length = 5 } } }\n"
        "id = { role = 'identifier' }\n[[privacy]]\nmodel = 'k-anonymity'\nk = 1\n"
    )
    (folder / "voters.csv").write_text("number,zip\n1,02138\n2,02139\n3,94138\n")
    (folder / "draft.csv").write_text("id,zip\n1,0213*\n3,0213*\n")
    found = answer("attack", "maps", "zip.toml", "draft.csv", "voters.csv", "--key", "id=number")
    assert (found["rows"], found["people"], found["k"]) == (2, 3, 2)
    assert (found["null_rows"], found["right_rows"], found["wrong_rows"]) == (0, 1, 1)
    assert answer("attack", "maps", "zip.toml", "draft.csv", "voters.csv", "--on", "zip")["right_rows"] is None
    (folder / "nobody.csv").write_text("number,zip\n1,10001\n")
    assert answer("attack", "maps", "zip.toml", "draft.csv", "nobody.csv")["is_null_map"]
