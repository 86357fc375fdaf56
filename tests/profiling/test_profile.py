"""profile() guesses roles and hierarchies with reasons, and its policy always fits the table."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.linkage import functional_dependencies
from indistinct.pipeline.suggesting import suggested_policy
from indistinct.policy.files.policy_file import parse_policy, policy_toml
from indistinct.profiling import ColumnProfile, column_statistics, comments, profile


def look_at(name: str, values: list[Any]) -> ColumnProfile:
    """Profile one column beside another that can be quasi."""
    found = profile(pa.table({"partner": [str(row // 2 % 2) for row in range(len(values))], name: values}))
    return found.columns[1]


def days(form: str, rows: int = 60) -> list[str]:
    chance = random.Random(form)
    parts = {"Y": (1930, 2005), "y": (70, 99), "m": (1, 12), "d": (1, 28)}
    texts = []
    for _ in range(rows):
        text = form
        for letter, (low, high) in parts.items():
            text = text.replace(f"%{letter}", f"{chance.randint(low, high):02}")
        texts.append(text)
    return texts


@pytest.mark.parametrize(
    "name",
    ["name", "Full Name", "lastName", "patient_id", "SSN", "E-Mail", "phone2", "Adresse", "Straße", "prénom", "MRN"],
)
def test_names_of_people_are_identifiers(name: str) -> None:
    assert look_at(name, ["a", "b", "a", "b"]).role == "identifier"


@pytest.mark.parametrize(
    "name",
    ["DateOfBirth", "dob", "ZIP", "PLZ", "postal_code", "sex", "Geschlecht", "native-country", "country name", "Age"],
)
def test_what_others_may_know_is_quasi(name: str) -> None:
    assert look_at(name, ["a", "b", "a", "b"]).role == "quasi"


@pytest.mark.parametrize("name", ["illness", "HealthProblem", "diagnoses", "salary-class", "disease_name", "hiv"])
def test_what_nobody_should_learn_is_sensitive(name: str) -> None:
    assert look_at(name, ["a", "b"] * 5).role == "sensitive"


def test_an_unknown_column_is_quasi_and_says_why() -> None:
    found = look_at("x17", ["a", "b", "a", "b"])
    assert found.role == "quasi"
    assert "make it other" in found.reason


def test_a_column_that_tells_nobody_apart_is_other() -> None:
    assert look_at("x17", ["a"] * 4).role == "other"
    assert look_at("x17", [None] * 4).role == "other"
    assert look_at("x17", ["a", "a", None, "a"]).role == "quasi"


@pytest.mark.slow
def test_nearly_unique_texts_and_numberings_are_identifiers() -> None:
    assert look_at("x17", [f"text {row}" for row in range(50)]).role == "identifier"
    assert look_at("x17", [str(row) for row in range(50)]).role == "identifier"
    assert look_at("x17", [f"{row}.5" for row in range(50)]).role == "other"
    assert look_at("x17", [f"{'word ' * 20}{row}" for row in range(50)]).reason.startswith("long texts")


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%Y%m%d"]
)
def test_dates_are_recognized_with_their_format(form: str) -> None:
    found = look_at("born", days(form))
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "dates"
    spec = found.hierarchy.spec()["dates"]
    assert (spec["format"] if isinstance(spec, dict) else "%Y-%m-%d") == form
    assert "cannot be told apart" not in found.reason


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d"])
@pytest.mark.parametrize(("wrong", "kind"), [(1, "dates"), (3, None)])
def test_one_date_in_a_hundred_may_be_unreadable(form: str, wrong: int, kind: str | None) -> None:
    found = look_at("born", [*days(form) * 2, *["19991350", "31 June", "last year"][:wrong]])
    assert found.hierarchy is not None
    if kind:
        assert found.hierarchy.kind == "dates"
        assert found.unreadable == "missing"
        assert "value that is none" in found.reason
    else:
        assert found.hierarchy.kind != "dates"


def test_eight_digits_that_are_no_days_are_numbers() -> None:
    chance = random.Random(4)
    found = look_at("x17", [str(chance.randint(18500000, 21000000)) for _ in range(200)] * 3)
    assert found.hierarchy is None or found.hierarchy.kind != "dates"


def test_days_that_may_be_months_are_said_to_be_ambiguous() -> None:
    found = look_at("born", ["01/02/1964", "03/04/1965"])
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "dates"
    assert "%d/%m/%Y" in found.reason


def test_two_digit_years_are_not_guessed_to_lie_in_the_future() -> None:
    found = look_at("born", ["09/27/64", "04/18/64"])
    assert found.hierarchy is not None
    assert found.hierarchy.kind == "dates"
    assert found.hierarchy.label("09/27/64", 2) == "1964"


def test_dates_of_something_sensitive_can_be_linked_by() -> None:
    assert look_at("diagnosis_date", days("%Y-%m-%d")).role == "quasi"


def test_postal_codes_and_codes_with_leading_zeros_lose_their_last_characters() -> None:
    for name, values in {
        "zip": ["94138", "94139"],
        "x17": ["0213", "4213"],
        "postcode": ["EC1A 1BB", "W1A 0AX"],
    }.items():
        hierarchy = look_at(name, values).hierarchy
        assert hierarchy is not None
        assert hierarchy.kind == "prefix"


@pytest.mark.parametrize(
    ("values", "widths"),
    [
        ([str(age) for age in range(17, 90)], [5, 10, 20, 40]),
        ([str(visits) for visits in (0, 1, 2, 3, 9)], [2, 4, 8]),
        (["0.5", "0.75", "2.5"], [0.5, 1.0]),
        (["0", "0.5", "1"], [1]),
        ([str(number) for number in range(0, 200, 10)], [20, 40, 80, 160]),
        (["1000", "250000", "90000", "1"], [20000, 40000, 80000, 160000]),
    ],
)
def test_intervals_are_sized_by_the_range_of_the_numbers(values: list[str], widths: list[float]) -> None:
    hierarchy = look_at("age", values).hierarchy
    assert hierarchy is not None
    assert hierarchy.spec() == {"intervals": widths}


def test_counts_are_those_of_the_column() -> None:
    found = look_at("sex", ["m", "f", None, "", "m"])
    assert (found.distinct, found.missing) == (2, 2)


@pytest.mark.parametrize("most_cells", [0, 10_000])
def test_very_many_distinct_values_are_not_looked_at(monkeypatch: pytest.MonkeyPatch, most_cells: int) -> None:
    monkeypatch.setattr(column_statistics, "MOST_DISTINCT", 10)
    monkeypatch.setattr(functional_dependencies, "MOST_CELLS", most_cells)
    table = pa.table({"sex": ["m", "f"] * 15, "x17": [None, None, *map(str, range(28))], "zip": ["1", "2"] * 15})
    found = profile(table)
    assert [column.missing for column in found.columns] == [0, 2, 0]
    assert [column.distinct for column in found.columns] == [2, 28, 2]
    assert found.columns[1].role == "identifier"
    suggested_policy(found)


def test_no_reason_quotes_a_cell() -> None:
    secret = "Rumpelstiltskin"
    found = profile(pa.table({name: [secret, "other", secret] for name in ("name", "sex", "illness", "x17")}))
    assert secret not in str(found)
    assert secret not in str(found.to_dict())


def test_a_table_of_names_alone_still_gets_a_policy() -> None:
    policy = suggested_policy(profile(pa.table({"name": ["a", "b"], "ssn": ["1", "2"]})))
    assert len(policy.quasi) == 1


@pytest.mark.slow
def test_a_wide_table_is_recoded_cell_by_cell() -> None:
    table = pa.table({f"x{column}": ["a", "b"] * 5 for column in range(30)} | {"y": [*"aabbaabbac"]})
    policy = suggested_policy(profile(table), k=2)
    assert policy.algorithm == "regroup"
    with ix.anonymize(table, policy) as release:
        assert release.verdict is not None
        assert release.verdict.passed


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ix.TableError, match="no rows"):
        profile(pa.table({"name": pa.array([], pa.string())}))


CELLS = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.from_regex(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}", fullmatch=True),
    st.from_regex(r"0[0-9]{3}", fullmatch=True),
    st.text("ab -1.,", max_size=6),
)
NAMES = st.sampled_from(["name", "zip", "birth", "age", "illness", "x17", "diagnosis date", 'odd "name"', "PLZ"])


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 30))
    columns = {}
    for name in names:
        pool = draw(st.lists(CELLS, min_size=1, max_size=6))
        columns[name] = pa.array(draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows)), pa.string())
    return pa.table(columns)


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(tables())
def test_the_suggested_policy_fits_any_table_and_survives_its_file(table: pa.Table) -> None:
    found = profile(table)
    policy = parse_policy(policy_toml(suggested_policy(found, k=2), comments(found)))
    policy.check(table.column_names)
    found_wrong = ix.check(table, policy).mistakes
    assert all(one.startswith("person: ") and "the same in several rows" in one for one in found_wrong)
