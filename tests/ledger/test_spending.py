"""What releases under differential privacy spend of a source, and the budget that none may exceed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.errors import LedgerError, RefusedError
from indistinct.ledger.store import spending
from indistinct.ledger.store.entry import Draft, Entry
from indistinct.ledger.store.spending import Spending

MANY = 20_000
PEOPLE = pa.table({"age": [str(20 + i % 40) for i in range(MANY)], "sex": ["f" if i % 3 else "m" for i in range(MANY)]})


def drawn(epsilon: float = 1.0, delta: float = 1e-4) -> ix.Policy:
    columns = {"age": ix.quasi(ix.intervals(10, 20)), "sex": ix.quasi(ix.suppress())}
    return ix.Policy(columns, [ix.DifferentialPrivacy(epsilon, delta)], algorithm="safepub")


@pytest.mark.slow
def test_a_ledger_books_what_is_spent_and_keeps_to_its_budget(tmp_path: Path) -> None:
    with ix.Ledger.create(tmp_path / "l.db", epsilon=1.5, delta=2e-4) as ledger:
        release = ledger.anonymize(PEOPLE, drawn(1.0), recipient="a", folder=tmp_path / "one")
        assert release.entry == 1
        assert ix.verify(tmp_path / "one", drawn(1.0), original=PEOPLE).passed
        assert ledger.spent == {"main": Spending(1.0, 1e-4)}
        for policy in (drawn(0.6, 1e-4), drawn(0.4, 1.5e-4)):  # too much ε, too much δ
            with pytest.raises(ix.RefusedError, match=r"have spent ε = 1, δ = 0\.0001 of ε = 1\.5, δ = 0\.0002"):
                ledger.anonymize(PEOPLE, policy, recipient="b", folder=tmp_path / "two")
            with pytest.raises(ix.RefusedError):
                ledger.check(PEOPLE, policy, recipient="b")
        assert not (tmp_path / "two").exists()
        ledger.anonymize(PEOPLE, drawn(0.5), recipient="b")  # to the last
        assert ledger.spent == {"main": Spending(1.5, 2e-4)}
        ledger.anonymize(PEOPLE, drawn(1.0), recipient="b", source="others")  # of other people
        assert ledger.verify().passed
        assert len(ledger.entries) == 3


@pytest.mark.slow
def test_what_another_release_spends_in_the_meantime_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        ix.Ledger.create(tmp_path / "l.db", epsilon=1.5, delta=1e-3) as ledger,
        ix.Ledger(tmp_path / "l.db") as other,
    ):
        assert ledger.check(PEOPLE, drawn(1.0), recipient="a").passed
        append, meanwhile = ledger.store.append, [0.5, 0.0, 0.4]

        def overtaken(draft: Any, head: str) -> Any:
            if meanwhile and (spent := meanwhile.pop()):
                other.anonymize(PEOPLE, drawn(spent), recipient="b").close()
            return append(draft, head)

        monkeypatch.setattr(ledger.store, "append", overtaken)
        with ledger.anonymize(PEOPLE, drawn(0.6), recipient="a", folder=tmp_path / "one") as release:
            assert release.entry == 2
        with pytest.raises(ix.RefusedError, match=r"have spent ε = 1\.5"):
            ledger.anonymize(PEOPLE, drawn(0.5), recipient="a", folder=tmp_path / "two")
        assert not (tmp_path / "two").exists()
        assert ledger.spent["main"].epsilon == 1.5


def test_other_releases_have_no_place_where_there_is_a_budget(tmp_path: Path) -> None:
    plain = ix.Policy(drawn().columns, [ix.KAnonymity(5)])
    with (
        ix.Ledger.create(tmp_path / "l.db", epsilon=1, delta=1e-4) as ledger,
        pytest.raises(ix.RefusedError, match="without differential privacy"),
    ):
        ledger.anonymize(PEOPLE, plain, recipient="a")


@pytest.mark.slow
def test_without_a_budget_both_kinds_stand_beside_each_other(tmp_path: Path) -> None:
    plain = ix.Policy(drawn().columns, [ix.KAnonymity(5)], max_suppression=0.05)
    with ix.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.anonymize(PEOPLE, drawn(), recipient="a")
        ledger.anonymize(PEOPLE, plain, recipient="a")  # checked against releases that tell who is in which group only
        assert ledger.entries[1].details["checked_against"] == []
        with pytest.raises(ix.LedgerError, match="keep to no earlier release"):
            ledger.anonymize(PEOPLE, drawn(), recipient="a", again="consistent")
        folder = ix.anonymize(PEOPLE, drawn(0.5)).write(tmp_path / "outside")
        entry, found = ledger.add(folder, drawn(0.5), PEOPLE, recipient="b")
        assert found.passed
        assert entry.details["added"]
        assert ledger.spent["main"].epsilon == 1.5
        with pytest.raises(ix.VerificationError):
            ledger.add(folder, drawn(0.7), PEOPLE, recipient="b")


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"delta": 1e-5}, {"epsilon": -1, "delta": 1e-5}])
def test_half_a_budget_is_none(budget: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(ix.LedgerError, match="both an epsilon and a delta"):
        ix.Ledger.create(tmp_path / "l.db", **budget)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_shows_what_was_spent(tmp_path: Path) -> None:
    url = str(tmp_path / "l.db")
    run = CliRunner().invoke
    made = run(app, ["ledger", "init", url, "--epsilon", "2", "--delta", "1e-3"])
    assert made.exit_code == 0
    assert "may spend ε = 2, δ = 0.001 together" in made.output
    with ix.Ledger(url) as ledger:
        ledger.anonymize(PEOPLE, drawn(), recipient="a")
    listed = run(app, ["ledger", "list", "--ledger", url])
    assert "source main: ε = 1, δ = 0.0001 spent of ε = 2, δ = 0.001" in listed.output
    said = json.loads(run(app, ["ledger", "list", "--ledger", url, "--json"]).output)
    assert said["spent"] == {"main": {"epsilon": 1.0, "delta": 0.0001}}
    assert said["budget"] == {"epsilon": 2.0, "delta": 0.001}


@given(st.lists(st.integers(1, 999), max_size=6))
def test_decimals_add_up_as_people_write_them(parts: list[int]) -> None:
    total = Spending()
    for part in parts:
        total += Spending(part / 1000, part / 10**9)
    assert total == Spending(sum(parts) / 1000, float(f"{sum(parts)}e-9") if parts else 0.0)


START = "0" * 64


PLACE = "ab" * 16


def draft(**changed: Any) -> Draft:
    said = {"recipient": "ward", "manifest": {"released": 2}, "policy": "version = 1", "files": {}, "place": PLACE}
    return Draft(**(said | changed))  # type: ignore[arg-type]


def chain(number: int, **changed: Any) -> list[Entry]:
    """Return so many entries that follow each other."""
    entries: list[Entry] = []
    for place in range(number):
        entries.append(Entry.following(draft(**changed), place + 1, entries[-1].hash if entries else START))
    return entries


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
    assert Spending.of_draws(None) is None
    budget = Spending(1.0, 1e-5)
    spending.refuse_overspending("main", Spending(0.2, 1e-6), entries, budget)
    spending.refuse_overspending("new", Spending(1.0, 1e-6), entries, budget)
    with pytest.raises(
        RefusedError, match=r"would spend ε = 0.3, δ = 1e-06 on source 'main'.*spent ε = 0.8, δ = 2e-06"
    ):
        spending.refuse_overspending("main", Spending(0.3, 1e-6), entries, budget)
    with pytest.raises(RefusedError, match="has a budget"):
        spending.refuse_overspending("main", None, entries, budget)
