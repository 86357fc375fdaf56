"""The ledger's storage: what is entered stays, whole and in one chain, and every change of it shows.

Everything that touches a database runs on a SQLite file and on a real PostgreSQL server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import logging
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, event, text

import indistinct as ix
from helpers import commands, ledger_writers
from helpers.profiles import scaled
from indistinct.examples import save_examples
from indistinct.ledger.store import database
from indistinct.ledger.store import entry_files as files
from indistinct.ledger.store.entry import Draft, Entry, Unreadable, canonical, chain_findings, from_row, to_row
from indistinct.ledger.store.store import HeadMoved, Store
from indistinct.ledger.terms import policy_text
from indistinct.policy.stated_policy import policy_digest

PLACE = "0123456789abcdef" * 2
NO_ENTRY = "0" * 64
KILLED = max(15, scaled(25))


def draft(**changes: Any) -> Draft:
    said: dict[str, Any] = {
        "recipient": "Registry",
        "purpose": "cancer study",
        "manifest": {"released": 11, "measures": {"precision": 0.1}},
        "policy": "version = 1\n",
        "files": {},
        "place": PLACE,
        "details": {"key": ["name"]},
    }
    return Draft(**said | changes)


def enter(store: Store, **changes: Any) -> Entry:
    with store.stage(ledger_writers.write_files) as staged:
        return store.append(draft(place=staged.place, files=staged.digests, **changes), store.head)


@pytest.fixture
def store(ledger_place: tuple[str, Path]) -> Iterator[Store]:
    url, folder = ledger_place
    with Store.create(url, folder=folder) as made:
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Store]:
    """Return a ledger in a file with one release, for what is the same in every database."""
    with Store.create(tmp_path / "ledger.db") as made:
        enter(made)
        yield made


@pytest.fixture
def filled(store: Store) -> Store:
    """Return a ledger with four releases."""
    for number in range(1, 5):
        enter(store, recipient=f"recipient {number}", source="main" if number < 4 else "other")
    return store


def tamper(store: Store, *statements: str, **values: Any) -> None:
    """Do what somebody can who owns the database: switch the guards off, change what they like, and bring them back."""
    connection: Connection
    with store._database.writing() as connection:
        guards: dict[str, str] = {}
        if store._database.path is None:
            connection.execute(text("SET session_replication_role = replica"))
        else:
            found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
            guards = {row.name: row.sql for row in found}
            for name in guards:
                connection.execute(text(f"DROP TRIGGER {name}"))
        for statement in statements:
            connection.execute(text(statement), values)
        for guard in guards.values():
            connection.exec_driver_sql(guard)


def failed(store: Store, head: str | None = None) -> dict[str, str]:
    """Return the checks that fail, with what they say."""
    return {check.name: check.detail for check in store.verify(head).checks if not check.passed}


def fail(*_: object, **__: object) -> None:
    """Do what a broken disk does."""
    raise OSError(errno.EIO, os.strerror(errno.EIO))


# What is entered.


def test_a_new_ledger_is_empty_and_whole(store: Store) -> None:
    assert store.entries() == []
    assert store.head == store.start
    found = store.verify(store.start)
    assert (found.passed, found.entries, found.head) == (True, 0, store.start)


def test_entries_come_back_as_they_were_entered(store: Store) -> None:
    said = {"recipient": "Übersee “x”", "purpose": "a\nb", "source": "clinic", "policy": "k = 'ü'\n"}
    first = enter(store, manifest={"b": [1, 2.5, None], "a": {"ü": 1e-300}}, details={"checked": []}, **said)
    second = enter(store)
    assert (first.number, second.number) == (1, 2)
    assert (first.previous, second.previous, store.head) == (store.start, first.hash, second.hash)
    assert store.entries() == [first, second]
    assert store.entry(1) == first
    assert {name: getattr(first, name) for name in said} == said
    assert first.manifest == {"a": {"ü": 1e-300}, "b": [1, 2.5, None]}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", first.time)
    assert json.loads(json.dumps(first.to_dict()))["recipient"] == said["recipient"]


def test_texts_of_all_kinds_survive_the_database(store: Store) -> None:
    texts = [
        "'; DROP TABLE x; --",
        "\x01\x7f\r\n\t",
        "עברית 👩‍👩‍👧 \U0010ffff",
        "%s :name {x} \\",
        "NaN",
        "x" * 100_000,
    ]
    for said in texts:
        enter(store, recipient=said, source=said, purpose=said, policy=said, manifest={said: [said]}, details={said: 0})
    assert [entry.recipient for entry in store.entries()] == texts
    assert [entry.manifest for entry in store.entries()] == [{said: [said]} for said in texts]
    assert store.verify().passed


def test_entries_are_found_by_source_and_number(filled: Store) -> None:
    assert [entry.number for entry in filled.entries(source="main")] == [1, 2, 3]
    assert [entry.number for entry in filled.entries(after=2)] == [3, 4]
    assert [entry.number for entry in filled.entries("other", after=2)] == [4]
    assert filled.entries(after=4) == []
    with pytest.raises(ix.LedgerError, match=r"has no entry 5; it has 1 to 4"):
        filled.entry(5)


def test_a_ledger_opened_again_is_the_same(filled: Store, ledger_place: tuple[str, Path]) -> None:
    with Store(ledger_place[0]) as again:
        assert again.entries() == filled.entries()
        assert (again.secret, again.start, again.files.folder) == (filled.secret, filled.start, filled.files.folder)
        assert len(again.secret) == 32
        assert again.verify().passed


def test_an_entry_follows_the_head_it_was_checked_against_or_is_not_entered(filled: Store) -> None:
    stale, head = filled.entry(2).hash, filled.head
    with pytest.raises(HeadMoved) as moved, filled.stage(ledger_writers.write_files) as staged:
        filled.append(draft(place=staged.place, files=staged.digests), stale)
    assert moved.value.head == head == filled.head
    assert len(os.listdir(filled.files.folder)) == 4  # its files are gone


def test_an_entry_that_a_writer_without_the_lock_was_quicker_than_is_not_entered(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale, last = filled.entry(3), filled._last
    seen = [(3, stale.hash)]  # the state of the ledger before the other writer came
    monkeypatch.setattr(filled, "_last", lambda connection: seen.pop() if seen else last(connection))
    with pytest.raises(HeadMoved) as moved, filled.stage(ledger_writers.write_files) as staged:
        filled.append(draft(place=staged.place, files=staged.digests), stale.hash)
    assert moved.value.head == filled.entry(4).hash
    assert filled.verify().passed


def test_an_entry_without_files_in_the_store_is_not_entered(store: Store) -> None:
    with pytest.raises(ix.LedgerError, match="no longer in the store"):
        store.append(draft(), store.head)
    assert store.entries() == []


def test_a_writer_without_the_lock_cannot_fork_the_chain(filled: Store) -> None:
    row = to_row(Entry.following(draft(), 5, filled.entry(3).hash))
    columns, names = ", ".join(row), ", ".join(f":{name}" for name in row)
    with pytest.raises(Exception, match=r"(?i)unique"), filled._database.writing() as connection:
        connection.execute(text(f"INSERT INTO indistinct_entries ({columns}) VALUES ({names})"), row)
    assert filled.verify().passed


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE indistinct_entries SET recipient = 'x' WHERE number = 1",
        "DELETE FROM indistinct_entries WHERE number = 4",
        "UPDATE indistinct_meta SET value = 'x' WHERE name = 'secret'",
        "DELETE FROM indistinct_meta",
    ],
)
def test_the_tables_refuse_to_be_changed(filled: Store, statement: str) -> None:
    with pytest.raises(Exception, match="append-only"), filled._database.writing() as connection:
        connection.execute(text(statement))
    assert filled.verify().passed


def test_sqlite_refuses_to_replace_and_postgresql_to_truncate(filled: Store) -> None:
    if filled._database.path is None:
        statement, told = "TRUNCATE indistinct_entries", "append-only"
    else:
        columns = "number, time, source, recipient, purpose, manifest, policy, files, place, details, previous, hash"
        statement = f"REPLACE INTO indistinct_entries SELECT {columns} FROM indistinct_entries WHERE number = 2"
        told = "follows the last one"
    with pytest.raises(Exception, match=told), filled._database.writing() as connection:
        connection.execute(text(statement))
    assert filled.verify().passed


@pytest.mark.parametrize("recipient", ["", "  ", "a\0b", "a\ud800"])
def test_a_recipient_that_cannot_be_stored_is_refused(recipient: str) -> None:
    with pytest.raises(ix.LedgerError, match="the recipient of a release"):
        draft(recipient=recipient)


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", ".", "a/../b", "a\\b", ""])
def test_a_file_outside_the_entry_is_refused(name: str) -> None:
    with pytest.raises(ix.LedgerError, match="does not name a file of its folder"):
        draft(files={name: NO_ENTRY})
    with pytest.raises(ix.LedgerError, match="32 hexadecimal digits"):
        draft(place="../0123456789abcdef0123456789abc")


def test_a_kept_policy_needs_no_other_file(tmp_path: Path) -> None:
    rows = tmp_path / "race.csv"
    rows.write_text('white;person;*\n"a, ""b""";person;*\n;unknown;*\n', "utf-8")
    written = """
        version = 1
        [columns]
        name = { role = "identifier" }
        race = { role = "quasi", hierarchy = { levels = { source = "race.csv", delimiter = ";" } } }
        zip = { role = "quasi", hierarchy = { prefix = 5 } }
        [[privacy]]
        model = "k-anonymity"
        k = 2
    """
    policy = ix.parse_policy(written, base=tmp_path)
    rows.unlink()
    kept = policy_text(policy)
    assert "race.csv" not in kept
    again = ix.parse_policy(kept)
    assert policy_digest(again) == policy_digest(policy)
    assert again.columns["race"].hierarchy.label(None, 1) == "unknown"


def test_a_policy_that_no_file_can_hold_is_described() -> None:
    class Measure(ix.Loss):
        """A measure from elsewhere."""

    policy = ix.Policy(columns={"a": ix.quasi()}, privacy=[ix.KAnonymity(2)], options={"measure": Measure()})
    assert json.loads(policy_text(policy))["privacy"] == [{"model": "k-anonymity", "k": 2}]


# The chain, as a function of its entries.


def chain(length: int, start: str = "start") -> list[Entry]:
    made: list[Entry] = []
    for number in range(1, length + 1):
        previous = made[-1].hash if made else start
        made.append(Entry.following(draft(recipient=f"r{number}"), number, previous))
    return made


def test_what_is_wrong_with_a_chain_is_reported_by_its_number() -> None:
    one, two, three, four = chain(4)

    def told(*entries: Entry | Unreadable) -> list[str]:
        return [str(finding) for finding in chain_findings(entries, "start")]

    changed = dataclasses.replace(two, recipient="x")
    unlinked = "does not follow the entry before it"
    assert told(one, two, three, four) == []
    assert told(one, changed, three) == ["entry 2 was changed: its hash is not that of what it says"]
    assert told(one, dataclasses.replace(changed, hash=changed.computed_hash), three) == [f"entry 3 {unlinked}"]
    assert told(one, three, four) == ["entry 2 is missing", f"entry 3 {unlinked}"]
    assert told(one, four) == ["entry 2 to 3 are missing", f"entry 4 {unlinked}"]
    assert told(two) == ["entry 1 is missing", f"entry 2 {unlinked}"]
    assert told(one, three, two)[-2:] == ["entry 2 stands where entry 4 must stand", f"entry 2 {unlinked}"]
    assert told(one, Unreadable(2, two.hash, "its files is not JSON"), three) == [
        "entry 2 cannot be read: its files is not JSON"
    ]
    assert [str(finding) for finding in chain_findings([one], "other")] == [
        "entry 1 does not follow the start of this ledger"
    ]
    assert chain_findings([three, four], two.hash, first=3) == []


def test_the_hash_is_sha_256_of_sorted_ascii_json() -> None:
    """The hash as anybody can compute it, from what the documentation says."""
    entry = chain(1)[0]
    content = entry.to_dict() | {"format": 1}
    del content["hash"]
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(written.encode("ascii")).hexdigest() == entry.hash


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
NAMED = TEXT.filter(lambda text: text.strip())
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
DOCUMENT = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(1, 2**31 - 1),
    "time": TEXT,
    "source": NAMED,
    "recipient": NAMED,
    "purpose": TEXT,
    "manifest": DOCUMENT,
    "policy": TEXT,
    "files": st.dictionaries(st.text("abc.", min_size=3, max_size=5), HEX, max_size=3),
    "place": st.text("0123456789abcdef", min_size=32, max_size=32),
    "details": DOCUMENT,
    "previous": HEX,
    "hash": HEX,
}


@given(first=st.fixed_dictionaries(FIELDS), other=st.fixed_dictionaries(FIELDS), name=st.sampled_from(sorted(FIELDS)))
def test_the_hash_changes_with_every_field(first: dict[str, Any], other: dict[str, Any], name: str) -> None:
    entry = Entry(**first)
    changed = dataclasses.replace(entry, **{name: other[name]})
    is_said = name != "hash" and canonical(first[name]) != canonical(other[name])
    assert (entry.computed_hash != changed.computed_hash) == is_said


@given(first=st.fixed_dictionaries(FIELDS))
def test_an_entry_survives_the_database_and_its_hash_with_it(first: dict[str, Any]) -> None:
    entry = Entry(**first)
    again = from_row(to_row(entry))
    assert again == entry
    assert isinstance(again, Entry)
    assert again.computed_hash == entry.computed_hash


def test_the_fields_that_are_tried_are_all_there_are() -> None:
    assert set(FIELDS) == {field.name for field in dataclasses.fields(Entry)}
    assert set(FIELDS) == set(database.ENTRIES.columns.keys())


# Tampering shows.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time", "2020-01-01T00:00:00+00:00"),
        ("source", "elsewhere"),
        ("recipient", "nobody"),
        ("purpose", ""),
        ("manifest", '{"released":12}'),
        ("policy", "version = 2"),
        ("files", "{}"),
        ("place", "f" * 32),
        ("details", "{}"),
        ("previous", "f" * 64),
        ("hash", "f" * 64),
        ("number", 9),
    ],
)
def test_a_changed_field_shows(filled: Store, name: str, value: object) -> None:
    noted = filled.entry(2).hash
    tamper(filled, f"UPDATE indistinct_entries SET {name} = :value WHERE number = 2", value=value)
    told = failed(filled)
    assert "entry 2" in told["chain"]
    if name in ("place", "files"):
        assert "entry 2: " in told["files"]
    if name == "hash":
        assert "no entry has this hash" in failed(filled, noted)["head"]
    with pytest.raises(ix.VerificationError, match="was changed"):
        filled.entries()
    with pytest.raises(ix.VerificationError, match="does not verify"):
        filled.verify().raise_if_failed()


@pytest.mark.parametrize("value", ["no JSON", "[1]", "[" * 100_000])
def test_a_field_that_cannot_be_read_shows(filled: Store, value: str) -> None:
    names = {1: "manifest", 2: "files", 3: "details"}
    changes = [f"UPDATE indistinct_entries SET {name} = :value WHERE number = {n}" for n, name in names.items()]
    tamper(filled, *changes, value=value)
    told = failed(filled)["chain"]
    for number, name in names.items():
        assert f"entry {number} cannot be read: its {name} is not" in told
        with pytest.raises(ix.VerificationError, match=f"entry {number} cannot be read"):
            filled.entry(number)


def test_a_field_that_is_no_text_shows(small: Store) -> None:
    tamper(small, "UPDATE indistinct_entries SET purpose = x'ff'")
    assert failed(small)["chain"] == "entry 1 cannot be read: its purpose is not a text"


def test_a_changed_entry_with_a_right_hash_shows(filled: Store) -> None:
    forged = dataclasses.replace(filled.entry(2), recipient="nobody")
    tamper(
        filled,
        "UPDATE indistinct_entries SET recipient = 'nobody', hash = :hash WHERE number = 2",
        hash=forged.computed_hash,
    )
    assert failed(filled)["chain"] == "entry 3 does not follow the entry before it"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DELETE FROM indistinct_entries WHERE number = 1"], "entry 1 is missing"),
        (["DELETE FROM indistinct_entries WHERE number = 2"], "entry 2 is missing"),
        (
            [
                "DELETE FROM indistinct_entries WHERE number = 2",
                "UPDATE indistinct_entries SET number = 2 WHERE number = 3",
                "UPDATE indistinct_entries SET number = 3 WHERE number = 4",
            ],
            "entry 2 was changed",
        ),
        (
            [
                "UPDATE indistinct_entries SET number = 99 WHERE number = 2",
                "UPDATE indistinct_entries SET number = 2 WHERE number = 3",
                "UPDATE indistinct_entries SET number = 3 WHERE number = 99",
            ],
            "entry 3 does not follow the entry before it",
        ),
    ],
)
def test_removed_and_reordered_entries_show(filled: Store, statements: list[str], told: str) -> None:
    tamper(filled, *statements)
    assert told in failed(filled)["chain"]


def test_an_inserted_entry_shows(filled: Store) -> None:
    row = to_row(Entry.following(draft(), 5, filled.entry(3).hash)) | {"previous": filled.entry(2).hash[::-1]}
    names = ", ".join(f":{name}" for name in row)
    tamper(filled, f"INSERT INTO indistinct_entries ({', '.join(row)}) VALUES ({names})", **row)
    told = failed(filled)
    assert "entry 5 was changed" in told["chain"]
    assert "entry 5 does not follow" in told["chain"]
    assert told["files"] == "entry 5: its files are missing"


def test_entries_removed_from_the_end_show_by_a_head_that_was_noted(filled: Store) -> None:
    noted = filled.head
    enter(filled)
    assert filled.verify(noted).passed
    tamper(filled, "DELETE FROM indistinct_entries WHERE number >= 4")
    assert failed(filled) == {}  # nothing in the database can tell
    assert "entries were removed or changed" in failed(filled, noted)["head"]
    with pytest.raises(ix.LedgerError, match="64 hexadecimal digits"):
        filled.verify("abc")


def test_another_secret_shows_because_people_would_not_be_known_again(
    filled: Store, ledger_place: tuple[str, Path]
) -> None:
    tamper(filled, "UPDATE indistinct_meta SET value = :value WHERE name = 'secret'", value="ab" * 32)
    with Store(ledger_place[0]) as again:
        assert failed(again)["chain"] == "entry 1 does not follow the start of this ledger"
        with pytest.raises(ix.VerificationError, match="does not follow the start of this ledger"):
            again.entries()


def test_changed_files_show(filled: Store) -> None:
    entry = filled.entry(2)
    folder = filled.files.folder / entry.place
    assert filled.files.path(entry, "rows.parquet").read_bytes()
    (folder / "rows.parquet").write_bytes(b"x")
    (folder / "release" / "table.csv").unlink()
    (folder / "more").write_text("x", "utf-8")
    assert failed(filled) == {
        "files": "entry 2: 'release/table.csv' is missing; entry 2: 'rows.parquet' was changed; "
        "entry 2: 'more' does not belong to it"
    }
    with pytest.raises(ix.VerificationError, match=r"entry 2: 'rows.parquet' was changed"):
        filled.files.path(entry, "rows.parquet")
    with pytest.raises(ix.LedgerError, match="has no file 'more'"):
        filled.files.path(entry, "more")


def test_files_that_cannot_be_read_show(small: Store, tmp_path: Path) -> None:
    entry = small.entry(1)
    private = small.files.folder / entry.place / "rows.parquet"
    private.unlink()
    private.mkdir()
    assert failed(small) == {"files": "entry 1: 'rows.parquet' cannot be read: Is a directory"}
    small.files.folder.rename(tmp_path / "gone")
    with pytest.raises(ix.VerificationError, match="entry 1: its files are missing"):
        small.files.path(entry, "rows.parquet")


# Several writers, and writers that are killed.


def writers(*arguments: object) -> list[tuple[int, str]]:
    """Run writers as processes and give the entries that they were told stand."""
    program = [sys.executable, ledger_writers.__file__, *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [(int(line.split()[0]), line.split()[1]) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_eight_writers_at_once_lose_and_fork_nothing(store: Store, ledger_place: tuple[str, Path]) -> None:
    told = writers("together", *ledger_place, 8, 3)
    entries = store.entries()
    assert sorted(told) == [(entry.number, entry.hash) for entry in entries]
    assert len(entries) == 24
    assert {entry.recipient for entry in entries} == {f"writer {number}" for number in range(8)}
    assert store.verify().passed
    assert sorted(os.listdir(store.files.folder)) == sorted(entry.place for entry in entries)


@pytest.mark.slow
def test_writers_killed_at_random_moments_leave_whole_entries_in_one_chain(
    store: Store, ledger_place: tuple[str, Path]
) -> None:
    told = writers("killed", *ledger_place, KILLED, 7)
    with store._database.writing():
        pass  # the server may still be committing what a killed writer sent it
    entries = store.entries()
    assert store.verify().passed, str(store.verify())
    stand = {(entry.number, entry.hash) for entry in entries}
    assert set(told) <= stand  # none that a writer was told about is lost
    assert len(stand) - len(told) <= KILLED  # a writer can be killed before it tells about its last one
    assert len(told) >= 5, "the writers were killed before they could write: the moments are badly chosen"
    places = {entry.place for entry in entries}
    left = set(os.listdir(store.files.folder)) - places
    assert left, "no writer was killed between its files and its entry: the moments are badly chosen"
    assert store.sweep() == 0  # they could still be in use
    assert store.sweep(older_than=0) == len(left)
    assert set(os.listdir(store.files.folder)) == places
    enter(store)
    assert store.verify().passed


@pytest.mark.slow
def test_of_eight_who_make_the_same_ledger_one_does(ledger_place: tuple[str, Path]) -> None:
    told = writers("made", *ledger_place, 8, 0)
    with Store(ledger_place[0]) as store:
        assert told == [(0, store.start)]
        enter(store)
        assert store.verify().passed


@pytest.mark.slow
def test_a_ledger_is_made_whole_or_not_at_all(ledger_place: tuple[str, Path]) -> None:
    url, folder = ledger_place
    told = writers("unmade", url, folder, 8, 3)
    assert len(told) <= 1
    try:
        store = Store(url)
    except ix.LedgerError:
        assert told == []
        store = Store.create(url, folder=folder)
    with store:
        enter(store)
        assert store.verify().passed


def test_a_connection_that_breaks_in_the_middle_enters_nothing(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    store = Store.create(postgres_url, folder=tmp_path / "store")

    def break_connection(place: str) -> bool:
        with psycopg.connect(postgres_url, autocommit=True) as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'indistinct'"
            )
        return True

    with monkeypatch.context() as patched:
        patched.setattr(store.files, "holds", break_connection)
        with pytest.raises(ix.LedgerError, match="terminating connection"):
            enter(store)
    assert os.listdir(store.files.folder) == []
    assert store.entries() == []
    enter(store)
    assert store.verify().passed


def test_a_writer_that_waits_too_long_says_so(
    store: Store, ledger_place: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 1)
    with store._database.writing(), Store(ledger_place[0]) as other:
        with pytest.raises(ix.LedgerError, match="was busy for 1 seconds; try again"):
            other.append(draft(), other.head)
        assert other.entries() == []  # readers do not wait


def test_a_writer_waits_for_another(store: Store, ledger_place: tuple[str, Path]) -> None:
    entered: list[Entry] = []
    with store._database.writing(), Store(ledger_place[0]) as other:
        thread = threading.Thread(target=lambda: entered.append(enter(other)))
        thread.start()
        time.sleep(0.2)
        assert entered == []
    thread.join(30)
    assert store.entries() == entered


# The files.


def test_nothing_is_left_of_files_that_could_not_be_written(store: Store) -> None:
    def broken(folder: Path) -> None:
        ledger_writers.write_files(folder)
        raise error

    for error in (OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("x")):
        expected = ix.LedgerError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected), store.stage(broken):
            pass
        assert os.listdir(store.files.folder) == []


@pytest.mark.parametrize("where", ["os.utime", "indistinct.ledger.store.entry_files.flush"])
def test_nothing_is_left_of_files_that_got_no_name(small: Store, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, fail)
    before = os.listdir(small.files.folder)
    with pytest.raises(ix.LedgerError, match=r"cannot write to the store .*: Input/output error"):
        enter(small)
    assert os.listdir(small.files.folder) == before


def test_files_are_kept_if_the_entry_stands_although_the_block_raised(store: Store) -> None:
    def enter_and_be_interrupted() -> None:
        with store.stage(ledger_writers.write_files) as staged:
            store.append(draft(place=staged.place, files=staged.digests), store.head)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        enter_and_be_interrupted()
    assert len(store.entries()) == 1
    assert store.verify().passed


def test_sweeping_spares_entries_young_folders_and_what_is_not_ours(filled: Store) -> None:
    folder = filled.files.folder
    with filled.stage(ledger_writers.write_files) as orphan:
        pass
    partial, foreign = folder / f".{PLACE}.partial", folder / "notes"
    partial.mkdir()
    foreign.mkdir()
    hours_ago = time.time() - 2 * files.LEFT_OVER_AFTER
    for place in folder.iterdir():
        os.utime(place, (hours_ago, hours_ago))
    with filled.stage(ledger_writers.write_files) as young:
        pass
    assert "2 folders without an entry" in str(filled.verify())
    assert filled.sweep() == 2
    assert not partial.exists()
    assert not (folder / orphan.place).exists()
    assert foreign.exists()
    assert (folder / young.place).exists()
    assert filled.verify().passed


def test_sweeping_passes_over_what_goes_away_meanwhile(small: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = small.files.folder / f".{PLACE}.partial"
    partial.mkdir()
    scan = os.scandir

    @contextlib.contextmanager
    def found_too_late(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scan(folder) as inside:
            items = list(inside)
        partial.rmdir()
        yield items

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", found_too_late)
        assert small.files.left_over([small.entry(1).place], older_than=0) == []
    assert small.verify().passed


def test_a_store_that_is_gone_is_reported(filled: Store, tmp_path: Path) -> None:
    filled.files.folder.rename(tmp_path / "gone")
    for act in (lambda: enter(filled), filled.sweep):
        with pytest.raises(ix.LedgerError, match=r"the store .* No such file or directory"):
            act()
    assert set(failed(filled)) == {"files", "store"}
    assert len(filled.entries()) == 4


def test_nothing_is_swept_from_a_ledger_that_was_changed(filled: Store) -> None:
    tamper(filled, "UPDATE indistinct_entries SET place = :value WHERE number = 2", value="f" * 32)
    with pytest.raises(ix.VerificationError):
        filled.sweep(older_than=0)
    assert len(os.listdir(filled.files.folder)) == 4


def test_files_that_were_swept_are_not_entered(store: Store) -> None:
    with store.stage(ledger_writers.write_files) as staged:
        store.sweep(older_than=0)
        with pytest.raises(ix.LedgerError, match="no longer in the store"):
            store.append(draft(place=staged.place, files=staged.digests), store.head)
    assert store.entries() == []


def modes(folder: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}


def test_everything_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Store.create(tmp_path / "new" / "deep" / "ledger.db") as store:
            enter(store)
            assert store.files.folder == tmp_path / "new" / "deep" / "ledger.db.store"
            with store._database.writing() as connection:
                connection.execute(text("INSERT INTO indistinct_meta VALUES ('x', 'y')"))
                assert (tmp_path / "new" / "deep" / "ledger.db-journal").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "deep" / "ledger.db").stat().st_mode & 0o777 == 0o600
    outside = {mode for is_folder, mode in modes(tmp_path / "new") if is_folder} - {0o777}
    assert outside == {0o700}  # a folder inside an entry's private one may be what its writer made it
    assert {mode for is_folder, mode in modes(tmp_path / "new") if not is_folder} == {0o600}


def test_a_ledger_moves_with_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with Store.create(tmp_path / "a" / "ledger.db") as store:
        enter(store)
    (tmp_path / "a").rename(tmp_path / "b")
    with Store(tmp_path / "b" / "ledger.db") as moved:
        assert moved.verify().passed
    (tmp_path / "b" / "ledger.db.store").rename(tmp_path / "elsewhere")
    with Store(tmp_path / "b" / "ledger.db") as lost:
        assert set(failed(lost)) == {"files", "store"}
    with Store(tmp_path / "b" / "ledger.db", folder=tmp_path / "elsewhere") as found:
        assert found.verify().passed


# What is refused.


def test_a_ledger_is_never_made_where_one_is(filled: Store, ledger_place: tuple[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ix.LedgerError, match=r"already"):
        Store.create(ledger_place[0], folder=tmp_path / "another")
    assert not (tmp_path / "another").exists()
    assert filled.verify().passed


def test_a_store_that_holds_something_is_refused(ledger_place: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = ledger_place
    folder.mkdir()
    (folder / "x").write_text("x", "utf-8")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ix.LedgerError, match=r"is not empty"):
        Store.create(url, folder=folder)
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(ix.LedgerError):
        Store(url)
    (folder / "x").unlink()
    Store.create(url, folder=folder).close()


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ix.LedgerError, match=r"cannot make the store .*: Not a directory"):
        Store.create(tmp_path / "ledger.db", folder=tmp_path / "file" / "store")
    assert os.listdir(tmp_path) == ["file"]


def test_a_ledger_is_made_where_files_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", fail)
    with Store.create(tmp_path / "ledger.db") as store:
        enter(store)
        assert store.verify().passed
    assert sorted(os.listdir(tmp_path)) == ["ledger.db", "ledger.db.store"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_ledger_that_another_made_meanwhile_is_not_replaced(
    tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def overtaken(draft: Path, path: Path) -> None:
        path.write_text("another", "utf-8")
        (link if has_links else fail)(draft, path)

    monkeypatch.setattr(os, "link", overtaken)
    with pytest.raises(ix.LedgerError, match=r"ledger\.db is there already; name a new file"):
        Store.create(tmp_path / "ledger.db")
    assert (tmp_path / "ledger.db").read_text("utf-8") == "another"
    assert not list(tmp_path.glob(".*"))


def test_a_ledger_that_gets_no_name_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", fail)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(ix.LedgerError, match=r"cannot make the ledger .*ledger\.db: Input/output error"):
        Store.create(tmp_path / "ledger.db")
    assert os.listdir(tmp_path) == []


def test_a_ledger_that_may_only_be_read_says_so(small: Store) -> None:
    event.listen(small._database._engine, "connect", lambda made, _: made.execute("PRAGMA query_only = ON"))
    with pytest.raises(ix.LedgerError, match="may be read here, but not be written"):
        enter(small)
    assert len(small.entries()) == 1
    assert small.verify().passed


def test_a_ledger_in_postgresql_needs_a_folder(postgres_url: str) -> None:
    with pytest.raises(ix.LedgerError, match="needs a folder"):
        Store.create(postgres_url)


def test_a_newer_form_is_refused(filled: Store, ledger_place: tuple[str, Path]) -> None:
    tamper(filled, "UPDATE indistinct_meta SET value = '2' WHERE name = 'format'")
    with pytest.raises(ix.LedgerError, match="has form 2, and this version knows 1"):
        Store(ledger_place[0])


def test_a_lost_secret_is_reported(filled: Store, ledger_place: tuple[str, Path]) -> None:
    tamper(filled, "DELETE FROM indistinct_meta WHERE name = 'secret'")
    with pytest.raises(ix.VerificationError, match="lost its secret"):
        Store(ledger_place[0])


def test_what_is_no_ledger_is_refused(tmp_path: Path, postgres_url: str) -> None:
    (tmp_path / "text.db").write_text("not a database " * 100, "utf-8")
    (tmp_path / "empty.db").touch()
    sqlite3.connect(tmp_path / "other.db").executescript("CREATE TABLE t (a)").connection.close()
    for url in (tmp_path / "text.db", tmp_path / "empty.db", tmp_path / "other.db", postgres_url):
        with pytest.raises(ix.LedgerError, match="is no ledger; make one with: indistinct ledger init"):
            Store(url)
        if isinstance(url, Path):
            with pytest.raises(ix.LedgerError, match="is there already"):
                Store.create(url)
    with pytest.raises(ix.LedgerError, match="there is no ledger at"):
        Store(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("url", ["", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "postgresql://a:b:c:d/e"])
def test_a_url_that_is_no_ledger_is_refused(url: str) -> None:
    with pytest.raises(ix.LedgerError):
        Store(url)


def test_a_sqlite_url_is_a_path(tmp_path: Path) -> None:
    with Store.create(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        enter(store)
    with Store(tmp_path / "ledger.db") as same:
        assert len(same.entries()) == 1


def end_backend(url: str, process: int) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("SELECT pg_terminate_backend(%s)", (process,))


@pytest.mark.parametrize("is_committed", [False, True])
def test_an_entry_whose_connection_breaks_at_the_commit_is_looked_up(
    is_committed: bool, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    plain = psycopg.Connection.commit

    def break_off(connection: psycopg.Connection[Any]) -> None:
        monkeypatch.undo()
        if is_committed:
            plain(connection)
        end_backend(postgres_url, connection.info.backend_pid)
        plain(connection) if not is_committed else connection.execute("SELECT 1")

    with Store.create(postgres_url, folder=tmp_path / "store") as store:
        monkeypatch.setattr(psycopg.Connection, "commit", break_off)
        if is_committed:
            assert enter(store).number == 1
        else:
            with pytest.raises(ix.LedgerError, match=r"broke off.*; try again$"):
                enter(store)
        assert len(store.entries()) == int(is_committed)
        assert len(list((tmp_path / "store").iterdir())) == int(is_committed)
        assert store.verify().passed


def test_if_nobody_can_tell_whether_an_entry_stands_that_is_said(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    plain = psycopg.Connection.commit

    def break_off(connection: psycopg.Connection[Any]) -> None:
        plain(connection)
        monkeypatch.setattr(psycopg, "connect", refuse)
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def refuse(*given: Any, **named: Any) -> None:
        raise psycopg.OperationalError("connection failed: Connection refused")

    with Store.create(postgres_url, folder=tmp_path / "store") as store:
        monkeypatch.setattr(psycopg.Connection, "commit", break_off)
        with pytest.raises(ix.LedgerError, match=r"entry may stand or not.*ledger list"):
            enter(store)
        monkeypatch.undo()
        assert len(store.entries()) == 1
        assert store.verify().passed  # its files are there


def test_a_server_that_does_not_answer_is_reported_with_what_to_do(postgres_url: str, tmp_path: Path) -> None:
    with Store.create(postgres_url, folder=tmp_path / "store") as store, store._database.reading() as connection:
        process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        end_backend(postgres_url, process)
        with (
            pytest.raises(ix.LedgerError, match=r"the server of the ledger .* broke off .*try again$"),
            store._database._explained_errors(),
        ):
            connection.exec_driver_sql("SELECT 1")
    with pytest.raises(ix.LedgerError, match=r"does not answer .*Connection refused.*try again$"):
        Store("postgresql://nobody@127.0.0.1:1/none")


def test_a_password_is_never_told(postgres_server: str) -> None:
    url = postgres_server.replace("keeper@", "keeper:geheim@") + "/nowhere"
    with pytest.raises(ix.LedgerError) as told:
        Store(url)
    assert "geheim" not in str(told.value)
    assert "nowhere" in str(told.value)


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(ix.MissingExtraError, match=r'pip install "indistinct\[postgres\]"'):
        Store("postgresql://localhost/x")


def test_a_role_that_may_only_read_and_insert_can_write(postgres_url: str, tmp_path: Path) -> None:
    store = Store.create(postgres_url, folder=tmp_path / "store")
    role = f"writer_{os.urandom(4).hex()}"
    with store._database.writing() as connection:
        connection.execute(text(f"CREATE ROLE {role} LOGIN"))
        schema = connection.execute(text("SELECT current_schema()")).scalar()
        connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {role}"))
        connection.execute(text(f"GRANT SELECT, INSERT ON indistinct_entries TO {role}"))
        connection.execute(text(f"GRANT SELECT ON indistinct_meta TO {role}"))
    with Store(postgres_url.replace("keeper@", f"{role}@")) as limited:
        enter(limited)
        assert limited.verify().passed
        with pytest.raises(ix.LedgerError, match="must be owner"), limited._database.writing() as connection:
            connection.execute(text("ALTER TABLE indistinct_entries DISABLE TRIGGER ALL"))
        with pytest.raises(ix.LedgerError, match="permission denied"), limited._database.writing() as connection:
            connection.execute(text("DELETE FROM indistinct_entries"))


# The command line.


run = partial(commands.run, "ledger")
answer = partial(commands.answer, "ledger")


@pytest.fixture
def released(store: Store, tmp_path: Path) -> Entry:
    """Return an entry that holds a real release."""
    save_examples(tmp_path)
    policy = ix.read_policy(tmp_path / "hospital.toml")
    release = ix.anonymize(tmp_path / "hospital.csv", policy)

    def write(folder: Path) -> None:
        release.write(folder / "release")
        (folder / "rows.parquet").write_bytes(b"private")

    with store.stage(write) as staged:
        manifest = json.loads((store.files.folder / staged.place / "release" / "manifest.json").read_text("utf-8"))
        said = {"manifest": manifest, "policy": ix.policy_toml(policy)}
        return store.append(draft(place=staged.place, files=staged.digests, **said), store.head)


def test_init_makes_a_ledger_and_says_where(ledger_place: tuple[str, Path]) -> None:
    url, folder = ledger_place
    made = answer("init", url, "--store", folder)
    assert (made["store"], len(made["head"])) == (str(folder), 64)
    result = run("init", url, "--store", folder)
    assert result.exit_code == 2
    assert "already" in result.stderr
    assert answer("verify", "--ledger", url, "--head", made["head"])["passed"]


def test_init_beside_the_file_is_reported_in_words(tmp_path: Path) -> None:
    result = run("init", tmp_path / "ledger.db")
    assert result.exit_code == 0
    assert "ledger.db.store" in result.stderr
    assert result.stdout == ""


def test_list_shows_entries_and_the_head(filled: Store, ledger_place: tuple[str, Path]) -> None:
    url = ledger_place[0]
    content = answer("list", "-l", url)
    assert content["head"] == filled.head
    assert [entry["recipient"] for entry in content["entries"]] == [f"recipient {n}" for n in range(1, 5)]
    assert [entry["number"] for entry in answer("list", "-l", url, "--source", "main")["entries"]] == [1, 2, 3]
    assert [e["number"] for e in answer("list", "-l", url, "--recipient", "recipient 2")["entries"]] == [2]
    result = run("list", env={"INDISTINCT_LEDGER": url, "COLUMNS": "150"})
    assert "recipient 4" in result.stdout
    assert f"4 entries, head {filled.head}" in result.stderr


@pytest.mark.slow
def test_show_tells_all_of_an_entry(released: Entry, ledger_place: tuple[str, Path]) -> None:
    content = answer("show", 1, "-l", ledger_place[0])
    assert content == json.loads(json.dumps(released.to_dict()))
    result = run("show", 1, "-l", ledger_place[0], env={"COLUMNS": "150"})
    for part in ("Registry", "cancer study", released.hash, "release/table.csv", "[columns]"):
        assert part in result.stdout
    assert answer("show", 2, "-l", ledger_place[0], exit_code=2)["error"]["kind"] == "LedgerError"


@pytest.mark.slow
def test_verify_leaves_with_4_if_something_was_changed(filled: Store, ledger_place: tuple[str, Path]) -> None:
    url, noted = ledger_place[0], filled.head
    assert run("verify", "-l", url).exit_code == 0
    assert answer("verify", "-l", url, "--head", noted)["checks"][2]["name"] == "head"
    tamper(filled, "DELETE FROM indistinct_entries WHERE number = 4")
    assert run("verify", "-l", url).exit_code == 0
    content = answer("verify", "-l", url, "--head", noted, exit_code=4)
    assert [check["name"] for check in content["checks"] if not check["passed"]] == ["head"]
    tamper(filled, "UPDATE indistinct_entries SET recipient = 'x' WHERE number = 2")
    result = run("verify", "-l", url)
    assert result.exit_code == 4
    assert "FAILED" in result.stderr
    assert run("list", "-l", url).exit_code == 4
    assert run("show", 2, "-l", url).exit_code == 4


@pytest.mark.slow
def test_export_writes_the_release_as_it_was(released: Entry, ledger_place: tuple[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert answer("export", 1, "-o", out, "-l", ledger_place[0])["written"] == str(out)
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "table.csv"]
    assert ix.verify(out, ix.read_policy(tmp_path / "hospital.toml"), original=tmp_path / "hospital.csv").passed
    result = run("export", 1, "-o", out, "-l", ledger_place[0])
    assert result.exit_code == 2
    assert "is not empty" in result.stderr


@pytest.mark.slow
def test_export_of_changed_files_writes_nothing(
    released: Entry, store: Store, ledger_place: tuple[str, Path], tmp_path: Path
) -> None:
    (store.files.folder / released.place / "release" / "table.csv").write_text("x", "utf-8")
    assert run("export", 1, "-o", tmp_path / "out", "-l", ledger_place[0]).exit_code == 4
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


def test_an_entry_without_a_release_is_not_exported(small: Store, tmp_path: Path) -> None:
    with small.stage(lambda folder: (folder / "rows.parquet").write_bytes(b"private")) as staged:
        entry = small.append(draft(place=staged.place, files=staged.digests), small.head)
    with pytest.raises(ix.LedgerError, match="entry 2 holds no release that could be written"):
        small.files.export(entry, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_export_of_files_that_change_meanwhile_writes_nothing(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "copyfile", lambda path, copy: copy.write_text("another", "utf-8"))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ix.VerificationError, match=r"entry 1: 'release/.*' changed while it was copied"):
        small.files.export(small.entry(1), tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == before


def test_export_to_where_nothing_can_be_written_writes_nothing(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", fail)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ix.OutputError, match=r"cannot write .*out: Input/output error; nothing was written"):
        small.files.export(small.entry(1), tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == before


def test_sweep_tells_how_much_it_removed(filled: Store, ledger_place: tuple[str, Path]) -> None:
    with filled.stage(ledger_writers.write_files) as orphan:
        pass
    os.utime(filled.files.folder / orphan.place, (0, 0))
    assert answer("sweep", "-l", ledger_place[0]) == {"removed": 1}
    assert "removed 0 folders" in run("sweep", "-l", ledger_place[0]).stderr


def test_the_files_can_be_elsewhere(filled: Store, ledger_place: tuple[str, Path], tmp_path: Path) -> None:
    filled.files.folder.rename(tmp_path / "moved")
    assert run("verify", "-l", ledger_place[0]).exit_code == 4
    assert run("verify", "-l", ledger_place[0], "--store", tmp_path / "moved").exit_code == 0
    assert run("verify", "-l", ledger_place[0], env={"INDISTINCT_LEDGER_STORE": str(tmp_path / "moved")}).exit_code == 0


def test_a_command_without_a_ledger_says_which_option_is_missing() -> None:
    result = run("list", env={"INDISTINCT_LEDGER": ""})
    assert result.exit_code == 2
    assert "--ledger" in result.stderr


# Heads that are noted elsewhere.


@pytest.fixture
def witnessed(ledger_place: tuple[str, Path], tmp_path: Path) -> Iterator[Store]:
    """Return a ledger with three releases whose heads are noted in a file."""
    url, folder = ledger_place
    with Store.create(url, folder=folder, witness=tmp_path / "heads") as made:
        for _ in range(3):
            enter(made)
        yield made


def test_every_head_is_noted(witnessed: Store, tmp_path: Path) -> None:
    lines = (tmp_path / "heads").read_text().splitlines()
    assert lines == [f"0 {witnessed.start}", *(f"{entry.number} {entry.hash}" for entry in witnessed.entries())]
    assert stat.S_IMODE((tmp_path / "heads").stat().st_mode) == 0o600
    assert witnessed.verify().passed


def test_entries_cut_off_at_the_end_are_seen_by_the_witness(witnessed: Store) -> None:
    """The chain that is left is whole, so nothing else tells."""
    tamper(witnessed, "DELETE FROM indistinct_entries WHERE number = 3")
    assert failed(witnessed) == {
        "witness": "entry 3 is not what was noted: entries were removed, changed or exchanged since"
    }
    with pytest.raises(ix.VerificationError, match="witness: entry 3"):
        witnessed.entries()


def test_another_ledger_in_its_place_is_seen_by_the_witness(witnessed: Store, tmp_path: Path) -> None:
    with Store.create(tmp_path / "other.db") as other:
        audit = other.verify(witness=witnessed.witness.path)
    found = {check.name: check.detail for check in audit.checks if not check.passed}
    assert found == {"witness": "this is another ledger than the one that was noted"}


def test_a_witness_that_lags_behind_is_reported(witnessed: Store, tmp_path: Path) -> None:
    lines = (tmp_path / "heads").read_text().splitlines(keepends=True)
    (tmp_path / "heads").write_text("".join(lines[:-1]))
    audit = witnessed.verify()
    assert audit.passed
    assert "3 heads noted elsewhere, all in the chain, 1 entry since" in str(audit)


@pytest.mark.parametrize("content", [None, "", "nonsense\n", "1 abc\n", "\xff"])
def test_a_witness_that_cannot_be_read_fails(witnessed: Store, tmp_path: Path, content: str | None) -> None:
    (tmp_path / "heads").unlink()
    if content is not None:
        (tmp_path / "heads").write_text(content, "latin-1")
    assert set(failed(witnessed)) == {"witness"}


def test_no_entry_is_made_without_its_witness(witnessed: Store, tmp_path: Path) -> None:
    (tmp_path / "heads").unlink()
    with pytest.raises(ix.LedgerError, match="cannot be written, so no entry is made"):
        enter(witnessed)


def test_a_witness_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "heads").write_text("mine")
    with pytest.raises(ix.LedgerError, match="is there already"):
        Store.create(tmp_path / "new.db", witness=tmp_path / "heads")
    assert (tmp_path / "heads").read_text() == "mine"
    assert not (tmp_path / "new.db").exists()


def test_a_disk_that_may_not_be_written_is_reported(tmp_path, monkeypatch):
    """There even the removal of what is not there fails, in other words."""

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(ix.LedgerError, match=r"cannot make the ledger .*: Read-only file system"):
        Store.create(tmp_path / "ledger.db")


def test_a_signal_while_a_connection_is_closed_prints_no_traceback(tmp_path, monkeypatch, capfd):
    """SQLAlchemy logs what it catches there, and where nobody set up logging Python prints that."""
    from sqlalchemy.engine.default import DefaultDialect

    store = Store.create(tmp_path / "ledger.db")
    honest = DefaultDialect.do_close

    def interrupted(self, connection):
        honest(self, connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(DefaultDialect, "do_close", interrupted)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own would take it
    with pytest.raises(KeyboardInterrupt):
        store.head  # noqa: B018
    assert capfd.readouterr().err == ""


def test_a_ledger_without_a_witness_warns(small: Store) -> None:
    audit = small.verify()
    assert audit.passed
    assert "no head is noted elsewhere" in audit.warnings[0]
    assert audit.to_dict()["warnings"] == list(audit.warnings)
    assert small.verify(small.head).warnings == ()


def test_heads_that_manifests_state_are_looked_up(small: Store) -> None:
    before = small.head
    enter(small, manifest={"ledger_head": before})
    assert small.verify().passed
    enter(small, manifest={"ledger_head": "0" * 64})
    assert failed(small) == {"heads in releases": "entry 3: its manifest states a head that no earlier entry has"}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DROP TRIGGER indistinct_entries_update", "the trigger indistinct_entries_update is missing or another"),
        ("CREATE VIEW people AS SELECT * FROM indistinct_entries", "a view that no ledger has: 'people'"),
        ("CREATE TABLE notes (note)", "a table that no ledger has: 'notes'"),
        ("CREATE INDEX quick ON indistinct_entries (time)", "a index that no ledger has: 'quick'"),
    ],
)
def test_what_a_database_has_or_lacks_is_noticed(tmp_path: Path, statement: str, told: str) -> None:
    Store.create(tmp_path / "ledger.db").close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute(statement)
    connection.close()
    with Store(tmp_path / "ledger.db") as store:
        assert failed(store) == {"database": told}


def test_a_guard_that_does_nothing_is_noticed(tmp_path: Path) -> None:
    Store.create(tmp_path / "ledger.db").close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TRIGGER indistinct_meta_delete")
        connection.execute("CREATE TRIGGER indistinct_meta_delete BEFORE DELETE ON indistinct_meta BEGIN SELECT 1; END")
    connection.close()
    with Store(tmp_path / "ledger.db") as store:
        assert list(failed(store)) == ["database"]


def test_a_postgres_guard_that_is_gone_is_noticed(postgres_url: str, tmp_path: Path) -> None:
    with Store.create(postgres_url, folder=tmp_path / "store") as store:
        with pytest.raises(ix.LedgerError, match="holds a ledger already"):
            Store.create(postgres_url, folder=tmp_path / "other")
        with store._database.writing() as connection:
            limits = [f"SHOW {name}" for name in ("lock_timeout", "idle_in_transaction_session_timeout")]
            assert [connection.exec_driver_sql(limit).scalar() for limit in limits] == ["1min", "1min"]
        assert store.verify().passed
        with store._database.writing() as connection:
            connection.execute(text("ALTER TABLE indistinct_entries DISABLE TRIGGER indistinct_entries_kept"))
            connection.execute(text("CREATE RULE nothing AS ON INSERT TO indistinct_meta DO ALSO NOTHING"))
        assert "indistinct_entries_kept" in failed(store)["database"]
        assert "rule that no ledger has: 'nothing'" in failed(store)["database"]


@pytest.mark.parametrize("name", ["", "release", "release/table.csv"])
def test_links_in_the_store_are_noticed(ledger_place: tuple[str, Path], tmp_path: Path, name: str) -> None:
    """What a link leads to can be exchanged whenever nobody looks."""
    url, folder = ledger_place
    with Store.create(url, folder=folder) as store:
        entry = enter(store)
        inside = store.files.folder / entry.place / name
        assert inside.exists()
        shutil.move(inside, tmp_path / "elsewhere")
        inside.symlink_to(tmp_path / "elsewhere")
        assert "is a link to another place" in failed(store)["files"]


@pytest.mark.parametrize("name", ["", "a" * 32, "notes.txt"])
def test_a_store_that_is_a_link_or_holds_one_is_noticed(tmp_path: Path, name: str) -> None:
    with Store.create(tmp_path / "ledger.db") as store:
        enter(store)
        assert store.verify().passed
        place = store.files.folder / name
        if not name:
            shutil.move(place, tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
        said = repr(name) if name else str(place)
        assert failed(store) == {
            "store": f"{said} is a link to another place; put the folder itself there, or name it with --store"
        }
    if not name:
        with Store(tmp_path / "ledger.db", folder=tmp_path / "elsewhere") as moved:
            assert moved.verify().passed


WRONG = [None, -1, 1.5, float("inf"), b"\xff\x00", "", "\0", "[]", "null", "[[[", '{"release/x": 5}', "9" * 400]


def loosened(path: Path) -> sqlite3.Connection:
    """Open a ledger whose tables were made anew without types, so that every cell takes everything."""
    connection = sqlite3.connect(path)
    for table in ("indistinct_entries", "indistinct_meta"):
        names = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
        connection.executescript(
            f"CREATE TABLE loose ({names}); INSERT INTO loose SELECT * FROM {table}; "
            f"DROP TABLE {table}; ALTER TABLE loose RENAME TO {table};"
        )
    return connection


@pytest.mark.slow
@pytest.mark.parametrize("column", [item.name for item in dataclasses.fields(Entry)])
def test_cells_of_any_type_are_answered(tmp_path: Path, column: str) -> None:
    """Whatever stands in a row of the ledger, verify tells it and nobody gets a TypeError."""
    with Store.create(tmp_path / "ledger.db") as store:
        enter(store)
        enter(store)
    connection = loosened(tmp_path / "ledger.db")
    right = connection.execute(f"SELECT {column} FROM indistinct_entries WHERE rowid = 2").fetchone()[0]
    for wrong in WRONG:
        connection.execute(f"UPDATE indistinct_entries SET {column} = ? WHERE rowid = 2", (wrong,))
        connection.commit()
        with Store(tmp_path / "ledger.db") as store:
            assert "chain" in failed(store)
            for action in (store.entries, lambda: store.entry(2), store.sweep, lambda: store.head):
                with contextlib.suppress(ix.VerificationError, ix.LedgerError):
                    action()
            assert json.dumps(store.verify().to_dict())
    connection.execute(f"UPDATE indistinct_entries SET {column} = ? WHERE rowid = 2", (right,))
    connection.commit()
    connection.close()
    with Store(tmp_path / "ledger.db") as store:
        assert list(failed(store)) == ["database"]


@pytest.mark.parametrize("name", ["format", "secret", "folder", "witness"])
def test_what_a_ledger_says_of_itself_is_no_text(tmp_path: Path, name: str) -> None:
    Store.create(tmp_path / "ledger.db").close()
    connection = loosened(tmp_path / "ledger.db")
    for wrong in (None, 5, 1.5, b"\xff", "\0"):
        connection.execute("DELETE FROM indistinct_meta WHERE name = ?", (name,))
        connection.execute("INSERT INTO indistinct_meta VALUES (?, ?)", (name, wrong))
        connection.commit()
        with pytest.raises((ix.LedgerError, ix.VerificationError)):
            Store(tmp_path / "ledger.db")
    connection.close()


def test_the_head_of_an_empty_ledger_is_a_head_that_can_be_noted(tmp_path):
    store = Store.create(tmp_path / "ledger.db")
    (head,) = [check for check in store.verify(head=store.head).checks if check.name == "head"]
    assert (head.passed, head.detail) == (True, "the head is that of the empty ledger")


@pytest.mark.parametrize(("name", "wrong"), [("x" * 5000, "cannot be read: File name too long"), ("a\0b", "no file")])
def test_names_of_files_that_no_disk_takes_are_findings(name: str, wrong: str, tmp_path: Path) -> None:
    from types import SimpleNamespace

    from indistinct.ledger.store.entry_files import Files

    (tmp_path / ("ab" * 16)).mkdir()
    entry: Any = SimpleNamespace(place="ab" * 16, files={name: "0" * 64})
    (found,) = Files(tmp_path).findings(entry)
    assert found.endswith(wrong)
