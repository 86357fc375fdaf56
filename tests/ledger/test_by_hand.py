"""The ledger's parts by hand: its chain, its files, what is promised again, and what is said of it."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock, patch

import numpy as np
import pytest

import indistinct as ix
from indistinct.counting import Groups
from indistinct.engine import ABSENT, HISTORY, KEY, PERSON, ROW, STATE, RowHistories, ValueCounts
from indistinct.engine.plans import PlacedRows
from indistinct.errors import LedgerError, OutputError, RefusedError, VerificationError
from indistinct.ledger import terms as terms_module
from indistinct.ledger.again import History, _refuse_other_ways, _still_promised, with_internal_columns
from indistinct.ledger.earlier_signatures import UNKNOWN, Signatures
from indistinct.ledger.history import Failure, Linked, _entries_text, _links, _releases_text, judge_together
from indistinct.ledger.ledger import _refuse_undoing
from indistinct.ledger.offer import recognition
from indistinct.ledger.store import audit, database, entry, entry_files, spending, store, witness
from indistinct.ledger.store.entry import Draft, Entry, Finding, Unreadable
from indistinct.ledger.store.entry_files import Files
from indistinct.ledger.store.spending import Spending
from indistinct.ledger.store.witness import FileWitness, GitWitness, UrlWitness, witness_at
from indistinct.ledger.terms import Terms, others_shown, promised_columns, refuse_linkable, shows, signed_column
from indistinct.policy import Person, Policy

PLACE = "ab" * 16
START = "0" * 64
DIGEST = "1" * 64


def draft(**changed: Any) -> Draft:
    said = {"recipient": "ward", "manifest": {"released": 2}, "policy": "version = 1", "files": {}, "place": PLACE}
    return Draft(**(said | changed))  # type: ignore[arg-type]


def chain(number: int, **changed: Any) -> list[Entry]:
    """Return so many entries that follow each other."""
    entries: list[Entry] = []
    for place in range(number):
        entries.append(Entry.following(draft(**changed), place + 1, entries[-1].hash if entries else START))
    return entries


# Entries and their chain


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"recipient": ""}, "recipient"),
        ({"source": " "}, "source"),
        ({"purpose": "a\0b"}, "the purpose of a release holds characters"),
        ({"policy": "\ud800"}, "the policy of a release holds characters"),
        ({"place": "ab"}, "place"),
        ({"place": "AB" * 16}, "place"),
        ({"files": {"../x": DIGEST}}, "does not name a file of its folder"),
        ({"files": {"a//b": DIGEST}}, "does not name a file of its folder"),
        ({"files": {"./a": DIGEST}}, "does not name a file of its folder"),
        ({"files": {"a\\b": DIGEST}}, "does not name a file of its folder"),
        ({"files": {"a\0": DIGEST}}, "does not name a file of its folder"),
    ],
)
def test_drafts_that_cannot_be_entered(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        draft(**changed)


def test_documents_are_kept_as_they_will_be_read() -> None:
    assert entry.canonical({"b": 1, "a": "ü"}) == '{"a":"\\u00fc","b":1}'
    details: dict[str, Any] = {"key": ("name",)}
    made = draft(details=details)
    details["key"] = "other"
    assert made.details == {"key": ["name"]}


def test_a_chain_is_whole_or_says_where_it_is_not() -> None:
    one, two, three = chain(3)
    assert (one.number, two.number, one.previous, two.previous) == (1, 2, START, one.hash)
    assert one.computed_hash == one.hash
    assert entry.chain_findings([one, two, three], START) == []
    assert entry.chain_findings([two, three], one.hash, first=2) == []
    assert [str(found) for found in entry.chain_findings([one, three], START)] == [
        "entry 2 is missing",
        "entry 3 does not follow the entry before it",
    ]
    assert [str(found) for found in entry.chain_findings([three], START)] == [
        "entry 1 to 2 are missing",
        "entry 3 does not follow the entry before it",
    ]
    assert [str(found) for found in entry.chain_findings([replace(one, recipient="x")], START)] == [
        "entry 1 was changed: its hash is not that of what it says"
    ]
    assert [chain(1, details={"review": said})[0].review for said in ("2030-01-31", 5)] == ["2030-01-31", None]
    assert [str(found) for found in entry.chain_findings([one], "2" * 64)] == [
        "entry 1 does not follow the start of this ledger"
    ]
    assert Finding(1, "stands where entry 3 must stand") in entry.chain_findings([one, two, one], START)
    broken = Unreadable(2, two.hash, "its files is not JSON")
    assert [str(found) for found in entry.chain_findings([one, broken, three], START)] == [
        "entry 2 cannot be read: its files is not JSON"
    ]
    assert two.to_dict()["number"] == 2
    assert set(two.to_dict()) >= {"hash", "previous", "time", "details"}


def test_rows_are_read_as_they_were_written() -> None:
    (one,) = chain(1, details={"key": ["name"]})
    row = entry.to_row(one)
    assert row["details"] == '{"key":["name"]}'
    assert entry.from_row(row) == one

    def reason(**changed: Any) -> str:
        found = entry.from_row(row | changed)
        assert isinstance(found, Unreadable)
        return found.reason

    assert reason(files="[1]") == "its files is not a JSON object"
    assert reason(manifest="{") == "its manifest is not JSON"
    assert reason(details="[" * 100_000) == "its details is not JSON"
    assert reason(recipient=5) == "its recipient is not a text"
    assert reason(number="1") == "its number is not a whole number"
    found = entry.from_row(row | {"number": None, "hash": 7})
    assert isinstance(found, Unreadable)
    assert (found.number, found.hash) == (0, "7")


# Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path / "deep" / "store")
    made.create()
    return made


def write_release(folder: Path) -> None:
    (folder / "release" / "parts" / "a").mkdir(parents=True)
    (folder / "release" / "parts" / "a" / "0.csv").write_text("b\n", "utf-8")
    (folder / "release" / "table.csv").write_text("a\n1\n", "utf-8")
    (folder / "members.parquet").write_bytes(b"private")


def stored(files: Files) -> Entry:
    staged = files.stage(write_release)
    files.adopt(staged)
    return Entry.following(draft(place=staged.place, files=staged.digests), 1, START)


def test_files_are_private_and_have_their_digests(files: Files) -> None:
    assert files.folder.stat().st_mode & 0o777 == files.folder.parent.stat().st_mode & 0o777 == 0o700
    one = stored(files)
    assert one.files == {
        "members.parquet": hashlib.sha256(b"private").hexdigest(),
        "release/parts/a/0.csv": hashlib.sha256(b"b\n").hexdigest(),
        "release/table.csv": hashlib.sha256(b"a\n1\n").hexdigest(),
    }
    assert files.holds(one.place)
    assert not files.holds("elsewhere")
    assert not files.holds("0" * 32)
    assert not files.holds("..")
    with pytest.raises(VerificationError, match="entry 1: its files are missing"):
        files.path(replace(one, place="0" * 32), "members.parquet")
    assert files.findings(one) == []
    path = files.path(one, "release/table.csv")
    assert path.read_text("utf-8") == "a\n1\n"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(LedgerError, match="entry 1 has no file 'other'"):
        files.path(one, "other")
    with pytest.raises(LedgerError, match="is not empty"):
        files.create()


def test_a_store_takes_an_empty_folder_or_says_why_not(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir(0o755)
    Files(empty).create()
    assert empty.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(LedgerError, match="cannot make the store"):
        Files(tmp_path / "file" / "store").create()


def test_everything_is_flushed_before_it_counts(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    for name in ("flush", "flush_all", "flush_name"):
        monkeypatch.setattr(entry_files, name, flushed.append)
    staged = files.stage(write_release)
    assert flushed == [files.folder / f".{staged.place}.partial"]
    os.utime(files.folder / f".{staged.place}.partial", (0, 0))
    files.adopt(staged)
    assert flushed[1:] == [files.folder]
    assert (files.folder / staged.place).stat().st_mtime > 0  # from now on it counts as left over later
    one = Entry.following(draft(place=staged.place, files=staged.digests), 1, START)
    files.export(one, tmp_path / "out")
    assert flushed[-1] == tmp_path / "out"
    assert flushed[-2].parent == tmp_path
    entry_files.make_private_folder(tmp_path / "a" / "b")
    assert flushed[-2:] == [tmp_path, tmp_path / "a"]


def test_nothing_is_left_of_an_export_that_fails(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = stored(files)
    before = sorted(tmp_path.iterdir())

    def fail(*_: object) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(entry_files, "give_name", fail)
        with pytest.raises(OutputError, match="no space left; nothing was written"):
            files.export(one, tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr("shutil.copyfile", lambda _, goal: goal.write_text("x", "utf-8"))
        with pytest.raises(VerificationError, match="changed while it was copied"):
            files.export(one, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before
    staged = files.stage(write_release)
    (files.folder / staged.place / "taken").mkdir(parents=True)
    with pytest.raises(LedgerError, match="cannot write to the store"):
        files.adopt(staged)
    assert not (files.folder / f".{staged.place}.partial").exists()


def test_a_folder_that_is_a_link_is_none(files: Files) -> None:
    one = stored(files)
    (files.folder / one.place).rename(files.folder / "away")
    (files.folder / one.place).symlink_to(files.folder / "away")
    with pytest.raises(VerificationError, match="is a link to another place"):
        files.path(one, "members.parquet")
    (files.folder / PLACE).symlink_to(files.folder / "nowhere")
    assert PLACE in {path.name for path in files.left_over([one.place], older_than=-10)}


def test_changed_files_are_found(files: Files) -> None:
    one = stored(files)
    folder = files.folder / one.place
    (folder / "more.txt").write_text("x", "utf-8")
    (folder / "release" / "table.csv").write_text("b\n", "utf-8")
    (folder / "members.parquet").unlink()
    assert files.findings(one) == [
        "'members.parquet' is missing",
        "'release/table.csv' was changed",
        "'more.txt' does not belong to it",
    ]
    with pytest.raises(VerificationError, match=r"entry 1: 'release/table\.csv' was changed"):
        files.path(one, "release/table.csv")
    (folder / "members.parquet").symlink_to(folder / "more.txt")
    assert files.findings(one) == ["'members.parquet' is a link to another place"]
    with pytest.raises(VerificationError, match="is a link"):
        files.path(one, "members.parquet")
    (folder / "release" / "table.csv").unlink()
    (folder / "release" / "table.csv").mkdir()
    with pytest.raises(VerificationError, match="cannot be read"):
        files.path(one, "release/table.csv")
    unnamed = replace(one, files={"\ud800": DIGEST})
    assert files._wrong(unnamed, "\ud800") == "'\\ud800' is the name of no file"
    folder.rename(files.folder / "away")
    assert files.findings(one) == ["its files are missing"]
    folder.symlink_to(files.folder / "away")
    assert files.findings(one) == [f"{one.place!r} is a link to another place"]
    with pytest.raises(VerificationError, match="is a link"):
        files.path(one, "members.parquet")


def test_nothing_is_left_of_files_that_could_not_be_written(files: Files) -> None:
    def fail(folder: Path) -> None:
        (folder / "part").write_text("x", "utf-8")
        raise OSError(28, "no space left")

    def stop(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(LedgerError, match=r"cannot write to the store .*: no space left"):
        files.stage(fail)
    with pytest.raises(KeyboardInterrupt):
        files.stage(stop)
    staged = files.stage(write_release)
    files.adopt(staged)
    with pytest.raises(LedgerError, match="cannot write to the store"):
        files.adopt(staged)
    assert [one.name for one in files.folder.iterdir()] == [staged.place]


def test_a_release_is_written_once_more(files: Files, tmp_path: Path) -> None:
    one = stored(files)
    goal = files.export(one, tmp_path / "new" / "deeper" / "out")
    assert sorted(path.name for path in goal.iterdir()) == ["parts", "table.csv"]
    assert (goal / "parts" / "a" / "0.csv").read_text("utf-8") == "b\n"
    assert goal.stat().st_mode & 0o777 == 0o755
    with pytest.raises(OutputError, match="is not empty; name a new folder for the release"):
        files.export(one, goal)
    empty = tmp_path / "empty"
    empty.mkdir()
    files.export(one, empty)
    assert (empty / "table.csv").read_text("utf-8") == "a\n1\n"
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(OutputError, match="file is a file; name a folder"):
        files.export(one, tmp_path / "file")
    assert (tmp_path / "file").read_text("utf-8") == "mine"
    with pytest.raises(LedgerError, match="entry 1 holds no release"):
        files.export(replace(one, files={"members.parquet": one.files["members.parquet"]}), tmp_path / "none")
    (files.folder / one.place / "release" / "table.csv").write_text("x", "utf-8")
    with pytest.raises(VerificationError, match="was changed"):
        files.export(one, tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_what_was_left_over_is_found_by_its_age(files: Files) -> None:
    one = stored(files)
    other = stored(files)
    (files.folder / f".{PLACE}.partial").mkdir()
    (files.folder / "notes").mkdir()
    left = files.left_over([one.place], older_than=-10)
    assert {path.name for path in left} == {other.place, f".{PLACE}.partial"}
    assert files.left_over([one.place]) == []
    os.utime(files.folder / other.place, (0, 0))
    assert [path.name for path in files.left_over([one.place])] == [other.place]
    aside = files.put_aside(files.folder / other.place)
    assert aside.name.endswith(".swept")
    assert not (files.folder / other.place).exists()
    assert aside.name in {path.name for path in files.left_over([one.place], older_than=-10)}
    gone = Mock(path="gone", stat=Mock(side_effect=FileNotFoundError))
    there = Mock(path="there", stat=Mock(return_value=Mock(st_mtime=0)))
    gone.name = there.name = PLACE
    with patch.object(os, "scandir", lambda _: nullcontext([gone, there])):
        assert files.left_over([]) == [Path("there")]  # the other one was adopted or removed in the meantime


# Witnesses


class Noted(FileWitness):
    """A witness of these lines, whatever they were read from."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("heads")
        self.noted = lines

    def lines(self) -> list[str]:
        return self.noted


def test_heads_in_a_file(tmp_path: Path) -> None:
    witness = witness_at(tmp_path / "heads")
    assert isinstance(witness, FileWitness)
    witness.refuse_occupied()
    with pytest.raises(LedgerError, match="cannot be written, so no entry is made"):
        witness.refuse_unwritable()
    open_files = len(os.listdir("/dev/fd"))
    witness.begin(START)
    assert len(os.listdir("/dev/fd")) == open_files
    witness.refuse_unwritable()
    one, two = chain(2)
    witness.note(1, one.hash)
    assert witness.lines() == [f"0 {START}", f"1 {one.hash}"]
    assert witness.heads() == [(0, START), (1, one.hash)]
    assert (tmp_path / "heads").stat().st_mode & 0o777 == 0o600
    assert (
        witness.check([one.hash, two.hash], START).detail == "2 heads noted elsewhere, all in the chain, 1 entry since"
    )
    assert witness.check([one.hash], START).detail == "2 heads noted elsewhere, all in the chain"
    cut = witness.check([], START)
    assert (cut.passed, cut.detail[:30]) == (False, "entry 1 is not what was noted:")
    assert not witness.check([two.hash], START).passed
    assert "another ledger" in witness.check([one.hash], DIGEST).detail
    with pytest.raises(LedgerError, match="is there already"):
        witness.refuse_occupied()
    with pytest.raises(LedgerError, match="is there already"):
        witness.begin(START)
    for line in ("x", f"1 {START[1:]}", f"-1 {START}", f"² {START}", f"{'9' * 19} {START}", f"1  {START}"):
        (tmp_path / "heads").write_text(f"{line}\n", "utf-8")
        with pytest.raises(LedgerError, match=r"cannot be read|has a line that is no head"):
            witness.heads()
    with pytest.raises(LedgerError, match="has a line that is no head"):
        Noted([f"\N{ARABIC-INDIC DIGIT ONE} {START}"]).heads()
    (tmp_path / "heads").write_text("", "ascii")
    assert witness.check([], START).detail == "it notes nothing, not even the start of the ledger"
    with pytest.raises(LedgerError, match="cannot write the witness"):
        FileWitness(tmp_path / "no" / "heads").begin(START)
    FileWitness(tmp_path / "no" / "heads").note(1, START)  # an entry stands in any case


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/heads", "needs https"),
        ("ftp://example.org/heads", "needs https"),
        ("https://me@example.org/heads", "no user or password"),
        ("https://:x@example.org/heads", "no user or password"),
        ("https:///heads", "names a host"),
        ("https://[x/heads", "cannot be read"),
    ],
)
def test_addresses_that_are_no_witness(url: str, words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        witness_at(url)


def test_witnesses_by_their_place(tmp_path: Path) -> None:
    assert isinstance(witness_at("http://localhost:1/heads"), UrlWitness)
    assert isinstance(witness_at(f"git:{tmp_path}/heads"), GitWitness)
    assert witness_at(f"git:{tmp_path}/heads").place == f"git:{tmp_path}/heads"
    with pytest.raises(LedgerError, match="does not answer"):
        witness_at("http://localhost:1/heads").refuse_occupied()
    witness_at("http://localhost:1/heads").note(1, START)


class Answer:
    """A server that says what it is told to say."""

    said: bytes = b""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.status = 200

    def request(self, *_: Any) -> None:
        """Take whatever is asked."""

    def getresponse(self) -> Answer:
        return self

    def read(self, most: int) -> bytes:
        return self.said[:most]

    def close(self) -> None:
        """Nothing was opened."""


def test_a_server_may_not_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http.client, "HTTPConnection", Answer)
    monkeypatch.setattr(witness, "MOST_BYTES", 70)
    asked = witness_at("http://localhost:1/heads")
    monkeypatch.setattr(Answer, "said", f"0 {START}\n".encode())
    assert asked.heads() == [(0, START)]
    monkeypatch.setattr(witness, "MOST_BYTES", 67)
    assert asked.heads() == [(0, START)]  # as many bytes as there may be
    monkeypatch.setattr(http.client, "HTTPSConnection", Answer)
    monkeypatch.delattr(http.client, "HTTPConnection")
    assert witness_at("https://example.org/heads").heads() == [(0, START)]
    monkeypatch.setattr(http.client, "HTTPConnection", Answer, raising=False)
    monkeypatch.setattr(Answer, "said", f"0 {START}\n".encode() * 2)
    with pytest.raises(LedgerError, match="answers more than heads take"):
        asked.heads()


def test_texts_of_a_database_that_are_none_are_told_as_damage(tmp_path: Path) -> None:
    made = database.Database(tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match="it is damaged; restore it from a copy"), made._told_errors():
        b"\xff".decode()
    made.close()


def test_a_release_that_has_no_room_leaves_nothing(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Path:
        raise OSError(28, "No space left on device")

    def write(folder: Path) -> None:
        (folder / "release").mkdir()
        (folder / "release" / "x").write_text("x")

    staged = files.stage(write)
    files.adopt(staged)
    (one,) = chain(1, place=staged.place, files=staged.digests)
    monkeypatch.setattr(entry_files, "make_draft", full)
    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        files.export(one, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# What may be spent


def test_spending_adds_up_as_people_write_it() -> None:
    assert Spending(0.1, 1e-6) + Spending(0.2, 2e-6) == Spending(0.3, 3e-6)
    budget = Spending(1.0, 1e-5)
    assert Spending(1.0, 1e-5).fits(budget)
    assert not Spending(1.01, 1e-6).fits(budget)
    assert not Spending(0.5, 2e-5).fits(budget)
    assert str(budget) == "ε = 1, δ = 1e-05"
    assert budget.to_dict() == {"epsilon": 1.0, "delta": 1e-5}
    assert Spending.of_budget(None, None) is None
    assert Spending.of_budget(1, 0.5) == Spending(1.0, 0.5)
    for epsilon, delta in ((None, 1), (1, None), (0, 1), (1, 0), (float("inf"), 1), (1, float("nan")), ("1", 1)):
        with pytest.raises(LedgerError, match="a budget needs both"):
            Spending.of_budget(epsilon, delta)  # type: ignore[arg-type]


def test_a_budget_is_kept_by_source() -> None:
    drawn = {"drawn": {"epsilon": 0.4, "delta": 1e-6}}
    entries = [*chain(2, manifest=drawn), *chain(1, manifest=drawn, source="other"), *chain(1)]
    assert spending.add_spending(entries) == {"main": Spending(0.8, 2e-6), "other": Spending(0.4, 1e-6)}
    assert [one.is_drawn for one in entries] == [True, True, True, False]
    assert Spending.of_manifest({}) is None
    budget = Spending(1.0, 1e-5)
    spending.refuse_overspending("main", Spending(0.2, 1e-6), entries, budget)
    spending.refuse_overspending("new", Spending(1.0, 1e-6), entries, budget)
    with pytest.raises(
        RefusedError, match=r"would spend ε = 0.3, δ = 1e-06 on source 'main'.*spent ε = 0.8, δ = 2e-06"
    ):
        spending.refuse_overspending("main", Spending(0.3, 1e-6), entries, budget)
    with pytest.raises(RefusedError, match="has a budget"):
        spending.refuse_overspending("main", None, entries, budget)


# The database's names and errors


def test_where_a_ledger_is(tmp_path: Path) -> None:
    assert database._where(str(tmp_path / "a.db")) == tmp_path / "a.db"
    assert database._where(f"sqlite:///{tmp_path}/a.db") == tmp_path / "a.db"
    for url in (
        "postgresql://me:secret@host/db",
        "postgres://me:secret@host/db",
        "postgresql+psycopg://me:secret@host/db",
    ):
        where = database._where(url)
        assert not isinstance(where, Path)
        assert where.drivername == "postgresql+psycopg"
        assert database._without_password(where) == "postgresql://me:***@host/db"
    for url in ("", "sqlite://", "sqlite:///:memory:", "mysql://host/db", "http://x:y/z"):
        with pytest.raises(LedgerError):
            database._where(url)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("file is not a database", "x is no ledger; make one"),
        ("unable to open database file", "there is no ledger at x"),
        ("database is locked", "was busy for 60 seconds"),
        ("canceling statement due to lock timeout", "was busy for 60 seconds"),
        ("attempt to write a readonly database", "may be read here, but not be written"),
        *((sign, "does not answer") for sign in database.SILENT),
        ("disk full", "the ledger x: disk full"),
    ],
)
def test_errors_of_databases_say_what_to_do(reason: str, words: str) -> None:
    assert words in database._error_text("x", reason)


def test_a_store_is_made_read_and_swept(tmp_path: Path) -> None:
    place = tmp_path / "new" / "ledger.db"
    with store.Store.create(place, witness=tmp_path / "heads", budget=Spending(1.0, 1e-5)) as made:
        assert made.files.folder == tmp_path / "new" / "ledger.db.store"
        assert (made.budget, made.head, made.entries()) == (Spending(1.0, 1e-5), made.start, [])
        assert place.stat().st_mode & 0o777 == 0o600
        heads = [made.start]
        for number in (1, 2):
            with made.stage(write_release) as staged:
                one = made.append(draft(place=staged.place, files=staged.digests, source=f"s{number}"), heads[-1])
            assert (one.number, one.previous) == (number, heads[-1])
            heads.append(one.hash)
        assert made.head == heads[-1]
        assert [one.number for one in made.entries()] == [1, 2]
        assert [one.number for one in made.entries(source="s2")] == [2]
        assert [one.number for one in made.entries(after=1)] == [2]
        assert made.entry(2).hash == heads[2]
        with pytest.raises(LedgerError, match="has no entry 3; it has 1 to 2"):
            made.entry(3)
        with pytest.raises(store.HeadMoved) as moved, made.stage(write_release) as staged:
            made.append(draft(place=staged.place, files=staged.digests), heads[1])
        assert (moved.value.head, str(moved.value)) == (heads[2], "another release was entered in the meantime")
        with pytest.raises(LedgerError, match="no longer in the store"):
            made.append(draft(), heads[2])
        assert len(list(made.files.folder.iterdir())) == 2
        made.files.adopt(made.files.stage(write_release))
        assert made.sweep() == 0
        assert made.sweep(older_than=-10) == 1
        found = made.verify()
        assert found.passed, found
        assert found.warnings == ()
        assert made.verify(head=heads[1]).passed
        assert not made.verify(head=DIGEST).passed
        with pytest.raises(LedgerError, match="64 hexadecimal digits"):
            made.verify(head="x")
        assert (tmp_path / "heads").read_text("ascii") == "".join(f"{n} {head}\n" for n, head in enumerate(heads))
    with pytest.raises(LedgerError, match="is there already"):
        store.Store.create(place)
    with pytest.raises(LedgerError, match="is there already"):
        store.Store.create(tmp_path / "other.db", witness=tmp_path / "heads")
    assert not (tmp_path / "other.db").exists()
    with store.Store.create(tmp_path / "plain.db", folder=tmp_path / "files") as plain:
        assert plain.files.folder == tmp_path / "files"
        assert (plain.witness, plain.budget) == (None, None)
        with pytest.raises(LedgerError, match="has no entry 1; it is empty"):
            plain.entry(1)
        assert plain.verify().warnings == (audit.UNSEEN,)
    (tmp_path / "text.db").write_text("no database", "utf-8")
    with pytest.raises(LedgerError, match="is no ledger"):
        store.Store(tmp_path / "text.db")
    with pytest.raises(LedgerError, match="there is no ledger"):
        store.Store(tmp_path / "nowhere.db")


def test_what_somebody_did_to_a_database_is_noticed(tmp_path: Path) -> None:
    import sqlite3

    place = tmp_path / "ledger.db"
    made = store.Store.create(place)
    for _ in range(2):
        with made.stage(write_release) as staged:
            made.append(draft(place=staged.place, files=staged.digests), made.head)

    def change(*statements: str) -> None:
        with sqlite3.connect(place) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        change("UPDATE indistinct_entries SET recipient = 'x'")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        change("DELETE FROM indistinct_meta")
    change("DROP TRIGGER indistinct_entries_update", "UPDATE indistinct_entries SET recipient = 'x' WHERE number = 1")
    change("CREATE VIEW told AS SELECT 1")
    found = {check.name: check for check in made.verify().checks}
    assert found["chain"].detail == "entry 1 was changed: its hash is not that of what it says"
    assert "the trigger indistinct_entries_update is missing or another" in found["database"].detail
    assert "a view that no ledger has: 'told'" in found["database"].detail
    with pytest.raises(VerificationError, match="its hash is not that of what it says; see: indistinct ledger verify"):
        made.entries()
    with pytest.raises(VerificationError, match="entry 1 was changed"):
        made.entry(1)
    with pytest.raises(VerificationError):
        made.sweep(older_than=-10)
    assert made.entry(2).number == 2
    change("UPDATE indistinct_entries SET files = '[' WHERE number = 2")
    with pytest.raises(VerificationError, match="entry 2 cannot be read: its files is not JSON"):
        made.entry(2)
    with pytest.raises(VerificationError, match="and 1 more"):
        made.entries()
    change("DROP TRIGGER indistinct_meta_update", "UPDATE indistinct_meta SET value = '9' WHERE name = 'format'")
    with pytest.raises(LedgerError, match="has form 9, and this version knows 1"):
        store.Store(place)
    change(
        "UPDATE indistinct_meta SET value = '1' WHERE name = 'format'",
        "UPDATE indistinct_meta SET value = 'x' WHERE name = 'secret'",
    )
    with pytest.raises(VerificationError, match="has lost its secret"):
        store.Store(place)
    change("UPDATE indistinct_meta SET value = x'00' WHERE name = 'secret'")
    with pytest.raises(VerificationError, match="says of itself what none says"):
        store.Store(place)
    made.close()
    assert store._number("0.5") == 0.5
    assert store._number(None) is None
    with pytest.raises(LedgerError, match="budget is no number"):
        store._number("x")


def test_an_entry_before_the_first_is_noticed(tmp_path: Path) -> None:
    import sqlite3

    with store.Store.create(tmp_path / "ledger.db") as made:
        with made.stage(write_release) as staged:
            made.append(draft(place=staged.place, files=staged.digests), made.head)
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            row = connection.execute("SELECT * FROM indistinct_entries").fetchone()
            names = [one[1] for one in connection.execute("PRAGMA table_info(indistinct_entries)")]
            guards = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            connection.executescript("".join(f"DROP TRIGGER {name};" for (name,) in guards))
            other = {"number": 0, "hash": DIGEST, "previous": "2" * 64, "place": "cd" * 16}
            forged = [other.get(name, cell) for name, cell in zip(names, row, strict=True)]
            connection.execute(f"INSERT INTO indistinct_entries VALUES ({', '.join('?' * len(row))})", forged)
        connection.close()
        with pytest.raises(VerificationError, match="entry 0"):
            made.entries()


def test_nothing_stops_a_ledger_that_tidies_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be removed is left for the next sweep; it does not hide why the files are not wanted."""
    removed: list[dict[str, Any]] = []

    def stop(folder: Path) -> None:
        raise KeyboardInterrupt

    with store.Store.create(tmp_path / "ledger.db") as made:
        monkeypatch.setattr(entry_files.shutil, "rmtree", lambda _, **how: removed.append(how))  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            made.files.stage(stop)
        with pytest.raises(KeyboardInterrupt), made.stage(write_release):
            raise KeyboardInterrupt
    assert removed == [{"ignore_errors": True}] * 2


def test_values_of_a_ledger_are_in_no_error_of_its_database(tmp_path: Path) -> None:
    assert database.Database(tmp_path / "ledger.db")._engine.hide_parameters
    pytest.importorskip("psycopg")
    assert database.Database("postgresql://host/db")._engine.hide_parameters


# Audits


def test_an_audit_of_entries(files: Files) -> None:
    one = stored(files)
    two = Entry.following(draft(place=one.place, files=one.files, manifest={"ledger_head": one.hash}), 2, one.hash)
    found = audit.audit([one, two], START, files, None)
    assert [(check.name, check.passed) for check in found.checks] == [
        ("chain", True),
        ("files", True),
        ("heads in releases", True),
        ("database", True),
        ("store", True),
    ]
    assert (found.entries, found.head, found.warnings) == (2, two.hash, (audit.UNSEEN,))
    assert str(found).startswith(
        f"passed: 2 entries, head {two.hash}\n✓ chain: 2 entries, none changed\n✓ files: 6 files, none"
    )
    assert found.to_dict()["warnings"] == [audit.UNSEEN]
    noted = audit.audit([one, two], START, files, one.hash)
    assert noted.warnings == ()
    assert "warnings" not in noted.to_dict()
    assert {check.name: check.detail for check in noted.checks}["head"] == "entry 1, 1 entry since"
    assert {c.name: c.detail for c in audit.audit([], START, files, START).checks}[
        "head"
    ] == "the head is that of the empty ledger"
    assert audit.audit([], START, files, None).head == START
    lost = {check.name: check for check in audit.audit([one], START, files, DIGEST, None, ["a view"]).checks}
    assert (lost["head"].passed, lost["database"].detail) == (False, "a view")
    later = Entry.following(draft(place=one.place, files=one.files, manifest={"ledger_head": DIGEST}), 2, one.hash)
    wrong = {check.name: check for check in audit.audit([one, later], START, files, None).checks}
    assert wrong["heads in releases"].detail == "entry 2: its manifest states a head that no earlier entry has"
    own = replace(later, manifest={"ledger_head": later.hash})
    assert not {check.name: check for check in audit.audit([one, own], START, files, None).checks}[
        "heads in releases"
    ].passed


# Terms


PLAIN = Policy({"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(2)])
PEOPLE = replace(PLAIN, person="id")


@pytest.mark.parametrize(
    ("policy", "more", "words"),
    [
        (PLAIN, {"again": "sometimes"}, "again must be"),
        (PLAIN, {"review": "soon"}, "review: must be a day"),
        (PLAIN, {"colluding": "some"}, "colluding must be"),
        (replace(PLAIN, suppressed_rows="blank"), {"again": "based"}, "removes suppressed rows"),
        (
            Policy({"age": ix.quasi(ix.suppress())}, [ix.DifferentialPrivacy(1, 1e-5)], algorithm="safepub"),
            {"again": "based"},
            "drawn at random",
        ),
        (
            replace(
                PLAIN, columns={**PLAIN.columns, "day": ix.other(shift=3)}, person=Person("id", release="pseudonym")
            ),
            {},
            "dates that move",
        ),
        (replace(PLAIN, columns={**PLAIN.columns, "pay": ix.other(perturb=ix.Noise(1.0))}), {}, "perturbed numbers"),
        (PEOPLE, {"again": "consistent"}, "only where each person has one row"),
        (replace(PEOPLE, privacy=[ix.MInvariance(2)]), {}, "m-invariance over several releases is promised only"),
        (PLAIN, {"named_key": "town"}, "the key names 'town', which is no column"),
        (
            replace(PLAIN, columns={**PLAIN.columns, "ill": ix.sensitive(recode=ix.suppress(), recode_level=1)}),
            {"named_key": ["ill"]},
            "is recoded",
        ),
        (
            replace(PLAIN, columns={**PLAIN.columns, "name": ix.identifier(pseudonym="stable")}),
            {"named_key": ["name", "age"]},
            "may follow people only as the key does",
        ),
        (
            replace(PLAIN, columns={**PLAIN.columns, "town": ix.other()}, privacy=[ix.MInvariance(2)]),
            {},
            "leave out 'town'",
        ),
    ],
)
def test_terms_that_make_no_sense(policy: Policy, more: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        Terms(policy, "ward", **more)


def test_how_people_are_recognised() -> None:
    assert (Terms(PLAIN, "ward").key, Terms(PLAIN, "ward").is_numbered) == (("name",), False)
    assert Terms(PLAIN, "ward", named_key="age").key == Terms(PLAIN, "ward", named_key=["age", "age"]).key == ("age",)
    assert Terms(PLAIN, "ward", review="20300131").details["review"] == "2030-01-31"
    whole = Terms(replace(PLAIN, columns={"age": ix.quasi(ix.suppress())}), "ward")
    assert (whole.key, whole.is_numbered, whole.details) == (("age",), True, {"key": "whole row"})
    rows = Terms(PEOPLE, "ward", named_key=["name", "id"])
    assert (rows.key, rows.person, rows.names_rows) == (("id", "name"), ("id",), True)
    assert rows.details == {"key": ["id", "name"], "person": ["id"]}
    assert not Terms(PEOPLE, "ward").names_rows
    assert not Terms(PLAIN, "ward").names_rows
    stable = Terms(replace(PLAIN, columns={**PLAIN.columns, "name": ix.identifier(pseudonym="stable")}), "ward")
    assert stable.details == {"key": ["name"], "pseudonyms": {"name": "stable"}}
    fresh = Terms(replace(PLAIN, columns={**PLAIN.columns, "name": ix.identifier(pseudonym=True)}), "ward")
    assert fresh.details["pseudonyms"] == {"name": "fresh"}
    how = recognition(rows, b"\x01\x02")
    assert (how.key, how.state, how.secret, how.numbered, how.person) == (
        ("id", "name"),
        ("age",),
        "0102",
        False,
        ("id",),
    )
    assert (how.row, how.names_rows) == (("id", "name"), True)
    assert recognition(Terms(PEOPLE, "ward"), b"").row == ("age", "id", "ill", "name")
    assert recognition(Terms(PLAIN, "ward"), b"").row == ()


def test_terms_that_make_sense() -> None:
    assert Terms(replace(PLAIN, suppressed_rows="blank"), "ward").again is None
    drawn = Policy({"age": ix.quasi(ix.suppress())}, [ix.DifferentialPrivacy(1, 1e-5)], algorithm="safepub")
    assert Terms(drawn, "ward").policy is drawn
    fresh = replace(PLAIN, columns={**PLAIN.columns, "name": ix.identifier(pseudonym=True)})
    assert Terms(fresh, "ward", named_key="age").key == ("age",)
    entries = [
        replace(one, recipient=name, details={"key": ["name"]}) for one, name in zip(chain(2), "wn", strict=True)
    ]
    assert [one.number for one in Terms(PLAIN, "w", colluding="none").entries_held(entries)] == [1]
    assert len(Terms(PLAIN, "w", again="based").entries_held(entries)) == 2
    with pytest.raises(LedgerError, match="entry 1 recognises people by ;"):
        Terms(PLAIN, "w").entries_held(chain(1))


def test_a_hierarchy_from_a_file_is_kept_with_its_rows(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("1,*\n2,*\n", "utf-8")
    (tmp_path / "policy.toml").write_text(
        'version = 1\n[columns]\nage = { role = "quasi", hierarchy = { levels = "ages.csv" } }\n'
        '[[privacy]]\nmodel = "k-anonymity"\nk = 2\n',
        "utf-8",
    )
    kept = Terms(ix.read_policy(tmp_path / "policy.toml"), "ward").policy_kept
    assert "ages.csv" not in kept
    assert ix.parse_policy(kept).columns["age"].hierarchy.label("1", 1) == "*"


def held(colluding: Any, recipient: str = "ward", **details: Any) -> list[int]:
    """Return the entries that she holds, of those of ward, lab, the public, ward and office."""
    entries = [
        replace(one, recipient=name, details={"key": ["name"]} | details)
        for one, name in zip(chain(5), ("ward", "lab", "public", "ward", "office"), strict=True)
    ]
    return [one.number for one in Terms(PLAIN, recipient, colluding=colluding).entries_held(entries)]


def test_what_a_recipient_and_her_friends_hold() -> None:
    assert held("all") == [1, 2, 3, 4, 5]
    assert held("none") == [1, 3, 4]
    assert held(["lab"]) == [1, 2, 3, 4]
    assert held("none", "public") == [1, 2, 3, 4, 5]
    with pytest.raises(LedgerError, match="entry 1 recognises people by 'age'; give the same key"):
        held("all", key=["age"])
    with pytest.raises(LedgerError, match="entry 1 recognises people by whole row"):
        held("all", key="whole row")
    with pytest.raises(LedgerError, match="entry 1 counted people by 'town'"):
        held("all", person=["town"])
    assert held("all", person=["name"]) == [1, 2, 3, 4, 5]
    (one,) = chain(1, details={"key": ["id"]})
    assert Terms(replace(PEOPLE, columns={k: v for k, v in PLAIN.columns.items() if k != "name"}), "ward").entries_held(
        [one]
    ) == [one]
    (rows,) = chain(1, details={"key": ["id", "name"]})
    with pytest.raises(LedgerError, match="entry 1 counted rows"):
        Terms(PEOPLE, "ward", named_key="name").entries_held([rows])
    (people,) = chain(1, details={"key": ["name"], "person": ["name"]})
    with pytest.raises(LedgerError, match="only where each person has one row"):
        Terms(PLAIN, "ward", again="based").entries_held([people])


def test_the_policy_is_kept_as_a_text() -> None:
    assert ix.parse_policy(Terms(PLAIN, "ward").policy_kept) == PLAIN

    class Own(type(ix.KAnonymity(2))):  # type: ignore[misc]
        name = "own"

    with pytest.raises(LedgerError, match="cannot be written in a policy file"):
        Terms(replace(PLAIN, privacy=[Own(2)]), "ward")
    in_memory = replace(PLAIN, privacy=[ix.KMap(2, object())])
    assert json.loads(terms_module.policy_text(in_memory))["privacy"][0]["k"] == 2


# Promises that still hold


@dataclass(frozen=True, slots=True)
class Everywhere(ix.PrivacyModel):
    """A model of elsewhere, which cannot be asked of one quasi-identifier."""

    name: ClassVar[str] = "everywhere"
    is_monotone: ClassVar[bool] = True

    def satisfied(self, groups: Groups) -> Any:
        return np.ones(len(groups), np.bool_)


def test_models_of_earlier_policies_are_kept_once() -> None:
    earlier = [
        replace(PLAIN, privacy=[ix.KAnonymity(3), ix.LDiversity(2)]),
        replace(
            PLAIN,
            quasi_identifiers={"work": ["age"]},
            privacy=[ix.KAnonymity(3, on="work"), ix.LDiversity(2, column="ill")],
        ),
    ]
    assert _still_promised(PLAIN, earlier) == [ix.KAnonymity(3), ix.LDiversity(2), ix.LDiversity(2, column="ill")]
    no_values = replace(PLAIN, columns={"age": ix.quasi(ix.suppress())})
    assert _still_promised(no_values, earlier) == [ix.KAnonymity(3)]
    assert _still_promised(replace(PLAIN, privacy=[ix.KAnonymity(3)]), earlier[:1]) == [ix.LDiversity(2)]
    paid = replace(PLAIN, columns={**PLAIN.columns, "pay": ix.sensitive()}, privacy=[ix.LDiversity(2, column="pay")])
    assert _still_promised(PLAIN, [paid]) == []  # this release has no such column
    assert _still_promised(PLAIN, [replace(PLAIN, privacy=[Everywhere()])]) == [Everywhere()]


def test_the_policy_of_a_search_that_keeps_to_earlier_releases() -> None:
    plain = History().policy(PLAIN)
    assert {name: column.role for name, column in plain.columns.items() if name not in PLAIN.columns} == {
        KEY: "identifier",
        STATE: "identifier",
        HISTORY: "identifier",
    }
    told = History((replace(PLAIN, privacy=[ix.KAnonymity(3)]),)).policy(PLAIN)
    assert told.columns[HISTORY].role == "quasi"
    assert told.quasi_identifiers is not None
    assert list(told.quasi_identifiers.values()) == [("age", HISTORY)]
    assert list(told.privacy) == [ix.KAnonymity(2), ix.KAnonymity(3)]
    signed = History((replace(PLAIN, privacy=[ix.LDiversity(2)]),), signed="ill").policy(PLAIN)
    assert signed.columns[HISTORY].role == "sensitive"
    assert [model.describe() for model in signed.privacy] == [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "l": 2, "column": "ill"},
        {"model": "signed", "column": HISTORY},
    ]
    paid = replace(PLAIN, columns={**PLAIN.columns, "pay": ix.sensitive()}, privacy=[ix.LDiversity(2, column="pay")])
    assert History((PLAIN,), signed="ill").policy(paid).privacy[0] == ix.LDiversity(2, column="pay")
    based = History((PLAIN,), based={"age": ix.keep()}).policy(PLAIN)
    assert based.columns["age"].hierarchy == ix.keep()
    assert set(with_internal_columns(PEOPLE).columns) - set(PEOPLE.columns) == {KEY, STATE, PERSON, ROW, HISTORY}
    assert with_internal_columns(replace(PLAIN, eligible=[])).eligible == ()
    with pytest.raises(LedgerError, match="has a name that the ledger needs for itself"):
        with_internal_columns(replace(PLAIN, columns={**PLAIN.columns, KEY.upper(): ix.other()}))


def test_m_invariance_over_releases_has_one_way() -> None:
    terms = Terms(replace(PLAIN, privacy=[ix.MInvariance(2)]), "ward", again="consistent")
    _refuse_other_ways(ix.MInvariant(), terms)
    with pytest.raises(LedgerError, match="not by 'lattice'"):
        _refuse_other_ways(ix.Lattice(), terms)
    with pytest.raises(LedgerError, match="cannot be based on an earlier"):
        _refuse_other_ways(ix.MInvariant(), replace(terms, again="based"))


def test_signatures_must_stay_the_same() -> None:
    """Three cells, two releases; signatures 0 of a and b, 1 of a, b and c."""
    found = Signatures(
        np.array([[0, 0], [0, 1], [ABSENT, 1]]), np.ones((3, 2), np.bool_), [frozenset("ab"), frozenset("abc")]
    )
    assert found.failing(0, 2).tolist() == [False, True, False]
    assert found.failing(1, 3).tolist() == [True, True, False]
    assert found.failing(1, 4).tolist() == [True, True, True]
    uneven = replace(found, is_even=np.array([[True, True], [True, True], [True, False]]))
    assert uneven.failing(1, 3).tolist() == [True, True, True]
    assert found.values_left(np.array([True, False, True])) == 2
    assert found.values_left(np.array([False, False, True])) == 3
    hidden = replace(found, numbers=np.array([[0, UNKNOWN], [0, 1], [ABSENT, 1]]))
    assert hidden.failing(0, 2).tolist() == [True, True, False]
    assert hidden.values_left(np.array([True, False, False])) == 1
    apart = replace(found, values=[frozenset("ab"), frozenset("bc")])
    assert apart.values_left(np.array([False, True, False])) == 1


def test_what_m_invariance_can_bear() -> None:
    invariant = replace(PLAIN, privacy=[ix.MInvariance(2), ix.MInvariance(3, "ill")])
    assert promised_columns(invariant) == {"ill": 3}
    assert promised_columns(PLAIN) == promised_columns(replace(PLAIN, privacy=[ix.LDiversity(2)])) == {}
    with pytest.raises(LedgerError, match="leave out 'town'"):
        signed_column(replace(PLAIN, columns={**PLAIN.columns, "town": ix.other()}), [invariant])
    assert shows(PLAIN, "ill")
    assert not shows(PLAIN, "name")
    assert not shows(PLAIN, "town")
    assert others_shown(PLAIN, "ill") == []
    more = replace(PLAIN, columns={**PLAIN.columns, "town": ix.other(), "pay": ix.sensitive()})
    assert others_shown(more, "ill") == ["town", "pay"]
    assert others_shown(PLAIN, "age") == ["age"]
    refuse_linkable(PLAIN, "ill")
    with pytest.raises(LedgerError, match="leave out 'town', 'pay'"):
        refuse_linkable(more, "ill")
    assert signed_column(PLAIN, [invariant]) == "ill"
    assert signed_column(PLAIN, [PLAIN]) is None
    assert signed_column(replace(PLAIN, columns={"age": ix.quasi(ix.suppress())}), [invariant]) is None


class Cells:
    """Histories of people by hand: the group of each cell in each release, and its people."""

    def __init__(
        self, groups: Sequence[Sequence[int]], sizes: Sequence[int], values: Any = None, signed: Any = None
    ) -> None:
        self.groups, self.sizes, self.values, self.signed = np.array(groups), np.array(sizes), values, signed

    def cells(self) -> tuple[Any, Any]:
        return self.groups, self.sizes

    def people_in(self, is_chosen: Any) -> int:
        return int(self.sizes[is_chosen].sum())

    def values_by_cell(self, release: int, name: str) -> ValueCounts:
        assert name == "ill"
        rows = [(cell, value, count) for cell, own in enumerate(self.values[release]) for value, count in own.items()]
        texts = tuple(sorted({value for _, value, _ in rows}))
        groups, codes, counts = (
            np.array(part) for part in zip(*((c, texts.index(v), n) for c, v, n in rows), strict=True)
        )
        return ValueCounts(groups, codes, counts, texts)

    def signatures(self, release: int, column: str) -> tuple[list[str], Any]:
        assert column == "ill"
        texts, even = self.signed[release]
        return texts, np.array(even)


def judged(cells: Cells, *models: Sequence[ix.PrivacyModel]) -> Linked:
    policies = [replace(PLAIN, privacy=own) for own in models]
    return judge_together(cells, list(range(len(policies))), policies)  # type: ignore[arg-type]


GROUPS = [[0, 0], [0, 1], [0, ABSENT], [ABSENT, 1]]


def test_cells_must_satisfy_every_policy_of_their_releases() -> None:
    found = judged(Cells(GROUPS, [3, 1, 2, 4]), [ix.KAnonymity(2)], [ix.KAnonymity(4)])
    assert (found.entries, found.people, found.cells, found.smallest, found.at_risk) == ((1,), 10, 4, 1, 4)
    assert found.unrecognised == 0
    assert found.failures == (
        Failure("k-anonymity (k = 4)", 1, (0, 1), (), 4, 2, 1),
        Failure("k-anonymity (k = 2)", 0, (0, 1), (), 1, 1, 1),
    )
    safe = judged(Cells(GROUPS, [3, 1, 2, 4]), [ix.KAnonymity(1)], [ix.KAnonymity(1)])
    assert (safe.passed, safe.failures) == (True, ())
    apart = judged(Cells(GROUPS, [5, 5, 1, 2]), [ix.KAnonymity(2)], [ix.KAnonymity(3)])
    assert apart.failures == (
        Failure("k-anonymity (k = 2)", 0, (0,), (1,), 1, 1, 1),
        Failure("k-anonymity (k = 3)", 1, (1,), (0,), 2, 1, 2),
    )
    assert apart.at_risk == 3
    with pytest.raises(ix.PolicyError, match="k-anonymity with known"):
        judged(Cells(GROUPS, [1, 1, 1, 1]), [ix.KAnonymity(2, known=1)])
    with pytest.raises(ix.PolicyError, match="mean for k-map, since"):
        judged(Cells(GROUPS, [1, 1, 1, 1]), [ix.KMap(2, "people.csv")])
    many = judged(Cells([[n] for n in range(30)], [1] * 30), [ix.KAnonymity(2 + n) for n in range(25)])
    assert len(many.failures) == 20


def test_cells_are_judged_by_their_values() -> None:
    values = [[{"a": 2, "b": 1}, {"a": 1}, {"a": 2}, {}], [{"a": 3}, {"b": 1}, {}, {"a": 2, "b": 2}]]
    found = judged(Cells(GROUPS, [3, 1, 2, 4], values), [ix.LDiversity(2)], [ix.KAnonymity(1)])
    assert found.at_risk == 3
    assert [failure.cells for failure in found.failures] == [1, 1]
    with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
        judged(Cells(GROUPS, [3, 1, 2, 4], values), [ix.TCloseness(1, "hierarchical")], [ix.KAnonymity(1)])
    tree = replace(PLAIN, columns={**PLAIN.columns, "ill": ix.sensitive(ix.levels([["a", "*"], ["b", "*"]]))})
    asked = replace(tree, privacy=[ix.TCloseness(1, "hierarchical")])
    assert judge_together(Cells([[0], [1]], [1, 1], [[{"a": 1}, {"b": 1}]]), [0], [asked]).passed  # type: ignore[arg-type]
    several = judged(Cells([[0]], [3], [[{"a": 1, "b": 1, "c": 1}]]), [ix.LDiversity(2)])
    assert several.passed  # three values in one cell, and not a value in three cells


class CellsOfRows(RowHistories):
    """Two cells by hand: one of three rows of two people, one of two rows of a person who cannot be recognised."""

    def __init__(self) -> None:
        """Nothing is opened."""

    def cells(self) -> tuple[Any, Any]:
        return np.array([[0], [1]]), np.array([2, 1])

    def rows_in(self, release: int, columns: Sequence[str]) -> Any:
        texts = dict.fromkeys(columns, ("x", "y", "z"))
        values = {name: np.array([0, 1, 1, 2, 2]) for name in columns}
        return PlacedRows(np.array([0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1]), values, texts)

    def persons_in(self, is_chosen: Any) -> Any:
        return np.concatenate([own for own, chosen in zip(([0, 1], [2]), is_chosen, strict=True) if chosen] or [[]])

    def people_in(self, is_chosen: Any) -> int:
        return len(self.persons_in(is_chosen))

    def unrecognised_people(self) -> Any:
        return np.array([2])


def test_cells_of_rows_are_judged_in_people() -> None:
    tree = replace(PLAIN, columns={**PLAIN.columns, "ill": ix.sensitive(ix.levels([[name, "*"] for name in "xyz"]))})
    for model, at_risk in ((ix.KAnonymity(1), 1), (ix.LDiversity(2), 1), (ix.KAnonymity(3), 3)):
        for policy in (PLAIN, tree):
            found = judge_together(CellsOfRows(), [0], [replace(policy, privacy=[model])])
            assert (found.people, found.unrecognised, found.at_risk) == (3, 1, at_risk)
            assert [failure.people for failure in found.failures] == ([] if model == ix.KAnonymity(1) else [at_risk])
    far = ix.TCloseness(0.4, "hierarchical")
    assert judge_together(CellsOfRows(), [0], [replace(tree, privacy=[far])]).failures != ()


def test_cells_keep_their_signatures() -> None:
    signed = [(['["a", "b"]', '["a", "b", "c"]'], [True, True]), (['["a", "b"]', '["b", "c"]'], [True, True])]
    cells = Cells([[0, 0], [0, 1], [1, ABSENT]], [1, 1, 1], signed=signed)
    found = judged(cells, [ix.MInvariance(2)], [ix.MInvariance(2)])
    assert found.at_risk == 1
    assert [(failure.promised_by, failure.values) for failure in found.failures] == [(0, 1), (1, 1)]
    uneven = [(signed[0][0], [True, False]), signed[1]]
    assert judged(Cells(cells.groups, [1, 1, 1], signed=uneven), [ix.MInvariance(2)], [ix.MInvariance(2)]).at_risk == 2
    other = replace(PLAIN, columns={"age": ix.quasi(ix.suppress())})
    invariant = replace(PLAIN, privacy=[ix.MInvariance(2)])
    hidden = Signatures.of(cells, cells.groups, [invariant, other], "ill")  # type: ignore[arg-type]
    assert hidden.numbers.tolist() == [[0, ABSENT], [0, ABSENT], [1, ABSENT]]
    later = Signatures.of(cells, cells.groups, [other, invariant], "ill")  # type: ignore[arg-type]
    assert later.numbers.tolist() == [[ABSENT, 0], [ABSENT, 1], [ABSENT, ABSENT]]
    both = judged(cells, [ix.MInvariance(2), ix.KAnonymity(2)], [ix.MInvariance(2)])
    assert both.at_risk == 3  # beside the signatures, nobody is hidden among two
    more = replace(PLAIN, columns={**PLAIN.columns, "town": ix.other()})
    linkable = Signatures.of(cells, cells.groups, [more, invariant], "ill")  # type: ignore[arg-type]
    assert linkable.numbers.tolist() == [[UNKNOWN, 0], [UNKNOWN, 1], [UNKNOWN, ABSENT]]
    assert linkable.values == [frozenset("ab"), frozenset("bc")]


# What releases reveal together, in words


FAILURE = Failure("k-anonymity (k = 2)", 0, (0, 1), (2,), 3, 2, 1)
FOUND = Linked((1, 2), 9, 4, 1, 3, (FAILURE,))


def test_findings_in_words() -> None:
    assert FOUND.reason == (
        "joined with entries 1, 2, it would leave 3 people less protected than was promised: k-anonymity (k = 2) of "
        "this policy fails, and the smallest cell has 1 person (in entry 1 and this release, not in entry 2)"
    )
    assert not FOUND.passed
    safe = replace(FOUND, at_risk=0, failures=())
    assert safe.passed
    assert safe.reason == "joined with entries 1, 2, it tells 9 people apart into 4 cells, the smallest of 1"
    assert replace(safe, entries=()).reason == "there is no earlier release that could be joined with this one"
    lost = replace(FOUND, unrecognised=2)
    assert "rows of 2 people cannot be recognised again" in lost.reason
    values = replace(FOUND, entries=(), failures=(replace(FAILURE, promised_by=1, values=1, present=(1,), absent=()),))
    assert values.reason == (
        "it would leave 3 people less protected than was promised: k-anonymity (k = 2) of entry 1 fails, since their "
        "groups do not have the same values, each equally often, in every release; 1 value is left to somebody (in "
        "entry 1)"
    )
    said = FOUND.to_dict()
    assert (said["entries"], said["smallest_cell"], said["people_at_risk"]) == ([1, 2], 1, 3)
    assert "people_unrecognised" not in said
    assert lost.to_dict()["people_unrecognised"] == 2
    assert said["failures"] == [
        {
            "model": "k-anonymity (k = 2)",
            "promised_by": "this policy",
            "present_in": ["this release", 1],
            "absent_from": [2],
            "people": 3,
            "cells": 2,
            "smallest_cell": 1,
        }
    ]
    assert values.to_dict()["failures"][0]["values_left"] == 1
    assert values.to_dict()["failures"][0]["promised_by"] == 1
    assert _entries_text((4,)) == "entry 4"
    assert _entries_text(tuple(range(1, 7))) == "entries 1, 2, 3, 4, 5, 6"
    assert _entries_text(tuple(range(1, 8))) == "entries 1, 2, 3, 4, 5, 6, …"
    assert _releases_text((0,)) == "this release"
    assert _releases_text((3, 1)) == "entries 1, 3"


@pytest.mark.parametrize(
    ("found", "policy", "again", "advice"),
    [
        (replace(FOUND, unrecognised=1), PLAIN, None, "name the columns that tell the rows of a person apart"),
        (FOUND, PEOPLE, None, "generalize more, or release it to somebody who holds none"),
        (
            replace(FOUND, failures=(replace(FAILURE, values=1),)),
            PLAIN,
            None,
            "make it with the algorithm 'm-invariance'",
        ),
        (FOUND, PLAIN, "based", "wait until more people have changed"),
        (FOUND, PLAIN, None, "let the search keep to them"),
    ],
)
def test_refusals_give_advice(found: Linked, policy: Policy, again: Any, advice: str) -> None:
    with pytest.raises(RefusedError, match=advice):
        _refuse_undoing(found, Terms(policy, "ward", again=again))
    _refuse_undoing(replace(found, at_risk=0), Terms(policy, "ward", again=again))


def test_pseudonyms_link_releases_by_their_key() -> None:
    linked = replace(PEOPLE, person=Person("id", release="pseudonym"))
    stable = replace(PEOPLE, person=Person("id", release="pseudonym", stable=True))
    assert _links([PLAIN, linked, stable, linked, stable]) == [None, 2, 0, 4, 0]


def test_an_audit_tells_of_everything_that_it_looked_at(files: Files, tmp_path: Path) -> None:
    one = stored(files)

    def found(rows: Any, witness: Any = None, head: str | None = None) -> dict[str, tuple[bool, str]]:
        return {c.name: (c.passed, c.detail) for c in audit.audit(rows, START, files, head, witness).checks}

    assert set(found([one])) == {"chain", "files", "database", "store"}
    assert found([one])["database"][1].startswith("its tables, and what keeps them")
    assert found([one])["store"] == (True, "nothing without an entry")
    assert found([], head=START)["head"] == (True, "the head is that of the empty ledger")
    witness = FileWitness(tmp_path / "heads")
    assert found([one], witness)["witness"][0] is False
    witness.begin(START)
    witness.note(1, one.hash)
    assert found([one], witness)["witness"] == (True, "2 heads noted elsewhere, all in the chain")
    assert found([], witness)["witness"][0] is False
    broken = found([Unreadable(1, one.hash, "its files is not JSON")])
    assert broken["chain"] == (False, "entry 1 cannot be read: its files is not JSON")
    assert broken["files"] == (True, "0 files, none changed")
    first = Entry.following(draft(place=one.place, files=one.files, manifest={"ledger_head": START}), 1, START)
    assert found([first])["heads in releases"] == (True, "1 release states the head before it, all in the chain")
    os.utime(files.folder / one.place, (0, 0))
    assert found([])["store"][1].startswith("1 folder without an entry; indistinct ledger sweep")
    (files.folder / one.place / "members.parquet").unlink()
    assert found([one])["files"] == (False, "entry 1: 'members.parquet' is missing")
    files.folder.rename(tmp_path / "away")
    assert found([one])["store"][0] is False
    assert audit._findings_text(["x"] * 10) == "; ".join(["x"] * 10)
    assert audit._findings_text(["x"] * 11).endswith("x; and 1 more")
    assert audit._findings_text(["x"] * 12).endswith("x; and 2 more")


def test_a_store_looks_at_its_witness_and_its_folder(tmp_path: Path) -> None:
    heads = tmp_path / "heads"
    made = store.Store.create(tmp_path / "ledger.db", witness=heads)
    assert made.name == str(tmp_path / "ledger.db")
    assert len(made.secret) == 32
    with made.stage(write_release) as staged:
        one = made.append(draft(place=staged.place, files=staged.digests), made.head)
    other = tmp_path / "other"
    other.write_text(f"0 {made.start}\n1 {DIGEST}\n", "ascii")
    assert made.verify().passed
    assert not made.verify(witness=other).passed
    kept = heads.read_text("ascii")
    heads.write_text(f"{kept}2 {DIGEST}\n", "ascii")
    with pytest.raises(VerificationError, match="witness: entry 2 is not what was noted"):
        made.entries()
    assert made.entries(after=1) == []
    heads.unlink()
    with pytest.raises(LedgerError, match="so no entry is made"), made.stage(write_release) as staged:
        made.append(draft(place=staged.place, files=staged.digests), one.hash)
    heads.write_text(kept, "ascii")
    made.files.adopt(made.files.stage(write_release))
    assert made.sweep(older_than=-10) == 1
    assert [path.name for path in made.files.folder.iterdir()] == [one.place]
    made.close()
    moved = tmp_path / "moved"
    (tmp_path / "ledger.db.store").rename(moved)
    with store.Store(tmp_path / "ledger.db", folder=moved) as again:
        assert again.files.folder == moved
        assert again.verify().passed
    with pytest.raises(LedgerError, match="PostgreSQL needs a folder"):
        store._folder(None, None)
    assert [store._is_plain(said) for said in ("a", "a\0b", 5)] == [True, False, False]
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match="is no ledger; make one"):
        store.Store(tmp_path / "empty.db")
