"""Attacks where a person may have several rows: each says what it counts, and nothing is concluded from rows alone."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from indistinct import attacks
from indistinct.attacks.homogeneity import ALIKE
from indistinct.attacks.target import LINKED, ROWS
from indistinct.errors import PolicyError
from indistinct.policy import Person

RELEASED = pa.table({"job": ["office"] * 3 + ["care"] * 2, "ill": ["flu"] * 3 + ["flu", "gout"]})
VOTERS = pa.table({"job": ["clerk", "judge", "nurse"]})


def policy(person: str | Person | None) -> ix.Policy:
    job = ix.quasi(ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse"]}}), missing="refuse")
    return ix.Policy(columns={"job": job, "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)], person=person)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("person", "note"), [(None, None), ("patient", ROWS), (Person(("patient",), "pseudonym"), LINKED)]
)
def test_every_attack_says_what_it_counts(person: str | Person | None, note: str | None) -> None:
    asked = policy(person)
    both = {"first": RELEASED, "second": RELEASED}
    found = [
        attacks.link(RELEASED, VOTERS, asked).notes,
        attacks.maps(RELEASED, VOTERS, asked).notes,
        attacks.homogeneity(RELEASED, asked).notes,
        attacks.complementary(both, asked).notes,
        attacks.unsorted(RELEASED, RELEASED, asked).notes,
        attacks.downcoding(RELEASED, asked).notes,
    ]
    if note is None:
        assert not any(ROWS in notes or LINKED in notes for notes in found)
    else:
        assert all(notes[0] == note for notes in found)


def test_homogeneity_says_what_rows_tell_of_people() -> None:
    report = attacks.homogeneity(RELEASED, policy("patient"))
    assert report.columns[0].same_groups == 1
    assert ALIKE in report.notes
    assert f"note: {ALIKE}" in str(report)
    assert report.to_dict()["notes"] == list(report.notes)


def test_downcoding_takes_no_release_of_people_for_minimal_by_its_rows() -> None:
    """Three rows below "office" may be one clerk and a judge with two: k = 2 rows say nothing of two people."""
    of_rows, of_people = (attacks.downcoding(RELEASED, policy(person)) for person in (None, "patient"))
    assert "minimal" in of_rows.assumed
    assert "minimal" not in of_people.assumed
    assert any("people were counted, and the release tells only rows" in note for note in of_people.notes)


VISITS = [("a", "A1", "x"), ("a", "B1", "y"), ("b", "A1", "z"), ("c", "A1", "x"), ("c", "B2", "y"), ("d", "B2", "z")]
"""The pseudonym, the town and the illness of six visits."""


def visits_policy(person: Person | str | None) -> ix.Policy:
    columns = {"town": ix.quasi(ix.prefix(2)), "ill": ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)], person=person)


def linked_visits(level: int = 0) -> pa.Table:
    towns = [(town[: 2 - level] + "*" * level) for _, town, _ in VISITS]
    rows = {"town": towns, "ill": [ill for *_, ill in VISITS]}
    return pa.table(rows | {"pseudonym": [whose * 32 for whose, *_ in VISITS]})


def test_all_rows_of_a_pseudonym_are_linked_together() -> None:
    """Whoever was in A1 and B1 is the first pseudonym alone, though two rows fit A1 and each row fits others."""
    asked = visits_policy(Person(("who",), "pseudonym"))
    known = pa.table({"who": ["Ann", "Ann", "Bob", "Cid"], "town": ["A1", "B1", "A1", "B2"]})
    report = attacks.link(linked_visits(), known, asked, show=["who"])
    assert (report.unit, report.rows, report.people, report.groups) == ("pseudonym", 4, 3, 4)
    # a: Ann. b (A1): Ann and Bob. c (A1 and B2): nobody. d (B2): Cid, who fits nothing else.
    assert report.people_of_rows == {0: 1, 1: 2, 2: 1}
    assert report.rows_of_people == {1: 2, 2: 1}
    assert report.one_to_one == 1
    assert report.worst[0].labels == {"town": "B2"}
    assert "1 of 4 released pseudonyms is linked to one person" in report.summary
    assert report.to_dict()["unit"] == "pseudonym"
    rows = attacks.link(linked_visits().drop(["pseudonym"]), known, visits_policy("who"))
    assert (rows.unit, rows.rows, rows.people, rows.people_of_rows) == ("row", 6, 3, {1: 3, 2: 3})


def test_a_list_with_one_row_a_person_has_to_fit_every_row_of_a_pseudonym() -> None:
    known = pa.table({"name": ["Ann", "Bob"], "town": ["A1", "B2"]})
    asked = visits_policy(Person(("who",), "pseudonym"))
    report = attacks.link(linked_visits(1), known, asked)
    assert report.people_of_rows == {0: 2, 1: 2}  # nobody lives in A and in B
    assert report.rows_of_people == {1: 2}


def test_rows_of_nobody_in_the_other_table_are_refused() -> None:
    known = pa.table({"who": ["Ann", None], "town": ["A1", "B2"]})
    with pytest.raises(PolicyError, match="have nothing in 'who'"):
        attacks.link(linked_visits(), known, visits_policy(Person(("who",), "pseudonym")))


def test_homogeneity_is_counted_in_people_who_have_the_same_rows() -> None:
    """By rows no group has one illness. Both people with A1 and B1 have flu in one of their rows."""
    rows = [("a", "A1", "flu"), ("a", "B1", "gout"), ("b", "A1", "rash"), ("b", "B1", "flu"), ("c", "A1", "gout")]
    cells = {name: [row[place] for row in rows] for place, name in enumerate(("pseudonym", "town", "ill"))}
    table = pa.table(cells | {"pseudonym": [whose * 32 for whose in cells["pseudonym"]]})
    by_rows = attacks.homogeneity(table.drop(["pseudonym"]), visits_policy("who"), share=1)
    assert (by_rows.unit, by_rows.columns[0].same_groups) == ("row", 0)
    report = attacks.homogeneity(table, visits_policy(Person(("who",), "pseudonym")), share=1, common=1)
    assert (report.unit, report.rows, report.groups) == ("person", 3, 2)
    assert (report.columns[0].same_groups, report.columns[0].same_rows) == (2, 3)
    first = report.findings[0]
    assert (first.labels, first.rows, first.share) == ({"town": "A1 / B1"}, 2, 1)
    assert first.sentence == "Of the 2 people with town A1 / B1 all have one and the same ill."
    assert "column ill is the same for all of 3 people in 2 groups" in report.summary
    assert report.to_dict()["unit"] == "person"
    assert by_rows.to_dict()["unit"] == "row"


@profiles.examples(20, opens_tables=True)
@given(
    st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from("AB"), st.sampled_from("xyz")), min_size=1),
    st.sampled_from([0.5, 0.7, 1.0]),
)
def test_homogeneity_in_people_agrees_with_counting_them(rows: list[tuple[str, str, str]], share: float) -> None:
    cells = {name: [row[place] for row in rows] for place, name in enumerate(("pseudonym", "town", "ill"))}
    table = pa.table(cells | {"pseudonym": [whose * 32 for whose in cells["pseudonym"]]})
    report = attacks.homogeneity(table, visits_policy(Person(("who",), "pseudonym")), share=share, threads=1)
    classes: dict[tuple[str, ...], set[str]] = {}
    for whose in {row[0] for row in rows}:
        classes.setdefault(tuple(sorted(town for own, town, _ in rows if own == whose)), set()).add(whose)
    alike = []
    for people in classes.values():
        most = max(len({own for own, _, ill in rows if own in people and ill == value}) for value in "xyz")
        alike.append((len(people), most == len(people), most >= share * len(people) - 1e-9))
    found = report.columns[0]
    assert (report.rows, report.groups) == (sum(size for size, _, _ in alike), len(alike))
    assert (found.same_groups, found.same_rows) == (
        sum(same for _, same, _ in alike),
        sum(size for size, same, _ in alike if same),
    )
    assert (found.alike_groups, found.alike_rows) == (
        sum(near for *_, near in alike),
        sum(size for size, _, near in alike if near),
    )


@profiles.examples(30, opens_tables=True)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["p", "q", "r", "s"])), min_size=1),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("ABCD")), min_size=1),
    st.booleans(),
)
def test_linking_people_agrees_with_trying_everybody(
    shown: list[tuple[int, int, str]], known: list[tuple[int, int, str]], is_linked: bool
) -> None:
    """Ages 0 to 3 are released in pairs, towns as they are or as a star where the number is 3."""
    labels = [("01" if age < 2 else "23", "*" if town == 3 else str(town)) for age, town, _ in shown]
    columns = {
        "age": ix.quasi(ix.levels([[str(age), "01" if age < 2 else "23", "0123"] for age in range(4)])),
        "town": ix.quasi(ix.suppress()),
    }
    person = Person(("who",), "pseudonym") if is_linked else "who"
    asked = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)], person=person)
    released = pa.table({"age": [age for age, _ in labels], "town": [town for _, town in labels]})
    if is_linked:
        released = released.append_column("pseudonym", pa.array([whose * 32 for *_, whose in shown]))
    other = pa.table({name: [str(row[place]) for row in known] for place, name in enumerate(("age", "town", "who"))})
    report = attacks.link(released, other, asked, threads=1)

    def fits(label: tuple[str, str], row: tuple[int, int, str]) -> bool:
        return str(row[0]) in label[0] and label[1] in ("*", str(row[1]))

    units = [
        [label for label, (*_, own) in zip(labels, shown, strict=True) if own == whose]
        for whose in sorted({own for *_, own in shown})
    ]
    units = units if is_linked else [[label] for label in labels]
    people = {whose: [row for row in known if row[2] == whose] for _, _, whose in known}
    pairs = {
        (number, whose)
        for number, unit in enumerate(units)
        for whose, rows in people.items()
        if all(any(fits(label, row) for row in rows) for label in unit)
    }
    of_units = [sum(number == own for own, _ in pairs) for number in range(len(units))]
    of_people = {whose: sum(whose == own for _, own in pairs) for whose in people}
    assert (report.rows, report.people) == (len(units), len(people))
    assert report.people_of_rows == dict(sorted(Counter(of_units).items()))
    assert report.rows_of_people == dict(sorted(Counter(of_people.values()).items()))
    assert report.one_to_one == sum(of_units[number] == 1 and of_people[whose] == 1 for number, whose in pairs)
