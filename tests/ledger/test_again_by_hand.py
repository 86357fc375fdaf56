"""Releases that keep to earlier ones, by hand: who must be left out, what joins, and how heads are sent."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.engine import ABSENT, HISTORY, open_table
from indistinct.errors import InfeasibleError, LedgerError, RefusedError, VerificationError
from indistinct.ledger import again, history, offer
from indistinct.ledger.again import History
from indistinct.ledger.earlier_signatures import UNKNOWN, Signatures
from indistinct.ledger.history import Earlier, Failure, Linked
from indistinct.ledger.ledger import Ledger
from indistinct.ledger.store import store, witness
from indistinct.ledger.store.database import Database
from indistinct.ledger.store.entry import due_entries
from indistinct.ledger.store.entry_files import Files
from indistinct.ledger.store.witness import witness_at
from indistinct.ledger.terms import Terms
from indistinct.policy import Policy
from indistinct.progress import Watch

START = "0" * 64
POLICY = Policy({"age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(3)])


# Who must be left out


class Made:
    """A recoding as far as it is asked who is in which group: pieces of tuples, each of one history."""

    is_divided = False
    number_of_groups = 6
    groups = (0, 1, 1, 2, 3, -1, 4, 5)
    tuples = (0, 1, 1, 2, 3, 4, 5, 6)
    rows_of = (5, 1, 3, 1, 2, 2, 1, 4)
    values = ("0", "1", "2", "2", "3", "4", None)
    """The history of each tuple: None is of people who are new."""

    def __init__(self, suppressed: int = 2, rows: int = 19) -> None:
        self.suppressed_rows, self.rows, self.left_out = suppressed, rows, []
        self.released_rows = rows - suppressed
        self.frequencies = SimpleNamespace(
            columns=["age", HISTORY],
            hierarchies=[None, SimpleNamespace(values=self.values)],
            entry_codes=lambda column: np.arange(len(self.values)),
        )

    def as_pieces(self) -> Any:
        return SimpleNamespace(
            groups=np.array(self.groups), tuples=np.array(self.tuples), rows=np.array(self.rows_of), count=8
        )

    def without_groups(self, more: Any) -> Any:
        self.left_out = np.flatnonzero(more).tolist()
        return self


def left_out(k: int, *sizes: int) -> list[int]:
    made = Made()
    assert again.leave_out_enough(made, np.array(sizes), k) is made  # type: ignore[arg-type]
    return made.left_out


def test_nobody_is_missed_in_too_small_a_group() -> None:
    # released: 5 of history 0, 4 of 1, 3 of 2 in the groups 2 and 3, none of 3, 1 of 4, and 4 new people
    assert left_out(3, 5, 4, 3, 2, 1) == []
    assert left_out(3, 6, 4, 3, 2, 1) == [0]
    assert left_out(3, 5, 4, 4, 2, 1) == [2, 3]  # one is gone: the smaller group first, and that is not enough
    assert left_out(2, 5, 4, 4, 2, 1) == [2]
    assert left_out(3, 5, 4, 6, 2, 1) == []  # three are gone
    assert left_out(3, 5, 4, 3, 2, 2) == [4]
    assert left_out(3, 6, 5, 3, 2, 1) == [0, 1]


def test_a_recoding_that_leaves_out_enough_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Made, "without_groups", lambda *_: pytest.fail("nobody has to go"))
    assert left_out(3, 5, 4, 3, 2, 1) == []


def search(monkeypatch: pytest.MonkeyPatch, made: Any, told: History, budget: int = 5) -> Any:
    def find(*_: object) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(again, "search", find)
    counted = SimpleNamespace(task=SimpleNamespace(budget=budget), policy=POLICY)
    return again.search_again(counted, SimpleNamespace(name="x"), told, Watch())  # type: ignore[arg-type]


def test_a_search_keeps_to_earlier_releases_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.array([5, 4, 3, 2, 1])
    made = Made()
    assert search(monkeypatch, made, History()) is made
    assert search(monkeypatch, made, History((POLICY,))) is made
    with monkeypatch.context() as broken:
        broken.setattr(again, "leave_out_enough", lambda *_: pytest.fail("nothing is known of people"))
        assert search(broken, made, History((POLICY,))) is made
    assert search(monkeypatch, made, History((POLICY,), None, sizes)) is made
    with pytest.raises(InfeasibleError, match=r"^none$"):
        search(monkeypatch, InfeasibleError("none"), History())
    with pytest.raises(RefusedError, match=r"keeps to the earlier ones: none$"):
        search(monkeypatch, InfeasibleError("none"), History((POLICY,)))
    with pytest.raises(RefusedError, match=r"keeps to the earlier ones: none\. New people must be as many"):
        search(monkeypatch, InfeasibleError("none"), History((POLICY,), None, sizes))
    divided = Made()
    divided.is_divided = True
    with pytest.raises(RefusedError, match="two tables cannot be made to keep"):
        search(monkeypatch, divided, History((POLICY,), None, sizes))
    assert search(monkeypatch, divided, History((POLICY,))) is divided


@pytest.mark.parametrize(("suppressed", "released", "budget", "passes"), [(5, 1, 5, 1), (6, 1, 5, 0), (5, 0, 5, 0)])
def test_only_so_many_may_be_left_out(
    monkeypatch: pytest.MonkeyPatch, suppressed: int, released: int, budget: int, passes: int
) -> None:
    asked = []

    def leave_out(recoding: Any, sizes: Any, k: int) -> Any:
        asked.append(k)
        return Made(suppressed, suppressed + released)

    monkeypatch.setattr(again, "leave_out_enough", leave_out)
    stricter = replace(POLICY, privacy=[ix.KAnonymity(7)])
    told = History((POLICY, stricter), None, np.array([1]))
    if passes:
        assert search(monkeypatch, Made(0, 9), told, budget).released_rows == 1
    else:
        with pytest.raises(RefusedError, match=f"{suppressed} of {suppressed + released} rows must be suppressed"):
            search(monkeypatch, Made(0, 9), told, budget)
    assert asked == [7]


def test_columns_that_a_release_can_be_based_on() -> None:
    other = Policy({"age": ix.quasi(ix.suppress()), "sex": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])

    def shown(form: str | None, policy: Policy) -> tuple[str, ...]:
        entry = SimpleNamespace(manifest={} if form is None else {"form": form})
        return again._columns_shown_last(other, SimpleNamespace(entries=[entry], policies=[other, policy]))  # type: ignore[arg-type]

    assert shown(None, POLICY) == ("age",)
    assert shown(None, other) == ("age", "sex")
    assert shown("two tables", other) == ()


class Kept:
    """Histories that were opened, and what was asked of them."""

    def __init__(self, *given: Any, **limits: Any) -> None:
        self.given, self.limits = given, limits

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def write(self, path: Path, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def cells(self) -> tuple[None, Any]:
        return None, np.array([2])


def test_a_history_says_what_labels_to_begin_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = SimpleNamespace(manifest={}, number=1)
    earlier: Any = SimpleNamespace(entries=[entry], policies=[POLICY], histories=Kept)
    algorithm: Any = SimpleNamespace(name="lattice")

    def told(how: str | None, policy: Policy = POLICY) -> History:
        terms: Any = SimpleNamespace(policy=policy, again=how)
        with open_table(pa.table({"age": ["1", "2"], "ill": ["x", "y"]})) as rows:
            return again.tell_history(rows, terms, algorithm, earlier, tmp_path)

    plain = told("consistent")
    assert (plain.based, plain.sizes.tolist()) == ({}, [2])  # type: ignore[union-attr]
    assert set(told("based").based) == {"age"}
    monkeypatch.setattr(again, "_columns_shown_last", lambda *_: ())
    assert told("based").based == {}


# What releases tell together


def test_signatures_of_those_who_have_none() -> None:
    two, one = frozenset("ab"), frozenset("b")
    signed = Signatures(np.array([[0, 0], [0, ABSENT], [0, 1], [UNKNOWN, 0]]), np.ones((4, 2), np.bool_), [two, one])
    assert signed.failing(0, 2).tolist() == [False, False, True, True]
    assert signed.failing(1, 2).tolist() == [False, False, True, True]
    unknown = replace(signed, numbers=np.full((1, 2), UNKNOWN), is_even=np.ones((1, 2), np.bool_))
    assert unknown.failing(0, 1).tolist() == [True]  # values that stand beside others tell more than a signature
    everyone, first, second = np.ones(4, np.bool_), np.array([1, 0, 0, 0], bool), np.array([0, 1, 0, 0], bool)
    assert [signed.values_left(asked) for asked in (everyone, first, second)] == [1, 2, 2]
    assert signed.values_left(np.array([0, 0, 1, 0], bool)) == 1


def test_numbers_of_entries_in_a_finding() -> None:
    failure = Failure("k-anonymity (k = 2)", 0, (0, 4), (5, 0), 3, 2, 1)
    told = Linked((4,), 9, 4, 1, 3, (failure,)).to_dict()["failures"][0]
    assert (told["present_in"], told["absent_from"]) == (["this release", 4], [5, "this release"])


def test_releases_are_joined_by_people_or_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[Any, ...]] = []

    def note(kind: str) -> Any:
        def opening(*given: Any, **more: Any) -> Kept:
            opened.append((kind, *given, more))
            return Kept()

        return opening

    refused: list[str] = []
    monkeypatch.setattr(history, "Histories", note("rows"))
    monkeypatch.setattr(history, "RowHistories", note("people"))
    monkeypatch.setattr(history, "judge_together", lambda _, entries, policies: (entries, len(policies)))
    monkeypatch.setattr(history, "_refuse_m_invariance", lambda policies, why: refused.append(why))
    entry: Any = SimpleNamespace(number=7)
    earlier = Earlier((entry,), (POLICY,), (Path("a"),), {"threads": 1}, True)
    assert earlier.joined_with(Path("b"), POLICY) == ([0, 7], 2)
    assert opened.pop() == ("rows", [Path("b"), Path("a")], {"threads": 1})
    assert refused == []
    of_people = replace(POLICY, person="who")
    assert earlier.joined_with(Path("b"), of_people) == ([0, 7], 2)
    kind, files, tells, names, more = opened.pop()
    assert (kind, files, tells, names) == ("people", [Path("b"), Path("a")], [True, False], True)
    assert (refused, set(more)) == (["person"], {"links", "threads"})
    stable = replace(POLICY, columns={**POLICY.columns, "no": ix.identifier(pseudonym="stable")})
    earlier.joined_with(Path("b"), stable)
    assert refused == ["person", "stable pseudonyms"]


# Heads and databases


class Server:
    """A server that notes what is asked, and answers with a status."""

    status = 200
    text = b""
    asked: ClassVar[list[tuple[Any, ...]]] = []

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing is opened."""

    def request(self, *said: Any) -> None:
        self.asked.append(said[:3])

    def getresponse(self) -> Server:
        return self

    def read(self, most: int) -> bytes:
        return self.text

    def close(self) -> None:
        """Nothing was opened."""


def test_a_witness_at_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http.client, "HTTPConnection", Server)
    monkeypatch.setattr(Server, "asked", [])
    for url in ("http://localhost:1", "http://localhost:1/heads", "http://localhost:1/heads?of=ward"):
        witness_at(url).note(3, START)
    assert [said[1] for said in Server.asked] == ["/", "/heads", "/heads?of=ward"]
    assert Server.asked[0] == ("POST", "/", f"3 {START}\n".encode())
    asked: Any = witness_at("http://localhost:1/heads")
    for status, text, is_free in ((404, b"", 1), (404, b"not found", 1), (200, b" \n", 1), (200, b"0 x", 0)):
        monkeypatch.setattr(Server, "status", status)
        monkeypatch.setattr(Server, "text", text)
        if is_free:
            asked.refuse_occupied()
        else:
            with pytest.raises(LedgerError, match="has noted something already"):
                asked.refuse_occupied()
    for status in (299, 300):
        monkeypatch.setattr(Server, "status", status)
        if status < 300:
            asked.begin(START)
        else:
            with pytest.raises(LedgerError, match="answers 300 to a POST"):
                asked.begin(START)


def test_a_noted_head_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(witness, "flush", flushed.append)
    (tmp_path / "heads").touch()
    witness_at(str(tmp_path / "heads")).note(1, START)
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


def test_texts_that_are_none_are_noticed_in_a_ledger(tmp_path: Path) -> None:
    store.Store.create(tmp_path / "ledger.db").close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute("INSERT INTO indistinct_meta VALUES (x'00', 'text')")
    connection.close()
    with pytest.raises(VerificationError, match="1 lines are no texts"):
        store.Store(tmp_path / "ledger.db")


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


# Pseudonyms, days of review, and what was spent


@pytest.mark.parametrize(
    ("rows", "present", "distinct", "repeated"), [(5, 5, 5, 0), (5, 4, 4, 0), (5, 3, 3, 1), (5, 5, 3, 2), (6, 4, 3, 2)]
)
def test_pseudonyms_may_not_link_rows(rows: int, present: int, distinct: int, repeated: int) -> None:
    numbered = replace(POLICY, columns={**POLICY.columns, "no": ix.identifier(pseudonym=True)})
    asked: list[Any] = []

    def repeats_of(names: list[str]) -> tuple[int, int]:
        asked.append(names)
        return present, distinct

    table: Any = SimpleNamespace(repeats_of=repeats_of, count=lambda: rows)
    if repeated:
        with pytest.raises(LedgerError, match=f"columns.no: {repeated} rows repeat"):
            offer.refuse_repeated_pseudonyms(table, numbered)
    else:
        offer.refuse_repeated_pseudonyms(table, numbered)
    assert asked == [["no"]]
    offer.refuse_repeated_pseudonyms(None, POLICY)  # type: ignore[arg-type]  # has none, so nothing is asked


def test_entries_are_due_from_their_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def at(number: int, review: str | None) -> Any:
        return SimpleNamespace(number=number, review=review)

    entries = [at(1, "2026-05-02"), at(2, None), at(3, "2026-05-01"), at(4, "2026-05-03"), at(5, "9999-01-01")]
    due = due_entries(entries, datetime.date(2026, 5, 2))
    assert [entry.number for entry in due] == [3, 1]
    assert [entry.number for entry in due_entries([at(1, "1999-01-01"), at(2, "9999-01-01")])] == [1]
    opened: Any = SimpleNamespace(store=SimpleNamespace(entries=lambda: entries))
    assert [entry.number for entry in Ledger.due(opened, datetime.date(2026, 5, 2))] == [3, 1]
    monkeypatch.setattr("indistinct.ledger.ledger.add_spending", lambda given: {"main": len(given)})
    assert Ledger.spent.fget(opened) == {"main": 5}  # type: ignore[attr-defined]


def test_what_is_said_of_an_entry() -> None:
    assert "review" not in Terms(POLICY, "R").details
    assert Terms(POLICY, "R", review="2030-01-02").details["review"] == "2030-01-02"


def test_m_invariance_is_refused_where_people_can_be_followed() -> None:
    history._refuse_m_invariance([POLICY], "person")
    invariant = replace(POLICY, privacy=[ix.MInvariance(2)])
    with pytest.raises(LedgerError, match="person: m-invariance was promised"):
        history._refuse_m_invariance([POLICY, invariant], "person")


def test_signatures_are_written_where_values_were_shown(tmp_path: Path) -> None:
    invariant = replace(POLICY, privacy=[ix.MInvariance(2)])
    hidden = replace(POLICY, columns={**POLICY.columns, "ill": ix.identifier()})
    written: list[Any] = []
    kept = SimpleNamespace(write_signatures=lambda *given: written.append(given))

    def told(*earlier: Policy, algorithm: str = "m-invariance", again_: str = "consistent") -> History:
        terms: Any = SimpleNamespace(policy=invariant, again=again_)
        held: Any = SimpleNamespace(
            entries=[SimpleNamespace(manifest={})] * len(earlier),
            policies=list(earlier),
            histories=lambda: contextlib.nullcontext(kept),
        )
        return again.tell_history(None, terms, SimpleNamespace(name=algorithm), held, tmp_path)  # type: ignore[arg-type]

    assert told() == History()
    found = told(hidden, invariant, hidden, POLICY)
    assert written == [(tmp_path / "history.parquet", [1, 3], "ill")]
    assert (found.path, found.signed, found.sizes) == (tmp_path / "history.parquet", "ill", None)
    assert found.policies == [hidden, invariant, hidden, POLICY]
    assert told(hidden).path is None
    assert told(hidden).signed == "ill"
    assert len(written) == 1
    with pytest.raises(LedgerError, match="by the algorithm 'm-invariance' alone"):
        told(hidden, algorithm="lattice")
    with pytest.raises(LedgerError, match="cannot be based on an earlier"):
        told(hidden, again_="based")


def test_a_witness_that_does_not_answer_is_told_by_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Exception] = []

    class Silent(Server):
        def request(self, *_: Any) -> None:
            raise raised[0]

    monkeypatch.setattr(http.client, "HTTPConnection", Silent)
    for error, words in (
        (ConnectionRefusedError(111, "Connection refused"), "does not answer: Connection refused$"),
        (http.client.HTTPException("half an answer"), "does not answer: half an answer$"),
        (http.client.HTTPException(), "does not answer: HTTPException$"),
    ):
        raised[:] = [error]
        with pytest.raises(LedgerError, match=words):
            witness_at("http://localhost:1/heads").refuse_occupied()


def test_a_policy_without_earlier_ones_is_searched_as_it_is() -> None:
    assert History().policy(POLICY).privacy == POLICY.privacy
    asked = History((POLICY,), signed="ill").policy(replace(POLICY, privacy=[ix.LDiversity(2), ix.KAnonymity(2)]))
    first, second, third, last = asked.privacy
    assert (getattr(first, "column", None), second, third) == ("ill", ix.KAnonymity(2), ix.KAnonymity(3))
    assert last.name == "signed"
