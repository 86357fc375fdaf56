"""Unicity: rows that stand alone to whoever knows any few cells, against counting by hand and by plain dictionaries."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.disclosure_risk import cell_unicity

VISITS = pa.table({"age": ["30-39"] * 4, "day": ["Mon", "Tue", "Tue", "Fri"], "drug": ["a", "a", "b", "b"]})


def test_the_example_by_hand() -> None:
    found = ix.unicity(VISITS)
    one, two, three = found.known
    assert (one.mean, one.worst, one.columns) == (pytest.approx(1 / 6), 0.5, ("day",))  # Monday and Friday
    assert (two.mean, two.worst, two.columns) == (pytest.approx(0.5), 1.0, ("day", "drug"))
    assert (three.cells, three.mean, three.sets, three.is_every) == (3, 1.0, 1, True)
    assert found.is_high


@examples(30, opens_tables=True)
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 4), min_size=1, max_size=25))
def test_all_sets_are_counted_where_there_are_few(rows: list[tuple[str, ...]]) -> None:
    table = pa.table({f"c{column}": [row[column] for row in rows] for column in range(4)})
    found = ix.unicity(table)
    for known in found.known:
        shares = {}
        for columns in combinations(range(4), known.cells):
            seen = Counter(tuple(row[column] for column in columns) for row in rows)
            shares[columns] = sum(times == 1 for times in seen.values()) / len(rows)
        assert known.mean == pytest.approx(sum(shares.values()) / len(shares))
        assert known.worst == max(shares.values())
        assert shares[tuple(int(name[1]) for name in known.columns)] == known.worst


def test_some_sets_are_drawn_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_unicity, "SETS", 5)
    columns = {f"same{number}": ["x"] * 40 for number in range(7)}
    table = pa.table(columns | {"half": [str(i // 2) for i in range(40)], "odd": [str(i % 2) for i in range(40)]})
    found = ix.unicity(table)
    assert found == ix.unicity(table)  # always the same sets
    assert not found.known[1].is_every
    assert found.known[2].worst == 1.0  # half and odd tell everybody, and a bad set is looked for
    assert {"half", "odd"} <= set(found.known[2].columns)
    assert found.known[-1].cells == 9


def test_what_cannot_be_counted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ix.PolicyError, match="no column 'town'"):
        ix.unicity(VISITS, ["town"])
    monkeypatch.setattr(cell_unicity, "MOST_DISTINCT", 3)
    with pytest.raises(ix.PolicyError, match="more than 3 distinct rows"):
        ix.unicity(VISITS)
    found = ix.risk(VISITS, ["age"])
    assert found.unicity is None
    assert any("distinct rows" in note for note in found.notes)


def policy() -> ix.Policy:
    columns = {"age": ix.quasi(ix.suppress()), "day": ix.other(), "drug": ix.other()}
    return ix.Policy(columns, [ix.KAnonymity(2)])


def test_risk_report_and_check_show_it(tmp_path: Path) -> None:
    table = pa.table(
        {name: VISITS[name].to_pylist() * 10 + [f"{name}{i}" for i in range(60)] for name in ("day", "drug")}
    )
    table = table.append_column("age", pa.array(["30-39"] * 100))
    found = ix.risk(table, policy=policy())
    assert found.unicity is not None
    assert found.unicity.known[-1].mean == 0.6
    checked = ix.check(table, policy())
    assert checked.is_feasible
    assert any("60.0%" in note and "day" in note for note in checked.notes)
    release = ix.anonymize(table, policy())
    release.report(tmp_path / "report.html")
    assert "to whoever knows any few of all 3 columns" in (tmp_path / "report.html").read_text("utf-8")


def test_the_worst_columns_of_many_are_named() -> None:
    """Two columns of forty leave everybody alone; on average over any three nearly nobody is."""
    table = pa.table({f"c{number}": ["x"] * 144 for number in range(38)})
    table = table.append_column("day", pa.array([str(row % 12) for row in range(144)]))
    table = table.append_column("drug", pa.array([str(row // 12) for row in range(144)]))
    table = table.append_column("age", pa.array(["30-39"] * 144))
    others = {name: ix.other() for name in table.column_names if name != "age"}
    (note,) = ix.check(table, ix.Policy({"age": ix.quasi(ix.suppress()), **others}, [ix.KAnonymity(2)])).notes
    assert "100.0%" in note
    assert "day, drug" in note


def test_tables_that_hide_people_are_not_warned_of() -> None:
    table = pa.table({"age": ["30-39"] * 100, "day": ["Mon", "Tue"] * 50, "drug": ["a"] * 100})
    assert ix.check(table, policy()).notes == ()


def test_the_command_line_shows_the_curve(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("age,day,drug\n30-39,Mon,a\n30-39,Tue,a\n30-39,Tue,b\n30-39,Fri,b\n", "utf-8")
    shown = CliRunner().invoke(app, ["risk", str(path), "--quasi", "age"])
    assert "Any few of all 3 columns" in shown.output
    said = json.loads(CliRunner().invoke(app, ["risk", str(path), "--quasi", "age", "--json"]).output)
    assert [one["cells"] for one in said["unicity"]["known"]] == [1, 2, 3]
