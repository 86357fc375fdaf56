"""The ledger and pseudonyms: what links the rows of a person in one release, or over all of them, is counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.errors import LedgerError, PolicyError, RefusedError

FRESH = {"column": "who", "release": "pseudonym"}
STABLE = FRESH | {"stable": True}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ix.Ledger]:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def visits(*rows: str) -> pa.Table:
    """Return a table of visits, each as "patient visit ward ill"."""
    cells = [row.split() for row in rows]
    return pa.table({name: [row[place] for row in cells] for place, name in enumerate(("who", "visit", "ward", "ill"))})


def policy(person: Any = None, *, visit: Any = False, ward: Any = None, **more: Any) -> ix.Policy:
    columns = {
        "who": ix.identifier(),
        "visit": ix.identifier(pseudonym=visit),
        "ward": ix.quasi(ward or ix.keep()),
        "ill": ix.other(),
    }
    return ix.Policy(**{"columns": columns, "privacy": [ix.KAnonymity(2)], "person": person} | more)


# Ann and Bob have the same rows, and so have Cid and Dan.
MARCH = ("Ann 1 ey flu", "Ann 2 su gout", "Bob 3 ey flu", "Bob 4 su flu", "Cid 5 ey flu", "Dan 6 ey flu")
# In April other visits are in the table, and nobody shares the wards of both months with anybody.
APRIL = ("Ann 7 ea flu", "Cid 8 ea flu", "Bob 9 ey flu", "Dan 10 ey flu")


@pytest.mark.slow
def test_fresh_pseudonyms_are_new_in_each_release_and_stable_ones_are_not(ledger: ix.Ledger) -> None:
    for person, shared in ((FRESH, 0), (STABLE, 4)):
        seen = []
        for _ in range(2):
            with ledger.anonymize(visits(*MARCH), policy(person), recipient="R", source=str(shared)) as release:
                seen.append(set(release.table["pseudonym"].to_pylist()))
        assert [len(one) for one in seen] == [4, 4]
        assert len(seen[0] & seen[1]) == shared
    kinds = [entry.details["pseudonyms"]["pseudonym"] for entry in ledger.entries]
    assert kinds == ["fresh", "fresh", "stable", "stable"]
    with ledger.anonymize(visits(*MARCH), policy(STABLE), recipient="R", source="other people") as release:
        assert not seen[0] & set(release.table["pseudonym"].to_pylist())  # each source has a key of its own


@pytest.mark.slow
def test_a_profile_over_all_releases_is_what_stable_pseudonyms_show(ledger: ix.Ledger) -> None:
    for person, at_risk in ((FRESH, 0), (STABLE, 4)):
        said: dict[str, Any] = {"recipient": "R", "key": "visit", "source": str(at_risk)}
        ledger.anonymize(visits(*MARCH), policy(person), **said).close()
        found = ledger.check(visits(*APRIL), policy(person), **said)
        assert (found.passed, found.at_risk, found.smallest) == (at_risk == 0, at_risk, 1 if at_risk else 2)
    with pytest.raises(RefusedError, match="the smallest cell has 1 person"):
        ledger.anonymize(visits(*APRIL), policy(STABLE), **said)
    # Fresh ones of the new release have nothing in common with the stable ones of the old.
    assert ledger.check(visits(*APRIL), policy(FRESH), **said).passed


def test_people_who_have_equal_rows_in_every_release_pass_with_stable_pseudonyms(ledger: ix.Ledger) -> None:
    said: dict[str, Any] = {"recipient": "R", "key": "visit"}
    ledger.anonymize(visits(*MARCH), policy(STABLE), **said).close()
    april = visits("Ann 7 ea flu", "Bob 8 ea flu", "Cid 9 ey flu", "Dan 10 ey flu")
    with ledger.anonymize(april, policy(STABLE), **said) as release:
        assert release.entry == 2
    assert (ledger.entries[1].details["cells"], ledger.entries[1].details["smallest_cell"]) == (2, 2)


def test_rows_that_are_followed_are_linked_in_releases_without_pseudonyms_too(ledger: ix.Ledger) -> None:
    # One by one every ward has two people. Together Ann is the one with eye and surgery.
    table = visits("Ann 1 ey flu", "Ann 2 su flu", "Dan 3 ey flu", "Dan 4 ea flu", "Cid 5 su flu", "Eve 6 ea flu")
    said: dict[str, Any] = {"recipient": "R", "key": "visit"}
    ledger.anonymize(table, policy("who"), **said).close()
    coarse = ix.levels([[ward, "*"] for ward in ("ey", "su", "ea")])
    assert ledger.check(table, policy("who", ward=coarse), **said).passed
    found = ledger.check(table, policy(FRESH, ward=coarse), **said)
    assert (found.passed, found.at_risk, found.cells) == (False, 4, 4)


def test_rows_that_no_release_links_stay_apart(ledger: ix.Ledger) -> None:
    # Ann's visit 2 is in the first release only, which links nothing: nobody knows that it is hers.
    first = visits("Ann 2 su flu", "Cid 5 su flu", "Dan 3 ea flu", "Eve 6 ea flu")
    said: dict[str, Any] = {"recipient": "R", "key": "visit"}
    ledger.anonymize(first, policy("who"), **said).close()
    second = visits("Ann 1 ey flu", "Dan 7 ey flu")
    assert ledger.check(second, policy(STABLE), **said).passed
    linked = policy(STABLE)
    ledger.anonymize(first, linked, **said | {"source": "b"}).close()
    assert ledger.check(second, linked, **said | {"source": "b"}).at_risk == 4


def test_stable_pseudonyms_need_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"'pseudonym' are to be the same in all releases.*--ledger"):
        ix.anonymize(visits(*MARCH), policy(STABLE))
    once = policy(visit="stable", one_row_per_person=True)
    with pytest.raises(PolicyError, match="'visit'"):
        ix.anonymize(visits(*APRIL), once)
    assert ix.check(visits(*MARCH), policy(STABLE)).is_feasible
    assert ix.compare(visits(*MARCH), policy(STABLE), algorithms=["lattice"]).trials[0].ending == "released"


def test_an_identifier_of_its_own_for_each_row_may_have_pseudonyms(ledger: ix.Ledger) -> None:
    asked = policy(FRESH, visit=True)
    for _ in range(2):
        with ledger.anonymize(visits(*MARCH), asked, recipient="R", key="visit") as release:
            assert len(set(release.table["visit"].to_pylist())) == len(MARCH)
            assert not {"1", "2"} & set(release.table["visit"].to_pylist())


@pytest.mark.parametrize("person", ["who", FRESH])
def test_pseudonyms_that_link_what_the_ledger_does_not_judge_are_refused(ledger: ix.Ledger, person: Any) -> None:
    stays = visits("Ann 1 ey flu", "Ann 1 su gout", "Bob 3 ey flu", "Bob 4 su flu")
    with pytest.raises(LedgerError, match=r"columns\.visit: 1 rows repeat a cell of another"):
        ledger.check(stays, policy(person, visit=True), recipient="R")
    empty = pa.table(visits(*MARCH).to_pydict() | {"visit": [None, None, "1", "2", "3", "4"]})
    with pytest.raises(LedgerError, match=r"columns\.visit: 1 rows repeat"):
        ledger.check(empty, policy(person, visit=True), recipient="R")
    assert ledger.entries == []


def test_an_identifier_is_stable_only_as_the_key_of_people_with_one_row(ledger: ix.Ledger) -> None:
    once = policy(visit="stable", one_row_per_person=True)
    seen = []
    for _ in range(2):
        with ledger.anonymize(visits(*APRIL), once, recipient="R", key="visit") as release:
            seen.append(sorted(release.table["visit"].to_pylist()))
    assert seen[0] == seen[1]
    for asked, key in ((once, None), (once, ["who", "visit"]), (policy("who", visit="stable"), "visit")):
        with pytest.raises(LedgerError, match=r"columns\.visit: a stable pseudonym"):
            ledger.check(visits(*APRIL), asked, recipient="R", key=key, source="b")


def test_m_invariance_does_not_go_with_pseudonyms(ledger: ix.Ledger) -> None:
    columns = {
        "who": ix.identifier(pseudonym=True),
        "visit": ix.identifier(),
        "ward": ix.quasi(ix.suppress()),
        "ill": ix.sensitive(),
    }
    invariant = ix.Policy(columns, [ix.MInvariance(2)], algorithm="m-invariance", options={"two_tables": True})
    with pytest.raises(LedgerError, match="leave out 'who'"):
        ledger.check(visits(*APRIL), invariant, recipient="R", key="who")
    table = visits("Ann 7 ea flu", "Cid 8 ea gout", "Bob 9 ey flu", "Dan 10 ey gout")
    plain = replace(invariant, columns=columns | {"who": ix.identifier()})
    ledger.anonymize(table, plain, recipient="R", key="who").close()
    linkable = policy(columns=columns | {"who": ix.identifier(pseudonym="stable"), "ill": ix.identifier()})
    with pytest.raises(LedgerError, match="stable pseudonyms: m-invariance was promised"):
        ledger.check(table, linkable, recipient="R", key="who")


def test_a_release_with_pseudonyms_can_be_added_if_they_link_what_the_original_does(
    ledger: ix.Ledger, tmp_path: Path
) -> None:
    rows = ("Ann 1 ey flu", "Ann 2 su gout", "Bob 3 ey gout", "Bob 4 su flu")
    swapped = ("Ann 1 ey flu", "Bob 2 su gout", "Bob 3 ey gout", "Ann 4 su flu")
    with ix.anonymize(visits(*rows), policy(FRESH)) as release:
        release.write(tmp_path / "march")
    with pytest.raises(LedgerError, match="not the release of this original"):
        ledger.add(tmp_path / "march", policy(FRESH), visits(*swapped), recipient="R")
    entry, found = ledger.add(tmp_path / "march", policy(FRESH), visits(*rows), recipient="R")
    assert (entry.details["pseudonyms"], found.people, found.cells) == ({"pseudonym": "fresh"}, 2, 1)


@pytest.mark.parametrize(
    ("person", "says"),
    [
        ({"column": "who", "stable": True}, "say release = 'pseudonym'"),
        (STABLE | {"key_env": "KEY"}, "drop key_file and key_env"),
        (FRESH | {"stable": "yes"}, "must be true or false"),
    ],
)
def test_nonsense_about_stable_pseudonyms_is_refused(person: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        policy(person)
    with pytest.raises(PolicyError, match="must be true, false or 'stable'"):
        ix.identifier(pseudonym="always")  # type: ignore[arg-type]


def test_a_policy_file_says_which_pseudonyms_are_stable(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    for asked in (policy(STABLE), policy(visit="stable"), policy(FRESH, visit=True)):
        path.write_text(ix.policy_toml(asked), "utf-8")
        read = ix.read_policy(path)
        assert read == asked
        assert read.stable_pseudonyms == asked.stable_pseudonyms
