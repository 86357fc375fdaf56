"""Computed hierarchies: numbers, dates and leading characters, by example."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import (
    Hierarchy,
    UnknownValues,
    dates,
    from_spec,
    intervals,
    prefix,
    rounding,
    suppress,
    top_bottom,
)


def path(hierarchy: Hierarchy, value: str) -> list[str | None]:
    """The labels of one value, level 1 first."""
    return hierarchy.table([value])[0][1:]


@pytest.mark.parametrize(
    ("hierarchy", "value", "labels"),
    [
        (intervals(5, 10, 20), "39", ["35-39", "30-39", "20-39", "*"]),
        (intervals(5, 10, 20), "39.0", ["35-39", "30-39", "20-39", "*"]),
        (intervals(5, 10, 20), " 39", ["35-39", "30-39", "20-39", "*"]),
        (intervals(1, 5), "+3e1", ["30-30", "30-34", "*"]),
        (intervals(5, 10), "-1", ["-5 to -1", "-10 to -1", "*"]),
        (intervals(5, 10, origin=-2), "0", ["-2 to 2", "-2 to 7", "*"]),
        (intervals(5, 10, origin=3), "0", ["-2 to 2", "-7 to 2", "*"]),
        (intervals([18, 40, 65], [40]), "17", ["<18", "<40", "*"]),
        (intervals([18, 40, 65], [40]), "18", ["18-39", "<40", "*"]),
        (intervals([18, 40, 65], [40]), "65", [">=65", ">=40", "*"]),
        (intervals(10, [20, 60]), "25", ["20-29", "20-59", "*"]),
        (intervals(5, 20, low=18, high=90), "17", ["<18", "<18", "*"]),
        (intervals(5, 20, low=18, high=90), "18", ["18-19", "18-19", "*"]),
        (intervals(5, 20, low=18, high=90), "89", ["85-89", "80-89", "*"]),
        (intervals(5, 20, low=18, high=90), "90", [">=90", ">=90", "*"]),
        (intervals([18, 65], low=0, high=100), "5", ["0-17", "*"]),
        (intervals([18, 65], low=0, high=100), "70", ["65-99", "*"]),
        (intervals(0.1, 0.5), "0.3", ["[0.3, 0.4)", "[0, 0.5)", "*"]),
        (intervals(0.1), "0.29999999999999999999999999999999999", ["[0.2, 0.3)", "*"]),
        (intervals(0.1), "-1e-300", ["[-0.1, 0)", "*"]),
        (intervals(1000.0), "1234.56", ["[1000, 2000)", "*"]),
        (intervals(Decimal("2.5"), 5), "7", ["[5, 7.5)", "[5, 10)", "*"]),
        (intervals(2.5, low=0.25), "0.2", ["<0.25", "*"]),
        (
            intervals(np.int64(5)),  # type: ignore[arg-type]
            "123456789012345678901234",
            ["123456789012345678901230-123456789012345678901234", "*"],
        ),
        (rounding(10, 100), "44", ["40", "0", "*"]),
        (rounding(10, 100), "45", ["50", "100", "*"]),
        (rounding(10), "-5", ["0", "*"]),
        (rounding(10), "-5.0000000000000000000000000000001", ["-10", "*"]),
        (rounding(0.1, 0.25), "0.15", ["0.2", "0.25", "*"]),
        (rounding(1000), "1499.99", ["1000", "*"]),
        (top_bottom((20, 80), (30, 70)), "19.5", ["<20", "<30", "*"]),
        (top_bottom((20, 80), (30, 70)), "20", ["20", "<30", "*"]),
        (top_bottom((20, 80), (30, 70)), "80", ["80", ">70", "*"]),
        (top_bottom((20, 80), (30, 70)), " 50", [" 50", " 50", "*"]),
        (top_bottom((None, 80), (30, 80)), "1", ["1", "<30", "*"]),
        (prefix(5), "02138", ["0213*", "021**", "02***", "0****", "*"]),
        (prefix(5, keep=[3], mask="#", top="any"), "02138", ["021##", "any"]),
        (prefix(5, keep=[4, 2]), "02", ["02*", "02***", "*"]),
        (prefix(1), "x", ["*"]),
        (prefix(2, keep=[0], top=None), "xy", ["**"]),
        (
            dates("day", "month", "quarter", "year"),
            "1964-09-27 10:30:00",
            ["1964-09-27", "1964-09", "1964-Q3", "1964", "*"],
        ),
        (dates("month"), "1964-09-27T10:00", ["1964-09", "*"]),
        (dates("month"), " 1964-09-27T23:59:59.123+02:00", ["1964-09", "*"]),
        (dates("year", "5 years", "decade"), "1965-01-01", ["1965", "1965-1969", "1960-1969", "*"]),
        (dates("10 years", "100 year"), "0005-01-01", ["0000-0009", "0000-0099", "*"]),
        (dates("month", format=["%m/%d/%Y", "%d.%m.%Y"]), "27.9.1964", ["1964-09", "*"]),
        (dates("year", "10 years", format="%Y"), "1964", ["1964", "1960-1969", "*"]),
        (dates("year", format="%m/%d/%y"), "09/27/69", ["1969", "*"]),
        (suppress("none"), "x", ["none"]),
    ],
    ids=repr,
)
def test_labels(hierarchy: Hierarchy, value: str, labels: list[str]) -> None:
    assert path(hierarchy, value) == labels


def test_the_longest_value_at_hand_gives_the_length_of_prefixes() -> None:
    assert prefix().compile(["12", "1234"]).labels == (
        ("12", "1234"),
        ("12*", "123*"),
        ("12**",),
        ("1***",),
        ("*",),
    )


def test_widths_of_a_tenth_do_not_drift() -> None:
    values = [f"{number / 10:.1f}" for number in range(1000)]
    compiled = intervals(0.1, 1.0).compile(values)
    assert len(compiled.labels[1]) == 1000
    assert compiled.leaves[2].tolist() == [10] * 100


def test_different_spellings_of_a_number_meet_at_level_one() -> None:
    compiled = intervals(5).compile([" 39", "39", "39.0"])
    assert compiled.labels[1] == ("35-39",)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: intervals(), "intervals: give at least one width"),
        (lambda: intervals(0), "a width must be above 0, got 0"),
        (lambda: intervals(float("nan")), "a width must be a number, got nan"),
        (lambda: intervals(Fraction(1, 3)), r"a width must be a number, got Fraction\(1, 3\)"),  # type: ignore[arg-type]
        (lambda: intervals(None), "a width must be a number, got None"),  # type: ignore[arg-type]
        (lambda: intervals(5, 12), "width 12 is no multiple of 5; each width must be a multiple of the one before"),
        (lambda: intervals(5, 5), "width 5 is no multiple of 5"),
        (lambda: intervals(0.1, 0.25), "width 0.25 is no multiple of 0.1"),
        (lambda: intervals(5, [18, 65]), "the cut point 18 is no boundary of the level below"),
        (lambda: intervals([10, 20], [15]), "the cut point 15 is no boundary"),
        (lambda: intervals([10, 20], [10, 20]), "a level must be coarser than the one below"),
        (lambda: intervals([10, 20], 40), "a width cannot follow cut points"),
        (lambda: intervals([]), "cut points must be one number or more, in rising order"),
        (lambda: intervals([20, 10]), "cut points must be one number or more, in rising order"),
        (lambda: intervals(5, low=90, high=18), "low 90 must lie below high 18"),
        (lambda: intervals(5, top=""), "top must be a label or None"),
        (lambda: rounding(), "rounding: give at least one unit"),
        (lambda: rounding(10, 5), "units must be above 0 and rise"),
        (lambda: rounding(-1), "units must be above 0 and rise"),
        (lambda: top_bottom(), "give at least one pair of bounds"),
        (lambda: top_bottom((None, None)), "at least one bound in each"),
        (lambda: top_bottom((80, 20)), "the bottom must not lie above the top"),
        (lambda: top_bottom((20, 80), (10, 70)), "each pair of bounds must lie inside the one before"),
        (lambda: top_bottom((20, 80), (30, None)), "each pair of bounds must lie inside the one before"),
        (lambda: top_bottom((20, 80), (20, 80)), "each pair of bounds must lie inside the one before"),
        (lambda: top_bottom((20, 80, 90)), r"bounds come in pairs \(bottom, top\)"),  # type: ignore[arg-type]
        (lambda: prefix(0), "length must be a number of characters, at least 1, got 0"),
        (lambda: prefix(True), "length must be a number of characters, at least 1, got True"),
        (lambda: prefix(5, mask="**"), "mask must be one character"),
        (lambda: prefix(5, keep=[]), "keep must list at least one number of characters"),
        (lambda: prefix(5, keep=[3, 3]), "keep must fall from level to level"),
        (lambda: prefix(5, keep=[5]), "keep must start below length 5"),
        (lambda: prefix(5, keep="43"), "keep must be a list"),  # type: ignore[arg-type]
        (lambda: dates(), "dates: give at least one level"),
        (lambda: dates("week"), "no level 'week'; there are day, month, quarter, year, decade"),
        (lambda: dates("0 years"), "no level '0 years'"),
        (lambda: dates("year", "month"), "'month' cannot follow 'year'; levels rise from day"),
        (lambda: dates("year", "1 years"), "'year' cannot follow 'year'"),
        (lambda: dates("2 years", "5 years"), "'5 years' cannot follow '2 years'"),
        (lambda: dates("month", format="%Y"), "the format '%Y' does not tell the month of a date"),
        (lambda: dates("month", format="%Q"), "'%Q' is not a format that strptime can read"),
        (lambda: dates("year", format="%Y%Y"), "'%Y%Y' is not a format that strptime can read"),
        (lambda: dates("day", format="%d.%d.%Y"), "'%d.%d.%Y' is not a format that strptime can read"),
        (lambda: suppress(""), r"the label of suppress\(\) must be some text"),
    ],
)
def test_nonsense_is_refused_when_made(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        build()


@pytest.mark.parametrize(
    ("hierarchy", "value", "message"),
    [
        (intervals(5), "39.5", "1 value is not a whole number; write the widths with a decimal point, such as 5.0"),
        (intervals(5), "thirty", r"1 value is not a number; correct the table, or list the values with levels\(\)"),
        (intervals(5), "1_000", "1 value is not a number"),
        (intervals(5), "٣", "1 value is not a number"),
        (intervals(5), "NaN", "1 value is not a number"),
        (rounding(5), "1e999999999", "1 value is not a number"),
        (top_bottom((1, 2)), "", "1 value is not a number"),
        (prefix(4), "02138", r"1 value is longer than 4 characters; give prefix\(\) a larger length"),
        (dates("year"), "1964-13-01", r"1 value cannot be read as an ISO date; give dates\(\) their format"),
        (dates("year", format=["%Y", "%m/%Y"]), "64", "1 value cannot be read as '%Y' or '%m/%Y'"),
    ],
)
def test_values_that_do_not_fit_are_counted(hierarchy: Hierarchy, value: str, message: str) -> None:
    with pytest.raises(UnknownValues, match=message) as caught:
        hierarchy.compile([value])
    assert caught.value.codes == (0,)


def test_two_digit_years_lie_in_the_hundred_years_up_to_the_latest_one():
    """Samarati 2001, Figure 1 writes 09/15/61; nobody in it was born in 2061."""
    birth = dates("year", "10 years", format="%m/%d/%y", latest=2025)
    assert [birth.label(day, 1) for day in ("09/15/61", "01/01/25", "01/01/26", "02/28/00")] == [
        "1961",
        "2025",
        "1926",
        "2000",
    ]
    assert birth.spec() == {"dates": {"levels": ["year", "10 years"], "format": "%m/%d/%y", "latest": 2025}}
    assert from_spec(birth.spec(), Path()) == birth


def test_a_leap_day_that_its_century_lacks_is_no_date():
    with pytest.raises(HierarchyError, match="1 value cannot be read"):
        dates("year", format="%m/%d/%y", latest=1999).compile(["02/29/00"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"latest": "2025", "format": "%y"}, "must be a year"),
        ({"latest": True, "format": "%y"}, "must be a year"),
        ({"latest": 2025, "format": "%Y"}, "for two-digit years"),
        ({"latest": 2025}, "for two-digit years"),
    ],
)
def test_the_latest_year_is_a_year_and_goes_with_two_digits(options, words):
    with pytest.raises(HierarchyError, match=words):
        dates("year", **options)


@pytest.mark.parametrize("number", ["90071992547409937", "12345678901234567849", "1" * 400])
def test_whole_numbers_of_any_length_are_rounded_exactly(number: str) -> None:
    """By the last digit, as one does by hand: 7 and 9 go up, 1 goes down; no float comes in between."""
    tens = int(number[:-1]) + (number[-1] >= "5")
    assert rounding(10).label(number, 1) == f"{tens}0"
