"""What init guesses of columns that it once mistook: names of relatives, written dates, illnesses told by values."""

from __future__ import annotations

import random
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

from indistinct.linkage import CodedColumn
from indistinct.pipeline.suggesting import suggested_policy
from indistinct.policy import Role
from indistinct.profiling import ColumnProfile, Profile, profile, said_by
from indistinct.profiling.column_shapes import read_as_texts
from indistinct.profiling.column_statistics import ColumnStatistics, cells_of

NAMES = ["Abel", "Berg", "Cole", "Dorn", "Ekman", "Falk", "Gray"]


def guess(name: str, values: list[str]) -> ColumnProfile:
    """Guess one column beside one that others know."""
    draw = random.Random(7)
    table = pa.table({"sex": [draw.choice("mf") for _ in values], name: values})
    return next(column for column in profile(table).columns if column.name == name)


def drawn(values: list[str], rows: int = 300) -> list[str]:
    draw = random.Random(3)
    return [draw.choice(values) for _ in range(rows)]


def kind_of(name: str, values: list[str]) -> str:
    """Return the kind of the guessed hierarchy."""
    hierarchy = guess(name, values).hierarchy
    assert hierarchy is not None
    return hierarchy.kind


@pytest.mark.parametrize(
    "name", ["spouse_first_name", "child_last_name", "partner name", "NameOfHusband", "family name"]
)
def test_names_of_relatives_are_never_released(name: str) -> None:
    assert guess(name, drawn(NAMES)).role == "identifier"
    assert guess("dependent_first", drawn([f"{one}{two}" for one in NAMES for two in "abcde"])).role == "identifier"


@pytest.mark.parametrize("name", ["next_of_kin", "emergency_contact", "Contact person"])
def test_whom_to_call_is_never_released(name: str) -> None:
    assert guess(name, [f"{one} {two}" for one in NAMES for two in drawn(NAMES, 20)]).role == "identifier"


@pytest.mark.parametrize("name", ["country_name", "school name", "contact", "name of street"])
def test_names_of_places_and_ways_of_contact_are_no_names_of_people(name: str) -> None:
    assert guess(name, drawn(["Bolivia", "Chad", "Cuba"])).role != "identifier"


@pytest.mark.parametrize("digits", [12, 13, 14])
def test_long_decimals_are_no_telephone_numbers(digits: int) -> None:
    draw = random.Random(1)
    found = guess("x17", [f"{draw.uniform(10, 70):.{digits}f}" for _ in range(300)])
    assert found.role == "other"
    assert guess("x17", [f"{draw.randint(200, 989)}.555.{draw.randint(1000, 9999)}" for _ in range(300)]).role == (
        "identifier"
    )


@pytest.mark.parametrize(
    ("written", "month", "label"),
    [
        ("%b %d, %Y", 2, "1983"),
        ("%d %B %Y", 2, "1983"),
        ("%d%b%Y", 2, "1983"),
        ("%d-%b-%Y", 2, "1983"),
        ("%Y-%m", 2, "1983"),
        ("%m/%Y", 2, "1983"),
        ("%b-%Y", 2, "1983"),
    ],
)
def test_written_months_are_dates(written: str, month: int, label: str) -> None:
    from datetime import date, timedelta

    days = [date(1960, 1, 1) + timedelta(days=97 * row) for row in range(300)]
    found = guess("x17", [day.strftime(written) for day in days])
    assert found.role == "quasi"
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "dates"
    assert found.hierarchy.label(date(1983, month, 1).strftime(written), found.hierarchy.level_names.index("year")) == (
        label
    )


@pytest.mark.parametrize("written", ["{} Q{}", "{}Q{}", "{}-Q{}"])
def test_quarters_become_years_and_ranges_of_years(written: str) -> None:
    values = [written.format(1977 + row % 13, 1 + row // 3 % 4) for row in range(300)]
    found = guess("birth", values)
    assert found.hierarchy is not None
    labels = [found.hierarchy.label(written.format(1983, 3), level) for level in range(found.hierarchy.height + 1)]
    assert labels == [written.format(1983, 3), "1983", "1980-1984", "1980-1989", "*"]


def test_years_of_school_are_no_months() -> None:
    assert kind_of("season", [f"{year}-{(year + 1) % 100:02}" for year in range(2000, 2012)] * 20) != "dates"


def test_times_of_day_keep_their_hour() -> None:
    found = guess("arrival_time", [f"{row % 24:02}:{7 * row % 60:02}" for row in range(600)])
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "prefix"
    assert found.hierarchy.label("14:35", 2).startswith("14")


@pytest.mark.parametrize(
    "values",
    [
        ["Circulatory", "Neoplasms", "Respiratory", "Accident"],
        ["alcohol", "cocaine", "heroin"],
        ["I10", "E11.9", "J45.0", "M54.5", "F32.1"],
        ["never smoked", "former smoker", "current smoker"],
    ],
)
def test_values_that_are_illnesses_are_sensitive_whatever_the_name(values: list[str]) -> None:
    assert guess("x17", drawn(values)).role == "sensitive"


@pytest.mark.parametrize(
    "values", [["A10", "B20", "C30", "D40"], ["cancer ward", "north wing", "lobby"], ["creation", "death"]]
)
def test_wards_and_events_are_no_illnesses(values: list[str]) -> None:
    assert guess("x17", drawn(values)).role == "quasi"


@pytest.mark.parametrize(
    "name",
    [
        "Hauptdiagnose", "Raucher", "satreat", "substance", "sexrisk", "homo", "juv_fel_count", "juv_misd_count",
        "HourlyRate", "MonthlyRate", "EnvironmentSatisfaction", "JobSatisfaction", "read1", "math3",
        "cd40", "CD8_week20", "cens", "arm", "hemo", "cesd", "phq9", "pss_fr",
    ],
)  # fmt: skip
def test_what_nobody_should_learn_is_known_by_its_name(name: str) -> None:
    assert said_by(name)[0] == "sensitive"


@pytest.mark.parametrize(("name", "role"), [("wtkg", "quasi"), ("htcm", "quasi"), ("birth_rate", "quasi")])
def test_what_is_seen_is_known_by_its_name(name: str, role: Role) -> None:
    assert said_by(name)[0] == role


@pytest.mark.parametrize("name", ["Liegetage", "Anzahl_Kinder", "duree_sejour", "dias_hospital"])
def test_amounts_are_known_in_other_languages(name: str) -> None:
    assert kind_of(name, drawn(["1", "2", "3", "4", "5", "6", "7", "30", "999"])) == "intervals"


def forenames(**beside: list[str]) -> Profile:
    draw = random.Random(2)
    common = [*NAMES, *(f"Name{number}" for number in range(150))]
    return profile(pa.table({"forename": [draw.choice(common) for _ in range(300)], **beside}))


def test_people_with_one_forename_are_different_people() -> None:
    found = forenames(age=drawn([str(age) for age in range(18, 80)]), borough=drawn(["Kent", "York", "Bath"]))
    assert (found.names, found.namesakes) == ((), ("forename",))
    policy = suggested_policy(found)
    assert policy.one_row_per_person
    assert not policy.person_columns


def test_a_forename_tells_the_sex_and_is_no_person_for_that() -> None:
    draw = random.Random(2)
    names = [draw.choice([*NAMES, *(f"Name{number}" for number in range(150))]) for _ in range(300)]
    sexes = ["f" if sum(map(ord, name)) % 2 else "m" for name in names]
    found = profile(pa.table({"forename": names, "sex": sexes, "borough": drawn(["Kent", "York", "Bath"])}))
    assert (found.names, found.namesakes) == ((), ("forename",))


@pytest.mark.parametrize(("code", "is_declared"), [("?", True), ("N/A", True), ("--", True), ("unknown", False)])
def test_marks_among_kinds_are_missing_and_words_are_said(code: str, is_declared: bool) -> None:
    chance = random.Random(1)
    kinds = [chance.choice(["a", "b", "c", code]) for _ in range(300)]
    sex = [chance.choice("mf") for _ in range(300)]
    found = next(one for one in profile(pa.table({"sex": sex, "race": kinds})).columns if one.name == "race")
    assert found.role == "quasi"
    assert found.missing_codes == ((code,) if is_declared else ())
    assert "missing" in found.reason


@pytest.mark.parametrize("below", [0, 1, 3])
def test_notes_and_totals_below_a_sheet_are_said(below: int) -> None:
    chance = random.Random(1)
    gone: list[str | None] = [None] * below
    table = pa.table(
        {
            "age": [str(chance.randint(18, 80)) for _ in range(100)] + ["Total"] * below,
            "sex": pa.array([chance.choice("mf") for _ in range(100)] + gone, pa.string()),
            "town": pa.array([chance.choice("abc") for _ in range(100)] + gone, pa.string()),
            "pet": pa.array([chance.choice("xy") for _ in range(100)] + gone, pa.string()),
        }
    )
    assert profile(table).rows_below == below


def test_decimal_commas_are_said() -> None:
    weights = [f"{random.Random(row).gauss(70, 9):.1f}".replace(".", ",") for row in range(300)]
    assert "decimal commas" in guess("height", weights).reason


@pytest.mark.parametrize("texts", [[f"{n % 26 + 1}" for n in range(600)], [f"1{n % 30:02d}" for n in range(600)]])
def test_numbers_of_kinds_have_no_decimal_commas(texts: list[str]) -> None:
    assert not read_as_texts(statistics_of_texts(texts))


def test_dates_in_several_forms_are_no_codes_that_keep_the_day() -> None:
    chance = random.Random(1)
    forms = ("%d.%m.%Y", "%d/%m/%Y", "%Y-%m-%d")
    days = [date(1950, 1, 1) + timedelta(chance.randrange(20_000)) for _ in range(300)]
    found = guess("geburtsdatum", [day.strftime(chance.choice(forms)) for day in days])
    assert found.role == "quasi"
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "suppress"


@pytest.mark.parametrize(("texts", "codes"), [("m w -9", {"-9"}), ("a1 b2 -9", set()), ("m w 7", set())])
def test_a_code_for_missing_stands_out_among_words(texts: str, codes: set[str]) -> None:
    assert set(statistics_of_texts(texts.split() * 9).codes_for_missing) == codes


def statistics_of_texts(texts: list[str]) -> ColumnStatistics:
    return cells_of(CodedColumn(np.unique(texts, return_inverse=True)[1], tuple(sorted(set(texts)))), len(texts))
