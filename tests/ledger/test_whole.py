"""A ledger as a whole: few rows, every number known, and writers that come in between."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
import indistinct.ledger
from indistinct.errors import LedgerError, RefusedError
from indistinct.ledger import ledger as module
from indistinct.ledger.history import Earlier
from indistinct.ledger.store.spending import Spending
from indistinct.ledger.store.store import HeadMoved
from indistinct.policy import Policy
from indistinct.release.manifest import SIGNATURE

POLICY = Policy({"name": ix.identifier(), "age": ix.quasi(ix.intervals(10)), "ill": ix.sensitive()}, [ix.KAnonymity(2)])


def people(*ages: int) -> pa.Table:
    return pa.table(
        {"name": [f"p{n}" for n in range(len(ages))], "age": [str(age) for age in ages], "ill": ["x"] * len(ages)}
    )


FOUR = people(31, 32, 45, 46)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def test_a_budget_is_epsilon_and_delta(tmp_path: Path) -> None:
    with ix.Ledger.create(tmp_path / "ledger.db", epsilon=2.0, delta=1e-6) as made:
        assert made.store.budget == Spending(2.0, 1e-6)


@pytest.mark.slow
def test_a_release_is_entered_with_what_was_found(ledger: Any, tmp_path: Path) -> None:
    head = ledger.head
    watched: list[str] = []
    watch = ix.Watch(progress=lambda stage, *_: watched.append(stage))
    with ledger.anonymize(FOUR, POLICY, recipient="R", folder=tmp_path / "one", watch=watch) as release:
        assert release.entry == 1
    assert {"release", "ledger", "write"} <= set(watched)
    said = json.loads((tmp_path / "one" / "manifest.json").read_text("utf-8"))
    assert said["ledger_head"] == head
    assert "based" not in said
    (entry,) = ledger.entries
    assert "again" not in entry.details
    assert (entry.details["people"], entry.details["cells"], entry.details["checked_against"]) == (4, 2, [])
    again = ledger.export(1, tmp_path / "again")
    assert {path.name for path in again.iterdir()} == {"manifest.json", next(iter(said["files"]))}
    assert (again / "manifest.json").read_bytes() == (tmp_path / "one" / "manifest.json").read_bytes()
    watched.clear()
    with pytest.raises(ix.OutputError, match="already holds a release"):
        ledger.anonymize(FOUR, POLICY, recipient="R", folder=tmp_path / "one", watch=watch)
    assert watched == []  # before anything was counted
    with ledger.anonymize(FOUR, POLICY, recipient="R", again="consistent") as release:
        assert "based" not in release.facts
    assert ledger.entries[1].details["again"] == "consistent"
    assert ledger.entries[1].details["checked_against"] == [1]
    watched.clear()
    found = ledger.check(FOUR, POLICY, recipient="R", watch=watch)
    assert (found.passed, found.entries, found.people) == (True, (1, 2), 4)
    assert "release" in watched
    assert len(ledger.entries) == 2


@pytest.mark.slow
def test_a_release_that_is_based_says_so(ledger: Any) -> None:
    ledger.anonymize(FOUR, POLICY, recipient="R").close()
    with ledger.anonymize(FOUR, POLICY, recipient="R", again="based") as release:
        assert release.facts.based is True
    another = Policy({"name": ix.identifier(), "ill": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError, match="'age' of the table is not declared"):
        ledger.anonymize(FOUR, another, recipient="R", again="based")
    with ledger.anonymize(FOUR.drop_columns("age"), another, recipient="R", again="based") as release:
        assert release.facts.based is None  # the earlier releases show no column that this one generalizes


def test_a_release_says_which_cells_could_not_be_read_and_its_salt(
    ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(POLICY, columns={**POLICY.columns, "age": ix.quasi(ix.intervals(10, 100), unreadable="suppress")})
    monkeypatch.setenv("KEY_OF_PEOPLE", "k" * 40)
    named = replace(policy, person={"column": "name", "release": "pseudonym", "key_env": "KEY_OF_PEOPLE"})
    unread = FOUR.set_column(1, "age", [["31", "32", "45", "?"]])
    with ledger.anonymize(unread, named, recipient="R") as release:
        assert release.facts.unreadable == {"age": 1}
        assert len(release.facts.pseudonym_salt) == 32


@pytest.mark.slow
def test_releases_that_come_in_between_are_checked_as_well(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer enters a release while one is made; the second is checked against it before it is entered."""
    real, joined = module.Ledger._enter, []

    def overtaken(self: Any, *given: Any) -> Any:
        monkeypatch.setattr(module.Ledger, "_enter", real)
        self.anonymize(FOUR, POLICY, recipient="S").close()
        return real(self, *given)

    monkeypatch.setattr(module.Ledger, "_enter", overtaken)
    ledger.anonymize(FOUR, POLICY, recipient="R").close()
    assert [entry.details["checked_against"] for entry in ledger.entries] == [[], [1]]
    monkeypatch.setattr(module.Ledger, "_enter", overtaken)
    joined_with = Earlier.joined_with

    def counted(self: Any, *given: Any) -> Any:
        joined.append(self.numbers)
        return joined_with(self, *given)

    monkeypatch.setattr(Earlier, "joined_with", counted)
    ledger.anonymize(people(31, 32, 45, 46), POLICY, recipient="R", again="consistent").close()
    assert joined == [(1, 2), (1, 2), (1, 2, 3)]  # it holds, so it is not made anew
    joined.clear()
    ledger.anonymize(FOUR, POLICY, recipient="R").close()
    assert joined == [(1, 2, 3, 4)]  # nobody came in between, so nothing is looked at twice


@pytest.mark.slow
def test_a_release_that_is_overtaken_is_refused_or_made_anew(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.Ledger._enter
    finer = replace(POLICY, columns={**POLICY.columns, "age": ix.quasi(ix.intervals(1, 100))})
    pairs = people(31, 31, 45, 45)
    crossed = people(31, 45, 31, 45)

    def overtaken(self: Any, *given: Any) -> Any:
        monkeypatch.setattr(module.Ledger, "_enter", real)
        self.anonymize(crossed, finer, recipient="S", source=given[0].terms.source).close()
        return real(self, *given)

    closed: list[ix.Release] = []
    close = ix.Release.close

    def noted(self: ix.Release) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(ix.Release, "close", noted)
    monkeypatch.setattr(module.Ledger, "_enter", overtaken)
    with pytest.raises(RefusedError, match="joined with entry 1"):
        ledger.anonymize(pairs, finer, recipient="R")
    assert (len(ledger.entries), len(closed)) == (1, 2)  # that of the other writer, and the one that nobody gets
    with pytest.raises(RefusedError, match="joined with entry 1"):
        ledger.anonymize(pairs, finer, recipient="R")
    assert len(ledger.entries) == 1
    monkeypatch.setattr(module.Ledger, "_enter", overtaken)
    with ledger.anonymize(pairs, finer, recipient="R", source="other", again="consistent") as release:
        assert release.entry == 3
    assert ledger.entries[2].details["checked_against"] == [2]  # made anew, in keeping with it


@pytest.mark.slow
def test_an_entry_that_another_comes_before_is_made_after_it(
    ledger: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, heads = module.Ledger._append, []

    def beaten(self: Any, *given: Any) -> Any:
        heads.append(given[4])
        if len(heads) % 2:
            raise HeadMoved("0" * 64)
        return append(self, *given)

    monkeypatch.setattr(module.Ledger, "_append", beaten)
    key = ix.new_keys(tmp_path / "steward").private
    with ledger.anonymize(FOUR, POLICY, recipient="R", folder=tmp_path / "old", sign=key) as release:
        assert release.entry == 1
    assert (tmp_path / "old" / SIGNATURE).is_file()
    assert ledger.add(tmp_path / "old", POLICY, FOUR, recipient="R")[0].number == 2
    assert len(heads) == 4


@pytest.mark.slow
def test_a_release_made_before_is_entered_if_it_comes_out_the_same(ledger: Any, tmp_path: Path) -> None:
    with ix.anonymize(FOUR, POLICY) as release:
        release.write(tmp_path / "old")
    entry, found = ledger.add(tmp_path / "old", POLICY, FOUR, recipient="R", purpose="p", review="2030-01-01")
    assert (entry.number, entry.recipient, entry.purpose, entry.details["added"]) == (1, "R", "p", True)
    assert (found.people, found.cells) == (4, 2)
    healthy = FOUR.set_column(2, "ill", [["x", "x", "x", "y"]])
    for other in (people(31, 32, 45, 56), people(31, 32, 45, 46, 47), healthy):
        with pytest.raises(LedgerError, match="not the release of this original"):
            ledger.add(tmp_path / "old", POLICY, other, recipient="R")
    for name in ("name", "age", "ill"):
        with pytest.raises(ix.PolicyError, match=rf"columns\.{name}: the table has no such column"):
            ledger.add(tmp_path / "old", POLICY, FOUR.drop_columns(name), recipient="R")
        with pytest.raises(ix.PolicyError, match=rf"columns\.{name}: the table has no such column"):
            ledger.anonymize(FOUR.drop_columns(name), POLICY, recipient="R")
    manifest = tmp_path / "old" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"released": 4', '"released": 5'), "utf-8")
    with pytest.raises(ix.VerificationError):
        ledger.add(tmp_path / "old", POLICY, FOUR, recipient="R")
    with pytest.raises(LedgerError, match="is no release folder"):
        ledger.add(tmp_path, POLICY, FOUR, recipient="R")
    assert len(ledger.entries) == 1
