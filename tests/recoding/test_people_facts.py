"""What a release says of its people, counted again one by one."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv
from typer.testing import CliRunner

import indistinct as ix
from helpers.brute_force import Case, cases, task_of
from indistinct.cli import app
from indistinct.engine import open_table
from indistinct.policy import Person
from indistinct.proof.people_recount import released_people_check
from indistinct.recoding import SUPPRESSED, Pieces
from indistinct.recoding.recoding import PeopleFacts

VISITS = pa.table(
    {
        "patient": ["ann", "ann", "ann", "bob", "bob", "cat", "dan", "eve"],
        "ward": ["a", "a", "b", "a", "b", "a", "b", "c"],
    }
)
POLICY = ix.Policy(
    columns={"ward": ix.quasi(ix.suppress())},
    privacy=[ix.KAnonymity(3)],
    max_suppression=1,
    person="patient",
)
EXPECTED = {"eligible": 5, "released": 4, "lost_rows": 1, "lost_all_rows": 1, "smallest_group": 3}


@given(cases(people=True), st.data())
def test_people_are_counted_as_by_hand_however_rows_are_divided(case: Case, data: st.DataObject) -> None:
    entries = task_of(case).frequencies.entries
    assert entries.persons is not None
    where = [
        (int(person), data.draw(st.integers(SUPPRESSED, 3)), entry)
        for entry, person in enumerate(entries.persons)
        for _ in range(int(entries.counts[entry]))
    ]
    pieces = Counter((entry, group) for _, group, entry in where)
    made = Pieces(
        np.array([entry for entry, _ in pieces]), np.array(list(pieces.values())), np.array([g for _, g in pieces])
    )
    crowds = defaultdict(set)
    for person, group, _ in where:
        if group != SUPPRESSED:
            crowds[group].add(person)
    everybody = {person for person, _, _ in where}
    stay = {person for person, group, _ in where if group != SUPPRESSED}
    profiles = Counter(
        tuple(sorted(group for who, group, _ in where if who == person and group != SUPPRESSED)) for person in stay
    )
    linked = PeopleFacts.of(entries, made, is_linked=True)
    assert linked is not None
    assert linked.smallest_profile == min(profiles.values(), default=len(everybody))
    facts = PeopleFacts.of(entries, made)
    assert facts is not None
    assert facts.to_dict() == {
        "eligible": len(everybody),
        "released": len(stay),
        "lost_rows": len({person for person, group, _ in where if group == SUPPRESSED}),
        "lost_all_rows": len(everybody - stay),
        "smallest_group": min((len(crowd) for crowd in crowds.values()), default=len(everybody)),
    }


def test_a_release_says_how_many_people_it_has_and_who_lost_rows() -> None:
    with ix.anonymize(VISITS, POLICY, algorithm="lattice") as release:
        assert release.facts.to_dict()["people"] == EXPECTED
        assert "7 rows of 4 people, 2 groups of at least 3 people" in repr(release)
        assert "people in the smallest" in release._repr_html_()


@pytest.mark.parametrize("algorithm", ["lattice", "regroup", "mondrian", "datafly"])
def test_what_a_release_says_of_its_people_is_recounted_on_the_rows_that_leave(algorithm: str) -> None:
    with ix.anonymize(VISITS, POLICY, algorithm=algorithm) as release:
        people = release.facts.people
        assert people is not None
        assert people.smallest_group >= 3
        assert people.eligible == people.released + people.lost_all_rows == 5
        assert release.verdict is not None
        assert {check.id: check.passed for check in release.verdict.checks}["people.stated"]


def test_people_who_are_not_there_are_noticed() -> None:
    with open_table(VISITS) as rows:
        said = PeopleFacts(eligible=5, released=4, lost_rows=1, lost_all_rows=1, smallest_group=3)
        check = released_people_check(rows, POLICY, said)
    assert not check.passed
    assert check.numbers == {"released": 5, "smallest_group": 1}


def test_a_release_of_one_row_a_person_says_nothing_of_people() -> None:
    policy = ix.Policy(
        columns={"patient": ix.identifier(), "ward": ix.quasi(ix.suppress())},
        privacy=[ix.KAnonymity(2)],
        one_row_per_person=True,
        max_suppression=1,
    )
    with ix.anonymize(VISITS, policy) as release:
        assert release.facts.people is None
        assert "people" not in repr(release)


def test_a_manifest_has_the_people_and_one_without_them_fails(tmp_path: Path) -> None:
    with ix.anonymize(VISITS, POLICY) as release:
        release.write(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    said = json.loads(path.read_text("utf-8"))
    assert said["people"] == EXPECTED
    assert ix.verify(tmp_path / "out", POLICY, original=VISITS).passed
    del said["people"]
    path.write_text(json.dumps(said), "utf-8")
    found = ix.verify(tmp_path / "out", POLICY, original=VISITS)
    (failed,) = (check for check in found.checks if not check.passed)
    assert (failed.id, failed.numbers["wrong"]) == ("manifest.statements", ["people"])


@pytest.mark.slow
def test_anonymize_shows_people(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ix.policy_toml(POLICY), "utf-8")
    csv.write_csv(VISITS, tmp_path / "visits.csv")
    arguments = ["anonymize", str(tmp_path / "policy.toml"), str(tmp_path / "visits.csv"), "-o", str(tmp_path / "out")]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert "4 of 5 eligible; 1 lost a row or more, 1 of them all" in found.output
    assert "at least 3" in found.output


def test_a_release_of_linked_rows_says_how_many_share_a_profile() -> None:
    linked = dataclasses.replace(POLICY, person=Person(("patient",), "pseudonym"), max_suppression=5)
    with ix.anonymize(VISITS, linked) as release:
        people = release.facts.people
        rows = defaultdict(list)
        for row in release.table.to_pylist():
            rows[row["pseudonym"]].append(row["ward"])
        shared = Counter(tuple(sorted(own)) for own in rows.values())
        assert people is not None
        assert people.smallest_profile == min(shared.values()) >= 3
        assert f"{people.smallest_profile} with all their rows" in repr(release)


def test_compare_states_the_smallest_group_in_people() -> None:
    table = pa.table({"who": ["Ann", "Ann", "Bob", "Cid", "Cid", "Dan"], "ward": ["a", "a", "a", "b", "b", "b"]})
    columns = {"who": ix.identifier(), "ward": ix.quasi(ix.suppress())}
    asked = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], person="who")
    found = ix.compare(table, asked, algorithms=["lattice", "regroup", "mu-argus"])
    lattice, regroup, rows_only = found.trials
    assert (found.people, found.title) == (4, "3 algorithms on 6 rows of 4 people")
    assert (lattice.smallest_group, lattice.smallest_crowd, regroup.smallest_crowd) == (3, 2, 2)
    assert rows_only.ending == "refused"
    assert "counts rows, not people" in (rows_only.reason or "")
    assert "fewest people" in str(found)
    assert found.to_dict()["trials"][0]["people"]["smallest_group"] == 2
    linked = dataclasses.replace(asked, person={"column": "who", "release": "pseudonym"})
    trials = ix.compare(table, linked, algorithms=["lattice", "mondrian"]).trials
    assert [trial.smallest_crowd for trial in trials] == [2, 2]
    by_rows = dataclasses.replace(asked, person=None, one_row_per_person=True)
    of_rows = ix.compare(table, by_rows, algorithms=["lattice"])
    assert (of_rows.people, of_rows.trials[0].smallest_crowd) == (None, 3)
    assert of_rows.to_dict()["trials"][0]["people"] is None
