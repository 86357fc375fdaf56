"""What a ledger has entered is on the disk, whole, whatever breaks while it is written."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

import indistinct as ix
from indistinct import atomic_files
from indistinct.errors import LedgerError, OutputError, VerificationError
from indistinct.ledger.store import database, entry_files, store, witness
from indistinct.ledger.store.database import Database
from indistinct.ledger.store.entry import Draft, Entry
from indistinct.ledger.store.entry_files import Files
from indistinct.ledger.store.spending import Spending
from indistinct.ledger.store.store import HeadMoved
from indistinct.ledger.store.witness import Witness

START = "0" * 64


DIGEST = "1" * 64


PLACE = "ab" * 16


def draft(**changed: Any) -> Draft:
    said = {"recipient": "ward", "manifest": {"released": 2}, "policy": "version = 1", "files": {}, "place": PLACE}
    return Draft(**(said | changed))  # type: ignore[arg-type]


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


def test_everything_is_flushed_before_it_counts(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    for module, name in product((entry_files, atomic_files), ("flush", "flush_all", "flush_name")):
        monkeypatch.setattr(module, name, flushed.append, raising=False)
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

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr("indistinct.atomic_files.give_name", fail)
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


def test_values_of_a_ledger_are_in_no_error_of_its_database(tmp_path: Path) -> None:
    assert database.Database(tmp_path / "ledger.db")._engine.hide_parameters
    pytest.importorskip("psycopg")
    assert database.Database("postgresql://host/db")._engine.hide_parameters


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


def test_a_noted_head_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(witness, "flush", flushed.append)
    (tmp_path / "heads").touch()
    Witness(str(tmp_path / "heads")).note(1, START)
    assert flushed == [tmp_path / "heads"]


def test_a_database_is_let_go_and_written_safely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Any] = []
    real = sqlite3.connect

    def connect(*given: Any, **more: Any) -> Any:
        connection = real(*given, **more)
        settings.append((more["uri"], more["check_same_thread"], given[0].endswith("?mode=rw")))
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    closed: list[object] = []
    with store.Store.create(tmp_path / "ledger.db") as made:
        assert made.name == str(tmp_path / "ledger.db")
        assert set(settings) == {(True, False, True)}
        with made._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        monkeypatch.setattr(type(made._database), "close", lambda database: closed.append(database))
    assert closed == [made._database]
    with ix.Ledger(tmp_path / "ledger.db") as opened:
        database = opened.store._database
    assert closed[-1] is database


def test_a_store_that_was_there_stays_if_a_ledger_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise LedgerError("no room")

    monkeypatch.setattr(Database, "make_tables", fail)
    folder = tmp_path / "files"
    folder.mkdir()
    with pytest.raises(LedgerError, match="no room"):
        store.Store.create(tmp_path / "ledger.db", folder=folder)
    assert folder.is_dir()
    folder.rmdir()
    monkeypatch.undo()
    real = Files.create

    def make_and_fail(files: Any) -> None:
        real(files)
        fail()

    monkeypatch.setattr(Files, "create", make_and_fail)
    with pytest.raises(LedgerError, match="no room"):
        store.Store.create(tmp_path / "ledger.db", folder=folder)
    assert not folder.exists()


class Cut(Exception):
    """What a driver says of a connection that broke; it may have no words."""


def test_an_entry_whose_connection_breaks_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with PostgreSQL, whose server may end before a transaction, in it, or between the commit and its answer."""
    real, at = Database.writing, ["nowhere"]

    @contextmanager
    def writing(self: Database) -> Any:
        monkeypatch.setattr(Database, "writing", real)  # what comes after it goes well
        if at[0] == "before":
            raise database.BrokenOffError("before")
        with self.writing() as connection:
            yield connection
            if at[0] == "inside":
                raise database.BrokenOffError("inside")
            if at[0] == "another writer":
                raise IntegrityError("INSERT", {}, Cut())
        if at[0] == "after":
            raise database.BrokenOffError("after")

    def entered(where: str) -> Any:
        at[0] = where
        monkeypatch.setattr(Database, "writing", writing)
        draft = Draft(recipient="R", manifest={}, policy="p", files={}, place="ab" * 16)
        return made.append(draft, made.head)

    with store.Store.create(tmp_path / "ledger.db") as made:
        (made.files.folder / ("ab" * 16)).mkdir()
        for where in ("before", "inside"):
            with pytest.raises(database.BrokenOffError, match=where):
                entered(where)
            assert made.entries() == []
        with pytest.raises(HeadMoved) as moved:
            entered("another writer")
        assert moved.value.head == made.head
        assert entered("after").number == 1
        assert len(made.entries()) == 1
        reading = Database.reading

        @contextmanager
        def silent(self: Database) -> Any:
            if Database.writing is real:  # it broke off already
                raise LedgerError("silence")
            with reading(self) as connection:
                yield connection

        monkeypatch.setattr(Database, "reading", silent)
        monkeypatch.setattr(Database, "writing", writing)
        with pytest.raises(LedgerError, match="while entry 2 was committed, and does not answer: the entry may stand"):
            entered("after")
        monkeypatch.undo()
        assert len(made.entries()) == 2


def test_a_server_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    at = Database("postgresql://me:secret@host/db")
    assert (at.name, at.path) == ("postgresql://me:***@host/db", None)


def test_a_witness_that_cannot_be_begun_makes_no_ledger_that_passes(tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        store.Store.create(tmp_path / "ledger.db", witness=tmp_path / "no" / "heads")
    at = Witness(tmp_path / "heads")
    at.begin(START)
    with pytest.raises(LedgerError):
        at.begin(DIGEST)
    assert at.heads() == [(0, START)]


def test_a_folder_that_is_a_link_is_none(files: Files) -> None:
    one = stored(files)
    (files.folder / one.place).rename(files.folder / "away")
    (files.folder / one.place).symlink_to(files.folder / "away")
    with pytest.raises(VerificationError):
        files.path(one, "members.parquet")


def test_texts_of_a_database_that_are_none_are_reported_as_damage(tmp_path: Path) -> None:
    made = Database(tmp_path / "ledger.db")
    with pytest.raises(LedgerError), made._explained_errors():
        b"\xff".decode()
    made.close()


def test_a_budget_that_is_no_number_is_refused(tmp_path: Path) -> None:
    store.Store.create(tmp_path / "ledger.db", budget=Spending(1.0, 1e-5)).close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TRIGGER indistinct_meta_update")
        connection.execute("UPDATE indistinct_meta SET value = 'x' WHERE name = 'epsilon'")
    connection.close()
    with pytest.raises(LedgerError):
        store.Store(tmp_path / "ledger.db")
