"""A ledger as a whole, by hand: few rows, every number known, and writers that come in between."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError

import indistinct as ix
import indistinct.ledger
from indistinct.engine import KEY
from indistinct.errors import LedgerError, RefusedError
from indistinct.ledger import adding, offer
from indistinct.ledger import ledger as module
from indistinct.ledger.again import History, with_internal_columns
from indistinct.ledger.history import Earlier
from indistinct.ledger.offer import pseudonym_key
from indistinct.ledger.store import database, store
from indistinct.ledger.store.database import Database
from indistinct.ledger.store.entry import Draft
from indistinct.ledger.store.entry_files import Files
from indistinct.ledger.store.spending import Spending
from indistinct.ledger.store.store import HeadMoved
from indistinct.ledger.store.witness import FileWitness, GitWitness
from indistinct.ledger.terms import Terms, policy_text
from indistinct.policy import Policy
from indistinct.recoding.classes import LINK
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


def test_the_room_gives_the_ledger_and_nothing_else() -> None:
    assert indistinct.ledger.Ledger is module.Ledger
    with pytest.raises(AttributeError, match="Nothing"):
        _ = indistinct.ledger.Nothing


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
        assert release.facts["based"] is True
    another = Policy({"name": ix.identifier(), "ill": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError, match="'age' of the table is not declared"):
        ledger.anonymize(FOUR, another, recipient="R", again="based")
    with ledger.anonymize(FOUR.drop_columns("age"), another, recipient="R", again="based") as release:
        assert "based" not in release.facts  # the earlier releases show no column that this one generalizes


def test_a_release_says_which_cells_could_not_be_read_and_its_salt(
    ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(POLICY, columns={**POLICY.columns, "age": ix.quasi(ix.intervals(10, 100), unreadable="suppress")})
    monkeypatch.setenv("KEY_OF_PEOPLE", "k" * 40)
    named = replace(policy, person={"column": "name", "release": "pseudonym", "key_env": "KEY_OF_PEOPLE"})
    unread = FOUR.set_column(1, "age", [["31", "32", "45", "?"]])
    with ledger.anonymize(unread, named, recipient="R") as release:
        assert release.facts["unreadable"] == {"age": 1}
        assert len(release.facts["pseudonym_salt"]) == 32


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


def test_rows_that_were_drawn_are_booked_and_not_joined(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    private = ix.Policy({"age": ix.quasi(ix.intervals(10))}, [ix.DifferentialPrivacy(1.0, 1e-4)], algorithm="safepub")
    asked: list[Any] = []
    assert ledger.check(None, private, recipient="R") is module.ALONE  # the table is not looked at
    monkeypatch.setattr(module, "make_release", lambda *given, watch, **__: asked.append((*given, watch)))
    monkeypatch.setattr(module.Ledger, "_give_drawn", lambda *given: given[1:])
    watch = ix.Watch()
    (_, terms, goal) = ledger.anonymize(None, private, recipient="R", watch=watch)
    assert (terms.recipient, goal.folder, asked) == ("R", None, [(None, private, watch)])

    def overspent(*_: object) -> None:
        raise RefusedError("spent")

    monkeypatch.setattr(module.Ledger, "_refuse_overspending", overspent)
    with pytest.raises(RefusedError):
        ledger.anonymize(None, private, recipient="R")
    assert len(asked) == 1  # nothing was made of what the budget does not allow
    at: Any = SimpleNamespace(head="0" * 64, _refuse_overspending=overspent, _append=lambda *given: given[5])
    assert module.Ledger._append_drawn(at, terms, Path("x"), {"added": True}) == {"added": True}
    with pytest.raises(RefusedError):  # what has not left the house is not given
        module.Ledger._append_drawn(at, terms, Path("x"), {})
    entries = [SimpleNamespace(is_drawn=is_drawn, number=number) for number, is_drawn in enumerate((True, False))]
    at = SimpleNamespace(store=SimpleNamespace(entries=lambda source: entries, files=None))

    def note(every: list[Any]) -> list[Any]:
        asked.append(every)
        return []

    held: Any = SimpleNamespace(source="main", names_rows=False, entries_held=note)
    module.Ledger._earlier(at, held, {})
    assert asked[1:] == [entries[1:]]


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


@pytest.mark.parametrize(("node", "is_apart"), [(None, False), ({"age": 0}, True)])
def test_what_tells_nobody_groups_cannot_be_entered(monkeypatch: pytest.MonkeyPatch, node: Any, is_apart: bool) -> None:
    monkeypatch.setattr(adding, "has_manifest", lambda folder: True)
    released = SimpleNamespace(said={"node": node}, is_apart=is_apart)
    monkeypatch.setattr(adding, "ReleasedTables", SimpleNamespace(of=lambda folder, policy: released))
    monkeypatch.setattr(adding, "verify", lambda *_: SimpleNamespace(raise_if_failed=lambda: None))
    with pytest.raises(LedgerError, match="cannot be entered afterwards"):
        adding.write_members_of(Path("x"), None, POLICY, None, Path("y"))  # type: ignore[arg-type]


def test_keys_of_pseudonyms_are_made_where_there_are_any() -> None:
    assert pseudonym_key(Terms(POLICY, "R"), bytes(32)) is None
    numbered = replace(POLICY, columns={**POLICY.columns, "name": ix.identifier(pseudonym="stable")})
    keys = [pseudonym_key(Terms(numbered, "R", source), bytes(32)) for source in ("a", "b")]
    assert None not in keys


def test_the_file_of_a_key_is_read_where_a_person_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    linked = replace(POLICY, person={"column": "name", "release": "pseudonym", "key_file": "file.key"})
    monkeypatch.setattr("indistinct.release.pseudonyms.read_key", lambda person: person.columns[0].encode())
    made = [pseudonym_key(Terms(linked, "R"), bytes(32)) for _ in range(2)]
    assert all(key is not None and key.salt for key in made)


def test_what_is_recognised_is_let_go_and_knows_what_was_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    recognised: Any = SimpleNamespace(close=lambda: closed.append("recognised"))
    rows: Any = SimpleNamespace(recognise=lambda how: recognised, unreadable={"age": 2})
    with offer.recognise_people(rows, "how") as given:  # type: ignore[arg-type]
        assert (given.unreadable, closed) == ({"age": 2}, [])
    assert closed == ["recognised"]

    def refuse(*_: object) -> None:
        raise OSError("full")

    release: Any = SimpleNamespace(close=lambda: closed.append("release"))
    with pytest.raises(OSError, match="full"):
        module.Ledger._give_drawn(None, release, None, SimpleNamespace(write=refuse))  # type: ignore[arg-type]
    assert closed == ["recognised", "release"]
    known = History(path=Path("told"), based={"age": ix.suppress()})
    assert (offer.recognition(Terms(POLICY, "R"), bytes(32), known).earlier) == Path("told")
    assert (offer.recognition(Terms(POLICY, "R"), bytes(32), known).based) == ("age",)


@pytest.mark.parametrize(("is_divided", "first", "group"), [(False, "table", ("age",)), (True, "quasi", [LINK])])
def test_members_are_written_by_the_groups_that_a_release_shows(
    monkeypatch: pytest.MonkeyPatch, is_divided: bool, first: str, group: Any
) -> None:
    written: list[tuple[Any, ...]] = []
    part = SimpleNamespace(without=lambda columns: columns)
    monkeypatch.setattr(offer, "recode_rows", lambda *_: {first: part})
    monkeypatch.setattr(offer, "count_and_hide_people", lambda parts, *_: [])
    recognised: Any = SimpleNamespace(write_members=lambda *given: written.append(given))
    recoding: Any = SimpleNamespace(is_divided=is_divided)
    counted: Any = SimpleNamespace(encoded=None)
    parts, _ = offer.recode_recognised(recognised, counted, recoding, POLICY, Path("members"))
    assert written == [(part, Path("members"), group, ("ill",))]
    assert parts == {first: [KEY]}


def test_internal_columns_keep_the_quasi_identifiers() -> None:
    several = replace(POLICY, quasi_identifiers={"one": ["age"]})
    assert with_internal_columns(several).quasi_identifiers == several.quasi_identifiers
    given = with_internal_columns(several, None, {"other": ["age"]})
    assert given.quasi_identifiers is not None
    assert list(given.quasi_identifiers) == ["other"]


def test_a_policy_that_no_file_can_hold_has_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise ix.PolicyError("a model of elsewhere")

    monkeypatch.setattr("indistinct.ledger.terms.policy_toml", refuse)
    turned = replace(POLICY, columns=dict(reversed([*POLICY.columns.items()])))
    assert policy_text(POLICY) == policy_text(turned)
    assert json.loads(policy_text(POLICY))["privacy"] == [{"model": "k-anonymity", "k": 2}]


# Files and databases


def test_a_folder_is_left_over_from_the_second_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    files = Files(tmp_path / "store")
    files.create()
    place = "ab" * 16
    (files.folder / place).mkdir()
    os.utime(files.folder / place, (1000, 1000))
    monkeypatch.setattr("indistinct.ledger.store.entry_files.time.time", lambda: 1100.0)
    assert [path.name for path in files.left_over([], 100)] == [place]
    assert files.left_over([], 101) == []
    assert files.left_over([place], 0) == []


class Cut(Exception):
    """What a driver says of a connection that broke; it may have no words."""


@pytest.mark.parametrize(("words", "reason"), [("cut\nat line 2", "cut"), ("", "Cut")])
def test_a_connection_that_breaks_off_is_told_apart(tmp_path: Path, words: str, reason: str) -> None:
    at = Database(tmp_path / "a.db")
    broken = rf"broke off the connection \({reason}\); try again"
    with pytest.raises(database.BrokenOffError, match=broken), at._told_errors():
        raise DBAPIError("SELECT", {}, Cut(words), connection_invalidated=True)
    with pytest.raises(LedgerError, match=rf"{reason}$") as told, at._told_errors():
        raise DBAPIError("SELECT", {}, Cut(words))
    assert not isinstance(told.value, database.BrokenOffError)
    with pytest.raises(IntegrityError), at._told_errors():
        raise IntegrityError("INSERT", {}, Cut(words))


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


def test_a_witness_in_git_is_a_file_and_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, asked = {"rev-parse": "true\n", "log": f"+++ b/heads\n+0 {'1' * 64}\n-x\n"}, []

    def git(self: GitWitness, *words: str) -> str:
        asked.append(words[0])
        return said.get(words[0], "")

    monkeypatch.setattr(GitWitness, "_git", git)
    at = GitWitness(tmp_path / "heads")
    at.refuse_occupied()
    at.begin("0" * 64)
    assert at.lines() == [f"0 {'1' * 64}", f"0 {'0' * 64}"]  # what it ever said, and what it says
    assert asked == ["rev-parse", "add", "commit", "log"]
    with pytest.raises(LedgerError, match="is there already"):
        at.refuse_occupied()
    said["rev-parse"] = "false"
    with pytest.raises(LedgerError, match="in no git work tree"):
        GitWitness(tmp_path / "other").refuse_occupied()


def test_what_cannot_be_swept_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.Store.create(tmp_path / "ledger.db") as made:
        (made.files.folder / ("ab" * 16)).mkdir()
        asked: list[dict[str, Any]] = []
        monkeypatch.setattr(store.shutil, "rmtree", lambda folder, **how: asked.append(how))  # type: ignore[attr-defined]
        assert made.sweep(older_than=-10) == 1
        assert asked == [{"ignore_errors": True}]


def test_a_ledger_whose_witness_takes_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise LedgerError("no heads here")

    closed: list[object] = []
    monkeypatch.setattr(FileWitness, "begin", refuse)
    monkeypatch.setattr(store.Store, "close", lambda self: closed.append(self))
    with pytest.raises(LedgerError, match="no heads here"):
        store.Store.create(tmp_path / "ledger.db", witness=tmp_path / "heads")
    assert len(closed) == 1


def test_a_store_stays_if_somebody_else_made_the_ledger(tmp_path: Path) -> None:
    files = Files(tmp_path / "store")

    def fail(place: Path, is_there: bool) -> None:
        with store._new_database(place, files):
            files.folder.mkdir()
            if is_there:
                place.touch()
            raise LedgerError("stop")

    for is_there in (False, True):
        with pytest.raises(LedgerError, match="stop"):
            fail(tmp_path / f"{is_there}.db", is_there)
        assert files.folder.exists() is is_there


def test_an_entry_without_a_hash_is_noticed(ledger: Any) -> None:
    class Answer:
        def __init__(self, number: Any, head: Any) -> None:
            self.number, self.hash = number, head

        def execute(self, *_: object) -> Answer:
            return self

        def first(self) -> Answer:
            return self

    assert ledger.store._last(Answer(3, "ab")) == (3, "ab")
    for number, head in ((3, None), (None, "ab"), ("3", "ab"), (True, "ab")):
        with pytest.raises(ix.VerificationError, match="no number or no hash"):
            ledger.store._last(Answer(number, head))


def test_a_server_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    at = Database("postgresql://me:secret@host/db")
    assert (at.name, at.path) == ("postgresql://me:***@host/db", None)


def test_tables_of_each_kind_have_their_guards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(database.TABLES, "create_all", lambda *_, **__: None)
    for at, guards in ((tmp_path / "a.db", database.SQLITE_GUARDS), ("postgresql://h/d", database.POSTGRES_GUARDS)):
        said: list[str] = []
        Database(at).make_tables(SimpleNamespace(exec_driver_sql=said.append))  # type: ignore[arg-type]
        assert said == list(guards)


def test_a_draft_of_a_database_is_closed_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    flushed: list[Path] = []
    monkeypatch.setattr(Database, "close", lambda self: closed.append((tmp_path / "new.db").exists()))
    monkeypatch.setattr(database, "flush", flushed.append)
    with database.new_sqlite(tmp_path / "new.db"):
        pass
    assert closed == [False]
    assert flushed == [tmp_path]
