"""Attacks where a person may have several rows: each says what it counts, and nothing is concluded from rows alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct import attacks
from indistinct.attacks.people_notes import ALIKE, LINKED, ROWS
from indistinct.policy import Person

RELEASED = pa.table({"job": ["office"] * 3 + ["care"] * 2, "ill": ["flu"] * 3 + ["flu", "gout"]})
VOTERS = pa.table({"job": ["clerk", "judge", "nurse"]})


def policy(person: str | Person | None) -> ix.Policy:
    job = ix.quasi(ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse"]}}), missing="refuse")
    return ix.Policy(columns={"job": job, "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)], person=person)


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
