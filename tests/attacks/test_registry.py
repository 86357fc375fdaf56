"""An attack is one class and one line: its command, ``attack all``, report, studio and docs are made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
import typer.testing

import indistinct as ix
from helpers.commands import answer, run
from indistinct.attacks.attack import ORIGINAL, Attack, InapplicableError, OtherTable, option
from indistinct.attacks.attack_report import AttackReport, Severity
from indistinct.attacks.run import AttackOutcome, attacks_in_markdown
from indistinct.attacks.target import Target
from indistinct.registry import ATTACKS
from indistinct.release.forms import TWO_TABLES
from indistinct.report import report_facts
from indistinct.studio.work import Work

POLICY = """
version = 1
[columns]
job = { role = "quasi" }
ill = { role = "sensitive" }
[[privacy]]
model = "k-anonymity"
k = 2
"""


@dataclass(frozen=True, slots=True)
class CountReport(AttackReport):
    """How many rows there are."""

    attack: ClassVar[str] = "counting_rows"
    scope: ClassVar[str] = "Rows are counted."

    rows: int
    few: int
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        return "something" if self.rows < self.few else "nothing"

    @property
    def summary(self) -> str:
        return f"{self.rows} rows"


@dataclass(frozen=True, slots=True)
class CountingRows(Attack):
    """Show whether a release has few rows."""

    name: ClassVar[str] = "counting_rows"
    title: ClassVar[str] = "Counting the rows"
    meaning: ClassVar[str] = "the release has few rows"

    few: int = option(5, "How many rows are few.", int, least=1)

    def attack(self, target: Target) -> CountReport:
        with target.release.only_rows() as rows:
            return CountReport(rows.count(), self.few)


@pytest.fixture
def counting_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add an attack, as a program does before its first command."""
    monkeypatch.setattr(ATTACKS, "_registered", {})
    made = vars(typer.testing)["_get_command"]
    made.cache_clear()
    ix.register(CountingRows)
    yield
    made.cache_clear()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    (tmp_path / "table.csv").write_text("job,ill\n" + "cook,flu\ncook,gout\njudge,flu\njudge,gout\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_says_what_it_is_and_what_a_finding_means(name: str) -> None:
    kind = ATTACKS[name]
    assert kind.name == name
    assert all((kind.title, kind.meaning, kind.held, kind.forms, kind.__doc__))
    assert all(own.help for _, own in kind.options())
    assert callable(getattr(ix.attacks, name))


def test_a_finding_of_refinement_has_a_meaning() -> None:
    job = ix.quasi(ix.tree({"*": {"office": ["clerk", "judge"], "care": ["nurse", "carer"]}}), missing="refuse")
    policy = ix.Policy(columns={"job": job}, privacy=[ix.KAnonymity(3)])
    table = pa.table({"job": ["office"] * 4 + ["care"] * 3})
    report = ix.attacks.refinement(table, policy, assume=["whole-tuples"], recoding="local")
    outcome = AttackOutcome(ATTACKS["refinement"], report)
    assert (outcome.severity, outcome.meaning) == ("something", ATTACKS["refinement"].meaning)


@pytest.mark.usefixtures("counting_rows")
def test_an_attack_of_ones_own_has_a_command_with_its_options(place: Path) -> None:
    arguments = ("attack", "counting-rows", place / "policy.toml", place / "table.csv")
    assert answer(*arguments) == {"rows": 4, "few": 5, "notes": [], "summary": "4 rows"}
    assert answer(*arguments, "--few", 3)["few"] == 3
    assert answer(*arguments, "--few", 0, exit_code=2)["error"]["kind"] == "UsageError"
    told = run(*arguments, "--help").stdout
    assert "How many rows are few." in told
    assert CountingRows.__doc__ is not None
    assert CountingRows.__doc__ in run("attack", "--help").stdout


@pytest.mark.usefixtures("counting_rows")
def test_an_attack_of_ones_own_is_run_with_all_others(place: Path) -> None:
    content = answer("attack", "all", place / "policy.toml", place / "table.csv")
    (found,) = (one for one in content["outcomes"] if one["attack"] == "counting_rows")
    assert (found["severity"], found["meaning"], found["report"]["rows"]) == ("something", CountingRows.meaning, 4)


@pytest.mark.slow
@pytest.mark.usefixtures("counting_rows")
def test_an_attack_of_ones_own_is_in_the_report_the_studio_and_the_docs(place: Path) -> None:
    policy = ix.read_policy(place / "policy.toml")
    with ix.anonymize(place / "table.csv", policy) as release:
        assert "counting_rows" in [one["attack"] for one in report_facts(release, policy)["attacks"]]
    assert CountingRows.title in Work.attack_titles()
    assert f"| `counting_rows` | {CountingRows.title} |" in attacks_in_markdown()


def test_what_an_attack_asks_for_is_checked_for_all_and_refused_by_itself() -> None:
    @dataclass(frozen=True, slots=True)
    class Asking(CountingRows):
        asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
        roles: ClassVar[tuple[Any, ...]] = ("sensitive",)

    table = pa.table({"job": ["cook"] * 2})
    quasi = ix.Policy(columns={"job": ix.quasi()}, privacy=[ix.KAnonymity(2)])
    both = ix.Policy(columns={"job": ix.quasi(), "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    apart = {"quasi": table, "sensitive": pa.table({"ill": ["flu"]})}
    reasons = [
        Asking.why_not(Target.of(release, policy, original=original))
        for release, policy, original in (
            (table, quasi, table),
            (table, both, None),
            (apart, both, table),
            (table, both, table),
        )
    ]
    assert reasons[1] == ORIGINAL.missing
    assert reasons[2] is not None
    assert TWO_TABLES.title in reasons[2]
    assert [reason is None for reason in reasons] == [False, False, False, True]
    with pytest.raises(InapplicableError):
        Asking.target_of(table, both)
