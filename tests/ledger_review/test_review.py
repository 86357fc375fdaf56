"""The review of a ledger: releases that undo each other, changed files and tighter thresholds raise their notices."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import date
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import run
from helpers.profiles import examples
from indistinct.ledger_review import review_page, write_register
from indistinct.ledger_review.reviewing import review_ledger as review_it
from indistinct.progress import Watch

NAMES = "abcd"


def people(pairs):
    """A table in which those of a pair have one age, and all ages can become one decade."""
    age = {name: 20 + 10 * number for number, pair in enumerate(pairs) for name in pair}
    return pa.table({"name": list(NAMES), "age": [age[name] for name in NAMES], "ill": ["x"] * len(NAMES)})


def policy(**more):
    """Two people share every age that is released as it is."""
    return ix.Policy(
        {"name": ix.identifier(), "age": ix.quasi(ix.intervals(10, 100)), "ill": ix.other()}, [ix.KAnonymity(2)], **more
    )


def added(ledger, folder, pairs, recipient, **more):
    """Enter a release of pairs that was made without the ledger."""
    own = policy(**more)
    with ix.anonymize(people(pairs), own) as release:
        release.write(folder)
    return ledger.add(folder, own, people(pairs), recipient=recipient)[0]


@pytest.fixture
def planted(tmp_path):
    """Three releases, of which the first and the third undo each other, and one of other people."""
    ledger = ix.Ledger.create(tmp_path / "l.db")
    added(ledger, tmp_path / "1", ["ab", "cd"], "one")
    added(ledger, tmp_path / "2", ["ab", "cd"], "two")
    added(ledger, tmp_path / "3", ["ac", "bd"], "three")
    with ix.anonymize(people(["ad", "bc"]), policy()) as release:
        release.write(tmp_path / "4")
    ledger.add(tmp_path / "4", policy(), people(["ad", "bc"]), recipient="four", source="others")
    ledger.close()
    return tmp_path


@pytest.mark.slow
def test_releases_that_undo_each_other_raise_exactly_their_notices(planted):
    found = ix.review_ledger(planted / "l.db")
    assert [(notice.kind, notice.entries) for notice in found.notices] == [("joined", (1, 2, 3))]
    assert found.to_notify == {"one": (1,), "three": (3,), "two": (2,)}
    assert (found.fallen, found.holding) == ((1, 2, 3), (4,))
    alone = ix.review_ledger(planted / "l.db", colluding="none")
    assert alone.notices == ()
    assert alone.holding == (1, 2, 3, 4)


def splits():
    """Every way to pair four people, and the one in which all are together."""
    return [["ab", "cd"], ["ac", "bd"], ["ad", "bc"]]


@pytest.mark.slow
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=5))
@examples(20, opens_tables=True)
def test_notices_agree_with_cells_counted_by_hand(tmp_path_factory, chosen):
    place = tmp_path_factory.mktemp("l")
    with ix.Ledger.create(place / "l.db") as ledger:
        for number, which in enumerate(chosen, 1):
            added(ledger, place / str(number), splits()[which], f"r{number}")
        found = ix.review_ledger(ledger)
    pair_of = [{name: pair for pair in splits()[which] for name in pair} for which in chosen]

    def smallest(numbers):
        return min(Counter(tuple(pair_of[n - 1][name] for n in numbers) for name in NAMES).values())

    every = range(1, len(chosen) + 1)
    undone = {n for pair in combinations(every, 2) if smallest(pair) < 2 for n in pair}
    assert set(found.fallen) == undone


@pytest.mark.slow
def test_changed_files_a_threshold_and_days_of_review_are_told(planted):
    with ix.Ledger(planted / "l.db") as ledger:
        place = ledger.entries[3].place
        said = "x", policy(context=ix.Context(threshold=0.5, why="said", review_by="2026-01-01"))
        with ix.anonymize(people(["ab", "cd"]), said[1]) as release:
            release.write(planted / "5")
        ledger.add(planted / "5", said[1], people(["ab", "cd"]), recipient="five", source=said[0], review="2030-01-01")
        file = next((ledger.store.files.folder / place / "release").glob("table.*"))
        file.chmod(0o600)
        file.write_bytes(file.read_bytes() + b"\n")
    found = ix.review_ledger(planted / "l.db", on=date(2026, 1, 1))
    assert {notice.kind: notice.entries for notice in found.notices} == {"files": (4,), "joined": (1, 2, 3)}
    assert [one.number for one in found.due] == [5]
    assert ix.review_ledger(planted / "l.db", on=date(2025, 12, 31)).coming[0].number == 5
    tight = ix.review_ledger(planted / "l.db", threshold=0.4)
    assert {n.entries for n in tight.notices if n.kind == "risk"} == {(1,), (2,), (3,), (5,)}


@pytest.mark.slow
def test_an_interrupted_review_goes_on_where_it_was(planted, monkeypatch):
    looked = []

    def look(folder, own):
        looked.append(folder)
        return ix.verify(folder, own)

    monkeypatch.setattr("indistinct.ledger_review.reviewing.verify", look)
    state = planted / "state"
    stops = iter([False, False, False, True])
    with pytest.raises(ix.InterruptedSearchError):
        review_it(planted / "l.db", state=state, watch=Watch(is_cancelled=lambda: next(stops)))
    assert len(looked) == 3
    found = review_it(planted / "l.db", state=state)
    assert len(looked) == 4
    assert not state.exists()
    assert found == review_it(planted / "l.db", on=found.day)
    assert review_it(planted / "l.db", since=4).holding == (4,)


@pytest.mark.slow
def test_the_command_writes_page_and_register_and_says_by_its_exit_code(planted):
    page, register = planted / "review.html", planted / "register.csv"
    assert run("review", planted / "l.db", "-o", page, "--register", register).exit_code == 6
    assert "three" in page.read_text()
    rows = list(csv.reader(io.StringIO(register.read_text())))
    assert [row[5] for row in rows[1:]] == ["one", "two", "three", "four"]
    assert [row[-1] for row in rows[1:]][3] == "holds"
    assert run("review", planted / "l.db", "-o", page).exit_code == 2
    assert run("review", planted / "l.db", "--colluding", "none").exit_code == 0
    assert run("review", planted / "l.db", "--colluding", "none", "--threshold", "0.1").exit_code == 4
    assert run("review", planted / "l.db", "--since", "soon").exit_code == 2


def test_what_people_wrote_is_escaped(tmp_path):
    with ix.Ledger.create(tmp_path / "l.db") as ledger:
        added(ledger, tmp_path / "1", ["ab", "cd"], "=<b>one")
        found = ix.review_ledger(ledger)
    assert "<b>one" not in review_page(found)
    assert "<b>one" not in write_register(found, tmp_path / "r.html").read_text()
    assert "'=<b>one" in write_register(found, tmp_path / "r.csv").read_text()
