"""What init guesses of a column by the company of others: a medical record, a series, the outcome of a study."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from indistinct.profiling import profile

ROWS = 400


def cells(*values: str, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [draw.choice(values) for _ in range(ROWS)]


def guessed(**columns: list[str]) -> dict[str, tuple[str, str]]:
    """Return the role of each column, and why."""
    found = profile(pa.table(columns)).columns
    return {column.name: (column.role, column.reason) for column in found}


HEALTH = {name: cells("0", "1", seed=seed) for seed, name in enumerate(("diabetes", "stroke", "asthma", "angina"))}
KNOWN = {"age": cells(*map(str, range(20, 70))), "sex": cells("m", "f")}


def test_an_unknown_name_in_a_medical_record_is_a_finding() -> None:
    found = guessed(**KNOWN, **HEALTH, g1b=cells("0", "1", seed=9), extent=cells(*map(str, range(9)), seed=8))
    assert {found[name][0] for name in ("g1b", "extent")} == {"sensitive"}
    assert "4 columns speak of health" in found["g1b"][1]
    assert (found["age"][0], found["sex"][0]) == ("quasi", "quasi")


def test_an_unknown_name_stays_quasi_where_others_may_know_as_much() -> None:
    unknown = {"g1b": cells("0", "1", seed=9)}
    few = dict(list(HEALTH.items())[:3])
    assert guessed(**KNOWN, **few, **unknown)["g1b"][0] == "quasi"
    more = {name: cells("a", "b", seed=5) for name in ("city", "job")}
    assert guessed(**KNOWN, **more, **HEALTH, **unknown)["g1b"][0] == "quasi"


def test_what_tells_rows_apart_is_not_left_as_it_is_in_a_medical_record() -> None:
    found = guessed(**KNOWN, **HEALTH, preanti=[str(3 * row + 7) for row in range(ROWS)])
    assert found["preanti"][0] in ("quasi", "identifier")


@pytest.mark.parametrize(("name", "beside"), [("status", "futime"), ("event", "days"), ("stat", "time")])
def test_a_code_beside_how_long_it_took_is_an_outcome(name: str, beside: str) -> None:
    days = {beside: cells(*map(str, range(300)), seed=3)}
    found = guessed(**KNOWN, **days, **{name: cells("0", "1", seed=4)})
    assert found[name] == ("sensitive", f"what came of somebody, beside {beside}, which says how long it took")
    assert guessed(**KNOWN, **{name: cells("0", "1")})[name][0] == "quasi"
    assert guessed(**KNOWN, **days, **{name: cells("a", "b")})[name][0] == "quasi"


def test_a_column_that_is_named_like_marks_is_one_of_them() -> None:
    marks = {f"read{last}": cells(*map(str, range(300, 400)), seed=ord(last)) for last in "123k"}
    found = guessed(**KNOWN, **marks)
    role, reason = found["readk"]
    assert (role, reason.partition(";")[0]) == ("sensitive", "named like 3 columns that nobody should learn")
    alone = {name: marks[name] for name in ("read1", "readk")}
    assert guessed(**KNOWN, **alone)["readk"][0] == "quasi"


@pytest.mark.parametrize("name", ["rate_marriage", "rating", "Rated"])
def test_marks_from_one_to_five_are_opinions(name: str) -> None:
    assert guessed(**KNOWN, **{name: cells(*"12345")})[name][0] == "sensitive"
    share = cells(*(f"0.{number}" for number in range(10, 90)))
    assert guessed(**KNOWN, birth_rate=share)["birth_rate"][0] != "sensitive"


def test_values_that_tell_of_health_outweigh_a_name_that_says_little() -> None:
    values = cells("never smoked", "still smokes", "within a year")
    assert guessed(**KNOWN, time=values)["time"] == ("sensitive", "its values speak of health, whatever its name")
    assert guessed(**KNOWN, time=cells("morning", "noon"))["time"][0] == "quasi"


@pytest.mark.parametrize(
    "name", ["nchronic", "Survive", "JobInvolvement", "vhappy", "selfLR", "rx", "motivation", "stress_level"]
)
def test_further_names_of_what_nobody_should_learn(name: str) -> None:
    assert guessed(**KNOWN, **{name: cells(*"1234567", seed=6)})[name][0] == "sensitive"


@pytest.mark.parametrize(("number", "values", "role"), [(8, ("yes", "no"), "sensitive"), (7, ("yes", "no"), "quasi")])
def test_many_columns_that_were_ticked_off_are_of_one_record(number: int, values: tuple[str, ...], role: str) -> None:
    ticked = {f"x{name}y": cells(*values, seed=seed) for seed, name in enumerate("abcdefgh"[:number], 40)}
    found = guessed(**KNOWN, **ticked, smoker=cells(*values, seed=30))
    assert {found[name][0] for name in ticked} == {role}
    kinds = {f"x{name}y": cells("0", "1", seed=seed) for seed, name in enumerate("abcdefgh")}
    assert guessed(**KNOWN, **kinds)["xay"][0] == "quasi"  # which may as well be kinds of work
