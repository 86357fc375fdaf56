"""Membership: who is told to be in a release is counted again by comparing cells one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples

POLICY = ix.Policy(
    {"age": ix.quasi(ix.intervals(10, 100)), "ill": ix.sensitive(), "cost": ix.other()},
    [ix.KAnonymity(2)],
    max_suppression=0.5,
)
people = st.lists(
    st.tuples(st.integers(20, 39), st.sampled_from("ab"), st.sampled_from("123")), min_size=4, max_size=20
)


def table(rows):
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(("age", "ill", "cost"))})


def is_covered(label, age):
    """Whether a label of an age, or the age itself, may be this one."""
    low, _, high = str(label).partition("-")
    return label == "*" or int(low) <= age <= int(high or low)


@given(people, people)
@examples(40, opens_tables=True)
def test_who_is_told_to_be_in_it_agrees_with_cells_compared_one_by_one(inside, outside):
    try:
        release = ix.anonymize(table(inside), POLICY)
    except ix.InfeasibleError:
        return
    with release:
        rows = [tuple(row.values()) for row in release.table.to_pylist()]
        found = ix.attacks.membership(release, POLICY, table(inside), control=table(outside)).guesses[0]

    def told(person, cells=3):
        return any(is_covered(row[0], person[0]) and row[1:cells] == person[1:cells] for row in rows)

    members = [person for person in inside if told(person, 1)]
    assert (found.people, found.right) == (len(members), sum(map(told, members)))
    assert (found.control_people, found.control_right) == (len(outside), sum(map(told, outside)))


def test_a_release_that_everybody_fits_tells_nothing_and_exact_cells_tell_all():
    rows = [(20 + row % 10, "a", "1") for row in range(200)]
    with ix.anonymize(table(rows), POLICY) as release:
        assert ix.attacks.membership(release, POLICY, table(rows)).severity == "nothing"
    apart = [(20 + 10 * (row % 2), "ab"[row % 2], str(row)) for row in range(200)]
    with ix.anonymize(table(apart), POLICY) as release:
        found = ix.attacks.membership(release, POLICY, table(apart))
        assert (found.severity, found.guesses[0].rate) == ("something", 1.0)
        assert 0.3 < found.guesses[0].control < 0.7
        assert ix.attacks.membership(release, POLICY, table(apart)) == found


def test_quasi_columns_alone_need_people_who_are_not_in_it():
    rows = [(20, "a", "1"), (21, "a", "1")]
    with ix.anonymize(table(rows), POLICY) as release:
        with pytest.raises(ix.PolicyError):
            ix.attacks.membership(release, POLICY, table(rows), known=["age"])
        others = table([(95, "a", "1")])
        found = ix.attacks.membership(release, POLICY, table(rows), control=others, known=["age"])
        assert (found.guesses[0].right, found.guesses[0].control_right) == (2, 0)
