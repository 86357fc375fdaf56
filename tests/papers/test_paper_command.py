"""``ix.paper`` and ``indistinct paper``: every figure anew, beside what is printed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers.papers import FIGURE_4, HOSPITAL_ADDED, HOSPITAL_GT1, SAMARATI, SWEENEY, SWEENEY_FIGURE_4, at
from indistinct.cli import app
from indistinct.papers import FIGURES, Differs, PaperStatement, PaperTable, wong_2007
from indistinct.papers.inputs import as_printed, hierarchies, table

SMALL = [name for name, (_, figure) in FIGURES.items() if not figure.is_large]
NOT_COMPUTED = {
    "people with Governor Weld's birth date, of them men, of them in his ZIP code",
    "rows",
    "distinct values",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_figure_agrees_with_its_paper_or_is_known_to_differ(name):
    found = ix.paper(name)
    assert found.agrees, str(found)
    assert {one.name for one in found.statements if one.status == "not computed"} <= NOT_COMPUTED
    assert all(one.why for one in found.statements if one.status == "known difference")


@pytest.mark.slow
def test_what_is_known_to_differ_is_what_the_papers_page_lists():
    differing = {
        (name, said)
        for name in ("samarati-figure-11", "achieving-figure-7", "model-figure-2")
        for said in (one.name for one in ix.paper(name).statements if one.status == "known difference")
    }
    assert differing == {
        ("samarati-figure-11", "least upper bound"),
        ("samarati-figure-11", "its level"),
        ("achieving-figure-7", "Prec(GT)"),
        ("achieving-figure-7", "tables that MinGen ends with, cell by cell"),
        ("achieving-figure-7", "their Prec"),
        ("achieving-figure-7", "GT is one of them"),
        ("model-figure-2", "|T[Gender]|"),
    }


@pytest.mark.parametrize(
    ("found", "shown", "status"),
    [
        (1, 1, "same"),
        ([(0, 1)], [[0, 1]], "same"),
        (1, 2, "DIFFERS"),
        (1, None, "not printed"),
        (None, 1, "not computed"),
        (1, Differs(2, 1, "why"), "known difference"),
        (3, Differs(2, 1, "why"), "DIFFERS"),
        (2, Differs(2, 1, "why"), "DIFFERS"),
        (1, Differs(1, 1, "why"), "DIFFERS"),
    ],
)
def test_an_explanation_holds_for_what_it_was_given_for_and_nothing_else(found, shown, status):
    assert PaperStatement.of("it", found, shown).status == status


def test_the_printed_tables_are_those_that_other_tests_type_from_the_papers():
    """Typed apart: generalized by hand, and Example 7's release as the rows of two tables."""
    columns = ("Race", "ZIP")
    for node in ((0, 1), (1, 0), (0, 2), (1, 1), (1, 2)):
        name = f"samarati-figure-4 GT[{node[0]},{node[1]}]"
        assert dict(as_printed(name).rows) == Counter(at(FIGURE_4, columns, SAMARATI, node))
    rows = [(race, code) for race, code in SWEENEY_FIGURE_4]
    for node in ((0, 1), (1, 0), (0, 2), (1, 1)):
        by_hand = Counter(at(rows, columns, SWEENEY, node))
        shown = as_printed(f"achieving-figure-4 GT[{node[0]},{node[1]}]").rows
        assert {tuple(cell.lower() for cell in cells): number for cells, number in shown} == by_hand
    assert dict(as_printed("model-example-7 safe").rows) == Counter([*HOSPITAL_GT1, *HOSPITAL_ADDED])
    known = {name: {row[0]: row for row in own.table()} for name, own in hierarchies("samarati").items()}
    assert known == SAMARATI
    assert PaperTable.of_arrow(table("samarati-figure-4")) == PaperTable.of(columns, FIGURE_4)


def test_the_command_lists_every_figure():
    listed = json.loads(CliRunner().invoke(app, ["paper", "--json"]).output)["figures"]
    assert [one["name"] for one in listed] == list(FIGURES)
    assert all(one["where"] and one["title"] and one["paper"] for one in listed)


def test_the_command_prints_a_figure_beside_what_is_printed():
    run = CliRunner().invoke(app, ["paper", "achieving-figure-13", "--json"])
    (found,) = json.loads(run.output)["figures"]
    assert run.exit_code == 0
    (v, unsafe) = found["statements"]
    assert v["status"] == "same"
    assert [["1965", "02139", "1"], 1] in v["computed"]["rows"]
    assert unsafe["computed"] == [["1965", "02139"]]
    shown = CliRunner().invoke(app, ["paper", "achieving-figure-13"])
    assert shown.exit_code == 0
    assert "02139" in shown.output


def test_a_difference_without_an_explanation_is_an_exit_code(monkeypatch):
    paper, figure = FIGURES["achieving-figure-10"]
    wrong = replace(figure, printed=lambda: {"Prec(MGT)": 0.9})
    monkeypatch.setitem(FIGURES, "achieving-figure-10", (paper, wrong))
    run = CliRunner().invoke(app, ["paper", "achieving-figure-10", "--json"])
    assert run.exit_code == ix.VerificationError.exit_code
    assert not json.loads(run.stdout)["agrees"]


@pytest.mark.parametrize("arguments", [["no-such-figure"], ["wong-table-7", "--all"]])
def test_what_cannot_be_meant_is_refused(arguments):
    assert CliRunner().invoke(app, ["paper", *arguments]).exit_code == 2


@pytest.mark.slow
def test_wongs_curves_run_on_made_up_people_and_say_so(monkeypatch):
    monkeypatch.setattr(wong_2007, "MADE_UP_ROWS", 300)
    monkeypatch.setattr(wong_2007, "QUERIES", 20)
    monkeypatch.setattr(wong_2007, "AXES", {"qd": (1, 4), "s": (0.05, 0.15)})
    found = ix.paper("wong-figures-2-5")
    assert "made-up" in found.note
    curves = [one.found for one in found.statements if isinstance(one.found, PaperTable)]
    assert [len(one.rows) for one in curves] == [2, 2]
    heads = ("Alpha, uniform", "Alpha, overlap", "Alpha, literal", "Alpha(Lossy), proportional", "Alpha(Lossy), paper")
    assert curves[0].columns[1:6] == heads
    (claim,) = (one.found for one in found.statements if one.name.startswith("Alpha(Lossy) <"))
    assert claim[1] == 4


def test_uci_adult_is_read_from_its_files_without_unknown_values(tmp_path):
    row = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
        "United-States, <=50K"
    )
    (tmp_path / "adult.data").write_text(f"{row}\n{row.replace('State-gov', '?')}\n\n")
    with pytest.raises(ix.TableError, match=r"adult\.test"):
        wong_2007.read_adult(str(tmp_path))
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{row.replace('39', '25').replace('50K', '50k')}.\n")
    read = wong_2007.read_adult(str(tmp_path))
    assert read["age"].to_pylist() == ["39", "25"]
    assert read["salary-class"].to_pylist() == ["<=50K", "<=50K"]
    (tmp_path / "few.csv").write_text("age\n3\n")
    with pytest.raises(ix.TableError, match="'workclass'"):
        wong_2007.read_adult(str(tmp_path / "few.csv"))
