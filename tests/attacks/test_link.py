"""Linking: Samarati's Figure 1, spellings, and every count compared with loops over all rows and people."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.examples import save_examples
from indistinct.linkage.spelling import CodeSpelling, DaySpelling, NumberSpelling, spelling_of

# Samarati 2001, Figure 1; only one row of the voter list is printed there.
MEDICAL = ("Race", "DateOfBirth", "Sex", "ZIP", "MaritalStatus", "HealthProblem")
PATIENTS = (
    ("asian", "09/27/64", "female", "94139", "divorced", "hypertension"),
    ("asian", "09/30/64", "female", "94139", "divorced", "obesity"),
    ("asian", "04/18/64", "male", "94139", "married", "chest pain"),
    ("asian", "04/15/64", "male", "94139", "married", "obesity"),
    ("black", "03/13/63", "male", "94138", "married", "hypertension"),
    ("black", "03/18/63", "male", "94138", "married", "shortness of breath"),
    ("black", "09/13/64", "female", "94141", "married", "shortness of breath"),
    ("black", "09/07/64", "female", "94141", "married", "obesity"),
    ("white", "05/14/61", "male", "94138", "single", "chest pain"),
    ("white", "05/08/61", "male", "94138", "single", "obesity"),
    ("white", "09/15/61", "female", "94142", "widow", "shortness of breath"),
)
VOTERS = ("Name", "Address", "City", "ZIP", "DOB", "Sex", "Party")
SUE = ("Sue J. Carlson", "900 Market St.", "San Francisco", "94142", "9/15/61", "female", "democrat")
ON = {"ZIP": "ZIP", "DateOfBirth": "DOB", "Sex": "Sex"}


def table_of(names: tuple[str, ...], *rows: tuple[str, ...]) -> pa.Table:
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def medical_policy() -> ix.Policy:
    """Return a policy that releases the medical table as it is."""
    columns = {name: ix.quasi(ix.suppress()) for name in MEDICAL[:-1]} | {MEDICAL[-1]: ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)])


def link_figure_1(copies: int = 1) -> ix.attacks.LinkReport:
    """Link the figure's tables, with so many rows like Sue Carlson's."""
    medical = table_of(MEDICAL, *PATIENTS[:-1], *PATIENTS[-1:] * copies)
    return ix.attacks.link(medical, table_of(VOTERS, SUE), medical_policy(), on=ON, show=["Name"])


# The paper


@pytest.mark.slow
def test_figure_1_finds_sue_carlson():
    report = link_figure_1()
    assert report.one_to_one == report.unique_rows == report.unique_people == 1
    (group,) = report.worst
    assert [person.shown["Name"] for person in group.persons] == ["Sue J. Carlson"]
    assert dict(group.labels) == {"ZIP": "94142", "DateOfBirth": "09/15/61", "Sex": "female"}
    assert group.chance == 1.0
    assert report.people_of_rows == {0: 10, 1: 1}


def test_with_a_second_row_like_hers_sue_carlson_is_ambiguous():
    report = link_figure_1(copies=2)
    assert report.one_to_one == report.unique_people == 0
    assert report.unique_rows == 2
    assert report.rows_of_people == {2: 1}
    assert report.worst[0].chance == report.average_risk == 0.5


@pytest.mark.slow
def test_in_samaratis_release_sue_carlson_was_suppressed(tmp_path: Path):
    save_examples(tmp_path)
    policy = ix.read_policy(tmp_path / "samarati.toml")
    release = ix.anonymize(tmp_path / "samarati.csv", policy)
    report = ix.attacks.link(release, table_of(VOTERS, SUE), policy, on=ON)
    assert report.rows_of_people == {0: 1}


# Brute force: nested loops over rows and people, with covering worked out one value and one label at a time.

AGES = ("17", "18", "23", "39", "41", "64")
JOBS = (["clerk", "office", "*"], ["judge", "office", "*"], ["nurse", "care", "*"])
ZIPS = ("02138", "02139", "02141", "94138")
FIRST = date(1960, 1, 1)


def policy_of(**options: Any) -> ix.Policy:
    return ix.Policy(
        columns={
            "age": ix.quasi(ix.intervals(5, 20)),
            "job": ix.quasi(ix.levels(JOBS)),
            "zip": ix.quasi(ix.prefix(5)),
            "birth": ix.quasi(ix.dates("month", "year", "10 years")),
        },
        privacy=[ix.KAnonymity(2)],
        **options,
    )


def covers(column: str, label: str | None, value: str | None) -> bool:
    """Tell, without the code under test, whether a label can stand for a value."""
    if label in (None, "*") or value is None:
        return True
    if label.startswith("[") and label.endswith("]"):
        low, high = label[1:-1].split(", ")
        return float(low) <= float(value) <= float(high) if column == "age" else low <= value <= high
    if label.startswith("{"):
        return value in label[1:-1].split(", ")
    if column == "age":
        low, _, high = label.partition("-")
        return int(low) <= int(value) <= int(high or low)
    if column == "job":
        return label in next(row for row in JOBS if row[0] == value)
    if column == "zip":
        return all(kept in ("*", digit) for kept, digit in zip(label, value, strict=True))
    if len(label) == 9:
        return label[:4] <= value[:4] <= label[5:]
    return value.startswith(label)


def brute_force(released: list[dict[str, Any]], people: list[dict[str, Any]], on: list[str]) -> dict[str, Any]:
    fits = [[all(covers(name, row[name], one[name]) for name in on) for one in people] for row in released]
    of_rows = [sum(row) for row in fits]
    of_people = [sum(row[number] for row in fits) for number in range(len(people))]
    mutual = sum(
        fits[row][one] and of_rows[row] == of_people[one] == 1
        for row, one in product(range(len(released)), range(len(people)))
    )
    alike = Counter(tuple(row[name] for name in on) for row in released)
    expected = sum(
        1 / max(number, alike[tuple(row[name] for name in on)])
        for row, number in zip(released, of_rows, strict=True)
        if number
    )
    risks = [1 / number for number in of_people if number]
    return {
        "people_of_rows": dict(sorted(Counter(of_rows).items())),
        "rows_of_people": dict(sorted(Counter(of_people).items())),
        "one_to_one": mutual,
        "expected_matches": expected,
        "average_risk": sum(risks) / max(1, len(risks)),
    }


def assert_same(report: ix.attacks.LinkReport, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        found = getattr(report, name)
        assert (
            found == pytest.approx(value)
            if isinstance(value, float)
            else dict(found) == value
            if isinstance(value, dict)
            else found == value
        ), name


def person(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "age": draw(st.sampled_from(AGES)),
        "job": draw(st.sampled_from([row[0] for row in JOBS])),
        "zip": draw(st.sampled_from(ZIPS)),
        "birth": (FIRST + timedelta(draw(st.integers(0, 40)) * 150)).isoformat(),
    }


@st.composite
def private_and_external(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    private = [person(draw) for _ in range(draw(st.integers(2, 20)))]
    strangers = [person(draw) for _ in range(draw(st.integers(0, 8)))]
    known = [one for one in private if draw(st.booleans())]
    people = [
        {name: None if draw(st.integers(0, 15)) == 0 else cell for name, cell in one.items()}
        for one in [*known, *strangers]
    ]
    return private, people or [person(draw)]


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table(
        {name: pa.array([row[name] for row in rows], pa.string()) for name in ("age", "job", "zip", "birth")}
    )


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(
    tables=private_and_external(),
    algorithm=st.sampled_from(
        [ix.Lattice(), ix.Mondrian(), ix.Mondrian(labels="ranges"), ix.Regroup(), ix.Regroup(labels="ranges")]
    ),
    on=st.sets(st.sampled_from(["age", "job", "zip", "birth"]), min_size=1),
)
def test_candidates_are_those_of_loops_over_rows_and_people(tables, algorithm, on):
    private, people = tables
    policy = policy_of()
    with ix.anonymize(as_table(private), policy, algorithm=algorithm) as release:
        report = ix.attacks.link(release, as_table(people), policy, on=sorted(on), most=100)
        released = release.table.to_pylist()
    assert report.rows == len(released)
    assert report.people == len(people)
    assert_same(report, brute_force(released, people, sorted(on)))
    for group in report.worst:
        alike = [row for row in released if all(row[name] == label for name, label in group.labels.items())]
        fitting = [
            number
            for number, one in enumerate(people, 1)
            if all(covers(name, label, one[name]) for name, label in group.labels.items())
        ]
        assert group.rows == len(alike)
        assert group.people == len(fitting)
        assert {one.row for one in group.persons} <= set(fitting)
        assert len(group.persons) == min(5, len(fitting))


@pytest.mark.slow
@examples(30)
@given(st.data())
def test_the_kernel_counts_points_in_boxes(data):
    """Large enough for a tree of several levels; labels with gaps as well as runs."""
    from indistinct.engine import Counts
    from indistinct.linkage import Coverage, Spelled, count_candidates

    seed, columns = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    said = Spelled("texts", 0, 0, {}, 0, False)
    sizes = rng.integers(1, 9, columns)
    coverages, groups, people = [], [], []
    for size in sizes:
        covered = [np.flatnonzero(rng.random(size) < 0.5) for _ in range(6)]
        parts = [range(part[0], part[-1] + 1) if len(part) and rng.random() < 0.5 else part for part in covered]
        coverages.append(Coverage(np.append(np.arange(size), -1), tuple(parts), int(size), said))
        groups.append(rng.integers(0, 6, 40))
        people.append(np.where(rng.random(300) < 0.05, size, rng.integers(0, size, 300)))
    rows, persons = rng.integers(1, 5, 40), rng.integers(1, 5, 300)
    found = count_candidates(Counts(tuple(groups), rows), Counts(tuple(people), persons), coverages)
    fits = np.array(
        [
            [
                all(
                    people[c][one] == sizes[c] or people[c][one] in coverages[c].covered[groups[c][box]]
                    for c in range(columns)
                )
                for one in range(300)
            ]
            for box in range(40)
        ]
    )
    assert (found.people == fits @ persons).all()
    assert (found.rows == rows @ fits).all()
    assert ((found.one >= 0) == fits.any(axis=1)).all()
    assert all(fits[box, one] for box, one in enumerate(found.one) if one >= 0)


# Spelling


def test_one_day_is_one_day_however_it_is_written():
    policy = ix.Policy(columns={"birth": ix.quasi(ix.dates("year", format="%m/%d/%Y"))}, privacy=[ix.KAnonymity(1)])
    released = pa.table({"birth": ["09/15/1961", "1962"]})
    voters = pa.table({"Birth": ["9/15/61", "09/15/1961", "1961-09-15", "15.9.1961", "1962-01-01", "1/2/62"]})
    report = ix.attacks.link(released, voters, policy)
    assert report.people_of_rows == {2: 1, 4: 1}
    assert report.columns[0].respelled == 5


def test_two_digit_years_mean_what_the_hierarchy_makes_of_them():
    """Without ``latest`` strptime reads 61 as 2061, and so does the release."""
    hierarchy = ix.dates("year", format="%m/%d/%y")
    assert hierarchy.label("9/15/61", 1) == "2061"
    policy = ix.Policy(columns={"birth": ix.quasi(hierarchy)}, privacy=[ix.KAnonymity(1)])
    report = ix.attacks.link(pa.table({"birth": ["2061"]}), pa.table({"birth": ["9/15/61", "1961-09-15"]}), policy)
    assert report.people_of_rows == {2: 1}


def test_numbers_codes_and_texts_are_compared_by_what_they_say():
    assert {NumberSpelling().of(text) for text in ("07", "7", "7.0", "+7", "7e0")} == {"7"}
    assert CodeSpelling(5).of("02138") == "02138" != CodeSpelling(None).of("2138")
    assert isinstance(spelling_of(ix.suppress(), ["07", "12"]), CodeSpelling)
    assert isinstance(spelling_of(ix.suppress(), ["7", "12", "*"]), NumberSpelling)
    assert isinstance(spelling_of(ix.suppress(), ["9/15/61"]), DaySpelling)
    policy = ix.Policy(
        columns={"age": ix.quasi(ix.suppress()), "zip": ix.quasi(ix.prefix()), "race": ix.quasi(ix.suppress())},
        privacy=[ix.KAnonymity(1)],
    )
    released = pa.table({"age": ["7", "8"], "zip": ["0213*", "02139"], "race": ["White", "*"]})
    people = pa.table({"AGE": ["07.0", "8"], "ZIP": ["2138", "02139-1234"], "Race": [" white", "BLACK "]})
    report = ix.attacks.link(released, people, policy)
    assert report.one_to_one == 2


@pytest.mark.slow
def test_similar_texts_are_linked_only_if_asked_for():
    job = ix.tree({"*": {"office": ["clerk", "manager"], "care": ["nurse"]}})
    policy = ix.Policy(columns={"job": ix.quasi(job)}, privacy=[ix.KAnonymity(1)])
    released, people = pa.table({"job": ["office", "nurse"]}), pa.table({"job": ["Manger", "nurce", "astronaut"]})
    strict = ix.attacks.link(released, people, policy)
    assert strict.rows_of_people == {0: 3}
    assert strict.columns[0].strangers == 3
    report = ix.attacks.link(released, people, policy, fuzzy=0.75)
    assert report.rows_of_people == {0: 1, 1: 2}
    assert report.columns[0].fuzzy == {"Manger": "manager", "nurce": "nurse"}
    assert report.columns[0].strangers == 1


def test_people_outside_the_hierarchy_fit_only_what_covers_everything():
    policy = ix.Policy(
        columns={"zip": ix.quasi(ix.prefix(5)), "job": ix.quasi(ix.levels(JOBS))}, privacy=[ix.KAnonymity(1)]
    )
    released = pa.table({"zip": ["02***", "*"], "job": ["*", "*"]})
    people = pa.table({"zip": ["0213899", "02138"], "job": ["pilot", "clerk"]})
    report = ix.attacks.link(released, people, policy)
    assert report.rows_of_people == {1: 1, 2: 1}
    assert len(report.notes) == 2


# What can be linked


@pytest.mark.slow
def test_a_release_of_two_tables_is_linked_by_its_quasi_table(tmp_path: Path):
    table = pa.table({"zip": ["1", "2", "3", "4"], "illness": ["a", "b", "c", "d"]})
    policy = ix.Policy(columns={"zip": ix.quasi(ix.suppress()), "illness": ix.sensitive()}, privacy=[ix.LDiversity(2)])
    release = ix.anonymize(table, policy, algorithm=ix.Anatomy())
    people = pa.table({"zip": ["1", "9"]})
    folder = release.write(tmp_path / "release")
    for form in (release, folder, dict(release.tables)):
        report = ix.attacks.link(form, people, policy)
        assert report.one_to_one == 1
        assert "class" in report.notes[0]


def test_blank_rows_fit_everybody():
    policy = policy_of(suppressed_rows="blank")
    released = as_table([dict.fromkeys(("age", "job", "zip", "birth"))] * 2)
    report = ix.attacks.link(
        released, as_table([{"age": "17", "job": "clerk", "zip": "02138", "birth": "1960-01-01"}]), policy
    )
    assert report.rows_of_people == {2: 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on": ["age", "income"]}, "no column 'income'"),
        ({"on": "age"}, "must list columns"),
        ({"on": {"age": "age", "zip": "age"}}, "named twice"),
        ({"on": []}, "at least one column"),
        ({"show": ["name"]}, "no column 'name'"),
        ({"fuzzy": 2}, "similarity"),
    ],
)
def test_what_cannot_be_linked_is_refused(options: dict[str, Any], said: str):
    one = as_table([{"age": "17", "job": "clerk", "zip": "02138", "birth": "1960-01-01"}])
    with pytest.raises(ix.PolicyError, match=said):
        ix.attacks.link(one, one, policy_of(), **options)


def test_columns_of_the_same_name_are_linked_if_none_are_named():
    policy = ix.Policy(columns={"Date of birth": ix.quasi(), "sex": ix.quasi()}, privacy=[ix.KAnonymity(1)])
    released = pa.table({"Date of birth": ["1961-09-15"], "sex": ["f"]})
    report = ix.attacks.link(released, pa.table({"DATE_OF_BIRTH": ["1961-09-15"]}), policy)
    assert [(column.column, column.external) for column in report.columns] == [("Date of birth", "DATE_OF_BIRTH")]
    with pytest.raises(ix.PolicyError, match="say which belong together"):
        ix.attacks.link(released, pa.table({"name": ["Sue"]}), policy)


# The command


@pytest.fixture
def figure_1(tmp_path: Path) -> list[str]:
    """Return the arguments that link Figure 1: policy, medical table and voter list as files."""
    import pyarrow.csv

    files = [tmp_path / name for name in ("policy.toml", "medical.csv", "voters.csv")]
    files[0].write_text(ix.policy_toml(medical_policy()), "utf-8")
    pyarrow.csv.write_csv(table_of(MEDICAL, *PATIENTS), files[1])
    pyarrow.csv.write_csv(table_of(VOTERS, SUE), files[2])
    on = ["--on", "ZIP", "--on", "DateOfBirth=DOB", "--on", "Sex"]
    return ["attack", "link", *map(str, files), *on, "--show", "Name"]


@pytest.mark.slow
def test_the_command_finds_sue_carlson(figure_1: list[str]):
    result = CliRunner().invoke(app, figure_1)
    assert result.exit_code == 0, result.output
    assert "Sue J. Carlson" in result.stdout
    assert "1 of 11 released rows is linked to one person and no other" in result.stderr


def test_the_command_gives_json(figure_1: list[str]):
    result = CliRunner().invoke(app, [*figure_1, "--json"])
    document = json.loads(result.stdout)
    assert document["one_to_one"] == 1
    assert document["worst"][0]["persons"] == [{"row": 1, "rows": 1, "shown": {"Name": "Sue J. Carlson"}}]
    assert document["people_of_rows"] == {"0": 10, "1": 1}
