"""Rows of one person are found by what stays the same within them, whatever the column is called."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from indistinct.pipeline.suggesting import suggested_policy
from indistinct.profiling import profile


def panel(people: int, waves: int, name: str, seed: int = 1) -> pa.Table:
    """Make a table of people who are asked several times; what they are stays the same, what they earn does not."""
    chance = random.Random(seed)
    rows = []
    for person in range(people):
        fixed = {
            name: f"{7 * person + 100_003}",
            "q1": chance.choice("mf"),
            "q2": chance.choice("abcde"),
            "q3": str(chance.randint(1920, 1990)),
            "q4": chance.choice("uvwxyz"),
        }
        rows += [fixed | {"q5": str(wave), "q6": str(chance.randint(0, 5000))} for wave in range(waves)]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("name", ["zper", "v1", "hh"])
def test_people_with_several_rows_are_found_by_what_stays_the_same(name: str) -> None:
    table = panel(120, 4, name)
    found = profile(table)
    assert found.person == name
    unit = next(column for column in found.columns if column.name == name)
    assert (unit.role, unit.is_unsure) == ("identifier", True)
    assert suggested_policy(found, diverse=False).person_columns == (name,)


def test_one_row_each_is_nobody_of_several() -> None:
    assert profile(panel(300, 1, "zper")).person is None


def test_places_within_places_are_no_people() -> None:
    """A postal code has one town, county and state, but these follow from each other."""
    chance = random.Random(2)
    codes = [(f"{10_000 + code}", f"t{code // 2}", f"c{code // 8}", f"s{code // 40}") for code in range(160)]
    rows = [chance.choice(codes) for _ in range(1500)]
    names = ("v1", "v2", "v3", "v4")
    table = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table |= {"v5": [chance.choice("mf") for _ in rows], "v6": [chance.choice("abcdef") for _ in rows]}
    assert profile(pa.table(table)).person is None


@pytest.mark.parametrize("seed", range(3))
def test_few_people_are_found_by_what_only_people_have(seed: int) -> None:
    """Fifty subjects: age and index at the start are nearly all different, so only what they are called counts."""
    chance = random.Random(seed)
    rows = []
    for subject in range(50):
        fixed = {"SUBJ": f"{subject:03}", "BMIBL": f"{chance.gauss(27, 4):.1f}", "AGE": str(chance.randint(20, 80))}
        fixed |= {"SEX": chance.choice("MF"), "ARM": chance.choice(["drug", "placebo"])}
        rows += [fixed | {"VISIT": str(visit), "AVAL": str(chance.randint(90, 160))} for visit in range(6)]
    chance.shuffle(rows)
    assert profile(pa.Table.from_pylist(rows)).person == "SUBJ"


def test_how_many_students_came_numbers_nobody_where_something_else_names_the_teacher() -> None:
    chance = random.Random(4)
    rows = []
    for teacher in range(90):
        fixed = {"prof": str(teacher + 1), "gender": chance.choice("mf"), "native": chance.choice("yn")}
        fixed |= {"minority": chance.choice("yn"), "tenure": chance.choice("yn"), "age": str(chance.randint(29, 70))}
        rows += [fixed | {"students": str(chance.randint(5, 160))} for _ in range(4)]
    found = profile(pa.Table.from_pylist(rows))
    assert found.person == "prof"
    assert {column.name: column.role for column in found.columns}["students"] != "identifier"


def test_independent_columns_are_no_people() -> None:
    chance = random.Random(3)
    table = {f"v{place}": [str(chance.randint(0, 10 ** (place % 4 + 1))) for _ in range(800)] for place in range(8)}
    assert profile(pa.table(table)).person is None


def test_of_a_household_and_its_people_the_larger_unit_is_counted() -> None:
    chance = random.Random(5)
    rows = []
    for house in range(150):
        home = {
            "a": str(5000 + house),
            "h1": chance.choice("abcd"),
            "h2": chance.choice("pqrs"),
            "h3": chance.choice("wxyz"),
            "h4": str(chance.randint(1, 40)),
        }
        for member in range(3):
            own = {"b": f"{house * 10 + member}", "p1": chance.choice("mf"), "p2": str(chance.randint(1, 90))}
            rows += [home | own | {"w": str(wave), "e": str(chance.randint(0, 9999))} for wave in range(2)]
    assert profile(pa.Table.from_pylist(rows)).person == "a"
