"""What the tool says is what it did: options in manifests and commands, one verdict, and what recipients can check."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ix
from helpers.commands import run
from helpers.profiles import cases
from indistinct.policy.files.policy_file import policy_toml
from indistinct.report import render, report_facts

AGES = [21, 22, 23, 34, 35, 36, 47, 48, 49, 52, 53, 54] * 2
TABLE = pa.table(
    {
        "age": AGES,
        "zip": [f"021{38 + age % 5}" for age in AGES],
        "ill": ["flu", "cold", "gout", "flu"] * 6,
    }
)


def policy(**more: Any) -> ix.Policy:
    columns = {
        "age": ix.quasi(ix.intervals(5, 20)),
        "zip": ix.quasi(ix.prefix(5)),
        "ill": ix.sensitive(),
    }
    return ix.Policy(**{"columns": columns, "privacy": [ix.KAnonymity(2)], "max_suppression": 0.2, **more})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The policy, the table, and where a release goes."""
    written, table = tmp_path / "policy.toml", tmp_path / "people.csv"
    written.write_text(policy_toml(policy()), "utf-8")
    pyarrow.csv.write_csv(TABLE, table)
    return written, table, tmp_path / "release"


def said_by(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return content


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    cases(
        [
            (),
            ("--algorithm", "datafly"),
            ("--measure", "loss"),
            ("--algorithm", "regroup", "--measure", "loss"),
            ("--measure", "loss", "--time-limit", "60"),
        ],
        ("--algorithm", "regroup", "--measure", "loss"),
        ("--measure", "loss", "--time-limit", "60"),
    ),
)
def test_the_command_of_a_report_makes_the_release_again(files: tuple[Path, Path, Path], options: tuple[str]) -> None:
    written, table, goal = files
    assert run("anonymize", written, table, "-o", goal, *options).exit_code == 0
    facts = report_facts(goal, ix.read_policy(written), original=table)
    command = facts["reproduce"]["commands"][0]["command"]
    assert shlex.split(command)[6:] == [str(float(o)) if o == "60" else o for o in options]
    again = goal.with_name("again")
    places = {"policy.toml": written, "TABLE": table, "release": again}
    assert run(*(places.get(word, word) for word in shlex.split(command)[1:])).exit_code == 0
    same = ("algorithm", "options", "node", "measures", "groups", "suppressed", "policy_sha256")
    assert {name: said_by(goal).get(name) for name in same} == {name: said_by(again).get(name) for name in same}


def test_options_that_only_a_policy_can_give_are_said_as_its_lines(files: tuple[Path, Path, Path]) -> None:
    _, table, goal = files
    with ix.anonymize(table, policy(), algorithm=ix.Samarati(preference="min-suppression")) as release:
        release.write(goal)
    assert said_by(goal)["options"] == {"preference": "min-suppression"}
    does = report_facts(goal, policy())["reproduce"]["commands"][0]["does"]
    line = 'algorithm = "samarati" and options = { preference = "min-suppression" }'
    assert does == f"makes the release, with {line} in the policy"


def test_a_policys_own_options_stay_when_the_command_names_a_measure(files: tuple[Path, Path, Path]) -> None:
    written, table, goal = files
    written.write_text(policy_toml(policy(algorithm="regroup", options={"labels": "ranges"})), "utf-8")
    assert run("anonymize", written, table, "-o", goal, "--measure", "loss").exit_code == 0
    assert said_by(goal)["options"] == {"measure": "loss", "labels": "ranges"}


def test_a_command_may_ask_for_random_raise_and_its_report_says_so(files: tuple[Path, Path, Path]) -> None:
    written, table, goal = files
    written.write_text(policy_toml(policy(algorithm="regroup", options={"measure": "loss"})), "utf-8")
    assert run("anonymize", written, table, "-o", goal, "--random-raise", "0.2").exit_code == 0
    assert said_by(goal)["options"] == {"measure": "loss", "random_raise": 0.2}
    command = report_facts(goal, ix.read_policy(written))["reproduce"]["commands"][0]["command"]
    assert shlex.split(command)[6:] == ["--random-raise", "0.2"]
    lattice = run(
        "anonymize", written, table, "-o", goal.with_name("no"), "--random-raise", "0.2", "--algorithm", "lattice"
    )
    assert (lattice.exit_code, "--algorithm regroup" in lattice.stderr) == (2, True)
    assert run("anonymize", written, table, "-o", goal.with_name("no"), "--random-raise", "7").exit_code == 2


@pytest.mark.parametrize("width", [4, 9])
def test_of_many_quasi_columns_those_that_are_nearly_lost_are_named(tmp_path: Path, width: int) -> None:
    written, table = tmp_path / "policy.toml", tmp_path / "people.csv"
    cells = {f"q{place}": [str(row * 7 % (place + 11)) for row in range(24)] for place in range(width)}
    columns = {name: ix.quasi(ix.suppress()) for name in cells}
    written.write_text(
        policy_toml(ix.Policy(columns=columns, privacy=[ix.KAnonymity(5)], algorithm="regroup")), "utf-8"
    )
    pyarrow.csv.write_csv(pa.table(cells), table)
    made = run("anonymize", written, table, "-o", tmp_path / "release")
    said = " ".join(made.stderr.split())
    assert made.exit_code == 0
    assert ("9 quasi columns are many to hide: nearly nothing is left of q" in said) == (width == 9)


def test_a_comparison_by_a_measure_ranks_searches_that_optimized_it() -> None:
    # by loss: precision lets a lattice climb high in a column whose levels lose much
    found = ix.compare(TABLE, policy(), algorithms=["lattice", "datafly"], measure="loss")
    own = ix.anonymize(TABLE, policy(), algorithm=ix.Lattice("loss"))
    assert found.trials[0].optimum_of == "loss"
    assert found.trials[0].node == own.node
    assert found.best("loss") == found.trials[0]
    assert ix.compare(TABLE, policy(), algorithms=["lattice"]).trials[0].optimum_of == "precision"
    mixed = ix.compare(TABLE, policy(), algorithms=["regroup"], measure="discernibility")  # which regroup cannot
    assert mixed.trials[0].ending == "released"


def test_the_next_step_of_a_comparison_names_its_measure(files: tuple[Path, Path, Path]) -> None:
    written, table, _ = files
    result = run("compare", written, table, "--algorithm", "lattice", "--measure", "loss")
    assert result.exit_code == 0
    assert "-o release --measure loss" in result.stderr


# one verdict


ALIKE = pa.table(
    {
        "age": [21, 22, 23, 41, 42, 43, 61, 62, 63],
        "zip": ["02138"] * 9,
        "ill": ["flu"] * 3 + ["cold"] * 3 + ["gout"] * 3,
    }
)


def test_what_attacks_found_stands_at_the_top_of_a_report(tmp_path: Path) -> None:
    with ix.anonymize(ALIKE, policy(privacy=[ix.KAnonymity(3)], max_suppression=0)) as release:
        release.write(tmp_path / "release")
    facts = report_facts(tmp_path / "release", release.policy)
    assert facts["verdict"]["passed"]
    assert facts["conclusion"]["outcome"] == "broken"
    assert next(one["title"] for one in facts["conclusion"]["attacks"]) == "Groups with one sensitive value"
    top = render(facts).split('id="policy"')[0]
    assert "✓ verified" not in top
    assert "Do not hand this release out" in top
    assert "Groups with one sensitive value" in top


def test_nothing_found_is_said_in_one_verdict() -> None:
    with ix.anonymize(TABLE, policy(algorithm="datafly", privacy=[ix.KAnonymity(6)])) as release:
        facts = report_facts(release, release.policy, edition="public")
    if facts["conclusion"]["outcome"] == "nothing":
        assert "✓ verified" in render(facts)
    severities = {one["severity"] for one in facts["attacks"]}
    assert facts["conclusion"]["outcome"] == next((s for s in ("broken", "something") if s in severities), "nothing")


def test_attacks_that_expose_people_have_an_exit_code(tmp_path: Path) -> None:
    written = tmp_path / "policy.toml"
    written.write_text(policy_toml(policy(privacy=[ix.KAnonymity(3)], max_suppression=0)), "utf-8")
    with ix.anonymize(ALIKE, ix.read_policy(written)) as release:
        release.write(tmp_path / "release")
        found = ix.attacks.run(release, release.policy)
    assert found.is_broken
    with pytest.raises(ix.ExposedError, match="people are exposed"):
        found.raise_if_broken()
    for more in ((), ("--json",)):
        assert run("attack", "all", written, tmp_path / "release", *more).exit_code == 6
    page = tmp_path / "page.html"
    result = run("report", written, tmp_path / "release", "-o", page)
    assert result.exit_code == 6
    assert page.exists()
    assert "an attack exposes people" in result.stderr


# what a recipient can check


def test_a_recipient_verifies_with_what_she_gets(files: tuple[Path, Path, Path]) -> None:
    written, table, goal = files
    assert run("anonymize", written, table, "-o", goal).exit_code == 0
    result = run("verify", goal)
    assert result.exit_code == 0, result.output
    assert "k-anonymity" in result.stdout
    assert "not checked: that this is the policy that was agreed on" in result.stderr
    verdict = ix.verify(goal)
    assert verdict.passed
    assert len(verdict.not_checked) == 3
    both = ix.verify(goal, ix.read_policy(written))
    assert [check.name for check in both.checks if check.name != "policy"] == [check.name for check in verdict.checks]


def test_a_recipient_finds_a_changed_table_and_a_broken_promise(files: tuple[Path, Path, Path]) -> None:
    written, table, goal = files
    assert run("anonymize", written, table, "-o", goal).exit_code == 0
    released = goal / "table.csv"
    released.write_text(released.read_text("utf-8") + "77,02199,flu\n", "utf-8")
    failed = {check.name for check in ix.verify(goal).checks if not check.passed}
    assert {"file", "manifest"} <= failed
    assert any(name.startswith("k-anonymity") for name in failed)
    assert run("verify", goal).exit_code == 4


def test_what_a_manifest_cannot_tell_is_said(tmp_path: Path) -> None:
    people = pa.table({"age": AGES, "zip": TABLE["zip"], "name": [str(n) for n in range(len(AGES))]})
    models = [ix.KMap(2, people, link={"age": "age", "zip": "zip"}), ix.AlphaK({"flu": 0.9, "cold": 0.9}, 2)]
    asked = policy(privacy=models, algorithm="datafly")
    with ix.anonymize(TABLE, asked) as release:
        release.write(tmp_path / "release")
    verdict = ix.verify(tmp_path / "release")
    assert verdict.passed
    assert [one.numbers["model"] for one in verdict.not_checked[:2]] == ["k-map", "alpha-k"]
    with pytest.raises(ix.TableError, match="only a release folder"):
        ix.verify(TABLE)
    with pytest.raises(ix.PolicyError, match="its policy is needed"):
        ix.verify(tmp_path / "release", original=TABLE)


# what a release is about


def test_reports_say_what_a_release_is_about(files: tuple[Path, Path, Path]) -> None:
    written, table, goal = files
    plain = ix.read_policy(written)
    about = {"data": "Stays of 1997 <b>", "purpose": "a study of gout", "decided_by": "the holder"}
    said = policy(about=about)
    written.write_text(policy_toml(said), "utf-8")
    assert ix.read_policy(written) == said
    assert run("anonymize", written, table, "-o", goal).exit_code == 0
    assert said_by(goal)["about"] == about
    assert ix.verify(goal, plain).passed  # it is no part of what is demanded
    page = goal.with_name("page.html")
    done = run("report", written, goal, "-o", page, "--edition", "public", "--recipient", "City hospital")
    assert done.exit_code in (0, 6)
    html = page.read_text("utf-8")
    for text in ("Stays of 1997 &lt;b&gt;", "a study of gout", "the holder", "City hospital", "counter(pages)"):
        assert text in html
    with pytest.raises(ix.PolicyError, match=r"about\.who: is not known"):
        policy(about={"who": "me"})
    written.write_text(policy_toml(plain) + '\n[about]\nwho = "me"\n', "utf-8")
    assert "about.who" in run("anonymize", written, table, "-o", goal.with_name("again")).stderr
