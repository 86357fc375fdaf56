"""Joined values: (physician, patient) with (physician, medication); and external tables that are joined to one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.linkage import use_people

SEEN = pa.table({"physician": ["A", "A", "B", "C"], "patient": ["Ann", "Bea", "Cleo", "Dora"]})
PRESCRIBED = pa.table(
    {"physician": ["A", "A", "B", "B", "D"], "medication": ["insulin", "insulin", "insulin", "aspirin", "aspirin"]}
)
PATIENTS = ix.Policy(columns={"physician": ix.quasi(), "patient": ix.quasi()}, privacy=[ix.KAnonymity(1)])
DRUGS = ix.Policy(columns={"physician": ix.quasi(), "medication": ix.sensitive()}, privacy=[ix.KAnonymity(1)])


def test_section_2_4_what_a_patient_takes_follows_from_what_her_physician_prescribes():
    found = ix.attacks.joined_values(SEEN, PRESCRIBED, PATIENTS, DRUGS)
    (column,) = found.columns
    assert found.on == ("physician",)
    assert (column.column, column.joined_rows, column.known_rows, column.narrowed_rows) == ("medication", 3, 2, 0)
    assert found.severity == "broken"
    (group,) = found.findings
    assert (group.cells, group.rows, group.earlier_rows) == ({"physician": "A"}, 2, 2)
    assert "insulin" not in str(found)


def test_a_blank_cell_may_be_any():
    blank = pa.table({"physician": ["A", None], "medication": ["insulin", "aspirin"]})
    found = ix.attacks.joined_values(SEEN, blank, PATIENTS, DRUGS)
    assert found.columns[0].known_rows == 2  # of B and C only the row without a physician may be theirs
    unknown = SEEN.set_column(0, "physician", pa.array([None] * 4, pa.string()))
    assert ix.attacks.joined_values(unknown, PRESCRIBED, PATIENTS, DRUGS).severity == "nothing"


def test_releases_that_cannot_be_joined_are_refused():
    with pytest.raises(ix.PolicyError, match="no column in common"):
        ix.attacks.joined_values(SEEN.select(["patient"]), PRESCRIBED, PATIENTS, DRUGS)
    with pytest.raises(ix.PolicyError, match="no sensitive column"):
        ix.attacks.joined_values(PRESCRIBED, SEEN, DRUGS, PATIENTS)
    with pytest.raises(ix.PolicyError, match="'patient'"):
        ix.attacks.joined_values(SEEN, PRESCRIBED, PATIENTS, DRUGS, on=["patient"])


# Several external tables, Samarati's footnote 3.

VOTERS = pa.table({"id": ["1", "2", "3"], "zip": ["02138", "02138", "94138"]})
REGISTER = pa.table({"id": ["1", "2", "4"], "born": ["1961", "1962", "1961"]})
POLICY = ix.Policy(columns={"zip": ix.quasi(ix.prefix(5)), "born": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(1)])
RELEASE = pa.table({"zip": ["02138", "0213*"], "born": ["1961", "1961"]})


def rows_of(tables):
    with use_people(tables) as rows:
        return sorted(
            (tuple(row.items()) for row in rows.texts(["id", "zip", "born"]).read_all().to_pylist()), key=repr
        )


def test_tables_of_people_are_joined_by_what_both_have():
    found = {dict(row)["id"]: (dict(row)["zip"], dict(row)["born"]) for row in rows_of([VOTERS, REGISTER])}
    assert found == {"1": ("02138", "1961"), "2": ("02138", "1962"), "3": ("94138", None), "4": (None, "1961")}


def test_equal_rows_of_tables_with_the_same_columns_are_the_same_people():
    twice, once = pa.table({"zip": ["a", "a", "b"]}), pa.table({"zip": ["a", "c"]})
    with use_people([twice, once]) as rows:
        assert sorted(rows.texts(["zip"]).read_all()["zip"].to_pylist()) == ["a", "a", "b", "c"]


def test_linking_with_two_tables_finds_whom_neither_tells():
    alone = ix.attacks.link(RELEASE, VOTERS, POLICY, on=["zip"])
    assert 1 not in alone.people_of_rows
    both = ix.attacks.link(RELEASE.slice(0, 1), [VOTERS, REGISTER], POLICY, show=["id"])
    assert {person.shown["id"] for person in both.worst[0].persons} == {"1", "4"}  # nobody knows where 4 lives
    mapped = ix.attacks.maps(RELEASE, [VOTERS, REGISTER], POLICY)
    assert (mapped.people, mapped.k) == (4, 1)


def test_k_map_counts_people_of_several_tables():
    private = pa.table({"zip": ["02138", "02138"], "born": ["1961", "1962"]})
    for population, levels in (([VOTERS, REGISTER], {"born": 1}), ([VOTERS], {"born": 0})):
        policy = ix.Policy(columns=POLICY.columns, privacy=[ix.KMap(2, population)], max_suppression=0)
        with ix.anonymize(private, policy) as release:
            assert release.node == {"zip": 0, **levels}


def test_tables_that_share_no_column_are_refused():
    with pytest.raises(ix.PolicyError, match="no column in common"), use_people([VOTERS, pa.table({"x": ["1"]})]):
        pass
    with pytest.raises(ix.PolicyError, match="empty list"), use_people([]):
        pass
