"""Finding people by a few of their events: as many fit as a count in plain Python finds."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest

import indistinct as ix
from helpers.commands import run

CODES = ix.levels([["A1", "A"], ["A2", "A"], ["B1", "B"]], top="*")


def policy(k, **more):
    return ix.Policy(
        tables={
            "people": ix.LinkedTable({"born": ix.quasi(ix.intervals(10))}, key="patient"),
            "visits": ix.LinkedTable(
                {"code": ix.quasi(CODES), "month": ix.quasi(ix.intervals(6))}, references={"patient": "people"}
            ),
        },
        privacy=[ix.KAnonymity(k)],
        person="patient",
        **more,
    )


PEOPLE = {
    "a": (41, [("A1", 1), ("A1", 1), ("B1", 3)]),
    "b": (41, [("A1", 1), ("B1", 3)]),
    "c": (41, [("A1", 1), ("A2", 8), ("B1", 3)]),
    "d": (43, [("A1", 1), ("A2", 8)]),
    "e": (43, []),
}


def tables(people=PEOPLE):
    visits = [(name, *visit) for name, (_, own) in people.items() for visit in own]
    rows = [{"patient": name, "code": code, "month": month} for name, code, month in visits]
    return {
        "people": pa.table({"patient": list(people), "born": [born for born, _ in people.values()]}),
        "visits": pa.Table.from_pylist(rows),
    }


def as_they_are(original):
    """Return a release in which all cells are those of the original."""
    return ix.anonymize(original, policy(1), algorithm=ix.Chosen(dict.fromkeys(policy(1).quasi, 0)))


def fits(events, row=None):
    """Return how many people have a row, and these events among theirs."""
    found = 0
    for born, own in PEOPLE.values():
        left = list(own)
        has_all = row in (None, born)
        for event in events:
            has_all = has_all and event in left
            if has_all:
                left.remove(event)
        found += has_all
    return found


@pytest.mark.parametrize("events", [1, 2, 3])
def test_in_tables_that_are_released_as_they_are_as_many_fit(events):
    with as_they_are(tables()) as release:
        found = ix.attacks.history(release, policy(1), tables(), events=events, tries=40)
        for one in (*found.findings, found.control):
            assert (one.alone_in_original, one.fewer_in_original) == (one.alone_in_release, one.fewer_in_release)
        sizes = {fits(some, born) for born, own in PEOPLE.values() for some in combinations(own, events)}
        assert (found.findings[0].alone_in_original > 0) == (1 in sizes)
        assert found.severity == "nothing"  # with k = 1 nobody is hidden


def test_a_release_that_heeds_events_leaves_nobody_alone():
    original, asked = tables({f"{name}{n}": own for n in range(3) for name, own in PEOPLE.items()}), policy(4)
    heeds = policy(4, knows={"events": 2})
    with ix.anonymize(original, heeds) as release:
        found = ix.attacks.history(release, heeds, original, tries=60)
        assert (found.events, found.k, found.severity) == (2, 4, "nothing")
        assert all(one.fewer_in_release == 0 for one in found.findings)
        assert any(one.fewer_in_original for one in found.findings)
        by_number = policy(4, knows={"events": 2, "number": True})
        told = ix.attacks.history(release, by_number, original, tries=60).findings[0]  # numbers tell them apart
        assert told.fewer_in_original > found.findings[0].fewer_in_original
        assert told.fewer_in_release
    with ix.anonymize(original, by_number) as release:
        assert ix.attacks.history(release, by_number, original, tries=60).severity == "nothing"
    with as_they_are(original) as release:
        found = ix.attacks.history(release, asked, original, events=1, known=["visits.code"], tries=20)
        assert found.severity == "nothing"  # four people or more have each code, or nobody
        assert ix.attacks.history(release, asked, original, tries=20).severity == "broken"


@pytest.mark.slow
def test_events_may_be_known_without_their_time_beside_others():
    people = {"a": (1, 2), "b": (1, 3), "c": (2, 3), "d": (1,)}  # two fit a month and one visit more, one two months
    original = tables({name: (41, [("A1", month) for month in months]) for name, months in people.items()})
    time = {"time": ["visits.month"]}
    for k in (2, 3):
        heeds = policy(k, knows={"dated": 1, "undated": 1, **time})
        with ix.anonymize(original, heeds) as release:
            first = ix.attacks.history(release, heeds, original, tries=40).findings[0]
            assert (first.alone_in_original, first.fewer_in_original) == (0, 40 * (k == 3))
            assert first.fewer_in_release == 0
            both = ix.attacks.history(release, heeds, original, events=2, tries=40).findings[0]
            assert both.alone_in_original == 40
    with as_they_are(tables()) as release, pytest.raises(ix.PolicyError):
        ix.attacks.history(release, policy(1), tables(), undated=1)  # no column has dates


def test_what_cannot_be_known_is_refused():
    with as_they_are(tables()) as release:
        with pytest.raises(ix.PolicyError):
            ix.attacks.history(release, policy(1), tables(), known=["visits.day"])
        with pytest.raises(ix.PolicyError):
            ix.attacks.history(release, policy(1), tables(), events=9)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from indistinct.policy.files.policy_file import policy_toml

    original = tables({f"{name}{n}": own for n in range(3) for name, own in PEOPLE.items()})
    for name, table in original.items():
        table.to_pandas().to_csv(f"{name}.csv", index=False)
    (tmp_path / "policy.toml").write_text(policy_toml(policy(4, knows={"events": 1})), "utf-8")
    own = ["people=people.csv", "visits=visits.csv"]
    assert run("anonymize", "policy.toml", *own, "-o", "release").exit_code == 0
    found = run(
        "attack", "history", "policy.toml", "release", *own, "--known", "people.born", "--known", "visits.month"
    )
    assert found.exit_code == 0, found.output
