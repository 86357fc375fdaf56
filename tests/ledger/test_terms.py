"""For whom a release is, of whom it is, and what she may hold already."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import indistinct as ix
from indistinct.errors import LedgerError
from indistinct.ledger import terms as terms_module
from indistinct.ledger.ledger import Ledger
from indistinct.ledger.offer import recognitions
from indistinct.ledger.store.entry import Draft, Entry, due_entries
from indistinct.ledger.terms import Terms
from indistinct.policy import Person, Policy

START = "0" * 64


def draft(**changed: Any) -> Draft:
    said = {"recipient": "ward", "manifest": {"released": 2}, "policy": "version = 1", "files": {}, "place": PLACE}
    return Draft(**(said | changed))  # type: ignore[arg-type]


def chain(number: int, **changed: Any) -> list[Entry]:
    """Return so many entries that follow each other."""
    entries: list[Entry] = []
    for place in range(number):
        entries.append(Entry.following(draft(**changed), place + 1, entries[-1].hash if entries else START))
    return entries


PLAIN = Policy({"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(2)])


PEOPLE = replace(PLAIN, person="id")


PLACE = "ab" * 16


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
    how = recognitions(rows, b"\x01\x02")["table"]
    assert (how.key, how.state, how.secret, how.numbered, how.person) == (
        ("id", "name"),
        ("age",),
        "0102",
        False,
        ("id",),
    )
    assert (how.row, how.names_rows) == (("id", "name"), True)
    assert recognitions(Terms(PEOPLE, "ward"), b"")["table"].row == ("age", "id", "ill", "name")
    assert recognitions(Terms(PLAIN, "ward"), b"")["table"].row == ()


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
