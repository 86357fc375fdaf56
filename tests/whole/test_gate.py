"""The gate for data releases: the command, the Action's script and the pre-commit hook, on sound and broken ones."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli.commands import app
from indistinct.examples import save_examples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example's policy and a sound release of it."""
    folder = tmp_path_factory.mktemp("made")
    save_examples(folder)
    ix.anonymize(folder / "hospital.csv", folder / "hospital.toml").write(folder / "out", metadata=True)
    return folder


@pytest.fixture
def releases(made: Path, tmp_path: Path) -> Path:
    """Return a folder of two releases, ``sound`` and ``broken``."""
    for name in ("sound", "broken"):
        shutil.copytree(made / "out", tmp_path / "data" / name)
    table = tmp_path / "data" / "broken" / "table.csv"
    table.write_text(table.read_text("utf-8").replace("1964", "1963", 1), "utf-8")
    return tmp_path / "data"


def gate(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["gate", *map(str, arguments)])
    return done.exit_code, " ".join(done.output.split())


def test_one_broken_release_fails_all(releases: Path, made: Path) -> None:
    code, said = gate(releases)
    assert (code, "2 releases, 1 failed" in said) == (4, True), said
    assert gate(releases / "sound", "--policy", made / "hospital.toml")[0] == 0
    code, said = gate(releases / "broken", "--json")
    assert list(json.loads(said)["failed"]) == [str(releases / "broken")]


def test_a_release_for_another_policy_fails(releases: Path, made: Path, tmp_path: Path) -> None:
    stricter = (made / "hospital.toml").read_text("utf-8").replace("k = 2", "k = 3")
    (tmp_path / "stricter.toml").write_text(stricter, "utf-8")
    code, said = gate(releases / "sound", "--policy", tmp_path / "stricter.toml")
    assert (code, "made for another policy" in said) == (4, True), said


@pytest.mark.parametrize("name", ["manifest.json", "table.csv", "croissant.json"])
def test_a_file_of_a_release_means_that_release(releases: Path, name: str) -> None:
    assert gate(releases / "sound" / name)[0] == 0
    assert gate(releases / "broken" / name)[0] == 4


def test_a_file_that_is_put_beside_a_release_fails_it(releases: Path) -> None:
    (releases / "sound" / "names.txt").write_text("Ann\n", "utf-8")
    assert gate(releases / "sound" / "names.txt")[0] == 4


def test_tables_without_their_manifest_fail(releases: Path) -> None:
    (releases / "sound" / "manifest.json").unlink()
    for path in (releases / "sound" / "table.csv", releases / "sound", releases / "sound" / "manifest.json"):
        code, said = gate(path)
        assert (code, "no manifest.json" in said) == (4, True), said


def test_other_files_are_passed_over_and_a_folder_without_releases_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("…", "utf-8")
    assert gate(tmp_path / "README.md") == (0, "no release at these paths")
    assert gate(tmp_path)[0] == 2


def test_the_hook_fails_a_commit_that_touches_a_broken_release(releases: Path) -> None:
    """As pre-commit does: the entry, and after it the files of the commit."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    program, *entry = shlex.split(re.search(r"^  entry: (.+)$", text, re.MULTILINE)[1])
    assert program == "indistinct"
    for name, code in (("sound", 0), ("broken", 4)):
        files = [str(path) for path in sorted((releases / name).iterdir())]
        assert CliRunner().invoke(app, [*entry, *files, str(ROOT / "README.md")]).exit_code == code


@pytest.mark.slow
def test_the_action_fails_a_broken_release(releases: Path, made: Path) -> None:
    """The last step of action.yml, with the variables that it sets."""
    text = (ROOT / "action.yml").read_text("utf-8")
    command = re.findall(r"^      run: (.+)$", text, re.MULTILINE)[-1]
    assert {"RELEASE_PATHS", "RELEASE_POLICY"} == set(
        re.findall(r"^        ([A-Z_]+): \$\{\{ inputs", text, re.MULTILINE)
    )
    given = {**os.environ, "GITHUB_ACTION_PATH": str(ROOT), "PYTHON": sys.executable}
    given |= {"PYTHONPATH": str(ROOT / "src"), "RELEASE_POLICY": str(made / "hospital.toml")}
    for paths, code in ((f"{releases / 'sound'}\n", 0), (f"{releases / 'sound'}\n{releases / 'broken'}\n", 4)):
        done = subprocess.run(
            ["bash", "-c", command], env=given | {"RELEASE_PATHS": paths}, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
