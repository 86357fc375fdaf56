"""The command line as a process: what it imports, where it prints, its exit codes, and how it ends on a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import indistinct as ix
from helpers.forked_commands import run_forked
from indistinct.examples import save_examples

HEAVY = ("numpy", "duckdb", "numba", "pyarrow", "pydantic", "pandas", "polars")


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "indistinct", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    save_examples(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "indistinct", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert [name for name in HEAVY if name in imported] == []


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import indistinct, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_data_goes_to_stdout_and_words_to_stderr(examples: Path) -> None:
    done = run("init", "hospital.csv", cwd=examples)
    assert done.returncode == 0
    assert done.stdout.startswith("# A first policy for hospital.csv")
    assert "next: indistinct check" in done.stderr
    assert "next:" not in done.stdout


@pytest.mark.slow
def test_json_is_all_that_is_printed(examples: Path) -> None:
    """Only the first run after installation also says, on stderr, that it compiles."""
    release = ["anonymize", "hospital.toml", "hospital.csv", "--json", "-o"]
    before, done = run_forked([[*release, "first"], [*release, "out"]], examples)
    assert before.returncode == 0
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["released"] == 12


@pytest.mark.slow
def test_exit_codes_reach_the_shell(examples: Path) -> None:
    (examples / "hard.toml").write_text(
        (examples / "hospital.toml").read_text("utf-8").replace("k = 2", "k = 99"), "utf-8"
    )
    codes = {
        "check hospital.toml hospital.csv": 0,
        "check hospital.toml nobody.csv": 2,
        "check --nonsense": 2,
        "check hard.toml hospital.csv": 3,
        "verify hospital.toml hospital.csv": 4,
    }
    ended = run_forked([command.split() for command in codes], examples)
    assert [one.returncode for one in ended] == list(codes.values())
    assert run("check", "--nonsense", cwd=examples).returncode == 2


@pytest.mark.slow
def test_a_closed_pipe_is_no_error_worth_words(examples: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "indistinct", "schema"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "Traceback" not in done.stderr


INTERRUPTED = """
import os, signal, sys, time
from pathlib import Path
from indistinct.engine.duckdb import DuckRows

def break_off(self, folder, name="table", kind=None):
    (Path(folder) / "table.csv").write_text("half a ro")
    os.kill(os.getpid(), getattr(signal, ending))
    time.sleep(20)  # Python hears the signal before, or never
    raise SystemExit("the signal was not heard")

ending = sys.argv.pop()
DuckRows.write = break_off
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_in_the_middle_of_writing_leaves_nothing(examples: Path) -> None:
    temporary = examples / "temporary"
    temporary.mkdir()
    before = sorted(path.name for path in examples.iterdir())
    endings = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    commands = [["anonymize", "hospital.toml", "hospital.csv", "-o", "out", ending.name] for ending in endings]
    ended = run_forked(commands, examples, first=INTERRUPTED, temporary=temporary)
    assert [done.returncode for done in ended] == [128 + ending for ending in endings]
    assert not [done.stderr for done in ended if "Traceback" in done.stderr]
    assert sorted(path.name for path in examples.iterdir()) == before
    assert list(temporary.iterdir()) == []


LATE = """
import os, signal
import indistinct.atomic_files as atomic_files

def give_name(staging, goal, **more):
    os_replace(staging, goal, **more)
    os.kill(os.getpid(), signal.SIGTERM)

os_replace = atomic_files.give_name
atomic_files.give_name = give_name
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_after_writing_says_that_the_release_is_whole(examples: Path) -> None:
    release = ["anonymize", "hospital.toml", "hospital.csv", "-o", "out"]
    for done in run_forked([release, [*release, "--replace"]], examples, first=LATE):
        assert done.returncode == 128 + signal.SIGTERM
        assert "out was written before and is whole" in " ".join(done.stderr.split())
        assert not [path.name for path in examples.iterdir() if path.name.startswith(".out")]
    assert ix.verify(examples / "out", ix.read_policy(examples / "hospital.toml")).passed


FINALIZED = """
import os, signal, weakref
from indistinct.cli import signals

class Thing:
    pass

signals.listen()
thing = Thing()
weakref.finalize(thing, os.kill, os.getpid(), signal.SIGTERM)
del thing
print(len(signals.received))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_while_python_cleans_up_shows_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", FINALIZED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
