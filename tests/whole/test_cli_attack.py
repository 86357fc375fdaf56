"""``indistinct attack``: what it prints, what its JSON document says, and what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers import commands
from indistinct.attacks import downcoding
from indistinct.cli.attack import app
from indistinct.examples import save_examples

POLICY = """
version = 1
[columns]
job = { role = "quasi", missing = "refuse", hierarchy = { tree = { "*" = ["clerk", "cook", "judge", "nurse"] } } }
illness = { role = "sensitive" }
[[privacy]]
model = "k-anonymity"
k = 2
"""


run = partial(commands.run, "attack", "downcoding")
answer = partial(commands.answer, "attack", "downcoding")


@pytest.fixture
def jobs(tmp_path: Path) -> tuple[Path, Path]:
    """Return the policy and the file of a release with one group of four under one label."""
    policy, table = tmp_path / "policy.toml", tmp_path / "released.csv"
    policy.write_text(POLICY, "utf-8")
    table.write_text("job;illness\n" + "*;flu\n" * 4, "utf-8")
    return policy, table


@pytest.fixture
def hospital(tmp_path: Path) -> tuple[Path, Path]:
    """Return the policy and the release folder of Sweeney's example."""
    save_examples(tmp_path)
    policy = tmp_path / "hospital.toml"
    return policy, ix.anonymize(tmp_path / "hospital.csv", ix.read_policy(policy)).write(tmp_path / "release")


def test_findings_are_shown_and_are_no_error(jobs: tuple[Path, Path]) -> None:
    result = run(*jobs, "--assume", "minimal-rows", "--recoding", "local")
    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    assert "4 rows in 1 group, local" in told
    assert "counted it is known how many rows lie under each lower label" in told
    assert "1. Of the 4 rows with job *: exactly 1 has job clerk, exactly 1 has job cook" in told
    assert "4 of 4 generalized cells can be sharpened; the smallest crowd that follows is 1 row" in result.stderr
    assert "assumed: no row could have been released with a lower label" in result.stderr
    assert "what helps:" in result.stderr
    assert "does not prove that nothing can be found" in result.stderr


@pytest.mark.slow
def test_the_document_is_the_report(hospital: tuple[Path, Path]) -> None:
    policy, folder = hospital
    expected = downcoding(folder, ix.read_policy(policy), most=10).to_dict()
    assert answer(policy, folder) == json.loads(json.dumps(expected))
    assert answer(policy, folder, "--most", 0)["findings"] == []


@pytest.mark.slow
def test_assumptions_add_up_and_can_be_none(jobs: tuple[Path, Path]) -> None:
    local = ("--recoding", "local")
    assert list(answer(*jobs, *local)["assumed"]) == ["lowest-labels", "minimal"]
    assert list(answer(*jobs, *local, "--assume", "lowest-labels")["assumed"]) == ["lowest-labels"]
    both = answer(*jobs, *local, "--assume", "lowest-labels", "--assume", "minimal-rows")
    assert list(both["assumed"]) == ["lowest-labels", "minimal", "minimal-rows"]
    nothing = answer(*jobs, *local, "--assume", "nothing")
    assert (nothing["assumed"], nothing["findings"]) == ({}, [])


def test_a_table_file_is_read_as_said(jobs: tuple[Path, Path]) -> None:
    policy, table = jobs
    table.write_bytes("job|illness\n*|Grippe\n*|Übelkeit\n*|flu\n".encode("latin-1"))
    content = answer(policy, table, "--delimiter", "|", "--encoding", "latin-1", "--memory", "1GB", "--threads", 1)
    assert (content["rows"], content["recoding"]) == (3, "full-domain")


def test_nothing_generalized_is_said_so(jobs: tuple[Path, Path]) -> None:
    policy, table = jobs
    table.write_text("job,illness\n" + "cook,flu\n" * 4, "utf-8")
    result = run(policy, table)
    assert result.exit_code == 0
    assert "no cell is generalized, so there is nothing to sharpen" in result.stderr
    assert "what helps" not in result.stderr
    assert "Findings" not in result.stdout


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (("--assume", "best"), "PolicyError"),
        (("--recoding", "global"), "PolicyError"),
    ],
)
def test_usage_mistakes_leave_with_2(jobs: tuple[Path, Path], options: tuple[str, str], kind: str) -> None:
    assert answer(*jobs, *options, exit_code=2)["error"]["kind"] == kind
    assert run(*jobs, *options).exit_code == 2


def test_a_release_that_is_not_there_or_does_not_fit_leaves_with_2(jobs: tuple[Path, Path]) -> None:
    policy, table = jobs
    assert run(policy, table.with_name("none.csv")).exit_code == 2
    assert run(table.with_name("none.toml"), table).exit_code == 2
    table.write_text("job,illness\npilot,flu\npilot,flu\n", "utf-8")
    result = run(policy, table)
    assert result.exit_code == 2
    assert "1 released label is not in its hierarchy" in result.stderr
    assert "pilot" not in result.output


def test_attack_alone_lists_its_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "downcoding" in result.stdout
    assert "--json" in run("--help").stdout
