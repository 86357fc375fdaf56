"""The five questions of init: what they offer, how answers are read, and what comes of them in the file."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.pipeline.suggesting import Answers, five_decisions, policy_by
from indistinct.profiling import profile

ROWS = 300


def table() -> pa.Table:
    chance = random.Random(1)
    whose = [chance.randrange(60) for _ in range(ROWS)]
    born = [str(chance.randint(1930, 2000)) for _ in range(60)]
    sexes = [chance.choice("mf") for _ in range(60)]
    return pa.table(
        {
            "patient_id": [f"P{one}" for one in whose],
            "birth_year": [born[one] for one in whose],
            "sex": [sexes[one] for one in whose],
            "x1": [chance.choice("abc") for _ in whose],
            "illness": [chance.choice(["flu"] * 6 + ["cold", "gout"]) for _ in whose],
        }
    )


@pytest.fixture(scope="module")
def asked() -> dict[str, object]:
    return {one.asked: one for one in five_decisions(profile(table()))}


def test_five_decisions_are_offered_each_with_its_cost(asked: dict) -> None:
    assert list(asked) == ["person", "known", "secret", "kept", "k"]
    assert asked["person"].ways[0].columns == ("patient_id",)
    assert asked["person"].ways[1].columns == ()
    assert set(asked["known"].ways[0].columns) == {"birth_year", "sex", "x1"}
    assert set(asked["known"].ways[1].columns) == {"birth_year", "sex"}
    assert asked["secret"].ways[0].columns == ("illness",)
    sizes = {way.number: way.loss for way in asked["k"].ways}
    assert set(sizes) == {3, 5, 10, 20}
    assert 0 <= sizes[3] <= sizes[20] <= 1
    assert asked["known"].ways[1].loss <= asked["known"].ways[0].loss


def test_answers_are_read_as_places_names_or_sizes(asked: dict) -> None:
    known, size = asked["known"], asked["k"]
    assert known.read("") is known.ways[0]
    assert known.read(" 2 ") is known.ways[1]
    assert known.read("sex, x1,sex").columns == ("sex", "x1")
    assert (size.read("25").number, size.read("1").number, size.read("").number) == (25, 5, 5)
    for decision, wrong in ((known, "age"), (known, "9"), (size, "sex"), (size, "many")):
        with pytest.raises(ix.PolicyError):
            decision.read(wrong)


def test_what_is_said_goes_before_what_is_guessed() -> None:
    answers = Answers(person=(), known=("sex",), secret=("x1",), kept=("sex",), k=3)
    policy = policy_by(table(), answers).policy
    assert (policy.person, policy.one_row_per_person) == (None, True)
    assert policy.quasi == ("sex",)
    assert policy.columns["sex"].weight > 1
    assert policy.columns["x1"].role == "sensitive"
    assert policy.columns["illness"].role == "other"
    assert [one.k for one in policy.privacy if isinstance(one, ix.KAnonymity)] == [3]
    assert any(isinstance(one, ix.LDiversity) and one.column == "x1" for one in policy.privacy) or any(
        isinstance(one, ix.AlphaK) and one.column == "x1" for one in policy.privacy
    )
    ix.anonymize(table(), policy).close()


def test_a_kept_secret_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    from indistinct.pipeline import weighing

    monkeypatch.setattr(weighing, "MOST_MORE", -1.0)
    assert policy_by(table(), Answers()).policy.columns["illness"].role == "drop"
    assert policy_by(table(), Answers(kept=("illness",))).policy.columns["illness"].role == "sensitive"


def test_the_command_asks_without_a_terminal(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    goal = tmp_path / "policy.toml"
    typed = "\nsex, birth_year\n\nnobody\nsex\n7\n"
    made = CliRunner().invoke(app, ["init", str(tmp_path / "t.csv"), "--ask", "-o", str(goal)], input=typed)
    assert made.exit_code == 0, made.output
    policy = ix.read_policy(goal)
    assert policy.person_columns == ("patient_id",)
    assert set(policy.quasi) == {"sex", "birth_year"}
    assert policy.columns["sex"].weight > policy.columns["birth_year"].weight
    assert policy.privacy[0] == ix.KAnonymity(7)
    assert goal.read_text("utf-8").count("# asked: ") == 5
    ix.anonymize(tmp_path / "t.csv", policy).close()


def test_what_cannot_be_read_is_not_asked_for_ever(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    made = CliRunner().invoke(app, ["init", str(tmp_path / "t.csv"), "--ask"], input="nonsense\n" * 5)
    assert made.exit_code == 2


@pytest.mark.slow
def test_ranges_are_offered_with_what_they_keep_and_written(asked: dict, tmp_path: Path) -> None:
    kept = asked["kept"]
    assert kept.ways[1].has_ranges
    assert kept.ways[1].loss <= kept.ways[0].loss
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    by_option = CliRunner().invoke(
        app, ["init", str(tmp_path / "t.csv"), "--labels", "ranges", "-o", str(tmp_path / "a.toml")]
    )
    by_answer = CliRunner().invoke(
        app, ["init", str(tmp_path / "t.csv"), "--ask", "-o", str(tmp_path / "b.toml")], input="\n\n\n2\n\n"
    )
    assert (by_option.exit_code, by_answer.exit_code) == (0, 0)
    for name in ("a.toml", "b.toml"):
        policy = ix.read_policy(tmp_path / name)
        assert policy.options["labels"] == "ranges"
        assert "random_raise" not in policy.options
        ix.anonymize(tmp_path / "t.csv", policy).close()
    wrong = CliRunner().invoke(app, ["init", str(tmp_path / "t.csv"), "--labels", "ranges", "--known", "2"])
    assert wrong.exit_code == 2
