"""risk() where people have several rows: compared with counting them one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.policy import Person

COLUMNS = ("a", "b", "c")
Row = tuple[str | None, ...]

VISITS = pa.table(
    {
        "patient": ["ann", "ann", "ann", "bob", "cat"],
        "ward": ["a", "a", "b", "a", "a"],
        "sex": ["f", "f", "f", "m", "f"],
    }
)
POLICY = ix.Policy(
    columns={"ward": ix.quasi(ix.suppress()), "sex": ix.quasi()}, privacy=[ix.KAnonymity(2)], person="patient"
)


@st.composite
def visits(draw: st.DrawFn) -> tuple[list[Row], list[str]]:
    cells = st.sampled_from(["x", "y", "z", None])
    rows: list[Row] = [tuple(row) for row in draw(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=25))]
    people = draw(st.lists(st.sampled_from("pqrstuvw"), min_size=len(rows), max_size=len(rows)))
    return rows, people


def as_table(rows: list[Row], people: list[str] | None = None) -> pa.Table:
    cells = {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(COLUMNS)}
    return pa.table(cells if people is None else cells | {"who": pa.array(people)})


def crowds_of(rows: list[Row], people: list[str], columns: tuple[int, ...] = (0, 1, 2)) -> dict[Row, set[str]]:
    crowds: dict[Row, set[str]] = defaultdict(set)
    for row, who in zip(rows, people, strict=True):
        crowds[tuple(row[at] for at in columns)].add(who)
    return crowds


@pytest.mark.slow
@examples(60)
@given(visits(), st.sampled_from([0.2, 0.34, 0.5, 1.0]))
def test_risks_are_those_of_counting_people(drawn: tuple[list[Row], list[str]], threshold: float) -> None:
    rows, people = drawn
    found = ix.risk(as_table(rows, people), COLUMNS, person="who", threshold=threshold, most=0)
    crowds = crowds_of(rows, people)
    worst = {who: max(1 / len(crowd) for crowd in crowds.values() if who in crowd) for who in people}
    assert (found.rows, found.people, found.groups) == (len(rows), len(worst), len(crowds))
    assert found.sizes == dict(sorted(Counter(len(crowd) for crowd in crowds.values()).items()))
    assert found.uniques == sum(chance == 1 for chance in worst.values())
    assert found.prosecutor.highest == max(worst.values())
    assert found.prosecutor.average == pytest.approx(sum(worst.values()) / len(worst))
    assert found.prosecutor.at_risk == pytest.approx(sum(c > threshold for c in worst.values()) / len(worst))
    assert found.marketer == pytest.approx(len(crowds) / sum(map(len, crowds.values())))


@pytest.mark.slow
@examples(40)
@given(visits(), st.lists(st.tuples(*[st.sampled_from("xy")] * 3), max_size=15))
def test_people_fit_those_of_a_population(drawn: tuple[list[Row], list[str]], others: list[Row]) -> None:
    rows, people = [tuple("x" if cell is None else cell for cell in row) for row in drawn[0]], drawn[1]
    crowds = crowds_of(rows, people)
    everybody = [row for row, crowd in crowds.items() for _ in crowd] + others
    found = ix.risk(as_table(rows, people), COLUMNS, person="who", population=as_table(everybody), most=0)
    chances = {row: 1 / everybody.count(row) for row in crowds}
    worst = [max(chances[row] for row, crowd in crowds.items() if who in crowd) for who in set(people)]
    assert found.journalist is not None
    assert found.journalist.highest == pytest.approx(max(worst))
    assert found.journalist.at_risk == pytest.approx(sum(chance > 0.2 for chance in worst) / len(worst))
    assert found.marketer == pytest.approx(
        sum(len(crowd) * chances[row] for row, crowd in crowds.items()) / sum(map(len, crowds.values()))
    )
    assert "taken for somebody else" in found.notes[-1]


@pytest.mark.slow
@examples(40)
@given(visits(), st.sampled_from([0.4, 0.7]))
def test_columns_identify_people(drawn: tuple[list[Row], list[str]], share: float) -> None:
    rows, people = drawn
    found = ix.risk(as_table(rows, people), COLUMNS, person="who", nearly=share)

    def alone(columns: tuple[int, ...]) -> int:
        return len({who for crowd in crowds_of(rows, people, columns).values() if len(crowd) == 1 for who in crowd})

    number = len(set(people))
    passing = [set(c) for n in (1, 2, 3) for c in combinations(range(3), n) if alone(c) >= share * number - 1e-9]
    minimal = [one for one in passing if not any(other < one for other in passing)]
    expected = {tuple(COLUMNS[at] for at in sorted(one)): alone(tuple(sorted(one))) for one in minimal}
    every = {c for c, n in expected.items() if n == number}
    assert {one.columns: one.alone for one in found.nearly_unique} == {
        columns: n for columns, n in expected.items() if columns not in every
    }
    assert every <= {one.columns for one in found.unique}


@pytest.mark.slow
@examples(20)
@given(visits())
def test_one_row_a_person_gives_the_figures_of_rows(drawn: tuple[list[Row], list[str]]) -> None:
    rows = drawn[0]
    as_people = ix.risk(
        as_table(rows, [str(number) for number in range(len(rows))]), COLUMNS, person="who", population=99
    )
    as_rows = ix.risk(as_table(rows), COLUMNS, population=99)
    for name in ("sizes", "uniques", "unique", "nearly_unique", "estimate"):
        assert getattr(as_people, name) == getattr(as_rows, name)
    assert as_people.prosecutor.average == pytest.approx(as_rows.prosecutor.average)
    assert as_people.journalist is not None
    assert as_rows.journalist is not None
    assert as_people.journalist.average == pytest.approx(as_rows.journalist.average)
    assert as_people.people == as_rows.rows


def test_a_policy_says_whose_rows_they_are() -> None:
    found = ix.risk(VISITS, policy=POLICY)
    assert (found.people, found.quasi, found.sizes) == (3, ("ward", "sex"), {1: 2, 2: 1})
    assert found.uniques == 2  # Ann in ward b, and Bob


def test_a_table_that_does_not_say_whose_rows_they_are_is_counted_in_rows_and_says_so() -> None:
    found = ix.risk(VISITS.drop_columns(["patient"]), policy=POLICY)
    assert found.people is None
    assert found.notes == ("rows were counted, not people: the table has no 'patient' to say whose they are",)


def test_a_release_with_pseudonyms_is_counted_in_people() -> None:
    person = Person(("patient",), "pseudonym")
    linked = ix.Policy(columns={"ward": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)], person=person)
    released = pa.table({"pseudonym": ["x", "x", "y"], "ward": ["*", "*", "*"]})
    found = ix.risk(released, policy=linked)
    assert (found.people, found.sizes) == (2, {2: 1})
    assert "each row is looked at by itself" in found.notes[0]


def test_estimates_are_not_made_where_somebody_is_in_several_groups() -> None:
    found = ix.risk(VISITS, ["ward"], person="patient", population=100)
    assert found.estimate is None
    assert "not estimated" in found.notes[0]
    assert found.is_estimated
    of_sex = ix.risk(VISITS, ["sex"], person="patient", population=100)
    assert of_sex.estimate is not None
    assert of_sex.estimate.fraction == pytest.approx(0.03)
    assert of_sex.notes == ()


def test_nobody_is_quoted_and_nothing_falls_back_to_rows() -> None:
    with pytest.raises(ix.PolicyError, match="no column 'nobody'"):
        ix.risk(VISITS, ["ward"], person="nobody")
    with pytest.raises(ix.PolicyError, match="'patient' says whose row it is"):
        ix.risk(VISITS, ["ward", "patient"], person="patient")
    with pytest.raises(ix.PolicyError, match="weights: they are those of rows"):
        ix.risk(VISITS, ["ward"], person="patient", weights="sex")
    with pytest.raises(ix.PolicyError, match="at least the 3 people"):
        ix.risk(VISITS, ["ward"], person="patient", population=2)
    torn = pa.table({"patient": ["ann", None], "ward": ["a", "b"]})
    with pytest.raises(ix.PolicyError, match="1 row has nothing in 'patient'") as refused:
        ix.risk(torn, ["ward"], person="patient")
    assert "ann" not in str(refused.value)


def test_people_are_no_quasi_column_that_profile_suggests() -> None:
    assert "patient" not in ix.risk(VISITS, person="patient").quasi


def test_the_command_speaks_of_people(tmp_path: Path) -> None:
    csv.write_csv(VISITS, tmp_path / "visits.csv")
    asked = ["risk", str(tmp_path / "visits.csv"), "--quasi", "ward", "--person", "patient"]
    found = CliRunner().invoke(app, asked, env={"COLUMNS": "120"})
    assert found.exit_code == 0, found.output
    for said in ("5 rows of 3 people in 2 groups", "people above 0.2", "people in a group", "1 person stands alone"):
        assert said in found.output
