"""What init guesses of tables as they are: the benchmark's made-up ones, and single columns that once went wrong."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indistinct.pipeline.suggesting import suggested_policy
from indistinct.profiling import ColumnProfile, profile

ROOT = Path(__file__).resolve().parents[2]
MADE = (
    "crash records",
    "community survey",
    "encounters",
    "synthetic patients",
    "time use",
    "discharges",
    "customers",
)


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """Return the module of the benchmark that judges roles, which is no part of the package."""
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks import guessed_roles
    finally:
        sys.path.remove(str(ROOT))
    return guessed_roles


def test_every_made_up_table_is_guessed_here(benchmark: Any) -> None:
    assert set(MADE) == set(benchmark.MADE)


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_made_up_tables_are_guessed_right(benchmark: Any, name: str) -> None:
    found = benchmark.judged_table(benchmark.MADE[name](1_000), benchmark.ANSWERS[name])
    assert found["roles_right"] == found["columns"]
    assert found["hierarchies_right"] == found["hierarchies"] > 0
    assert found["is_person_right"]
    assert found["released_identifiers"] == 0


def test_wrong_guesses_are_found_out(benchmark: Any) -> None:
    table = pa.table({"ssn": ["123-45-6789", "123-45-6780"] * 50, "age": [str(20 + row % 50) for row in range(100)]})
    answer, answers = benchmark.Answer, benchmark.Answers
    mine = {"ssn": answer(("identifier",), ()), "age": answer(("quasi",), ("numbers",))}
    right = benchmark.judged_table(table, answers("tuned", mine))
    assert (right["roles_right"], right["hierarchies_right"]) == (2, 1)
    other = {"ssn": answer(("sensitive",), ()), "age": answer(("quasi",), ("dates",))}
    wrong = benchmark.judged_table(table, answers("tuned", other, ["age"]))
    assert (wrong["roles_right"], wrong["hierarchies_right"], wrong["is_person_right"]) == (1, 0, False)


def guess(name: str, values: list[str]) -> ColumnProfile:
    """Guess one column beside two that others know."""
    chance = random.Random(7)
    beside = {"sex": [chance.choice("mf") for _ in values], "zip": [chance.choice(("02138", "02139")) for _ in values]}
    return next(column for column in profile(pa.table({**beside, name: values})).columns if column.name == name)


def drawn(values: list[str], rows: int = 600) -> list[str]:
    chance = random.Random(3)
    return [chance.choice(values) for _ in range(rows)]


AGES = [str(age) for age in range(18, 80)]


@pytest.mark.parametrize("sentinels", [["999"], ["998", "999"], ["-1"], ["?"], ["-9", "999"]])
def test_codes_for_unknown_set_no_widths(sentinels: list[str]) -> None:
    plain, coded = guess("age", drawn(AGES)), guess("age", drawn(AGES + sentinels))
    assert plain.hierarchy is not None
    assert coded.hierarchy == plain.hierarchy
    assert set(coded.missing_codes) == set(sentinels)


@pytest.mark.parametrize("name", ["sex", "airbag", "rest_use", "x17"])
def test_whole_numbers_of_few_values_are_kinds(name: str) -> None:
    found = guess(name, drawn(["0", "1", "2", "3", "8", "20"]))
    assert found.role == "quasi"
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "suppress"


def test_few_whole_numbers_that_count_are_amounts() -> None:
    found = guess("number of children", drawn(["0", "1", "2", "3", "4", "5", "6", "7"]))
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "intervals"


def test_one_unreadable_value_leaves_intervals() -> None:
    found = guess("age", [*drawn(AGES), "thirty-four and a half"])
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "intervals"
    assert found.missing_codes or found.unreadable == "missing"


def test_many_unreadable_values_are_not_read_as_missing() -> None:
    found = guess("age", drawn([*AGES, *(f"about {age}" for age in range(30))]))
    assert found.unreadable == "refuse"
    assert found.hierarchy is None or found.hierarchy.kind == "suppress"


def test_long_numbers_written_as_decimals_name_rows() -> None:
    found = guess("tucaseid", [f"{20030100013280 + 37 * row}.0" for row in range(300)])
    assert found.role == "identifier"
    found = guess("x17", [f"{20030100013280 + 37 * row}.0" for row in range(300)])
    assert found.role == "identifier"


@pytest.mark.parametrize("name", ["admission_type_id", "discharge_disposition_id", "plan id"])
def test_a_number_of_eight_kinds_is_no_identifier(name: str) -> None:
    assert guess(name, drawn([str(number) for number in range(1, 9)])).role != "identifier"
    assert guess(name, [str(number) for number in range(1000, 1600)]).role == "identifier"


@pytest.mark.parametrize(
    "values",
    [
        [f"{year}-{year + 1}" for year in range(1990, 2004)],
        ["5000-7499", "7500-9999", "10000-12499", "30000-34999", "60000-74999", "75000-99999"],
    ],
)
def test_ranges_are_no_telephone_numbers(values: list[str]) -> None:
    found = guess("x17", drawn(values))
    assert found.role == "quasi"
    assert not any(one.by_values for one in found.safe_harbor)


@pytest.mark.parametrize("name", ["x17", "income", "age", "city", "comment"])
def test_addresses_of_mail_are_never_released(name: str) -> None:
    assert guess(name, [f"someone{row}@example.org" for row in range(200)]).role == "identifier"
    assert guess(name, drawn([f"someone{row}@example.org" for row in range(5)])).role == "identifier"


@pytest.mark.parametrize(("name", "low"), [("lat", 42.0), ("Longitude", -71.0), ("gps", 10.0)])
def test_coordinates_are_never_released(name: str, low: float) -> None:
    assert guess(name, [f"{low + row / 7919:.6f}" for row in range(300)]).role == "identifier"


@pytest.mark.parametrize("name", ["x17", "home", "region"])
def test_pairs_of_coordinates_are_never_released(name: str) -> None:
    assert guess(name, [f"{42 + row / 7919:.6f}, {-71 - row / 7919:.6f}" for row in range(300)]).role == "identifier"


@pytest.mark.parametrize(
    "name", ["Vorname", "surname", "last_name", "Full Name", "apellido", "nom de famille", "MAIDEN"]
)
def test_names_are_never_released(name: str) -> None:
    assert guess(name, drawn(["Abel", "Berg", "Cole", "Dorn", "Ekman", "Falk", "Gray"])).role == "identifier"


COUNTRIES = ["Germany", "France", "Italy", "Poland", "Japan", "Cuba", "Peru", "India", "Iran", "Canada", "Mexico"]


def test_misspelt_countries_are_read_as_missing_where_the_name_speaks_of_countries() -> None:
    values = [*drawn(COUNTRIES), "Hong", "Columbia"]
    found = guess("native-country", values)
    assert found.hierarchy is not None
    assert (found.hierarchy.kind, found.unreadable) == ("countries", "missing")
    unknown = guess("x17", values).hierarchy
    assert unknown is not None
    assert unknown.kind == "suppress"


def test_misspelt_countries_of_many_people_are_not_lost() -> None:
    found = guess("native-country", drawn([*COUNTRIES, "Hong", "Columbia"]))
    assert found.hierarchy is not None
    assert (found.hierarchy.kind, found.unreadable) == ("suppress", "refuse")


def test_numbers_of_education_are_a_surveys_own_unless_they_are_of_isced() -> None:
    values = drawn([str(number) for number in range(1, 8)])
    own, standard = guess("educ", values).hierarchy, guess("isced_level", values).hierarchy
    assert own is not None
    assert standard is not None
    assert (own.kind, standard.kind) == ("intervals", "education")


def test_what_a_body_weighs_is_no_weight_of_a_survey() -> None:
    chance = random.Random(9)
    kilograms = [f"{chance.gauss(75, 14):.2f}" for _ in range(600)]
    assert guess("wt71", kilograms).role == "quasi"
    assert guess("wt", [f"{chance.gauss(0, 5):.2f}" for _ in range(600)]).role == "quasi"
    assert guess("wt", [f"{chance.uniform(200, 9000):.2f}" for _ in range(600)]).role == "other"
    assert guess("wt", [f"{chance.uniform(0.2, 4):.2f}" for _ in range(600)]).role == "other"
    assert guess("pweight", kilograms).role == "other"


@pytest.mark.parametrize("name", ["sbp", "colitis", "qsmk", "birthcontrol", "drugexp", "hayfever", "alk.phos"])
def test_illnesses_and_what_laboratories_find_are_sensitive(name: str) -> None:
    assert guess(name, drawn(["0", "1", "2"])).role == "sensitive"


def test_people_of_whom_later_rows_do_not_repeat_sex_are_no_namesakes() -> None:
    people, visits = 60, 3
    draw = random.Random(5)
    sexes = [draw.choice(["f", "m"]) for _ in range(people)]
    table = pa.table(
        {
            "ID": [str(100 + person) for person in range(people) for _ in range(visits)],
            "female": [sexes[person] if visit == 0 else None for person in range(people) for visit in range(visits)],
            "pain": [str(draw.randint(0, 9)) for _ in range(people * visits)],
        }
    )
    found = profile(table)
    assert found.person == "ID"
    assert found.namesakes == ()
    assert suggested_policy(found).person_columns == ("ID",)
    crowded = table.set_column(1, "female", pa.array([draw.choice(["f", "m"]) for _ in range(people * visits)]))
    assert profile(crowded).person is None  # rows of one number that differ in sex are those of a household


@pytest.mark.parametrize("name", ["num_open_cc_accounts", "accounts_opened_24m", "credit_cards", "card"])
def test_how_many_accounts_somebody_has_is_no_identifier(name: str) -> None:
    draw = random.Random(3)
    look = guess(name, [str(min(draw.randint(0, 60), draw.randint(0, 60))) for _ in range(2_000)])
    assert look.role != "identifier"
    counts = pa.table(
        {"state": drawn(["MA", "NY", "CT"], 2_000), name: [str(draw.randint(0, 40)) for _ in range(2_000)]}
    )
    assert profile(counts).person is None
    numbers = guess(name, [str(draw.randint(10**9, 10**10)) for _ in range(2_000)])
    assert numbers.role == "identifier"


@pytest.mark.parametrize("name", ["Any.stillbirth", "BL.Cig.Day", "Prev.preg", "Use.Tob", "delinq_2y", "debit_limit"])
def test_what_nobody_should_learn_comes_before_days_and_births(name: str) -> None:
    draw = random.Random(4)
    assert guess(name, [str(draw.randint(0, 8)) for _ in range(300)]).role == "sensitive"


def test_a_single_category_is_reported_in_the_singular() -> None:
    assert "1 category" in guess("something", ["x"] * 50 + [None] * 50).reason  # type: ignore[list-item]
