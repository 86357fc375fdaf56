"""Known totals: Sweeney's men and women, and every way to fill in small columns."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, policy_of, table_of
from helpers.profiles import examples
from indistinct.attacks.known_totals import possible_values
from indistinct.examples import save_examples

POLICY = policy_of(SWEENEY, HOSPITAL_COLUMNS[:4], 2, sensitive=["Problem"])
MT = [
    (row[0], None if place in (6, 7) else row[1], None if place == 7 else row[2], *row[3:])
    for place, row in enumerate(HOSPITAL)
]
MEN_AND_WOMEN = {"Gender": {"male": 7, "female": 5}}


def test_the_numbers_of_men_and_women_tell_the_suppressed_gender():
    """Section 4.2: who knows "the total number of men and women" can infer "the suppressed values for Gender"."""
    found = ix.attacks.totals(table_of(HOSPITAL_COLUMNS, MT), POLICY, MEN_AND_WOMEN)
    assert (found.rows, found.inferred, found.narrowed, found.severity) == (12, 1, 0, "broken")
    (cell,) = found.findings
    assert (cell.column, cell.label, cell.rows, cell.values, cell.of) == ("Gender", None, 1, ("female",), 2)


def test_two_blanks_of_different_people_tell_nothing():
    rows = [("m",), ("f",), (None,), (None,)]
    policy = ix.Policy(columns={"sex": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(1)])
    assert ix.attacks.totals(table_of(["sex"], rows), policy, {"sex": {"m": 2, "f": 2}}).severity == "nothing"
    both = ix.attacks.totals(table_of(["sex"], rows), policy, {"sex": {"m": 3, "f": 1}})
    assert (both.inferred, both.findings[0].values) == (2, ("m",))


def test_labels_are_narrowed_by_what_they_cover():
    columns, labels = ["ZIP"], [("0213*",), ("0213*",), ("02141",)]
    policy = policy_of(SWEENEY, columns, 1)
    found = ix.attacks.totals(table_of(columns, labels), policy, {"ZIP": {"02138": 0, "02139": 2, "02141": 1}})
    assert [(one.label, one.rows, one.values) for one in found.findings] == [("0213*", 2, ("02139",))]
    more = ix.attacks.totals(table_of(columns, labels), policy, {"ZIP": {"02138": 1, "02139": 2, "02141": 1}})
    assert more.severity == "nothing"  # one of the three may have been left out


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"Sex": {"m": 12}}, "no column 'Sex'"),
        ({"Gender": {"male": 3, "female": 3}}, "6 fewer than the rows"),
        ({"Gender": {"male": 2, "female": 10}}, "no table with the labels"),
        ({}, "no totals were given"),
    ],
)
def test_totals_that_cannot_be_are_refused(known, says):
    with pytest.raises(ix.PolicyError, match=says):
        ix.attacks.totals(table_of(HOSPITAL_COLUMNS, MT), POLICY, known)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sets(st.integers(0, 2), min_size=1)), min_size=1, max_size=4),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
)
@examples(60)
def test_what_is_possible_is_what_some_way_to_fill_in_the_cells_has(labels, totals):
    sizes, covered = [size for size, _ in labels], [own for _, own in labels]
    cells = [label for label, size in enumerate(sizes) for _ in range(size)]
    ways = [
        way
        for way in product(*(sorted(covered[label]) for label in cells))
        if all(way.count(value) <= totals[value] for value in range(3))
    ]
    if not ways:
        with pytest.raises(ix.PolicyError):
            possible_values(sizes, covered, totals, "it")
        return
    expected = [
        {way[place] for way in ways for place, one in enumerate(cells) if one == label} for label in range(len(sizes))
    ]
    assert possible_values(sizes, covered, totals, "it") == expected


def test_the_command_takes_totals_as_they_are_typed(tmp_path):
    save_examples(tmp_path)
    lines = (
        (tmp_path / "gt1.csv")
        .read_text("utf-8")
        .replace("white,1964,male,0213*,obesity", "white,1964,******,0213*,obesity")
    )
    (tmp_path / "mt.csv").write_text(lines)
    asked = ["--total", "Gender=male:7", "--total", "Gender=female:5"]
    found = answer("attack", "totals", str(tmp_path / "gt.toml"), str(tmp_path / "mt.csv"), *asked)
    assert (found["inferred"], found["findings"][0]["values"]) == (1, ["male"])
